#include "redis/router.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/mutex.h"
#include "base/text.h"
#include "redis/cluster.h"

#include <errno.h>
#include <stdio.h>

struct lsh_router {
	struct lsh_router_options options;
	const struct lsh_router_ops *ops;
	void *ctx;
	struct lsh_cluster *cluster;                      /* or NULL */
	struct lsh_uri uris[LSH_QUORUM_MAX];              /* of a quorum's servers */
	_Atomic size_t count;                             /* all are below that */
	_Atomic uint64_t commands_gone, connects_gone;
	struct lsh_figure round_trips;
	pthread_mutex_t mutex;                            /* held while a server is made or taken away, or `closed` set */
	atomic_bool closed;
	struct lsh_server *_Atomic servers[LSH_SERVERS];
};

/* ---- what is asked of it ---- */

bool
lsh_router_is_cluster(const struct lsh_router *r)
{
	return r->options.uri->deployment == LSH_CLUSTER;
}

const struct lsh_router_options *
lsh_router_options(const struct lsh_router *r)
{
	return &r->options;
}

unsigned
lsh_router_slot_of(const struct lsh_router *r, const char *key, size_t size)
{
	return r->cluster != NULL ? lsh_slot_of(key, size) : 0;
}

const struct lsh_figure *
lsh_router_round_trips(const struct lsh_router *r)
{
	return &r->round_trips;
}

void
lsh_router_answered(struct lsh_router *r, int64_t after_ns)
{
	lsh_figure_add(&r->round_trips, after_ns);
}

void
lsh_router_gone(const struct lsh_router *r, uint64_t *commands, uint64_t *connects)
{
	*commands = atomic_load(&r->commands_gone);
	*connects = atomic_load(&r->connects_gone);
}

size_t
lsh_router_count(const struct lsh_router *r)
{
	return atomic_load_explicit(&r->count, memory_order_acquire);
}

struct lsh_server *
lsh_router_at(const struct lsh_router *r, size_t i)
{
	return atomic_load_explicit(&r->servers[i], memory_order_acquire);
}

struct lsh_server *
lsh_router_get(struct lsh_router *r, size_t i)
{
	struct lsh_server *server;

	if (r->cluster == NULL)
		return lsh_router_at(r, i);
	if (!lsh_cluster_use_number(r->cluster, (int)i))
		return NULL;
	server = lsh_router_at(r, i);
	if (server == NULL)
		lsh_cluster_leave(r->cluster, (int)i);
	return server;
}

void
lsh_server_use(struct lsh_server *server)
{
	if (server->router->cluster != NULL)
		lsh_cluster_use(server->router->cluster, server->number);
}

void
lsh_server_leave(struct lsh_server *server)
{
	if (server != NULL && server->router->cluster != NULL)
		lsh_cluster_leave(server->router->cluster, server->number);
}

void
lsh_server_keep(struct lsh_server **kept, struct lsh_server *server)
{
	struct lsh_server *before = *kept;

	if (server != NULL)
		lsh_server_use(server);
	*kept = server;
	lsh_server_leave(before);
}

struct lsh_server *
lsh_router_of_slot(struct lsh_router *r, unsigned slot)
{
	int number = r->cluster != NULL ? lsh_cluster_at(r->cluster, slot) : 0;

	/* one that has lost the slot since, or even its number, says so itself (MOVED) */
	return number != LSH_NO_SERVER ? lsh_router_get(r, (size_t)number) : NULL;
}

bool
lsh_router_has_slot(const struct lsh_server *server, unsigned slot)
{
	const struct lsh_router *r = server->router;

	return r->cluster == NULL || lsh_cluster_at(r->cluster, slot) == server->number;
}

bool
lsh_server_serves(const struct lsh_server *server)
{
	return server->router->cluster == NULL || lsh_cluster_serves(server->router->cluster, server->number);
}

struct lsh_server *
lsh_router_any(struct lsh_router *r)
{
	struct lsh_server *any = NULL;

	for (size_t i = 0; i < lsh_router_count(r) && (any == NULL || !lsh_node_is_up(any->node)); i++) {
		struct lsh_server *server = lsh_router_get(r, i);

		if (server != NULL && (any == NULL || lsh_node_is_up(server->node)))
			lsh_server_keep(&any, server);
		lsh_server_leave(server);
	}
	return any;
}

