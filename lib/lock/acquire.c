/* Acquiring: nest, or queue up within the process; and who is first there speaks for all of them to Redis.
 *
 * The first waiter's thread drives the tenure: it asks until there is an answer, and once the answer is "queued" it waits
 * for the grant as the others do. If it gives up, the next waiter goes on with the same token, where that stands; with the
 * last waiter the token is canceled. */
#include "lock/state.h"

#include "base/error.h"
#include "lock/step.h"
#include "redis/fault.h"
#include "redis/listener.h"
#include "redis/script.h"
#include "watchdog/pace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- waiting ---- */

static bool
is_signaled(void *arg)
{
	struct lsh_waiter *w = arg;

	return atomic_load(&w->signaled);
}

/* Wait for a signal, reading the wake-up channel if nobody else does. lock->mutex held; released meanwhile. */
static void
wait_for_signal(struct lsh_lock *lock, struct lsh_waiter *w)
{
	pthread_mutex_unlock(&lock->mutex);
	lsh_listener_wait(lsh_node_listener(lock->engine->node), &w->thread->parker, w->deadline, is_signaled, w);
	pthread_mutex_lock(&lock->mutex);
}

/* Sleep until `at`, a signal or the deadline. lock->mutex held; released meanwhile. */
static void
sleep_until(struct lsh_lock *lock, struct lsh_waiter *w, int64_t at)
{
	pthread_mutex_unlock(&lock->mutex);
	lsh_park(&w->thread->parker, at < w->deadline ? at : w->deadline);
	pthread_mutex_lock(&lock->mutex);
}

/* Not (or no more) among the waiters: the next one goes on, and with the last one the token is canceled. */
static void
leave(struct lsh_lock *lock, struct lsh_waiter *w)
{
	lsh_list_remove(&w->link);
	if (lsh_waiter_first(lock) != NULL)
		lsh_lock_wake_first(lock);
	else if (lock->tenure != NULL && lock->tenure->phase != LSH_HELD)
		lsh_tenure_end(lock->tenure);
}

/* ---- asking ---- */

/* What became of a step of the first waiter. */
enum step {
	GO_ON, /* look again */
	FAIL,  /* with w->trouble */
};

static void
note_trouble(struct lsh_waiter *w, leash_status status, int sys_errno, const char *text)
{
	w->refused = false;
	w->answered = true;
	w->trouble = status;
	w->trouble_errno = sys_errno;
	snprintf(w->trouble_text, sizeof w->trouble_text, "%s", text);
}

static enum step
give_up_the_token(struct lsh_tenure *t)
{
	lsh_tenure_end(t);
	return GO_ON;
}

/* The server said that it will not, or not now. */
static enum step
refused(struct lsh_lock *lock, struct lsh_waiter *w, struct lsh_tenure *t, const char *words)
{
	struct lsh_engine *e = lock->engine;
	enum lsh_fault fault = lsh_fault_of(words);
	char text[sizeof w->trouble_text], command[24];

	if (fault == LSH_FAULT_NOSCRIPT && !t->send_whole) {
		t->send_whole = true;
		return GO_ON;
	}
	if (fault == LSH_FAULT_DENIED && lsh_script_blame(&lsh_script_acquire, words, command, sizeof command))
		snprintf(text, sizeof text, "%.60s: %s is not permitted: %.90s", lsh_node_shown(e->node), command, words);
	else
		snprintf(text, sizeof text, "%.60s: %.130s", lsh_node_shown(e->node), words);
	note_trouble(w, lsh_fault_status(fault), 0, text);
	switch (fault) {
	case LSH_FAULT_NOT_HERE:
		lsh_node_leave(e->node, words);
		/* fall through */
	case LSH_FAULT_NOT_NOW:
		if (w->tries)
			return FAIL;
		sleep_until(lock, w, lsh_now_ns() + (50 + lsh_random32() % 200) * LSH_MS);
		return GO_ON;
	case LSH_FAULT_DENIED:
		/* perhaps in the middle of the script */
		give_up_the_token(t);
		return FAIL;
	default:
		return FAIL;
	}
}

/* The answer is not one that the script gives. */
static enum step
nonsense(struct lsh_lock *lock, struct lsh_waiter *w, struct lsh_tenure *t)
{
	char text[sizeof w->trouble_text];

	snprintf(text, sizeof text, "%s: the answer is not what a Redis server says to a script", lsh_node_shown(lock->engine->node));
	note_trouble(w, LEASH_PROTOCOL, 0, text);
	lsh_node_leave(lock->engine->node, text);
	give_up_the_token(t);
	return FAIL;
}

