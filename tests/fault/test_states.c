/* States that a Redis gets into and out of again: without its scripts, away, empty, loading, busy, paused, asleep, slow, deprived of
 * commands, deaf. Who holds goes on holding for as long as there is a lease, and not a moment longer; who waits comes to the lock. */
#include "tests/contract/actor.h"
#include "tests/fault/real.h"
#include "tests/fault/refused.h"
#include "tests/support/proxy.h"
#include "tests/support/test.h"

#include <pthread.h>

static _Thread_local leash_error err; /* what the last call said */

/* Every jeopardy is over, and nothing was lost. */
static void
check_that_all_recovered(void)
{
	await_true(events.count[LEASH_EVENT_JEOPARDY] == events.count[LEASH_EVENT_RECOVERED]);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
}

static long long
script_kills(struct server *of)
{
	return info(of, "commandstats", "cmdstat_script|kill:calls=") + info(of, "commandstats", "cmdstat_function|kill:calls=");
}

/* ---- without its scripts ---- */

static long long
scripts_missed(void)
{
	return info(server, "errorstats", "errorstat_NOSCRIPT:count=");
}

static void
await_word(void)
{
	static const char look[] = "ZRANGE leash:{refused}:queue 0 0 WITHSCORES";
	char alive[128];

	snprintf(alive, sizeof alive, "%s", server_text(server, look));
	await_true(strcmp(server_text(server, look), alive) != 0);
}

FIXTURE(start_real, stop_real);

SENTENCE(scripts_that_are_gone_before_every_command_cost_no_failure)
{
	enum { ROUNDS = 4 };
	leash_client *other = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = slow_ms(2400), .timeout_ms = patience_ms(),
	                                                                     .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *kept = leashed_lock(other, "kept", NULL);
	struct actor next = {.lock = leashed_lock(other, "refused", NULL), .wait_ms = LEASH_FOREVER};
	long long missed = scripts_missed();

	actor_start(&next);
	assert_status(LEASH_OK, leash_lock_acquire(kept, 30000, &err));
	for (int i = 0; i < ROUNDS; i++) {
		ask_server(server, "SCRIPT FLUSH");
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		ask_server(server, "SCRIPT FLUSH");
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err)); /* nested */
		actor_tell(&next, actor_acquire);
		await_true(server_integer(server, "ZCOUNT leash:{refused}:queue (0 +inf") == 1);
		ask_server(server, "SCRIPT FLUSH");
		await_word();
		ask_server(server, "SCRIPT FLUSH");
		assert_status(LEASH_OK, leash_lock_extend(lock, 31000, &err));
		ask_server(server, "SCRIPT FLUSH");
		await_renewals(kept, 1);
		assert_status(LEASH_OK, leash_lock_release(lock, &err)); /* nested */
		assert_false(actor_is_done(&next));
		ask_server(server, "SCRIPT FLUSH");
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		assert_heard(LEASH_OK, &next);
		ask_server(server, "SCRIPT FLUSH");
		assert_done(LEASH_OK, &next, actor_release);
		assert_true(leash_lock_held(kept));
	}
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	missed = scripts_missed() - missed;
	printf("# %lld scripts missed\n", missed);
	assert_true(missed >= 2 * ROUNDS); /* each of two acquires: what follows one that missed it is sent whole at once */
	assert_int_equal(events.total, 0);
	assert_int_equal(server_integer(server, "EXISTS leash:{refused} leash:{refused}:queue leash:{kept}"), 0);
	leash_lock_free(kept);
	actor_dismiss(&next);
	leash_close(other);
}

/* ---- away and back ---- */

