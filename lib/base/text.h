/* Text: bytes that nobody vouches for made fit to be shown or to be part of a key, and numbers in decimal.
 *
 * Nothing here allocates, keeps anything, or depends on the locale: what is printable, a digit or a word is ASCII's. */
#ifndef LSH_BASE_TEXT_H
#define LSH_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LSH_DECIMAL_DIGITS = 20 }; /* of the largest uint64_t */

/* A name as messages show it, between quotes: printable ASCII as it is, but \ and ' and all else as \xHH. So it can
 * be read back: each \ begins such an escape. What does not fit into `size` bytes, with its NUL, is cut off, never
 * within an escape, and "..." says so. Returns the length. */
size_t lsh_show(char *out, size_t size, const char *bytes, size_t n);

/* The same for a text of which a part may have been through lsh_show() already: \ and ' stand. */
size_t lsh_show_text(char *out, size_t size, const char *bytes, size_t n);

/* A name as keys and channels carry it: bytes up to the space, DEL, '{', '}' and '%' become %XX, all others stand;
 * so no name breaks a hash tag or a script that splits at spaces, and different names stay different. `out` has room
 * for 3 n + 1 bytes. Returns the length. */
size_t lsh_key_encode(char *out, const char *name, size_t n);

/* The name that lsh_key_encode() wrote as `key`. `out` has room for n bytes and gets no NUL; `*length` is the name's.
 * False, and `*length` untouched: no name (one byte or more, none of them NUL) is written so. */
bool lsh_key_decode(char *out, size_t *length, const char *key, size_t n);

/* Is `word` the first word of `text`? A server's errors begin with one that says what they are: "NOSCRIPT No matching
 * script". */
bool lsh_starts_with_word(const char *text, const char *word);

/* The same text, letter case of ASCII aside? */
bool lsh_is_like(const char *a, const char *b);

/* Write `n` in decimal, without a NUL. Returns the length, at most LSH_DECIMAL_DIGITS. */
size_t lsh_decimal_write(char *out, uint64_t n);

/* Read all `size` bytes of `text` as a decimal number just as lsh_decimal_write() writes it: no sign, no space, no
 * leading zero. False, and `*n` untouched, if it is anything else or does not fit. */
bool lsh_decimal_read(const char *text, size_t size, uint64_t *n);

#endif
