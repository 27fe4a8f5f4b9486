/* How a part runs: clients and locks of its own, threads that wait at a gate until all of them have warmed up, and
 * an end that all see. Whoever fails first tells why, and ends it for all. See bench_parts.h. */
#include "tools/bench_parts.h"

#include "tools/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { PATIENCE_MS = 10000 }; /* for one acquire: longer than any queue here, short enough for a person */

/* One run of a part. */
struct run {
	const struct bench *bench;
	const struct part *part;
	leash_client *client[BENCH_CLIENTS];

	pthread_mutex_t mutex; /* guards the next four */
	pthread_cond_t changed;
	int ready;             /* threads at the gate, or past it */
	bool open;             /* the gate */
	leash_error err;       /* the first failure; LEASH_OK: none */

	_Atomic bool stop;
	_Atomic int64_t end_ns;

	/* Written by the holder of the one lock, before it releases. */
	_Atomic int64_t released_ns;
	_Atomic int released_by;
};

/* One thread of it. */
struct actor {
	struct run *run;
	int number;
	leash_lock *lock;
	uint64_t lost;
	int64_t finished_ns;
	struct histogram took, handoff;
	pthread_t thread;
};

static double
cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void
fail(struct run *r, const leash_error *err)
{
	pthread_mutex_lock(&r->mutex);
	if (r->err.status == LEASH_OK)
		r->err = *err;
	pthread_mutex_unlock(&r->mutex);
	r->stop = true;
}

/* ---- a thread ---- */

/* The time from the release until now, when nobody had the lock. Only if we were waiting at the release: otherwise the
 * time says when we came, and no more. */
static void
note_handoff(struct actor *a, int64_t asked_ns, int64_t got_ns)
{
	struct run *r = a->run;
	int64_t released_ns = r->released_ns;

	if (r->released_by != a->number && asked_ns < released_ns && released_ns < got_ns)
		histogram_add(&a->handoff, (uint64_t)(got_ns - released_ns));
}

static leash_status
take_turn(struct actor *a, int64_t asked_ns, leash_error *err)
{
	struct run *r = a->run;
	leash_acquire how = *LEASH_ACQUIRE(.wait_ms = PATIENCE_MS, .cancel = r->bench->cancel);
	leash_status status = leash_lock_acquire_with(a->lock, &how, err);

	if (status != LEASH_OK)
		return status;
	if (r->part->clients > 1) {
		note_handoff(a, asked_ns, clock_steady_ns());
		r->released_by = a->number;
		r->released_ns = clock_steady_ns();
	}
	status = leash_lock_release(a->lock, err);
	if (status != LEASH_LOST)
		return status;
	a->lost++;
	return LEASH_OK;
}

static leash_status
ask(struct actor *a, leash_error *err)
{
	leash_lock_info info = {.size = sizeof info};

	return leash_lock_inspect(a->lock, &info, err);
}

/* False: enough. */
static bool
go_round(struct actor *a, bool count)
{
	struct run *r = a->run;
	int64_t begun_ns = clock_steady_ns();
	leash_error err = {0};
	leash_status status = r->part->only_ask ? ask(a, &err) : take_turn(a, begun_ns, &err);

	if (status != LEASH_OK) {
		fail(r, &err);
		return false;
	}
	a->finished_ns = clock_steady_ns();
	if (count)
		histogram_add(&a->took, (uint64_t)(a->finished_ns - begun_ns));
	return !r->stop && !leash_cancel_is_fired(r->bench->cancel);
}

static void
wait_at_the_gate(struct run *r)
{
	pthread_mutex_lock(&r->mutex);
	r->ready++;
	pthread_cond_broadcast(&r->changed);
	while (!r->open)
		pthread_cond_wait(&r->changed, &r->mutex);
	pthread_mutex_unlock(&r->mutex);
}

/* The first time is slower: the server has to learn the scripts, and the threads' memory is new. The next one counts,
 * also if this thread had no turn before the time was over. */
static void *
act(void *arg)
{
	struct actor *a = arg;
	bool fine = go_round(a, false);

	memset(&a->handoff, 0, sizeof a->handoff);
	wait_at_the_gate(a->run);
	if (fine)
		do
			fine = go_round(a, true);
		while (fine && clock_steady_ns() < a->run->end_ns);
	return NULL;
}

/* ---- all of them ---- */

static void
open_clients(struct run *r)
{
	leash_error err;

	for (int i = 0; i < r->part->clients && !r->stop; i++)
		if (leash_open(&r->client[i], &r->bench->options, &err) != LEASH_OK)
			fail(r, &err);
}