SENTENCE(an_outage_that_leaves_time_for_a_renewal_costs_no_lock, BETWEEN(NULL, NULL))
{
	enum { LOCKS = 3, LEASE_MS = 6000, TIMEOUT_MS = 500, OUTAGE_MS = 2500 }; /* OUTAGE < LEASE - LEASE / 3 - TIMEOUT */
	struct server *keeps = server_start((const char *const[]){"--appendonly", "yes", NULL});
	leash_client *holder = leashed_open(server_uri(keeps), LEASH_OPTIONS(.lease_ms = slow_ms(LEASE_MS), .timeout_ms = slow_ms(TIMEOUT_MS),
	                                                                     .on_event = leashed_note_event, .event_arg = &events));
	leash_client *other = leashed_open(server_uri(keeps), LEASH_OPTIONS(.timeout_ms = patience_ms()));
	struct actor next = {.lock = leashed_lock(other, "kept0", NULL), .wait_ms = LEASH_FOREVER};
	leash_lock *kept[LOCKS];
	char before[LOCKS][128];

	memset(&events, 0, sizeof events);
	actor_start(&next);
	for (int i = 0; i < LOCKS; i++) {
		char name[24];

		snprintf(name, sizeof name, "kept%d", i);
		kept[i] = leashed_lock(holder, name, NULL);
		assert_status(LEASH_OK, leash_lock_acquire(kept[i], 0, &err));
		snprintf(before[i], sizeof before[i], "%s", server_text(keeps, "HKEYS leash:{%s}", name));
	}
	actor_tell(&next, actor_acquire);
	await_true(server_integer(keeps, "ZCOUNT leash:{kept0}:queue (0 +inf") == 1);
	server_kill(keeps);
	await_ms(slow_ms(OUTAGE_MS));
	server_restart(keeps);
	for (int i = 0; i < LOCKS; i++)
		assert_string_equal(server_text(keeps, "HKEYS leash:{kept%d}", i), before[i]);
	for (int i = 0; i < LOCKS; i++)
		await_renewals(kept[i], 1); /* and valid all the while */
	check_that_all_recovered();
	check_ttls(keeps);
	assert_false(actor_is_done(&next));
	for (int i = 0; i < LOCKS; i++) {
		assert_status(LEASH_OK, leash_lock_release(kept[i], &err));
		leash_lock_free(kept[i]);
	}
	assert_heard(LEASH_OK, &next); /* its place was kept, too, or taken anew */
	assert_done(LEASH_OK, &next, actor_release);
	actor_dismiss(&next);
	leash_close(holder);
	leash_close(other);
	server_stop(keeps);
}

SENTENCE(the_loss_of_all_data_is_told_on_connecting_again)
{
	/* the next renewal is further away than anybody waits here */
	leash_lock *held = leashed_lock(client, "held", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(120000)));
	int64_t up;

	for (int i = 0; i < 3; i++) {
		memset(&events, 0, sizeof events);
		assert_status(LEASH_OK, leash_lock_acquire(held, 30000, &err));
		server_kill(server);
		assert_true(leash_lock_held(held)); /* who knows */
		server_restart(server);
		up = await_now_ns();
		await_true(events.count[LEASH_EVENT_LOST] == 1);
		printf("# told %.1f ms after the server was up\n", (double)(events.at_ns[LEASH_EVENT_LOST] - up) / 1e6);
		assert_false(leash_lock_held(held));
		assert_status(LEASH_LOST, leash_lock_release(held, &err));
		assert_status(LEASH_NOT_HELD, leash_lock_release(held, &err));
	}
	leash_lock_free(held);
}

/* ---- not now ---- */

/* All that it was ever asked to do, and did or refused. */
static long long
commands(struct server *of)
{
	long long n = 0;

	for (const char *at = server_text(of, "INFO commandstats"); (at = strstr(at, "cmdstat_")) != NULL; at++) {
		const char *calls = strstr(at, ":calls="), *rejected_calls = strstr(at, "rejected_calls=");

		n += calls != NULL ? atoll(calls + strlen(":calls=")) : 0;
		n += rejected_calls != NULL ? atoll(rejected_calls + strlen("rejected_calls=")) : 0;
	}
	return n;
}

