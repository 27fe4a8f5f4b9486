/* The keeper's loop: mend what is broken, run the work, sleep until something happens.
 *
 * Each of the two connections is a line:
 *
 *   DOWN --reconnect_at has come--> CONNECTING --hello--> UP --broke--> BROKEN --seats vacant-> DOWN
 *             ^                     |
 *             +------- failed ------+   (back-off: 10 ms doubling to 250 ms, the upper half by chance)
 *
 * The first attempt after a break starts at once, but never sooner than 10 ms after the one before.
 *
 * Before the line of the commands is connected it is found out where (node_place.c): with sentinels that takes its
 * time, and the news of another master ends any state of both lines. The line of the messages goes where the commands
 * go, as soon as that is known. */
#include "redis/node_inside.h"

#include "base/clock.h"
#include "base/thread.h"
#include "base/token.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* ---- attempts to connect ---- */

/* All clients come at once when a server is back, and a connection costs it more than a command: hence up to 250 ms,
 * the upper half of it by chance. More would delay the news that a lock is free, and a renewal. */
static int64_t
back_off(unsigned failures)
{
	int64_t most = failures < 5 ? 10 * LSH_MS << failures : 250 * LSH_MS;

	return most / 2 + most / 2 / 1024 * (lsh_random32() % 1024);
}

static void
start_connector(struct lsh_node *n, struct lsh_node_line *line, int64_t now)
{
	line->connecting = true;
	line->started = now;
	lsh_connector_start(line->connector, lsh_after(now, n->timeout));
}

/* Neither located nor connected successfully. `final`: who awaits the outcome of the first attempt is to be told of
 * it. */
static void
attempt_failed(struct lsh_node *n, struct lsh_node_line *line, const leash_error *err, bool final)
{
	int64_t now = lsh_now_ns();
	bool news, again;

	line->connecting = false;
	line->reconnect_at = now != LSH_NEVER ? lsh_after(now, back_off(line->failures++)) : 0;
	pthread_mutex_lock(&n->mutex);
	again = lsh_status_stays(line->trouble.status) && line->trouble.status == err->status;
	news = strcmp(line->trouble.text, err->text) != 0;
	line->trouble = *err;
	line->tried = line->tried || final;
	pthread_cond_broadcast(&n->outcome);
	pthread_mutex_unlock(&n->mutex);
	if (news)
		lsh_courier_log(n->courier, LEASH_LOG_WARNING, "%s%s", err->text, line == &n->messages ? " (wake-ups)" : "");
	if (final && again && line == &n->commands && n->ops->denied != NULL)
		n->ops->denied(n->ctx, err);
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
	char name[LSH_SERVER_NAME];

	if (hello->eviction[0] == '\0' || strcmp(n->eviction, hello->eviction) == 0)
		return;
	memcpy(n->eviction, hello->eviction, sizeof n->eviction);
	if (strcmp(n->eviction, LSH_NO_EVICTION) != 0)
		lsh_courier_log(n->courier, LEASH_LOG_WARNING,
		             "%.100s: maxmemory-policy is %s: once its memory is full, this server may drop locks that are "
		             "held; set it to noeviction", lsh_node_name(n, name), n->eviction);
}

/* n->mutex held. Another life of the server than the one before: since when, at the latest, by our clock. What the
 * server says of its age goes by its wall clock, which may have been set forward since its start. So if we knew the
 * life before, this one counts from now: that is true, and late at worst by the time that it was away. It holds for
 * another server in its place, too, which knows no more of what the one before had granted. */
static int64_t
up_since(const struct lsh_node *n, const struct lsh_hello *hello)
{
	if (hello->uptime_ms < 0)
		return LSH_NEVER;
	if (n->run_id[0] != '\0' && hello->run_id[0] != '\0')
		return hello->received_ns;
	return hello->received_ns - hello->uptime_ms * LSH_MS;
}

/* What belongs to a connection is in place before it takes commands. So a caller that read the epoch first, and then
 * the rest, may have its command refused, but it is never sent with what belonged to another connection. */
static bool
attach_commands(struct lsh_node *n, const struct lsh_hello *hello)
{
	bool same_life;

	atomic_store(&n->version, hello->version);
	if (!hello->alone)
		atomic_store(&n->replicated, true);
	pthread_mutex_lock(&n->mutex);
	same_life = n->run_id[0] != '\0' && strcmp(n->run_id, hello->run_id) == 0;
	/* its age goes by its wall clock: of a life that was known before, what it said then stands, whatever that clock
	 * does */
	if (!same_life)
		atomic_store(&n->up_since, up_since(n, hello));
	memcpy(n->run_id, hello->run_id, sizeof n->run_id);
	pthread_mutex_unlock(&n->mutex);
	if (same_life)
		lsh_node_learn_clock(n, hello->server_us, n->commands.started, hello->received_ns);
	else
		lsh_node_set_clock(n, hello->server_us - hello->received_ns / LSH_US, hello->received_ns);
	return lsh_pipeline_attach(n->pipeline, hello->stream);
}

