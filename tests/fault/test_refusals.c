/* What servers say instead of doing what they were asked, because they cannot, or not now, or not here: every such refusal, in
 * every phase of a lock's life. Each has its status and one line of text that says what and where, nothing is held that is not
 * known, nobody is asked in a tight loop, and when the trouble is over all goes on by itself. */
#include "tests/fault/real.h"
#include "tests/fault/refused.h"
#include "tests/support/descriptors.h"
#include "tests/support/knob.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <sys/stat.h>

static _Thread_local leash_error err; /* what the last call said */

FIXTURE(start_real, stop_real);

static struct pair pair;

/* ---- commands that the server does not have ---- */

static const struct lacking {
	const char *name, *commands[2], *named; /* NULL: all goes on */
	bool at_open;
} lacking[] = {
	{"without_evalsha_all_goes_by_eval", {"EVALSHA", "ACL"}, NULL, false},
	{"without_script_all_goes_on", {"SCRIPT", "ACL"}, NULL, false},
	{"without_publish_all_goes_on", {"PUBLISH", "ACL"}, NULL, false},
	{"without_evalsha_and_eval_it_is_unsupported", {"EVALSHA", "EVAL"}, "EVAL", false},
	{"without_subscribe_it_is_unsupported", {"SUBSCRIBE", "ACL"}, "SUBSCRIBE", true},
	{"without_time_it_is_unsupported", {"TIME", "ACL"}, "TIME", true},
};

SENTENCES(without_a_command_all_goes_on_or_it_is_named, lacking)
{
	const struct lacking *row = given;
	struct server *of = server_start((const char *const[]){"--rename-command", row->commands[0], "",
	                                                       "--rename-command", row->commands[1], "", NULL});
	leash_client *one = NULL;
	leash_lock *wanted;

	if (row->at_open) {
		assert_refused(LEASH_UNSUPPORTED, server_uri(of), row->named,
		               leash_open(&one, LEASH_OPTIONS(.uri = server_uri(of), .timeout_ms = patience_ms()), &err));
	} else if (row->named != NULL) {
		one = leashed_open(server_uri(of), LEASH_OPTIONS(.timeout_ms = patience_ms()));
		wanted = leashed_lock(one, "eval", NULL);
		assert_refused(LEASH_UNSUPPORTED, server_uri(of), row->named, leash_lock_acquire(wanted, 0, &err));
		assert_refused(LEASH_UNSUPPORTED, server_uri(of), row->named, leash_lock_acquire(wanted, LEASH_FOREVER, &err));
		leash_lock_free(wanted);
		leash_close(one);
	} else {
		char place[128];

		begin_pair(&pair, of, slow_ms(3000));
		snprintf(place, sizeof place, "%s", server_text(of, "ZRANGE leash:{pair}:queue 0 0 WITHSCORES"));
		await_renewals(pair.held, 2);
		await_true(strcmp(server_text(of, "ZRANGE leash:{pair}:queue 0 0 WITHSCORES"), place) != 0); /* it said its word */
		end_pair(&pair);
	}
	server_stop(of);
}

/* ---- not now ---- */

SENTENCE(a_lock_outlives_a_restart_that_takes_its_time_to_load)
{
	/* at least 20 s, if it is not told to hurry */
	struct server *slow = server_start((const char *const[]){"--key-load-delay", "1000", "--enable-debug-command", "yes",
	                                                         "--loading-process-events-interval-bytes", "1024", NULL});
	leash_lock *third;
	static struct waiting patient;
	long long before;

	begin_pair(&pair, slow, slow_ms(120000));
	third = leashed_lock(pair.client[1], "third", NULL);
	ask_server(slow, "DEBUG POPULATE 20000");
	ask_server(slow, "SAVE");
	server_kill(slow);
	server_boot(slow);
	assert_refused(LEASH_UNAVAILABLE, server_uri(slow), "LOADING", leash_lock_acquire(third, 0, &err));
	before = rejected(slow);
	begin_waiting(&patient, third, LEASH_FOREVER);
	await_true(rejected(slow) >= before + 3);
	await_true(events.count[LEASH_EVENT_JEOPARDY] >= 1);
	assert_false(patient.ended);
	ask_server(slow, "CONFIG SET key-load-delay 0");
	end_waiting(&patient, LEASH_OK);
	await_true(events.count[LEASH_EVENT_RECOVERED] >= 1);
	assert_int_equal(info(slow, "commandstats", "cmdstat_script|kill:calls="), 0);
	leash_lock_free(third);
	end_pair(&pair);
	server_stop(slow);
}

