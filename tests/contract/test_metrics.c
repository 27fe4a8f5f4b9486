/* What is measured: how long waits and holds took, what was left of leases, and the text that dashboards read. That the
 * text is what Prometheus reads, test_examples says. */
#include "tests/contract/interface.h"

#include <pthread.h>

static leash_client *client;
static leash_lock *lock;

static void
set_up(void)
{
	note_what_there_is();
	client = kept(place_client(LEASH_OPTIONS(.client_name = "measured")));
	lock = kept(leashed_lock(client, "law", NULL));
}

FIXTURE(set_up, nothing_is_left);
PLACE(life_open);

static leash_times
times_of(const char *group, leash_time which)
{
	leash_times times = {.size = sizeof times};

	assert_status(LEASH_OK, leash_client_times(client, group, which, &times, &err));
	assert_true(times.p50_ns <= times.p90_ns && times.p90_ns <= times.p99_ns && times.p99_ns <= times.p999_ns);
	assert_true(times.p999_ns <= times.max_ns && (times.count > 0 || times.sum_ns == 0));
	return times;
}

static void
use(leash_lock *it)
{
	acquires(it);
	releases(it);
}

/* ---- how long ---- */

SENTENCE(the_time_of_a_hold_is_from_when_it_was_had_to_when_it_was_given_back)
{
	enum { TURNS = 20 };
	int64_t within = 0, around = 0, before = 0;

	for (int i = 0; i < TURNS; i++) {
		int64_t begun = await_now_ns(), had, done;

		acquires(lock);
		had = await_now_ns();
		await_ms(5);
		done = await_now_ns();
		releases(lock);
		within += done - had;
		around += await_now_ns() - begun;
		before += had - begun;
	}
	leash_times hold = times_of(NULL, LEASH_TIME_HOLD), wait = times_of(NULL, LEASH_TIME_WAIT);
	assert_int_equal(hold.count, TURNS);
	assert_in_range(hold.sum_ns, within, around);
	assert_true(hold.p50_ns >= 4800000);
	assert_int_equal(wait.count, TURNS);
	assert_true(wait.sum_ns > 0 && wait.sum_ns <= (uint64_t)before);
	assert_true(times_of(NULL, LEASH_TIME_ROUND_TRIP).count >= 2 * TURNS);
}

SENTENCE(a_wait_is_measured_from_the_call_on)
{
	leash_lock *theirs = kept(leashed_lock(kept(open_client()), "law", NULL));
	struct actor waiter;

	acquires(theirs);
	begin_waiting(&waiter, lock, 60000);
	await_true(stats_of(client).waiting == 1);
	await_ms(50);
	releases(theirs);
	end_waiting(&waiter);
	assert_true(times_of(NULL, LEASH_TIME_WAIT).max_ns >= 48000000);
}

SENTENCE(what_nests_is_not_measured)
{
	acquires(lock);
	use(lock);
	releases(lock);
	assert_int_equal(times_of(NULL, LEASH_TIME_WAIT).count, 1);
	assert_int_equal(times_of(NULL, LEASH_TIME_HOLD).count, 1);
}

SENTENCE(each_renewal_tells_how_much_of_the_lease_was_left)
{
	leash_lock *short_one = kept(leashed_lock(client, "short", LEASH_LOCK_OPTIONS(.lease_ms = 1000)));
	leash_times left;

	acquires(short_one);
	await_true(stats_of(client).renewed >= 3);
	releases(short_one);
	left = times_of(NULL, LEASH_TIME_LEFT);
	assert_true(left.count >= 3 && left.max_ns < 1032000000);
}

SENTENCE(a_hold_that_is_lost_is_measured_too)
{
	leash_lock *lapses = kept(leashed_lock(client, "lapses", LEASH_LOCK_OPTIONS(.lease_ms = 200, .no_renew = true)));

	acquires(lapses);
	await_true(stats_of(client).lost == 1);
	assert_status(LEASH_LOST, leash_lock_release(lapses, &err));
	assert_int_equal(times_of(NULL, LEASH_TIME_HOLD).count, 1);
}

static void *
take_turns(void *arg)
{
	for (int i = 0; i < 200; i++)
		use(arg);
	return NULL;
}

/* Handed off among threads, or not. */
SENTENCE(whatever_is_acquired_is_measured_once)
{
	pthread_t thread[4];
	leash_stats stats;

	for (size_t i = 0; i < COUNT(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, take_turns, lock), 0);
	for (size_t i = 0; i < COUNT(thread); i++)
		pthread_join(thread[i], NULL);
	stats = stats_of(client);
	assert_int_equal(stats.acquired, 200 * COUNT(thread));
	assert_int_equal(times_of(NULL, LEASH_TIME_WAIT).count, stats.acquired);
	assert_int_equal(times_of(NULL, LEASH_TIME_HOLD).count, stats.acquired);
}

/* ---- groups ---- */

static leash_lock *
lock_in(const char *name, const char *group)
{
	return kept(leashed_lock(client, name, LEASH_LOCK_OPTIONS(.group = group)));
}

