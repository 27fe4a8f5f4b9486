/* Words: the variables in them, their quotes and escapes. */
#include "tests/tools/play_parts.h"

#include <ctype.h>

const char *
play_value(const char *name)
{
	for (int i = 0; i < VARIABLES; i++)
		if (play.variables[i].value != NULL && strcmp(play.variables[i].name, name) == 0)
			return play.variables[i].value;
	play_wrong("there is no $%s", name);
}

void
play_set(const char *name, const char *format, ...)
{
	struct variable *variable = ENTRY(play.variables, name);
	char *before = variable->value; /* which may be said */
	va_list args;

	va_start(args, format);
	if (vasprintf(&variable->value, format, args) < 0)
		trouble("no memory");
	va_end(args);
	free(before);
}

static void
check_room(const char *to, const char *end, size_t n)
{
	if (n >= (size_t)(end - to))
		play_wrong("a text is too long with its variables");
}

/* One byte, or one variable, of `*from`, which goes on behind it; before `end`. */
static char *
take(char *to, const char *end, const char **from)
{
	const char *f = *from;
	char name[24];
	int n;

	if (f[0] == '$' && isalpha((unsigned char)f[1])) {
		n = (int)strspn(f + 1, "abcdefghijklmnopqrstuvwxyz_0123456789");
		snprintf(name, sizeof name, "%.*s", n, f + 1);
		*from = f + 1 + n;
		check_room(to, end, strlen(play_value(name)));
		return stpcpy(to, play_value(name));
	}
	check_room(to, end, 1);
	*from += f[0] == '\\' && f[1] != '\0' ? 2 : 1;
	if (f[0] == '\\' && f[1] == 'x') {
		*to = (char)strtol((char[]){f[2], f[3], '\0'}, NULL, 16);
		*from = f + 4;
	} else if (f[0] == '\\' && f[1] != '\0') {
		*to = f[1] == 'n' ? '\n' : f[1] == 't' ? '\t' : f[1] == 'r' ? '\r' : f[1];
	} else {
		*to = f[0];
	}
	return to + 1;
}

const char *
play_expand(const char *from)
{
	static char texts[4][TEXT];
	static int next;
	char *to = texts[next = (next + 1) % 4], *end = to;

	while (*from != '\0')
		end = take(end, to + TEXT, &from);
	*end = '\0';
	return to;
}

void
play_split(const char *from)
{
	static char texts[TEXT];
	const char *end = texts + TEXT;
	char *to = texts;

	for (play.word_count = 0; *(from += strspn(from, " ")) != '\0'; *to++ = '\0') {
		if (play.word_count == WORDS)
			play_wrong("there are too many words");
		play.words[play.word_count++] = to;
		for (char quote = '\0'; *from != '\0' && (quote != '\0' || *from != ' ');) {
			check_room(to, end, 1);
			if (quote != '\'' && quote != '"' && (*from == '\'' || *from == '"'))
				quote = *from++;
			else if (quote != '\0' && *from == quote)
				quote = *from++ == '\0';
			else if (quote == '\'')
				*to++ = *from++;
			else
				to = take(to, end, &from);
		}
		check_room(to, end, 0);
	}
	play.words[play.word_count] = NULL;
}
