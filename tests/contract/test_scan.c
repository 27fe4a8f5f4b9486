/* All locks of a deployment: leash_client_scan() visits each that is held, whatever its name, in constant memory, in small steps.
 *
 * LEASH_TEST_LOCKS: how many locks there are in the large test (default 100,000). */
#include "tests/support/asleep.h"
#include "tests/support/child.h"
#include "tests/support/counted.h"
#include "tests/support/descriptors.h"
#include "tests/support/kept.h"
#include "tests/support/knob.h"
#include "tests/support/place.h"
#include "tests/support/sanitizer.h"
#include "tests/support/test.h"

#include <fnmatch.h>
#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define TOKEN "0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10:1"

static leash_client *client;
static leash_error err;

static long
high_water_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	assert_non_null(f);
	while (fgets(line, sizeof line, f) != NULL)
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	fclose(f);
	return kib;
}

/* ---- around the tests ---- */

static void
open_one(void)
{
	place_flush();
	client = place_client(LEASH_OPTIONS(.timeout_ms = 20000));
}

static void
close_one(void)
{
	leash_close(client);
	client = NULL;
}

FIXTURE(open_one, close_one);
PLACE(place_open_counted);

/* In a cluster a client goes on connecting when it is open: what that takes is given back when it is done. */
static void
await_connected(void)
{
	leash_stats stats = {.size = sizeof stats};

	do {
		await_ms(1);
		assert_status(LEASH_OK, leash_client_stats(client, &stats, &err));
	} while (!stats.connected || !(stats.listening || place_is(PLACE_NO_QUEUE)) || !asleep_others());
}

/* ---- visits ---- */

struct seen {
	size_t count, most; /* as many are enough; 0: all */
	size_t unknown;     /* whose holders are not known */
	char names[64][LEASH_NAME_MAX + 8];
	leash_lock_info last;
};

static bool
see(void *arg, const leash_lock_info *info)
{
	struct seen *seen = arg;

	assert_int_equal(info->size, sizeof *info);
	assert_true(info->held);
	if (seen->count < 64)
		strcpy(seen->names[seen->count], info->name);
	seen->last = *info;
	seen->unknown += info->holder.pid == 0;
	seen->count++;
	return seen->count != seen->most;
}

static size_t
times_seen(const struct seen *seen, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < seen->count && i < 64; i++)
		n += strcmp(seen->names[i], name) == 0;
	return n;
}

/* So many locks, without a client for each: "<prefix><1..count>", of one owner. A server of a cluster refuses those that are not its. A few at
 * a time: of a server that is busy for long the others may say that it is dead. */
static void
make_locks(const char *prefix, int64_t count)
{
	enum { AT_ONCE = 5000 };
	static const char make[] = "local made = 0 for i = tonumber(ARGV[2]), tonumber(ARGV[3]) do "
	                           "local key = string.format('leash:{%s%d}', ARGV[1], i) "
	                           "if type(redis.pcall('HSET', key, '0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10:' .. i, '1')) == 'number' then "
	                           "redis.call('PEXPIRE', key, 3600000) made = made + 1 end end return made";
	struct server *server;
	int64_t made = 0;

	for (size_t i = 0; (server = deployment_master(place, i)) != NULL; i++)
		for (int64_t from = 1; from <= count; from += AT_ONCE) {
			int64_t to = from + AT_ONCE - 1;

			made += server_integer(server, "EVAL %s 0 %s %lld %lld", make, prefix, (long long)from, (long long)(to < count ? to : count));
		}
	assert_int_equal(made, deployment_quorum(place) ? count * (int64_t)deployment_masters(place) : count);
}

static long long
calls_of(const char *command)
{
	struct server *server;
	long long calls = 0;

	for (size_t i = 0; (server = deployment_master(place, i)) != NULL; i++)
		calls += server_calls(server, command);
	return calls;
}

/* ---- what is visited ---- */

