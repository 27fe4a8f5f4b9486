/* Several locks as one. They are in the order of their keys' bytes, and the one rule is that none is waited for while
 * one behind it is held: so no circle of waiters can form.
 *
 *   TRY all that are missing, in one write --all are granted--> HELD
 *     | the first that is not granted is f
 *   GIVE BACK those behind f, and WAIT for f, in one write --f is granted--> TRY
 *     | f must not be waited for, or is not granted in time
 *   GIVE BACK all --> the answer
 *
 * A lock is missing if it was not acquired yet, or was lost while the call waited for another one. Nobody waits for
 * what is given back: the call ends in time, also where a server is silent. */
#include "client/wait.h"

#include "base/error.h"
#include "base/memory.h"

#include <leash/multi.h>

#include <errno.h>
#include <string.h>

struct leash_multi {
	size_t count;
	leash_lock *locks[]; /* in order */
};

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

struct member {
	leash_lock *lock;
	struct lsh_wait wait;
	bool had;   /* before this call */
	bool has;   /* by this call */
	bool tried; /* its try is to be ended */
};

/* One call that acquires. */
struct call {
	const leash_acquire *how;
	struct lsh_backend *backend;
	int64_t deadline;
	size_t count;
	struct member members[];
};

#define each_member(m, c) (struct member *m = (c)->members; m < (c)->members + (c)->count; m++)

/* Of several that are begun the first reads for all. In a cluster the others may go over connections of their own,
 * whose own threads read for them. All are flushed, as another thread may sleep there while it reads. */
static void
begin(struct lsh_wait *first, struct lsh_wait *w, const struct lsh_op_verb *verb)
{
	if (first != w && lsh_router_is_cluster(lsh_lock_resource(w->op.lock)->backend->router))
		w->op.reader = NULL;
	lsh_wait_begin(w, verb);
}

static void
begin_acquire(const struct call *c, struct lsh_wait *first, struct member *m, int64_t wait_ms)
{
	struct lsh_op *op = &m->wait.op;

	lsh_wait_make(&m->wait, m->lock, NULL); /* there is memory: the call began with it */
	op->cancel = c->how->cancel;
	op->lease_ms = c->how->lease_ms;
	op->wait_ms = wait_ms;
	op->deadline = c->deadline;
	if (wait_ms == 0 && lsh_handle_until(&m->wait.op, 0) < op->deadline)
		op->deadline = lsh_handle_until(&m->wait.op, 0);
	begin(first, &m->wait, &lsh_acquiring);
}

/* In the background. */
static void
give_back(struct member *m)
{
	m->has = false;
	lsh_wait_make(&m->wait, m->lock, NULL);
	m->wait.op.front = NULL;
	m->wait.op.reader = NULL;
	lsh_wait_begin(&m->wait, &lsh_releasing);
}

static void
give_back_from(struct call *c, struct member *from)
{
	for (struct member *m = from; m < c->members + c->count; m++)
		if (m->has)
			give_back(m);
}

/* ---- acquiring ---- */

static bool
is_lost(const struct member *m)
{
	return m->has && lsh_remaining(m->lock->lock, m->wait.op.owner, lsh_handle_extra(m->lock)->need) == 0;
}

/* All that are missing. The first that is not held then; NULL: all are. */
static struct member *
try_all(struct call *c)
{
	struct member *missing = NULL;
	struct lsh_wait *first = NULL;

	for each_member(m, c) {
		m->tried = !m->has;
		if (m->tried) {
			first = first != NULL ? first : &m->wait;
			begin_acquire(c, first, m, 0);
		}
	}
	lsh_backend_flush(c->backend);
	for each_member(m, c) {
		if (m->tried)
			m->has = lsh_wait_end(&m->wait, NULL) == LEASH_OK;
		if (missing == NULL && (!m->has || is_lost(m)))
			missing = m;
	}
	return missing;
}

/* Another owner has `m`. Is it allowed to wait for it? */
static leash_status
check_order(const struct call *c, const struct member *m, leash_error *err)
{
	for (const struct member *behind = m + 1; behind < c->members + c->count; behind++)
		if (behind->had)
			return lsh_fail(err, LEASH_DEADLOCK, 0, "lock '%s': another owner has it, and may wait for '%.80s', "
			                "which this owner had before: take both in one set", lsh_lock_shown(m->lock->lock),
			                lsh_lock_shown(behind->lock->lock));
	return LEASH_OK;
}

