/* A server that says what a test wants it to say, to the byte.
 *
 * It listens on a unix socket (or 127.0.0.1), reads commands, records them, and asks a function for the answer. What that
 * leaves to it, it answers like a Redis 7.0 that is empty: AUTH, SELECT, CLIENT, INFO, TIME, PING, ECHO, SCRIPT LOAD,
 * SUBSCRIBE, UNSUBSCRIBE; SET and DEL of a key with ":client:" in it; EVALSHA with NOSCRIPT; anything else is an unknown
 * command. One thread does all of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fake;

#define FAKE_MOST ((size_t)2 << 20) /* bytes of an answer */

/* What an answer may be besides a number of bytes. */
#define FAKE_DEFAULT ((size_t)0)       /* as described above */
#define FAKE_SILENT  ((size_t)1 << 62) /* say nothing */
#define FAKE_CLOSE   ((size_t)1 << 61) /* say nothing and close */

/* Write the answer to a command to `out`, which has room for `size` bytes (FAKE_MOST), and return its length, or one of the above;
 * `n | FAKE_CLOSE` says n bytes and closes after that. `argv` are not NUL-terminated.
 * Runs on the fake's thread, one at a time; it may call any function below but fake_stop and fake_hang_up. */
typedef size_t fake_answer(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size);

struct fake *fake_start_with(fake_answer *answer, void *ctx, bool tcp);   /* `answer` NULL: the default for all */
#define fake_start(answer, ctx) fake_start_with((answer), (ctx), false)
#define fake_start_tcp(answer, ctx) fake_start_with((answer), (ctx), true)
void fake_stop(struct fake *fake);                             /* NULL is allowed */

const char *fake_uri(const struct fake *fake);      /* "unix:///..." or "redis://127.0.0.1:<port>" */
const char *fake_target(const struct fake *fake);   /* for a proxy before it */

/* For answers: is word `i` of the command `word`, letter case aside? */
bool fake_is(int argc, const char **argv, const size_t *argl, int i, const char *word);

/* For answers: printf into `out`; and INFO of a server with that version, run id (40 digits) and uptime. */
size_t fake_say(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
size_t fake_info(char *out, size_t size, const char *version, const char *run_id, int64_t uptime_s);

/* Say these bytes now, unasked, to every connection that has not subscribed. Returns how many those were. */
size_t fake_send(struct fake *fake, const char *bytes, size_t size);

/* Say a message to all whose last subscription was to `channel`. Returns how many those were. */
size_t fake_publish(struct fake *fake, const char *channel, const char *payload);
void fake_hang_up(struct fake *fake); /* reset every connection there is */

/* What was received since the start, or since fake_forget. */
size_t fake_count(struct fake *fake, const char *word);                 /* commands that begin with `word`; NULL: all */
void fake_forget(struct fake *fake);

size_t fake_accepted(struct fake *fake);   /* connections since the start */
size_t fake_open(struct fake *fake);       /* connections there are now */
