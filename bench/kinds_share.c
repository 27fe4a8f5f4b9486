/* The parts in which many acquire and release one thing that they share. */
#include "bench/kinds.h"

#include <stdio.h>

enum {
	HOLD_MS = 5,
	LEASE_MS = 2000,
	CRASHES = 5,
	READERS = 100, CROWDS = 9,
	MESSAGES = 200,
};

/* ---- any kind that is acquired and released ---- */

struct use {
	struct way way;
	leash_lock *lock;
	leash_semaphore *semaphore;
	leash_permit *permit;
};

static struct use
use_of(leash_client *client, const char *name, struct way way)
{
	struct use use = { .way = way };
	leash_error err;

	if (way.take > 0)
		must(leash_semaphore_new(&use.semaphore, client, name, MANY, NULL, &err), &err);
	else
		must(leash_lock_new(&use.lock, client, name, LEASH_LOCK_OPTIONS(.mode = way.mode, .fair = way.fair), &err),
		     &err);
	return use;
}

static void
take(struct use *use)
{
	leash_error err;

	if (use->lock != NULL)
		must(leash_lock_acquire(use->lock, LEASH_FOREVER, &err), &err);
	else
		must(leash_semaphore_acquire(use->semaphore, use->way.take, LEASH_FOREVER, &use->permit, &err), &err);
}

static leash_status
give(struct use *use, leash_error *err)
{
	return use->lock != NULL ? leash_lock_release(use->lock, err) : leash_permit_release(use->permit, err);
}

static void
use_end(struct use *use)
{
	leash_lock_free(use->lock);
	leash_semaphore_free(use->semaphore);
}

/* In the server's queue for a part's name. */
static int64_t
waiting(const struct part *part)
{
	return server_integer(server, "ZCOUNT leash:{%s}:queue (0 +inf", part->name);
}

/* ---- who is rare among many does not starve ---- */

struct starved {
	const struct part *part;
	atomic_bool over;
	_Atomic int64_t longest_wait, longest_hold; /* of who is rare; of all */
	_Atomic uint64_t turns, rare_turns;
};

static void
want(struct crew_member *me)
{
	struct starved *s = me->shared;
	bool rare = me->process == MANY;
	struct use use = use_of(me->client, s->part->name, rare ? s->part->rare : s->part->many);
	leash_error err;

	while (!atomic_load(&s->over)) {
		int64_t asked = crowd_now(), got;

		take(&use);
		got = crowd_now();
		await_ms(HOLD_MS);
		must(give(&use, &err), &err);
		keep_most(&s->longest_hold, crowd_now() - got);
		if (rare)
			keep_most(&s->longest_wait, got - asked);
		atomic_fetch_add(rare ? &s->rare_turns : &s->turns, 1);
	}
	use_end(&use);
}

void
starve(const struct part *part)
{
	struct starved *s = child_share(sizeof *s);
	pid_t pids[MANY + 1];

	s->part = part;
	crew_send_all(pids, MANY + 1, (struct crew_order){ .uri = uri(), .threads = 1, .work = want, .shared = s });
	await_ms(settings->run_ns / MS);
	atomic_store(&s->over, true);
	crew_wait(pids, MANY + 1);
	tell(part->name, "turns of the many", 0, (double)s->turns, NO_BAR);
	tell(part->name, "turns of the one", 0, (double)s->rare_turns, NO_BAR);
	tell(part->name, "longest hold of all, ms", 1, ms_of(s->longest_hold), NO_BAR);
	tell(part->name, "longest wait of the one, ms; 2 holds + 100", 1, ms_of(s->longest_wait),
	     2 * ms_of(s->longest_hold) + 100);
	child_unshare(s, sizeof *s);
}

/* ---- what a killed holder had comes back with its lease, and the others' holds are not touched ---- */

struct crash {
	const struct part *part;
	struct stage ready, killed;
	_Atomic int64_t in;      /* when who waited got it */
	atomic_uint touched;     /* holds */
};