static void *
run_a_long_script(void *arg)
{
	redisContext *c = server_connect(arg);

	freeReplyObject(redisCommand(c, "EVAL %s 0", "while true do end"));
	redisFree(c);
	return NULL;
}

static bool
is_busy(redisContext *c)
{
	redisReply *reply = redisCommand(c, "PING");
	bool busy = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "BUSY", 4) == 0;

	freeReplyObject(reply);
	return busy;
}

SENTENCE(a_script_that_runs_for_seconds_is_waited_for_and_not_killed)
{
	redisContext *killer = server_connect(server);
	pthread_t runner;
	static struct waiting w;

	ask_server(server, "CONFIG SET busy-reply-threshold 100");
	begin_pair(&pair, server, slow_ms(2000));
	/* valid for long, but to be renewed soon */
	assert_status(LEASH_OK, leash_lock_extend(pair.held, slow_ms(60000), &err));
	assert_int_equal(pthread_create(&runner, NULL, run_a_long_script, server), 0);
	await_true(is_busy(killer));
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), "BUSY", leash_lock_acquire(lock, 0, &err));
	assert_refused_in_time(LEASH_UNAVAILABLE, server_uri(server), "BUSY", leash_lock_acquire(lock, 300, &err));
	begin_waiting(&w, lock, LEASH_FOREVER);
	await_true(events.count[LEASH_EVENT_JEOPARDY] >= 1);
	assert_true(leash_lock_held(pair.held));
	assert_false(w.ended);
	freeReplyObject(redisCommand(killer, "SCRIPT KILL"));
	pthread_join(runner, NULL);
	end_waiting(&w, LEASH_OK);
	await_true(events.count[LEASH_EVENT_RECOVERED] >= 1);
	end_pair(&pair);
	assert_int_equal(info(server, "commandstats", "cmdstat_script|kill:calls="), 1);
	redisFree(killer);
}

/* ---- not here ---- */

static const struct replica {
	const char *name, *serves_stale_data, *word;
} replica[] = {
	{"a_replica_is_left_alone_until_it_is_a_master_again", "yes", "READONLY"},
	{"a_replica_without_its_master_is_left_alone_too", "no", "MASTERDOWN"},
};

SENTENCES(a_replica_is_left_alone, replica)
{
	const struct replica *row = given;
	/* a release is tried for twice its timeout */
	leash_client *hasty = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = slow_ms(800)));
	leash_lock *spare = leashed_lock(hasty, "spare", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(120000)));
	static struct waiting asking;
	long long connections;
	int64_t begun;

	freeReplyObject(server_command(server, "CONFIG SET replica-serve-stale-data %s", row->serves_stale_data));
	begin_pair(&pair, server, slow_ms(120000));
	assert_status(LEASH_OK, leash_lock_acquire(spare, 30000, &err));
	ask_server(server, "REPLICAOF 127.0.0.1 1");
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), row->word, leash_lock_acquire(lock, 0, &err));
	assert_refused_in_time(LEASH_UNAVAILABLE, server_uri(server), row->word, leash_lock_acquire(lock, 400, &err));
	assert_false(leash_lock_held(lock));
	begin_waiting(&asking, lock, LEASH_FOREVER);

	/* with a holder, a waiter, one who asks, and a release that is owed: the server is looked for, but not all the time */
	connections = info(server, "stats", "total_connections_received:");
	begun = await_now_ns();
	assert_refused_in_time(LEASH_UNAVAILABLE, server_uri(server), row->word,
	                       leash_lock_extend(pair.held, slow_ms(120000), &err));
	assert_status(LEASH_UNKNOWN, leash_lock_release(spare, &err));
	assert_false(leash_lock_held(spare));
	check_text(err.text, server_uri(server));
	assert_true(leash_lock_held(pair.held));
	assert_false(asking.ended || pair.waiting.ended);
	connections = info(server, "stats", "total_connections_received:") - connections;
	begun = await_now_ns() - begun;
	if ((double)connections > 88 * (double)begun / 1e9)
		fail_msg("%lld connections of four clients in %.1f s", connections, (double)begun / 1e9);

	ask_server(server, "REPLICAOF NO ONE");
	end_waiting(&asking, LEASH_OK);
	await_true(server_integer(server, "EXISTS leash:{spare}") == 0);
	await_true(leash_lock_extend(pair.held, slow_ms(120000), &err) == LEASH_OK);
	leash_lock_free(spare);
	leash_close(hasty);
	end_pair(&pair);
}

