/* Many locks are confirmed by few WAITs. What becomes of a lock that too few replicas or disks have: core/test_single,
 * tools/acknowledged.txt, and, at a failover, the simulator. Which numbers are refused: contract/test_input. */
#include "tests/fault/refused.h"
#include "tests/support/actor.h"
#include "tests/support/kept.h"
#include "tests/support/test.h"

static struct server *master;

/* The replica acknowledges what the master writes: that may begin a second after it has all that was written before. */
static struct proxy *
start_replica(void)
{
	char target[40];

	snprintf(target, sizeof target, "127.0.0.1:%d", server_port(master));
	struct proxy *link = kept(proxy_start_tcp(target));
	kept(server_start((const char *const[]){"--replicaof", "127.0.0.1", strrchr(proxy_uri(link), ':') + 1, NULL}));
	for (int written = 0; written < 2; written += server_integer(master, "WAIT 1 1000") > 0)
		server_text(master, "SET begun 1");
	return link;
}

/* That clients have to the master. */
static int
connections(void)
{
	int n = 0;

	for (const char *at = server_text(master, "CLIENT LIST"); (at = strstr(at, "name=leash:")) != NULL; at++)
		n++;
	return n;
}

SENTENCE(fifty_locks_are_confirmed_by_few_waits)
{
	enum { LOCKS = 50 };
	static struct actor actor[LOCKS];
	master = kept(server_start_tcp((const char *const[]){"--repl-diskless-sync-delay", "0", NULL}));
	struct proxy *link_to_replica = start_replica();
	leash_client *client = kept(leashed_open(server_uri_tcp(master), LEASH_OPTIONS(.timeout_ms = patience_ms())));
	struct monitor *monitor = kept(monitor_start(master));
	const leash_lock_options *options = LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(60000));

	proxy_delay(link_to_replica, PROXY_BOTH, 100000);
	for (int i = 0; i < LOCKS; i++) {
		char name[16];

		snprintf(name, sizeof name, "many-%d", i);
		actor_begin(&actor[i], leashed_lock(client, name, options), 30000);
	}
	monitor_mark(monitor);
	for (int i = 0; i < LOCKS; i++)
		actor_tell(&actor[i], actor_acquire);
	for (int i = 0; i < LOCKS; i++)
		assert_heard(LEASH_OK, &actor[i]);
	size_t waits = monitor_count(monitor, "\"WAIT\"");
	print_message("%zu WAITs for %d locks\n", waits, LOCKS);
	assert_in_range(waits, 1, LOCKS / 5);
	await_true(connections() == 3); /* each of them made what confirms, as it was not there: one of those stays */
	monitor_mark(monitor);
	for (int i = 0; i < LOCKS; i++)
		assert_done(LEASH_OK, &actor[i], actor_release);
	assert_int_equal(monitor_count(monitor, "\"WAIT\""), 0);
	for (int i = 0; i < LOCKS; i++)
		actor_dismiss(&actor[i]);
}
