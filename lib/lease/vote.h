/* A vote: what one server may do with one token.
 *
 *   NEW --sent--> SENT --> GRANTED | PLACED | REFUSED | FAILED --sent again--> SENT
 *   any --the lease ends--> ENDING --a cancel was answered past every not_after, or it has lapsed--> ENDED
 *   any, never asked --the lease ends--> ENDED
 *
 * A request belongs to one connection and to one moment: it carries the time, by that server's clock, after which it
 * does nothing. Whatever becomes of it, the vote knows what of it the server may still come to execute:
 *
 *   answered       nothing of it is still on its way; the answer says the rest
 *   never sent     as if it had not been appended
 *   anything else  perhaps executed, now or before not_after: a cancel is repeated until then
 *
 * Entered, unless it says otherwise. */
#ifndef LSH_LEASE_VOTE_H
#define LSH_LEASE_VOTE_H

#include "lease/lease_inside.h"
#include "redis/call.h"

/* Something that is said of a vote. It is there only while that is on its way, and for the first request beforehand: a
 * lock that is held has none. A host lends some of its own, and who finds them all lent, and no memory, comes again
 * when one is back (lsh_vote_due()): so no renewal, heartbeat or cancel fails for want of memory, each only takes its
 * turn. What a round of a quorum says besides may fail, as without a connection. */
struct lsh_saying {
	struct lsh_call call;
	struct lsh_host *host;        /* from which it was borrowed (in use) */
	bool is_lent;                 /* and whose own it is */
	enum lsh_verb verb;
	bool placed;                  /* it takes a place */
	bool asked_before;            /* what was so before it */
	int64_t not_after_before_us;
	int64_t lease_ms, fence;      /* that it asks for */
	char token[LSH_WHO_SIZE];
	int64_t limit;                /* until when it may be executed */
};

/* What came of what was said of a vote. */
struct lsh_voted {
	enum lsh_verb verb;
	const struct lsh_result *result;
	struct lsh_verdict verdict;    /* if result->what is ANSWERED */
	const struct lsh_call *call;   /* for lsh_call_explain() */
	int64_t lease_ms;              /* that was asked for */
	bool by_itself;                /* and not among others, */
	bool placed;                   /* and with a place */
	bool moved;                    /* the lock lives elsewhere since: that server knows better */
};

struct lsh_saying *lsh_saying_borrow(struct lsh_host *host); /* NULL: no memory, and all are lent */
void lsh_saying_give_back(struct lsh_saying *saying);

void lsh_vote_init(struct lsh_vote *vote, struct lsh_lease *lease, struct lsh_host *host);

/* Is something on its way, but a cancel? */
static inline bool
lsh_vote_is_out(const struct lsh_vote *vote)
{
	return vote->saying != NULL && vote->saying->call.out;
}

/* Send it. `reader` may be NULL. False: there is no connection. None while it is out. */
bool lsh_vote_acquire(struct lsh_vote *vote, int64_t lease_ms, bool place, int64_t fence, int64_t limit,
                      struct lsh_parker *reader);
/* RENEW, HEARTBEAT, RAISE: what the verb does not want is 0. */
bool lsh_vote_say(struct lsh_vote *vote, enum lsh_verb verb, int64_t lease_ms, int64_t fence,
                  struct lsh_parker *reader);

/* May a request be executed that was sent before the one that was answered with this? */
bool lsh_vote_is_open(const struct lsh_vote *vote, const struct lsh_result *result);
int64_t lsh_vote_closes_at(const struct lsh_vote *vote, int64_t now); /* when not any more */
/* The server has it no more: nothing is to be canceled, unless something of it may still be executed. */
void lsh_vote_forget(struct lsh_vote *vote);

/* The lease is ENDING: cancel what the server may know of it. */
void lsh_vote_end(struct lsh_vote *vote, struct lsh_parker *reader);
void lsh_vote_cancel(struct lsh_vote *vote, struct lsh_parker *reader); /* the cancel is due */
void lsh_vote_ended(struct lsh_vote *vote); /* with the last one its lease has ended */
void lsh_vote_arm_end(struct lsh_lease *lease); /* for the next cancel */

/* Whose thread sees to it: that of its host, or of what acknowledges it there, if there is such a thing already. */
struct lsh_host *lsh_vote_keeper(const struct lsh_vote *vote);
void lsh_vote_due(struct lsh_vote *vote); /* let that thread see to it */

/* Something was answered by a batch: vote.c has sent none of it. */
void lsh_vote_tell(struct lsh_vote *vote, struct lsh_voted *voted);

/* All but what the verb wants. `token` has to last as long as that. */
void lsh_vote_request(const struct lsh_vote *vote, struct lsh_request *request, char who[static LSH_WHO_SIZE],
                      int64_t now);

#endif
