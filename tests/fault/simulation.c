/* The simulation. See simulation.h.
 *
 *   parent             server, proxy, witness; freezes and thaws the children, looks at the witness, samples stalls
 *   6 children         a client each, with 4 threads that contend for 6 locks, and one that cancels waits
 *
 * A lock is fair in one half of the processes and plain in the other: they may meet. The lease is as short as it may be for the
 * time in which commands come late to be longer. A holder keeps the lock for as long as it likes, be it longer than the lease,
 * and stops when leash says that it does not hold it any more. */
#include "tests/fault/simulation.h"

#include "tests/support/await.h"
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/trouble.h"
#include "tests/support/witness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROCESSES = 6, THREADS = 4, LOCKS = 6, HOLDS = 1 << 17, LEASE_MS = 150, TIMEOUT_MS = 100, FREEZE_MS = 800, MAX_MS = 400 };

enum doing { ELSEWHERE, WAITING, HOLDING };

/* What a thread is at: doing << 8 | lock. */
struct seat {
	_Atomic unsigned at;
};

struct shared {
	struct stage begun, ready, done;
	char uri[256];
	_Atomic bool ending;
	_Atomic size_t timeouts, canceled, unavailable, lost;
	struct seat seats[PROCESSES][THREADS];
};

/* A child: what its threads share. */
struct contender {
	struct shared *shared;
	struct witness *witness;
	uint64_t seed;
	unsigned process;
	leash_client *client;
	leash_lock *locks[LOCKS];
	pthread_mutex_t mutex;              /* guards the next */
	leash_cancel *cancels[THREADS];     /* of waits that may be canceled */
};

struct worker {
	struct contender *contender;
	unsigned thread;
	uint64_t random;
};

static uint64_t
roll(uint64_t *random, uint64_t below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random % below;
}

static void
sleep_us(uint64_t us)
{
	struct timespec t = { .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000 };

	nanosleep(&t, NULL);
}

/* ---- the children ---- */

static void
be(struct worker *w, enum doing doing, unsigned lock)
{
	w->contender->shared->seats[w->contender->process][w->thread].at = (unsigned)doing << 8 | lock;
}

static void
offer_cancel(struct worker *w, leash_cancel *cancel)
{
	pthread_mutex_lock(&w->contender->mutex);
	w->contender->cancels[w->thread] = cancel;
	pthread_mutex_unlock(&w->contender->mutex);
}

static leash_status
acquire(struct worker *w, leash_lock *lock, leash_error *err)
{
	uint64_t kind = roll(&w->random, 10);
	int64_t wait_ms = kind == 0 ? 0 : kind < 7 ? 50 + (int64_t)roll(&w->random, 1500) : LEASH_FOREVER;
	leash_cancel *cancel = NULL;
	leash_status status;

	if (kind < 8)
		return leash_lock_acquire(lock, wait_ms, err);
	if (leash_cancel_new(&cancel, err) != LEASH_OK)
		trouble("no cancel: %s", err->text);
	offer_cancel(w, cancel);
	status = leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = wait_ms, .cancel = cancel), err);
	offer_cancel(w, NULL);
	leash_cancel_free(cancel);
	return status;
}

static void
hold(struct worker *w, unsigned number)
{
	struct contender *c = w->contender;
	leash_lock *lock = c->locks[number];
	struct testimony *testimony = witness_enter(c->witness, number, lock);
	int64_t until = await_now_ns() + (int64_t)(roll(&w->random, 8) == 0 ? roll(&w->random, 500) : roll(&w->random, 60)) * 1000000;
	leash_error err;

	if (roll(&w->random, 8) == 0 && leash_lock_acquire(lock, 0, &err) == LEASH_OK)
		leash_lock_release(lock, &err);
	while (witness_look(testimony, lock) && await_now_ns() < until)
		sleep_us(1000);
	if (leash_lock_release(lock, &err) == LEASH_LOST)
		c->shared->lost++;
}

static void
take_a_turn(struct worker *w, unsigned number)
{
	struct shared *shared = w->contender->shared;
	leash_error err;
	leash_status status;

	be(w, WAITING, number);
	status = acquire(w, w->contender->locks[number], &err);
	be(w, status == LEASH_OK ? HOLDING : ELSEWHERE, number);
	switch (status) {
	case LEASH_OK:
		hold(w, number);
		break;
	case LEASH_TIMEOUT:
		shared->timeouts++;
		break;
	case LEASH_CANCELED:
		shared->canceled++;
		break;
	case LEASH_UNAVAILABLE:
		shared->unavailable++;
		break;
	default:
		trouble("acquire: %s: %s", leash_status_name(status), err.text);
	}
	be(w, ELSEWHERE, number);
}

/* In the end each gets each lock once more. */
static void
wind_down(struct worker *w)
{
	leash_error err;

	for (unsigned i = 0; i < LOCKS; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(w->contender->locks[i], LEASH_FOREVER, &err));
		leash_lock_release(w->contender->locks[i], &err);
	}
}

