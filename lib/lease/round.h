/* Rounds: all servers of a quorum are asked at once, for their vote, or whether they have given it to a token. What
 * each vote counts for, and what all of them add up to.
 *
 * Entered. */
#ifndef LSH_LEASE_ROUND_H
#define LSH_LEASE_ROUND_H

#include "lease/electorate.h"
#include "lease/vote.h"

/* What is kept of one server's vote besides. */
struct lsh_quorum_vote {
	int64_t valid_until;    /* until when it counts; 0: it does not. Outlives the vote where a restart has lost that;
	                           ENDING: it stays what it was */
	int64_t sent, asked_ms; /* of the command that it follows from */
	int64_t kept_at, kept_ms; /* of the last command by which it was won or kept, though an earlier one may last
	                             longer */
	int64_t asked_at;       /* the last time that it was asked for, sent or not */
	uint64_t asked_epoch;   /* over which connection */
	int64_t fence;          /* GRANTED: that the server knows */
	int64_t ttl_ms;         /* REFUSED: of whoever has that vote */
	leash_status trouble;   /* FAILED, or a cancel was refused: what kind; its words are in the round. OK: the node
	                           knows */
	bool failing;           /* what came of the last try was not as it should be */
	bool mute;              /* it would not be told of a larger fence in this round */
};

struct lsh_round {
	int64_t began, limit;   /* ACQUIRING: 0: it has not begun */
	int64_t guard_ms;       /* for so long a server does not count after a restart */
	int64_t proposal;       /* of its fence, or the fence of the lease */
	int64_t round_at;       /* HELD: when the last renewal was wanted */
	leash_error trouble;    /* what a server said last that was no answer */
	struct lsh_quorum_vote of[];
};

/* What the votes of a lease add up to, in servers. */
struct lsh_vote_count {
	unsigned votes;     /* votes that count, and last still */
	unsigned asked;     /* may answer the first time that they are asked */
	unsigned refusals;  /* do not have it, and count */
	unsigned sound;     /* of which nothing bad is known */
	unsigned renewed;   /* votes since the last renewal was wanted */
	unsigned open;      /* of which something is still to be heard, */
	unsigned connecting;   /* or may be: nobody tells when the first attempt to connect has failed */
	unsigned away;      /* or may be, over a new connection */
	bool retry;         /* one failed that can be asked */
	const struct lsh_quorum_vote *last; /* the majority-th to end, or NULL: up to then the lease is valid */
};

/* It lies behind the votes of the lease. */
static inline struct lsh_round *
lsh_round_of(const struct lsh_lease *lease)
{
	return (struct lsh_round *)&lease->votes[lease->count];
}

static inline struct lsh_quorum_vote *
lsh_quorum_of(const struct lsh_vote *vote)
{
	return &lsh_round_of(vote->lease)->of[vote - vote->lease->votes];
}

/* Something of it is still to be heard of. */
static inline bool
lsh_quorum_is_open(const struct lsh_vote *vote)
{
	return vote->due || vote->batch != NULL || lsh_vote_is_out(vote);
}

static inline uint64_t
lsh_quorum_epoch(const struct lsh_vote *vote)
{
	return lsh_pipeline_epoch(lsh_node_pipeline(vote->host->server.node));
}

/* It is the token's, by a command sent then that asked for so long. */
void lsh_quorum_win(struct lsh_vote *vote, int64_t sent, int64_t lease_ms);
void lsh_quorum_drop(struct lsh_vote *vote, enum lsh_vote_state state); /* the server does not have our vote */
bool lsh_quorum_take_fence(struct lsh_vote *vote, int64_t fence); /* false: the vote is none, for such a fence */
void lsh_quorum_ask(struct lsh_vote *vote, int64_t lease_ms, int64_t limit, int64_t now);
void lsh_quorum_failed(struct lsh_vote *vote); /* what was asked was not sent, or not answered: the node knows why */
void lsh_quorum_refused(struct lsh_vote *vote, const struct lsh_call *call, const struct lsh_result *result);
struct lsh_vote_count lsh_quorum_count(const struct lsh_lease *lease, int64_t now);

bool lsh_round_fits(const struct lsh_lease *lease, const struct lsh_wish *want);
int64_t lsh_round_acquire(struct lsh_lease *lease, struct lsh_wish *want);
void lsh_round_count(struct lsh_lease *lease); /* ACQUIRING: is it won, or lost? */
void lsh_round_describe(const struct lsh_lease *lease, leash_error *why); /* ACQUIRING: why it is neither */
void lsh_round_let_others(struct lsh_lease *lease); /* HELD: it ends */

#endif
