/* The guard between leash and CMD. See guard.h.
 *
 *      leash ---- guard ---- CMD ---- all that descends from it
 *
 * The kernel kills CMD when its parent dies, if it was asked to (PDEATHSIG); but it forgets that when CMD changes its user, as under su,
 * sudo and setpriv, and it never kills what CMD has started. So CMD has a parent that does nothing but wait. It asks for a signal at the
 * death of leash, and never changes its user. It is a subreaper: whoever below it loses his parent becomes its child, daemons too. When
 * leash is dead it kills until no child is left.
 *
 * While leash lives there is nothing to agree upon. When CMD has ended the guard ends, and does not reap it: so CMD becomes the child of
 * leash, a subreaper as well, which reaps it as any child. Only that CMD was stopped must be told, for nobody but a parent sees it.
 * When the guard is killed the kernel kills CMD; one that has changed its user lives on as a child of leash.
 *
 * No signal to the group of leash or of CMD reaches it, and none from the terminal: its process group is its own. Its session is not,
 * for a group whose members have all their parents in other sessions cannot be stopped by Ctrl-Z. All signals are blocked. It has no
 * descriptor but `news`, so that nobody waits for it at the other end of a pipe. */
#include "tools/guard.h"

#include "tools/brood.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_MS = 10, LONGEST_MS = 200 }; /* between two rounds of KILL */

bool
guard_begin(pid_t leash)
{
	return prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 && setpgid(0, 0) == 0 &&
	       getppid() == leash;
}

/* All must die. Those whom we may not kill, and only those, are left. */
static void
kill_all(pid_t cmd, pid_t group)
{
	struct brood brood = {0};
	int64_t pause_ms = PAUSE_MS;

	kill(group != 0 ? -group : cmd, SIGKILL); /* not reaped yet: the numbers are CMD's. The rest may want a /proc */
	for (int rounds_in_vain = 0; rounds_in_vain < 2;) {
		struct timespec pause = {.tv_nsec = pause_ms * 1000000};
		struct brood_found found = brood_signal(&brood, SIGKILL, 0);

		nanosleep(&pause, NULL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		if (waitpid(-1, NULL, WNOHANG) < 0)
			return; /* no child is left, so nobody is */
		rounds_in_vain = found.alive == 0 && found.hindered == 0 ? rounds_in_vain + 1 : 0;
		pause_ms = pause_ms < LONGEST_MS ? 2 * pause_ms : LONGEST_MS;
	}
}

void
guard_tell(int news, int what)
{
	while (write(news, &what, sizeof what) < 0 && errno == EINTR)
		continue;
}

/* Has CMD ended? Reaps all others. */
static bool
has_ended(pid_t cmd, int news)
{
	siginfo_t info = {0};

	while (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
		bool has_stopped = info.si_code == CLD_STOPPED;
		pid_t pid = info.si_pid;

		if (pid == cmd && !has_stopped)
			return true;
		info.si_pid = 0;
		waitid(P_PID, (id_t)pid, &info, WNOHANG | (has_stopped ? WSTOPPED : WEXITED));
		if (info.si_pid == cmd) /* told only now: whoever hears of it may continue CMD, and what it does next is other news */
			guard_tell(news, info.si_status);
		info.si_pid = 0;
	}
	return false;
}

void
guard_keep(pid_t leash, pid_t cmd, pid_t group, int news)
{
	sigset_t all;

	if (dup2(news, STDIN_FILENO) != STDIN_FILENO)
		_exit(EXIT_FAILURE);
	closefrom(STDIN_FILENO + 1);
	sigfillset(&all);
	while (getppid() == leash && !has_ended(cmd, STDIN_FILENO))
		sigwaitinfo(&all, NULL); /* SIGCHLD, or the death of leash */
	if (getppid() != leash)
		kill_all(cmd, group);
	_exit(EXIT_SUCCESS);
}
