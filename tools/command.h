/* The commands of leash, each in a file of its own, and the statuses that they exit with. */
#ifndef LEASH_TOOLS_COMMAND_H
#define LEASH_TOOLS_COMMAND_H

#include "tools/option.h"

/* Scripts rely on these; sysexits.h, timeout(1) and the shell have the same numbers for the same things. */
enum {
	EXIT_OK = 0,
	EXIT_FREE = 1,         /* leash status -q: nobody has it */
	EXIT_USAGE = 64,       /* the command line */
	EXIT_NO_SERVER = 69,   /* the server cannot be reached */
	EXIT_INTERNAL = 70,    /* out of memory, or leash is wrong */
	EXIT_CONFLICT = 75,    /* somebody else has it */
	EXIT_DENIED = 77,      /* a wrong password, or a permission is missing */
	EXIT_CONFIG = 78,      /* a configuration file; or not possible there; or a name that is something else */
	EXIT_LOST = 79,        /* it was lost, or is not held by that token */
	EXIT_TOO_LONG = 124,   /* --max-run */
	EXIT_NOT_RUNNABLE = 126,
	EXIT_NOT_THERE = 127,
	EXIT_BY_SIGNAL = 128,  /* and its number */
};

/* What stands behind the options. */
enum command_operands { NO_OPERAND, A_NAME, NAMES, A_PATTERN, NAMES_AND_A_JOB };

struct command {
	const char *name;
	const char *summary;    /* in the list of all */
	const char *usage;      /* what stands behind "leash <name> [OPTION...] "; more forms are further lines */
	const char *about;      /* what it does; paragraphs, which end in \n */
	const struct cli_group *groups; /* its own options; all commands have those of cli.c as well */
	const char *notes;      /* behind the options; likewise */
	enum command_operands operands;
	int (*run)(const struct command *command, int argc, char **argv); /* argv[0] is its name; returns the exit status */
};

extern const struct command command_acquire, command_arrive, command_await, command_bench, command_break,
	command_doctor, command_elect, command_exporter, command_leader, command_limit, command_list, command_release,
	command_renew, command_run, command_scripts, command_status, command_top, command_wait, command_watch;

#endif
