/* Holds: what an owner has, from the grant to the last release; and what is told of it. */
#include "lock/state.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/mutation.h"
#include "lock/confirm.h"
#include "lock/step.h"
#include "watchdog/pace.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- notices ---- */

static void
deliver(struct lsh_letter *letter)
{
	struct lsh_notice *notice = lsh_container(letter, struct lsh_notice, letter);
	struct lsh_hold *hold = notice->hold;
	char text[100];
	leash_event event = {
		.size = sizeof event,
		.lock = hold->lock->name,
		.fence = hold->fence,
		.remaining_ms = notice->remaining_ms,
		.text = notice->text,
		.type = notice->type,
	};

	if (notice->wanted > 0) {
		snprintf(text, sizeof text, "%u of %u %s", notice->acknowledged, notice->wanted, notice->text);
		event.text = text;
	}
	hold->terms.on_event(hold->terms.event_arg, &event);
	lsh_hold_unref(hold);
}

static void
notice_init(struct lsh_notice *notice, struct lsh_hold *hold, leash_event_type type)
{
	lsh_list_init(&notice->letter.link);
	notice->letter.deliver = deliver;
	notice->hold = hold;
	notice->type = type;
}

static void
tell(struct lsh_notice *notice, const char *text)
{
	struct lsh_hold *hold = notice->hold;
	int64_t left = atomic_load(&hold->lock->valid_until) - lsh_now_ns();

	if (hold->terms.on_event == NULL)
		return;
	notice->text = text;
	notice->remaining_ms = hold->lock->hold == hold && left > 0 ? left / LSH_MS : 0;
	atomic_fetch_add(&hold->references, 1);
	if (!lsh_courier_post(hold->lock->engine->courier, &notice->letter))
		lsh_hold_unref(hold);
}

/* A notice that was not delivered yet is taken back by its opposite: both alternate for whoever listens. */
static void
tell_or_take_back(struct lsh_notice *notice, struct lsh_notice *opposite, const char *text)
{
	if (lsh_courier_withdraw(notice->hold->lock->engine->courier, &opposite->letter))
		lsh_hold_unref(notice->hold);
	else
		tell(notice, text);
}

/* ---- life ---- */

struct lsh_hold *
lsh_hold_new(struct lsh_lock *lock, struct leash_owner *owner, const struct lsh_terms *terms)
{
	struct lsh_hold *hold = lsh_new(struct lsh_hold);

	if (hold == NULL)
		return NULL;
	lsh_list_init(&hold->link);
	lsh_lock_retain(lock);
	hold->lock = lock;
	lsh_owner_retain(owner);
	hold->owner = owner;
	hold->terms = *terms;
	lsh_list_init(&hold->awaiting);
	atomic_init(&hold->references, 1);
	notice_init(&hold->jeopardized, hold, LEASH_EVENT_JEOPARDY);
	notice_init(&hold->recovered, hold, LEASH_EVENT_RECOVERED);
	notice_init(&hold->lost, hold, LEASH_EVENT_LOST);
	notice_init(&hold->abandoned, hold, LEASH_EVENT_ABANDONED);
	notice_init(&hold->regressed, hold, LEASH_EVENT_FENCE_REGRESSION);
	return hold;
}

void
lsh_hold_unref(struct lsh_hold *hold)
{
	struct lsh_lock *lock = hold->lock;

	if (atomic_fetch_sub(&hold->references, 1) != 1)
		return;
	lsh_owner_unref(hold->owner);
	lsh_free(hold);
	lsh_lock_unref(lock);
}

struct lsh_hold *
lsh_hold_of(struct lsh_lock *lock, uint64_t owner)
{
	struct lsh_list *at, *after;

	if (lock->hold != NULL && lock->hold->confirmed && lock->hold->owner->id == owner)
		return lock->hold;
	lsh_list_each(at, after, &lock->lost) {
		struct lsh_hold *hold = lsh_container(at, struct lsh_hold, link);

		if (hold->owner->id == owner)
			return hold;
	}
	return NULL;
}

bool
lsh_hold_is_hung(const struct lsh_hold *hold, int64_t now)
{
	return hold->terms.alive_ms > 0 && hold->confirmed && now > lsh_after_ms(atomic_load(&hold->alive_at), hold->terms.alive_ms);
}

