/* What a plain lock gains by passing between threads of a process without asking Redis, and that nobody pays for it.
 *
 * Sixteen threads take and give back one lock and do nothing else, in three ways that take turns of a fraction of a
 * second: by local hand-off, with `no_handoff`, and by a FIFO lock of pthread condition variables, which knows no
 * Redis at all. Then two such processes want the same lock at once. The critical section does no more than look
 * whether it is one: it counts who is inside, and writes its fence down, behind that of the hold before it. What is
 * written lies in memory that both processes share.
 *
 * A ratio is that of neighbors in one round, and the figure the median of all rounds. Between two processes a turn is
 * what one of them has in a row, and a gap reaches from the begin of a turn to the begin of that process's next: its
 * own turn, which another might leave out, is in it. */
#include "bench/program.h"
#include "bench/team.h"
#include "tests/support/child.h"
#include "tests/support/server.h"

#include <leash.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 16, PAGES = 1 << 22, NESTED = 100000 };

/* ---- what is written down inside ---- */

/* What one process had of a lock that two want. */
struct share {
	uint64_t turns;
	int64_t began;           /* the last turn */
	int64_t gaps, longest;   /* from the begin of a turn to the begin of the next */
};

/* Guarded by the lock that is measured; atomic is only what shows whether that lock is one. */
struct book {
	_Atomic uint32_t inside;
	_Atomic uint64_t overlaps;
	_Atomic uint64_t written;    /* pages; those past the last one are not kept */
	int last;                    /* whose the last hold was: 0 or 1; -1: nobody's */
	struct share share[2];
	double rate[2];
	struct stage ready;
	uint64_t fence[PAGES];
};

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
begin_turn(struct book *book, int who)
{
	struct share *s = &book->share[who];
	int64_t now = now_ns();

	if (s->turns++ > 0) {
		s->gaps += now - s->began;
		if (now - s->began > s->longest)
			s->longest = now - s->began;
	}
	s->began = now;
	book->last = who;
}

/* Inside the critical section. */
static void
write_down(struct book *book, int who, uint64_t fence)
{
	uint64_t page;

	if (atomic_fetch_add_explicit(&book->inside, 1, memory_order_relaxed) != 0)
		atomic_fetch_add(&book->overlaps, 1);
	page = atomic_fetch_add_explicit(&book->written, 1, memory_order_relaxed);
	if (page < PAGES)
		book->fence[page] = fence;
	if (book->last != who)
		begin_turn(book, who);
	atomic_fetch_sub_explicit(&book->inside, 1, memory_order_relaxed);
}

static void
open_book(struct book *book)
{
	atomic_store(&book->written, 0);
	book->last = -1;
	memset(book->share, 0, sizeof book->share);
	book->ready = (struct stage){ 0 };
}

/* How many fences are not larger than the one before. */
static uint64_t
count_falls(const struct book *book)
{
	uint64_t n = atomic_load(&book->written), falls = 0;

	if (n > PAGES)
		n = PAGES;
	for (uint64_t i = 1; i < n; i++)
		falls += book->fence[i] <= book->fence[i - 1];
	return falls;
}

/* ---- leash ---- */

struct desk {
	struct book *book;
	int who;
	leash_lock *lock;
	struct fifo *fifo;
	pthread_cond_t called;   /* fifo: of this thread; guarded, as the rest, by its mutex */
	bool is_called;
	struct desk *next;
};

static void
leash_pair(void *arg)
{
	struct desk *desk = arg;
	leash_error err;

	if (leash_lock_acquire(desk->lock, LEASH_FOREVER, &err) != LEASH_OK)
		die("%s", err.text);
	write_down(desk->book, desk->who, leash_lock_fence(desk->lock));
	if (leash_lock_release(desk->lock, &err) != LEASH_OK)
		die("%s", err.text);
}

/* ---- the same without Redis ---- */

/* Who unlocks calls the one that has waited longest, which then has it. */
struct fifo {
	pthread_mutex_t mutex;
	bool taken;
	struct desk *first, **end;
	uint64_t fence;
};

