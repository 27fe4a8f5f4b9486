/* What the programs of this folder have in common: options, medians, and what they say in the end. */
#ifndef LEASH_BENCH_PROGRAM_H
#define LEASH_BENCH_PROGRAM_H

#include "tests/support/server.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_ROUNDS = 1000 };

struct settings {
	int rounds;
	int64_t run_ns;     /* of each way, in each round */
	const char *only;   /* NULL: all */
	bool check;
};

/* --rounds, --check, --help, --only if `has_only`, and how long each way runs: --ms or --seconds, as `*unit` says.
 * `settings` has the defaults. What is wrong with them is said, and the program exits. */
void program_read(struct settings *settings, int argc, char **argv, const char *help, const char *unit, bool has_only);

/* Is this part wanted, by its whole name or by what comes before a hyphen in it? */
bool program_wants(const struct settings *settings, const char *part);

/* The versions of leash and of the server, and how long all takes. */
void program_begin(const struct settings *settings, struct server *server, const char *unit);

/* So many bars were missed: says so, and returns what main is to return. */
int program_end(const struct settings *settings, unsigned missed);

/* Of `count` figures, which are sorted by it. 0 if there are none. */
double median(double *figures, size_t count);

/* What has nothing of leash in it, to a server on 127.0.0.1; the caller's to free. */
redisContext *plain_connection(int port);

/* Say why nothing can be measured, and exit. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
