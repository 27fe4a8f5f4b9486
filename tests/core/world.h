/* The scripted world: the core and what it stands on, down to a call, with a server that says what the test says, at a
 * time that passes when the test says so. No server, no socket, no thread, no sleep.
 * What happens in it, and what must come of that, is said in texts (scene.h).
 *
 * In what was sent a token is told by its number in the order of appearance; what several commands say is "a, b".
 * "try" is an acquire that takes no place in the queue. The client's own key (presence) is not shown.
 *
 * The connection for commands keeps its order: an answer is for the oldest command that was sent. One that is not
 * answered yet is delayed; the connection can be cut, which loses the answers that are still to come. Where an answer
 * is overdue the client breaks the connection, as everywhere, and connects again at once.
 *
 * There is one client, whose locks have leases of 30 s, so claims of 3 s; an answer may take 5 s. Of several servers
 * the first is a, the next one b: "vote 1 at b" asks b for its vote. */
#pragma once

#include "core/op.h"
#include "base/thread.h"
#include "base/park.h"
#include "redis/pipeline.h"

#include "tests/support/test.h"

/* An owner with an operation. The front only records. */
struct person {
	const char *name;
	struct leash_owner owner;
	struct lsh_parker parker;
	struct leash_cancel cancel;
	struct lsh_terms terms;
	struct lsh_op op;
	bool is_busy; /* its operation is not done */
	uint32_t need; /* in which mode it acquires and releases, or what of a semaphore */
	struct person *acts_for; /* whose owner's the operation is; NULL: its own */
};

extern struct person people[3], *const ann, *const bob, *const carl;

/* For sentences that are true of each: PARTS(world_parts); of some: SENTENCE(name, .of = WORLD_PLAIN | WORLD_FAIR). */
enum { WORLD_PLAIN = 1, WORLD_FAIR = 2, WORLD_QUORUM = 4 }; /* of one server, and of three */
extern const struct part world_parts[3];

/* Around each test. At the end the client is closed while the server cannot be reached. */
void world_begin(void);
void world_begin_quorum(void); /* of three servers */
/* Of a lock of another kind, of which everybody needs that, until it is said otherwise. */
void world_begin_with(const struct lsh_kind *kind, bool is_fair, uint32_t need);
#define WORLD_OF(kind, is_fair, need) \
	static void begin_with(void) { world_begin_with((kind), (is_fair), (need)); } \
	FIXTURE(begin_with, world_end)
void world_end(void);

/* ---- what people do ---- */

void acquire(struct person *person, int64_t wait_ms); /* 0: try; LEASH_FOREVER */
void release(struct person *person);
void extend(struct person *person, int64_t lease_ms);
struct lsh_resource *world_resource(void); /* of the lock, for what nobody can bring about from outside */

/* ---- what the server does ---- */

enum answer {
	HELD,      /* acquire, heartbeat: a fence */
	QUEUED,    /* likewise */
	TAKEN,     /* acquire, without a place: another client has it, for 20 s */
	TOO_LATE,  /* acquire: nothing was done */
	KEPT,      /* renew, raise; wait: one replica has it */
	RELEASED,  /* release */
	LEFT,      /* release: it had a place */
	GONE,      /* heartbeat, renew, release: the token is not known; wait: no replica has it */
};

void on(char server);                      /* of several: of which the next words are; at first it is a */
void answer(enum answer what);             /* the oldest command; of several tokens the same for each */
void answer_fence(int64_t fence);          /* a heartbeat, that it is held with this one */
void refuse(const char *error);            /* likewise */
void say(const struct lsh_message *what);  /* likewise; also what no server says */
void message_of(const char *token, int64_t fence); /* on the wake-up channel, from anybody */

/* ---- time ---- */

void pass(int64_t ms);
bool clock_failed(void); /* the reading that was to fail came */

/* ---- what has come of it ---- */

const char *world_sent(void); /* since it was asked for last */
/* To the one server, or to the first of three, whose vote is asked for by an "acquire". */
const char *world_asked(void);
const char *world_told(void); /* events, likewise: "ann LOST, bob JEOPARDY" */
extern char world_event[200];   /* the last one, with its text: "LOST: max_hold_ms has passed" */
int64_t world_ms(void);       /* since the test began */
int64_t world_limit_ms(void); /* for so long from now the oldest acquire may be executed */
struct lsh_view world_view(struct person *person);
int64_t world_left_ms(struct person *person); /* until its hold ends; 0: it has none */
