/* Servers that are slow, silent, gone, or back again: every call ends on time, who holds learns the truth on time, and those who come
 * back do so one by one. */
#include "tests/contract/actor.h"
#include "tests/fault/refused.h"
#include "tests/support/leashed.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

/* What a machine may stand still for before a test takes it for a fault of leash. */
#define STALL_MS 2000

static _Thread_local leash_error err; /* what the last call said */

static struct server *server;
static struct proxy *proxy;
static struct leashed_events events;

static void
start(void)
{
	memset(&events, 0, sizeof events);
	server = server_start(NULL);
	proxy = proxy_start(server_socket(server));
}

static void
stop(void)
{
	proxy_stop(proxy);
	server_stop(server);
}

FIXTURE(start, stop);

/* A call that began then ends at its limit: it is not early, and not later than a machine stands still. */
static void
check_on_time(int64_t begun, int64_t limit_ms)
{
	assert_in_range(await_now_ns() - begun, (limit_ms - 1) * MS, (limit_ms + slow_ms(STALL_MS)) * MS);
}

SENTENCE(every_call_ends_at_its_deadline_although_answers_drip)
{
	enum { BYTE_US = 500000, TIMEOUT_MS = 1000 }; /* an answer has 19 bytes, if the server knows the scripts: it would take 9.5 s */
	leash_client *client = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = TIMEOUT_MS,
	                                                                    .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *lock = leashed_lock(client, "dripping", NULL);
	leash_client *none = NULL;
	int64_t begun;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	proxy_drip(proxy, PROXY_TO_CLIENT, BYTE_US);
	for (int64_t wait_ms = 100; wait_ms <= 2 * TIMEOUT_MS; wait_ms += 950) {
		begun = await_now_ns();
		assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, wait_ms, &err));
		check_on_time(begun, wait_ms);
		assert_false(leash_lock_held(lock));
	}
	begun = await_now_ns();
	assert_status(LEASH_UNAVAILABLE, leash_open(&none, LEASH_OPTIONS(.uri = proxy_uri(proxy), .timeout_ms = 300), &err));
	check_on_time(begun, 300);
	proxy_drip(proxy, PROXY_TO_CLIENT, 0);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
	proxy_drip(proxy, PROXY_TO_CLIENT, BYTE_US);
	begun = await_now_ns();
	assert_status(LEASH_UNKNOWN, leash_lock_release(lock, &err));
	check_on_time(begun, 2 * TIMEOUT_MS); /* a release has two timeouts */
	proxy_drip(proxy, PROXY_TO_CLIENT, 0);
	await_true(server_integer(server, "EXISTS leash:{dripping} leash:{dripping}:queue") == 0);
	assert_int_equal(events.total, 0);
	leash_lock_free(lock);
	leash_close(client);
}

SENTENCE(renewals_do_not_wait_for_a_dial_that_hangs)
{
	/* a dial may hang for far longer than the lease */
	leash_client *client = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = 60000, .lease_ms = slow_ms(2000), .on_event = leashed_note_event,
	                                                                    .event_arg = &events));
	leash_lock *kept = leashed_lock(client, "kept", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(kept, 20000, &err));
	proxy_hold_reply(proxy, "subscribe");
	assert_true(server_integer(server, "CLIENT KILL TYPE pubsub") > 0);
	proxy_wait_hit(proxy); /* the dial for the wake-ups is not answered any more */
	await_renewals(kept, 4);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	proxy_release(proxy);
	leash_lock_free(kept);
	leash_close(client);
}

SENTENCE(a_server_that_listens_again_is_found_within_one_back_off, BETWEEN(NULL, NULL))
{
	static const int64_t outages_ms[] = {50, 300, 1500};
	struct server *gone = server_start_tcp(NULL);
	leash_client *one = leashed_open(server_uri_tcp(gone), NULL);
	struct actor waiter = {.lock = leashed_lock(one, "found", NULL), .wait_ms = LEASH_FOREVER};

	actor_start(&waiter);
	for (size_t i = 0; i < COUNT(outages_ms); i++) {
		int64_t up;

		server_kill(gone); /* connections are refused from now on */
		actor_tell(&waiter, actor_acquire);
		await_ms(outages_ms[i]);
		assert_false(actor_is_done(&waiter));
		server_boot(gone);
		up = await_now_ns();
		assert_heard(LEASH_OK, &waiter);
		/* the dials come at most a quarter of a second apart */
		assert_true(waiter.ended_ns - up < (250 + slow_ms(STALL_MS)) * MS);
		assert_done(LEASH_OK, &waiter, actor_release);
	}
	actor_dismiss(&waiter);
	leash_close(one);
	server_stop(gone);
}

SENTENCE(clients_of_a_restarted_server_dial_ever_more_slowly_and_all_come_back)
{
	enum { HERD = 20, LINES = 2 * HERD }; /* a client has two connections */
	leash_client *client[HERD];
	leash_lock *lock;
	int64_t begun;
	size_t before;

	for (int i = 0; i < HERD; i++)
		client[i] = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = patience_ms()));
	await_true(proxy_open(proxy) == LINES);
	server_kill(server);
	before = proxy_accepted(proxy);
	await_ms(1500);
	assert_true(proxy_accepted(proxy) - before <= 18 * LINES); /* 10, 20, 40 ... ms, and half of each at least */
	/* by now all dials are as far apart as they will be: an eighth to a quarter of a second */
	begun = await_now_ns();
	before = proxy_accepted(proxy);
	await_ms(2000);
	assert_true((double)(proxy_accepted(proxy) - before) <= 8.2e-9 * LINES * (double)(await_now_ns() - begun));
	before = proxy_accepted(proxy);
	server_restart(server);
	await_true(proxy_open(proxy) == LINES);
	for (int i = 0; i < HERD; i++) {
		lock = leashed_lock(client[i], "grass", NULL);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 60000, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		leash_lock_free(lock);
		leash_close(client[i]);
	}
	assert_true(proxy_accepted(proxy) - before <= 4 * LINES);
}
