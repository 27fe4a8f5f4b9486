/* A node, as others see it: what they ask of it and wait for, and its life. The rest is in parts of its own: node_inside.h. */
#include "redis/node_inside.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/mutation.h"
#include "base/thread.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct sleeper {
	struct lsh_list link;
	struct lsh_parker *parker;
};

void
lsh_node_say(struct lsh_node *n, leash_log_level level, const char *format, ...)
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

void
lsh_node_wake_sleepers(struct lsh_node *n)
{
	for (struct lsh_list *link = n->sleepers.next; link != &n->sleepers; link = link->next)
		lsh_unpark(lsh_container(link, struct sleeper, link)->parker);
}

const char *
lsh_node_name(const struct lsh_node *n, char out[static LSH_NODE_NAME])
{
	if (n->place.shown == NULL)
		snprintf(out, LSH_NODE_NAME, "%.110s", n->uri->shown);
	else
		snprintf(out, LSH_NODE_NAME, "%.80s (%.60s)", n->uri->shown, n->place.shown);
	return out;
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

bool
lsh_node_has_tried(struct lsh_node *n)
{
	bool tried;

	pthread_mutex_lock(&n->mutex);
	tried = n->commands.tried;
	pthread_mutex_unlock(&n->mutex);
	return tried;
}

leash_status
lsh_node_trouble(struct lsh_node *n, char *text, size_t size, int *sys_errno)
{
	leash_status status = LEASH_UNAVAILABLE;
	char name[LSH_NODE_NAME];

	pthread_mutex_lock(&n->mutex);
	if (lsh_pipe_is_up(n->pipe)) {
		snprintf(text, size, "%s: no answer in time", lsh_node_name(n, name));
	} else {
		const leash_error *trouble = &n->commands.trouble;

		if (trouble->status != LEASH_OK)
			status = trouble->status;
		if (status == LEASH_OK || trouble->text[0] == '\0')
			snprintf(text, size, "%s: the connection was lost", lsh_node_name(n, name));
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
	char says[LSH_FAULT_TEXT];

	if (lsh_pipe_epoch(n->pipe) != epoch && !LSH_MUTATES(LSH_EPOCHS_DO_NOT_COUNT))
		return; /* it has been left already */
	lsh_fault_say(says, why, NULL, NULL);
	pthread_mutex_lock(&n->mutex);
	memcpy(n->left_for, says, sizeof n->left_for);
	pthread_mutex_unlock(&n->mutex);
	if (!atomic_exchange(&n->leaving, true))
		lsh_node_say(n, LEASH_LOG_WARNING, "%.100s: leaving this server: %s", n->uri->shown, says);
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
	else if (lsh_status_stays(n->messages.trouble.status))
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

bool
lsh_node_is_same(struct lsh_node *n, struct lsh_node *other)
{
	char run_id[LSH_RUN_ID_SIZE];
	bool same;

	pthread_mutex_lock(&other->mutex);
	memcpy(run_id, other->run_id, sizeof run_id);
	pthread_mutex_unlock(&other->mutex);
	pthread_mutex_lock(&n->mutex);
	same = run_id[0] != '\0' && strcmp(n->run_id, run_id) == 0;
	pthread_mutex_unlock(&n->mutex);
	return same;
}

bool
lsh_node_is_replicated(struct lsh_node *n)
{
	return atomic_load(&n->replicated);
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
	lsh_node_wake_sleepers(n);
	pthread_mutex_unlock(&n->mutex);
}

void
lsh_node_forsake(struct lsh_node *n)
{
	if (n->sentinel != NULL)
		lsh_sentinel_forsake(n->sentinel);
	lsh_dial_forsake(n->commands.dial);
	lsh_dial_forsake(n->messages.dial);
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
	n->kick = lsh_descriptor_lift(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	n->pipe = lsh_pipe_new(&pipe_ops, n);
	n->listener = lsh_listener_new(ops->channel_subscribed != NULL ? &sharded_ops : &listener_ops, n);
	if (n->kick < 0 || n->pipe == NULL || n->listener == NULL)
		goto fail;
	n->commands.dial = lsh_dial_new(options->uri, options->name, NULL);
	n->messages.dial = lsh_dial_new(options->uri, options->name, options->channel != NULL ? options->channel : "");
	if (n->commands.dial == NULL || n->messages.dial == NULL) {
		errno = ENOMEM;
		goto fail;
	}
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
	int e;

	if (n->sentinel != NULL && !lsh_sentinel_start(n->sentinel))
		return false;
	e = lsh_thread_start(&n->keeper, lsh_node_keep, n);
	n->keeping = e == 0;
	if (!n->keeping && n->sentinel != NULL)
		lsh_sentinel_stop(n->sentinel);
	errno = e;
	return n->keeping;
}
