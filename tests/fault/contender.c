/* A contender: a program whose threads take locks, keep them, write to what the locks protect, and write all of it down.
 *
 *   contender URI DIR NAME "SEED LOCKS THREADS LEASE_MS GUARD_MS TIMEOUT_MS MIN_REPLICAS PLAIN"
 *
 * It is a program of its own so that one that was killed can be replaced by a process that has threads, and it uses what leash.h
 * offers and nothing else. What it does goes into the history NAME in DIR (tests/judge/history.h), for others to judge, who also made
 * the fenced registers there; here nothing is a failure but an answer that no fault of a server or network can be the reason of.
 *
 *   workers    take turns (contender_turn.c), and now and then meet at a gate (contender_gates.c)
 *   watcher    notes who leads
 *   pulse      notes how long the process stood still; one on each CPU, since one alone may stand still
 *   main       cancels waits, and waits for SIGTERM. Then each worker takes each lock once more, however long that takes, so a
 *              contender that does not end has a thread that hangs */
#include "tests/fault/contender.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PULSE_MS = 10, STILL_MS = 15, MAX_PULSES = 8 };

struct self self = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static pthread_t pulses[MAX_PULSES], watcher;
static unsigned pulse_count;

static uint64_t
seed_of(unsigned number)
{
	return ((uint64_t)self.seed + 1) * 1000003 + number * 8191 + 1;
}

void
impossible(const char *call, uint64_t number, leash_status status, const leash_error *err)
{
	trouble("%s: %s of hold %" PRIu64 ": %s: %s", self.name, call, number, leash_status_name(status), err->text);
}

void
accept_end(const char *call, uint64_t number, leash_status status, const leash_error *err)
{
	if (status != LEASH_OK && status != LEASH_TIMEOUT && status != LEASH_CANCELED && status != LEASH_UNAVAILABLE && status != LEASH_DENIED)
		impossible(call, number, status, err);
	if (status == LEASH_DENIED || status == LEASH_UNAVAILABLE)
		await_ms(20);   /* a refusal comes at once, again and again */
}

/* ---- waits that somebody cancels ---- */

leash_cancel *
cancel_begin(struct worker *w, bool may_be_canceled)
{
	leash_cancel *cancel = NULL;
	leash_error err;

	if (!may_be_canceled)
		return NULL;
	if (leash_cancel_new(&cancel, &err) != LEASH_OK)
		trouble("no cancel: %s", err.text);
	return w->cancel = cancel;
}

void
cancel_end(struct worker *w, leash_cancel *cancel)
{
	pthread_mutex_lock(&self.mutex);
	w->cancel = NULL;
	pthread_mutex_unlock(&self.mutex);
	leash_cancel_free(cancel);
}

/* ---- the threads ---- */

static void *
work(void *arg)
{
	struct worker *w = arg;

	while (!self.ending) {
		if (!self.plain && once_in(&w->random, 8))
			visit_a_gate(w);
		else
			take_a_turn(w);
		if (once_in(&w->random, 3))
			usleep((useconds_t)roll(&w->random, 40000));
	}
	take_them_all(w);
	return NULL;
}

static void *
pulse(void *arg)
{
	int64_t last = await_now_ns();

	while (!self.ended) {
		await_ms(PULSE_MS);
		int64_t now = await_now_ns();
		if (now - last > (PULSE_MS + STILL_MS) * INT64_C(1000000))
			history_note_at(self.history, now, "still %" PRId64, (now - last) / 1000000 + 1);
		last = now;
	}
	return arg;
}

static void
start_pulses(void)
{
	cpu_set_t cpus, one;

	if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
		trouble("no CPUs: %s", strerror(errno));
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && pulse_count < MAX_PULSES; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (pthread_create(&pulses[pulse_count], NULL, pulse, NULL) != 0 ||
		    pthread_setaffinity_np(pulses[pulse_count++], sizeof one, &one) != 0)
			trouble("no thread");
	}
}