static void *
work(void *arg)
{
	struct worker *w = arg;

	while (!w->contender->shared->ending) {
		take_a_turn(w, (unsigned)roll(&w->random, LOCKS));
		if (roll(&w->random, 4) == 0)
			sleep_us(roll(&w->random, 30000));
	}
	wind_down(w);
	return NULL;
}

static void
cancel_some(struct contender *c)
{
	uint64_t random = c->seed * 77 + c->process + 1;

	while (!c->shared->ending) {
		unsigned thread = (unsigned)roll(&random, THREADS);

		sleep_us(roll(&random, 200000));
		pthread_mutex_lock(&c->mutex);
		if (c->cancels[thread] != NULL)
			leash_cancel_fire(c->cancels[thread]);
		pthread_mutex_unlock(&c->mutex);
	}
}

static int
contend(void *arg)
{
	struct contender *c = arg;
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	stage_await(&c->shared->begun, 1);
	c->client = leashed_open(c->shared->uri, LEASH_OPTIONS(.lease_ms = LEASE_MS, .timeout_ms = TIMEOUT_MS));
	pthread_mutex_init(&c->mutex, NULL);
	for (unsigned i = 0; i < LOCKS; i++) {
		char name[16];

		snprintf(name, sizeof name, "lock-%u", i);
		c->locks[i] = leashed_lock(c->client, name, LEASH_LOCK_OPTIONS(.fair = (i + c->process) % 2 == 0));
	}
	stage_raise(&c->shared->ready);
	stage_await(&c->shared->ready, PROCESSES + 1);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .contender = c, .thread = i, .random = (c->seed + 1) * 1000003 + c->process * 8191 + i * 131 + 1 };
		if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
			trouble("no thread");
	}
	cancel_some(c);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < LOCKS; i++)
		leash_lock_free(c->locks[i]);
	leash_close(c->client);
	stage_raise(&c->shared->done);
	return 0;
}

/* ---- the parent ---- */

struct freezer {
	const pid_t *pids;
	uint64_t random;
	int64_t thaw[PROCESSES];   /* 0: it runs */
	int64_t next;
	size_t freezes;
};

static void
freeze_and_thaw(struct freezer *f, int64_t now)
{
	for (unsigned i = 0; i < PROCESSES; i++) {
		if (f->thaw[i] != 0 && f->thaw[i] <= now) {
			child_resume(f->pids[i]);
			f->thaw[i] = 0;
		}
	}
	if (now >= f->next) {
		unsigned who = (unsigned)roll(&f->random, PROCESSES);

		if (f->thaw[who] == 0) {
			child_pause(f->pids[who]);
			f->thaw[who] = now + (int64_t)roll(&f->random, FREEZE_MS * 1000) * 1000;
			f->freezes++;
		}
		f->next = now + (int64_t)roll(&f->random, 500) * 1000000;
	}
}

static void
thaw_all(struct freezer *f)
{
	for (unsigned i = 0; i < PROCESSES; i++)
		if (f->thaw[i] != 0)
			child_resume(f->pids[i]);
}

/* Times in which somebody that runs waits, and nobody is between an acquire and the end of its release. */
struct stalls {
	int64_t since[LOCKS];   /* 0: it does not stall */
	int64_t total, longest, looked;
};

static void
look_for_stalls(struct stalls *s, const struct shared *shared, const struct freezer *f, int64_t now)
{
	bool waits[LOCKS] = { false }, holds[LOCKS] = { false };

	for (unsigned i = 0; i < PROCESSES; i++) {
		for (unsigned j = 0; j < THREADS; j++) {
			unsigned at = shared->seats[i][j].at;

			waits[at & 255] |= at >> 8 == WAITING && f->thaw[i] == 0;
			holds[at & 255] |= at >> 8 == HOLDING;
		}
	}
	for (unsigned i = 0; i < LOCKS; i++) {
		if (!waits[i] || holds[i]) {
			s->since[i] = 0;
			continue;
		}
		if (s->since[i] == 0)
			s->since[i] = now;
		else
			s->total += now - s->looked;
		if (now - s->since[i] > s->longest)
			s->longest = now - s->since[i];
	}
	s->looked = now;
}

static size_t
keys_left(struct server *server)
{
	redisReply *keys = server_command(server, "KEYS *");
	size_t n = 0;

	for (size_t i = 0; i < keys->elements; i++) {
		const char *key = keys->element[i]->str;
		size_t length = strlen(key);

		if (strncmp(key, "leash:client:", 13) == 0) /* who goes says so once, and the proxies lose some of it; then it ends by itself */
			n += server_integer(server, "PTTL %s", key) == -1;
		else
			n += length < 6 || strcmp(key + length - 6, ":fence") != 0;
	}
	freeReplyObject(keys);
	return n;
}

