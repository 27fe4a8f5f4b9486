/* Several locks as one: sets, and the calls that wait. What an acquire asks for, and when, see set.c. */
#include "client/multi.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <string.h>

/* ---- life ---- */

static int
compare(const leash_lock *a, const leash_lock *b)
{
	const struct lsh_resource *ra = lsh_lock_resource(a->lock), *rb = lsh_lock_resource(b->lock);
	int differs = memcmp(lsh_resource_key(ra), lsh_resource_key(rb),
	                     ra->key_size < rb->key_size ? ra->key_size : rb->key_size);

	return differs != 0 ? differs : (ra->key_size > rb->key_size) - (ra->key_size < rb->key_size);
}

/* The option of the handle that a lock of a set must not have; or NULL. */
static const char *
limit_of(const struct lsh_terms *terms)
{
	if (terms->no_renew)
		return "no_renew";
	return terms->max_hold_ms > 0 ? "max_hold_ms" : terms->alive_ms > 0 ? "alive_ms" : NULL;
}

/* May it be in a set with those before it? */
static leash_status
check_member(leash_lock *const *locks, size_t i, const char *call, leash_error *err)
{
	const leash_lock *lock = locks[i];
	const char *shown, *limit;

	if (lock == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: lock %zu of the set is NULL", call, i);
	shown = lsh_lock_shown(lock->lock);
	if (lsh_client_of(lock) != lsh_client_of(locks[0]))
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': %s: the locks of a set are of one client", shown, call);
	if (lock->owner != locks[0]->owner)
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': %s: the locks of a set have one owner", shown, call);
	limit = limit_of(lock->terms);
	if (limit != NULL)
		return lsh_fail(err, LEASH_INVALID, 0,
		                "lock '%s': %s: a lock of a set is renewed until its release: its handle must not have %s",
		                shown, call, limit);
	for (size_t j = 0; j < i; j++)
		if (locks[j]->lock == lock->lock)
			return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': %s: it is twice in the set", shown, call);
	return LEASH_OK;
}

leash_status
leash_multi_new(leash_multi **out, leash_lock *const *locks, size_t count, leash_error *err)
{
	static const char call[] = "leash_multi_new";
	lsh_guarded();
	leash_status status = LEASH_OK;
	struct leash_multi *m;

	if (out == NULL || locks == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: %s is NULL", call, out == NULL ? "`out`" : "`locks`");
	if (count == 0 || count > LEASH_MULTI_MAX)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: a set has 1 to %d locks", call, LEASH_MULTI_MAX);
	for (size_t i = 0; i < count && status == LEASH_OK; i++)
		status = check_member(locks, i, call, err);
	if (status == LEASH_OK)
		status = lsh_fail_about(err, lsh_client_is_there(lsh_client_of(locks[0]), err), call, NULL);
	if (status != LEASH_OK)
		return status;
	m = lsh_alloc(sizeof *m + count * sizeof *m->locks);
	if (m == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a set of locks");
	for (m->count = 0; m->count < count; m->count++) {
		size_t at = m->count;

		for (; at > 0 && compare(m->locks[at - 1], locks[m->count]) > 0; at--)
			m->locks[at] = m->locks[at - 1];
		m->locks[at] = locks[m->count];
	}
	*out = m;
	return LEASH_OK;
}

void
leash_multi_free(leash_multi *m)
{
	lsh_guarded();

	lsh_free(m);
}

/* ---- ops of several locks ---- */

/* Of several that are begun the first reads for all. In a cluster the others may go over connections of their own,
 * whose own threads read for them. All are flushed, as another thread may sleep there while it reads. */
static void
begin(struct lsh_wait *first, struct lsh_wait *w, const struct lsh_op_verb *verb)
{
	if (first != w && lsh_router_is_cluster(lsh_lock_resource(w->op.lock)->backend->router))
		w->op.reader = NULL;
	lsh_wait_begin(w, verb);
}

/* ---- acquiring ---- */

/* One for each member. */
static void
ask(struct lsh_set *set, struct lsh_wait *waits)
{
	struct lsh_wait *first = NULL;

	for (size_t i = 0; i < set->count; i++) {
		struct lsh_wait *w = &waits[i];

		if (!set->members[i].asks)
			continue;
		first = first != NULL ? first : w;
		lsh_wait_make(w, set->members[i].lock, NULL); /* there is memory: the call began with it */
		lsh_set_aim(set, i, &w->op);
		w->op.cancel = set->how.cancel;
		begin(first, w, &lsh_acquiring);
	}
	lsh_backend_flush(set->backend);
	for (size_t i = 0; i < set->count; i++)
		if (set->members[i].asks)
			lsh_set_answer(set, i, lsh_wait_end(&waits[i], NULL), &waits[i].op.why);
}

/* With its client and its owner checked. */
static leash_status
acquire(struct lsh_set *set, struct lsh_wait *waits, leash_error *err)
{
	struct lsh_seat *seat = NULL;
	leash_status status = lsh_wait_make(waits, set->members[0].lock, err);

	if (status == LEASH_OK && set->how.cancel != NULL &&
	    (seat = lsh_cancel_sit(set->how.cancel, &waits->thread->parker)) == NULL)
		status = lsh_wait_no_memory(set->members[0].lock, err);
	if (status == LEASH_OK)
		status = lsh_set_begin(set, &waits->op, err);
	if (status == LEASH_OK) {
		while (lsh_set_next(set))
			ask(set, waits);
		lsh_backend_flush(set->backend);
		status = set->status;
		if (status != LEASH_OK)
			*err = set->why;
	}
	lsh_cancel_rise(seat);
	return status;
}

leash_status
lsh_multi_check(const leash_multi *m, leash_acquire *a, const leash_acquire *how,
                leash_status (*check_handle)(const leash_lock *, const char *, leash_error *), const char *call,
                leash_error *err)
{
	leash_status status = LEASH_OK;

	if (m == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the set is NULL", call);
	for (size_t i = 0; i < m->count && status == LEASH_OK; i++) {
		status = check_handle(m->locks[i], call, err);
		if (status == LEASH_OK && a != NULL)
			status = lsh_handle_read_acquire(m->locks[i], a, how, err);
	}
	return status;
}

static leash_status
check_and_acquire(leash_multi *m, const leash_acquire *how, const char *call, leash_error *err)
{
	lsh_guarded();
	leash_acquire a;
	leash_error why;
	leash_status status = lsh_multi_check(m, &a, how, lsh_handle_check, call, err);
	struct lsh_wait *waits;
	struct lsh_set *set;

	if (status != LEASH_OK)
		return status;
	set = lsh_set_new(m, &a);
	waits = lsh_alloc(m->count * sizeof *waits);
	if (set == NULL || waits == NULL)
		status = lsh_wait_no_memory(m->locks[0], &why);
	if (status == LEASH_OK)
		status = lsh_handle_occupy(m->locks[0], &why);
	if (status == LEASH_OK) {
		status = acquire(set, waits, &why);
		lsh_handle_vacate(m->locks[0]->owner);
	}
	lsh_free(waits);
	lsh_free(set);
	if (status != LEASH_OK && err != NULL)
		*err = why;
	return status;
}

leash_status
leash_multi_acquire(leash_multi *m, int64_t wait_ms, leash_error *err)
{
	return check_and_acquire(m, LEASH_ACQUIRE(.wait_ms = wait_ms), "leash_multi_acquire", err);
}

leash_status
leash_multi_acquire_with(leash_multi *m, const leash_acquire *how, leash_error *err)
{
	return check_and_acquire(m, how, "leash_multi_acquire_with", err);
}

/* ---- the others ---- */

leash_status
leash_multi_release(leash_multi *m, leash_error *err)
{
	lsh_guarded();
	leash_status all = lsh_multi_check(m, NULL, NULL, lsh_handle_check, "leash_multi_release", err);
	struct lsh_wait *waits, one;
	leash_error why;

	if (all != LEASH_OK)
		return all;
	waits = lsh_alloc(m->count * sizeof *waits);
	/* without memory one after the other */
	for (size_t i = 0, n = waits != NULL ? m->count : 1; i < m->count; i += n) {
		struct lsh_wait *at = waits != NULL ? waits : &one;

		for (size_t j = 0; j < n; j++) {
			lsh_wait_make(&at[j], m->locks[i + j], NULL); /* without memory it is released in the background */
			begin(at, &at[j], &lsh_releasing);
		}
		lsh_backend_flush(lsh_lock_resource(m->locks[0]->lock)->backend);
		for (size_t j = 0; j < n; j++) {
			leash_status status = lsh_wait_end(&at[j], &why);

			if (!lsh_set_is_told(all, status))
				continue;
			all = status;
			if (err != NULL)
				*err = why;
		}
	}
	lsh_free(waits);
	return all;
}

bool
leash_multi_held(const leash_multi *m)
{
	for (size_t i = 0; m != NULL && i < m->count; i++)
		if (!leash_lock_held(m->locks[i]))
			return false;
	return m != NULL;
}

int64_t
leash_multi_remaining_ms(const leash_multi *m)
{
	int64_t least = m != NULL ? INT64_MAX : 0;

	for (size_t i = 0; m != NULL && i < m->count; i++) {
		int64_t remaining = leash_lock_remaining_ms(m->locks[i]);

		if (remaining < least)
			least = remaining;
	}
	return least;
}
