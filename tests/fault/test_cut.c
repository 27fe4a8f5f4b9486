/* Answers that are lost after the server has done what was asked: nobody holds what nobody knows of. */
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

static struct server *server;
static struct proxy *proxy;
static leash_client *client, *direct;
static leash_lock *lock, *other;
static struct leashed_events events;

static void
start(void)
{
	memset(&events, 0, sizeof events);
	server = server_start(NULL);
	proxy = proxy_start(server_socket(server));
	client = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));
	direct = leashed_open(server_uri(server), NULL);
	lock = leashed_lock(client, "cut", NULL);
	other = leashed_lock(direct, "cut", NULL);
}

static void
stop(void)
{
	leash_lock_free(lock);
	leash_lock_free(other);
	leash_close(client);
	leash_close(direct);
	proxy_stop(proxy);
	server_stop(server);
}

FIXTURE(start, stop);

/* The scripts are known to the server, so that the next pair is one EVALSHA each. */
static void
warm_up(void)
{
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 1000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

static bool
is_free(void)
{
	return server_integer(server, "EXISTS leash:{cut} leash:{cut}:queue") == 0;
}

SENTENCE(an_acquire_whose_answer_is_lost_holds_once)
{
	leash_error err;

	warm_up();
	for (size_t bytes = 0; bytes < 18; bytes++) { /* ":<16 digits>\r\n" is 19 bytes */
		uint64_t fence;
		char shown[24];

		proxy_cut_reply(proxy, "evalsha", bytes);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
		assert_true(proxy_hit(proxy));
		fence = leash_lock_fence(lock);
		assert_true(leash_lock_held(lock));
		assert_int_equal(leash_lock_depth(lock), 1);
		assert_int_equal(server_integer(server, "HLEN leash:{cut}"), 1);
		/* asked again, not acquired again: one fence */
		snprintf(shown, sizeof shown, "%llu", (unsigned long long)(fence / 256));
		assert_string_equal(server_text(server, "GET leash:{cut}:fence"), shown);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		await_true(is_free());
	}
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
}

SENTENCE(an_acquire_whose_request_is_lost_holds_once)
{
	leash_error err;

	warm_up();
	proxy_cut_request(proxy, "evalsha");
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	assert_true(proxy_hit(proxy));
	assert_int_equal(server_integer(server, "HLEN leash:{cut}"), 1);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	await_true(is_free());
}

SENTENCE(a_caller_who_gave_up_before_the_answer_came_keeps_nobody_out)
{
	leash_error err;

	warm_up();
	for (int i = 0; i < 5; i++) {
		proxy_hold_reply(proxy, "evalsha");
		assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 1000, &err)); /* a busy machine has asked by then */
		assert_true(proxy_hit(proxy));
		assert_false(leash_lock_held(lock));
		proxy_release(proxy);
		/* what the server did for it is undone: by the cancel, not by the end of the lease of 30 s */
		assert_status(LEASH_OK, leash_lock_acquire(other, 10000, &err));
		assert_status(LEASH_OK, leash_lock_release(other, &err));
		await_true(is_free());
	}
}

SENTENCE(a_try_whose_answer_is_lost_either_holds_or_leaves_nothing)
{
	leash_error err;

	warm_up();
	proxy_cut_reply(proxy, "evalsha", 0);
	proxy_refuse(proxy, true);
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 0, &err));
	assert_true(proxy_hit(proxy));
	assert_int_equal(server_integer(server, "EXISTS leash:{cut}"), 1); /* it was executed */
	proxy_refuse(proxy, false);
	assert_status(LEASH_OK, leash_lock_acquire(other, 10000, &err));
	assert_status(LEASH_OK, leash_lock_release(other, &err));
	await_true(is_free());
}

SENTENCE(a_release_whose_answer_is_lost_is_not_called_a_loss)
{
	leash_error err;

	warm_up();
	assert_status(LEASH_OK, leash_lock_acquire(lock, 1000, &err));
	proxy_cut_reply(proxy, "evalsha", 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_true(proxy_hit(proxy));
	assert_true(is_free());
	assert_status(LEASH_OK, leash_lock_acquire(lock, 1000, &err));
	proxy_cut_request(proxy, "evalsha");
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_true(proxy_hit(proxy));
	assert_true(is_free());
}

SENTENCE(a_release_that_is_asked_again_does_not_disturb_the_next_holder)
{
	leash_error err;

	warm_up();
	assert_status(LEASH_OK, leash_lock_acquire(lock, 1000, &err));
	proxy_cut_reply(proxy, "evalsha", 0);
	proxy_refuse(proxy, true);
	assert_status(LEASH_UNKNOWN, leash_lock_release(lock, &err));
	assert_true(proxy_hit(proxy));
	assert_status(LEASH_OK, leash_lock_acquire(other, 0, &err)); /* it was released */
	proxy_refuse(proxy, false);
	await_true(leash_lock_acquire(lock, 300, &err) == LEASH_TIMEOUT);
	assert_true(leash_lock_held(other));
	assert_int_equal(server_integer(server, "HLEN leash:{cut}"), 1);
	assert_status(LEASH_OK, leash_lock_release(other, &err));
	await_true(is_free());
}

SENTENCE(a_release_that_never_arrived_is_made_up_for_in_the_background)
{
	leash_error err;

	warm_up();
	assert_status(LEASH_OK, leash_lock_acquire(lock, 1000, &err));
	proxy_cut_request(proxy, "evalsha");
	proxy_refuse(proxy, true);
	assert_status(LEASH_UNKNOWN, leash_lock_release(lock, &err));
	assert_false(leash_lock_held(lock));
	assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
	assert_int_equal(server_integer(server, "EXISTS leash:{cut}"), 1);
	proxy_refuse(proxy, false);
	await_true(is_free());
}

SENTENCE(a_renewal_whose_answer_is_lost_endangers_nothing)
{
	leash_lock *brief = leashed_lock(client, "brief", LEASH_LOCK_OPTIONS(.lease_ms = 1500));
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(brief, 1000, &err));
	for (int i = 0; i < 4; i++) {
		proxy_cut_reply(proxy, "evalsha", 0);
		await_true(proxy_hit(proxy));
		assert_true(leash_lock_held(brief));
	}
	await_true(events.count[LEASH_EVENT_JEOPARDY] == events.count[LEASH_EVENT_RECOVERED]);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_release(brief, &err));
	leash_lock_free(brief);
}

SENTENCE(a_waiter_survives_the_loss_of_both_connections_at_any_moment)
{
	leash_status status;
	leash_error err;

	for (int i = 0; i < 8; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(other, 5000, &err));
		if (i % 2 == 0)
			proxy_cut_reply(proxy, "evalsha", 0); /* the answer "queued" */
		status = leash_lock_acquire(lock, 200, &err);
		assert_true(status == LEASH_TIMEOUT || status == LEASH_UNAVAILABLE); /* before it was answered over another connection */
		proxy_reset_all(proxy);
		assert_status(LEASH_OK, leash_lock_release(other, &err));
		assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		await_true(is_free());
	}
}
