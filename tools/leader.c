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
	return leading_run(command, argc, argv, false, look);
}

const struct command command_leader = {
	.name = "leader",
	.summary = "say who leads",
	.usage = "NAME",
	.about = "Print the value of the leader. The holder of the lock NAME leads, by leash elect or by a program. The "
	         "answer may be out of date already.\n",
	.notes = "With --json: an object, also where nobody leads.\n"
	         "Exit: 0 somebody leads; 75 nobody does; 64 usage; 69 no server.\n",
	.operands = A_NAME,
	.run = run,
};
