/* A contender: a program whose threads take locks, keep them, write to what the locks protect, and write all of it down.
 *
 *   contender URI DIR NAME "SEED LOCKS THREADS LEASE_MS GUARD_MS TIMEOUT_MS MIN_REPLICAS PLAIN"
 *
 * It is a program of its own so that one that was killed can be replaced by a process that has threads, and it uses what leash.h
 * offers and nothing else. What it does goes into the history NAME in DIR (tests/judge/history.h), for others to judge, who also made
 * the fenced registers there; here nothing is a failure but an answer that no fault of a server or network can be the reason of.
 *
 *   workers    acquire and release: by tries, waits with and without an end, waits that somebody cancels; as threads and as explicit
 *              owners; through several handles; nested; they extend, look, and write to the fenced register, now and then unasked.
 *              They read and write, upgrade and downgrade; take some of the permits, and give back some of them
 *   pulse      notes how long the process stood still; one on each CPU, since one alone may stand still
 *   main       cancels waits, and waits for SIGTERM. Then each worker takes each lock once more, however long that takes, so a
 *              contender that does not end has a thread that hangs
 *
 * Of eight locks four are just that, three read-write locks, and one is a semaphore; those with an even number are plain, the others
 * fair. Where plain says so, on a quorum, all are plain locks. No hold asks for more than a lease and a half at a time, and that is what
 * guard-ms has to be more than: after a restart that may have lost the data nothing is granted for so long, and exclusion stays.
 *
 * Holds that share are told apart in events by the argument of their handle, which is their number: so each turn has handles of its own. */
#include "tests/judge/history.h"
#include "tests/judge/register.h"
#include "tests/support/await.h"
#include "tests/support/leashed.h"
#include "tests/support/random.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_LOCKS = 64, MAX_THREADS = 64, SHARED = 2, PERMITS = 3, PULSE_MS = 10, STILL_MS = 15, MAX_PULSES = 8 };

struct worker {
	pthread_t thread;
	unsigned number;
	uint64_t random;
	leash_owner *owner;
	leash_lock *own[MAX_LOCKS];      /* handles for that owner */
	leash_cancel *_Atomic cancel;    /* of its wait, if that may be canceled; self.mutex is held while it is fired and taken away */
};

struct turn {
	struct worker *worker;
	unsigned lock;
	leash_lock *handle;              /* by which it is held; NULL: it has permits */
	leash_lock *reads, *writes;      /* of a read-write lock; `handle` is one of them */
	int64_t count;
	leash_permit *permit;
	uint64_t number;
	uint64_t fence;                  /* the last one that was seen of it */
};

static struct {
	const char *uri, *folder, *name;
	int64_t seed, lock_count, thread_count, lease_ms, guard_ms, timeout_ms, min_replicas, plain;

	struct history *history;
	struct fenced *registers;
	leash_client *client;
	leash_lock *shared[SHARED][MAX_LOCKS];   /* of a read-write lock to read, and to write; of a semaphore none */
	struct worker workers[MAX_THREADS];
	pthread_t pulses[MAX_PULSES];
	unsigned pulse_count;
	pthread_mutex_t mutex;
	_Atomic uint64_t holds;
	_Atomic bool ending, ended;
} self = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- chance ---- */

static uint64_t
roll(uint64_t *random, uint64_t below)
{
	return (random_next(random) >> 11) % below;
}

static bool
once_in(uint64_t *random, uint64_t n)
{
	return roll(random, n) == 0;
}

static uint64_t
seed_of(unsigned number)
{
	return ((uint64_t)self.seed + 1) * 1000003 + number * 8191 + 1;
}

/* ---- what is written down ---- */

static bool
is_fair(unsigned lock)
{
	return lock % 2 == 1 && !self.plain;
}

static bool
has_readers(unsigned lock)
{
	return lock % 8 >= 4 && lock % 8 < 7 && !self.plain;
}

static bool
has_permits(unsigned lock)
{
	return lock % 8 == 7 && !self.plain;
}

