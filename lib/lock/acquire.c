/* Acquiring: nest, or join a line; and who is first in it speaks for the line to Redis.
 *
 * The first one's thread drives the tenure: it asks until there is an answer, and once the answer is "queued" it waits for the
 * grant as the others do. In a plain line all but the first wait for it, and the first too while a thread of this process
 * holds the lock. What a waiter does next follows from what it sees under the mutex, in this order:
 *
 *   an ask of its own is on its way       hear the answer
 *   granted                               done, also if it is canceled or late at this very moment; but for the replicas, if its
 *                                         terms say so (confirm.h)
 *   closed, canceled, denied, late        leave
 *   not first, or the line rests          sleep
 *   its tenure is QUEUED                  sleep, and read the wake-up channel if nobody does
 *   else                                  ask, with a new token where the last one is dead */
#include "lock/ask.h"

#include "base/error.h"
#include "lock/channel.h"
#include "lock/confirm.h"
#include "lock/quorum.h"
#include "redis/listener.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- waiting ---- */

static bool
is_signaled(void *arg)
{
	return lsh_waiter_is_signaled(arg);
}

/* Wait for a signal. Only who waits in Redis reads the wake-up channel, if nobody else does. lock->mutex held; released meanwhile. */
static void
wait_for_signal(struct lsh_lock *lock, struct lsh_waiter *w, bool queued)
{
	struct lsh_site *site = lsh_lock_site(lock);

	if (queued)
		lsh_site_use(site);
	pthread_mutex_unlock(&lock->mutex);
	if (queued) {
		lsh_listener_wait(lsh_node_listener(site->node), &w->thread->parker, w->deadline, is_signaled, w);
		lsh_site_leave(site);
	} else {
		while (!lsh_waiter_is_signaled(w) && lsh_now_ns() < w->deadline)
			lsh_park(&w->thread->parker, w->deadline);
	}
	pthread_mutex_lock(&lock->mutex);
}

static void
join(struct lsh_lock *lock, struct lsh_waiter *w)
{
	w->line = lock->fair ? &w->own : &lock->plain;
	if (lock->fair) {
		lsh_list_init(&w->own.link);
		lsh_list_init(&w->own.waiters);
		lsh_list_append(&lock->lines, &w->own.link);
	}
	lsh_list_append(&w->line->waiters, &w->link);
}

/* Not (or no more) in the line: the next one goes on, and with the last one the token is canceled. */
static void
leave(struct lsh_lock *lock, struct lsh_waiter *w)
{
	bool was_first = lsh_line_first(w->line) == w;

	lsh_list_remove(&w->link);
	if (lsh_list_empty(&w->line->waiters) && w->line->tenure != NULL)
		lsh_tenure_end(w->line->tenure);
	else if (was_first)
		lsh_line_wake(w->line);
	if (lock->fair)
		lsh_list_remove(&w->own.link);
}

/* ---- driving ---- */

/* The next step of the first in a line. */
static enum lsh_asked
drive(struct lsh_lock *lock, struct lsh_waiter *w)
{
	if (lock->engine->quorum != NULL)
		return lsh_round_drive(lock, w);
	if (!lsh_ask_prepare(lock, w)) {
		lsh_waiter_blame(w, LEASH_NO_MEMORY, ENOMEM, "out of memory");
		return LSH_ASK_FAILED;
	}
	if (w->line->tenure->phase == LSH_QUEUED) {
		lsh_channel_want(lock);
		wait_for_signal(lock, w, true);
		return LSH_LOOK_AGAIN;
	}
	return lsh_ask(lock, w);
}

/* Not acquired: does somebody else have it, or can the server not be asked? `w` is in the line, or would have joined it. */
static void
blame(struct lsh_lock *lock, struct lsh_waiter *w, const struct lsh_line *line)
{
	const struct lsh_waiter *first = lsh_line_first(line);
	bool queued = line->tenure != NULL && line->tenure->phase == LSH_QUEUED;

	if (lock->engine->quorum != NULL)
		lsh_round_blame(lock, w, line);
	else if (lock->hold == NULL && !lsh_node_is_up(lsh_lock_node(lock)))
		lsh_waiter_blame_node(lock, w);
	else if (lock->hold != NULL || queued || w->refused || first == NULL || (first != w && !first->answered))
		w->trouble = LEASH_TIMEOUT;
	else if (first != w)
		lsh_waiter_blame(w, first->trouble, first->trouble_errno, first->trouble_text); /* that one spoke for both */
	else
		lsh_waiter_blame_node(lock, w);
}

/* Wait for the lock. lock->mutex held; released meanwhile. */
static leash_status
wait_for_lock(struct lsh_lock *lock, struct lsh_waiter *w)
{
	struct lsh_engine *e = lock->engine;

	join(lock, w);
	for (;;) {
		bool drives = lsh_line_first(w->line) == w && (lock->fair || lock->hold == NULL);

		if (w->asking != NULL) { /* its ticket is in the pipe: whatever happened meanwhile, this comes first */
			if (lsh_ask_hear(lock, w) == LSH_ASK_FAILED)
				break;
			continue;
		}
		if (w->granted)
			break;
		atomic_store(&w->signaled, false);
		if (atomic_load(&e->closing)) {
			w->trouble = LEASH_CLOSED;
			break;
		}
		if (lsh_cancel_is_fired(w->cancel)) {
			w->trouble = LEASH_CANCELED;
			break;
		}
		if (w->denied)
			break;
		if (lsh_now_ns() >= w->deadline) {
			blame(lock, w, w->line);
			break;
		}
		if (!drives) {
			w->refused |= lock->hold != NULL;
			wait_for_signal(lock, w, false);
		} else if (drive(lock, w) == LSH_ASK_FAILED) {
			break;
		}
	}
	leave(lock, w);
	return w->granted ? LEASH_OK : w->trouble;
}

