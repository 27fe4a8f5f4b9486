/* Processes of a test: forking, waiting for them, pausing them, and what they share.
 *
 * A child runs one function and ends with its result. It must not use its parent's leash clients, proxies or monitors;
 * servers it may talk to after server_connect, or by their URI. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Fork a child that runs `run(arg)` and exits with what that returns. An assertion that fails in it aborts it.
 * It dies with this process, and also with the calling thread: call this from threads that outlive the child. */
pid_t child_run(int (*run)(void *arg), void *arg);
void child_wait(pid_t pid); /* wait for its end; anything but exit status 0 fails the test */
int child_end(pid_t pid); /* wait for its end, however it ends; the status of waitpid */
void child_kill(pid_t pid); /* SIGKILL, and it has gone when this returns */

/* SIGSTOP and SIGCONT of a direct child; it really stands still, resp. runs again, when these return. */
void child_pause(pid_t pid);
void child_resume(pid_t pid);

/* Zeroed memory that this process shares with the children that it forks from now on. What is small may stay. */
void *child_share(size_t size);
void child_unshare(void *memory, size_t size);

/* How far processes or threads that share it have come. It only grows. Zero-initialised, as child_share leaves it. */
struct stage {
	_Atomic uint32_t n;
};

void stage_set(struct stage *stage, uint32_t n);      /* now `n`, unless it is more already */
void stage_raise(struct stage *stage);                /* now one more: for "all of them are ready" */
void stage_await(struct stage *stage, uint32_t n);    /* until it is at least `n`; AWAIT_S fail the test */
uint32_t stage_now(const struct stage *stage);
