/* Subscriptions: in a cluster a lock has a channel of its own (Redis 7), "<key>:wake:<client>", in its slot. It is
 * listened to from before the first request that takes a place, wherever the slot goes, and for a while after somebody
 * waited last. Elsewhere the client has one channel, and its connection is subscribed to it before it is up.
 *
 * A lock whose kind has a channel has that one, everywhere: what is said there is for everybody, and who waits asks
 * again. So does who has just begun to listen, because something may have been said before.
 *
 *   DEAF --wanted--> LISTENS SOON --confirmed--> LISTENS --nobody waits for half a minute--> DEAF
 *   any --the connection ends, it moves--> DEAF
 *
 * Entered, unless it says otherwise. */
#ifndef LSH_LEASE_SUBSCRIPTION_H
#define LSH_LEASE_SUBSCRIPTION_H

#include "lease/lease.h"

/* Whoever waits at `host` is told. */
bool lsh_subscription_is_heard(const struct lsh_resource *resource, const struct lsh_host *host);
/* somebody is going to wait: as soon as the monitor is left */
void lsh_subscription_want(struct lsh_resource *resource);
/* its connection is another one */
void lsh_subscription_lost(struct lsh_resource *resource, const struct lsh_host *host);
void lsh_subscription_forget(struct lsh_resource *resource); /* nobody else has the resource */

/* A message came on this channel. False: it is no kind's. Not entered. */
bool lsh_subscription_heard(struct lsh_host *host, const char *channel, size_t size);

/* What the node calls; not entered. */
void lsh_subscription_connected(struct lsh_host *host);
void lsh_subscription_confirmed(void *host, const char *channel, size_t size);
void lsh_subscription_ended(void *host, const char *channel, size_t size);
void lsh_subscription_refused(void *host, const char *channel, size_t size, const char *text);

void lsh_subscription_work(struct lsh_host *host); /* the host's thread: leave what nobody wants any more */

#endif
