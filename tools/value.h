/* Durations and numbers on the command line. */
#ifndef LEASH_TOOLS_VALUE_H
#define LEASH_TOOLS_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/* "30", "30s", "500ms", "1.5m", "2h", "1d" in ms. False: it is none, or more than ten years. */
bool cli_duration(const char *text, int64_t *ms);

/* Digits, from 0 to `max`. False: it is something else. */
bool cli_number(const char *text, int64_t max, int *out);

#endif
