/* What all commands have in common: their options, how they speak, and how they reach the server. */
#ifndef LEASH_TOOLS_CLI_H
#define LEASH_TOOLS_CLI_H

#include "tools/command.h"
#include "tools/json.h"
#include "tools/name.h"
#include "tools/open.h"
#include "tools/say.h"
#include "tools/show.h"
#include "tools/value.h"

#include <leash.h>

#include <getopt.h>
#include <stdbool.h>

/* What one command was told by the options that all have. */
struct cli {
	const struct command *command;
	const char *uri;    /* --redis; NULL: $LEASH_URI */
	const char *prefix; /* --prefix, else $LEASH_PREFIX; NULL: the default */
	bool json, quiet, verbose;
	bool escaped; /* --escaped: names are as leash list shows them */
};

/* For getopt_long: put these into a command's own lists. */
#define CLI_SHORT "r:qvh"
#define CLI_LONG                                     \
	{"redis", required_argument, NULL, 'r'},         \
	{"prefix", required_argument, NULL, CLI_PREFIX}, \
	{"json", no_argument, NULL, CLI_JSON},           \
	{"escaped", no_argument, NULL, CLI_ESCAPED},     \
	{"quiet", no_argument, NULL, 'q'},               \
	{"verbose", no_argument, NULL, 'v'},             \
	{"help", no_argument, NULL, 'h'}
#define CLI_LONG_END {NULL, 0, NULL, 0}

/* Values of long options without a letter; a command's own begin with CLI_OWN. */
enum { CLI_JSON = 0x100, CLI_PREFIX, CLI_ESCAPED, CLI_OWN };

enum { CLI_GO_ON = -1 }; /* instead of an exit status */

/* First of all. From now on getopt_long() says nothing itself. */
void cli_begin(struct cli *cli, const struct command *command);

/* What getopt_long() returned is none of the command's own: CLI_GO_ON, or the status to exit with at once (--help,
 * or a mistake, which has been told). */
int cli_option(struct cli *cli, int c, char **argv);

/* Last of all: `status`, or an error if not everything could be written to stdout. A closed pipe is none. */
int cli_finish(const struct cli *cli, int status);

#endif
