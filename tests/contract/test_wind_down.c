/* Contenders stop one after another, and the last one still gets the lock: no wake-up is lost with those who have gone.
 *
 * A round: threads in some processes contend for one lock until each has had its turns (but those with a time limit may be out
 * of luck). Then they are stopped in random order, each after the turn for which it waits, or by a cancel in the middle of the
 * wait, or by a time limit; a process closes its client when its last thread has stopped. The one who is left must go on getting
 * its turns, and is stopped too. Whoever hangs is named. Every round is made with plain handles, with fair ones, and with both
 * kinds at one name; holding for no time, and for 1 ms.
 *
 * LEASH_TEST_WIND_DOWN_ROUNDS: with few threads (default 8). LEASH_TEST_WIND_DOWN_THREADS: in each process of the rounds with
 * many (default 32). LEASH_TEST_SEED: who stops when, and how (default: by the clock).
 *
 * In a quorum nobody's turn is promised: whoever is always there, while it holds or asks, can keep another process from its chance for
 * long. So there they rest between their turns, and there are fewer rounds. */
#include "tests/support/child.h"
#include "tests/support/judge.h"
#include "tests/support/leashed.h"
#include "tests/support/place.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	FEW_PROCESSES = 3, FEW_THREADS = 3,
	MANY_PROCESSES = 4, MANY_THREADS = 32,
	PROCESSES_MAX = 4, THREADS_MAX = 256,
	FIRST_TURNS = 10, LAST_TURNS = 50, LEASE_MS = 5000, STACK = 256 * 1024,
};

enum kind { PLAIN, FAIR, MIXED };
enum manner { AFTER_ITS_TURN, CANCELED, TIMED, MANNERS };
enum doing { OUTSIDE, WAITING, INSIDE, RELEASING, STOPPED };

struct round;

struct contender {
	struct round *round;
	enum manner manner;
	unsigned seed;
	leash_lock *lock;      /* these two mean something in its own process only */
	leash_cancel *cancel;
	_Atomic int stop, fired;
	_Atomic int doing;
	_Atomic int64_t since_ns;
	_Atomic uint64_t turns;
};

struct process {
	struct round *round;
	unsigned number;
	bool fair;
	_Atomic int closed;
};

/* The shared memory of a round. */
struct round {
	struct judge *judge;
	unsigned processes, threads; /* in each */
	int64_t hold_ms;
	_Atomic uint64_t unexpected;
	struct process process[PROCESSES_MAX];
	struct contender contender[PROCESSES_MAX * THREADS_MAX]; /* `threads` of them for each process */
};

static void
unexpected(struct contender *c, const char *what, leash_status status, const leash_error *err)
{
	if (c->round->unexpected++ < 10)
		fprintf(stderr, "# %s: %s: %s\n", what, leash_status_name(status), err->text);
}

static void
set_doing(struct contender *c, enum doing doing)
{
	atomic_store(&c->since_ns, await_now_ns());
	atomic_store(&c->doing, (int)doing);
}

/* ---- the contenders ---- */

static void
take_a_turn(struct contender *c)
{
	/* about as long as a turn of everybody takes: some get it in time, some do not */
	int64_t wait_ms = c->manner == TIMED ? 1 + rand_r(&c->seed) % (int)(2 * c->round->processes * c->round->threads) : LEASH_FOREVER;
	leash_error err;
	leash_status status;

	set_doing(c, WAITING);
	status = leash_lock_acquire_with(c->lock, LEASH_ACQUIRE(.wait_ms = wait_ms, .cancel = c->cancel), &err);
	if (status == LEASH_TIMEOUT && c->manner == TIMED)
		return;
	if (status == LEASH_UNAVAILABLE && c->manner == TIMED)
		return; /* a few ms may be too little for an answer */
	if (status == LEASH_CANCELED && c->fired)
		return;
	if (status != LEASH_OK) {
		unexpected(c, "acquire", status, &err);
		return;
	}
	judge_enter(c->round->judge, 0, leash_lock_fence(c->lock));
	set_doing(c, INSIDE);
	c->turns++;
	if (c->round->hold_ms > 0)
		await_ms(c->round->hold_ms);
	set_doing(c, RELEASING);
	judge_leave(c->round->judge, 0);
	status = leash_lock_release(c->lock, &err);
	if (status != LEASH_OK)
		unexpected(c, "release", status, &err);
}

static void *
contend(void *arg)
{
	struct contender *c = arg;

	while (!c->stop) {
		take_a_turn(c);
		set_doing(c, OUTSIDE);
		if (place_is(PLACE_NO_QUEUE))
			await_ms(rand_r(&c->seed) % (int)((c->round->hold_ms + 1) * 2 * c->round->processes * c->round->threads));
	}
	set_doing(c, STOPPED);
	return NULL;
}

