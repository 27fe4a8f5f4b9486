/* Sites: the servers of an engine, and what the nodes call. A single server and one that sentinels look after is one site; a cluster
 * has one for each master, and a lock is at one of them at a time. */
#include "lock/channel.h"
#include "lock/route.h"

#include "base/memory.h"
#include "base/mutation.h"
#include "lock/confirm.h"
#include "lock/quorum.h"
#include "redis/cluster.h"

#include <errno.h>
#include <stdio.h>

static void
bring_up_waiting(struct lsh_lock *lock, void *arg)
{
	struct lsh_list *at, *after;

	if (lsh_lock_site(lock) != arg)
		return;
	lsh_list_each(at, after, &lock->lines) {
		struct lsh_tenure *t = lsh_container(at, struct lsh_line, link)->tenure;

		if (t != NULL && t->phase == LSH_QUEUED)
			lsh_tenure_give_work(t);
	}
}

static void
bring_up(struct lsh_lock *lock, void *arg)
{
	if (lock->hold != NULL && lsh_lock_site(lock) == arg)
		lsh_tenure_give_work(lock->hold->tenure);
	bring_up_waiting(lock, arg);
}

void
lsh_sites_bring_up_owed(struct lsh_engine *e, const struct lsh_site *only)
{
	pthread_mutex_lock(&e->work_mutex);
	for (struct lsh_list *at = e->owed.next; at != &e->owed; at = at->next) {
		struct lsh_tenure *t = lsh_container(at, struct lsh_tenure, owed_link);
		/* not where the lock lives by its own account, which its mutex guards: it is about to move there, or no command gets anywhere */
		struct lsh_site *site = e->cluster != NULL ? lsh_route_at(e, t->lock->slot) : lsh_lock_site(t->lock);

		if (site != NULL && (only == NULL || only == site))
			lsh_tenure_put(t, site, false);
		lsh_site_leave(site);
	}
	pthread_mutex_unlock(&e->work_mutex);
	for (size_t i = 0; i < lsh_site_count(e); i++) {
		struct lsh_site *site = lsh_site_get(e, i);

		if (site != NULL && (only == NULL || only == site))
			lsh_node_kick(site->node);
		lsh_site_leave(site);
	}
}

/* Nothing is certain any more: whether holds are still held, where places stand, what was canceled. */
static void
connected(void *ctx)
{
	struct lsh_site *site = ctx;

	if (LSH_MUTATES(LSH_RECONNECTS_ARE_IGNORED))
		return;
	if (site->engine->quorum != NULL) {
		lsh_quorum_connected(site);
		return;
	}
	lsh_channel_connected(site);
	lsh_sites_bring_up_owed(site->engine, site);
	lsh_lock_each(site->engine, bring_up, site);
}

struct denial {
	const struct lsh_site *site;
	const leash_error *why;
};

static void
deny_lock(struct lsh_lock *lock, void *arg)
{
	const struct denial *denial = arg;

	if (lsh_lock_site(lock) == denial->site)
		lsh_lines_deny(lock, denial->why);
}

/* Nobody who waits there would be served, for as long as people leave it as it is: so they are told, and not only those who come now.
 * Who holds goes on trying for as long as the lease lasts. On a quorum it depends on the other servers. */
static void
denied(void *ctx, const leash_error *why)
{
	struct lsh_site *site = ctx;
	struct denial denial = {site, why};

	if (site->engine->quorum == NULL)
		lsh_lock_each(site->engine, deny_lock, &denial);
}

static void
listens_again(struct lsh_lock *lock, void *arg)
{
	if (lsh_lock_site(lock) == arg)
		lsh_channel_lost(lock, arg);
}

static void
subscribed(void *ctx)
{
	struct lsh_site *site = ctx;

	if (site->engine->cluster != NULL)
		lsh_lock_each(site->engine, listens_again, site);
	lsh_lock_each(site->engine, bring_up_waiting, site);
}

static void
work(void *ctx)
{
	struct lsh_site *site = ctx;

	if (site->engine->quorum != NULL)
		lsh_quorum_work(site);
	else
		lsh_renewal_work(site);
	if (site->engine->cluster != NULL) {
		lsh_route_work(site);
		lsh_channel_work(site);
	}
}

static bool
expects_messages(void *ctx)
{
	struct lsh_engine *e = ((struct lsh_site *)ctx)->engine;
	bool owed;

	pthread_mutex_lock(&e->work_mutex);
	owed = !lsh_list_empty(&e->owed);
	pthread_mutex_unlock(&e->work_mutex);
	return owed || atomic_load(&e->inside) > 0;
}

