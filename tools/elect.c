/* leash elect: run CMD while leading. See run.c. */
#include "tools/run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int
run(const struct command *command, int argc, char **argv)
{
	char us[300] = "";

	if (gethostname(us, sizeof us - 30) != 0)
		strcpy(us, "?");
	sprintf(us + strlen(us), ":%ld", (long)getpid());
	return run_under(command, argc, argv, us);
}

const struct command command_elect = {
	.name = "elect",
	.summary = "run a command while leading; others may watch who leads",
	.usage = "NAME -- CMD [ARG...]\n"
	         "NAME -c STRING",
	.about = "Become a candidate, and run CMD while leading. The holder of the lock NAME leads. If the lock is lost, "
	         "CMD is dead before another process leads, and this process becomes a candidate again. When CMD ends by "
	         "itself, it resigns. See leash leader and leash watch.\n",
	.groups = run_groups_of_a_leader,
	.notes = "CMD has LEASH_VALUE, and everything that leash run gives it. Exit: its own, 64 usage, 69 no server, 75 "
	         "another process leads, 79 the lock was lost by the end of CMD, 124 too long, 126 cannot be executed, "
	         "127 does not exist, 128+N died of signal N\n",
	.operands = NAMES_AND_A_JOB,
	.run = run,
};
