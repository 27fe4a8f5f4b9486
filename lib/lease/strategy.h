/* A deployment, as an object with functions: how a lease is acquired, kept and given back by its votes. There is one
 * for a server (single.c), which a cluster and a set of sentinels lead to, and one for independent servers (quorum.c).
 *
 * All of it is called with the resource entered, unless it says otherwise. */
#ifndef LSH_LEASE_STRATEGY_H
#define LSH_LEASE_STRATEGY_H

#include "lease/lease_inside.h"

struct lsh_strategy {
	const char *why_over;    /* no renewal succeeded */
	bool has_queue;          /* the server keeps one, and tells who is next */
	size_t round_size;       /* of what it keeps for each lease besides, and for each vote in it */
	size_t round_vote_size;
	leash_status (*open)(struct lsh_backend *backend, leash_error *err); /* the servers are made: await them; or NULL */
	bool (*fits)(const struct lsh_lease *lease, const struct lsh_wish *want); /* may it go on for somebody else? */
	/* Or adopt. Returns when to call it again; LSH_NEVER: news come by themselves. */
	int64_t (*acquire)(struct lsh_lease *lease, struct lsh_wish *want);
	void (*granted)(struct lsh_lease *lease, int64_t fence, int64_t sent); /* PENDING: see that it becomes HELD */
	void (*renews)(struct lsh_lease *lease, int64_t now); /* its votes are about to be renewed; or NULL */
	/* HELD: by extend_ms, now. False: there is no connection. */
	bool (*extend)(struct lsh_lease *lease, struct lsh_parker *reader);
	void (*silent)(struct lsh_lease *lease);             /* HELD: a renewal is overdue */
	void (*connected)(struct lsh_vote *vote);            /* its server is there (again) */
	void (*host_connected)(struct lsh_host *host);       /* likewise, not entered; or NULL */
	void (*see_to)(struct lsh_vote *vote, int64_t now);  /* on its server's thread: lsh_vote_due() */
	void (*voted)(struct lsh_vote *vote, const struct lsh_voted *voted);
	void (*ends)(struct lsh_lease *lease);               /* it is about to be ENDING; or NULL */
	/* ENDING: its cancel was answered, or not. */
	void (*released)(struct lsh_vote *vote, const struct lsh_call *call, const struct lsh_result *result);
	/* Why it is not acquired, released or extended by now; `*why` is what was told last. */
	void (*describe)(struct lsh_lease *lease, leash_error *why);
};

#endif
