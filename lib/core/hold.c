/* Holds: what an owner has, from the grant to the last release; and what the application is told of it, on the thread
 * for callbacks. Those notices lie in the memory of the hold and keep it alive. */
#include "core/core.h"

#include "base/memory.h"
#include "base/mutation.h"
#include "watchdog/pace.h"

#include <stdio.h>


/* Where its end is read without the monitor, if it is read so. */
static void
set_end(struct lsh_hold *hold, int64_t end)
{
	if (lsh_has_permits(hold->lock))
		atomic_store(&hold->owner->valid_until, end);
	else if (hold->lock->hold == hold)
		atomic_store(&hold->lock->valid_until, end);
}

/* ---- notices ---- */

void
lsh_terms_unref(struct lsh_terms *terms)
{
	if (terms == NULL || !lsh_unshare(&terms->references))
		return;
	lsh_cancel_unref(terms->on_lost);
	lsh_free(terms);
}

void
lsh_hold_unref(struct lsh_hold *hold)
{
	struct lsh_resource *resource = &hold->lock->resource;

	if (atomic_fetch_sub(&hold->references, 1) != 1)
		return;
	lsh_owner_unref(hold->owner);
	lsh_terms_unref(hold->terms);
	lsh_free(hold);
	lsh_lock_unref(resource);
}

static void
deliver(struct lsh_letter *letter)
{
	struct lsh_notice *notice = lsh_container(letter, struct lsh_notice, letter);
	struct lsh_hold *hold = notice->hold;
	char text[100];
	leash_event event = {
		.size = sizeof event, .lock = lsh_lock_name(hold->lock),
		.fence = lsh_has_permits(hold->lock) ? 0 : notice->fence,
		.remaining_ms = notice->remaining_ms, .text = notice->text, .type = notice->type,
		.permit = lsh_has_permits(hold->lock) ? (const struct leash_permit *)(const void *)hold->owner : NULL,
	};

	if (notice->wanted > 0) {
		snprintf(text, sizeof text, "%u of %u %s", notice->acknowledged, notice->wanted, notice->text);
		event.text = text;
	}
	hold->terms->on_event(hold->terms->event_arg, &event);
	lsh_hold_unref(hold);
}

void
lsh_notice(struct lsh_hold *hold, leash_event_type type, const char *text)
{
	struct lsh_notice *notice;
	int64_t left;

	if (hold->terms->on_event == NULL)
		return;
	notice = &hold->more->notices[type];
	left = hold->lost ? 0 : hold->lease->valid_until - lsh_now_ns();
	notice->text = text;
	notice->fence = hold->fence;
	notice->remaining_ms = left > 0 ? left / LSH_MS : 0;
	atomic_fetch_add(&hold->references, 1);
	if (!lsh_courier_post(hold->lock->resource.backend->courier, &notice->letter))
		lsh_hold_unref(hold);
}

void
lsh_notice_risk(struct lsh_hold *hold, unsigned acknowledged, unsigned wanted, const char *why)
{
	bool at_risk = why != NULL;
	leash_event_type opposite = at_risk ? LEASH_EVENT_RECOVERED : LEASH_EVENT_JEOPARDY;

	if (hold->at_risk == at_risk)
		return;
	hold->at_risk = at_risk;
	if (hold->terms->on_event == NULL)
		return;
	if (lsh_courier_withdraw(hold->lock->resource.backend->courier, &hold->more->notices[opposite].letter)) {
		lsh_hold_unref(hold);
		return;
	}
	if (at_risk) { /* the one before was delivered, as its opposite was */
		hold->more->notices[LEASH_EVENT_JEOPARDY].acknowledged = acknowledged;
		hold->more->notices[LEASH_EVENT_JEOPARDY].wanted = wanted;
	}
	lsh_notice(hold, at_risk ? LEASH_EVENT_JEOPARDY : LEASH_EVENT_RECOVERED, at_risk ? why : "renewed again");
}

/* ---- life ---- */

