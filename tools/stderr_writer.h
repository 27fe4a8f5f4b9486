/* Writes on standard error, or to a log, what `leash run` says while CMD runs, and keeps nobody waiting.
 *
 * Standard error may be a pipe that nobody reads from, or a terminal that was stopped (Ctrl-S); a log may hang. A run
 * that waited for it could not end CMD before another gets its lock. */
#ifndef LEASH_TOOLS_STDERR_WRITER_H
#define LEASH_TOOLS_STDERR_WRITER_H

#include "tools/cli.h"

struct stderr_writer;

/* NULL: no memory, no thread or no descriptor. */
struct stderr_writer *writer_new(const struct cli *cli);

/* As cli_say(), cli_fail() and cli_report(), but later, and by another thread. The strings of `news`, whose time is set
 * here, are not copied. When texts come faster than they can be written some are dropped. Any thread. */
void writer_say(struct stderr_writer *writer, enum cli_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int writer_fail(struct stderr_writer *writer, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void writer_tell(struct stderr_writer *writer, const struct cli_news *news, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Wait until what was said before is about to be written, for 0.1 s at most. */
void writer_pass(struct stderr_writer *writer);

/* Wait until all is written, for 1 s at most; then the rest is dropped. NULL is allowed. */
void writer_end(struct stderr_writer *writer);

#endif
