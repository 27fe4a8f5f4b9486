/* leash doctor: prints what the doctor tells, for people and for scripts. */
#include "tools/cli.h"
#include "tools/doctor/doctor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	EXIT_WARNINGS = 1, /* locks work, but not all that is expected of them */
	EXIT_UNFIT = 2,    /* they do not work, or are not safe */
};

struct printer {
	const struct cli *cli;
	bool colour;
	char server[200]; /* whose findings are being printed */
	unsigned count[LEVELS];
};

static const struct {
	const char *word, *colour;
} levels[LEVELS] = {
	[FINE] = {"ok", "\033[32m"},
	[NOTE] = {"note", "\033[36m"},
	[WARNING] = {"warning", "\033[33m"},
	[ERROR] = {"error", "\033[31m"},
};

static unsigned
total(const struct printer *p)
{
	unsigned n = 0;

	for (int i = 0; i < LEVELS; i++)
		n += p->count[i];
	return n;
}

/* ---- findings ---- */

static void
print_json(const struct finding *f)
{
	cli_print(json_pack("{so ss ss so so}", "server", cli_json_text(f->server), "topic", f->topic,
	                    "level", levels[f->level].word, "text", cli_json_text(f->text),
	                    "remedy", f->remedy != NULL ? cli_json_text(f->remedy) : json_null()));
}

static void
print_line(struct printer *p, const struct finding *f)
{
	const char *on = p->colour ? levels[f->level].colour : "", *off = p->colour ? "\033[0m" : "";

	if (strncmp(p->server, f->server, sizeof p->server - 1) != 0) {
		snprintf(p->server, sizeof p->server, "%s", f->server);
		printf("%s\n", f->server);
	}
	printf("%s%-7s%s  %-11s  %s\n", on, levels[f->level].word, off, f->topic, f->text);
	if (f->remedy != NULL)
		printf("%19s-> %s\n", "", f->remedy);
}

static void
take_finding(void *arg, const struct finding *finding)
{
	struct printer *p = arg;

	p->count[finding->level]++;
	if (p->cli->quiet && finding->level < WARNING)
		return;
	if (p->cli->json)
		print_json(finding);
	else
		print_line(p, finding);
	fflush(stdout); /* the next one may take its time */
}

/* ---- the end of it ---- */

static void
print_number(unsigned n, const char *what, const char *before)
{
	printf("%s%u %s%s", before, n, what, n == 1 ? "" : "s");
}

static void
print_summary(const struct printer *p, int status)
{
	unsigned errors = p->count[ERROR], warnings = p->count[WARNING], notes = p->count[NOTE];

	if (p->cli->json) {
		cli_print(json_pack("{s{sb si si si si si}}", "summary", "fit", errors == 0, "errors", (int)errors,
		                    "warnings", (int)warnings, "notes", (int)notes,
		                    "ok", (int)p->count[FINE], "exit", status));
		return;
	}
	if (p->cli->quiet)
		return;
	print_number(errors, "error", "\n");
	print_number(warnings, "warning", ", ");
	print_number(notes, "note", ", ");
	puts(status == EXIT_NO_SERVER ? ": this server cannot be used"
	     : errors > 0             ? ": this server is not fit to keep locks"
	     : warnings > 0           ? ": locks work, with the reservations above"
	                              : ": this server is fit to keep locks");
}

static int
run(const struct command *command, int argc, char **argv)
{
	struct cli cli = {.json = false};
	struct printer p = {.cli = &cli};
	int status = cli_read(&cli, command, argc, argv);
	leash_options options;
	leash_error err = {0};
	char shown[80];

	if (status != CLI_GO_ON)
		return status;
	if (optind < argc)
		return cli_usage(&cli, "it looks at a server, not at locks: what is '%s'? -r URI names a server",
		                 cli_show_word(shown, sizeof shown, argv[optind]));
	p.colour = cli_has_colour(STDOUT_FILENO);
	if (cli.uri_from != NULL)
		cli_say(&cli, strchr(cli.uri_from, '/') != NULL ? CLI_INFO : CLI_DETAIL, "%s says which server", cli.uri_from);
	options = cli_client_options(&cli, "doctor");
	status = cli_exit_of(doctor_examine(&options, take_finding, &p, &err));
	if (total(&p) == 0)
		return cli_fail_to_open(&cli, &err);
	if (status == EXIT_OK && p.count[ERROR] > 0)
		status = EXIT_UNFIT;
	else if (status == EXIT_OK && p.count[WARNING] > 0)
		status = EXIT_WARNINGS;
	print_summary(&p, status);
	return cli_finish(&cli, status);
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "is this server fit to keep locks, and how to fix it if not",
	.usage = "",
	.about = "Check whether the server is fit to keep locks: its version, eviction, memory, persistence, replication, "
	         "limits, permissions, clock and speed. Then try a lock, and say what is wrong and how to fix it. Nothing "
	         "is left behind. If the URI names several servers, leash doctor looks at each, and at the sentinels, if "
	         "there are any: do they agree which server is the master, and would a failover come in time? It tries "
	         "the permissions of keys and channels that begin with --prefix.\n",
	.notes = "With --json: one object for each finding, then one with their number. -q prints only warnings and "
	         "errors.\n"
	         "Exit: 0 nothing is wrong (there may be notes); 1 there are warnings; 2 there are errors: the server "
	         "can be reached, but is not fit; 64 usage; 69 it cannot be reached; 77 it does not let us in; 70 "
	         "internal error.\n",
	.run = run,
};
