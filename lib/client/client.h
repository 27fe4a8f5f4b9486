/* The client: what leash_client is made of. Only this folder includes it. */
#ifndef LSH_CLIENT_CLIENT_H
#define LSH_CLIENT_CLIENT_H

#include "base/courier.h"
#include "base/list.h"
#include "base/thread.h"
#include "core/engine.h"
#include "redis/uri.h"

#include <leash/client.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What goes with a client, and was made later. */
struct lsh_annex {
	bool (*is_busy)(struct lsh_annex *annex); /* it calls the program back at this moment */
	void (*close)(struct lsh_annex *annex);   /* the engine is closed, and its threads are gone */
	void (*free)(struct lsh_annex *annex);    /* all is gone */
};

struct leash_client {
	struct lsh_list link;    /* in the list of open clients */
	atomic_uint references;  /* the caller's, until leash_close(), and one for each handle */
	uint64_t process;        /* the one that opened it */
	atomic_bool closed;
	struct lsh_uri uri;
	char prefix[65], name[80];
	struct lsh_terms defaults; /* of its handles */
	struct lsh_courier *courier;
	struct lsh_engine *engine;
	struct lsh_annex *_Atomic annex; /* the loop (loop.h); NULL: nothing was started yet */
	struct lsh_group *_Atomic groups; /* groups.h */
	struct lsh_letter clock_letter;
	_Atomic int64_t clock_jump_us;
};

void lsh_client_count(leash_client *client, leash_stats *stats); /* all but its size; memory only */
void lsh_client_retain(leash_client *client);
void lsh_client_unref(leash_client *client);

/* May a call go on that waits, or takes mutexes? Else FORKED, IN_CALLBACK or CLOSED. */
leash_status lsh_client_check(const leash_client *client, leash_error *err);
/* And one that does neither? Else FORKED or CLOSED. */
leash_status lsh_client_is_there(const leash_client *client, leash_error *err);

/* Release in the background, over all clients, what this owner holds. */
void lsh_clients_abandon(const struct leash_owner *owner, const char *why);

/* LEASH_UNSUPPORTED, and why. */
leash_status lsh_no_fork_guard(leash_error *err);

#endif
