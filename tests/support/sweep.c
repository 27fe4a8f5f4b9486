/* Cleaning up after a test process. See sweep.h.
 *
 * PR_SET_PDEATHSIG would not do: it fires when the *thread* ends that started the process, and it removes no folder. */
#include "tests/support/sweep.h"

#include "tests/support/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A pid may have passed to somebody else by then, hence the time at which the process started (field 22 of its stat). */
static char SWEEPER[] =
	"trap '' HUP INT QUIT TERM PIPE\n"
	"all=$(cat)\n"
	"printf '%s\\n' \"$all\" | while read -r kind what start; do\n"
	"	[ \"$kind\" = process ] && read -r stat <\"/proc/$what/stat\" || continue\n"
	"	set -- ${stat##*) }\n"
	"	[ \"${20}\" = \"$start\" ] && kill -KILL \"$what\"\n"
	"done\n"
	"printf '%s\\n' \"$all\" | while read -r kind what; do\n"
	"	[ \"$kind\" = folder ] && [ -n \"$what\" ] && rm -rf -- \"$what\"\n"
	"done\n";

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;   /* guards all of these */
static struct sweep_item *items;
static int sweeper = -1;     /* the end of the pipe that we write to */
static pid_t sweeper_pid;
static bool hooked;          /* atexit and atfork are in place, for this process and all that it forks */

/* What this process added last; a forked child finds its parent's things in the list, too. */
static struct sweep_item *
last_item(void)
{
	struct sweep_item *item;

	pthread_mutex_lock(&mutex);
	for (item = items; item && item->owner != getpid(); item = item->next)
		continue;
	pthread_mutex_unlock(&mutex);
	return item;
}

static void
at_exit(void)
{
	struct sweep_item *item;

	while ((item = last_item()) != NULL)
		item->stop(item->what);
	if (sweeper >= 0) {
		close(sweeper);
		sweeper = -1;
		waitpid(sweeper_pid, NULL, 0);
	}
}

static void
before_fork(void)
{
	pthread_mutex_lock(&mutex);
}

static void
after_fork(void)
{
	pthread_mutex_unlock(&mutex);
}

/* The sweeper must not take a child for its parent. */
static void
in_child(void)
{
	if (sweeper >= 0)
		close(sweeper);
	sweeper = -1;
	pthread_mutex_unlock(&mutex);
}

/* mutex held. Hooks for threads and processes are set once in a lifetime; children inherit them. */
static void
hook(void)
{
	if (hooked)
		return;
	hooked = true;
	pthread_atfork(before_fork, after_fork, in_child);
	atexit(at_exit);
}

int
sweep_spawn(pid_t *pid, char *const argv[], char *const environment[], const int streams[3], const char *terminal)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t all, none;

	sigfillset(&all);
	sigemptyset(&none);
	posix_spawnattr_init(&how);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigdefault(&how, &all);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawn_file_actions_init(&files);
	if (terminal)   /* by being the first that is opened it becomes the session's */
		posix_spawn_file_actions_addopen(&files, 0, terminal, O_RDWR, 0);
	for (int i = 0; i < 3; i++)
		if (streams[i] >= 0)
			posix_spawn_file_actions_adddup2(&files, streams[i], i);
		else
			posix_spawn_file_actions_addopen(&files, i, "/dev/null", O_RDWR, 0);
	/* Others' connections have no place there: they would stay open for as long as it runs. */
	posix_spawn_file_actions_addclosefrom_np(&files, 3);
	int error = posix_spawnp(pid, argv[0], &files, &how, argv, environment);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	return error;
}

/* Lines are shorter than PIPE_BUF: each is written whole. */
#define tell_sweeper(...) \
	(dprintf(sweeper_pipe(), __VA_ARGS__) < 0 ? trouble("the sweeper is gone: %s", strerror(errno)) : (void)0)

/* The pipe to it; it is started when it is needed first. */
static int
sweeper_pipe(void)
{
	char *const argv[] = {"/bin/sh", "-c", SWEEPER, NULL};
	int ends[2], error = 0;

	if (access("/proc/self/stat", R_OK) != 0)
		trouble("/proc is not mounted: the tests need it to end exactly the processes that they started");
	pthread_mutex_lock(&mutex);
	hook();
	if (sweeper < 0 && (error = pipe2(ends, O_CLOEXEC) != 0 ? errno : 0) == 0) {
		error = sweep_spawn(&sweeper_pid, argv, environ, (int[]){ends[0], -1, -1}, NULL);
		close(ends[0]);
		sweeper = ends[1];
	}
	int to = sweeper;
	pthread_mutex_unlock(&mutex);
	if (error != 0)
		trouble("no sweeper: %s", strerror(error));
	return to;
}

char *
sweep_folder(void)
{
	const char *base = getenv("TMPDIR");

	/* The path of a unix socket has 107 bytes at most. */
	if (!base || base[0] != '/' || strlen(base) > 70)
		base = "/tmp";
	char *folder = text_of("%s/leash-test-XXXXXX", base);
	if (!mkdtemp(folder))
		trouble("cannot make a folder in %s: %s", base, strerror(errno));
	tell_sweeper("folder %s\n", folder);
	return folder;
}

char *
sweep_file(const char *folder, const char *name, const char *text)
{
	char *path = text_of("%s/%s", folder, name);
	FILE *file = fopen(path, "we");

	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		trouble("%s: %s", path, strerror(errno));
	return path;
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	remove(path);
	return 0;
}

void
sweep_remove(char *folder)
{
	if (!folder)
		return;
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(folder);
}

void
sweep_process(pid_t pid)
{
	char path[64], stat[1024], start[32];

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return;   /* gone already */
	size_t n = fread(stat, 1, sizeof stat - 1, file);
	fclose(file);
	stat[n] = '\0';
	char *rest = strrchr(stat, ')');
	/* field 3, and so on */
	if (rest && sscanf(rest + 1, "%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%31s", start) == 1)
		tell_sweeper("process %d %s\n", (int)pid, start);
}

void
sweep_add(struct sweep_item *item, void (*stop)(void *what), void *what)
{
	pthread_mutex_lock(&mutex);
	hook();
	item->stop = stop;
	item->what = what;
	item->owner = getpid();
	item->next = items;
	items = item;
	pthread_mutex_unlock(&mutex);
}

int
sweep_drop(struct sweep_item *item)
{
	struct sweep_item **at;

	if (item->owner != getpid())
		return 0;
	pthread_mutex_lock(&mutex);
	for (at = &items; *at; at = &(*at)->next)
		if (*at == item) {
			*at = item->next;
			break;
		}
	pthread_mutex_unlock(&mutex);
	return 1;
}
