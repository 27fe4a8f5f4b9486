/* What the tests of the tools share: connections to what they are to try, and a child that stays. */
#ifndef LEASH_TEST_TOOLS_H
#define LEASH_TEST_TOOLS_H

#include "tests/support/server.h"
#include "tests/support/test.h"

/* A connection to a proxy, a fake or a server, by its target. */
redisContext *dial(const char *target);
/* Is the answer to a command this status or string? */
bool says(redisContext *c, const char *expected, const char *command);
/* A socket to be read and written as it is. */
int dial_raw(const char *target);
void say(int fd, const char *text);
/* All that comes until the connection ends; how many bytes those are. */
size_t hear_all(int fd, char *out, size_t size);
/* Exactly so many bytes. */
void hear(int fd, const char *expected);
bool silent_for(int fd, int ms);

/* For child_run. */
int sleep_for_ever(void *arg);

#endif
