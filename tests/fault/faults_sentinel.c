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

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LEASE_MS = 4000, GUARD_MS = 6500, TIMEOUT_MS = 500, PAUSE_MS = 2000,
       ALL_SENTINELS = (1 << SENTINEL_SENTINELS) - 1 };

static unsigned
master_of(struct run *run)
{
	return (unsigned)sentinel_set_master_number(run->sentinels);
}

/* The master takes no writes from now on, and the replicas have all that it has. It lasts for a second at least. */
static unsigned
put_in_order(struct run *run)
{
	unsigned master = master_of(run);
	int64_t began;

	do {
		began = await_now_ns();
		order(run->servers[master], "CLIENT PAUSE %d WRITE", PAUSE_MS);
		sentinel_set_await_synced(run->sentinels);
	} while (await_now_ns() - began > (PAUSE_MS - 1000) * INT64_C(1000000));
	return master;
}

static void
say_which(struct blow *blow, const char *what, unsigned i)
{
	snprintf(blow->words, sizeof blow->words, "%s %u", what, i);
}

/* ---- the master ---- */

static void
oust(struct run *run, struct blow *blow, unsigned master)
{
	say_which(blow, "server", master);
	run->ousted = (int)master;
	run->ordered.since_ns = await_now_ns();
	run->ordered.port = sentinel_set_port(run->sentinels, run->ousted);
}

static void
kill_master(struct run *run, struct blow *blow)
{
	oust(run, blow, put_in_order(run));
	server_kill(run->servers[run->ousted]);
}

static void
kill_master_as_it_comes(struct run *run, struct blow *blow)
{
	oust(run, blow, master_of(run));
	server_kill(run->servers[run->ousted]);
}

static void
stop_master(struct run *run, struct blow *blow)
{
	oust(run, blow, put_in_order(run));
	stop_one(run, (unsigned)run->ousted);
}

/* For clients, sentinels and replicas alike it is as if its host had vanished; it goes on. */
static void
cut_master_off(struct run *run, struct blow *blow)
{
	oust(run, blow, put_in_order(run));
	proxy_hold(sentinel_set_door(run->sentinels, run->ousted), PROXY_BOTH);
}

static void
pass_master_over(struct run *run, struct blow *blow)
{
	oust(run, blow, master_of(run));
	sentinel_set_begin_failover(run->sentinels);
}

static void
hold_links(struct run *run, struct blow *blow)
{
	blow->chosen = master_of(run);
	say_which(blow, "from server", blow->chosen);
	sentinel_set_hold_replication(run->sentinels);
}

/* What was held is let go when there is another master. */
static void
kill_master_with_held_links(struct run *run, struct blow *blow)
{
	oust(run, blow, blow->chosen);
	server_kill(run->servers[run->ousted]);
}

/* Not for as long as it is missed after. */
static void
stop_master_for_a_moment(struct run *run, struct blow *blow)
{
	blow->chosen = put_in_order(run);
	say_which(blow, "server", blow->chosen);
	stop_one(run, blow->chosen);
}

static void
continue_chosen(struct run *run, struct blow *blow)
{
	continue_one(run, blow->chosen);
}

/* A server's arguments may say whose replica it is. */
static void
restart_master(struct run *run, struct blow *blow)
{
	server_restart(run->servers[blow->chosen]);
	order(run->servers[blow->chosen], "REPLICAOF NO ONE");
}

static void
restart_master_with_data(struct run *run, struct blow *blow)
{
	blow->chosen = put_in_order(run);
	say_which(blow, "server", blow->chosen);
	server_kill(run->servers[blow->chosen]);
	restart_master(run, blow);
}

static void
restart_master_empty(struct run *run, struct blow *blow)
{
	blow->chosen = put_in_order(run);
	say_which(blow, "server", blow->chosen);
	server_kill(run->servers[blow->chosen]);
	forget(run->servers[blow->chosen]);
	restart_master(run, blow);
}

static void
pause_master(struct run *run, struct blow *blow)
{
	order(run->servers[master_of(run)], "CLIENT PAUSE %" PRId64 " WRITE", blow->for_ms);
}

/* ---- replicas ---- */

static unsigned
some_replica(struct run *run, struct blow *blow)
{
	unsigned master = master_of(run);

	say_which(blow, "server", (master + 1 + (unsigned)roll(blow, SENTINEL_SERVERS - 1)) % SENTINEL_SERVERS);
	return (unsigned)(blow->words[strlen("server ")] - '0');
}

