/* One thread of leash's stands still, and time goes on meanwhile. A whole process: contract/test_plain, and test_lease;
 * answers that are read late: core/test_single. */
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static _Thread_local leash_error err; /* what the last call said */

struct held_up {
	char uri[256];
	int64_t lease_ms;
	struct stage stage;                /* 1: held, and looking */
	_Atomic bool enough;               /* it has looked enough */
	_Atomic int64_t last_true;         /* a moment before the last look that said held */
	_Atomic int64_t false_at;          /* a moment after the first one that did not; 0: none yet */
	_Atomic int revived;               /* looks that said held, after one that did not */
	_Atomic int lost;                  /* events */
	_Atomic int release;
};

/* Holds a lock and looks at it all the time, which needs nobody but this thread. */
static int
hold_and_look(void *arg)
{
	struct held_up *h = arg;
	struct leashed_events events = {0};
	leash_client *client =
		leashed_open(h->uri, LEASH_OPTIONS(.lease_ms = h->lease_ms, .timeout_ms = 60000, .on_event = leashed_note_event,
		                                   .event_arg = &events));
	leash_lock *lock = leashed_lock(client, "held up", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	while (!h->enough) {
		int64_t before = await_now_ns();

		if (leash_lock_held(lock)) {
			h->last_true = before;
			h->revived += h->false_at != 0;
		} else if (h->false_at == 0) {
			h->false_at = await_now_ns();
		}
		h->lost = events.count[LEASH_EVENT_LOST];
		stage_set(&h->stage, 1);
	}
	h->release = (int)leash_lock_release(lock, &err);
	leash_lock_free(lock);
	leash_close(client);
	h->lost = events.count[LEASH_EVENT_LOST];
	return 0;
}

static struct held_up *
begin_holding(int64_t lease_ms, pid_t *pid)
{
	struct held_up *h = child_share(sizeof *h);

	snprintf(h->uri, sizeof h->uri, "%s", server_uri(server));
	h->lease_ms = lease_ms;
	*pid = child_run(hold_and_look, h);
	stage_await(&h->stage, 1);
	return h;
}

static void
end_holding(struct held_up *h, pid_t pid, leash_status released)
{
	h->enough = true;
	child_wait(pid);
	assert_int_equal(h->revived, 0);
	assert_int_equal(h->release, released);
	assert_int_equal(h->lost, released == LEASH_LOST); /* it is told once */
	child_unshare(h, sizeof *h);
}

FIXTURE(start_server, stop_server);

/* The thread of that name; it sleeps at the moment. 0: not now. */
static pid_t
find_thread(pid_t pid, const char *name)
{
	char path[300], line[128];
	struct dirent *entry;
	pid_t found = 0;
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	folder = opendir(path);
	assert_non_null(folder);
	while (found == 0 && (entry = readdir(folder)) != NULL) {
		char state = '\0';
		bool is_it = false;
		FILE *file;

		snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)pid, entry->d_name);
		if (entry->d_name[0] == '.' || (file = fopen(path, "re")) == NULL)
			continue;
		while (fgets(line, sizeof line, file) != NULL) {
			char *value = strchr(line, '\t');

			if (strncmp(line, "Name:", 5) == 0 && value != NULL)
				is_it = strncmp(value + 1, name, strlen(name)) == 0 && value[1 + strlen(name)] == '\n';
			sscanf(line, "State: %c", &state);
		}
		fclose(file);
		if (is_it && state == 'S')
			found = (pid_t)atoi(entry->d_name);
	}
	closedir(folder);
	return found;
}

/* One thread of a process stands still, as if the scheduler had forgotten it. It blocks all signals; a tracer needs
 * none. */
static pid_t
hold_up(pid_t pid, const char *name)
{
	pid_t tid = 0;
	int status;

	await_true((tid = find_thread(pid, name)) != 0);
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0 || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
		fail_msg("ptrace: %s", strerror(errno));
	assert_int_equal(waitpid(tid, &status, __WALL), tid);
	assert_true(WIFSTOPPED(status));
	return tid;
}

static void
let_go_on(pid_t tid)
{
	assert_int_equal(ptrace(PTRACE_DETACH, tid, NULL, NULL), 0);
}

/* By when the server will have dropped the lease, unless it is renewed. */
static int64_t
ends_on_the_server(void)
{
	int64_t ttl = server_integer(server, "PTTL leash:{held%%20up}");

	return await_now_ns() + ttl * MS;
}

/* Without this one. */
static const struct standing {
	const char *name, *thread;
	bool is_told, is_lost; /* while it stands still; at all */
} standing[] = {
	{"without_its_watchdog_a_hold_ends_with_the_lease_by_arithmetic", "leash-watchdog", false, true},
	{"without_the_keeper_a_loss_is_told_when_the_lease_ends", "leash-keeper", true, true},
	{"without_the_thread_that_delivers_events_renewals_go_on", "leash-courier", false, false},
};

SENTENCES(a_thread_that_stands_still_prolongs_no_hold, standing)
{
	const struct standing *row = given;
	int64_t lease_ms = slow_ms(1000), ends;
	pid_t pid, tid;
	struct held_up *h = begin_holding(lease_ms, &pid);

	await_ms(lease_ms / 2); /* it was renewed */
	assert_int_equal(h->false_at, 0);
	tid = hold_up(pid, row->thread);
	await_ms(20);           /* what it had begun is over */
	ends = ends_on_the_server();
	if (row->is_lost) {
		await_true(h->false_at != 0);
		assert_true(h->last_true < ends);
		await_true(server_integer(server, "EXISTS leash:{held%%20up}") == 0);
		await_true(h->lost == row->is_told);
	} else {
		await_ms(2 * lease_ms);
		assert_int_equal(h->false_at, 0);
	}
	let_go_on(tid);
	await_true(h->lost == row->is_lost);
	end_holding(h, pid, row->is_lost ? LEASH_LOST : LEASH_OK);
}