/* What came is no reply at all. Perhaps it was the line, and the next connection does better. */
static enum step
garbled(struct lsh_lock *lock, struct lsh_waiter *w)
{
	char text[sizeof w->trouble_text];

	snprintf(text, sizeof text, "%.100s: what it sends is not what a Redis server says", lsh_node_shown(lock->engine->node));
	note_trouble(w, LEASH_PROTOCOL, 0, text);
	lsh_node_leave(lock->engine->node, text);
	return w->tries ? FAIL : GO_ON;
}

/* Not held: {0, ttl, now} or {-1, 0, now}. */
static enum step
not_held(struct lsh_lock *lock, struct lsh_waiter *w, struct lsh_tenure *t, const struct lsh_reply *reply, bool placed, int64_t sent,
         int64_t received)
{
	struct lsh_engine *e = lock->engine;
	int64_t ttl_ms = reply->integer[1], again = received + (ttl_ms >= 0 && ttl_ms < 1000 ? ttl_ms + 1 : 1000) * LSH_MS;

	lsh_node_learn_clock(e->node, reply->integer[2], sent, received);
	w->refused = reply->integer[0] == 0;
	if (reply->integer[0] < 0) /* too late, by our idea of its clock: that is better now */
		return GO_ON;
	if (placed) {
		t->phase = LSH_QUEUED;
		lsh_tenure_arm(t, lsh_pace_word(sent, received, t->claim_ms * LSH_MS, ttl_ms), 0);
		return GO_ON;
	}
	if (w->tries && ttl_ms != 0) { /* 0: nobody has it just now, ask again */
		w->trouble = LEASH_TIMEOUT;
		return FAIL;
	}
	/* It took no place, because no message could have come. Ask for one as soon as that is mended, or when the lease ends. */
	pthread_mutex_unlock(&lock->mutex);
	lsh_node_await(e->node, &w->thread->parker, true, again < w->deadline ? again : w->deadline);
	pthread_mutex_lock(&lock->mutex);
	return GO_ON;
}

static enum step
answered(struct lsh_lock *lock, struct lsh_waiter *w, struct lsh_tenure *t, const struct lsh_reply *reply, bool placed, int64_t sent)
{
	struct lsh_node *node = lock->engine->node;
	int64_t received = lsh_now_ns();

	if (reply->type == LSH_ERROR)
		return refused(lock, w, t, reply->text);
	t->send_whole = false;
	if (reply->type == LSH_INTEGER && reply->integer[0] > 0 && reply->integer[0] <= LSH_FENCE_MAX) {
		/* a fence is never behind the server's clock: if it is behind what we believe of that, the clock went back */
		if (reply->integer[0] < lsh_node_server_us_at_least(node, sent) - 1000000)
			lsh_node_learn_clock(node, reply->integer[0], sent, received);
		if (!lsh_hold_grant(lock, t, reply->integer[0], sent, t->lease_ms * LSH_MS, false))
			return give_up_the_token(t);
		return GO_ON;
	}
	if (reply->type == LSH_ARRAY && reply->count == 3 && reply->integers == 7 && reply->integer[0] <= 0)
		return not_held(lock, w, t, reply, placed, sent, received);
	return nonsense(lock, w, t);
}

/* Does the answer say that the server knows no more of the token than before? */
static bool
was_not_done(const struct lsh_reply *reply, bool placed)
{
	enum lsh_fault fault;

	if (reply->type == LSH_ARRAY && reply->integers == 7)
		return reply->integer[0] < 0 || (reply->integer[0] == 0 && !placed);
	if (reply->type != LSH_ERROR || strncmp(reply->text, "ERR", 3) == 0)
		return false;
	fault = lsh_fault_of(reply->text);
	return fault == LSH_FAULT_NOSCRIPT || fault == LSH_FAULT_NOT_NOW || fault == LSH_FAULT_NOT_HERE || fault == LSH_FAULT_REFUSED ||
	       fault == LSH_FAULT_DENIED;
}

/* Wait out the time after a restart during which locks may be held that the server has forgotten. */
static bool
is_guarded(struct lsh_lock *lock, struct lsh_waiter *w, int64_t now, enum step *step)
{
	struct lsh_node *node = lock->engine->node;
	int64_t guard = w->hold->terms.restart_guard_ms * LSH_MS, uptime;
	char text[sizeof w->trouble_text];

	if (guard == 0 || (uptime = lsh_node_uptime(node, now)) >= guard)
		return false;
	snprintf(text, sizeof text, "%s: it was restarted, perhaps without its data: nothing is granted for another %lld ms (restart_guard_ms)",
	         lsh_node_shown(node), (long long)((guard - uptime) / LSH_MS + 1));
	note_trouble(w, LEASH_UNAVAILABLE, 0, text);
	if (w->tries) {
		*step = FAIL;
		return true;
	}
	sleep_until(lock, w, now + guard - uptime);
	*step = GO_ON;
	return true;
}

