/* The table: the locks that a client knows, by the key of each in Redis, which the message of a grant carries, too. */
#include "core/core.h"

#include "base/memory.h"

#include <leash/lock.h>

#include <string.h>

static void
lock_free(struct lsh_lock *lock)
{
	lsh_free(lock->name);
	lsh_resource_destroy(&lock->resource);
	lsh_free(lock);
}

/* "<prefix>:{<name>}" */
static char *
make_key(const char *prefix, const char *name, size_t *size)
{
	char encoded[3 * LEASH_NAME_MAX + 1], *key;

	lsh_key_encode(encoded, name, strlen(name));
	*size = strlen(prefix) + strlen(encoded) + 3;
	key = lsh_alloc(*size + 1);
	if (key != NULL)
		stpcpy(stpcpy(stpcpy(stpcpy(key, prefix), ":{"), encoded), "}");
	return key;
}

static struct lsh_lock *
lock_new(struct lsh_engine *e, const char *name, const struct lsh_kind *kind)
{
	struct lsh_lock *lock = lsh_new(struct lsh_lock);
	size_t size;
	char *key;

	if (lock == NULL)
		return NULL;
	lsh_list_init(&lock->lost);
	lsh_list_init(&lock->ops);
	lsh_list_init(&lock->queues);
	lsh_queue_init(&lock->plain, lock);
	lsh_list_append(&lock->queues, &lock->plain.link);
	lock->engine = e;
	atomic_init(&lock->references, 1);
	lock->name = lsh_strdup(name);
	lsh_show(lock->shown, sizeof lock->shown, name, strlen(name));
	lock->resource.shown = lock->shown;
	lock->resource.events = e->events;
	key = make_key(e->backend->options.prefix, name, &size);
	if (key == NULL || !lsh_resource_init(&lock->resource, e->backend, kind, key, size) || lock->name == NULL) {
		lock_free(lock);
		return NULL;
	}
	return lock;
}

/* e->mutex held */
static struct lsh_lock *
find(struct lsh_engine *e, const char *key, size_t size, uint64_t hash)
{
	struct lsh_map_node *at;

	lsh_map_each_of(at, &e->locks, hash) {
		struct lsh_lock *lock = lsh_container(at, struct lsh_lock, node);

		if (lock->resource.key_size == size && memcmp(lock->resource.key, key, size) == 0)
			return lock;
	}
	return NULL;
}

leash_status
lsh_lock_open(struct lsh_lock **out, struct lsh_engine *e, const char *name, const struct lsh_kind *kind, bool fair)
{
	struct lsh_lock *fresh = lock_new(e, name, kind), *lock;
	leash_status status = LEASH_OK;

	if (fresh == NULL)
		return LEASH_NO_MEMORY;
	pthread_mutex_lock(&e->mutex);
	fresh->node.hash = lsh_map_hash(&e->locks, fresh->resource.key, fresh->resource.key_size);
	lock = find(e, fresh->resource.key, fresh->resource.key_size, fresh->node.hash);
	if (lock == NULL) {
		lock = fresh;
		fresh = NULL;
		lsh_map_put(&e->locks, &lock->node);
		lsh_resource_opened(&lock->resource);
	} else if (lock->handles > 0 && (lock->fair != fair || lock->resource.kind != kind)) {
		status = LEASH_INVALID;
	} else {
		atomic_fetch_add(&lock->references, 1);
	}
	if (status == LEASH_OK) {
		if (lock->handles++ == 0)
			lock->fair = fair;
		*out = lock;
	}
	pthread_mutex_unlock(&e->mutex);
	if (fresh != NULL)
		lock_free(fresh);
	return status;
}

/* Each lock counts for itself: whoever has something to count has entered its monitor anyway, so the fast way shares
 * nothing with other locks. */
void
lsh_counts_add(struct lsh_counts *sum, const struct lsh_counts *counts)
{
	sum->acquired += counts->acquired;
	sum->handed_off += counts->handed_off;
	sum->waited += counts->waited;
	sum->released += counts->released;
	sum->lost += counts->lost;
	sum->abandoned += counts->abandoned;
	sum->renewed += counts->renewed;
	sum->renewals_failed += counts->renewals_failed;
	sum->gave_up += counts->gave_up;
}

/* e->mutex held, and nobody else has the lock. What was done through it counts on. */
static void
forget(struct lsh_engine *e, struct lsh_lock *lock)
{
	lsh_map_remove(&e->locks, &lock->node);
	lsh_counts_add(&e->gone, &lock->counts);
}

struct lsh_lock *
lsh_lock_find(struct lsh_engine *e, const char *key, size_t size)
{
	uint64_t hash = lsh_map_hash(&e->locks, key, size);
	struct lsh_lock *lock;

	pthread_mutex_lock(&e->mutex);
	lock = find(e, key, size, hash);
	if (lock != NULL)
		atomic_fetch_add(&lock->references, 1);
	pthread_mutex_unlock(&e->mutex);
	return lock;
}

void
lsh_lock_retain(struct lsh_lock *lock)
{
	atomic_fetch_add_explicit(&lock->references, 1, memory_order_relaxed);
}

void
lsh_lock_unref(struct lsh_lock *lock)
{
	struct lsh_engine *e = lock->engine;
	unsigned n = atomic_load_explicit(&lock->references, memory_order_relaxed);
	bool last;

	while (n > 1)
		if (atomic_compare_exchange_weak_explicit(&lock->references, &n, n - 1, memory_order_release,
		                                          memory_order_relaxed))
			return;
	/* the last one goes under the mutex under which a lookup adds one */
	pthread_mutex_lock(&e->mutex);
	last = atomic_fetch_sub(&lock->references, 1) == 1;
	if (last)
		forget(e, lock);
	pthread_mutex_unlock(&e->mutex);
	if (last)
		lock_free(lock);
}

void
lsh_lock_each(struct lsh_engine *e, struct lsh_counts *gone, void (*visit)(struct lsh_lock *lock, void *arg), void *arg)
{
	struct lsh_map_cursor cursor;
	struct lsh_map_node *at;

	pthread_mutex_lock(&e->mutex);
	if (gone != NULL)
		*gone = e->gone;
	lsh_map_each(at, &e->locks, &cursor) {
		struct lsh_lock *lock = lsh_container(at, struct lsh_lock, node);

		/* so that a visit cannot free its lock */
		atomic_fetch_add(&lock->references, 1);
		lsh_monitor_enter(&lock->resource.monitor);
		visit(lock, arg);
		lsh_monitor_leave(&lock->resource.monitor);
		if (atomic_fetch_sub(&lock->references, 1) == 1) {
			forget(e, lock);
			lock_free(lock);
		}
	}
	pthread_mutex_unlock(&e->mutex);
}

const char *
lsh_lock_name(const struct lsh_lock *lock)
{
	return lock->name;
}

const char *
lsh_lock_shown(const struct lsh_lock *lock)
{
	return lock->shown;
}

struct lsh_resource *
lsh_lock_resource(struct lsh_lock *lock)
{
	return &lock->resource;
}

struct lsh_engine *
lsh_lock_engine(struct lsh_lock *lock)
{
	return lock->engine;
}
