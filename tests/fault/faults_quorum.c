/* The arena of a quorum: five servers that know nothing of each other, and a proxy before each.
 *
 * As long as no more than two of them are without their data, or have been up for less than restart_guard_ms, nothing is excused: a
 * majority has what was answered. So no other fault begins before those that were restarted count again. Where it is three at once
 * that lose their data every hold is lost, but to nobody else: until they count again there is no majority.
 *
 * All locks are plain: there is no queue that could be fair. */
#include "tests/fault/faults.h"
#include "tests/support/await.h"
#include "tests/support/quorum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LEASE_MS = 1000, GUARD_MS = 2000, TIMEOUT_MS = 250, NODES = 5, ALL = (1 << NODES) - 1 };

/* So many of them. */
static void
choose(struct blow *blow, unsigned count)
{
	size_t at = 0;

	blow->chosen = 0;
	while ((unsigned)__builtin_popcount(blow->chosen) < count)
		blow->chosen |= 1U << roll(blow, NODES);
	for (unsigned i = 0; i < NODES; i++)
		if (blow->chosen & 1U << i)
			at += (size_t)snprintf(blow->words + at, sizeof blow->words - at, "%s%u", at > 0 ? ", " : "nodes ", i);
}

static void
choose_minority(struct blow *blow)
{
	choose(blow, 1 + (unsigned)roll(blow, 2));
}

#define for_each(i, blow) \
	for (unsigned i = 0; i < NODES; i++) \
		if ((blow)->chosen & 1U << i)

/* ---- servers ---- */

static void
kill_chosen(struct run *run, struct blow *blow, bool empty)
{
	for_each(i, blow)
	{
		server_kill(run->servers[i]);
		if (empty)
			forget(run->servers[i]);
	}
	blow->linger_ms = GUARD_MS;
}

static void
kill_minority(struct run *run, struct blow *blow)
{
	choose_minority(blow);
	kill_chosen(run, blow, false);
}

static void
kill_minority_and_forget(struct run *run, struct blow *blow)
{
	choose_minority(blow);
	kill_chosen(run, blow, true);
}

static void
kill_majority(struct run *run, struct blow *blow)
{
	choose(blow, 3);
	kill_chosen(run, blow, false);
}

static void
kill_majority_and_forget(struct run *run, struct blow *blow)
{
	choose(blow, 3);
	kill_chosen(run, blow, true);
}

static void
start_chosen(struct run *run, struct blow *blow)
{
	for_each(i, blow)
		server_restart(run->servers[i]);
}

/* One after the other loses its data, and never more than two of them are down or do not count again yet. */
static void
kill_in_turn(struct run *run, struct blow *blow)
{
	int64_t now = await_now_ns(), *counts_ns = run->counts_ns;
	unsigned out = 0, next = (unsigned)roll(blow, NODES);

	for (unsigned i = 0; i < NODES; i++) {
		if (server_pid(run->servers[i]) == 0 && roll(blow, 4) == 0) {
			server_restart(run->servers[i]);
			counts_ns[i] = await_now_ns() + GUARD_MS * INT64_C(1000000);
		}
		out += server_pid(run->servers[i]) == 0 || counts_ns[i] > now;
	}
	if (out >= 2 || server_pid(run->servers[next]) == 0)
		return;
	server_kill(run->servers[next]);
	forget(run->servers[next]);
}

static void
end_killing_in_turn(struct run *run, struct blow *blow)
{
	for (unsigned i = 0; i < NODES; i++)
		if (server_pid(run->servers[i]) == 0)
			server_restart(run->servers[i]);
	blow->linger_ms = GUARD_MS;
}

static void
stop_minority(struct run *run, struct blow *blow)
{
	choose_minority(blow);
	for_each(i, blow)
		stop_one(run, i);
}

static void
stop_majority(struct run *run, struct blow *blow)
{
	choose(blow, 3 + (unsigned)roll(blow, 3));
	for_each(i, blow)
		stop_one(run, i);
}

/* Now these, now those: each that answers has another past. */
static void
stop_others(struct run *run, struct blow *blow)
{
	for_each(i, blow)
		continue_one(run, i);
	stop_minority(run, blow);
}

static void
continue_chosen(struct run *run, struct blow *blow)
{
	for_each(i, blow)
		continue_one(run, i);
}

/* ---- networks ---- */

static void
calm_down(struct run *run, struct blow *blow)
{
	for_each(i, blow)
		calm_proxy(quorum_door(run->quorum, (int)i));
}

static void
hold_minority(struct run *run, struct blow *blow)
{
	choose_minority(blow);
	for_each(i, blow)
		proxy_hold(quorum_door(run->quorum, (int)i), (enum proxy_way)(1 + roll(blow, 3)));
}

static void
hold_majority(struct run *run, struct blow *blow)
{
	choose(blow, 3);
	for_each(i, blow)
		proxy_hold(quorum_door(run->quorum, (int)i), (enum proxy_way)(1 + roll(blow, 3)));
}

static void
drop_what_was_held(struct run *run, struct blow *blow)
{
	for_each(i, blow)
	{
		proxy_reset_all(quorum_door(run->quorum, (int)i));
		proxy_release(quorum_door(run->quorum, (int)i));
	}
}

