/* leash elect: run CMD while leading. See run.c. */
#include "tools/run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int
run(const struct command *command, int argc, char **argv)
{
	static const struct option options[] = {RUN_LONG, {"value", required_argument, NULL, RUN_VALUE}, CLI_LONG_END};
	char us[300] = "";

	if (gethostname(us, sizeof us - 30) != 0)
		strcpy(us, "?");
	sprintf(us + strlen(us), ":%ld", (long)getpid());
	return run_under(command, argc, argv, RUN_SHORT, options, us);
}

const struct command command_elect = {
	"elect",
	"run a command while leading; others may watch who leads",
	"Usage: leash elect [OPTION...] NAME -- CMD [ARG...]\n"
	"       leash elect [OPTION...] NAME -c 'SHELL STRING'\n"
	"Stand for election, and run CMD while leading. Who holds the lock NAME leads. If\n"
	"that is lost CMD is dead before another one leads, and it stands again. When CMD\n"
	"ends by itself it resigns. See leash leader and leash watch.\n"
	"\n"
	"      --value TEXT            what others are told of it (default host:pid)\n"
	"  -n, --nonblock              stand only if nobody leads\n"
	"  -w, --wait DUR              stand at most this long: 30s, 5m (else for ever)\n"
	"  -E, --conflict-exit-code N  exit status if another leads then (default 75)\n"
	"      --fair                  first come, first served, over all processes\n"
	"      --ttl DUR               the lease (default 30s)\n"
	"      --on-lost HOW           if lost: term (default), kill, keep, or a signal\n"
	"  -k, --kill-after DUR        from TERM to KILL (default 5s, at most ttl / 4)\n"
	"      --max-run DUR           end CMD after this time, and exit 124\n"
	"      --foreground            CMD stays in our process group\n"
	"      --min-replicas N, --fsynced, --replicas-timeout DUR\n"
	"                              once N replicas have it, on disk, within DUR\n"
	"  -r, --redis URI             the server, else $LEASH_URI; --prefix of its keys\n"
	"      --escaped               NAME is as leash list shows it: \\x20 is a space\n"
	"  -v, --verbose   -q, --quiet   --json   -h, --help\n"
	"CMD has LEASH_VALUE, and all that leash run gives it. Exit: its own, 64 usage,\n"
	"69 no server, 75 another leads, 79 lost as CMD ended, or kept, 124 too long,\n"
	"126 cannot be run, 127 not there, 128+N died of signal N\n",
	run,
};
