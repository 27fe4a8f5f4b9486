/* What befalls a process: forks at any moment, an exec, threads that end, an end of its own or by a signal. What can be
 * told from one quiet process is in tests/contract/test_forked.c; here it happens amid calls of many threads, and
 * often.
 *
 *   LEASH_TEST_FORKS    children that are forked amid calls (default 1000; 10000 for the long way)
 *   LEASH_TEST_CYCLES   acquires and releases of one client (default 60000; 10000000 for the long way)
 *
 * Where a process must be a fresh one, the program runs itself again with arguments; see main(). */
#include "tests/support/child.h"
#include "tests/support/fake.h"
#include "tests/support/knob.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"
#include "tests/support/sanitizer.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Thread_local leash_error err; /* what the last call said */

/* ---- threads that make every call there is, all the time ---- */

struct busy {
	leash_client *client;  /* all of them use it */
	const char *uri;       /* of a server at which they open clients of their own; NULL: they do not */
	const char *name;      /* of a lock of its own */
	_Atomic bool *enough;
	_Atomic unsigned turns;
	pthread_t thread;
};

static void
open_and_close(const char *where, leash_cancel *cancel)
{
	leash_client *client = leashed_open(where, LEASH_OPTIONS(.timeout_ms = 30000));
	leash_lock *lock = leashed_lock(client, "briefly", NULL);

	leash_cancel_fire(cancel);
	assert_status(LEASH_CANCELED,
	              leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER, .cancel = cancel), &err));
	leash_close(client);
	assert_status(LEASH_CLOSED, leash_lock_acquire(lock, 0, &err));
	leash_lock_free(lock);
}

/* While the process ends its client may be closed: what threads see of that is not wrong, and they go no further. */
static _Atomic bool at_exit;

#define assert_busy(expected, call) check_busy((expected), (call), #call, __LINE__)

static void
check_busy(leash_status expected, leash_status actual, const char *call, int line)
{
	while (actual != expected && at_exit)
		pause();
	leashed_check(expected, actual, &err, call, __FILE__, line);
}

static void
call_everything(struct busy *b, leash_lock *shared)
{
	leash_owner *owner = NULL;
	leash_cancel *cancel = NULL;
	leash_lock *own = NULL;
	char token[LEASH_TOKEN_MAX];
	leash_status status;

	assert_busy(LEASH_OK, leash_owner_new(&owner, &err));
	assert_busy(LEASH_OK, leash_cancel_new(&cancel, &err));
	assert_busy(LEASH_OK, leash_lock_new(&own, b->client, b->name, LEASH_LOCK_OPTIONS(.owner = owner), &err));
	assert_busy(LEASH_OK, leash_lock_acquire(own, LEASH_FOREVER, &err));
	assert_busy(LEASH_OK, leash_lock_acquire(own, 0, &err));
	assert_true(leash_lock_depth(own) == 2 || at_exit);
	assert_true((leash_lock_held(own) && leash_lock_fence(own) > 0 && leash_lock_remaining_ms(own) > 0) || at_exit);
	assert_true(leash_lock_token(own, token, sizeof token) > 0 || at_exit);
	leash_lock_alive(own);
	assert_busy(LEASH_OK, leash_lock_extend(own, 30000, &err));
	assert_busy(LEASH_OK, leash_lock_release(own, &err));
	assert_busy(LEASH_OK, leash_lock_release(own, &err));
	leash_lock_free(own);
	status = leash_lock_acquire_with(shared, LEASH_ACQUIRE(.wait_ms = b->turns % 2 ? LEASH_FOREVER : 0,
	                                                       .cancel = cancel), &err);
	if (status == LEASH_OK)
		assert_busy(LEASH_OK, leash_lock_release(shared, &err));
	else
		assert_busy(LEASH_TIMEOUT, status);
	if (b->uri != NULL && b->turns % 16 == 15)
		open_and_close(b->uri, cancel);
	leash_owner_free(owner);
	leash_cancel_free(cancel);
}

static void *
be_busy(void *arg)
{
	struct busy *b = arg;
	leash_lock *shared = leashed_lock(b->client, "shared", NULL);

	while (!*b->enough) {
		call_everything(b, shared);
		b->turns++;
	}
	leash_lock_free(shared);
	return NULL;
}

static const char *const own_names[] = {"own 0", "own 1", "own 2", "own 3", "own 4", "own 5", "own 6", "own 7"};

