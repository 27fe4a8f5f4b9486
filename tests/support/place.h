/* Where a test program has its locks: the deployment that LEASH_TEST_DEPLOYMENT names, one for all of its tests. For those whose
 * subject is what leash promises, wherever the locks live.
 *
 * A lock is named here by its name, not by its keys: which server has them is found out at each call. */
#pragma once

#include "tests/support/deployment.h"
#include "tests/support/leashed.h"
#include "tests/support/test.h"

/* What is used between the start and the end of the program's tests; for what deployment.h does and these here do not. */
extern struct deployment *place;

/* What a deployment need not do as one server does: SENTENCE(name, .but = PLACE_NO_QUEUE) does not run where that holds. */
enum place_reason {
	PLACE_NO_QUEUE = 1 << 0,      /* a quorum has none: nobody is waked by a server, and nobody is the first */
	PLACE_MANY_SERVERS = 1 << 1,  /* a cluster and a quorum: what is counted or refused at one server is not the whole of it */
	PLACE_MAJORITY = 1 << 2,      /* a quorum: what most servers have done is done, and each alone may come later */
	PLACE_ONE_SOCKET = 1 << 3,    /* all but single: the test needs a server on a unix socket, or its options in the URI */
	PLACE_SHORT_LEASE = 1 << 4,   /* a quorum: the default lease is longer than this one's guard allows */
	PLACE_RIGHTS = 1 << 5,        /* LEASH_TEST_USER=least: the test's clients do what that user may not */
};

/* The sentences of the program, without those that the deployment is excused from (`but`): it is said which, and why. Around
 * them is place_open(), or a function that begins with it, and place_close(). */
#define PLACE(open) SENTENCES_IN(.around = {(open), place_close}, .where = place_name, .excuse = place_excuse)

void place_open(void);
void place_open_counted(void); /* and the memory that leash has is counted */
void place_close(void);

/* For plain locks and, where there is a queue, for fair ones: `given` is a bool that says which. */
#define BOTH(title, ...) \
	static void title(void); \
	SENTENCE_AS(title##_plain, #title " (plain)", title, .given = &place_plain, __VA_ARGS__) \
	SENTENCE_AS(title##_fair, #title " (fair)", title, .given = &place_fair, .but = PLACE_NO_QUEUE) \
	static void title(void)
extern const bool place_plain, place_fair;

const char *place_name(void);
const char *place_excuse(unsigned but);

/* Does the reason hold there? */
#define place_is(reason) (place_excuse(reason) != NULL)

#define place_uri() deployment_uri(place)

const char *place_user(void); /* as whom: "default", or with LEASH_TEST_USER=least that one */

/* A client of it, as leashed_open; in a quorum it is connected to all servers, and no lease is longer than the guard. */
leash_client *place_client(const leash_options *options);

/* The server that has the lock's keys, or would have them; of a quorum the first that runs. */
struct server *place_at(const char *lock);

/* What it says of the lock, as server_text and server_integer: place_integer("law", "HLEN leash:{law}"). */
#define place_text(lock, ...) server_text(place_at(lock), __VA_ARGS__)
#define place_integer(lock, ...) server_integer(place_at(lock), __VA_ARGS__)

/* Until so many wait in its queue; where there is none, at once. */
void place_await_waiting(const char *lock, int64_t n);

/* Until each server of a quorum has the vote that was asked for; most had it as the acquire returned. */
void place_await_votes(const char *lock);

/* How long the lock is kept from others: in a quorum, until most servers have let go of it. As PTTL says it. */
int64_t place_left_ms(const char *lock);
int64_t place_lease_ms(int64_t ms); /* `ms`, or the longest lease that may be had there */

/* Those that have the key, or would have it: one, or each of a quorum that runs; NULL: no more. */
struct server *place_with(const char *key, size_t i);

/* Say to each of them, resp. to each that takes writes, what server_command takes; an answer that is an error ends the test. */
#define place_say(key, ...) \
	for (size_t said_ = 0; place_with((key), said_); said_++) \
		server_say(place_with((key), said_), __VA_ARGS__)
#define place_say_all(...) \
	for (size_t said_ = 0; deployment_master(place, said_); said_++) \
		server_say(deployment_master(place, said_), __VA_ARGS__)

/* How many clients have told the place who they are, and have not gone (leashed_introductions); of a quorum where there are most. */
int64_t place_introductions(void);

/* Is there nothing of this lock but its fence? Of a quorum: at none of its servers. */
bool place_is_free(const char *lock);
bool place_is_empty(void); /* is there nothing of any lock but fences, anywhere? Who the clients are may be there */
/* It is: at once; or in a quorum soon, as a release is over once most servers have answered. Once, that is: a client
 * whose hold was adopted may still ask for it on a server or two. */
#define place_assert_free(lock) place_assert(place_is_free(lock))
#define place_assert_empty() place_assert(place_is_empty())
#define place_assert(cond) \
	do { \
		if (place_is(PLACE_MAJORITY)) \
			await_true(cond); \
		else \
			assert_true(cond); \
	} while (0)

/* All servers stand still, resp. go on; nothing fails over meanwhile. */
#define place_pause() deployment_pause(place)
#define place_resume() deployment_resume(place)

/* All servers are killed; and started again, as empty as at the start, and locks can be had there when that returns. */
void place_kill(void);
void place_restart(void);

/* All who take writes end the connections of clients. */
#define place_cut() place_say_all("CLIENT KILL TYPE normal SKIPME yes")

/* How many of the events tell that a quorum had but a few of its servers for a while, as before a loss; elsewhere none does. */
int place_thin(const struct leashed_events *events);

/* Delete everything, at all who take writes. */
#define place_flush() place_say_all("FLUSHALL")

/* Take the lock from whoever has it: its key goes, everywhere. In a quorum a renewal would make it anew, so somebody else has it for a second. */
void place_take_away(const char *lock);