SENTENCE(each_lock_that_is_held_is_visited_once_with_all_that_is_known)
{
	leash_client *holder = kept(place_client(LEASH_OPTIONS(.client_name = "holder", .lease_ms = 60000)));
	leash_lock *lock = kept(leashed_lock(holder, "a lock {here}", NULL)), *other = kept(leashed_lock(holder, "other", NULL));
	leash_lock_info known = {.size = sizeof known};
	struct seen seen = {0};

	assert_status(LEASH_OK, leash_client_scan(client, NULL, see, &seen, &err));
	assert_int_equal(seen.count, 0);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	await_true(place_introductions() == 1); /* in a cluster another server may be told who it is */
	assert_status(LEASH_OK, leash_client_scan(client, NULL, see, &seen, &err));
	assert_status(LEASH_OK, leash_lock_inspect(lock, &known, &err));
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.last.name, "a lock {here}");
	assert_string_equal(known.holder.program, "holder");
	assert_memory_equal(&seen.last.holder, &known.holder, sizeof known.holder);
	assert_true(seen.last.fence == known.fence && seen.last.held_since_ms == known.held_since_ms);
	assert_true(seen.last.depth == 1 && seen.last.waiting == 0);
	assert_in_range(seen.last.remaining_ms, known.remaining_ms, 60000);
	memset(&seen, 0, sizeof seen);
	assert_status(LEASH_OK, leash_lock_acquire(other, 0, &err));
	assert_status(LEASH_OK, leash_client_scan(client, "*", see, &seen, &err));
	assert_int_equal(seen.count, 2);
	assert_int_equal(times_seen(&seen, "a lock {here}"), 1);
	assert_int_equal(times_seen(&seen, "other"), 1);
}

/* Which names come back as what is said by unit/test_text. */
SENTENCE(names_fit_patterns_as_fnmatch_says)
{
	static const char *const patterns[] = {"*", "job", "job?", "job[!1]", "jo\\*", "*o*", "[[]job]", "j??b", "", "%*", "J*", "{job}", "?*?"};
	char longest[LEASH_NAME_MAX + 1];
	const char *const names[] = {"job", "job1", "job10", "jo*", ".job", "a/b", "[job]", "j\xc3\xb6\x62", "%6Aob", longest};
	leash_lock *lock[COUNT(names)];

	memset(longest, '{', LEASH_NAME_MAX);
	longest[LEASH_NAME_MAX] = '\0';
	for (size_t i = 0; i < COUNT(names); i++) {
		lock[i] = leashed_lock(client, names[i], NULL);
		assert_status(LEASH_OK, leash_lock_acquire(lock[i], 0, &err));
	}
	/* a byte is a character, whatever the program's locale */
	assert_non_null(setlocale(LC_ALL, "C.UTF-8"));
	for (size_t p = 0; p < COUNT(patterns); p++) {
		struct seen seen = {0};

		assert_status(LEASH_OK, leash_client_scan(client, patterns[p], see, &seen, &err));
		setlocale(LC_ALL, "C");
		for (size_t i = 0; i < COUNT(names); i++)
			if (times_seen(&seen, names[i]) != (fnmatch(patterns[p], names[i], 0) == 0))
				fail_msg("'%s' is visited %zu times for '%s'", names[i], times_seen(&seen, names[i]), patterns[p]);
		setlocale(LC_ALL, "C.UTF-8");
	}
	setlocale(LC_ALL, "C");
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_status(LEASH_OK, leash_lock_release(lock[i], &err));
		leash_lock_free(lock[i]);
	}
}

SENTENCE(what_is_no_lock_of_this_prefix_is_passed_over)
{
	static const struct {
		const char *key, *made_by;
	} others[] = {
		{"leash:{theirs2}", "HSET %s a 1 b 2"},
		{"other:{x}", "HSET %s " TOKEN " 1"},
		{"leash:{x}y", "HSET %s " TOKEN " 1"},
		{"leash:{%41}", "HSET %s " TOKEN " 1"},
		{"leash:{string}", "SET %s x"},
		{"leash:{zset}", "ZADD %s 1 x"},
		{"leashed:{x}", "HSET %s " TOKEN " 1"},
		{"leash:client:0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10", "SET %s nonsense"},
		{"leash:{broken}", "HSET %s " TOKEN " 1"},
		{"leash:{broken}:fence", "HSET %s a b"},
	};
	char longer[3 * 513 + 1];
	struct seen seen = {0};

	for (size_t i = 0; i < COUNT(others); i++)
		place_say(others[i].key, others[i].made_by, others[i].key);
	strcpy(longer, "leash:{");
	for (int i = 0; i < 513; i++)
		strcat(longer, "x");
	strcat(longer, "}");
	place_say(longer, "HSET %s " TOKEN " 1", longer);
	make_locks("mine", 3);
	assert_status(LEASH_OK, leash_client_scan(client, NULL, see, &seen, &err));
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.unknown, 3); /* nonsense tells nothing */
	assert_string_equal(seen.last.holder.host, "");
}

/* ---- many ---- */

struct pairs {
	_Atomic bool ending;
	_Atomic int64_t done, worst_ns;
};

