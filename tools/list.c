/* leash list: the locks that are held, a line for each.
 *
 * In a pipe they are printed as the scan comes by them, in no order, and none is kept: so the memory that this takes
 * does not grow with their number. On a terminal, where somebody reads them, they are sorted by name. */
#include "tools/look.h"
#include "tools/moment.h"
#include "tools/table.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct list {
	struct cli cli;
	bool wide;
	leash_client *client;
	struct table table;
	uint64_t count;
	bool sorts;
	char **rows; /* then: as many as `count`, each a name and behind its NUL the line */
	size_t room;
	bool no_memory;
};

/* ---- sorted ---- */

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool
keep_row(struct list *list, const char *name, const char *line)
{
	size_t room = list->count < list->room ? list->room : 2 * list->room + 64;
	char **rows = reallocarray(list->rows, room, sizeof(char *));

	list->no_memory = rows == NULL;
	if (list->no_memory)
		return false;
	list->rows = rows;
	list->room = room;
	list->no_memory = asprintf(&rows[list->count], "%s%c%s", name, '\0', line) < 0;
	return !list->no_memory;
}

static void
print_rows(struct list *list)
{
	if (list->rows != NULL)
		qsort(list->rows, list->count, sizeof(char *), by_name);
	for (size_t i = 0; list->rows != NULL && i < list->count; i++) {
		puts(strchr(list->rows[i], '\0') + 1);
		free(list->rows[i]);
	}
	free(list->rows);
}

/* ---- each ---- */

static bool
print_lock(void *arg, const leash_lock_info *info)
{
	struct list *list = arg;
	char line[TABLE_LINE_SIZE];
	struct look look;

	if (list->cli.json) {
		look_further(&look, list->client, info);
		cli_print(look_json(&look));
	} else {
		struct moment now = moment_now(list->client);

		if (list->count == 0 && !list->cli.quiet)
			puts(table_head(&list->table, line));
		table_line(&list->table, line, info, &now);
		if (list->sorts && !keep_row(list, info->name, line))
			return false;
		if (!list->sorts)
			puts(line);
	}
	list->count++;
	return !ferror(stdout); /* a full disk, say; cli_finish() tells */
}

static int
print_locks(struct list *list, const char *pattern)
{
	leash_error err;
	leash_status scanned = leash_client_scan(list->client, pattern, print_lock, list, &err);
	int status;

	print_rows(list);
	fflush(stdout); /* the locks first, then the error */
	if (scanned != LEASH_OK)
		return cli_fail_with(&list->cli, &err);
	if (list->no_memory)
		return cli_fail(&list->cli, EXIT_INTERNAL, "out of memory: not all locks are listed");
	status = cli_finish(&list->cli, EXIT_OK);
	if (status != EXIT_OK)
		return status;
	if (list->count == 0 && !list->cli.json)
		cli_say(&list->cli, CLI_INFO, pattern != NULL ? "no lock of such a name is held" : "no lock is held");
	else
		cli_say(&list->cli, CLI_DETAIL, "%llu lock%s", (unsigned long long)list->count, list->count == 1 ? "" : "s");
	return status;
}

static int
run(const struct command *command, int argc, char **argv)
{
	struct list list = {.wide = false};
	int status = cli_read(&list, command, argc, argv);

	signal(SIGPIPE, SIG_DFL); /* a reader that has seen enough (head) ends us without an error */
	if (status == CLI_GO_ON)
		status = cli_only_pattern(&list.cli, argc, argv);
	if (status == CLI_GO_ON)
		status = cli_open_to_look(&list.cli, &list.client);
	if (status != CLI_GO_ON)
		return status;
	list.sorts = !list.cli.json && isatty(STDOUT_FILENO) == 1;
	table_fit(&list.table, list.wide ? 0 : table_terminal(STDOUT_FILENO));
	status = print_locks(&list, argv[optind]);
	leash_close(list.client);
	return status;
}

static const struct cli_option options[] = {
	{.letter = 'w', .name = "wide", .take = cli_take_flag, .at = offsetof(struct list, wide),
	 .help = "show all columns in full, also on a terminal"},
	{.name = NULL},
};

const struct command command_list = {
	.name = "list",
	.summary = "list the locks that are held",
	.usage = "[PATTERN]",
	.about = "List the locks that are held, of every kind. They are sorted by name on a terminal and unsorted "
	         "elsewhere. The columns are name, holder (of several the one whose lease ends last), program, since "
	         "when, how long, the lease that is left, depth, the number of waiters, fence, kind, and how many are "
	         "out. PATTERN is a glob over names, as in the shell: 'nightly-*' (quote it). The server is read in small "
	         "steps (SCAN), which block nobody. A lock that is acquired or released meanwhile may be listed or not, "
	         "and some locks may be listed twice.\n",
	.groups = CLI_OPTIONS(options),
	.notes = "A '?' means not known: the client left no name. LEASE none: the key has no expiry, so leash did not "
	         "make it. OUT 3/8: 3 permits of 8, or of an operator's limit. In a pipe there are always eleven columns. "
	         "There a space in a name is \\x20, a \\ is \\x5c, and other bytes that are not printable ASCII are "
	         "written in the same way; with --escaped each command takes names in this form. -q omits the titles, -v "
	         "prints a count at the end. With --json: one object for each lock, one per line.\n"
	         "Exit: 0; 64 usage; 69 no server; 77 the server denies it.\n",
	.operands = A_PATTERN,
	.run = run,
};
