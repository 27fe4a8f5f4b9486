/* The witness: tells from outside of leash whether two holds of one lock were ever valid at once, also where processes stand
 * still in the middle of them.
 *
 * Nobody can say "I am inside" and be frozen and be right for longer than the lease. But one can read the clock, then ask
 * leash_lock_held(), and if that says yes write down: this hold, by its fence, was valid at that moment. Between the first
 * and the last such moment of a hold it was valid all the time, since what is lost stays lost, however long its holder
 * stood still in between. So two holds of which the one with the larger fence had such a moment before the last one of
 * the other are proof that exclusion was broken, or that the fences did not come in order; and there is no other proof
 * that an application could meet.
 *
 * All of it is atomics in memory that children forked after witness_new share: one may be frozen or killed anywhere. */
#ifndef LEASH_TEST_WITNESS_H
#define LEASH_TEST_WITNESS_H

#include <leash.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct witness;

/* What is known of one hold. */
struct testimony {
	_Atomic uint64_t fence;          /* written last; 0: nothing yet */
	unsigned lock;
	int pid;
	_Atomic int64_t first, last;     /* moments at which it was valid, by await_now_ns() */
};

struct witness *witness_new(size_t holds);   /* at most so many; those that come after that are not looked at */
void witness_free(struct witness *witness);

/* The calling thread has acquired `lock`, the `number`-th. NULL: it is not valid any more, or there is no room. */
struct testimony *witness_enter(struct witness *witness, unsigned number, leash_lock *lock);

/* Is it valid still? If so that is written down. `testimony` may be NULL. */
bool witness_look(struct testimony *testimony, leash_lock *lock);

size_t witness_holds(const struct witness *witness);   /* so far */

/* How many holds have been proved to clash with an earlier one; `text` (may be NULL) says of the first which two they are. */
size_t witness_violations(const struct witness *witness, char *text, size_t size);

#endif
