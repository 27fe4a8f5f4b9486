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

enum { LEASE_MS = 1000, GUARD_MS = 2000, TIMEOUT_MS = 250, NODES = 5 };

/* One after the other loses its data, and never more than two of them are down or do not count again yet. */
static void
kill_in_turn(struct step *s)
{
	int64_t now = await_now_ns(), *counts_ns = s->run->counts_ns;
	unsigned out = 0, next = (unsigned)roll(s->blow, NODES);
	const struct node *nodes = s->run->nodes;

	for (unsigned i = 0; i < NODES; i++) {
		if (server_pid(nodes[i].server) == 0 && roll(s->blow, 4) == 0) {
			server_restart(nodes[i].server);
			counts_ns[i] = await_now_ns() + GUARD_MS * INT64_C(1000000);
		}
		out += server_pid(nodes[i].server) == 0 || counts_ns[i] > now;
	}
	if (out >= 2 || server_pid(nodes[next].server) == 0)
		return;
	server_kill(nodes[next].server);
	forget(nodes[next].server);
}

VERB_FUNCTION(kill_in_turn, kill_in_turn(s))
static const struct verb verbs[] = {VERB_ONCE(kill_in_turn) {.name = NULL}};

#define UNTIL_IT_COUNTS "linger 2000"
_Static_assert(GUARD_MS == 2000, "as long as it lingers");

static const struct fault faults[] = {
	FAULTS_OF_CONTENDERS(LONG),
	FAULTS_OF_ALL_SERVERS(ASIDE, ANY),

	{"nodes-kill", SERVER, LASTS(5, 200), .begin = "choose 1 2; kill; " UNTIL_IT_COUNTS, .end = "restart"},
	{"nodes-kill-empty", SERVER, LASTS(5, 200), .begin = "choose 1 2; kill; forget; " UNTIL_IT_COUNTS, .end = "restart"},
	{"majority-kill", SERVER, LASTS(5, 150), .begin = "choose 3; kill; " UNTIL_IT_COUNTS, .end = "restart"},
	{"majority-kill-empty", SERVER, .harm = HARM_LOST, LASTS(5, 150),
	 .begin = "choose 3; kill; forget; " UNTIL_IT_COUNTS, .end = "restart"},
	{"nodes-kill-in-turn", SERVER, LASTS(200, 800),
	 .begin = "kill_in_turn", .again = "kill_in_turn", .end = "all; restart; " UNTIL_IT_COUNTS},
	{"nodes-stop", SERVER, .delays = true, ANY, .begin = "choose 1 2; stop", .end = "go_on"},
	/* now these, now those: each that answers has another past */
	{"nodes-stop-in-turn", SERVER, .delays = true, ANY,
	 .begin = "choose 1 2; stop", .again = "go_on; choose 1 2; stop", .end = "go_on"},
	{"majority-stop", SERVER, .delays = true, LASTS(5, 150), .begin = "choose 3 5; stop", .end = "go_on"},
	{"nodes-hold", SERVER, .delays = true, ANY, .begin = "choose 1 2; hold_some_way", .end = "calm_down"},
	{"nodes-drop", SERVER, ANY, .begin = "choose 1 2; hold_some_way", .end = "drop"},
	{"majority-hold", SERVER, .delays = true, LASTS(5, 150), .begin = "choose 3; hold_some_way", .end = "calm_down"},
	{"nodes-delay", SERVER, .delays = true, ANY, .begin = "choose 1 5; delay 1000 151000", .end = "calm_down"},
	{"nodes-refuse", SERVER, ANY, .begin = "choose 1 2; refuse", .end = "calm_down"},
	{"replies-cut", SERVER, ANY, .begin = "choose 1 5; cut_reply_to_step 0 19", .end = "calm_down"},
	{"requests-strand", SERVER, .delays = true, ANY, .begin = "choose 1 5; strand_request", .end = "calm_down"},
	{"weather", SERVER, .delays = true, ANY, .begin = "all; weather 300000", .end = "calm_down"},

	{"reset", ASIDE, ANY, .begin = "choose 1; reset", .again = "choose 1; reset"},
};

static void
start(struct run *run)
{
	run->quorum = quorum_start(&(struct nodes_options){.count = NODES, .doors = true, .args = server_args});
	run->nodes = quorum_nodes(run->quorum);
	run->count = NODES;
	run->uri = quorum_uri_guarded(run->quorum, GUARD_MS);
}

const struct arena arena_quorum = {
	.name = "quorum", .faults = faults, .fault_count = sizeof faults / sizeof *faults, .verbs = verbs,
	.lease_ms = LEASE_MS, .guard_ms = GUARD_MS, .timeout_ms = TIMEOUT_MS, .plain = true, .start = start,
};
