/* The engine: node, watchdog and names of one client, wired together. */
#include "lock/state.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/mutation.h"
#include "watchdog/pace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ALIVE_MS = 10000 }; /* how long a waiting client counts as alive after its last word; rides out a server that stands still for 9 s */

/* ---- what the node calls ---- */

static void
bring_up_waiting(struct lsh_lock *lock, void *arg)
{
	struct lsh_list *at, *after;

	(void)arg;
	lsh_list_each(at, after, &lock->lines) {
		struct lsh_tenure *t = lsh_container(at, struct lsh_line, link)->tenure;

		if (t != NULL && t->phase == LSH_QUEUED)
			lsh_tenure_give_work(t);
	}
}

static void
bring_up(struct lsh_lock *lock, void *arg)
{
	if (lock->hold != NULL)
		lsh_tenure_give_work(lock->hold->tenure);
	bring_up_waiting(lock, arg);
}

static void
bring_up_owed(struct lsh_engine *e)
{
	pthread_mutex_lock(&e->work_mutex);
	for (struct lsh_list *at = e->owed.next; at != &e->owed; at = at->next) {
		struct lsh_tenure *t = lsh_container(at, struct lsh_tenure, owed_link);

		if (lsh_list_empty(&t->work_link)) {
			lsh_tenure_retain(&t->timer);
			lsh_list_append(&e->work, &t->work_link);
		}
	}
	pthread_mutex_unlock(&e->work_mutex);
	lsh_node_kick(e->node);
}

/* Nothing is certain any more: whether holds are still held, where places stand, what was canceled. */
static void
connected(void *ctx)
{
	struct lsh_engine *e = ctx;

	if (LSH_MUTATES(LSH_RECONNECTS_ARE_IGNORED))
		return;
	bring_up_owed(e);
	lsh_lock_each(e, bring_up, NULL);
}

static void
subscribed(void *ctx)
{
	lsh_lock_each(ctx, bring_up_waiting, NULL);
}

static void
work(void *ctx)
{
	lsh_renewal_work(ctx);
}

static bool
expects_messages(void *ctx)
{
	struct lsh_engine *e = ctx;
	bool owed;

	pthread_mutex_lock(&e->work_mutex);
	owed = !lsh_list_empty(&e->owed);
	pthread_mutex_unlock(&e->work_mutex);
	return owed || atomic_load(&e->inside) > 0;
}

static void
message(void *ctx, const char *text, size_t size)
{
	lsh_wakeup_message(ctx, text, size);
}

static void
clock_jumped(void *ctx, int64_t by_us)
{
	struct lsh_engine *e = ctx;

	e->ops->clock_jumped(e->ctx, by_us);
}

static void
log_line(void *ctx, leash_log_level level, const char *line)
{
	struct lsh_engine *e = ctx;

	lsh_courier_log(e->courier, level, line);
}

static const struct lsh_node_ops node_ops = {
	.connected = connected,
	.subscribed = subscribed,
	.work = work,
	.expects_messages = expects_messages,
	.message = message,
	.clock_jumped = clock_jumped,
	.log = log_line,
};

static const struct lsh_watchdog_ops watchdog_ops = {
	.now = lsh_now_ns,
	.retain = lsh_tenure_retain,
	.fire = lsh_renewal_fire,
};

/* ---- life ---- */

leash_status
lsh_engine_open(struct lsh_engine **out, const struct lsh_engine_options *options, const struct lsh_engine_ops *ops, void *ctx,
                struct lsh_courier *courier, leash_error *err)
{
	struct lsh_engine *e = lsh_new(struct lsh_engine);
	char prefix[80], channel[sizeof prefix + LSH_UUID_SIZE];
	struct lsh_node_options node_options = {.uri = options->uri, .name = options->client_name, .channel = channel, .timeout = options->timeout};
	leash_status status;
	bool has_uuid;

	if (e == NULL)
		goto no_memory;
	e->options = *options;
	snprintf(e->client_name, sizeof e->client_name, "%s", options->client_name);
	e->options.client_name = e->client_name;
	e->ops = ops;
	e->ctx = ctx;
	e->courier = courier;
	pthread_mutex_init(&e->names_mutex, NULL);
	pthread_mutex_init(&e->work_mutex, NULL);
	lsh_list_init(&e->work);
	lsh_list_init(&e->owed);
	has_uuid = lsh_uuid_make(e->uuid);
	lsh_introduction_init(&e->introduction, options->prefix, e->uuid, options->client_name);
	if (!has_uuid || !lsh_map_init(&e->names)) {
		lsh_engine_free(e);
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "the system has no randomness to give, which owner tokens are made of");
	}
	snprintf(prefix, sizeof prefix, "%s:wake:", options->prefix);
	snprintf(channel, sizeof channel, "%s%s", prefix, e->uuid);
	/* the answer of PUBLISH counts every listener of a single server */
	snprintf(e->cfg_suffix, sizeof e->cfg_suffix, " %d 1 PUBLISH %s", ALIVE_MS, prefix);
	snprintf(e->cfg_try, sizeof e->cfg_try, "0%s", e->cfg_suffix);
	e->watchdog = lsh_watchdog_new(&watchdog_ops, e);
	if (e->watchdog == NULL || !lsh_renewal_jobs_new(e) || lsh_watchdog_start(e->watchdog) != 0)
		goto no_memory;
	e->node = lsh_node_new(&node_options, &node_ops, e);
	if (e->node == NULL || !lsh_node_start(e->node))
		goto no_memory;
	status = lsh_node_await_hello(e->node, err);
	if (status != LEASH_OK) {
		lsh_engine_close(e);
		lsh_engine_free(e);
		return status;
	}
	*out = e;
	return LEASH_OK;

no_memory:
	status = lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory, threads or descriptors");
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

		lsh_tenure_end(lsh_hold_finish(lock));
		lsh_hold_unwind(lock, hold);
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
	return !owed && atomic_load(&e->inside) == 0;
}

/* Whatever was not canceled lapses with its lease. */
static void
drop_owed(struct lsh_engine *e)
{
	struct lsh_list lists[2];

	lsh_list_init(&lists[0]);
	lsh_list_init(&lists[1]);
	pthread_mutex_lock(&e->work_mutex);
	e->stopped = true;
	lsh_list_move_all(&lists[0], &e->work);
	lsh_list_move_all(&lists[1], &e->owed);
	pthread_mutex_unlock(&e->work_mutex);
	for (int i = 0; i < 2; i++) {
		struct lsh_list *at, *after;

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
	while (self != NULL && lsh_node_is_up(e->node) && !is_settled(e) && lsh_now_ns() < deadline)
		lsh_park(&self->parker, deadline);
	lsh_introduction_end(&e->introduction, lsh_node_pipe(e->node), lsh_now_ns());
	lsh_watchdog_stop(e->watchdog);
	lsh_node_stop(e->node);
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
	lsh_node_forsake(e->node);
	lsh_watchdog_forsake(e->watchdog);
}

void
lsh_engine_free(struct lsh_engine *e)
{
	if (e == NULL)
		return;
	lsh_watchdog_free(e->watchdog);
	lsh_node_free(e->node);
	lsh_map_clear(&e->names);
	lsh_free(e->jobs);
	pthread_mutex_destroy(&e->names_mutex);
	pthread_mutex_destroy(&e->work_mutex);
	lsh_introduction_destroy(&e->introduction);
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