enum { BUSY = 8 };

static void
begin_busy(struct busy busy[BUSY], leash_client *client, const char *where, _Atomic bool *enough)
{
	*enough = false;
	for (int i = 0; i < BUSY; i++) {
		busy[i] = (struct busy){.client = client, .uri = where, .name = own_names[i], .enough = enough};
		assert_int_equal(pthread_create(&busy[i].thread, NULL, be_busy, &busy[i]), 0);
	}
}

static unsigned
end_busy(struct busy busy[BUSY])
{
	unsigned turns = 0;

	*busy[0].enough = true;
	for (int i = 0; i < BUSY; i++) {
		pthread_join(busy[i].thread, NULL);
		turns += busy[i].turns;
	}
	return turns;
}

/* ---- forks ---- */

/* What a child finds of its parent's. */
static struct {
	leash_client *client;
	leash_lock *held, *unheld;
	leash_owner *owner;
	leash_cancel *cancel;
	char uri[256];
} parents;

static void
use_all_in_child(void)
{
	leash_lock *none = NULL;

	for (int i = 0; i < 2; i++) {
		leash_lock *lock = i == 0 ? parents.held : parents.unheld;

		assert_status(LEASH_FORKED, leash_lock_acquire(lock, LEASH_FOREVER, &err));
		assert_status(LEASH_FORKED,
		              leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = 100, .cancel = parents.cancel), &err));
		assert_status(LEASH_FORKED, leash_lock_release(lock, &err));
		assert_status(LEASH_FORKED, leash_lock_extend(lock, 1000, &err));
		assert_holds_nothing(lock);
		leash_lock_alive(lock);
	}
	assert_status(LEASH_FORKED, leash_lock_new(&none, parents.client, "child's", NULL, &err));
	leash_cancel_fire(parents.cancel);
	assert_true(leash_cancel_is_fired(parents.cancel));
	leash_owner_free(parents.owner);
	leash_lock_free(parents.unheld);
	leash_close(parents.client);
	assert_status(LEASH_FORKED, leash_lock_release(parents.held, &err));
	leash_lock_free(parents.held);
}

static int
look_about_in_child(void *arg)
{
	alarm(120); /* or a mutex that nobody will ever unlock would stay unnoticed */
	if (*(long *)arg % 16 == 0 && !UNDER_TSAN && !UNDER_ASAN) {
		leash_client *client = leashed_open(parents.uri, LEASH_OPTIONS(.timeout_ms = 30000));
		leash_lock *lock = leashed_lock(client, "child's", NULL);

		assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		leash_lock_free(lock);
		leash_close(client);
	}
	use_all_in_child();
	return 0;
}

/* The shared client's connections go through a proxy: had a child said a word on one of them, or closed it for all, it
 * would have been opened again, and a call have failed. */
SENTENCE(children_forked_at_any_moment_amid_eight_busy_threads_all_end_and_harm_no_call)
{
	long forks = knob("LEASH_TEST_FORKS", 1000);
	struct proxy *proxy = proxy_start(server_socket(server));
	static struct busy busy[BUSY];
	static _Atomic bool enough;
	unsigned seed = 1;

	parents.client = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = 30000));
	parents.held = leashed_lock(parents.client, "parent's", NULL);
	parents.unheld = leashed_lock(parents.client, "nobody's", NULL);
	snprintf(parents.uri, sizeof parents.uri, "%s", server_uri(server));
	assert_status(LEASH_OK, leash_owner_new(&parents.owner, &err));
	assert_status(LEASH_OK, leash_cancel_new(&parents.cancel, &err));
	assert_status(LEASH_OK, leash_lock_acquire(parents.held, 0, &err));
	begin_busy(busy, parents.client, server_uri(server), &enough);
	for (long i = 0; i < forks; i++) {
		await_moment(&seed);
		child_wait(child_run(look_about_in_child, &i));
	}
	print_message("# %ld forks amid %u turns of %d threads\n", forks, end_busy(busy), BUSY);
	assert_int_equal(proxy_accepted(proxy), 2);
	assert_true(leash_lock_held(parents.held));
	assert_false(leash_cancel_is_fired(parents.cancel));
	assert_status(LEASH_OK, leash_lock_release(parents.held, &err));
	leash_lock_free(parents.held);
	leash_lock_free(parents.unheld);
	leash_owner_free(parents.owner);
	leash_cancel_free(parents.cancel);
	leash_close(parents.client);
	proxy_stop(proxy);
}

