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

#include <stdio.h>

enum { LEASE_MS = 4000, GUARD_MS = 6500, TIMEOUT_MS = 500 };

static int
slot_of(unsigned lock)
{
	char key[32];

	snprintf(key, sizeof key, "leash:{lock-%u}", lock);
	return cluster_slot(key);
}

static unsigned
master_of(struct run *run, unsigned lock)
{
	int master = -1;

	await_true((master = cluster_master_of_slot(run->cluster, slot_of(lock))) >= 0);
	return (unsigned)master;
}

static unsigned
some_master(struct run *run, struct blow *blow)
{
	return master_of(run, (unsigned)roll(blow, LOCKS));
}

static unsigned
replica_of(struct run *run, struct blow *blow, unsigned master)
{
	int replica = -1;

	(void)blow;
	await_true((replica = cluster_replica_of(run->cluster, (int)master)) >= 0);
	return (unsigned)replica;
}

/* ---- slots ---- */

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
begin_moves(struct step *s)
{
	struct run *run = s->run;
	struct blow *blow = s->blow;
	unsigned count = 1 + (unsigned)roll(blow, roll(blow, 2) == 0 ? 2 : LOCKS), first = (unsigned)roll(blow, LOCKS);

	snprintf(blow->words, sizeof blow->words, "of %u locks, from lock-%u", count, first);
	blow->chosen = 0;
	for (unsigned i = 0; i < count; i++) {
		unsigned lock = (first + i) % LOCKS;

		cluster_move_begin(run->cluster, slot_of(lock), elsewhere(run, blow, lock));
		blow->chosen |= 1U << lock;
	}
}

/* A key here and there: so some keys of a lock are in one place, and some in the other. */
static void
move_some_keys(struct step *s)
{
	for (unsigned i = 0; i < LOCKS; i++)
		if (s->blow->chosen & 1U << i && roll(s->blow, 4) == 0)
			cluster_move_keys(s->run->cluster, slot_of(i), 1);
}

/* `back`: and they are made again the other way. A master that takes its slot back without the keys that have left it grants
 * what is held, until they are there again. */
static void
end_moves(struct step *s, bool back)
{
	struct cluster *cluster = s->run->cluster;

	for (unsigned i = 0; i < LOCKS; i++) {
		if ((s->blow->chosen & 1U << i) == 0)
			continue;
		int home = (int)master_of(s->run, i);

		cluster_move_end(cluster, slot_of(i));
		cluster_await_ok(cluster);
		if (!back)
			continue;
		cluster_move_slot(cluster, slot_of(i), home);
		cluster_await_ok(cluster);
	}
}

/* One after the other, each at once. */
static void
move_a_slot(struct step *s)
{
	unsigned lock = (unsigned)roll(s->blow, LOCKS);

	cluster_move_slot(s->run->cluster, slot_of(lock), elsewhere(s->run, s->blow, lock));
	cluster_await_ok(s->run->cluster);
}

#define OWN_VERBS(X) \
	X(begin_moves, begin_moves(s)) \
	X(move_some_keys, move_some_keys(s)) \
	X(end_moves, end_moves(s, false)) \
	X(undo_moves, end_moves(s, true)) \
	X(move_a_slot, move_a_slot(s)) \
	X(fail_over, cluster_failover(s->run->cluster, (int)the_chosen(s->blow)))

OWN_VERBS(VERB_FUNCTION)
static const struct verb verbs[] = {OWN_VERBS(VERB_ONCE) {.name = NULL}};

/* ---- all faults ---- */

#define OUSTS .until_whole = true, .delays = true, LASTS(10, 30)
#define BREACH .harm = HARM_BREACH, .enough = 1

static const struct fault faults[] = {
	FAULTS_OF_CONTENDERS(LASTS(105, 150)),
	FAULTS_OF_ALL_SERVERS(ASIDE, LASTS(10, 60)),

	{"master-kill", SERVER, OUSTS, .begin = "master; put_in_order; oust; kill"},
	{"master-kill-amid-writes", SERVER, BREACH, OUSTS, .begin = "master; oust; kill"},
	{"master-stop", SERVER, OUSTS, .begin = "master; put_in_order; oust; stop"},
	{"failover", SERVER, OUSTS, .begin = "master; order_takeover; fail_over"},
	{"link-hold-master-kill", SERVER, BREACH, .until_whole = true, LASTS(3, 30), .begin = "master; hold_links", .end = "oust; kill"},
	{"master-stop-short", SERVER, .delays = true, LASTS(1, 20), .begin = "master; put_in_order; stop", .end = "go_on"},
	{"replica-kill", SERVER, LASTS(1, 50), .begin = "replica; kill", .end = "restart"},
	{"replica-stop", SERVER, LASTS(1, 50), .begin = "replica; stop", .end = "go_on"},
	{"link-hold", SERVER, LASTS(1, 50), .begin = "master; hold_links", .end = "let_links_go"},
	{"slots-move", SERVER, LASTS(5, 60), .begin = "begin_moves", .again = "move_some_keys", .end = "end_moves"},
	{"slots-stay", SERVER, LASTS(5, 60), .begin = "begin_moves", .again = "move_some_keys", .end = "undo_moves"},
	{"slots-wander", SERVER, LASTS(5, 60), .begin = "move_a_slot", .again = "move_a_slot"},
	/* the other nodes, on the bus, notice nothing */
	{"node-hold", SERVER, .delays = true, LASTS(3, 50), .begin = "master; hold_some_way", .end = "let_go"},

	{"node-delay", ASIDE, .delays = true, LASTS(5, 50), .begin = "master; delay 1000 201000", .end = "delay 0"},
};

/* ---- the servers ---- */

static void
start(struct run *run)
{
	unsigned masters = 0;

	run->cluster = cluster_start(&(struct nodes_options){.doors = true, .fails_over = true, .args = server_args});
	run->nodes = cluster_nodes(run->cluster);
	run->count = CLUSTER_NODES;
	run->uri = cluster_uri(run->cluster);
	for (unsigned i = 0; i < LOCKS; i++)
		masters |= 1U << master_of(run, i);
	if (masters != (1U << CLUSTER_MASTERS) - 1)
		trouble("some master has no lock");
}

WAITS_BY(await_synced, cluster_await_synced(run->cluster))
WAITS_BY(await_successor, cluster_await_takeover(run->cluster, run->ousted))
WAITS_BY(settle, cluster_await_ok(run->cluster))

static void
await_return(struct run *run, uint64_t *dice)
{
	(void)dice;
	await_true(!cluster_is_master(run->cluster, run->ousted));
}

const struct arena arena_cluster = {
	.name = "cluster", .faults = faults, .fault_count = sizeof faults / sizeof *faults, .verbs = verbs,
	.lease_ms = LEASE_MS, .guard_ms = GUARD_MS, .timeout_ms = TIMEOUT_MS, .start = start,
	.replicas = 1, .master = some_master, .replica = replica_of, .await_synced = await_synced,
	.await_successor = await_successor, .await_return = await_return, .settle = settle,
};