/* ---- refused ---- */

SENTENCE(a_full_server_grants_nothing_new_and_keeps_and_hands_on_what_there_is)
{
	begin_pair(&pair, server, slow_ms(6000));
	ask_server(server, "CONFIG SET maxmemory 1");
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), "OOM", leash_lock_acquire(lock, 0, &err));
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), "OOM", leash_lock_acquire(lock, LEASH_FOREVER, &err));
	await_renewals(pair.held, 1);
	assert_status(LEASH_OK, leash_lock_extend(pair.held, slow_ms(7000), &err));
	end_pair(&pair);
	assert_int_equal(events.total, 0);
	ask_server(server, "CONFIG SET maxmemory 0");
	check_that_all_is_well();
}

/* A server that writes nothing any more: who holds loses at the end of the lease and knows it. */
static void
write_nothing(struct server *of, const char *stop_command, const char *go_on, const char *word)
{
	leash_client *holder = leashed_open(server_uri(of), LEASH_OPTIONS(.timeout_ms = patience_ms(), .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *brief = leashed_lock(holder, "brief", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(2000)));
	leash_lock *held = leashed_lock(holder, "held", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(120000)));
	leash_lock *released = leashed_lock(holder, "released", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(120000)));
	leash_lock *wanted = leashed_lock(holder, "wanted", NULL);
	int64_t ends;

	memset(&events, 0, sizeof events);
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(released, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(brief, 30000, &err));
	ask_server(of, stop_command);
	ends = await_now_ns(); /* what remains is read later than this, so the sum is not past the end */
	ends += leash_lock_remaining_ms(brief) * 1000000;
	assert_refused(LEASH_UNAVAILABLE, server_uri(of), word, leash_lock_acquire(wanted, 0, &err));
	assert_refused(LEASH_UNAVAILABLE, server_uri(of), word, leash_lock_acquire(wanted, 30000, &err));
	assert_refused(LEASH_UNAVAILABLE, server_uri(of), word, leash_lock_extend(held, slow_ms(120000), &err));
	assert_refused(LEASH_UNKNOWN, server_uri(of), word, leash_lock_release(released, &err));
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_int_equal(events.count[LEASH_EVENT_JEOPARDY], 1);
	assert_int_equal(events.order[0], LEASH_EVENT_JEOPARDY);
	assert_true(events.at_ns[LEASH_EVENT_LOST] >= ends);
	assert_false(leash_lock_held(brief));
	assert_status(LEASH_LOST, leash_lock_release(brief, &err));
	assert_true(leash_lock_held(held));
	ask_server(of, go_on);
	await_true(server_integer(of, "EXISTS leash:{released}") == 0); /* at last */
	assert_status(LEASH_OK, leash_lock_acquire(wanted, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(wanted, &err));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	check_ttls(of);
	leash_lock_free(brief);
	leash_lock_free(held);
	leash_lock_free(released);
	leash_lock_free(wanted);
	leash_close(holder);
}

SENTENCE(a_server_that_cannot_save_lets_leases_run_out_truthfully, BETWEEN(NULL, NULL))
{
	struct server *full = server_start((const char *const[]){"--dbfilename", "taken", NULL});
	char folder[512];

	snprintf(folder, sizeof folder, "%s/taken", server_folder(full));
	assert_int_equal(mkdir(folder, 0700), 0);
	ask_server(full, "SET something to-save");
	ask_server(full, "CONFIG SET stop-writes-on-bgsave-error no");
	freeReplyObject(server_command(full, "CONFIG SET save %s", "3600 1"));
	ask_server(full, "BGSAVE");
	await_true(strstr(server_text(full, "INFO persistence"), "rdb_last_bgsave_status:err") != NULL);
	write_nothing(full, "CONFIG SET stop-writes-on-bgsave-error yes", "CONFIG SET stop-writes-on-bgsave-error no", "MISCONF");
	server_stop(full);
}

SENTENCE(a_master_with_too_few_replicas_lets_leases_run_out_truthfully)
{
	write_nothing(server, "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS");
}

/* ---- connections ---- */

static _Atomic bool storming;
static _Atomic int inside, overlaps, turns[2];

