/* How a fault is played, what its verbs do that all arenas have, and how one is made whole where masters have successors. See faults.h. */
#include "tests/fault/faults.h"

#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/quorum.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/trouble.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAUSE_MS = 2000 };

const char *const server_args[] = ARGS_OF_SERVERS("everysec");

bool
arena_has(const struct arena *arena, const struct fault *fault)
{
	return !arena->sealed || !fault->reads;
}

void
arena_stop(struct run *run)
{
	cluster_stop(run->cluster);
	sentinel_set_stop(run->sentinels);
	quorum_stop(run->quorum);
	server_stop(run->alone.server);
}

uint64_t
roll(struct blow *blow, uint64_t below)
{
	return dice_roll(&blow->dice, below);
}

int64_t
between(struct step *s)
{
	return s->n[0] + (s->n[1] > s->n[0] ? (int64_t)roll(s->blow, (uint64_t)(s->n[1] - s->n[0] + 1)) : 0);
}

/* ---- who it is about ---- */

unsigned
the_chosen(const struct blow *blow)
{
	return (unsigned)__builtin_ctz(blow->chosen);
}

static void
choose_these(struct blow *blow, unsigned chosen)
{
	size_t at = 0;

	blow->chosen = chosen;
	for (unsigned i = 0; i < MAX_SERVERS; i++)
		if (chosen & 1U << i)
			at += (size_t)snprintf(blow->words + at, sizeof blow->words - at, "%s%u", at > 0 ? ", " : "at ", i);
}

static void
choose(struct step *s)
{
	unsigned count = (unsigned)between(s), chosen = 0;

	while ((unsigned)__builtin_popcount(chosen) < count)
		chosen |= 1U << roll(s->blow, s->run->count);
	choose_these(s->blow, chosen);
}

static unsigned
some_master(struct step *s)
{
	return s->run->arena->master(s->run, s->blow);
}

#define CHOICES(X) \
	X(all, s->blow->chosen = (1U << s->run->count) - 1) \
	X(choose, choose(s)) \
	X(master, choose_these(s->blow, 1U << some_master(s))) \
	X(replica, choose_these(s->blow, 1U << s->run->arena->replica(s->run, s->blow, some_master(s)))) \
	X(linger, s->blow->linger_ms = s->n[0])

/* ---- contenders ---- */

#define CONTENDERS_VERBS(X) \
	X(kill_contender, crew_kill(s->run->crew, s->blow->target)) \
	X(replace_contender, crew_replace(s->run->crew, s->blow->target)) \
	X(freeze_contender, crew_freeze(s->run->crew, s->blow->target)) \
	X(thaw_contender, crew_thaw(s->run->crew, s->blow->target))

/* ---- servers ---- */

static bool
is_told(const struct run *run, unsigned i)
{
	return server_pid(run->nodes[i].server) != 0 && !run->still[i];
}

static void
stop(struct run *run, unsigned i)
{
	if (!is_told(run, i))
		return;
	server_pause(run->nodes[i].server);
	run->still[i] = true;
}

static void
go_on(struct run *run, unsigned i)
{
	if (run->still[i] && server_pid(run->nodes[i].server) != 0)
		server_resume(run->nodes[i].server);
	run->still[i] = false;
}

static void
restart(struct server *server)
{
	if (server_pid(server) == 0)
		server_restart(server);
}

void
remove_data(const struct server *server, const char *name)
{
	char command[4096];

	snprintf(command, sizeof command, "rm -rf '%s'/%s", server_folder(server), name);
	if (system(command) != 0)
		trouble("%s", command);
}

void
forget(const struct server *server)
{
	remove_data(server, "appendonly*"); /* a folder; before Redis 7, a file */
	remove_data(server, "dump.rdb");
}

#define SERVERS_VERBS(X) \
	X(kill, server_kill(s->server)) \
	X(forget, forget(s->server)) \
	X(restart, restart(s->server)) \
	X(stop, stop(s->run, s->i)) \
	X(go_on, go_on(s->run, s->i))