/* `arg`: its hold's number; NULL: the event says it by its fence. */
static void
note_event(void *arg, const leash_event *event)
{
	const char *lock = event->lock != NULL ? event->lock : "-";
	char hold[24] = "";

	if (arg != NULL)
		snprintf(hold, sizeof hold, " %" PRIuPTR, (uintptr_t)arg);
	if (event->type == LEASH_EVENT_LOST)
		history_note(self.history, "lost %s %" PRIu64 "%s", lock, event->fence, hold);
	else
		history_note(self.history, "event %s %s %" PRIu64 "%s", leash_event_name(event->type), lock, event->fence, hold);
}

/* Until when it is valid, counted from before the question; 0: it is not held. */
static int64_t
valid_until(const struct turn *turn)
{
	int64_t before = await_now_ns();

	if (turn->permit != NULL)
		return leash_permit_held(turn->permit) ? before + leash_permit_remaining_ms(turn->permit) * 1000000 : 0;
	return leash_lock_held(turn->handle) ? before + leash_lock_remaining_ms(turn->handle) * 1000000 : 0;
}

static bool
look(struct turn *turn)
{
	uint64_t fence = turn->permit != NULL ? 0 : leash_lock_fence(turn->handle);
	int64_t until = valid_until(turn);

	if (fence != 0)
		turn->fence = fence;
	history_note(self.history, "look %" PRIu64 " %" PRId64, turn->number, until);
	return until != 0;
}

/* An answer that no fault of a server or network explains. */
static _Noreturn void
impossible(const struct turn *turn, const char *call, leash_status status, const leash_error *err)
{
	trouble("%s: %s of hold %" PRIu64 " of lock-%u: %s: %s", self.name, call, turn->number, turn->lock,
	        leash_status_name(status), err->text);
}

/* ---- a turn ---- */

/* How a handle of this lock is made. `number`: of the hold, to be told in events; 0: it is not. */
static leash_lock_options
options_of(unsigned lock, leash_owner *owner, leash_mode mode, uint64_t number)
{
	return *LEASH_LOCK_OPTIONS(.on_event = note_event, .event_arg = (void *)(uintptr_t)number, .restart_guard_ms = self.guard_ms,
	                           .fair = is_fair(lock), .mode = mode, .owner = owner, .min_replicas = self.min_replicas);
}

static leash_lock *
handle(unsigned lock, leash_owner *owner, leash_mode mode, uint64_t number)
{
	leash_lock_options options = options_of(lock, owner, mode, number);
	char name[16];

	snprintf(name, sizeof name, "lock-%u", lock);
	return leashed_lock(self.client, name, &options);
}

static leash_status
acquire_permits(struct turn *turn, const leash_acquire *how, leash_error *err)
{
	leash_lock_options options = options_of(turn->lock, NULL, LEASH_MUTEX, turn->number);
	leash_semaphore *semaphore;
	char name[16];

	snprintf(name, sizeof name, "lock-%u", turn->lock);
	if (leash_semaphore_new(&semaphore, self.client, name, PERMITS, &options, err) != LEASH_OK)
		trouble("no semaphore: %s", err->text);
	leash_status status = leash_semaphore_acquire_with(semaphore, turn->count, how, &turn->permit, err);
	leash_semaphore_free(semaphore);
	return status;
}

static leash_status
acquire_as(struct turn *turn, const leash_acquire *how, leash_error *err)
{
	return turn->handle == NULL ? acquire_permits(turn, how, err) : leash_lock_acquire_with(turn->handle, how, err);
}

static leash_status
acquire(struct turn *turn, int64_t wait_ms, bool may_be_canceled, leash_error *err)
{
	struct worker *w = turn->worker;
	leash_cancel *cancel = NULL;
	leash_status status;

	if (!may_be_canceled)
		return acquire_as(turn, LEASH_ACQUIRE(.wait_ms = wait_ms), err);
	if (leash_cancel_new(&cancel, err) != LEASH_OK)
		trouble("no cancel: %s", err->text);
	w->cancel = cancel;
	status = acquire_as(turn, LEASH_ACQUIRE(.wait_ms = wait_ms, .cancel = cancel), err);
	pthread_mutex_lock(&self.mutex);
	w->cancel = NULL;
	pthread_mutex_unlock(&self.mutex);
	leash_cancel_free(cancel);
	return status;
}

