/* What an acquire and a release cost: leash beside the same two EVALSHAs by plain blocking hiredis, on one real server.
 *
 * Other work on the machine moves every absolute figure, so the two sides take turns of a fraction of a second, and
 * only the ratio of neighbors counts; of all rounds the median. README.md says how to read the table. */
#include "bench/program.h"
#include "bench/side.h"
#include "bench/team.h"
#include "tests/support/proxy.h"

#include <leash.h>

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 64, DELAY_US = 250 };

/* ---- what is measured ---- */

enum way { PINNED, DIRECT, DELAYED };

static const char *const way_names[] = { "pinned", "direct", "delayed" };

struct line {
	enum way way;
	unsigned threads;
	double bar;        /* of the ratio; 0: there is none */
	/* of the rounds: */
	double ratio[MAX_ROUNDS];
	double noise[MAX_ROUNDS]; /* pinned: hiredis against itself */
	struct team_result leash[MAX_ROUNDS], hiredis[MAX_ROUNDS];
};

static struct line lines[] = {
	{ .way = PINNED, .threads = 1, .bar = 1.10 },
	{ .way = DIRECT, .threads = 1 },
	{ .way = DIRECT, .threads = 2, .bar = 0.7 },
	{ .way = DIRECT, .threads = 8, .bar = 1.2 },
	{ .way = DIRECT, .threads = 32 },
	{ .way = DIRECT, .threads = 64, .bar = 1.6 },
	{ .way = DELAYED, .threads = 2, .bar = 0.9 },
	{ .way = DELAYED, .threads = 8, .bar = 0.9 },
	{ .way = DELAYED, .threads = 32, .bar = 0.9 },
};

enum { LINES = sizeof lines / sizeof *lines };

static void
name_of(const struct line *line, char out[static 32])
{
	snprintf(out, 32, "%s-%u", way_names[line->way], line->threads);
}

static bool
is_wanted(const struct line *line, const struct settings *s)
{
	char name[32];

	name_of(line, name);
	return program_wants(s, name);
}

/* ---- the place ---- */

struct place {
	struct server *server;
	struct proxy *proxy;
	cpu_set_t server_cpus;    /* as it was started */
	int client_cpu, server_cpu; /* -1: there is but one */
	leash_client *client[2];  /* straight to the server, and through the proxy */
	leash_lock *lock[2][MAX_THREADS];
	struct wire *wire[MAX_THREADS];
};

static void
choose_cpus(struct place *p)
{
	cpu_set_t set;

	p->client_cpu = p->server_cpu = -1;
	if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET((size_t)cpu, &set))
			continue;
		if (p->client_cpu < 0)
			p->client_cpu = cpu;
		p->server_cpu = cpu;
	}
}

static void
open_place(struct place *p)
{
	leash_error err;

	choose_cpus(p);
	p->server = server_start_tcp(NULL);
	p->proxy = proxy_start_tcp(strrchr(server_uri_tcp(p->server), '/') + 1);
	proxy_delay(p->proxy, PROXY_BOTH, DELAY_US);
	if (sched_getaffinity(server_pid(p->server), sizeof p->server_cpus, &p->server_cpus) != 0)
		die("cannot see where the server runs");
	for (int i = 0; i < 2; i++) {
		const char *uri = i == 0 ? server_uri_tcp(p->server) : proxy_uri(p->proxy);

		if (leash_open(&p->client[i], LEASH_OPTIONS(.uri = uri), &err) != LEASH_OK)
			die("%s", err.text);
		for (size_t k = 0; k < MAX_THREADS; k++)
			p->lock[i][k] = leash_desk(p->client[i], k);
	}
	for (size_t k = 0; k < MAX_THREADS; k++)
		p->wire[k] = wire_learn(p->server, p->lock[0][k]);
}

static void
close_place(struct place *p)
{
	for (size_t k = 0; k < MAX_THREADS; k++)
		wire_free(p->wire[k]);
	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < MAX_THREADS; k++)
			leash_lock_free(p->lock[i][k]);
		leash_close(p->client[i]);
	}
	proxy_stop(p->proxy);
	server_stop(p->server);
}