/* ---- exec ---- */

/* Run this program with these arguments; `*out` is the reading end of its standard output. */
static pid_t
run_self(const char *const *args, int *out)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], 1);
		execv("/proc/self/exe", (char *const *)(uintptr_t)args);
		_exit(127);
	}
	close(ends[1]);
	*out = ends[0];
	return pid;
}

/* What the descriptors are that this program was born with, to standard output. */
static int
list_descriptors(void)
{
	for (int fd = 0; fd < 4096; fd++) {
		char path[64], what[256] = "";

		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		if (fd != 1 && readlink(path, what, sizeof what - 1) > 0)
			printf("%d %s\n", fd, what);
	}
	return 0;
}

/* What a program has that is executed now: "<fd> <what>\n" for each. */
static void
descriptors_after_exec(char *text, size_t size)
{
	int out;
	pid_t pid = run_self((const char *const[]){"test_process", "descriptors", NULL}, &out);
	size_t n = 0;
	ssize_t more;

	while ((more = read(out, text + n, size - 1 - n)) > 0 || (more < 0 && errno == EINTR))
		n += more > 0 ? (size_t)more : 0;
	text[n] = '\0';
	close(out);
	child_wait(pid);
}

struct opener {
	const char *uri;
	_Atomic bool *enough;
	_Atomic unsigned turns;
	pthread_t thread;
};

static void *
open_again_and_again(void *arg)
{
	struct opener *o = arg;

	while (!*o->enough) {
		leash_client *client = leashed_open(o->uri, LEASH_OPTIONS(.timeout_ms = 30000));

		leash_close(client);
		o->turns++;
	}
	return NULL;
}

SENTENCE(a_program_that_is_executed_at_any_moment_finds_no_descriptor_of_leash)
{
	enum { OPENERS = 3, TIMES = 120 };
	static char before[8192], after[8192];
	static struct opener opener[OPENERS];
	static _Atomic bool enough;
	static char named[64];
	unsigned seed = 2, turns = 0;
	leash_client *client;
	leash_lock *lock;

	snprintf(named, sizeof named, "redis://localhost:%d", server_port(server));
	freeReplyObject(server_command(server, "PING"));
	descriptors_after_exec(before, sizeof before);
	client = leashed_open(server_uri(server), NULL);
	lock = leashed_lock(client, "exec", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	enough = false;
	for (int i = 0; i < OPENERS; i++) {
		const char *uris[OPENERS] = {server_uri(server), server_uri_tcp(server), named};

		opener[i] = (struct opener){.uri = uris[i], .enough = &enough};
		assert_int_equal(pthread_create(&opener[i].thread, NULL, open_again_and_again, &opener[i]), 0);
	}
	for (int i = 0; i < TIMES; i++) {
		await_moment(&seed);
		descriptors_after_exec(after, sizeof after);
		assert_string_equal(after, before);
	}
	enough = true;
	for (int i = 0; i < OPENERS; i++) {
		pthread_join(opener[i].thread, NULL);
		turns += opener[i].turns;
		assert_true(opener[i].turns > 0);
	}
	print_message("# %d programs were executed while %u clients came and went\n", TIMES, turns);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

/* ---- SIGPIPE ---- */

/* Is one pending for any thread, or for the process? Those of leash block it, and would never show it otherwise. */
static bool
sigpipe_is_pending(void)
{
	DIR *folder = opendir("/proc/self/task");
	bool pending = false;

	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		char path[300], line[256];
		unsigned long long mask;
		FILE *file;

		snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
		file = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
		while (file != NULL && fgets(line, sizeof line, file) != NULL)
			if (sscanf(line, "SigPnd: %llx", &mask) == 1 || sscanf(line, "ShdPnd: %llx", &mask) == 1)
				pending |= (mask >> (SIGPIPE - 1) & 1) != 0;
		if (file != NULL)
			fclose(file);
	}
	closedir(folder);
	return pending;
}

static size_t
close_on_scripts(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	_Atomic unsigned *n = ctx;

	(void)out, (void)size;
	return fake_is(argc, argv, argl, 0, "EVALSHA") && ++*n % 2 ? FAKE_CLOSE : FAKE_DEFAULT;
}

static int
write_to_the_closed(void *arg)
{
	_Atomic unsigned n = 0;

	(void)arg;
	signal(SIGPIPE, SIG_DFL);
	for (int tcp = 0; tcp < 2; tcp++) {
		struct fake *fake = tcp ? fake_start_tcp(close_on_scripts, (void *)&n)
			: fake_start(close_on_scripts, (void *)&n);
		leash_client *client = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 200));
		leash_lock *lock = leashed_lock(client, "closed", NULL);

		for (int i = 0; i < 40; i++) {
			assert_int_not_equal(leash_lock_acquire(lock, 20, NULL), LEASH_OK);
			if (i % 4 == 0)
				fake_hang_up(fake);
			assert_false(sigpipe_is_pending());
		}
		leash_lock_free(lock);
		leash_close(client);
		assert_false(sigpipe_is_pending());
		fake_stop(fake);
	}
	return n > 40 ? 0 : 1;
}

