#include "lock/errand.h"

#include "base/error.h"
#include "redis/fault.h"

#include <stdio.h>
#include <string.h>

static void
note_trouble(struct lsh_attempt *a, struct lsh_engine *e)
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

bool
lsh_errand_run(struct lsh_errand *errand, int64_t patience, int64_t deadline, struct lsh_thread *self, struct lsh_attempt *a)
{
	struct lsh_engine *e = errand->lock->engine;
	struct lsh_pipe *pipe = lsh_node_pipe(e->node);
	pthread_mutex_t *mutex = &errand->lock->mutex;
	bool answered = false, first = true;

	*a = (struct lsh_attempt){.status = LEASH_UNAVAILABLE};
	while (!answered) {
		struct lsh_ticket ticket = {.done = lsh_ticket_wake, .parker = &self->parker};
		enum lsh_appended appended;
		enum lsh_fault fault;
		struct lsh_step command;
		bool whole = *errand->whole;

		a->sent = lsh_now_ns();
		errand->make(&command, errand);
		if (first && errand->lets_others)
			let_the_next_go_first(pipe, a->sent);
		appended = lsh_pipe_append(pipe, &ticket, command.call.args, command.call.count, a->sent, patience);
		if (first && errand->appended != NULL)
			errand->appended(errand->lock);
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
				*errand->whole = fault == LSH_FAULT_NOSCRIPT;
			continue;
		}
		pthread_mutex_lock(mutex);
		a->unknown_before |= a->outcome != LSH_UNSENT;
		a->garbled |= a->outcome == LSH_GARBLED;
		note_trouble(a, e);
		if (lsh_now_ns() >= deadline)
			return false;
	}
	return true;
}

leash_status
lsh_errand_unanswered(const struct lsh_errand *errand, const struct lsh_attempt *a, const char *what, leash_error *err)
{
	const struct lsh_lock *lock = errand->lock;

	if (atomic_load(&lock->engine->closing))
		return lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", lock->shown);
	if (a->garbled)
		return lsh_fail(err, LEASH_PROTOCOL, 0, "lock '%s': %s%s: what it sends is not what a Redis server says", lock->shown, what,
		                lsh_node_shown(lock->engine->node));
	return lsh_fail(err, a->status, a->sys_errno, "lock '%s': %s%s", lock->shown, what, a->text);
}

leash_status
lsh_errand_nonsense(const struct lsh_errand *errand, const struct lsh_attempt *a, leash_error *err)
{
	static const char what[] = "the answer is not what a Redis server says to a script";
	struct lsh_node *node = errand->lock->engine->node;

	lsh_node_leave(node, a->epoch, what);
	return lsh_fail(err, LEASH_PROTOCOL, 0, "lock '%s': %s: %s", errand->lock->shown, lsh_node_shown(node), what);
}

leash_status
lsh_errand_refused(const struct lsh_errand *errand, const struct lsh_attempt *a, const struct lsh_script *script, const char *what,
                   leash_error *err)
{
	const char *words = a->reply.text;
	char command[24] = "";
	bool known = lsh_script_blame(script, words, command, sizeof command);

	return lsh_fail(err, lsh_fault_status(lsh_fault_of(words)), 0, "lock '%s': %s%s: %s%s%s", errand->lock->shown, what,
	                lsh_node_shown(errand->lock->engine->node), command, known ? ": " : "", words);
}