static void *
take_pairs(void *arg)
{
	struct pairs *pairs = arg;
	leash_client *other = place_client(LEASH_OPTIONS(.timeout_ms = 20000));
	leash_lock *lock = leashed_lock(other, "zz pair", NULL);

	while (!pairs->ending) {
		int64_t begun = await_now_ns(), took;

		if (leash_lock_acquire(lock, LEASH_FOREVER, NULL) != LEASH_OK || leash_lock_release(lock, NULL) != LEASH_OK)
			abort();
		took = await_now_ns() - begun;
		if (took > pairs->worst_ns)
			pairs->worst_ns = took;
		pairs->done++;
	}
	leash_lock_free(lock);
	leash_close(other);
	return NULL;
}

static bool
tally(void *arg, const leash_lock_info *info)
{
	unsigned char *visited = arg;
	long n = atol(info->name + 4);

	if (strncmp(info->name, "many", 4) == 0)
		visited[n]++;
	return true;
}

/* Scan so many; the most memory that leash had meanwhile. */
static int64_t
scan_many(long locks, unsigned char *visited, double *seconds)
{
	int64_t before = counted.bytes, begun = await_now_ns();

	memset(visited, 0, (size_t)locks + 1);
	counted.most = counted.bytes;
	assert_status(LEASH_OK, leash_client_scan(client, "many*", tally, visited, &err));
	*seconds = (double)(await_now_ns() - begun) / 1e9;
	for (long i = 1; i <= locks; i++)
		if (visited[i] == 0)
			fail_msg("lock %ld was not visited", i);
	return counted.most - before;
}

/* $LEASH_TEST_LOCKS; fewer in a quorum, where each of the servers is asked about each. */
static long
many(void)
{
	return knob("LEASH_TEST_LOCKS", 100000) / (place_is(PLACE_MAJORITY) ? 20 : 1);
}

SENTENCE(many_locks_need_no_more_memory_and_hold_nobody_up)
{
	long locks = many(), few = locks / 100, water[2];
	unsigned char *visited = calloc((size_t)locks + 1, 1);
	int64_t memory[2], before, calm_worst, done;
	static struct pairs pairs; /* outlives a test that fails */
	double seconds;
	pthread_t thread;

	memset(visited, 1, (size_t)locks + 1); /* touch it */
	make_locks("many", few);
	await_connected();
	before = counted.bytes;
	memory[0] = scan_many(few, visited, &seconds);
	await_true(counted.bytes <= before);
	water[0] = high_water_kib();
	make_locks("many", locks);
	memory[1] = scan_many(locks, visited, &seconds);
	water[1] = high_water_kib();
	printf("# %ld locks in %.2f s: leash took %lld bytes (for %ld: %lld), the process %ld KiB more\n", locks, seconds, (long long)memory[1], few,
	       (long long)memory[0], water[1] - water[0]);
	assert_in_range(memory[1], 0, memory[0] + memory[0] / 4);
	assert_true(water[1] - water[0] <= 4096 || UNDER_ASAN || UNDER_TSAN); /* which keep books of what was freed */

	pthread_create(&thread, NULL, take_pairs, &pairs);
	await_true(pairs.done > 200);
	pairs.worst_ns = 0;
	await_ms(1000);
	calm_worst = pairs.worst_ns;
	pairs.worst_ns = 0;
	place_say_all("CONFIG RESETSTAT");
	done = pairs.done;
	scan_many(locks, visited, &seconds);
	done = pairs.done - done;
	printf("# %ld locks in %.2f s; meanwhile %lld pairs, the slowest %.2f ms, before that %.2f ms\n", locks, seconds, (long long)done,
	       (double)pairs.worst_ns / 1e6, (double)calm_worst / 1e6);
	pairs.ending = true;
	pthread_join(thread, NULL);
	free(visited);
	assert_true(done > locks / 1000);
	assert_int_equal(calls_of("keys"), 0);
	assert_true(calls_of("scan") >= locks / 400);
	assert_in_range(calls_of("getrange"), 1, 2 * deployment_masters(place)); /* one holder, one question; and the pairs' own */
}

/* ---- ends ---- */

SENTENCE(a_visit_that_says_enough_is_the_last)
{
	struct seen seen = {.most = 7};

	make_locks("stop", 1000);
	assert_status(LEASH_OK, leash_client_scan(client, NULL, see, &seen, &err));
	assert_int_equal(seen.count, 7);
}