static void
follow(struct run *run, unsigned i)
{
	order(run->servers[i], "REPLICAOF 127.0.0.1 %d", sentinel_set_port(run->sentinels, (int)master_of(run)));
}

static void
kill_replica(struct run *run, struct blow *blow)
{
	blow->chosen = some_replica(run, blow);
	server_kill(run->servers[blow->chosen]);
}

static void
restart_replica(struct run *run, struct blow *blow)
{
	server_restart(run->servers[blow->chosen]);
	follow(run, blow->chosen);
}

static void
stop_replica(struct run *run, struct blow *blow)
{
	blow->chosen = some_replica(run, blow);
	stop_one(run, blow->chosen);
}

static void
hold_link(struct run *run, struct blow *blow)
{
	blow->chosen = some_replica(run, blow);
	sentinel_set_hold_link(run->sentinels, (int)master_of(run), (int)blow->chosen);
}

static void
let_links_go(struct run *run, struct blow *blow)
{
	(void)blow;
	sentinel_set_unhold_replication(run->sentinels);
}

static void
delay_all(struct run *run, struct blow *blow)
{
	int64_t us = 1000 + (int64_t)roll(blow, 50000);

	snprintf(blow->words, sizeof blow->words, "by %" PRId64 " us", us);
	for (int i = 0; i < SENTINEL_SERVERS; i++)
		proxy_delay(sentinel_set_door(run->sentinels, i), PROXY_BOTH, us);
}

static void
delay_no_more(struct run *run, struct blow *blow)
{
	(void)blow;
	for (int i = 0; i < SENTINEL_SERVERS; i++)
		proxy_delay(sentinel_set_door(run->sentinels, i), PROXY_BOTH, 0);
}

/* ---- sentinels ---- */

/* One or two of the three; they may all be killed at the same time ("sentinels-kill"). */
static void
choose_sentinels(struct blow *blow)
{
	unsigned some = 1U << roll(blow, SENTINEL_SENTINELS);

	blow->chosen = roll(blow, 2) == 0 ? some : ALL_SENTINELS & ~some;
	snprintf(blow->words, sizeof blow->words, "which are%s%s%s", blow->chosen & 1 ? " 0" : "",
	         blow->chosen & 2 ? " 1" : "",
	         blow->chosen & 4 ? " 2" : "");
}

static void
each_sentinel(const struct run *run, const struct blow *blow, void (*what)(struct server *sentinel))
{
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		if (blow->chosen & 1U << i)
			what(sentinel_set_sentinel(run->sentinels, i));
}

static void
stop_sentinel(struct server *sentinel)
{
	if (server_pid(sentinel) != 0)
		server_pause(sentinel);
}

static void
continue_sentinel(struct server *sentinel)
{
	if (server_pid(sentinel) != 0)
		server_resume(sentinel);
}

static void
kill_sentinels(struct run *run, struct blow *blow)
{
	choose_sentinels(blow);
	each_sentinel(run, blow, server_kill);
}

/* Who stood still, or was not scheduled, for two seconds does not stand aside for half a minute (TILT). An option of
 * Redis 7 and later, and not kept. */
static void
calm(struct server *sentinel)
{
	freeReplyObject(server_command(sentinel, "SENTINEL DEBUG INFO-PERIOD 1000 TILT-TRIGGER 20000"));
}

static void
start_sentinels(struct run *run, struct blow *blow)
{
	each_sentinel(run, blow, server_restart);
	each_sentinel(run, blow, calm);
}

static void
stop_sentinels(struct run *run, struct blow *blow)
{
	choose_sentinels(blow);
	each_sentinel(run, blow, stop_sentinel);
}

static void
continue_sentinels(struct run *run, struct blow *blow)
{
	each_sentinel(run, blow, continue_sentinel);
}

/* Nobody says who the master is. */
static void
kill_all_sentinels(struct run *run, struct blow *blow)
{
	blow->chosen = ALL_SENTINELS;
	each_sentinel(run, blow, server_kill);
}

/* ---- all of them ---- */

#define OUSTS .until_whole = true, .delays = true, LASTS(10, 30)
#define BREACH(n) .harm = HARM_BREACH, .enough = (n)