const char *
lsh_hold_why_over(const struct lsh_hold *hold, const struct lsh_tenure *t, int64_t now)
{
	if (lsh_hold_is_hung(hold, now))
		return "leash_lock_alive() was not called in time";
	/* renewed to its end, but for the margin */
	if (hold->ends_at != LSH_NEVER && hold->ends_at - t->valid_until <= hold->terms.lease_ms * LSH_MS / 50 + 5 * LSH_MS)
		return "max_hold_ms is over";
	if (hold->terms.no_renew)
		return "its lease ran out, as no_renew asks";
	if (t->ballot != NULL)
		return "no renewal succeeded with a majority of the servers before its lease ran out";
	return "no renewal succeeded before its lease ran out";
}

int64_t
lsh_hold_wants_ms(const struct lsh_hold *hold, const struct lsh_tenure *t, int64_t now)
{
	int64_t lease_ms = hold->terms.lease_ms;

	if (hold->terms.no_renew && t->full_lease)
		return 0;
	if (lsh_hold_is_hung(hold, now))
		return 0;
	if (hold->ends_at != LSH_NEVER && hold->ends_at - now < lease_ms * LSH_MS) {
		lease_ms = (hold->ends_at - now) / LSH_MS;
		if (lsh_pace_valid_until(now, lease_ms * LSH_MS) <= t->valid_until)
			return 0; /* it reaches to the end already */
	}
	return lease_ms > 0 ? lease_ms : 0;
}

void
lsh_hold_schedule(struct lsh_lock *lock, struct lsh_tenure *t, int64_t sent, int64_t lease)
{
	bool renews = lsh_hold_wants_ms(lock->hold, t, sent) > 0 || lsh_hold_is_hung(lock->hold, sent);
	int64_t due = renews ? lsh_pace_next(sent, lease, lsh_random32()) : LSH_NEVER;

	if (due < t->valid_until)
		lsh_tenure_arm(t, due, lsh_pace_slack(lease));
	else
		lsh_tenure_arm(t, t->valid_until, 0);
}

static struct lsh_hold *
take_out(struct lsh_waiter *waiter)
{
	lsh_list_remove(&waiter->link);
	waiter->granted = true;
	return waiter->hold;
}

/* Its valid-until is in the tenure already. It is nobody's yet. */
static void
begin(struct lsh_lock *lock, struct lsh_tenure *t, struct lsh_hold *hold, uint64_t fence)
{
	hold->depth = 1;
	hold->fence = fence;
	hold->tenure = t;
	lock->hold = hold;
}

void
lsh_hold_confirm(struct lsh_lock *lock, int64_t now)
{
	struct lsh_hold *hold = lock->hold;

	hold->confirmed = true;
	lock->counts.acquired++;
	atomic_store(&hold->alive_at, now);
	atomic_fetch_add(&hold->owner->holds, 1);
	atomic_store(&lock->valid_until, hold->tenure->valid_until);
	atomic_store(&lock->holder, hold->owner->id);
	if (hold->fence <= lock->last_fence)
		tell(&hold->regressed, "the fence is not larger than the one before: the server lost data, and its clock is behind");
	lock->last_fence = hold->fence;
	lsh_confirm_tell(hold, LEASH_OK, NULL);
}

const char lsh_hold_no_uptime[] = "it does not say for how long it has been up, which restart_guard_ms needs: permit INFO (+info)";

/* After a restart of the server locks may be held that it has forgotten; also by somebody whom this grant passed by. */
bool
lsh_hold_is_guarded(struct lsh_lock *lock, const struct lsh_terms *terms, int64_t now, bool by_message)
{
	struct lsh_node *node = lsh_lock_node(lock);

	if (terms->restart_guard_ms == 0 || lock->engine->quorum != NULL) /* there each vote is counted, or is not */
		return false;
	/* a message may come from a life of the server that the connection for commands has not met yet */
	return (by_message && !lsh_node_is_subscribed(node)) || lsh_node_uptime(node, now) < terms->restart_guard_ms * LSH_MS;
}

