/* Releasing and extending: the two steps that an owner waits for although it holds the lock. */
#include "lock/state.h"

#include "base/error.h"
#include "base/mutation.h"
#include "lock/step.h"
#include "redis/fault.h"
#include "watchdog/pace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* How a step went, of which it matters whether it was done. */
struct attempt {
	enum lsh_outcome outcome;
	struct lsh_reply reply;
	uint64_t epoch;
	int64_t sent;
	bool unknown_before; /* an earlier try of it was sent, and may have been executed */
	bool refused;        /* that text is the server's own: not now, or not here */
	char text[200];      /* why there is no answer */
	leash_status status; /* of that text */
	int sys_errno;
};

static void
note_trouble(struct attempt *a, struct lsh_engine *e)
{
	char text[sizeof a->text];
	leash_status status = lsh_node_trouble(e->node, text, sizeof text, &a->sys_errno);

	/* what a server said before it was left tells more than that the connection is gone */
	if (a->refused && (lsh_node_is_up(e->node) || strstr(text, "the connection was lost") != NULL))
		return;
	a->status = status;
	memcpy(a->text, text, sizeof text);
}

/* A server writes out first to whom it had something to say last. The answer to a release would go before the message to the next
 * holder, and whoever is woken by it would run before the server writes on, where they share a CPU. An answer that is there already
 * when the release is executed turns that round. */
static void
let_the_next_go_first(struct lsh_pipe *pipe, int64_t now)
{
	struct lsh_arg ping = lsh_arg_text("PING");

	lsh_pipe_append_unheard(pipe, &ping, 1, now);
}

/* What is to be sent. */
struct errand {
	void (*make)(struct lsh_step *step, const struct lsh_tenure *tenure, struct errand *errand);
	void (*appended)(struct lsh_lock *lock); /* once, behind the first of it and before the mutex is released; or NULL */
	int64_t lease_ms; /* of the last try */
	int64_t ends_at;  /* which each is nearer to */
	unsigned depth;
};

/* Send it until it is answered otherwise than "not now", or `deadline` has come. lock->mutex held; released meanwhile. False:
 * there is no answer. The first append happens before the mutex is released. */
static bool
try_until(struct lsh_tenure *t, struct errand *errand, int64_t patience, int64_t deadline, struct lsh_thread *self, struct attempt *a)
{
	struct lsh_engine *e = t->lock->engine;
	struct lsh_pipe *pipe = lsh_node_pipe(e->node);
	pthread_mutex_t *mutex = &t->lock->mutex;
	bool answered = false, first = true;

	*a = (struct attempt){.status = LEASH_UNAVAILABLE};
	while (!answered) {
		struct lsh_ticket ticket = {.done = lsh_ticket_wake, .parker = &self->parker};
		enum lsh_appended appended;
		enum lsh_fault fault;
		struct lsh_step command;
		bool whole = t->send_whole;

		a->sent = lsh_now_ns();
		errand->make(&command, t, errand);
		if (first && t->waited && errand->appended != NULL)
			let_the_next_go_first(pipe, a->sent);
		appended = lsh_pipe_append(pipe, &ticket, command.call.args, command.call.count, a->sent, patience);
		if (first && errand->appended != NULL)
			errand->appended(t->lock);
		first = false;
		if (appended != LSH_APPENDED) {
			note_trouble(a, e);
			if (a->sent >= deadline || atomic_load(&e->closing))
				return false;
			pthread_mutex_unlock(mutex);
			if (appended == LSH_PIPE_FULL)
				lsh_pipe_await_room(pipe, deadline);
			else
				lsh_node_await(e->node, &self->parker, false, deadline);
			pthread_mutex_lock(mutex);
			continue;
		}
		pthread_mutex_unlock(mutex);
		a->epoch = ticket.epoch;
		a->outcome = lsh_pipe_await(pipe, &ticket, deadline);
		if (a->outcome == LSH_ANSWERED) {
			a->reply = ticket.reply;
			fault = a->reply.type == LSH_ERROR ? lsh_fault_of(a->reply.text) : LSH_FAULT_NONE;
			answered = true;
			if (fault == LSH_FAULT_NOSCRIPT && !whole)
				answered = false;
			if (fault == LSH_FAULT_NOT_HERE)
				lsh_node_leave(e->node, a->epoch, a->reply.text);
			if (fault == LSH_FAULT_NOT_HERE || fault == LSH_FAULT_NOT_NOW) {
				int64_t now = lsh_now_ns(), again = lsh_after_ms(now, 50 + lsh_random32() % 200);

				a->refused = true;
				snprintf(a->text, sizeof a->text, "%.60s: %.130s", lsh_node_shown(e->node), a->reply.text);
				if (again > deadline || now >= deadline)
					again = deadline; /* and then this is the answer */
				else
					answered = false;
				lsh_park(&self->parker, again);
			}
			pthread_mutex_lock(mutex);
			if (fault == LSH_FAULT_NOSCRIPT || fault == LSH_FAULT_NONE)
				t->send_whole = fault == LSH_FAULT_NOSCRIPT;
			continue;
		}
		pthread_mutex_lock(mutex);
		a->unknown_before |= a->outcome != LSH_UNSENT;
		note_trouble(a, e);
		if (lsh_now_ns() >= deadline)
			return false;
	}
	return true;
}

