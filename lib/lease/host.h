/* A host: a server, with the votes there that its thread has to see to.
 *
 * Its thread sends what no caller waits for: renewals and heartbeats, many in a script (batch.c); cancels; what is said
 * anew over a new connection. It reads the answers for which no other thread reads. */
#ifndef LSH_LEASE_HOST_H
#define LSH_LEASE_HOST_H

#include "lease/backend.h"
#include "lease/batch.h"
#include "lease/presence.h"
#include "redis/call.h"

enum { LSH_SAYINGS = 32 };        /* of its own, to lend */

struct lsh_host {
	struct lsh_server server;     /* first */
	struct lsh_backend *backend;
	pthread_mutex_t mutex;        /* guards `due` and `replicas` */
	struct lsh_vote *due, **due_end; /* votes, and where the next one goes */
	struct lsh_replicas *replicas; /* what acknowledges there: a list that only grows */
	bool waits;                   /* it is one of those itself */
	struct lsh_batch batches[LSH_BATCHES];
	struct lsh_batch *filling;    /* of those, by its thread; or NULL */
	_Atomic uint32_t unlent;      /* a bit for each that is not, */
	atomic_bool all_wanted;       /* and somebody waits for one */
	struct lsh_saying sayings[LSH_SAYINGS];
	struct lsh_presence presence;
	_Atomic uint64_t cancels_epoch; /* the connection over which a cancel was executed last: the server has that
	                                   script */
	_Atomic int64_t accused_at;   /* when the log was told last of a fence that cannot be; 0: never */
	atomic_bool sharded;          /* in a cluster: it has channels in slots */
	atomic_bool listens, is_deaf; /* to a lock's channel, at some time; that was refused, and the log was told */
	int64_t swept;                /* its thread's: when it looked for channels that nobody wants any more; */
	int64_t doubt_at;             /* from then on it is not reached for too long; 0: at once; LSH_NEVER: it was not
	                                 tried yet */
};

struct lsh_host *lsh_host_new(struct lsh_backend *backend, const struct lsh_uri *uri, int number); /* NULL: errno */
/* Not entered. See that there is what acknowledges on such terms: a connection and a thread. False: errno says what
 * there is no more of. */
bool lsh_host_acknowledges(struct lsh_host *host, const struct lsh_safety *safety);
/* Why it cannot be relied on: it was restarted less than `guard_ms` before `now`, and so `what`. */
void lsh_host_explain_guard(const struct lsh_host *host, int64_t guard_ms, int64_t now, const char *what,
                            leash_error *why);
void lsh_host_stop(struct lsh_server *server);
void lsh_host_free(struct lsh_server *server);

/* What its node calls with a message: wakeup.c. Any thread, not entered. */
void lsh_wakeup_message(void *host, const struct lsh_item *channel, const char *text, size_t size);

static inline struct lsh_host *
lsh_host_of(struct lsh_server *server)
{
	return lsh_container(server, struct lsh_host, server);
}

/* The i-th; or, where servers come and go and that one is not there, the next one. NULL: there is none. */
static inline struct lsh_host *
lsh_host_at(const struct lsh_backend *backend, size_t i)
{
	for (; i < lsh_router_count(backend->router); i++)
		if (lsh_router_at(backend->router, i) != NULL)
			return lsh_host_of(lsh_router_at(backend->router, i));
	return NULL;
}

/* Visit the hosts of a quorum, or of a client that is being closed: none comes or goes. */
#define lsh_each_host(at, backend) \
	for (struct lsh_host *at = lsh_host_at((backend), 0); at != NULL; \
	     at = lsh_host_at((backend), (size_t)at->server.number + 1))

static inline void
lsh_host_keep(struct lsh_host **kept, struct lsh_host *host)
{
	struct lsh_host *before = *kept;

	if (host != NULL)
		lsh_server_use(&host->server);
	*kept = host;
	if (before != NULL)
		lsh_server_leave(&before->server);
}

static inline bool
lsh_host_is_up(const struct lsh_host *host)
{
	return lsh_node_is_up(host->server.node);
}

static inline const char *
lsh_host_shown(const struct lsh_host *host)
{
	return host->server.uri->shown;
}

#endif
