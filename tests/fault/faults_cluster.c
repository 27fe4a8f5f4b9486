/* The arena of a cluster: three masters, a replica of each, and a proxy before each node. The locks are spread over all masters.
 *
 * As with sentinels a master is cut off in good order, when its replica has all that it has, or as it comes, which is a breach: see there.
 * One replica is all that a master has, so with min_replicas of 1 there is none whatever happens. A failover that the replica asks for
 * (CLUSTER FAILOVER) is in good order by itself: the master waits until the other has everything. Slots that move lose nothing: each key is
 * in one place at a time. A replica that takes over without an order, since its master was stopped for a moment or the machine is slow,
 * does so amid writes: a breach, as with sentinels.
 *
 * A master that was stopped and goes on has been replaced meanwhile, and so there are two for a moment: it takes what it finds to have been
 * sent to it before it hears of that. Contenders know the new one by then, or that is a breach, as with sentinels. One that was killed comes
 * back when it has been replaced.
 *
 * After each slot that has moved it is awaited that all nodes know. Who gives a slot makes a new epoch for itself, without asking: two at a
 * time may choose the same, and of those that hear of it some then keep to the one and some to the other, for ever. */
#include "tests/fault/faults.h"
#include "tests/support/await.h"
#include "tests/support/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LEASE_MS = 4000, GUARD_MS = 6500, TIMEOUT_MS = 500, PAUSE_MS = 2000 };

static const char *
key_of(unsigned lock, char key[32])
{
	snprintf(key, 32, "leash:{lock-%u}", lock);
	return key;
}

static int
slot_of(unsigned lock)
{
	char key[32];

	return cluster_slot(key_of(lock, key));
}

static unsigned
master_of(struct run *run, unsigned lock)
{
	int master = -1;

	await_true((master = cluster_master_of_slot(run->cluster, slot_of(lock))) >= 0);
	return (unsigned)master;
}

/* One that has a lock. */
static unsigned
some_master(struct run *run, struct blow *blow)
{
	unsigned master = master_of(run, (unsigned)roll(blow, LOCKS));

	snprintf(blow->words, sizeof blow->words, "node %u", master);
	return master;
}

/* ---- masters ---- */

/* See faults_sentinel.c. */
static void
put_in_order(struct run *run, unsigned master)
{
	int64_t began;

	do {
		began = await_now_ns();
		order(run->servers[master], "CLIENT PAUSE %d WRITE", PAUSE_MS);
		cluster_await_synced(run->cluster);
	} while (await_now_ns() - began > (PAUSE_MS - 1000) * INT64_C(1000000));
}

static unsigned
replica_of(struct run *run, unsigned master)
{
	int replica = -1;

	await_true((replica = cluster_replica_of(run->cluster, (int)master)) >= 0);
	return (unsigned)replica;
}

/* From now on its replica takes over by order: it has said since that it is one. */
static void
order_takeover(struct run *run, unsigned master)
{
	unsigned replica = replica_of(run, master);

	run->ordered = (struct failover){.since_ns = await_now_ns(), .port = cluster_port(run->cluster, (int)master)};
	await_true(watch_has_looked(run->watch, replica, run->ordered.since_ns));
}

static void
oust(struct run *run, unsigned master)
{
	run->ousted = (int)master;
	order_takeover(run, master);
}

static void
kill_master(struct run *run, struct blow *blow)
{
	unsigned master = some_master(run, blow);

	put_in_order(run, master);
	oust(run, master);
	server_kill(run->servers[master]);
}

static void
kill_master_as_it_comes(struct run *run, struct blow *blow)
{
	oust(run, some_master(run, blow));
	server_kill(run->servers[run->ousted]);
}

static void
stop_master(struct run *run, struct blow *blow)
{
	unsigned master = some_master(run, blow);

	put_in_order(run, master);
	oust(run, master);
	stop_one(run, master);
}

static void
fail_master_over(struct run *run, struct blow *blow)
{
	unsigned master = some_master(run, blow);

	order_takeover(run, master);
	cluster_failover(run->cluster, (int)master);
}

static void
hold_link(struct run *run, struct blow *blow)
{
	blow->chosen = some_master(run, blow);
	cluster_hold_link(run->cluster, (int)blow->chosen, (int)replica_of(run, blow->chosen));
}

