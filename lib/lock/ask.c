/* Asking: what the first in a line says to Redis, and what it makes of the answers.
 *
 * An ask belongs to one connection and to one moment: it carries the time, by that server's clock, after which it does
 * nothing. Whatever becomes of it, the tenure knows afterwards what of it Redis may still come to know:
 *
 *   answered       nothing of it is still on its way; the answer says the rest
 *   never sent     as if it had not been appended
 *   anything else  perhaps executed, now or before not_after: the next ask comes after it, or the cancel is owed until then */
#include "lock/ask.h"

#include "base/error.h"
#include "base/mutation.h"
#include "base/text.h"
#include "lock/channel.h"
#include "lock/route.h"
#include "lock/step.h"
#include "redis/fault.h"
#include "redis/listener.h"
#include "redis/script.h"
#include "watchdog/pace.h"

#include <stdio.h>
#include <string.h>

static bool
is_over(void *arg)
{
	return lsh_waiter_is_over(arg);
}

void
lsh_waiter_blame(struct lsh_waiter *w, leash_status status, int sys_errno, const char *text)
{
	if (w->denied)
		return;
	w->refused = false;
	w->answered = true;
	w->trouble = status;
	w->trouble_errno = sys_errno;
	snprintf(w->trouble_text, sizeof w->trouble_text, "%.*s", (int)sizeof w->trouble_text - 1, text);
}

static enum lsh_asked
give_up_the_token(struct lsh_tenure *t)
{
	lsh_tenure_end(t);
	return LSH_LOOK_AGAIN;
}

/* The key is at another server. lock->mutex held; released meanwhile. */
static enum lsh_asked
redirected(struct lsh_lock *lock, struct lsh_waiter *w, const struct lsh_tenure *t, const char *words)
{
	struct lsh_site *from = t->ask_site, *asks = NULL;
	leash_status status;
	leash_error why;

	pthread_mutex_unlock(&lock->mutex);
	status = w->redirections++ < LSH_REDIRECTIONS ? lsh_route_follow(from, words, &asks, &why) : lsh_route_circles(from, words, &why);
	pthread_mutex_lock(&lock->mutex);
	if (status != LEASH_OK) {
		lsh_waiter_blame(w, status, why.sys_errno, why.text);
		return LSH_ASK_FAILED;
	}
	lsh_site_leave(w->asks);
	w->asks = asks;
	lsh_route_settle(lock);
	if (w->redirections > 2) /* they do not agree (yet) */
		lsh_waiter_sleep(w, lsh_after_ms(lsh_now_ns(), 50 + lsh_random32() % 200));
	return LSH_LOOK_AGAIN;
}

/* The server said that it will not, or not now. */
static enum lsh_asked
refused(struct lsh_lock *lock, struct lsh_waiter *w, struct lsh_tenure *t, const char *words)
{
	struct lsh_node *node = t->ask_site->node;
	enum lsh_fault fault = lsh_fault_of(words);
	char text[sizeof w->trouble_text], says[LSH_FAULT_TEXT];

	if (fault == LSH_FAULT_NOSCRIPT && !t->send_whole && lsh_step_may_send_whole(lock->engine)) {
		t->send_whole = true;
		return LSH_LOOK_AGAIN;
	}
	if (fault == LSH_FAULT_CLUSTER)
		return redirected(lock, w, t, words);
	w->redirections = 0;
	if (fault == LSH_FAULT_NOT_HERE || lsh_starts_with_word(words, "CLUSTERDOWN"))
		lsh_route_doubt(lock->engine);
	lsh_step_say(says, lock, &lsh_script_acquire, words);
	snprintf(text, sizeof text, "%.60s: %s", lsh_node_shown(node), says);
	lsh_waiter_blame(w, lsh_fault_status(fault), 0, text);
	switch (fault) {
	case LSH_FAULT_NOT_HERE:
		lsh_node_leave(node, t->ask_epoch, words);
		/* fall through */
	case LSH_FAULT_NOT_NOW:
		if (w->tries && (lock->engine->cluster == NULL || !lsh_starts_with_word(words, "TRYAGAIN"))) /* that is for a moment, while a slot moves */
			return LSH_ASK_FAILED;
		lsh_waiter_sleep(w, lsh_after_ms(lsh_now_ns(), 50 + lsh_random32() % 200));
		return LSH_LOOK_AGAIN;
	case LSH_FAULT_DENIED:
		/* perhaps in the middle of the script */
		give_up_the_token(t);
		return LSH_ASK_FAILED;
	default:
		return LSH_ASK_FAILED;
	}
}

