/* Answers that are lost, that come late, or that nobody asked for, from the server to the application. What is made of
 * each in the core: core/test_single. */
#include "tests/contract/actor.h"
#include "tests/fault/real.h"
#include "tests/fault/refused.h"
#include "tests/fault/step.h"
#include "tests/support/asleep.h"
#include "tests/support/fake.h"
#include "tests/support/proxy.h"
#include "tests/support/test.h"

static leash_error err;
static struct proxy *proxy;
static leash_client *through;
static leash_lock *cut;

static void
start(void)
{
	start_real();
	proxy = proxy_start(server_socket(server));
	through = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));
	cut = leashed_lock(through, "cut", NULL);
	/* the scripts are known to the server, so that the next pair is one EVALSHA each */
	assert_status(LEASH_OK, leash_lock_acquire(cut, 10000, &err));
	assert_status(LEASH_OK, leash_lock_release(cut, &err));
}

static void
stop(void)
{
	leash_lock_free(cut);
	leash_close(through);
	proxy_stop(proxy);
	stop_real();
}

FIXTURE(start, stop);

SENTENCE(an_acquire_whose_request_or_answer_is_lost_holds_once)
{
	for (int bytes = -1; bytes < 18; bytes++) { /* of ":<16 digits>\r\n" */
		if (bytes < 0)
			proxy_cut_request(proxy, "evalsha");
		else
			proxy_cut_reply(proxy, "evalsha", (size_t)bytes);
		assert_status(LEASH_OK, leash_lock_acquire(cut, 10000, &err));
		assert_true(proxy_hit(proxy));
		assert_true(leash_lock_held(cut));
		assert_int_equal(server_integer(server, "HLEN leash:{cut}"), 1);
		/* asked again, not acquired again: one fence */
		assert_int_equal(leash_lock_fence(cut) / 256,
		                 strtoull(server_text(server, "GET leash:{cut}:fence"), NULL, 10));
		assert_status(LEASH_OK, leash_lock_release(cut, &err));
		await_true(server_integer(server, "EXISTS leash:{cut} leash:{cut}:queue") == 0);
	}
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
}

SENTENCE(a_release_whose_answer_is_lost_is_not_called_a_loss_and_wakes_one_waiter)
{
	static struct waiting waiting;

	assert_status(LEASH_OK, leash_lock_acquire(cut, 1000, &err));
	begin_waiting(&waiting, leashed_lock(client, "cut", NULL), LEASH_FOREVER);
	await_true(server_integer(server, "ZCOUNT leash:{cut}:queue (0 +inf") == 1);
	proxy_cut_reply(proxy, "evalsha", 0);
	assert_status(LEASH_OK, leash_lock_release(cut, &err));
	assert_true(proxy_hit(proxy));
	end_waiting(&waiting, LEASH_OK);
	leash_lock_free(waiting.wanted);
	assert_int_equal(server_integer(server, "EXISTS leash:{cut} leash:{cut}:queue"), 0);
}

/* It is that to an ask for a lock that is free; behind it another waits for one that is not. */
SENTENCE(an_answer_whose_caller_gave_up_is_nobody_elses)
{
	leash_cancel *cancel = leashed_cancel();
	struct actor gone = {.lock = leashed_lock(through, "other", NULL), .wait_ms = LEASH_FOREVER, .cancel = cancel};
	struct actor next = {.lock = leashed_lock(through, "refused", NULL), .wait_ms = LEASH_FOREVER};

	actor_start(&gone);
	actor_start(&next);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err)); /* by `client` */
	proxy_hold_reply(proxy, "{other}");
	actor_tell(&gone, actor_acquire);
	proxy_wait_hit(proxy);
	actor_tell(&next, actor_acquire);
	await_true(server_integer(server, "ZCOUNT leash:{refused}:queue (0 +inf") == 1);
	leash_cancel_fire(cancel);
	assert_heard(LEASH_CANCELED, &gone);
	proxy_release(proxy);
	assert_status(LEASH_OK, leash_lock_acquire(cut, 0, &err)); /* its answer comes behind all others */
	assert_status(LEASH_OK, leash_lock_release(cut, &err));
	assert_false(actor_is_done(&next));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_heard(LEASH_OK, &next);
	assert_done(LEASH_OK, &next, actor_release);
	assert_int_equal(server_integer(server, "EXISTS leash:{other} leash:{refused}"), 0);
	actor_dismiss(&gone);
	actor_dismiss(&next);
	leash_cancel_free(cancel);
}

static size_t
somebody_has_it(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	(void)ctx;
	if (step_of(argc, argv, argl) == NONE)
		return FAKE_DEFAULT;
	return fake_say(out, size, "*3\r\n:0\r\n:60000\r\n:%lld\r\n", (long long)step_time_us());
}

/* It would be the fence of a lock that somebody else has. */
static void
say_before_a_question(void)
{
	struct fake *fake = fake_start(somebody_has_it, NULL);
	leash_client *asking = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 4000));
	leash_lock *wanted = leashed_lock(asking, "scene", NULL);
	char fence[32];

	assert_status(LEASH_TIMEOUT, leash_lock_acquire(wanted, 0, &err));
	await_true(asleep_others()); /* all that was said is answered, and has been read */
	await_ms(30);                /* a connection that is busy is not looked at */
	snprintf(fence, sizeof fence, ":%lld\r\n", (long long)step_time_us());
	assert_int_equal(fake_send(fake, fence, strlen(fence)), 1);
	for (int i = 0; i < 2; i++) { /* the second one is answered after all that was to be said at the first */
		redisContext *c = redisConnectUnix(fake_target(fake));

		assert_non_null(c);
		freeReplyObject(redisCommand(c, "PING"));
		redisFree(c);
	}
	assert_int_not_equal(leash_lock_acquire(wanted, 0, &err), LEASH_OK);
	assert_false(leash_lock_held(wanted));
	leash_lock_free(wanted);
	leash_close(asking);
	fake_stop(fake);
}

/* A busy machine may read it before there is a question. */
SENTENCE(what_was_said_before_a_question_is_no_answer_to_it, BETWEEN(NULL, NULL))
{
	for (int time = 0; time < 5; time++)
		say_before_a_question();
}
