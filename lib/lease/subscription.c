#include "lease/subscription.h"

#include "base/memory.h"
#include "base/text.h"
#include "lease/host.h"
#include "lease/resource.h"
#include "redis/pubsub.h"

#include <string.h>

enum {
	SHARDED_SINCE = 0x070000,
	END_SIZE = sizeof ":wake:" - 1 + LSH_UUID_SIZE,
};

#define KEPT  (30 * LSH_S) /* after somebody waited last */
#define SWEEP (10 * LSH_S)

/* It has one to listen to there, besides the client's. */
static bool
has_channel(const struct lsh_resource *r, const struct lsh_host *host)
{
	return r->kind->channel != NULL || atomic_load(&host->sharded);
}

/* "<key>:wake:<client>", or as its kind has it */
static size_t
write_name(const struct lsh_resource *r, char *out, bool sharded)
{
	if (r->kind->channel != NULL)
		return r->kind->channel(out, lsh_resource_key(r), r->key_size, sharded);
	memcpy(out, lsh_resource_key(r), r->key_size);
	memcpy(out + r->key_size, ":wake:", 6);
	memcpy(out + r->key_size + 6, r->backend->uuid, LSH_UUID_SIZE);
	return r->key_size + END_SIZE;
}

/* The resource that it is of, referenced and entered; NULL: there is none (any more), or it lives elsewhere. */
static struct lsh_resource *
find(const struct lsh_host *host, const char *channel, size_t size)
{
	struct lsh_backend *b = host->backend;
	struct lsh_arg key = {channel, size > END_SIZE ? size - END_SIZE : 0};
	char scratch[LSH_CHANNEL_SCRATCH];
	struct lsh_resource *r;

	lsh_kind_read_channel(channel, size, &key, scratch);
	r = key.size > 0 ? b->ops->find(b->ctx, key.bytes, key.size) : NULL;
	if (r == NULL)
		return NULL;
	lsh_monitor_enter(&r->monitor);
	if (lsh_resource_is_roaming(r) && r->cluster->subscribed_at == host)
		return r;
	lsh_monitor_leave(&r->monitor);
	b->ops->release(r);
	return NULL;
}

static void
leave_found(struct lsh_resource *r)
{
	lsh_monitor_leave(&r->monitor);
	r->backend->ops->release(r);
}

/* ---- whoever waits ---- */

bool
lsh_subscription_is_heard(const struct lsh_resource *r, const struct lsh_host *host)
{
	return lsh_node_is_subscribed(host->server.node) &&
	       (!has_channel(r, host) ||
	        (r->cluster->subscribed == LSH_LISTENS && r->cluster->subscribed_at == host));
}

/* Not entered. */
static bool
ask(const struct lsh_resource *r, struct lsh_host *host, bool joins)
{
	char *name = lsh_alloc(r->key_size + END_SIZE);
	struct lsh_pubsub *pubsub = lsh_node_pubsub(host->server.node);
	bool sharded = atomic_load(&host->sharded);
	bool asked = name != NULL && lsh_pubsub_ask(pubsub, sharded, joins, name, write_name(r, name, sharded));

	lsh_free(name);
	return asked;
}

/* Not entered. It is asked for, or left. */
static void
change(struct lsh_later *later)
{
	struct lsh_resource *r = lsh_container(later, struct lsh_roaming, subscribe)->resource;
	struct lsh_host *host = r->cluster->subscribes_at;
	bool joins, asked;

	lsh_monitor_enter(&r->monitor);
	joins = r->cluster->subscribed == LSH_LISTENS_SOON;
	lsh_monitor_leave(&r->monitor);
	asked = ask(r, host, joins);
	lsh_monitor_enter(&r->monitor);
	if (!asked && r->cluster->subscribed == LSH_LISTENS_SOON && r->cluster->subscribed_at == host)
		r->cluster->subscribed = LSH_DEAF; /* there is no connection: when there is, who waits looks again */
	r->cluster->subscribes_at = NULL;
	if (r->cluster->subscribed_at != host)
		lsh_resource_stir(r); /* it has moved meanwhile: who waits listens there */
	lsh_monitor_leave(&r->monitor);
	lsh_server_leave(&host->server);
	r->backend->ops->release(r);
}

static void
change_to(struct lsh_resource *r, enum lsh_subscribed subscribed, struct lsh_host *host)
{
	r->cluster->subscribed = subscribed;
	r->cluster->subscribed_at = r->cluster->subscribes_at = host;
	r->cluster->subscribe.run = change;
	atomic_store(&host->listens, true);
	lsh_server_use(&host->server);
	r->backend->ops->retain(r);
	lsh_monitor_later(&r->monitor, &r->cluster->subscribe);
}

