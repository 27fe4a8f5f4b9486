/* The server's clock as an offset to ours, learned from every answer that tells it; and for how long this life of it
 * has lasted. */
#include "redis/node_inside.h"

#include "base/clock.h"
#include "base/mutation.h"

int64_t
lsh_node_server_us(struct lsh_node *n, int64_t at)
{
	return at / LSH_US + atomic_load_explicit(&n->offset_us, memory_order_relaxed);
}

int64_t
lsh_node_server_us_at_least(struct lsh_node *n, int64_t at)
{
	int64_t age = at - atomic_load_explicit(&n->learned, memory_order_relaxed);

	return lsh_node_server_us(n, at) - (age > 0 ? age / LSH_US / 100 : 0);
}

void
lsh_node_set_clock(struct lsh_node *n, int64_t offset_us, int64_t received)
{
	atomic_store_explicit(&n->offset_us, offset_us, memory_order_relaxed);
	atomic_store_explicit(&n->learned, received, memory_order_relaxed);
}

void
lsh_node_learn_clock(struct lsh_node *n, int64_t server_us, int64_t sent, int64_t received)
{
	int64_t offset, age_us, least, most, off, drift;

	if (sent == LSH_NEVER || received == LSH_NEVER)
		return; /* our own clock could not be read */
	offset = atomic_load_explicit(&n->offset_us, memory_order_relaxed);
	age_us = (received - atomic_load_explicit(&n->learned, memory_order_relaxed)) / LSH_US;
	least = server_us - received / LSH_US; /* it was read between these two */
	most = server_us - sent / LSH_US;
	off = offset < least ? least - offset : offset > most ? most - offset : 0;
	drift = age_us > 0 ? age_us / 100 : 0;
	/* what we believe is among what is possible, and perhaps from a faster answer: keep it */
	lsh_node_set_clock(n, off == 0 ? offset : least, received);
	if ((off > 1000000 + drift || off < -1000000 - drift) && n->ops->clock_jumped != NULL)
		n->ops->clock_jumped(n->ctx, off);
}

int64_t
lsh_node_uptime(struct lsh_node *n, int64_t now)
{
	int64_t since = atomic_load(&n->up_since), master_since = atomic_load(&n->master_since);

	/* a replica that was made the master may lack what the one before had granted, just as one that was restarted */
	if (since < master_since)
		since = master_since;
	if (LSH_MUTATES(LSH_RESTARTS_DO_NOT_COUNT))
		return LSH_NEVER;
	if (since == LSH_NEVER)
		return -1;
	return now != LSH_NEVER ? now - since : 0; /* `since` may be long before our own start */
}
