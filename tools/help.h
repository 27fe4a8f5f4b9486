/* What --help prints, and what completions are made of. */
#ifndef LEASH_TOOLS_HELP_H
#define LEASH_TOOLS_HELP_H

#include "tools/command.h"

/* `common`: the options that all commands have. */
void help_print(const struct command *command, const struct cli_group *common);

/* A line for the command and one for each of its options, with tabs:
 *
 *     command  <name>  <operands>  <summary>
 *     option   <name of the command>  <letter>  <name>  <argument>  <choices>  <help> */
void help_print_table(const struct command *command, const struct cli_group *common);

#endif