SENTENCE(a_server_that_closes_what_is_written_to_raises_no_sigpipe_on_any_thread)
{
	child_wait(child_run(write_to_the_closed, NULL));
}

/* ---- threads that end ---- */

static void *
hold_and_end(void *lock)
{
	if (leash_lock_acquire(lock, 30000, NULL) != LEASH_OK || leash_lock_acquire(lock, 0, NULL) != LEASH_OK)
		return NULL;
	pthread_exit(lock);
}

SENTENCE(what_a_thread_held_at_its_end_is_free_at_once)
{
	enum { TIMES = 21 };
	struct leashed_events events = {0};
	leash_client *client =
		leashed_open(server_uri(server),
		             LEASH_OPTIONS(.lease_ms = 600000, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *lock = leashed_lock(client, "ended", NULL);
	int64_t took[TIMES];

	for (int i = 0; i < TIMES; i++) {
		pthread_t thread;
		void *result;

		assert_int_equal(pthread_create(&thread, NULL, hold_and_end, lock), 0);
		pthread_join(thread, &result);
		took[i] = await_now_ns();
		assert_ptr_equal(result, lock);
		while (server_integer(server, "EXISTS leash:{ended}") != 0)
			assert_true(await_now_ns() - took[i] < 30000 * MS);
		took[i] = await_now_ns() - took[i];
		await_true(events.count[LEASH_EVENT_ABANDONED] == i + 1);
	}
	assert_int_equal(events.total, TIMES);
	sort_times(took, TIMES);
	print_message("# free %.1f ms after the end of the thread (median), %.1f ms (worst)\n",
	              (double)took[TIMES / 2] / 1e6, (double)took[TIMES - 1] / 1e6);
	assert_true((double)took[TIMES / 2] < 100e6 * await_slowness());
	leash_lock_free(lock);
	leash_close(client);
}

/* ---- processes that are killed ---- */

static int
hold_until_killed(void *arg)
{
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 400, .timeout_ms = 10000));
	leash_lock *lock = leashed_lock(client, "killed", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	stage_raise(arg);
	while (leash_lock_depth(lock) > 0)
		pause();
	return 1;
}

static void *
wait_for_it(void *arg)
{
	struct opener *o = arg;
	leash_client *client = leashed_open(o->uri, LEASH_OPTIONS(.lease_ms = 30000, .timeout_ms = 10000));
	leash_lock *lock = leashed_lock(client, "killed", LEASH_LOCK_OPTIONS(.fair = o->turns % 2 != 0));
	int64_t *acquired = malloc(sizeof *acquired);

	assert_non_null(acquired);
	assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	*acquired = await_now_ns();
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	return acquired;
}

SENTENCE(the_lock_of_a_killed_process_is_its_waiters_when_the_lease_ends)
{
	enum { TIMES = 9, HOPS = 4 }; /* watchdog, keeper, server, waiter */
	struct stage *stage = child_share(sizeof *stage);
	int64_t late[TIMES], usual[TIMES];

	for (int i = 0; i < TIMES; i++) {
		struct opener waiter = {.uri = server_uri(server), .turns = (unsigned)i};
		pid_t pid = child_run(hold_until_killed, stage);
		int64_t *acquired, before, left, end;
		void *result;

		stage_await(stage, (uint32_t)i + 1);
		assert_int_equal(pthread_create(&waiter.thread, NULL, wait_for_it, &waiter), 0);
		await_true(server_integer(server, "ZCOUNT leash:{killed}:queue (0 +inf") == 1);
		child_kill(pid);
		before = await_now_ns();
		left = server_integer(server, "PTTL leash:{killed}") * MS;
		assert_true(left > 0);
		end = await_now_ns() + left;
		while (await_now_ns() < end)
			await_ms((end - await_now_ns()) / MS + 1);
		server_integer(server, "EXISTS leash:{killed}");
		usual[i] = await_now_ns() - end; /* so late is whoever sleeps until then and asks */
		pthread_join(waiter.thread, &result);
		acquired = result;
		assert_true(*acquired > before + left - 5 * MS); /* not before: this is what was surely left */
		late[i] = *acquired - end;
		free(acquired);
	}
	sort_times(late, TIMES);
	sort_times(usual, TIMES);
	print_message("# the next owner came %.1f ms after the end of the lease (median), %.1f ms (worst); a plain client "
	              "%.1f ms, %.1f ms\n",
	              (double)late[TIMES / 2] / 1e6, (double)late[TIMES - 1] / 1e6, (double)usual[TIMES / 2] / 1e6,
	              (double)usual[TIMES - 1] / 1e6);
	assert_true((double)late[TIMES / 2] < 50e6 * await_slowness() + HOPS * (double)usual[TIMES / 2]);
	child_unshare(stage, sizeof *stage);
}

/* ---- cycles ---- */

/* A renewal is the only script that says HGET. A hold that lasts long (the machine stood still) may have been renewed,
 * once in a quarter of its lease or less often; all others were orphans. */
SENTENCE(no_renewal_outlives_the_cycles_of_a_short_lease)
{
	enum { NAMES = 64, LEASE_MS = 100 };
	long cycles = knob("LEASH_TEST_CYCLES", 60000);
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = LEASE_MS, .timeout_ms = 10000));
	leash_lock *lock[NAMES];
	long long scripts, allowed = 0, renewed, lost = 0;

	for (int i = 0; i < NAMES; i++) {
		char name[] = {'c', (char)('0' + i / 8), (char)('0' + i % 8), '\0'};

		lock[i] = leashed_lock(client, name, NULL);
	}
	freeReplyObject(server_command(server, "CONFIG RESETSTAT"));
	for (long i = 0; i < cycles; i++) {
		int64_t begun = await_now_ns();
		leash_status status;

		assert_status(LEASH_OK, leash_lock_acquire(lock[i % NAMES], 10000, &err));
		status = leash_lock_release(lock[i % NAMES], &err);
		begun = await_now_ns() - begun;
		allowed += begun / (LEASE_MS * MS / 4);
		lost += status != LEASH_OK;
		if (status != LEASH_OK && begun < LEASE_MS * MS / 2)
			fail_msg("a hold of %lld us: %s", (long long)begun / 1000, err.text);
	}
	renewed = server_calls(server, "hget");
	scripts = server_calls(server, "evalsha");
	await_ms(4 * LEASE_MS);
	print_message("# %ld cycles: %lld scripts, %lld renewals, where stand-stills allow for %lld\n", cycles, scripts,
	              renewed, allowed);
	assert_true(renewed <= allowed);
	assert_true(scripts >= 2 * cycles && scripts <= 2 * cycles + renewed + 4 * lost + 8);
	assert_int_equal(server_calls(server, "evalsha"), scripts); /* all is quiet */
	assert_int_equal(server_calls(server, "hget"), renewed);
	for (int i = 0; i < NAMES; i++)
		leash_lock_free(lock[i]);
	leash_close(client);
}

