/* Waiting for something to become true, instead of sleeping for as long as it might take.
 *
 * The limits only end a test that would hang: they are far beyond what a slow machine needs, and are multiplied by
 * $LEASH_TEST_SLOWNESS for still slower ones (valgrind, emulation). No test may count on one of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS INT64_C(1000000) /* in ns */

enum { AWAIT_S = 120 }; /* in seconds: a process that was just started was seen not to run for 30 s beside busy loops */

/* Look every millisecond until `cond` is true; AWAIT_S of false fail the test. */
#define await_true(cond) await_true_for(cond, AWAIT_S)

/* The same with another limit, in seconds. */
#define await_true_for(cond, seconds) \
	do { \
		int64_t await_end_ns_ = await_limit_ns(seconds); \
		while (!(cond)) \
			await_step(await_end_ns_, (seconds), #cond, __FILE__, __LINE__); \
	} while (0)

int64_t await_now_ns(void); /* now, in ns, by CLOCK_BOOTTIME */

/* The time by which something that takes no longer than `seconds` on a fair machine must have happened; and has it
 * come? To be asked again and again by the thread that set it: if the whole machine stood still for seconds in between,
 * that is not counted. */
int64_t await_limit_ns(double seconds);
bool await_is_past(int64_t limit_ns);
double await_slowness(void); /* $LEASH_TEST_SLOWNESS, else 1 */

/* Sleep for a millisecond, or fail, naming `what`, if the limit has passed. */
void await_step(int64_t limit_ns, double seconds, const char *what, const char *file, int line);

/* For when time itself is what a test is about (a lease must have run out): sleep for exactly so long, or longer. */
void await_ms(int64_t ms);
int64_t slow_ms(int64_t ms); /* what takes so long on a fair machine takes so long on this one */

/* How late the machine is while something is timed: a few threads do nothing but sleep, and look how much later they wake.
 * A limit says what leash may take; what even a sleeper is late comes on top, several times over, because what is timed
 * needs several threads and processes to be run one after the other. On a quiet machine that is nothing. */
void lag_begin(void);    /* by one thread of the process at a time */
int64_t lag_end(void);   /* the allowance, in ns: assert_true(took < 100 * MS + lag_end()) */
