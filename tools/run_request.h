/* What leash run and leash elect are told: their options, names and command. */
#ifndef LEASH_TOOLS_RUN_REQUEST_H
#define LEASH_TOOLS_RUN_REQUEST_H

#include "tools/grace.h"
#include "tools/hold.h"

struct run_request {
	struct cli cli;
	char **names;
	size_t name_count;
	const char *const *words; /* CMD and its arguments; or `shell` */
	const char *shell[4];     /* the shell, and at 2 a string for it */
	int64_t wait_ms, connect_wait_ms; /* the latter for the server; RUN_AS_LONG: as for the lock */
	int64_t ttl_ms, max_run_ms, at_least_ms;
	int conflict_exit, lost_exit;
	struct grace grace;
	bool fair, skip_ok, foreground, no_uri_env;
	struct hold_replicas replicas;
	struct hold_need need;
	const char *value;   /* what a leader says of itself; NULL: it is no leader */
	const char *label;   /* what others see in place of CMD's name; NULL: that name */
	const char *on_acquired, *on_lost_command; /* for the shell; NULL: none */
	const char *report;  /* a file; NULL: none */
};

enum { RUN_AS_LONG = -2 };

/* `value`: what a leader says of itself, unless --value says it; NULL: it is no leader. CLI_GO_ON, or what to exit
 * with; then it has been told. */
int run_request_read(struct run_request *request, const struct command *command, int argc, char **argv,
                     const char *value);

#endif
