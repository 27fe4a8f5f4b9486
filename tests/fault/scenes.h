/* Who plays in the scenes: the one course of events in which a rule matters, made certain by a proxy that holds back what must
 * come late. Each is a test of the library as it is, and fails with a certain mutation (test_defences.sh). */
#ifndef LEASH_TEST_FAULT_SCENES_H
#define LEASH_TEST_FAULT_SCENES_H

#include "tests/support/server.h"
#include "tests/support/witness.h"

#include <leash.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* One with a client of its own, who waits for the lock "scene", holds it for as long as that is valid, and lets go when told to. */
struct party {
	leash_client *client;
	leash_lock *lock;
	struct witness *witness;
	pthread_t thread;
	_Atomic bool acquired, leave;
};

void party_open(struct party *party, const char *uri, const leash_lock_options *options, struct witness *witness);
void party_start(struct party *party);
void party_end(struct party *party);   /* which was started; before the next */
void party_close(struct party *party); /* which may be all zero */

int64_t places(struct server *server);   /* in the queue of "scene" */

#endif
