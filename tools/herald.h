/* The herald: says on standard error what the main thread has to say while CMD runs, and keeps nobody waiting.
 *
 * Standard error may be a pipe that nobody reads from, or a terminal that was told to stop (Ctrl-S). A run that waited for it could
 * not end CMD before its lock is somebody else's. */
#ifndef LEASH_TOOLS_HERALD_H
#define LEASH_TOOLS_HERALD_H

#include "tools/cli.h"

struct herald;

/* `lock`: the name of the one that is run under; not copied. NULL: no memory, no thread, no descriptor. */
struct herald *herald_new(const struct cli *cli, const char *lock);

/* As cli_say(), cli_warn(), cli_tell(), cli_fail() and cli_report(), later, and by another thread. Of an event its type, fence and
 * remaining time count. What comes faster than it can be said is dropped. Any thread. */
void herald_say(struct herald *herald, const char *format, ...) __attribute__((format(printf, 2, 3)));
void herald_warn(struct herald *herald, const char *format, ...) __attribute__((format(printf, 2, 3)));
void herald_tell(struct herald *herald, const char *format, ...) __attribute__((format(printf, 2, 3)));
int herald_fail(struct herald *herald, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
void herald_report(struct herald *herald, const char *level, const leash_event *event, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* All is said now; or standard error has not taken it for a second, then the rest will not be. NULL is allowed. */
void herald_end(struct herald *herald);

#endif
