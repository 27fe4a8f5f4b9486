/* What an acquire of several locks asks for, and when. They are in the order of their keys' bytes, and the one rule is
 * that none is waited for while one behind it is held: so no circle of waiters can form.
 *
 *   TRY all that are missing, in one write --all are granted--> HELD
 *     | the first that is not granted is f
 *   GIVE BACK those behind f, and WAIT for f, in one write --f is granted--> TRY
 *     | f must not be waited for, or is not granted in time
 *   GIVE BACK all --> the answer
 *
 * A lock is missing if it was not acquired yet, or was lost while the call waited for another one. Nobody waits for
 * what is given back: the call ends in time, also where a server is silent. */
#include "client/multi.h"

#include "base/error.h"
#include "base/memory.h"

#define each_member(m, set) (struct lsh_member *m = (set)->members; m < (set)->members + (set)->count; m++)

struct lsh_set *
lsh_set_new(const leash_multi *m, const leash_acquire *how)
{
	struct lsh_set *set = lsh_alloc(sizeof *set + m->count * sizeof *set->members);

	if (set == NULL)
		return NULL;
	set->how = *how;
	set->backend = lsh_lock_resource(m->locks[0]->lock)->backend;
	for (set->count = 0; set->count < m->count; set->count++)
		set->members[set->count].lock = m->locks[set->count];
	return set;
}

leash_status
lsh_set_begin(struct lsh_set *set, const struct lsh_op *op, leash_error *err)
{
	leash_status status = LEASH_OK;

	set->owner = op->owner;
	set->deadline = lsh_handle_until(op, set->how.wait_ms);
	for each_member(m, set) {
		struct lsh_view view;

		lsh_lock_view(m->lock->lock, set->owner, lsh_handle_extra(m->lock)->need, &view);
		m->had = view.is_held;
		if (view.depth > 0 && !m->had)
			status = lsh_fail(err, LEASH_LOST, 0, "lock '%s': an earlier hold of this owner was lost: release it first",
			                  lsh_lock_shown(m->lock->lock));
		else if (!m->had)
			status = lsh_handle_prepare(m->lock, err);
		if (status != LEASH_OK)
			break;
	}
	return status;
}

/* ---- what comes of it ---- */

void
lsh_set_aim(struct lsh_set *set, size_t i, struct lsh_op *op)
{
	struct lsh_member *m = &set->members[i];

	m->began = op->began;
	op->lease_ms = set->how.lease_ms;
	op->wait_ms = m == set->waits_for ? set->how.wait_ms : 0;
	op->deadline = set->deadline;
	if (op->wait_ms == 0 && lsh_handle_until(op, 0) < op->deadline)
		op->deadline = lsh_handle_until(op, 0);
}

void
lsh_set_answer(struct lsh_set *set, size_t i, leash_status status, const leash_error *why)
{
	struct lsh_member *m = &set->members[i];

	m->asks = false;
	m->has = status == LEASH_OK;
	m->status = status;
	if (status != LEASH_OK)
		m->why = *why;
}

bool
lsh_set_is_told(leash_status so_far, leash_status status)
{
	return status != LEASH_OK && so_far != LEASH_LOST && (so_far == LEASH_OK || status == LEASH_LOST);
}

/* ---- what is next ---- */

static bool
is_lost(const struct lsh_set *set, const struct lsh_member *m)
{
	return m->has && lsh_remaining(m->lock->lock, set->owner, lsh_handle_extra(m->lock)->need) == 0;
}

/* In the background. */
static void
give_back_from(struct lsh_set *set, struct lsh_member *from)
{
	for (struct lsh_member *m = from; m < set->members + set->count; m++) {
		if (m->has)
			lsh_wait_let_go(m->lock);
		m->has = false;
	}
}

/* Try all that are missing. False: none is. */
static bool
try_all(struct lsh_set *set)
{
	bool any = false;

	set->tried = true;
	for each_member(m, set) {
		if (is_lost(set, m)) {
			lsh_wait_let_go(m->lock);
			m->has = false;
		}
		m->asks = !m->has;
		any |= m->asks;
	}
	return any;
}

/* NULL: all are held. */
static struct lsh_member *
first_missing(struct lsh_set *set)
{
	for each_member(m, set)
		if (!m->has || is_lost(set, m))
			return m;
	return NULL;
}

/* Another owner has `m`. Is it allowed to wait for it? */
static leash_status
check_order(const struct lsh_set *set, const struct lsh_member *m, leash_error *err)
{
	for (const struct lsh_member *behind = m + 1; behind < set->members + set->count; behind++)
		if (behind->had)
			return lsh_fail(err, LEASH_DEADLOCK, 0, "lock '%s': another owner has it, and may wait for '%.80s', "
		                "which this owner held before: acquire both in one set", lsh_lock_shown(m->lock->lock),
			                lsh_lock_shown(behind->lock->lock));
	return LEASH_OK;
}

/* `m` was not held after a try. May the call go on? Else the answer. */
static leash_status
check_missing(const struct lsh_set *set, const struct lsh_member *m, leash_error *err)
{
	const char *shown = lsh_lock_shown(m->lock->lock);
	bool in_time = set->how.wait_ms != 0 && lsh_now_ns() < set->deadline;

	if (m->has)
		return in_time ? LEASH_OK
		               : lsh_fail(err, LEASH_UNAVAILABLE, 0, "lock '%s': it was lost while the others were acquired",
		                          shown);
	if (set->how.wait_ms != 0 && m->began >= set->deadline)
		return lsh_fail(err, LEASH_UNAVAILABLE, 0, "lock '%s': the time was over before it could be asked for", shown);
	if (in_time && m->status == LEASH_TIMEOUT)
		return check_order(set, m, err);
	if (in_time && m->status == LEASH_UNAVAILABLE && check_order(set, m, err) == LEASH_OK)
		return LEASH_OK;
	*err = m->why;
	return m->status;
}

bool
lsh_set_next(struct lsh_set *set)
{
	struct lsh_member *missing = set->waits_for;

	if (missing != NULL) {
		set->waits_for = NULL;
		set->status = missing->status;
		set->why = missing->why;
	}
	while (set->status == LEASH_OK) {
		if (!set->tried && try_all(set))
			return true;
		missing = first_missing(set);
		if (missing == NULL)
			return false;
		set->status = check_missing(set, missing, &set->why);
		set->tried = false;
		if (set->status == LEASH_OK && !missing->has) {
			give_back_from(set, missing + 1);
			set->waits_for = missing;
			missing->asks = true;
			return true;
		}
	}
	give_back_from(set, set->members);
	return false;
}
