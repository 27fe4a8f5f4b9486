/* The contenders of a run. Each has a number that stays, and a process that may be killed and replaced: then its history is a new one.
 *
 * Where there is one server each has a proxy too. Even numbers reach theirs over a unix socket, odd ones over TCP, where a reset is one;
 * with TLS all do, as there are no other such sockets. */
#include "tests/fault/faults.h"
#include "tests/support/await.h"
#include "tests/support/child.h"
#include "tests/support/sweep.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME = 40, PATIENCE_S = 60 };

struct contender {
	struct proxy *proxy;       /* NULL: none */
	char uri[URI];
	char name[NAME];
	unsigned generation;
	pid_t pid;                 /* 0: it has ended, and was waited for */
};

struct crew {
	struct run *run;
	unsigned failures;
	struct contender contenders[CONTENDERS];
};

static void
make_uri(struct contender *c, const struct arena *arena, const char *uri)
{
	const char *behind = strstr(uri, "://") + 3;

	snprintf(c->uri, sizeof c->uri, "%s%.*s" CREW_USER ":" CREW_PASSWORD "@%s%s%s", arena->sealed ? "rediss://" : "",
	         arena->sealed ? 0 : (int)(behind - uri), uri, behind, arena->sealed ? "?" : "", arena->sealed ? certs_query() : "");
}

static void
lead(struct crew *crew, unsigned number)
{
	struct contender *c = &crew->contenders[number];
	const struct run *run = crew->run;
	char target[URI];

	if (run->uri != NULL) {
		make_uri(c, run->arena, run->uri);
		return;
	}
	if (run->alone.told != 0)
		snprintf(target, sizeof target, "127.0.0.1:%d", run->alone.told);
	else
		snprintf(target, sizeof target, "%s", server_socket(run->alone.server));
	c->proxy = proxy_start_with(target, run->alone.told != 0 || number % 2 != 0);
	make_uri(c, run->arena, proxy_uri(c->proxy));
}

/* The program stands beside this one. */
static void
start(struct crew *crew, unsigned number)
{
	static const int streams[] = {-1, STDOUT_FILENO, STDERR_FILENO};
	struct contender *c = &crew->contenders[number];
	struct run *run = crew->run;
	struct words words = {.count = 0};
	char numbers[200], program[4096] = "";
	int error;

	if (readlink("/proc/self/exe", program, sizeof program - 32) <= 0)
		trouble("/proc/self/exe: %s", strerror(errno));
	strcpy(strrchr(program, '/') + 1, "contender");
	snprintf(c->name, sizeof c->name, "contender-%u-%u", number, ++c->generation);
	snprintf(numbers, sizeof numbers, "%" PRIu64 " %d %d %" PRId64 " %" PRId64 " %" PRId64 " %u %d",
	         (run->seed * 1000 + number) * 1000 + c->generation, LOCKS, THREADS, run->arena->lease_ms,
	         run->arena->guard_ms, run->arena->timeout_ms, run->min_replicas, run->arena->plain);
	words_add(&words, program, c->uri, run->folder, c->name, numbers);
	if ((error = sweep_spawn(&c->pid, words.at, environ, streams, NULL)) != 0)
		trouble("%s: %s", program, strerror(error));
	sweep_process(c->pid);
	words_free(&words);
	run->contenders++;
	run->calm_ns = await_now_ns();
}

struct crew *
crew_start(struct run *run)
{
	struct crew *crew = zeroed(sizeof *crew);

	crew->run = run;
	for (unsigned i = 0; i < CONTENDERS; i++) {
		lead(crew, i);
		start(crew, i);
	}
	return crew;
}

struct proxy *
crew_proxy(struct crew *crew, unsigned number)
{
	return crew->contenders[number].proxy;
}

