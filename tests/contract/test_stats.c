/* What a client says it has done. */
#include "tests/contract/refusal.h"

#include "tests/contract/actor.h"
#include "tests/support/kept.h"
#include "tests/support/monitor.h"
#include "tests/support/proxy.h"
#include "tests/support/test.h"

#include <pthread.h>

/* Of each test. */
static leash_client *client;
static leash_lock *lock; /* "law" */
static struct actor other;
static leash_stats stats;

static void
set_up(void)
{
	place_resume();
	place_flush();
	client = open_client();
	lock = leashed_lock(client, "law", NULL);
	actor_begin(&other, lock, 0);
}

static void
tear_down(void)
{
	place_resume();
	leash_close(client);
	actor_hear(&other);
	actor_end(&other);
	leash_lock_free(lock);
}

FIXTURE(set_up, tear_down);
PLACE(refusal_open);

static bool
adds_up(leash_client *whom)
{
	memset(&stats, 0x5a, sizeof stats);
	stats.size = sizeof stats;
	assert_status(LEASH_OK, leash_client_stats(whom, &stats, &err));
	assert_int_equal(stats.size, sizeof stats);
	return stats.acquired == stats.released + stats.lost + stats.abandoned + stats.holding &&
	       stats.handed_on + stats.waited <= stats.acquired;
}

/* Ask, and see that it adds up: what was acquired was released, lost or abandoned, or is held. Numbers that change just
 * now may be from different moments: then it does when it is asked again. */
static void
ask_of(leash_client *whom)
{
	await_true(adds_up(whom));
}

static void
ask(void)
{
	ask_of(client);
}

/* ---- locks ---- */

SENTENCE(a_client_that_has_done_nothing_has_done_nothing)
{
	await_true((ask(), stats.connected && (stats.listening || place_is(PLACE_NO_QUEUE))));
	assert_true(stats.acquired == 0 && stats.gave_up == 0 && stats.renewed == 0 && stats.renewals_failed == 0 && stats.waiting == 0);
	assert_int_equal(stats.connects, deployment_masters(place)); /* none was lost */
	assert_true(stats.commands == 0);
}

SENTENCE(acquires_and_releases_are_counted_but_not_those_that_nest)
{
	for (unsigned i = 1; i <= 5; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		ask();
		assert_true(stats.acquired == i && stats.released == i - 1 && stats.holding == 1);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		ask();
		assert_true(stats.acquired == i && stats.released == i && stats.holding == 0 && stats.lost == 0 && stats.waited == 0);
	}
	assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
	ask();
	assert_true(stats.released == 5);
}

SENTENCE(from_thread_to_thread_and_after_waiting_in_the_server_are_told_apart)
{
	leash_client *second = kept(open_client());
	leash_lock *theirs = kept(leashed_lock(second, "law", NULL));

	other.wait_ms = LEASH_FOREVER;
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	actor_tell(&other, actor_acquire);
	place_await_waiting("law", 1);
	await_true((ask(), stats.waiting == 1));
	assert_true(stats.acquired == 0);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	assert_heard(LEASH_OK, &other);
	ask();
	assert_true(stats.waiting == 0 && stats.acquired == 1 && stats.handed_on == 0 && stats.holding == 1);
	assert_int_equal(stats.waited, !place_is(PLACE_NO_QUEUE)); /* there */
	assert_done(LEASH_OK, &other, actor_release);

	/* within the process; a turn may be over on a slow machine, and then it goes through the server */
	for (unsigned n = 1; stats.handed_on == 0; n++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		actor_tell(&other, actor_acquire);
		await_true((ask(), stats.waiting == 1));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		assert_heard(LEASH_OK, &other);
		ask();
		assert_true(stats.acquired == 1 + 2 * n && stats.released == 2 * n && stats.holding == 1);
		assert_int_equal(stats.handed_on, other.fence % 256); /* which the fence tells, too */
		assert_done(LEASH_OK, &other, actor_release);
		assert_true(n < 1000);
	}
	ask_of(second);
	assert_true(stats.acquired == 1 && stats.released == 1 && stats.waited == 0);
}