/* The answer is not one that the script gives. */
static enum lsh_asked
nonsense(struct lsh_waiter *w, struct lsh_tenure *t)
{
	char text[sizeof w->trouble_text];

	snprintf(text, sizeof text, "%s: the answer is not what a Redis server says to a script", lsh_node_shown(t->ask_site->node));
	lsh_waiter_blame(w, LEASH_PROTOCOL, 0, text);
	lsh_node_leave(t->ask_site->node, t->ask_epoch, text);
	give_up_the_token(t);
	return LSH_ASK_FAILED;
}

/* What came is no reply at all. Perhaps it was the line, and the next connection does better. */
static enum lsh_asked
garbled(struct lsh_waiter *w, const struct lsh_tenure *t)
{
	char text[sizeof w->trouble_text];

	snprintf(text, sizeof text, "%.100s: what it sends is not what a Redis server says", lsh_node_shown(t->ask_site->node));
	lsh_waiter_blame(w, LEASH_PROTOCOL, 0, text);
	lsh_node_leave(t->ask_site->node, t->ask_epoch, text);
	return w->tries ? LSH_ASK_FAILED : LSH_LOOK_AGAIN;
}

static bool
is_signaled(void *arg)
{
	return lsh_waiter_is_signaled(arg);
}

/* Wait until the lock's own channel is heard, or `until`. lock->mutex held; released meanwhile. */
static void
await_channel(struct lsh_lock *lock, struct lsh_waiter *w, struct lsh_site *site, int64_t until)
{
	lsh_channel_want(lock);
	if (lsh_channel_is_heard(lock, site))
		return;
	pthread_mutex_unlock(&lock->mutex);
	lsh_listener_wait(lsh_node_listener(site->node), &w->thread->parker, until < w->deadline ? until : w->deadline, is_signaled, w);
	pthread_mutex_lock(&lock->mutex);
}

/* Not held: {0, ttl, now} or {-1, 0, now}. */
static enum lsh_asked
not_held(struct lsh_lock *lock, struct lsh_waiter *w, struct lsh_tenure *t, const struct lsh_reply *reply, bool placed, int64_t sent,
         int64_t received)
{
	struct lsh_node *node = t->ask_site->node;
	int64_t ttl_ms = reply->integer[1], again = lsh_after_ms(received, ttl_ms >= 0 && ttl_ms < 1000 ? ttl_ms + 1 : 1000);

	lsh_node_learn_clock(node, reply->integer[2], sent, received);
	w->refused = reply->integer[0] == 0;
	w->answered = w->answered && !w->refused;
	if (reply->integer[0] < 0) /* too late, by our idea of its clock: that is better now */
		return LSH_LOOK_AGAIN;
	if (placed) {
		t->phase = LSH_QUEUED;
		t->waited = true;
		lsh_tenure_arm(t, lsh_pace_word(sent, received, t->claim_ms * LSH_MS, ttl_ms), lsh_pace_slack(t->claim_ms * LSH_MS));
		if (t->hinted)
			lsh_tenure_give_work(t);
		t->hinted = false;
		return LSH_LOOK_AGAIN;
	}
	if (w->tries && ttl_ms != 0) { /* 0: nobody has it just now, ask again */
		w->trouble = LEASH_TIMEOUT;
		return LSH_ASK_FAILED;
	}
	/* It took no place, because no message could have come. Ask for one as soon as that is mended, or when the lease ends. */
	if (lsh_waiter_is_over(w))
		return LSH_LOOK_AGAIN; /* else who says so from now on leaves a permit */
	if (lsh_channel_is_sharded(t->ask_site)) {
		await_channel(lock, w, t->ask_site, again);
		return LSH_LOOK_AGAIN;
	}
	pthread_mutex_unlock(&lock->mutex);
	lsh_node_await(node, &w->thread->parker, true, again < w->deadline ? again : w->deadline);
	pthread_mutex_lock(&lock->mutex);
	return LSH_LOOK_AGAIN;
}

