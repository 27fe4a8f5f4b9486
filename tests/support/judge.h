/* The judge: tells whether two were ever inside one lock, from outside of leash.
 *
 * It lives in memory that all children forked after judge_new share. Every critical section calls judge_enter first and
 * judge_leave last: of a nested one only the outermost; one that knows that it lost its lease leaves at once.
 * Violations are an enter while another is inside, and a fence that is not larger than the one before it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct judge;
struct judge *judge_new(size_t locks); /* for locks 0 to `locks` - 1, for as long as the process lives */

/* The calling thread is inside `lock`, with this fence; 0: the fence is not looked at. */
void judge_enter(struct judge *judge, size_t lock, uint64_t fence);
void judge_leave(struct judge *judge, size_t lock);

/* Likewise, of any number who may be inside together, with nobody else. */
void judge_enter_shared(struct judge *judge, size_t lock);
void judge_leave_shared(struct judge *judge, size_t lock);

size_t judge_violations(const struct judge *judge);
size_t judge_entries(const struct judge *judge);       /* enters so far, of all locks */
void judge_print(const struct judge *judge);           /* how many of both, to stderr, where the first are described */