/* Before the pubsub is up: nobody may take it for one of the server that the commands go to, if it is not. */
static bool
attach_messages(struct lsh_node *n, const struct lsh_hello *hello)
{
	pthread_mutex_lock(&n->mutex);
	memcpy(n->messages_run_id, hello->run_id, sizeof n->messages_run_id);
	n->same = n->commands.up && same_server(n);
	pthread_mutex_unlock(&n->mutex);
	return lsh_pubsub_attach(n->pubsub, hello->stream);
}

static void
connected(struct lsh_node *n, struct lsh_node_line *line, struct lsh_hello *hello)
{
	bool commands = line == &n->commands;
	leash_error err = {LEASH_NO_MEMORY, ENOMEM, "out of memory for a connection"};
	char name[LSH_SERVER_NAME];

	if (!(commands ? attach_commands(n, hello) : attach_messages(n, hello))) {
		lsh_stream_discard(&hello->stream);
		attempt_failed(n, line, &err, lsh_node_explain(n, &err));
		return;
	}
	line->connecting = false;
	line->failures = 0;
	pthread_mutex_lock(&n->mutex);
	line->up = true;
	line->tried = true;
	line->trouble = (leash_error){0};
	n->same = n->commands.up && same_server(n);
	if (commands)
		atomic_store(&n->leaving, false); /* who said so a moment too late meant the connection before */
	pthread_cond_broadcast(&n->outcome);
	pthread_mutex_unlock(&n->mutex);
	if (!commands) {
		if (n->ops->subscribed != NULL)
			n->ops->subscribed(n->ctx);
		if (lsh_stream_is_pending(&hello->stream)) /* right behind the confirmation: poll() does not tell of it */
			lsh_pubsub_drain(n->pubsub);
		return;
	}
	lsh_courier_log(n->courier, LEASH_LOG_INFO, "%s: connected, version %u.%u.%u", lsh_node_name(n, name),
	             hello->version >> 16, hello->version >> 8 & 255, hello->version & 255);
	warn_of_eviction(n, hello);
	n->ops->connected(n->ctx);
}

static void
step(struct lsh_node *n, struct lsh_node_line *line)
{
	struct lsh_hello hello = {0};
	leash_error err = {0};
	enum lsh_progress progress = lsh_connector_step(line->connector, &hello, &err);

	if (progress == LSH_FAILED)
		attempt_failed(n, line, &err, lsh_node_explain(n, &err));
	else if (progress == LSH_DONE)
		connected(n, line, &hello);
}

static void
commands_lost(struct lsh_node *n, int64_t now)
{
	char name[LSH_SERVER_NAME];
	bool left;

	lsh_node_name(n, name);
	pthread_mutex_lock(&n->mutex);
	left = atomic_exchange(&n->leaving, false);
	n->commands.up = false;
	n->same = false;
	n->commands.trouble = (leash_error){LEASH_UNAVAILABLE, 0, ""};
	snprintf(n->commands.trouble.text, sizeof n->commands.trouble.text, "%.142s: %.100s",
	         name, left && !n->moved ? n->left_for : "the connection was lost");
	pthread_mutex_unlock(&n->mutex);
	if (n->moved)
		n->commands.reconnect_at = now; /* it is known where to go */
	else if (left)
		n->commands.reconnect_at = lsh_after(now, back_off(5)); /* it may need a moment, and must not be stormed */
	else
		n->commands.reconnect_at = lsh_after_ms(n->commands.started, 10);
	n->moved = false;
	lsh_courier_log(n->courier, LEASH_LOG_INFO, "%s: the connection was lost", name);
}

/* ---- the keeper's rounds ---- */

/* Leave the server if it is not the one to ask any more, and close what broke. */
static void
clear_away(struct lsh_node *n, int64_t now)
{
	struct lsh_stream stream;

	if (lsh_node_follow(n)) {
		n->moved = n->commands.up;
		n->commands.reconnect_at = 0;
		n->commands.failures = 0;
		lsh_pipeline_break(n->pipeline, 0);
	}
	stream = lsh_pipeline_detach(n->pipeline);
	if (stream.fd >= 0) {
		lsh_stream_discard(&stream);
		commands_lost(n, now);
	}
	stream = lsh_pubsub_detach(n->pubsub);
	if (stream.fd >= 0) {
		lsh_stream_discard(&stream);
		n->messages.up = false;
		if (n->messages.reconnect_at < lsh_after_ms(n->messages.started, 10))
			n->messages.reconnect_at = lsh_after_ms(n->messages.started, 10);
	}
	if (n->commands.up && lsh_pubsub_is_up(n->pubsub) && !same_server(n)) {
		/* an address that leads to several servers, or one that was restarted in between */
		lsh_pubsub_break(n->pubsub);
		n->messages.reconnect_at = lsh_after(now, back_off(n->messages.failures++));
	}
}

