/* leash bench: what a server does with locks, in a few seconds.
 *
 * Part after part runs (bench_parts.h) and gets its share of the time that is left; each is told when it is over,
 * with nothing held and nothing open, so one may leave at any line. INT, TERM and HUP end the part that runs, in
 * order: its locks are released, its figures told, and then we die of that signal, as whoever sent it expects. */
#include "tools/bench_parts.h"
#include "tools/cli.h"
#include "tools/clock.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	BENCH_MS = 5000,
	MIN_MS = 100,
	MAX_MS = 3600000,
	PARTS = 6,
};

struct request {
	struct cli cli;
	int64_t total_ms;
	int threads;
};

static leash_cancel *cancel; /* for the handler */
static volatile sig_atomic_t caught;

static void
stop(int signal)
{
	caught = signal;
	leash_cancel_fire(cancel);
}

/* Ignored signals stay ignored: nohup, and background jobs of a script. */
static void
catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		struct sigaction old, new = {.sa_handler = stop, .sa_flags = SA_RESTART};

		sigemptyset(&new.sa_mask);
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &new, NULL);
	}
}

/* ---- figures ---- */

/* Three digits and a unit: "5.21 us", "1.30 ms". */
static const char *
show_ns(char out[16], uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double value = (double)ns;
	int unit = 0;

	for (; unit < 3 && value >= 999.5; unit++)
		value /= 1000;
	snprintf(out, 16, "%.*f %s", unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, units[unit]);
	return out;
}

static double
per_second(const struct figures *f, const struct histogram *h)
{
	return f->seconds > 0 ? (double)h->count / f->seconds : 0;
}

static void
print_line(const char *label, const struct figures *f, const struct histogram *h, const char *cpus)
{
	char p50[16], p99[16], max[16];

	printf("%-26s %9llu %9.0f %8s %8s %8s %5s\n", label, (unsigned long long)h->count, per_second(f, h),
	       show_ns(p50, histogram_at(h, 0.5)), show_ns(p99, histogram_at(h, 0.99)), show_ns(max, h->max), cpus);
}

static void
print_part(const struct part *part, const struct figures *f, bool first)
{
	char cpus[16];

	if (first)
		printf("%-26s %9s %9s %8s %8s %8s %5s\n", "", "count", "per s", "p50", "p99", "max", "CPU");
	snprintf(cpus, sizeof cpus, "%.2f", f->cpus);
	print_line(part->label, f, &f->took, cpus);
	if (part->clients > 1)
		print_line("  hand-off", f, &f->handoff, "");
	fflush(stdout);
}

static double
us(uint64_t ns)
{
	return (double)ns / 1000;
}

static json_t *
json_times(const struct figures *f, const struct histogram *h)
{
	return json_pack("{sI sf sf sf sf}", "count", (json_int_t)h->count, "per_second", per_second(f, h),
	                 "p50_us", us(histogram_at(h, 0.5)), "p99_us", us(histogram_at(h, 0.99)), "max_us", us(h->max));
}

static json_t *
json_part(const struct part *part, const struct figures *f)
{
	json_t *object = json_pack("{ss ss si si si sf sf sI sI}", "part", part->id, "label", part->label,
	                           "clients", part->clients, "threads", part->threads, "locks", part->locks,
	                           "seconds", f->seconds, "cpus", f->cpus,
	                           "commands", (json_int_t)f->commands, "lost", (json_int_t)f->lost);

	if (object == NULL)
		return NULL;
	cli_json_add(object, json_times(f, &f->took));
	if (!part->only_ask)
		json_object_set_new(object, "handed_on", json_integer((json_int_t)f->handed_on));
	if (part->clients > 1)
		json_object_set_new(object, "handoff", json_times(f, &f->handoff));
	return object;
}

/* ---- all parts ---- */