static void
storm(const struct simulation *s, struct simulated *r, struct shared *shared, struct witness *witness, struct freezer *f)
{
	struct stalls stalls = { .looked = await_now_ns() };
	int64_t begun = await_now_ns(), now = begun, looked = begun;

	while (now - begun < (int64_t)(s->seconds * 1e9)) {
		freeze_and_thaw(f, now);
		look_for_stalls(&stalls, shared, f, now);
		if (now - looked > 100000000) {
			looked = now;
			r->violations = witness_violations(witness, r->text, sizeof r->text);
			if (r->violations > 0 && r->caught_s == 0)
				r->caught_s = (double)(now - begun) / 1e9;
			if (r->violations > 0 && s->until_caught)
				break;
		}
		sleep_us(2000);
		now = await_now_ns();
	}
	r->lasted_s = (double)(now - begun) / 1e9;
	r->stalled = (double)stalls.total / (double)(now - begun) / LOCKS;
	r->longest_stall_ms = (double)stalls.longest / 1e6;
	r->freezes = f->freezes;
}

void
simulation_run(const struct simulation *s, struct simulated *r)
{
	struct server *server = server_start(NULL);
	struct proxy *proxy;
	struct shared *shared = child_share(sizeof *shared);
	struct witness *witness = witness_new(HOLDS);
	struct contender contenders[PROCESSES];
	pid_t pids[PROCESSES];
	struct freezer freezer = { .pids = pids, .random = s->seed * 31 + 7 };
	int64_t limit;

	*r = (struct simulated){ 0 };
	for (unsigned i = 0; i < PROCESSES; i++) {
		contenders[i] = (struct contender){ .shared = shared, .witness = witness, .seed = s->seed, .process = i };
		pids[i] = child_run(contend, &contenders[i]);
	}
	/* after the forks: it has a thread */
	proxy = proxy_start(server_socket(server));
	snprintf(shared->uri, sizeof shared->uri, "%s", proxy_uri(proxy));
	stage_set(&shared->begun, 1);
	stage_await(&shared->ready, PROCESSES);
	proxy_weather(proxy, &(struct proxy_weather){ .lost = 200, .late = 10, .messages_late = 40, .late_us = MAX_MS * 1000, .messages_dropped = 10,
	                                              .messages_doubled = 10, .seed = s->seed * 2 + 1 });
	stage_raise(&shared->ready);
	storm(s, r, shared, witness, &freezer);
	proxy_weather(proxy, NULL);
	thaw_all(&freezer);
	shared->ending = true;
	if (!s->until_caught)
		stage_await(&shared->done, PROCESSES);   /* nobody hangs */
	for (unsigned i = 0; i < PROCESSES; i++) {
		if (s->until_caught)
			child_kill(pids[i]);
		else
			child_wait(pids[i]);
	}
	r->violations = witness_violations(witness, r->text, sizeof r->text);
	if (r->violations > 0 && r->caught_s == 0)
		r->caught_s = r->lasted_s;
	r->holds = witness_holds(witness);
	r->timeouts = shared->timeouts;
	r->canceled = shared->canceled;
	r->unavailable = shared->unavailable;
	r->lost = shared->lost;
	r->late = (size_t)proxy_late(proxy);
	r->dropped = (size_t)proxy_dropped(proxy);
	r->doubled = (size_t)proxy_doubled(proxy);
	r->cut = (size_t)proxy_lost(proxy);
	r->connections = proxy_accepted(proxy);
	limit = await_limit_ns(30);
	while ((r->keys_left = keys_left(server)) > 0 && !await_is_past(limit) && !s->until_caught)
		await_ms(20);
	proxy_stop(proxy);
	server_stop(server);
	witness_free(witness);
	child_unshare(shared, sizeof *shared);
}

void
simulation_print(const struct simulated *r)
{
	printf("# %.1f s: %zu holds, %zu of them lost; %zu waits timed out, %zu canceled, %zu for want of a server; %zu freezes\n"
	       "# %zu commands and messages late, %zu cut off, %zu messages dropped, %zu doubled, %zu connections\n"
	       "# somebody waited and nobody held %.0f %% of the time, %.0f ms at most\n",
	       r->lasted_s, r->holds, r->lost, r->timeouts, r->canceled, r->unavailable, r->freezes, r->late, r->cut, r->dropped, r->doubled, r->connections,
	       100 * r->stalled, r->longest_stall_ms);
	if (r->violations > 0)
		printf("# %zu violations, the first: %s\n", r->violations, r->text);
}

uint64_t
simulation_seed(void)
{
	const char *text = getenv("LEASH_TEST_SEED");

	return text != NULL ? strtoull(text, NULL, 10) : 1;
}

double
simulation_seconds(const char *variable, double otherwise)
{
	const char *text = getenv(variable);

	return text != NULL && atof(text) > 0 ? atof(text) : otherwise;
}
