/* What becomes of a lock that many processes want: who gets it when, how fast it passes on, and at what cost.
 *
 * Each contender is a process with a client of its own: it acquires, sleeps a millisecond and releases (crowd.c).
 *
 * - Hand-off: from just before leash_lock_release in one process to the return of leash_lock_acquire in the next one,
 *   of all turns for which somebody else had asked before. Which two belong together is told by the order of holding,
 *   which is that of the fences (a line below says so). PING is a blocking one by hiredis, paced like the holds: as
 *   many processes send one in turn, after sleeping a millisecond each. A single process that sends them all keeps warm
 *   what a contender finds cold: its PING is printed too. They are measured in each round, in turns who is first, and
 *   the ratio is that of neighbors. Nothing is pinned.
 * - Order: the server's MONITOR shows which token took a place, or the free lock, when (arrivals.c); which one held
 *   when, the holders write down, as leash_lock_token tells it. Both lists must be the same, one by one. MONITOR costs
 *   the server time, so these rounds are rounds of their own, from which nothing else is taken.
 * - Longest: no acquire may take longer than three times its fair share (a turn for each process), and 50 ms.
 * - Scripts: all that the server was sent (INFO commandstats: evalsha, eval), by acquires, releases and heartbeats.
 *
 * In all rounds no two may be inside at once, fences must grow, and the contenders leave one after another
 * without one of them being left asleep: that, unlike a bar, fails always. Figures are medians of the
 * rounds, which are interleaved; counts are sums. */
#include "bench/arrivals.h"
#include "bench/crowd.h"
#include "bench/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is measured ---- */

enum what {
	SPREAD, RATE, HANDOFF, SLOW_HANDOFF, PING, WARM_PING, HANDOFF_RATIO, ARRIVED, QUEUED, DISORDER, LONGEST, ALLOWED,
	LONGEST_RATIO, SCRIPTS,
	OVERLAPS, REGRESSIONS, HUNG, WHATS
};

static const struct {
	const char *text;
	int decimals;
	bool is_count;   /* of which all rounds together matter */
	bool is_law;     /* and it must be 0, always */
} whats[WHATS] = {
	[SPREAD] = { .text = "turns of a process, most / fewest", .decimals = 3 },
	[RATE] = { .text = "turns per second, all together" },
	[HANDOFF] = { .text = "hand-off p50, us", .decimals = 1 },
	[SLOW_HANDOFF] = { .text = "hand-off p99, us", .decimals = 1 },
	[PING] = { .text = "PING p50, the processes in turn, us", .decimals = 1 },
	[WARM_PING] = { .text = "PING p50, one process alone, us", .decimals = 1 },
	[HANDOFF_RATIO] = { .text = "hand-off p50 / PING p50", .decimals = 2 },
	[ARRIVED] = { .text = "arrivals that were watched", .is_count = true },
	[QUEUED] = { .text = "of which took a place in the queue", .is_count = true },
	[DISORDER] = { .text = "turns out of the order of arrival", .is_count = true, .is_law = true },
	[LONGEST] = { .text = "longest acquire, ms", .decimals = 1 },
	[ALLOWED] = { .text = "3 x the fair share + 50 ms, ms", .decimals = 1 },
	[LONGEST_RATIO] = { .text = "longest acquire / (3 x the fair share + 50 ms)", .decimals = 2 },
	[SCRIPTS] = { .text = "scripts for an acquire and a release", .decimals = 3 },
	[OVERLAPS] = { .text = "turns during another's turn", .is_count = true, .is_law = true },
	[REGRESSIONS] = { .text = "fences not larger than the one before", .is_count = true, .is_law = true },
	[HUNG] = { .text = "contenders left asleep", .is_count = true, .is_law = true },
};

enum kind { TURNS, HANDOFFS, ORDER };

struct part {
	const char *name;
	enum kind kind;
	bool fair;
	unsigned processes;
	unsigned share;          /* its rounds take this part of the time: 1 / share */
	double bar[WHATS];       /* 0: there is none, unless it is a law */
	double figures[WHATS][MAX_ROUNDS];
	bool has[WHATS];
};

