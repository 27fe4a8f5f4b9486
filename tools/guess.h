/* What somebody may have meant. */
#ifndef LEASH_TOOLS_GUESS_H
#define LEASH_TOOLS_GUESS_H

#include <stddef.h>

/* The best words so far for one that was mistyped, in the order in which they were offered; several are as good. */
struct guess {
	const char *word; /* as it was typed */
	size_t size;      /* of it */
	size_t away;      /* of the best, or else the most: how many letters to change; a word that is cut short: 1 */
	size_t count;
	const char *best[4];
};

void guess_begin(struct guess *guess, const char *word, size_t size);
void guess_offer(struct guess *guess, const char *word);

/* " (did you mean --wait or --wide?)" with `before` ("--") in front of each; "" if there is none. Returns `out`. */
char *guess_text(char *out, size_t size, const struct guess *guess, const char *before);

#endif
