/* Resources: where a lock lives.
 *
 *   the map changed (the cluster's thread)       each lock whose slot is another server's lives at that one from now on
 *   a server said MOVED (who sent the command)   the same for that lock, at once; the command goes there
 *   a server said ASK                            the lock stays; the command goes there, behind ASKING, for this once
 *
 * Moving is a matter of memory, and waits for nothing: what is held is renewed at the new server, what waits says a
 * heartbeat there, and so finds out what of it there is; and who sleeps looks again. If the slot was moved all is
 * there; a replica that took over has what reached it, and answers "not held" or "unknown" for the rest. What an
 * earlier server says after the lock has moved is not counted: the new one is asked.
 *
 * A token is asked for at one server only. If no answer came, and the lock has moved, the next request has a new
 * token, and the old one is canceled where the lock lives now, until no request can come any more by the clock of the
 * server that was asked (vote.c). A request that is stuck on its way to an earlier server is refused there; while that
 * is cut off and does not know that it has lost the slot, what it grants is seen by nobody, and thrown away when it
 * comes back.
 *
 * Entered. */
#ifndef LSH_LEASE_RESOURCE_H
#define LSH_LEASE_RESOURCE_H

#include "lease/backend.h"

#include <string.h>

enum lsh_subscribed { LSH_DEAF, LSH_LISTENS_SOON, LSH_LISTENS };

/* What it has besides in a cluster, and of a kind with a channel. */
struct lsh_roaming {
	struct lsh_resource *resource;
	enum lsh_subscribed subscribed;    /* of its own channel (subscription.h), */
	struct lsh_host *subscribed_at;    /* where it was asked for (NULL, or where it lives), */
	int64_t subscription_wanted;       /* and when somebody needed it last; */
	struct lsh_host *subscribes_at;    /* it is being asked for there (in use), */
	struct lsh_later subscribe;        /* by this; the resource is referenced for it */
	struct lsh_host *asks;             /* a renewal that replicas acknowledge is asked for there, for once (in use); or
	                                      NULL */
	struct lsh_later moved;            /* those who wait are to look again; */
	bool stirs;                        /* that is on its way, and the resource is referenced for it */
	int64_t rests_until;               /* others, who have no places, are let ask first: */
	bool contended;                    /* some of them listened when it was released last */
};

/* And on a quorum. */
struct lsh_turns {
	int64_t rests_until;               /* others are let in; */
	int64_t contended_at;              /* when another client was in the way last; 0: never */
	unsigned turns;                    /* that ended while somebody waited here */
};

static inline bool
lsh_resource_is_roaming(const struct lsh_resource *resource)
{
	return lsh_router_is_cluster(resource->backend->router) || resource->kind->channel != NULL;
}

/* Bytes of its key that are the lock's, without the mark of a kind that only watches that lock. */
static inline size_t
lsh_resource_unmarked(const struct lsh_resource *resource)
{
	return resource->key_size - (resource->kind->mark != NULL ? strlen(resource->kind->mark) : 0);
}

/* Where the lock does not live, but its renewal is asked for (ASK); or NULL. */
static inline struct lsh_host *
lsh_resource_asks(const struct lsh_resource *resource)
{
	return lsh_router_is_cluster(resource->backend->router) ? resource->cluster->asks : NULL;
}

void lsh_resource_ask_at(struct lsh_resource *resource, struct lsh_server *server); /* or NULL */

/* Let it live where the map says. */
void lsh_resource_settle(struct lsh_resource *resource);

/* Its queue is to look again: waits() for each lease that acquires. */
void lsh_resource_stir(struct lsh_resource *resource);

#endif