SENTENCE(a_server_that_loads_for_seconds_is_not_asked_all_the_time, BETWEEN(NULL, NULL))
{
	enum { A_SECOND = 20 }; /* of each client */
	/* at least 20 s, if it is not told to hurry */
	struct server *slow = server_start((const char *const[]){"--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024",
	                                                         "--enable-debug-command", "yes", NULL});
	leash_client *holder = leashed_open(server_uri(slow), LEASH_OPTIONS(.timeout_ms = patience_ms(), .on_event = leashed_note_event, .event_arg = &events));
	leash_client *other = leashed_open(server_uri(slow), LEASH_OPTIONS(.timeout_ms = patience_ms()));
	leash_lock *held = leashed_lock(holder, "kept", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(120000)));
	struct actor queued = {.lock = leashed_lock(other, "kept", NULL), .wait_ms = LEASH_FOREVER};
	struct actor asking = {.lock = leashed_lock(other, "third", NULL), .wait_ms = LEASH_FOREVER};
	long long asked, connections;
	int64_t begun;
	double seconds;

	memset(&events, 0, sizeof events);
	actor_start(&queued);
	actor_start(&asking);
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	actor_tell(&queued, actor_acquire);
	await_true(server_integer(slow, "ZCOUNT leash:{kept}:queue (0 +inf") == 1);
	ask_server(slow, "DEBUG POPULATE 20000");
	ask_server(slow, "SAVE");
	server_kill(slow);
	server_boot(slow);
	actor_tell(&asking, actor_acquire);
	await_true(rejected(slow) > 0);
	asked = commands(slow);
	connections = info(slow, "stats", "total_connections_received:");
	begun = await_now_ns();
	await_ms(3000);
	asked = commands(slow) - asked - 2; /* the test's own */
	connections = info(slow, "stats", "total_connections_received:") - connections;
	seconds = (double)(await_now_ns() - begun) / 1e9;
	assert_int_equal(info(slow, "persistence", "loading:"), 1);
	printf("# of two clients: %.1f commands and %.1f connections a second\n", (double)asked / seconds, (double)connections / seconds);
	assert_true((double)asked <= 2 * A_SECOND * seconds);
	assert_true((double)connections <= 2 * A_SECOND * seconds);
	assert_true(asked > 0);
	assert_false(actor_is_done(&queued) || actor_is_done(&asking));
	assert_true(leash_lock_held(held));
	ask_server(slow, "CONFIG SET key-load-delay 0");
	assert_heard(LEASH_OK, &asking);
	check_that_all_recovered();
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_heard(LEASH_OK, &queued);
	assert_done(LEASH_OK, &queued, actor_release);
	assert_done(LEASH_OK, &asking, actor_release);
	assert_int_equal(script_kills(slow), 0);
	actor_dismiss(&queued);
	actor_dismiss(&asking);
	leash_lock_free(held);
	leash_close(holder);
	leash_close(other);
	server_stop(slow);
}

/* Have the server do this now, on a connection of its own; nobody waits for the answer. */
static redisContext *
let_it_do(struct server *of, const char *command, const char *argument)
{
	redisContext *c = server_connect(of);
	int done = 0;

	assert_int_equal(redisAppendCommand(c, command, argument), REDIS_OK);
	while (!done)
		assert_int_equal(redisBufferWrite(c, &done), REDIS_OK);
	return c;
}

static void
end_of(redisContext *c)
{
	void *reply = NULL;

	assert_int_equal(redisGetReply(c, &reply), REDIS_OK);
	freeReplyObject(reply);
	redisFree(c);
}

static bool
is_busy(struct server *it)
{
	redisReply *reply = server_command(it, "PING");
	bool busy = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "BUSY", 4) == 0;

	freeReplyObject(reply);
	return busy;
}

/* A script that has written, so that nobody can kill it, and that ends when 200 clients are connected: a change that it can see. A time would be
 * over too soon or too late on a busy machine. */
static const char until_many_come[] = "redis.call('SET', KEYS[1], '') "
                                      "repeat for i = 1, 100000 do end "
                                      "until tonumber(string.match(redis.call('INFO', 'clients'), 'connected_clients:(%d+)')) >= 200";

static void
let_many_come(struct server *to)
{
	redisContext *c[200];

	for (int i = 0; i < 200; i++)
		c[i] = server_connect(to);
	await_true(!is_busy(to));
	for (int i = 0; i < 200; i++)
		redisFree(c[i]);
}

SENTENCE(a_script_that_nobody_could_kill_is_waited_for)
{
	leash_lock *held = leashed_lock(client, "held", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(2000)));
	leash_lock *passed_on = leashed_lock(client, "passed on", NULL);
	struct actor asking = {.lock = leashed_lock(client, "asked for", NULL), .wait_ms = LEASH_FOREVER};
	redisContext *busy;

	ask_server(server, "CONFIG SET busy-reply-threshold 100");
	actor_start(&asking);
	assert_status(LEASH_OK, leash_lock_acquire(passed_on, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	/* valid for long, but to be renewed soon */
	assert_status(LEASH_OK, leash_lock_extend(held, slow_ms(60000), &err));
	busy = let_it_do(server, "EVAL %s 1 written", until_many_come);
	await_true(is_busy(server));
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), "BUSY", leash_lock_acquire(lock, 0, &err));
	actor_tell(&asking, actor_acquire);
	await_true(events.count[LEASH_EVENT_JEOPARDY] >= 1);
	assert_true(leash_lock_held(held));
	assert_false(actor_is_done(&asking));
	let_many_come(server);
	end_of(busy);
	assert_heard(LEASH_OK, &asking);
	check_that_all_recovered();
	assert_int_equal(script_kills(server), 0);
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_status(LEASH_OK, leash_lock_release(passed_on, &err));
	assert_done(LEASH_OK, &asking, actor_release);
	actor_dismiss(&asking);
	leash_lock_free(held);
	leash_lock_free(passed_on);
}

