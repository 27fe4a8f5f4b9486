/* The names of a client: which locks it knows, found by the key that each has in Redis (which a message of a grant carries, too). */
#include "lock/channel.h"
#include "lock/route.h"

#include "base/memory.h"
#include "base/text.h"
#include "redis/slot.h"

#include <leash/lock.h>

#include <string.h>

enum { SHOWN_SIZE = 80 };

static void
lock_free(struct lsh_lock *lock)
{
	lsh_free(lock->name);
	lsh_free(lock->shown);
	for (int i = 0; i < 3; i++)
		lsh_free(lock->key[i]);
	pthread_mutex_destroy(&lock->mutex);
	lsh_site_leave(lsh_lock_site(lock));
	lsh_free(lock);
}

static bool
make_key(struct lsh_lock *lock, int which, const char *prefix, const char *encoded, const char *suffix)
{
	size_t size = strlen(prefix) + strlen(encoded) + strlen(suffix) + 3; /* ":{" and "}" */
	char *key = lsh_alloc(size + 1);

	if (key == NULL)
		return false;
	stpcpy(stpcpy(stpcpy(stpcpy(stpcpy(key, prefix), ":{"), encoded), "}"), suffix);
	lock->key[which] = key;
	lock->key_size[which] = size;
	return true;
}

static struct lsh_lock *
lock_new(struct lsh_engine *e, const char *name)
{
	struct lsh_lock *lock = lsh_new(struct lsh_lock);
	char encoded[3 * LEASH_NAME_MAX + 1];

	if (lock == NULL)
		return NULL;
	pthread_mutex_init(&lock->mutex, NULL);
	lsh_list_init(&lock->lost);
	lsh_list_init(&lock->lines);
	lsh_list_init(&lock->questions);
	lsh_list_init(&lock->releasing);
	lsh_list_init(&lock->plain.link);
	lsh_list_init(&lock->plain.waiters);
	lsh_list_append(&lock->lines, &lock->plain.link);
	lock->engine = e;
	atomic_init(&lock->references, 1);
	lsh_key_encode(encoded, name, strlen(name));
	lock->name = lsh_strdup(name);
	lock->shown = lsh_alloc(SHOWN_SIZE);
	if (lock->name == NULL || lock->shown == NULL || !make_key(lock, 0, e->options.prefix, encoded, "") ||
	    !make_key(lock, 1, e->options.prefix, encoded, ":fence") || !make_key(lock, 2, e->options.prefix, encoded, ":queue")) {
		lock_free(lock);
		return NULL;
	}
	lsh_show(lock->shown, SHOWN_SIZE, name, strlen(name));
	if (e->cluster != NULL)
		lock->slot = lsh_slot_of(lock->key[0], lock->key_size[0]);
	atomic_init(&lock->site, e->cluster != NULL ? lsh_route_site(e, lock->slot) : lsh_site_at(e, 0));
	if (lsh_lock_site(lock) == NULL) {
		lock_free(lock);
		return NULL;
	}
	return lock;
}

/* e->names_mutex held */
static struct lsh_lock *
find(struct lsh_engine *e, const char *key, size_t size, uint64_t hash)
{
	struct lsh_map_node *at;

	lsh_map_each_of(at, &e->names, hash) {
		struct lsh_lock *lock = lsh_container(at, struct lsh_lock, node);

		if (lock->key_size[0] == size && memcmp(lock->key[0], key, size) == 0)
			return lock;
	}
	return NULL;
}

