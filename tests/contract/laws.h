/* The laws: what every kind of lock keeps, between processes and within them. A program of each kind runs them all. */
#ifndef LEASH_TEST_LAWS_H
#define LEASH_TEST_LAWS_H

#include <leash.h>

#include <stdbool.h>

struct kind {
	const char *name;
	/* of the locks that the processes of a test open: of the first and the third, and of the second and the fourth; those leave the
	 * lease to the client */
	leash_lock_options options[2];
	/* strictly in order of arrival, over the threads of all processes; else processes are served in the order in which they came, and
	 * the threads of each in theirs */
	bool ordered;
};

/* For main to return. */
int laws_run(const struct kind *kind);

#endif
