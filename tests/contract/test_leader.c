/* Leaders, wherever they live: clients of leash stand, proclaim and watch. What the server does: redis/test_leader.c. */
#include "tests/contract/interface.h"

#define THEIRS "7e2d4c90-55b3-4f86-a1c4-92d07f6b3e21:51"

static leash_client *client;
static leash_lock *lock, *other; /* of "law", of a client each */
static leash_watch *watch;       /* of a third one */
static leash_leader leader = {.size = sizeof leader};

static leash_client *
open_patient(void)
{
	return kept(place_client(LEASH_OPTIONS(.lease_ms = 3000, .timeout_ms = 20000)));
}

static void
set_up(void)
{
	place_flush();
	if (place_is(PLACE_NO_QUEUE))
		return;
	client = open_patient();
	lock = kept(leashed_lock(client, "law", NULL));
	other = kept(leashed_lock(open_patient(), "law", NULL));
	watch = watch_of(open_patient(), "law");
}

FIXTURE(set_up, NULL);
PLACE(interface_open);

#define SOMEWHERE .but = PLACE_NO_QUEUE

#define proclaims(lock, value) assert_status(LEASH_OK, leash_lock_proclaim((lock), (value), &err))

/* The news that come are that who has that lock says this; NULL: that nobody leads. */
static void
hears_of(leash_watch *by, leash_lock *of, const char *value)
{
	char token[LEASH_TOKEN_MAX] = "";

	assert_status(LEASH_OK, leash_watch_next(by, 60000, &leader, &err));
	if (of != NULL)
		leash_lock_token(of, token, sizeof token);
	assert_string_equal(leader.token, token);
	assert_string_equal(leader.value, value);
	assert_int_equal(leader.leads, of != NULL);
	if (of != NULL)
		assert_true(leader.fence == leash_lock_fence(of) && leader.remaining_ms > 0);
	assert_int_equal(leader.size, sizeof leader);
}

#define hears_that_nobody_leads() hears_of(watch, NULL, "")

SENTENCE(the_first_news_are_how_it_is, SOMEWHERE)
{
	hears_that_nobody_leads();
	assert_status(LEASH_TIMEOUT, leash_watch_next(watch, 0, &leader, &err));
	assert_refused(LEASH_TIMEOUT, "nothing changed for all of 50 ms", leash_watch_next(watch, 50, &leader, &err));
}

SENTENCE(who_acquires_leads_and_what_it_proclaims_is_known, SOMEWHERE)
{
	hears_that_nobody_leads();
	acquires(lock);
	proclaims(lock, "first");
	hears_of(watch, lock, "first");
	proclaims(lock, "second");
	hears_of(watch, lock, "second");
	releases(lock);
	hears_that_nobody_leads();
}

SENTENCE(each_leader_is_heard_of_in_its_order, SOMEWHERE)
{
	leash_lock *both[] = {lock, other};
	uint64_t last = 0;

	for (int i = 0; i < 10; i++) {
		acquires(both[i % 2]);
		proclaims(both[i % 2], i % 2 == 0 ? "even" : "odd");
		do
			assert_status(LEASH_OK, leash_watch_next(watch, 60000, &leader, &err));
		while (leader.value[0] == '\0'); /* nobody; or nothing said so far */
		assert_string_equal(leader.value, i % 2 == 0 ? "even" : "odd");
		assert_true(leader.fence > last);
		last = leader.fence;
		releases(both[i % 2]);
	}
}

static void
await_news(struct actor *a)
{
	a->status = leash_watch_next(watch, 60000, &leader, &a->err);
	a->ended_ns = await_now_ns();
}

SENTENCE(a_change_is_heard_of_at_once, SOMEWHERE)
{
	enum { ROUNDS = 10 };
	struct actor actor;
	int soon = 0;

	actor_begin(&actor, NULL, 0);
	hears_that_nobody_leads();
	for (int i = 0; i < ROUNDS; i++) {
		acquires(lock);
		hears_of(watch, lock, "");
		actor_tell(&actor, await_news);
		await_ms(60 + 20 * (i % 5)); /* it waits */
		lag_begin();
		int64_t said_ns = await_now_ns();
		proclaims(lock, "now");
		assert_heard(LEASH_OK, &actor);
		soon += actor.ended_ns - said_ns < 100 * MS + lag_end(); /* who was not told looks after a second */
		releases(lock);
		hears_that_nobody_leads();
	}
	assert_true(soon > ROUNDS / 2);
	actor_end(&actor);
}