static void
fifo_lock(struct fifo *fifo, struct desk *me)
{
	pthread_mutex_lock(&fifo->mutex);
	if (fifo->taken) {
		me->is_called = false;
		me->next = NULL;
		*fifo->end = me;
		fifo->end = &me->next;
		while (!me->is_called)
			pthread_cond_wait(&me->called, &fifo->mutex);
	}
	fifo->taken = true;
	pthread_mutex_unlock(&fifo->mutex);
}

static void
fifo_unlock(struct fifo *fifo)
{
	struct desk *next;

	pthread_mutex_lock(&fifo->mutex);
	next = fifo->first;
	if (next == NULL) {
		fifo->taken = false;
	} else {
		fifo->first = next->next;
		if (fifo->first == NULL)
			fifo->end = &fifo->first;
		next->is_called = true;
	}
	pthread_mutex_unlock(&fifo->mutex);
	if (next != NULL)
		pthread_cond_signal(&next->called); /* only now, when it finds the mutex free */
}

static void
fifo_pair(void *arg)
{
	struct desk *desk = arg;

	fifo_lock(desk->fifo, desk);
	write_down(desk->book, desk->who, ++desk->fifo->fence);
	fifo_unlock(desk->fifo);
}

/* ---- one process ---- */

enum way { LOCAL, ASKED, FIFO, WAYS };

struct result {
	double rate[WAYS][MAX_ROUNDS];
	double over_asked[MAX_ROUNDS], over_fifo[MAX_ROUNDS], readers[MAX_ROUNDS];
	double gap[2][MAX_ROUNDS], longest[2][MAX_ROUNDS], pair_rate[MAX_ROUNDS];
	uint64_t overlaps, falls, shared_falls, fences, shared_fences;
	double nested;
};