/* ---- ends ---- */

static const char *const ends[] =
	{"return", "exit", "quick_exit", "_exit", "abort", "close at exit", "release at exit"};

enum { ENDS = sizeof ends / sizeof *ends };

static leash_client *at_exit_client;
static leash_lock *at_exit_lock;

static void
close_at_exit(void)
{
	at_exit = true;
	leash_lock_free(at_exit_lock);
	leash_close(at_exit_client);
}

static void
release_at_exit(void)
{
	if (leash_lock_release(at_exit_lock, NULL) != LEASH_OK)
		_exit(3);
}

static void *
wait_in_vain(void *lock)
{
	return leash_lock_acquire(lock, LEASH_FOREVER, NULL) == LEASH_OK ? lock : NULL;
}

/* What a process does that is to end amid calls of other threads: it says when that begins, and ends. */
static int
live_and_end(const char *how, const char *where, pid_t stand_still)
{
	static struct busy busy[BUSY];
	pthread_t thread;
	int64_t now;

	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	alarm(120);
	at_exit_client = leashed_open(where, LEASH_OPTIONS(.timeout_ms = 20000));
	at_exit_lock = leashed_lock(at_exit_client, "held at the end", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(at_exit_lock, LEASH_FOREVER, &err));
	assert_int_equal(pthread_create(&thread, NULL, wait_in_vain, leashed_lock(at_exit_client, "theirs", NULL)), 0);
	begin_busy(busy, at_exit_client, where, &at_exit);
	for (int i = 0; i < BUSY; i++)
		await_true(busy[i].turns > 2);
	if (strcmp(how, "close at exit") == 0)
		atexit(close_at_exit);
	if (strcmp(how, "release at exit") == 0)
		atexit(release_at_exit);
	if (stand_still != 0) {
		kill(stand_still, SIGSTOP); /* no call gets an answer from here on */
		await_ms(20);
	}
	now = await_now_ns();
	if (write(1, &now, sizeof now) != sizeof now || strcmp(how, "_exit") == 0)
		_exit(0);
	if (strcmp(how, "exit") == 0)
		exit(0);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(0);
	if (strcmp(how, "abort") == 0)
		abort();
	return 0; /* from main */
}

