/* What the tests of leash run begin with: one server, and the lock "taken", which a client of the test holds. */
#ifndef LEASH_TEST_TOOLS_TAKEN_H
#define LEASH_TEST_TOOLS_TAKEN_H

#include "tests/support/leashed.h"
#include "tests/support/one_server.h" /* `uri` has a timeout of 60 s: a machine that stands still is no server that is away */

#include <stdbool.h>

extern leash_error err;
extern leash_client *client;
extern leash_lock *theirs; /* "taken" */

/* For GROUP(). */
void start_with_taken(void);
void stop_with_taken(void);

bool is_free(const char *name);

#endif
