/* The server goes away: what those learn who hold, who wait, and who come. */
#include "tests/support/lag.h"
#include "tests/support/leashed.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <pthread.h>

struct waiting {
	leash_client *client;
	const char *name;
	int64_t wait_ms;
	_Atomic int begun;
	leash_status status;
	leash_error err;
	bool held;
	int64_t took_ns;
	pthread_t thread;
};

static void *
wait_and_release(void *arg)
{
	struct waiting *w = arg;
	leash_lock *lock = leashed_lock(w->client, w->name, NULL);
	int64_t begun = await_now_ns();
	leash_error err;

	w->begun = 1;
	w->status = leash_lock_acquire(lock, w->wait_ms, &w->err);
	w->took_ns = await_now_ns() - begun;
	w->held = leash_lock_held(lock);
	if (w->status == LEASH_OK)
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	return NULL;
}

static void
start_waiting(struct waiting *w)
{
	assert_int_equal(pthread_create(&w->thread, NULL, wait_and_release, w), 0);
	await_true(w->begun);
}

SENTENCE(after_a_restart_without_data_the_holder_has_lost_and_the_waiter_gets_the_lock)
{
	struct server *server = server_start(NULL);
	struct leashed_events events = {0};
	leash_client *holder = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 20000, .on_event = leashed_note_event, .event_arg = &events));
	leash_client *waiter = leashed_open(server_uri(server), NULL);
	leash_lock *held = leashed_lock(holder, "held", NULL), *wanted = leashed_lock(holder, "wanted", NULL);
	struct waiting w = {.client = waiter, .name = "wanted", .wait_ms = LEASH_FOREVER};
	struct waiting local = {.client = holder, .name = "wanted", .wait_ms = LEASH_FOREVER};
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(wanted, 0, &err));
	start_waiting(&w);
	start_waiting(&local);
	await_true(server_integer(server, "ZCOUNT leash:{wanted}:queue (0 +inf") == 1);
	server_kill(server);
	await_ms(50);
	server_restart(server);
	/* far sooner than the lease would end */
	await_true(events.count[LEASH_EVENT_LOST] == 2);
	assert_false(leash_lock_held(held));
	assert_false(leash_lock_held(wanted));
	pthread_join(w.thread, NULL);
	assert_status(LEASH_OK, (err = w.err, w.status));
	assert_true(w.held);
	assert_status(LEASH_LOST, leash_lock_release(held, &err));
	assert_status(LEASH_LOST, leash_lock_release(wanted, &err));
	pthread_join(local.thread, NULL);
	assert_status(LEASH_OK, (err = local.err, local.status));
	await_true(strcmp(server_text(server, "KEYS leash:{*"), "leash:{wanted}:fence") == 0);
	leash_lock_free(held);
	leash_lock_free(wanted);
	leash_close(holder);
	leash_close(waiter);
	await_true(server_integer(server, "DBSIZE") == 1);
	server_stop(server);
}

SENTENCE(with_the_server_away_a_timed_acquire_ends_on_time_and_says_unavailable)
{
	static const int64_t waits_ms[] = {1, 50, 300, 1500};
	struct server *server = server_start(NULL);
	leash_client *client = leashed_open(server_uri(server), NULL);
	leash_lock *lock = leashed_lock(client, "away", NULL);
	int64_t worst = 0;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	server_kill(server);
	for (size_t i = 0; i < sizeof waits_ms / sizeof *waits_ms; i++) {
		int64_t begun, late;

		lag_begin();
		begun = await_now_ns();
		assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, waits_ms[i], &err));
		late = await_now_ns() - begun - waits_ms[i] * 1000000;
		worst = late > worst ? late : worst;
		assert_true((double)(late - lag_end()) < 100 * 1000000 * await_slowness());
		assert_non_null(strstr(err.text, "lock 'away'"));
		assert_non_null(strstr(err.text, server_uri(server)));
	}
	printf("# at most %.1f ms late\n", (double)worst / 1e6);
	/* and it goes on by itself when the server is back */
	server_restart(server);
	assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
}

SENTENCE(with_the_server_standing_still_a_timed_acquire_ends_on_time_and_leaves_nothing)
{
	struct server *server = server_start(NULL);
	leash_client *client = leashed_open(server_uri(server), NULL);
	leash_lock *lock = leashed_lock(client, "still", NULL);
	int64_t begun, late;
	leash_error err;

	server_pause(server);
	lag_begin();
	begun = await_now_ns();
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 200, &err));
	late = await_now_ns() - begun - 200 * 1000000;
	assert_true((double)(late - lag_end()) < 100 * 1000000 * await_slowness());
	server_resume(server);
	/* its ask is refused as too late, or canceled: never held by nobody */
	await_true(server_integer(server, "EXISTS leash:{still} leash:{still}:queue") == 0);
	await_ms(50);
	assert_int_equal(server_integer(server, "EXISTS leash:{still} leash:{still}:queue"), 0);
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
}

SENTENCE(a_lock_outlives_a_short_outage_of_a_server_that_keeps_its_data)
{
	struct server *server = server_start((const char *const[]){"--appendonly", "yes", "--appendfsync", "always", NULL});
	struct leashed_events events = {0};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 60000, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *lock = leashed_lock(client, "kept", NULL);
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (int i = 0; i < 3; i++) {
		int64_t before;

		await_ms(500); /* so that a renewal is seen */
		before = leash_lock_remaining_ms(lock);
		server_kill(server);
		server_restart(server);
		await_true(leash_lock_remaining_ms(lock) > before); /* renewed as soon as it could be */
	}
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_int_equal(events.count[LEASH_EVENT_JEOPARDY], events.count[LEASH_EVENT_RECOVERED]);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
}

SENTENCE(an_outage_longer_than_the_lease_is_told_before_anybody_else_can_have_the_lock)
{
	struct server *server = server_start((const char *const[]){"--appendonly", "yes", "--appendfsync", "always", NULL});
	struct leashed_events events = {0};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 1000, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *lock = leashed_lock(client, "outage", NULL);
	leash_error err;
	int64_t until;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	server_pause(server);
	until = await_now_ns() + leash_lock_remaining_ms(lock) * 1000000;
	await_true(events.count[LEASH_EVENT_JEOPARDY] == 1);
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_true(events.at_ns[LEASH_EVENT_LOST] >= until - 2000000);
	assert_false(leash_lock_held(lock));
	server_resume(server);
	assert_status(LEASH_LOST, leash_lock_acquire(lock, 0, &err)); /* not before it is unwound */
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
}

SENTENCE(after_a_restart_the_guard_grants_nothing_until_the_longest_lease_is_over)
{
	struct server *server = server_start(NULL);
	leash_client *client = leashed_open(server_uri(server), NULL);
	leash_lock *guarded = leashed_lock(client, "guarded", LEASH_LOCK_OPTIONS(.restart_guard_ms = 3000));
	leash_error err;
	int64_t up;

	server_restart(server);
	up = await_now_ns();
	await_true(leash_lock_acquire(guarded, 0, &err) == LEASH_UNAVAILABLE && strstr(err.text, "restart_guard_ms") != NULL);
	assert_status(LEASH_OK, leash_lock_acquire(guarded, 60000, &err));
	assert_true(await_now_ns() - up >= INT64_C(1900) * 1000000); /* the server counts whole seconds, and was up for a moment */
	assert_status(LEASH_OK, leash_lock_release(guarded, &err));
	leash_lock_free(guarded);
	leash_close(client);
	server_stop(server);
}
