/* The parts in which each does something else: who takes two locks, a queue's two sides, and who leads or watches. */
#include "bench/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ITEMS = 1000000, ROOM = 1000, BATCH = 10, /* of the queue: at most, and at a time */
	CANDIDATES = 5, WATCHERS = 10, KILLS = 100, TERMS = 2 * KILLS + 1, LEASE_MS = 1000,
};

/* ---- two locks in opposite orders ---- */

struct opposite {
	bool nested;             /* one after the other, instead of as a set */
	atomic_bool over;
	atomic_uint inside;
	_Atomic uint64_t had[2][MANY], in_vain, overlaps;
};

static leash_status
take_both(leash_lock *const *locks, leash_multi *set, leash_error *err)
{
	leash_status status;

	if (set != NULL)
		return leash_multi_acquire(set, 20000, err);
	status = leash_lock_acquire(locks[0], 2000, err);
	if (status != LEASH_OK)
		return status;
	status = leash_lock_acquire(locks[1], 2000, err);
	if (status != LEASH_OK)
		leash_lock_release(locks[0], NULL);
	return status;
}

static void
give_both(leash_lock *const *locks, leash_multi *set)
{
	leash_error err;

	if (set != NULL) {
		must(leash_multi_release(set, &err), &err);
		return;
	}
	must(leash_lock_release(locks[1], &err), &err);
	must(leash_lock_release(locks[0], &err), &err);
}

static void
want_both(struct crew_member *me)
{
	struct opposite *s = me->shared;
	leash_lock *locks[2];
	leash_multi *set = NULL;
	leash_error err;

	must(leash_lock_new(&locks[me->process], me->client, "both a", NULL, &err), &err);
	must(leash_lock_new(&locks[!me->process], me->client, "both b", NULL, &err), &err);
	if (!s->nested)
		must(leash_multi_new(&set, locks, 2, &err), &err);
	while (!atomic_load(&s->over)) {
		leash_status status = take_both(locks, set, &err);

		if (status == LEASH_TIMEOUT || status == LEASH_DEADLOCK) {
			atomic_fetch_add(&s->in_vain, 1);
			continue;
		}
		must(status, &err);
		atomic_fetch_add(&s->overlaps, atomic_fetch_add(&s->inside, 1) != 0);
		atomic_fetch_add(&s->had[me->process][me->thread], 1);
		atomic_fetch_sub(&s->inside, 1);
		give_both(locks, set);
	}
	leash_multi_free(set);
	leash_lock_free(locks[0]);
	leash_lock_free(locks[1]);
}

void
oppose(const struct part *part)
{
	struct opposite *s = child_share(sizeof *s);
	uint64_t had[2] = { 0 };
	unsigned never = 0;
	pid_t pids[2];

	s->nested = strcmp(part->name, "opposite-nested") == 0;
	crew_send_all(pids, 2, (struct crew_order){ .uri = uri(), .threads = MANY, .work = want_both, .shared = s });
	await_ms(settings->run_ns / MS);
	atomic_store(&s->over, true);
	crew_wait(pids, 2);
	for (unsigned i = 0; i < 2 * MANY; i++) {
		had[i / MANY] += s->had[i / MANY][i % MANY];
		never += s->had[i / MANY][i % MANY] == 0;
	}
	tell(part->name, "both were had by who takes {a, b}, times", 0, (double)had[0], NO_BAR);
	tell(part->name, "both were had by who takes {b, a}, times", 0, (double)had[1], NO_BAR);
	tell(part->name, "two had both at once", 0, (double)s->overlaps, 0);
	tell(part->name, "threads that never had both", 0, never, s->nested ? NO_BAR : 0);
	tell(part->name, "out of time, or DEADLOCK", 0, (double)s->in_vain, s->nested ? NO_BAR : 0);
	child_unshare(s, sizeof *s);
}

/* ---- a bounded queue, with two conditions ---- */

struct queue {
	_Atomic uint64_t turns;
	/* the lock guards the rest */
	unsigned made, first, count;
	unsigned items[ROOM];
	unsigned char used[ITEMS]; /* how often */
};

