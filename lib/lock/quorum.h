/* Quorums (Redlock): a lock on N servers that know nothing of each other, held by whoever has a majority of their votes.
 *
 * A server of a quorum is a site, with a node and a keeper of its own. A tenure, one token's life, has a ballot: a leg
 * for each server, made with it, so that nothing later allocates. A vote is the lock on that server alone; it is taken
 * (acquire.lua), kept (renew.lua) and given back (release.lua) by all the rules of a single server.
 *
 * THE RULE. The hold is valid until the majority-th largest valid-until of its votes: up to then a majority of the servers has
 * voted for nobody else, and any other owner would need one of those. So a vote that is lost, or counts no more, brings that
 * moment nearer; a vote that is won, or won again, puts it off; and what one server says decides nothing.
 *
 *   leg      NEW --asked--> ASKING --the token's--> HELD --renewed--> HELD --"not held" or no answer: counts to its valid-until-->
 *                             |                                            asked again with the next renewal
 *                             +--another's: REFUSED, or no answer: FAILED--> asked again with the next renewal, once the lock is held
 *            any --the tenure ends--> ENDING --its cancel is answered for good, or it has lapsed--> ENDED (never asked: at once)
 *
 *   round    an acquire asks all servers at once, with a new token:
 *            ASKING --a majority HELD, its fence known to a majority--> the tenure is HELD; who answers later only adds to it
 *                   --a majority is impossible, or the time is over--> the tenure is ENDING: canceled wherever it was asked, and
 *                     the next round comes after a random pause that is longer than this one took
 *
 *   renewal  the tenure's one timer gives every leg to its keeper: HELD ones are renewed, and when all of those have been heard of the
 *            others are asked again, by the same token. (Not sooner: what a majority has taken from it is lost, and must not be
 *            brought back one by one.) Succeeded when a majority has been renewed since
 *
 *   guard    a server that was restarted without its data may give away what another owner still counts on. So its vote counts only once
 *            it has been up for restart_guard_ms, which is at least the longest lease that anybody uses; that it does not say how long
 *            it is up means that it never counts. It is asked all the same, so that the vote is there when it counts
 *
 *   adoption a token of another client: all servers are asked, and those whose vote it has keep it (heartbeat.lua). A
 *            majority of such votes is a hold as any other; so many that do not have it are none; else it is not known
 *
 *   fence    the client proposes one, each server answers that or its last + 1, and the largest counts. Before the lock is held a
 *            majority must know it: where answers differ it is written back (raise.lua). So the next majority has one server
 *            that answers more
 *
 * Threads. A leg is guarded by its lock's mutex. Whoever decides something may append the commands for it to the pipes at once (an
 * acquire, a release); else the keepers do. The answers are always heard and settled by each server's keeper, in the order of its
 * pipe: all servers in parallel, and one that hangs delays its own legs only. A leg has at most two commands on their way: the one
 * that asks, renews or raises, and behind it the cancel. Then the votes are counted (ballot.c), by whichever keeper it was.
 *
 * quorum.c: the servers, and the arithmetic. leg.c: one server's half. ballot.c: the count and what follows from it. round.c:
 * acquiring. canvass.c: what else callers wait for. */
#ifndef LSH_LOCK_QUORUM_H
#define LSH_LOCK_QUORUM_H

#include "lock/ask.h"
#include "lock/state.h"

/* ---- arithmetic: no state, any thread ---- */

unsigned lsh_quorum_majority(size_t servers);

/* The `majority`-th largest of `count` moments; 0 if there are fewer. */
int64_t lsh_quorum_nth_largest(const int64_t *moments, size_t count, unsigned majority);

/* How long to wait after the `rounds`-th round has failed, which took `round` (ns): 1 to 3 times that, by `random`, and more with each
 * round. `votes`: that were won; `ttls`: of the `refusals` votes that others have, in ms, -1 where there is no end. */
int64_t lsh_quorum_pause(int64_t round, unsigned rounds, uint32_t random);
/* ms after which a majority would be free if those others let their votes lapse; -1: that cannot be told. */
int64_t lsh_quorum_lapses_ms(const int64_t *ttls, size_t refusals, unsigned votes, unsigned majority);

/* What so many servers say of a lock, of which each may have another holder, or none. Returns how many agree on one, as most do on any,
 * and, unless that is 0, that in `*agreed`: its fence the one of a majority, or the largest; its time what is left of a majority's. */
unsigned lsh_quorum_agree(const leash_lock_info *infos, size_t count, unsigned majority, leash_lock_info *agreed);

/* ---- the state ---- */

struct lsh_quorum {
	unsigned majority;
	struct lsh_uri uris[LSH_QUORUM_MAX];
	_Atomic int64_t last_fence;          /* the largest that this client has seen or proposed */
	struct lsh_parker *_Atomic opener;   /* until the client is open */
};

