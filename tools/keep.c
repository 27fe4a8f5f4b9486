/* Keeping a lock for a shell. See keep.h.
 *
 *      shell ---- leash acquire --keep ---- renewer, in a session of its own
 *                 waits, then ends          waits for the lock, prints the token, keeps it
 *
 * The fork comes first, when there is no thread yet. The renewer does all the rest: it alone has a connection, and is
 * the holder. The other passes signals on to it, ends as soon as the token is printed and the renewer has left all
 * that it was given (terminal, pipes), or as it ended. If the other is killed before, the renewer gets TERM.
 *
 * From then on the renewer is a supervisor as that of leash run, only that its job is no child: it sees the end of one
 * process, and signals that one alone. */
#include "tools/keep.h"

#include "tools/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- options ---- */

const struct cli_option keep_options[] = {
	{.name = "keep", .take = cli_take_flag, .at = offsetof(struct keep, wanted),
	 .help = "renew it, and release it when the calling shell ends"},
	{.name = "keep-for", .value = "PID", .take = cli_take_number, .at = offsetof(struct keep, pid), .least = 1,
	 .most = INT32_MAX, .help = "the same for that process, instead of the caller"},
	{.name = "on-lost", .value = "HOW", .choices = GRACE_ON_LOST, .take = grace_take_on_lost,
	 .at = offsetof(struct keep, grace), .help = "what that process gets if the lock is lost: term (default), kill, "
	                                             "keep (nothing), or a signal"},
	{.letter = 'k', .name = "kill-after", .value = "DUR", .take = grace_take_kill_after,
	 .at = offsetof(struct keep, grace),
	 .help = "time from TERM to KILL (default 5s, or a quarter of the lease if that is less)"},
	{.name = NULL},
};

int
keep_check(struct keep *k, const struct cli *cli, int64_t ttl_ms)
{
	k->wanted = k->wanted || k->pid != 0;
	if (!k->wanted && (k->grace.given || k->grace.on_lost >= 0))
		return cli_usage(cli, "%s: nobody watches the lock without --keep",
		                 k->grace.given ? "--kill-after" : "--on-lost");
	if (k->grace.on_lost < 0)
		k->grace.on_lost = SIGTERM;
	return k->wanted ? grace_set(&k->grace, cli, ttl_ms) : CLI_GO_ON;
}

/* ---- the process that was called ---- */

static pid_t renewer;

static void
pass_on(int signal)
{
	kill(renewer, signal);
}

