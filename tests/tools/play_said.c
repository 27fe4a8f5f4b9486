/* What is said, and whether that is what was expected. */
#include "tests/tools/play_parts.h"

#include <fnmatch.h>
#include <jansson.h>

bool
play_fits(const char *said, const char *pattern, bool from_begin, bool to_end)
{
	char glob[2 * TEXT + 3], *to = stpcpy(glob, from_begin ? "" : "*");

	for (; *pattern != '\0'; pattern++) {
		bool is_gap = strncmp(pattern, "...", 3) == 0;

		if (!is_gap && strchr("*?[\\", *pattern) != NULL)
			*to++ = '\\';
		*to++ = is_gap ? '*' : *pattern;
		pattern += is_gap ? 2 : 0;
	}
	strcpy(to, to_end ? "" : "*");
	return fnmatch(glob, said, 0) == 0;
}

char
play_how_of(const char **line)
{
	char how = **line;

	*line += how != ' ' && how != '\0';
	*line = play_expand(*line + (**line == ' '));
	return how;
}

bool
play_is_said(const char *said, char how, const char *pattern)
{
	char line[TEXT];
	char *rest;
	long n;

	switch (how) {
	case '=':
		snprintf(line, sizeof line, "%s%s", pattern, *pattern != '\0' ? "\n" : "");
		return play_fits(said, line, true, true);
	case '!':
		return !play_fits(said, pattern, false, false);
	case '^':
		return play_fits(said, pattern, true, false);
	case '*':
		n = strtol(pattern, &rest, 10);
		for (rest += *rest == ' '; (said = strstr(said, rest)) != NULL; said += strlen(rest))
			n--;
		return n == 0;
	default:
		snprintf(line, sizeof line, "%s", pattern);
		for (char *part = line; part != NULL; part = rest) {
			if ((rest = strstr(part, " || ")) != NULL) {
				*rest = '\0';
				rest += 4;
			}
			if (play_fits(said, part, false, false))
				return true;
		}
		return false;
	}
}

bool
play_is_expectation(const char *line)
{
	return line[0] == '>' || strncmp(line, "2>", 2) == 0 || strncmp(line, "@>", 2) == 0;
}

void
play_expect(struct run *run, const char *line)
{
	enum stream stream = line[0] == '2' ? ERR : line[0] == '@' ? SHOWN : OUT;
	int64_t limit = await_limit_ns(AWAIT_S);
	const char *pattern = line + (stream == OUT ? 1 : 2);
	char how = play_how_of(&pattern);

	play.last = run;
	run->is_said[stream] = true;
	bool has_ended = false; /* before it was looked at: it may have been said right before its end */
	while (!play_is_said(tool_said(run->tool, stream), how, pattern)) {
		if (has_ended || await_is_past(limit))
			play_wrong("it does not say '%s'", pattern);
		await_ms(1);
		has_ended = how == '!' || tool_has_ended(run->tool);
	}
}

const char *
play_said_behind(const char *mark)
{
	int64_t limit = await_limit_ns(AWAIT_S);
	bool has_ended = false;

	play_must(play.last != NULL, "nobody says anything");
	play.last->is_said[OUT] = true;
	for (;; has_ended = tool_has_ended(play.last->tool)) {
		const char *found = strstr(tool_out(play.last->tool), mark);
		if (found != NULL && strpbrk(found + strlen(mark), "\",}") != NULL)
			return found + strlen(mark);
		play_must(!has_ended && !await_is_past(limit), "it does not say that");
		await_ms(1);
	}
}

static void
check_plain(void)
{
	for (int i = 0; i < 2; i++)
		for (const char *c = tool_said(play.last->tool, (enum stream)i); *c != '\0'; c++)
			play_must(*c == '\n' || (*c >= ' ' && *c <= '~'), "it shows a byte that a terminal would obey");
}

/* A line of what is shown; how many went before it. */
static void
check_line(const char *what, const char *line, size_t before)
{
	size_t n = strcspn(line, "\n");

	bool is_screen = strcmp(what, "a screen") == 0;

	if (is_screen || strcmp(what, "80 columns") == 0) {
		play_must(n <= 80 && line[n] != '\0' && (!is_screen || before < 24), "it fits no screen");
		return;
	}
	json_t *object = json_loadb(line, n, 0, NULL);
	play_must(json_is_object(object), "that is no object a line");
	json_decref(object);
}

VERB(shows) /* plain, json, 80 columns, a screen */
{
	size_t count = 0;

	play.last = &play.foreground;
	play.last->is_said[OUT] = play.last->is_said[ERR] = true;
	if (strcmp(rest, "json") != 0)
		check_plain();
	if (strcmp(rest, "plain") == 0)
		return;
	const char *line = *tool_out(play.last->tool) != '\0' ? tool_out(play.last->tool) : tool_err(play.last->tool);
	for (; *line != '\0'; line += strcspn(line, "\n") + 1)
		check_line(rest, line, count++);
}

/* No line on the terminal of who was looked at last is wider. */
VERB(columns)
{
	size_t most = (size_t)atoll(play_expand(rest)), n;

	for (const char *line = tool_said(play.last->tool, SHOWN); *line != '\0'; line += n + strspn(line + n, "\r\n"))
		play_must((n = strcspn(line, "\r\n")) <= most, "a line is wider");
}
