/* Where contenders meet and hold nothing: barriers, latches, and news of who leads.
 *
 * All of them use one barrier, time after time, and another latch every ten seconds; each worker arrives there as itself. Who leads is who
 * has lock-0, if it says so (contender_turn.c). */
#include "tests/fault/contender.h"

#include <stdio.h>

enum { LATCH_S = 10, WATCH_MS = 200 };

static int64_t
some_wait(struct worker *w)
{
	return (int64_t)roll(&w->random, (uint64_t)self.lease_ms);
}

static void
meet(struct worker *w)
{
	uint64_t number = ++self.holds;
	int64_t wait_ms = some_wait(w);
	leash_barrier *barrier;
	leash_error err = {0};

	if (leash_barrier_new(&barrier, self.client, "gate", PARTIES, &err) != LEASH_OK)
		trouble("no barrier: %s", err.text);
	history_note(self.history, "ask %" PRIu64 " gate %" PRId64 " meet/%d", number, wait_ms, PARTIES);
	leash_cancel *cancel = cancel_begin(w, once_in(&w->random, 3));
	leash_status status = leash_barrier_wait_with(barrier, LEASH_ACQUIRE(.wait_ms = wait_ms, .cancel = cancel), &err);
	history_note(self.history, "got %" PRIu64 " %s 0 - 0", number, leash_status_name(status));
	cancel_end(w, cancel);
	leash_barrier_free(barrier);
	if (status != LEASH_UNKNOWN)
		accept_end("meeting", number, status, &err);
}

static void
arrive(struct worker *w, leash_latch *latch, const char *name)
{
	leash_error err = {0};
	char party[NAME + 12];

	snprintf(party, sizeof party, "%s.%u", self.name, w->number);
	history_note(self.history, "arrive %s/%s", name, party);
	accept_end("arrival", 0, leash_latch_count_down(latch, party, &err), &err);
}

static void
await_arrivals(struct worker *w, leash_latch *latch, const char *name)
{
	uint64_t number = ++self.holds;
	int64_t wait_ms = some_wait(w);
	leash_error err = {0};

	history_note(self.history, "ask %" PRIu64 " %s %" PRId64 " await/%d", number, name, wait_ms, ARRIVALS);
	leash_status status = leash_latch_await(latch, wait_ms, &err);
	history_note(self.history, "got %" PRIu64 " %s 0 - 0", number, leash_status_name(status));
	accept_end("await", number, status, &err);
}

static void
visit_latch(struct worker *w)
{
	leash_latch *latch;
	leash_error err;
	char name[32];

	snprintf(name, sizeof name, "latch-%" PRId64, await_now_ns() / (LATCH_S * INT64_C(1000000000)));
	if (leash_latch_new(&latch, self.client, name, ARRIVALS, &err) != LEASH_OK)
		trouble("no latch: %s", err.text);
	if (once_in(&w->random, 2))
		arrive(w, latch, name);
	else
		await_arrivals(w, latch, name);
	leash_latch_free(latch);
}

void
visit_a_gate(struct worker *w)
{
	if (once_in(&w->random, 2))
		meet(w);
	else
		visit_latch(w);
}

void *
watch_leaders(void *arg)
{
	leash_leader leader = {.size = sizeof leader};
	leash_watch *watch;
	leash_error err = {0};

	if (leash_watch_new(&watch, self.client, "lock-0", &err) != LEASH_OK)
		trouble("no watch: %s", err.text);
	while (!self.ending) {
		leash_status status = leash_watch_next(watch, WATCH_MS, &leader, &err);

		if (status == LEASH_OK && leader.leads && leader.value[0] != '\0')
			history_note(self.history, "leads lock-0 %" PRIu64 " %s %s", leader.fence, leader.token, leader.value);
		accept_end("watch", 0, status, &err);
	}
	leash_watch_free(watch);
	return arg;
}
