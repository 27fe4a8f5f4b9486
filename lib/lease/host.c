#include "lease/host.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/mutation.h"
#include "base/mutex.h"
#include "lease/replicas.h"
#include "lease/resource.h"
#include "lease/subscription.h"
#include "redis/pubsub.h"

#include <errno.h>

#define PATIENT (200 * LSH_MS) /* so long the first attempt to connect may take before the map is doubted */

/* ---- what its thread has to see to ---- */

static struct lsh_vote *
take(struct lsh_host *host)
{
	struct lsh_vote *first;

	lsh_locked(&host->mutex);
	first = host->due;
	if (first != NULL && (host->due = first->due_next) == NULL)
		host->due_end = &host->due;
	return first;
}

/* There was no batch free: it is the first when one is. */
static void
put_back(struct lsh_host *host, struct lsh_vote *v)
{
	v->due = true;
	lsh_locked(&host->mutex);
	v->due_next = host->due;
	host->due = v;
	if (v->due_next == NULL)
		host->due_end = &v->due_next;
}

/* What it says goes out in a batch, with others. Entered. False: none is free. */
static bool
say(struct lsh_host *host, struct lsh_vote *v, int64_t now)
{
	struct lsh_lease *lease = v->lease;
	int64_t wants_ms;

	if (v->batch != NULL)
		return true;
	if (lease->state == LSH_WAITING)
		return lsh_batch_heartbeat(host, v);
	wants_ms = lsh_lease_wants_ms(lease, now);
	if (wants_ms == 0 || now >= lease->valid_until) {
		lease->wanted_at = 0;
		return true;
	}
	return lsh_batch_renew(host, v, wants_ms);
}

/* Has it company in a batch? In a cluster one script is for one slot: there each renewal goes out by itself, and may
 * follow a redirection. */
static bool
goes_with_others(const struct lsh_host *host, const struct lsh_vote *v)
{
	if (v->alone)
		return false;
	return v->lease->state == LSH_WAITING ||
	       (v->lease->state == LSH_HELD && v->state == LSH_VOTE_GRANTED && !lsh_router_is_cluster(host->server.router));
}

/* It has to be acknowledged, and nothing does so here yet. Entered, and left meanwhile: this takes memory, descriptors
 * and threads. */
static void
make_acknowledging(struct lsh_host *host, struct lsh_vote *v)
{
	struct lsh_lease *lease = v->lease;
	struct lsh_safety safety = lease->safety;
	struct lsh_result r = {.what = LSH_CALL_REFUSED, .again = true, .server = &host->server};
	struct lsh_voted voted = {.verb = LSH_RENEW, .result = &r};
	char text[LSH_ERRNO_TEXT];
	leash_error why;
	bool made;

	lsh_monitor_leave(&lease->resource->monitor);
	made = lsh_host_acknowledges(host, &safety);
	if (!made)
		lsh_fail(&why, LEASH_NO_MEMORY, errno, "%s", lsh_shortage_text(errno, text));
	lsh_monitor_enter(&lease->resource->monitor);
	r.why = &why;
	r.home = v->host->server.serial;
	if (made)
		lsh_vote_due(v);
	else if (!atomic_load(&host->backend->closing))
		lsh_vote_tell(v, &voted); /* the watchdog tries again */
}

/* Entered. */
static bool
see_to(struct lsh_host *host, struct lsh_vote *v)
{
	struct lsh_lease *lease = v->lease;
	int64_t now = lsh_now_ns();

	v->due = false;
	if (lease->state < LSH_ENDING)
		lsh_presence_tell(v->host, now);
	if (lsh_vote_keeper(v) != host)
		lsh_vote_due(v); /* it has moved since */
	else if (LSH_MUTATES(LSH_RENEWALS_GO_ON) && lease->state >= LSH_ENDING)
		lsh_vote_say(v, LSH_RENEW, lease->lease_ms, 0, NULL);
	else if (lease->state == LSH_ENDING)
		lsh_vote_cancel(v, NULL);
	else if (lsh_lease_is_acknowledged(lease) && host->waits)
		return lsh_replicas_renew(lsh_container(host, struct lsh_replicas, host), v);
	else if (lsh_lease_is_acknowledged(lease))
		make_acknowledging(host, v);
	else if (v->alone && lsh_vote_is_out(v))
		return true;
	else if (goes_with_others(host, v))
		return say(host, v, now);
	else
		host->backend->strategy->see_to(v, now);
	return true;
}

