/* The same options, in the same words, for all. See program.h. */
#include "bench/program.h"

#include <leash.h>

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, format);
	fputs("bench: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

static long
number(const char *option, const char *text, long least, long most)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end != '\0' || n < least || n > most)
		die("--%s: '%s' is not a number from %ld to %ld", option, text, least, most);
	return n;
}

void
program_read(struct settings *s, int argc, char **argv, const char *help, const char *unit, bool has_only)
{
	bool by_ms = strcmp(unit, "ms") == 0;
	struct option options[] = {
		{ "rounds", required_argument, NULL, 'r' },
		{ unit, required_argument, NULL, 't' },
		{ "check", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ has_only ? "only" : NULL, required_argument, NULL, 'o' },
		{ 0 },
	};
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 'r':
			s->rounds = (int)number("rounds", optarg, 1, MAX_ROUNDS);
			break;
		case 't':
			s->run_ns = by_ms ? number(unit, optarg, 10, 60000) * 1000000 : number(unit, optarg, 1, 600) * 1000000000;
			break;
		case 'o':
			s->only = optarg;
			break;
		case 'c':
			s->check = true;
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
}

bool
program_wants(const struct settings *s, const char *part)
{
	size_t n;

	if (s->only == NULL)
		return true;
	n = strlen(s->only);
	return strncmp(part, s->only, n) == 0 && (part[n] == '\0' || part[n] == '-');
}

void
program_begin(const struct settings *s, struct server *server, const char *unit)
{
	printf("leash %s, redis %s; %d rounds of %.0f %s for each way\n", leash_version(),
	       server_text(server, "EVAL %s 0", "return redis.call('INFO', 'server'):match('redis_version:(%S+)')"),
	       s->rounds,
	       (double)s->run_ns / (strcmp(unit, "ms") == 0 ? 1e6 : 1e9), unit);
	fflush(stdout);
}

int
program_end(const struct settings *s, unsigned missed)
{
	if (missed > 0)
		printf("\n%u of the bars missed\n", missed);
	else
		printf("\nall bars met\n");
	return missed > 0 && s->check ? 1 : 0;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

redisContext *
plain_connection(int port)
{
	redisContext *connection = redisConnect("127.0.0.1", port);

	if (connection == NULL || connection->err != 0)
		die("hiredis: %s", connection != NULL ? connection->errstr : "no memory");
	return connection;
}

double
median(double *figures, size_t count)
{
	if (count == 0)
		return 0;
	qsort(figures, count, sizeof *figures, by_size);
	return count % 2 == 1 ? figures[count / 2] : (figures[count / 2 - 1] + figures[count / 2]) / 2;
}
