#include "tests/support/child.h"

#include "tests/support/await.h"
#include "tests/support/sweep.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ThreadSanitizer refuses threads in a child that was forked while there were several; most of our children need some. */
const char *__tsan_default_options(void) __attribute__((visibility("default")));
const char *
__tsan_default_options(void)
{
	return "die_after_fork=0";
}

pid_t
child_run(int (*run)(void *arg), void *arg)
{
	pid_t parent = getpid();

	fflush(NULL);   /* or both would print what has not been written yet */
	pid_t pid = fork();
	if (pid < 0)
		trouble("fork: %s", strerror(errno));
	if (pid > 0) {
		sweep_process(pid);
		return pid;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(1);
	/* Else a failed assertion would jump back into the parent's test, and the child go on with the tests after it. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	int status = run(arg);
	fflush(NULL);
	_exit(status);
}

int
child_end(pid_t pid)
{
	int status = 0;
	pid_t ended;

	do
		ended = waitpid(pid, &status, 0);
	while (ended < 0 && errno == EINTR);
	if (ended != pid)
		trouble("process %d is no child of this one", (int)pid);
	return status;
}

void
child_wait(pid_t pid)
{
	int status = child_end(pid);

	if (WIFSIGNALED(status))
		trouble("child %d was ended by signal %d (%s)", (int)pid, WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) != 0)
		trouble("child %d ended with status %d", (int)pid, WEXITSTATUS(status));
}

void
child_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	child_end(pid);
}

void
child_pause(pid_t pid)
{
	siginfo_t info;
	int result;

	if (pid <= 0 || kill(pid, SIGSTOP) != 0)
		trouble("process %d has ended", (int)pid);
	/* The kernel says so when the last thread stands. WNOWAIT leaves that to be seen again by the next call. */
	do
		result = waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT);
	while (result != 0 && errno == EINTR);
	if (result != 0 || info.si_code != CLD_STOPPED)
		trouble("process %d has ended", (int)pid);
}

void
child_resume(pid_t pid)
{
	/* The threads are set running within kill(): there is nothing to wait for. */
	if (pid <= 0 || kill(pid, SIGCONT) != 0)
		trouble("process %d has ended", (int)pid);
}

void *
child_share(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		trouble("no memory to share: %s", strerror(errno));
	return memory;
}

void
child_unshare(void *memory, size_t size)
{
	munmap(memory, size);
}

static void
wake_all(struct stage *stage)
{
	syscall(SYS_futex, &stage->n, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void
stage_set(struct stage *stage, uint32_t n)
{
	uint32_t now = atomic_load(&stage->n);

	while (now < n && !atomic_compare_exchange_weak(&stage->n, &now, n))
		continue;
	wake_all(stage);
}

void
stage_raise(struct stage *stage)
{
	atomic_fetch_add(&stage->n, 1);
	wake_all(stage);
}

uint32_t
stage_now(const struct stage *stage)
{
	return atomic_load(&stage->n);
}

void
stage_await(struct stage *stage, uint32_t n)
{
	int64_t limit = await_limit_ns(AWAIT_S);
	uint32_t now;

	while ((now = atomic_load(&stage->n)) < n) {
		struct timespec a_while = { .tv_nsec = 100000000 };

		if (await_is_past(limit))
			trouble("stage %u was not reached, it is still at %u", n, now);
		syscall(SYS_futex, &stage->n, FUTEX_WAIT, now, &a_while, NULL, 0);
	}
}
