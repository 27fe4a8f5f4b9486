/* See kinds.h. */
#include "bench/kinds.h"

#include <stdio.h>

const struct settings *settings;
struct server *server;
static unsigned missed;

void
tell(const char *part, const char *text, int decimals, double figure, double bar)
{
	bool met = figure <= bar;

	printf("  %-15s %-56s %10.*f", part, text, decimals, figure);
	if (bar != NO_BAR)
		printf("  <= %-7g %s", bar, met ? "ok" : "MISSED");
	putchar('\n');
	fflush(stdout);
	missed += bar != NO_BAR && !met;
}

#define READ {.mode = LEASH_READ}
#define WRITE {.mode = LEASH_WRITE}
#define PERMITS(n) {.take = (n)}

static const struct part parts[] = {
	{"starve-writer", starve, READ, WRITE},
	{"starve-reader", starve, WRITE, READ},
	{"starve-permits", starve, PERMITS(1), PERMITS(MANY)},
	{"crash-reader", crash, READ, WRITE},
	{"crash-permits", crash, PERMITS(1), PERMITS(MANY)},
	{"opposite-sets", oppose, {0}, {0}},
	{"opposite-nested", oppose, {0}, {0}},
	{"queue", queue, {0}, {0}},
	{"leaders", elect, {0}, {0}},
	{"readers", let_readers_in, READ, WRITE},
	{"scripts-lock", count_scripts, {0}, {0}},
	{"scripts-fair", count_scripts, {.fair = true}, {.fair = true}},
	{"scripts-write", count_scripts, WRITE, WRITE},
	{"scripts-mixed", count_scripts, READ, WRITE},
	{"scripts-permits", count_scripts, PERMITS(3), PERMITS(5)},
};

enum { PARTS = sizeof parts / sizeof *parts };

static const char help[] =
	"Usage: kinds [OPTION]...\n"
	"Measure what read-write locks, semaphores, sets, conditions and leaders promise, between processes.\n"
	"Starts a redis-server of its own on 127.0.0.1, and ends it. Takes nine minutes.\n"
	"\n"
	"  --seconds=N   for each part of starve and opposite, default 60; scripts take a twentieth of it for each number\n"
	"                of processes\n"
	"  --only=PART   starve, crash, opposite, queue, leaders, readers, scripts, or one line of these\n"
	"  --check       exit with 1 if a bar is missed\n"
	"  --help        this text\n"
	"\n"
	"Exits with 0 when it could measure, 77 without a redis-server, 2 if anything else went wrong.\n";

int
main(int argc, char **argv)
{
	struct settings s = { .rounds = 1, .run_ns = 60 * INT64_C(1000000000) };
	int wanted = 0;

	program_read(&s, argc, argv, help, "seconds", true);
	settings = &s;
	for (int i = 0; i < PARTS; i++)
		wanted += program_wants(&s, parts[i].name);
	if (wanted == 0)
		die("--only: there is no part '%s'; see --help", s.only);
	server = server_start_tcp(NULL);
	program_begin(&s, server, "seconds");
	for (int i = 0; i < PARTS; i++)
		if (program_wants(&s, parts[i].name))
			parts[i].run(&parts[i]);
	server_stop(server);
	return program_end(&s, missed);
}
