/* What the tests of refusals share: what every refusal must be, and who listens to all that is told.
 *
 * No test here may fail because a thread stood still for some hundred milliseconds: leases are long against that, and
 * clients wait patiently for answers (patience_ms). */
#pragma once

#include "tests/support/leashed.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* For `timeout_ms` where a server answers at once: so that nobody takes a busy machine for a silent server. */
int64_t patience_ms(void);

/* One line of printable characters that fits, names what it is about, and ends without a full stop. */
void check_text(const char *text, const char *names);

/* The call is refused with `expected`, and its text names the server and `names`. The call fills in an `err` in
 * scope. */
#define assert_refused(expected, uri, names, call) \
	do { \
		memset(&err, 0x5a, sizeof err); \
		assert_status((expected), (call)); \
		assert_int_equal(err.status, (expected)); \
		check_text(err.text, (names)); \
		check_text(err.text, (uri)); \
	} while (0)

/* See the hold of the calling thread renewed `n` times; it is held all the while. */
void await_renewals(leash_lock *held, int n);

/* All that is ever told, to be searched for a secret. For `on_log` and `on_event`, with itself as the argument. */
struct ear {
	pthread_mutex_t mutex;
	char text[65536];
	size_t size;
	char unprintable[256]; /* the first line that should not reach a terminal, or "" */
};

void hear(struct ear *ear, const char *text);
void hear_line(void *ear, leash_log_level level, const char *line);
void hear_event(void *ear, const leash_event *event);
