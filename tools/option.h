/* The options of a command: a table from which its command line is read, and of which its --help, its completions and
 * its part of the man page are made. */
#ifndef LEASH_TOOLS_OPTION_H
#define LEASH_TOOLS_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli;

struct cli_option {
	char letter;         /* 0: it has none */
	const char *name;    /* behind --; NULL ends the table */
	const char *value;   /* what its argument is called; NULL: it takes none */
	const char *help;
	const char *choices; /* words that the argument can be, for completion; NULL: none in particular */
	/* `text` is the argument. CLI_GO_ON, or what to exit with; then it has been told. */
	int (*take)(const struct cli *cli, const struct cli_option *option, char *text, void *into);
	size_t at;           /* where `into` is in the struct of the group */
	int64_t least, most; /* of a number, or of a duration in ms; both 0: any */
};

/* Options under one title of --help. `at`: where the struct that they fill in is, in the request of the command. */
struct cli_group {
	const char *title;
	const struct cli_option *options; /* NULL ends the list */
	size_t at;
};

/* For a command whose options are in one group. */
#define CLI_OPTIONS(own) ((const struct cli_group[]){{"Options", (own), 0}, {.options = NULL}})

typedef int cli_take_fn(const struct cli *cli, const struct cli_option *option, char *text, void *into);

/* What `take` can be, and what `into` is then. */
cli_take_fn cli_take_flag;     /* bool */
cli_take_fn cli_take_no_time;  /* int64_t: 0 */
cli_take_fn cli_take_text;     /* const char * */
cli_take_fn cli_take_number;   /* int */
cli_take_fn cli_take_duration; /* int64_t, ms */
cli_take_fn cli_take_log;      /* struct log */

/* Digits, from 0 to `max`. False: it is something else. */
bool cli_number(const char *text, int64_t max, int *out);

/* The command line: fills in `request`, which begins with a struct cli. `optind` is then the first word behind the
 * options. CLI_GO_ON, or what to exit with (--help, or a mistake, which has been told). */
struct command;
int cli_read(void *request, const struct command *command, int argc, char **argv);

#endif
