/* Leases, for what is in this folder: what their votes and strategies make of them. Entered. */
#ifndef LSH_LEASE_LEASE_INSIDE_H
#define LSH_LEASE_LEASE_INSIDE_H

#include "lease/lease.h"

struct lsh_call;
struct lsh_result;
struct lsh_voted;

void lsh_lease_free(struct lsh_lease *lease); /* and let go of its hosts; NULL is allowed */

int64_t lsh_wish_lease_ms(const struct lsh_wish *want); /* that is asked for */

/* As scripts call it, with its need, if it has one. Returns the length. */
size_t lsh_lease_who(const struct lsh_lease *lease, char who[static LSH_WHO_SIZE]);

/* It is the client's, by a command sent at `sent` that asked for `lease_ms`: PENDING. False: that is over already, or
 * the client is being closed. */
bool lsh_lease_granted(struct lsh_lease *lease, int64_t fence, int64_t sent, int64_t lease_ms, bool is_claim);
/* ADOPTING: the same, of a token that had the lock already. */
void lsh_lease_adopted(struct lsh_lease *lease, int64_t fence, int64_t sent, int64_t lease_ms);
/* PENDING: from now on it is its owner's, by a command sent then. */
void lsh_lease_held(struct lsh_lease *lease, int64_t fence, int64_t sent);
/* Must nothing be granted yet, because the server was restarted? */
bool lsh_lease_is_guarded(const struct lsh_lease *lease, bool by_message);

/* PENDING, HELD: is valid_until past? Then it is lost, whatever is answered from now on. */
bool lsh_lease_is_over(struct lsh_lease *lease, int64_t now);
/* HELD: a renewal is wanted now. If there is no answer for a quarter of the lease the connection is broken. */
void lsh_lease_want(struct lsh_lease *lease, int64_t now);
/* PENDING, HELD: it lasts at least until a lease of so long from `sent` on ends. */
void lsh_lease_prolong(struct lsh_lease *lease, int64_t sent, int64_t lease_ms);
/* HELD: a renewal that was sent at `sent` succeeded. */
void lsh_lease_renewed(struct lsh_lease *lease, int64_t sent, int64_t lease_ms);
/* PENDING, HELD: one failed, and is tried again; `may_ask`: before there is a new connection. `event`: it is at
 * risk. */
void lsh_lease_not_renewed(struct lsh_lease *lease, const char *event, bool may_ask);
/* A renewal of it found a key without a TTL: for the reader of the log, as nobody else notices. */
void lsh_lease_warn_of_no_ttl(const struct lsh_lease *lease, const struct lsh_host *host);
int64_t lsh_lease_up_to_end_ms(const struct lsh_lease *lease, int64_t ms, int64_t now); /* as max_hold_ms allows */
int64_t lsh_lease_time_for_replicas(const struct lsh_lease *lease); /* how long they may take, in ns; */
int64_t lsh_lease_pending_until(const struct lsh_lease *lease);     /* PENDING: until then */

void lsh_lease_arm(struct lsh_lease *lease, int64_t due, int64_t slack);
void lsh_lease_retain_timer(struct lsh_timer *timer);                    /* the watchdog's thread */
void lsh_lease_fire(void *ctx, const struct lsh_due *due, size_t count); /* likewise */

/* A command that asks for so long goes out. */
static inline void
lsh_lease_ask_for(struct lsh_lease *lease, int64_t lease_ms)
{
	if (lease_ms > lease->longest_ms)
		lease->longest_ms = (int32_t)lease_ms;
}

static inline bool
lsh_safety_needs_replicas(const struct lsh_safety *safety)
{
	return safety->min_replicas > 0 || safety->fsynced;
}

/* PENDING, HELD: its renewals count only once replicas have acknowledged them. */
static inline bool
lsh_lease_is_acknowledged(const struct lsh_lease *lease)
{
	return (lease->state == LSH_PENDING || lease->state == LSH_HELD) && lsh_safety_needs_replicas(&lease->safety);
}

#endif
