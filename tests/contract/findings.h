/* What the tests of examining share: what was found, and a server that nothing is wrong with. */
#ifndef LEASH_TEST_FINDINGS_H
#define LEASH_TEST_FINDINGS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/leashed.h"
#include "tests/support/place.h"

#include <stdbool.h>

/* For one answer: servers here answer at once, however long this machine may stand still. */
enum { PATIENCE_MS = 60000 };

extern struct server *server; /* of all tests, with an append-only file */
extern _Thread_local leash_error err;

/* ---- what was found ---- */

struct found {
	leash_finding_level level;
	char server[200], topic[32], text[700], remedy[1100];
};

extern struct found found[64];
extern size_t found_count;
extern char all_found[65536]; /* to be searched for secrets */

void take(void *arg, const leash_finding *f); /* with `found` as `arg` */

/* What was found before is forgotten. */
leash_status examine_with(const leash_options *options);
leash_status examine(const char *uri);

leash_finding_level worst(void);
void check_worst(leash_finding_level level);

/* The one on that topic, of that level, that says that. */
const struct found *the(const char *topic, leash_finding_level level, const char *part);
void check_remedy(const struct found *f, const char *part);

/* ---- servers ---- */

void ask(struct server *of, const char *command);

/* Do what a remedy says up to what comes behind its first command. */
void do_as_told(struct server *of, const struct found *f);

/* The URI of a user "bob" with these rules. */
const char *bob(struct server *of, const char *rules);

void check_nothing_is_left(struct server *in);

/* For main to return, as place_run. Where a test says nothing of the place, it need not be run in any but the simplest. */
int findings_run(const char *name, const struct CMUnitTest *tests, size_t count, const struct place_exception *exceptions);

#endif