/* What one run of the command collects. */
struct report {
	const struct cli *cli;
	int threads, told; /* threads: as asked for; told: parts printed so far */
	json_t *parts, *notes;
};

static void __attribute__((format(printf, 2, 3)))
note(struct report *report, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	json_array_append_new(report->notes, cli_json_text(text));
}

/* Where this process used most of a CPU the figure is not the server's alone. Threads that want one lock use one. */
static void
note_cpus(struct report *report, const struct part *part, const struct figures *f)
{
	cpu_set_t set;
	int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
	int usable = part->threads < cpus ? part->threads : cpus;

	if (f->cpus > 0.7 * (part->locks == 1 ? 1 : usable))
		note(report, "%s: this process alone used %.2f of %d CPUs: the figure depends on this machine as much as on "
		             "the server.", part->label, f->cpus, cpus);
}

/* What the figures of a part do not say by themselves. */
static void
note_part(struct report *report, const struct part *part, const struct figures *f)
{
	if (part->clients == 1 && part->threads > 1 && part->locks == 1 && f->acquired > 0)
		note(report, "%s: %.1f %% of the turns passed from thread to thread in here, without asking the server.",
		     part->label, 100 * (double)f->handed_on / (double)f->acquired);
	if (f->lost > 0)
		note(report, "%s: locks were lost while they were held: %llu. Was the server restarted, does it evict keys? "
		             "See leash doctor.", part->label, (unsigned long long)f->lost);
	if (f->reconnects > 0)
		note(report, "%s: the connection was lost and made again: %llu times.", part->label,
		     (unsigned long long)f->reconnects);
	note_cpus(report, part, f);
}

static void
fill_parts(struct part parts[PARTS], int threads, char labels[2][32])
{
	snprintf(labels[0], sizeof labels[0], "%d threads, a lock each", threads);
	snprintf(labels[1], sizeof labels[1], "%d threads, one lock", threads);
	parts[0] = (struct part){"round-trip", "round trip, 1 thread", 1, 1, 1, true};
	parts[1] = (struct part){"one-thread", "1 thread, 1 lock", 1, 1, 1, false};
	parts[2] = (struct part){"own-locks", labels[0], 1, threads, threads, false};
	parts[3] = (struct part){"one-lock", labels[1], 1, threads, 1, false};
	parts[4] = (struct part){"two-clients", "2 clients, one lock", 2, 2, 1, false};
	parts[5] = (struct part){"four-clients", "4 clients, one lock", 4, 4, 1, false};
}

/* All parts, until one fails. */
static leash_status
run_parts(struct report *report, const struct bench *bench, int64_t total_ms, struct figures *f, leash_error *err)
{
	int64_t end_ns = clock_steady_ns() + total_ms * MS;
	struct part parts[PARTS];
	char labels[2][32];
	leash_status status = LEASH_OK;

	fill_parts(parts, report->threads, labels);
	for (int i = 0; i < PARTS && status == LEASH_OK; i++) {
		int64_t share = (end_ns - clock_steady_ns()) / MS / (PARTS - i);

		status = part_run(bench, &parts[i], share > 1 ? share : 1, f, err);
		if (f->took.count == 0)
			continue;
		if (report->cli->json)
			json_array_append_new(report->parts, json_part(&parts[i], f));
		else
			print_part(&parts[i], f, report->told == 0);
		report->told++;
		note_part(report, &parts[i], f);
	}
	note(report, "Others who use the server, the network or this machine meanwhile are in all figures, and cannot be "
	             "told apart.");
	return status;
}

static void
print_notes(const struct report *report)
{
	size_t i;
	json_t *text;

	if (report->cli->quiet || report->told == 0)
		return;
	putchar('\n');
	json_array_foreach(report->notes, i, text)
		printf("%s\n", json_string_value(text));
}

