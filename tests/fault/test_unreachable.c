/* Servers that cannot be dialed, or are gone and back again: nobody else waits for a dial, and those who come back do
 * so one by one. */
#include "tests/fault/refused.h"
#include "tests/support/kept.h"
#include "tests/support/test.h"

static leash_error err; /* what the last call said */

static struct server *server;
static struct proxy *proxy;

static void
start(void)
{
	server = kept(server_start(NULL));
	proxy = kept(proxy_start(server_socket(server)));
}

FIXTURE(start, NULL);

SENTENCE(renewals_do_not_wait_for_a_dial_that_hangs)
{
	/* a dial may hang for far longer than the lease */
	leash_client *client = kept(leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = 60000, .lease_ms = slow_ms(6000))));
	leash_lock *lock = kept(leashed_lock(client, "renewed", NULL));

	assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
	proxy_hold_reply(proxy, "subscribe");
	assert_true(server_integer(server, "CLIENT KILL TYPE pubsub") > 0);
	proxy_wait_hit(proxy); /* the dial for the wake-ups is not answered any more */
	await_renewals(lock, 2);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	proxy_release(proxy);
}

SENTENCE(clients_of_a_restarted_server_dial_ever_more_slowly_and_all_come_back)
{
	enum { HERD = 20, LINES = 2 * HERD }; /* a client has two connections */
	leash_client *client[HERD];

	for (int i = 0; i < HERD; i++)
		client[i] = kept(leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = patience_ms())));
	await_true(proxy_open(proxy) == LINES);
	server_kill(server);
	size_t before = proxy_accepted(proxy);
	await_ms(1500);
	assert_true(proxy_accepted(proxy) - before <= 18 * LINES); /* 10, 20, 40 ... ms, and half of each at least */
	/* by now all dials are as far apart as they will be: an eighth to a quarter of a second */
	int64_t begun = await_now_ns();
	before = proxy_accepted(proxy);
	await_ms(2000);
	assert_true((double)(proxy_accepted(proxy) - before) <= 8.2e-9 * LINES * (double)(await_now_ns() - begun));
	server_restart(server);
	before = proxy_accepted(proxy);
	await_true(proxy_open(proxy) == LINES);
	for (int i = 0; i < HERD; i++) {
		leash_lock *lock = kept(leashed_lock(client[i], "grass", NULL));
		assert_status(LEASH_OK, leash_lock_acquire(lock, 60000, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	assert_true(proxy_accepted(proxy) - before <= 4 * LINES);
}

static void *
restart_soon(void *arg)
{
	await_ms(300);
	server_restart(arg);
	return NULL;
}

SENTENCE(a_program_may_be_started_before_its_server)
{
	leash_client *client = NULL;
	leash_cancel *cancel;
	int64_t begun = await_now_ns();
	pthread_t thread;

	server_kill(server);
	assert_status(LEASH_UNAVAILABLE, leash_open(&client, LEASH_OPTIONS(.uri = server_uri(server), .open_wait_ms = 200), &err));
	assert_true(await_now_ns() - begun >= 200 * MS);
	assert_status(LEASH_OK, leash_cancel_new(&cancel, &err));
	leash_cancel_fire(cancel);
	assert_status(LEASH_CANCELED, leash_open(&client, LEASH_OPTIONS(.uri = server_uri(server), .open_wait_ms = LEASH_FOREVER,
	                                                              .open_cancel = cancel), &err));
	leash_cancel_free(cancel);
	assert_int_equal(pthread_create(&thread, NULL, restart_soon, server), 0);
	assert_status(LEASH_OK, leash_open(&client, LEASH_OPTIONS(.uri = server_uri(server), .timeout_ms = patience_ms(),
	                                                        .open_wait_ms = 60000), &err));
	pthread_join(thread, NULL);
	leash_close(client);
}