SENTENCE(who_gives_up_is_counted_whatever_the_reason)
{
	leash_client *second = kept(open_client());
	leash_lock *theirs = kept(leashed_lock(second, "law", NULL));
	leash_lock *lapsing = kept(leashed_lock(client, "lapse", LEASH_LOCK_OPTIONS(.lease_ms = 100, .no_renew = true)));
	leash_cancel *cancel = NULL;

	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 0, &err));
	ask();
	assert_true(stats.gave_up == 1);
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 200, &err));
	ask();
	assert_true(stats.gave_up == 2);
	assert_status(LEASH_OK, leash_cancel_new(&cancel, &err));
	leash_cancel_fire(cancel);
	assert_status(LEASH_CANCELED, leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = 1000, .cancel = cancel), &err));
	ask();
	assert_true(stats.gave_up == 3);
	assert_status(LEASH_OK, leash_lock_acquire(lapsing, 0, &err));
	await_true(!leash_lock_held(lapsing));
	assert_status(LEASH_LOST, leash_lock_acquire(lapsing, 0, &err));
	await_true((ask(), stats.lost == 1));
	assert_true(stats.gave_up == 4 && stats.acquired == 1 && stats.released == 0);
	assert_status(LEASH_LOST, leash_lock_release(lapsing, &err));
	ask();
	assert_true(stats.released == 0 && stats.holding == 0);
	leash_cancel_free(cancel);
}

SENTENCE(renewals_are_counted_as_the_server_answers_them_and_losses_as_well)
{
	leash_lock *brisk = kept(leashed_lock(client, "brisk", LEASH_LOCK_OPTIONS(.lease_ms = 2000)));

	assert_status(LEASH_OK, leash_lock_acquire(brisk, 0, &err));
	await_true((ask(), stats.renewed >= 2));
	place_take_away("brisk");
	await_true((ask(), stats.lost == 1));
	assert_true(stats.renewals_failed >= 1 && stats.holding == 0);
	assert_status(LEASH_LOST, leash_lock_release(brisk, &err));
}

static void *
acquire_and_end(void *arg)
{
	leash_lock *mine = arg;

	return leash_lock_acquire(mine, 0, NULL) == LEASH_OK ? mine : NULL;
}

SENTENCE(what_is_abandoned_is_not_released)
{
	leash_lock *last = leashed_lock(client, "last", NULL);
	pthread_t thread;

	pthread_create(&thread, NULL, acquire_and_end, lock);
	pthread_join(thread, NULL);
	await_true((ask(), stats.abandoned == 1));
	assert_true(stats.acquired == 1 && stats.released == 0 && stats.holding == 0);
	assert_status(LEASH_OK, leash_lock_acquire(last, 0, &err));
	leash_lock_free(last);
	await_true((ask(), stats.abandoned == 2));
}

SENTENCE(what_was_adopted_counts_as_acquired)
{
	leash_client *second = kept(open_client());
	leash_lock *theirs = kept(leashed_lock(second, "law", NULL));
	char token[LEASH_TOKEN_MAX];

	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	leash_lock_token(theirs, token, sizeof token);
	assert_status(LEASH_OK, leash_lock_adopt(lock, token, &err));
	ask();
	assert_true(stats.acquired == 1 && stats.holding == 1);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	ask();
	assert_true(stats.released == 1 && stats.holding == 0);
	assert_status(LEASH_LOST, leash_lock_release(theirs, &err));
	ask_of(second); /* given up by its owner, whatever the server said to it */
	assert_true(stats.released == 1 && stats.lost == 0);
}

static void *
churn(void *arg)
{
	leash_client *whose = arg;

	for (int i = 0; i < 300; i++) {
		leash_lock *brief = leashed_lock(whose, i % 2 ? "odd" : "even", NULL);

		if (leash_lock_acquire(brief, 1000, NULL) == LEASH_OK)
			leash_lock_release(brief, NULL);
		leash_lock_free(brief);
	}
	return NULL;
}

