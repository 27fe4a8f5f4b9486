/* The judge. See judge.h. All of it is atomics in shared memory: a process may be killed anywhere. */
#include "tests/support/judge.h"

#include "tests/support/child.h"
#include "tests/support/trouble.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { NOTES = 16 };

/* pid << 32 | tid of a thread; 0: nobody. */
typedef uint64_t who;

struct room {
	_Atomic who inside;
	_Atomic uint64_t fence;   /* the last one seen */
};

struct note {
	_Atomic bool written;
	size_t lock;
	who entered, inside;   /* inside is 0: it was the fence */
	uint64_t fence, last;
};

struct judge {
	size_t size, locks;
	_Atomic size_t violations;
	_Atomic size_t entries;
	struct note notes[NOTES];
	struct room rooms[];
};

struct judge *
judge_new(size_t locks)
{
	size_t size = sizeof(struct judge) + locks * sizeof(struct room);
	struct judge *j = child_share(size);

	j->size = size;
	j->locks = locks;
	return j;
}

void
judge_free(struct judge *j)
{
	if (j)
		child_unshare(j, j->size);
}

static void
note(struct judge *j, struct note seen)
{
	size_t n = atomic_fetch_add(&j->violations, 1);

	if (n >= NOTES)
		return;
	j->notes[n] = seen;
	atomic_store(&j->notes[n].written, true);
}

static struct room *
room(struct judge *j, size_t lock)
{
	if (lock >= j->locks)
		trouble("the judge knows %zu locks, and none of number %zu", j->locks, lock);
	return &j->rooms[lock];
}

static who
self(void)
{
	return (who)getpid() << 32 | (uint32_t)gettid();
}

void
judge_enter(struct judge *j, size_t lock, uint64_t fence)
{
	struct room *r = room(j, lock);
	who me = self();
	who other = atomic_exchange(&r->inside, me);

	atomic_fetch_add(&j->entries, 1);
	if (other != 0)
		note(j, (struct note){ .lock = lock, .entered = me, .inside = other, .fence = fence });
	if (fence == 0)
		return;
	uint64_t last = atomic_exchange(&r->fence, fence);
	if (fence <= last)
		note(j, (struct note){ .lock = lock, .entered = me, .fence = fence, .last = last });
}

void
judge_leave(struct judge *j, size_t lock)
{
	who me = self();

	/* If another has come in meanwhile, that has been noted, and it is the one who is inside. */
	atomic_compare_exchange_strong(&room(j, lock)->inside, &me, 0);
}

size_t
judge_violations(const struct judge *j)
{
	return atomic_load(&j->violations);
}

size_t
judge_entries(const struct judge *j)
{
	return atomic_load(&j->entries);
}

void
judge_print(const struct judge *j)
{
	fprintf(stderr, "judge: %zu violations in %zu entries\n", judge_violations(j), judge_entries(j));
	for (size_t i = 0; i < NOTES && atomic_load(&j->notes[i].written); i++) {
		const struct note *n = &j->notes[i];

		fprintf(stderr, "judge: lock %zu: thread %u of process %u entered with fence %llu", n->lock,
		        (unsigned)n->entered, (unsigned)(n->entered >> 32), (unsigned long long)n->fence);
		if (n->inside)
			fprintf(stderr, " while thread %u of process %u was inside\n", (unsigned)n->inside, (unsigned)(n->inside >> 32));
		else
			fprintf(stderr, " after fence %llu\n", (unsigned long long)n->last);
	}
}