static enum lsh_asked
answered(struct lsh_lock *lock, struct lsh_waiter *w, struct lsh_tenure *t, const struct lsh_reply *reply, bool placed, int64_t sent)
{
	struct lsh_node *node = t->ask_site->node;
	int64_t received = lsh_now_ns();

	if (reply->type == LSH_ERROR)
		return refused(lock, w, t, reply->text);
	t->send_whole = false;
	w->redirections = 0;
	if (reply->type == LSH_INTEGER && reply->integer[0] > 0 && reply->integer[0] <= LSH_FENCE_MAX) {
		/* a fence is never behind the server's clock: if it is behind what we believe of that, the clock went back */
		if (reply->integer[0] < lsh_node_server_us_at_least(node, sent) - 1000000)
			lsh_node_learn_clock(node, reply->integer[0], sent, received);
		if (!lsh_hold_grant(lock, t, reply->integer[0], sent, t->lease_ms * LSH_MS, false))
			return give_up_the_token(t);
		return LSH_LOOK_AGAIN;
	}
	if (reply->type == LSH_ARRAY && reply->count == 3 && reply->integers == 7 && reply->integer[0] <= 0 && reply->integer[2] >= 0 &&
	    reply->integer[2] <= LSH_FENCE_MAX)
		return not_held(lock, w, t, reply, placed, sent, received);
	return nonsense(w, t);
}

/* Does the answer say that the server knows no more of the token than before? */
static bool
was_not_done(const struct lsh_reply *reply, bool placed)
{
	enum lsh_fault fault;

	if (reply->type == LSH_ARRAY && reply->integers == 7)
		return reply->integer[0] < 0 || (reply->integer[0] == 0 && !placed);
	if (reply->type != LSH_ERROR)
		return false;
	if (strncmp(reply->text, "ERR", 3) == 0) /* perhaps in the middle of the script */
		return strncmp(reply->text, "ERR unknown command", 19) == 0;
	fault = lsh_fault_of(reply->text);
	return fault == LSH_FAULT_NOSCRIPT || fault == LSH_FAULT_NOT_NOW || fault == LSH_FAULT_NOT_HERE || fault == LSH_FAULT_REFUSED ||
	       fault == LSH_FAULT_DENIED || fault == LSH_FAULT_CLUSTER;
}

/* Wait out the time after a restart during which locks may be held that the server has forgotten. */
static bool
is_guarded(struct lsh_lock *lock, struct lsh_waiter *w, int64_t now, enum lsh_asked *step)
{
	struct lsh_node *node = lsh_lock_node(lock);
	int64_t guard = w->hold->terms.restart_guard_ms * LSH_MS, uptime;
	char text[sizeof w->trouble_text];

	if (guard == 0 || (uptime = lsh_node_uptime(node, now)) >= guard)
		return false;
	if (uptime < 0) {
		snprintf(text, sizeof text, "%s: %s", lsh_node_shown(node), lsh_hold_no_uptime);
		lsh_waiter_blame(w, LEASH_DENIED, 0, text);
		*step = LSH_ASK_FAILED;
		return true;
	}
	snprintf(text, sizeof text, "%s: it was restarted, perhaps without its data: nothing is granted for another %lld ms (restart_guard_ms)",
	         lsh_node_shown(node), (long long)((guard - uptime) / LSH_MS + 1));
	lsh_waiter_blame(w, LEASH_UNAVAILABLE, 0, text);
	if (w->tries) {
		*step = LSH_ASK_FAILED;
		return true;
	}
	lsh_waiter_sleep(w, lsh_after(now, guard - uptime));
	*step = LSH_LOOK_AGAIN;
	return true;
}

static void
blame_node(struct lsh_node *node, struct lsh_waiter *w)
{
	char text[sizeof w->trouble_text];
	int sys_errno = 0;
	leash_status status = lsh_node_trouble(node, text, sizeof text, &sys_errno);

	/* what a server said before it was left tells more than that the connection is gone */
	if (w->answered && (lsh_node_is_up(node) || strstr(text, "the connection was lost") != NULL))
		return;
	lsh_waiter_blame(w, status, sys_errno, text);
	w->answered = false;
}

void
lsh_waiter_blame_node(struct lsh_lock *lock, struct lsh_waiter *w)
{
	blame_node(lsh_lock_node(lock), w);
}

/* The time that an ask has, from `now` on. */
static int64_t
limit_of(const struct lsh_engine *e, const struct lsh_waiter *w, int64_t now)
{
	int64_t limit = lsh_after(now, e->options.timeout);

	return limit < w->deadline ? limit : w->deadline;
}