static bool
use_leash(void *arg, const leash_lock_info *info)
{
	size_t *n = arg;
	leash_lock *lock = leashed_lock(client, "zz visit", NULL);
	leash_lock_info again = {.size = sizeof again};

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_inspect(lock, &again, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	(void)info;
	++*n;
	return true;
}

SENTENCE(a_visit_may_call_leash)
{
	size_t n = 0;

	make_locks("visit", 300);
	assert_status(LEASH_OK, leash_client_scan(client, "visit*", use_leash, &n, &err));
	assert_int_equal(n, 300);
}

static bool
close_it(void *arg, const leash_lock_info *info)
{
	size_t *n = arg;

	(void)info;
	if (++*n == 3)
		leash_close(client);
	return true;
}

SENTENCE(a_client_that_is_closed_meanwhile_ends_it)
{
	size_t n = 0;
	int64_t begun;

	make_locks("closed", 1000);
	begun = await_now_ns();
	assert_status(LEASH_CLOSED, leash_client_scan(client, NULL, close_it, &n, &err));
	assert_true(n >= 3 && n <= 64);
	assert_true(await_now_ns() - begun < INT64_C(15000000000)); /* close did not wait for it, with a timeout of 20 s */
	client = NULL;
}

static bool
pause_server(void *arg, const leash_lock_info *info)
{
	size_t *n = arg;

	(void)info;
	if (++*n == 10)
		place_pause();
	return true;
}

SENTENCE(a_server_that_stands_still_meanwhile_is_unavailable)
{
	leash_client *impatient = kept(place_client(LEASH_OPTIONS(.timeout_ms = 300)));
	size_t n = 0;

	make_locks("frozen", 1000);
	assert_status(LEASH_UNAVAILABLE, leash_client_scan(impatient, NULL, pause_server, &n, &err));
	assert_true(place_is(PLACE_ONE_SOCKET) || strstr(err.text, server_socket(deployment_server(place))) != NULL);
	assert_true(n >= 10 && n <= 64);
	/* and it cannot be begun */
	assert_status(LEASH_UNAVAILABLE, leash_client_scan(impatient, NULL, pause_server, &n, &err));
	place_resume();
}

static bool
end_thread(void *arg, const leash_lock_info *info)
{
	(void)arg, (void)info;
	pthread_exit(NULL);
}

static void *
scan_and_end(void *arg)
{
	leash_status status = leash_client_scan(client, NULL, end_thread, arg, NULL);

	(void)status;
	abort();
}

SENTENCE(a_thread_that_ends_in_a_visit_leaves_nothing)
{
	int64_t before;
	unsigned fds;
	pthread_t thread;

	make_locks("ended", 100);
	await_connected();
	before = counted.bytes;
	fds = descriptors_count();
	assert_int_equal(pthread_create(&thread, NULL, scan_and_end, NULL), 0);
	pthread_join(thread, NULL);
	await_true(counted.bytes <= before);
	assert_int_equal(descriptors_count(), fds);
}

/* ---- refusals ---- */

SENTENCE(a_pattern_has_at_most_1024_bytes)
{
	char pattern[1026];
	struct seen seen = {0};

	memset(pattern, '*', sizeof pattern);
	pattern[1025] = '\0';
	assert_status(LEASH_INVALID, leash_client_scan(client, pattern, see, &seen, &err));
	assert_non_null(strstr(err.text, "1024"));
	pattern[1024] = '\0';
	make_locks("x", 1);
	assert_status(LEASH_OK, leash_client_scan(client, pattern, see, &seen, &err));
	assert_int_equal(seen.count, 1);
}

struct forked {
	struct seen seen;
	pid_t child, parent;
};

static bool
fork_once(void *arg, const leash_lock_info *info)
{
	struct forked *forked = arg;

	if (forked->child == -1)
		forked->child = fork();
	return see(&forked->seen, info);
}

SENTENCE(a_child_that_is_forked_in_a_visit_leaves_the_scan_to_its_parent)
{
	struct forked forked = {.child = -1, .parent = getpid()};
	leash_status status;

	make_locks("forked", 1000);
	status = leash_client_scan(client, NULL, fork_once, &forked, &err);
	if (getpid() != forked.parent)
		_exit(status == LEASH_FORKED && forked.seen.count == 1 ? 0 : 1);
	child_wait(forked.child);
	assert_status(LEASH_OK, status);
	assert_int_equal(forked.seen.count, 1000);
}

static bool
flush_scripts(void *arg, const leash_lock_info *info)
{
	size_t *n = arg;

	(void)info;
	if (++*n % 50 == 0)
		place_say_all("SCRIPT FLUSH");
	return true;
}

SENTENCE(a_script_that_is_forgotten_is_sent_again)
{
	size_t n = 0;

	make_locks("flushed", 500);
	place_say_all("SCRIPT FLUSH");
	assert_status(LEASH_OK, leash_client_scan(client, NULL, flush_scripts, &n, &err));
	assert_int_equal(n, 500);
}