/* ---- servers ---- */

void
lsh_server_init(struct lsh_server *server, struct lsh_router *router, const struct lsh_uri *uri, int number)
{
	static _Atomic uint64_t last_serial;

	server->router = router;
	server->uri = uri;
	server->number = number;
	server->serial = atomic_fetch_add(&last_serial, 1) + 1;
	pthread_mutex_init(&server->mutex, NULL);
	lsh_list_init(&server->backlog);
}

void
lsh_server_destroy(struct lsh_server *server)
{
	pthread_mutex_destroy(&server->mutex);
}

/* The server of a number that is in use, or, without a cluster, the next one. NULL: errno says what there is no more
 * of, or it is closed. */
static struct lsh_server *
make(struct lsh_router *r, const struct lsh_uri *uri, int number)
{
	size_t i = (size_t)number;
	struct lsh_server *server = lsh_router_at(r, i);

	if (server != NULL)
		return server;
	lsh_locked(&r->mutex);
	server = lsh_router_at(r, i);
	if (server == NULL && !r->closed && (server = r->ops->server_new(r->ctx, uri, number)) != NULL) {
		atomic_store_explicit(&r->servers[i], server, memory_order_release);
		if (lsh_router_count(r) <= i)
			atomic_store_explicit(&r->count, i + 1, memory_order_release);
	}
	return server;
}

/* A server for each that has a slot. 0, or an errno: there is no memory, thread or descriptor for one of them. */
static int
make_servers(struct lsh_router *r)
{
	char text[LSH_ERRNO_TEXT];
	int short_of = 0;

	for (int i = 0; i < LSH_SERVERS; i++) {
		if (!lsh_cluster_serves(r->cluster, i) || !lsh_cluster_use_number(r->cluster, i))
			continue;
		if (make(r, lsh_cluster_server(r->cluster, i), i) == NULL && !r->closed) {
			short_of = errno;
			lsh_courier_log(r->options.courier, LEASH_LOG_WARNING, "no connection to a server of the cluster: %s",
			                lsh_shortage_text(short_of, text));
		}
		lsh_cluster_leave(r->cluster, i);
	}
	return short_of;
}

/* ---- being sent elsewhere ---- */

leash_status
lsh_router_follow(struct lsh_server *from, const char *words, struct lsh_server **asks, leash_error *err)
{
	struct lsh_router *r = from->router;
	bool once = lsh_starts_with_word(words, "ASK");
	struct lsh_server *server;
	char text[LSH_ERRNO_TEXT];
	leash_status status;
	int number, short_of;

	*asks = NULL;
	if (r->cluster == NULL)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0,
		                "%.80s: it is part of a cluster: write redis+cluster:// or rediss+cluster://: %.100s",
		                from->uri->shown, words);
	status = lsh_cluster_redirect(r->cluster, once, words, from->number, &number, err);
	if (status != LEASH_OK) {
		err->status = status == LEASH_PROTOCOL ? status : LEASH_UNAVAILABLE;
		return err->status;
	}
	server = make(r, lsh_cluster_server(r->cluster, number), number);
	short_of = errno;
	*asks = once ? server : NULL;
	if (*asks == NULL)
		lsh_cluster_leave(r->cluster, number);
	if (server == NULL)
		return lsh_fail(err, r->closed ? LEASH_UNAVAILABLE : LEASH_NO_MEMORY, short_of,
		                "%.80s: no connection to the server that it names: %.80s: %.60s",
		                from->uri->shown, lsh_shortage_text(short_of, text), words);
	return LEASH_OK;
}

void
lsh_router_doubt(struct lsh_router *r)
{
	if (r->cluster != NULL)
		lsh_cluster_refresh(r->cluster);
}

leash_status
lsh_router_trouble(struct lsh_router *r, unsigned slot, leash_error *err)
{
	return lsh_cluster_trouble(r->cluster, slot, err);
}

/* ---- what the cluster calls, on its thread ---- */

static void
changed(void *ctx)
{
	struct lsh_router *r = ctx;

	make_servers(r);
	r->ops->changed(r->ctx);
}