void
lsh_subscription_want(struct lsh_resource *r)
{
	struct lsh_host *host = lsh_resource_host(r);

	if (!has_channel(r, host))
		return;
	r->cluster->subscription_wanted = lsh_now_ns();
	if ((r->cluster->subscribed != LSH_DEAF && r->cluster->subscribed_at == host) || r->cluster->subscribes_at != NULL)
		return;
	change_to(r, LSH_LISTENS_SOON, host);
}

/* ---- what the node calls ---- */

void
lsh_subscription_connected(struct lsh_host *host)
{
	atomic_store(&host->sharded,
	             lsh_router_is_cluster(host->server.router) && lsh_node_version(host->server.node) >= SHARDED_SINCE);
}

/* Who waits without a place asks at once; or, if it is just asking, once more. */
static void
recall(struct lsh_resource *r)
{
	lsh_each_lease(lease, r) {
		struct lsh_vote *v = &lease->votes[0];

		if (r->kind->channel == NULL || lease->state != LSH_ACQUIRING)
			continue;
		v->hinted |= lsh_vote_is_out(v);
		v->again_at = 0;
	}
	lsh_resource_stir(r);
}

static void
become(const struct lsh_host *host, const char *channel, size_t size, enum lsh_subscribed subscribed)
{
	struct lsh_resource *r = find(host, channel, size);

	if (r == NULL)
		return;
	r->cluster->subscribed = subscribed;
	recall(r);
	leave_found(r);
}

bool
lsh_subscription_heard(struct lsh_host *host, const char *channel, size_t size)
{
	char scratch[LSH_CHANNEL_SCRATCH];
	struct lsh_arg key;
	struct lsh_resource *r;

	if (!lsh_kind_read_channel(channel, size, &key, scratch))
		return false;
	r = find(host, channel, size);
	if (r != NULL) {
		recall(r);
		leave_found(r);
	}
	return true;
}

void
lsh_subscription_confirmed(void *host, const char *channel, size_t size)
{
	become(host, channel, size, LSH_LISTENS);
}

void
lsh_subscription_ended(void *host, const char *channel, size_t size)
{
	become(host, channel, size, LSH_DEAF);
}

/* Nobody is told: who waits asks the server again in a while, and says heartbeats. */
void
lsh_subscription_refused(void *ctx, const char *channel, size_t size, const char *text)
{
	struct lsh_host *host = ctx;
	struct lsh_resource *r = find(host, channel, size);

	if (lsh_fault_of(text) == LSH_FAULT_CLUSTER || lsh_starts_with_word(text, "CLUSTERDOWN")) {
		lsh_router_doubt(host->server.router);
	} else if (atomic_exchange(&host->sharded, false) || !atomic_exchange(&host->is_deaf, true)) {
		lsh_courier_log(host->backend->courier, LEASH_LOG_WARNING,
		                "%.80s: SUBSCRIBE to a lock's channel was refused: others may get the lock first: %.100s",
		                lsh_host_shown(host), text);
	}
	if (r == NULL)
		return;
	r->cluster->subscribed = LSH_DEAF;
	leave_found(r);
}

void
lsh_subscription_lost(struct lsh_resource *r, const struct lsh_host *host)
{
	if (r->cluster->subscribed_at == host)
		r->cluster->subscribed = LSH_DEAF;
	lsh_resource_stir(r);
}

/* ---- leaving ---- */

void
lsh_subscription_forget(struct lsh_resource *r)
{
	if (r->cluster->subscribed != LSH_DEAF)
		ask(r, r->cluster->subscribed_at, false);
}

static void
leave_unless_wanted(struct lsh_resource *r, void *host)
{
	const struct lsh_roaming *c = lsh_resource_is_roaming(r) ? r->cluster : NULL;

	if (c == NULL || c->subscribed != LSH_LISTENS || c->subscribed_at != host || c->subscribes_at != NULL ||
	    lsh_now_ns() - c->subscription_wanted < KEPT)
		return;
	lsh_each_lease(lease, r)
		if (lease->state != LSH_HELD) /* one that ends has a place until its cancel is answered */
			return;
	change_to(r, LSH_DEAF, host);
}

void
lsh_subscription_work(struct lsh_host *host)
{
	struct lsh_backend *b = host->backend;
	int64_t now = lsh_now_ns();

	if (!atomic_load(&host->listens) || now - host->swept <= SWEEP)
		return;
	host->swept = now;
	b->ops->each(b->ctx, leave_unless_wanted, host);
}