static int
tell_end(struct report *report, leash_status status, const leash_error *err)
{
	const struct cli *cli = report->cli;
	int exit_status = EXIT_OK;

	if (cli->json) {
		cli_print(json_pack("{ss sb sO sO}", "loop", "closed", "interrupted", status == LEASH_CANCELED,
		                    "parts", report->parts, "notes", report->notes));
	} else {
		print_notes(report);
	}
	fflush(stdout);
	if (status == LEASH_CANCELED)
		exit_status = cli_fail(cli, EXIT_BY_SIGNAL + caught, "interrupted: the figures so far are above");
	else if (status != LEASH_OK)
		exit_status = cli_fail_with(cli, err);
	return cli_finish(cli, exit_status);
}

static int
measure(const struct cli *cli, int threads, int64_t total_ms)
{
	struct report report = {.cli = cli, .threads = threads, .parts = json_array(), .notes = json_array()};
	struct figures *f = malloc(sizeof *f);
	char name[64];
	struct bench bench = {.options = cli_client_options(cli, NULL), .name = name, .cancel = cancel};
	uint32_t random = 0;
	leash_error err = {.status = LEASH_NO_MEMORY, .text = "out of memory"};
	leash_status status = LEASH_NO_MEMORY;
	int exit_status;

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		random = (uint32_t)clock_steady_ns();
	snprintf(name, sizeof name, "leash-bench-%d-%08x", (int)getpid(), random);
	if (f != NULL && report.parts != NULL && report.notes != NULL)
		status = run_parts(&report, &bench, total_ms, f, &err);
	exit_status = tell_end(&report, status, &err);
	json_decref(report.parts);
	json_decref(report.notes);
	free(f);
	return exit_status;
}

static int
run(const struct command *command, int argc, char **argv)
{
	struct request r = {.total_ms = BENCH_MS, .threads = 8};
	int status = cli_read(&r, command, argc, argv);
	leash_error err;

	if (status != CLI_GO_ON)
		return status;
	if (optind < argc)
		return cli_usage(&r.cli, "it takes options only");
	if (cli_check_server(&r.cli) != CLI_GO_ON)
		return EXIT_USAGE;
	if (leash_cancel_new(&cancel, &err) != LEASH_OK)
		return cli_fail_with(&r.cli, &err);
	catch_signals();
	status = measure(&r.cli, r.threads, r.total_ms);
	if (caught != 0) {
		signal(caught, SIG_DFL);
		raise(caught);
	}
	return status;
}

static const struct cli_option options[] = {
	{.letter = 't', .name = "time", .value = "DUR", .take = cli_take_duration, .at = offsetof(struct request, total_ms),
	 .least = MIN_MS, .most = MAX_MS, .help = "how long it takes in all (default 5s)"},
	{.letter = 'p', .name = "threads", .value = "N", .take = cli_take_number, .at = offsetof(struct request, threads),
	 .least = 1, .most = BENCH_THREADS, .help = "threads in the parts that use many (default 8, at most 256)"},
	{.name = NULL},
};

const struct command command_bench = {
	.name = "bench",
	.summary = "what this server does with locks, in a few seconds",
	.usage = "",
	.about = "Measure locks on this server in a few seconds.\n",
	.groups = CLI_OPTIONS(options),
	.notes = "Each line is one part: how often it was done per second, and how long it took, from before the acquire "
	         "to after the release, including the wait for others. A hand-off is the time from one client's release "
	         "to the acquire of another client that waited for it. The loop is closed: each thread continues as soon "
	         "as it is answered. Figures are within 1 %, max is exact. CPU: what this process used of the machine's.\n"
	         "With --json: one object, at the end. -q prints only the figures.\n"
	         "\n"
	         "The locks, leash-bench-<pid>-<random>-<n>, are released at the end, also after Ctrl-C. A fence of each "
	         "remains, which the server drops within an hour.\n"
	         "Exit: 0; 64 usage; 69 no server, or it stopped answering; 70 internal error; if interrupted, it dies of "
	         "that signal.\n",
	.run = run,
};