SENTENCE(a_pause_that_outlasts_a_renewal_is_a_jeopardy_that_passes)
{
	enum { LEASE_MS = 4500, TIMEOUT_MS = 250, PAUSE_MS = 2000 }; /* LEASE / 3 + TIMEOUT < PAUSE */
	static const char *const whom[] = {"ALL", "WRITE"};
	leash_client *holder = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = slow_ms(LEASE_MS), .timeout_ms = slow_ms(TIMEOUT_MS),
	                                                                      .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *kept = leashed_lock(holder, "kept", NULL);

	for (int i = 0; i < 2; i++) {
		memset(&events, 0, sizeof events);
		assert_status(LEASH_OK, leash_lock_acquire(kept, 30000, &err));
		freeReplyObject(server_command(server, "CLIENT PAUSE %lld %s", (long long)slow_ms(PAUSE_MS), whom[i]));
		await_true(events.count[LEASH_EVENT_JEOPARDY] == 1);
		assert_true(leash_lock_held(kept));
		await_true(events.count[LEASH_EVENT_RECOVERED] == 1);
		assert_true(leash_lock_held(kept));
		check_that_all_recovered();
		assert_status(LEASH_OK, leash_lock_release(kept, &err));
	}
	leash_lock_free(kept);
	leash_close(holder);
}

/* ---- standing still ---- */

static void
stop_it(struct server *it, int64_t ms)
{
	server_pause(it);
	await_ms(ms);
	server_resume(it);
}

static void
put_it_to_sleep(struct server *it, int64_t ms)
{
	char seconds[32];

	snprintf(seconds, sizeof seconds, "%.3f", (double)ms / 1e3);
	end_of(let_it_do(it, "DEBUG SLEEP %s", seconds));
}

static void
stand_still(void (*stand)(struct server *it, int64_t ms), int64_t lease_ms, int64_t ms)
{
	struct server *it = server_start((const char *const[]){"--enable-debug-command", "yes", NULL});
	leash_client *holder = leashed_open(server_uri(it), LEASH_OPTIONS(.lease_ms = lease_ms, .timeout_ms = slow_ms(500),
	                                                                  .on_event = leashed_note_event, .event_arg = &events));
	leash_client *other = leashed_open(server_uri(it), LEASH_OPTIONS(.timeout_ms = patience_ms()));
	leash_lock *held = leashed_lock(holder, "held", NULL);
	struct actor next = {.lock = leashed_lock(other, "held", NULL), .wait_ms = LEASH_FOREVER};
	bool outlasts = ms > lease_ms;
	int64_t until, up;
	uint64_t fence;

	memset(&events, 0, sizeof events);
	actor_start(&next);
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	fence = leash_lock_fence(held);
	actor_tell(&next, actor_acquire);
	await_true(server_integer(it, "ZCOUNT leash:{held}:queue (0 +inf") == 1);
	until = await_now_ns(); /* what remains is read later than this, so the sum is not past the end */
	until += leash_lock_remaining_ms(held) * MS;
	stand(it, ms);
	up = await_now_ns();
	if (outlasts) {
		await_true(events.count[LEASH_EVENT_LOST] == 1);
		assert_int_equal(events.order[0], LEASH_EVENT_JEOPARDY);
		assert_true(events.at_ns[LEASH_EVENT_LOST] >= until);
		assert_true(events.at_ns[LEASH_EVENT_LOST] < up);
		assert_false(leash_lock_held(held));
		assert_heard(LEASH_OK, &next);
		assert_true(next.began_ns < up && next.ended_ns > until);
		assert_status(LEASH_LOST, leash_lock_release(held, &err));
		await_ms(50); /* should there be a cancel of it */
		assert_done(LEASH_OK, &next, actor_look);
		assert_true(next.held);
	} else {
		await_true(events.count[LEASH_EVENT_JEOPARDY] >= 1);
		check_that_all_recovered();
		await_renewals(held, 1);
		assert_false(actor_is_done(&next));
		assert_status(LEASH_OK, leash_lock_release(held, &err));
		assert_heard(LEASH_OK, &next);
	}
	assert_true(next.fence > fence);
	assert_done(LEASH_OK, &next, actor_release);
	actor_dismiss(&next);
	leash_lock_free(held);
	leash_close(holder);
	leash_close(other);
	server_stop(it);
}

