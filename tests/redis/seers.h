/* Seers: sentinels that say what a test tells them to, and the URI that names them.
 *
 * All knobs may be turned at any time. */
#ifndef LEASH_TEST_SEERS_H
#define LEASH_TEST_SEERS_H

#include "base/courier.h"
#include "redis/uri.h"
#include "tests/support/fake.h"
#include "tests/support/test.h"

#include <pthread.h>

enum { SEERS = 3 };

enum mood {
	HONEST,
	STRANGE,   /* knows no master of that name */
	MUTE,      /* says nothing at all */
	DENYING,   /* no password is right */
	ORDINARY,  /* is no sentinel */
	TERSE,     /* permits only to ask for the address */
	CLOSING,   /* the connection, at the first word */
	MOODS
};

struct seer {
	struct fake *fake;
	_Atomic enum mood mood;
	_Atomic int port;           /* of the master that it names */
	_Atomic unsigned epoch;
	_Atomic unsigned role_ms;   /* for which it has been that */
	_Atomic int other;          /* the port of a sentinel that it names; 0: none */
	const char *_Atomic host;   /* of the master */
	const char *_Atomic babble; /* instead of an answer to SENTINEL */
	_Atomic size_t cut;         /* so many bytes of the answers to SENTINEL, and the end; 0: all */
	_Atomic int closes;         /* so many SENTINEL are answered by the end of the connection */
	pthread_mutex_t gate;       /* while a test holds it no SENTINEL is answered */
};

extern struct seer seers[SEERS + 1]; /* the last one is not in the URI */

/* They run, are honest, and name 127.0.0.1:1000 of epoch 7. */
void start_seers(void);
void stop_seers(void);
void stop_seer(struct seer *seer);

void seer_names(struct seer *seer, int port, unsigned epoch);
size_t seer_asked(struct seer *seer); /* how often */
size_t seer_say_master(struct seer *seer, char *out, size_t size); /* what it answers to SENTINEL MASTER */

int port_of(const struct fake *fake);

extern struct lsh_uri uri;  /* of the first seers, for the master "main" */
extern leash_error err;
void write_uri(int count, const char *query);

/* A log, and was this said in it since it was forgotten? */
extern struct lsh_courier *courier;
bool was_told(const char *part);
void forget_told(void);

#endif
