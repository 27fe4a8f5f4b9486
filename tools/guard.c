/* The guard between leash and CMD. See guard.h.
 *
 *      leash ---- guard ---- CMD ---- all that descends from it
 *
 * The kernel can kill CMD when its parent dies (PDEATHSIG). But that setting is lost when CMD changes its user, as
 * under su, sudo and setpriv, and it does not reach what CMD has started. So CMD gets a parent that only waits: the
 * guard. It asks for a signal at the death of leash, never changes its user, and is a subreaper: orphans below it
 * become its children, daemons too. When leash is dead it kills until it has no child left.
 *
 * While leash lives the two need no agreement. When CMD has ended the guard ends without reaping it; so CMD becomes a
 * child of leash, a subreaper as well, which reaps it. Only stops of CMD have to be reported, because the kernel tells
 * them to the parent alone. When the guard is killed the kernel kills CMD; a CMD that has changed its user lives on as
 * a child of leash.
 *
 * The guard is in a process group of its own, so that no signal to the group of leash or of CMD reaches it, and none
 * from the terminal. It stays in the session: Ctrl-Z does not stop a group whose parents are all in other sessions. All
 * signals are blocked. It has no descriptor but `news`, so that it keeps no pipe open. */
#include "tools/guard.h"

#include "tools/clock.h"
#include "tools/process_tree.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAUSE_MS = 10, LONGEST_MS = 200 }; /* between two rounds of KILL */

bool
guard_begin(pid_t leash)
{
	return prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 &&
	       setpgid(0, 0) == 0 && getppid() == leash;
}

/* All but those that we may not kill. */
static void
kill_all(pid_t cmd, pid_t group)
{
	struct process_tree tree = {0};
	int64_t pause_ms = PAUSE_MS;

	kill(group != 0 ? -group : cmd, SIGKILL); /* CMD is not reaped, so the pid is its own. The rest needs /proc */
	for (int rounds_in_vain = 0; rounds_in_vain < 2;) {
		struct tree_found found = tree_signal(&tree, SIGKILL);

		clock_sleep_ms(pause_ms);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		if (waitpid(-1, NULL, WNOHANG) < 0)
			return; /* no child is left, so no descendant is */
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
		if (info.si_pid == cmd) /* only now: leash may continue CMD as soon as it is told, and CMD may stop again */
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
