/* Who has it: what a client tells about itself in Redis, for how long, and that nothing hangs on it. A forked child takes
 * nothing of it back: it sends not a byte on its parent's connections (test_forked). Who waits tells it, too
 * (test_inspect), and it goes with each client that is closed (the laws). And what a client says it has done; what counts as
 * what is said by core/test_counts, that a callback may ask by test_manners. */
#include "tests/contract/interface.h"
#include "tests/support/cluster.h"

#include <time.h>
#include <unistd.h>

/* ---- who it is ---- */

static int64_t
wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t); /* time() may be some ms behind it */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The key of the client that holds `lock`. */
static const char *
key_of(const leash_lock *lock, char key[96])
{
	char token[LEASH_TOKEN_MAX];

	assert_true(leash_lock_token(lock, token, sizeof token) > 36);
	snprintf(key, 96, "leash:client:%.36s", token);
	return key;
}

SENTENCE(who_holds_says_who_it_is)
{
	int64_t before = wall_ms();
	leash_client *client = kept(place_client(LEASH_OPTIONS(.client_name = "me-and-only-me")));
	leash_lock *lock = kept(leashed_lock(client, "said", NULL));
	char key[96], host[256] = "", said_host[256], program[256];
	long long pid, since;

	int64_t after = wall_ms();
	assert_status(LEASH_OK, leash_lock_inspect(lock, &(leash_lock_info){.size = sizeof(leash_lock_info)}, &err));
	assert_int_equal(place_introductions(), 0); /* it has only looked */
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	key_of(lock, key);
	await_true(deployment_integer(place, key, "EXISTS %s", key) == 1); /* in a cluster another server may be told it */
	const char *said = deployment_text(place, key, "GET %s", key);
	assert_int_equal(sscanf(said, "%lld %lld %255s %255s", &pid, &since, said_host, program), 4);
	gethostname(host, sizeof host - 1);
	assert_int_equal(pid, getpid());
	assert_in_range(since, before, after);
	assert_string_equal(said_host, host);
	assert_string_equal(program, "me-and-only-me");
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	await_true(place_introductions() == 1); /* it may want another one soon */
}

/* Looked at in one step of the server that has both: at no moment does the lease reach further. So who was killed is
 * known for longer than its lease. */
SENTENCE(it_outlives_the_lease_at_any_moment_and_no_lease_makes_it_last_for_more_than_a_day)
{
	static const char script[] = "local lease = redis.call('PTTL', KEYS[1]) "
	                             "if lease < 0 then return -1 end return redis.call('PTTL', KEYS[2]) - lease";
	leash_client *client = kept(place_client(LEASH_OPTIONS(.lease_ms = 300)));
	leash_lock *first = kept(leashed_lock(client, "first", NULL));
	leash_lock *longer = kept(leashed_lock(client, "longer", NULL));
	const int64_t day_ms = 86400000, leases[] = {place_lease_ms(600000), place_lease_ms(day_ms)};
	int64_t least = INT64_MAX;
	char key[96], name[CLUSTER_NAME] = "long";

	assert_status(LEASH_OK, leash_lock_acquire(first, 0, &err));
	key_of(first, key);
	leash_lock_release(first, &err);
	await_true(deployment_integer(place, key, "EXISTS %s", key) == 1);
	if (deployment_cluster(place))
		cluster_name_in_slot(cluster_slot(key), name);
	leash_lock *lock = kept(leashed_lock(client, name, NULL));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	int64_t begun = await_now_ns();
	while (await_now_ns() - begun < INT64_C(1500000000)) {
		int64_t more = deployment_integer(place, key, "EVAL %s 2 leash:{%s} %s", script, name, key);

		if (leash_lock_held(lock) && !(place_is(PLACE_MAJORITY) && more == -1)) { /* this machine stands still now and then */
			assert_true(more > 0);
			least = more < least ? more : least;
		}
		await_ms(5);
	}
	printf("# it lasted at least %lld ms longer than the lease of 300 ms\n", (long long)least);
	/* and a longer lease is outlived from its beginning */
	for (size_t i = 0; i < COUNT(leases); i++) {
		int64_t enough_ms = leases[i] < day_ms ? leases[i] + 5000 : day_ms - 3600000;

		assert_status(LEASH_OK,
		              leash_lock_acquire_with(longer, LEASH_ACQUIRE(.wait_ms = 5000, .lease_ms = leases[i]), &err));
		await_true(deployment_integer(place, key, "PTTL %s", key) > enough_ms);
		assert_true(deployment_integer(place, key, "PTTL %s", key) <= day_ms);
		assert_status(LEASH_OK, leash_lock_release(longer, &err));
	}
	leash_lock_release(lock, &err);
}

