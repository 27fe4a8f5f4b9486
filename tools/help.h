/* What --help prints, and what completions and the man page are made of. */
#ifndef LEASH_TOOLS_HELP_H
#define LEASH_TOOLS_HELP_H

#include "tools/command.h"

/* `common`: the options that all commands have. */
void help_print(const struct command *command, const struct cli_group *common);

/* Lines with tabs: of the command, of each of its forms, and of each group with its options.
 *
 *     command  <name>  <operands>  <summary>
 *     form     leash <name> [OPTION...] <usage>
 *     group    <name of the command>  <title>
 *     option   <name of the command>  <letter>  <name>  <argument>  <choices>  <help> */
void help_print_table(const struct command *command, const struct cli_group *common);

#endif
