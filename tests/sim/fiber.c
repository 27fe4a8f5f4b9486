/* Fibers. See fiber.h. Each has a stack of its own: makecontext() begins it, and from then on the two jump to and fro
 * by _setjmp() and _longjmp(), which do not ask the system. */
#undef _FORTIFY_SOURCE /* its longjmp() takes another stack for a mistake */

#include "tests/sim/fiber.h"

#include "base/mutation.h"
#include "tests/support/trouble.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK = 256 * 1024, GUARD = 4096 };

enum state { RUNNING, BLOCKED, ENDED };

struct sim_fiber {
	struct sim_fiber *next;      /* of all that have not ended */
	struct sim_process *process;
	struct lsh_thread thread;
	void *(*run)(void *arg);
	void *arg;
	enum state state;
	bool begun, woken;
	const void *address;         /* BLOCKED: on this, */
	const struct pollfd *polled; /* or on these */
	nfds_t count;
	int64_t until;
	int64_t timer_at;            /* an event of the fiber's comes then; SIM_NEVER: none */
	uint64_t turn;               /* times that it was woken */
	char *stack;
	ucontext_t first;
	jmp_buf context;
};

int64_t sim_sluggishness = 20 * SIM_US;
void (*sim_observer)(struct lsh_thread *thread);

static struct sim_fiber *fibers, *current, *starting;
static char *stacks; /* that nobody has; each begins with the next one */
static jmp_buf world;

/* ---- contexts ---- */

static char *
take_stack(void)
{
	char *stack = stacks;

	if (stack != NULL) {
		memcpy(&stacks, stack + GUARD, sizeof stacks);
		return stack;
	}
	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stack == MAP_FAILED || mprotect(stack, GUARD, PROT_NONE) != 0)
		abort();
	return stack;
}

static void
end(struct sim_fiber *f)
{
	struct sim_fiber **at = &fibers;

	if (atomic_load(&f->thread.owner.holds) != 0 && sim_observer != NULL && !LSH_MUTATES(LSH_DEAD_THREADS_HOLD_ON))
		sim_observer(&f->thread);
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	f->state = ENDED;
	sim_wake(f->process, f, INT32_MAX);
	memcpy(f->stack + GUARD, &stacks, sizeof stacks); /* its top is used for a moment longer, its bottom is not */
	stacks = f->stack;
}

static void
begin(void)
{
	struct sim_fiber *f = starting;

	f->run(f->arg);
	end(f);
	_longjmp(world, 1);
}

static void
resume(struct sim_fiber *f)
{
	current = f;
	f->state = RUNNING;
	if (_setjmp(world) == 0) {
		if (f->begun)
			_longjmp(f->context, 1);
		f->begun = true;
		starting = f;
		setcontext(&f->first);
	}
	current = NULL;
}

/* ---- waking ---- */

/* False: its process does not run now. The event comes again when it does, if ever. */
static bool
may_run(struct sim_fiber *f, void (*happen)(void *what, uint64_t turn), uint64_t turn)
{
	if (f->process->dead)
		return false;
	if (f->process->frozen_until <= sim_now)
		return true;
	sim_at(f->process->frozen_until, happen, f, turn);
	return false;
}

static void
run_woken(void *what, uint64_t turn)
{
	struct sim_fiber *f = what;

	if (f->state == BLOCKED && f->turn == turn && may_run(f, run_woken, turn))
		resume(f);
}

static void
time_out(void *what, uint64_t turn)
{
	struct sim_fiber *f = what;

	if (f->state == ENDED || !may_run(f, time_out, turn))
		return;
	f->timer_at = SIM_NEVER;
	if (f->state != BLOCKED || f->woken || f->until == SIM_NEVER)
		return;
	if (f->until <= sim_now) {
		resume(f);
	} else {
		f->timer_at = f->until;
		sim_at(f->until, time_out, f, 0);
	}
}

static void
wake(struct sim_fiber *f)
{
	f->woken = true;
	sim_at(sim_now + sim_between(SIM_US, sim_sluggishness), run_woken, f, ++f->turn);
}

void
sim_wake(const struct sim_process *process, const void *address, int most)
{
	for (struct sim_fiber *f = fibers; f != NULL && most > 0; f = f->next)
		if (f->process == process && f->state == BLOCKED && !f->woken && f->address == address) {
			wake(f);
			most--;
		}
}

void
sim_wake_pollers(const struct sim_process *process, int fd)
{
	for (struct sim_fiber *f = fibers; f != NULL; f = f->next)
		if (f->process == process && f->state == BLOCKED && !f->woken)
			for (nfds_t i = 0; i < f->count; i++)
				if (f->polled[i].fd == fd) {
					wake(f);
					break;
				}
}

/* ---- blocking ---- */

static bool
block(int64_t until)
{
	struct sim_fiber *f = current;

	f->state = BLOCKED;
	f->woken = false;
	f->until = until;
	if (until < f->timer_at) {
		f->timer_at = until;
		sim_at(until, time_out, f, 0);
	}
	if (_setjmp(f->context) == 0)
		_longjmp(world, 1);
	f = current;
	f->address = NULL;
	f->count = 0;
	return f->woken;
}

bool
sim_block(const void *address, int64_t until)
{
	current->address = address;
	return block(until);
}

bool
sim_block_polling(const struct pollfd *polled, nfds_t count, int64_t until)
{
	current->polled = polled;
	current->count = count;
	return block(until);
}

void
sim_sleep(int64_t ns)
{
	sim_block(NULL, sim_now + ns);
}

void
sim_fiber_join(struct sim_fiber *fiber)
{
	while (fiber->state != ENDED)
		sim_block(fiber, SIM_NEVER);
}

/* ---- life ---- */

struct sim_fiber *
sim_fiber_start(struct sim_process *process, void *(*run)(void *arg), void *arg)
{
	struct sim_fiber *f = zeroed(sizeof *f); /* kept: whoever has ended may be joined, and woken */

	f->process = process;
	f->run = run;
	f->arg = arg;
	f->state = BLOCKED;
	f->timer_at = SIM_NEVER;
	f->until = SIM_NEVER;
	f->thread.owner.id = lsh_owner_id();
	f->stack = take_stack();
	getcontext(&f->first);
	f->first.uc_stack.ss_sp = f->stack + GUARD;
	f->first.uc_stack.ss_size = STACK - GUARD;
	makecontext(&f->first, begin, 0);
	f->next = fibers;
	fibers = f;
	wake(f);
	return f;
}

bool
sim_fiber_run(struct sim_process *process, void *(*run)(void *arg), void *arg)
{
	struct sim_fiber *f = sim_fiber_start(process, run, arg);

	resume(f);
	return f->state == ENDED;
}

struct sim_process *
sim_process_self(void)
{
	return current != NULL ? current->process : NULL;
}

bool
sim_runs_short(void)
{
	return current != NULL && current->process->short_until > sim_now && sim_chance(0.3);
}

struct lsh_thread *
sim_fiber_thread(void)
{
	return current != NULL ? &current->thread : NULL;
}
