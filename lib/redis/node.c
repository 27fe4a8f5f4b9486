/* A node, as others see it: what they ask of it and wait for, and its life. The rest is in parts of its own:
 * node_inside.h. */
#include "redis/node_inside.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void
kick(void *ctx)
{
	struct lsh_node *n = ctx;
	struct lsh_parker *parker;
	uint64_t one = 1;
	ssize_t ignored;

	if (atomic_exchange(&n->kicked, true))
		return;
	if ((parker = atomic_load(&n->parker)) != NULL)
		lsh_unpark(parker);
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
	struct lsh_node_sleeper sleeper = {.parker = parker};

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
	char name[LSH_SERVER_NAME];

	pthread_mutex_lock(&n->mutex);
	if (lsh_pipe_is_up(n->pipe)) {
		snprintf(text, size, "%s: no answer in time", lsh_locator_name(n->locator, name));
	} else {
		const leash_error *trouble = &n->commands.trouble;

		if (trouble->status != LEASH_OK)
			status = trouble->status;
		if (status == LEASH_OK || trouble->text[0] == '\0')
			snprintf(text, size, "%s: the connection was lost", lsh_locator_name(n->locator, name));
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

	if (lsh_pipe_epoch(n->pipe) != epoch)
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
	struct lsh_node_sleeper sleeper;
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
	return lsh_locator_where(n->locator, moved);
}

/* ---- life ---- */

void
lsh_node_stop(struct lsh_node *n)
{
	atomic_store(&n->stopping, true);
	lsh_locator_stop(n->locator);
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
	lsh_locator_forsake(n->locator);
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
	lsh_locator_free(n->locator);
	lsh_dial_free(n->commands.dial);
	lsh_dial_free(n->messages.dial);
	lsh_pipe_free(n->pipe);
	lsh_listener_free(n->listener);
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

struct lsh_node *
lsh_node_new(const struct lsh_node_options *options, const struct lsh_node_ops *ops, void *ctx)
{
	static const struct lsh_pipe_ops pipe_ops = {.broke = kick, .unattended = kick, .grew = kick};
	static const struct lsh_listener_ops listener_ops = {.message = heard, .broke = kick}, sharded_ops = {
		.message = heard, .broke = kick, .unattended = kick,
		.subscribed = channel_subscribed, .unsubscribed = channel_unsubscribed, .refused = channel_refused,
	};
	static const struct lsh_sentinel_ops sentinel_ops = {.news = kick, .log = sentinel_log};
	const struct lsh_sentinel_options sentinels = {
		.uri = options->uri, .name = options->name, .timeout = options->timeout, .period = options->ask_every,
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
	n->locator = lsh_locator_new(&sentinels, &sentinel_ops, n);
	if (n->locator == NULL)
		goto fail;
	n->place = lsh_locator_place(n->locator);
	if (n->place == NULL || options->master_only) {
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

	if (!lsh_locator_start(n->locator))
		return false;
	e = lsh_thread_start(&n->keeper, lsh_node_keep, n);
	n->keeping = e == 0;
	if (!n->keeping)
		lsh_locator_stop(n->locator);
	errno = e;
	return n->keeping;
}
