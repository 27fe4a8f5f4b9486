#include "tools/name.h"

#include "tools/cli.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The URI of a server in place of a name: its -r was forgotten. */
static bool
is_uri_with_password(const char *word)
{
	static const char *const schemes[] = {"redis://", "rediss://", "redis+", "rediss+", "unix://"};

	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
		if (strncasecmp(word, schemes[i], strlen(schemes[i])) == 0 && cli_has_password(word))
			return true;
	return false;
}

/* "\x41" is 'A'. -1: there is no such escape. */
static int
escaped_byte(const char *at)
{
	char digits[3] = "";

	if (at[0] != '\\' || at[1] != 'x' || !isxdigit((unsigned char)at[2]) || !isxdigit((unsigned char)at[3]))
		return -1;
	memcpy(digits, at + 2, 2);
	return (int)strtol(digits, NULL, 16);
}

static bool
looks_escaped(const char *word)
{
	for (const char *at = word; (at = strchr(at, '\\')) != NULL; at++)
		if (escaped_byte(at) > 0)
			return true;
	return false;
}

/* In place: it gets no longer. In a pattern, an escaped byte that means something there stands for itself. */
static bool
unescape(char *word, bool pattern)
{
	char *to = word;
	int byte;

	for (const char *from = word; *from != '\0';) {
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		byte = escaped_byte(from);
		if (byte <= 0 && !(pattern && from[1] != 'x' && from[1] != '\0'))
			return false;
		if (byte <= 0) { /* the pattern's own \ */
			*to++ = *from++;
			*to++ = *from++;
			continue;
		}
		if (pattern && strchr("*?[]\\", byte) != NULL)
			*to++ = '\\';
		*to++ = (char)byte;
		from += 4;
	}
	*to = '\0';
	return true;
}

static int
take_word(const struct cli *cli, char *word, const char *what, bool pattern)
{
	char shown[200];

	if (is_uri_with_password(word)) {
		explicit_bzero(word, strlen(word));
		return cli_usage(cli, "that is the URI of a server, with a password, and not a lock's name: put it into "
		                      "$LEASH_URI");
	}
	if (!cli->escaped && looks_escaped(word))
		cli_say(cli, CLI_WARNING,
		        "%s '%s': the \\ in it is taken literally; to give it as leash list shows names, add --escaped", what,
		        cli_show(shown, sizeof shown, word));
	if (cli->escaped && !unescape(word, pattern))
		return cli_usage(cli, "--escaped: a \\ begins \\xHH, two digits that are not 00; a \\ itself is \\x5c");
	return CLI_GO_ON;
}

int
cli_take_name(const struct cli *cli, char *name)
{
	return take_word(cli, name, "name", false);
}

int
cli_names(const struct cli *cli, int argc, char **argv)
{
	int status = CLI_GO_ON;

	if (optind == argc)
		return cli_usage(cli, "which lock? A name is missing (leash list shows all that are held)");
	for (int i = optind; i < argc && status == CLI_GO_ON; i++)
		status = cli_take_name(cli, argv[i]);
	return status;
}

const char *
cli_only_name(const struct cli *cli, int argc, char **argv)
{
	char shown[80];

	if (optind + 1 < argc) {
		cli_usage(cli, "one name is enough: what is '%s'?", cli_show_word(shown, sizeof shown, argv[optind + 1]));
		return NULL;
	}
	return cli_names(cli, argc, argv) == CLI_GO_ON ? argv[optind] : NULL;
}

int
cli_only_pattern(const struct cli *cli, int argc, char **argv)
{
	char shown[80];

	if (optind + 1 < argc)
		return cli_usage(cli, "one pattern is enough: what is '%s'? (Quote a pattern: 'nightly-*')",
		                 cli_show_word(shown, sizeof shown, argv[optind + 1]));
	return optind < argc ? take_word(cli, argv[optind], "pattern", true) : CLI_GO_ON;
}
