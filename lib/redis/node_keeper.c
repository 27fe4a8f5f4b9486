/* The keeper's loop: mend what is broken, run the work, sleep until something happens.
 *
 * Each of the two connections is a line:
 *
 *   DOWN --redial_at has come--> DIALING --hello--> UP --broke--> BROKEN --seats empty--> DOWN
 *             ^                     |
 *             +------- failed ------+   (back-off: 10 ms doubling to 250 ms, the upper half by chance)
 *
 * The first dial after a break starts at once, but never sooner than 10 ms after the one before.
 *
 * With sentinels the line of the commands has one state more: node_seeker.c. */
#include "redis/node_inside.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "base/token.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A new connection costs the server more than a command, and all clients come at once when it is back: hence up to 250 ms, the upper
 * half of it by chance. More would delay the news that a lock is free, and a renewal. */
static int64_t
back_off(unsigned failures)
{
	int64_t most = failures < 5 ? 10 * LSH_MS << failures : 250 * LSH_MS;

	return most / 2 + most / 2 / 1024 * (lsh_random32() % 1024);
}

void
lsh_node_start_dial(struct lsh_node *n, struct lsh_node_line *line, int64_t now)
{
	line->dialing = true;
	line->started = now;
	lsh_dial_start(line->dial, lsh_after(now, n->timeout));
}

void
lsh_node_attempt_failed(struct lsh_node *n, struct lsh_node_line *line, const leash_error *err, bool final)
{
	bool news, again;

	line->dialing = false;
	line->redial_at = lsh_after(lsh_now_ns(), back_off(line->failures++));
	pthread_mutex_lock(&n->mutex);
	again = lsh_status_stays(line->trouble.status) && line->trouble.status == err->status;
	news = strcmp(line->trouble.text, err->text) != 0;
	line->trouble = *err;
	line->tried = line->tried || final;
	lsh_node_wake_sleepers(n);
	pthread_mutex_unlock(&n->mutex);
	if (news)
		lsh_node_say(n, LEASH_LOG_WARNING, "%s%s", err->text, line == &n->messages ? " (wake-ups)" : "");
	if (final && again && line == &n->commands && n->ops->denied != NULL)
		n->ops->denied(n->ctx, err);
}

static void
dial_failed(struct lsh_node *n, struct lsh_node_line *line, const leash_error *err)
{
	struct lsh_master master;
	leash_error both;
	bool down;

	if (n->sentinel == NULL) {
		lsh_node_attempt_failed(n, line, err, true);
		return;
	}
	down = lsh_sentinel_answer(n->sentinel, 0, &master, NULL) == LSH_FOUND && master.down;
	lsh_fail(&both, err->status, err->sys_errno, "%.80s: %.120s%s", n->uri->shown, err->text,
	         down ? "; it is down to the sentinels, too" : "");
	/* as long as not all sentinels have answered for a first time, another master may come to light */
	lsh_node_attempt_failed(n, line, &both, lsh_sentinel_is_done(n->sentinel, n->first_wish));
}

static bool
same_server(const struct lsh_node *n)
{
	return strcmp(n->run_id, n->messages_run_id) == 0;
}

/* Once, and again only when that has changed: it is a matter for people, and not of the connection. */
static void
warn_of_eviction(struct lsh_node *n, const struct lsh_hello *hello)
{
	char name[LSH_NODE_NAME];

	if (hello->eviction[0] == '\0' || strcmp(n->eviction, hello->eviction) == 0)
		return;
	memcpy(n->eviction, hello->eviction, sizeof n->eviction);
	if (strcmp(n->eviction, LSH_NO_EVICTION) != 0)
		lsh_node_say(n, LEASH_LOG_WARNING, "%.100s: maxmemory-policy is %s: once its memory is full, this server may drop locks that are held; "
		    "set it to noeviction", lsh_node_name(n, name), n->eviction);
}

/* n->mutex held. Another life of the server than the one before: since when, at the latest, by our clock. What the server says of its age goes by
 * its wall clock, which may have been set forward since it was started. So who knew the life before counts from now: that is late, at worst
 * by the time that it was away, and true. It is true as well of another server in its place, which knows no more of what that one had granted. */
static int64_t
up_since(const struct lsh_node *n, const struct lsh_hello *hello)
{
	if (hello->uptime_ms < 0)
		return LSH_NEVER;
	return n->run_id[0] != '\0' && hello->run_id[0] != '\0' ? hello->received_ns : hello->received_ns - hello->uptime_ms * LSH_MS;
}

