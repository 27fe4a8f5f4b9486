/* The engine: sites, watchdog and names of one client, wired together. */
#include "lock/route.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/mutation.h"
#include "lock/confirm.h"
#include "lock/quorum.h"
#include "redis/cluster.h"
#include "watchdog/pace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ALIVE_MS = 10000 }; /* how long a waiting client counts as alive after its last word; rides out a server that stands still for 9 s */

static const struct lsh_watchdog_ops watchdog_ops = {
	.now = lsh_now_ns,
	.retain = lsh_tenure_retain,
	.fire = lsh_renewal_fire,
};

/* ---- life ---- */

/* Make the sites, and await the first hello. */
static leash_status
make_sites(struct lsh_engine *e, leash_error *err)
{
	struct lsh_site *site;

	if (e->options.uri->deployment == LSH_QUORUM)
		return lsh_quorum_open(e, err);
	if (e->options.uri->deployment == LSH_CLUSTER)
		return lsh_route_open(e, err);
	site = lsh_site_new(e, e->options.uri, 0);
	if (site == NULL)
		return lsh_fail_short(err, errno, "cannot make a connection to the server");
	atomic_store(&e->sites[0], site);
	atomic_store(&e->site_count, 1);
	return lsh_node_await_hello(site->node, err);
}

leash_status
lsh_engine_open(struct lsh_engine **out, const struct lsh_engine_options *options, const struct lsh_engine_ops *ops, void *ctx,
                struct lsh_courier *courier, leash_error *err)
{
	struct lsh_engine *e = lsh_new(struct lsh_engine);
	char prefix[80];
	leash_status status;
	bool has_numbers;

	if (e == NULL)
		goto no_memory;
	e->options = *options;
	snprintf(e->client_name, sizeof e->client_name, "%s", options->client_name);
	e->options.client_name = e->client_name;
	e->ops = ops;
	e->ctx = ctx;
	e->courier = courier;
	pthread_mutex_init(&e->names_mutex, NULL);
	pthread_mutex_init(&e->sites_mutex, NULL);
	pthread_mutex_init(&e->work_mutex, NULL);
	lsh_list_init(&e->owed);
	has_numbers = lsh_uuid_make(e->uuid) && lsh_numbers_init(&e->numbers);
	if (!has_numbers || !lsh_map_init(&e->names)) {
		lsh_engine_free(e);
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "the system has no randomness to give, which owner tokens are made of");
	}
	snprintf(prefix, sizeof prefix, "%s:wake:", options->prefix);
	snprintf(e->channel, sizeof e->channel, "%s%s", prefix, e->uuid);
	/* the answer of PUBLISH counts every listener of a single server, but only those at one node of a cluster */
	lsh_arg_decimal(e->fence_ttl, options->fence_ttl_ms);
	snprintf(e->cfg_suffix, sizeof e->cfg_suffix, " %s %d %d PUBLISH %s", e->fence_ttl, ALIVE_MS, options->uri->deployment != LSH_CLUSTER, prefix);
	snprintf(e->cfg_try, sizeof e->cfg_try, "0%s", e->cfg_suffix);
	snprintf(e->cfg_sharded_suffix, sizeof e->cfg_sharded_suffix, " %s %d 1 SPUBLISH -", e->fence_ttl, ALIVE_MS);
	snprintf(e->cfg_sharded_try, sizeof e->cfg_sharded_try, "0%s", e->cfg_sharded_suffix);
	e->watchdog = lsh_watchdog_new(&watchdog_ops, e);
	if (e->watchdog == NULL || lsh_watchdog_start(e->watchdog) != 0)
		goto no_memory;
	status = make_sites(e, err);
	if (status != LEASH_OK) {
		lsh_engine_close(e);
		lsh_engine_free(e);
		return status;
	}
	*out = e;
	return LEASH_OK;

no_memory:
	status = lsh_fail_short(err, errno, "cannot make a client");
	lsh_engine_free(e); /* which also ends the watchdog's thread */
	return status;
}

static void
close_lock(struct lsh_lock *lock, void *arg)
{
	struct lsh_list *line, *after_line, *at, *after;

	(void)arg;
	lsh_list_each(line, after_line, &lock->lines)
		lsh_list_each(at, after, &lsh_container(line, struct lsh_line, link)->waiters)
			lsh_waiter_wake(lsh_container(at, struct lsh_waiter, link));
	if (lock->hold != NULL) {
		struct lsh_hold *hold = lock->hold;
		bool confirmed = hold->confirmed;

		lsh_tenure_end(lsh_hold_finish(lock));
		if (confirmed)
			lsh_hold_unwind(lock, hold); /* else it is its waiter's */
	}
	lsh_list_each(at, after, &lock->lost)
		lsh_hold_unwind(lock, lsh_container(at, struct lsh_hold, link));
}

static bool
is_settled(struct lsh_engine *e)
{
	bool owed;

	pthread_mutex_lock(&e->work_mutex);
	owed = !lsh_list_empty(&e->owed);
	pthread_mutex_unlock(&e->work_mutex);
	if (e->quorum != NULL)
		owed = !lsh_quorum_is_settled(e);
	return !owed && atomic_load(&e->inside) == 0;
}

static bool
is_reachable(struct lsh_engine *e)
{
	for (size_t i = 0; i < lsh_site_count(e); i++) {
		struct lsh_site *site = lsh_site_get(e, i);
		bool up = site != NULL && lsh_node_is_up(site->node);

		lsh_site_leave(site);
		if (up)
			return true;
	}
	return false;
}

