/* The engine: the locks of one client over one backend; how it opens, closes and forks, and what it counts. */
#include "core/core.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#include <errno.h>
#include <string.h>

/* ---- what the backend calls ---- */

/* Every wait for the lock ends. */
static void
end_waits(struct lsh_resource *resource, const leash_error *why)
{
	lsh_each_op(op, &lsh_lock_of(resource)->waiting) {
		op->why = *why;
		op->verb->over(op, why->status);
	}
}

/* ---- life ---- */

leash_status
lsh_engine_open(struct lsh_engine **out, const struct lsh_backend_options *options, struct lsh_courier *courier,
                leash_error *err)
{
	static const struct lsh_backend_ops backend_ops = {
		.events = &lsh_lease_events, .each = lsh_lock_each, .find = lsh_lock_find, .retain = lsh_lock_retain,
		.release = lsh_lock_unref, .denied = end_waits,
	};
	struct lsh_engine *e = lsh_new(struct lsh_engine);
	leash_status status;

	if (e == NULL)
		return lsh_fail_short(err, ENOMEM, "cannot make a client");
	pthread_mutex_init(&e->mutex, NULL);
	for (size_t row = 0; row < LSH_COUNT_ROWS; row++)
		pthread_mutex_init(&e->counts[row].mutex, NULL);
	if (!lsh_map_init(&e->locks)) {
		lsh_engine_free(e);
		return lsh_fail(err, LEASH_UNSUPPORTED, 0,
		                "the system has no randomness, and owner tokens need it");
	}
	status = lsh_backend_open(&e->backend, options, &backend_ops, e, courier, err);
	if (status != LEASH_OK) {
		if (e->backend != NULL)
			lsh_engine_close(e);
		lsh_engine_free(e);
		return status;
	}
	*out = e;
	return LEASH_OK;
}

static void
unwind_lost(struct lsh_lock *lock)
{
	while (lock->lost != NULL)
		lsh_hold_unwind(lock->lost);
}

static void
abandon(struct lsh_lock *lock, struct lsh_hold *hold, const char *why)
{
	if (!hold->lost) {
		lsh_count(lock, LSH_COUNT_ABANDONED);
		lsh_notice(hold, LEASH_EVENT_ABANDONED, why);
		lsh_hold_end(hold);
		lsh_queue_drive(&lock->plain);
	}
	lsh_hold_unwind(hold);
}

void
lsh_lock_close(struct lsh_lock *lock)
{
	struct lsh_engine *e = lsh_engine_of(lock);

	/* under the mutex until all is done: so nobody gets a new handle, and a hold through it, in between */
	pthread_mutex_lock(&e->mutex);
	if (--lock->handles == 0) {
		lsh_monitor_enter(&lock->resource.monitor);
		lsh_each_hold(hold, lock)
			abandon(lock, hold, "its last handle was freed");
		unwind_lost(lock);
		lsh_monitor_leave(&lock->resource.monitor);
	}
	pthread_mutex_unlock(&e->mutex);
	lsh_lock_unref(&lock->resource);
}

static void
close_lock(struct lsh_resource *resource, void *arg)
{
	static const leash_error closed = {LEASH_CLOSED, 0, ""};
	struct lsh_lock *lock = lsh_lock_of(resource);

	(void)arg;
	end_waits(resource, &closed);
	lsh_each_op(op, &lock->ops)
		if (op->queue != NULL)
			op->verb->over(op, LEASH_CLOSED);
	lsh_each_hold(hold, lock) {
		lsh_hold_end(hold);
		lsh_hold_unwind(hold);
	}
	unwind_lost(lock);
	lsh_each_lease(lease, resource)
		if (lease->state == LSH_ENDING && lsh_kind_is_counted(lease->resource->kind))
			lsh_lease_check(lease); /* its cancel is put off no more */
}

/* No reply comes any more: tell whoever still waits for one. */
static void
end_ops(struct lsh_resource *resource, void *arg)
{
	(void)arg;
	lsh_each_op(op, &lsh_lock_of(resource)->ops)
		op->verb->late(op);
}

void
lsh_engine_close(struct lsh_engine *e)
{
	atomic_store(&e->backend->closing, true);
	lsh_lock_each(e, close_lock, NULL);
	lsh_backend_settle(e->backend);
	lsh_backend_stop(e->backend);
	lsh_lock_each(e, end_ops, NULL);
	lsh_backend_empty(e->backend);
	lsh_backend_drop(e->backend);
}

void
lsh_engine_free(struct lsh_engine *e)
{
	if (e == NULL)
		return;
	lsh_backend_free(e->backend);
	lsh_map_clear(&e->locks);
	for (size_t row = 0; row < LSH_COUNT_ROWS; row++)
		pthread_mutex_destroy(&e->counts[row].mutex);
	pthread_mutex_destroy(&e->mutex);
	lsh_free(e);
}

struct lsh_backend *
lsh_engine_backend(struct lsh_engine *e)
{
	return e->backend;
}

struct ended {
	const struct leash_owner *owner;
	const char *why;
};

static void
abandon_of(struct lsh_resource *resource, void *arg)
{
	const struct ended *ended = arg;
	struct lsh_lock *lock = lsh_lock_of(resource);
	struct lsh_hold *hold = lsh_hold_of(lock, ended->owner);

	if (hold != NULL)
		abandon(lock, hold, ended->why);
}

void
lsh_engine_owner_ended(struct lsh_engine *e, const struct leash_owner *owner, const char *why)
{
	struct ended ended = {.owner = owner, .why = why};

	lsh_lock_each(e, abandon_of, &ended);
}

/* ---- what a client has done ---- */

static void
add_lock(struct lsh_resource *resource, void *arg)
{
	const struct lsh_lock *lock = lsh_lock_of(resource);
	leash_stats *stats = arg;

	lsh_each_hold(hold, lock)
		stats->holding++;
	lsh_each_op(op, &lock->waiting)
		stats->waiting++;
}

void
lsh_engine_count(struct lsh_engine *e, leash_stats *stats)
{
	uint64_t sum[LSH_COUNTS] = {0};

	_Static_assert(offsetof(leash_stats, gave_up) - offsetof(leash_stats, acquired) == LSH_COUNT_GAVE_UP * sizeof *sum,
	               "the numbers are in the order of enum lsh_count");
	for (size_t row = 0; row < LSH_COUNT_ROWS; row++) {
		pthread_mutex_lock(&e->counts[row].mutex);
		for (size_t what = 0; what < LSH_COUNTS; what++)
			sum[what] += e->counts[row].of[what];
		pthread_mutex_unlock(&e->counts[row].mutex);
	}
	memcpy((char *)stats + offsetof(leash_stats, acquired), sum, sizeof sum);
	stats->holding = stats->waiting = 0;
	lsh_lock_each(e, add_lock, stats);
}

const struct lsh_times *
lsh_engine_times(const struct lsh_engine *e)
{
	return &e->times;
}