/* As history.h has it. */
static const char *
need_of(const struct turn *turn, char text[static 16])
{
	if (turn->handle == NULL)
		snprintf(text, 16, "%" PRId64 "/%d", turn->count, PERMITS);
	else if (has_readers(turn->lock))
		snprintf(text, 16, turn->handle == turn->reads ? "read" : "write");
	else
		snprintf(text, 16, is_fair(turn->lock) ? "fair" : "plain");
	return text;
}

static void
note_got(struct turn *turn, int64_t came)
{
	char token[LEASH_TOKEN_MAX] = "";

	turn->fence = turn->permit != NULL ? 0 : leash_lock_fence(turn->handle);
	if (turn->permit != NULL)
		leash_permit_token(turn->permit, token, sizeof token);
	else
		leash_lock_token(turn->handle, token, sizeof token);
	int64_t until = valid_until(turn);
	/* it may be over already */
	history_note_at(self.history, came, "got %" PRIu64 " OK %" PRIu64 " %s %" PRId64, turn->number, turn->fence,
	                token[0] != '\0' ? token : "-", until);
}

/* Is it held now? If not, that is because of the wait's end, its cancel, or the server. */
static bool
begin(struct turn *turn, int64_t wait_ms, bool may_be_canceled)
{
	char need[16];
	leash_error err = {0};

	history_note(self.history, "ask %" PRIu64 " lock-%u %" PRId64 " %s", turn->number, turn->lock,
	             wait_ms == LEASH_FOREVER ? -1 : wait_ms, need_of(turn, need));
	leash_status status = acquire(turn, wait_ms, may_be_canceled, &err);
	int64_t came = await_now_ns();
	if (status != LEASH_OK) {
		history_note_at(self.history, came, "got %" PRIu64 " %s 0 - 0", turn->number, leash_status_name(status));
		if (status != LEASH_TIMEOUT && status != LEASH_CANCELED && status != LEASH_UNAVAILABLE && status != LEASH_DENIED)
			impossible(turn, "acquire", status, &err);
		if (status == LEASH_DENIED || status == LEASH_UNAVAILABLE)
			await_ms(20);   /* a refusal comes at once, again and again */
		return false;
	}
	note_got(turn, came);
	return true;
}

static void
end(struct turn *turn)
{
	leash_error err = {0};

	history_note(self.history, "give %" PRIu64, turn->number);
	leash_status status = turn->permit != NULL ? leash_permit_release(turn->permit, &err) : leash_lock_release(turn->handle, &err);
	int64_t came = await_now_ns();
	history_note_at(self.history, came, "gave %" PRIu64 " %s", turn->number, leash_status_name(status));
	if (status != LEASH_OK && status != LEASH_LOST && status != LEASH_UNKNOWN && status != LEASH_DENIED)
		impossible(turn, "release", status, &err);
}

/* What the lock is for. Whoever writes believes that it holds the lock, or has not looked. */
static void
write_down(struct turn *turn)
{
	if (turn->permit != NULL && leash_permit_held(turn->permit))
		fenced_visit(self.registers, turn->lock);
	if (turn->fence == 0)
		return;   /* it was over before it could be asked for its fence */
	bool taken = fenced_write(self.registers, turn->lock, turn->fence);
	history_note(self.history, "wrote %" PRIu64 " lock-%u %" PRIu64 " %s", turn->number, turn->lock, turn->fence,
	             taken ? "taken" : "refused");
}

/* Another handle of the same owner. */
static leash_lock *
another(const struct turn *turn)
{
	struct worker *w = turn->worker;
	uint64_t which = roll(&w->random, SHARED);

	if (turn->reads != NULL)
		return which == 0 ? turn->reads : turn->writes;
	return turn->handle == w->own[turn->lock] ? turn->handle : self.shared[which][turn->lock];
}