/* Cancel those who are to stop that way. True: all have stopped. */
static bool
have_all_stopped(struct contender *contenders, unsigned n)
{
	bool all = true;

	for (unsigned i = 0; i < n; i++) {
		struct contender *c = &contenders[i];

		if (c->stop && !c->fired && c->cancel != NULL) {
			c->fired = 1;
			leash_cancel_fire(c->cancel);
		}
		all = all && c->doing == STOPPED;
	}
	return all;
}

static int
run_process(void *arg)
{
	struct process *process = arg;
	struct round *round = process->round;
	struct contender *contenders = &round->contender[process->number * round->threads];
	leash_client *client = place_client(LEASH_OPTIONS(.lease_ms = LEASE_MS));
	leash_lock *lock = leashed_lock(client, "wind down", LEASH_LOCK_OPTIONS(.fair = process->fair));
	pthread_t threads[THREADS_MAX];
	pthread_attr_t attr;
	leash_error err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (unsigned i = 0; i < round->threads; i++) {
		struct contender *c = &contenders[i];

		c->lock = lock;
		if (c->manner == CANCELED)
			assert_status(LEASH_OK, leash_cancel_new(&c->cancel, &err));
		if (pthread_create(&threads[i], &attr, contend, c) != 0)
			return 1;
	}
	while (!have_all_stopped(contenders, round->threads))
		await_ms(1);
	for (unsigned i = 0; i < round->threads; i++) {
		pthread_join(threads[i], NULL);
		leash_cancel_free(contenders[i].cancel);
	}
	leash_lock_free(lock);
	leash_close(client);
	process->closed = 1;
	return 0;
}

/* ---- the watchdog: who hangs? ---- */

static void
name_those_who_do_not(const struct round *round, const char *what)
{
	static const char *const doings[] = {"is outside", "waits", "is inside", "releases", "has stopped"};
	static const char *const manners[] = {"stops after its turn", "stops by a cancel", "waits for a short time"};

	for (unsigned i = 0; i < round->processes; i++) {
		if (!round->process[i].closed)
			fprintf(stderr, "# %s: process %u (%s) has not closed its client\n", what, i, round->process[i].fair ? "fair" : "plain");
		for (unsigned j = 0; j < round->threads; j++) {
			const struct contender *c = &round->contender[i * round->threads + j];

			if (c->doing != STOPPED && (c->stop || c->turns == 0 || await_now_ns() - c->since_ns > 1000000000))
				fprintf(stderr, "# %s: thread %u of process %u (%s, %s%s) %s, for %lld ms, after %llu turns\n", what, j, i,
				        round->process[i].fair ? "fair" : "plain", manners[c->manner], c->stop ? ", which it was told to" : "", doings[c->doing],
				        (long long)((await_now_ns() - c->since_ns) / 1000000), (unsigned long long)c->turns);
		}
	}
}

/* Wait for something, for 60 s at most; if it does not come, name those who may hang, and fail. */
#define await_or_name(round, what, cond) \
	do { \
		int64_t limit_ = await_limit_ns(60); \
		while (!(cond) && !await_is_past(limit_)) \
			await_ms(1); \
		if (!(cond)) \
			name_those_who_do_not((round), (what)); \
		assert_true(cond); \
	} while (0)

/* ---- the rounds ---- */

static bool
have_all_had_turns(const struct round *round, uint64_t turns)
{
	for (unsigned i = 0; i < round->processes * round->threads; i++)
		if (round->contender[i].turns < turns && round->contender[i].manner != TIMED)
			return false;
	return true;
}

static bool
have_all_closed(const struct round *round)
{
	for (unsigned i = 0; i < round->processes; i++)
		if (!round->process[i].closed)
			return false;
	return true;
}

static bool
have_others_stopped(const struct round *round, const struct contender *last)
{
	for (unsigned i = 0; i < round->processes * round->threads; i++)
		if (&round->contender[i] != last && round->contender[i].doing != STOPPED)
			return false;
	return true;
}

