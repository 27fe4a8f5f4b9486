/* What real servers say instead of doing what they were asked. What becomes of who asks, holds or lets go:
 * core/test_refusals. Those that lack commands: servers.txt. */
#include "tests/contract/actor.h"
#include "tests/fault/refused.h"
#include "tests/support/descriptors.h"
#include "tests/support/kept.h"
#include "tests/support/test.h"

static leash_error err; /* what the last call said */
static struct server *server;

/* One holds "pair", and another one waits for it. */
static struct pair {
	leash_client *client;
	leash_lock *held;
	struct actor waiting;
	struct leashed_events events;
} pair;

static void
begin_pair(int64_t lease_ms)
{
	leash_client *other = kept(leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = patience_ms())));

	pair = (struct pair){.client = kept(leashed_open(server_uri(server), LEASH_OPTIONS(
		.timeout_ms = patience_ms(), .lease_ms = lease_ms, .on_event = leashed_note_event, .event_arg = &pair.events)))};
	pair.held = kept(leashed_lock(pair.client, "pair", NULL));
	actor_begin(&pair.waiting, leashed_lock(other, "pair", NULL), LEASH_FOREVER);
	assert_status(LEASH_OK, leash_lock_acquire(pair.held, 30000, &err));
	actor_tell(&pair.waiting, actor_acquire);
	await_true(server_integer(server, "ZCOUNT leash:{pair}:queue (0 +inf") == 1);
}

/* It was held all the while; now the other one gets it, and nothing is left. */
static void
end_pair(void)
{
	await_true(pair.events.count[LEASH_EVENT_JEOPARDY] == pair.events.count[LEASH_EVENT_RECOVERED]);
	assert_int_equal(pair.events.count[LEASH_EVENT_LOST], 0);
	assert_false(actor_is_done(&pair.waiting));
	assert_status(LEASH_OK, leash_lock_release(pair.held, &err));
	assert_heard(LEASH_OK, &pair.waiting);
	assert_done(LEASH_OK, &pair.waiting, actor_release);
	actor_dismiss(&pair.waiting);
	assert_int_equal(server_integer(server, "EXISTS leash:{pair} leash:{pair}:queue"), 0);
}

static long long
info(const char *field) /* of INFO stats, with its colon */
{
	const char *at = strstr(server_text(server, "INFO stats"), field);

	return at != NULL ? atoll(at + strlen(field)) : 0;
}

/* ---- not now, not here, not so ---- */

static const struct refusing {
	const char *name, *how[2], *until, *word;
} refusing[] = {
	{"a_replica_is_left_alone_until_it_is_a_master_again", {"REPLICAOF 127.0.0.1 1"}, "REPLICAOF NO ONE", "READONLY"},
	{"a_replica_without_its_master_is_left_alone_too",
	 {"CONFIG SET replica-serve-stale-data no", "REPLICAOF 127.0.0.1 1"}, "REPLICAOF NO ONE", "MASTERDOWN"},
	{"a_full_server_grants_nothing", {"CONFIG SET maxmemory 1"}, "CONFIG SET maxmemory 0", "OOM"},
	{"a_master_with_too_few_replicas_grants_nothing",
	 {"CONFIG SET min-replicas-to-write 1"}, "CONFIG SET min-replicas-to-write 0", "NOREPLICAS"},
};

/* It is looked for, but not all the time; and it says why in time. */
SENTENCES(a_server_that_refuses_is_told_in_its_words_and_all_goes_on_when_that_is_over, refusing)
{
	const struct refusing *row = given;
	long long connections;
	leash_lock *lock;
	int64_t begun;

	server = kept(server_start(NULL));
	begin_pair(slow_ms(120000));
	lock = kept(leashed_lock(pair.client, "refused", NULL));
	for (size_t i = 0; i < COUNT(row->how) && row->how[i] != NULL; i++)
		server_text(server, row->how[i]);
	connections = info("total_connections_received:");
	begun = await_now_ns();
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), row->word, leash_lock_acquire(lock, 0, &err));
	assert_refused_in_time(LEASH_UNAVAILABLE, server_uri(server), row->word, leash_lock_acquire(lock, 1000, &err));
	assert_false(leash_lock_held(lock));
	connections = info("total_connections_received:") - connections;
	begun = await_now_ns() - begun;
	if ((double)connections > 5 + 44 * (double)begun / 1e9)
		fail_msg("%lld connections of two clients in %.1f s", connections, (double)begun / 1e9);
	assert_true(leash_lock_held(pair.held));
	server_text(server, row->until);
	await_true(leash_lock_extend(pair.held, slow_ms(120000), &err) == LEASH_OK);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	end_pair();
}

/* ---- connections ---- */

static bool
all_are_connected(void)
{
	const char *at = server_text(server, "CLIENT LIST");
	int n = 0;

	for (; (at = strstr(at, "name=leash:")) != NULL; at++)
		n++;
	return n == 4; /* two of each of the pair */
}

SENTENCE(a_server_that_takes_no_more_clients_is_asked_not_too_often_and_costs_no_descriptor)
{
	int64_t attempts, begun;
	unsigned most = 0, before;
	leash_client *none;
	double seconds;

	server = kept(server_start(NULL));
	begin_pair(80000);
	leash_close(leashed_open(server_uri(server), NULL)); /* what wakes its threads is kept, for the next one */
	await_true(all_are_connected());
	before = descriptors_count();
	server_text(server, "CONFIG SET maxclients 1"); /* this one */
	server_integer(server, "CLIENT KILL TYPE normal SKIPME yes");
	server_integer(server, "CLIENT KILL TYPE pubsub");
	begun = await_now_ns();
	attempts = info("rejected_connections:");
	for (int i = 0; await_now_ns() - begun < INT64_C(2500000000) ||
	     info("rejected_connections:") < attempts + 10; i++) {
		unsigned now = descriptors_count();

		most = now > most ? now : most;
		if (i % 10 == 0)
			assert_refused(LEASH_UNAVAILABLE, server_uri(server), "max number of clients",
			               leash_open(&none, LEASH_OPTIONS(.uri = server_uri(server), .timeout_ms = patience_ms()), &err));
		await_ms(10);
	}
	seconds = (double)(await_now_ns() - begun) / 1e9;
	attempts = info("rejected_connections:") - attempts;
	printf("# %lld attempts in %.1f s; %u descriptors, at most %u\n", (long long)attempts, seconds, before, most);
	/* four connections, backing off from 10 ms to a quarter of a second, and ten more clients a second */
	assert_true((double)attempts < (4 * 10 + 2 * 10) * seconds);
	assert_true(most <= before);
	server_text(server, "CONFIG SET maxclients 1000");
	await_true(all_are_connected());
	await_true(descriptors_count() == before);
	end_pair();
}
