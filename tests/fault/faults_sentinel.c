/* The arena of a sentinel set: a master, two replicas, three sentinels, and a proxy before each server that keeps data.
 *
 * What does a failover do to what leash promises? Replication is asynchronous: the master answers before a replica has
 * what it answered, so a lock that was acknowledged may be unknown to the next master. That is among what leash cannot
 * help (min_replicas can), and the judge must not hold it against leash; but it must not be used to excuse what is
 * leash's own doing either. So there are two kinds:
 *
 *   in good order   Before the master is cut off it is told to take no more writes (CLIENT PAUSE), and then everything
 *                   that it has taken is awaited at the replicas. So whichever of them comes next has all that was ever
 *                   answered, and nothing is excused: every hold is valid until it is said to be, or renewed at the new
 *                   master, and nobody else gets it
 *   as it comes     The master is cut off amid writes, or after writes that no replica has because its link is held; or
 *                   it is passed over while it goes on (SENTINEL FAILOVER tells it last). That is a breach, from then
 *                   until the old master follows the new one: what was valid at some moment of that time is promised to
 *                   nobody. What is held after it is
 *
 * With min_replicas a hold counts only if so many replicas have it. There are two. With both of them asked for there is
 * no breach whatever happens: no write counts that the next master has not, and a master that was passed over has at
 * most one replica left. With one of them there is none where it was the links of both that were held; elsewhere the
 * sentinels may choose the other one.
 *
 * The sentinels may also fail over without an order, where they were stopped for long or the machine is slow. That
 * comes amid writes, and is a breach as well, from the election of the sentinel that did it until all follow the new
 * master; it is noted when it is seen, and so behind its time. (With min_replicas it is none: where leash has a remedy,
 * the nemesis excuses only what it did.)
 *
 * A master that was stopped and goes on after its successor was named believes for a while that it is the master. That
 * excuses nothing if contenders have had time to hear of the successor, as each has that runs: what they sent before is
 * too late (not_after). One that was frozen meanwhile, and goes on at the same moment, has not: it asks where it asked
 * before, and is answered. So the nemesis gives it time; or does not, and then that is a breach, from the return to
 * when the old master follows the new one.
 *
 * A master that was killed comes back when there is another, or within a second, before it is missed, with all that it
 * had. If it comes back in the middle there are two. (It does so empty, at once: then its replicas empty themselves
 * too. Everything is lost, but there is a restart_guard_ms.)
 *
 * The lease is longer than elsewhere, so that most holds outlive a failover. */
#include "tests/fault/faults.h"
#include "tests/support/await.h"
#include "tests/support/sentinel_set.h"

enum { LEASE_MS = 4000, GUARD_MS = 6500, TIMEOUT_MS = 500, ALL_SENTINELS = (1 << SENTINEL_SENTINELS) - 1 };

static unsigned
master_of(struct run *run, struct blow *blow)
{
	(void)blow;
	return (unsigned)sentinel_set_master_number(run->sentinels);
}

static unsigned
some_replica(struct run *run, struct blow *blow, unsigned master)
{
	(void)run;
	return (master + 1 + (unsigned)roll(blow, SENTINEL_SERVERS - 1)) % SENTINEL_SERVERS;
}

static void
follow(struct run *run, unsigned i)
{
	int master = sentinel_set_master_number(run->sentinels);

	server_say(run->nodes[i].server, "REPLICAOF 127.0.0.1 %d", run->nodes[master].told);
}

static void
hold_link(struct step *s)
{
	nodes_hold_link(s->run->nodes, sentinel_set_master_number(s->run->sentinels), (int)the_chosen(s->blow));
}

/* One or two of the three; they may all be killed at the same time ("sentinels-kill"). They are numbered after the servers. */
static void
choose_sentinels(struct blow *blow)
{
	unsigned some = 1U << roll(blow, SENTINEL_SENTINELS);

	blow->chosen = (roll(blow, 2) == 0 ? some : ALL_SENTINELS & ~some) << SENTINEL_SERVERS;
}

#define OWN_VERBS(X) \
	X(fail_over, sentinel_set_begin_failover(s->run->sentinels)) \
	X(follow, follow(s->run, the_chosen(s->blow))) \
	X(hold_link, hold_link(s)) \
	X(sentinels, s->blow->chosen = ALL_SENTINELS << SENTINEL_SERVERS) \
	X(some_sentinels, choose_sentinels(s->blow))

OWN_VERBS(VERB_FUNCTION)
static const struct verb verbs[] = {OWN_VERBS(VERB_ONCE) {.name = NULL}};

#define OUSTS .until_whole = true, .delays = true, LASTS(10, 30)
#define BREACH(n) .harm = HARM_BREACH, .enough = (n)
/* Who stood still, or was not scheduled, for two seconds does not stand aside for half a minute (TILT). An option of Redis 7 and later, and
 * not kept. */