/* ---- rounds ---- */

struct side {
	void (*pair)(void *desk);
	void *desk[MAX_THREADS];
	size_t threads;
	int cpu;
};

static struct side
side_of_leash(struct place *p, const struct line *line, int cpu)
{
	struct side side = { .pair = leash_pair, .threads = line->threads, .cpu = cpu };

	for (size_t i = 0; i < side.threads; i++)
		side.desk[i] = p->lock[line->way == DELAYED][i];
	return side;
}

static struct side
side_of_hiredis(struct place *p, const struct line *line, int cpu)
{
	int port = line->way == DELAYED ? atoi(strrchr(proxy_uri(p->proxy), ':') + 1) : server_port(p->server);
	struct side side = { .pair = hiredis_pair, .threads = line->threads, .cpu = cpu };

	for (size_t i = 0; i < side.threads; i++)
		side.desk[i] = hiredis_desk(p->wire[i], port);
	return side;
}

static void
end_side_of_hiredis(struct side *side)
{
	for (size_t i = 0; i < side->threads; i++)
		hiredis_desk_free(side->desk[i]);
}

static struct team_result
turn(const struct side *side, const struct settings *s)
{
	return team_run(side->pair, side->desk, side->threads, side->cpu, s->run_ns);
}

static void
move_server(struct place *p, int cpu)
{
	cpu_set_t set = p->server_cpus;

	if (cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET((size_t)cpu, &set);
	}
	if (sched_setaffinity(server_pid(p->server), sizeof set, &set) != 0)
		die("cannot move the server to a CPU");
}

/* There and back again, so that what drifts evenly falls on all alike. */
static void
run_pinned(struct place *p, struct line *line, const struct settings *s)
{
	struct side leash = side_of_leash(p, line, p->client_cpu);
	struct side hiredis = side_of_hiredis(p, line, p->client_cpu);
	struct side again = side_of_hiredis(p, line, p->client_cpu);
	const struct side *order[] = { &leash, &hiredis, &again, &again, &hiredis, &leash };

	move_server(p, p->server_cpu);
	for (int i = 0; i < s->rounds; i++) {
		double seconds[3] = { 0 }, cpu_us[3] = { 0 };

		for (int k = 0; k < 6; k++) {
			struct team_result result = turn(order[k], s);
			int who = k < 3 ? k : 5 - k;

			seconds[who] += 0.5 / result.per_second;
			cpu_us[who] += 0.5 * result.cpu_us;
		}
		line->ratio[i] = seconds[0] / seconds[1];
		line->noise[i] = seconds[2] / seconds[1];
		line->leash[i] = (struct team_result){ 1 / seconds[0], cpu_us[0] };
		line->hiredis[i] = (struct team_result){ 1 / seconds[1], cpu_us[1] };
	}
	move_server(p, -1);
	end_side_of_hiredis(&hiredis);
	end_side_of_hiredis(&again);
}

static void
run_unpinned(struct place *p, struct line *line, const struct settings *s)
{
	struct side leash = side_of_leash(p, line, -1);
	struct side hiredis = side_of_hiredis(p, line, -1);

	for (int i = 0; i < s->rounds; i++) {
		if (i % 2 == 0)
			line->leash[i] = turn(&leash, s);
		line->hiredis[i] = turn(&hiredis, s);
		if (i % 2 == 1)
			line->leash[i] = turn(&leash, s);
		line->ratio[i] = line->leash[i].per_second / line->hiredis[i].per_second;
	}
	end_side_of_hiredis(&hiredis);
}

/* ---- the table ---- */

static void
print_head(enum way way, const struct place *p)
{
	switch (way) {
	case PINNED:
		printf("\nTime of an acquire and a release on one thread, leash / hiredis");
		if (p->client_cpu >= 0)
			printf("; client on CPU %d, server on CPU %d\n", p->client_cpu, p->server_cpu);
		else
			printf("; there is but one CPU: nothing is pinned\n");
		break;
	case DIRECT:
		printf("\nThroughput on distinct locks, one leash client / a hiredis connection for each thread\n");
		break;
	case DELAYED:
		printf("\nThe same through a proxy that adds %.2f ms each way\n", DELAY_US / 1e3);
		break;
	}
	printf("  %-12s %8s %8s   %7s %7s   %6s\n", "", "pairs/s", "", "CPU us", "", "ratio");
	printf("  %-12s %8s %8s   %7s %7s   %6s  %-12s  %s\n", "", "leash", "hiredis", "leash", "hiredis", "median",
	       "min..max", "bar");
}

