/* Names that would break a log line. That none reaches the keys of others: contract/test_input.
 *
 *   LEASH_TEST_NAMES  random names in texts and log lines (default 30000)
 *   LEASH_TEST_SEED   which */
#include "tests/fault/refused.h"
#include "tests/support/knob.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

static leash_error err; /* what the last call said */

/* Any bytes but NUL, rather those that break something. */
static void
random_name(uint64_t *seed, char name[LEASH_NAME_MAX + 1])
{
	static const char evil[] = "\r\n\t\x1b\x7f\x80\x9b\xff{}%:*'\"\\$\x01\x08[]m";
	size_t n = random_next(seed) % 8 != 0 ? 1 + random_next(seed) % 24 : 1 + random_next(seed) % LEASH_NAME_MAX;

	for (size_t i = 0; i < n; i++) {
		uint64_t r = random_next(seed);

		name[i] = (char)(r % 3 == 0 ? evil[(r >> 8) % (sizeof evil - 1)] : (char)(1 + (r >> 8) % 255));
	}
	name[n] = '\0';
}

GROUP(start_server, stop_server);

SENTENCE(nothing_but_printable_bytes_comes_out_whatever_a_name_is)
{
	static struct ear ear = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	long names = knob("LEASH_TEST_NAMES", 30000);
	uint64_t seed = (uint64_t)knob("LEASH_TEST_SEED", 4);
	leash_client *client = leashed_open(uri, LEASH_OPTIONS(.timeout_ms = 20000, .on_log = hear_line, .log_arg = &ear,
	                                                       .on_event = hear_event, .event_arg = &ear));
	char name[LEASH_NAME_MAX + 1];

	for (long i = 0; i < names && ear.unprintable[0] == '\0'; i++) {
		random_name(&seed, name);
		leash_lock *lock = leashed_lock(client, name, NULL);
		assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
		hear(&ear, err.text);
		if (i % 64 == 0) { /* the event that tells of its end names the lock */
			freeReplyObject(server_command(server, "FLUSHALL"));
			assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
		} else if (i % 64 == 1) {
			assert_status(LEASH_INVALID, leash_lock_acquire(lock, -1, &err));
			hear(&ear, err.text);
		}
		leash_lock_free(lock);
		pthread_mutex_lock(&ear.mutex);
		ear.size = 0; /* there is room again */
		pthread_mutex_unlock(&ear.mutex);
	}
	leash_close(client);
	assert_string_equal(ear.unprintable, "");
}
