/* leash list: the locks that are held, a line for each.
 *
 * They are printed as the scan comes by them, and none is kept, so the memory that this takes does not grow with
 * their number. That is why they come in no order. */
#include "tools/look.h"
#include "tools/moment.h"
#include "tools/table.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static const char help[] =
	"Usage: leash list [OPTION...] [PATTERN]\n"
	"List the locks that are held, of whatever kind, in no order: name, holder (of\n"
	"several the one whose lease ends last), program, since when, how long, the lease\n"
	"that is left, depth, how many wait, fence, kind, and how many are out.\n"
	"\n"
	"  -w, --wide          leave no column out and cut nothing, also on a terminal\n"
	"  -r, --redis URI     the server (else $LEASH_URI, redis://127.0.0.1:6379)\n"
	"      --prefix TEXT   of all keys (else $LEASH_PREFIX, leash)\n"
	"      --escaped       PATTERN is written as names are shown: \\x20, \\x5c\n"
	"      --json          one object for each lock, a line each\n"
	"  -q, --quiet         no line of titles\n"
	"  -v, --verbose       say at the end how many there were\n"
	"\n"
	"PATTERN is a glob over names, as the shell has it: 'nightly-*' (quote it).\n"
	"Goes through the server in small steps (SCAN), which blocks nobody. A lock that\n"
	"is taken or released meanwhile may be listed or not, and some may be twice.\n"
	"\n"
	"'?' is not known: the client left no name. LEASE none: the key has no expiry, so\n"
	"leash did not make it. OUT 3/8: 3 permits of 8, or of an operator's limit. In a\n"
	"pipe there are always eleven columns; a space in a name is \\x20, a \\ is \\x5c,\n"
	"and bytes that are not printable ASCII likewise.\n"
	"With --escaped each command takes names in this form.\n"
	"\n"
	"Exit status: 0; 64 usage; 69 no server, or it does not permit it.\n";

struct list {
	const struct cli *cli;
	leash_client *client;
	struct table table;
	uint64_t count;
};

static bool
print_lock(void *arg, const leash_lock_info *info)
{
	struct list *list = arg;
	char line[TABLE_LINE_SIZE];
	struct look look;

	if (list->cli->json) {
		look_further(&look, list->client, info);
		cli_print(look_json(&look));
	} else {
		struct moment now = moment_now(list->client);

		if (list->count == 0 && !list->cli->quiet)
			puts(table_head(&list->table, line));
		puts(table_line(&list->table, line, info, &now));
	}
	list->count++;
	return !ferror(stdout); /* a full disk, say; cli_finish() tells */
}

static int
print_locks(struct list *list, const char *pattern)
{
	leash_error err;
	int status;

	if (leash_client_scan(list->client, pattern, print_lock, list, &err) != LEASH_OK) {
		fflush(stdout); /* the locks first, then the error */
		return cli_fail_with(list->cli, &err);
	}
	status = cli_finish(list->cli, EXIT_OK);
	if (status != EXIT_OK)
		return status;
	if (list->count == 0 && !list->cli->json)
		cli_say(list->cli, CLI_INFO, pattern != NULL ? "no lock of such a name is held" : "no lock is held");
	else
		cli_say(list->cli, CLI_DETAIL, "%llu lock%s", (unsigned long long)list->count, list->count == 1 ? "" : "s");
	return status;
}

static int
run(const struct command *command, int argc, char **argv)
{
	static const struct option options[] = {{"wide", no_argument, NULL, 'w'}, CLI_LONG, CLI_LONG_END};
	struct cli cli;
	struct list list = {.cli = &cli};
	bool wide = false;
	int c, status;

	cli_begin(&cli, command);
	signal(SIGPIPE, SIG_DFL); /* a reader that has seen enough (head) ends us without an error */
	while ((c = getopt_long(argc, argv, ":w" CLI_SHORT, options, NULL)) != -1) {
		if (c == 'w')
			wide = true;
		else if ((status = cli_option(&cli, c, argv)) != CLI_GO_ON)
			return status;
	}
	if (cli_only_pattern(&cli, argc, argv) != CLI_GO_ON)
		return EXIT_USAGE;
	status = cli_open_to_look(&cli, &list.client);
	if (status != CLI_GO_ON)
		return status;
	table_fit(&list.table, wide ? 0 : table_terminal(STDOUT_FILENO));
	status = print_locks(&list, argv[optind]);
	leash_close(list.client);
	return status;
}

const struct command command_list = {"list", "list the locks that are held", help, run};
