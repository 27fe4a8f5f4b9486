/* A node, as others see it, and its life. The rest is in node_keeper.c and, below that, node_place.c. */
#include "redis/node_inside.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#include <errno.h>
#include <string.h>

void
lsh_node_kick(struct lsh_node *n)
{
	struct lsh_parker *parker;

	if (atomic_exchange(&n->kicked, true))
		return;
	if ((parker = atomic_load(&n->parker)) != NULL) /* it serves: it looks at `kicked` before it polls n->kick */
		lsh_unpark(parker);
	else
		lsh_kick(n->kick);
}

static void
kick(void *node)
{
	lsh_node_kick(node);
}

/* ---- callers ---- */

bool
lsh_node_is_up(struct lsh_node *n)
{
	return lsh_pipeline_is_up(n->pipeline);
}

bool
lsh_node_is_subscribed(struct lsh_node *n)
{
	/* in this order: `same` is set before a pubsub is up */
	return lsh_pubsub_is_up(n->pubsub) && atomic_load(&n->same);
}

bool
lsh_node_has_tried(struct lsh_node *n)
{
	return atomic_load(&n->commands.tried);
}

void
lsh_node_trouble(struct lsh_node *n, leash_error *why)
{
	char name[LSH_SERVER_NAME];

	pthread_mutex_lock(&n->mutex);
	*why = n->commands.trouble;
	pthread_mutex_unlock(&n->mutex);
	if (lsh_pipeline_is_up(n->pipeline))
		lsh_fail(why, LEASH_UNAVAILABLE, 0, "%s: no answer in time", lsh_node_name(n, name));
	else if (why->text[0] == '\0')
		lsh_fail(why, LEASH_UNAVAILABLE, 0, "%s: the connection was lost", lsh_node_name(n, name));
}

void
lsh_node_leave(struct lsh_node *n, uint64_t epoch, const char *why)
{
	char says[LSH_FAULT_TEXT];

	if (lsh_pipeline_epoch(n->pipeline) != epoch)
		return; /* it has been left already */
	lsh_fault_say(says, why, NULL, NULL);
	pthread_mutex_lock(&n->mutex);
	memcpy(n->left_for, says, sizeof n->left_for);
	pthread_mutex_unlock(&n->mutex);
	if (!atomic_exchange(&n->leaving, true))
		lsh_courier_log(n->courier, LEASH_LOG_WARNING, "%.100s: leaving this server: %s", n->uri->shown, says);
	lsh_pipeline_break(n->pipeline, epoch);
	lsh_pubsub_break(n->pubsub);
}

leash_status
lsh_node_await_hello(struct lsh_node *n, leash_error *err)
{
	leash_error refusal = {0};

	pthread_mutex_lock(&n->mutex);
	while (!n->commands.tried || (n->commands.up && n->listens && !n->messages.tried))
		pthread_cond_wait(&n->outcome, &n->mutex); /* the attempts have deadlines */
	if (!n->commands.up)
		refusal = n->commands.trouble;
	else if (lsh_status_stays(n->messages.trouble.status))
		refusal = n->messages.trouble;
	pthread_mutex_unlock(&n->mutex);
	if (refusal.status != LEASH_OK && err != NULL)
		*err = refusal;
	return refusal.status;
}

struct lsh_pipeline *
lsh_node_pipeline(struct lsh_node *n)
{
	return n->pipeline;
}

struct lsh_pubsub *
lsh_node_pubsub(struct lsh_node *n)
{
	return n->pubsub;
}

void
lsh_node_read_messages(struct lsh_node *n)
{
	lsh_pubsub_leave_to_keeper(n->pubsub);
	lsh_node_kick(n);
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

/* ---- life ---- */

void
lsh_node_stop(struct lsh_node *n)
{
	atomic_store(&n->stopping, true);
	lsh_sentinel_stop(n->sentinel);
	kick(n);
	if (n->keeping)
		pthread_join(n->keeper, NULL);
	n->keeping = false;
	lsh_pipeline_break(n->pipeline, 0);
	lsh_pubsub_break(n->pubsub);
}

void
lsh_node_free(struct lsh_node *n)
{
	if (n == NULL)
		return;
	lsh_sentinel_free(n->sentinel);
	lsh_uri_clear(&n->places[0]);
	lsh_uri_clear(&n->places[1]);
	lsh_connector_free(n->commands.connector);
	lsh_connector_free(n->messages.connector);
	lsh_pipeline_free(n->pipeline);
	lsh_pubsub_free(n->pubsub);
	lsh_kick_give(n->kick);
	pthread_cond_destroy(&n->outcome);
	pthread_mutex_destroy(&n->mutex);
	lsh_free(n);
}

struct lsh_node *
lsh_node_new(const struct lsh_node_options *options, const struct lsh_node_ops *ops, void *ctx)
{
	struct lsh_node *n = lsh_new(struct lsh_node);
	const struct lsh_sentinel_options sentinels = {
		.uri = options->uri, .name = options->name, .timeout = options->timeout, .period = options->ask_every,
		.courier = options->courier, .news = kick, .ctx = n,
	};
	const char *channel = options->channel != NULL ? options->channel : "";
	const bool seeks = options->uri->deployment == LSH_SENTINEL;
	const enum lsh_want want = seeks ? LSH_WANT_MASTER : LSH_WANT_SERVER;

	if (n == NULL)
		return NULL;
	n->courier = options->courier;
	n->ops = ops;
	n->ctx = ctx;
	n->uri = options->uri;
	n->timeout = options->timeout;
	n->listens = options->messages != NULL;
	n->place = seeks ? NULL : n->uri;
	atomic_init(&n->up_since, LSH_NEVER);
	atomic_init(&n->master_since, INT64_MIN);
	n->commands.started = n->messages.started = INT64_MIN / 2;
	pthread_mutex_init(&n->mutex, NULL);
	pthread_cond_init(&n->outcome, NULL);
	n->kick = lsh_kick_take();
	if (n->kick < 0 || (seeks && (n->sentinel = lsh_sentinel_new(&sentinels)) == NULL) ||
	    (n->pipeline = lsh_pipeline_new(kick, n)) == NULL ||
	    (n->pubsub = lsh_pubsub_new(options->messages, ctx, kick, n)) == NULL ||
	    (n->commands.connector = lsh_connector_new(options->uri, want, options->name, NULL)) == NULL ||
	    (n->messages.connector = lsh_connector_new(options->uri, want, options->name, channel)) == NULL) {
		lsh_node_free(n);
		return NULL;
	}
	return n;
}

bool
lsh_node_start(struct lsh_node *n)
{
	int e;

	if (!lsh_sentinel_start(n->sentinel))
		return false;
	e = lsh_thread_start(&n->keeper, lsh_node_keep, n);
	n->keeping = e == 0;
	if (!n->keeping)
		lsh_sentinel_stop(n->sentinel);
	errno = e;
	return n->keeping;
}
