/* What a client says it has done. That a callback may ask is said by test_manners, with calls.c. */
#include "tests/contract/interface.h"

/* Of each test. */
static leash_client *client;
static leash_lock *lock; /* "law" */
static leash_stats stats; /* of the last answer */

static void
set_up(void)
{
	place_resume();
	place_flush();
	client = kept(open_client());
	lock = kept(leashed_lock(client, "law", NULL));
	stats = (leash_stats){.size = sizeof stats};
}

FIXTURE(set_up, NULL);
PLACE(interface_open);

/* Numbers that change just now may be from different moments: then it adds up when it is asked again. */
static bool
adds_up(leash_client *whom)
{
	memset(&stats, 0x5a, sizeof stats);
	stats.size = sizeof stats;
	assert_status(LEASH_OK, leash_client_stats(whom, &stats, &err));
	assert_int_equal(stats.size, sizeof stats);
	return stats.acquired == stats.released + stats.lost + stats.abandoned + stats.holding;
}

static void
ask(leash_client *whom)
{
	await_true(adds_up(whom));
}

/* ---- locks ---- */

SENTENCE(a_client_that_has_done_nothing_has_done_nothing)
{
	await_true((ask(client), stats.connected && (stats.listening || place_is(PLACE_NO_QUEUE))));
	assert_true(stats.acquired == 0 && stats.gave_up == 0 && stats.renewed == 0 && stats.renewals_failed == 0);
	assert_true(stats.waiting == 0 && stats.commands == 0);
	assert_int_equal(stats.connects, deployment_masters(place)); /* none was lost */
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
		assert_status(LEASH_OK, leash_client_stats(client, &stats, &err));
		assert_true(stats.acquired >= before.acquired && stats.released >= before.released);
		assert_true(stats.commands >= before.commands);
		assert_true(stats.acquired - stats.released <= COUNT(threads));
		before = stats;
		asked++;
	} while (stats.acquired < 500);
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	ask(client);
	assert_true(asked > 1 && stats.acquired + stats.gave_up == 900 && stats.holding == 0 && stats.waiting == 0);
}

/* ---- the connection ---- */

SENTENCE(commands_are_those_that_the_server_got, .but = PLACE_MANY_SERVERS)
{
	struct monitor *monitor = kept(monitor_start(place_at("law")));

	take_and_give_back(lock); /* it has listened, and introduced itself */
	ask(client);
	uint64_t before = stats.commands;
	monitor_mark(monitor);
	for (int i = 0; i < 50; i++)
		take_and_give_back(lock);
	ask(client);
	assert_int_equal(stats.commands - before, monitor_count(monitor, NULL));
	assert_true(stats.commands - before >= 100);
}

SENTENCE(a_connection_that_is_lost_is_told_and_counted_when_it_is_back, .but = PLACE_ONE_SOCKET)
{
	struct proxy *proxy = kept(proxy_start(server_socket(server)));
	leash_client *far = kept(leashed_open(proxy_uri(proxy), NULL));
	leash_lock *theirs = kept(leashed_lock(far, "far", NULL));

	for (int i = 0; i < 100; i++)
		take_and_give_back(theirs);
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	await_true((ask(far), stats.connected && stats.listening));
	uint64_t before = stats.commands;
	assert_true(stats.connects == 1 && before > 200);
	proxy_refuse(proxy, true);
	proxy_reset_all(proxy);
	await_true((ask(far), !stats.connected && !stats.listening));
	assert_true(stats.connects == 1 && stats.holding == 1);
	proxy_refuse(proxy, false);
	await_true((ask(far), stats.connected && stats.listening));
	assert_true(stats.connects == 2 && stats.commands >= before);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
}

SENTENCE(a_server_whose_clock_is_an_hour_ahead_is_an_hour_ahead, .but = PLACE_ONE_SOCKET)
{
	struct server *clocked = kept(server_start_clocked(NULL));
	static const int64_t aheads[] = {3600000, 0, -3600000};

	for (size_t i = 0; i < COUNT(aheads); i++) {
		server_set_clock(clocked, aheads[i]);
		leash_client *there = leashed_open(server_uri(clocked), NULL);
		ask(there);
		assert_in_range(stats.server_ahead_ms - aheads[i] + 60000, 0, 120000);
		leash_close(there);
	}
}

/* ---- the call ---- */

SENTENCE(a_server_that_stands_still_delays_nobody_who_asks)
{
	struct monitor *monitor = monitor_start(place_at("law"));

	monitor_mark(monitor);
	for (int i = 0; i < 100; i++)
		ask(client);
	assert_int_equal(monitor_count(monitor, NULL), 0); /* memory only */
	monitor_stop(monitor);
	place_pause();
	for (int i = 0; i < 100; i++)
		ask(client);
	place_resume();
}
