/* The witness. See witness.h. */
#include "tests/support/witness.h"

#include "tests/support/await.h"
#include "tests/support/child.h"
#include "tests/support/trouble.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct witness {
	size_t size, room;
	_Atomic size_t holds;
	struct testimony testimonies[];
};

struct witness *
witness_new(size_t holds)
{
	size_t size = sizeof(struct witness) + holds * sizeof(struct testimony);
	struct witness *w = child_share(size);

	w->size = size;
	w->room = holds;
	return w;
}

void
witness_free(struct witness *w)
{
	if (w)
		child_unshare(w, w->size);
}

struct testimony *
witness_enter(struct witness *w, unsigned number, leash_lock *lock)
{
	int64_t now = await_now_ns();
	uint64_t fence = leash_lock_fence(lock);   /* 0 unless it is valid now, and so it was a moment ago */
	struct testimony *t;
	size_t n;

	if (fence == 0 || (n = atomic_fetch_add(&w->holds, 1)) >= w->room)
		return NULL;
	t = &w->testimonies[n];
	t->lock = number;
	t->pid = getpid();
	t->first = t->last = now;
	t->fence = fence;
	return t;
}

bool
witness_look(struct testimony *t, leash_lock *lock)
{
	int64_t now = await_now_ns();

	if (!leash_lock_held(lock))
		return false;
	if (t != NULL)
		t->last = now;
	return true;
}

size_t
witness_holds(const struct witness *w)
{
	size_t n = atomic_load(&w->holds);

	return n < w->room ? n : w->room;
}

struct seen {
	uint64_t fence;
	unsigned lock;
	int pid;
	int64_t first, last;
};

static int
by_lock_and_fence(const void *one, const void *other)
{
	const struct seen *a = one, *b = other;

	if (a->lock != b->lock)
		return a->lock < b->lock ? -1 : 1;
	return a->fence < b->fence ? -1 : a->fence > b->fence;
}

size_t
witness_violations(const struct witness *w, char *text, size_t size)
{
	size_t room = witness_holds(w), n = 0, violations = 0;
	struct seen *all = malloc((room + 1) * sizeof *all);
	const struct seen *latest = all;

	if (!all)
		trouble("no memory");
	for (size_t i = 0; i < room; i++) {
		const struct testimony *t = &w->testimonies[i];
		uint64_t fence = atomic_load(&t->fence);

		if (fence != 0)
			all[n++] = (struct seen){ .fence = fence, .lock = t->lock, .pid = t->pid, .first = t->first, .last = t->last };
	}
	qsort(all, n, sizeof *all, by_lock_and_fence);
	for (size_t i = 1; i < n; i++) {
		const struct seen *now = &all[i];

		if (now->lock != latest->lock) {
			latest = now;
			continue;
		}
		if (latest->last > now->first || latest->fence == now->fence) {
			if (violations++ == 0 && text)
				snprintf(text, size, "lock %u: fence %llu of process %d was valid %.3f ms after fence %llu of process %d had been", now->lock,
				         (unsigned long long)latest->fence, latest->pid, (double)(latest->last - now->first) / 1e6,
				         (unsigned long long)now->fence, now->pid);
		}
		if (now->last > latest->last)
			latest = now;
	}
	free(all);
	return violations;
}