/* Append an ask by the tenure of the line, for its first waiter to hear, to connection `epoch`. That was read before all that
 * the ask says: so this belongs to that connection, or the ask is refused. */
static enum lsh_appended
send_ask(struct lsh_lock *lock, struct lsh_waiter *w, struct lsh_site *site, uint64_t epoch)
{
	struct lsh_engine *e = lock->engine;
	struct lsh_pipe *pipe = lsh_node_pipe(site->node);
	struct lsh_tenure *t = w->line->tenure;
	int64_t now, not_after_us;
	struct lsh_step command;
	enum lsh_appended appended;
	bool placed;

	t->ticket = (struct lsh_ticket){.done = lsh_ticket_wake, .parker = &w->thread->parker, .over = is_over, .over_arg = w};
	t->ticket.epoch = epoch;
	now = lsh_now_ns();
	placed = !w->tries && lsh_channel_is_heard(lock, site);
	not_after_us = lsh_node_server_us(site->node, now) + (limit_of(e, w, now) - now) / LSH_US;
	lsh_tenure_adopt(t, &w->hold->terms);
	lsh_step_ask(&command, t, LSH_MUTATES(LSH_ASKS_LIVE_FOREVER) ? INT64_C(1) << 52 : not_after_us, placed);
	lsh_site_introduce(site, epoch, t->lease_ms, now);
	if (w->asks != NULL)
		appended = lsh_pipe_append_asking(pipe, &t->ticket, command.call.args, command.call.count, now, e->options.timeout);
	else
		appended = lsh_pipe_append(pipe, &t->ticket, command.call.args, command.call.count, now, e->options.timeout);
	if (appended != LSH_APPENDED)
		return appended;
	lsh_site_keep(&t->ask_site, site);
	lsh_site_keep(&w->asks, NULL);
	/* an ask that was not answered on an earlier connection may still come; on this one it comes before this one */
	if (t->phase == LSH_ASKING && t->asked && t->ask_epoch != t->ticket.epoch && t->not_after_us > t->ghost_until_us)
		t->ghost_until_us = t->not_after_us;
	t->ask_sent = now;
	t->ask_placed = placed;
	t->asked_before = t->asked;
	t->asked_again |= t->asked;
	t->phase = LSH_ASKING;
	if (!t->asked)
		t->counted_from = now;
	t->asked = true;
	t->ask_epoch = t->ticket.epoch;
	t->ask_home = lsh_lock_site(lock)->serial;
	t->not_after_before_us = t->not_after_us;
	t->not_after_us = not_after_us > t->not_after_us ? not_after_us : t->not_after_us;
	lsh_tenure_retain(&t->timer);
	w->asking = t;
	return LSH_APPENDED;
}

/* See what becomes of the ask that is on its way. lock->mutex held; released while the answer is awaited. */
enum lsh_asked
lsh_ask_hear(struct lsh_lock *lock, struct lsh_waiter *w)
{
	struct lsh_tenure *t = w->asking;
	struct lsh_site *site = t->ask_site; /* which the tenure may leave once it is answered */
	enum lsh_outcome outcome;
	enum lsh_asked step = LSH_LOOK_AGAIN;

	lsh_site_use(site);
	pthread_mutex_unlock(&lock->mutex);
	outcome = lsh_pipe_await(lsh_node_pipe(site->node), &t->ticket, w->deadline);
	pthread_mutex_lock(&lock->mutex);
	w->asking = NULL;
	if (outcome == LSH_ANSWERED)
		t->not_after_us = 0; /* nothing of it, nor of one before it on this connection, is still to come */
	if (outcome == LSH_UNSENT) { /* as if it had never been appended */
		t->asked = t->asked_before;
		t->not_after_us = t->not_after_before_us;
	}
	if (t->phase == LSH_ASKING) { /* else it was granted by a message, or ended, meanwhile */
		if (outcome == LSH_ANSWERED && was_not_done(&t->ticket.reply, t->ask_placed))
			t->asked = t->asked_before; /* and without an earlier one there is nothing to cancel */
		if (outcome == LSH_ANSWERED)
			step = answered(lock, w, t, &t->ticket.reply, t->ask_placed, t->ask_sent);
		else if (outcome == LSH_GARBLED)
			step = garbled(w, t);
		else if (outcome != LSH_GIVEN_UP || !w->refused) /* given up: its time ended, and until a moment ago others had it */
			blame_node(t->ask_site->node, w);
	}
	if (lsh_lock_site(lock)->serial != t->ask_home && (t->phase == LSH_HELD || t->phase == LSH_QUEUED))
		lsh_tenure_give_work(t); /* it lives elsewhere meanwhile: does that one know of it? */
	lsh_site_leave(site);
	lsh_tenure_unref(t);
	return step;
}

