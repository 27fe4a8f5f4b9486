#include "lock/channel.h"

#include "base/memory.h"
#include "base/text.h"
#include "lock/inspect.h"
#include "lock/route.h"
#include "redis/fault.h"
#include "redis/listener.h"

#include <stdio.h>
#include <string.h>

enum {
	SHARDED_SINCE = 0x070000,
	END_SIZE = sizeof ":wake:" - 1 + LSH_UUID_SIZE,
};

#define KEPT  (30 * LSH_S) /* after somebody waited last */
#define SWEEP (10 * LSH_S)

/* A channel that is to be left, by the keeper: no mutex is held across that. */
struct left {
	struct lsh_list link; /* in site->left */
	size_t size;
	char text[];
};

/* "<key>:wake:<client>"; returns its size. */
static size_t
name_of(const struct lsh_lock *lock, char out[static LSH_LOCK_KEY_MAX + END_SIZE])
{
	memcpy(out, lock->key[0], lock->key_size[0]);
	memcpy(out + lock->key_size[0], ":wake:", 6);
	memcpy(out + lock->key_size[0] + 6, lock->engine->uuid, LSH_UUID_SIZE);
	return lock->key_size[0] + END_SIZE;
}

/* The lock that it is of, with a reference and its mutex held; NULL: there is none (any more), or it lives elsewhere. */
static struct lsh_lock *
find(const struct lsh_site *site, const char *channel, size_t size)
{
	struct lsh_lock *lock = size > END_SIZE ? lsh_lock_find_by_key(site->engine, channel, size - END_SIZE) : NULL;

	if (lock == NULL)
		return NULL;
	pthread_mutex_lock(&lock->mutex);
	if (lock->channel_site == site)
		return lock;
	pthread_mutex_unlock(&lock->mutex);
	lsh_lock_unref(lock);
	return NULL;
}

static void
wake_all(struct lsh_lock *lock)
{
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &lock->lines)
		lsh_line_wake(lsh_container(at, struct lsh_line, link));
}

/* ---- those who wait ---- */

bool
lsh_channel_is_sharded(const struct lsh_site *site)
{
	return atomic_load(&site->sharded);
}

bool
lsh_channel_is_heard(const struct lsh_lock *lock, const struct lsh_site *site)
{
	return lsh_node_is_subscribed(site->node) &&
	       (!lsh_channel_is_sharded(site) || (lock->channel == LSH_LISTENS && lock->channel_site == site));
}

void
lsh_channel_want(struct lsh_lock *lock)
{
	struct lsh_site *site = lsh_lock_site(lock);
	char name[LSH_LOCK_KEY_MAX + END_SIZE];
	bool asked;

	if (!lsh_channel_is_sharded(site))
		return;
	lock->channel_wanted = lsh_now_ns();
	if (lock->channel != LSH_DEAF && lock->channel_site == site)
		return;
	lock->channel = LSH_LISTENS_SOON;
	lock->channel_site = site;
	lsh_site_use(site);
	pthread_mutex_unlock(&lock->mutex);
	asked = lsh_listener_subscribe(lsh_node_listener(site->node), name, name_of(lock, name));
	pthread_mutex_lock(&lock->mutex);
	if (!asked && lock->channel == LSH_LISTENS_SOON && lock->channel_site == site)
		lock->channel = LSH_DEAF; /* there is no connection: when there is, who waits is woken */
	lsh_site_leave(site);
}

/* ---- what the node calls ---- */

void
lsh_channel_connected(struct lsh_site *site)
{
	atomic_store(&site->sharded, site->engine->cluster != NULL && lsh_node_version(site->node) >= SHARDED_SINCE);
}

void
lsh_channel_subscribed(void *ctx, const char *channel, size_t size)
{
	struct lsh_lock *lock = find(ctx, channel, size);

	if (lock == NULL)
		return;
	lock->channel = LSH_LISTENS;
	wake_all(lock);
	pthread_mutex_unlock(&lock->mutex);
	lsh_lock_unref(lock);
}