static const struct fault faults[] = {
	FAULTS_OF_CONTENDERS(LASTS(105, 150)),
	FAULTS_OF_ALL_SERVERS(LASTS(10, 60)),

	{"master-kill", SERVER, OUSTS, .begin = kill_master},
	{"master-kill-amid-writes", SERVER, BREACH(2), OUSTS, .begin = kill_master_as_it_comes},
	{"master-stop", SERVER, OUSTS, .begin = stop_master},
	{"master-cut-off", SERVER, OUSTS, .begin = cut_master_off},
	{"failover", SERVER, BREACH(2), OUSTS, .begin = pass_master_over},
	{"links-hold-master-kill", SERVER, BREACH(1), .until_whole = true, LASTS(3, 30), .begin = hold_links,
	 .end = kill_master_with_held_links},
	{"master-stop-short", SERVER, .delays = true, LASTS(1, 12), .begin = stop_master_for_a_moment,
	 .end = continue_chosen},
	{"master-restart", SERVER, LASTS(10, 50), .begin = restart_master_with_data},
	{"master-restart-empty", SERVER, .harm = HARM_LOST, .until_whole = true, LASTS(10, 50),
	 .begin = restart_master_empty},
	{"master-pause", SERVER, .delays = true, LASTS(1, 50), .begin = pause_master},
	{"replica-kill", SERVER, LASTS(1, 50), .begin = kill_replica, .end = restart_replica},
	{"replica-stop", SERVER, LASTS(1, 50), .begin = stop_replica, .end = continue_chosen},
	{"link-hold", SERVER, LASTS(1, 50), .begin = hold_link, .end = let_links_go},
	{"links-hold", SERVER, LASTS(1, 50), .begin = hold_links, .end = let_links_go},
	{"sentinels-kill", SERVER, LASTS(5, 60), .begin = kill_all_sentinels, .end = start_sentinels},

	{"delay", ASIDE, .delays = true, LASTS(5, 50), .begin = delay_all, .end = delay_no_more},
	{"sentinel-kill", ASIDE, LASTS(5, 60), .begin = kill_sentinels, .end = start_sentinels},
	{"sentinel-stop", ASIDE, LASTS(5, 40), .begin = stop_sentinels, .end = continue_sentinels},
};

static const size_t fault_count = sizeof faults / sizeof *faults;

/* ---- the servers ---- */

static void
start(struct run *run)
{
	run->sentinels = sentinel_set_start(&(struct sentinel_options){.doors = true, .args = server_args});
	for (int i = 0; i < SENTINEL_SERVERS; i++)
		run->servers[run->server_count++] = sentinel_set_server(run->sentinels, i);
	/* a second failover is not refused for long after the first */
	for (int i = 0; i < SENTINEL_SENTINELS; i++) {
		struct server *sentinel = sentinel_set_sentinel(run->sentinels, i);

		order(sentinel, "SENTINEL SET %s failover-timeout 1500", sentinel_set_name(run->sentinels));
		calm(sentinel);
	}
}

static void
uri(const struct run *run, char uri[URI])
{
	snprintf(uri, URI, "%s", sentinel_set_uri(run->sentinels));
}

/* An old master that is back is left alone for a while, as an operator would, or a sentinel does for eight seconds. */
static void
mend(struct run *run, uint64_t *dice)
{
	unsigned breaches = 0;

	if (run->ousted >= 0) {
		unsigned old = (unsigned)run->ousted;

		sentinel_set_await_failover(run->sentinels, run->ousted);
		breaches += returns_early(run, dice, SENTINEL_SERVERS - 1);
		sentinel_set_unhold_replication(run->sentinels);
		proxy_let_go(sentinel_set_door(run->sentinels, run->ousted), PROXY_BOTH);
		continue_one(run, old);
		if (server_pid(run->servers[old]) == 0)
			server_restart(run->servers[old]);
		await_ms((int64_t)dice_roll(dice, LEASE_MS / 2));
		run->ousted = -1;
	}
	sentinel_set_await_failover(run->sentinels, -1);
	for (unsigned i = 0; i < run->server_count; i++)
		if (i != master_of(run))
			follow(run, i);
	sentinel_set_await_synced(run->sentinels);
	for (breaches += note_failovers(run); breaches > 0; breaches--)
		history_note(run->history, "mended");
}

static void
stop(struct run *run)
{
	sentinel_set_stop(run->sentinels);
}

const struct arena arena_sentinel = {
	.name = "sentinel", .faults = faults, .fault_count = &fault_count, .lease_ms = LEASE_MS, .guard_ms = GUARD_MS,
	.timeout_ms = TIMEOUT_MS,
	.start = start, .uri = uri, .mend = mend, .stop = stop,
};