/* `number`: of the client. Both want one lock. */
static void
contend(leash_lock *stormy, int number)
{
	while (storming) {
		assert_status(LEASH_OK, leash_lock_acquire(stormy, LEASH_FOREVER, &err));
		overlaps += inside++ != 0;
		await_ms(2);
		inside--;
		assert_status(LEASH_OK, leash_lock_release(stormy, &err));
		turns[number]++;
	}
}

static void *
contend_by_the_first(void *stormy)
{
	contend(stormy, 0);
	return NULL;
}

static void *
contend_by_the_second(void *stormy)
{
	contend(stormy, 1);
	return NULL;
}

SENTENCE(connections_that_are_killed_ten_times_a_second_cost_no_lock_and_no_waiter)
{
	enum { THREADS = 4 };
	int64_t ends = await_now_ns() + knob("LEASH_TEST_KILLS_SECONDS", 3) * INT64_C(1000000000);
	leash_client *other = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = patience_ms(), .event_arg = &events,
	                                                                     .on_event = leashed_note_event));
	leash_lock *kept = leashed_lock(client, "kept", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(3000)));
	leash_lock *stormy[2] = {leashed_lock(client, "stormy", NULL), leashed_lock(other, "stormy", NULL)};
	pthread_t thread[THREADS];

	assert_status(LEASH_OK, leash_lock_acquire(kept, 30000, &err));
	storming = true;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, i % 2 ? contend_by_the_second : contend_by_the_first,
		                                stormy[i % 2]), 0);
	/* at most ten times a second: a machine that needs longer to connect has not seen what this is about */
	for (int i = 0; i < 20 || await_now_ns() < ends; i++) {
		int before[2] = {turns[0], turns[1]};

		server_integer(server, "CLIENT KILL TYPE normal SKIPME yes");
		server_integer(server, "CLIENT KILL TYPE pubsub");
		await_ms(100);
		await_true(turns[0] > before[0] && turns[1] > before[1]);
		assert_true(leash_lock_held(kept));
	}
	storming = false;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(overlaps, 0);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	await_true_for(server_integer(server, "EXISTS leash:{stormy} leash:{stormy}:queue leash:{kept}") == 0, 10);
	leash_lock_free(kept);
	for (int i = 0; i < 2; i++)
		leash_lock_free(stormy[i]);
	leash_close(other);
}

static bool
all_are_connected(void)
{
	const char *at = server_text(server, "CLIENT LIST");
	int n = 0;

	for (; (at = strstr(at, "name=leash:")) != NULL; at++)
		n++;
	return n == 6; /* two of `client`, and of each of the pair */
}

SENTENCE(a_server_that_takes_no_more_clients_is_asked_not_too_often_and_costs_no_descriptor)
{
	int64_t attempts, begun;
	unsigned most = 0, before;
	leash_client *none;
	double seconds;

	begin_pair(&pair, server, 80000);
	leash_close(leashed_open(server_uri(server), NULL)); /* what wakes its threads is kept, for the next one */
	await_true(all_are_connected());
	before = descriptors_count();
	ask_server(server, "CONFIG SET maxclients 1"); /* this one */
	server_integer(server, "CLIENT KILL TYPE normal SKIPME yes");
	server_integer(server, "CLIENT KILL TYPE pubsub");
	begun = await_now_ns();
	attempts = info(server, "stats", "rejected_connections:");
	for (int i = 0; await_now_ns() - begun < INT64_C(2500000000) ||
	     info(server, "stats", "rejected_connections:") < attempts + 10; i++) {
		unsigned now = descriptors_count();

		most = now > most ? now : most;
		if (i % 10 == 0)
			assert_refused(LEASH_UNAVAILABLE, server_uri(server), "max number of clients",
			               leash_open(&none, LEASH_OPTIONS(.uri = server_uri(server), .timeout_ms = patience_ms()), &err));
		await_ms(10);
	}
	seconds = (double)(await_now_ns() - begun) / 1e9;
	attempts = info(server, "stats", "rejected_connections:") - attempts;
	printf("# %lld attempts in %.1f s; %u descriptors, at most %u\n", (long long)attempts, seconds, before, most);
	/* six connections, backing off from 10 ms to a quarter of a second, and ten more clients a second */
	assert_true((double)attempts < (6 * 10 + 2 * 10) * seconds);
	assert_true(most <= before);
	ask_server(server, "CONFIG SET maxclients 1000");
	await_true(all_are_connected());
	await_true(descriptors_count() == before);
	end_pair(&pair);
}
