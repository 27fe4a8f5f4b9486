/* leash leader: who leads. */
#include "tools/leading.h"

#include <stdio.h>

static int
look(struct leading *l)
{
	char shown[LEADING_SHOWN_SIZE], name[HOLD_NAME_SIZE];
	leash_error err;

	if (leash_watch_look(l->watch, &l->is, &err) != LEASH_OK)
		return cli_fail_with(&l->cli, &err);
	if (l->cli.json)
		leading_print_json(l);
	else if (l->is.value[0] != '\0')
		puts(cli_show(shown, sizeof shown, l->is.value));
	else if (!l->is.leads)
		cli_say(&l->cli, CLI_INFO, "nobody leads by '%s'", cli_show(name, sizeof name, l->name));
	if (l->is.leads && l->is.value[0] == '\0')
		cli_say(&l->cli, CLI_DETAIL, "the holder of '%s' has proclaimed nothing", cli_show(name, sizeof name, l->name));
	return l->is.leads ? EXIT_OK : EXIT_CONFLICT;
}

static int
run(const struct command *command, int argc, char **argv)
{
	static const struct option options[] = {CLI_LONG, CLI_LONG_END};
	struct leading l = {.is.size = sizeof l.is};
	int c, status = CLI_GO_ON;

	cli_begin(&l.cli, command);
	while (status == CLI_GO_ON && (c = getopt_long(argc, argv, ":" CLI_SHORT, options, NULL)) != -1)
		status = cli_option(&l.cli, c, argv);
	if (status == CLI_GO_ON)
		status = leading_name(&l, argc, argv);
	return status == CLI_GO_ON ? leading_open_and(&l, false, look) : status;
}

const struct command command_leader = {
	"leader",
	"say who leads",
	"Usage: leash leader [OPTION...] NAME\n"
	"Print what the leader said of itself: whoever holds the lock NAME leads, by\n"
	"leash elect or by a program. It may be out of date already.\n"
	"\n"
	"      --escaped      NAME is as leash list shows it: \\x20 is a space\n"
	"      --json         an object, also where nobody leads\n"
	"  -v, --verbose      say where it said nothing     -q, --quiet\n"
	"  -r, --redis URI    the server, else $LEASH_URI     --prefix TEXT  of its keys\n"
	"\n"
	"Exit: 0 somebody leads; 75 nobody does; 64 usage; 69 no server.\n",
	run,
};
