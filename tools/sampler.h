/* A thread that takes a sample from time to time, so that whoever looks at the screen is never kept waiting by a
 * server.
 *
 * The mutex guards what the two threads share; it is held neither while the server is asked nor while the terminal
 * is written to. The one sample that is being taken belongs to the thread alone, and changes places with the one
 * that is shown when it is complete: a scan that breaks off half-way replaces nothing.
 *
 *   asking --all came--> shown, failure forgotten --+
 *     ^    --it failed--> failure noted ------------+--> waiting: until the next is due, unless paused, or somebody
 *     |                                                    hurries
 *     +---------------------------------------------------'
 */
#ifndef LEASH_TOOLS_SAMPLER_H
#define LEASH_TOOLS_SAMPLER_H

#include "tools/history.h"
#include "tools/sample.h"

#include <pthread.h>

struct sampler {
	struct subject *subject;
	int64_t every_ms;
	pthread_t thread;
	int event; /* an eventfd, to be read from when there is news */
	atomic_bool stop;

	pthread_mutex_t mutex; /* guards the rest */
	pthread_cond_t changed;
	struct wish wish;
	bool hurry, paused;
	bool ended;
	struct sample samples[2];
	struct sample *shown;      /* the last that is complete */
	struct history history;
	uint64_t rounds, failed;   /* samples so far, and those of them that failed */
	leash_error failure;       /* why the last one failed; LEASH_OK: it did not */
	int64_t fresh_ns;          /* when the last answer came, by clock_steady_ns(); none: when it began */
};

/* CLI_GO_ON, or what to exit with; then it has been told. */
int sampler_start(struct sampler *sampler, struct subject *subject, int64_t every_ms, struct order order, size_t rows);

/* The wish has changed: what is there is put into its order at once. If that was not all of which the wish speaks,
 * another sample is taken. Mutex not held. */
void sampler_wish(struct sampler *sampler, const struct wish *wish);

void sampler_hurry(struct sampler *sampler);
void sampler_pause(struct sampler *sampler, bool paused);

/* End the thread, and free all, within a blink. False: it hangs in a server that does not answer, and is left alone;
 * end the process. */
bool sampler_stop(struct sampler *sampler);

#endif
