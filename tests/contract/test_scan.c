/* All locks of a deployment: leash_client_scan() visits each that is held, whatever its name, in constant memory, in
 * small steps. A script that the server has forgotten is sent again for who inspects (test_inspect), by the same way.
 *
 * LEASH_TEST_LOCKS: how many locks there are in the large test (default 100,000). */
#include "tests/contract/interface.h"
#include "tests/support/asleep.h"
#include "tests/support/knob.h"
#include "tests/support/sanitizer.h"

#include <fnmatch.h>
#include <locale.h>
#include <unistd.h>

static leash_client *client;

static void
open_one(void)
{
	place_flush();
	client = kept(place_client(LEASH_OPTIONS(.timeout_ms = 20000)));
}

FIXTURE(open_one, NULL);
PLACE(life_open);

/* In a cluster a client goes on connecting when it is open: what that takes is given back when it is done. */
static void
await_connected(void)
{
	leash_stats stats;

	do {
		await_ms(1);
		stats = stats_of(client);
	} while (!stats.connected || !(stats.listening || place_is(PLACE_NO_QUEUE)) || !asleep_others());
}

/* ---- visits ---- */

/* What the present scan has visited. */
static struct seen {
	size_t count, most; /* as many are enough; 0: all */
	size_t unknown;     /* whose holders are not known */
	char names[64][LEASH_NAME_MAX + 8];
	leash_lock_info last;
	size_t at;          /* the visit in which that is done; 0: in each */
	void (*act)(void);  /* or NULL */
} seen;

static bool
see(void *arg, const leash_lock_info *info)
{
	(void)arg;
	assert_int_equal(info->size, sizeof *info);
	assert_true(info->held);
	if (seen.count < 64)
		strcpy(seen.names[seen.count], info->name);
	seen.last = *info;
	seen.unknown += info->holder.pid == 0;
	seen.count++;
	if (seen.act != NULL && (seen.at == 0 || seen.at == seen.count))
		seen.act();
	return seen.count != seen.most;
}

static leash_status
scan_amid(leash_client *of, const char *pattern, size_t at, void (*act)(void))
{
	seen = (struct seen){.at = at, .act = act};
	return leash_client_scan(of, pattern, see, NULL, &err);
}

static leash_status
scan(const char *pattern, size_t most)
{
	seen = (struct seen){.most = most};
	return leash_client_scan(client, pattern, see, NULL, &err);
}

static size_t
times_seen(const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < seen.count && i < 64; i++)
		n += strcmp(seen.names[i], name) == 0;
	return n;
}

/* So many locks, without a client for each: "<prefix><1..count>", of one owner. A server of a cluster refuses those that
 * are not its. A few at a time: of a server that is busy for long the others may say that it is dead. */
static void
make_locks(const char *prefix, long long count)
{
	enum { AT_ONCE = 5000 };
	static const char make[] =
		"local made = 0 for i = tonumber(ARGV[2]), math.min(tonumber(ARGV[2]) + 4999, tonumber(ARGV[3])) do "
		"local key = string.format('leash:{%s%d}', ARGV[1], i) "
		"if type(redis.pcall('HSET', key, '" UUID ":' .. i, '1')) == 'number' then "
		"redis.call('PEXPIRE', key, 3600000) made = made + 1 end end return made";
	struct server *at;
	int64_t made = 0;

	for (size_t i = 0; (at = deployment_master(place, i)) != NULL; i++)
		for (long long from = 1; from <= count; from += AT_ONCE)
			made += server_integer(at, "EVAL %s 0 %s %lld %lld", make, prefix, from, count);
	assert_int_equal(made, deployment_quorum(place) ? count * (int64_t)deployment_masters(place) : count);
}

/* ---- what is visited ---- */