static int
end_as(int status)
{
	sigset_t set;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	sigfillset(&set);
	signal(WTERMSIG(status), SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	return EXIT_BY_SIGNAL + WTERMSIG(status);
}

/* Until the renewer keeps it, or has ended. `before`: the signals that are to be blocked again. */
static int
await_renewer(const struct keep *k, int done, const sigset_t *before)
{
	static const int passed[] = {SIGHUP, SIGINT, SIGTERM};
	char byte;
	ssize_t n;
	int status;

	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
		if (!job_was_ignored(&k->job, passed[i]))
			sigaction(passed[i], &(struct sigaction){.sa_handler = pass_on}, NULL);
	sigprocmask(SIG_SETMASK, before, NULL);
	do
		n = read(done, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return EXIT_OK;
	while (waitpid(renewer, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_INTERNAL;
	return end_as(status);
}

/* ---- the process that it is kept for ---- */

/* Can we end it, if it has to be? */
static int
check_caller(const struct keep *k, const struct cli *cli)
{
	int pid = (int)k->caller.pid;

	if (k->grace.on_lost == 0)
		return CLI_GO_ON;
	if (kill(k->caller.pid, 0) != 0 && errno == EPERM)
		return cli_usage(cli, "process %d belongs to another user, so it could not be ended if the lock is lost: give "
		                      "--on-lost keep, or --keep-for another process", pid);
	if (pid == 1)
		return cli_usage(cli, "process 1 cannot be killed, so it could not be ended if the lock is lost: give "
		                      "--on-lost keep, or use leash run");
	return CLI_GO_ON;
}

static int
find_caller(struct keep *k, const struct cli *cli)
{
	pid_t pid = k->pid != 0 ? k->pid : caller_find();
	bool is_of_pipeline = k->pid == 0 && pid == getppid() && caller_is_of_pipeline();
	bool opened = caller_open(&k->caller, pid);

	if (is_of_pipeline)
		return cli_usage(cli, "--keep in a pipeline of a subshell, which ends at once and would take the lock with it: "
		                      "leave the pipeline out, or give --keep-for $$");
	if (k->pid != 0 && (opened ? caller_is_over(&k->caller) : errno == ESRCH))
		return cli_usage(cli, "--keep-for %d: there is no such process", (int)pid);
	if (!opened)
		return cli_fail(cli, EXIT_INTERNAL, "cannot watch process %d: %s; --keep-for names another", (int)pid,
		                strerror(errno));
	if (k->pid == 0 && caller_find() != pid)
		return cli_fail(cli, EXIT_INTERNAL, "the process that called has ended: nobody is left to keep the lock for");
	return check_caller(k, cli);
}

/* ---- the renewer ---- */

static bool
become_renewer(struct keep *k, pid_t called)
{
	k->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	k->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	return k->lost_fd >= 0 && k->null >= 0 && setsid() > 0 && prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) == 0 &&
	       getppid() == called;
}

int
keep_fork(struct keep *k, const struct cli *cli)
{
	int status = find_caller(k, cli), ends[2];
	sigset_t all, before;
	pid_t called = getpid();

	if (status != CLI_GO_ON)
		return status;
	job_prepare(&k->job);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	renewer = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
	if (renewer < 0 || (renewer == 0 && !become_renewer(k, called)))
		return cli_fail(cli, EXIT_INTERNAL, "cannot start a process: %s", strerror(errno));
	if (renewer > 0) {
		close(ends[1]);
		return await_renewer(k, ends[0], &before);
	}
	close(ends[0]);
	k->done = ends[1];
	sigprocmask(SIG_SETMASK, &before, NULL);
	return CLI_GO_ON;
}

void
keep_on_event(void *keep, const leash_event *event)
{
	const struct keep *k = keep;

	if (event->type == LEASH_EVENT_LOST)
		thread_ring(k->lost_fd);
}

int
keep_prepare(struct keep *k, struct holding *held)
{
	k->held = (struct hold_set){.count = 1, .held = held};
	k->job.caller = &k->caller;
	k->job.pid = k->caller.pid;
	k->job.news = k->caller.news;
	k->supervisor = (struct supervisor){
		.job = &k->job,
		.writer = writer_new(held->cli),
		.held = &k->held,
		.lost_fd = k->lost_fd,
		.on_lost = k->grace.on_lost,
		.kill_after_ms = k->grace.kill_after_ms,
		.margin_ms = k->grace.margin_ms,
	};
	if (k->supervisor.writer != NULL && supervisor_begin(&k->supervisor) && caller_listen(&k->caller, held->token))
		return CLI_GO_ON;
	return cli_fail(held->cli, EXIT_INTERNAL, "cannot begin to keep %s: %s", held->shown, strerror(errno));
}

/* Whoever reads from a pipe that we were given must not wait for us. What is our own is closed on exec; what we were
 * given is not. */
static void
leave_descriptors(int null)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		int fd = atoi(entry->d_name);

		if (fd > STDERR_FILENO && fcntl(fd, F_GETFD) == 0)
			close(fd);
	}
	if (dir != NULL)
		closedir(dir);
}

void
keep_stay(struct keep *k)
{
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0); /* before signals are taken for those that are passed on */
	supervisor_signals(&k->job, &set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	leave_descriptors(k->null);
	prctl(PR_SET_NAME, "leash-keep", 0, 0, 0);
	while (write(k->done, "", 1) < 0 && errno == EINTR)
		continue;
	close(k->done);
	supervisor_keep(&k->supervisor);
	supervisor_end(&k->supervisor);
	writer_end(k->supervisor.writer);
	if (k->caller.let_go)
		_exit(EXIT_OK);
}