static void
message(void *ctx, const char *text, size_t size)
{
	struct lsh_site *site = ctx;

	lsh_wakeup_message(site, text, size);
}

static void
clock_jumped(void *ctx, int64_t by_us)
{
	struct lsh_engine *e = ((struct lsh_site *)ctx)->engine;

	e->ops->clock_jumped(e->ctx, by_us);
}

static void
log_line(void *ctx, leash_log_level level, const char *line)
{
	struct lsh_engine *e = ((struct lsh_site *)ctx)->engine;

	lsh_courier_log(e->courier, level, line);
}

#define OPS .connected = connected, .denied = denied, .subscribed = subscribed, .work = work, .expects_messages = expects_messages, .message = message, \
            .clock_jumped = clock_jumped, .log = log_line

static const struct lsh_node_ops node_ops = {OPS}, cluster_node_ops = {
	OPS,
	.channel_subscribed = lsh_channel_subscribed,
	.channel_unsubscribed = lsh_channel_unsubscribed,
	.channel_refused = lsh_channel_refused,
};

#undef OPS

/* ---- who uses it ---- */

void
lsh_site_use(struct lsh_site *site)
{
	if (site->engine->cluster != NULL)
		lsh_cluster_use(site->engine->cluster, site->number);
}

void
lsh_site_leave(struct lsh_site *site)
{
	if (site != NULL && site->engine->cluster != NULL)
		lsh_cluster_leave(site->engine->cluster, site->number);
}

void
lsh_site_keep(struct lsh_site **kept, struct lsh_site *site)
{
	struct lsh_site *before = *kept;

	if (site != NULL)
		lsh_site_use(site);
	*kept = site;
	lsh_site_leave(before);
}

struct lsh_site *
lsh_site_get(struct lsh_engine *e, size_t i)
{
	struct lsh_site *site;

	if (e->cluster == NULL)
		return lsh_site_at(e, i);
	if (!lsh_cluster_use_number(e->cluster, (int)i))
		return NULL;
	site = lsh_site_at(e, i);
	if (site == NULL)
		lsh_cluster_leave(e->cluster, (int)i);
	return site;
}

/* ---- life ---- */

void
lsh_site_prolong(struct lsh_site *site, const char *token, int64_t lease_ms, int64_t now)
{
	if (site->engine->cluster != NULL)
		lsh_route_prolong(site->engine, token, lease_ms, now);
	else
		lsh_introduction_prolong(lsh_node_pipe(site->node), site->engine->options.prefix, token, lease_ms, now);
}

void
lsh_site_introduce(struct lsh_site *site, uint64_t epoch, int64_t lease_ms, int64_t now)
{
	if (site->engine->cluster != NULL)
		lsh_route_introduce(site->engine, lease_ms, now);
	else
		lsh_introduce(&site->introduction, lsh_node_pipe(site->node), epoch, lease_ms, now);
}

struct lsh_site *
lsh_site_new(struct lsh_engine *e, const struct lsh_uri *uri, int number)
{
	static _Atomic uint64_t last_serial;
	struct lsh_site *site = lsh_new(struct lsh_site);
	struct lsh_node_options options = {.uri = uri, .name = e->options.client_name, .channel = e->channel, .timeout = e->options.timeout,
	                                   .ask_every = e->options.lease_ms * LSH_MS / 3};

	if (site == NULL)
		return NULL;
	if (e->quorum != NULL)
		options.channel = NULL; /* there is no queue, and so no grant to be told of */
	site->engine = e;
	site->number = number;
	site->serial = atomic_fetch_add(&last_serial, 1) + 1;
	site->uri = uri;
	lsh_list_init(&site->work);
	lsh_list_init(&site->left);
	site->doubt_at = LSH_NEVER;
	lsh_list_init(&site->legs);
	lsh_introduction_init(&site->introduction, e->options.prefix, e->uuid, e->options.client_name);
	site->node = lsh_renewal_jobs_new(site) ? lsh_node_new(&options, e->cluster != NULL ? &cluster_node_ops : &node_ops, site) : NULL;
	if (site->node == NULL || !lsh_node_start(site->node)) {
		int why = errno;

		lsh_site_free(site);
		errno = why;
		return NULL;
	}
	return site;
}

void
lsh_site_free(struct lsh_site *site)
{
	if (site == NULL)
		return;
	lsh_confirm_free(site);
	lsh_node_free(site->node);
	lsh_introduction_destroy(&site->introduction);
	lsh_channel_free_left(site);
	lsh_free(site->jobs);
	lsh_free(site);
}