/* Nobody uses the number, and nobody finds it any more. */
static void
given_up(void *ctx, int number)
{
	struct lsh_router *r = ctx;
	struct lsh_server *server = lsh_router_at(r, (size_t)number);

	if (server == NULL)
		return;
	pthread_mutex_lock(&r->mutex);
	atomic_store_explicit(&r->servers[number], NULL, memory_order_release);
	atomic_fetch_add(&r->commands_gone, lsh_pipeline_commands(lsh_node_pipeline(server->node)));
	atomic_fetch_add(&r->connects_gone, lsh_pipeline_connects(lsh_node_pipeline(server->node)));
	pthread_mutex_unlock(&r->mutex);
	r->ops->server_stop(server);
	r->ops->server_free(server);
}

/* ---- life ---- */

struct lsh_router *
lsh_router_new(const struct lsh_router_options *options, const struct lsh_router_ops *ops, void *ctx)
{
	struct lsh_router *r = lsh_new(struct lsh_router);

	if (r == NULL)
		return NULL;
	r->options = *options;
	r->ops = ops;
	r->ctx = ctx;
	pthread_mutex_init(&r->mutex, NULL);
	return r;
}

static leash_status
await_hellos(struct lsh_router *r, int short_of, leash_error *err)
{
	leash_error worst = {LEASH_OK, 0, ""}, why;
	bool any = false;

	for (size_t i = 0; i < lsh_router_count(r); i++) {
		struct lsh_server *server = lsh_router_get(r, i);

		if (server == NULL)
			continue;
		why = (leash_error){LEASH_OK, 0, ""};
		if (lsh_node_await_hello(server->node, &why) == LEASH_OK)
			any = true;
		else if (worst.status == LEASH_OK || (why.status == LEASH_DENIED && worst.status != LEASH_DENIED))
			worst = why;
		lsh_server_leave(server);
	}
	if (any)
		return LEASH_OK;
	if (worst.status == LEASH_OK)
		return lsh_fail_short(err, short_of, "cannot make the connections to the servers of the cluster");
	return lsh_fail(err, worst.status, worst.sys_errno, "%s", worst.text);
}

static leash_status
open_cluster(struct lsh_router *r, leash_error *err)
{
	struct lsh_cluster_options options = {
		.uri = r->options.uri, .name = r->options.client_name, .courier = r->options.courier,
		.timeout = r->options.timeout, .changed = changed, .given_up = given_up, .ctx = r,
	};
	leash_status status;

	r->cluster = lsh_cluster_new(&options);
	if (r->cluster == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory");
	status = lsh_cluster_open(r->cluster, err);
	return status == LEASH_OK ? await_hellos(r, make_servers(r), err) : status;
}

static leash_status
open_all(struct lsh_router *r, leash_error *err)
{
	const struct lsh_uri *uri = r->options.uri;
	bool made = true;

	for (size_t i = 0; made && i < uri->host_count; i++)
		made = lsh_uri_of_server(&r->uris[i], uri, uri->hosts[i].host, uri->hosts[i].port) &&
		       make(r, &r->uris[i], (int)i) != NULL;
	return made ? LEASH_OK : lsh_fail_short(err, errno, "cannot make the connections to the servers");
}

leash_status
lsh_router_open(struct lsh_router *r, leash_error *err)
{
	struct lsh_server *server;

	if (lsh_router_is_cluster(r))
		return open_cluster(r, err);
	if (r->options.uri->deployment == LSH_QUORUM)
		return open_all(r, err);
	server = make(r, r->options.uri, 0);
	if (server == NULL)
		return lsh_fail_short(err, errno, "cannot make a connection to the server");
	return lsh_node_await_hello(server->node, err);
}

void
lsh_router_close(struct lsh_router *r)
{
	pthread_mutex_lock(&r->mutex);
	r->closed = true;
	pthread_mutex_unlock(&r->mutex);
	if (r->cluster != NULL)
		lsh_cluster_stop(r->cluster);
}

void
lsh_router_free(struct lsh_router *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < lsh_router_count(r); i++)
		if (lsh_router_at(r, i) != NULL)
			r->ops->server_free(lsh_router_at(r, i));
	lsh_cluster_free(r->cluster);
	for (size_t i = 0; i < LSH_QUORUM_MAX; i++)
		lsh_uri_clear(&r->uris[i]);
	pthread_mutex_destroy(&r->mutex);
	lsh_free(r);
}