/* ---- masters that get a successor ---- */

/* The master takes no writes from now on, and the replicas have all that it has. It lasts for a second at least. */
static void
put_in_order(struct step *s)
{
	int64_t began;

	do {
		began = await_now_ns();
		server_say(s->server, "CLIENT PAUSE %d WRITE", PAUSE_MS);
		s->run->arena->await_synced(s->run);
	} while (await_now_ns() - began > (PAUSE_MS - 1000) * INT64_C(1000000));
}

/* From now on its replica takes over by order: in a cluster it has said since that it is one. */
static void
order_takeover(struct step *s)
{
	struct run *run = s->run;
	unsigned replica = run->cluster != NULL ? run->arena->replica(run, s->blow, s->i) : 0;

	run->ordered = (struct failover){.since_ns = await_now_ns(), .port = run->nodes[s->i].told};
	if (run->cluster != NULL)
		await_true(watch_has_looked(run->watch, replica, run->ordered.since_ns));
}

static void
oust(struct step *s)
{
	s->run->ousted = (int)s->i;
	order_takeover(s);
}

/* What the master sends to all of its replicas. */
static void
hold_links(struct step *s)
{
	unsigned held = 0;

	for (unsigned i = 0; i < s->run->count; i++)
		held += proxy_set_held_from(s->door, s->run->nodes[i].address, true) > 0;
	if (held != s->run->arena->replicas)
		trouble("server %u has %u replicas", s->i, held);
}

#define MASTERS_VERBS(X) \
	X(put_in_order, put_in_order(s)) \
	X(order_takeover, order_takeover(s)) \
	X(oust, oust(s)) \
	X(hold_links, hold_links(s)) \
	X(let_links_go, nodes_let_links_go(s->run->nodes, (int)s->run->count))

/* ---- networks ---- */

static enum proxy_way
some_way(struct step *s)
{
	return (enum proxy_way)(1 + roll(s->blow, 3));
}

/* It is as at the start; what it held goes on. */
static void
calm_down(struct proxy *proxy)
{
	proxy_delay(proxy, PROXY_BOTH, 0);
	proxy_drip(proxy, PROXY_BOTH, 0);
	proxy_refuse(proxy, false);
	proxy_drop_messages(proxy, 0);
	proxy_weather(proxy, NULL);
	proxy_disarm(proxy);
	proxy_release(proxy);
}

/* Is a fault of one request to be armed, for the first time or since it has been hit? */
static bool
arms(struct step *s)
{
	if (s->blow->begun && !proxy_hit(s->door))
		return false;
	proxy_skip(s->door, (unsigned)roll(s->blow, 8));
	return true;
}

static void
cut_request(struct step *s)
{
	if (arms(s))
		proxy_cut_request(s->door, NULL);
}

/* At any byte. The longest answers to a step have some 80; those of the hello have more. */
static void
cut_reply(struct step *s)
{
	if (arms(s))
		proxy_cut_reply(s->door, NULL, (size_t)roll(s->blow, roll(s->blow, 4) == 0 ? 4000 : 80));
}

static void
weather(struct step *s)
{
	proxy_weather(s->door, &(struct proxy_weather){.lost = 200, .late = 10, .late_us = s->n[0], .messages_late = 40,
	                                               .messages_dropped = 10, .messages_doubled = 10, .seed = s->blow->dice + s->i});
}

/* What was held is dropped: it never arrives. A request that is stranded is executed when the fault is over, long after its sender has
 * lost the connection. */