static void
make_cancel(struct lsh_step *step, const struct lsh_tenure *t, struct errand *errand)
{
	(void)errand;
	lsh_step_cancel(step, t);
}

/* The next ask of a plain line goes out in the same write, right behind the release that lets it. */
static void
ask_next(struct lsh_lock *lock)
{
	if (!lock->fair)
		lsh_line_ask(lock, &lock->plain);
}

/* The server refused a release: what is the answer, and is it worth trying again in the background? */
static leash_status
release_refused(const struct lsh_lock *lock, const char *words, bool *try_again, leash_error *err)
{
	const char *shown = lsh_node_shown(lock->engine->node);
	enum lsh_fault fault = lsh_fault_of(words);
	char command[24];

	*try_again = fault != LSH_FAULT_MISMATCH;
	if (fault == LSH_FAULT_MISMATCH)
		return lsh_fail(err, LEASH_LOST, 0, "lock '%s': it was lost: the key holds something else: %s: %s", lock->shown, shown, words);
	if (fault == LSH_FAULT_DENIED && lsh_script_blame(&lsh_script_release, words, command, sizeof command))
		return lsh_fail(err, LEASH_DENIED, 0, "lock '%s': not released, it ends with its lease: %s: %s is not permitted: %s", lock->shown, shown, command,
		                words);
	if (fault == LSH_FAULT_DENIED)
		return lsh_fail(err, LEASH_DENIED, 0, "lock '%s': not released, it ends with its lease: %s: %s", lock->shown, shown, words);
	return lsh_fail(err, LEASH_UNKNOWN, 0, "lock '%s': not released yet, it ends with its lease at the latest: %s: %s", lock->shown, shown, words);
}

static leash_status
lost(const struct lsh_lock *lock, leash_error *err)
{
	return lsh_fail(err, LEASH_LOST, 0, "lock '%s': it was lost while it was held", lock->shown);
}

/* Release in Redis what has been released here. lock->mutex held; released meanwhile. */
static leash_status
release_tenure(struct lsh_lock *lock, struct lsh_tenure *t, struct lsh_thread *self, leash_error *err)
{
	struct errand errand = {.make = make_cancel, .appended = ask_next};
	struct lsh_engine *e = lock->engine;
	struct attempt a;
	leash_status status = LEASH_OK;
	bool settled = false;

	lsh_tenure_begin_end(t);
	/* An answer is awaited for one timeout and, if that breaks the connection, for another one on a new connection. */
	lock->releasing++;
	if (!try_until(t, &errand, e->options.timeout, lsh_after(lsh_now_ns(), 2 * e->options.timeout), self, &a)) {
		status = lsh_fail(err, LEASH_UNKNOWN, a.sys_errno, "lock '%s': not known whether it is released, it ends with its lease at the latest: %s",
		                  lock->shown, a.text);
	} else if (a.reply.type == LSH_ERROR) {
		bool try_again;

		status = release_refused(lock, a.reply.text, &try_again, err);
		settled = !try_again;
	} else if (a.reply.type != LSH_INTEGER || a.reply.integer[0] < 0 || a.reply.integer[0] > 2) {
		lsh_node_leave(e->node, a.epoch, "the answer is not what a Redis server says to a script");
		status = lsh_fail(err, LEASH_PROTOCOL, 0, "lock '%s': %s: the answer is not what a Redis server says to a script", lock->shown,
		                  lsh_node_shown(e->node));
	} else {
		settled = lsh_tenure_is_settled(t, a.epoch, a.sent);
		/* 0 after an earlier try whose answer was lost: that one released it, or it lapsed after it was left */
		if (a.reply.integer[0] != 1 && (!a.unknown_before || LSH_MUTATES(LSH_TRIES_ARE_FORGOTTEN)))
			status = lsh_fail(err, LEASH_LOST, 0, "lock '%s': it was lost: the server did not have it any more", lock->shown);
	}
	lock->releasing--;
	if (settled)
		lsh_tenure_settle(t);
	else
		lsh_tenure_owe(t);
	lsh_tenure_unref(t);
	return status;
}

leash_status
lsh_release(struct lsh_lock *lock, struct leash_owner *owner, leash_error *err)
{
	struct lsh_thread *self = lsh_self(), *next = NULL;
	struct lsh_hold *hold;
	leash_status status;

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	pthread_mutex_lock(&lock->mutex);
	hold = lsh_hold_check(lock, owner->id);
	if (hold == NULL) {
		status = atomic_load(&lock->engine->closing)
		             ? lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", lock->shown)
		             : lsh_fail(err, LEASH_NOT_HELD, 0, "lock '%s': this owner does not hold it", lock->shown);
	} else if (hold != lock->hold) {
		status = lost(lock, err);
		if (--hold->depth == 0)
			lsh_hold_unwind(lock, hold);
	} else if (--hold->depth > 0) {
		status = LEASH_OK;
	} else if ((next = lsh_hold_hand_on(lock)) != NULL) {
		lsh_hold_unwind(lock, hold);
		status = LEASH_OK;
	} else {
		struct lsh_tenure *t = lsh_hold_finish(lock);

		lsh_hold_unwind(lock, hold);
		lsh_engine_go_in(lock->engine);
		status = release_tenure(lock, t, self, err);
		lsh_engine_go_out(lock->engine);
	}
	pthread_mutex_unlock(&lock->mutex);
	if (next != NULL)
		lsh_unpark(&next->parker); /* only now, when it finds the mutex free */
	return status;
}

