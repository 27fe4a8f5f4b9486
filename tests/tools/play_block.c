/* The lines of a scene. One begins with a verb (VERB, DOES), or each other kind of statement tries it in turn. */
#include "tests/tools/play_parts.h"

static bool
play_verb(char *line)
{
	size_t n = strcspn(line, " ");

	for (const struct verb *verb = play_verbs; verb != NULL; verb = verb->next)
		if (strlen(verb->name) == n && strncmp(verb->name, line, n) == 0) {
			verb->act(line + n + (line[n] == ' '));
			return true;
		}
	return false;
}

static void
play_line(const char *from)
{
	char line[TEXT];

	if (*from == '\0' || *from == '#')
		return;
	snprintf(line, sizeof line, "%s", from);
	if (play_is_expectation(line))
		play_expect(&play.foreground, line);
	else if (line[0] == '%')
		play_check_window(-1, line + 2);
	else if (!play_variable(line) && !play_verb(line) && !play_command(line) && !play_person(line))
		play_wrong("that is no statement");
}

/* "each $a $b in x 1 | y 2", and its block */
static int
play_each(int from, int to, int depth)
{
	const char *names[WORDS + 1];
	char head[TEXT], *next;
	int n = 0, end_of = from + 1;

	snprintf(head, sizeof head, "%s", play.text->line[from] + depth + strlen("each "));
	char *list = strstr(head, " in ");
	if (list == NULL)
		play_wrong("that is no statement");
	*list = '\0';
	for (char *name = strtok_r(head, " $", &next); name != NULL; name = strtok_r(NULL, " $", &next))
		names[n++] = name;
	for (list += 4; list != NULL; list = next) {
		if ((next = strstr(list, " | ")) != NULL) {
			*next = '\0';
			next += 3;
		}
		play.at = from;
		play_split(list);
		if (play.word_count != n)
			play_wrong("'%s' are not %d words", list, n);
		for (int i = 0; i < n; i++)
			play_set(names[i], "%s", play.words[i]);
		end_of = play_block(from + 1, to, depth + 1);
	}
	return end_of;
}

int
play_block(int from, int to, int depth)
{
	for (int i = from; i < to;) {
		const char *line = play.text->line[i];

		if (*line != '\0' && (int)strspn(line, "\t") < depth)
			return i;
		play.at = i;
		line += *line != '\0' ? depth : 0;
		if (strncmp(line, "each ", 5) == 0) {
			i = play_each(i, to, depth);
		} else {
			play_line(line);
			i++;
		}
	}
	return to;
}
