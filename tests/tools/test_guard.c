/* The guard of leash run: what it tells of CMD's stops when leash acts on each at once. */
#include "tools/guard.h"

#include "tests/support/test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the guard. */
static struct {
	pid_t cmd;
	unsigned told;
} guard;

/* The guard's, in place of libc's. The first stop is told, and before this returns leash has continued CMD, which has stopped again. */
ssize_t
write(int fd, const void *data, size_t size)
{
	ssize_t done = syscall(SYS_write, fd, data, size);
	siginfo_t info;

	if (guard.cmd == 0 || guard.told++ > 0)
		return done;
	kill(guard.cmd, SIGCONT);
	waitid(P_PID, (id_t)guard.cmd, &info, WSTOPPED | WNOWAIT);
	return done;
}

/* Likewise: who waits for signals has told all that there is to tell. */
int
sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	if (guard.told > 0)
		_exit(0);
	return (int)syscall(SYS_rt_sigtimedwait, set, info, NULL, (size_t)(NSIG / 8));
}

static _Noreturn void
stop_again_and_again(pid_t parent)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	while (getppid() == parent)
		raise(SIGSTOP);
	_exit(0);
}

static _Noreturn void
be_guard(pid_t leash, int news)
{
	sigset_t all;
	pid_t self = getpid();

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (!guard_begin(leash))
		_exit(1);
	pid_t cmd = fork();
	if (cmd == 0) {
		close(news);
		stop_again_and_again(self);
	}
	guard.cmd = cmd;
	guard_keep(leash, cmd, 0, news);
}

SENTENCE(a_stop_that_follows_the_news_of_the_one_before_is_told_too)
{
	pid_t leash = getpid();
	int news[2], signals = 0, what;

	assert_int_equal(pipe(news), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_guard(leash, news[1]);
	close(news[1]);
	while (read(news[0], &what, sizeof what) == sizeof what) {
		assert_int_equal(what, SIGSTOP);
		signals++;
	}
	close(news[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(signals, 2);
}