static void
hold_until_the_kill(struct crew_member *me)
{
	struct crash *c = me->shared;
	struct use use = use_of(me->client, c->part->name, c->part->many);
	leash_error err;

	take(&use);
	stage_raise(&c->ready);
	stage_await(&c->killed, 1);
	if (give(&use, &err) != LEASH_OK)
		atomic_fetch_add(&c->touched, 1);
	use_end(&use);
}

static void
wait_for_all(struct crew_member *me)
{
	struct crash *c = me->shared;
	struct use use = use_of(me->client, c->part->name, c->part->rare);
	leash_error err;

	take(&use);
	atomic_store(&c->in, crowd_now());
	must(give(&use, &err), &err);
	use_end(&use);
}

static int64_t
crash_once(const struct part *part, unsigned *touched)
{
	struct crash *c = child_share(sizeof *c);
	struct crew_order order = { .uri = uri(), .lease_ms = LEASE_MS, .threads = 1, .shared = c };
	pid_t pids[MANY + 1];
	int64_t killed, took;

	c->part = part;
	order.work = hold_until_the_kill;
	crew_send_all(pids, MANY, order);
	stage_await(&c->ready, MANY);
	order.work = wait_for_all;
	pids[MANY] = crew_send(order);
	await_true(waiting(part) == 1);
	await_ms(LEASE_MS / 2);   /* the holds are renewed meanwhile */
	child_kill(pids[0]);
	killed = crowd_now();
	stage_set(&c->killed, 1);
	crew_wait(pids + 1, MANY);
	took = c->in - killed;
	*touched += c->touched;
	child_unshare(c, sizeof *c);
	return took;
}

void
crash(const struct part *part)
{
	_Atomic int64_t longest = 0;
	unsigned touched = 0;

	for (int i = 0; i < CRASHES; i++)
		keep_most(&longest, crash_once(part, &touched));
	tell(part->name, "from the kill until who waits has it, ms; lease + 100", 0, ms_of(longest), LEASE_MS + 100);
	tell(part->name, "other holds that were touched", 0, touched, 0);
}

/* ---- a hundred readers let in at once ---- */

struct readers {
	const struct part *part;
	struct stage in, out;
	_Atomic int64_t last;
};

static void
read_once(struct crew_member *me)
{
	struct readers *r = me->shared;
	struct use use = use_of(me->client, r->part->name, r->part->many);
	leash_error err;

	take(&use);
	keep_most(&r->last, crowd_now());
	stage_raise(&r->in);
	stage_await(&r->out, 1);
	must(give(&use, &err), &err);
	use_end(&use);
}

struct ear {
	struct stage heard;      /* that it listens, and then each message */
	_Atomic int64_t at;
};

static int
listen_to_all(void *arg)
{
	struct ear *ear = arg;
	redisContext *redis = plain_connection(server_port(server));
	void *reply;

	if (redisAppendCommand(redis, "SUBSCRIBE ear") != REDIS_OK)
		die("hiredis: %s", redis->errstr);
	for (int i = 0; i <= MESSAGES; i++) {
		if (redisGetReply(redis, &reply) != REDIS_OK)
			die("hiredis: %s", redis->errstr);
		atomic_store(&ear->at, crowd_now());
		stage_raise(&ear->heard);
		freeReplyObject(reply);
	}
	redisFree(redis);
	return 0;
}

/* What a PUBLISH takes until a process that sleeps has heard it, in ns, the median. The server sleeps, too: where one
 * message follows the other at once nobody does, and it takes a fifth of that, or as much, from one run to the next. */
static double
publish_ns(void)
{
	struct ear *ear = child_share(sizeof *ear);
	pid_t pid = child_run(listen_to_all, ear);
	redisContext *redis = plain_connection(server_port(server));
	double ns[MESSAGES];

	stage_await(&ear->heard, 1);
	for (unsigned i = 0; i < MESSAGES; i++) {
		int64_t sent;
		void *reply;

		await_ms(1);
		sent = crowd_now();
		reply = redisCommand(redis, "PUBLISH ear hello");
		if (reply == NULL)
			die("hiredis: %s", redis->errstr);
		freeReplyObject(reply);
		stage_await(&ear->heard, i + 2);
		ns[i] = (double)(ear->at - sent);
	}
	redisFree(redis);
	child_wait(pid);
	child_unshare(ear, sizeof *ear);
	return median(ns, MESSAGES);
}

