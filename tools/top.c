/* leash top: the locks of a deployment, again and again: on a screen of their own (screen.h), or as plain lines
 * where there is no terminal, or none that can do that. */
#include "tools/cli.h"
#include "tools/clock.h"
#include "tools/exposition.h"
#include "tools/look.h"
#include "tools/sample.h"
#include "tools/screen.h"
#include "tools/table.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EVERY_MS = 2000, LEAST_MS = 100, MOST_MS = 86400000, MOST_ROWS = 1000000 };
enum { ROWS = 1000, ROWS_OF_SCREEN = 100000, ROWS_OF_PROMETHEUS = 10000 };

struct top {
	struct cli cli;
	const char *pattern;
	int64_t every_ms;
	int rounds; /* 0: for ever */
	int rows;
	struct order order;
	bool batch, prometheus;
};

/* ---- plain lines ---- */

static void
print_circles(const struct circles *circles)
{
	char text[CIRCLE_TEXT_SIZE], span[CLI_TIME_SIZE];

	for (size_t i = 0; i < circles->count; i++)
		printf("may be a deadlock, for %s: %s\n", cli_span(span, circles->at[i].age_ms),
		       circle_text(text, &circles->at[i]));
}

static void
print_table(const struct top *top, const struct subject *subject, const struct sample *s)
{
	char text[TABLE_LINE_SIZE], time[CLI_TIME_SIZE];
	struct table table;

	if (!top->cli.quiet) {
		printf("leash top  %s  %s  round trip %.2f ms, scan %.1f ms\n", cli_time(time, s->moment.here_ms),
		       subject->server, (double)s->trip_ns / 1e6, (double)s->scan_ns / 1e6);
		puts(sample_text(text, s));
		print_circles(s->circles);
	}
	table_fit(&table, table_terminal(STDOUT_FILENO));
	if (s->ranking.count > 0 && !top->cli.quiet)
		puts(table_head(&table, text));
	for (size_t i = 0; i < s->ranking.count; i++)
		puts(table_line(&table, text, &s->ranking.at[i]->info, &s->moment));
	if (top->cli.quiet)
		return;
	if (s->fitting > s->ranking.count)
		printf("and %" PRIu64 " more\n", s->fitting - s->ranking.count);
	putchar('\n');
}

/* Of each an array of links: who has which lock, and waits for the next one. */
static json_t *
circles_json(const struct circles *circles)
{
	json_t *all = json_array();

	for (size_t i = 0; i < circles->count; i++) {
		const struct circle *circle = &circles->at[i];
		json_t *links = json_array();

		for (size_t n = 0; n < circle->count; n++)
			json_array_append_new(links, cli_json_named(circle->link[n].lock, json_pack("{so sI so}",
				"host", cli_json_text(circle->link[n].who.host), "pid", (json_int_t)circle->link[n].who.pid,
				"program", cli_json_text(circle->link[n].who.program))));
		json_array_append_new(all, json_pack("{sI so}", "age_ms", (json_int_t)circle->age_ms, "links", links));
	}
	return all;
}

