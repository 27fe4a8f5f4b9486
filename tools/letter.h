/* What of a text can be shown as it is. */
#ifndef LEASH_TOOLS_LETTER_H
#define LEASH_TOOLS_LETTER_H

#include <stddef.h>

/* The bytes of the letter at `text`, which is not at its end: one of printable ASCII, or, where standard output is a
 * terminal that shows UTF-8, of that. 0: the byte there is no part of one, or would do something else to a terminal. */
size_t letter_size(const char *text);

/* How many columns a text of such letters takes. */
int letter_columns(const char *text);

/* How many bytes of it fit into `columns`. */
size_t letter_fit(const char *text, int columns);

#endif
