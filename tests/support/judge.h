/* The judge: tells whether two were ever inside one lock, from outside of leash.
 *
 * It lives in memory that all children forked after judge_new share. Every critical section calls judge_enter first and
 * judge_leave last: of a nested one only the outermost; one that knows that it lost its lease leaves at once.
 * Violations are an enter while another is inside, and a fence that is not larger than the one before it. */
#ifndef LEASH_TEST_JUDGE_H
#define LEASH_TEST_JUDGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct judge;

/* For locks 0 to `locks` - 1, and contenders 0 to `contenders` - 1 (0: turns are not recorded). */
struct judge *judge_new(size_t locks, size_t contenders);
void judge_free(struct judge *judge);   /* by the process that made it; NULL is allowed */

/* The calling thread is inside `lock`, with this fence; 0: the fence is not looked at. */
void judge_enter(struct judge *judge, size_t lock, uint64_t fence);
void judge_leave(struct judge *judge, size_t lock);

/* A process was killed: whatever it was inside of, it no longer is. */
void judge_bury(struct judge *judge, pid_t pid);

size_t judge_violations(const struct judge *judge);
size_t judge_entries(const struct judge *judge);       /* enters so far, of all locks */
void judge_print(const struct judge *judge);           /* the first violations, to stderr */

/* `contender` had its turn, for which it waited so long. */
void judge_turn(struct judge *judge, size_t contender, int64_t waited_ns);

uint64_t judge_turns(const struct judge *judge, size_t contender);
int64_t judge_longest_wait_ns(const struct judge *judge, size_t contender);

/* Over all contenders. */
uint64_t judge_fewest_turns(const struct judge *judge);
uint64_t judge_most_turns(const struct judge *judge);
int64_t judge_longest_wait_of_all_ns(const struct judge *judge);

#endif
