/* The table: the locks that a client knows, by the key of each in Redis, which the message of a grant carries, too; and
 * by which one that is shared with another library is called everywhere. */
#include "core/core.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/mutex.h"

#include <leash/lock.h>

#include <errno.h>
#include <string.h>

static void
lock_free(struct lsh_lock *lock)
{
	lsh_resource_destroy(&lock->resource);
	lsh_free(lock);
}

static struct lsh_lock *
lock_new(struct lsh_engine *e, const char *name, const struct lsh_kind *kind)
{
	char encoded[3 * LEASH_NAME_MAX + 1], shown[80], *at;
	size_t size = strlen(name), shown_size = lsh_show(shown, sizeof shown, name, size);
	const char *prefix = e->backend->options.prefix;
	const char *mark = kind->mark != NULL ? kind->mark : "";
	bool is_bare = (kind->flags & LSH_BARE) != 0;
	size_t key_size = is_bare ? size : strlen(prefix) + lsh_key_encode(encoded, name, size) + 3 + strlen(mark);
	bool differs = strcmp(shown, name) != 0;
	struct lsh_lock *lock = lsh_alloc(sizeof *lock + key_size + 1 + size + 1 + (differs ? shown_size : 0) + 1);

	if (lock == NULL)
		return NULL;
	lsh_list_init(&lock->ops);
	lsh_list_init(&lock->waiting);
	atomic_init(&lock->references, 1);
	/* "<prefix>:{<name>}<mark>" */
	at = is_bare ? stpcpy(lock->text, name) + 1
	             : stpcpy(stpcpy(stpcpy(stpcpy(stpcpy(lock->text, prefix), ":{"), encoded), "}"), mark) + 1;
	stpcpy(stpcpy(at, name) + 1, differs ? shown : "");
	if (lsh_resource_init(&lock->resource, e->backend, kind, lock->text, key_size,
	                      key_size + 1 + (differs ? size + 1 : 0)))
		return lock;
	lock_free(lock);
	return NULL;
}

/* e->mutex held */
static struct lsh_lock *
find(struct lsh_engine *e, const char *key, size_t size, uint64_t hash)
{
	lsh_map_each_of(at, &e->locks, hash) {
		struct lsh_lock *lock = lsh_container(at, struct lsh_lock, node);

		if (lock->resource.key_size == size && memcmp(lock->text, key, size) == 0)
			return lock;
	}
	return NULL;
}

leash_status
lsh_lock_open(struct lsh_lock **out, struct lsh_engine *e, const char *name, const struct lsh_kind *kind, bool fair,
              leash_error *err)
{
	struct lsh_lock *fresh = lock_new(e, name, kind), *lock;
	leash_status status = LEASH_OK;

	if (fresh == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a lock");
	pthread_mutex_lock(&e->mutex);
	fresh->node.hash = lsh_map_hash(&e->locks, fresh->text, fresh->resource.key_size);
	lock = find(e, fresh->text, fresh->resource.key_size, fresh->node.hash);
	if (lock == NULL) {
		lock = fresh;
		fresh = NULL;
		lsh_map_put(&e->locks, &lock->node);
		lsh_resource_opened(&lock->resource);
	} else if (lock->resource.kind != kind || (lock->handles > 0 && lock->fair != fair)) {
		status = lsh_fail(err, LEASH_INVALID, 0, "%s '%s': it is open in this client and is %s there: handles of one "
		                  "name must agree", kind->name, lsh_resource_shown(&lock->resource),
		                  lock->resource.kind != kind ? "of another kind" : fair ? "not fair" : "fair");
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

void
lsh_lock_open_again(struct lsh_lock *lock)
{
	lsh_locked(&lsh_engine_of(lock)->mutex);

	atomic_fetch_add(&lock->references, 1);
	lock->handles++;
}

struct lsh_resource *
lsh_lock_find(void *engine, const char *key, size_t size)
{
	struct lsh_engine *e = engine;
	uint64_t hash = lsh_map_hash(&e->locks, key, size);
	lsh_locked(&e->mutex);
	struct lsh_lock *lock = find(e, key, size, hash);

	if (lock == NULL)
		return NULL;
	atomic_fetch_add(&lock->references, 1);
	return &lock->resource;
}

void
lsh_count(struct lsh_lock *lock, enum lsh_count what)
{
	struct lsh_count_row *row = &lsh_engine_of(lock)->counts[lock->node.hash % LSH_COUNT_ROWS];

	if (lock->resource.kind->mark != NULL)
		return; /* it was only looked at */
	lsh_locked(&row->mutex);
	row->of[what]++;
}

void
lsh_took(struct lsh_lock *lock, const struct lsh_terms *terms, leash_time what, int64_t ns)
{
	if (lock->resource.kind->mark != NULL)
		return; /* likewise */
	lsh_figure_add(&lsh_engine_of(lock)->times.of[what], ns);
	if (terms->times != NULL)
		lsh_figure_add(&terms->times->of[what], ns);
}

void
lsh_lock_retain(struct lsh_resource *resource)
{
	atomic_fetch_add_explicit(&lsh_lock_of(resource)->references, 1, memory_order_relaxed);
}

void
lsh_lock_unref(struct lsh_resource *resource)
{
	struct lsh_lock *lock = lsh_lock_of(resource);
	struct lsh_engine *e = lsh_engine_of(lock);
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
		lsh_map_remove(&e->locks, &lock->node);
	pthread_mutex_unlock(&e->mutex);
	if (last)
		lock_free(lock);
}

void
lsh_lock_each(void *engine, void (*visit)(struct lsh_resource *resource, void *arg), void *arg)
{
	struct lsh_engine *e = engine;

	lsh_locked(&e->mutex);
	lsh_map_each(at, &e->locks) {
		struct lsh_lock *lock = lsh_container(at, struct lsh_lock, node);

		/* so that a visit cannot free its lock */
		atomic_fetch_add(&lock->references, 1);
		lsh_monitor_enter(&lock->resource.monitor);
		visit(&lock->resource, arg);
		lsh_monitor_leave(&lock->resource.monitor);
		if (atomic_fetch_sub(&lock->references, 1) == 1) {
			lsh_map_remove(&e->locks, &lock->node);
			lock_free(lock);
		}
	}
}

const char *
lsh_lock_name(const struct lsh_lock *lock)
{
	return lock->text + lock->resource.key_size + 1;
}

const char *
lsh_lock_shown(const struct lsh_lock *lock)
{
	return lsh_resource_shown(&lock->resource);
}

struct lsh_resource *
lsh_lock_resource(struct lsh_lock *lock)
{
	return &lock->resource;
}
