/* Breaking a lock: whoever had it has it no more, the next one gets it, and nobody else is harmed. */
#include "tests/contract/refusal.h"

#include "tests/contract/actor.h"
#include "tests/contract/callback.h"
#include "tests/support/child.h"
#include "tests/support/proxy.h"
#include "tests/support/test.h"

#define UUID "0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10"
#define TOKEN UUID ":42"

/* Of each test: one that breaks, one that holds, one that waits; each a client of its own. */
static leash_client *client, *holder, *waiter;
static leash_lock *lock, *held, *wanted; /* all of "law" */
static struct leashed_events events;     /* the holder's */
static struct actor waits;               /* for `wanted`, or what else a test gives it */

static void
set_up(void)
{
	place_resume();
	place_flush();
	memset(&events, 0, sizeof events);
	client = open_client();
	holder = place_client(LEASH_OPTIONS(.lease_ms = 3000, .on_event = leashed_note_event, .event_arg = &events));
	waiter = open_client();
	lock = leashed_lock(client, "law", NULL);
	held = leashed_lock(holder, "law", NULL);
	wanted = leashed_lock(waiter, "law", NULL);
	actor_begin(&waits, wanted, LEASH_FOREVER);
}

static void
tear_down(void)
{
	place_resume();
	leash_close(client);
	leash_close(holder);
	leash_close(waiter);
	actor_hear(&waits);
	actor_end(&waits);
	leash_lock_free(lock);
	leash_lock_free(held);
	leash_lock_free(wanted);
}

FIXTURE(set_up, tear_down);
PLACE(refusal_open);

static void
begin_to_wait(void)
{
	actor_tell(&waits, actor_acquire);
	place_await_waiting("law", 1);
}

/* ---- who has it has it no more ---- */

SENTENCE(the_holder_learns_of_it_at_its_next_renewal_and_the_next_one_has_a_larger_fence)
{
	uint64_t fence;

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	fence = leash_lock_fence(held);
	begin_to_wait();
	assert_status(LEASH_OK, leash_lock_break(lock, &err));
	assert_heard(LEASH_OK, &waits);
	assert_true(waits.held && waits.fence > fence);
	assert_false(leash_lock_held(lock)); /* the one who broke it has nothing of it */
	await_true(!leash_lock_held(held));
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_true(waits.held);
	assert_status(LEASH_LOST, leash_lock_release(held, &err));
	assert_done(LEASH_OK, &waits, actor_look);
	assert_true(waits.held);
	assert_done(LEASH_OK, &waits, actor_release);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 1);
	assert_true(events.total == 1 || place_is(PLACE_MAJORITY)); /* where one server after another breaks it, it may be in jeopardy first */
}

SENTENCE(what_nobody_has_is_not_held)
{
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_break(lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_break(lock, &err));
	/* nor is one whose lease is over, though somebody waits */
	place_say("leash:{law}", "ZADD leash:{law}:queue -1 " UUID " 5 %s", TOKEN " 3000");
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_break(lock, &err));
}

SENTENCE(a_lock_that_was_held_and_broken_is_free)
{
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_OK, leash_lock_break(lock, &err));
	place_assert_free("law");
	assert_status(LEASH_NOT_HELD, leash_lock_break(lock, NULL));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

SENTENCE(a_key_that_would_never_expire_is_broken_too)
{
	place_say("leash:{law}", "HSET leash:{law} " TOKEN " 1");
	assert_status(LEASH_OK, leash_lock_break(lock, &err));
	place_assert_free("law");
}

/* ---- holds of the very client that breaks ---- */

SENTENCE(a_hold_of_another_thread_of_this_client_is_lost_when_the_call_returns)
{
	struct actor *other = calloc(1, sizeof *other);

	actor_begin(other, lock, 0);
	assert_done(LEASH_OK, other, actor_acquire);
	waits.lock = lock; /* a third thread waits in the process */
	actor_tell(&waits, actor_acquire);
	actor_await_asleep(&waits);
	assert_status(LEASH_OK, leash_lock_break(lock, &err));
	assert_done(LEASH_OK, other, actor_look);
	assert_false(other->held);
	assert_int_equal(other->depth, 1); /* to be unwound */
	assert_heard(LEASH_OK, &waits);
	assert_true(waits.held);
	assert_done(LEASH_LOST, other, actor_release);
	assert_done(LEASH_OK, &waits, actor_look);
	assert_true(waits.held);
	assert_done(LEASH_OK, &waits, actor_release);
	actor_end(other);
	free(other);
}

