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
 * Where there are sentinels (redis+sentinel:), the line of the commands has one state more, and whatever state the two are in, the news
 * that the master is another one takes them there:
 *
 *   DOWN --redial_at has come--> SEEKING --a sentinel answers--> DIALING
 *                                   | none does, or in time: failed
 *   any --another master--> what there is is broken or stopped --> DIALING that one, at once: it is known where to go
 *
 * The line of the messages goes where the commands go, and is dialed as soon as that is known. */
#include "redis/node.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/mutation.h"
#include "base/thread.h"
#include "base/token.h"
#include "redis/dial.h"
#include "redis/listener.h"
#include "redis/sentinel.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { NAME_SIZE = 144 }; /* of a server, for messages */

struct line {
	struct lsh_dial *dial;
	bool dialing;
	int64_t started;   /* the last dial */
	int64_t redial_at;
	unsigned failures; /* in a row */
	bool tried;        /* the first attempt has ended; node->mutex guards it, and trouble */
	leash_error trouble;
};

struct lsh_node {
	const struct lsh_node_ops *ops;
	void *ctx;
	const struct lsh_uri *uri;
	int64_t timeout;
	struct lsh_pipe *pipe;
	struct lsh_listener *listener;
	int kick;
	atomic_bool kicked, stopping;
	atomic_uint version; /* of the server, as of its last hello */
	atomic_bool leaving; /* the connection is given up because this is not the server to ask */
	pthread_t keeper;
	bool keeping;

	/* the keeper's */
	struct line commands, messages;
	bool listens; /* else there is no line for messages */
	bool seeking;             /* the sentinels were asked, */
	uint64_t first_wish, wish; /* by this number, */
	int64_t seek_until;       /* and have so long to answer */
	bool located;             /* by an answer that is no older than the wish to dial */
	bool moved;               /* the connection is given up for one to another master */
	uint64_t changes;         /* of the master, that were seen */
	bool listening; /* the listener has a descriptor of ours, perhaps a broken one whose seat is taken */
	char eviction[LSH_POLICY_SIZE]; /* of the server, as far as it was told, and warned of */

	pthread_mutex_t mutex;     /* guards all down to `sleepers` */
	atomic_bool same;          /* up, and the wake-ups come from the same life of the same server; read without the mutex */
	bool up;                   /* the pipe took a connection, and we have not seen it break */
	char run_id[LSH_RUN_ID_SIZE], messages_run_id[LSH_RUN_ID_SIZE];
	int64_t up_since;          /* of the server, by our clock, at the latest; LSH_NEVER: it does not say */
	int64_t master_since;      /* likewise as the master; before all times without sentinels */
	struct lsh_uri place;      /* with sentinels: of the server that we take for the master; zeroed: unknown yet. Only the keeper writes it */
	char left_for[132];        /* what the server said for which it was left */
	struct lsh_list sleepers;  /* struct sleeper */

	struct lsh_sentinel *sentinel; /* NULL: the URI says where the server is */

	/* server time in us = local time in us + offset */
	_Atomic int64_t offset_us, learned;
};

struct sleeper {
	struct lsh_list link;
	struct lsh_parker *parker;
};

