#include "lease/backend.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "lease/host.h"
#include "lease/resource.h"
#include "lease/subscription.h"
#include "lease/tally.h"

#include <errno.h>
#include <stdio.h>

/* ---- what the router calls ---- */

static struct lsh_server *
server_new(void *ctx, const struct lsh_uri *uri, int number)
{
	struct lsh_host *host = lsh_host_new(ctx, uri, number);

	return host != NULL ? &host->server : NULL;
}

static void
settle(struct lsh_resource *r, void *arg)
{
	(void)arg;
	lsh_resource_settle(r);
	lsh_each_lease(lease, r)
		if (lease->state == LSH_ENDING)
			lsh_lease_check(lease);
}

static void
changed(void *ctx)
{
	struct lsh_backend *b = ctx;

	b->ops->each(b->ctx, settle, NULL);
}

/* ---- life ---- */

static const struct lsh_watchdog_ops watchdog_ops = {
	.now = lsh_now_ns, .retain = lsh_lease_retain_timer, .fire = lsh_lease_fire,
};

static void
make_protocol(struct lsh_backend *b)
{
	const struct lsh_backend_options *o = &b->options;
	struct lsh_protocol *p = &b->protocol;
	char prefix[80];

	snprintf(prefix, sizeof prefix, "%s:wake:", o->prefix);
	snprintf(b->channel, sizeof b->channel, "%s%s", prefix, b->uuid);
	p->uuid = b->uuid;
	lsh_arg_decimal(p->fence_ms, o->fence_ttl_ms);
	/* the answer of PUBLISH counts every listener of a single server, but only those at one node of a cluster */
	snprintf(p->config, sizeof p->config, " %s %d %d PUBLISH %s", p->fence_ms, LSH_ALIVE_MS,
	         o->uri->deployment != LSH_CLUSTER, prefix);
	snprintf(p->sharded, sizeof p->sharded, " %s %d 1 SPUBLISH -", p->fence_ms, LSH_ALIVE_MS);
}

leash_status
lsh_backend_open(struct lsh_backend **out, const struct lsh_backend_options *options, const struct lsh_backend_ops *ops,
                 void *ctx, struct lsh_courier *courier, leash_error *err)
{
	static const struct lsh_router_ops router_ops = {
		.server_new = server_new, .server_stop = lsh_host_stop, .server_free = lsh_host_free, .changed = changed,
	};
	struct lsh_backend *b = lsh_new(struct lsh_backend);
	struct lsh_router_options router = {
		.uri = options->uri, .client_name = options->client_name, .timeout = options->timeout, .courier = courier,
	};
	char key[LSH_PARTY_KEY_SIZE];
	leash_status status;

	*out = b;
	if (b == NULL)
		return lsh_fail_short(err, ENOMEM, "cannot make a client");
	b->options = *options;
	b->ops = ops;
	b->ctx = ctx;
	b->courier = courier;
	b->opened_ms = lsh_wall_us() / 1000;
	b->strategy = options->uri->deployment == LSH_QUORUM ? &lsh_quorum : &lsh_single;
	if (!lsh_uuid_make(b->uuid) || !lsh_numbers_init(&b->numbers))
		return lsh_fail(err, LEASH_UNSUPPORTED, 0,
		                "the system has no randomness, and owner tokens need it");
	b->majority = lsh_tally_majority(options->uri->host_count);
	make_protocol(b);
	b->watchdog = lsh_watchdog_new(&watchdog_ops, b);
	if (b->watchdog == NULL || lsh_watchdog_start(b->watchdog) != 0 ||
	    (b->router = lsh_router_new(&router, &router_ops, b)) == NULL)
		return lsh_fail_short(err, errno, "cannot make a client");
	status = lsh_router_open(b->router, err);
	b->presence_slot = lsh_router_slot_of(b->router, key, lsh_party_key(key, options->prefix, b->uuid));
	return status == LEASH_OK && b->strategy->open != NULL ? b->strategy->open(b, err) : status;
}

/* ---- closing ---- */

static void
await(struct lsh_backend *b, bool (*is_over)(const struct lsh_backend *b))
{
	int64_t deadline = lsh_after(lsh_now_ns(), b->options.timeout);
	struct lsh_thread *self = lsh_self();

	if (self == NULL)
		return;
	atomic_store(&b->awaits, &self->parker);
	while (!is_over(b) && lsh_now_ns() < deadline)
		lsh_park(&self->parker, deadline);
	atomic_store(&b->awaits, NULL);
}