/* However long the server is away, or does not let it in. */
static void
open_client(void)
{
	leash_options options = *LEASH_OPTIONS(.uri = self.uri, .lease_ms = self.lease_ms, .timeout_ms = self.timeout_ms, .client_name = self.name,
	                                       .on_event = note_event);
	leash_error err;
	leash_status status;

	while ((status = leash_open(&self.client, &options, &err)) != LEASH_OK) {
		if (status != LEASH_UNAVAILABLE && status != LEASH_DENIED)
			trouble("%s: open: %s: %s", self.name, leash_status_name(status), err.text);
		await_ms(20);
	}
}

static void
start(void)
{
	leash_error err;

	start_pulses();
	open_client();
	loop_begin();
	if (!self.plain && pthread_create(&watcher, NULL, watch_leaders, NULL) != 0)
		trouble("no thread");
	for (unsigned i = 0; i < SHARED; i++)
		for (unsigned j = 0; j < self.lock_count; j++)
			if (kind_of(j) != KIND_READERS)
				self.shared[i][j] = handle_new(j, NULL, LEASH_MUTEX, 0);
	for (unsigned i = 0; i < self.thread_count; i++) {
		struct worker *w = &self.workers[i];

		w->number = i;
		w->random = seed_of(i);
		if (leash_owner_new(&w->owner, &err) != LEASH_OK)
			trouble("no owner: %s", err.text);
		for (unsigned j = 0; j < self.lock_count; j++)
			if (kind_of(j) != KIND_READERS)
				w->own[j] = handle_new(j, w->owner, LEASH_MUTEX, 0);
		if (pthread_create(&w->thread, NULL, work, w) != 0)
			trouble("no thread");
	}
}

/* Until SIGTERM comes, cancel a wait from time to time. */
static void
cancel_until_term(const sigset_t *term)
{
	uint64_t random = seed_of(MAX_THREADS);
	struct timespec a_while = {0};

	do {
		struct worker *w = &self.workers[roll(&random, (uint64_t)self.thread_count)];

		pthread_mutex_lock(&self.mutex);
		leash_cancel_fire(w->cancel);
		pthread_mutex_unlock(&self.mutex);
		a_while.tv_nsec = (long)roll(&random, 200000000);
	} while (sigtimedwait(term, NULL, &a_while) != SIGTERM);
}

static void
finish(void)
{
	self.ending = true;
	for (unsigned i = 0; i < self.thread_count; i++) {
		struct worker *w = &self.workers[i];

		pthread_join(w->thread, NULL);
		for (unsigned j = 0; j < self.lock_count; j++)
			leash_lock_free(w->own[j]);
		leash_owner_free(w->owner);
	}
	loop_end();
	if (!self.plain)
		pthread_join(watcher, NULL);
	for (unsigned i = 0; i < SHARED; i++)
		for (unsigned j = 0; j < self.lock_count; j++)
			leash_lock_free(self.shared[i][j]);
	leash_close(self.client);
	self.ended = true;
	for (unsigned i = 0; i < pulse_count; i++)
		pthread_join(pulses[i], NULL);
	history_note(self.history, "end");   /* nobody is left who could write more */
}

int
main(int argc, char **argv)
{
	int64_t *const numbers[] = {&self.seed, &self.lock_count, &self.thread_count, &self.lease_ms, &self.guard_ms,
	                            &self.timeout_ms, &self.min_replicas, &self.plain};
	sigset_t term;

	if (argc != 5)
		trouble("a contender wants a URI, a folder, a name and numbers");
	self.uri = argv[1];
	self.folder = argv[2];
	self.name = argv[3];
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		*numbers[i] = strtoll(argv[4], &argv[4], 10);
	if (self.lock_count > MAX_LOCKS || self.thread_count > MAX_THREADS)
		trouble("that is too much");
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, NULL);   /* for all threads: main takes it */
	self.history = history_open(self.folder, self.name);
	history_note(self.history, "process %d %s", (int)getpid(), self.name);
	self.registers = fenced_open(self.folder);
	start();
	cancel_until_term(&term);
	finish();
	return 0;
}
