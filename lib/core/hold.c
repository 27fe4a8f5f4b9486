/* Holds: what an owner has, from the grant to the last release. */
#include "core/core.h"

#include <string.h>

struct lsh_hold *
lsh_hold_of(struct lsh_lock *lock, uint64_t owner)
{
	struct lsh_hold *hold = lock->hold;

	if (hold == NULL || hold->owner->id != owner)
		for (hold = lock->lost; hold != NULL && hold->owner->id != owner;)
			hold = hold->next;
	return hold;
}

struct lsh_hold *
lsh_hold_check(struct lsh_op *op)
{
	struct lsh_hold *hold = lsh_hold_of(op->lock, op->owner->id);

	if (hold != NULL && hold == op->lock->hold && op->began >= hold->lease->valid_until)
		lsh_lease_lose(hold->lease, "its lease ran out");
	return hold;
}

bool
lsh_hold_is_hung(const struct lsh_hold *hold, int64_t now)
{
	return hold->terms->alive_ms > 0 && now > lsh_after_ms(atomic_load(&hold->alive_at), hold->terms->alive_ms);
}

void
lsh_hold_begin(struct lsh_lock *lock, struct lsh_lease *lease, struct lsh_hold *hold, uint64_t fence)
{
	hold->depth = 1;
	hold->fence = fence;
	hold->lease = lease;
	lease->user = hold;
	lease->depth = 1;
	lock->hold = hold;
	lsh_count(lock, LSH_COUNT_ACQUIRED);
	atomic_store(&hold->alive_at, hold->terms->alive_ms > 0 ? lsh_now_ns() : 0);
	atomic_fetch_add(&hold->owner->holds, 1);
	atomic_store(&lock->valid_until, lease->valid_until);
	atomic_store(&lock->holder, hold->owner->id);
	if (fence <= lock->last_fence)
		lsh_notice(hold, LEASH_EVENT_FENCE_REGRESSION,
		           "the fence is not larger than the one before: the server lost data, and its clock is behind");
	lock->last_fence = fence;
}

struct lsh_lease *
lsh_hold_finish(struct lsh_lock *lock)
{
	struct lsh_hold *hold = lock->hold;
	struct lsh_lease *lease = hold->lease;
	leash_status status = lsh_is_closing(lock) ? LEASH_CLOSED : LEASH_NOT_HELD;
	/* whoever reads holder twice around valid_until never takes a later hold's validity for its own */
	atomic_store(&lock->valid_until, 0);
	atomic_store(&lock->holder, 0);
	lock->generation += lease->adopted;
	hold->lease = NULL;
	lock->hold = NULL;
	lease->user = NULL;
	lsh_each_op(op, &lock->ops)
		if (op->verb->over != NULL)
			op->verb->over(op, hold->lost ? LEASH_LOST : status);
	return lease;
}

void
lsh_hold_unwind(struct lsh_hold *hold)
{
	struct lsh_hold **at = &hold->lock->lost;

	while (hold->lost && *at != hold)
		at = &(*at)->next;
	if (hold->lost)
		*at = hold->next;
	atomic_fetch_sub(&hold->owner->holds, 1);
	lsh_hold_unref(hold);
}

void
lsh_hold_abandon(struct lsh_lock *lock, struct lsh_hold *hold, const char *why)
{
	if (hold == lock->hold) {
		lsh_count(lock, LSH_COUNT_ABANDONED);
		lsh_notice(hold, LEASH_EVENT_ABANDONED, why);
		lsh_lease_release(lsh_hold_finish(lock), NULL);
		lsh_queue_drive(&lock->plain);
	}
	lsh_hold_unwind(hold);
}

/* ---- memory only ---- */

bool
lsh_held(const struct lsh_lock *lock, const struct leash_owner *owner)
{
	return lsh_remaining(lock, owner) > 0;
}

int64_t
lsh_remaining(const struct lsh_lock *lock, const struct leash_owner *owner)
{
	int64_t valid_until, now;

	if (owner == NULL || atomic_load(&lock->holder) != owner->id)
		return 0;
	valid_until = atomic_load(&lock->valid_until);
	/* what was read belongs to our hold only if it is still ours */
	if (atomic_load(&lock->holder) != owner->id)
		return 0;
	now = lsh_now_ns();
	return now < valid_until ? valid_until - now : 0;
}

/* The lock's hold, if it is this owner's and valid. Entered. */
static struct lsh_hold *
find_valid(struct lsh_lock *lock, const struct leash_owner *owner)
{
	struct lsh_hold *hold = lock->hold;

	return owner != NULL && hold != NULL && hold->owner->id == owner->id && lsh_held(lock, owner) ? hold : NULL;
}

unsigned
lsh_depth(struct lsh_lock *lock, const struct leash_owner *owner)
{
	const struct lsh_hold *hold;
	unsigned depth;

	lsh_monitor_enter(&lock->resource.monitor);
	hold = owner != NULL ? lsh_hold_of(lock, owner->id) : NULL;
	depth = hold != NULL ? hold->depth : 0;
	lsh_monitor_leave(&lock->resource.monitor);
	return depth;
}

uint64_t
lsh_fence(struct lsh_lock *lock, const struct leash_owner *owner)
{
	const struct lsh_hold *hold;
	uint64_t fence;

	lsh_monitor_enter(&lock->resource.monitor);
	hold = find_valid(lock, owner);
	fence = hold != NULL ? hold->fence : 0;
	lsh_monitor_leave(&lock->resource.monitor);
	return fence;
}

size_t
lsh_token(struct lsh_lock *lock, const struct leash_owner *owner, char *out, size_t size)
{
	const struct lsh_hold *hold;
	size_t n = 0, copied = 0;
	char token[LSH_TOKEN_SIZE];

	lsh_monitor_enter(&lock->resource.monitor);
	hold = find_valid(lock, owner);
	if (hold != NULL) {
		n = lsh_lease_token(hold->lease, token);
		copied = n < size ? n : size > 0 ? size - 1 : 0;
		if (size > 0)
			memcpy(out, token, copied);
	}
	if (size > 0)
		out[copied] = '\0';
	lsh_monitor_leave(&lock->resource.monitor);
	return n;
}

void
lsh_alive(struct lsh_lock *lock, const struct leash_owner *owner)
{
	struct lsh_hold *hold;

	lsh_monitor_enter(&lock->resource.monitor);
	hold = owner != NULL ? lsh_hold_of(lock, owner->id) : NULL;
	if (hold != NULL && hold == lock->hold) {
		int64_t now = lsh_now_ns();
		bool was_hung = lsh_hold_is_hung(hold, now);

		atomic_store(&hold->alive_at, now);
		if (was_hung)
			lsh_lease_hurry(hold->lease); /* renewals go on, and at once: there may be little left */
	}
	lsh_monitor_leave(&lock->resource.monitor);
}