static double
median_rate(const struct team_result *results, int n)
{
	double figures[MAX_ROUNDS];

	for (int i = 0; i < n; i++)
		figures[i] = results[i].per_second;
	return median(figures, (size_t)n);
}

static double
median_cpu(const struct team_result *results, int n)
{
	double figures[MAX_ROUNDS];

	for (int i = 0; i < n; i++)
		figures[i] = results[i].cpu_us;
	return median(figures, (size_t)n);
}

static double
print_ratio(double *ratio, int n)
{
	double middle = median(ratio, (size_t)n);

	printf("   %6.2f  %4.2f..%-6.2f", middle, ratio[0], ratio[n - 1]);
	return middle;
}

/* False: it missed its bar. */
static bool
print_line(struct line *line, const struct settings *s)
{
	const char *relation = line->way == PINNED ? "<=" : ">=";
	int n = s->rounds;
	char name[32];
	double ratio;
	bool met;

	name_of(line, name);
	printf("  %-12s %8.0f %8.0f   %7.1f %7.1f", name, median_rate(line->leash, n), median_rate(line->hiredis, n),
	       median_cpu(line->leash, n), median_cpu(line->hiredis, n));
	ratio = print_ratio(line->ratio, n);
	met = line->bar == 0 || (line->way == PINNED ? ratio <= line->bar : ratio >= line->bar);
	if (line->bar != 0)
		printf("  %s %.2f  %s", relation, line->bar, met ? "met" : "MISSED");
	putchar('\n');
	if (line->way == PINNED) {
		printf("  %-47s", "hiredis against itself");
		print_ratio(line->noise, n);
		putchar('\n');
	}
	fflush(stdout);
	return met;
}

static unsigned
measure(struct place *p, const struct settings *s)
{
	unsigned missed = 0;
	int head = -1;

	for (int i = 0; i < LINES; i++) {
		struct line *line = &lines[i];

		if (!is_wanted(line, s))
			continue;
		if (head != (int)line->way)
			print_head(line->way, p);
		head = (int)line->way;
		if (line->way == PINNED)
			run_pinned(p, line, s);
		else
			run_unpinned(p, line, s);
		missed += !print_line(line, s);
	}
	return missed;
}

/* ---- the command line ---- */

static const char help[] =
	"Usage: pair [OPTION]...\n"
	"Measure what an acquire and a release cost with leash, beside the same two EVALSHAs by blocking hiredis.\n"
	"Starts a redis-server of its own on 127.0.0.1, and ends it.\n"
	"\n"
	"  --rounds=N    of each line; default 15\n"
	"  --ms=N        that each side runs in a round; default 200\n"
	"  --only=LINE   pinned, direct, delayed, or a single line of these, e.g. direct-8\n"
	"  --check       exit with 1 if a bar is missed\n"
	"  --help        this text\n"
	"\n"
	"Exits with 0 when it could measure, 77 without a redis-server, 2 if anything else went wrong.\n";

static void
check_that_some_is_wanted(const struct settings *s)
{
	for (int i = 0; i < LINES; i++)
		if (is_wanted(&lines[i], s))
			return;
	die("--only: there is no line '%s'; see --help", s->only);
}

int
main(int argc, char **argv)
{
	struct settings s = { .rounds = 15, .run_ns = 200000000 };
	struct place place;
	unsigned missed;

	program_read(&s, argc, argv, help, "ms", true);
	check_that_some_is_wanted(&s);
	open_place(&place);
	program_begin(&s, place.server, "ms");
	missed = measure(&place, &s);
	close_place(&place);
	return program_end(&s, missed);
}
