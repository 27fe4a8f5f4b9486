/* What keeps a lock moving: scenes in which it would belong for a while to somebody who has gone, or is lost although its holder
 * is there, or what is heard late is taken for what it is not. */
#include "tests/fault/scenes.h"
#include "tests/support/asleep.h"
#include "tests/support/fake.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/proxy.h"
#include "tests/support/test.h"

#include <time.h>

enum { LEASE_MS = 3000 };

#define OF_LEASE LEASH_LOCK_OPTIONS(.lease_ms = LEASE_MS)

static leash_error err;

/* It belonged to nobody from `begun` to now, for which a trip or two is all that it takes. */
static void
assert_not_for_a_lease(int64_t begun)
{
	int64_t took_ms = (await_now_ns() - begun) / 1000000;

	if (took_ms >= LEASE_MS)
		fail_msg("the lock was nobody's for %lld ms, with a lease of %d", (long long)took_ms, LEASE_MS);
}

/* ---- an ask that comes when who asked has gone ---- */

static struct ghost {
	struct server *server;
	struct proxy *proxy;
	struct monitor *monitor;
	struct party gone, next;
	leash_cancel *cancel;
	int64_t wait_ms;
	leash_status status;
} ghost;

static void *
wait_in_vain(void *arg)
{
	struct ghost *g = arg;
	leash_error ignored;

	g->status = leash_lock_acquire_with(g->gone.lock, LEASH_ACQUIRE(.wait_ms = g->wait_ms, .cancel = g->cancel), &ignored);
	return NULL;
}

