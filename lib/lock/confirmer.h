/* Confirmers, and what they tell those who have something confirmed. Only confirm.c and confirmer.c include it.
 *
 * lock->mutex held, unless it says otherwise. */
#ifndef LSH_LOCK_CONFIRMER_H
#define LSH_LOCK_CONFIRMER_H

#include "lock/confirm.h"

struct lsh_confirmer;
struct lsh_node;

/* What a WAIT said. */
struct lsh_confirm_count {
	unsigned replicas;
	bool written;
};

/* Why there is nothing to count. */
struct lsh_confirm_trouble {
	leash_status status;
	int sys_errno;
	bool is_final;     /* it does not pass by itself */
	const char *event; /* for a hold in jeopardy; NULL: it is in none */
	char text[200];
};

/* ---- confirmer.c ---- */

/* The one of this site for such terms; NULL: there is none yet. Any mutex but work_mutex may be held. */
struct lsh_confirmer *lsh_confirmer_find(struct lsh_site *site, const struct lsh_terms *terms);

/* See that there is one. No mutex held. False: no memory, threads or descriptors, or the client is being closed. */
bool lsh_confirmer_make(struct lsh_site *site, const struct lsh_terms *terms);

/* Have the next step of a tenure sent, and acknowledged. Behind ASKING, if `asks`: the lock does not live there. */
void lsh_confirmer_add(struct lsh_confirmer *confirmer, struct lsh_tenure *tenure, bool asks);

/* ---- confirm.c, of a tenure that is HELD ---- */

/* Is a step to be sent for it now? If so, how long a lease it asks for, and until when the replicas may take. */
bool lsh_confirm_wants(struct lsh_tenure *tenure, int64_t now, int64_t *lease_ms, int64_t *limit);

/* The server answered that it has the lock, to a step sent at `sent`; or there was no such answer. `node` may be NULL. */
void lsh_confirm_stepped(struct lsh_tenure *tenure, int64_t sent, int64_t lease_ms);
void lsh_confirm_failed(struct lsh_tenure *tenure, struct lsh_node *node, const struct lsh_confirm_trouble *trouble);

/* And behind it so many replicas acknowledged it. */
void lsh_confirm_counted(struct lsh_tenure *tenure, struct lsh_node *node, int64_t sent, int64_t lease_ms, const struct lsh_confirm_count *count);

#endif
