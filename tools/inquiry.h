/* A thread that looks at one lock, again and again, and breaks it when it is told to. It stands beside the one that
 * takes samples because a scan may last for long, and has a client of its own. The mutex is held neither while the
 * server is asked nor while the terminal is written to. */
#ifndef LEASH_TOOLS_INQUIRY_H
#define LEASH_TOOLS_INQUIRY_H

#include "tools/look.h"
#include "tools/sample.h"

#include <pthread.h>

enum { INQUIRY_WAITERS = 1000, INQUIRY_OUTCOME_SIZE = CLI_PARTY_SIZE + 4 * LEASH_NAME_MAX + 320 };

struct answer {
	char name[LEASH_NAME_MAX + 8];
	uint64_t number;     /* of the question */
	leash_error failure; /* LEASH_OK: there is none, and the rest is known */
	struct moment moment;
	struct look look;
	size_t waiting;      /* of them the first are known */
	leash_waiter_info waiters[INQUIRY_WAITERS];
};

struct inquiry {
	struct subject subject;
	pthread_t thread;
	int bell; /* an eventfd, to be written to when there is news */

	pthread_mutex_t mutex; /* guards the rest */
	pthread_cond_t changed;
	char name[LEASH_NAME_MAX + 8]; /* what is asked for; "": nothing */
	uint64_t number;
	bool to_break, stop, ended;
	struct look agreed;            /* on breaking it if it is still so */
	struct answer answers[2], *shown;
	char outcome[INQUIRY_OUTCOME_SIZE]; /* of the last one that was to be broken; "": it has been read */
};

/* NULL: out of memory, or threads. */
struct inquiry *inquiry_start(const struct subject *subject, int bell);

/* Look at another lock from now on ("": at none), and look at once. The answer has the number that is returned, or a
 * larger one. */
uint64_t inquiry_ask(struct inquiry *inquiry, const char *name);

/* Break that lock, unless somebody has got it who is not in the look. */
void inquiry_break(struct inquiry *inquiry, const struct look *agreed);

/* As sampler_stop(). */
bool inquiry_stop(struct inquiry *inquiry);

#endif