/* An ask is on its way, its connection has ended, and who asked has given up. */
static struct ghost *
ghost_begin(int64_t wait_ms, int64_t timeout_ms)
{
	struct ghost *g = &ghost;

	*g = (struct ghost){.server = server_start(NULL), .wait_ms = wait_ms};
	g->proxy = proxy_start(server_socket(g->server));
	g->gone.client = leashed_open(proxy_uri(g->proxy), LEASH_OPTIONS(.lease_ms = LEASE_MS, .timeout_ms = timeout_ms));
	g->gone.lock = leashed_lock(g->gone.client, "scene", NULL);
	party_open(&g->next, server_uri(g->server), OF_LEASE, NULL);
	assert_status(LEASH_OK, leash_cancel_new(&g->cancel, &err));
	/* from now on the server has the scripts */
	assert_status(LEASH_OK, leash_lock_acquire(g->next.lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_release(g->next.lock, &err));
	g->monitor = monitor_start(g->server);
	proxy_refuse(g->proxy, true); /* or it would ask again over the next connection */
	proxy_strand_request(g->proxy, "{scene}");
	assert_int_equal(pthread_create(&g->gone.thread, NULL, wait_in_vain, g), 0);
	proxy_wait_hit(g->proxy);
	if (wait_ms == LEASH_FOREVER)
		leash_cancel_fire(g->cancel);
	pthread_join(g->gone.thread, NULL);
	assert_int_not_equal(g->status, LEASH_OK);
	proxy_refuse(g->proxy, false);
	return g;
}

/* The ask arrives, and somebody else wants the lock: for how long does it belong to nobody? */
static void
ghost_end(struct ghost *g)
{
	size_t before = monitor_count(g->monitor, "{scene}");
	int64_t begun = await_now_ns();

	proxy_release(g->proxy);
	monitor_await(g->monitor, "{scene}", before + 1);
	assert_status(LEASH_OK, leash_lock_acquire(g->next.lock, LEASH_FOREVER, &err));
	assert_not_for_a_lease(begun);
	assert_status(LEASH_OK, leash_lock_release(g->next.lock, &err));
	party_close(&g->next);
	party_close(&g->gone);
	leash_cancel_free(g->cancel);
	monitor_stop(g->monitor);
	proxy_stop(g->proxy);
	server_stop(g->server);
}

SENTENCE(a_cancel_is_repeated_until_no_ask_can_come_after_it)
{
	struct ghost *g = ghost_begin(LEASH_FOREVER, 4000);

	monitor_await(g->monitor, "{scene}", 1); /* the cancel: it knew nothing of the token */
	ghost_end(g);
}

SENTENCE(an_ask_that_comes_after_its_time_does_nothing)
{
	struct ghost *g = ghost_begin(200, 200);

	monitor_await(g->monitor, "{scene}", 1);
	party_close(&g->gone); /* so that nobody is there to cancel it */
	ghost_end(g);
}

/* How long that may be is known: nothing else is waited for. */
SENTENCE(a_close_lasts_until_no_ask_can_come_and_no_longer)
{
	enum { TIMEOUT_MS = 10000, STALL_MS = 2000 };
	int64_t begun = await_now_ns(), asked, closed;
	struct ghost *g = ghost_begin(LEASH_FOREVER, TIMEOUT_MS);

	asked = await_now_ns(); /* before that, and not before `begun` */
	monitor_await(g->monitor, "{scene}", 4); /* the next one would come up to 8 s after this one */
	party_close(&g->gone);
	closed = await_now_ns();
	printf("# closed %.0f ms after the ask\n", (double)(closed - asked) / 1e6);
	assert_true(closed >= begun + TIMEOUT_MS * INT64_C(1000000));
	assert_true(closed < asked + (TIMEOUT_MS + TIMEOUT_MS / 50 + STALL_MS) * INT64_C(1000000));
	ghost_end(g);
}

/* ---- grants ---- */

static int64_t
wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* A place is granted that its client knows nothing of, as when a server was set back to older data. */
SENTENCE(the_grant_of_a_place_that_nobody_waits_for_is_given_back)
{
	static struct party first, next;
	struct server *server = server_start(NULL);
	char token[LEASH_TOKEN_MAX], place[LEASH_TOKEN_MAX + 16];
	int64_t begun;

	party_open(&first, server_uri(server), NULL, NULL);
	party_open(&next, server_uri(server), OF_LEASE, NULL);
	assert_status(LEASH_OK, leash_lock_acquire(next.lock, 0, &err));
	leash_lock_token(next.lock, token, sizeof token);
	assert_status(LEASH_OK, leash_lock_release(next.lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire(first.lock, 0, &err));
	snprintf(place, sizeof place, "%s %d", token, LEASE_MS);
	server_integer(server, "ZADD leash:{scene}:queue %lld %s", (long long)wall_us(), place);
	party_start(&next);
	await_true(places(server) == 2);
	begun = await_now_ns();
	assert_status(LEASH_OK, leash_lock_release(first.lock, &err));
	await_true(next.acquired);
	assert_not_for_a_lease(begun);
	party_end(&next);
	party_close(&first);
	party_close(&next);
	server_stop(server);
}

SENTENCE(who_waits_asks_how_it_stands_where_no_message_comes)
{
	static struct party first, next;
	struct server *server = server_start(NULL);
	struct proxy *proxy = proxy_start(server_socket(server));
	int64_t begun;

	party_open(&first, server_uri(server), NULL, NULL);
	party_open(&next, proxy_uri(proxy), OF_LEASE, NULL);
	proxy_drop_messages(proxy, 100);
	assert_status(LEASH_OK, leash_lock_acquire(first.lock, 0, &err));
	party_start(&next);
	await_true(places(server) == 1);
	begun = await_now_ns();
	assert_status(LEASH_OK, leash_lock_release(first.lock, &err));
	while (!next.acquired) {
		assert_not_for_a_lease(begun);
		await_ms(1);
	}
	party_end(&next);
	party_close(&first);
	party_close(&next);
	proxy_stop(proxy);
	server_stop(server);
}

static void *
acquire_and_end(void *lock)
{
	leash_error ignored;

	return leash_lock_acquire(lock, 0, &ignored) == LEASH_OK ? NULL : lock;
}

SENTENCE(what_a_thread_held_goes_to_the_next_when_it_ends)
{
	static struct party gone, next;
	struct server *server = server_start(NULL);
	int64_t begun;
	void *failed;

	party_open(&gone, server_uri(server), OF_LEASE, NULL);
	party_open(&next, server_uri(server), OF_LEASE, NULL);
	assert_int_equal(pthread_create(&gone.thread, NULL, acquire_and_end, gone.lock), 0);
	pthread_join(gone.thread, &failed);
	assert_null(failed);
	begun = await_now_ns();
	party_start(&next);
	while (!next.acquired) {
		assert_not_for_a_lease(begun);
		await_ms(1);
	}
	party_end(&next);
	party_close(&gone);
	party_close(&next);
	server_stop(server);
}

/* ---- renewals ---- */

/* A renewal fails because there is no connection; there is one again long before the lease ends. */
SENTENCE(what_is_held_is_renewed_over_the_next_connection)
{
	static struct leashed_events events;
	static struct party holder;
	struct server *server = server_start(NULL);
	struct proxy *proxy = proxy_start(server_socket(server));

	party_open(&holder, proxy_uri(proxy), LEASH_LOCK_OPTIONS(.lease_ms = 4500, .on_event = leashed_note_event, .event_arg = &events), NULL);
	assert_status(LEASH_OK, leash_lock_acquire(holder.lock, 0, &err));
	proxy_refuse(proxy, true);
	proxy_reset_all(proxy);
	await_true(events.count[LEASH_EVENT_JEOPARDY] == 1);
	proxy_refuse(proxy, false);
	await_true(events.total == 2);
	assert_int_equal(events.count[LEASH_EVENT_RECOVERED], 1);
	assert_status(LEASH_OK, leash_lock_release(holder.lock, &err));
	party_close(&holder);
	proxy_stop(proxy);
	server_stop(server);
}

/* The server has never heard of the script for renewals, and nobody but the watchdog asks for it. */
SENTENCE(a_renewal_whose_script_is_not_there_brings_it)
{
	static struct leashed_events events;
	static struct party holder;
	struct server *server = server_start(NULL);
	int64_t until;

	party_open(&holder, server_uri(server), LEASH_LOCK_OPTIONS(.lease_ms = 1500, .on_event = leashed_note_event, .event_arg = &events), NULL);
	assert_status(LEASH_OK, leash_lock_acquire(holder.lock, 0, &err));
	until = await_now_ns() + INT64_C(2000) * 1000000;
	while (await_now_ns() < until) {
		if (events.count[LEASH_EVENT_LOST] > 0)
			fail_msg("it was lost although the server was there");
		await_ms(5);
	}
	assert_true(leash_lock_held(holder.lock));
	assert_status(LEASH_OK, leash_lock_release(holder.lock, &err));
	party_close(&holder);
	server_stop(server);
}

/* Two holds of one lock in one client, one after the other, and between them one of another client. */
static struct follow {
	struct server *server;
	struct proxy *proxy;
	struct party near, far, reader; /* `far` and `reader` share a client */
	leash_owner *owner[2];
	leash_lock *hold[2];
	struct leashed_events events; /* of the second */
	pthread_t thread[2];
	int told; /* events of the second, by the end of the scene */
} follow;

static void *
release_the_first(void *arg)
{
	struct follow *f = arg;
	leash_error ignored;

	leash_lock_release(f->hold[0], &ignored);
	return NULL;
}

static void *
acquire_the_second(void *arg)
{
	struct follow *f = arg;
	leash_error ignored;

	return leash_lock_acquire(f->hold[1], LEASH_FOREVER, &ignored) == LEASH_OK ? NULL : f;
}

static struct follow *
follow_begin(int64_t lease_ms)
{
	struct follow *f = &follow;

	*f = (struct follow){.server = server_start(NULL)};
	f->proxy = proxy_start(server_socket(f->server));
	party_open(&f->near, server_uri(f->server), NULL, NULL);
	party_open(&f->far, proxy_uri(f->proxy), NULL, NULL);
	for (int i = 0; i < 2; i++) {
		assert_status(LEASH_OK, leash_owner_new(&f->owner[i], &err));
		f->hold[i] = leashed_lock(f->far.client, "scene", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms, .owner = f->owner[i], .handoffs = 0,
		                                                                     .on_event = leashed_note_event, .event_arg = &f->events));
	}
	/* from now on the server has the scripts, and each step is one request */
	assert_status(LEASH_OK, leash_lock_acquire(f->near.lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_extend(f->near.lock, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(f->near.lock, &err));
	/* one who waits for something else, and reads the messages for all */
	server_integer(f->server, "HSET leash:{else} somebody 1");
	f->reader = (struct party){.lock = leashed_lock(f->far.client, "else", NULL)};
	party_start(&f->reader);
	await_true(server_integer(f->server, "ZCOUNT leash:{else}:queue (0 +inf") == 1);
	return f;
}

static void
follow_end(struct follow *f)
{
	leash_status status;

	proxy_refuse(f->proxy, false);
	proxy_release(f->proxy);
	for (int i = 0; i < 2; i++)
		pthread_join(f->thread[i], NULL);
	server_integer(f->server, "DEL leash:{else}");
	await_true(f->reader.acquired);
	party_end(&f->reader);
	leash_lock_free(f->reader.lock);
	status = leash_lock_release(f->hold[1], &err);
	if (status != LEASH_LOST) /* its claim may have run out before there was a connection again */
		assert_status(LEASH_OK, status);
	for (int i = 0; i < 2; i++) {
		leash_lock_free(f->hold[i]);
		leash_owner_free(f->owner[i]);
	}
	party_close(&f->near);
	party_close(&f->far);
	proxy_stop(f->proxy);
	server_stop(f->server);
}

/* A renewal of the first is on its way, and its connection ends when the second is there. What is known then of the first is
 * nothing that the second should hear of. False: it did not come about, since this machine stood still at the wrong moment. */
static bool
end_a_renewal_in_the_next_hold(struct follow *f)
{
	int64_t asked, until;
	size_t accepted;

	assert_status(LEASH_OK, leash_lock_acquire(f->hold[0], LEASH_FOREVER, &err));
	proxy_hold_reply(f->proxy, "{scene}");
	party_start(&f->near);
	await_true(places(f->server) == 1);
	proxy_wait_hit(f->proxy);
	asked = await_now_ns();
	/* the second's own renewal is due a quarter of its claim after it was asked for, at the soonest, and would really fail: what is told
	 * later than that tells nothing, so it is looked at before the clock is */
	until = asked + INT64_C(740) * 1000000;
	assert_int_equal(pthread_create(&f->thread[0], NULL, release_the_first, f), 0);
	await_true(f->near.acquired);
	assert_int_equal(pthread_create(&f->thread[1], NULL, acquire_the_second, f), 0);
	await_true(places(f->server) == 1);
	party_end(&f->near);
	/* by the message: no answer has come */
	await_true(leash_lock_held(f->hold[1]) || await_now_ns() > until);
	accepted = proxy_accepted(f->proxy);
	proxy_refuse(f->proxy, true);
	proxy_reset_all(f->proxy);
	await_true(proxy_accepted(f->proxy) >= accepted + 2); /* and before that the keeper saw to what was on its way */
	do {
		await_ms(1);
		f->told = f->events.total;
	} while (f->told == 0 && await_now_ns() < until - INT64_C(40) * 1000000);
	return await_now_ns() < until;
}

SENTENCE(what_becomes_of_a_renewal_concerns_no_later_hold)
{
	for (bool came_about = false; !came_about;) {
		struct follow *f = follow_begin(4500);

		came_about = end_a_renewal_in_the_next_hold(f);
		if (came_about && f->told > 0)
			fail_msg("the second hold was told of the first: event %d", f->events.order[0]);
		follow_end(f);
	}
}

/* ---- answers ---- */

static size_t
somebody_has_it(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	(void)ctx;
	if (!fake_is(argc, argv, argl, 0, "EVALSHA"))
		return FAKE_DEFAULT;
	return fake_say(out, size, "*3\r\n:0\r\n:60000\r\n:%lld\r\n", (long long)wall_us());
}

/* It would be the fence of a lock that somebody else has. */
SENTENCE(what_was_said_before_a_question_is_no_answer_to_it)
{
	struct fake *fake = fake_start(somebody_has_it, NULL);
	leash_client *client = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 4000));
	leash_lock *lock = leashed_lock(client, "scene", NULL);
	char fence[32];

	assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 0, &err));
	await_true(asleep_others()); /* all that was said is answered, and has been read */
	await_ms(30);                /* a connection that is busy is not looked at */
	snprintf(fence, sizeof fence, ":%lld\r\n", (long long)wall_us());
	assert_int_equal(fake_send(fake, fence, strlen(fence)), 1);
	for (int i = 0; i < 2; i++) { /* the second one is answered after all that was to be said at the first: it has arrived */
		redisContext *c = redisConnectUnix(fake_target(fake));

		assert_non_null(c);
		freeReplyObject(redisCommand(c, "PING"));
		redisFree(c);
	}
	assert_int_not_equal(leash_lock_acquire(lock, 0, &err), LEASH_OK);
	assert_false(leash_lock_held(lock));
	leash_lock_free(lock);
	leash_close(client);
	fake_stop(fake);
}