/* Until when `hold` is valid with a lease that was taken by what was sent at `sent`; 0: it must not begin. */
static int64_t
valid_until_of(struct lsh_lock *lock, struct lsh_hold *hold, int64_t sent, int64_t lease, bool is_claim, int64_t now)
{
	int64_t valid_until = lsh_pace_valid_until(LSH_MUTATES(LSH_REPLIES_COUNT) && !is_claim ? now : sent, lease);

	hold->ends_at = hold->terms.max_hold_ms > 0 ? lsh_after_ms(sent, hold->terms.max_hold_ms) : LSH_NEVER;
	if (valid_until > hold->ends_at)
		valid_until = hold->ends_at; /* the token was asked for by another waiter, on longer terms */
	if (valid_until <= now || atomic_load(&lock->engine->closing) || lsh_hold_is_guarded(lock, &hold->terms, now, is_claim))
		return 0;
	return valid_until;
}

/* The server gave this client the lock. */
static void
begin_turn(struct lsh_lock *lock, struct lsh_tenure *t, struct lsh_hold *hold, int64_t fence, int64_t sent, int64_t lease, bool is_claim,
           int64_t now)
{
	if (lock->hold != NULL)
		lsh_hold_lose(lock, "the server gave the lock to another owner");
	t->line = NULL;
	t->phase = LSH_HELD;
	t->span = lease;
	t->full_lease = !is_claim && lease >= hold->terms.lease_ms * LSH_MS; /* part of a claim is over when it comes */
	t->failures = 0;
	t->turn_began = now;
	begin(lock, t, hold, (uint64_t)fence * 256); /* leaves room for what is handed on within the process */
	if (lsh_terms_confirm(&hold->terms)) {
		lsh_confirm_begin(lock, now);
		return;
	}
	lsh_hold_confirm(lock, now);
	lsh_hold_schedule(lock, t, sent, lease);
}

bool
lsh_hold_grant(struct lsh_lock *lock, struct lsh_tenure *t, int64_t fence, int64_t sent, int64_t lease, bool is_claim)
{
	struct lsh_waiter *waiter = lsh_line_first(t->line);
	int64_t now = lsh_now_ns(), valid_until = valid_until_of(lock, waiter->hold, sent, lease, is_claim, now);

	if (valid_until == 0)
		return false;
	t->line->tenure = NULL;
	t->valid_until = valid_until;
	lock->counts.waited += t->waited;
	begin_turn(lock, t, take_out(waiter), fence, sent, lease, is_claim, now);
	lsh_waiter_wake(waiter);
	return true;
}

bool
lsh_hold_adopt(struct lsh_lock *lock, struct lsh_hold *hold, struct lsh_tenure *t, int64_t fence, int64_t sent, int64_t lease)
{
	int64_t now = lsh_now_ns(), valid_until = valid_until_of(lock, hold, sent, lease, false, now);

	if (valid_until == 0)
		return false;
	t->valid_until = valid_until;
	begin_turn(lock, t, hold, fence, sent, lease, false, now);
	return true;
}

/* The first of the line that has not run out of time or patience: who has is leaving. */
static struct lsh_waiter *
next_in_line(struct lsh_line *line, int64_t now)
{
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &line->waiters) {
		struct lsh_waiter *waiter = lsh_container(at, struct lsh_waiter, link);

		if (waiter->deadline > now && !lsh_waiter_is_over(waiter))
			return waiter;
	}
	return NULL;
}

/* Do these terms leave the lease as it is when the hold passes from one to the other, and is what was acknowledged, by servers that had been
 * up for so long, enough for both? */
static bool
may_follow(const struct lsh_terms *a, const struct lsh_terms *b)
{
	return a->lease_ms == b->lease_ms && !a->no_renew && !b->no_renew && a->max_hold_ms == 0 && b->max_hold_ms == 0 &&
	       b->min_replicas <= a->min_replicas && b->fsynced <= a->fsynced && b->restart_guard_ms <= a->restart_guard_ms;
}

