/* What the system has: its clock, programs and processes, and the environment of those that run. */
#include "tests/tools/play_parts.h"

#include "tests/support/asleep.h"

/* It has ended, be it that nobody has reaped it. */
static bool
is_gone(const char *pid)
{
	return strchr("ZX", state_of(atoi(pid))) != NULL;
}

VERB(needs)
{
	char command[TEXT + 32];

	snprintf(command, sizeof command, "command -v %s >/dev/null", rest);
	if (system(command) != 0)
		skip();
}

VERB(env) /* NAME value */
{
	char *value = strchr(rest, ' ');

	if (value != NULL)
		*value++ = '\0';
	tool_setenv(rest, value != NULL ? play_expand(value) : NULL);
}

DOES(clock, play.clock_ns = await_now_ns())
DOES(took, play_must(await_now_ns() - play.clock_ns >= atoll(rest) * MS, "it took less"))
DOES(sleep, await_ms(atoll(rest)))
DOES(goes, await_true(is_gone(play_expand(rest))))
DOES(gone, play_must(is_gone(play_expand(rest)), "it lives"))
DOES(lives, play_must(!is_gone(play_expand(rest)), "it has ended"))
DOES(uri, snprintf(play.where, sizeof play.where, "%s", play_expand(rest)))
