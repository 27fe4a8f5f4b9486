/* What there is in a scene, and what is wrong with it. */
#include "tests/tools/play_parts.h"

struct play play;
struct verb *play_verbs;

void
play_wrong(const char *format, ...)
{
	char what[TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	trouble("%s:%d: %s\n    %s%s%s\n%s\n%s", play.text->path, play.at + 1, play.text->line[play.at], what,
	        play.last != NULL ? "; it said:\n" : "",
	        play.last != NULL ? tool_out(play.last->tool) : "", play.last != NULL ? tool_err(play.last->tool) : "",
	        play.last != NULL ? tool_said(play.last->tool, SHOWN) : "");
}

void
play_must(bool is_so, const char *else_it)
{
	if (!is_so)
		play_wrong("%s", else_it);
}

void *
play_entry(char *e, size_t count, size_t size, size_t room, const char *name)
{
	while (*e != '\0' && strcmp(e, name) != 0)
		if (e += size, --count == 0)
			play_wrong("there is no room for %s", name);
	snprintf(e, room, "%s", name);
	return e;
}