static void
let_links_go(struct run *run, struct blow *blow)
{
	(void)blow;
	cluster_unhold_all(run->cluster);
}

static void
kill_master_with_held_link(struct run *run, struct blow *blow)
{
	oust(run, blow->chosen);
	server_kill(run->servers[run->ousted]);
}

static void
stop_master_for_a_moment(struct run *run, struct blow *blow)
{
	blow->chosen = some_master(run, blow);
	put_in_order(run, blow->chosen);
	stop_one(run, blow->chosen);
}

static void
continue_chosen(struct run *run, struct blow *blow)
{
	continue_one(run, blow->chosen);
}

/* ---- replicas, and what is between ---- */

static unsigned
some_replica(struct run *run, struct blow *blow)
{
	unsigned replica = replica_of(run, some_master(run, blow));

	snprintf(blow->words, sizeof blow->words, "node %u", replica);
	return replica;
}

static void
kill_replica(struct run *run, struct blow *blow)
{
	blow->chosen = some_replica(run, blow);
	server_kill(run->servers[blow->chosen]);
}

static void
restart_chosen(struct run *run, struct blow *blow)
{
	server_restart(run->servers[blow->chosen]);
}

static void
stop_replica(struct run *run, struct blow *blow)
{
	blow->chosen = some_replica(run, blow);
	stop_one(run, blow->chosen);
}

/* The other nodes, on the bus, notice nothing. */
static void
hold_node(struct run *run, struct blow *blow)
{
	blow->chosen = some_master(run, blow);
	proxy_hold(cluster_door(run->cluster, (int)blow->chosen), (enum proxy_way)(1 + roll(blow, 3)));
}

static void
let_node_go(struct run *run, struct blow *blow)
{
	proxy_let_go(cluster_door(run->cluster, (int)blow->chosen), PROXY_BOTH);
}

static void
delay_node(struct run *run, struct blow *blow)
{
	blow->chosen = some_master(run, blow);
	proxy_delay(cluster_door(run->cluster, (int)blow->chosen), PROXY_BOTH, 1000 + (int64_t)roll(blow, TIMEOUT_MS * 400));
}

static void
delay_node_no_more(struct run *run, struct blow *blow)
{
	proxy_delay(cluster_door(run->cluster, (int)blow->chosen), PROXY_BOTH, 0);
}

/* ---- slots ---- */

/* A master other than its own. */
static int
elsewhere(struct run *run, struct blow *blow, unsigned lock)
{
	unsigned from = master_of(run, lock), to;

	do
		to = (unsigned)roll(blow, CLUSTER_NODES);
	while (to == from || !cluster_is_master(run->cluster, (int)to));
	return (int)to;
}

/* One to all, each on its way until the end. */
static void
begin_moves(struct run *run, struct blow *blow)
{
	unsigned count = 1 + (unsigned)roll(blow, roll(blow, 2) == 0 ? 2 : LOCKS), first = (unsigned)roll(blow, LOCKS);

	snprintf(blow->words, sizeof blow->words, "of %u locks, from lock-%u", count, first);
	for (unsigned i = 0; i < count; i++) {
		unsigned lock = (first + i) % LOCKS;

		cluster_move_begin(run->cluster, slot_of(lock), elsewhere(run, blow, lock));
		blow->chosen |= 1U << lock;
	}
}

/* A key here and there: so some keys of a lock are in one place, and some in the other. */
static void
move_some_keys(struct run *run, struct blow *blow)
{
	for (unsigned i = 0; i < LOCKS; i++)
		if (blow->chosen & 1U << i && roll(blow, 4) == 0)
			cluster_move_keys(run->cluster, slot_of(i), 1);
}

static void
end_moves(struct run *run, struct blow *blow)
{
	for (unsigned i = 0; i < LOCKS; i++)
		if (blow->chosen & 1U << i) {
			cluster_move_end(run->cluster, slot_of(i));
			cluster_await_ok(run->cluster);
		}
}

static void
undo_moves(struct run *run, struct blow *blow)
{
	for (unsigned i = 0; i < LOCKS; i++)
		if (blow->chosen & 1U << i)
			cluster_move_undo(run->cluster, slot_of(i));
}

