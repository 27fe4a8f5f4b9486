/* What one thread with an event loop gets out of leash: many operations under way at once, beside as many threads that
 * wait, and beside plain hiredis with as many commands under way, which is the limit.
 *
 * All sides of a round run one after the other on the same server; only ratios of neighbors count. */
#include "bench/async.h"
#include "bench/pending.h"
#include "bench/program.h"
#include "bench/side.h"
#include "bench/team.h"
#include "tests/support/await.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MANY = 1000, SOME = 64 };

/* ---- the sides ---- */

struct result {
	double per_second;
	double client_us, server_us; /* CPU time of a pair */
};

struct place {
	struct server *server;
	clockid_t server_cpu;
	leash_client *client;
	int fd;
	leash_owner *owner[MANY];
	leash_lock *lock[MANY]; /* for the owner; */
	leash_lock *threads[SOME], *nowait[SOME]; /* for the thread that calls: it waits for its release, or does not */
	struct wire *wire[MANY];
	struct hiredis_desk *desk[MANY];
};

/* The leash loop: one op under way for each seat. */
static struct {
	uint64_t pairs;
	size_t under_way;
	bool over;
} loop;

static void released(void *lock, leash_status status, const leash_error *err);

static void
acquired(void *lock, leash_status status, const leash_error *err)
{
	leash_error why;

	if (status != LEASH_OK)
		die("leash: %s", err->text);
	if (leash_lock_release_start(lock, released, lock, NULL, &why) != LEASH_OK)
		die("leash: %s", why.text);
}

static void
begin(leash_lock *lock)
{
	leash_error err;

	if (leash_lock_acquire_start(lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), acquired, lock, NULL, &err) != LEASH_OK)
		die("leash: %s", err.text);
	loop.under_way++;
}

static void
released(void *lock, leash_status status, const leash_error *err)
{
	if (status != LEASH_OK)
		die("leash: %s", err->text);
	loop.pairs++;
	loop.under_way--;
	if (!loop.over)
		begin(lock);
}

static uint64_t
run_loop(struct place *p, size_t count, int64_t ns)
{
	struct pollfd polled = { .fd = p->fd, .events = POLLIN };
	int64_t until = await_now_ns() + ns;

	loop.pairs = 0;
	loop.over = false;
	for (size_t i = 0; i < count; i++)
		begin(p->lock[i]);
	while (loop.under_way > 0) {
		poll(&polled, 1, 1000);
		leash_client_dispatch(p->client, NULL);
		loop.over = loop.over || await_now_ns() >= until;
	}
	return loop.pairs;
}

static uint64_t
run_async(struct place *p, size_t count, int64_t ns)
{
	struct async *async = async_new(p->desk, count, server_port(p->server));
	uint64_t pairs = async_run(async, ns);

	async_free(async);
	return pairs;
}

static uint64_t
run_team(leash_lock *const *locks, size_t count, int64_t ns)
{
	void *desks[SOME];

	for (size_t i = 0; i < count; i++)
		desks[i] = locks[i];
	return (uint64_t)(team_run(leash_pair, desks, count, -1, ns).per_second * (double)ns / 1e9);
}

static uint64_t
run_threads(struct place *p, size_t count, int64_t ns)
{
	return run_team(p->threads, count, ns);
}

static uint64_t
run_nowait(struct place *p, size_t count, int64_t ns)
{
	return run_team(p->nowait, count, ns);
}

