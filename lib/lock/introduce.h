/* Introducing: what a client tells about itself in Redis, so that people can be told who has a lock, or waits for one.
 *
 * "<prefix>:client:<uuid>" holds "<pid> <since ms> <host> <program>", with a TTL. It goes out in front of a command that goes out anyway,
 * in the same write, and nobody listens to the answer: it costs a command in half a minute or so, and nothing fails, waits or connects
 * anew if it is refused. (In front, because an answer behind one that is awaited may stay unread until the next command, and a connection
 * with answers outstanding from which nothing is heard counts as dead at times.) No script looks at it.
 *
 * It is to be there for as long as something of the client's is in Redis, and some time longer, so that people can still be told whose
 * that was. So each time that a lease is asked for, in an ask, a word or a renewal, it is written if what was written last, on this
 * connection (behind a new one there may be a server that has lost it), ends less than 10 s behind that lease; and then for twice as long,
 * so that it is written but every other time at most.
 *
 *   nothing written --an ask, word or renewal--> written until `ends` --one whose lease ends later, or a new connection--> written anew
 *         any --leash_close(): deleted, if it was ever written--> over: never written again
 *
 * In a cluster its key has a slot of its own, so it does not go out in front of the command that asks for the lease, but the keeper of the
 * site where that slot is writes it, when it is told to, and hears the answer.
 *
 * Any thread. The mutex is a leaf but for that of the pipe, and is taken only where something is to be written. */
#ifndef LSH_LOCK_INTRODUCE_H
#define LSH_LOCK_INTRODUCE_H

#include "base/clock.h"
#include "base/text.h"
#include "lock/inspect.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lsh_pipe;
struct lsh_reply;
struct lsh_thread;

enum {
	LSH_INTRODUCTION_MARGIN_MS = 10000,    /* it outlives a lease by so much, */
	LSH_INTRODUCTION_WANTED_MS = 43200000, /* but is never looked after for longer than this, */
	LSH_INTRODUCTION_MOST_MS = 86400000,   /* nor written for longer than that */
};

struct lsh_introduction {
	_Atomic uint64_t epoch; /* of the connection on which it was written last; stored after `ends`, so whoever sees it sees that, too */
	_Atomic int64_t ends;   /* when that runs out, at the soonest */
	pthread_mutex_t mutex;  /* guards what is stored there, and the rest */
	bool written;           /* ever */
	bool over;
	size_t key_size, value_size;
	char key[LSH_PARTY_KEY_SIZE];
	char value[2 * LSH_DECIMAL_DIGITS + LEASH_HOST_SIZE + LEASH_PROGRAM_SIZE + 4];
};

/* `client_name` is the name that the connections have, "leash:<program>". */
void lsh_introduction_init(struct lsh_introduction *introduction, const char *prefix, const char *uuid, const char *client_name);
void lsh_introduction_destroy(struct lsh_introduction *introduction);

/* For how long, in ms, it is written for a lease of so many ms. */
int64_t lsh_introduction_ttl_ms(int64_t lease_ms);

/* The slow half of lsh_introduce(). */
void lsh_introduction_write(struct lsh_introduction *introduction, struct lsh_pipe *pipe, uint64_t epoch, int64_t lease_ms, int64_t now);

/* When is it to be written again, as it must be there until a lease of so many ms that begins `now` has long been over? */
static inline int64_t
lsh_introduction_wanted(int64_t lease_ms, int64_t now)
{
	int64_t ms = lease_ms + LSH_INTRODUCTION_MARGIN_MS;

	return lsh_after_ms(now, ms < LSH_INTRODUCTION_WANTED_MS ? ms : LSH_INTRODUCTION_WANTED_MS);
}

/* Is it there for long enough, on connection `epoch`? */
static inline bool
lsh_introduction_is_there(struct lsh_introduction *introduction, uint64_t epoch, int64_t lease_ms, int64_t now)
{
	return atomic_load_explicit(&introduction->epoch, memory_order_acquire) == epoch &&
	       atomic_load_explicit(&introduction->ends, memory_order_relaxed) >= lsh_introduction_wanted(lease_ms, now);
}

/* A command that asks for a lease of so many ms is about to be appended to the pipe, whose connection is or was `epoch`. */
static inline void
lsh_introduce(struct lsh_introduction *introduction, struct lsh_pipe *pipe, uint64_t epoch, int64_t lease_ms, int64_t now)
{
	if (!lsh_introduction_is_there(introduction, epoch, lease_ms, now))
		lsh_introduction_write(introduction, pipe, epoch, lease_ms, now);
}

/* Write it, and await the answer: in a cluster its key is often where nothing else goes out. False: none came. `timeout` in ns. */
bool lsh_introduction_say(struct lsh_introduction *introduction, struct lsh_pipe *pipe, int64_t lease_ms, int64_t timeout, struct lsh_thread *self,
                          struct lsh_reply *reply);
void lsh_introduction_lose(struct lsh_introduction *introduction); /* it was not taken there */

/* A token of another client's is held on here: what that one told about itself is to be known for as long. A server older than Redis 7
 * does not do it. To go out with a command that follows. */
void lsh_introduction_prolong(struct lsh_pipe *pipe, const char *prefix, const char *token, int64_t lease_ms, int64_t now);

/* The client is being closed: delete it, and write it no more. Sends what was appended, and waits for nothing. */
void lsh_introduction_end(struct lsh_introduction *introduction, struct lsh_pipe *pipe, int64_t now);

#endif