/* How long its end took, in ns. */
static int64_t
end_one(const char *how, bool stand_still)
{
	char pid_text[32];
	const char *const args[] = {"test_process", "end", how, server_uri(server), pid_text, NULL};
	int64_t begun = 0;
	int out, status;
	pid_t pid;

	snprintf(pid_text, sizeof pid_text, "%d", stand_still ? (int)server_pid(server) : 0);
	pid = run_self(args, &out);
	if (read(out, &begun, sizeof begun) != sizeof begun)
		begun = 0;
	status = child_end(pid);
	begun = await_now_ns() - begun;
	if (stand_still)
		kill(server_pid(server), SIGCONT);
	close(out);
	if (strcmp(how, "abort") == 0 ? !WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT : status != 0)
		fail_msg("%s%s: wait status %#x", how, stand_still ? " while the server stands still" : "", (unsigned)status);
	return begun;
}

SENTENCE(a_process_that_ends_amid_calls_of_many_threads_ends_at_once)
{
	enum { TIMES = 4 };
	leash_client *other = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = 20000));
	leash_lock *theirs = leashed_lock(other, "theirs", NULL);

	setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* what lives at the end is no leak */
	setenv("TSAN_OPTIONS", "report_thread_leaks=0", 1);
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	for (int still = 0; still < 2; still++) {
		for (int how = 0; how < (still ? ENDS - 2 : ENDS); how++) {
			int64_t best = INT64_MAX;

			for (int i = 0; i < TIMES; i++) {
				int64_t took = end_one(ends[how], still);

				best = took < best ? took : best;
				freeReplyObject(server_command(server, "DEL leash:{held%%20at%%20the%%20end} leash:{shared} "
				                                       "leash:{shared}:queue"));
				for (int j = 0; j < BUSY; j++)
					freeReplyObject(server_command(server, "DEL leash:{own%%20%d}", j));
			}
			print_message("# %s%s: %.1f ms\n", ends[how], still ? " while the server stands still" : "",
			              (double)best / 1e6);
			/* it waits for its own thread at exit */
			assert_true(UNDER_TSAN || (double)best < 250e6 * await_slowness());
		}
	}
	unsetenv("ASAN_OPTIONS");
	unsetenv("TSAN_OPTIONS");
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	leash_lock_free(theirs);
	leash_close(other);
}

/* ---- errno ---- */

#define assert_keeps_errno(call) \
	do { \
		errno = 4711; \
		call; \
		assert_int_equal(errno, 4711); \
	} while (0)

static int
keep_errno_in_child(void *arg)
{
	leash_lock *lock = arg, *none;

	assert_keeps_errno(assert_status(LEASH_FORKED, leash_lock_acquire(lock, 0, &err)));
	assert_keeps_errno(assert_status(LEASH_FORKED, leash_lock_release(lock, &err)));
	assert_keeps_errno(assert_status(LEASH_FORKED, leash_lock_extend(lock, 1000, &err)));
	assert_keeps_errno(assert_status(LEASH_FORKED, leash_lock_new(&none, parents.client, "x", NULL, &err)));
	assert_keeps_errno(assert_false(leash_lock_held(lock)));
	assert_keeps_errno(assert_int_equal(leash_lock_depth(lock), 0));
	assert_keeps_errno(leash_cancel_fire(parents.cancel));
	assert_keeps_errno(leash_owner_free(parents.owner));
	assert_keeps_errno(leash_close(parents.client));
	assert_keeps_errno(leash_lock_free(lock));
	return 0;
}

