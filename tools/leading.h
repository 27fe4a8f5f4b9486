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

/* The one name behind the options. CLI_GO_ON, or what to exit with. */
int leading_name(struct leading *leading, int argc, char **argv);

/* Open a client and the watch, act, and close them; returns what to exit with. */
int leading_open_and(struct leading *leading, bool patiently, int (*act)(struct leading *leading));

void leading_print_json(const struct leading *leading);

#endif