SENTENCE(a_server_that_stands_still_for_half_a_lease_costs_no_lock, BETWEEN(NULL, NULL))
{
	stand_still(stop_it, slow_ms(6000), slow_ms(3000));
	stand_still(put_it_to_sleep, slow_ms(6000), slow_ms(3000));
}

SENTENCE(a_server_that_stands_still_for_two_leases_costs_the_lock_and_says_so, BETWEEN(NULL, NULL))
{
	stand_still(stop_it, slow_ms(1200), slow_ms(2400));
	stand_still(put_it_to_sleep, slow_ms(1200), slow_ms(2400));
}

/* ---- slow ---- */

static _Atomic bool slowing;

static void *
run_slow_scripts(void *arg)
{
	redisContext *c = server_connect(arg);

	while (slowing)
		freeReplyObject(redisCommand(c, "EVAL %s 0", "local begun = os.clock() while os.clock() - begun < 0.01 do end")); /* s of the processor */
	redisFree(c);
	return NULL;
}

SENTENCE(among_slow_scripts_renewals_come_in_time)
{
	enum { LOCKS = 20, OTHERS = 2 };
	int64_t lease_ms = slow_ms(12000), least_ms = lease_ms, slowest = 0, looked, end;
	leash_lock *held[LOCKS];
	pthread_t other[OTHERS];

	slowing = true;
	for (int i = 0; i < OTHERS; i++)
		assert_int_equal(pthread_create(&other[i], NULL, run_slow_scripts, server), 0);
	for (int i = 0; i < LOCKS; i++) {
		char name[24];

		snprintf(name, sizeof name, "held%d", i);
		held[i] = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.lease_ms = lease_ms));
		assert_status(LEASH_OK, leash_lock_acquire(held[i], 30000, &err));
	}
	looked = await_now_ns();
	end = looked + lease_ms / 2 * MS; /* each has been renewed by then */
	while (looked < end) {
		int64_t now;

		for (int i = 0; i < LOCKS; i++) {
			int64_t left_ms = leash_lock_remaining_ms(held[i]);

			least_ms = left_ms < least_ms ? left_ms : least_ms;
		}
		await_ms(1);
		server_text(server, "PING");
		now = await_now_ns();
		slowest = now - looked > slowest ? now - looked : slowest;
		looked = now;
	}
	slowing = false;
	for (int i = 0; i < OTHERS; i++)
		pthread_join(other[i], NULL);
	printf("# at least %.0f %% of the lease left; others waited up to %.0f ms for an answer\n", 100 * (double)least_ms / (double)lease_ms,
	       (double)slowest / 1e6);
	/* a third of the lease and its margin; then the watchdog, the keeper and, where the server lacks the script, two answers */
	assert_true(least_ms * MS > lease_ms * MS * 65 / 100 - slow_ms(500) * MS - 4 * slowest);
	assert_int_equal(events.total, 0);
	for (int i = 0; i < LOCKS; i++) {
		assert_status(LEASH_OK, leash_lock_release(held[i], &err));
		leash_lock_free(held[i]);
	}
}

/* ---- deprived and deaf ---- */

