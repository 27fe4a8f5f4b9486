/* Names, times and holders as people read them. */
#ifndef LEASH_TOOLS_SHOW_H
#define LEASH_TOOLS_SHOW_H

#include <leash.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text of unknown origin, fit for a terminal: what is not a letter (letter.h), and a \, becomes \xHH, which --escaped
 * reads back. Text that is too long is cut, and ends in "...". Returns `out`. */
char *cli_show(char *out, size_t size, const char *text);

/* The same for a word of the command line that was not expected there. It may contain a password, so neither a URI
 * with one nor the value of an option is shown. */
char *cli_show_word(char *out, size_t size, const char *word);

/* Put more behind the text in `out`: as much as there is room for. */
void cli_append(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Does a URI contain a password, or what may have been meant as one? "redis://user:pa/ss@host" is no URI, but no
 * less secret. */
bool cli_has_password(const char *uri);

/* ms since 1970 as local time, "2026-11-20 08:42:05"; "" for 0. Returns `out`, of CLI_TIME_SIZE. */
enum { CLI_TIME_SIZE = 32 };
char *cli_time(char *out, int64_t ms);

/* A span: "850 ms", "12.3 s", "4 min 5 s", "3 h 12 min", "2 d 4 h". Returns `out`, of CLI_TIME_SIZE. */
char *cli_span(char *out, int64_t ms);

/* What leash run puts behind the name of its command, so that nobody takes leash's pid, which stands beside it, for
 * that of the command. */
#define CLI_UNDER_RUN "(leash)"

/* "backup.sh, pid 4711 on web3", "backup.sh run by leash, pid 4711 on web3", or "a client that left no name".
 * Returns `out`, of CLI_PARTY_SIZE. */
enum { CLI_PARTY_SIZE = 4 * (LEASH_HOST_SIZE + LEASH_PROGRAM_SIZE) + 64 };
char *cli_party(char *out, const leash_party *party);

/* Only on a terminal, and never with NO_COLOR or TERM=dumb. */
bool cli_has_colour(int fd);

#endif