static void
check_errno_of_owners_and_cancels(leash_client *client)
{
	leash_owner *owner = NULL;
	leash_cancel *cancel = NULL;
	leash_lock *lock = NULL;

	assert_keeps_errno(assert_status(LEASH_OK, leash_owner_new(&owner, &err)));
	assert_keeps_errno(assert_status(LEASH_INVALID, leash_owner_new(NULL, &err)));
	assert_keeps_errno(assert_status(LEASH_OK, leash_cancel_new(&cancel, &err)));
	assert_keeps_errno(assert_status(LEASH_INVALID, leash_cancel_new(NULL, &err)));
	assert_keeps_errno(assert_status(LEASH_OK, leash_lock_new(&lock, client, "owner's",
	                                                          LEASH_LOCK_OPTIONS(.owner = owner), &err)));
	assert_keeps_errno(assert_status(LEASH_OK, leash_lock_acquire_with(lock, LEASH_ACQUIRE(.cancel = cancel), &err)));
	assert_keeps_errno(assert_status(LEASH_OK, leash_lock_release(lock, &err)));
	assert_keeps_errno(assert_false(leash_cancel_is_fired(cancel)));
	assert_keeps_errno(leash_cancel_fire(cancel));
	assert_keeps_errno(assert_status(LEASH_CANCELED,
	                                 leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = 100, .cancel = cancel),
	                                                         &err)));
	assert_keeps_errno(leash_owner_free(owner));
	assert_keeps_errno(assert_status(LEASH_INVALID, leash_lock_acquire(lock, 0, &err)));
	assert_keeps_errno(leash_lock_free(lock));
	assert_keeps_errno(leash_cancel_free(cancel));
	assert_keeps_errno(leash_cancel_free(NULL));
	assert_keeps_errno(leash_owner_free(NULL));
	assert_keeps_errno(assert_string_equal(leash_version(), LEASH_VERSION));
	assert_keeps_errno(assert_string_equal(leash_event_name(LEASH_EVENT_LOST), "LOST"));
	assert_keeps_errno(assert_string_equal(leash_status_text(LEASH_OK), "done"));
	assert_keeps_errno(assert_int_equal(leash_set_memory(NULL), LEASH_INVALID));
}

SENTENCE(losses_owners_cancels_and_forked_children_leave_errno_alone)
{
	struct leashed_events events = {0};
	leash_lock *lock;

	parents.client = leashed_open(server_uri(server),
	                              LEASH_OPTIONS(.lease_ms = 300, .on_event = leashed_note_event, .event_arg = &events));
	check_errno_of_owners_and_cancels(parents.client);
	lock = leashed_lock(parents.client, "errno", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	server_integer(server, "DEL leash:{errno}");
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_keeps_errno(assert_false(leash_lock_held(lock)));
	assert_keeps_errno(assert_status(LEASH_LOST, leash_lock_acquire(lock, 0, &err)));
	assert_keeps_errno(assert_status(LEASH_LOST, leash_lock_extend(lock, 1000, &err)));
	assert_keeps_errno(assert_status(LEASH_LOST, leash_lock_release(lock, &err)));
	assert_status(LEASH_OK, leash_owner_new(&parents.owner, &err));
	assert_status(LEASH_OK, leash_cancel_new(&parents.cancel, &err));
	child_wait(child_run(keep_errno_in_child, lock));
	assert_keeps_errno(leash_owner_free(parents.owner));
	assert_keeps_errno(leash_cancel_free(parents.cancel));
	assert_keeps_errno(leash_close(parents.client));
	assert_keeps_errno(assert_status(LEASH_CLOSED, leash_lock_acquire(lock, 0, &err)));
	assert_keeps_errno(assert_status(LEASH_CLOSED, leash_lock_release(lock, &err)));
	assert_keeps_errno(leash_lock_free(lock));
}

static int
live_otherwise(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "descriptors") == 0)
		return list_descriptors();
	if (argc == 5 && strcmp(argv[1], "end") == 0)
		return live_and_end(argv[2], argv[3], (pid_t)atoi(argv[4]));
	return GO_ON;
}

PRELUDE(live_otherwise);
GROUP(start_tcp_server, stop_server);