static struct part parts[] = {
	{ .name = "fair-8", .kind = HANDOFFS, .fair = true, .processes = 8, .share = 1,
	  .bar = { [SPREAD] = 1.05, [HANDOFF_RATIO] = 3, [SCRIPTS] = 2.2 } },
	{ .name = "order-8", .kind = ORDER, .fair = true, .processes = 8, .share = 2 },
	{ .name = "fair-32", .kind = TURNS, .fair = true, .processes = 32, .share = 1,
	  .bar = { [LONGEST_RATIO] = 1, [SCRIPTS] = 2.2 } },
	{ .name = "plain-32", .kind = TURNS, .processes = 32, .share = 1, .bar = { [LONGEST_RATIO] = 1, [SCRIPTS] = 2.2 } },
	{ .name = "fair-2", .kind = TURNS, .fair = true, .processes = 2, .share = 5, .bar = { [SCRIPTS] = 2.2 } },
	{ .name = "fair-16", .kind = TURNS, .fair = true, .processes = 16, .share = 5, .bar = { [SCRIPTS] = 2.2 } },
	{ .name = "plain-2", .kind = TURNS, .processes = 2, .share = 5, .bar = { [SCRIPTS] = 2.2 } },
	{ .name = "plain-8", .kind = TURNS, .processes = 8, .share = 5, .bar = { [SCRIPTS] = 2.2 } },
	{ .name = "plain-16", .kind = TURNS, .processes = 16, .share = 5, .bar = { [SCRIPTS] = 2.2 } },
};

enum { PARTS = sizeof parts / sizeof *parts };

static void
note(struct part *part, int round, enum what what, double figure)
{
	part->figures[what][round] = figure;
	part->has[what] = true;
}

/* ---- what the turns say ---- */

static void
note_turns(struct part *part, int round, const struct crowd_result *result)
{
	double turns[CROWD_MAX] = { 0 }, most = 0, fewest, in_time = 0;

	for (size_t i = 0; i < result->count; i++)
		if (result->turns[i].got < result->ended)
			turns[result->turns[i].who]++;
	fewest = turns[0];
	for (unsigned k = 0; k < part->processes; k++) {
		in_time += turns[k];
		most = turns[k] > most ? turns[k] : most;
		fewest = turns[k] < fewest ? turns[k] : fewest;
	}
	note(part, round, SPREAD, most / fewest);
	note(part, round, RATE, in_time * 1e9 / (double)(result->ended - result->began));
}

static void
note_longest(struct part *part, int round, const struct crowd_result *result)
{
	double allowed = 3e3 * part->processes / part->figures[RATE][round] + 50, longest = 0;

	for (size_t i = 0; i < result->count; i++) {
		double ms = (double)(result->turns[i].got - result->turns[i].asked) / 1e6;

		longest = ms > longest ? ms : longest;
	}
	note(part, round, LONGEST, longest);
	note(part, round, ALLOWED, allowed);
	note(part, round, LONGEST_RATIO, longest / allowed);
}

static void
note_handoffs(struct part *part, int round, const struct crowd_result *result)
{
	double *us = calloc(result->count + 1, sizeof *us), middle;
	size_t n = 0;

	if (us == NULL)
		die("no memory");
	for (size_t i = 1; i < result->count; i++) {
		const struct crowd_turn *from = &result->turns[i - 1], *to = &result->turns[i];

		if (to->who != from->who && to->asked < from->gave)
			us[n++] = (double)(to->got - from->gave) / 1e3;
	}
	if (n == 0)
		die("the lock never passed from one process to another that waited");
	middle = median(us, n);
	note(part, round, HANDOFF, middle);
	note(part, round, SLOW_HANDOFF, us[n * 99 / 100]);
	note(part, round, HANDOFF_RATIO, middle / part->figures[PING][round]);
	free(us);
}

static void
note_order(struct part *part, int round, const struct crowd_result *result, struct arrivals *arrivals)
{
	size_t count, queued, wrong;
	const char *const *tokens = arrivals_end(arrivals, &count, &queued);

	wrong = count > result->count ? count - result->count : result->count - count;
	for (size_t i = 0; i < count && i < result->count; i++)
		wrong += strcmp(tokens[i], result->turns[i].token) != 0;
	note(part, round, ARRIVED, (double)count);
	note(part, round, QUEUED, (double)queued);
	note(part, round, DISORDER, (double)wrong);
}

/* ---- rounds ---- */

static double
calls_of(const char *stats, const char *command)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof key, "cmdstat_%s:calls=", command);
	at = strstr(stats, key);
	return at != NULL ? strtod(at + strlen(key), NULL) : 0;
}

static void
note_pings(struct part *part, int round, struct server *server, int64_t run_ns)
{
	note(part, round, PING, crowd_ping(server_port(server), part->processes, run_ns) / 1e3);
	note(part, round, WARM_PING, crowd_ping(server_port(server), 1, run_ns) / 1e3);
}