struct lsh_thread *
lsh_hold_hand_on(struct lsh_lock *lock)
{
	struct lsh_hold *hold = lock->hold;
	struct lsh_tenure *t = hold->tenure;
	struct lsh_waiter *next;
	struct lsh_thread *thread;
	int64_t now;

	if (lsh_list_empty(&lock->plain.waiters) || t->handed_on >= hold->terms.handoffs || t->adopted)
		return NULL;
	now = lsh_now_ns();
	/* a renewal comes at a third of the lease: what has less than half of it left is overdue */
	if (now - t->turn_began >= hold->terms.handoff_ms * LSH_MS || hold->jeopardy || t->valid_until - now < t->span / 2)
		return NULL;
	if (t->valid_until > lsh_pace_valid_until(now, hold->terms.lease_ms * LSH_MS))
		return NULL; /* extended: if the next one died, it would be free only at the end of that */
	next = next_in_line(&lock->plain, now);
	if (next == NULL || !may_follow(&hold->terms, &next->hold->terms))
		return NULL;
	lsh_hold_finish(lock);
	t->handed_on++;
	next->hold->ends_at = LSH_NEVER;
	lock->counts.handed_on++;
	begin(lock, t, take_out(next), hold->fence + (LSH_MUTATES(LSH_FENCES_STAND_STILL) ? 0 : 1));
	lsh_hold_confirm(lock, now);
	thread = next->thread;
	atomic_store(&next->signaled, true); /* from here on it may be gone */
	return thread;
}

void
lsh_hold_renewed(struct lsh_lock *lock, struct lsh_tenure *t, int64_t sent, int64_t lease)
{
	int64_t valid_until = lsh_pace_valid_until(sent, lease);

	if (valid_until > lock->hold->ends_at)
		valid_until = lock->hold->ends_at; /* it was asked for before this hold, or sent later than it was made */
	if (valid_until <= t->valid_until)
		return;
	t->valid_until = valid_until;
	t->span = lease;
	atomic_store(&lock->valid_until, valid_until);
}

void
lsh_hold_heed_renewal(const struct lsh_lock *lock, const struct lsh_node *node, int64_t answer)
{
	char line[400];

	if (answer != LSH_HAD_NO_TTL)
		return;
	snprintf(line, sizeof line, "lock '%.160s': %.80s: its key had no TTL, as after PERSIST; the renewal gave it one again", lock->shown,
	         lsh_node_shown(node));
	lsh_courier_log(lock->engine->courier, LEASH_LOG_WARNING, line);
}

void
lsh_hold_endanger_short(struct lsh_lock *lock, unsigned acknowledged, unsigned wanted, const char *why)
{
	struct lsh_hold *hold = lock->hold;

	if (hold->jeopardy)
		return;
	hold->jeopardy = true;
	hold->jeopardized.acknowledged = acknowledged;
	hold->jeopardized.wanted = wanted;
	tell_or_take_back(&hold->jeopardized, &hold->recovered, why);
}

void
lsh_hold_endanger(struct lsh_lock *lock, const char *why)
{
	lsh_hold_endanger_short(lock, 0, 0, why);
}

void
lsh_hold_recover(struct lsh_lock *lock)
{
	struct lsh_hold *hold = lock->hold;

	if (!hold->jeopardy)
		return;
	hold->jeopardy = false;
	tell_or_take_back(&hold->recovered, &hold->jeopardized, "renewed again");
}

struct lsh_tenure *
lsh_hold_finish(struct lsh_lock *lock)
{
	struct lsh_tenure *t;

	/* whoever reads holder twice around valid_until never takes a later hold's validity for its own */
	atomic_store(&lock->valid_until, 0);
	atomic_store(&lock->holder, 0);
	t = lock->hold->tenure;
	lock->hold->tenure = NULL;
	lsh_confirm_tell(lock->hold, LEASH_LOST, NULL);
	lock->hold = NULL;
	return t;
}

void
lsh_hold_lose(struct lsh_lock *lock, const char *why)
{
	struct lsh_hold *hold = lock->hold;
	struct lsh_tenure *t;

	if (!hold->confirmed)
		lsh_confirm_tell(hold, LEASH_LOST, why);
	t = lsh_hold_finish(lock);
	if (hold->confirmed) {
		lock->counts.lost++;
		lsh_list_append(&lock->lost, &hold->link);
		tell(&hold->lost, why);
	}
	lsh_tenure_end(t);
	lsh_lock_wake(lock);
}