/* Connect what is down, if it is time to. These two lower `*until` to when they want to be called again. */

static void
connect_commands(struct lsh_node *n, int64_t now, int64_t *until)
{
	struct lsh_node_line *line = &n->commands;
	enum lsh_located located = LSH_LOCATED_WAIT;
	int64_t again = line->reconnect_at;
	leash_error err;

	if (line->up || line->connecting)
		return;
	if (n->seeking || now >= line->reconnect_at)
		located = lsh_node_locate(n, now, &again, &err);
	if (located == LSH_LOCATED_FAILED) {
		attempt_failed(n, line, &err, true);
		again = line->reconnect_at;
	}
	if (located == LSH_LOCATED_DIAL)
		start_connector(n, line, now);
	else
		*until = again < *until ? again : *until;
}

static void
connect_messages(struct lsh_node *n, int64_t now, int64_t *until)
{
	struct lsh_node_line *line = &n->messages;

	if (!n->listens || line->up || line->connecting || n->place == NULL)
		return;
	if (now >= line->reconnect_at)
		start_connector(n, line, now);
	else
		*until = line->reconnect_at < *until ? line->reconnect_at : *until;
}

/* Mend what is broken. Returns when it wants to be called again: at once if the clock cannot be read. */
static int64_t
mend(struct lsh_node *n)
{
	int64_t now = lsh_now_ns(), until;

	if (now == LSH_NEVER)
		return 0;
	clear_away(n, now);
	until = lsh_pipeline_shrink(n->pipeline, now);
	connect_commands(n, now, &until);
	connect_messages(n, now, &until);
	return until;
}

static bool
expects_messages(const struct lsh_node *n)
{
	return n->ops->expects_messages != NULL && n->ops->expects_messages(n->ctx);
}

/* Sleep until there is something to do, and step the connectors. */
static void
sleep_and_step(struct lsh_node *n, int64_t until)
{
	static const short ends = POLLRDHUP | POLLHUP | POLLERR;
	struct pollfd polled[5] = {
		[1] = {.fd = lsh_pipeline_fd(n->pipeline), .events = POLLRDHUP},
		[2] = lsh_pubsub_poll(n->pubsub, expects_messages(n)),
	};
	bool commands = n->commands.connecting, messages = n->messages.connecting;
	nfds_t count = 3;

	count += lsh_connector_poll(n->commands.connector, polled + count, &until);
	count += lsh_connector_poll(n->messages.connector, polled + count, &until);
	if (!lsh_kick_poll(n->kick, polled, count, until))
		return;
	if ((polled[1].revents & ends) != 0)
		lsh_pipeline_break(n->pipeline, 0);
	if ((polled[2].revents & ends) != 0)
		lsh_pubsub_break(n->pubsub);
	else if (polled[2].revents != 0)
		lsh_pubsub_drain(n->pubsub);
	if (commands)
		step(n, &n->commands);
	if (messages)
		step(n, &n->messages);
}

static bool
is_kicked(void *arg)
{
	const struct lsh_node *n = arg;

	return atomic_load(&n->kicked) || atomic_load(&n->stopping);
}

static bool
is_called_off(void *arg)
{
	const struct lsh_node *n = arg;

	return is_kicked(arg) || lsh_pubsub_is_ready(n->pubsub);
}

/* Read the answers for which no other thread reads, for as long as there are some and nothing else is to be done. */
static void
serve(struct lsh_node *n)
{
	struct lsh_thread *self = lsh_self();

	if (self == NULL)
		return; /* another time: whoever is kicked comes again */
	atomic_store(&n->parker, &self->parker);
	lsh_pipeline_serve(n->pipeline, &self->parker, is_called_off, n);
	atomic_store(&n->parker, NULL);
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
		if (lsh_pubsub_is_ready(n->pubsub)) /* it may be kicked again and again */
			lsh_pubsub_drain(n->pubsub);
		serve(n);
		if (!atomic_load(&n->kicked) && !atomic_load(&n->stopping))
			sleep_and_step(n, until);
	}
	return NULL;
}