SENTENCE(a_grant_to_this_client_whose_message_is_still_on_its_way_is_lost_too, .but = PLACE_ONE_SOCKET)
{
	struct proxy *proxy = proxy_start(server_socket(server));
	leash_client *far = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = 30000));
	leash_lock *mine = leashed_lock(far, "law", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	waits.lock = mine;
	begin_to_wait();
	proxy_hold_messages(proxy, true);
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_int_equal(place_integer("law", "EXISTS leash:{law}"), 1); /* it was given to the one who waits, who has not heard of it */
	assert_status(LEASH_OK, leash_lock_break(mine, &err));
	proxy_release(proxy);
	assert_heard(LEASH_OK, &waits);
	assert_true(waits.held);
	assert_int_equal(place_integer("law", "EXISTS leash:{law}"), 1); /* it asked anew */
	assert_true((uint64_t)place_integer("law", "EVAL %s 0", "return tonumber(redis.call('GET', 'leash:{law}:fence'))") * 256 == waits.fence);
	await_ms(100);
	assert_done(LEASH_OK, &waits, actor_look);
	assert_true(waits.held);
	assert_done(LEASH_OK, &waits, actor_release);
	leash_lock_free(mine);
	leash_close(far);
	proxy_stop(proxy);
	waits.lock = wanted;
}

SENTENCE(the_callers_own_hold_is_lost_too)
{
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_OK, leash_lock_break(held, &err));
	assert_false(leash_lock_held(held));
	assert_int_equal(leash_lock_depth(held), 2);
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_status(LEASH_LOST, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_LOST, leash_lock_release(held, &err));
	assert_status(LEASH_LOST, leash_lock_release(held, &err));
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}

/* ---- what is not a lock ---- */

SENTENCE(what_is_not_a_lock_is_a_mismatch_and_is_left_alone)
{
	static const char *const made_by[] = {
		"SET leash:{law} 1", "HSET leash:{law} user ann", "HSET leash:{law} " TOKEN " 1 user ann", "HSET leash:{law} " TOKEN " 1 " UUID ":1 1",
	};

	for (size_t i = 0; i < COUNT(made_by); i++) {
		const char *was;

		place_flush();
		place_say("leash:{law}", made_by[i]);
		was = place_text("law", "EVAL %s 0", "return redis.sha1hex(redis.call('DUMP', 'leash:{law}'))");
		assert_refused(LEASH_MISMATCH, "lock 'law'", leash_lock_break(lock, &err));
		assert_string_equal(place_text("law", "EVAL %s 0", "return redis.sha1hex(redis.call('DUMP', 'leash:{law}'))"), was);
		assert_int_equal(place_integer("law", "DBSIZE"), 1);
	}
}

/* ---- answers that are lost or late ---- */

static void
break_it(struct actor *a)
{
	a->began_ns = await_now_ns();
	a->status = leash_lock_break(a->lock, &a->err);
	a->ended_ns = await_now_ns();
}

/* A client behind a proxy, and a thread of it that breaks. */
struct far {
	struct proxy *proxy;
	leash_client *client;
	leash_lock *lock;
	struct actor breaker;
};

static struct far *
go_far(int64_t timeout_ms)
{
	struct far *far = calloc(1, sizeof *far);

	far->proxy = proxy_start(server_socket(server));
	far->client = leashed_open(proxy_uri(far->proxy), LEASH_OPTIONS(.timeout_ms = timeout_ms));
	far->lock = far->breaker.lock = leashed_lock(far->client, "law", NULL);
	actor_start(&far->breaker);
	return far;
}

static void
come_back(struct far *far)
{
	actor_end(&far->breaker);
	leash_lock_free(far->lock);
	leash_close(far->client);
	proxy_stop(far->proxy);
	free(far);
}

/* The server knows the scripts, so that the first EVALSHA of a call is the one that counts. */
static void
teach_the_server(void)
{
	leash_lock *other = leashed_lock(client, "other", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(other, 0, &err));
	assert_status(LEASH_OK, leash_lock_break(other, &err));
	assert_status(LEASH_LOST, leash_lock_release(other, &err));
	leash_lock_free(other);
}