void
lsh_hold_unwind(struct lsh_lock *lock, struct lsh_hold *hold)
{
	(void)lock;
	lsh_list_remove(&hold->link);
	atomic_fetch_sub(&hold->owner->holds, 1);
	lsh_hold_unref(hold);
}

void
lsh_hold_abandon(struct lsh_lock *lock, struct lsh_hold *hold, const char *why)
{
	if (hold == lock->hold && !hold->confirmed) {
		lsh_hold_lose(lock, why);
		return; /* it is its waiter's */
	}
	if (hold == lock->hold) {
		lock->counts.abandoned++;
		tell(&hold->abandoned, why);
		lsh_tenure_end(lsh_hold_finish(lock));
		lsh_lock_wake(lock);
	}
	lsh_hold_unwind(lock, hold);
}

struct lsh_hold *
lsh_hold_check(struct lsh_lock *lock, uint64_t owner)
{
	struct lsh_hold *hold = lsh_hold_of(lock, owner);

	if (hold != NULL && hold == lock->hold && lsh_now_ns() >= hold->tenure->valid_until)
		lsh_hold_lose(lock, "its lease ran out");
	return hold;
}

/* ---- what became of it ---- */

bool
lsh_hold_is_still(const struct lsh_lock *lock, const struct lsh_hold *hold, const struct lsh_tenure *t)
{
	return lock->hold == hold && lock->hold->tenure == t;
}

leash_status
lsh_hold_gone(struct lsh_lock *lock, uint64_t owner, leash_error *err)
{
	const struct lsh_hold *hold = lsh_hold_of(lock, owner);

	if (hold != NULL && hold != lock->hold)
		return lsh_fail(err, LEASH_LOST, 0, "lock '%s': it was lost while it was held", lock->shown);
	if (atomic_load(&lock->engine->closing))
		return lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", lock->shown);
	return lsh_fail(err, LEASH_NOT_HELD, 0, "lock '%s': another thread released it meanwhile", lock->shown);
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

static struct lsh_hold *
find(struct lsh_lock *lock, const struct leash_owner *owner)
{
	return owner != NULL ? lsh_hold_of(lock, owner->id) : NULL;
}

unsigned
lsh_depth(struct lsh_lock *lock, const struct leash_owner *owner)
{
	const struct lsh_hold *hold;
	unsigned depth;

	pthread_mutex_lock(&lock->mutex);
	hold = find(lock, owner);
	depth = hold != NULL ? hold->depth : 0;
	pthread_mutex_unlock(&lock->mutex);
	return depth;
}

uint64_t
lsh_fence(struct lsh_lock *lock, const struct leash_owner *owner)
{
	const struct lsh_hold *hold;
	uint64_t fence = 0;

	pthread_mutex_lock(&lock->mutex);
	hold = find(lock, owner);
	if (hold != NULL && hold == lock->hold && lsh_held(lock, owner))
		fence = hold->fence;
	pthread_mutex_unlock(&lock->mutex);
	return fence;
}

size_t
lsh_token(struct lsh_lock *lock, const struct leash_owner *owner, char *out, size_t size)
{
	const struct lsh_hold *hold;
	size_t n = 0;

	pthread_mutex_lock(&lock->mutex);
	hold = find(lock, owner);
	if (hold != NULL && hold == lock->hold && lsh_held(lock, owner)) {
		n = hold->tenure->token_size;
		if (size > 0) {
			size_t copied = n < size ? n : size - 1;

			memcpy(out, hold->tenure->token, copied);
			out[copied] = '\0';
		}
	} else if (size > 0) {
		out[0] = '\0';
	}
	pthread_mutex_unlock(&lock->mutex);
	return n;
}

void
lsh_alive(struct lsh_lock *lock, const struct leash_owner *owner)
{
	struct lsh_hold *hold;

	pthread_mutex_lock(&lock->mutex);
	hold = find(lock, owner);
	if (hold != NULL && hold == lock->hold) {
		int64_t now = lsh_now_ns();
		bool was_hung = lsh_hold_is_hung(hold, now);

		atomic_store(&hold->alive_at, now);
		if (was_hung)
			lsh_tenure_arm(hold->tenure, lsh_after(now, 0), 0); /* renewals go on, and at once: there may be little left */
	}
	pthread_mutex_unlock(&lock->mutex);
}