/* Until there is nothing, or no batch is free, or nothing to say it with. */
static void
see_to_all(struct lsh_host *host)
{
	struct lsh_vote *v;
	bool room = true;

	while (room && (v = take(host)) != NULL) {
		struct lsh_lease *lease = v->lease;
		bool done;

		lsh_monitor_enter(&lease->resource->monitor);
		done = see_to(host, v);
		if (!done)
			put_back(host, v);
		else if (v->due && v->host == host && atomic_load(&host->all_wanted))
			room = false; /* it waits for something to say it with: when that is back the node is kicked */
		lsh_monitor_leave(&lease->resource->monitor);
		if (done) {
			lsh_lease_unref(lease);
			lsh_server_leave(&host->server);
		} else {
			room = lsh_batches_send(host);
		}
	}
	lsh_batches_send(host);
}

/* It cannot be reached: perhaps another one has taken over. */
static void
doubt(struct lsh_host *host)
{
	if (lsh_host_is_up(host)) {
		host->doubt_at = 0;
		return;
	}
	if (host->doubt_at == LSH_NEVER)
		host->doubt_at = lsh_after(lsh_now_ns(), PATIENT);
	if (lsh_server_serves(&host->server) && lsh_now_ns() >= host->doubt_at)
		lsh_router_doubt(host->server.router);
}

/* ---- what its node calls ---- */

static void
work(void *ctx)
{
	struct lsh_host *host = ctx;

	lsh_call_resume(&host->server);
	see_to_all(host);
	lsh_subscription_work(host);
	if (lsh_router_is_cluster(host->server.router))
		doubt(host);
}

static void
connect_all(struct lsh_resource *r, void *arg)
{
	lsh_each_lease(lease, r)
		for (size_t i = 0; i < lease->count; i++)
			if (lsh_vote_keeper(&lease->votes[i]) == arg)
				r->backend->strategy->connected(&lease->votes[i]);
	if (lsh_resource_host(r) == arg)
		lsh_resource_stir(r);
}

/* Nothing is certain any more: whether what is held is still held, where places stand, what was canceled. */
static void
connected(void *ctx)
{
	struct lsh_host *host = ctx;

	if (LSH_MUTATES(LSH_RECONNECTS_ARE_IGNORED))
		return;
	if (!host->waits)
		lsh_subscription_connected(host);
	lsh_presence_renew(host);
	if (host->backend->strategy->host_connected != NULL)
		host->backend->strategy->host_connected(host);
	host->backend->ops->each(host->backend->ctx, connect_all, host);
	lsh_backend_wake(host->backend);
}

struct denial {
	const struct lsh_host *host;
	const leash_error *why;
};

static void
deny(struct lsh_resource *r, void *arg)
{
	const struct denial *denial = arg;

	if (lsh_resource_host(r) == denial->host)
		r->backend->ops->denied(r, denial->why);
}

/* Nobody who waits there would be served, for as long as people leave it as it is: so they are told, and not only those
 * who come now. Who holds goes on trying for as long as the lease lasts. On a quorum it depends on the other
 * servers. */
static void
denied(void *ctx, const leash_error *why)
{
	struct lsh_host *host = ctx;
	struct denial denial = {host, why};

	if (host->backend->strategy->has_queue)
		host->backend->ops->each(host->backend->ctx, deny, &denial);
}

static void
listen_again(struct lsh_resource *r, void *arg)
{
	struct lsh_host *host = arg;
	if (lsh_resource_host(r) != host)
		return;
	if (lsh_resource_is_roaming(r))
		lsh_subscription_lost(r, host);
	lsh_each_lease(lease, r)
		if (lease->state == LSH_WAITING)
			lsh_vote_due(&lease->votes[0]);
	lsh_resource_stir(r);
}

static void
subscribed(void *ctx)
{
	struct lsh_host *host = ctx;

	host->backend->ops->each(host->backend->ctx, listen_again, host);
}

static bool
expects_messages(void *ctx)
{
	const struct lsh_backend *b = ((struct lsh_host *)ctx)->backend;

	return atomic_load(&b->waiting) > 0 || atomic_load(&b->ending) > 0;
}

static void
clock_jumped(void *ctx, int64_t by_us)
{
	const struct lsh_backend *b = ((struct lsh_host *)ctx)->backend;

	b->options.clock_jumped(b->options.owner, by_us);
}

static const struct lsh_node_ops node_ops = {
	.connected = connected, .denied = denied, .subscribed = subscribed, .work = work,
	.expects_messages = expects_messages, .clock_jumped = clock_jumped,
};

/* What acknowledges for replicas; the host's own node tells the rest. */
static const struct lsh_node_ops waits = {.connected = connected, .work = work};

static const struct lsh_pubsub_ops wakeups = {
	.message = lsh_wakeup_message, .subscribed = lsh_subscription_confirmed,
	.unsubscribed = lsh_subscription_ended, .refused = lsh_subscription_refused,
};

/* ---- life ---- */