SENTENCE(numbers_never_go_back_while_threads_make_and_free_locks)
{
	pthread_t threads[3];
	leash_stats before = {.size = sizeof before};
	unsigned asked = 0;

	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_create(&threads[i], NULL, churn, client);
	do {
		memset(&stats, 0, sizeof stats);
		stats.size = sizeof stats;
		assert_status(LEASH_OK, leash_client_stats(client, &stats, &err));
		assert_true(stats.acquired >= before.acquired && stats.released >= before.released && stats.commands >= before.commands);
		assert_true(stats.acquired - stats.released <= COUNT(threads));
		before = stats;
		asked++;
	} while (stats.acquired < 500);
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	ask();
	assert_true(asked > 1 && stats.acquired + stats.gave_up == 900 && stats.holding == 0 && stats.waiting == 0);
}

/* ---- the connection ---- */

SENTENCE(commands_are_those_that_the_server_got, .but = PLACE_MANY_SERVERS)
{
	struct monitor *monitor = kept(monitor_start(place_at("law")));
	uint64_t before;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err)); /* it has listened, and introduced itself */
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	ask();
	before = stats.commands;
	monitor_mark(monitor);
	for (int i = 0; i < 50; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	ask();
	assert_int_equal(stats.commands - before, monitor_count(monitor, NULL));
	assert_true(stats.commands - before >= 100);
}

SENTENCE(a_connection_that_is_lost_is_told_and_counted_when_it_is_back, .but = PLACE_ONE_SOCKET)
{
	struct proxy *proxy = kept(proxy_start(server_socket(server)));
	leash_client *far = kept(leashed_open(proxy_uri(proxy), NULL));
	leash_lock *theirs = kept(leashed_lock(far, "far", NULL));
	uint64_t before;

	for (int i = 0; i < 100; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
		assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	}
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	await_true((ask_of(far), stats.connected && stats.listening));
	before = stats.commands;
	assert_true(stats.connects == 1 && before > 200);
	proxy_refuse(proxy, true);
	proxy_reset_all(proxy);
	await_true((ask_of(far), !stats.connected && !stats.listening));
	assert_true(stats.connects == 1 && stats.holding == 1);
	proxy_refuse(proxy, false);
	await_true((ask_of(far), stats.connected && stats.listening));
	assert_true(stats.connects == 2 && stats.commands >= before);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
}

SENTENCE(a_server_whose_clock_is_an_hour_ahead_is_an_hour_ahead, .but = PLACE_ONE_SOCKET)
{
	struct server *clocked = kept(server_start_clocked(NULL));
	static const int64_t aheads[] = {3600000, 0, -3600000};

	for (size_t i = 0; i < COUNT(aheads); i++) {
		leash_client *there;

		server_set_clock(clocked, aheads[i]);
		there = leashed_open(server_uri(clocked), NULL);
		ask_of(there);
		assert_in_range(stats.server_ahead_ms - aheads[i] + 60000, 0, 120000);
		leash_close(there);
	}
}

/* ---- the call ---- */

struct noted {
	_Atomic int status;
	leash_stats stats;
};

static void
ask_in_callback(void *arg, const leash_event *event)
{
	struct noted *noted = arg;

	(void)event;
	noted->stats.size = sizeof noted->stats;
	noted->status = leash_client_stats(client, &noted->stats, NULL);
}

SENTENCE(a_callback_may_ask)
{
	struct noted noted = {.status = -1};
	leash_lock *lost = leashed_lock(
		client, "lost", LEASH_LOCK_OPTIONS(.lease_ms = 100, .no_renew = true, .on_event = ask_in_callback, .event_arg = &noted));

	assert_status(LEASH_OK, leash_lock_acquire(lost, 0, &err));
	await_true(noted.status != -1);
	assert_int_equal(noted.status, LEASH_OK);
	assert_true(noted.stats.acquired == 1 && noted.stats.lost == 1);
	assert_status(LEASH_LOST, leash_lock_release(lost, &err));
	leash_lock_free(lost);
}

SENTENCE(a_server_that_stands_still_delays_nobody_who_asks)
{
	struct monitor *monitor = monitor_start(place_at("law"));

	monitor_mark(monitor);
	for (int i = 0; i < 100; i++)
		ask();
	assert_int_equal(monitor_count(monitor, NULL), 0); /* memory only */
	monitor_stop(monitor);
	place_pause();
	for (int i = 0; i < 100; i++)
		ask();
	place_resume();
}