static void
delay_some(struct run *run, struct blow *blow)
{
	choose(blow, 1 + (unsigned)roll(blow, NODES));
	for_each(i, blow)
		proxy_delay(quorum_door(run->quorum, (int)i), PROXY_BOTH, 1000 + (int64_t)roll(blow, TIMEOUT_MS * 600));
}

static void
refuse(struct run *run, struct blow *blow)
{
	choose_minority(blow);
	for_each(i, blow)
	{
		proxy_refuse(quorum_door(run->quorum, (int)i), true);
		proxy_reset_all(quorum_door(run->quorum, (int)i));
	}
}

/* One after the other. */
static void
reset_one(struct run *run, struct blow *blow)
{
	proxy_reset_all(quorum_door(run->quorum, (int)roll(blow, NODES)));
}

static void
cut_some_replies(struct run *run, struct blow *blow)
{
	choose(blow, 1 + (unsigned)roll(blow, NODES));
	for_each(i, blow)
	{
		proxy_skip(quorum_door(run->quorum, (int)i), (unsigned)roll(blow, 8));
		proxy_cut_reply(quorum_door(run->quorum, (int)i), "EVALSHA", (size_t)roll(blow, 20));
	}
}

static void
strand_some_requests(struct run *run, struct blow *blow)
{
	choose(blow, 1 + (unsigned)roll(blow, NODES));
	for_each(i, blow)
	{
		proxy_skip(quorum_door(run->quorum, (int)i), (unsigned)roll(blow, 8));
		proxy_strand_request(quorum_door(run->quorum, (int)i), "EVALSHA");
	}
}

static void
bad_weather(struct run *run, struct blow *blow)
{
	blow->chosen = ALL;
	for_each(i, blow)
		proxy_weather(quorum_door(run->quorum, (int)i),
		              &(struct proxy_weather){.lost = 200, .late = 10, .late_us = LEASE_MS * 300, .seed = blow->dice + i});
}

/* ---- all of them ---- */

static const struct fault faults[] = {
	FAULTS_OF_CONTENDERS(LONG),
	FAULTS_OF_ALL_SERVERS(ANY),

	{"nodes-kill", SERVER, LASTS(5, 200), .begin = kill_minority, .end = start_chosen},
	{"nodes-kill-empty", SERVER, LASTS(5, 200), .begin = kill_minority_and_forget, .end = start_chosen},
	{"majority-kill", SERVER, LASTS(5, 150), .begin = kill_majority, .end = start_chosen},
	{"majority-kill-empty", SERVER, .harm = HARM_LOST, LASTS(5, 150), .begin = kill_majority_and_forget, .end = start_chosen},
	{"nodes-kill-in-turn", SERVER, LASTS(200, 800), .begin = kill_in_turn, .again = kill_in_turn, .end = end_killing_in_turn},
	{"nodes-stop", SERVER, .delays = true, ANY, .begin = stop_minority, .end = continue_chosen},
	{"nodes-stop-in-turn", SERVER, .delays = true, ANY, .begin = stop_minority, .again = stop_others, .end = continue_chosen},
	{"majority-stop", SERVER, .delays = true, LASTS(5, 150), .begin = stop_majority, .end = continue_chosen},
	{"nodes-hold", SERVER, .delays = true, ANY, .begin = hold_minority, .end = calm_down},
	{"nodes-drop", SERVER, ANY, .begin = hold_minority, .end = drop_what_was_held},
	{"majority-hold", SERVER, .delays = true, LASTS(5, 150), .begin = hold_majority, .end = calm_down},
	{"nodes-delay", SERVER, .delays = true, ANY, .begin = delay_some, .end = calm_down},
	{"nodes-refuse", SERVER, ANY, .begin = refuse, .end = calm_down},
	{"replies-cut", SERVER, ANY, .begin = cut_some_replies, .end = calm_down},
	{"requests-strand", SERVER, .delays = true, ANY, .begin = strand_some_requests, .end = calm_down},
	{"weather", SERVER, .delays = true, ANY, .begin = bad_weather, .end = calm_down},

	{"reset", ASIDE, ANY, .begin = reset_one, .again = reset_one},
};

static const size_t fault_count = sizeof faults / sizeof *faults;

/* ---- the servers ---- */

static void
start(struct run *run)
{
	run->quorum = quorum_start(&(struct quorum_options){.count = NODES, .doors = true, .args = server_args});
	for (int i = 0; i < NODES; i++)
		run->servers[run->server_count++] = quorum_server(run->quorum, i);
}

static void
uri(const struct run *run, char uri[URI])
{
	snprintf(uri, URI, "%s", quorum_uri_guarded(run->quorum, GUARD_MS));
}

static void
stop(struct run *run)
{
	quorum_stop(run->quorum);
}

const struct arena arena_quorum = {
	.name = "quorum", .faults = faults, .fault_count = &fault_count, .lease_ms = LEASE_MS, .guard_ms = GUARD_MS, .timeout_ms = TIMEOUT_MS,
	.plain = true, .start = start, .uri = uri, .stop = stop,
};