/* One after the other, each at once. */
static void
move_a_slot(struct run *run, struct blow *blow)
{
	unsigned lock = (unsigned)roll(blow, LOCKS);

	cluster_move_slot(run->cluster, slot_of(lock), elsewhere(run, blow, lock));
	cluster_await_ok(run->cluster);
}

/* ---- all of them ---- */

#define OUSTS .until_whole = true, .delays = true, LASTS(10, 30)
#define BREACH .harm = HARM_BREACH, .enough = 1

static const struct fault faults[] = {
	FAULTS_OF_CONTENDERS(LASTS(105, 150)),
	FAULTS_OF_ALL_SERVERS(LASTS(10, 60)),

	{"master-kill", SERVER, OUSTS, .begin = kill_master},
	{"master-kill-amid-writes", SERVER, BREACH, OUSTS, .begin = kill_master_as_it_comes},
	{"master-stop", SERVER, OUSTS, .begin = stop_master},
	{"failover", SERVER, OUSTS, .begin = fail_master_over},
	{"link-hold-master-kill", SERVER, BREACH, .until_whole = true, LASTS(3, 30), .begin = hold_link, .end = kill_master_with_held_link},
	{"master-stop-short", SERVER, .delays = true, LASTS(1, 20), .begin = stop_master_for_a_moment, .end = continue_chosen},
	{"replica-kill", SERVER, LASTS(1, 50), .begin = kill_replica, .end = restart_chosen},
	{"replica-stop", SERVER, LASTS(1, 50), .begin = stop_replica, .end = continue_chosen},
	{"link-hold", SERVER, LASTS(1, 50), .begin = hold_link, .end = let_links_go},
	{"slots-move", SERVER, LASTS(5, 60), .begin = begin_moves, .again = move_some_keys, .end = end_moves},
	{"slots-stay", SERVER, LASTS(5, 60), .begin = begin_moves, .again = move_some_keys, .end = undo_moves},
	{"slots-wander", SERVER, LASTS(5, 60), .begin = move_a_slot, .again = move_a_slot},
	{"node-hold", SERVER, .delays = true, LASTS(3, 50), .begin = hold_node, .end = let_node_go},

	{"node-delay", ASIDE, .delays = true, LASTS(5, 50), .begin = delay_node, .end = delay_node_no_more},
};

static const size_t fault_count = sizeof faults / sizeof *faults;

/* ---- the servers ---- */

static void
start(struct run *run)
{
	unsigned masters = 0;

	run->cluster = cluster_start(&(struct cluster_options){.doors = true, .args = server_args});
	for (int i = 0; i < CLUSTER_NODES; i++)
		run->servers[run->server_count++] = cluster_node(run->cluster, i);
	for (unsigned i = 0; i < LOCKS; i++)
		masters |= 1U << master_of(run, i);
	if (masters != (1U << CLUSTER_MASTERS) - 1)
		trouble("some master has no lock");
}

static void
uri(const struct run *run, char uri[URI])
{
	snprintf(uri, URI, "%s", cluster_uri(run->cluster));
}

static void
mend(struct run *run, uint64_t *dice)
{
	unsigned breaches = 0;

	if (run->ousted >= 0) {
		cluster_await_takeover(run->cluster, run->ousted);
		cluster_unhold_all(run->cluster);
		breaches += returns_early(run, dice, 1);
		continue_one(run, (unsigned)run->ousted);
		if (server_pid(run->servers[run->ousted]) == 0)
			server_restart(run->servers[run->ousted]);
		await_true_for(!cluster_is_master(run->cluster, run->ousted), 60);
		run->ousted = -1;
	}
	cluster_await_ok(run->cluster);
	cluster_await_synced(run->cluster);
	for (breaches += note_failovers(run); breaches > 0; breaches--)
		history_note(run->history, "mended");
}

static void
stop(struct run *run)
{
	cluster_stop(run->cluster);
}

const struct arena arena_cluster = {
	.name = "cluster", .faults = faults, .fault_count = &fault_count, .lease_ms = LEASE_MS, .guard_ms = GUARD_MS, .timeout_ms = TIMEOUT_MS,
	.start = start, .uri = uri, .mend = mend, .stop = stop,
};