SENTENCE(a_break_whose_answer_was_lost_is_sent_again_and_does_not_hit_the_next_one, .but = PLACE_ONE_SOCKET)
{
	struct far *far = go_far(1000);

	teach_the_server();
	for (int lost = 0; lost < 2; lost++) {
		assert_status(LEASH_OK, leash_lock_acquire(held, 1000, &err));
		begin_to_wait();
		proxy_skip(far->proxy, 1); /* looks first */
		if (lost == 0)
			proxy_cut_request(far->proxy, "evalsha");
		else
			proxy_cut_reply(far->proxy, "evalsha", 0);
		assert_status(LEASH_OK, leash_lock_break(far->lock, &err));
		assert_true(proxy_hit(far->proxy));
		assert_heard(LEASH_OK, &waits);
		await_ms(50);
		assert_done(LEASH_OK, &waits, actor_look);
		assert_true(waits.held);
		assert_done(LEASH_OK, &waits, actor_release);
		assert_status(LEASH_LOST, leash_lock_release(held, &err));
	}
	come_back(far);
}

SENTENCE(who_got_the_lock_after_it_was_looked_at_keeps_it, .but = PLACE_ONE_SOCKET)
{
	struct far *far = go_far(30000);

	teach_the_server();
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	begin_to_wait();
	proxy_hold_reply(far->proxy, "evalsha");
	actor_tell(&far->breaker, break_it);
	proxy_wait_hit(far->proxy);
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_heard(LEASH_OK, &waits);
	proxy_release(far->proxy);
	assert_heard(LEASH_OK, &far->breaker); /* whoever had it when this was called has it no more */
	assert_int_equal(place_integer("law", "HLEN leash:{law}"), 1);
	assert_done(LEASH_OK, &waits, actor_release);
	come_back(far);
}

SENTENCE(a_server_that_stands_still_cannot_be_asked_and_nothing_is_done)
{
	leash_lock *mine = leashed_lock(waiter, "law", LEASH_LOCK_OPTIONS(.lease_ms = place_lease_ms(60000)));

	assert_status(LEASH_OK, leash_lock_acquire(mine, 0, &err));
	place_pause();
	assert_refused(LEASH_UNAVAILABLE, "lock 'law'", leash_lock_break(lock, &err));
	place_resume();
	await_true(place_integer("law", "HLEN leash:{law}") == 1);
	assert_status(LEASH_OK, leash_lock_release(mine, &err));
	leash_lock_free(mine);
}

SENTENCE(a_break_that_was_not_answered_is_unknown, .but = PLACE_ONE_SOCKET)
{
	struct far *far = go_far(300);

	teach_the_server();
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	proxy_skip(far->proxy, 1); /* looks first */
	proxy_hold_reply(far->proxy, "evalsha");
	actor_tell(&far->breaker, break_it);
	proxy_wait_hit(far->proxy);
	proxy_hold(far->proxy, PROXY_BOTH); /* nor does anything come back over later connections */
	assert_heard(LEASH_UNKNOWN, &far->breaker);
	err = far->breaker.err;
	assert_int_equal(err.status, LEASH_UNKNOWN);
	check_text("lock 'law'");
	assert_int_equal(place_integer("law", "EXISTS leash:{law}"), 0); /* this one was executed */
	proxy_release(far->proxy);
	come_back(far);
}

SENTENCE(a_permission_that_is_missing_is_named_and_the_hold_stands)
{
	static const char *const commands[][2] = {{"hlen", "HLEN"}, {"hdel", "HDEL"}};

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	for (size_t i = 0; i < COUNT(commands); i++) {
		place_say_all("ACL SETUSER %s -%s", place_user(), commands[i][0]);
		assert_refused(LEASH_DENIED, commands[i][1], leash_lock_break(lock, &err));
		place_say_all("ACL SETUSER %s +%s", place_user(), commands[i][0]);
	}
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}

/* ---- the call ---- */

static leash_status
break_it_here(void *arg)
{
	(void)arg;
	return leash_lock_break(lock, NULL);
}

SENTENCE(a_callback_may_not_wait_for_it)
{
	assert_int_equal(status_in_callback(client, break_it_here, NULL), LEASH_IN_CALLBACK);
}

static int
break_in_child(void *arg)
{
	(void)arg;
	assert_refused(LEASH_FORKED, "lock 'law'", leash_lock_break(lock, &err));
	return 0;
}

SENTENCE(null_a_closed_client_and_a_forked_child_are_refused)
{
	leash_client *other = open_client();
	leash_lock *theirs = leashed_lock(other, "law", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_refused(LEASH_INVALID, "leash_lock_break", leash_lock_break(NULL, &err));
	child_wait(child_run(break_in_child, NULL));
	leash_close(other);
	assert_refused(LEASH_CLOSED, "lock 'law'", leash_lock_break(theirs, &err));
	leash_lock_free(theirs);
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}