struct desk {
	struct queue *queue;
	leash_lock *lock;
	leash_condition *not_full, *not_empty;
};

static void
await_change(struct desk *d, leash_condition *condition)
{
	leash_error err;

	must(leash_condition_wait(condition, LEASH_FOREVER, &err), &err);
	atomic_fetch_add(&d->queue->turns, 1);
}

/* False: all are made. */
static bool
put_some(struct desk *d)
{
	struct queue *q = d->queue;

	while (q->count == ROOM && q->made < ITEMS)
		await_change(d, d->not_full);
	for (int n = 0; n < BATCH && q->count < ROOM && q->made < ITEMS; n++)
		q->items[(q->first + q->count++) % ROOM] = q->made++;
	return q->made < ITEMS;
}

/* False: all are used up. */
static bool
get_some(struct desk *d)
{
	struct queue *q = d->queue;

	while (q->count == 0 && q->made < ITEMS)
		await_change(d, d->not_empty);
	for (int n = 0; n < BATCH && q->count > 0; n++, q->count--, q->first = (q->first + 1) % ROOM)
		q->used[q->items[q->first]]++;
	return q->made < ITEMS || q->count > 0;
}

static void
work_at_queue(struct crew_member *me)
{
	struct desk d = { .queue = me->shared };
	bool makes = me->thread == 0, more = true;
	leash_error err;

	must(leash_lock_new(&d.lock, me->client, "queue", NULL, &err), &err);
	must(leash_condition_new(&d.not_full, d.lock, "not full", NULL, &err), &err);
	must(leash_condition_new(&d.not_empty, d.lock, "not empty", NULL, &err), &err);
	while (more) {
		must(leash_lock_acquire(d.lock, LEASH_FOREVER, &err), &err);
		atomic_fetch_add(&d.queue->turns, 1);
		more = makes ? put_some(&d) : get_some(&d);
		must(more ? leash_condition_signal(makes ? d.not_empty : d.not_full, &err)
		          : leash_condition_broadcast(makes ? d.not_empty : d.not_full, &err), &err);
		must(leash_lock_release(d.lock, &err), &err);
	}
	leash_condition_free(d.not_empty);
	leash_condition_free(d.not_full);
	leash_lock_free(d.lock);
}

void
queue(const struct part *part)
{
	struct queue *q = child_share(sizeof *q);
	int64_t began = crowd_now();
	unsigned lost = 0, doubled = 0;
	pid_t pids[4];

	crew_send_all(pids, 4, (struct crew_order){ .uri = uri(), .threads = 2, .work = work_at_queue, .shared = q });
	crew_wait(pids, 4);
	for (unsigned i = 0; i < ITEMS; i++) {
		lost += q->used[i] == 0;
		doubled += q->used[i] > 1;
	}
	tell(part->name, "items, thousands a second", 1, ITEMS / ms_of(crowd_now() - began), NO_BAR);
	tell(part->name, "items lost", 0, lost, 0);
	tell(part->name, "items used twice", 0, doubled, 0);
	tell(part->name, "hand-offs of the lock for each item", 3, (double)q->turns / ITEMS, 2);
	child_unshare(q, sizeof *q);
}

/* ---- leaders that are killed, or resign; and who watches ---- */

struct election {
	struct {
		_Atomic pid_t leader; /* proclaimed */
		_Atomic int64_t since;
		struct stage resign;
	} terms[TERMS];
	atomic_uint terms_begun;
	atomic_bool over;
	struct stage watching;
	struct {
		unsigned count;
		long terms[2 * TERMS];
	} seen[WATCHERS];
};