static void
note_down(struct lsh_engine *e, struct lsh_waiter *w)
{
	char text[sizeof w->trouble_text];
	int sys_errno = 0;
	leash_status status = lsh_node_trouble(e->node, text, sizeof text, &sys_errno);

	/* what a server said before it was left tells more than that the connection is gone */
	if (w->answered && (lsh_node_is_up(e->node) || strstr(text, "the connection was lost") != NULL))
		return;
	note_trouble(w, status, sys_errno, text);
	w->answered = false;
}

/* Send one ask and see what becomes of it. lock->mutex held; released while the answer is awaited. */
static enum step
ask(struct lsh_lock *lock, struct lsh_waiter *w, struct lsh_tenure *t)
{
	struct lsh_engine *e = lock->engine;
	struct lsh_pipe *pipe = lsh_node_pipe(e->node);
	int64_t timeout = e->options.timeout, now, limit, not_after_us;
	struct lsh_ticket ticket = {.done = lsh_ticket_wake, .parker = &w->thread->parker};
	struct lsh_step command;
	enum lsh_outcome outcome;
	enum step step;
	bool placed, asked_before;

	/* The epoch first: what follows belongs to this connection, or the command is refused. */
	ticket.epoch = lsh_pipe_epoch(pipe);
	now = lsh_now_ns();
	if (lsh_node_is_up(e->node) && is_guarded(lock, w, now, &step))
		return step;
	placed = !w->tries && lsh_node_is_subscribed(e->node);
	limit = now + timeout < w->deadline ? now + timeout : w->deadline;
	not_after_us = lsh_node_server_us(e->node, now) + (limit - now) / LSH_US;

	lsh_step_ask(&command, t, not_after_us, placed);
	switch (lsh_pipe_append(pipe, &ticket, command.call.args, command.call.count, now, timeout)) {
	case LSH_APPENDED:
		break;
	case LSH_PIPE_DOWN:
		note_down(e, w);
		if (w->trouble == LEASH_DENIED && w->denied_before)
			return FAIL; /* a wrong password does not get right by waiting */
		w->denied_before = w->trouble == LEASH_DENIED; /* but that may be old news: see what the next attempt brings */
		pthread_mutex_unlock(&lock->mutex);
		lsh_node_await(e->node, &w->thread->parker, false, w->deadline);
		pthread_mutex_lock(&lock->mutex);
		return GO_ON;
	case LSH_PIPE_FULL:
		pthread_mutex_unlock(&lock->mutex);
		lsh_pipe_await_room(pipe, w->deadline);
		pthread_mutex_lock(&lock->mutex);
		return GO_ON;
	}
	/* an ask that was not answered on an earlier connection may still come; on this one it comes before this one */
	if (t->phase == LSH_ASKING && t->asked && t->ask_epoch != ticket.epoch && t->not_after_us > t->ghost_until_us)
		t->ghost_until_us = t->not_after_us;
	asked_before = t->asked;
	t->phase = LSH_ASKING;
	if (!t->asked)
		t->counted_from = now;
	t->asked = true;
	t->ask_epoch = ticket.epoch;
	t->not_after_us = not_after_us > t->not_after_us ? not_after_us : t->not_after_us;
	lsh_tenure_retain(&t->timer);
	pthread_mutex_unlock(&lock->mutex);

	outcome = lsh_pipe_await(pipe, &ticket, w->deadline);

	pthread_mutex_lock(&lock->mutex);
	step = GO_ON;
	if (outcome == LSH_ANSWERED)
		t->not_after_us = 0; /* nothing of it, nor of one before it on this connection, is still to come */
	if (t->phase == LSH_ASKING) { /* else it was granted by a message, or ended by close, meanwhile */
		if (outcome == LSH_ANSWERED && was_not_done(&ticket.reply, placed))
			t->asked = asked_before; /* and without an earlier one there is nothing to cancel */
		if (outcome == LSH_ANSWERED)
			step = answered(lock, w, t, &ticket.reply, placed, now);
		else if (outcome == LSH_GARBLED)
			step = garbled(lock, w);
		else
			note_down(e, w);
	}
	lsh_tenure_unref(t);
	return step;
}

/* ---- driving ---- */

