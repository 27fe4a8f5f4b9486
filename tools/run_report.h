/* How a run ended, for programs: the last line of --json, and of the file of --report. */
#ifndef LEASH_TOOLS_RUN_REPORT_H
#define LEASH_TOOLS_RUN_REPORT_H

#include "tools/hold_set.h"

struct run_report {
	const struct hold_set *set;
	const char *reason;
	int status;        /* leash exits with it */
	bool acquired;
	int64_t waited_ms, held_ms;
};

/* To standard error if `cli` says --json, and to the end of `file` unless that is NULL. */
void run_report_write(const struct run_report *report, const struct cli *cli, const char *file);

#endif
