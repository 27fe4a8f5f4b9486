/* What a variable is set to: what was said, what a server answers, what a window shows, or any text. */
#include "tests/tools/play_parts.h"

#include <ctype.h>

bool
play_variable(char *line)
{
	char *sign = strstr(line, " = ");
	const char *value;

	if (line[0] != '$' || !isalpha((unsigned char)line[1]) || sign == NULL)
		return false;
	*sign = '\0';
	sign += 3;
	if (strcmp(sign, "out") == 0 || strncmp(sign, "row ", 4) == 0) {
		value = *sign == 'o' ? tool_out(play.foreground.tool) : play_shown(atoi(sign + 4));
		play.foreground.is_said[OUT] |= *sign == 'o';
		play_set(line + 1, "%.*s", (int)strcspn(value, "\n"), value);
	} else if (strncmp(sign, "behind ", 7) == 0) {
		value = play_said_behind(sign + 7);
		play_set(line + 1, "%.*s", (int)strcspn(value, "\",}"), value);
	} else {
		play_set(line + 1, "%s", strncmp(sign, "redis ", 6) == 0 ? play_answer(sign + 6) : play_expand(sign));
	}
	return true;
}
