/* What the tests of the interface share: what every refusal must be, a place that is the default, threads that wait; and
 * memory of leash that is counted, and can be withheld: after each test of a life nothing of it may be left. */
#pragma once

#include "tests/support/actor.h"
#include "tests/support/counted.h"
#include "tests/support/kept.h"
#include "tests/support/place.h"

extern struct server *server; /* of the deployments of one; else NULL */
extern _Thread_local leash_error err; /* what the last call said */

/* Of no client that there is. */
#define UUID "0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10"
#define TOKEN UUID ":42"

/* One line of printable characters that fits, names what it is about, and ends without a full stop. */
void check_text(const char *names);

/* Fill `err` with what no call leaves there. A function, because a sanitizer may ask whether what memset gets is NULL,
 * and of an extern thread-local gcc 12 tells that by the flags of an addition for which the linker puts an instruction
 * that sets none. */
void spoil_error(void);

/* The call is refused with `expected`, and its text names `names`. */
#define assert_refused(expected, names, call) \
	do { \
		spoil_error(); \
		assert_status((expected), (call)); \
		assert_int_equal(err.status, (expected)); \
		check_text((names)); \
	} while (0)

#define open_client() place_client(NULL)

/* It can be had within 5 s: by then what was released in the background is free. */
void take_and_give_back(leash_lock *lock);

/* The same of a lock of a client that is opened for it, as a child may; "own". */
void use_own_client(void);

leash_stats stats_of(leash_client *client);

/* How often all servers that take writes have executed a command since CONFIG RESETSTAT. */
int64_t calls_of(const char *command);

/* An actor that nobody has to end; so it must not be on the stack. */
void begin_actor(struct actor *actor, leash_lock *lock, int64_t wait_ms);

/* A thread that waits for a lock. */
void begin_waiting(struct actor *actor, leash_lock *lock, int64_t wait_ms);
void end_waiting(struct actor *actor); /* once it has had it, and has given it back */

/* It comes in the end, and is given back. */
#define acquires(lock) assert_status(LEASH_OK, leash_lock_acquire((lock), 60000, &err))
#define releases(lock) assert_status(LEASH_OK, leash_lock_release((lock), &err))

/* New ones, which nobody has to free: see kept.h. */
leash_owner *owner_of_its_own(void);
leash_condition *condition_of(leash_lock *lock, const char *name, const leash_condition_options *options);
leash_semaphore *semaphore_of(leash_client *client, const char *name, int64_t limit);
leash_latch *latch_of(leash_client *client, const char *name, int64_t count);
leash_barrier *barrier_of(leash_client *client, const char *name, int64_t parties);
leash_watch *watch_of(leash_client *client, const char *name);
leash_multi *multi_of(leash_lock *const *locks, size_t count);

/* Do it with the first piece of memory refused that it asks for, and then with the second, and so on until there was enough:
 * each time it comes to OK or NO_MEMORY, and is checked with memory enough. How often it was done. */
long wherever_memory_runs_out(leash_status (*act)(void), void (*check)(leash_status status));

/* For PLACE(): $LEASH_URI leads there. */
void interface_open(void);

/* ---- lives: memory that is counted, what the process has, and threads that are always in a call ---- */

extern long at_first; /* how many blocks leash had when the test began */

/* Before and after each test. */
void note_what_there_is(void);
void nothing_is_left(void);
void no_trace_is_left(void); /* neither there nor in Redis */

bool is_readable(int fd, int wait_ms); /* by then */

/* For PLACE(): as interface_open, with the counting allocator. */
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

/* ---- all calls of a client, a lock or several as one, a semaphore, permits, a watch or a condition, as one table: what
 * refuses one of them refuses them all (calls.c) ---- */

/* What they are made on. Without a semaphore its calls are left out, and those of a watch and a condition, unless there
 * is no lock either. */
struct callee {
	leash_client *client;
	leash_lock *lock;
	leash_semaphore *semaphore;
	leash_permit *permit;
	leash_watch *watch;
	leash_condition *condition; /* of the lock */
	leash_latch *latch;
	leash_barrier *barrier;
	leash_multi *multi; /* of the lock alone */
};

/* With a set of the one lock; and a semaphore and a permit of it, "permits", which is all that there are, a watch, a
 * condition, and gates; but for a quorum, which has none. */
void callee_open(struct callee *callee, leash_client *client, leash_lock *lock);
void callee_close(struct callee *callee); /* these */

/* "", if each is refused with that status, and its text names the lock, semaphore or gate, the client or the call; also with
 * no `err`. Else what is wrong; it lasts until the next call. Without all of them (NULL, LEASH_INVALID) the text names the
 * call. In a callback (LEASH_IN_CALLBACK) those succeed that may be made there. */
const char *calls_not_refused(const struct callee *callee, leash_status expected);

/* Make the first of that name; `err` is what it says. */
leash_status calls_make(const struct callee *callee, const char *name);
