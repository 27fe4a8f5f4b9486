/* Durations and numbers on the command line. */
#ifndef LEASH_TOOLS_VALUE_H
#define LEASH_TOOLS_VALUE_H

#include <stdbool.h>
#include <stdint.h>

struct cli;

/* "30", "30s", "500ms", "1.5m", "2h", "1d" in ms. False: it is none, or more than ten years. */
bool cli_duration(const char *text, int64_t *ms);

/* Digits, from 0 to `max`. False: it is something else. */
bool cli_number(const char *text, int max, int *out);

/* A duration, or an exit status, as the argument of `option`: CLI_GO_ON, or usage, which has been told. */
int cli_duration_option(const struct cli *cli, const char *option, const char *text, int64_t *ms);
int cli_status_option(const struct cli *cli, const char *option, const char *text, int *status);

#endif
