/* What an acquire and a release cost: leash beside the same two EVALSHAs by plain blocking hiredis, on one real server.
 *
 * Other work on the machine moves every absolute figure, so the two sides take turns of a fraction of a second, and only the
 * ratio of neighbors counts; of all rounds the median. README.md says how to read the table. */
#include "bench/side.h"
#include "bench/team.h"
#include "tests/support/proxy.h"

#include <leash.h>

#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 64, MAX_ROUNDS = 1000, DELAY_US = 250 };

/* ---- what is measured ---- */

enum way { PINNED, DIRECT, DELAYED };

static const char *const way_names[] = { "pinned", "direct", "delayed" };

struct line {
	enum way way;
	unsigned threads;
	double bar;        /* of the ratio; 0: there is none */
	/* of the rounds: */
	double ratio[MAX_ROUNDS];
	double noise[MAX_ROUNDS];       /* pinned: hiredis against itself */
	double leash[MAX_ROUNDS], hiredis[MAX_ROUNDS]; /* pairs per second */
	double leash_cpu, hiredis_cpu;  /* us of the client's threads per pair */
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

struct settings {
	int rounds;
	int64_t turn_ns, warm_ns;
	const char *only;
	bool check;
	int client_cpu, server_cpu; /* -1: there is but one */
};

static void
name_of(const struct line *line, char out[static 32])
{
	snprintf(out, 32, "%s-%u", way_names[line->way], line->threads);
}

static bool
is_wanted(const struct line *line, const struct settings *s)
{
	char name[32];
	size_t n;

	if (s->only == NULL)
		return true;
	name_of(line, name);
	n = strlen(s->only);
	return strncmp(name, s->only, n) == 0 && (name[n] == '\0' || name[n] == '-');
}

/* ---- the place ---- */

struct place {
	struct server *server;
	struct proxy *proxy;
	cpu_set_t server_cpus;    /* as it was started */
	leash_client *client[2];  /* straight to the server, and through the proxy */
	leash_lock *lock[2][MAX_THREADS];
	struct wire *wire[MAX_THREADS];
};

static void
open_place(struct place *p)
{
	leash_error err;

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
	struct team *team;
	struct hiredis_desk *desk[MAX_THREADS]; /* of hiredis's */
};

static struct side
side_of_leash(struct place *p, const struct line *line, int cpu)
{
	void *desks[MAX_THREADS];

	for (size_t i = 0; i < line->threads; i++)
		desks[i] = p->lock[line->way == DELAYED][i];
	return (struct side){ .team = team_new(leash_pair, desks, line->threads, cpu) };
}

static struct side
side_of_hiredis(struct place *p, const struct line *line, int cpu)
{
	int port = line->way == DELAYED ? atoi(strrchr(proxy_uri(p->proxy), ':') + 1) : server_port(p->server);
	void *desks[MAX_THREADS];
	struct side side = { 0 };

	for (size_t i = 0; i < line->threads; i++)
		desks[i] = side.desk[i] = hiredis_desk(p->wire[i], port);
	side.team = team_new(hiredis_pair, desks, line->threads, cpu);
	return side;
}

static void
end_side(struct side *side)
{
	team_free(side->team);
	for (size_t i = 0; i < MAX_THREADS && side->desk[i] != NULL; i++)
		hiredis_desk_free(side->desk[i]);
}

static double
turn(const struct side *side, const struct settings *s)
{
	return team_run(side->team, s->warm_ns, s->turn_ns);
}

/* There and back again, so that what drifts evenly falls on all alike: seconds per pair of each side. */
static void
measure_pinned(const struct settings *s, const struct side *a, const struct side *b, const struct side *c, double seconds[static 3])
{
	const struct side *order[] = { a, b, c, c, b, a };

	seconds[0] = seconds[1] = seconds[2] = 0;
	for (int i = 0; i < 6; i++)
		seconds[i < 3 ? i : 5 - i] += 0.5 / turn(order[i], s);
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

static void
run_pinned(struct place *p, struct line *line, const struct settings *s)
{
	struct side leash = side_of_leash(p, line, s->client_cpu);
	struct side hiredis = side_of_hiredis(p, line, s->client_cpu);
	struct side again = side_of_hiredis(p, line, s->client_cpu);

	move_server(p, s->server_cpu);
	for (int i = 0; i < s->rounds; i++) {
		double seconds[3];

		measure_pinned(s, &leash, &hiredis, &again, seconds);
		line->ratio[i] = seconds[0] / seconds[1];
		line->noise[i] = seconds[2] / seconds[1];
		line->leash[i] = 1 / seconds[0];
		line->hiredis[i] = 1 / seconds[1];
	}
	move_server(p, -1);
	end_side(&leash);
	end_side(&hiredis);
	end_side(&again);
}

static void
run_unpinned(struct place *p, struct line *line, const struct settings *s)
{
	struct side leash = side_of_leash(p, line, -1);
	struct side hiredis = side_of_hiredis(p, line, -1);

	for (int i = 0; i < s->rounds; i++) {
		for (int k = 0; k < 2; k++) {
			if ((i + k) % 2 == 0)
				line->leash[i] = turn(&leash, s);
			else
				line->hiredis[i] = turn(&hiredis, s);
		}
		line->ratio[i] = line->leash[i] / line->hiredis[i];
	}
	end_side(&leash);
	end_side(&hiredis);
}

/* ---- the table ---- */

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the figures, which are sorted by it. */
static double
median(double *figures, int n)
{
	qsort(figures, (size_t)n, sizeof *figures, by_size);
	return n % 2 == 1 ? figures[n / 2] : (figures[n / 2 - 1] + figures[n / 2]) / 2;
}

static void
print_head(enum way way, const struct settings *s)
{
	switch (way) {
	case PINNED:
		printf("\nTime of an acquire and a release on one thread, leash / hiredis");
		if (s->client_cpu >= 0)
			printf("; client on CPU %d, server on CPU %d\n", s->client_cpu, s->server_cpu);
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
	printf("  %-12s %9s %9s   %6s  %-12s  %s\n", "", "leash/s", "hiredis/s", "median", "min..max", "bar");
}

static void
print_ratio(double *ratio, int n)
{
	double middle = median(ratio, n);

	printf("%6.2f  %4.2f..%-6.2f", middle, ratio[0], ratio[n - 1]);
}

/* False: it missed its bar. */
static bool
print_line(struct line *line, const struct settings *s)
{
	char name[32];
	bool met;

	name_of(line, name);
	printf("  %-12s %9.0f %9.0f   ", name, median(line->leash, s->rounds), median(line->hiredis, s->rounds));
	print_ratio(line->ratio, s->rounds);
	met = line->bar == 0 || (line->way == PINNED ? median(line->ratio, s->rounds) <= line->bar : median(line->ratio, s->rounds) >= line->bar);
	if (line->bar != 0)
		printf("  %s %.2f  %s", line->way == PINNED ? "<=" : ">=", line->bar, met ? "met" : "MISSED");
	putchar('\n');
	if (line->way == PINNED) {
		printf("  %-12s %9s %9s   ", "noise floor", "", "");
		print_ratio(line->noise, s->rounds);
		printf("  hiredis / hiredis\n");
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
			print_head(line->way, s);
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

static long
number(const char *option, const char *text, long least, long most)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end != '\0' || n < least || n > most)
		die("--%s: '%s' is not a number from %ld to %ld", option, text, least, most);
	return n;
}

static void
choose_cpus(struct settings *s)
{
	cpu_set_t set;

	s->client_cpu = s->server_cpu = -1;
	if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET((size_t)cpu, &set))
			continue;
		if (s->client_cpu < 0)
			s->client_cpu = cpu;
		s->server_cpu = cpu;
	}
}

static struct settings
read_settings(int argc, char **argv)
{
	static const struct option options[] = {
		{ "rounds", required_argument, NULL, 'r' }, { "ms", required_argument, NULL, 'm' }, { "only", required_argument, NULL, 'o' },
		{ "check", no_argument, NULL, 'c' },        { "help", no_argument, NULL, 'h' },     { 0 },
	};
	struct settings s = { .rounds = 15, .turn_ns = 200000000 };
	bool any = false;
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 'r':
			s.rounds = (int)number("rounds", optarg, 1, MAX_ROUNDS);
			break;
		case 'm':
			s.turn_ns = number("ms", optarg, 10, 60000) * 1000000;
			break;
		case 'o':
			s.only = optarg;
			break;
		case 'c':
			s.check = true;
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		default:
			exit(2);
		}
	}
	if (optind < argc)
		die("'%s' is not an option; see --help", argv[optind]);
	for (int i = 0; i < LINES; i++)
		any |= is_wanted(&lines[i], &s);
	if (!any)
		die("--only: there is no line '%s'; see --help", s.only);
	s.warm_ns = s.turn_ns / 10;
	choose_cpus(&s);
	return s;
}

int
main(int argc, char **argv)
{
	struct settings s = read_settings(argc, argv);
	struct place place;
	unsigned missed;

	open_place(&place);
	printf("leash %s, redis %s; %d rounds of %.0f ms for each side\n", leash_version(),
	       server_text(place.server, "EVAL %s 0", "return redis.call('INFO', 'server'):match('redis_version:(%S+)')"), s.rounds,
	       (double)s.turn_ns / 1e6);
	missed = measure(&place, &s);
	close_place(&place);
	if (missed > 0)
		printf("\n%u of the bars missed\n", missed);
	else
		printf("\nall bars met\n");
	return missed > 0 && s.check ? 1 : 0;
}