SENTENCE(each_lock_that_is_held_is_visited_once_with_all_that_is_known)
{
	leash_client *holder = kept(place_client(LEASH_OPTIONS(.client_name = "holder", .lease_ms = 60000)));
	leash_lock *lock = kept(leashed_lock(holder, "a lock {here}", NULL));
	leash_lock *other = kept(leashed_lock(holder, "other", NULL));
	leash_lock_info known = {.size = sizeof known};

	assert_status(LEASH_OK, scan(NULL, 0));
	assert_int_equal(seen.count, 0);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	await_true(place_introductions() == 1); /* in a cluster another server may be told who it is */
	place_await_votes("a%20lock%20%7Bhere%7D");
	assert_status(LEASH_OK, scan(NULL, 0));
	assert_status(LEASH_OK, leash_lock_inspect(lock, &known, &err));
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.last.name, "a lock {here}");
	assert_string_equal(known.holder.program, "holder");
	assert_memory_equal(&seen.last.holder, &known.holder, sizeof known.holder);
	assert_true(seen.last.fence == known.fence && seen.last.held_since_ms == known.held_since_ms);
	assert_true(seen.last.depth == 1 && seen.last.waiting == 0);
	assert_in_range(seen.last.remaining_ms, known.remaining_ms, 60000);
	assert_status(LEASH_OK, leash_lock_acquire(other, 0, &err));
	place_await_votes("other");
	assert_status(LEASH_OK, scan("*", 0));
	assert_int_equal(seen.count, 2);
	assert_true(times_seen("a lock {here}") == 1 && times_seen("other") == 1);
}

/* Which names come back as what is said by unit/test_text. */
SENTENCE(names_fit_patterns_as_fnmatch_says)
{
	static const char *const patterns[] = {"*", "job", "job?", "job[!1]", "jo\\*", "*o*", "[[]job]", "j??b", "", "%*",
	                                       "J*", "{job}", "?*?"};
	char longest[LEASH_NAME_MAX + 1];
	const char *const names[] = {"job", "job1", "job10", "jo*", ".job", "a/b", "[job]", "j\xc3\xb6\x62", "%6Aob", longest};

	memset(longest, '{', LEASH_NAME_MAX);
	longest[LEASH_NAME_MAX] = '\0';
	for (size_t i = 0; i < COUNT(names); i++)
		assert_status(LEASH_OK, leash_lock_acquire(kept(leashed_lock(client, names[i], NULL)), 0, &err));
	for (size_t p = 0; p < COUNT(patterns); p++) {
		assert_non_null(setlocale(LC_ALL, "C.UTF-8")); /* a byte is a character, whatever the program's locale */
		assert_status(LEASH_OK, scan(patterns[p], 0));
		setlocale(LC_ALL, "C");
		for (size_t i = 0; i < COUNT(names); i++)
			if (times_seen(names[i]) != (fnmatch(patterns[p], names[i], 0) == 0))
				fail_msg("'%s' is visited %zu times for '%s'", names[i], times_seen(names[i]), patterns[p]);
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
		{"leash:client:" UUID, "SET %s nonsense"},
		{"leash:{broken}", "HSET %s " TOKEN " 1"},
		{"leash:{broken}:fence", "HSET %s a b"},
	};
	char longer[3 * 513 + 1];

	for (size_t i = 0; i < COUNT(others); i++)
		place_say(others[i].key, others[i].made_by, others[i].key);
	snprintf(longer, sizeof longer, "leash:{%0513d}", 0);
	place_say(longer, "HSET %s " TOKEN " 1", longer);
	make_locks("mine", 3);
	assert_status(LEASH_OK, scan(NULL, 0));
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.unknown, 3); /* nonsense tells nothing */
	assert_string_equal(seen.last.holder.host, "");
}

/* ---- many ---- */

static bool
tally(void *arg, const leash_lock_info *info)
{
	unsigned char *visited = arg;

	if (strncmp(info->name, "many", 4) == 0)
		visited[atol(info->name + 4)]++;
	return true;
}

/* Scan so many; the most memory that leash had meanwhile. */
static int64_t
scan_many(long locks, unsigned char *visited)
{
	int64_t before = counted.bytes;

	memset(visited, 0, (size_t)locks + 1);
	counted.most = counted.bytes;
	assert_status(LEASH_OK, leash_client_scan(client, "many*", tally, visited, &err));
	for (long i = 1; i <= locks; i++)
		if (visited[i] == 0)
			fail_msg("lock %ld was not visited", i);
	return counted.most - before;
}

