/* Mutations: single rules broken on purpose, for tests that show that it would be noticed. Only a library built with
 * LSH_MUTATIONS has them; in any other LSH_MUTATES() is the constant false, and nothing is left of it.
 *
 * One at a time is on, by its number in the environment: LEASH_MUTATION=1. */
#ifndef LSH_BASE_MUTATION_H
#define LSH_BASE_MUTATION_H

#include <stdbool.h>

enum lsh_mutation {
	LSH_NO_MUTATION,
	LSH_SENT_WORDS_COUNT,       /* a claim counts from the last word that was sent, not the last that was answered */
	LSH_CLAIMS_COUNT_FROM_NOW,  /* a claim counts from when its message came */
	LSH_TOKENS_COME_BACK,       /* a token that the server says it does not know is asked again, as if it were new */
	LSH_REPEATED_ASKS_COUNT,    /* a claim counts from the last answered word, even if the token was asked twice */
	LSH_FIRST_CANCEL_IS_ENOUGH, /* a cancel is done when it was answered, even if an ask may come later */
	LSH_ASKS_LIVE_FOREVER,      /* an ask is executed whenever it comes */
	LSH_GHOSTS_STAY,            /* nobody answers the grant of a place that nobody waits for */
	LSH_REPLIES_COUNT,          /* a lease counts from when the reply came, and not from when it was asked for */
	LSH_CLAIMS_LAST_A_LEASE,    /* a grant is taken for all of the lease, although it came with a claim only */
	LSH_WORDS_ARE_NOT_SAID,     /* who waits relies on the message */
	LSH_RECONNECTS_ARE_IGNORED, /* nothing is said anew over a new connection */
	LSH_CANCELS_ARE_NOT_SENT,   /* who gives up does not say so to the server, which may know its token */
	LSH_RENEWALS_GO_ON,         /* the watchdog does not forget what was released */
	LSH_RENEWALS_SHORTEN,       /* a renewal sets the TTL to its lease, where more was left (in renew.lua) */
	LSH_DEAD_ARE_SERVED,        /* a grant of which nobody heard stands (in hand_on.inc) */
	LSH_SCRIPTS_ARE_THERE,      /* a renewal that is refused with NOSCRIPT is not sent again with the script's text */
	LSH_SILENCE_IS_BORNE,       /* a connection on which a renewal is not answered is kept while there is patience */
	LSH_ANSWERS_GO_ASTRAY,      /* the answer to a command whose caller gave up goes to the next one */
	LSH_UNASKED_IS_ANSWER,      /* what came before a command was sent is taken for the answer to it */
	LSH_TRIES_ARE_FORGOTTEN,    /* a release that is sent again takes "not held" for a loss */
	LSH_RESTARTS_DO_NOT_COUNT,  /* restart_guard_ms waits for nothing */
	LSH_FENCES_STAND_STILL,     /* a hold that is handed on within the process keeps the fence of the one before */
	LSH_DEAD_THREADS_HOLD_ON,   /* nobody sees a thread end that holds a lock */
	LSH_CHILDREN_GO_ON,         /* a forked child uses what is its parent's */
	LSH_ANSWERS_FIT_ANY_HOLD,   /* the answer to a renewal is for whatever hold the lock has when it comes */
	LSH_REPLICAS_MAY_LACK_IT,   /* what too few replicas acknowledged in time counts */
	LSH_ACKNOWLEDGMENTS_COUNT,  /* a lease counts from when the replicas acknowledged it */
	LSH_WAITS_GO_ANYWHERE,      /* WAIT is asked over whatever connection there is */
	LSH_ANY_FENCE_IS_BELIEVED,  /* of a server of a quorum, however far it is from the clocks of the others */
	LSH_FEW_KNOW_THE_FENCE,     /* a lock of a quorum is held before a majority knows its fence */
	LSH_HALF_IS_A_MAJORITY,     /* of a quorum, and that without one more */
	LSH_LOST_VOTES_COUNT,       /* a vote that the server does not have counts to the end of its lease */
	LSH_LOST_VOTES_SHORTEN_NOTHING, /* until the lease is valid stays what it was when a vote is lost */
	LSH_OLD_RENEWALS_COUNT,     /* a vote counts as renewed, whenever that was */
	LSH_VOTES_COME_BACK,        /* a vote that was lost is asked for while the others are being renewed */
	LSH_WIPED_VOTES_ARE_LOST,   /* a release takes a vote that a restart wiped for a loss, though it counts still */
	LSH_EARLIER_ASKS_ARE_OVER,  /* an ask on a connection that is gone is not executed any more */
	LSH_ERRORS_DO_NOTHING,      /* a script that ended with an error has done nothing */
	LSH_UNSENT_ASKS_UNDO_SENT_ONES, /* of a token whose last ask was never sent the server knows nothing */
	LSH_LONG_ASKS_ARE_FORGOTTEN, /* what is not answered has lapsed at the end of the last lease that was asked for */
	LSH_GRANTS_MAY_BE_OVER,     /* a grant is taken that comes after its end */
	LSH_GRANTS_OUTLAST_HOLDS,   /* a grant on another's terms reaches past max_hold_ms */
	LSH_ANY_LEASE_FITS,         /* who wants a shorter lease takes over a request for a longer one */
	LSH_THE_DEAF_TAKE_PLACES,   /* who cannot be told takes a place in the queue */
	LSH_LATE_RENEWALS_COUNT,    /* the answer to a renewal counts after the lease is over */
	LSH_GONE_IS_NO_LOSS,        /* that the server does not have it is a renewal that failed, and no more */
	LSH_HEARSAY_IS_BELIEVED,    /* a message grants though the server may have been replaced */
	LSH_OLD_FENCES_ARE_NEWS,    /* a message grants though its fence is not larger than the last one here */
	LSH_CALLS_TRUST_THE_WATCHDOG, /* a lease that is over is not lost before the watchdog says so */
	LSH_ANY_TERMS_FOLLOW,       /* a hold is handed on within the process whatever the next one asks for */
	LSH_TURNS_NEVER_END,        /* who reads joins others of its process for as long as they have their lease */
	LSH_READERS_PASS_WRITERS,   /* and though somebody there waits to write */
	LSH_READERS_READ_ON,        /* nobody loses what it reads when the server lets another one write */
	LSH_WAITS_END_AT_ONCE,      /* at a barrier, too: although the server still counts on who gave up */
};

#ifdef LSH_MUTATIONS

extern _Atomic int lsh_mutation;

#define LSH_MUTATES(what) (lsh_mutation == (int)(what))

void lsh_mutation_read(void); /* from the environment; before the client has threads */

/* The script that goes out in place of `script`. Never NULL. */
struct lsh_script;
const struct lsh_script *lsh_mutated(const struct lsh_script *script);

#else

#define LSH_MUTATES(what) false
#define lsh_mutated(script) (script)

static inline void
lsh_mutation_read(void)
{
}

#endif

#endif
