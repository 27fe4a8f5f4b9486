/* Tellers: nodes of a cluster that say what a test has told them to say; and a cluster, as the library sees it, that
 * asks them.
 *
 * What a teller says and how may be changed at any time. */
#ifndef LEASH_TEST_TELLERS_H
#define LEASH_TEST_TELLERS_H

#include "base/clock.h"
#include "redis/cluster.h"
#include "tests/support/fake.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>

#define TIMEOUT (20 * LSH_S) /* a question has 2 s for each step */

enum { A = 7001, B = 7002, C = 7003 }; /* ports where the map says that servers are; nobody connects to them */
enum { TELLERS = 3 };

enum manner {
	SAYS,
	HANGS, /* says nothing */
	WAITS  /* until it has another manner */
};

struct teller {
	struct fake *fake;
	int port;
	_Atomic enum manner manner;
	atomic_int questions;  /* heard */
	pthread_mutex_t mutex; /* guards the rest */
	char slots[4096], info[512];
};

extern struct teller tellers[TELLERS];

/* Fixtures: tellers, which have nothing to say. A cluster that is open is closed at the end. */
void start_tellers(void);
void stop_tellers(void);

/* That `first` has the slots 0 to 99 and `second` the others. Their nodes' ids are A's and B's. */
void says(struct teller *t, int first, int second);
void says_slots(struct teller *t, const char *text);
/* Ranges, each with a node's id, its port and its host: "0-99 aA 127.0.0.1, 100-16383 bC nil"; '': an empty one. */
void says_map(struct teller *t, const char *ranges);
void says_info(struct teller *t, const char *state, int epoch);
void says_all(struct teller *t, int first, int second, const char *state, int epoch); /* slots and info */

/* ---- a cluster, as the library sees it ---- */

extern struct lsh_cluster *cluster;
extern struct lsh_uri uri;
extern leash_error err;
extern atomic_int changes; /* that it has told of */

/* It is made of a URI, not opened yet. */
void make_cluster(const char *text, int64_t timeout, int64_t period);
leash_status open_uri(const char *text, int64_t timeout);
/* Of the first `count` tellers. */
leash_status open_with(const char *query, int64_t timeout, int count);
void must_open(int count);
void open_first(void); /* of the first alone, which says that A and B have the slots */
void must_open_with(const char *query, int count);
void close_cluster(void);

/* The port of the server that has a slot; -1: nobody. */
int at(unsigned slot);
int servers(void); /* that have a number */
/* Slots and who has them, "0=A 100=-"; the test fails where that differs. */
void the_map_is(const char *text);
/* No cluster is made of the first `count` tellers, and the reason has these words, and the URI. */
void the_open_fails(const char *query, int count, leash_status status, const char *part);

/* A look is begun: this node is asked. */
void have_asked(struct teller *t);

/* Looks are taken until this node was asked `times` times more, and its last answer was judged. */
void look(struct teller *t, int times);

bool was_logged(const char *text);
int times_logged(const char *text);

#endif