static double
clock_us(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		die("cannot read the CPU time of the server");
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct result
measure(struct place *p, uint64_t (*run)(struct place *, size_t, int64_t), size_t count, int64_t ns)
{
	double client = clock_us(CLOCK_PROCESS_CPUTIME_ID), server = clock_us(p->server_cpu);
	double began = (double)await_now_ns();
	double pairs = (double)run(p, count, ns);

	return (struct result){
		.per_second = pairs / ((double)await_now_ns() - began) * 1e9,
		.client_us = (clock_us(CLOCK_PROCESS_CPUTIME_ID) - client) / pairs,
		.server_us = (clock_us(p->server_cpu) - server) / pairs,
	};
}

/* ---- the table ---- */

static struct way {
	const char *name;
	uint64_t (*run)(struct place *, size_t, int64_t);
	size_t count;
	int beside;  /* the way with which it is compared */
	double bar;  /* of its rate, to that; 0: there is none */
	struct result results[MAX_ROUNDS];
	double ratio[MAX_ROUNDS];
} ways[] = {
	{ .name = "hiredis-64", .run = run_async, .count = SOME },
	{ .name = "loop-64", .run = run_loop, .count = SOME, .beside = 0, .bar = 0.85 },
	{ .name = "hiredis-1000", .run = run_async, .count = MANY },
	{ .name = "loop-1000", .run = run_loop, .count = MANY, .beside = 2, .bar = 0.85 },
	{ .name = "threads-64", .run = run_threads, .count = SOME, .beside = 1 },
	{ .name = "nowait-64", .run = run_nowait, .count = SOME, .beside = 4, .bar = 1.15 },
};

enum { WAYS = sizeof ways / sizeof *ways };

static void
open_place(struct place *p)
{
	leash_error err;
	char name[32];

	p->server = server_start_tcp(NULL);
	if (clock_getcpuclockid(server_pid(p->server), &p->server_cpu) != 0)
		die("cannot see the CPU time of the server");
	if (leash_open(&p->client, LEASH_OPTIONS(.uri = server_uri_tcp(p->server)), &err) != LEASH_OK ||
	    leash_client_fd(p->client, &p->fd, &err) != LEASH_OK)
		die("%s", err.text);
	for (size_t i = 0; i < MANY; i++) {
		leash_lock *lock = leash_desk(p->client, i);

		p->wire[i] = wire_learn(p->server, lock);
		p->desk[i] = hiredis_desk(p->wire[i], 0);
		if (i < SOME)
			p->threads[i] = lock;
		else
			leash_lock_free(lock);
		snprintf(name, sizeof name, "bench-%zu", i);
		if (leash_owner_new(&p->owner[i], &err) != LEASH_OK ||
		    leash_lock_new(&p->lock[i], p->client, name, LEASH_LOCK_OPTIONS(.owner = p->owner[i]), &err) != LEASH_OK)
			die("%s", err.text);
		snprintf(name, sizeof name, "nowait-%zu", i); /* which nobody else has: the last release may be under way */
		if (i < SOME && leash_lock_new(&p->nowait[i], p->client, name, LEASH_LOCK_OPTIONS(.release_nowait = true),
		                               &err) != LEASH_OK)
			die("%s", err.text);
	}
}

static void
close_place(struct place *p)
{
	for (size_t i = 0; i < MANY; i++) {
		hiredis_desk_free(p->desk[i]);
		wire_free(p->wire[i]);
		leash_lock_free(p->lock[i]);
		leash_owner_free(p->owner[i]);
		if (i < SOME) {
			leash_lock_free(p->threads[i]);
			leash_lock_free(p->nowait[i]);
		}
	}
	leash_close(p->client);
	server_stop(p->server);
}

static void
run_rounds(struct place *p, const struct settings *s)
{
	for (int r = 0; r < s->rounds; r++) {
		for (int w = 0; w < WAYS; w++)
			ways[w].results[r] = measure(p, ways[w].run, ways[w].count, s->run_ns);
		for (int w = 0; w < WAYS; w++)
			ways[w].ratio[r] = ways[w].results[r].per_second / ways[ways[w].beside].results[r].per_second;
	}
}

static double
middle(const struct way *way, int rounds, size_t offset)
{
	double figures[MAX_ROUNDS];

	for (int i = 0; i < rounds; i++)
		memcpy(&figures[i], (const char *)&way->results[i] + offset, sizeof *figures);
	return median(figures, (size_t)rounds);
}

static unsigned
print_table(const struct settings *s)
{
	unsigned missed = 0;

	printf("\nPairs of an acquire and a release on distinct locks, so many under way at once\n");
	printf("  %-14s %9s  %9s %9s   %s\n", "", "pairs/s", "client us", "server us", "to");
	for (int w = 0; w < WAYS; w++) {
		struct way *way = &ways[w];

		printf("  %-14s %9.0f  %9.1f %9.1f", way->name, middle(way, s->rounds, offsetof(struct result, per_second)),
		       middle(way, s->rounds, offsetof(struct result, client_us)),
		       middle(way, s->rounds, offsetof(struct result, server_us)));
		if (way->run != run_async) {
			double ratio = median(way->ratio, (size_t)s->rounds);

			printf("   %s: %.2f  %.2f..%.2f", ways[way->beside].name, ratio, way->ratio[0], way->ratio[s->rounds - 1]);
			if (way->bar > 0)
				printf("  >= %.2f  %s", way->bar, ratio >= way->bar ? "met" : "MISSED");
			missed += ratio < way->bar;
		}
		putchar('\n');
	}
	return missed;
}

/* What waits costs little, however much of it there is. */
static unsigned
print_pending(struct server *server)
{
	enum { FEW = 10000, PENDING_MANY = 100000 };
	struct pending first = pending_measure(server, "pending-first", PENDING_MANY);
	struct pending few = pending_measure(server, "pending-few", FEW); /* these two in memory that is used again */
	struct pending many = pending_measure(server, "pending-many", PENDING_MANY);
	double begin = many.begin_us / few.begin_us, serve = many.serve_us / few.serve_us;
	unsigned missed = (unsigned)(first.bytes > 1000) + (begin > 3) + (serve > 3);

	printf("\nAcquires of one lock that wait at once\n");
	printf("  %-14s %9s  %9s %9s\n", "", "bytes", "begin us", "serve us");
	printf("  %-14d %9s  %9.2f %9.2f\n", FEW, "", few.begin_us, few.serve_us);
	printf("  %-14d %9.0f  %9.2f %9.2f   <= 1000 bytes, <= 3 times as long each (%.2f, %.2f)  %s\n", PENDING_MANY,
	       first.bytes, many.begin_us, many.serve_us, begin, serve, missed == 0 ? "met" : "MISSED");
	return missed;
}

static const char help[] =
	"Usage: loop [OPTION]...\n"
	"Measure what one thread with an event loop gets out of leash, beside 64 threads that wait, and beside hiredis'\n"
	"asynchronous interface. Starts a redis-server of its own on 127.0.0.1, and ends it.\n"
	"\n"
	"  --rounds=N    default 15\n"
	"  --ms=N        that each way runs in a round; default 300\n"
	"  --check       exit with 1 if a bar is missed\n"
	"  --help        this text\n"
	"\n"
	"Exits with 0 when it could measure, 77 without a redis-server, 2 if anything else went wrong.\n";

int
main(int argc, char **argv)
{
	struct settings s = { .rounds = 15, .run_ns = 300000000 };
	static struct place place;
	unsigned missed;

	program_read(&s, argc, argv, help, "ms", false);
	open_place(&place);
	program_begin(&s, place.server, "ms");
	run_rounds(&place, &s);
	missed = print_table(&s) + print_pending(place.server);
	close_place(&place);
	return program_end(&s, missed);
}
