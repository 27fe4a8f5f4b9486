/* What the tests of hand-offs share: threads that want a lock, one after another, and what was sent for them.
 *
 * What was sent is told by MONITOR and, as to how many writes it took, by the kernel: the client's connections are TCP, and
 * TCP_INFO counts the segments that carried data. A thread "waits" once the kernel says that it sleeps and goes on sleeping:
 * a waiter behind a hold of its own process says nothing to anybody.
 *
 * In a quorum what was sent is not looked at: leases are short enough there to be renewed meanwhile, and what one server is told may come
 * to another later. */
#ifndef LEASH_TEST_CREW_H
#define LEASH_TEST_CREW_H

#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/place.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <sys/types.h>

/* A turn that ends by count only, and leases that are not renewed during a test: all that is sent is counted. */
#define LONG_MS 60000
#define TURN(...) LEASH_LOCK_OPTIONS(.handoff_ms = LONG_MS, __VA_ARGS__)

enum { CREW = 6 };

extern struct server *server;   /* of the deployments of one; else NULL */
extern struct monitor *monitor; /* of the first who takes writes */
extern leash_client *client;
extern char renew_sha[41];      /* in a quorum: of any script */

/* ---- threads that want the lock ---- */

struct member {
	leash_lock *lock;
	int64_t wait_ms, lease_ms;
	leash_cancel *cancel;
	bool keeps;              /* ends without a release */
	bool runs;               /* and is to be joined */
	pthread_t thread;
	_Atomic pid_t tid;
	long switches;           /* of its context, when we looked last */
	int calm;                /* so often in a row it slept and had not run in between */
	struct stage answered;   /* 1: the acquire has returned, and what follows says how */
	struct stage go;         /* 1: it may release and end */
	leash_status status, released;
	leash_error err;
	uint64_t fence;
	unsigned depth;
	bool held;
	char token[LEASH_TOKEN_MAX];
};

/* Threads of the present test. */
struct member *muster(size_t n);

/* A thread that is next, and cannot run. It sleeps in its line, where it has nothing that others wait for. */
void freeze(struct member *m);
void thaw(void);

/* `m` has its terms. It is asking for the lock when this returns. */
void set_out(struct member *m, leash_lock *lock);
/* The same; and it sleeps. */
void join(struct member *m, leash_lock *lock);
bool goes_on_sleeping(struct member *m);
void await_answer(struct member *m, leash_status status);
void await_hold(struct member *m);
leash_status released(struct member *m);
void end(struct member *m);

/* The calling thread's hold. */
struct own {
	uint64_t fence;
	char token[LEASH_TOKEN_MAX];
};

struct own acquire(leash_lock *lock);
void release(leash_lock *lock);

/* ---- what was sent ---- */

/* With data, that this process has sent over TCP to those who take writes. The tests' own connections are no TCP. */
uint64_t segments(void);
/* Forget what was sent so far. */
void mark(void);
/* Commands of clients since then that contain `text`, at that server where they are most. */
size_t sent(const char *text);
size_t asks(void);
size_t releases(void);
/* About locks, since the mark: nothing; a release and nothing else. */
void assert_nothing_sent(void);
void assert_only_release_sent(void);
/* All since the mark: a release of `token`, and behind it an ask for another one, in a single write since there were `before`. An
 * ask that came first would have taken a place in the queue. */
void assert_one_write_with_release_and_ask(const char *token, uint64_t before);
/* Nobody has the lock, nobody waits for it. */
void assert_free(const char *name);
int64_t places(const char *name);

/* ---- fixtures ---- */

leash_client *open_one(void);
/* And what is sent is looked at, everywhere. */
void open_client(void);
/* Also after a test that failed in the middle. */
void close_client(void);

/* For PLACE(). */
void crew_open(void);

#endif