struct lsh_hold *
lsh_hold_new(struct lsh_lock *lock, struct leash_owner *owner, struct lsh_terms *terms)
{
	bool is_watched = terms->on_event != NULL || terms->alive_ms > 0;
	struct lsh_hold *hold = lsh_alloc(sizeof *hold + (is_watched ? sizeof *hold->more : 0));

	if (hold == NULL)
		return NULL;
	lsh_lock_retain(&lock->resource);
	hold->lock = lock;
	lsh_share(&owner->references);
	hold->owner = owner;
	lsh_share(&terms->references);
	hold->terms = terms;
	atomic_init(&hold->references, 1);
	for (size_t type = 0; is_watched && type < sizeof hold->more->notices / sizeof *hold->more->notices; type++) {
		struct lsh_notice *notice = &hold->more->notices[type];

		lsh_list_init(&notice->letter.link);
		notice->letter.deliver = deliver;
		notice->hold = hold;
		notice->type = (leash_event_type)type;
	}
	return hold;
}

/* NULL: of a thread that has never called. */
struct lsh_hold *
lsh_hold_of(struct lsh_lock *lock, const struct leash_owner *owner)
{
	struct lsh_hold *lost = lock->lost;

	if (lock->hold != NULL && lock->hold->owner == owner) /* no look at all who wait, in a fair one each by a lease */
		return lock->hold;
	if (owner == NULL || atomic_load(&owner->holds) == 0)
		return NULL;
	lsh_each_hold(hold, lock)
		if (hold->owner == owner)
			return hold;
	while (lost != NULL && lost->owner != owner)
		lost = lost->next;
	return lost;
}

struct lsh_hold *
lsh_hold_check(struct lsh_op *op)
{
	struct lsh_hold *hold = lsh_hold_of(op->lock, op->owner);

	if (hold != NULL && !hold->lost && op->began >= hold->lease->valid_until &&
	    !LSH_MUTATES(LSH_CALLS_TRUST_THE_WATCHDOG))
		lsh_lease_lose(hold->lease, "its lease ran out");
	return hold;
}

bool
lsh_hold_is_hung(const struct lsh_hold *hold, int64_t now)
{
	return hold->terms->alive_ms > 0 && now > lsh_after_ms(atomic_load(&hold->more->alive_at), hold->terms->alive_ms);
}

static void
note_fence(struct lsh_hold *hold)
{
	struct lsh_lock *lock = hold->lock;

	if (hold->fence + (hold->lease->need == LSH_NEED_READ) <= lock->last_fence) /* who reads has that of the others */
		lsh_notice(hold, LEASH_EVENT_FENCE_REGRESSION,
		           "the fence is not larger than the one before: the server lost data, and its clock is behind");
	lock->last_fence = hold->fence;
}

void
lsh_hold_begin(struct lsh_lock *lock, struct lsh_lease *lease, struct lsh_hold *hold, uint64_t fence,
               int64_t waited_since, int64_t now)
{
	hold->depth = 1;
	hold->reads = lease->need == LSH_NEED_READ;
	hold->fence = fence;
	hold->lease = lease;
	hold->beside = lease->user;
	lease->user = hold;
	lease->depth = 1;
	if (!lsh_is_shared(lock) || lease->need == LSH_NEED_WRITE) {
		lock->hold = hold;
		lease->held_after_us = (uint32_t)((now - lease->turn_began) / LSH_US); /* a turn has 60 s for hand-offs */
	}
	lsh_count(lock, LSH_COUNT_ACQUIRED);
	lsh_took(lock, hold->terms, LEASH_TIME_WAIT, now - waited_since);
	if (hold->terms->alive_ms > 0)
		atomic_store(&hold->more->alive_at, lsh_now_ns());
	atomic_fetch_add(&hold->owner->holds, 1);
	lsh_hold_revalued(hold);
	if (lsh_has_permits(lock))
		return; /* those who share have one fence, and hear of it in any order */
	if (lock->hold == hold)
		atomic_store(&lock->holder, hold->owner->id);
	if (hold->beside == NULL) /* else it has that of a lease that is there */
		note_fence(hold);
}