/* Where the next ask goes. */
static struct lsh_site *
site_for(const struct lsh_lock *lock, const struct lsh_waiter *w)
{
	return w->asks != NULL ? w->asks : lsh_lock_site(lock);
}

/* Ask there, unless there is something to wait for first. */
static enum lsh_asked
ask_at(struct lsh_site *site, struct lsh_lock *lock, struct lsh_waiter *w)
{
	uint64_t epoch = lsh_pipe_epoch(lsh_node_pipe(site->node));
	enum lsh_asked step;

	if (lsh_node_is_up(lsh_lock_node(lock)) && is_guarded(lock, w, lsh_now_ns(), &step)) /* where it lives, also if it is asked for elsewhere (ASK) */
		return step;
	switch (send_ask(lock, w, site, epoch)) {
	case LSH_APPENDED:
		return lsh_ask_hear(lock, w);
	case LSH_PIPE_DOWN:
		if (w->asks != NULL) { /* who sent us there is to say it again, as it may be otherwise then */
			lsh_site_keep(&w->asks, NULL);
			w->redirections--;
		}
		blame_node(site->node, w);
		if (lsh_status_stays(w->trouble) && w->denied_before)
			return LSH_ASK_FAILED; /* a wrong password does not get right by waiting */
		w->denied_before = lsh_status_stays(w->trouble); /* but that may be old news: see what the next attempt brings */
		if (lsh_waiter_is_over(w))
			return LSH_LOOK_AGAIN;
		pthread_mutex_unlock(&lock->mutex);
		lsh_node_await(site->node, &w->thread->parker, false, w->deadline);
		pthread_mutex_lock(&lock->mutex);
		return LSH_LOOK_AGAIN;
	case LSH_PIPE_FULL:
		pthread_mutex_unlock(&lock->mutex);
		lsh_pipe_await_room(lsh_node_pipe(site->node), w->deadline);
		pthread_mutex_lock(&lock->mutex);
		return LSH_LOOK_AGAIN;
	}
	return LSH_LOOK_AGAIN;
}

/* lock->mutex held; released meanwhile. */
enum lsh_asked
lsh_ask(struct lsh_lock *lock, struct lsh_waiter *w)
{
	struct lsh_site *site = site_for(lock, w);
	enum lsh_asked step;

	lsh_site_use(site);
	step = ask_at(site, lock, w);
	lsh_site_leave(site);
	return step;
}

bool
lsh_ask_prepare(struct lsh_lock *lock, struct lsh_waiter *w)
{
	struct lsh_line *line = w->line;

	/* somebody's ask for a longer lease was not answered: it might still be executed, and nothing shortens a lease */
	if (line->tenure != NULL && line->tenure->phase == LSH_ASKING && line->tenure->longest_ms > w->hold->terms.lease_ms)
		lsh_tenure_end(line->tenure);
	/* it was not answered by a server where the lock does not live any more */
	if (line->tenure != NULL && line->tenure->phase == LSH_ASKING && line->tenure->asked && line->tenure->ask_site != site_for(lock, w))
		lsh_tenure_end(line->tenure);
	if (line->tenure == NULL)
		line->tenure = lsh_tenure_new(lock, &w->hold->terms);
	if (line->tenure == NULL)
		return false;
	line->tenure->line = line;
	return true;
}

void
lsh_line_ask(struct lsh_lock *lock, struct lsh_line *line)
{
	struct lsh_waiter *w = lsh_line_first(line);
	struct lsh_site *site;
	uint64_t epoch;

	if (w == NULL)
		return;
	site = site_for(lock, w);
	epoch = lsh_pipe_epoch(lsh_node_pipe(site->node));
	/* what is out of the ordinary it sees to itself, and says what is wrong */
	if (w->asking == NULL && line->tenure == NULL && !lsh_waiter_is_over(w) && lsh_now_ns() < w->deadline && w->hold->terms.restart_guard_ms == 0 &&
	    lsh_node_is_subscribed(site->node) && lsh_ask_prepare(lock, w))
		send_ask(lock, w, site, epoch);
	lsh_waiter_wake(w);
}