SENTENCE(who_lost_everything_is_told_again)
{
	leash_client *client = kept(place_client(LEASH_OPTIONS(.lease_ms = 3000, .timeout_ms = 20000)));
	leash_lock *lock = kept(leashed_lock(client, "lost", NULL)), *other = kept(leashed_lock(client, "other", NULL));

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	place_restart(); /* and nothing is kept */
	assert_status(LEASH_OK, leash_lock_acquire(other, 20000, &err));
	await_true(place_introductions() == 1);
	assert_status(LEASH_OK, leash_lock_release(other, &err));
	leash_lock_release(lock, &err);
}

static int64_t
connections_to(struct server *of)
{
	return atoll(strstr(server_text(of, "INFO stats"), "total_connections_received:") + 27);
}

/* It may do all that locks need, and not write that. */
SENTENCE(a_user_who_may_not_say_it_locks_as_before, .but = PLACE_ONE_SOCKET)
{
	static const char *const app[] = {"--user", "app", "on", ">word", "~leash:{*", "&leash:*", "+@all", NULL};
	static struct leashed_events events;
	struct server *strict = kept(server_start(app));
	char uri[300];
	leash_client *client;

	snprintf(uri, sizeof uri, "unix://app:word@%s", server_socket(strict));
	events.total = 0;
	client = kept(leashed_open(uri, LEASH_OPTIONS(.lease_ms = 3000, .on_event = leashed_note_event, .event_arg = &events)));
	leash_lock *lock = kept(leashed_lock(client, "strict", NULL));
	int64_t clients = connections_to(strict);
	struct monitor *monitor = kept(monitor_start(strict));
	for (int i = 0; i < 100; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	monitor_await(monitor, "evalsha", 202); /* a renewal, too */
	leash_lock_release(lock, &err);
	assert_int_equal(leashed_introductions(strict), 0);
	assert_true(strstr(server_text(strict, "ACL LOG"), "leash:client:") != NULL); /* it was said */
	assert_int_equal(connections_to(strict), clients + 1); /* but for the monitor's nobody has connected */
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
}

/* However long the machine stands still, no connection is given up and nothing is renewed. */
SENTENCE(it_costs_one_command_in_half_a_minute)
{
	leash_client *client = kept(place_client(LEASH_OPTIONS(.timeout_ms = 60000, .lease_ms = 600000)));
	leash_lock *lock = kept(leashed_lock(client, "cheap", NULL));
	struct monitor *monitor = kept(monitor_start(place_at("cheap")));

	for (int i = 0; i < 1000; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	if (!place_is(PLACE_MAJORITY)) /* there a server that is late is not asked for what is over already */
		assert_int_equal(monitor_count(monitor, "\"evalsha\""), 2000);
	if (deployment_cluster(place)) /* it may be said to another server */
		assert_in_range(monitor_count(monitor, ":client:"), 0, 1);
	else
		assert_int_equal(monitor_count(monitor, ":client:"), 1);
	if (deployment_server(place)) /* others talk to their servers of other things */
		assert_int_equal(monitor_count(monitor, NULL), 2001);
}

/* ---- what it has done ---- */

static leash_client *client; /* which has done nothing so far */
static leash_lock *lock;  /* "law" */
static leash_stats stats; /* of the last answer */

static void
set_up(void)
{
	client = kept(open_client());
	lock = kept(leashed_lock(client, "law", NULL));
}

static void
see_that_nobody_is_known(void)
{
	await_true(place_introductions() == 0);
}

FIXTURE(NULL, see_that_nobody_is_known);
PLACE(interface_open);

#define OF_ONE BETWEEN(set_up, see_that_nobody_is_known)

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

SENTENCE(a_client_that_has_done_nothing_has_done_nothing, OF_ONE)
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

SENTENCE(numbers_never_go_back_while_threads_make_and_free_locks, OF_ONE)
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

SENTENCE(commands_are_those_that_the_server_got, OF_ONE, .but = PLACE_MANY_SERVERS)
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
	leash_client *far = leashed_open(proxy_uri(proxy), NULL);
	leash_lock *theirs = leashed_lock(far, "far", NULL);

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
	leash_lock_free(theirs);
	leash_close(far);
	see_that_nobody_is_known(); /* what it says last comes before the proxy ends */
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

SENTENCE(a_server_that_stands_still_delays_nobody_who_asks, OF_ONE)
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