static void
say(struct lsh_node *n, leash_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void
say(struct lsh_node *n, leash_log_level level, const char *format, ...)
{
	char line[256];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	n->ops->log(n->ctx, level, line);
}

static void
kick(void *ctx)
{
	struct lsh_node *n = ctx;
	uint64_t one = 1;
	ssize_t ignored;

	if (atomic_exchange(&n->kicked, true))
		return;
	ignored = write(n->kick, &one, sizeof one); /* does not block: the counter is far from full */
	(void)ignored;
}

void
lsh_node_kick(struct lsh_node *n)
{
	kick(n);
}

static void
heard(void *ctx, const char *text, size_t size)
{
	struct lsh_node *n = ctx;

	n->ops->message(n->ctx, text, size);
}

static void
channel_subscribed(void *ctx, const char *channel, size_t size)
{
	struct lsh_node *n = ctx;

	n->ops->channel_subscribed(n->ctx, channel, size);
}

static void
channel_unsubscribed(void *ctx, const char *channel, size_t size)
{
	struct lsh_node *n = ctx;

	n->ops->channel_unsubscribed(n->ctx, channel, size);
}

static void
channel_refused(void *ctx, const char *channel, size_t size, const char *text)
{
	struct lsh_node *n = ctx;

	n->ops->channel_refused(n->ctx, channel, size, text);
}

/* n->mutex held */
static void
wake_sleepers(struct lsh_node *n)
{
	for (struct lsh_list *link = n->sleepers.next; link != &n->sleepers; link = link->next)
		lsh_unpark(lsh_container(link, struct sleeper, link)->parker);
}

/* The server, for messages: with sentinels both the deployment and the master. The keeper, or n->mutex held. */
static const char *
name_server(const struct lsh_node *n, char out[static NAME_SIZE])
{
	if (n->place.shown == NULL)
		snprintf(out, NAME_SIZE, "%.110s", n->uri->shown);
	else
		snprintf(out, NAME_SIZE, "%.80s (%.60s)", n->uri->shown, n->place.shown);
	return out;
}

/* ---- the server's clock ---- */

int64_t
lsh_node_server_us(struct lsh_node *n, int64_t at)
{
	return at / LSH_US + atomic_load_explicit(&n->offset_us, memory_order_relaxed);
}

int64_t
lsh_node_server_us_at_least(struct lsh_node *n, int64_t at)
{
	int64_t age = at - atomic_load_explicit(&n->learned, memory_order_relaxed);

	return lsh_node_server_us(n, at) - (age > 0 ? age / LSH_US / 100 : 0);
}

static void
set_clock(struct lsh_node *n, int64_t offset_us, int64_t received)
{
	atomic_store_explicit(&n->offset_us, offset_us, memory_order_relaxed);
	atomic_store_explicit(&n->learned, received, memory_order_relaxed);
}

void
lsh_node_learn_clock(struct lsh_node *n, int64_t server_us, int64_t sent, int64_t received)
{
	int64_t offset, age_us, least, most, off, drift;

	if (sent == LSH_NEVER || received == LSH_NEVER)
		return; /* our own clock could not be read */
	offset = atomic_load_explicit(&n->offset_us, memory_order_relaxed);
	age_us = (received - atomic_load_explicit(&n->learned, memory_order_relaxed)) / LSH_US;
	least = server_us - received / LSH_US; /* it was read between these two */
	most = server_us - sent / LSH_US;
	off = offset < least ? least - offset : offset > most ? most - offset : 0;
	drift = age_us > 0 ? age_us / 100 : 0;
	/* what we believe is among what is possible, and perhaps from a faster answer: keep it */
	set_clock(n, off == 0 ? offset : least, received);
	if (off > 1000000 + drift || off < -1000000 - drift)
		n->ops->clock_jumped(n->ctx, off);
}

int64_t
lsh_node_uptime(struct lsh_node *n, int64_t now)
{
	int64_t since;

	pthread_mutex_lock(&n->mutex);
	since = n->up_since;
	/* a replica that was made the master may lack what the one before had granted, just as one that was restarted */
	if (n->sentinel != NULL && (since == LSH_NEVER || since < n->master_since))
		since = n->master_since;
	pthread_mutex_unlock(&n->mutex);
	if (since == LSH_NEVER || LSH_MUTATES(LSH_RESTARTS_DO_NOT_COUNT))
		return LSH_NEVER;
	return now != LSH_NEVER ? now - since : 0; /* `since` may be long before our own start */
}

/* ---- the keeper ---- */

/* A new connection costs the server more than a command, and all clients come at once when it is back: hence up to 250 ms, the upper
 * half of it by chance. More would delay the news that a lock is free, and a renewal. */
static int64_t
back_off(unsigned failures)
{
	int64_t most = failures < 5 ? 10 * LSH_MS << failures : 250 * LSH_MS;

	return most / 2 + most / 2 / 1024 * (lsh_random32() % 1024);
}

static void
start_dial(struct lsh_node *n, struct line *line, int64_t now)
{
	line->dialing = true;
	line->started = now;
	lsh_dial_start(line->dial, lsh_after(now, n->timeout));
}

/* Neither sought nor dialed successfully. `final`: who awaits the outcome of the first attempt is to be told of it. */
static void
attempt_failed(struct lsh_node *n, struct line *line, const leash_error *err, bool final)
{
	bool news;

	line->dialing = false;
	line->redial_at = lsh_after(lsh_now_ns(), back_off(line->failures++));
	pthread_mutex_lock(&n->mutex);
	news = strcmp(line->trouble.text, err->text) != 0;
	line->trouble = *err;
	line->tried = line->tried || final;
	wake_sleepers(n);
	pthread_mutex_unlock(&n->mutex);
	if (news)
		say(n, LEASH_LOG_WARNING, "%s%s", err->text, line == &n->messages ? " (wake-ups)" : "");
}

static void
dial_failed(struct lsh_node *n, struct line *line, const leash_error *err)
{
	struct lsh_master master;
	leash_error both;
	bool down;

	if (n->sentinel == NULL) {
		attempt_failed(n, line, err, true);
		return;
	}
	down = lsh_sentinel_answer(n->sentinel, 0, &master, NULL) == LSH_FOUND && master.down;
	lsh_fail(&both, err->status, err->sys_errno, "%.80s: %.120s%s", n->uri->shown, err->text,
	         down ? "; it is down to the sentinels, too" : "");
	/* as long as not all sentinels have answered for a first time, another master may come to light */
	attempt_failed(n, line, &both, lsh_sentinel_is_done(n->sentinel, n->first_wish));
}

/* ---- where the server is ---- */

/* From now on both lines lead to `master`. Returns whether that is elsewhere; false also without memory: then `*err` says so. */
static bool
move(struct lsh_node *n, const struct lsh_master *master, leash_error *err)
{
	struct lsh_uri place = {0}, old;
	bool same;

	pthread_mutex_lock(&n->mutex);
	n->master_since = master->since;
	same = n->place.host != NULL && n->place.port == master->at.port && strcmp(n->place.host, master->at.host) == 0;
	pthread_mutex_unlock(&n->mutex);
	if (same)
		return false;
	if (!lsh_uri_of_server(&place, n->uri, master->at.host, master->at.port)) {
		lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%.120s: out of memory for the address of its master", n->uri->shown);
		return false;
	}
	pthread_mutex_lock(&n->mutex);
	old = n->place;
	n->place = place;
	pthread_mutex_unlock(&n->mutex);
	lsh_dial_move(n->commands.dial, &n->place); /* which do not look at the old one any more */
	lsh_dial_move(n->messages.dial, &n->place);
	lsh_uri_clear(&old);
	n->commands.dialing = n->messages.dialing = false;
	lsh_listener_break(n->listener);
	n->messages.redial_at = 0;
	n->messages.failures = 0;
	say(n, LEASH_LOG_INFO, "%.110s: the master is %.60s", n->uri->shown, n->place.shown);
	return true;
}

/* If the sentinels have named another master, leave this one for it. */
static void
follow(struct lsh_node *n)
{
	uint64_t changes = n->sentinel != NULL ? lsh_sentinel_changes(n->sentinel) : 0;
	struct lsh_master master;
	leash_error err = {0};

	if (changes == n->changes || n->seeking) /* who seeks comes to the same */
		return;
	n->changes = changes;
	if (lsh_sentinel_answer(n->sentinel, 0, &master, NULL) != LSH_FOUND)
		return;
	if (move(n, &master, &err)) {
		n->located = true;
		n->moved = n->up;
		n->commands.redial_at = 0;
		n->commands.failures = 0;
		lsh_pipe_break(n->pipe, 0);
	} else if (err.status != LEASH_OK) {
		n->changes--; /* again, as soon as something happens */
	}
}

/* See what the sentinels have answered, and dial that. */
static void
seek(struct lsh_node *n, int64_t now)
{
	struct lsh_master master;
	leash_error err = {0};

	switch (lsh_sentinel_answer(n->sentinel, n->wish, &master, &err)) {
	case LSH_NOT_YET:
		if (now < n->seek_until)
			return;
		lsh_fail(&err, LEASH_UNAVAILABLE, ETIMEDOUT, "%.120s: no sentinel answered in time", n->uri->shown);
		break;
	case LSH_NOBODY_KNOWS:
		break;
	case LSH_FOUND:
		move(n, &master, &err);
		break;
	}
	n->seeking = false;
	if (err.status != LEASH_OK)
		attempt_failed(n, &n->commands, &err, true);
	else
		start_dial(n, &n->commands, now);
}

/* An attempt is due. */
static void
begin_attempt(struct lsh_node *n, struct line *line, int64_t now)
{
	if (n->sentinel == NULL || line == &n->messages || n->located) {
		if (line == &n->commands)
			n->located = false;
		start_dial(n, line, now);
		return;
	}
	n->seeking = true;
	n->wish = lsh_sentinel_wish(n->sentinel);
	if (n->first_wish == 0)
		n->first_wish = n->wish;
	n->seek_until = lsh_after(now, n->timeout);
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
	char name[NAME_SIZE];

	if (hello->eviction[0] == '\0' || strcmp(n->eviction, hello->eviction) == 0)
		return;
	memcpy(n->eviction, hello->eviction, sizeof n->eviction);
	if (strcmp(n->eviction, LSH_NO_EVICTION) != 0)
		say(n, LEASH_LOG_WARNING, "%.100s: maxmemory-policy is %s: once its memory is full, this server may drop locks that are held; "
		    "set it to noeviction", name_server(n, name), n->eviction);
}

static void
commands_connected(struct lsh_node *n, struct lsh_hello *hello)
{
	char name[NAME_SIZE];
	bool same_life;

	/* What belongs to this connection is in place before it takes commands: whoever read the epoch before it read the rest
	 * can have its command refused for the former, but never sent with what belonged to another connection. */
	atomic_store(&n->version, hello->version);
	pthread_mutex_lock(&n->mutex);
	same_life = n->run_id[0] != '\0' && strcmp(n->run_id, hello->run_id) == 0;
	memcpy(n->run_id, hello->run_id, sizeof n->run_id);
	/* its age goes by its wall clock: of a life that was known before, what it said then stands, whatever that clock does */
	if (!same_life)
		n->up_since = hello->uptime_ms < 0 ? LSH_NEVER : hello->received_ns - hello->uptime_ms * LSH_MS;
	pthread_mutex_unlock(&n->mutex);
	if (same_life)
		lsh_node_learn_clock(n, hello->server_us, n->commands.started, hello->received_ns);
	else
		set_clock(n, hello->server_us - hello->received_ns / LSH_US, hello->received_ns);
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
	wake_sleepers(n);
	pthread_mutex_unlock(&n->mutex);
	n->commands.dialing = false;
	n->commands.failures = 0;
	say(n, LEASH_LOG_INFO, "%s: connected, version %u.%u.%u", name_server(n, name), hello->version >> 16, hello->version >> 8 & 255,
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
	wake_sleepers(n);
	pthread_mutex_unlock(&n->mutex);
	n->messages.dialing = false;
	n->messages.failures = 0;
	n->ops->subscribed(n->ctx);
	if (lsh_wire_is_pending(&hello->wire)) /* what came right behind the confirmation, and poll() does not tell of */
		lsh_listener_drain(n->listener);
}

static void
step(struct lsh_node *n, struct line *line)
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
	char name[NAME_SIZE];
	bool left;

	pthread_mutex_lock(&n->mutex);
	left = atomic_exchange(&n->leaving, false);
	n->up = false;
	n->same = false;
	n->commands.trouble = (leash_error){LEASH_UNAVAILABLE, 0, ""};
	snprintf(n->commands.trouble.text, sizeof n->commands.trouble.text, "%.142s: %.100s", name_server(n, name),
	         left && !n->moved ? n->left_for : "the connection was lost");
	pthread_mutex_unlock(&n->mutex);
	if (n->moved)
		n->commands.redial_at = now; /* it is known where to go */
	else if (left)
		n->commands.redial_at = lsh_after(now, back_off(5)); /* it may need a moment to become one, and must not be stormed meanwhile */
	else
		n->commands.redial_at = lsh_after_ms(n->commands.started, 10);
	n->moved = false;
	say(n, LEASH_LOG_INFO, "%s: the connection was lost", name);
}

/* Close what broke, and dial what is down and due. Returns when it wants to be called again. */
static int64_t
mend(struct lsh_node *n)
{
	int64_t now = lsh_now_ns(), soonest = LSH_NEVER;
	struct lsh_wire wire;

	follow(n);
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
		struct line *line = i == 0 ? &n->commands : &n->messages;
		bool down = i == 0 ? !n->up : !n->listening;

		if (!down || line->dialing)
			continue;
		if (line == &n->messages && (!n->listens || (n->sentinel != NULL && n->place.host == NULL)))
			continue;
		if (line == &n->commands && n->seeking)
			seek(n, now);
		else if (line->redial_at <= now)
			begin_attempt(n, line, now);
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
		struct line *line = i == 0 ? &n->commands : &n->messages;

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

static void *
keep(void *arg)
{
	struct lsh_node *n = arg;

	lsh_thread_name("leash-keeper");
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

/* ---- callers ---- */

bool
lsh_node_is_up(struct lsh_node *n)
{
	return lsh_pipe_is_up(n->pipe);
}

bool
lsh_node_is_subscribed(struct lsh_node *n)
{
	/* in this order: `same` is set before a listener is up */
	return lsh_listener_is_up(n->listener) && atomic_load(&n->same);
}

void
lsh_node_await(struct lsh_node *n, struct lsh_parker *parker, bool subscribed, int64_t deadline)
{
	struct sleeper sleeper = {.parker = parker};

	pthread_mutex_lock(&n->mutex);
	lsh_list_append(&n->sleepers, &sleeper.link);
	pthread_mutex_unlock(&n->mutex);
	/* whoever makes it true wakes the sleepers afterwards */
	if (!(subscribed ? lsh_node_is_subscribed(n) : lsh_node_is_up(n)) && !atomic_load(&n->stopping))
		lsh_park(parker, deadline);
	pthread_mutex_lock(&n->mutex);
	lsh_list_remove(&sleeper.link);
	pthread_mutex_unlock(&n->mutex);
}

leash_status
lsh_node_trouble(struct lsh_node *n, char *text, size_t size, int *sys_errno)
{
	leash_status status = LEASH_UNAVAILABLE;
	char name[NAME_SIZE];

	pthread_mutex_lock(&n->mutex);
	if (lsh_pipe_is_up(n->pipe)) {
		snprintf(text, size, "%s: no answer in time", name_server(n, name));
	} else {
		const leash_error *trouble = &n->commands.trouble;

		if (trouble->status != LEASH_OK)
			status = trouble->status;
		if (status == LEASH_OK || trouble->text[0] == '\0')
			snprintf(text, size, "%s: the connection was lost", name_server(n, name));
		else
			snprintf(text, size, "%s", trouble->text);
		if (sys_errno != NULL)
			*sys_errno = trouble->sys_errno;
	}
	pthread_mutex_unlock(&n->mutex);
	return status;
}

void
lsh_node_leave(struct lsh_node *n, uint64_t epoch, const char *why)
{
	if (lsh_pipe_epoch(n->pipe) != epoch && !LSH_MUTATES(LSH_EPOCHS_DO_NOT_COUNT))
		return; /* it has been left already */
	pthread_mutex_lock(&n->mutex);
	snprintf(n->left_for, sizeof n->left_for, "%s", why);
	pthread_mutex_unlock(&n->mutex);
	if (!atomic_exchange(&n->leaving, true))
		say(n, LEASH_LOG_WARNING, "%s: leaving this server: %s", n->uri->shown, why);
	lsh_pipe_break(n->pipe, epoch);
	lsh_listener_break(n->listener);
}

leash_status
lsh_node_await_hello(struct lsh_node *n, leash_error *err)
{
	struct lsh_thread *self = lsh_self();
	struct sleeper sleeper;
	leash_error refusal = {0};

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory");
	sleeper.parker = &self->parker;
	pthread_mutex_lock(&n->mutex);
	lsh_list_append(&n->sleepers, &sleeper.link);
	while (!n->commands.tried || (n->up && n->listens && !n->messages.tried)) {
		pthread_mutex_unlock(&n->mutex);
		lsh_park(&self->parker, LSH_NEVER); /* the dials have deadlines */
		pthread_mutex_lock(&n->mutex);
	}
	lsh_list_remove(&sleeper.link);
	if (!n->up)
		refusal = n->commands.trouble;
	else if (n->messages.trouble.status == LEASH_DENIED)
		refusal = n->messages.trouble;
	pthread_mutex_unlock(&n->mutex);
	if (refusal.status != LEASH_OK && err != NULL)
		*err = refusal;
	return refusal.status;
}

struct lsh_pipe *
lsh_node_pipe(struct lsh_node *n)
{
	return n->pipe;
}

struct lsh_listener *
lsh_node_listener(struct lsh_node *n)
{
	return n->listener;
}

unsigned
lsh_node_version(struct lsh_node *n)
{
	return atomic_load(&n->version);
}

const char *
lsh_node_shown(const struct lsh_node *n)
{
	return n->uri->shown;
}

const struct lsh_uri *
lsh_node_where(struct lsh_node *n, struct lsh_uri *moved)
{
	bool known;

	*moved = (struct lsh_uri){0};
	if (n->sentinel == NULL)
		return n->uri;
	pthread_mutex_lock(&n->mutex);
	known = n->place.host != NULL && lsh_uri_of_server(moved, n->uri, n->place.host, n->place.port);
	pthread_mutex_unlock(&n->mutex);
	return known ? moved : NULL;
}

/* ---- life ---- */

void
lsh_node_stop(struct lsh_node *n)
{
	atomic_store(&n->stopping, true);
	if (n->sentinel != NULL)
		lsh_sentinel_stop(n->sentinel);
	kick(n);
	if (n->keeping) {
		pthread_join(n->keeper, NULL);
		n->keeping = false;
	}
	lsh_pipe_break(n->pipe, 0);
	lsh_listener_break(n->listener);
	pthread_mutex_lock(&n->mutex);
	wake_sleepers(n);
	pthread_mutex_unlock(&n->mutex);
}

void
lsh_node_forsake(struct lsh_node *n)
{
	if (n->sentinel != NULL)
		lsh_sentinel_forsake(n->sentinel);
	lsh_pipe_forsake(n->pipe);
	lsh_listener_forsake(n->listener);
	close(n->kick);
}

void
lsh_node_free(struct lsh_node *n)
{
	if (n == NULL)
		return;
	lsh_sentinel_free(n->sentinel);
	lsh_dial_free(n->commands.dial);
	lsh_dial_free(n->messages.dial);
	lsh_pipe_free(n->pipe);
	lsh_listener_free(n->listener);
	lsh_uri_clear(&n->place);
	if (n->kick >= 0)
		close(n->kick);
	pthread_mutex_destroy(&n->mutex);
	lsh_free(n);
}

static void
sentinel_log(void *ctx, leash_log_level level, const char *line)
{
	struct lsh_node *n = ctx;

	n->ops->log(n->ctx, level, line);
}

static struct lsh_sentinel *
make_sentinel(struct lsh_node *n, const struct lsh_node_options *options)
{
	static const struct lsh_sentinel_ops ops = {.news = kick, .log = sentinel_log};
	const struct lsh_sentinel_options o = {.uri = options->uri, .name = options->name, .timeout = options->timeout, .period = options->ask_every};

	return lsh_sentinel_new(&o, &ops, n);
}

struct lsh_node *
lsh_node_new(const struct lsh_node_options *options, const struct lsh_node_ops *ops, void *ctx)
{
	static const struct lsh_pipe_ops pipe_ops = {.broke = kick};
	static const struct lsh_listener_ops listener_ops = {.message = heard, .broke = kick}, sharded_ops = {
		.message = heard, .broke = kick, .unattended = kick,
		.subscribed = channel_subscribed, .unsubscribed = channel_unsubscribed, .refused = channel_refused,
	};
	struct lsh_node *n = lsh_new(struct lsh_node);

	if (n == NULL)
		return NULL;
	n->ops = ops;
	n->ctx = ctx;
	n->uri = options->uri;
	n->timeout = options->timeout;
	n->listens = options->channel != NULL || ops->channel_subscribed != NULL;
	n->up_since = LSH_NEVER;
	n->commands.started = n->messages.started = INT64_MIN / 2;
	pthread_mutex_init(&n->mutex, NULL);
	lsh_list_init(&n->sleepers);
	n->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	n->pipe = lsh_pipe_new(&pipe_ops, n);
	n->listener = lsh_listener_new(ops->channel_subscribed != NULL ? &sharded_ops : &listener_ops, n);
	n->commands.dial = lsh_dial_new(options->uri, options->name, NULL);
	n->messages.dial = lsh_dial_new(options->uri, options->name, options->channel != NULL ? options->channel : "");
	if (n->kick < 0 || n->pipe == NULL || n->listener == NULL || n->commands.dial == NULL || n->messages.dial == NULL)
		goto fail;
	if (options->uri->deployment == LSH_SENTINEL && (n->sentinel = make_sentinel(n, options)) == NULL)
		goto fail;
	if (n->sentinel != NULL || options->master_only) {
		lsh_dial_want(n->commands.dial, LSH_WANT_MASTER);
		lsh_dial_want(n->messages.dial, LSH_WANT_MASTER);
	}
	return n;

fail:
	lsh_node_free(n);
	return NULL;
}

bool
lsh_node_start(struct lsh_node *n)
{
	if (n->sentinel != NULL && !lsh_sentinel_start(n->sentinel))
		return false;
	n->keeping = lsh_thread_start(&n->keeper, keep, n) == 0;
	if (!n->keeping && n->sentinel != NULL)
		lsh_sentinel_stop(n->sentinel);
	return n->keeping;
}