#define PROXIES_VERBS(X) \
	X(calm_down, calm_down(s->door)) \
	X(delay, proxy_delay(s->door, PROXY_BOTH, between(s))) \
	X(delay_some_way, proxy_delay(s->door, some_way(s), between(s))) \
	X(drip, proxy_drip(s->door, PROXY_BOTH, between(s))) \
	X(drip_some_way, proxy_drip(s->door, some_way(s), between(s))) \
	X(hold, proxy_hold(s->door, PROXY_BOTH)) \
	X(hold_requests, proxy_hold(s->door, PROXY_TO_SERVER)) \
	X(hold_replies, proxy_hold(s->door, PROXY_TO_CLIENT)) \
	X(hold_some_way, proxy_hold(s->door, some_way(s))) \
	X(let_go, proxy_let_go(s->door, PROXY_BOTH)) \
	X(drop, proxy_reset_all(s->door); proxy_release(s->door)) \
	X(reset, proxy_reset_all(s->door)) \
	X(refuse, proxy_refuse(s->door, true); proxy_reset_all(s->door)) \
	X(hold_messages, proxy_hold_messages(s->door, true)) \
	X(drop_messages, proxy_drop_messages(s->door, 50 + 50 * (unsigned)roll(s->blow, 2))) \
	X(cut_request, cut_request(s)) \
	X(cut_reply, cut_reply(s)) \
	X(cut_reply_to_step, if (arms(s)) proxy_cut_reply(s->door, "EVALSHA", (size_t)between(s))) \
	X(hold_reply, if (arms(s)) proxy_hold_reply(s->door, "EVALSHA")) \
	X(strand_request, if (arms(s)) proxy_strand_request(s->door, "EVALSHA")) \
	X(weather, weather(s))

/* ---- how a fault is played ---- */

CHOICES(VERB_FUNCTION)
CONTENDERS_VERBS(VERB_FUNCTION)
SERVERS_VERBS(VERB_FUNCTION)
MASTERS_VERBS(VERB_FUNCTION)
PROXIES_VERBS(VERB_FUNCTION)

static const struct verb verbs[] = {
	CHOICES(VERB_ONCE)
	CONTENDERS_VERBS(VERB_ONCE)
	SERVERS_VERBS(VERB_FOR_EACH)
	MASTERS_VERBS(VERB_FOR_EACH)
	PROXIES_VERBS(VERB_FOR_EACH)
	{.name = NULL},
};

static const struct verb *
find_verb(const struct arena *arena, const char *name)
{
	for (const struct verb *own = arena->verbs; own != NULL && own->name != NULL; own++)
		if (strcmp(own->name, name) == 0)
			return own;
	for (const struct verb *verb = verbs; verb->name != NULL; verb++)
		if (strcmp(verb->name, name) == 0)
			return verb;
	trouble("no fault of %s can do '%s'", arena->name, name);
}

static void
play_verb(struct run *run, struct blow *blow, const char *text)
{
	struct step step = {.run = run, .blow = blow};
	const struct verb *verb;
	char name[32];

	if (sscanf(text, "%31s %" SCNd64 " %" SCNd64, name, &step.n[0], &step.n[1]) < 1)
		trouble("no verb: '%s'", text);
	verb = find_verb(run->arena, name);
	if (blow->fault->seat == SEAT_PROXY)
		step.door = crew_proxy(run->crew, blow->target);
	if (verb->once || blow->fault->seat == SEAT_PROXY) {
		verb->play(&step);
		return;
	}
	for (step.i = 0; step.i < MAX_SERVERS; step.i++)
		if (blow->chosen & 1U << step.i) {
			step.server = run->nodes[step.i].server;
			step.door = run->nodes[step.i].door;
			verb->play(&step);
		}
}

/* One of those between < and >, which is `it` from now on. */
static const char *
pick(struct blow *blow, const char *list)
{
	const char *end = strchr(list, '>');
	size_t count = 1, which;

	for (const char *at = list; at < end; at++)
		count += *at == '|';
	for (which = roll(blow, count); which > 0; which--)
		list = strchr(list, '|') + 1;
	snprintf(blow->words, sizeof blow->words, "%.*s", (int)strcspn(list, "|>"), list);
	return end + 1;
}