SENTENCE(a_value_is_never_handed_off_to_another_thread, SOMEWHERE)
{
	static struct actor waiter;
	char token[LEASH_TOKEN_MAX];

	acquires(lock);
	proclaims(lock, "mine");
	actor_begin(&waiter, lock, LEASH_FOREVER);
	actor_tell(&waiter, actor_acquire);
	actor_await_asleep(&waiter);
	leash_lock_token(lock, token, sizeof token);
	releases(lock);
	assert_heard(LEASH_OK, &waiter);
	assert_status(LEASH_OK, leash_watch_look(watch, &leader, &err));
	assert_string_not_equal(leader.token, token);
	assert_string_equal(leader.value, "");
	assert_done(LEASH_OK, &waiter, actor_release);
	actor_end(&waiter);
}

SENTENCE(that_a_leader_died_is_heard_of_when_its_lease_ends, SOMEWHERE)
{
	place_say("leash:{law}", "HSET leash:{law} " THEIRS " 1");
	place_say("leash:{law}", "PEXPIRE leash:{law} 700");
	assert_status(LEASH_OK, leash_watch_next(watch, 60000, &leader, &err));
	if (leader.leads)
		hears_that_nobody_leads();
}

SENTENCE(that_a_leader_was_broken_is_heard_of, SOMEWHERE)
{
	acquires(lock);
	proclaims(lock, "mine");
	hears_of(watch, lock, "mine");
	assert_status(LEASH_OK, leash_lock_break(other, &err));
	hears_that_nobody_leads();
	await_true(!leash_lock_held(lock));
	assert_status(LEASH_LOST, leash_lock_proclaim(lock, "mine", &err));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
}

SENTENCE(who_proclaims_learns_that_its_hold_is_gone, SOMEWHERE)
{
	assert_status(LEASH_NOT_HELD, leash_lock_proclaim(lock, "mine", &err));
	acquires(lock);
	place_say("leash:{law}", "DEL leash:{law}");
	assert_status(LEASH_LOST, leash_lock_proclaim(lock, "mine", &err));
	assert_false(leash_lock_held(lock));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
}

static void
hear_much(struct actor *actor)
{
	actor->status = LEASH_OK;
	for (unsigned i = 0; i < actor->turns && actor->status == LEASH_OK; i++)
		actor->status = leash_watch_next(actor->ctx, 60000, &(leash_leader){.size = sizeof(leash_leader)}, &actor->err);
}

SENTENCE(who_watches_has_nothing_that_could_be_lost, SOMEWHERE)
{
	static struct leashed_events events;
	static struct actor those[2];
	leash_client *of = kept(place_client(LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events)));
	leash_watch *watches[] = {watch_of(of, "law"), watch_of(of, "law")};

	for (int i = 0; i < 2; i++) {
		actor_begin(&those[i], lock, 0);
		those[i].ctx = watches[i];
		those[i].turns = 200;
		actor_tell(&those[i], hear_much);
	}
	while (!actor_is_done(&those[0]) || !actor_is_done(&those[1])) {
		acquires(lock);
		proclaims(lock, "first");
		proclaims(lock, "second");
		releases(lock);
	}
	for (int i = 0; i < 2; i++) {
		assert_heard(LEASH_OK, &those[i]);
		actor_end(&those[i]);
	}
	assert_int_equal(stats_of(of).acquired, 0);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_int_equal(events.count[LEASH_EVENT_FENCE_REGRESSION], 0);
}

SENTENCE(who_adopted_from_a_leader_resigns_as_that_would, .but = PLACE_NO_QUEUE | PLACE_MANY_SERVERS)
{
	char token[LEASH_TOKEN_MAX];

	acquires(lock);
	proclaims(lock, "mine");
	leash_lock_token(lock, token, sizeof token);
	assert_status(LEASH_OK, leash_lock_adopt(other, token, &err));
	hears_of(watch, other, "mine");
	place_say("leash:{law}", "CONFIG RESETSTAT");
	releases(other);
	hears_that_nobody_leads();
	assert_true(strstr(place_text("leash:{law}", "INFO commandstats"), "cmdstat_publish:calls=1,") != NULL);
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
}

SENTENCE(who_watches_has_nothing_to_take_back, .but = PLACE_NO_QUEUE | PLACE_MANY_SERVERS)
{
	const char *calls;

	hears_that_nobody_leads();
	place_say("leash:{law}", "CONFIG RESETSTAT");
	place_say("leash:{law}", "HSET leash:{law} " THEIRS " 1");
	assert_status(LEASH_OK, leash_watch_next(watch, 60000, &leader, &err));
	place_say("leash:{law}", "DEL leash:{law}");
	hears_that_nobody_leads();
	calls = place_text("leash:{law}", "INFO commandstats");
	assert_true(strstr(calls, "cmdstat_evalsha") != NULL && strstr(calls, "cmdstat_ping") == NULL);
}

