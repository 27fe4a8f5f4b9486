/* The judge. See judge.h. All of it is atomics in shared memory: a process may be killed anywhere. */
#include "tests/support/judge.h"

#include "tests/support/child.h"
#include "tests/support/trouble.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { NOTES = 16 };   /* so many violations are described */

/* pid << 32 | tid of a thread; 0: nobody. */
typedef uint64_t who;

struct room {
	_Atomic who inside;       /* alone */
	_Atomic size_t sharing;
	_Atomic uint64_t fence;   /* the last one seen */
};

struct judge {
	size_t locks;
	_Atomic size_t violations;
	_Atomic size_t entries;
	struct room rooms[];
};

struct judge *
judge_new(size_t locks)
{
	struct judge *j = child_share(sizeof *j + locks * sizeof(struct room));

	j->locks = locks;
	return j;
}

/* The first ones are described. */
static void __attribute__((format(printf, 2, 3)))
note(struct judge *j, const char *format, ...)
{
	va_list args;

	if (atomic_fetch_add(&j->violations, 1) >= NOTES)
		return;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
}

static struct room *
room(struct judge *j, size_t lock)
{
	if (lock >= j->locks)
		trouble("the judge knows %zu locks, and none of number %zu", j->locks, lock);
	return &j->rooms[lock];
}

#define SELF ((who)getpid() << 32 | (uint32_t)gettid())
#define WHO "thread %u of process %u"
#define OF(who) (unsigned)(who), (unsigned)((who) >> 32)

void
judge_enter(struct judge *j, size_t lock, uint64_t fence)
{
	struct room *r = room(j, lock);
	who me = SELF, other = atomic_exchange(&r->inside, me);

	atomic_fetch_add(&j->entries, 1);
	if (other != 0)
		note(j, "judge: lock %zu: " WHO " entered while " WHO " was inside\n", lock, OF(me), OF(other));
	if (atomic_load(&r->sharing) != 0)
		note(j, "judge: lock %zu: " WHO " entered while others shared it\n", lock, OF(me));
	if (fence == 0)
		return;
	uint64_t last = atomic_exchange(&r->fence, fence);
	if (fence <= last)
		note(j, "judge: lock %zu: fence %ju after fence %ju\n", lock, (uintmax_t)fence, (uintmax_t)last);
}

void
judge_leave(struct judge *j, size_t lock)
{
	who me = SELF;

	/* If another has come in meanwhile, that has been noted, and it is the one who is inside. */
	atomic_compare_exchange_strong(&room(j, lock)->inside, &me, 0);
}

void
judge_enter_shared(struct judge *j, size_t lock)
{
	struct room *r = room(j, lock);
	who other;

	atomic_fetch_add(&j->entries, 1);
	atomic_fetch_add(&r->sharing, 1);
	other = atomic_load(&r->inside);
	if (other != 0)
		note(j, "judge: lock %zu: " WHO " came to share while " WHO " was inside\n", lock, OF(SELF), OF(other));
}

void
judge_leave_shared(struct judge *j, size_t lock)
{
	atomic_fetch_sub(&room(j, lock)->sharing, 1);
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
}
