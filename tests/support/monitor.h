/* What a server was told, exactly: its MONITOR, read when something is asked, by one thread at a time.
 *
 * Every count first sends a command that occurs nowhere else and waits until the monitor has seen it: so all that the
 * server did before the question is counted. The tests' own commands (server_command) are counted like anybody's,
 * except those. A text is looked for in a line as MONITOR writes it (arguments quoted), letter case aside; NULL is in every line. */
#pragma once

#include "tests/support/await.h"
#include "tests/support/server.h"

struct monitor;

/* Ends with the server's life: after a restart, start another. Stop it before the server. */
struct monitor *monitor_start(struct server *server);
void monitor_stop(struct monitor *monitor);   /* NULL is allowed */
void monitor_mark(struct monitor *monitor); /* forget what was seen so far */

/* How many commands since the mark contain `text`: that clients sent, resp. that scripts called. */
#define monitor_count(monitor, text) monitor_count_of((monitor), (text), false)
#define monitor_count_in_scripts(monitor, text) monitor_count_of((monitor), (text), true)
size_t monitor_count_of(struct monitor *monitor, const char *text, bool scripts);

/* Wait until clients have sent `n` such commands since the mark. */
#define monitor_await(monitor, text, n) await_true(monitor_count((monitor), (text)) >= (n))

/* The last command since the mark, of a client or a script, that contains `text`; NULL: none. To be freed. */
char *monitor_last(struct monitor *monitor, const char *text);