static void
commands_connected(struct lsh_node *n, struct lsh_hello *hello)
{
	char name[LSH_NODE_NAME];
	bool same_life;

	/* What belongs to this connection is in place before it takes commands: whoever read the epoch before it read the rest
	 * can have its command refused for the former, but never sent with what belonged to another connection. */
	atomic_store(&n->version, hello->version);
	if (!hello->alone)
		atomic_store(&n->replicated, true);
	pthread_mutex_lock(&n->mutex);
	same_life = n->run_id[0] != '\0' && strcmp(n->run_id, hello->run_id) == 0;
	/* its age goes by its wall clock: of a life that was known before, what it said then stands, whatever that clock does */
	if (!same_life)
		n->up_since = up_since(n, hello);
	memcpy(n->run_id, hello->run_id, sizeof n->run_id);
	pthread_mutex_unlock(&n->mutex);
	if (same_life)
		lsh_node_learn_clock(n, hello->server_us, n->commands.started, hello->received_ns);
	else
		lsh_node_set_clock(n, hello->server_us - hello->received_ns / LSH_US, hello->received_ns);
	if (!lsh_pipe_attach(n->pipe, hello->wire)) {
		leash_error err = {LEASH_NO_MEMORY, ENOMEM, "out of memory for a connection"};

		lsh_wire_discard(&hello->wire);
		dial_failed(n, &n->commands, &err);
		return;
	}
	pthread_mutex_lock(&n->mutex);
	n->up = true;
	n->same = same_server(n);
	atomic_store(&n->leaving, false); /* who said so a moment too late meant the connection before */
	n->commands.tried = true;
	n->commands.trouble = (leash_error){0};
	lsh_node_wake_sleepers(n);
	pthread_mutex_unlock(&n->mutex);
	n->commands.dialing = false;
	n->commands.failures = 0;
	lsh_node_say(n, LEASH_LOG_INFO, "%s: connected, version %u.%u.%u", lsh_node_name(n, name), hello->version >> 16, hello->version >> 8 & 255,
	    hello->version & 255);
	warn_of_eviction(n, hello);
	n->ops->connected(n->ctx);
}

static void
messages_connected(struct lsh_node *n, struct lsh_hello *hello)
{
	/* before the listener is up: nobody may take it for one of the server that the commands go to, if it is not */
	pthread_mutex_lock(&n->mutex);
	memcpy(n->messages_run_id, hello->run_id, sizeof n->messages_run_id);
	n->same = n->up && same_server(n);
	pthread_mutex_unlock(&n->mutex);
	n->listening = lsh_listener_attach(n->listener, hello->wire);
	if (!n->listening) {
		leash_error err = {LEASH_NO_MEMORY, ENOMEM, "out of memory for a connection"};

		lsh_wire_discard(&hello->wire);
		dial_failed(n, &n->messages, &err);
		return;
	}
	pthread_mutex_lock(&n->mutex);
	n->messages.tried = true;
	n->messages.trouble = (leash_error){0};
	lsh_node_wake_sleepers(n);
	pthread_mutex_unlock(&n->mutex);
	n->messages.dialing = false;
	n->messages.failures = 0;
	n->ops->subscribed(n->ctx);
	if (lsh_wire_is_pending(&hello->wire)) /* what came right behind the confirmation, and poll() does not tell of */
		lsh_listener_drain(n->listener);
}

static void
step(struct lsh_node *n, struct lsh_node_line *line)
{
	struct lsh_hello hello = {0};
	leash_error err = {0};

	switch (lsh_dial_step(line->dial, &hello, &err)) {
	case LSH_DIAL_WAIT:
		break;
	case LSH_DIAL_FAILED:
		dial_failed(n, line, &err);
		break;
	case LSH_DIAL_DONE:
		if (line == &n->commands)
			commands_connected(n, &hello);
		else
			messages_connected(n, &hello);
		break;
	}
}

static void
commands_lost(struct lsh_node *n, int64_t now)
{
	char name[LSH_NODE_NAME];
	bool left;

	pthread_mutex_lock(&n->mutex);
	left = atomic_exchange(&n->leaving, false);
	n->up = false;
	n->same = false;
	n->commands.trouble = (leash_error){LEASH_UNAVAILABLE, 0, ""};
	snprintf(n->commands.trouble.text, sizeof n->commands.trouble.text, "%.142s: %.100s", lsh_node_name(n, name),
	         left && !n->moved ? n->left_for : "the connection was lost");
	pthread_mutex_unlock(&n->mutex);
	if (n->moved)
		n->commands.redial_at = now; /* it is known where to go */
	else if (left)
		n->commands.redial_at = lsh_after(now, back_off(5)); /* it may need a moment to become one, and must not be stormed meanwhile */
	else
		n->commands.redial_at = lsh_after_ms(n->commands.started, 10);
	n->moved = false;
	lsh_node_say(n, LEASH_LOG_INFO, "%s: the connection was lost", name);
}

