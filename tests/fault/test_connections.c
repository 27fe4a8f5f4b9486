/* Connections that are killed, frozen, refused or useless: what is held is kept, who waits goes on, and nothing piles up. */
#include "tests/fault/refused.h"
#include "tests/support/descriptors.h"
#include "tests/support/leashed.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <pthread.h>

enum { WAITERS = 4 };

static size_t
connections(struct server *server)
{
	const char *at = server_text(server, "CLIENT LIST");
	size_t n = 0;

	for (; (at = strchr(at, '\n')) != NULL; at++)
		n++;
	return n;
}

static int64_t
counted(struct server *server, const char *name)
{
	const char *at = strstr(server_text(server, "INFO stats"), name);

	assert_non_null(at);
	return atoll(at + strlen(name));
}

static int64_t
connections_so_far(struct server *server)
{
	return counted(server, "total_connections_received:");
}

static int64_t
rejected_so_far(struct server *server)
{
	return counted(server, "rejected_connections:");
}

struct waiter {
	leash_client *client;
	const char *name;
	leash_status status;
	leash_error err;
	_Atomic int done;
	pthread_t thread;
};

static void *
wait_and_release(void *arg)
{
	struct waiter *w = arg;
	leash_lock *lock = leashed_lock(w->client, w->name, NULL);

	w->status = leash_lock_acquire(lock, LEASH_FOREVER, &w->err);
	if (w->status == LEASH_OK)
		w->status = leash_lock_release(lock, &w->err);
	leash_lock_free(lock);
	w->done = 1;
	return NULL;
}

SENTENCE(a_wake_up_connection_that_is_killed_again_and_again_leaves_no_descriptor_and_nobody_hangs)
{
	struct server *server = server_start(NULL);
	leash_client *holder = leashed_open(server_uri(server), NULL), *client = leashed_open(server_uri(server), NULL);
	leash_lock *lock = leashed_lock(holder, "killed", NULL);
	static struct waiter waiters[WAITERS];
	size_t descriptors, clients;
	int64_t killed = 0;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (size_t i = 0; i < WAITERS; i++) {
		waiters[i] = (struct waiter){.client = client, .name = "killed"};
		assert_int_equal(pthread_create(&waiters[i].thread, NULL, wait_and_release, &waiters[i]), 0);
	}
	await_true(server_integer(server, "ZCOUNT leash:{killed}:queue (0 +inf") == 1);
	descriptors = descriptors_count();
	clients = connections(server);
	while (killed < 500) {
		await_true(strstr(server_text(server, "CLIENT LIST TYPE pubsub"), "leash:") != NULL);
		killed += server_integer(server, "CLIENT KILL TYPE pubsub");
	}
	await_true(connections(server) == clients);
	await_true(descriptors_count() == descriptors);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	for (size_t i = 0; i < WAITERS; i++) {
		await_true(waiters[i].done);
		pthread_join(waiters[i].thread, NULL);
		assert_status(LEASH_OK, (err = waiters[i].err, waiters[i].status));
	}
	assert_int_equal(connections(server), clients);
	leash_lock_free(lock);
	leash_close(client);
	leash_close(holder);
	server_stop(server);
}