static void
print_objects(const struct subject *subject, const struct sample *s, uint64_t round)
{
	struct look look;
	json_t *object = json_pack("{sI sI ss sI sI sI sI sI sI sI sI sI sI so}", "round", (json_int_t)round,
	                           "time_ms", (json_int_t)s->moment.here_ms, "server", subject->server,
	                           "locks", (json_int_t)s->locks, "shown", (json_int_t)s->ranking.count,
	                           "waiting", (json_int_t)s->waiting, "contended", (json_int_t)s->contended,
	                           "ending", (json_int_t)s->ending, "endless", (json_int_t)s->endless,
	                           "taken", (json_int_t)s->taken, "taken_in_ms", (json_int_t)s->taken_in_ms,
	                           "round_trip_us", (json_int_t)(s->trip_ns / 1000),
	                           "scan_us", (json_int_t)(s->scan_ns / 1000), "circles", circles_json(s->circles));

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
print_rounds(const struct top *top, struct subject *subject, struct sample *sample)
{
	struct wish wish = {.order = top->order};
	int64_t before_ms = 0, from_ns;
	int status = EXIT_OK;
	leash_error err;

	for (uint64_t round = 1;; round++) {
		from_ns = clock_steady_ns();
		status = EXIT_OK;
		if (sample_take(sample, subject, &wish, before_ms, NULL, &err) != LEASH_OK) {
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
		if (fflush(stdout) != 0 || round == (uint64_t)top->rounds)
			return status;
		sleep_until(top, from_ns);
	}
}

/* Whoever collects it learns in the text, too, that there was no answer. */
static int
print_exposition(const struct top *top, struct subject *subject, struct sample *sample, int status)
{
	struct wish wish = {.order.by = RANK_NAME};
	struct exposition what = {.subject = subject};
	leash_error err;

	if (status == CLI_GO_ON && sample_take(sample, subject, &wish, 0, NULL, &err) != LEASH_OK)
		status = cli_fail_with(&top->cli, &err);
	what.sample = status == CLI_GO_ON ? sample : NULL;
	exposition_write(stdout, &what);
	return status == CLI_GO_ON ? EXIT_OK : status;
}

static int
run_batch(const struct top *top, struct subject *subject, int status)
{
	struct sample sample;

	if (!sample_init(&sample, (size_t)top->rows))
		status = cli_fail(&top->cli, EXIT_INTERNAL, "no memory for %d rows: ask for less, --rows", top->rows);
	if (top->prometheus)
		status = print_exposition(top, subject, &sample, status);
	else if (status == CLI_GO_ON)
		status = print_rounds(top, subject, &sample);
	sample_destroy(&sample);
	return cli_finish(&top->cli, status);
}

/* ---- options ---- */

static int
take_once(const struct cli *cli, const struct cli_option *option, char *text, void *into)
{
	(void)cli;
	(void)option;
	(void)text;
	*(int *)into = 1;
	return CLI_GO_ON;
}

static int
take_sort(const struct cli *cli, const struct cli_option *option, char *text, void *into)
{
	char shown[80];

	(void)option;
	for (int i = 0; i < RANKS; i++)
		if (strcmp(text, rank_name((enum rank_by)i)) == 0) {
			*(enum rank_by *)into = (enum rank_by)i;
			return CLI_GO_ON;
		}
	return cli_usage(cli, "--sort: '%s' is not waiting, held, lease or name",
	                 cli_show_word(shown, sizeof shown, text));
}

static const struct cli_option options[] = {
	{.letter = 'd', .name = "delay", .value = "DUR", .take = cli_take_duration, .at = offsetof(struct top, every_ms),
	 .least = LEAST_MS, .most = MOST_MS, .help = "time between two looks (default 2s, at least 100ms)"},
	{.letter = 'n', .name = "rounds", .value = "N", .take = cli_take_number, .at = offsetof(struct top, rounds),
	 .least = 1, .most = INT_MAX, .help = "end after N looks"},
	{.name = "once", .take = take_once, .at = offsetof(struct top, rounds), .help = "end after one look"},
	{.letter = 's', .name = "sort", .value = "WHAT", .choices = "waiting held lease name", .take = take_sort,
	 .at = offsetof(struct top, order.by), .help = "sort by waiting (default), held, lease or name"},
	{.letter = 'R', .name = "reverse", .take = cli_take_flag, .at = offsetof(struct top, order.reverse),
	 .help = "reverse the order"},
	{.letter = 'b', .name = "batch", .take = cli_take_flag, .at = offsetof(struct top, batch),
	 .help = "print plain lines, also on a terminal"},
	{.name = "rows", .value = "N", .take = cli_take_number, .at = offsetof(struct top, rows), .least = 1,
	 .most = MOST_ROWS, .help = "keep the first N locks of each look (default 1000; on a screen 100000, for "
	                             "Prometheus 10000), and say how many more there are"},
	{.name = "prometheus", .take = cli_take_flag, .at = offsetof(struct top, prometheus),
	 .help = "look once, and print it in the text format of Prometheus"},
	{.name = NULL},
};

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
	struct top top = {.every_ms = EVERY_MS};
	struct subject subject;
	int status = cli_read(&top, command, argc, argv);

	signal(SIGPIPE, SIG_DFL); /* a reader that has seen enough (head) ends us without an error */
	if (status == CLI_GO_ON)
		status = cli_only_pattern(&top.cli, argc, argv);
	if (status != CLI_GO_ON)
		return status;
	top.pattern = argv[optind];
	if (top.cli.json || top.prometheus || !has_screen())
		top.batch = true;
	if (top.rows == 0)
		top.rows = top.prometheus ? ROWS_OF_PROMETHEUS : top.batch ? ROWS : ROWS_OF_SCREEN;
	if (!top.batch)
		top.cli.verbose = false; /* log lines would spoil the screen */
	status = subject_open(&subject, &top.cli, top.pattern);
	if (top.prometheus || (top.batch && status == CLI_GO_ON))
		status = run_batch(&top, &subject, status);
	else if (status == CLI_GO_ON)
		status = screen_run(&subject, top.every_ms, (uint64_t)top.rounds, top.order, (size_t)top.rows);
	subject_close(&subject);
	return status;
}

const struct command command_top = {
	.name = "top",
	.summary = "the locks that are held, on a live screen",
	.usage = "[PATTERN]",
	.about = "Show the locks that are held, their holders and the number of waiters, again and again: on a terminal "
	         "as a screen (h shows its keys, q quits), elsewhere as plain lines. PATTERN is a glob over names, as in "
	         "the shell: 'nightly-*' (quote it). The server is read by SCAN, which blocks nobody. If a look takes "
	         "long, the next look comes later. When the server is away, leash top retries. leash list explains the "
	         "columns.\n",
	.groups = CLI_OPTIONS(options),
	.notes = "With --json: for each look an object with counts, and one for each lock. -q prints only the locks. "
	         "-v prints what the library logs; not on a screen.\n"
	         "Exit: 0; 64 usage; 69 no server at first, or at the last of -n looks.\n",
	.operands = A_PATTERN,
	.run = run,
};
