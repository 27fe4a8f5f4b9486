/* The laws: what every kind of lock keeps, between processes and within them. A program of each kind runs them all. */
#pragma once

#include "tests/support/test.h"

#include <leash.h>

struct kind {
	const char *name; /* before those of its sentences, where it is not the first */
	/* of the locks that the processes of a test open: of the first and the third, and of the second and the fourth; those leave the
	 * lease to the client */
	leash_lock_options options[2];
	/* strictly in order of arrival, over the threads of all processes; else processes are served in the order in which they came, and
	 * the threads of each in theirs */
	bool ordered;

	/* Of a kind that is not the one of leash_lock_new(), which opens it (else NULL), */
	leash_status (*open)(leash_lock **out, leash_client *client, const char *name, const leash_lock_options *options,
	                     leash_error *err);
	const char *holders; /* what counts in Redis who has "law"; NULL: its fields, */
	bool once;           /* and is it not reentrant? */

	bool permits;        /* no lock, but a semaphore of one permit, which has no fence */
};

#define LAW_OPTIONS(...) {.size = sizeof(leash_lock_options), __VA_ARGS__}

/* A program's sentences are the laws of these kinds, one after the other, in the deployment that LEASH_TEST_DEPLOYMENT
 * names. It says which of them that one does not promise, and why. */
#define LAWS_OF(...) \
	static const struct kind kinds[] = {__VA_ARGS__}; \
	__attribute__((constructor)) static void set_laws(void) { laws_of(kinds, COUNT(kinds)); } \
	struct kind
void laws_of(const struct kind *kinds, size_t count);