/* Whatever was not canceled lapses with its lease. */
static void
drop_owed(struct lsh_engine *e)
{
	struct lsh_list lists[2], *at, *after;

	lsh_list_init(&lists[0]);
	lsh_list_init(&lists[1]);
	pthread_mutex_lock(&e->work_mutex);
	e->stopped = true;
	for (size_t i = 0; i < lsh_site_count(e); i++)
		if (lsh_site_at(e, i) != NULL)
			lsh_list_each(at, after, &lsh_site_at(e, i)->work) {
				lsh_list_remove(at);
				lsh_list_append(&lists[0], at);
			}
	lsh_list_move_all(&lists[1], &e->owed);
	pthread_mutex_unlock(&e->work_mutex);
	if (e->quorum != NULL)
		lsh_quorum_drop(e);
	for (int i = 0; i < 2; i++) {
		lsh_list_each(at, after, &lists[i]) {
			struct lsh_tenure *t = i == 0 ? lsh_container(at, struct lsh_tenure, work_link) : lsh_container(at, struct lsh_tenure, owed_link);
			struct lsh_lock *lock = t->lock;

			lsh_list_remove(at);
			lsh_lock_retain(lock);
			pthread_mutex_lock(&lock->mutex);
			lsh_watchdog_forget(e->watchdog, &t->timer);
			pthread_mutex_unlock(&lock->mutex);
			lsh_tenure_unref(t);
			lsh_lock_unref(lock);
		}
	}
}

void
lsh_engine_close(struct lsh_engine *e)
{
	struct lsh_thread *self = lsh_self();
	int64_t deadline = lsh_after(lsh_now_ns(), e->options.timeout);

	atomic_store(&e->closing, true);
	lsh_lock_each(e, close_lock, NULL);
	if (self != NULL)
		atomic_store(&e->closer, &self->parker);
	while (self != NULL && is_reachable(e) && !is_settled(e) && lsh_now_ns() < deadline)
		lsh_park(&self->parker, deadline);
	lsh_route_stop(e); /* from here on there are no more sites, and none is given up */
	for (size_t i = 0; i < lsh_site_count(e); i++)
		if (lsh_site_at(e, i) != NULL)
			lsh_confirm_stop(lsh_site_at(e, i));
	for (size_t i = 0; i < lsh_site_count(e); i++) {
		struct lsh_site *site = lsh_site_at(e, i);

		if (site != NULL)
			lsh_introduction_end(&site->introduction, lsh_node_pipe(site->node), lsh_now_ns());
	}
	lsh_watchdog_stop(e->watchdog);
	for (size_t i = 0; i < lsh_site_count(e); i++)
		if (lsh_site_at(e, i) != NULL)
			lsh_node_stop(lsh_site_at(e, i)->node);
	/* who was awaiting an answer sees now that there is none */
	deadline = lsh_after(lsh_now_ns(), e->options.timeout);
	while (self != NULL && atomic_load(&e->inside) > 0 && lsh_now_ns() < deadline)
		lsh_park(&self->parker, deadline);
	atomic_store(&e->closer, NULL);
	drop_owed(e);
}

void
lsh_engine_forsake(struct lsh_engine *e)
{
	struct lsh_site *ending = atomic_load(&e->ending);

	if (ending != NULL) {
		lsh_node_forsake(ending->node);
		lsh_confirm_forsake(ending);
	}
	for (size_t i = 0; i < lsh_site_count(e); i++)
		if (lsh_site_at(e, i) != NULL && lsh_site_at(e, i) != ending) { /* it may be there still */
			lsh_node_forsake(lsh_site_at(e, i)->node);
			lsh_confirm_forsake(lsh_site_at(e, i));
		}
	if (e->cluster != NULL)
		lsh_cluster_forsake(e->cluster);
	lsh_watchdog_forsake(e->watchdog);
}

void
lsh_engine_free(struct lsh_engine *e)
{
	if (e == NULL)
		return;
	lsh_watchdog_free(e->watchdog);
	for (size_t i = 0; i < lsh_site_count(e); i++)
		lsh_site_free(lsh_site_at(e, i));
	lsh_cluster_free(e->cluster);
	lsh_quorum_free(e->quorum);
	lsh_map_clear(&e->names);
	pthread_mutex_destroy(&e->names_mutex);
	pthread_mutex_destroy(&e->sites_mutex);
	pthread_mutex_destroy(&e->work_mutex);
	lsh_free(e);
}

static void
abandon_all(struct lsh_lock *lock)
{
	struct lsh_list *at, *after;

	if (lock->hold != NULL)
		lsh_hold_abandon(lock, lock->hold, "its last handle was freed");
	lsh_list_each(at, after, &lock->lost)
		lsh_hold_unwind(lock, lsh_container(at, struct lsh_hold, link));
}

void
lsh_lock_close(struct lsh_lock *lock)
{
	lsh_lock_drop_handle(lock, abandon_all);
	lsh_lock_unref(lock);
}

struct ended {
	const struct leash_owner *owner;
	const char *why;
};

static void
abandon_of(struct lsh_lock *lock, void *arg)
{
	const struct ended *ended = arg;
	struct lsh_hold *hold = lsh_hold_of(lock, ended->owner->id);

	if (hold != NULL)
		lsh_hold_abandon(lock, hold, ended->why);
}

void
lsh_engine_owner_ended(struct lsh_engine *e, const struct leash_owner *owner, const char *why)
{
	struct ended ended = {.owner = owner, .why = why};

	lsh_lock_each(e, abandon_of, &ended);
}