static void
play_order(struct run *run, struct blow *blow, const char *text)
{
	bool must = *text != '?';
	char out[512] = "";

	for (text += !must; *text != '\0';) {
		size_t n = strlen(out);

		if (*text == '<') {
			text = pick(blow, text + 1);
			strcat(out, blow->words);
		} else if (strncmp(text, "$it", 3) == 0) {
			text += 3;
			strcat(out, blow->words);
		} else if (strncmp(text, "$ms", 3) == 0) {
			text += 3;
			snprintf(out + n, sizeof out - n, "%" PRId64, blow->for_ms);
		} else {
			out[n] = *text++;
		}
	}
	for (unsigned i = 0; i < MAX_SERVERS; i++)
		if ((blow->chosen & 1U << i) == 0 || (!must && !is_told(run, i)))
			continue;
		else if (must)
			server_say(run->nodes[i].server, out);
		else
			freeReplyObject(server_command(run->nodes[i].server, out));
}

void
fault_play(struct run *run, struct blow *blow, const char *text)
{
	char copy[512], *rest = copy;

	if (text == NULL)
		return;
	if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy)
		trouble("too long: %s", text);
	for (char *one; (one = strsep(&rest, ";")) != NULL;) {
		one += strspn(one, " ");
		if (strncmp(one, "maybe ", 6) == 0) {
			if (roll(blow, 2) == 0)
				continue;
			one += 6;
		}
		if (isupper((unsigned char)*one) || *one == '?')
			play_order(run, blow, one);
		else
			play_verb(run, blow, one);
	}
}

static void
check(const struct arena *arena, const char *text)
{
	char name[32];

	for (const char *at = text; at != NULL; at = strchr(at, ';')) {
		at += strspn(at, "; ");
		if (islower((unsigned char)*at) && strncmp(at, "maybe ", 6) != 0 && sscanf(at, "%31[^; ]", name) == 1)
			find_verb(arena, name);
	}
}

void
arena_check(const struct arena *arena)
{
	for (size_t i = 0; i < arena->fault_count; i++) {
		check(arena, arena->faults[i].begin);
		check(arena, arena->faults[i].again);
		check(arena, arena->faults[i].end);
	}
}

/* ---- making it whole ---- */

/* Note what sentinels, or replicas of a cluster, did without an order. How many breaches were that? */
static unsigned
note_failovers(struct run *run)
{
	struct failover failover;
	unsigned breaches = 0;

	while (watch_failover(run->watch, &failover)) {
		if (failover.port == run->ordered.port && failover.since_ns >= run->ordered.since_ns) {
			run->ordered.port = 0;
			continue;
		}
		if (run->min_replicas == 0) {
			history_note_at(run->history, failover.since_ns, "breach failover");
			breaches++;
		}
		history_note_at(run->history, failover.since_ns, "fault failover without an order, from port %d", failover.port);
	}
	return breaches;
}

/* A master that has a successor is about to come back: wait until all who use it have had time to hear of that. Or do not, now and then, and
 * note that as a breach, unless so many min_replicas as there are keep it from harm. */
static bool
returns_early(struct run *run, uint64_t *dice)
{
	bool early = dice_roll(dice, 3) == 0;

	while (!early && await_now_ns() - run->calm_ns < run->arena->lease_ms * INT64_C(1000000) / 2)
		await_ms(10);
	if (early && run->min_replicas < run->arena->replicas) {
		history_note(run->history, "breach returns-early");
		return true;
	}
	return false;
}

void
arena_mend(struct run *run, uint64_t *dice)
{
	const struct arena *arena = run->arena;
	unsigned breaches = 0;

	if (arena->replicas == 0)
		return;
	if (run->ousted >= 0) {
		arena->await_successor(run);
		breaches += returns_early(run, dice);
		nodes_let_links_go(run->nodes, (int)run->count);
		proxy_let_go(run->nodes[run->ousted].door, PROXY_BOTH);
		go_on(run, (unsigned)run->ousted);
		restart(run->nodes[run->ousted].server);
		arena->await_return(run, dice);
		run->ousted = -1;
	}
	arena->settle(run);
	arena->await_synced(run);
	for (breaches += note_failovers(run); breaches > 0; breaches--)
		history_note(run->history, "mended");
}
