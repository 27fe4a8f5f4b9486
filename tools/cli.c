#include "tools/cli.h"

#include "tools/help.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everybody can read a command line, in ps and in /proc. */
static int
take_uri(const struct cli *cli, const struct cli_option *option, char *uri, void *into)
{
	if (!cli_has_password(uri))
		return cli_take_text(cli, option, uri, into);
	explicit_bzero(uri, strlen(uri)); /* it was there for a moment; not for longer */
	return cli_usage(cli, "--redis: a password does not belong on the command line, where everybody can read it: put "
	                      "the URI into $LEASH_URI, or the password into a file, ?password_file=PATH, or a variable, "
	                      "?password_env=NAME");
}

static int
give_help(const struct cli *cli, const struct cli_option *option, char *text, void *into)
{
	(void)option;
	(void)text;
	(void)into;
	help_print(cli->command, &cli_group);
	return cli_finish(cli, EXIT_OK);
}

static const struct cli_option options[] = {
	{.letter = 'r', .name = "redis", .value = "URI", .take = take_uri, .at = offsetof(struct cli, uri),
	 .help = "the server (default: $LEASH_URI, else the one in a configuration file; see leash(1))"},
	{.name = "prefix", .value = "TEXT", .take = cli_take_text, .at = offsetof(struct cli, prefix),
	 .help = "prefix of all keys (default: $LEASH_PREFIX, else \"leash\")"},
	{.name = "escaped", .take = cli_take_flag, .at = offsetof(struct cli, escaped),
	 .help = "names are written as leash list shows them: \\x20 is a space"},
	{.name = "json", .take = cli_take_flag, .at = offsetof(struct cli, json),
	 .help = "print JSON, one object per line"},
	{.letter = 'q', .name = "quiet", .take = cli_take_flag, .at = offsetof(struct cli, quiet), .help = "only errors"},
	{.letter = 'v', .name = "verbose", .take = cli_take_flag, .at = offsetof(struct cli, verbose),
	 .help = "print more"},
	{.letter = 'h', .name = "help", .take = give_help, .help = "this text"},
	{.name = NULL},
};

const struct cli_group cli_group = {"Common options", options, 0};

int
cli_finish(const struct cli *cli, int status)
{
	bool fine = fflush(stdout) == 0;
	int error = errno;

	if (cli_has_unprinted())
		return cli_fail(cli, EXIT_INTERNAL, "out of memory: not all was written");
	if (fine && !ferror(stdout))
		return status;
	if (!fine && error == EPIPE)
		return status;
	/* why an earlier write failed is not known any more */
	return cli_fail(cli, status != EXIT_OK ? status : EXIT_INTERNAL, "standard output: %s",
	                fine ? "not all of it could be written" : strerror(error));
}