#define CALM "?SENTINEL DEBUG INFO-PERIOD 1000 TILT-TRIGGER 20000"

static const struct fault faults[] = {
	FAULTS_OF_CONTENDERS(LASTS(105, 150)),
	FAULTS_OF_ALL_SERVERS(ASIDE, LASTS(10, 60)),

	{"master-kill", SERVER, OUSTS, .begin = "master; put_in_order; oust; kill"},
	{"master-kill-amid-writes", SERVER, BREACH(2), OUSTS, .begin = "master; oust; kill"},
	{"master-stop", SERVER, OUSTS, .begin = "master; put_in_order; oust; stop"},
	/* for clients, sentinels and replicas alike it is as if its host had vanished; it goes on */
	{"master-cut-off", SERVER, OUSTS, .begin = "master; put_in_order; oust; hold"},
	{"failover", SERVER, BREACH(2), OUSTS, .begin = "master; oust; fail_over"},
	/* what was held is let go when there is another master */
	{"links-hold-master-kill", SERVER, BREACH(1), .until_whole = true, LASTS(3, 30), .begin = "master; hold_links", .end = "oust; kill"},
	/* not for as long as it is missed after */
	{"master-stop-short", SERVER, .delays = true, LASTS(1, 12), .begin = "master; put_in_order; stop", .end = "go_on"},
	/* a server's arguments may say whose replica it is */
	{"master-restart", SERVER, LASTS(10, 50), .begin = "master; put_in_order; kill; restart; REPLICAOF NO ONE"},
	{"master-restart-empty", SERVER, .harm = HARM_LOST, .until_whole = true, LASTS(10, 50),
	 .begin = "master; put_in_order; kill; forget; restart; REPLICAOF NO ONE"},
	{"master-pause", SERVER, .delays = true, LASTS(1, 50), .begin = "master; CLIENT PAUSE $ms WRITE"},
	{"replica-kill", SERVER, LASTS(1, 50), .begin = "replica; kill", .end = "restart; follow"},
	{"replica-stop", SERVER, LASTS(1, 50), .begin = "replica; stop", .end = "go_on"},
	{"link-hold", SERVER, LASTS(1, 50), .begin = "replica; hold_link", .end = "let_links_go"},
	{"links-hold", SERVER, LASTS(1, 50), .begin = "master; hold_links", .end = "let_links_go"},
	{"sentinels-kill", SERVER, LASTS(5, 60), .begin = "sentinels; kill", .end = "restart; " CALM},

	{"delay", ASIDE, .delays = true, LASTS(5, 50), .begin = "all; delay 1000 51000", .end = "delay 0"},
	{"sentinel-kill", ASIDE, LASTS(5, 60), .begin = "some_sentinels; kill", .end = "restart; " CALM},
	{"sentinel-stop", ASIDE, LASTS(5, 40), .begin = "some_sentinels; stop", .end = "go_on"},
};

static void
start(struct run *run)
{
	run->sentinels = sentinel_set_start(&(struct nodes_options){.doors = true, .fails_over = true, .args = server_args});
	run->nodes = sentinel_set_nodes(run->sentinels);
	run->count = SENTINEL_SERVERS;
	run->uri = sentinel_set_uri(run->sentinels);
	/* a second failover is not refused for long after the first */
	for (int i = 0; i < SENTINEL_SENTINELS; i++) {
		struct server *sentinel = sentinel_set_sentinel(run->sentinels, i);

		server_say(sentinel, "SENTINEL SET %s failover-timeout 1500", SENTINEL_NAME);
		freeReplyObject(server_command(sentinel, CALM + 1));
	}
}

WAITS_BY(await_synced, sentinel_set_await_synced(run->sentinels))
WAITS_BY(await_successor, sentinel_set_await_failover(run->sentinels, run->ousted))

/* An old master that is back is left alone for a while, as an operator would, or a sentinel does for eight seconds. */
static void
await_return(struct run *run, uint64_t *dice)
{
	(void)run;
	await_ms((int64_t)dice_roll(dice, LEASE_MS / 2));
}

static void
settle(struct run *run)
{
	unsigned master = (unsigned)sentinel_set_await_failover(run->sentinels, -1);

	for (unsigned i = 0; i < run->count; i++)
		if (i != master)
			follow(run, i);
}

const struct arena arena_sentinel = {
	.name = "sentinel", .faults = faults, .fault_count = sizeof faults / sizeof *faults, .verbs = verbs,
	.lease_ms = LEASE_MS, .guard_ms = GUARD_MS, .timeout_ms = TIMEOUT_MS, .start = start,
	.replicas = SENTINEL_SERVERS - 1, .master = master_of, .replica = some_replica, .await_synced = await_synced,
	.await_successor = await_successor, .await_return = await_return, .settle = settle,
};