SENTENCE(many_locks_need_no_more_memory_and_hold_nobody_up)
{
	/* fewer in a quorum, where each of the servers is asked about each */
	long locks = knob("LEASH_TEST_LOCKS", 100000) / (place_is(PLACE_MAJORITY) ? 20 : 1), few = locks / 100;
	unsigned char *visited = calloc((size_t)locks + 1, 1);
	int64_t memory[2];

	memset(visited, 1, (size_t)locks + 1); /* touch it */
	make_locks("many", few);
	await_connected();
	int64_t before = counted.bytes;
	memory[0] = scan_many(few, visited);
	await_true(counted.bytes <= before);
	long water = process_number("VmHWM");
	make_locks("many", locks);
	place_say_all("CONFIG RESETSTAT");
	memory[1] = scan_many(locks, visited);
	water = process_number("VmHWM") - water;
	printf("# for %ld locks leash took %lld bytes (for %ld: %lld), the process %ld KiB more\n", locks,
	       (long long)memory[1], few, (long long)memory[0], water);
	free(visited);
	assert_in_range(memory[1], 0, 2 * memory[0]); /* for a hundred times as many; a connection may be made anew meanwhile */
	assert_true(water <= 4096 || UNDER_ASAN || UNDER_TSAN); /* which keep books of what was freed */
	/* in steps that are short, between which others are served; and one holder is one question */
	assert_int_equal(calls_of("keys"), 0);
	assert_true(calls_of("scan") >= locks / 400);
	assert_in_range(calls_of("getrange"), 1, deployment_masters(place));
}

/* ---- ends ---- */

SENTENCE(a_visit_that_says_enough_is_the_last)
{
	make_locks("stop", 1000);
	assert_status(LEASH_OK, scan(NULL, 7));
	assert_int_equal(seen.count, 7);
}

static void
use_leash(void)
{
	leash_lock *lock = leashed_lock(client, "zz visit", NULL);
	leash_lock_info again = {.size = sizeof again};

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_inspect(lock, &again, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
}

SENTENCE(a_visit_may_call_leash)
{
	make_locks("visit", 300);
	assert_status(LEASH_OK, scan_amid(client, "visit*", 0, use_leash));
	assert_int_equal(seen.count, 300);
}

static leash_client *theirs;

static void
close_theirs(void)
{
	leash_close(theirs);
}

SENTENCE(a_client_that_is_closed_meanwhile_ends_it)
{
	theirs = place_client(LEASH_OPTIONS(.timeout_ms = 20000));
	make_locks("closed", 1000);
	int64_t begun = await_now_ns();
	assert_status(LEASH_CLOSED, scan_amid(theirs, NULL, 3, close_theirs));
	assert_in_range(seen.count, 3, 64);
	assert_true(await_now_ns() - begun < 15000 * MS); /* close did not wait for it, with a timeout of 20 s */
}

static void
stand_still(void)
{
	place_pause();
}

SENTENCE(a_server_that_stands_still_meanwhile_is_unavailable)
{
	leash_client *impatient = kept(place_client(LEASH_OPTIONS(.timeout_ms = 2000))); /* a slow machine comes so far */

	make_locks("frozen", 1000);
	assert_status(LEASH_UNAVAILABLE, scan_amid(impatient, NULL, 10, stand_still));
	assert_true(place_is(PLACE_ONE_SOCKET) || strstr(err.text, server_socket(server)) != NULL);
	assert_in_range(seen.count, 10, 64);
	place_resume();
}

static void
end_thread(void)
{
	pthread_exit(NULL);
}

static void *
scan_and_end(__attribute__((unused)) void *arg)
{
	leash_status status = scan_amid(client, NULL, 1, end_thread);

	(void)status;
	abort();
}

SENTENCE(a_thread_that_ends_in_a_visit_leaves_nothing)
{
	make_locks("ended", 100);
	await_connected();
	int64_t before = counted.bytes;
	int fds = count_fds(false);
	in_a_thread(scan_and_end, NULL);
	await_true(counted.bytes <= before);
	assert_int_equal(count_fds(false), fds);
}

static pid_t child;

static void
fork_one(void)
{
	child = fork();
}

SENTENCE(a_child_that_is_forked_in_a_visit_leaves_the_scan_to_its_parent)
{
	make_locks("forked", 1000);
	leash_status status = scan_amid(client, NULL, 1, fork_one);
	if (child == 0)
		_exit(status == LEASH_FORKED && seen.count == 1 ? 0 : 1);
	child_wait(child);
	assert_status(LEASH_OK, status);
	assert_int_equal(seen.count, 1000);
}

/* ---- refusals ---- */

SENTENCE(a_pattern_has_at_most_1024_bytes)
{
	char pattern[1026];

	make_locks("x", 1);
	memset(pattern, '*', sizeof pattern);
	pattern[1025] = '\0';
	assert_refused(LEASH_INVALID, "1024", scan(pattern, 0));
	pattern[1024] = '\0';
	assert_status(LEASH_OK, scan(pattern, 0));
	assert_int_equal(seen.count, 1);
}
