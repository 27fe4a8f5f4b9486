#include "lock/errand.h"

#include "base/error.h"
#include "base/text.h"
#include "lock/route.h"
#include "redis/fault.h"

#include <stdio.h>
#include <string.h>

static void
note_trouble(struct lsh_attempt *a, struct lsh_node *node)
{
	char text[sizeof a->text];
	leash_status status = lsh_node_trouble(node, text, sizeof text, &a->sys_errno);

	/* what a server said before it was left tells more than that the connection is gone */
	if (a->refused && (lsh_node_is_up(node) || strstr(text, "the connection was lost") != NULL))
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

/* Where it goes. */
struct course {
	struct lsh_errand *errand;
	struct lsh_thread *self;
	int64_t deadline;
	struct lsh_site *asks;  /* for the next try alone (ASK; in use); or NULL */
	unsigned redirections;  /* in a row */
};

enum heard { IS_ANSWER, AGAIN, NEVER };

/* Sleep for a while. False: no time is left. */
static bool
wait_a_little(const struct course *c)
{
	int64_t now = lsh_now_ns(), again = lsh_after_ms(now, 50 + lsh_random32() % 200);
	bool over = again > c->deadline || now >= c->deadline;

	lsh_park(&c->self->parker, over ? c->deadline : again);
	return !over;
}

/* The key is at another server. */
static enum heard
hear_elsewhere(struct course *c, struct lsh_attempt *a)
{
	leash_error why;

	a->status = c->redirections++ < LSH_REDIRECTIONS ? lsh_route_follow(a->site, a->reply.text, &c->asks, &why)
	                                                 : lsh_route_circles(a->site, a->reply.text, &why);
	if (a->status == LEASH_OK) {
		a->status = LEASH_UNAVAILABLE;
		if (c->redirections > 2) /* they do not agree (yet) */
			wait_a_little(c);
		return AGAIN;
	}
	a->refused = true;
	a->sys_errno = why.sys_errno;
	snprintf(a->text, sizeof a->text, "%.*s", (int)sizeof a->text - 1, why.text);
	return NEVER;
}

/* An answer came; what becomes of the errand? No mutex held. */
static enum heard
hear(struct course *c, struct lsh_attempt *a, enum lsh_fault fault, bool whole)
{
	struct lsh_engine *e = c->errand->lock->engine;
	char says[LSH_FAULT_TEXT];

	if (fault == LSH_FAULT_CLUSTER && e->cluster != NULL)
		return hear_elsewhere(c, a);
	c->redirections = 0;
	if (fault == LSH_FAULT_NOSCRIPT && !whole && lsh_step_may_send_whole(e))
		return AGAIN;
	if (fault == LSH_FAULT_NOT_HERE)
		lsh_node_leave(a->site->node, a->epoch, a->reply.text);
	if (fault != LSH_FAULT_NOT_HERE && fault != LSH_FAULT_NOT_NOW)
		return IS_ANSWER;
	if (fault == LSH_FAULT_NOT_HERE || lsh_starts_with_word(a->reply.text, "CLUSTERDOWN"))
		lsh_route_doubt(e);
	a->refused = true;
	lsh_step_say(says, c->errand->lock, NULL, a->reply.text);
	snprintf(a->text, sizeof a->text, "%.60s: %s", lsh_node_shown(a->site->node), says);
	if (e->cluster != NULL && lsh_starts_with_word(a->reply.text, "TRYAGAIN") && c->errand->has_plain && !c->errand->plain) {
		c->errand->plain = true;
		return AGAIN;
	}
	return wait_a_little(c) ? AGAIN : IS_ANSWER;
}

/* One try. lock->mutex held; released meanwhile. */
static enum heard
try(struct course *c, int64_t patience, bool first, struct lsh_attempt *a)
{
	struct lsh_ticket ticket = {.done = lsh_ticket_wake, .parker = &c->self->parker};
	struct lsh_errand *errand = c->errand;
	struct lsh_lock *lock = errand->lock;
	bool whole = *errand->whole, asks = c->asks != NULL;
	enum lsh_appended appended;
	enum heard heard = AGAIN;
	struct lsh_step command;
	struct lsh_pipe *pipe;

	a->home = lsh_lock_site(lock)->serial;
	lsh_site_keep(&a->site, asks ? c->asks : lsh_lock_site(lock));
	lsh_site_keep(&c->asks, NULL);
	pipe = lsh_node_pipe(a->site->node);
	a->sent = lsh_now_ns();
	errand->make(&command, errand);
	if (first && errand->lets_others)
		let_the_next_go_first(pipe, a->sent);
	appended = asks ? lsh_pipe_append_asking(pipe, &ticket, command.call.args, command.call.count, a->sent, patience)
	                : lsh_pipe_append(pipe, &ticket, command.call.args, command.call.count, a->sent, patience);
	if (first && errand->appended != NULL)
		errand->appended(lock);
	if (appended != LSH_APPENDED) {
		note_trouble(a, a->site->node);
		if (a->sent >= c->deadline || atomic_load(&lock->engine->closing))
			return NEVER;
		if (asks)
			c->redirections--; /* who sent us there is to say it again, as it may be otherwise then */
		pthread_mutex_unlock(&lock->mutex);
		if (appended == LSH_PIPE_FULL)
			lsh_pipe_await_room(pipe, c->deadline);
		else
			lsh_node_await(a->site->node, &c->self->parker, false, c->deadline);
		pthread_mutex_lock(&lock->mutex);
		return AGAIN;
	}
	pthread_mutex_unlock(&lock->mutex);
	a->epoch = ticket.epoch;
	a->outcome = lsh_pipe_await(pipe, &ticket, c->deadline);
	if (a->outcome == LSH_ANSWERED) {
		enum lsh_fault fault = ticket.reply.type == LSH_ERROR ? lsh_fault_of(ticket.reply.text) : LSH_FAULT_NONE;

		a->reply = ticket.reply;
		heard = hear(c, a, fault, whole);
		pthread_mutex_lock(&lock->mutex);
		if (fault == LSH_FAULT_NOSCRIPT || fault == LSH_FAULT_NONE)
			*errand->whole = fault == LSH_FAULT_NOSCRIPT && lsh_step_may_send_whole(lock->engine);
		lsh_route_settle(lock);
		return heard;
	}
	pthread_mutex_lock(&lock->mutex);
	a->unknown_before |= a->outcome != LSH_UNSENT;
	a->garbled |= a->outcome == LSH_GARBLED;
	note_trouble(a, a->site->node);
	return lsh_now_ns() >= c->deadline ? NEVER : AGAIN;
}

bool
lsh_errand_run(struct lsh_errand *errand, int64_t patience, int64_t deadline, struct lsh_thread *self, struct lsh_attempt *a)
{
	struct course c = {.errand = errand, .self = self, .deadline = deadline};
	enum heard heard;

	*a = (struct lsh_attempt){.status = LEASH_UNAVAILABLE};
	heard = try(&c, patience, true, a);
	while (heard == AGAIN)
		heard = try(&c, patience, false, a);
	lsh_site_leave(c.asks);
	return heard == IS_ANSWER;
}

void
lsh_errand_end(struct lsh_attempt *a)
{
	lsh_site_keep(&a->site, NULL);
}

leash_status
lsh_errand_unanswered(const struct lsh_errand *errand, const struct lsh_attempt *a, const char *what, leash_error *err)
{
	const struct lsh_lock *lock = errand->lock;

	if (atomic_load(&lock->engine->closing))
		return lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", lock->shown);
	if (a->garbled)
		return lsh_fail(err, LEASH_PROTOCOL, 0, "lock '%s': %s%s: what it sends is not what a Redis server says", lock->shown, what,
		                lsh_node_shown(a->site->node));
	return lsh_fail(err, a->status, a->sys_errno, "lock '%s': %s%s", lock->shown, what, a->text);
}

leash_status
lsh_errand_nonsense(const struct lsh_errand *errand, const struct lsh_attempt *a, leash_error *err)
{
	static const char what[] = "the answer is not what a Redis server says to a script";
	struct lsh_node *node = a->site->node;

	lsh_node_leave(node, a->epoch, what);
	return lsh_fail(err, LEASH_PROTOCOL, 0, "lock '%s': %s: %s", errand->lock->shown, lsh_node_shown(node), what);
}

leash_status
lsh_errand_refused(const struct lsh_errand *errand, const struct lsh_attempt *a, const struct lsh_script *script, const char *what,
                   leash_error *err)
{
	const char *words = a->reply.text;
	enum lsh_fault fault = lsh_fault_of(words);
	char says[LSH_FAULT_TEXT];
	struct lsh_site *asks;
	leash_error why;

	if (fault == LSH_FAULT_CLUSTER && errand->lock->engine->cluster == NULL && lsh_route_follow(a->site, words, &asks, &why) != LEASH_OK)
		return lsh_fail(err, why.status, 0, "lock '%s': %s%s", errand->lock->shown, what, why.text);
	lsh_step_say(says, errand->lock, script, words);
	return lsh_fail(err, lsh_fault_status(fault), 0, "lock '%s': %s%s: %s", errand->lock->shown, what, lsh_node_shown(a->site->node), says);
}