static void
nest(struct turn *turn)
{
	struct worker *w = turn->worker;
	leash_lock *other = another(turn);
	leash_error err = {0};
	leash_status status = leash_lock_acquire(other, 0, &err);
	bool would_wait_for_itself = turn->reads != NULL && turn->handle == turn->reads && other == turn->writes;

	if (status == LEASH_LOST || (status == LEASH_DEADLOCK && would_wait_for_itself))
		return;
	if (status != LEASH_OK || would_wait_for_itself)
		impossible(turn, "nested acquire", status, &err);
	usleep((useconds_t)roll(&w->random, 5000));
	status = leash_lock_release(other, &err);
	if (status != LEASH_OK && status != LEASH_LOST)
		impossible(turn, "nested release", status, &err);
}

static void
extend(struct turn *turn)
{
	int64_t lease_ms = self.lease_ms + (int64_t)roll(&turn->worker->random, (uint64_t)self.lease_ms / 2);
	leash_error err = {0};
	leash_status status = turn->permit != NULL ? leash_permit_extend(turn->permit, lease_ms, &err)
	                                           : leash_lock_extend(turn->handle, lease_ms, &err);

	if (status != LEASH_OK && status != LEASH_LOST && status != LEASH_UNAVAILABLE && status != LEASH_DENIED)
		impossible(turn, "extend", status, &err);
	look(turn);
}

/* How long a hold is to last: mostly short, now and then up to two and a half leases. */
static uint64_t
length_us(uint64_t *random)
{
	uint64_t lease_us = (uint64_t)self.lease_ms * 1000, kind = roll(random, 80);

	return kind == 0 ? roll(random, lease_us * 5 / 2) : kind < 4 ? roll(random, lease_us / 2) : roll(random, kind < 40 ? 2000 : 20000);
}

static void
keep(struct turn *turn)
{
	uint64_t *random = &turn->worker->random, us = length_us(random);
	uint64_t pause = once_in(random, 3) ? 3000 + us / 40 : 2000 + us / 4;   /* some look often */
	int64_t until = await_now_ns() + (int64_t)us * 1000;
	bool held = look(turn);

	if (held && once_in(random, 2))
		write_down(turn);
	if (held && turn->handle != NULL && once_in(random, 6))
		nest(turn);
	if (held && once_in(random, 20))
		extend(turn);
	while (held && await_now_ns() < until && !self.ending) {
		usleep((useconds_t)pause);
		held = look(turn);
		if (held && once_in(random, 4))
			write_down(turn);
	}
	/* the mistake that fences are for: looked, was paused, wrote */
	if (once_in(random, 8)) {
		usleep((useconds_t)roll(random, 20000));
		write_down(turn);
	}
}

static leash_status
give_one(struct turn *turn, leash_error *err)
{
	return leash_permit_release_some(turn->permit, 1, err);
}

static leash_status
upgrade(struct turn *turn, leash_error *err)
{
	return leash_lock_upgrade(turn->writes, err);
}

static leash_status
downgrade(struct turn *turn, leash_error *err)
{
	return leash_lock_release(turn->writes, err);
}

/* What is held becomes something else, without giving it up: held by `to`, or, NULL, a permit less. Unless that is OK it goes on. */
static bool
trade(struct turn *turn, leash_lock *to, leash_status (*call)(struct turn *turn, leash_error *err))
{
	struct turn new = *turn;
	leash_error err = {0};
	char need[16];

	new.number = ++self.holds;
	new.handle = to;
	new.count = turn->count - (to == NULL);
	history_note(self.history, "trade %" PRIu64 " %" PRIu64 " %s", turn->number, new.number, need_of(&new, need));
	leash_status status = call(turn, &err);
	int64_t came = await_now_ns();
	if (status == LEASH_OK) {
		*turn = new;
		note_got(turn, came);
		return true;
	}
	history_note_at(self.history, came, "got %" PRIu64 " %s 0 - 0", new.number, leash_status_name(status));
	if (status != LEASH_LOST && status != LEASH_UNAVAILABLE && status != LEASH_DENIED && (status != LEASH_TIMEOUT || call != upgrade))
		impossible(turn, "trade", status, &err);
	return false;
}