void
lsh_channel_unsubscribed(void *ctx, const char *channel, size_t size)
{
	struct lsh_lock *lock = find(ctx, channel, size);

	if (lock == NULL)
		return;
	lock->channel = LSH_DEAF;
	wake_all(lock);
	pthread_mutex_unlock(&lock->mutex);
	lsh_lock_unref(lock);
}

/* Nobody is woken: who waits asks the server again in a while, and says its words. */
void
lsh_channel_refused(void *ctx, const char *channel, size_t size, const char *text)
{
	struct lsh_site *site = ctx;
	struct lsh_lock *lock = find(site, channel, size);
	char line[256];

	if (lsh_fault_of(text) == LSH_FAULT_CLUSTER || lsh_starts_with_word(text, "CLUSTERDOWN")) {
		lsh_route_doubt(site->engine);
	} else if (atomic_exchange(&site->sharded, false)) {
		snprintf(line, sizeof line, "%.80s: SSUBSCRIBE was refused: others may be given a lock before this client: %.100s", lsh_node_shown(site->node), text);
		lsh_courier_log(site->engine->courier, LEASH_LOG_WARNING, line);
	}
	if (lock == NULL)
		return;
	lock->channel = LSH_DEAF;
	pthread_mutex_unlock(&lock->mutex);
	lsh_lock_unref(lock);
}

void
lsh_channel_lost(struct lsh_lock *lock, const struct lsh_site *site)
{
	if (lock->channel_site == site)
		lock->channel = LSH_DEAF;
	wake_all(lock);
}

/* ---- leaving ---- */

/* lock->mutex held, or nobody else has the lock. */
static void
leave(struct lsh_lock *lock)
{
	struct lsh_site *site = lock->channel_site;
	struct left *left = lsh_alloc(sizeof *left + lock->key_size[0] + END_SIZE);

	if (left == NULL)
		return; /* another time, or when the connection ends */
	left->size = name_of(lock, left->text);
	lock->channel = LSH_DEAF;
	pthread_mutex_lock(&lock->engine->work_mutex);
	lsh_list_append(&site->left, &left->link);
	pthread_mutex_unlock(&lock->engine->work_mutex);
}

void
lsh_channel_forget(struct lsh_lock *lock)
{
	struct lsh_site *site = lock->channel_site;

	if (lock->channel == LSH_DEAF)
		return;
	leave(lock);
	lsh_node_kick(site->node);
}

static void
leave_unless_wanted(struct lsh_lock *lock, void *arg)
{
	struct lsh_list *at, *after;

	if (lock->channel != LSH_LISTENS || lock->channel_site != arg || lsh_now_ns() - lock->channel_wanted < KEPT)
		return;
	lsh_list_each(at, after, &lock->lines)
		if (!lsh_list_empty(&lsh_container(at, struct lsh_line, link)->waiters))
			return;
	leave(lock);
}

void
lsh_channel_work(struct lsh_site *site)
{
	struct lsh_listener *listener = lsh_node_listener(site->node);
	struct lsh_list list, *at, *after;
	int64_t now = lsh_now_ns();

	if (now - site->swept > SWEEP) {
		site->swept = now;
		if (lsh_channel_is_sharded(site))
			lsh_lock_each(site->engine, leave_unless_wanted, site);
	}
	lsh_list_init(&list);
	pthread_mutex_lock(&site->engine->work_mutex);
	lsh_list_move_all(&list, &site->left);
	pthread_mutex_unlock(&site->engine->work_mutex);
	lsh_list_each(at, after, &list) {
		struct left *left = lsh_container(at, struct left, link);

		lsh_listener_unsubscribe(listener, left->text, left->size);
		lsh_list_remove(at);
		lsh_free(left);
	}
}

void
lsh_channel_free_left(struct lsh_site *site)
{
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &site->left) {
		lsh_list_remove(at);
		lsh_free(lsh_container(at, struct left, link));
	}
}