/* `m` was not held after a try. May the call go on? Else the answer. */
static leash_status
check_missing(const struct call *c, const struct member *m, leash_error *err)
{
	const struct lsh_op *op = &m->wait.op;
	const char *shown = lsh_lock_shown(m->lock->lock);
	bool in_time = c->how->wait_ms != 0 && lsh_now_ns() < c->deadline;

	if (m->has)
		return in_time ? LEASH_OK
		               : lsh_fail(err, LEASH_UNAVAILABLE, 0, "lock '%s': it was lost while the others were acquired",
		                          shown);
	if (c->how->wait_ms != 0 && op->began >= c->deadline)
		return lsh_fail(err, LEASH_UNAVAILABLE, 0, "lock '%s': the time was over before it could be asked for", shown);
	if (in_time && op->status == LEASH_TIMEOUT)
		return check_order(c, m, err);
	if (in_time && op->status == LEASH_UNAVAILABLE && check_order(c, m, err) == LEASH_OK)
		return LEASH_OK;
	*err = op->why;
	return op->status;
}

static leash_status
acquire_all(struct call *c, leash_error *err)
{
	leash_status status = LEASH_OK;
	struct member *missing;

	while (status == LEASH_OK && (missing = try_all(c)) != NULL) {
		status = check_missing(c, missing, err);
		if (status == LEASH_OK && !missing->has) {
			give_back_from(c, missing + 1);
			begin_acquire(c, &missing->wait, missing, c->how->wait_ms);
			lsh_backend_flush(c->backend);
			status = lsh_wait_end(&missing->wait, err);
			missing->has = status == LEASH_OK;
		}
		for each_member(m, c)
			if (is_lost(m))
				give_back(m);
	}
	if (status != LEASH_OK)
		give_back_from(c, c->members);
	lsh_backend_flush(c->backend);
	return status;
}

/* With its client and its owner checked. */
static leash_status
acquire(leash_multi *m, struct call *c, leash_error *err)
{
	struct lsh_seat *seat = NULL;
	struct lsh_wait *first = &c->members[0].wait;
	leash_status status = lsh_wait_make(first, m->locks[0], err);

	if (status == LEASH_OK && c->how->cancel != NULL &&
	    (seat = lsh_cancel_sit(c->how->cancel, &first->thread->parker)) == NULL)
		status = lsh_wait_no_memory(m->locks[0], err);
	for (c->count = 0; c->count < m->count && status == LEASH_OK; c->count++) {
		struct member *at = &c->members[c->count];
		struct lsh_view view;

		at->lock = m->locks[c->count];
		lsh_lock_view(at->lock->lock, first->op.owner, lsh_handle_extra(at->lock)->need, &view);
		at->had = view.is_held;
		at->has = false;
		if (view.depth > 0 && !at->had)
			status = lsh_fail(err, LEASH_LOST, 0, "lock '%s': an earlier hold of this owner was lost: release it first",
			                  lsh_lock_shown(at->lock->lock));
		else if (!at->had)
			status = lsh_handle_prepare(at->lock, err);
	}
	c->deadline = lsh_handle_until(&first->op, c->how->wait_ms);
	if (status == LEASH_OK)
		status = acquire_all(c, err);
	lsh_cancel_rise(seat);
	return status;
}

static leash_status
check(const leash_multi *m, leash_acquire *a, const leash_acquire *how, const char *call, leash_error *err)
{
	leash_status status = LEASH_OK;

	if (m == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the set is NULL", call);
	for (size_t i = 0; i < m->count && status == LEASH_OK; i++)
		status = a != NULL ? lsh_handle_check_acquire(m->locks[i], a, how, call, err)
		                   : lsh_handle_check(m->locks[i], call, err);
	return status;
}

static leash_status
check_and_acquire(leash_multi *m, const leash_acquire *how, const char *call, leash_error *err)
{
	lsh_guarded();
	leash_acquire a;
	leash_error why;
	leash_status status = check(m, &a, how, call, err);
	struct call *c;

	if (status != LEASH_OK)
		return status;
	c = lsh_alloc(sizeof *c + m->count * sizeof *c->members);
	if (c == NULL)
		return lsh_wait_no_memory(m->locks[0], err);
	c->how = &a;
	c->backend = lsh_lock_resource(m->locks[0]->lock)->backend;
	status = lsh_handle_named(m->locks[0], lsh_handle_occupy(m->locks[0]->owner, &why), &why);
	if (status == LEASH_OK) {
		status = acquire(m, c, &why);
		lsh_handle_vacate(m->locks[0]->owner);
	}
	lsh_free(c);
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
	leash_status all = check(m, NULL, NULL, "leash_multi_release", err);
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

			if (status == LEASH_OK || all == LEASH_LOST || (all != LEASH_OK && status != LEASH_LOST))
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