/* The keeper awaits the answer to a waiter's word, for up to `timeout_ms`, when a renewal is due that leaves no time for that. */
SENTENCE(a_short_lease_is_renewed_over_a_new_connection_while_the_keeper_waits_for_another_answer)
{
	struct server *server = server_start(NULL);
	struct proxy *proxy = proxy_start(server_socket(server));
	struct leashed_events events = {0};
	leash_client *client = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = 60000, .on_event = leashed_note_event, .event_arg = &events));
	leash_client *direct = leashed_open(server_uri(server), NULL);
	int64_t lease_ms = slow_ms(8000);
	leash_lock *brief = leashed_lock(client, "brief", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms));
	leash_lock *other = leashed_lock(direct, "wanted", NULL);
	static struct waiter waiter;
	size_t accepted;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(other, 0, &err));
	waiter = (struct waiter){.client = client, .name = "wanted"};
	assert_int_equal(pthread_create(&waiter.thread, NULL, wait_and_release, &waiter), 0);
	await_true(server_integer(server, "ZCOUNT leash:{wanted}:queue (0 +inf") == 1);
	assert_status(LEASH_OK, leash_lock_acquire(brief, 30000, &err));
	proxy_hold_reply(proxy, "{wanted}");
	proxy_wait_hit(proxy);
	accepted = proxy_accepted(proxy);
	/* a quarter of the lease after the renewal was due that connection is given up, and less than half of the lease is left ... */
	await_true(proxy_accepted(proxy) > accepted || events.count[LEASH_EVENT_LOST] > 0);
	/* ... until it is renewed over the next one, with half a minute to go until the word's answer is overdue */
	await_true(leash_lock_remaining_ms(brief) > lease_ms * 2 / 3 || events.count[LEASH_EVENT_LOST] > 0);
	assert_true(events.count[LEASH_EVENT_LOST] == 0);
	assert_true(leash_lock_held(brief));
	assert_int_equal(server_integer(server, "EXISTS leash:{brief}"), 1);
	assert_status(LEASH_OK, leash_lock_release(brief, &err));
	assert_status(LEASH_OK, leash_lock_release(other, &err));
	await_true(waiter.done);
	pthread_join(waiter.thread, NULL);
	assert_status(LEASH_OK, (err = waiter.err, waiter.status));
	leash_lock_free(brief);
	leash_lock_free(other);
	proxy_release(proxy);
	leash_close(client);
	leash_close(direct);
	proxy_stop(proxy);
	server_stop(server);
}

SENTENCE(a_replica_is_not_stormed_and_it_goes_on_when_it_is_a_primary_again)
{
	struct server *server = server_start(NULL);
	struct leashed_events events = {0};
	leash_client *client = leashed_open(
		server_uri(server), LEASH_OPTIONS(.lease_ms = 80000, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *lock = leashed_lock(client, "replica", NULL);
	int64_t before, made;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	server_text(server, "REPLICAOF 127.0.0.1 1");
	before = connections_so_far(server);
	server_text(server, "CLIENT KILL TYPE normal SKIPME yes"); /* what is held is renewed as soon as there is a connection */
	await_ms(3000);
	made = connections_so_far(server) - before;
	printf("# %lld connections in 3 s\n", (long long)made);
	assert_true(made > 1);
	assert_true(made < 100);
	assert_true(leash_lock_held(lock));
	server_text(server, "REPLICAOF NO ONE");
	await_true(events.count[LEASH_EVENT_RECOVERED] == 1);
	assert_int_equal(events.count[LEASH_EVENT_JEOPARDY], 1);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	before = connections_so_far(server);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_true(connections_so_far(server) - before <= 2);
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
}

SENTENCE(a_server_that_takes_no_more_clients_costs_no_descriptor)
{
	enum { CLIENTS = 4 };
	struct server *server = server_start(NULL);
	struct leashed_events events = {0};
	leash_client *client[CLIENTS], *none;
	leash_lock *lock[CLIENTS];
	int64_t attempts, begun;
	unsigned most = 0, before;
	double seconds;
	leash_error err;

	for (int i = 0; i < CLIENTS; i++) {
		client[i] = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 80000, .on_event = leashed_note_event, .event_arg = &events));
		lock[i] = leashed_lock(client[i], "full", NULL);
	}
	assert_status(LEASH_OK, leash_lock_acquire(lock[0], 0, &err));
	leash_close(leashed_open(server_uri(server), NULL)); /* what wakes its threads is kept, for the next one */
	await_true(connections(server) == 1 + 2 * CLIENTS);
	before = descriptors_count();
	server_text(server, "CONFIG SET maxclients 1"); /* this one */
	server_text(server, "CLIENT KILL TYPE normal SKIPME yes");
	server_text(server, "CLIENT KILL TYPE pubsub");
	begun = await_now_ns();
	attempts = rejected_so_far(server);
	for (int i = 0; await_now_ns() - begun < INT64_C(2500000000) || rejected_so_far(server) < attempts + 3 * CLIENTS; i++) {
		unsigned now = descriptors_count();

		most = now > most ? now : most;
		if (i % 10 == 0)
			assert_status(LEASH_UNAVAILABLE, leash_open(&none, LEASH_OPTIONS(.uri = server_uri(server)), &err));
		await_ms(10);
	}
	seconds = (double)(await_now_ns() - begun) / 1e9;
	attempts = rejected_so_far(server) - attempts;
	printf("# %lld attempts in %.1f s, of %d clients and of those that could not be opened; %u descriptors, at most %u\n",
	       (long long)attempts, seconds, CLIENTS, before, most);
	/* two connections each, backing off from 10 ms to a quarter of a second, and ten more clients a second */
	assert_true((double)attempts < (2 * CLIENTS * 10 + 2 * 10) * seconds);
	assert_true(most <= before);
	server_text(server, "CONFIG SET maxclients 1000");
	await_true(connections(server) == 1 + 2 * CLIENTS);
	await_true(descriptors_count() == before);
	await_true(events.count[LEASH_EVENT_RECOVERED] == events.count[LEASH_EVENT_JEOPARDY]);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_release(lock[0], &err));
	for (int i = 0; i < CLIENTS; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock[i], 10000, &err));
		assert_status(LEASH_OK, leash_lock_release(lock[i], &err));
		leash_lock_free(lock[i]);
		leash_close(client[i]);
	}
	server_stop(server);
}