static void
run_part(struct part *part, int round, struct server *server, const struct settings *s)
{
	struct crowd *crowd;
	struct crowd_result result;
	struct arrivals *arrivals = NULL;
	int64_t run_ns = s->run_ns / part->share;
	const char *stats;

	if (part->kind == HANDOFFS && round % 2 == 0)
		note_pings(part, round, server, run_ns / 4);
	crowd = crowd_new(server_uri_tcp(server), part->name, part->fair, part->processes, run_ns);
	if (part->kind == ORDER)
		arrivals = arrivals_watch(server, part->name);
	server_text(server, "CONFIG RESETSTAT");
	result = crowd_run(crowd);
	stats = server_text(server, "INFO commandstats");
	if (part->kind == HANDOFFS && round % 2 == 1)
		note_pings(part, round, server, run_ns / 4);

	note(part, round, OVERLAPS, (double)result.overlaps);
	note(part, round, REGRESSIONS, (double)result.regressions);
	note(part, round, HUNG, result.hung);
	if (part->kind == ORDER) {
		note_order(part, round, &result, arrivals);
		arrivals_free(arrivals);
	} else {
		note_turns(part, round, &result);
		note_longest(part, round, &result);
		note(part, round, SCRIPTS, (calls_of(stats, "evalsha") + calls_of(stats, "eval")) / (double)result.count);
	}
	if (part->kind == HANDOFFS)
		note_handoffs(part, round, &result);
	crowd_free(crowd);
}

/* ---- the table ---- */

static double
figure_of(struct part *part, enum what what, int rounds)
{
	double sum = 0;

	if (!whats[what].is_count)
		return median(part->figures[what], (size_t)rounds);
	for (int i = 0; i < rounds; i++)
		sum += part->figures[what][i];
	return sum;
}

/* Counts what was missed. */
static void
print_figure(struct part *part, enum what what, int rounds, unsigned *missed, unsigned *broken)
{
	const double *figures = part->figures[what];
	double figure = figure_of(part, what, rounds), bar = part->bar[what];
	int decimals = whats[what].decimals;
	bool met = figure <= bar;
	char range[48] = "";

	if (!whats[what].is_count) /* they are sorted by now */
		snprintf(range, sizeof range, "%.*f..%.*f", decimals, figures[0], decimals, figures[rounds - 1]);
	printf("  %-9s %-48s %9.*f  %-17s", part->name, whats[what].text, decimals, figure, range);
	if (bar != 0 || whats[what].is_law)
		printf("  %s %-5g  %s", bar != 0 ? "<=" : " =", bar, met ? "ok" : "MISSED");
	putchar('\n');
	*missed += bar != 0 && !met;
	*broken += whats[what].is_law && !met;
}

static void
print_part(struct part *part, int rounds, unsigned *missed, unsigned *broken)
{
	for (enum what what = 0; what < WHATS; what++)
		if (part->has[what])
			print_figure(part, what, rounds, missed, broken);
	putchar('\n');
}

/* ---- the command line ---- */

static const char help[] =
	"Usage: turns [OPTION]...\n"
	"Measure what becomes of a lock that many processes want: hand-off, order, waits, and what the server is sent.\n"
	"Starts a redis-server of its own on 127.0.0.1, and ends it. Takes about five minutes.\n"
	"\n"
	"  --seconds=N   of each long run; default 10\n"
	"  --rounds=N    of all of them; default 5\n"
	"  --only=PART   fair, plain, order, or one of: fair-8, order-8, fair-32, plain-32, fair-2, fair-16, plain-2,\n"
	"                plain-8, plain-16\n"
	"  --check       exit with 1 if a bar is missed\n"
	"  --help        this text\n"
	"\n"
	"Exits with 0 when it could measure, 1 if the lock did what it never may, 77 without a redis-server, 2 if anything "
	"else\n"
	"went wrong.\n";

static void
check_that_some_is_wanted(const struct settings *s)
{
	for (int i = 0; i < PARTS; i++)
		if (program_wants(s, parts[i].name))
			return;
	die("--only: there is no part '%s'; see --help", s->only);
}

int
main(int argc, char **argv)
{
	struct settings s = { .rounds = 5, .run_ns = 10000000000 };
	struct server *server;
	unsigned missed = 0, broken = 0;
	int status;

	program_read(&s, argc, argv, help, "seconds", true);
	check_that_some_is_wanted(&s);
	server = server_start_tcp(NULL);
	program_begin(&s, server, "seconds");
	printf("hold %d ms; medians, and least..most of the rounds\n\n", CROWD_HOLD_MS);
	for (int round = 0; round < s.rounds; round++)
		for (int i = 0; i < PARTS; i++)
			if (program_wants(&s, parts[i].name))
				run_part(&parts[i], round, server, &s);
	for (int i = 0; i < PARTS; i++)
		if (program_wants(&s, parts[i].name))
			print_part(&parts[i], s.rounds, &missed, &broken);
	server_stop(server);
	if (broken > 0)
		printf("%u of what must never be was seen\n", broken);
	status = program_end(&s, missed);
	return broken > 0 ? 1 : status;
}
