/* Where messages go: to standard error, to syslog, or to the journal, which keeps their fields. */
#ifndef LEASH_TOOLS_LOG_H
#define LEASH_TOOLS_LOG_H

#include <stdbool.h>

struct cli;
struct cli_news;

enum log_kind { LOG_TO_STDERR, LOG_TO_SYSLOG, LOG_TO_JOURNALD };

struct log {
	enum log_kind kind;
	const char *path; /* of its socket */
};

/* "stderr", "syslog", "journald", and of the latter two also "syslog:PATH". False: it is none of these. */
bool log_read(struct log *log, const char *text);

/* Send a message to the log of `cli`. `json` is the same as an object; NULL: it was not asked for. It waits 0.1 s at
 * most. False: the log does not take it, or is standard error. Any thread. */
bool log_send(const struct cli *cli, const struct cli_news *news, const char *text, const char *json);

#endif