/* ---- extend ---- */

static void
make_renewal(struct lsh_step *step, const struct lsh_tenure *t, struct errand *errand)
{
	int64_t now = lsh_now_ns();

	if (errand->ends_at != LSH_NEVER && errand->ends_at - now < errand->lease_ms * LSH_MS)
		errand->lease_ms = errand->ends_at - now > LSH_MS ? (errand->ends_at - now) / LSH_MS : 1;
	lsh_step_renew(step, t, errand->lease_ms, errand->depth);
}

static leash_status
extend_hold(struct lsh_lock *lock, struct lsh_hold *hold, int64_t lease_ms, struct lsh_thread *self, leash_error *err)
{
	struct lsh_engine *e = lock->engine;
	uint64_t owner = hold->owner->id;
	struct lsh_tenure *t = hold->tenure;
	struct errand x = {.make = make_renewal, .lease_ms = lease_ms, .ends_at = hold->ends_at, .depth = hold->depth};
	int64_t now = lsh_now_ns(), until;
	struct attempt a;
	bool answered;
	leash_status status = LEASH_OK;

	if (hold->ends_at != LSH_NEVER && hold->ends_at - now < LSH_MS)
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': max_hold_ms leaves nothing to extend", lock->shown);
	if (x.lease_ms > t->longest_ms)
		t->longest_ms = x.lease_ms;
	until = lsh_after(now, 2 * e->options.timeout);
	lsh_tenure_retain(&t->timer);
	answered = try_until(t, &x, e->options.timeout, until < t->valid_until ? until : t->valid_until, self, &a);
	if (lock->hold != hold && lsh_hold_of(lock, owner) == NULL) {
		status = lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", lock->shown);
	} else if (lock->hold != hold) {
		status = lost(lock, err);
	} else if (!answered) {
		status = lsh_fail(err, a.status == LEASH_DENIED ? a.status : LEASH_UNAVAILABLE, a.sys_errno, "lock '%s': not extended: %s", lock->shown, a.text);
	} else if (a.reply.type == LSH_ERROR && lsh_fault_of(a.reply.text) == LSH_FAULT_MISMATCH) {
		lsh_hold_lose(lock, "its key holds something else");
		status = lost(lock, err);
	} else if (a.reply.type == LSH_ERROR) {
		char command[24] = "";
		bool known = lsh_script_blame(&lsh_script_renew, a.reply.text, command, sizeof command);

		status = lsh_fail(err, lsh_fault_status(lsh_fault_of(a.reply.text)), 0, "lock '%s': not extended: %s: %s%s%s", lock->shown,
		                  lsh_node_shown(e->node), command, known ? ": " : "", a.reply.text);
	} else if (a.reply.type != LSH_INTEGER || a.reply.integer[0] < 0 || a.reply.integer[0] > 1) {
		lsh_node_leave(e->node, a.epoch, "the answer is not what a Redis server says to a script");
		status = lsh_fail(err, LEASH_PROTOCOL, 0, "lock '%s': %s: the answer is not what a Redis server says to a script", lock->shown,
		                  lsh_node_shown(e->node));
	} else if (a.reply.integer[0] != 1 || lsh_now_ns() >= t->valid_until) {
		lsh_hold_lose(lock, "it is not there any more");
		status = lost(lock, err);
	} else {
		lsh_hold_renewed(lock, t, a.sent, x.lease_ms * LSH_MS);
		t->full_lease |= x.lease_ms >= hold->terms.lease_ms;
		lsh_hold_recover(lock);
		if (x.lease_ms >= hold->terms.lease_ms) /* a shorter one puts no renewal off */
			lsh_hold_schedule(lock, t, a.sent, hold->terms.lease_ms * LSH_MS);
	}
	lsh_tenure_unref(t);
	return status;
}

leash_status
lsh_extend(struct lsh_lock *lock, struct leash_owner *owner, int64_t lease_ms, leash_error *err)
{
	struct lsh_thread *self = lsh_self();
	struct lsh_hold *hold;
	leash_status status;

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	pthread_mutex_lock(&lock->mutex);
	hold = lsh_hold_check(lock, owner->id);
	if (hold == NULL)
		status = lsh_fail(err, LEASH_NOT_HELD, 0, "lock '%s': this owner does not hold it", lock->shown);
	else if (hold != lock->hold)
		status = lost(lock, err);
	else {
		lsh_engine_go_in(lock->engine);
		status = extend_hold(lock, hold, lease_ms, self, err);
		lsh_engine_go_out(lock->engine);
	}
	pthread_mutex_unlock(&lock->mutex);
	return status;
}
