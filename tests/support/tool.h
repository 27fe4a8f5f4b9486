/* The leash command, run as a user runs it, with what it said and how it ended. */
#pragma once

#include "tests/support/sweep.h"

#include <stdbool.h>
#include <stddef.h>

enum stream { OUT, ERR, SHOWN, STREAMS }; /* SHOWN: on its terminal, with what was typed */

/* One run of it. */
struct tool {
	struct sweep_item item;
	pid_t pid;           /* 0: reaped */
	int status;          /* how it ended */
	int terminal;        /* the keyboard and the screen of its terminal; -1: it has none */
	int file[STREAMS];   /* what it has written; SHOWN: as far as we have read that */
	char *text[STREAMS]; /* what of that was asked for last */
};

enum { TOOL_WORDS = 32 };
const char *tool_path(void); /* where the command is: in the build directory, the program itself */

/* Start `leash` with these words, ended by NULL: TOOL_START(uri, "run", "-n", "job", "true"). `uri` goes into
 * LEASH_URI (NULL: it is unset). Standard input is /dev/null; its output is kept; there is no terminal, or one, /dev/tty,
 * to ask questions on. The rest of the environment is ours, but for what its users may have set there for leash. A first
 * word that is a path is run in place of leash. */
struct tool *tool_start(const char *uri, const char *const words[], bool at_terminal);
#define TOOL_START(uri, ...) tool_start(uri, (const char *const[]){__VA_ARGS__, NULL}, false)

void tool_type(struct tool *tool, const char *text); /* "yes\n"; "\004" is the end of the file, "\003" is Ctrl-C */
void tool_setenv(const char *name, const char *value); /* for runs that are started from now on; value NULL: no more */
void tool_signal(struct tool *tool, int signal);

bool tool_has_ended(struct tool *tool);

/* Wait for its end. Its exit status, 128 + N if it died of signal N. Again and again. */
int tool_wait(struct tool *tool);

/* What it has written so far, resp. all of it after tool_wait(); until the next call, or tool_free(). */
const char *tool_said(struct tool *tool, enum stream stream);
#define tool_out(tool) tool_said((tool), OUT)
#define tool_err(tool) tool_said((tool), ERR)

void tool_free(struct tool *tool); /* kill it if it still runs, and forget it. NULL is allowed */
