/* Names of locks on the command line. */
#ifndef LEASH_TOOLS_NAME_H
#define LEASH_TOOLS_NAME_H

struct cli;

/* A word is a lock's name: with --escaped each \xHH in it becomes its byte, in place. A URI with a password is
 * refused: its -r was forgotten, and a name goes to the server and is shown to everybody. CLI_GO_ON, or usage, which
 * has been told. */
int cli_take_name(const struct cli *cli, char *name);

/* One name or several behind the options. CLI_GO_ON, or usage, which has been told. */
int cli_names(const struct cli *cli, int argc, char **argv);

/* Exactly one name behind the options. NULL: usage, which has been told. */
const char *cli_only_name(const struct cli *cli, int argc, char **argv);

/* At most one pattern of names there. CLI_GO_ON, or usage, which has been told. */
int cli_only_pattern(const struct cli *cli, int argc, char **argv);

#endif