SENTENCE(an_older_program_is_told_what_it_has_room_for, SOMEWHERE)
{
	static leash_leader older = {.size = offsetof(leash_leader, value), .value = "behind it"};

	acquires(lock);
	proclaims(lock, "mine");
	assert_status(LEASH_OK, leash_watch_next(watch, 60000, &older, &err));
	assert_true(older.leads && older.fence == leash_lock_fence(lock));
	assert_string_equal(older.value, "behind it");
	older.size = 0;
	assert_refused(LEASH_INVALID, "write leash_leader x = {.size = sizeof x}", leash_watch_next(watch, 0, &older, &err));
	releases(lock);
}

/* There is news, and whoever looks at it hears nothing the first time. */
static size_t
answer_late(void *looks, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	if (!fake_is(argc, argv, argl, 0, "EVALSHA"))
		return FAKE_DEFAULT;
	if (fake_is(argc, argv, argl, 5, "0"))
		return fake_say(out, size, ":1\r\n");
	return ++*(int *)looks == 1 ? FAKE_SILENT : fake_say(out, size, "*6\r\n:1\r\n:1\r\n:0\r\n:-1\r\n$0\r\n\r\n$0\r\n\r\n");
}

SENTENCE(a_server_that_goes_away_at_the_news_is_asked_again, .but = PLACE_ONE_SOCKET)
{
	static int looks;
	struct fake *fake = kept(fake_start(answer_late, &looks));
	leash_watch *of = watch_of(kept(leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 100))), "law");

	hears_of(of, NULL, "");
	assert_true(looks >= 2);
}

SENTENCE(a_watch_can_be_canceled, SOMEWHERE)
{
	leash_cancel *cancel = kept(leashed_cancel());

	hears_that_nobody_leads();
	leash_cancel_fire(cancel);
	const leash_acquire *how = LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER, .cancel = cancel);
	assert_status(LEASH_CANCELED, leash_watch_next_with(watch, how, &leader, &err));
}

SENTENCE(what_is_no_lock_has_no_leader, SOMEWHERE)
{
	place_say("leash:{law}", "SET leash:{law} theirs");
	assert_status(LEASH_MISMATCH, leash_watch_next(watch, 60000, &leader, &err));
	assert_refused(LEASH_MISMATCH, "leader 'law': ", leash_watch_look(watch, &leader, &err));
}

SENTENCE(a_value_has_a_byte_and_no_more_than_there_is_room_for, SOMEWHERE)
{
	static char value[LEASH_VALUE_MAX + 2];

	acquires(lock);
	memset(value, 'x', sizeof value - 1);
	assert_status(LEASH_INVALID, leash_lock_proclaim(lock, value, &err));
	assert_status(LEASH_INVALID, leash_lock_proclaim(lock, "", &err));
	assert_status(LEASH_INVALID, leash_lock_proclaim(lock, NULL, &err));
	memcpy(value, "two\nlines\n", 10);
	value[LEASH_VALUE_MAX] = '\0';
	proclaims(lock, value);
	hears_of(watch, lock, value);
	releases(lock);
}

SENTENCE(a_value_is_in_time_also_for_a_clock_that_jumped, .but = PLACE_ONE_SOCKET)
{
	struct server *clocked = kept(server_start_clocked(NULL));
	leash_lock *led = kept(leashed_lock(kept(leashed_open(server_uri(clocked), LEASH_OPTIONS(.lease_ms = 3600000))), "law", NULL));

	acquires(led);
	server_set_clock(clocked, 600000);
	proclaims(led, "mine");
	assert_string_equal(server_text(clocked, "HVALS leash:{law}"), "1 mine");
	releases(led);
}

SENTENCE(a_request_that_was_stranded_does_not_undo_what_was_said_later, .but = PLACE_ONE_SOCKET)
{
	struct proxy *proxy = kept(proxy_start(server_socket(server)));
	leash_lock *led = kept(leashed_lock(kept(leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = 3000))), "law", NULL));

	acquires(led);
	proxy_strand_request(proxy, "stranded");
	leash_lock_proclaim(led, "stranded", NULL); /* by a second request, on a machine that is not too busy */
	assert_true(proxy_hit(proxy));
	await_true(leash_lock_proclaim(led, "later", NULL) == LEASH_OK);
	int64_t before = server_calls(server, "evalsha");
	proxy_release(proxy);
	await_true(server_calls(server, "evalsha") > before);
	assert_string_equal(place_text("law", "HVALS leash:{law}"), "1 later");
	releases(led);
}

SENTENCE(only_a_mutex_has_leaders, SOMEWHERE)
{
	leash_lock *writes = kept(leashed_lock(client, "ledger", LEASH_LOCK_OPTIONS(.mode = LEASH_WRITE)));

	acquires(writes);
	assert_status(LEASH_INVALID, leash_lock_proclaim(writes, "mine", &err));
	releases(writes);
}
