/* Forked children. See child.h. */
#include "tests/sim/child.h"

#include "tests/sim/fiber.h"
#include "tests/sim/people.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

bool sim_is_child;

static void
use(leash_lock *handle)
{
	leash_error err;

	if (leash_lock_held(handle))
		sim_breach("a forked child has a lock");
	if (leash_lock_acquire(handle, 100, &err) != LEASH_FORKED || leash_lock_extend(handle, 100, &err) != LEASH_FORKED ||
	    leash_lock_release(handle, &err) != LEASH_FORKED)
		sim_breach("a forked child uses a lock of its parent's: %s", err.text);
}

static void
use_permits(const struct sim_person *p)
{
	leash_permit *more;
	leash_error err;

	if (leash_permit_held(p->permit))
		sim_breach("a forked child has permits");
	if ((p->semaphore != NULL && leash_semaphore_acquire(p->semaphore, 1, 100, &more, &err) != LEASH_FORKED) ||
	    leash_permit_extend(p->permit, 100, &err) != LEASH_FORKED ||
	    leash_permit_release(p->permit, &err) != LEASH_FORKED)
		sim_breach("a forked child uses permits of its parent's: %s", err.text);
}

/* All that it may do, while the parent's threads, which are no more there, were in the middle of anything. */
static void *
use_all(void *arg)
{
	struct sim_client *c = arg;

	for (int i = 0; i < sim_terms.threads; i++) {
		for (int l = 0; l < sim_terms.locks; l++)
			if (c->people[i].handles[l] != NULL && c->people[i].own == NULL) { /* else that may be freed */
				use(c->people[i].handles[l]);
				if (c->people[i].others[l] != NULL)
					use(c->people[i].others[l]);
			}
		if (c->people[i].permit != NULL)
			use_permits(&c->people[i]);
	}
	leash_close(c->leash);
	return NULL;
}

void
sim_fork(struct sim_client *c)
{
	int status;

	if (c->leash == NULL || c->process.dead)
		return;
	sim_trace("client %d forks", c->process.number);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		sim_is_child = true;
		if (!sim_fiber_run(&c->process, use_all, c))
			sim_breach("a forked child waits");
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		_exit(1); /* it has said why */
}