static bool
is_reachable(const struct lsh_backend *b)
{
	for (size_t i = 0; i < lsh_router_count(b->router); i++) {
		struct lsh_server *server = lsh_router_get(b->router, i);
		bool up = server != NULL && lsh_node_is_up(server->node);

		lsh_server_leave(server);
		if (up)
			return true;
	}
	return false;
}

static bool
is_settled(const struct lsh_backend *b)
{
	return !is_reachable(b) || atomic_load(&b->ending) == 0;
}

void
lsh_backend_settle(struct lsh_backend *b)
{
	if (b->router != NULL)
		await(b, is_settled);
}

static bool
is_empty(const struct lsh_backend *b)
{
	return atomic_load(&b->inside) == 0;
}

void
lsh_backend_empty(struct lsh_backend *b)
{
	await(b, is_empty);
}

void
lsh_backend_stop(struct lsh_backend *b)
{
	if (b->router == NULL)
		return;
	lsh_router_close(b->router); /* from here on there are no more servers, and none is given up */
	lsh_each_host(host, b)
		lsh_presence_end(host);
	lsh_watchdog_stop(b->watchdog);
	atomic_store(&b->stopped, true);
	lsh_each_host(host, b)
		lsh_host_stop(&host->server);
}

static void
drop(struct lsh_resource *r, void *arg)
{
	(void)arg;
	lsh_each_lease(lease, r) {
		if (lease->state != LSH_ENDING)
			continue;
		lsh_lease_retain(lease);
		for (size_t i = 0; i < lease->count; i++)
			lsh_vote_ended(&lease->votes[i]);
		lsh_lease_unref(lease); /* whoever visits has the resource */
	}
}

void
lsh_backend_drop(struct lsh_backend *b)
{
	b->ops->each(b->ctx, drop, NULL);
}

void
lsh_backend_free(struct lsh_backend *b)
{
	if (b == NULL)
		return;
	lsh_watchdog_free(b->watchdog); /* which also ends its thread */
	lsh_router_free(b->router);
	lsh_free(b);
}

/* ---- resources ---- */

/* For what it has besides, by the deployment. */
static bool
make_room(struct lsh_resource *r)
{
	if (r->backend->options.uri->deployment == LSH_QUORUM)
		return (r->quorum = lsh_new(struct lsh_turns)) != NULL;
	if (!lsh_resource_is_roaming(r))
		return true;
	r->cluster = lsh_new(struct lsh_roaming);
	if (r->cluster != NULL)
		r->cluster->resource = r;
	return r->cluster != NULL;
}

bool
lsh_resource_init(struct lsh_resource *r, struct lsh_backend *b, const struct lsh_kind *kind, const char *key,
                  size_t key_size, size_t shown_at)
{
	struct lsh_server *server;

	lsh_monitor_init(&r->monitor);
	lsh_list_init(&r->leases);
	r->backend = b;
	r->kind = kind;
	r->key_at = (uint16_t)(key - (const char *)r);
	r->key_size = (uint16_t)key_size;
	r->shown_at = (uint16_t)shown_at;
	if (!make_room(r))
		return false;
	r->slot = (uint16_t)lsh_router_slot_of(b->router, key, key_size);
	server = lsh_router_of_slot(b->router, r->slot);
	if (server == NULL)
		server = lsh_router_any(b->router);
	if (server == NULL)
		return false;
	atomic_init(&r->host, lsh_host_of(server));
	return true;
}

void
lsh_resource_destroy(struct lsh_resource *r)
{
	struct lsh_host *host = lsh_resource_host(r);

	if (host != NULL) {
		if (lsh_resource_is_roaming(r))
			lsh_subscription_forget(r);
		lsh_resource_ask_at(r, NULL);
		lsh_server_leave(&host->server);
	}
	lsh_free(r->cluster); /* or r->quorum */
}

void
lsh_resource_opened(struct lsh_resource *r)
{
	lsh_within(&r->monitor);
	lsh_resource_settle(r);
}

/* ---- for callers ---- */

void
lsh_backend_flush(struct lsh_backend *b)
{
	lsh_each_host(host, b)
		lsh_pipeline_flush(lsh_node_pipeline(host->server.node));
}

bool
lsh_backend_prepare(struct lsh_resource *r, const struct lsh_safety *safety)
{
	struct lsh_host *host = NULL;
	bool made;

	if (!lsh_safety_needs_replicas(safety))
		return true;
	lsh_monitor_enter(&r->monitor);
	lsh_host_keep(&host, lsh_resource_host(r));
	lsh_monitor_leave(&r->monitor);
	made = lsh_host_acknowledges(host, safety);
	lsh_host_keep(&host, NULL);
	return made;
}