SENTENCE(locks_of_a_group_are_measured_together_and_apart_from_others)
{
	use(lock_in("order/1", "orders"));
	use(lock_in("order/2", "orders"));
	use(lock_in("bill/1", "bills"));
	use(lock);
	assert_int_equal(times_of("orders", LEASH_TIME_HOLD).count, 2);
	assert_int_equal(times_of("bills", LEASH_TIME_WAIT).count, 1);
	assert_int_equal(times_of("bills", LEASH_TIME_LEFT).count, 0);
	assert_int_equal(times_of(NULL, LEASH_TIME_HOLD).count, 4);
}

SENTENCE(there_are_as_many_groups_as_the_header_says)
{
	leash_lock *none = NULL;
	char name[16];

	for (int i = 0; i < LEASH_GROUPS_MAX; i++) {
		snprintf(name, sizeof name, "group%d", i);
		leash_lock_free(leashed_lock(client, "one", LEASH_LOCK_OPTIONS(.group = name)));
	}
	lock_in("one", "group0"); /* there is one of that name already */
	assert_refused(LEASH_INVALID, "'one'",
	               leash_lock_new(&none, client, "one", LEASH_LOCK_OPTIONS(.group = "another"), &err));
	assert_refused(LEASH_INVALID, "group",
	               leash_lock_new(&none, client, "one", LEASH_LOCK_OPTIONS(.group = "two words"), &err));
	assert_refused(LEASH_INVALID, "group", leash_lock_new(&none, client, "one", LEASH_LOCK_OPTIONS(.group = ""), &err));
}

SENTENCE(times_that_there_are_not_are_refused)
{
	leash_times times = {.size = sizeof times};

	assert_refused(LEASH_INVALID, "no_such", leash_client_times(client, "no_such", LEASH_TIME_HOLD, &times, &err));
	lock_in("one", "group");
	assert_refused(LEASH_INVALID, "ROUND_TRIP",
	               leash_client_times(client, "group", LEASH_TIME_ROUND_TRIP, &times, &err));
	assert_refused(LEASH_INVALID, "leash_time 9", leash_client_times(client, NULL, (leash_time)9, &times, &err));
	times.size = 0;
	assert_refused(LEASH_INVALID, "size", leash_client_times(client, NULL, LEASH_TIME_HOLD, &times, &err));
	assert_refused(LEASH_INVALID, "`times`", leash_client_times(client, NULL, LEASH_TIME_HOLD, NULL, &err));
	assert_refused(LEASH_INVALID, "client", leash_client_times(NULL, NULL, LEASH_TIME_HOLD, &times, &err));
}

/* ---- the text ---- */

static char text[1 << 20];

static bool
keep_text(void *arg, const char *bytes, size_t size)
{
	(void)arg;
	assert_true(size < sizeof text);
	memcpy(text, bytes, size);
	text[size] = '\0';
	return true;
}

static bool
refuse(void *arg, const char *bytes, size_t size)
{
	(void)arg, (void)bytes, (void)size;
	return false;
}

static leash_status
write_metrics(void)
{
	return leash_metrics_write(&client, 1, keep_text, NULL, &err);
}

static int
lines_with(const char *what)
{
	int count = 0;

	for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
		count++;
	return count;
}

SENTENCE(the_text_has_each_metric_once_with_all_clients)
{
	leash_client *other = kept(place_client(LEASH_OPTIONS(.client_name = "o\"t\\her"))), *both[] = {client, other};

	use(lock_in("one", "g\"1"));
	assert_status(LEASH_OK, leash_metrics_write(both, 2, keep_text, NULL, &err));
	assert_int_equal(lines_with("\nleash_acquired_total{client=\"measured\",server=\""), 1);
	assert_int_equal(lines_with("\nleash_acquired_total{client=\"o\\\"t\\\\her\",server=\""), 1);
	assert_int_equal(lines_with("# TYPE leash_acquired_total counter\n"), 1);
	assert_int_equal(lines_with("# TYPE leash_hold_seconds histogram\n"), 1);
	assert_int_equal(lines_with("leash_hold_seconds_count{"), 2);
	assert_int_equal(lines_with(",group=\"g\\\"1\"} 1\n"), 2);
	assert_non_null(strstr(text, ",le=\"0.000004096\"} "));
}

SENTENCE(clients_that_cannot_be_told_apart_are_refused)
{
	leash_client *other = kept(place_client(LEASH_OPTIONS(.client_name = "measured"))), *both[] = {client, other};

	assert_refused(LEASH_INVALID, "'measured'", leash_metrics_write(both, 2, keep_text, NULL, &err));
	assert_refused(LEASH_INVALID, "clients", leash_metrics_write(both, 0, keep_text, NULL, &err));
	assert_refused(LEASH_INVALID, "clients", leash_metrics_write(NULL, 1, keep_text, NULL, &err));
	assert_refused(LEASH_INVALID, "`write`", leash_metrics_write(both, 1, NULL, NULL, &err));
	both[0] = NULL;
	assert_refused(LEASH_INVALID, "client", leash_metrics_write(both, 1, keep_text, NULL, &err));
}

SENTENCE(who_cannot_take_the_text_is_told_that_it_was_not_written)
{
	assert_refused(LEASH_CANCELED, "`write`", leash_metrics_write(&client, 1, refuse, NULL, &err));
}

static void
see_text(leash_status status)
{
	assert_true(status == LEASH_OK || text[0] == '\0');
	text[0] = '\0';
}

SENTENCE(without_memory_nothing_is_written)
{
	text[0] = '\0';
	assert_true(wherever_memory_runs_out(write_metrics, see_text) > 2);
}
