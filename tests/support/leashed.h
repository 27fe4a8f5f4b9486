/* The few lines that every test of leash's interface begins with. */
#pragma once

#include "tests/support/server.h"

#include <leash.h>

/* The call's status is `expected`; else the test fails with what the call said. The call fills in an `err` in scope. */
#define assert_status(expected, call) \
	leashed_check((expected), (call), &err, #call, __FILE__, __LINE__)

void leashed_check(leash_status expected, leash_status actual, const leash_error *err, const char *call,
                   const char *file, int line);

/* Whatever the caller asks about the lock, it does not hold it. */
#define assert_holds_nothing(lock) leashed_check_nothing_held((lock), __FILE__, __LINE__)

void leashed_check_nothing_held(leash_lock *lock, const char *file, int line);

/* A client of `uri`, with `options`' other fields (NULL: the defaults). */
leash_client *leashed_open(const char *uri, const leash_options *options);

leash_lock *leashed_lock(leash_client *client, const char *name, const leash_lock_options *options);

leash_cancel *leashed_cancel(void);

/* Visits that count, in an int. */
bool count_lock(void *count, const leash_lock_info *info);
bool count_waiter(void *count, const leash_waiter_info *info);

/* How many clients have told this server who they are, and have not gone: those that are open and have asked for a
 * lock, and for a while those that were killed. That there is one for ever fails the test. */
int64_t leashed_introductions(struct server *server);

/* Counts the events that it receives; for `on_event` with itself as `event_arg`. */
struct leashed_events {
	_Atomic int count[8];          /* by leash_event_type */
	_Atomic int order[64], total;  /* their types, in order */
};

void leashed_note_event(void *events, const leash_event *event);