/* The server gave it the lock: that counts once enough replicas know. lock->mutex held; released meanwhile. */
static leash_status
wait_for_replicas(struct lsh_lock *lock, struct lsh_waiter *w, struct lsh_confirmation *confirmation)
{
	bool over;
	leash_status status = lsh_confirm_await(lock, confirmation, w->cancel, &over);

	if (status == LEASH_OK)
		return LEASH_OK;
	if (!over) {
		lsh_tenure_end(lsh_hold_finish(lock));
		lsh_lock_wake(lock);
	}
	w->trouble = status;
	w->trouble_errno = confirmation->sys_errno;
	snprintf(w->trouble_text, sizeof w->trouble_text, "%.180s%s", confirmation->text, over ? "" : ": released again");
	return status;
}

/* ---- */

static leash_status
nest(struct lsh_lock *lock, struct lsh_hold *hold, leash_error *err)
{
	if (hold != lock->hold)
		return lsh_fail(err, LEASH_LOST, 0, "lock '%s': an earlier hold of this owner was lost: release it before it is acquired again", lock->shown);
	if (hold->depth == LEASH_DEPTH_MAX)
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': nested deeper than %d", lock->shown, LEASH_DEPTH_MAX);
	hold->depth++;
	return LEASH_OK;
}

static leash_status
explain(struct lsh_lock *lock, const struct lsh_waiter *w, int64_t wait_ms, leash_error *err)
{
	lock->counts.gave_up++;
	switch (w->trouble) {
	case LEASH_TIMEOUT:
		if (w->tries)
			return lsh_fail(err, LEASH_TIMEOUT, 0, "lock '%s': another owner has it", lock->shown);
		return lsh_fail(err, LEASH_TIMEOUT, 0, "lock '%s': other owners had it for all of %lld ms", lock->shown, (long long)wait_ms);
	case LEASH_CANCELED:
		return lsh_fail(err, LEASH_CANCELED, 0, "lock '%s': the wait was canceled", lock->shown);
	case LEASH_CLOSED:
		return lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", lock->shown);
	default:
		return lsh_fail(err, w->trouble, w->trouble_errno, "lock '%s': %s", lock->shown, w->trouble_text);
	}
}

/* Does anybody in this process have the lock, or wait for it? */
static bool
is_wanted(const struct lsh_lock *lock)
{
	return lock->hold != NULL || !lsh_list_empty(&lock->plain.waiters) || lock->lines.next != &lock->plain.link ||
	       lock->lines.prev != &lock->plain.link;
}

leash_status
lsh_acquire(struct lsh_lock *lock, struct leash_owner *owner, const struct lsh_terms *terms, int64_t wait_ms, struct leash_cancel *cancel,
            leash_error *err)
{
	struct lsh_engine *e = lock->engine;
	int64_t called = lsh_now_ns(); /* before the mutex, for which many may be waiting */
	struct lsh_thread *self = lsh_self();
	struct lsh_waiter w = {.lock = lock, .thread = self, .cancel = cancel, .tries = wait_ms == 0};
	struct lsh_confirmation confirmation = {.done = false};
	lsh_seat *seat = NULL;
	char short_of[LSH_ERRNO_TEXT];
	struct lsh_hold *hold;
	leash_status status;

	if (self == NULL || (cancel != NULL && (seat = lsh_cancel_sit(cancel, &self->parker)) == NULL))
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	pthread_mutex_lock(&lock->mutex);
	hold = lsh_hold_check(lock, owner->id);
	if (hold != NULL) {
		status = nest(lock, hold, err);
		lock->counts.gave_up += status == LEASH_LOST;
	} else if (lsh_cancel_is_fired(cancel)) {
		w.trouble = LEASH_CANCELED; /* also where there would be nothing to wait for */
		status = explain(lock, &w, wait_ms, err);
	} else if (w.tries && is_wanted(lock)) {
		blame(lock, &w, &lock->plain);
		status = explain(lock, &w, wait_ms, err);
	} else if (lsh_terms_confirm(terms) && !lsh_confirm_prepare(lock, terms) && !atomic_load(&e->closing)) {
		lock->counts.gave_up++;
		status = lsh_fail(err, LEASH_NO_MEMORY, errno, "lock '%s': a connection for its replicas: %s", lock->shown, lsh_shortage_text(errno, short_of));
	} else if ((w.hold = lsh_hold_new(lock, owner, terms)) == NULL) {
		lock->counts.gave_up++;
		status = lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	} else {
		w.deadline = wait_ms == LEASH_FOREVER ? LSH_NEVER : lsh_after_ms(called, w.tries ? e->options.timeout / LSH_MS : wait_ms);
		if (lsh_terms_confirm(terms))
			lsh_confirm_expect(&confirmation, w.hold, self);
		lsh_engine_go_in(e);
		status = wait_for_lock(lock, &w);
		if (status == LEASH_OK && lsh_terms_confirm(terms))
			status = wait_for_replicas(lock, &w, &confirmation);
		lsh_engine_go_out(e);
		if (status != LEASH_OK) {
			lsh_hold_unref(w.hold);
			explain(lock, &w, wait_ms, err);
		}
	}
	lsh_site_leave(w.asks);
	pthread_mutex_unlock(&lock->mutex);
	lsh_cancel_rise(seat);
	return status;
}