/* Stop all but one, one after another in random order; returns that one. */
static struct contender *
stop_all_but_one(struct round *round, unsigned *seed)
{
	unsigned n = round->processes * round->threads;
	static unsigned order[PROCESSES_MAX * THREADS_MAX];

	for (unsigned i = 0; i < n; i++) {
		unsigned j = (unsigned)rand_r(seed) % (i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (unsigned i = 0; i + 1 < n; i++) {
		round->contender[order[i]].stop = 1;
		if (rand_r(seed) % 2 == 0)
			await_ms(rand_r(seed) % 6);
	}
	return &round->contender[order[n - 1]];
}

static uint64_t
play(enum kind kind, int64_t hold_ms, unsigned processes, unsigned threads, unsigned *seed)
{
	struct round *round = child_share(sizeof *round);
	pid_t pid[PROCESSES_MAX];
	struct contender *last;
	uint64_t turns = 0;

	round->judge = judge_new(1);
	round->processes = processes;
	round->threads = threads;
	round->hold_ms = hold_ms;
	for (unsigned i = 0; i < processes * threads; i++) {
		round->contender[i].round = round;
		round->contender[i].manner = (enum manner)(rand_r(seed) % MANNERS);
		round->contender[i].seed = (unsigned)rand_r(seed);
	}
	for (unsigned i = 0; i < processes; i++) {
		round->process[i].round = round;
		round->process[i].number = i;
		round->process[i].fair = kind == FAIR || (kind == MIXED && i % 2 == 1);
		pid[i] = child_run(run_process, &round->process[i]);
	}

	await_or_name(round, "no turn yet", have_all_had_turns(round, 1));
	if (processes * threads <= FEW_PROCESSES * FEW_THREADS)
		await_or_name(round, "hangs early", have_all_had_turns(round, FIRST_TURNS));
	last = stop_all_but_one(round, seed);
	await_or_name(round, "hangs", have_others_stopped(round, last));
	turns = last->turns + LAST_TURNS;
	await_or_name(round, "the last one hangs", last->turns >= turns);
	last->stop = 1;
	await_or_name(round, "hangs at its end", have_all_closed(round));
	for (unsigned i = 0; i < processes; i++)
		child_wait(pid[i]);

	if (judge_violations(round->judge) > 0)
		judge_print(round->judge);
	assert_int_equal(judge_violations(round->judge), 0);
	assert_int_equal(round->unexpected, 0);
	/* and nothing of them is left */
	place_assert_free("wind%20down");
	assert_int_equal(place_integer("wind%20down", "EXISTS leash:{wind%%20down}:fence"), 1);
	turns = judge_entries(round->judge);
	judge_free(round->judge);
	child_unshare(round, sizeof *round);
	return turns;
}

static unsigned
from_env(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? (unsigned)strtoul(text, NULL, 0) : otherwise;
}

static void
wind_down(enum kind kind, int64_t hold_ms)
{
	unsigned seed = from_env("LEASH_TEST_SEED", (unsigned)(await_now_ns() / 1000000)), rounds;
	unsigned many = from_env("LEASH_TEST_WIND_DOWN_THREADS", MANY_THREADS);
	int64_t begin = await_now_ns();
	uint64_t turns = 0;

	rounds = from_env("LEASH_TEST_WIND_DOWN_ROUNDS", place_is(PLACE_NO_QUEUE) ? 4 : 8);
	assert_in_range(many, 1, THREADS_MAX);
	printf("# LEASH_TEST_SEED=%u\n", seed);
	fflush(stdout);
	for (unsigned i = 0; i < rounds; i++)
		turns += play(kind, hold_ms, FEW_PROCESSES, FEW_THREADS, &seed);
	printf("# %u rounds of %d x %d threads: %llu turns in %.1f s\n", rounds, FEW_PROCESSES, FEW_THREADS, (unsigned long long)turns,
	       (double)(await_now_ns() - begin) / 1e9);
	begin = await_now_ns();
	turns = play(kind, hold_ms, MANY_PROCESSES, many, &seed);
	printf("# one round of %d x %u threads: %llu turns in %.1f s\n", MANY_PROCESSES, many, (unsigned long long)turns,
	       (double)(await_now_ns() - begin) / 1e9);
	fflush(stdout);
}

PLACE(place_open);

SENTENCE(the_last_of_plain_contenders_gets_the_lock)
{
	wind_down(PLAIN, 0);
}

SENTENCE(the_last_of_plain_contenders_that_hold_on_gets_the_lock)
{
	wind_down(PLAIN, 1);
}

SENTENCE(the_last_of_fair_contenders_gets_the_lock, .but = PLACE_NO_QUEUE)
{
	wind_down(FAIR, 0);
}

SENTENCE(the_last_of_fair_contenders_that_hold_on_gets_the_lock, .but = PLACE_NO_QUEUE)
{
	wind_down(FAIR, 1);
}

SENTENCE(the_last_of_plain_and_fair_contenders_gets_the_lock, .but = PLACE_NO_QUEUE)
{
	wind_down(MIXED, 0);
}

SENTENCE(the_last_of_plain_and_fair_contenders_that_hold_on_gets_the_lock, .but = PLACE_NO_QUEUE)
{
	wind_down(MIXED, 1);
}
