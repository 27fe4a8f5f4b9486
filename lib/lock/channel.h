/* Channels: in a cluster, where the grants of a lock are told to this client.
 *
 * PUBLISH goes to all nodes of a cluster, and its answer counts the listeners at one: so nobody learns that a client is gone, and each
 * message is carried to everybody. Since Redis 7 a channel may have a slot, and what is published there (SPUBLISH) goes to those who
 * subscribed at the server that has it, and to nobody else, and the answer counts them all. Each lock has such a channel for each client, in
 * its own slot, which is subscribed to (SSUBSCRIBE) when a lock is waited for in Redis: not sooner, so that an uncontended lock costs
 * nothing, and before the first ask that takes a place.
 *
 *   DEAF --somebody waits--> SOON --confirmed--> LISTENS --nobody has waited for a while, or the lock is forgotten--> DEAF
 *     ^                        |                    |
 *     +-- refused, the connection broke, the slot left the server: who waits asks for it anew, where the lock lives then
 *
 * Where servers have none all of this does nothing, and the one channel of the client counts. lock->mutex held, where nothing else is said. */
#ifndef LSH_LOCK_CHANNEL_H
#define LSH_LOCK_CHANNEL_H

#include "lock/state.h"

/* Does the server have such channels? No mutex needed. */
bool lsh_channel_is_sharded(const struct lsh_site *site);

/* Would a grant that is made at this site be heard? */
bool lsh_channel_is_heard(const struct lsh_lock *lock, const struct lsh_site *site);

/* Somebody waits for the lock: see that it can be heard, where it lives. The mutex is released meanwhile, but not for long. */
void lsh_channel_want(struct lsh_lock *lock);

/* The last reference to the lock is gone. No mutex held. */
void lsh_channel_forget(struct lsh_lock *lock);

/* What the node of a site calls: ctx is the site. No mutex held. */
void lsh_channel_connected(struct lsh_site *site); /* the commands' connection: what can the server do? */
void lsh_channel_subscribed(void *ctx, const char *channel, size_t size);
void lsh_channel_unsubscribed(void *ctx, const char *channel, size_t size);
void lsh_channel_refused(void *ctx, const char *channel, size_t size, const char *text);
void lsh_channel_lost(struct lsh_lock *lock, const struct lsh_site *site); /* the connection for messages is a new one; mutex held */

/* The keeper: leave the channels that nobody needs. No mutex held. */
void lsh_channel_work(struct lsh_site *site);
void lsh_channel_free_left(struct lsh_site *site);

#endif
