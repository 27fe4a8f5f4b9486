/* What leash leader and leash watch have in common: who leads, of one name. They take no part in it. */
#ifndef LEASH_TOOLS_LEADING_H
#define LEASH_TOOLS_LEADING_H

#include "tools/hold.h"

enum { LEADING_SHOWN_SIZE = 4 * LEASH_VALUE_MAX + 1 };

struct leading {
	struct cli cli;
	const char *name, *command; /* -x of leash watch; NULL: print it */
	leash_watch *watch;
	leash_leader is;
};

/* Read the command line, open a client and the watch, act, and close them; returns what to exit with. */
int leading_run(const struct command *command, int argc, char **argv, bool patiently, int (*act)(struct leading *l));

void leading_print_json(const struct leading *leading);

#endif