static double
run_side(void (*pair)(void *), struct desk *desks, int64_t ns)
{
	void *desk[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		desk[i] = &desks[i];
	return team_run(pair, desk, THREADS, -1, ns).per_second;
}

static void
read_pair(void *arg)
{
	struct desk *desk = arg;
	leash_error err;

	if (leash_lock_acquire(desk->lock, LEASH_FOREVER, &err) != LEASH_OK ||
	    leash_lock_release(desk->lock, &err) != LEASH_OK)
		die("%s", err.text);
}

static leash_lock *
lock_of(leash_client *client, const char *name, leash_mode mode, bool no_handoff)
{
	leash_lock *lock;
	leash_error err;

	if (leash_lock_new(&lock, client, name, LEASH_LOCK_OPTIONS(.mode = mode, .no_handoff = no_handoff), &err) !=
	    LEASH_OK)
		die("%s", err.text);
	return lock;
}

static leash_client *
client_of(const char *uri)
{
	leash_client *client;
	leash_error err;

	if (leash_open(&client, LEASH_OPTIONS(.uri = uri), &err) != LEASH_OK)
		die("%s", err.text);
	return client;
}

/* There and back again, so that what drifts evenly falls on all alike. */
static void
measure_one_process(const char *uri, struct book *book, struct result *r, const struct settings *s)
{
	static const enum way order[2][WAYS] = { { LOCAL, ASKED, FIFO }, { FIFO, ASKED, LOCAL } };
	static struct desk desks[WAYS][THREADS];
	struct fifo fifo = { .mutex = PTHREAD_MUTEX_INITIALIZER, .end = &fifo.first };
	leash_client *client = client_of(uri);
	leash_lock *lock[WAYS] = { lock_of(client, "local", LEASH_MUTEX, false),
	                           lock_of(client, "asked", LEASH_MUTEX, true), NULL };

	for (int w = 0; w < WAYS; w++)
		for (int i = 0; i < THREADS; i++)
			desks[w][i] = (struct desk){
				.book = book, .lock = lock[w], .fifo = &fifo, .called = PTHREAD_COND_INITIALIZER,
			};
	for (int i = 0; i < s->rounds; i++) {
		for (int k = 0; k < WAYS; k++) {
			enum way way = order[i % 2][k];

			open_book(book);
			r->rate[way][i] = run_side(way == FIFO ? fifo_pair : leash_pair, desks[way], s->run_ns);
			r->falls += count_falls(book);
			if (way != FIFO)
				r->fences += atomic_load(&book->written);
		}
		r->over_asked[i] = r->rate[LOCAL][i] / r->rate[ASKED][i];
		r->over_fifo[i] = r->rate[LOCAL][i] / r->rate[FIFO][i];
	}
	for (int w = 0; w < WAYS; w++)
		leash_lock_free(lock[w]);
	leash_close(client);
}

/* Readers who share what one of them holds, and readers of whom each asks the server. */
static void
measure_readers(const char *uri, struct result *r, const struct settings *s)
{
	static struct desk desks[2][THREADS];
	leash_client *client = client_of(uri);
	leash_lock *lock[2] = { lock_of(client, "share", LEASH_READ, false), lock_of(client, "ask", LEASH_READ, true) };
	double rate[2];

	for (int i = 0; i < 2 * THREADS; i++)
		desks[i % 2][i / 2].lock = lock[i % 2];
	for (int i = 0; i < s->rounds; i++) {
		for (int k = 0; k < 2; k++)
			rate[(i + k) % 2] = run_side(read_pair, desks[(i + k) % 2], s->run_ns);
		r->readers[i] = rate[0] / rate[1];
	}
	leash_lock_free(lock[0]);
	leash_lock_free(lock[1]);
	leash_close(client);
}

/* A thread acquires what it holds. The least of all rounds: nothing can make that less than it is. */
static void
measure_nested(const char *uri, struct result *r, const struct settings *s)
{
	leash_client *client = client_of(uri);
	leash_lock *lock = lock_of(client, "nested", LEASH_MUTEX, false);
	leash_error err;

	if (leash_lock_acquire(lock, 0, &err) != LEASH_OK)
		die("%s", err.text);
	for (int i = 0; i < s->rounds; i++) {
		int64_t began = now_ns();
		double each;

		for (int k = 0; k < NESTED; k++)
			if (leash_lock_acquire(lock, 0, &err) != LEASH_OK || leash_lock_release(lock, &err) != LEASH_OK)
				die("%s", err.text);
		each = (double)(now_ns() - began) / NESTED;
		if (i == 0 || each < r->nested)
			r->nested = each;
	}
	leash_lock_free(lock);
	leash_close(client);
}

/* ---- two processes ---- */

struct contender {
	const char *uri;
	struct book *book;
	int who;
	int64_t ns;
};

static int
contend(void *arg)
{
	const struct contender *c = arg;
	leash_client *client = client_of(c->uri);
	leash_lock *lock = lock_of(client, "shared", LEASH_MUTEX, false);
	struct desk desks[THREADS];

	for (int i = 0; i < THREADS; i++)
		desks[i] = (struct desk){ .book = c->book, .who = c->who, .lock = lock };
	stage_raise(&c->book->ready);
	stage_await(&c->book->ready, 2);
	c->book->rate[c->who] = run_side(leash_pair, desks, c->ns);
	leash_lock_free(lock);
	leash_close(client);
	return 0;
}

static void
measure_two_processes(const char *uri, struct book *book, struct result *r, const struct settings *s)
{
	struct contender c[2] = { { uri, book, 0, s->run_ns }, { uri, book, 1, s->run_ns } };

	for (int i = 0; i < s->rounds; i++) {
		pid_t child;

		open_book(book);
		child = child_run(contend, &c[1]);
		contend(&c[0]);
		child_wait(child);
		r->pair_rate[i] = book->rate[0] + book->rate[1];
		r->shared_falls += count_falls(book);
		r->shared_fences += atomic_load(&book->written);
		for (int who = 0; who < 2; who++) {
			const struct share *share = &book->share[who];

			if (share->turns < 2)
				die("process %d had %llu turns in a round: give it more time", who, (unsigned long long)share->turns);
			r->gap[who][i] = (double)share->gaps / (double)(share->turns - 1) / 1e6;
			r->longest[who][i] = (double)share->longest / 1e6;
		}
	}
}

/* ---- the table ---- */

static bool
print_figure(const char *what, double value, const char *relation, double bar)
{
	bool met = *relation == '>' ? value >= bar : value <= bar;

	printf("%-64s  %9.2f  %s %-4g  %s\n", what, value, relation, bar, met ? "ok" : "MISSED");
	return met;
}

static unsigned
print_ratio(const char *what, double *ratio, int n, double bar)
{
	double middle = median(ratio, (size_t)n);
	char text[100];

	snprintf(text, sizeof text, "%s (%.2f to %.2f)", what, ratio[0], ratio[n - 1]);
	return !print_figure(text, middle, ">=", bar);
}

static unsigned
print_gap(int who, struct result *r, int n)
{
	double middle = median(r->gap[who], (size_t)n);
	char text[100];

	median(r->longest[who], (size_t)n);
	snprintf(text, sizeof text, "mean gap between turns of process %d, ms (longest %.1f)", who + 1,
	         r->longest[who][n - 1]);
	return !print_figure(text, middle, "<=", 15);
}

static unsigned
print_count(const char *what, uint64_t of, uint64_t count)
{
	char text[100];

	snprintf(text, sizeof text, "%s (of %llu)", what, (unsigned long long)of);
	return !print_figure(text, (double)count, "<=", 0);
}

static unsigned
print_result(struct result *r, const struct settings *s)
{
	int n = s->rounds;
	unsigned missed = 0;

	printf("turns/s of %d threads: local hand-off %.0f, no_handoff %.0f, condition variables %.0f; "
	       "of two processes %.0f\n\n", THREADS, median(r->rate[LOCAL], (size_t)n), median(r->rate[ASKED], (size_t)n),
	       median(r->rate[FIFO], (size_t)n), median(r->pair_rate, (size_t)n));
	missed += print_ratio("local hand-off / no_handoff", r->over_asked, n, 5);
	missed += print_ratio("local hand-off / FIFO by condition variables", r->over_fifo, n, 0.5);
	missed += print_ratio("readers who share / readers who each ask", r->readers, n, 50);
	missed += print_count("fences that did not grow, one process", r->fences, r->falls);
	missed += print_count("fences that did not grow, two processes", r->shared_fences, r->shared_falls);
	missed += print_gap(0, r, n);
	missed += print_gap(1, r, n);
	missed += !print_figure("an acquire that nests, and its release, ns", r->nested, "<=", 150);
	missed += print_count("overlaps", r->fences + r->shared_fences, r->overlaps);
	return missed;
}

/* ---- the command line ---- */

static const char help[] =
	"Usage: local [OPTION]...\n"
	"Measure the hand-off of a plain lock between 16 threads of one process, how two such processes share it, and\n"
	"what 16 readers gain who share what one of them holds.\n"
	"Starts a redis-server of its own on a unix socket, and ends it.\n"
	"\n"
	"  --rounds=N    default 7\n"
	"  --ms=N        that each way runs in a round; default 300\n"
	"  --check       exit with 1 if a bar is missed\n"
	"  --help        this text\n"
	"\n"
	"Exits with 0 when it could measure, 77 without a redis-server, 2 if anything else went wrong.\n";

int
main(int argc, char **argv)
{
	static struct result result;
	struct settings s = { .rounds = 7, .run_ns = 300000000 };
	struct server *server;
	struct book *book;
	unsigned missed;

	program_read(&s, argc, argv, help, "ms", false);
	server = server_start(NULL);
	book = child_share(sizeof *book);
	program_begin(&s, server, "ms");
	measure_one_process(server_uri(server), book, &result, &s);
	measure_readers(server_uri(server), &result, &s);
	measure_two_processes(server_uri(server), book, &result, &s);
	measure_nested(server_uri(server), &result, &s);
	result.overlaps = atomic_load(&book->overlaps);
	missed = print_result(&result, &s);
	child_unshare(book, sizeof *book);
	server_stop(server);
	return program_end(&s, missed);
}