/* Make the rest of it, and let it connect. False: errno says what there is no more of, and it is freed. */
static bool
start(struct lsh_host *host, struct lsh_backend *b, const struct lsh_uri *uri, int number, struct lsh_node_options *o,
      const struct lsh_node_ops *ops)
{
	int why;

	lsh_server_init(&host->server, b->router, uri, number);
	host->backend = b;
	pthread_mutex_init(&host->mutex, NULL);
	host->due_end = &host->due;
	host->doubt_at = LSH_NEVER;
	lsh_monitor_init(&host->presence.monitor);
	lsh_batches_init(host);
	atomic_init(&host->unlent, UINT32_MAX);
	o->uri = uri;
	o->name = b->options.client_name;
	o->timeout = b->options.timeout;
	o->ask_every = b->options.lease_ms * LSH_MS / 3;
	host->server.node = lsh_node_new(o, ops, host);
	if (host->server.node != NULL && lsh_node_start(host->server.node))
		return true;
	why = errno;
	lsh_host_free(&host->server);
	errno = why;
	return false;
}

struct lsh_host *
lsh_host_new(struct lsh_backend *b, const struct lsh_uri *uri, int number)
{
	struct lsh_host *host = lsh_new(struct lsh_host);
	struct lsh_node_options options = {.courier = b->courier, .channel = b->channel};

	if (b->strategy->has_queue) /* else there is no grant to be told of */
		options.messages = &wakeups;
	return host != NULL && start(host, b, uri, number, &options, &node_ops) ? host : NULL;
}

/* Two may do it at once: one of theirs is thrown away. */
bool
lsh_host_acknowledges(struct lsh_host *host, const struct lsh_safety *safety)
{
	struct lsh_node_options options = {.courier = NULL}; /* what there is to log the host's own node says, too */
	struct lsh_replicas *x, *fresh;

	pthread_mutex_lock(&host->mutex);
	x = lsh_replicas_find(host, safety);
	pthread_mutex_unlock(&host->mutex);
	if (x != NULL)
		return true;
	fresh = lsh_new(struct lsh_replicas);
	if (fresh == NULL)
		return false;
	lsh_replicas_init(fresh, safety); /* before its thread looks */
	if (!start(&fresh->host, host->backend, host->server.uri, host->server.number, &options, &waits))
		return false;
	pthread_mutex_lock(&host->mutex);
	x = lsh_replicas_find(host, safety);
	if (x == NULL && !atomic_load(&host->backend->closing)) {
		x = fresh;
		x->next = host->replicas;
		host->replicas = x;
	}
	pthread_mutex_unlock(&host->mutex);
	if (x != fresh) {
		lsh_host_stop(&fresh->host.server);
		lsh_host_free(&fresh->host.server);
	}
	return x != NULL;
}

void
lsh_host_explain_guard(const struct lsh_host *host, int64_t guard_ms, int64_t now, const char *what, leash_error *why)
{
	int64_t uptime = lsh_node_uptime(host->server.node, now);

	if (uptime < 0) /* which does not get better by waiting */
		lsh_fail(why, LEASH_DENIED, 0,
		         "%.60s: it does not report its uptime, which restart_guard_ms needs: permit INFO (+info)",
		         lsh_host_shown(host));
	else
		lsh_fail(why, LEASH_UNAVAILABLE, 0,
		         "%.60s: it was restarted, perhaps without its data%s for another %lld ms (restart_guard_ms)",
		         lsh_host_shown(host), what, (long long)(guard_ms - uptime / LSH_MS));
}

/* Its thread is gone: whatever it was given lapses. */
static void
drop_due(struct lsh_host *host)
{
	struct lsh_vote *v;

	while ((v = take(host)) != NULL) {
		struct lsh_lease *lease = v->lease;

		lsh_monitor_enter(&lease->resource->monitor);
		v->due = false;
		lsh_monitor_leave(&lease->resource->monitor);
		lsh_lease_unref(lease);
		lsh_server_leave(&host->server);
	}
}

void
lsh_host_stop(struct lsh_server *server)
{
	struct lsh_host *host = lsh_host_of(server);
	struct lsh_replicas *x;

	pthread_mutex_lock(&host->mutex);
	x = host->replicas; /* the client is closing, or nobody uses the host: from here on none is made */
	pthread_mutex_unlock(&host->mutex);
	for (; x != NULL; x = x->next)
		lsh_host_stop(&x->host.server);
	if (host->waits)
		lsh_pipeline_break(lsh_node_pipeline(server->node), 0); /* or the answer to a WAIT would be awaited */
	lsh_node_stop(server->node);
	lsh_call_resume(server);
	drop_due(host);
}

void
lsh_host_free(struct lsh_server *server)
{
	struct lsh_host *host = lsh_host_of(server);

	for (struct lsh_replicas *x = host->replicas, *next; x != NULL; x = next) {
		next = x->next;
		lsh_host_free(&x->host.server);
	}
	lsh_node_free(server->node);
	pthread_mutex_destroy(&host->mutex);
	lsh_server_destroy(server);
	lsh_free(host);
}
