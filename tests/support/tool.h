/* The leash command, run as a user runs it, with what it said and how it ended. */
#ifndef LEASH_TEST_TOOL_H
#define LEASH_TEST_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct tool; /* one run of it */

enum { TOOL_WORDS = 32 };

/* Where the command is: in the build directory, the program itself. */
const char *tool_path(void);

/* Start `leash` with these words, ended by NULL: TOOL_START(uri, "run", "-n", "job", "true"). `uri` goes into
 * LEASH_URI (NULL: it is unset). Standard input is /dev/null; its output is kept; there is no terminal. The rest of the
 * environment is ours, but for what its users may have set there for leash. A first word that is a path is run in place
 * of leash. */
struct tool *tool_start(const char *uri, const char *const words[]);
#define TOOL_START(uri, ...) tool_start(uri, (const char *const[]){__VA_ARGS__, NULL})

/* The same with a terminal, /dev/tty, to ask questions on. Its standard output and error go elsewhere all the same. */
struct tool *tool_start_at_terminal(const char *uri, const char *const words[]);
void tool_type(struct tool *tool, const char *text); /* "yes\n"; "\004" is the end of the file, "\003" is Ctrl-C */

/* For runs that are started from now on; value NULL: no more. */
void tool_setenv(const char *name, const char *value);

pid_t tool_pid(const struct tool *tool);
void tool_signal(struct tool *tool, int signal);

bool tool_has_ended(struct tool *tool);

/* Wait for its end. Its exit status, 128 + N if it died of signal N. Again and again. */
int tool_wait(struct tool *tool);

/* What it has written so far, resp. all of it after tool_wait(); until the next call, or tool_free(). */
const char *tool_out(struct tool *tool);
const char *tool_err(struct tool *tool);
size_t tool_count(const char *text, const char *what); /* how often it is in there */
const char *tool_shown(struct tool *tool); /* on its terminal, with what was typed */

/* Kill it if it still runs, and forget it. NULL is allowed. */
void tool_free(struct tool *tool);

#endif
