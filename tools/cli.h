/* What all commands have in common: their options, how they speak, and how they reach the server. */
#ifndef LEASH_TOOLS_CLI_H
#define LEASH_TOOLS_CLI_H

#include "tools/command.h"
#include "tools/json.h"
#include "tools/log.h"
#include "tools/name.h"
#include "tools/open.h"
#include "tools/say.h"
#include "tools/show.h"

#include <leash.h>

#include <getopt.h>
#include <stdbool.h>

/* What one command was told by the options that all have. The request of a command begins with it. */
struct cli {
	const struct command *command;
	const char *uri;      /* of the server; NULL: none is named */
	const char *uri_from; /* "--redis", "LEASH_URI", or a file */
	const char *prefix;   /* NULL: the default */
	bool json, quiet, verbose;
	bool escaped; /* --escaped: names are as leash list shows them */
	struct log log; /* where messages go */
};

extern const struct cli_group cli_group;

enum { CLI_GO_ON = -1 }; /* instead of an exit status */

/* Last of all: `status`, or an error if not everything could be written to stdout. A closed pipe is none. */
int cli_finish(const struct cli *cli, int status);

#endif
