/* leash top: the locks of a deployment, again and again: on a screen of their own (screen.h), or as plain lines
 * where there is no terminal, or none that can do that. */
#include "tools/cli.h"
#include "tools/clock.h"
#include "tools/look.h"
#include "tools/sample.h"
#include "tools/screen.h"
#include "tools/table.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EVERY_MS = 2000, LEAST_MS = 100, MOST_MS = 86400000, ROWS = 1000, MOST_ROWS = 1000000 };

static const char help[] =
	"Usage: leash top [OPTION...] [PATTERN]\n"
	"Show the locks that are held, who has them and how many wait, again and again:\n"
	"on a terminal as a screen (h shows its keys, q quits), elsewhere as plain lines.\n"
	"\n"
	"  -d, --delay DUR     from one look to the next (default 2s, at least 100ms)\n"
	"  -n, --rounds N      end after so many looks; --once: after one\n"
	"  -s, --sort WHAT     waiting (default), held, lease or name\n"
	"  -R, --reverse       the other way round\n"
	"  -b, --batch         plain lines, also on a terminal\n"
	"      --rows N        the first N locks of each look, in plain lines (1000; on a\n"
	"                      screen it is always 1000)\n"
	"  -r, --redis URI     the server (else $LEASH_URI, redis://127.0.0.1:6379)\n"
	"      --prefix TEXT   of all keys (else $LEASH_PREFIX, leash)\n"
	"      --escaped       PATTERN is written as leash list shows names\n"
	"      --json          for each look an object with counts, and one for each lock\n"
	"  -q, --quiet         only the locks\n"
	"  -v, --verbose       what the library logs; not on a screen\n"
	"\n"
	"PATTERN is a glob over names, as the shell has it: 'nightly-*' (quote it). Looks\n"
	"by SCAN, which blocks nobody; where that takes long, the next look comes later.\n"
	"When the server is away it retries. leash list explains the columns.\n"
	"\n"
	"Exit status: 0; 64 usage; 69 no server at first, or at the last of -n looks.\n";

struct top {
	struct cli cli;
	const char *pattern;
	int64_t every_ms;
	uint64_t rounds; /* 0: for ever */
	size_t rows;
	struct order order;
	bool batch;
};

/* ---- plain lines ---- */

static void
print_table(const struct top *top, const struct subject *subject, const struct sample *s)
{
	char text[TABLE_LINE_SIZE], time[CLI_TIME_SIZE];
	struct table table;

	if (!top->cli.quiet) {
		printf("leash top  %s  %s  round trip %.2f ms, scan %.1f ms\n", cli_time(time, s->moment.here_ms),
		       subject->server, (double)s->trip_ns / 1e6, (double)s->scan_ns / 1e6);
		puts(sample_text(text, s));
	}
	table_fit(&table, table_terminal(STDOUT_FILENO));
	if (s->ranking.count > 0 && !top->cli.quiet)
		puts(table_head(&table, text));
	for (size_t i = 0; i < s->ranking.count; i++)
		puts(table_line(&table, text, &s->ranking.at[i]->info, &s->moment));
	if (top->cli.quiet)
		return;
	if (s->locks > s->ranking.count)
		printf("and %" PRIu64 " more\n", s->locks - s->ranking.count);
	putchar('\n');
}

static void
print_objects(const struct subject *subject, const struct sample *s, uint64_t round)
{
	struct look look;
	json_t *object = json_pack("{sI sI ss sI sI sI sI sI sI sI sI sI sI}", "round", (json_int_t)round,
	                           "time_ms", (json_int_t)s->moment.here_ms, "server", subject->server,
	                           "locks", (json_int_t)s->locks, "shown", (json_int_t)s->ranking.count,
	                           "waiting", (json_int_t)s->waiting, "contended", (json_int_t)s->contended,
	                           "ending", (json_int_t)s->ending, "endless", (json_int_t)s->endless,
	                           "taken", (json_int_t)s->taken, "taken_in_ms", (json_int_t)s->taken_in_ms,
	                           "round_trip_us", (json_int_t)(s->trip_ns / 1000),
	                           "scan_us", (json_int_t)(s->scan_ns / 1000));

	cli_print(object);
	for (size_t i = 0; i < s->ranking.count; i++) {
		look_further(&look, subject->client, &s->ranking.at[i]->info);
		object = look_json(&look);
		json_object_set_new(object, "round", json_integer((json_int_t)round));
		json_object_set_new(object, "time_ms", json_integer((json_int_t)s->moment.here_ms));
		cli_print(object);
	}
}

static void
print_failure(const struct subject *subject, uint64_t round, const leash_error *err)
{
	struct moment now = moment_now(subject->client);

	cli_print(json_pack("{sI sI ss ss so}", "round", (json_int_t)round, "time_ms", (json_int_t)now.here_ms,
	                    "server", subject->server, "error", leash_status_name(err->status),
	                    "text", cli_json_text(err->text)));
}