/* Those who look without the monitor see who is alone, and then until when. */
void
lsh_hold_move(struct lsh_hold *hold, struct lsh_lease *lease, uint64_t fence)
{
	struct lsh_lock *lock = hold->lock;
	bool alone = lease->need == LSH_NEED_WRITE;

	atomic_store(&lock->holder, 0);
	hold->lease->user = NULL;
	lease->held_after_us = hold->lease->held_after_us;
	lock->generation += hold->lease->adopted;
	hold->lease = lease;
	hold->fence = fence;
	lease->user = hold;
	lock->hold = alone ? hold : NULL;
	lsh_hold_revalued(hold);
	if (alone)
		atomic_store(&lock->holder, hold->owner->id);
	if (!lsh_has_permits(lock))
		note_fence(hold);
	lsh_notice_risk(hold, 0, 0, NULL);
}

void
lsh_hold_revalued(struct lsh_hold *hold)
{
	set_end(hold, hold->lease->valid_until);
}

/* It ends: how long it lasted; of those who share a lease the last one tells, of all of them. */
static void
measure(const struct lsh_hold *hold, int64_t now)
{
	struct lsh_lock *lock = hold->lock;
	const struct lsh_lease *lease = hold->lease;

	if (hold->beside == NULL && lease->user == hold)
		lsh_took(lock, hold->terms, LEASH_TIME_HOLD, now - lease->turn_began - lease->held_after_us * LSH_US);
}

struct lsh_lease *
lsh_hold_finish(struct lsh_hold *hold, int64_t now)
{
	struct lsh_lock *lock = hold->lock;
	struct lsh_lease *lease = hold->lease;
	struct lsh_hold *at = lease->user;
	leash_status status = lsh_is_closing(lock) ? LEASH_CLOSED : LEASH_NOT_HELD;
	/* whoever reads holder twice around valid_until never takes a later hold's validity for its own */
	set_end(hold, 0);
	measure(hold, now);
	if (lock->hold == hold) {
		atomic_store(&lock->holder, 0);
		lock->hold = NULL;
	}
	lock->generation += lease->adopted;
	while (at != hold && at->beside != hold)
		at = at->beside;
	if (at == hold)
		lease->user = hold->beside;
	else
		at->beside = hold->beside;
	lsh_each_op(op, &lock->ops)
		if (op->verb->over != NULL && op->queue == NULL && op->owner == hold->owner &&
		    (op->lease == lease || op->verb->traded != NULL))
			op->verb->over(op, hold->lost ? LEASH_LOST : status);
	return lease->user == NULL ? lease : NULL;
}

