/* What the tests of lives share: memory that is counted and can be withheld, and threads that are always in a call.
 *
 * All memory that leash takes comes through a counting allocator; after each test nothing of it may be left. */
#pragma once

#include "tests/contract/refusal.h"
#include "tests/support/counted.h"

extern long at_first; /* how many blocks leash had when the test began */

/* Before and after each test. */
void note_what_there_is(void);
void nothing_is_left(void);

/* For PLACE(): with the counting allocator. */
void life_open(void);

/* Threads that are always in a call, until their client is closed: for "busy", and for "even" or "odd". */
struct busy {
	leash_lock *lock[2];
	_Atomic int turns;
	pthread_t thread;
};

void busy_begin(struct busy *busy, size_t count, leash_client *client);
void busy_end(struct busy *busy, size_t count);

/* Run it in a thread of its own; what that comes to. */
void *in_a_thread(void *(*run)(void *arg), void *arg);

/* What /proc says of a thread of this process: the value of `field`, or ""; and of its main thread, as a number. */
void read_task(const char *task, const char *field, char out[64]);
long process_number(const char *field);
/* Until all servers, and all other threads of this process, sleep: no answer is on its way, and who has told somebody
 * of one has let go of it, too. */
void await_rest(void);
/* Those that are eventfds, or those that are not. Of the former leash keeps some for its next client. */
int count_fds(bool events);