static uint64_t
commands_of(leash_client *client)
{
	leash_stats stats = { .size = sizeof stats };
	leash_error err;

	must(leash_client_stats(client, &stats, &err), &err);
	return stats.commands;
}

static void
let_in(const struct part *part, leash_client *client, double *times, double *commands)
{
	struct readers *r = child_share(sizeof *r);
	struct use use = use_of(client, part->name, part->rare);
	pid_t pids[READERS];
	double publish;
	uint64_t before;
	int64_t gave;
	leash_error err;

	r->part = part;
	take(&use);
	crew_send_all(pids, READERS, (struct crew_order){ .uri = uri(), .threads = 1, .work = read_once, .shared = r });
	await_true(waiting(part) == READERS);
	publish = publish_ns();
	before = commands_of(client);
	gave = crowd_now();
	must(give(&use, &err), &err);
	*commands = (double)(commands_of(client) - before);
	stage_await(&r->in, READERS);
	*times = (double)(r->last - gave) / publish;
	stage_set(&r->out, 1);
	crew_wait(pids, READERS);
	use_end(&use);
	child_unshare(r, sizeof *r);
}

void
let_readers_in(const struct part *part)
{
	double times[CROWDS], commands[CROWDS];
	leash_client *client;
	leash_error err;

	must(leash_open(&client, LEASH_OPTIONS(.uri = uri()), &err), &err);
	for (size_t i = 0; i < CROWDS; i++)
		let_in(part, client, &times[i], &commands[i]);
	leash_close(client);
	tell(part->name, "commands of the release that lets in 100 processes", 0, median(commands, CROWDS), 1);
	tell(part->name, "the last of them is in, times a PUBLISH heard: median", 0, median(times, CROWDS), READERS);
	tell(part->name, "the least", 0, times[0], NO_BAR);
	tell(part->name, "the most", 0, times[CROWDS - 1], NO_BAR);
}

/* ---- what the server is asked, whatever the number of those who wait ---- */

struct asked {
	const struct part *part;
	struct stage ready, go;
	atomic_bool over;
	_Atomic uint64_t acquires;
};

static void
ask(struct crew_member *me)
{
	struct asked *a = me->shared;
	struct use use = use_of(me->client, a->part->name, me->process % 2 == 0 ? a->part->many : a->part->rare);
	leash_error err;

	stage_raise(&a->ready);
	stage_await(&a->go, 1);
	while (!atomic_load(&a->over)) {
		take(&use);
		await_ms(CROWD_HOLD_MS);
		must(give(&use, &err), &err);
		atomic_fetch_add(&a->acquires, 1);
	}
	use_end(&use);
}

void
count_scripts(const struct part *part)
{
	for (unsigned processes = 2; processes <= 32; processes *= 4) {
		struct asked *a = child_share(sizeof *a);
		pid_t pids[32];
		int64_t scripts;
		char text[64];

		a->part = part;
		crew_send_all(pids, processes, (struct crew_order){ .uri = uri(), .threads = 1, .work = ask, .shared = a });
		stage_await(&a->ready, processes);
		server_text(server, "CONFIG RESETSTAT");
		stage_set(&a->go, 1);
		await_ms(settings->run_ns / MS / 20);
		atomic_store(&a->over, true);
		crew_wait(pids, processes);
		scripts = server_calls(server, "evalsha") + server_calls(server, "eval");
		snprintf(text, sizeof text, "scripts for an acquire and a release, %u processes", processes);
		tell(part->name, text, 2, (double)scripts / (double)a->acquires, 2.2);
		child_unshare(a, sizeof *a);
	}
}