enum lsh_leg_phase { LSH_LEG_NEW, LSH_LEG_ASKING, LSH_LEG_REFUSED, LSH_LEG_FAILED, LSH_LEG_HELD, LSH_LEG_ENDING, LSH_LEG_ENDED };
enum lsh_errand_of_leg { LSH_LEG_ASKS, LSH_LEG_RENEWS, LSH_LEG_RAISES, LSH_LEG_KEEPS, LSH_LEG_LOOKS, LSH_LEG_CANCELS };

/* A command on its way. */
struct lsh_leg_command {
	struct lsh_ticket ticket;
	bool out;                /* appended, and not settled */
	enum lsh_errand_of_leg what;
	bool whole;
	bool asked_before;       /* ask: what leg->asked was, */
	int64_t not_after_before_us; /* and leg->not_after_us */
	int64_t sent, lease_ms;
};

struct lsh_leg {
	struct lsh_tenure *tenure;
	struct lsh_site *site;
	struct lsh_list work_link;   /* in site->legs, which then has a reference to the tenure; engine->work_mutex guards both */
	enum lsh_leg_phase phase;
	int64_t valid_until;         /* until when its vote counts; 0: it does not. Outlives the vote itself where a restart has lost that */
	int64_t sent;                /* of the command that it follows from */
	int64_t renewed_ms;          /* the lease of that */
	int64_t kept_at, kept_ms;    /* of the last command by which it was won or kept, be it that the vote lasts for longer by an earlier one */
	int64_t fence;               /* HELD: that the server knows */
	int64_t ttl_ms;              /* REFUSED: of whoever has that vote */
	bool failing;                /* what came of the last try was not as it should be */
	bool mute;                   /* it would not be told of a larger fence in this round */
	leash_status trouble;        /* FAILED, or a cancel was refused: what kind; its words are in the ballot */
	bool send_whole;             /* the server lacks the script */

	int64_t tried_at;            /* the last ask or renewal, sent or not, */
	uint64_t tried_epoch;        /* and the connection then */
	bool asked;                  /* the server may know the token */
	uint64_t ask_epoch;          /* these three as in struct lsh_tenure */
	int64_t not_after_us;
	int64_t ghost_until_us;

	/* ENDING */
	uint64_t cancel_epoch;       /* the connection over which it was tried last, */
	int64_t again_at;            /* and when that is to be tried again on the same one */
	unsigned failures;
	bool cancel_unknown;         /* a cancel before may have been executed */
	int64_t stood_until;         /* its vote counted until then, when it began to end */
	enum { LSH_NO_ANSWER, LSH_RELEASED, LSH_NOT_THERE } answer;

	struct lsh_leg_command way, cancel;
};

/* A thread that awaits what becomes of a ballot, and is not a waiter; it lies on that thread's stack. */
struct lsh_watcher {
	struct lsh_list link;        /* in ballot->watchers */
	struct lsh_thread *thread;
	int64_t extend_ms;           /* it awaits an extension for so long; 0: something else */
};

struct lsh_ballot {
	struct lsh_list watchers;    /* struct lsh_watcher */
	struct lsh_list question_link; /* in lock->questions, while it looks */
	int64_t guard_ms;            /* until it is held: for so long a server must be up whose vote counts */
	int64_t began, limit;        /* ASKING: the round */
	int64_t proposal;            /* of its fence, or the fence of the hold */
	int64_t fence;               /* ASKING: that a majority has yet to know; 0: none */
	int64_t round_at;            /* HELD: when the last renewal was wanted; looking: when the question was put */
	int64_t extend_ms;           /* HELD: an extension is awaited, for so long at most; 0: none is */
	bool looks;                  /* it is no tenure in truth, but a question to all */
	bool asks_who;               /* namely who the client of `token` is, */
	bool keeps;                  /* or whether the token holds the lock: its votes are to last */
	unsigned ending;             /* legs that are ENDING */
	leash_status trouble;        /* what a server said last that was no answer, */
	char trouble_text[200];      /* in its words */
	size_t count;
	struct lsh_leg legs[];
};

/* ---- quorum.c ---- */

/* Make the sites; LEASH_OK when a majority of them takes commands. What was made is the engine's to free, also if it fails. */
leash_status lsh_quorum_open(struct lsh_engine *engine, leash_error *err);
void lsh_quorum_drop(struct lsh_engine *engine); /* when no node runs: nothing more is sent or heard */
void lsh_quorum_free(struct lsh_quorum *quorum); /* when no node is there; NULL is allowed */
bool lsh_quorum_is_settled(struct lsh_engine *engine); /* is no cancel owed to a server that could be told? */
void lsh_quorum_connected(struct lsh_site *site); /* the keeper's */
/* Why it cannot be asked, or does not count for somebody with this guard; false: it can, and does. */
bool lsh_quorum_excuse(struct lsh_site *site, int64_t guard_ms, int64_t now, leash_status *status, int *sys_errno, char *text, size_t size);
bool lsh_quorum_counts(struct lsh_site *site, int64_t guard_ms, int64_t now); /* is it up for long enough? */
int64_t lsh_quorum_propose(struct lsh_quorum *quorum);
void lsh_quorum_learn_fence(struct lsh_quorum *quorum, int64_t fence);
/* The largest fence that may be believed: what is larger would be refused, or be replaced, by a majority. */
int64_t lsh_quorum_fence_most(struct lsh_engine *engine, int64_t now);
/* "<n> of <count> servers <what>: <why>" */
void lsh_quorum_say(char *text, size_t size, unsigned n, size_t count, const char *what, const char *why);