static void
tell_end(struct crew *crew, struct contender *c, int status)
{
	if (WIFSIGNALED(status))
		fprintf(stderr, "nemesis: %s was ended by signal %d (%s)\n", c->name, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		fprintf(stderr, "nemesis: %s ended with status %d\n", c->name, WEXITSTATUS(status));
	crew->failures++;
	c->pid = 0;
}

/* How many run? Who has ended well is told all the same, unless that `is_end`. */
static unsigned
look_after(struct crew *crew, bool is_end)
{
	unsigned left = 0;

	for (unsigned i = 0; i < CONTENDERS; i++) {
		struct contender *c = &crew->contenders[i];
		int status = 0;

		if (c->pid == 0 || waitpid(c->pid, &status, WNOHANG) != c->pid)
			left += c->pid != 0;
		else if (is_end && status == 0)
			c->pid = 0;
		else
			tell_end(crew, c, status);
	}
	return left;
}

unsigned
crew_failures(struct crew *crew)
{
	look_after(crew, false);
	return crew->failures;
}

void
crew_kill(struct crew *crew, unsigned number)
{
	struct contender *c = &crew->contenders[number];
	pid_t pid = c->pid;

	if (pid == 0)
		return;
	kill(pid, SIGKILL);
	int status = child_end(pid);
	crew->run->killed++;
	history_note(crew->run->history, "killed %d", (int)pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		tell_end(crew, c, status);
	c->pid = 0;
}

void
crew_replace(struct crew *crew, unsigned number)
{
	if (crew->contenders[number].pid == 0)
		start(crew, number);
}

void
crew_freeze(struct crew *crew, unsigned number)
{
	struct contender *c = &crew->contenders[number];

	crew_failures(crew);
	if (c->pid == 0)
		return;
	history_note(crew->run->history, "frozen %d", (int)c->pid);
	child_pause(c->pid);
}

void
crew_thaw(struct crew *crew, unsigned number)
{
	struct contender *c = &crew->contenders[number];

	if (c->pid == 0)
		return;
	child_resume(c->pid);
	crew->run->calm_ns = await_now_ns();
	history_note(crew->run->history, "thawed %d", (int)c->pid);
}

/* ---- the end ---- */

/* What its threads are at, where there is a debugger. */
static void
print_stacks(const struct contender *c)
{
	char command[200];

	snprintf(command, sizeof command, "command -v gdb >/dev/null 2>&1 && gdb -p %d -batch -ex 'thread apply all backtrace 16' >&2 2>/dev/null",
	         (int)c->pid);
	fflush(NULL);
	if (system(command) != 0)
		fprintf(stderr, "nemesis: no stacks of %s\n", c->name);
}

/* Not noted as killed: the judge is to see who hung. */
static void
abort_contender(struct crew *crew, struct contender *c)
{
	int64_t limit = await_limit_ns(10);

	fprintf(stderr, "nemesis: %s (process %d) does not come to its end\n", c->name, (int)c->pid);
	print_stacks(c);
	kill(c->pid, SIGABRT);
	kill(c->pid, SIGCONT);
	while (look_after(crew, true) > 0 && c->pid != 0 && !await_is_past(limit))
		await_ms(10);
	if (c->pid != 0) {
		kill(c->pid, SIGKILL);
		tell_end(crew, c, child_end(c->pid));
	}
}

unsigned
crew_finish(struct crew *crew)
{
	int64_t limit = await_limit_ns(PATIENCE_S);

	crew_failures(crew);   /* who ended before it was told to ended too early, be it well */
	for (unsigned i = 0; i < CONTENDERS; i++)
		if (crew->contenders[i].pid != 0)
			kill(crew->contenders[i].pid, SIGTERM);
	while (look_after(crew, true) > 0 && !await_is_past(limit))
		await_ms(10);
	for (unsigned i = 0; i < CONTENDERS; i++)
		if (crew->contenders[i].pid != 0)
			abort_contender(crew, &crew->contenders[i]);
	return crew->failures;
}

void
crew_free(struct crew *crew)
{
	for (unsigned i = 0; i < CONTENDERS; i++)
		proxy_stop(crew->contenders[i].proxy);
	free(crew);
}