/* Close what broke, and dial what is down and due. Returns when it wants to be called again. */
static int64_t
mend(struct lsh_node *n)
{
	int64_t now = lsh_now_ns(), soonest = LSH_NEVER;
	struct lsh_wire wire;

	lsh_node_follow(n);
	wire = lsh_pipe_detach(n->pipe);
	if (wire.fd >= 0) {
		lsh_wire_discard(&wire);
		commands_lost(n, now);
	}
	wire = lsh_listener_detach(n->listener);
	if (wire.fd >= 0) {
		lsh_wire_discard(&wire);
		n->listening = false;
		if (n->messages.redial_at < lsh_after_ms(n->messages.started, 10))
			n->messages.redial_at = lsh_after_ms(n->messages.started, 10);
	}
	if (n->up && lsh_listener_is_up(n->listener) && !same_server(n)) {
		/* an address that leads to several servers, or one that was restarted in between */
		lsh_listener_break(n->listener);
		n->messages.redial_at = lsh_after(now, back_off(n->messages.failures++));
	}
	for (int i = 0; i < 2; i++) {
		struct lsh_node_line *line = i == 0 ? &n->commands : &n->messages;
		bool down = i == 0 ? !n->up : !n->listening;

		if (!down || line->dialing)
			continue;
		if (line == &n->messages && (!n->listens || (n->sentinel != NULL && n->place.host == NULL)))
			continue;
		if (line == &n->commands && n->seeking)
			lsh_node_seek(n, now);
		else if (line->redial_at <= now)
			lsh_node_begin_attempt(n, line, now);
		if (!line->dialing) {
			int64_t at = line == &n->commands && n->seeking ? n->seek_until : line->redial_at;

			soonest = at < soonest ? at : soonest;
		}
	}
	return soonest;
}

/* Sleep until there is something to do, and step the dials. */
static void
sleep_and_step(struct lsh_node *n, int64_t until)
{
	struct pollfd polled[5];
	nfds_t count = 0;
	int dial[2] = {-1, -1}, pipe_at = -1, listener_at = -1, fd;
	bool read_messages;
	struct timespec t, *timeout = NULL;

	polled[count++] = (struct pollfd){.fd = n->kick, .events = POLLIN};
	for (int i = 0; i < 2; i++) {
		struct lsh_node_line *line = i == 0 ? &n->commands : &n->messages;

		if (line->dialing) {
			int64_t deadline;

			dial[i] = (int)count;
			polled[count++] = lsh_dial_poll(line->dial, &deadline);
			until = deadline < until ? deadline : until;
		}
	}
	if ((fd = lsh_pipe_fd(n->pipe)) >= 0) {
		pipe_at = (int)count;
		polled[count++] = (struct pollfd){.fd = fd, .events = POLLRDHUP};
	}
	if ((fd = lsh_listener_fd(n->listener, &read_messages)) >= 0) {
		listener_at = (int)count;
		read_messages = read_messages && n->ops->expects_messages(n->ctx);
		polled[count++] = (struct pollfd){.fd = fd, .events = (short)(POLLRDHUP | (read_messages ? POLLIN : 0) | lsh_listener_due(n->listener))};
	}
	if (until != LSH_NEVER) {
		int64_t left = until - lsh_now_ns();

		left = left > 0 ? left : 0;
		t.tv_sec = left / LSH_S;
		t.tv_nsec = left % LSH_S;
		timeout = &t;
	}
	if (ppoll(polled, count, timeout, NULL) < 0)
		return;
	if (polled[0].revents != 0) {
		uint64_t drained;
		ssize_t ignored = read(n->kick, &drained, sizeof drained);

		(void)ignored;
	}
	if (pipe_at >= 0 && (polled[pipe_at].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
		lsh_pipe_break(n->pipe, 0);
	if (listener_at >= 0) {
		if ((polled[listener_at].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
			lsh_listener_break(n->listener);
		else if (polled[listener_at].revents != 0)
			lsh_listener_drain(n->listener);
	}
	if (dial[0] >= 0)
		step(n, &n->commands);
	if (dial[1] >= 0)
		step(n, &n->messages);
}

void *
lsh_node_keep(void *arg)
{
	struct lsh_node *n = arg;

	lsh_thread_begin("leash-keeper");
	while (!atomic_load(&n->stopping)) {
		int64_t until;

		atomic_store(&n->kicked, false); /* before anything is looked at: what comes later kicks again */
		until = mend(n);
		n->ops->work(n->ctx);
		if (!atomic_load(&n->kicked) && !atomic_load(&n->stopping))
			sleep_and_step(n, until);
	}
	return NULL;
}