void
lsh_hold_end(struct lsh_hold *hold)
{
	struct lsh_lease *lease = lsh_hold_finish(hold, lsh_now_ns());

	if (lease != NULL)
		lsh_lease_release(lease, NULL);
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

/* ---- what nobody waits for ---- */

void
lsh_hold_leave(struct lsh_hold *hold, struct lsh_lease *lease)
{
	atomic_fetch_add(&hold->references, 1);
	lease->user = hold;
	lease->left = true;
}

void
lsh_hold_left(struct lsh_lease *lease, enum lsh_found found, const leash_error *why)
{
	struct lsh_hold *hold = lease->user;

	if (found == LSH_FOUND_NOT_YET)
		return;
	lease->left = false;
	lease->user = NULL;
	if (found == LSH_FOUND_NOTHING) {
		hold->lost = true; /* nobody works under it any more: `on_lost` might be that of the next hold */
		lsh_notice(hold, LEASH_EVENT_LOST, "the server did not have it any more when it was released");
	} else if (found == LSH_FOUND_REFUSED) {
		lsh_notice(hold, LEASH_EVENT_NOT_RELEASED, why->status == LEASH_DENIED ? "the release is not permitted" :
		           why->status == LEASH_PROTOCOL ? "the answer is not what a Redis server sends" :
		           why->status != LEASH_OK ? "the server refused to release it" : "no answer to its release");
	}
	lsh_hold_unref(hold);
}

/* ---- passing it on ---- */

/* Does the lease stay as it is when the hold passes from one to the other, and is what was acknowledged enough? */
static bool
may_follow(const struct lsh_terms *a, const struct lsh_terms *b)
{
	const struct lsh_safety *had = &a->safety, *wants = &b->safety;

	return LSH_MUTATES(LSH_ANY_TERMS_FOLLOW) ||
	       (!a->no_renew && !b->no_renew && a->max_hold_ms == 0 && b->max_hold_ms == 0 &&
	        wants->min_replicas <= had->min_replicas && wants->fsynced <= had->fsynced &&
	        b->restart_guard_ms <= a->restart_guard_ms);
}

bool
lsh_hold_may_pass(const struct lsh_hold *hold, const struct lsh_terms *terms, int64_t lease_ms, int64_t now)
{
	const struct lsh_lease *lease = hold->lease;

	/* a renewal comes at a third of the lease: one that has less than half of it left is overdue; and if the next owner
	 * of one that was extended, or may be, died, the lock would be free only at the end of that */
	return (now - lease->turn_began < hold->terms->handoff_ms * LSH_MS || LSH_MUTATES(LSH_TURNS_NEVER_END)) &&
	       !hold->at_risk && !lease->adopted && !lease->watched && lease->longest_ms <= lease_ms &&
	       lease->valid_until - now >= lease->span_ms * LSH_MS / 2 &&
	       lease->valid_until <= lsh_pace_valid_until(now, lease->lease_ms * LSH_MS) && lease->lease_ms == lease_ms &&
	       may_follow(hold->terms, terms);
}

/* ---- memory only ---- */

/* Of a hold that is not alone. */
static int64_t
end_beside(struct lsh_lock *lock, const struct leash_owner *owner)
{
	lsh_within(&lock->resource.monitor);
	const struct lsh_hold *hold = lsh_hold_of(lock, owner);

	return hold != NULL && !hold->lost ? hold->lease->valid_until : 0;
}

int64_t
lsh_remaining(struct lsh_lock *lock, const struct leash_owner *owner, uint32_t need)
{
	int64_t end = 0, now;

	if (owner == NULL)
		return 0;
	if (lsh_has_permits(lock))
		end = atomic_load(&owner->valid_until);
	else if (atomic_load(&lock->holder) == owner->id)
		end = atomic_load(&lock->valid_until);
	/* what was read belongs to our hold only if it is still ours */
	if (!lsh_has_permits(lock) && atomic_load(&lock->holder) != owner->id)
		end = need == LSH_NEED_READ ? end_beside(lock, owner) : 0;
	now = lsh_now_ns();
	return now < end ? end - now : 0;
}

void
lsh_lock_view(struct lsh_lock *lock, const struct leash_owner *owner, uint32_t need, struct lsh_view *view)
{
	lsh_within(&lock->resource.monitor);
	const struct lsh_hold *hold = lsh_hold_of(lock, owner);

	*view = (struct lsh_view){.depth = hold != NULL ? lsh_hold_depth(hold, need) : 0};
	if (hold == NULL || hold->lost || lsh_now_ns() >= hold->lease->valid_until)
		return;
	view->is_held = true;
	if (need == LSH_NEED_WRITE && view->depth == 0)
		return;
	view->fence = hold->fence;
	lsh_lease_token(hold->lease, view->token);
}

void
lsh_alive(struct lsh_lock *lock, const struct leash_owner *owner)
{
	lsh_within(&lock->resource.monitor);
	struct lsh_hold *hold = lsh_hold_of(lock, owner);
	int64_t now = lsh_now_ns();
	bool was_hung;

	if (hold == NULL || hold->lost || hold->terms->alive_ms == 0)
		return;
	was_hung = lsh_hold_is_hung(hold, now);
	atomic_store(&hold->more->alive_at, now);
	if (was_hung)
		lsh_lease_hurry(hold->lease); /* renewals go on, and at once: there may be little left */
}
