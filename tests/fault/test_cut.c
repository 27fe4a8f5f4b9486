/* Answers that come late, or that nobody asked for. What is made of those that are lost: core/test_single. */
#include "tests/support/actor.h"
#include "tests/support/asleep.h"
#include "tests/support/fake.h"
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"
#include "tests/support/test.h"

#include <time.h>

static leash_error err;

GROUP(start_server, stop_server);

/* It is that to an ask for a lock that is free; behind it another waits for one that is not. */
SENTENCE(an_answer_whose_caller_gave_up_is_nobody_elses)
{
	struct proxy *proxy = kept(proxy_start(server_socket(server)));
	leash_client *client = kept(leashed_open(uri, NULL)), *through = kept(leashed_open(proxy_uri(proxy), NULL));
	leash_lock *lock = kept(leashed_lock(client, "taken", NULL)), *last = kept(leashed_lock(through, "last", NULL));
	leash_cancel *cancel = kept(leashed_cancel());
	struct actor gone = {.lock = leashed_lock(through, "other", NULL), .wait_ms = LEASH_FOREVER, .cancel = cancel};
	struct actor next = {.lock = leashed_lock(through, "taken", NULL), .wait_ms = LEASH_FOREVER};

	actor_start(&gone);
	actor_start(&next);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	proxy_hold_reply(proxy, "{other}");
	actor_tell(&gone, actor_acquire);
	proxy_wait_hit(proxy);
	actor_tell(&next, actor_acquire);
	await_true(server_integer(server, "ZCOUNT leash:{taken}:queue (0 +inf") == 1);
	leash_cancel_fire(cancel);
	assert_heard(LEASH_CANCELED, &gone);
	proxy_release(proxy);
	assert_status(LEASH_OK, leash_lock_acquire(last, 0, &err)); /* its answer comes behind all others */
	assert_status(LEASH_OK, leash_lock_release(last, &err));
	assert_false(actor_is_done(&next));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_heard(LEASH_OK, &next);
	assert_done(LEASH_OK, &next, actor_release);
	assert_int_equal(server_integer(server, "EXISTS leash:{other} leash:{taken}"), 0);
	actor_dismiss(&gone);
	actor_dismiss(&next);
}

#define NOW_US ((long long)time(NULL) * 1000000) /* by a server's clock: what a fence is made of */

static size_t
somebody_has_it(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	(void)ctx;
	if (!fake_is(argc, argv, argl, 0, "EVALSHA"))
		return FAKE_DEFAULT;
	return fake_say(out, size, "*3\r\n:0\r\n:60000\r\n:%lld\r\n", NOW_US);
}

/* It would be the fence of a lock that somebody else has. A busy machine may read it before there is a question: so it is tried often. */
SENTENCE(what_was_said_before_a_question_is_no_answer_to_it)
{
	for (int n = 0; n < 5; n++) {
		struct fake *fake = kept(fake_start(somebody_has_it, NULL));
		leash_client *asking = kept(leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 4000)));
		leash_lock *wanted = kept(leashed_lock(asking, "scene", NULL));
		char fence[32];

		assert_status(LEASH_TIMEOUT, leash_lock_acquire(wanted, 0, &err));
		await_true(asleep_others()); /* all that was said is answered, and has been read */
		await_ms(30);                /* a connection that is busy is not looked at */
		snprintf(fence, sizeof fence, ":%lld\r\n", NOW_US);
		assert_int_equal(fake_send(fake, fence, strlen(fence)), 1);
		for (int i = 0; i < 2; i++) { /* the second one is answered after all that was to be said at the first */
			redisContext *c = redisConnectUnix(fake_target(fake));

			assert_non_null(c);
			freeReplyObject(redisCommand(c, "PING"));
			redisFree(c);
		}
		assert_int_not_equal(leash_lock_acquire(wanted, 0, &err), LEASH_OK);
		assert_false(leash_lock_held(wanted));
	}
}