/* The first waiter's next step. */
static enum step
drive(struct lsh_lock *lock, struct lsh_waiter *w)
{
	if (lock->tenure == NULL) {
		lock->tenure = lsh_tenure_new(lock, &w->hold->terms);
		if (lock->tenure == NULL) {
			note_trouble(w, LEASH_NO_MEMORY, ENOMEM, "out of memory");
			return FAIL;
		}
	}
	if (lock->tenure->phase == LSH_QUEUED) {
		wait_for_signal(lock, w);
		return GO_ON;
	}
	return ask(lock, w, lock->tenure);
}

/* At the deadline: did somebody else have it, or could the server not be asked? */
static void
time_is_up(struct lsh_lock *lock, struct lsh_waiter *w)
{
	struct lsh_engine *e = lock->engine;
	bool first = lsh_waiter_first(lock) == w;
	bool busy = lock->hold != NULL || !first || w->refused || (lock->tenure != NULL && lock->tenure->phase == LSH_QUEUED);

	if (lsh_node_is_up(e->node) && busy)
		w->trouble = LEASH_TIMEOUT;
	else
		note_down(e, w);
}

/* Wait for the lock. lock->mutex held; released meanwhile. */
static leash_status
wait_for_lock(struct lsh_lock *lock, struct lsh_waiter *w)
{
	struct lsh_engine *e = lock->engine;

	lsh_list_append(&lock->waiters, &w->link);
	for (;;) {
		bool drives = lsh_waiter_first(lock) == w && lock->hold == NULL;

		if (w->granted)
			return LEASH_OK;
		atomic_store(&w->signaled, false);
		if (atomic_load(&e->closing)) {
			w->trouble = LEASH_CLOSED;
			break;
		}
		if (lsh_now_ns() >= w->deadline) {
			time_is_up(lock, w);
			break;
		}
		if (!drives)
			wait_for_signal(lock, w);
		else if (drive(lock, w) == FAIL)
			break;
	}
	leave(lock, w);
	return w->trouble;
}

/* ---- */

static leash_status
nest(struct lsh_lock *lock, struct lsh_hold *hold, leash_error *err)
{
	if (hold != lock->hold)
		return lsh_fail(err, LEASH_LOST, 0, "lock '%s': the hold of this thread was lost: release it before it is acquired again", lock->shown);
	if (hold->depth == LEASH_DEPTH_MAX)
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': nested deeper than %d", lock->shown, LEASH_DEPTH_MAX);
	hold->depth++;
	return LEASH_OK;
}

static leash_status
explain(const struct lsh_lock *lock, const struct lsh_waiter *w, int64_t wait_ms, leash_error *err)
{
	switch (w->trouble) {
	case LEASH_TIMEOUT:
		if (w->tries)
			return lsh_fail(err, LEASH_TIMEOUT, 0, "lock '%s': another owner has it", lock->shown);
		return lsh_fail(err, LEASH_TIMEOUT, 0, "lock '%s': other owners had it for all of %lld ms", lock->shown, (long long)wait_ms);
	case LEASH_CLOSED:
		return lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", lock->shown);
	default:
		return lsh_fail(err, w->trouble, w->trouble_errno, "lock '%s': %s", lock->shown, w->trouble_text);
	}
}

leash_status
lsh_acquire(struct lsh_lock *lock, const struct lsh_terms *terms, int64_t wait_ms, leash_error *err)
{
	struct lsh_engine *e = lock->engine;
	struct lsh_thread *self = lsh_self();
	struct lsh_waiter w = {.thread = self, .tries = wait_ms == 0};
	struct lsh_hold *hold;
	leash_status status;

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	pthread_mutex_lock(&lock->mutex);
	hold = lsh_hold_check(lock, self->id);
	if (hold != NULL) {
		status = nest(lock, hold, err);
	} else if (w.tries && (lock->hold != NULL || !lsh_list_empty(&lock->waiters))) {
		w.trouble = LEASH_TIMEOUT;
		status = explain(lock, &w, wait_ms, err);
	} else if ((w.hold = lsh_hold_new(lock, self, terms)) == NULL) {
		status = lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	} else {
		w.deadline = wait_ms == LEASH_FOREVER ? LSH_NEVER : lsh_after_ms(lsh_now_ns(), w.tries ? e->options.timeout / LSH_MS : wait_ms);
		lsh_engine_go_in(e);
		status = wait_for_lock(lock, &w);
		lsh_engine_go_out(e);
		if (status != LEASH_OK) {
			lsh_hold_unref(w.hold);
			explain(lock, &w, wait_ms, err);
		}
	}
	pthread_mutex_unlock(&lock->mutex);
	return status;
}