/* Is it another hold now? */
static bool
change(struct turn *turn)
{
	leash_error err = {0};
	leash_status status;
	bool done;

	if (turn->permit != NULL)
		return turn->count > 1 && trade(turn, NULL, give_one);
	if (turn->reads == NULL)
		return false;
	if (turn->handle == turn->reads) {
		done = trade(turn, turn->writes, upgrade);
		status = done ? leash_lock_release(turn->reads, &err) : LEASH_OK;
	} else {
		status = leash_lock_acquire(turn->reads, 0, &err);
		done = status == LEASH_OK && trade(turn, turn->reads, downgrade);
		if (status == LEASH_OK)
			turn->handle = turn->reads;   /* also if others are kept out as before */
	}
	if (status != LEASH_OK && status != LEASH_LOST)
		impossible(turn, "nested call", status, &err);
	look(turn);
	return done;
}

static void
take_a_turn(struct worker *w)
{
	uint64_t *random = &w->random, kind = roll(random, 16);
	struct turn turn = {.worker = w, .lock = (unsigned)roll(random, (uint64_t)self.lock_count), .number = ++self.holds};
	int64_t wait_ms = kind < 3 ? 0 : kind < 11 ? 10 + (int64_t)roll(random, 2 * (uint64_t)self.lease_ms) : LEASH_FOREVER;
	leash_owner *owner = once_in(random, 6) ? w->owner : NULL;

	if (has_readers(turn.lock)) {
		turn.reads = handle(turn.lock, owner, LEASH_READ, turn.number);
		turn.writes = handle(turn.lock, owner, LEASH_WRITE, turn.number);
		turn.handle = once_in(random, 3) ? turn.writes : turn.reads;
	} else if (has_permits(turn.lock)) {
		turn.count = 1 + (int64_t)roll(random, PERMITS);
	} else {
		turn.handle = owner != NULL ? w->own[turn.lock] : self.shared[roll(random, SHARED)][turn.lock];
	}
	if (begin(&turn, wait_ms, kind > 12 || kind == 10)) {
		keep(&turn);
		while (once_in(random, 2) && change(&turn))
			keep(&turn);
		end(&turn);
	}
	leash_lock_free(turn.reads);
	leash_lock_free(turn.writes);
}

/* Alone. */
static void
take_them_all(struct worker *w)
{
	for (unsigned i = 0; i < self.lock_count; i++) {
		struct turn turn = {.worker = w, .lock = i, .handle = self.shared[1][i], .count = PERMITS};

		do
			turn.number = ++self.holds;
		while (!begin(&turn, LEASH_FOREVER, false));
		end(&turn);
	}
}

static void *
work(void *arg)
{
	struct worker *w = arg;

	while (!self.ending) {
		take_a_turn(w);
		if (once_in(&w->random, 3))
			usleep((useconds_t)roll(&w->random, 40000));
	}
	take_them_all(w);
	return NULL;
}

/* ---- the process ---- */

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
	pthread_attr_t attr;

	if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
		trouble("no CPUs: %s", strerror(errno));
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && self.pulse_count < MAX_PULSES; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		pthread_attr_init(&attr);
		pthread_attr_setaffinity_np(&attr, sizeof one, &one);
		if (pthread_create(&self.pulses[self.pulse_count++], &attr, pulse, NULL) != 0)
			trouble("no thread");
		pthread_attr_destroy(&attr);
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
	for (unsigned i = 0; i < SHARED; i++)
		for (unsigned j = 0; j < self.lock_count; j++)
			if (!has_permits(j))
				self.shared[i][j] = handle(j, NULL, !has_readers(j) ? LEASH_MUTEX : i == 0 ? LEASH_READ : LEASH_WRITE, 0);
	for (unsigned i = 0; i < self.thread_count; i++) {
		struct worker *w = &self.workers[i];

		w->number = i;
		w->random = seed_of(i);
		if (leash_owner_new(&w->owner, &err) != LEASH_OK)
			trouble("no owner: %s", err.text);
		for (unsigned j = 0; j < self.lock_count; j++)
			if (!has_permits(j) && !has_readers(j))
				w->own[j] = handle(j, w->owner, LEASH_MUTEX, 0);
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
	for (unsigned i = 0; i < SHARED; i++)
		for (unsigned j = 0; j < self.lock_count; j++)
			leash_lock_free(self.shared[i][j]);
	leash_close(self.client);
	self.ended = true;
	for (unsigned i = 0; i < self.pulse_count; i++)
		pthread_join(self.pulses[i], NULL);
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
