#include "tools/letter.h"

#include <langinfo.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

/* main() has called setlocale(). */
static bool
shows_utf8(void)
{
	static int known = -1;

	if (known < 0)
		known = isatty(STDOUT_FILENO) == 1 && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	return known == 1;
}

/* The columns of the letter, and its bytes into `*size`; 0 of what has none: controls, marks that change others. */
static int
measure(const char *text, size_t *size)
{
	mbstate_t state = {0};
	wchar_t letter;
	int columns;

	*size = 1;
	if ((unsigned char)*text < 0x80)
		return *text >= ' ' && *text <= '~';
	if (!shows_utf8())
		return 0;
	*size = mbrtowc(&letter, text, strlen(text), &state);
	if (*size > MB_CUR_MAX)
		return 0;
	columns = wcwidth(letter);
	return columns > 0 ? columns : 0;
}

size_t
letter_size(const char *text)
{
	size_t size;

	return measure(text, &size) > 0 ? size : 0;
}

size_t
letter_fit(const char *text, int columns)
{
	size_t n = 0, size;

	while (text[n] != '\0') {
		columns -= measure(text + n, &size);
		if (columns < 0)
			break;
		n += size <= MB_CUR_MAX ? size : 1;
	}
	return n;
}

int
letter_columns(const char *text)
{
	int columns = 0;
	size_t size;

	for (; *text != '\0'; text += size <= MB_CUR_MAX ? size : 1)
		columns += measure(text, &size);
	return columns;
}
