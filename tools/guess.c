#include "tools/guess.h"

#include "tools/show.h"

#include <string.h>

enum { LONGEST = 40 };

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many letters to add, to leave out, to change or to swap with the next. (Damerau and Levenshtein; the form that
 * changes no letter twice.) */
static size_t
distance(const char *a, size_t m, const char *b, size_t n)
{
	size_t d[LONGEST + 1][LONGEST + 1];

	for (size_t i = 0; i <= m; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= n; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= m; i++)
		for (size_t j = 1; j <= n; j++) {
			d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[m][n];
}

/* A third of the letters may be wrong, and one of two. */
void
guess_begin(struct guess *g, const char *word, size_t size)
{
	*g = (struct guess){.word = word, .size = size, .away = size / 3 > 0 ? size / 3 : 1};
}

void
guess_offer(struct guess *g, const char *word)
{
	size_t n = strlen(word), away;

	if (g->size == 0 || g->size > LONGEST || n > LONGEST)
		return;
	away = strncmp(word, g->word, g->size) == 0 ? 1 : distance(g->word, g->size, word, n);
	if (away > g->away)
		return;
	if (away < g->away)
		g->count = 0;
	g->away = away;
	if (g->count < sizeof g->best / sizeof *g->best)
		g->best[g->count++] = word;
}

char *
guess_text(char *out, size_t size, const struct guess *g, const char *before)
{
	out[0] = '\0';
	for (size_t i = 0; i < g->count; i++)
		cli_append(out, size, "%s%s%s", i == 0 ? " (did you mean " : i + 1 < g->count ? ", " : " or ", before,
		           g->best[i]);
	if (g->count > 0)
		cli_append(out, size, "?)");
	return out;
}