SENTENCE(without_a_subscription_a_timed_acquire_ends_on_time_and_says_timeout)
{
	struct server *server = server_start(NULL);
	leash_client *holder = leashed_open(server_uri(server), NULL), *client = leashed_open(server_uri(server), NULL);
	leash_lock *held = leashed_lock(holder, "deaf", NULL), *lock = leashed_lock(client, "deaf", NULL);
	double best = 1e9;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	server_text(server, "ACL SETUSER default resetchannels");
	server_integer(server, "CLIENT KILL TYPE pubsub");
	await_true(strstr(server_text(server, "CLIENT LIST TYPE pubsub"), "leash:") == NULL);
	await_ms(50); /* for the client to see it; where it has not, the wait is an ordinary one */
	for (int timed_out = 0; timed_out < 5;) {
		int64_t begun = await_now_ns();
		leash_status status = leash_lock_acquire(lock, 100, &err);
		double late = (double)(await_now_ns() - begun) / 1e6 - 100;

		assert_true(late >= -1);
		best = late < best ? late : best;
		if (status == LEASH_UNAVAILABLE && was_cut_short(err.text))
			continue; /* on a busy machine the answer may not have come by then */
		assert_status(LEASH_TIMEOUT, status);
		timed_out++;
	}
	printf("# at least %.1f ms late\n", best);
	assert_true(best < 400 * await_slowness()); /* it would ask again after a second */
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	/* nobody will tell of it, and it is had all the same */
	assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	server_text(server, "ACL SETUSER default allchannels");
	await_true(strstr(server_text(server, "CLIENT LIST TYPE pubsub"), "leash:") != NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(held);
	leash_lock_free(lock);
	leash_close(holder);
	leash_close(client);
	server_stop(server);
}

SENTENCE(who_cannot_log_in_any_more_is_denied_and_does_not_wait_for_ever)
{
	struct server *server = server_start(NULL);
	static struct waiter w = {.name = "password"};
	leash_lock *lock;
	char uri[300];
	leash_error err;

	server_text(server, "ACL SETUSER ann on >secret ~* &* +@all");
	snprintf(uri, sizeof uri, "unix://ann:secret@%s", server_socket(server));
	w.client = leashed_open(uri, NULL);
	server_text(server, "ACL SETUSER ann resetpass >changed");
	await_true(server_integer(server, "CLIENT KILL USER ann") > 0);
	assert_int_equal(pthread_create(&w.thread, NULL, wait_and_release, &w), 0);
	await_true(w.done);
	pthread_join(w.thread, NULL);
	assert_status(LEASH_DENIED, (err = w.err, w.status));
	assert_non_null(strstr(err.text, "lock 'password'"));
	assert_null(strstr(err.text, "secret"));
	/* and with the password back it goes on by itself */
	server_text(server, "ACL SETUSER ann >secret");
	lock = leashed_lock(w.client, "password", NULL);
	await_true(leash_lock_acquire(lock, 0, &err) == LEASH_OK);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(w.client);
	server_stop(server);
}