SENTENCE(without_script_or_publish_all_goes_on, BETWEEN(NULL, NULL))
{
	static const char *const lacks[] = {"SCRIPT", "PUBLISH"};

	for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
		struct server *lacking = server_start((const char *const[]){"--rename-command", lacks[i], "", NULL});
		leash_client *one = leashed_open(server_uri(lacking), LEASH_OPTIONS(.lease_ms = slow_ms(3000), .timeout_ms = patience_ms()));
		leash_client *two = leashed_open(server_uri(lacking), LEASH_OPTIONS(.timeout_ms = patience_ms()));
		leash_lock *held = leashed_lock(one, "lacking", NULL);
		struct actor next = {.lock = leashed_lock(two, "lacking", NULL), .wait_ms = LEASH_FOREVER};
		int64_t released;

		actor_start(&next);
		assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
		actor_tell(&next, actor_acquire);
		await_true(server_integer(lacking, "ZCOUNT leash:{lacking}:queue (0 +inf") == 1);
		await_renewals(held, 1);
		released = await_now_ns();
		assert_status(LEASH_OK, leash_lock_release(held, &err));
		assert_heard(LEASH_OK, &next);
		printf("# without %s: handed on after %.1f ms\n", lacks[i], (double)(next.ended_ns - released) / 1e6);
		assert_true(next.ended_ns - released < slow_ms(2500) * MS); /* by its next word, and not when a claim of 3 s is over */
		assert_done(LEASH_OK, &next, actor_release);
		assert_int_equal(server_integer(lacking, "EXISTS leash:{lacking} leash:{lacking}:queue"), 0);
		actor_dismiss(&next);
		leash_lock_free(held);
		leash_close(one);
		leash_close(two);
		server_stop(lacking);
	}
}

/* `percent` of the messages are lost; the other end of `turns` grants comes to know of them all the same. */
static void
lose_messages(unsigned percent, int turns)
{
	struct proxy *proxy = proxy_start(server_socket(server));
	leash_client *deaf = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = patience_ms()));
	struct actor next = {.lock = leashed_lock(deaf, "refused", NULL), .wait_ms = LEASH_FOREVER};
	int64_t longest = 0;

	actor_start(&next);
	proxy_drop_messages(proxy, percent);
	for (int i = 0; i < turns; i++) {
		int64_t released;

		assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
		actor_tell(&next, actor_acquire);
		await_true(server_integer(server, "ZCOUNT leash:{refused}:queue (0 +inf") == 1);
		released = await_now_ns();
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		assert_heard(LEASH_OK, &next);
		longest = next.ended_ns - released > longest ? next.ended_ns - released : longest;
		assert_done(LEASH_OK, &next, actor_release);
	}
	printf("# %llu of %d messages lost: at most %.1f ms\n", (unsigned long long)proxy_dropped(proxy), turns, (double)longest / 1e6);
	assert_true(proxy_dropped(proxy) > 0);
	assert_true(percent < 100 || proxy_dropped(proxy) == (uint64_t)turns);
	/* a third of the claim, and not the claim of 3 s */
	assert_true(longest < slow_ms(2500) * MS);
	actor_dismiss(&next);
	leash_close(deaf);
	proxy_stop(proxy);
}

SENTENCE(whose_messages_are_lost_learns_of_a_grant_by_its_next_word)
{
	lose_messages(100, 4);
	lose_messages(50, 16);
}

SENTENCE(whose_messages_are_lost_comes_for_the_lock_when_the_lease_is_over)
{
	enum { LEASE_MS = 500, WORD_MS = 1000 };
	struct proxy *proxy = proxy_start(server_socket(server));
	leash_client *deaf = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = patience_ms()));
	leash_lock *lapsing = leashed_lock(client, "lapsing", LEASH_LOCK_OPTIONS(.lease_ms = LEASE_MS, .no_renew = true));
	struct actor next = {.lock = leashed_lock(deaf, "lapsing", NULL), .wait_ms = LEASH_FOREVER};
	int64_t best = INT64_MAX;

	actor_start(&next);
	proxy_drop_messages(proxy, 100);
	for (int i = 0; i < 20 && best >= (LEASE_MS + WORD_MS) / 2 * MS; i++) { /* until nothing stood still meanwhile */
		int64_t acquired = await_now_ns();

		assert_status(LEASH_OK, leash_lock_acquire(lapsing, 30000, &err));
		actor_tell(&next, actor_acquire);
		assert_heard(LEASH_OK, &next);
		assert_true(next.ended_ns - acquired >= LEASE_MS * MS);
		best = next.ended_ns - acquired < best ? next.ended_ns - acquired : best;
		assert_status(LEASH_LOST, leash_lock_release(lapsing, &err));
		assert_done(LEASH_OK, &next, actor_release);
	}
	printf("# after %.1f ms, of a lease of %d ms\n", (double)best / 1e6, LEASE_MS);
	assert_true(best < (LEASE_MS + WORD_MS) / 2 * MS);
	actor_dismiss(&next);
	leash_lock_free(lapsing);
	leash_close(deaf);
	proxy_stop(proxy);
}