leash_status
lsh_lock_open(struct lsh_lock **out, struct lsh_engine *e, const char *name, bool fair)
{
	struct lsh_lock *fresh = lock_new(e, name), *lock;
	leash_status status = LEASH_OK;

	if (fresh == NULL)
		return LEASH_NO_MEMORY;
	pthread_mutex_lock(&e->names_mutex);
	fresh->node.hash = lsh_map_hash(&e->names, fresh->key[0], fresh->key_size[0]);
	lock = find(e, fresh->key[0], fresh->key_size[0], fresh->node.hash);
	if (lock == NULL) {
		lock = fresh;
		fresh = NULL;
		lsh_map_put(&e->names, &lock->node);
		lsh_route_settle(lock); /* from here on it is told of changes; whatever came since it was made it is told now */
	} else if (lock->handles > 0 && lock->fair != fair) {
		status = LEASH_INVALID;
	} else {
		atomic_fetch_add(&lock->references, 1);
	}
	if (status == LEASH_OK) {
		if (lock->handles++ == 0)
			lock->fair = fair;
		*out = lock;
	}
	pthread_mutex_unlock(&e->names_mutex);
	if (fresh != NULL)
		lock_free(fresh);
	return status;
}

void
lsh_lock_drop_handle(struct lsh_lock *lock, void (*last)(struct lsh_lock *lock))
{
	struct lsh_engine *e = lock->engine;

	/* names_mutex until all is done: nobody gets a new handle, and a hold through it, in between */
	pthread_mutex_lock(&e->names_mutex);
	if (--lock->handles == 0) {
		pthread_mutex_lock(&lock->mutex);
		last(lock);
		pthread_mutex_unlock(&lock->mutex);
	}
	pthread_mutex_unlock(&e->names_mutex);
}

/* e->names_mutex held, and nobody else has the lock. What was done through it counts on. */
static void
forget(struct lsh_engine *e, struct lsh_lock *lock)
{
	lsh_map_remove(&e->names, &lock->node);
	lsh_counts_add(&e->gone, &lock->counts);
}

struct lsh_lock *
lsh_lock_find_by_key(struct lsh_engine *e, const char *key, size_t size)
{
	uint64_t hash = lsh_map_hash(&e->names, key, size);
	struct lsh_lock *lock;

	pthread_mutex_lock(&e->names_mutex);
	lock = find(e, key, size, hash);
	if (lock != NULL)
		atomic_fetch_add(&lock->references, 1);
	pthread_mutex_unlock(&e->names_mutex);
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
		if (atomic_compare_exchange_weak_explicit(&lock->references, &n, n - 1, memory_order_release, memory_order_relaxed))
			return;
	/* the last one goes under the mutex under which a lookup adds one */
	pthread_mutex_lock(&e->names_mutex);
	last = atomic_fetch_sub(&lock->references, 1) == 1;
	if (last)
		forget(e, lock);
	pthread_mutex_unlock(&e->names_mutex);
	if (last) {
		lsh_channel_forget(lock);
		lock_free(lock);
	}
}

/* e->names_mutex held */
static void
each(struct lsh_engine *e, void (*visit)(struct lsh_lock *lock, void *arg), void *arg)
{
	struct lsh_map_cursor cursor;
	struct lsh_map_node *at;

	lsh_map_each(at, &e->names, &cursor) {
		struct lsh_lock *lock = lsh_container(at, struct lsh_lock, node);

		/* so that a visit cannot free its lock */
		atomic_fetch_add(&lock->references, 1);
		pthread_mutex_lock(&lock->mutex);
		visit(lock, arg);
		pthread_mutex_unlock(&lock->mutex);
		if (atomic_fetch_sub(&lock->references, 1) == 1) {
			forget(e, lock);
			lsh_channel_forget(lock);
			lock_free(lock);
		}
	}
}

void
lsh_lock_each(struct lsh_engine *e, void (*visit)(struct lsh_lock *lock, void *arg), void *arg)
{
	pthread_mutex_lock(&e->names_mutex);
	each(e, visit, arg);
	pthread_mutex_unlock(&e->names_mutex);
}

void
lsh_lock_each_and_gone(struct lsh_engine *e, struct lsh_counts *gone, void (*visit)(struct lsh_lock *lock, void *arg), void *arg)
{
	pthread_mutex_lock(&e->names_mutex);
	*gone = e->gone;
	each(e, visit, arg);
	pthread_mutex_unlock(&e->names_mutex);
}

const char *
lsh_lock_shown(const struct lsh_lock *lock)
{
	return lock->shown;
}