static bool
start_actor(struct actor *a, struct run *r, int number)
{
	char name[LEASH_NAME_MAX];
	leash_error err = {0};
	int error;

	a->run = r;
	a->number = number;
	snprintf(name, sizeof name, "%s-%d", r->bench->name, number % r->part->locks);
	if (leash_lock_new(&a->lock, r->client[number % r->part->clients], name,
	                   LEASH_LOCK_OPTIONS(.lease_ms = BENCH_LEASE_MS), &err) != LEASH_OK) {
		fail(r, &err);
		return false;
	}
	error = pthread_create(&a->thread, NULL, act, a);
	if (error == 0)
		return true;
	err = (leash_error){.status = LEASH_NO_MEMORY, .sys_errno = error};
	snprintf(err.text, sizeof err.text, "thread %d cannot be started: %s; ask for fewer (-p)", number + 1,
	         strerror(error));
	fail(r, &err);
	return false;
}

/* Add (`sign` 1) or subtract (-1) what the clients have counted so far. */
static void
add_stats(const struct run *r, struct figures *out, int sign)
{
	uint64_t factor = sign < 0 ? UINT64_MAX : 1; /* modulo 2^64 that is -1 */

	for (int i = 0; i < r->part->clients; i++) {
		leash_stats stats = {.size = sizeof stats};

		if (leash_client_stats(r->client[i], &stats, NULL) != LEASH_OK)
			continue;
		out->acquired += factor * stats.acquired;
		out->handed_on += factor * stats.handed_on;
		out->commands += factor * stats.commands;
		out->reconnects += factor * stats.connects;
	}
}

/* Open the gate when all threads stand at it, and collect their figures. */
static void
time_them(struct run *r, struct actor *const *actors, int started, int64_t ms, struct figures *out)
{
	int64_t begun_ns, finished_ns = 0;
	double cpu;

	pthread_mutex_lock(&r->mutex);
	while (r->ready < started)
		pthread_cond_wait(&r->changed, &r->mutex);
	add_stats(r, out, -1);
	cpu = cpu_seconds();
	begun_ns = clock_steady_ns();
	r->end_ns = begun_ns + ms * MS;
	r->open = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->mutex);
	for (int i = 0; i < started; i++) {
		pthread_join(actors[i]->thread, NULL);
		histogram_merge(&out->took, &actors[i]->took);
		histogram_merge(&out->handoff, &actors[i]->handoff);
		out->lost += actors[i]->lost;
		if (actors[i]->finished_ns > finished_ns)
			finished_ns = actors[i]->finished_ns;
	}
	out->seconds = finished_ns > begun_ns ? (double)(finished_ns - begun_ns) / 1e9 : 0;
	out->cpus = out->seconds > 0 ? (cpu_seconds() - cpu) / out->seconds : 0;
	add_stats(r, out, 1);
}

static void
run_actors(struct run *r, int64_t ms, struct figures *out)
{
	struct actor *actors[BENCH_THREADS] = {0};
	int started = 0;

	for (; started < r->part->threads && !r->stop; started++) {
		actors[started] = calloc(1, sizeof *actors[started]); /* of its histograms, only the pages that are used */
		if (actors[started] == NULL) {
			fail(r, &(leash_error){.status = LEASH_NO_MEMORY, .sys_errno = ENOMEM, .text = "out of memory"});
			break;
		}
		if (!start_actor(actors[started], r, started))
			break;
	}
	time_them(r, actors, started, ms, out);
	for (int i = 0; i < r->part->threads && actors[i] != NULL; i++) {
		leash_lock_free(actors[i]->lock);
		free(actors[i]);
	}
}

leash_status
part_run(const struct bench *bench, const struct part *part, int64_t ms, struct figures *out, leash_error *err)
{
	struct run run = {.bench = bench, .part = part, .released_by = -1};

	memset(out, 0, sizeof *out);
	pthread_mutex_init(&run.mutex, NULL);
	pthread_cond_init(&run.changed, NULL);
	open_clients(&run);
	if (!run.stop)
		run_actors(&run, ms, out);
	for (int i = 0; i < part->clients; i++)
		leash_close(run.client[i]);
	pthread_cond_destroy(&run.changed);
	pthread_mutex_destroy(&run.mutex);
	if (run.err.status != LEASH_OK) {
		*err = run.err;
		return run.err.status;
	}
	if (!leash_cancel_is_fired(bench->cancel))
		return LEASH_OK;
	*err = (leash_error){.status = LEASH_CANCELED, .text = "interrupted"};
	return LEASH_CANCELED;
}