/* As on the screen: between two looks the server is left alone for at least as long as a look takes. */
static void
sleep_until(const struct top *top, int64_t from_ns)
{
	int64_t end_ns = clock_steady_ns(), due_ns = from_ns + top->every_ms * 1000000;
	struct timespec due;

	if (due_ns < end_ns + (end_ns - from_ns))
		due_ns = end_ns + (end_ns - from_ns);
	due = (struct timespec){.tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
		continue;
}

/* The status of the last look. */
static int
print_rounds(const struct top *top, const struct subject *subject, struct sample *sample)
{
	int64_t before_ms = 0, from_ns;
	int status = EXIT_OK;
	leash_error err;

	for (uint64_t round = 1;; round++) {
		from_ns = clock_steady_ns();
		status = EXIT_OK;
		if (sample_take(sample, subject, top->order, before_ms, NULL, &err) != LEASH_OK) {
			status = cli_fail_with(&top->cli, &err);
			if (top->cli.json)
				print_failure(subject, round, &err);
		} else if (top->cli.json) {
			print_objects(subject, sample, round);
		} else {
			print_table(top, subject, sample);
		}
		if (status == EXIT_OK)
			before_ms = sample->moment.here_ms;
		if (fflush(stdout) != 0 || round == top->rounds)
			return status;
		sleep_until(top, from_ns);
	}
}

static int
run_batch(const struct top *top, const struct subject *subject)
{
	struct sample sample;
	int status;

	if (!sample_init(&sample, top->rows))
		return cli_fail(&top->cli, EXIT_INTERNAL, "no memory for %zu rows: ask for less, --rows", top->rows);
	status = print_rounds(top, subject, &sample);
	sample_destroy(&sample);
	return cli_finish(&top->cli, status);
}

/* ---- options ---- */

enum { OPTION_ONCE = CLI_OWN, OPTION_ROWS };

static int
take_number(const struct top *top, const char *option, const char *text, uint64_t most, uint64_t *n)
{
	size_t digits = strspn(text, "0123456789");
	char shown[80];

	*n = digits > 0 && digits < 19 && text[digits] == '\0' ? strtoull(text, NULL, 10) : 0;
	if (*n > 0 && *n <= most)
		return CLI_GO_ON;
	return cli_usage(&top->cli, "%s: '%s' is not a number from 1 to %" PRIu64, option,
	                 cli_show_word(shown, sizeof shown, text), most);
}

static int
take_delay(struct top *top, const char *text)
{
	int status = cli_duration_option(&top->cli, "--delay", text, &top->every_ms);

	if (status == CLI_GO_ON && (top->every_ms < LEAST_MS || top->every_ms > MOST_MS))
		return cli_usage(&top->cli, "--delay: from 100ms to 1d");
	return status;
}

static int
take_sort(struct top *top, const char *text)
{
	char shown[80];

	for (int i = 0; i < RANKS; i++)
		if (strcmp(text, rank_name((enum rank_by)i)) == 0) {
			top->order.by = (enum rank_by)i;
			return CLI_GO_ON;
		}
	return cli_usage(&top->cli, "--sort: '%s' is none of waiting, held, lease and name",
	                 cli_show_word(shown, sizeof shown, text));
}

static int
take_option(struct top *top, int c, char **argv)
{
	uint64_t rows = 0;
	int status;

	switch (c) {
	case 'd':
		return take_delay(top, optarg);
	case 'n':
		return take_number(top, "--rounds", optarg, INT64_MAX, &top->rounds);
	case OPTION_ONCE:
		top->rounds = 1;
		return CLI_GO_ON;
	case 's':
		return take_sort(top, optarg);
	case 'R':
		top->order.reverse = true;
		return CLI_GO_ON;
	case 'b':
		top->batch = true;
		return CLI_GO_ON;
	case OPTION_ROWS:
		status = take_number(top, "--rows", optarg, MOST_ROWS, &rows);
		top->rows = rows;
		return status;
	default:
		return cli_option(&top->cli, c, argv);
	}
}

/* CLI_GO_ON, or what to exit with. */
static int
read_options(struct top *top, int argc, char **argv)
{
	static const struct option options[] = {
		{"delay", required_argument, NULL, 'd'},
		{"rounds", required_argument, NULL, 'n'},
		{"once", no_argument, NULL, OPTION_ONCE},
		{"sort", required_argument, NULL, 's'},
		{"reverse", no_argument, NULL, 'R'},
		{"batch", no_argument, NULL, 'b'},
		{"rows", required_argument, NULL, OPTION_ROWS},
		CLI_LONG,
		CLI_LONG_END,
	};
	int c, status;

	while ((c = getopt_long(argc, argv, ":d:n:s:Rb" CLI_SHORT, options, NULL)) != -1)
		if ((status = take_option(top, c, argv)) != CLI_GO_ON)
			return status;
	if (cli_only_pattern(&top->cli, argc, argv) != CLI_GO_ON)
		return EXIT_USAGE;
	top->pattern = argv[optind];
	return CLI_GO_ON;
}

static bool
has_screen(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && term != NULL && term[0] != '\0' &&
	       strcmp(term, "dumb") != 0;
}

static int
run(const struct command *command, int argc, char **argv)
{
	struct top top = {.every_ms = EVERY_MS, .rows = ROWS};
	struct subject subject;
	int status;

	cli_begin(&top.cli, command);
	signal(SIGPIPE, SIG_DFL); /* a reader that has seen enough (head) ends us without an error */
	status = read_options(&top, argc, argv);
	if (status != CLI_GO_ON)
		return status;
	if (top.cli.json || !has_screen())
		top.batch = true;
	if (!top.batch)
		top.cli.verbose = false; /* log lines would spoil the screen */
	status = subject_open(&subject, &top.cli, top.pattern);
	if (status == CLI_GO_ON)
		status = top.batch ? run_batch(&top, &subject) : screen_run(&subject, top.every_ms, top.rounds, top.order);
	subject_close(&subject);
	return status;
}

const struct command command_top = {"top", "the locks that are held, on a live screen", help, run};
