#include "tools/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
cli_begin(struct cli *cli, const struct command *command)
{
	const char *prefix = secure_getenv("LEASH_PREFIX");

	*cli = (struct cli){.command = command, .prefix = prefix != NULL && prefix[0] != '\0' ? prefix : NULL};
	opterr = 0;
	optind = 0; /* of glibc: from the start */
}

/* Everybody can read a command line, in ps and in /proc. */
static int
take_uri(struct cli *cli, char *uri)
{
	if (!cli_has_password(uri)) {
		cli->uri = uri;
		return CLI_GO_ON;
	}
	explicit_bzero(uri, strlen(uri)); /* it was there for a moment; not for longer */
	return cli_usage(cli, "--redis: a password does not belong on the command line, where everybody can read it: put "
	                      "the URI into $LEASH_URI, or the password into a file, ?password_file=PATH, or a variable, "
	                      "?password_env=NAME");
}

/* getopt_long() refuses a word: which, and why? It steps over words with long options before it looks at them, but
 * stays at one of letters until it has seen the last. */
static int
refuse_option(const struct cli *cli, char **argv)
{
	const char *word = argv[optind - 1], *next = argv[optind];
	bool is_letter = optopt != 0 && optopt < CLI_JSON && strchr("hqv", optopt) == NULL;
	bool in_next = is_letter && next != NULL && next[0] == '-' && next[1] != '-' && strchr(next + 1, optopt) != NULL;
	char name[80], shown[80];

	if (strncmp(word, "--", 2) != 0 || in_next) {
		snprintf(name, sizeof name, "-%c", optopt);
		return cli_usage(cli, "there is no option %s", cli_show(shown, sizeof shown, name));
	}
	cli_show_word(shown, sizeof shown, word);
	if (optopt != 0)
		return cli_usage(cli, "%s takes no argument", shown);
	return cli_usage(cli, "there is no option %s, or there are several that begin so", shown);
}

/* The same for an option whose argument is missing: the last word of all. */
static int
refuse_lack(const struct cli *cli, char **argv)
{
	const char *word = argv[optind - 1];
	char name[80], shown[80];

	if (strncmp(word, "--", 2) == 0)
		snprintf(name, sizeof name, "%s", word);
	else
		snprintf(name, sizeof name, "-%c", optopt);
	return cli_usage(cli, "%s needs an argument", cli_show(shown, sizeof shown, name));
}

int
cli_option(struct cli *cli, int c, char **argv)
{
	switch (c) {
	case 'r':
		return take_uri(cli, optarg);
	case CLI_PREFIX:
		cli->prefix = optarg;
		return CLI_GO_ON;
	case CLI_JSON:
		cli->json = true;
		return CLI_GO_ON;
	case CLI_ESCAPED:
		cli->escaped = true;
		return CLI_GO_ON;
	case 'q':
		cli->quiet = true;
		return CLI_GO_ON;
	case 'v':
		cli->verbose = true;
		return CLI_GO_ON;
	case 'h':
		fputs(cli->command->help, stdout);
		return cli_finish(cli, EXIT_OK);
	case ':':
		return refuse_lack(cli, argv);
	default:
		return refuse_option(cli, argv);
	}
}

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