static void
stand(struct crew_member *me)
{
	struct election *e = me->shared;
	leash_lock *lock;
	leash_error err;

	must(leash_lock_new(&lock, me->client, "leader", NULL, &err), &err);
	for (;;) {
		char value[16];
		int64_t since;
		unsigned term;

		must(leash_lock_acquire(lock, LEASH_FOREVER, &err), &err);
		since = crowd_now();
		term = atomic_fetch_add(&e->terms_begun, 1);
		if (term >= TERMS)
			die("a leader lost its lease that was not killed");
		snprintf(value, sizeof value, "%u", term);
		must(leash_lock_proclaim(lock, value, &err), &err);
		atomic_store(&e->terms[term].leader, getpid());
		atomic_store(&e->terms[term].since, since);
		stage_await(&e->terms[term].resign, 1);
		must(leash_lock_release(lock, &err), &err);
	}
}

static void
watch(struct crew_member *me)
{
	struct election *e = me->shared;
	leash_leader leader = { .size = sizeof leader };
	leash_watch *watch;
	leash_error err;

	must(leash_watch_new(&watch, me->client, "leader", &err), &err);
	must(leash_watch_next(watch, LEASH_FOREVER, &leader, &err), &err); /* that there is none */
	stage_raise(&e->watching);
	while (!atomic_load(&e->over)) {
		leash_status status = leash_watch_next(watch, 100, &leader, &err);

		if (status == LEASH_TIMEOUT)
			continue;
		must(status, &err);
		if (leader.leads && leader.value[0] != '\0' && e->seen[me->process].count < 2 * TERMS)
			e->seen[me->process].terms[e->seen[me->process].count++] = strtol(leader.value, NULL, 10);
	}
	leash_watch_free(watch);
}

/* A term ends; until the next one begins. */
static int64_t
end_term(struct election *e, unsigned term, pid_t *pids, struct crew_order order)
{
	int64_t ended;

	await_true(atomic_load(&e->terms[term].since) != 0);
	await_ms(100 + rand() % 300);
	ended = crowd_now();
	if (term % 2 == 1) {
		stage_set(&e->terms[term].resign, 1);
	} else {
		for (unsigned i = 0; i < CANDIDATES; i++) {
			if (pids[i] != e->terms[term].leader)
				continue;
			child_kill(pids[i]);
			pids[i] = crew_send(order);
		}
	}
	await_true(atomic_load(&e->terms[term + 1].since) != 0);
	return e->terms[term + 1].since - ended;
}

/* Terms that a watcher did not see, saw twice, or not in their order. */
static unsigned
wrong_of(const struct election *e, unsigned watcher)
{
	unsigned count = e->seen[watcher].count, wrong = count > TERMS ? count - TERMS : TERMS - count;

	for (unsigned i = 0; i < count && i < TERMS; i++)
		wrong += e->seen[watcher].terms[i] != i;
	return wrong;
}

void
elect(const struct part *part)
{
	struct election *e = child_share(sizeof *e);
	struct crew_order order = { .uri = uri(), .lease_ms = LEASE_MS, .threads = 1, .shared = e };
	_Atomic int64_t after[2] = { 0 }; /* a kill, and a resignation */
	pid_t pids[WATCHERS], candidates[CANDIDATES];
	unsigned wrong = 0;

	order.work = watch;
	crew_send_all(pids, WATCHERS, order);
	stage_await(&e->watching, WATCHERS);
	order.work = stand;
	crew_send_all(candidates, CANDIDATES, order);
	for (unsigned term = 0; term < TERMS - 1; term++)
		keep_most(&after[term % 2], end_term(e, term, candidates, order));
	await_ms(LEASE_MS);
	atomic_store(&e->over, true);
	crew_wait(pids, WATCHERS);
	crew_kill(candidates, CANDIDATES);
	for (unsigned i = 0; i < WATCHERS; i++)
		wrong += wrong_of(e, i);
	tell(part->name, "leaders, the half of them killed", 0, TERMS, NO_BAR);
	tell(part->name, "longest without one after a kill, ms; lease + 100", 0, ms_of(after[0]), LEASE_MS + 100);
	tell(part->name, "longest without one after a resignation, ms", 0, ms_of(after[1]), 50);
	tell(part->name, "leaders that one of 10 watchers missed, saw twice or late", 0, wrong, 0);
	child_unshare(e, sizeof *e);
}
