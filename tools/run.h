/* A command under locks: leash run, and leash elect, which does the same while it leads. */
#ifndef LEASH_TOOLS_RUN_H
#define LEASH_TOOLS_RUN_H

#include "tools/hold.h"

/* For getopt_long: what both have. */
enum {
	RUN_FAIR = CLI_OWN, RUN_TTL, RUN_ON_LOST, RUN_MAX_RUN, RUN_FOREGROUND, RUN_SKIP_OK, RUN_LOST_EXIT, RUN_AT_LEAST,
	RUN_VALUE,
};
#define RUN_SHORT "+:nw:E:k:" CLI_SHORT
#define RUN_LONG                                          \
	CLI_LONG,                                             \
	{"nonblock", no_argument, NULL, 'n'},                 \
	{"wait", required_argument, NULL, 'w'},               \
	{"conflict-exit-code", required_argument, NULL, 'E'}, \
	{"fair", no_argument, NULL, RUN_FAIR},                \
	{"ttl", required_argument, NULL, RUN_TTL},            \
	{"on-lost", required_argument, NULL, RUN_ON_LOST},    \
	{"kill-after", required_argument, NULL, 'k'},         \
	{"max-run", required_argument, NULL, RUN_MAX_RUN},    \
	{"foreground", no_argument, NULL, RUN_FOREGROUND},    \
	HOLD_REPLICAS_LONG

/* All that the command does. `value`: what a leader says of itself, unless RUN_VALUE says it; NULL: it is no leader. */
int run_under(const struct command *command, int argc, char **argv, const char *letters,
              const struct option *long_options, const char *value);

#endif
