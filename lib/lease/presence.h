/* Presence: what a client tells about itself in Redis, so that people can be told who has a lock, or waits for one.
 *
 * "<prefix>:client:<uuid>" holds "<pid> <since ms> <host> <program>", for a day. It is written when the client first
 * asks a server for a lock, and again with what it says an hour later, or over a new connection, behind which there may
 * be a server that has lost it. It is deleted when the client is closed. Nothing depends on it: where it was refused,
 * it is tried again with a later request, after a second at the soonest.
 *
 * Each server of a quorum has a copy; in a cluster the one that has the slot of that key. */
#ifndef LSH_LEASE_PRESENCE_H
#define LSH_LEASE_PRESENCE_H

#include "base/text.h"
#include "redis/call.h"

#include <leash/inspect.h>

struct lsh_host;

enum { LSH_PARTY_KEY_SIZE = 64 + sizeof(":client:") + 36 }; /* of "<prefix>:client:<uuid>", with its NUL */

struct lsh_presence {
	struct lsh_monitor monitor;
	struct lsh_call call;
	_Atomic int64_t next_at;  /* when it is to be written */
	atomic_bool written;      /* ever */
	bool over;
};

/* Where the client of a token says who it is. Returns the length. */
size_t lsh_party_key(char out[static LSH_PARTY_KEY_SIZE], const char *prefix, const char *token);

/* Something is about to be asked of this host: see that the client is known. Any monitor but a presence's may be
 * entered. */
void lsh_presence_tell(struct lsh_host *host, int64_t now);
void lsh_presence_renew(struct lsh_host *host); /* over a new connection */
/* the client is being closed: delete it, and write it no more. Waits for nothing */
void lsh_presence_end(struct lsh_host *host);

#endif
