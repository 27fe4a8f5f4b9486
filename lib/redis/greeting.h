/* Greeting: the commands that are said on a new connection, all at once, and what the server answers.
 *
 * A greeting is made once for a server and begun anew on each connection. Its owner polls the connection and calls
 * lsh_greeting_step() when that is ready or the time is over. The connection stays the owner's. Texts do not name the
 * server. One thread at a time. */
#ifndef LSH_REDIS_GREETING_H
#define LSH_REDIS_GREETING_H

#include "redis/hello.h"
#include "redis/uri.h"

struct lsh_greeting;

enum lsh_greeted { LSH_GREETING_WAIT, LSH_GREETING_DONE, LSH_GREETING_FAILED };

/* `name` and `channel`, copied, are as for lsh_dial_new(). NULL: no memory. */
struct lsh_greeting *lsh_greeting_new(const char *name, const char *channel);
void lsh_greeting_free(struct lsh_greeting *greeting); /* NULL is allowed */

/* Begin on `wire`, which is connected and non-blocking, with the server at `uri`, which outlives it; the answers must
 * come by `deadline`. Reads the password, if that is in a file: UNAVAILABLE if it is of no use now; NO_MEMORY. */
leash_status lsh_greeting_begin(struct lsh_greeting *greeting, const struct lsh_uri *uri, enum lsh_want want,
                                struct lsh_wire wire, int64_t deadline, leash_error *err);

/* What to poll the connection for. */
short lsh_greeting_events(const struct lsh_greeting *greeting);

/* Go on as far as possible. DONE fills in `*hello`, and what comes behind the answers is still in the wire; FAILED
 * fills in `*err`, with a text that names the step. */
enum lsh_greeted lsh_greeting_step(struct lsh_greeting *greeting, struct lsh_hello *hello, leash_error *err);

/* Forget the password, however far it got: the connection is given up. */
void lsh_greeting_end(struct lsh_greeting *greeting);

#endif
