#include "tools/option.h"

#include "tools/cli.h"
#include "tools/config.h"
#include "tools/guess.h"
#include "tools/help.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 64, LONG = 0x100 }; /* LONG: getopt_long() returns it and the index for a long option */

/* One command line. */
struct reader {
	void *request; /* and the struct cli at its beginning */
	const struct command *command;
	unsigned count;
	struct {
		const struct cli_option *option;
		size_t at; /* of its group */
	} known[MOST];
	/* for getopt_long() */
	char letters[2 * MOST + 3];
	struct option words[MOST + 1];
};

static void
know(struct reader *r, const struct cli_group *group)
{
	char *letter = r->letters + strlen(r->letters);

	for (const struct cli_option *o = group->options; o->name != NULL && r->count < MOST; o++) {
		r->known[r->count].option = o;
		r->known[r->count].at = group->at;
		r->words[r->count] = (struct option){o->name, o->value != NULL ? required_argument : no_argument, NULL,
		                                     LONG + (int)r->count};
		r->count++;
		if (o->letter == 0)
			continue;
		*letter++ = o->letter;
		if (o->value != NULL)
			*letter++ = ':';
	}
}

/* '+': where a command stands behind the name, options end there; ':': say what is missing by that. */
static void
begin(struct reader *r)
{
	strcpy(r->letters, r->command->operands == NAMES_AND_A_JOB ? "+:" : ":");
	for (const struct cli_group *g = r->command->groups; g != NULL && g->options != NULL; g++)
		know(r, g);
	know(r, &cli_group);
	opterr = 0;
	optind = 0; /* of glibc: from the start */
}

/* getopt_long() takes a long option that is cut short, if it is the only one that begins so. */
static int
refuse_unknown(const struct reader *r, const char *word)
{
	char shown[80], meant[200];
	struct guess guess;

	guess_begin(&guess, word + 2, strcspn(word + 2, "="));
	for (unsigned i = 0; i < r->count; i++)
		guess_offer(&guess, r->known[i].option->name);
	return cli_usage(r->request, "there is no option %s%s", cli_show_word(shown, sizeof shown, word),
	                 guess_text(meant, sizeof meant, &guess, "--"));
}

/* getopt_long() refuses a word: which, and why? It steps over words with long options before it looks at them, but
 * stays at one of letters until it has seen the last. */
static int
refuse_option(const struct reader *r, char **argv)
{
	const char *word = argv[optind - 1], *next = argv[optind];
	bool in_next = optopt != 0 && optopt < LONG && next != NULL && next[0] == '-' && next[1] != '-' &&
	               strchr(next + 1, optopt) != NULL;
	char name[80], shown[80];

	if (strncmp(word, "--", 2) != 0 || in_next) {
		snprintf(name, sizeof name, "-%c", optopt);
		return cli_usage(r->request, "there is no option %s", cli_show(shown, sizeof shown, name));
	}
	if (optopt != 0)
		return cli_usage(r->request, "%s takes no argument", cli_show_word(shown, sizeof shown, word));
	return refuse_unknown(r, word);
}

/* The same for an option whose argument is missing: the last word of all. */
static int
refuse_lack(const struct reader *r, char **argv)
{
	const char *word = argv[optind - 1];
	char name[80], shown[80];

	if (strncmp(word, "--", 2) == 0)
		snprintf(name, sizeof name, "%s", word);
	else
		snprintf(name, sizeof name, "-%c", optopt);
	return cli_usage(r->request, "%s needs an argument", cli_show(shown, sizeof shown, name));
}

static int
take(const struct reader *r, int c, char **argv)
{
	unsigned i = 0;

	if (c == ':')
		return refuse_lack(r, argv);
	if (c == '?')
		return refuse_option(r, argv);
	if (c >= LONG)
		i = (unsigned)c - LONG;
	else
		while (r->known[i].option->letter != c)
			i++;
	const struct cli_option *o = r->known[i].option;

	return o->take(r->request, o, optarg, (char *)r->request + r->known[i].at + o->at);
}

int
cli_read(void *request, const struct command *command, int argc, char **argv)
{
	struct reader r = {.request = request, .command = command};
	int c, status = CLI_GO_ON;

	((struct cli *)request)->command = command;
	begin(&r);
	while (status == CLI_GO_ON && (c = getopt_long(argc, argv, r.letters, r.words, NULL)) != -1)
		status = take(&r, c, argv);
	return status == CLI_GO_ON ? config_take(request) : status;
}