/* ---- leg.c; lock->mutex held ---- */

void lsh_leg_give(struct lsh_leg *leg); /* let its keeper see to it; any mutex but work_mutex may be held */
/* Append what is due of it; settled at once where there is no connection. False: there is no room, or no keeper yet: it is given. */
bool lsh_leg_send(struct lsh_leg *leg);
void lsh_quorum_work(struct lsh_site *site); /* the keeper's, without the mutex */

/* ---- ballot.c; lock->mutex held ---- */

struct lsh_ballot *lsh_ballot_new(struct lsh_tenure *tenure); /* NULL: no memory */
struct lsh_leg *lsh_ballot_leg(struct lsh_ballot *ballot, const struct lsh_site *site);
void lsh_ballot_watch(struct lsh_ballot *ballot, struct lsh_watcher *watcher);
void lsh_ballot_unwatch(struct lsh_ballot *ballot, struct lsh_watcher *watcher);
void lsh_ballot_give_work(struct lsh_tenure *tenure); /* to all keepers */
void lsh_ballot_send(struct lsh_tenure *tenure);      /* what is due goes out by itself, or with lsh_ballot_flush() a little sooner */
void lsh_ballot_flush(struct lsh_engine *engine);     /* without the mutex */
void lsh_ballot_end(struct lsh_tenure *tenure);       /* canceled wherever it was asked; no-op if it has ended */
void lsh_ballot_break_if_silent(struct lsh_tenure *tenure);
/* HELD: for how long a renewal, or an ask in place of one, may ask now; 0: it must not. */
int64_t lsh_ballot_wants_ms(const struct lsh_tenure *tenure, int64_t now);
/* HELD: is one of its renewals still to be heard of? */
bool lsh_ballot_is_renewing(const struct lsh_ballot *ballot);
/* A leg has changed: what follows. The caller has a reference. */
void lsh_ballot_count(struct lsh_tenure *tenure);
void lsh_leg_ended(struct lsh_leg *leg);
int64_t lsh_ballot_guard_ms(const struct lsh_tenure *tenure);

/* ---- round.c; lock->mutex held, released meanwhile ---- */

enum lsh_asked lsh_round_drive(struct lsh_lock *lock, struct lsh_waiter *waiter);
void lsh_round_blame(struct lsh_lock *lock, struct lsh_waiter *waiter, const struct lsh_line *line);
/* The tenure's turn is over: whoever asks next here does not do so at once, if others are likely to want it, too. */
void lsh_round_let_others(struct lsh_lock *lock, const struct lsh_tenure *tenure);
void lsh_round_lost(struct lsh_tenure *tenure); /* ended, and its waiter knows why and when to try again */
/* Are these the terms on which it asks? Else whoever is first begins anew. */
bool lsh_round_is_on(const struct lsh_tenure *tenure, const struct lsh_terms *terms);
/* "<n> of <count> servers could not be asked: <why>", of a ballot to which no answer is awaited any more. */
leash_status lsh_round_excuse(const struct lsh_tenure *tenure, int *sys_errno, char *text, size_t size);

/* ---- canvass.c; lock->mutex held, released meanwhile ---- */

leash_status lsh_canvass_release(struct lsh_lock *lock, struct lsh_tenure *tenure, struct lsh_thread *self, leash_error *err);
leash_status lsh_canvass_extend(struct lsh_lock *lock, struct lsh_hold *hold, int64_t lease_ms, struct lsh_thread *self, leash_error *err);
leash_status lsh_canvass_look(struct lsh_lock *lock, int64_t deadline, struct lsh_thread *self, leash_lock_info *info, leash_error *err);
void lsh_canvass_who(struct lsh_lock *lock, int64_t deadline, struct lsh_thread *self, leash_party *party);
leash_status lsh_canvass_take(struct lsh_lock *lock, struct lsh_tenure *tenure, struct lsh_thread *self, leash_error *err);

/* A majority has the lock by a token that another client got, and its votes were prolonged. */
struct lsh_kept {
	int64_t fence;           /* that a majority knows */
	int64_t sent, lease_ms;  /* of the command that its majority-th largest valid-until follows from */
};

/* See whether that is so, for a tenure that was made for the token. Its votes are in its ballot then; or it is of no more use. */
leash_status lsh_canvass_keep(struct lsh_lock *lock, struct lsh_tenure *tenure, int64_t guard_ms, struct lsh_thread *self, struct lsh_kept *kept,
                              leash_error *err);

#endif
