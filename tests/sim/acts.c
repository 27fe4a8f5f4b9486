/* Acts. See people.h. */
#include "tests/sim/fiber.h"
#include "tests/sim/judge.h"

#include <stdio.h>
#include <string.h>

static const char *
shown(const struct sim_person *p)
{
	static char text[16];

	snprintf(text, sizeof text, "%d%c", p->client->process.number, 'a' + p->number);
	return text;
}

static void
tell(const struct sim_person *p, const char *what, int l)
{
	sim_acts++;
	sim_trace("%s %s %s: %s %s", shown(p), what, sim_names[l], leash_status_name(p->said), p->error.text);
}

/* Where a call says why. */
static leash_error *
why(struct sim_person *p)
{
	p->error = (leash_error){0};
	return &p->error;
}

static void *
fire(void *arg)
{
	sim_sleep(sim_between(0, 500 * SIM_MS));
	leash_cancel_fire(arg);
	return NULL;
}

/* From now on it reads what it wrote, or writes what it read. */
static void
change_mode(struct sim_person *p, int l)
{
	leash_lock *other = p->others[l];

	if (other == NULL)
		return;
	p->others[l] = p->handles[l];
	p->handles[l] = other;
	p->reads[l] = !p->reads[l];
}

static void
note_hold(struct sim_person *p, int l)
{
	p->got_at[l] = sim_now;
	if (sim_terms.readwrite[l])
		leash_lock_token(p->handles[l], p->tokens[l], LEASH_TOKEN_MAX);
}

static void
got_permits(struct sim_person *p)
{
	p->lost = false;
	leash_permit_token(p->permit, p->tokens[SIM_PERMITS], LEASH_TOKEN_MAX);
	p->permit_ms = p->limited ? 0 : p->lease_ms;
}

/* ---- by a loop ---- */

void
sim_be_told(void *arg, leash_status status, const leash_error *err)
{
	struct sim_person *p = arg;

	if (p->told)
		sim_breach("%s is told twice", shown(p));
	if (p->waits && status == LEASH_OK && p->lock == SIM_PERMITS)
		got_permits(p);
	p->told = true;
	p->waits = false;
	p->waited_until = sim_now;
	p->said = status;
	p->error = err != NULL ? *err : (leash_error){0};
	sim_wake(&p->client->process, &p->told, INT32_MAX);
}

void
sim_await_told(struct sim_person *p, leash_status status)
{
	if (status != LEASH_OK)
		p->said = status;
	while (status == LEASH_OK && !p->told)
		sim_block(&p->told, SIM_NEVER);
}

struct canceling {
	const struct sim_person *person;
	leash_op *op;
};

static void *
cancel(void *arg)
{
	const struct canceling *c = arg;

	sim_sleep(sim_between(0, 500 * SIM_MS));
	if (!c->person->told) /* else it is gone */
		leash_op_cancel(c->op);
	return NULL;
}

/* It has begun, unless `status` says why not; or it is canceled before it is told. */
static void
await_told_or_cancel(struct sim_person *p, leash_status status, leash_op *op, bool cancels)
{
	struct canceling canceling = {.person = p, .op = op};

	if (status == LEASH_OK && cancels)
		sim_fiber_join(sim_fiber_start(&p->client->process, cancel, &canceling));
	sim_await_told(p, status);
}

static void
start_to_acquire(struct sim_person *p, const leash_acquire *how, bool cancels)
{
	leash_op *op = NULL;
	leash_status status = p->lock == SIM_PERMITS ?
		leash_semaphore_acquire_start(p->semaphore, p->count, how, &p->permit, sim_be_told, p, &op, why(p)) :
		leash_lock_acquire_start(p->handles[p->lock], how, sim_be_told, p, &op, why(p));

	await_told_or_cancel(p, status, op, cancels);
}

/* ---- acquiring ---- */

static void
acquire_as(struct sim_person *p, const leash_acquire *how, bool cancels)
{
	p->waits_since = sim_now;
	p->waits_until = sim_now + how->wait_ms * SIM_MS;
	p->waits = true;
	p->told = false;
	if (p->loops)
		start_to_acquire(p, how, cancels);
	else if (p->lock == SIM_PERMITS)
		p->said = leash_semaphore_acquire_with(p->semaphore, p->count, how, &p->permit, why(p));
	else
		p->said = leash_lock_acquire_with(p->handles[p->lock], how, why(p));
	p->waits = false;
	if (!p->told)
		p->waited_until = sim_now;
	if (p->said == LEASH_OK && p->lock == SIM_PERMITS && !p->told)
		got_permits(p);
}

static void
acquire_until_canceled(struct sim_person *p, leash_acquire *how)
{
	if ((p->said = leash_cancel_new(&how->cancel, why(p))) != LEASH_OK)
		return;
	struct sim_fiber *other = sim_fiber_start(&p->client->process, fire, how->cancel);
	acquire_as(p, how, true);
	sim_fiber_join(other);
	leash_cancel_free(how->cancel);
}

static bool
acquire(struct sim_person *p, int l)
{
	leash_acquire how = *LEASH_ACQUIRE(.wait_ms = 0);
	bool cancels = sim_chance(sim_habits.cancels);

	if (sim_terms.readwrite[l] && sim_chance(0.5))
		change_mode(p, l);
	if (!sim_chance(sim_habits.at_once))
		how.wait_ms = sim_between(1, sim_chance(0.7) ? 1000 : sim_terms.wait_ms);
	if (sim_chance(sim_habits.own_lease))
		how.lease_ms = sim_between(sim_terms.lease_ms / 2, sim_terms.longest_ms);
	sim_trace("%s acquires %s%s, for %lld ms at most", shown(p), sim_names[l], p->reads[l] ? " to read" : "",
	          (long long)how.wait_ms);
	p->lock = l;
	p->lease_ms = how.lease_ms > 0 ? how.lease_ms : sim_terms.lease_ms;
	if (cancels && !p->loops)
		acquire_until_canceled(p, &how);
	else
		acquire_as(p, &how, cancels);
	tell(p, "acquires", l);
	if (p->said == LEASH_OK) {
		note_hold(p, l);
		p->client->gave_up[l] = false;
		p->client->lease_ms[l] = p->limited ? 0 : p->lease_ms;
	}
	sim_judge_acquired(p, p->said, cancels);
	return p->said == LEASH_OK;
}

static void
start_to_release(struct sim_person *p)
{
	leash_permit *permit = p->permit;

	p->told = false;
	if (p->lock == SIM_PERMITS)
		p->permit = NULL;
	sim_await_told(p, p->lock == SIM_PERMITS
		? leash_permit_release_start(permit, sim_be_told, p, NULL, why(p))
		: leash_lock_release_start(p->handles[p->lock], sim_be_told, p, NULL, why(p)));
}

static void *
release_now(void *arg)
{
	struct sim_person *p = arg;
	leash_permit *permit = p->permit;

	if (p->lock == SIM_PERMITS)
		p->permit = NULL;
	p->said = p->lock == SIM_PERMITS ? leash_permit_release(permit, why(p)) :
	                                   leash_lock_release(p->handles[p->lock], why(p));
	return NULL;
}

static void
release(struct sim_person *p, int l, uint64_t fence)
{
	bool was_last = sim_judge_is_last(l, fence, p->reads[l]);
	int64_t valid_until = sim_now + sim_left_ms(p, l) * SIM_MS;

	sim_trace("%s releases %s", shown(p), sim_names[l]);
	p->client->gave_up[l] = true;
	p->got_at[l] = 0;
	p->lock = l;
	if (p->loops)
		start_to_release(p);
	else if ((p->own != NULL || l == SIM_PERMITS) && sim_chance(0.5))
		sim_fiber_join(sim_fiber_start(&p->client->process, release_now, p));
	else
		release_now(p);
	tell(p, "releases", l);
	if (p->said == LEASH_LOST && sim_now < valid_until)
		sim_judge_lost(l, "a release says so, before its lease was over");
	sim_judge_released(p, l, fence, was_last);
}

/* ---- by a loop, each begun by what is told of the one before ---- */

static void chain_released(void *arg, leash_status status, const leash_error *err);

static void
end_chain(struct sim_person *p)
{
	p->told = true;
	sim_wake(&p->client->process, &p->told, INT32_MAX);
}

static void
chain_acquired(void *arg, leash_status status, const leash_error *err)
{
	struct sim_person *p = arg;
	int l = p->lock;

	p->waits = false;
	p->waited_until = sim_now;
	p->said = status;
	p->error = err != NULL ? *err : (leash_error){0};
	tell(p, "acquires", l);
	if (status == LEASH_OK) {
		note_hold(p, l);
		p->client->gave_up[l] = false;
		p->client->lease_ms[l] = p->limited ? 0 : p->lease_ms;
	}
	sim_judge_acquired(p, status, false);
	if (status != LEASH_OK) {
		end_chain(p);
		return;
	}
	p->chain_fence = leash_lock_fence(p->handles[l]);
	p->chain_was_last = sim_judge_is_last(l, p->chain_fence, p->reads[l]);
	p->client->fences[l] = p->chain_fence;
	p->client->gave_up[l] = true;
	p->got_at[l] = 0;
	sim_trace("%s releases %s", shown(p), sim_names[l]);
	if (leash_lock_release_start(p->handles[l], chain_released, p, NULL, why(p)) != LEASH_OK)
		end_chain(p); /* there is no memory to tell; or the client is closed */
}

static void
begin_link(struct sim_person *p)
{
	leash_acquire how = *LEASH_ACQUIRE(.wait_ms = sim_between(0, sim_terms.wait_ms));

	p->lease_ms = sim_terms.lease_ms;
	p->waits_since = sim_now;
	p->waits_until = sim_now + how.wait_ms * SIM_MS;
	p->waits = true;
	p->passed_since = 0; /* nobody looks between two links */
	sim_trace("%s acquires %s, for %lld ms at most", shown(p), sim_names[p->lock], (long long)how.wait_ms);
	p->said = leash_lock_acquire_start(p->handles[p->lock], &how, chain_acquired, p, NULL, why(p));
	if (p->said == LEASH_OK)
		return;
	p->waits = false;
	end_chain(p);
}

static void
chain_released(void *arg, leash_status status, const leash_error *err)
{
	struct sim_person *p = arg;

	p->said = status;
	p->error = err != NULL ? *err : (leash_error){0};
	tell(p, "releases", p->lock);
	sim_judge_released(p, p->lock, p->chain_fence, p->chain_was_last);
	if (--p->links > 0 && !p->client->leaves)
		begin_link(p);
	else
		end_chain(p);
}

void
sim_use_chain(struct sim_person *p, int l)
{
	p->lock = l;
	p->links = (int)sim_between(1, 8);
	p->told = false;
	begin_link(p);
	while (!p->told)
		sim_block(&p->told, SIM_NEVER);
}

/* ---- holding both modes ---- */

/* Who reads is refused at once. */
static void
nest_other(struct sim_person *p, int l)
{
	bool held = leash_lock_held(p->handles[l]);
	int64_t began = sim_now;

	p->said = leash_lock_acquire(p->others[l], sim_between(0, sim_terms.wait_ms), why(p));
	tell(p, "nests in the other mode", l);
	if ((p->reads[l] ? p->said == LEASH_OK || (held && p->said != LEASH_DEADLOCK && !p->client->leaves) :
	                   p->said == LEASH_DEADLOCK || (p->said == LEASH_OK) != held) || sim_now - began > SIM_MS)
		sim_breach("lock %d: who %s nests, and is told %s", l, p->reads[l] ? "reads" : "writes",
		           leash_status_name(p->said));
}

/* To read and to write; and then to go on with one of the two. The fence by then; UINT64_MAX: that is not known. */
static uint64_t
have_both(struct sim_person *p, int l, uint64_t fence)
{
	unsigned depth = leash_lock_depth(p->handles[l]);

	p->tokens[l][0] = '\0'; /* it may have another one by and by */
	if (p->reads[l] && sim_chance(0.5)) {
		p->said = leash_lock_upgrade(p->others[l], why(p));
		tell(p, "upgrades", l);
		sim_judge_traded(p, l, 0);
	} else {
		nest_other(p, l);
	}
	if ((leash_lock_depth(p->handles[l]) != depth || leash_lock_depth(p->others[l]) != (p->said == LEASH_OK)) &&
	    !p->client->leaves)
		sim_breach("lock %d: who wants both, and is told %s, has it as often as it should not", l,
		           leash_status_name(p->said));
	if (p->said == LEASH_OK) {
		sim_sleep(sim_between(0, 10 * SIM_MS));
		if (sim_chance(0.5))
			change_mode(p, l);
		uint64_t had = leash_lock_fence(p->handles[l]);

		p->said = leash_lock_release(p->others[l], why(p));
		tell(p, "releases the other mode of", l);
		sim_judge_traded(p, l, had);
	}
	leash_lock_token(p->handles[l], p->tokens[l], LEASH_TOKEN_MAX);
	return fence == UINT64_MAX || !leash_lock_held(p->handles[l]) ? fence : leash_lock_fence(p->handles[l]);
}

static void
nest(struct sim_person *p, int l)
{
	bool held = leash_lock_held(p->handles[l]);

	if (leash_lock_acquire(p->handles[l], 0, why(p)) != LEASH_OK)
		return;
	if (!held)
		sim_breach("lock %d: who lost it nests", l);
	sim_sleep(sim_between(0, 10 * SIM_MS));
	leash_lock_release(p->handles[l], NULL);
}

static void
extend(struct sim_person *p, int l)
{
	int64_t lease_ms = sim_between(sim_terms.lease_ms / 2, sim_terms.longest_ms), began = sim_now;

	p->told = false;
	if (l == SIM_PERMITS)
		p->said = leash_permit_extend(p->permit, lease_ms, why(p));
	else if (p->loops)
		sim_await_told(p, leash_lock_extend_start(p->handles[l], lease_ms, sim_be_told, p, NULL, why(p)));
	else
		p->said = leash_lock_extend(p->handles[l], lease_ms, why(p));
	sim_trace("%s extends %s to %lld ms: %s %s", shown(p), sim_names[l], (long long)lease_ms,
	          leash_status_name(p->said), p->error.text);
	if (p->said == LEASH_OK && p->client->lease_ms[l] > 0)
		p->client->lease_ms[l] = lease_ms;
	if (p->said == LEASH_OK && l == SIM_PERMITS && p->permit_ms > 0)
		p->permit_ms = lease_ms;
	sim_judge_extended(p, l, began, lease_ms);
}

void
sim_break(struct sim_person *p, int l)
{
	if (sim_terms.readwrite[l])
		return;
	sim_trace("%s breaks %s", shown(p), sim_names[l]);
	sim_judge_broken(l);
	p->said = leash_lock_break(p->handles[l], why(p));
	sim_judge_broken(l);
	tell(p, "breaks", l);
}

/* ---- looking ---- */

struct seen {
	const struct sim_client *client;
	int lock;
	bool own; /* it is held, by the client that looks */
};

static bool
see(void *arg, const leash_lock_info *info)
{
	struct seen *seen = arg;

	if (strcmp(info->name, sim_names[seen->lock]) == 0)
		seen->own = info->held && sim_judge_is_of(info->holder.token, seen->client);
	return !seen->own;
}

static bool
see_waiter(void *arg, const leash_waiter_info *waiter)
{
	(void)arg;
	return waiter->position < 3;
}

/* Who holds the lock sees itself. */
void
sim_look(struct sim_person *p, int l)
{
	struct seen seen = {p->client, l, false};
	leash_lock_info info = {.size = sizeof info};
	uint64_t fence = leash_lock_fence(p->handles[l]);
	uint32_t which = sim_random(3);
	bool is_to_be_seen = which == 2 || (which == 1 && !sim_terms.redisson[l] && sim_judge_is_everywhere(l));

	if (sim_terms.readwrite[l])
		return;
	if (which == 0)
		p->said = leash_lock_waiters(p->handles[l], see_waiter, NULL, why(p));
	else if (which == 1)
		p->said = leash_client_scan(p->client->leash, NULL, see, &seen, why(p));
	else if ((p->said = leash_lock_inspect(p->handles[l], &info, why(p))) == LEASH_OK)
		see(&seen, &info);
	tell(p, "looks at", l);
	sim_judge_looked(p, l, is_to_be_seen && fence != 0 && leash_lock_fence(p->handles[l]) == fence, seen.own);
}

/* ---- leading ---- */

/* Whoever has it says its token: so what is told of one that leads is nobody else's. */
static void
proclaim(struct sim_person *p, int l)
{
	char token[LEASH_TOKEN_MAX];

	if (leash_lock_token(p->handles[l], token, sizeof token) == 0)
		return;
	p->told = false;
	if (p->loops && sim_terms.chains)
		sim_await_told(p, leash_lock_proclaim_start(p->handles[l], token, sim_be_told, p, NULL, why(p)));
	else
		p->said = leash_lock_proclaim(p->handles[l], token, why(p));
	tell(p, "leads by", l);
	sim_judge_proclaimed(p, l);
}

void
sim_watch(struct sim_person *p)
{
	int64_t began = sim_now, wait_ms = sim_between(0, 3000);
	leash_leader leader = {.size = sizeof leader};

	p->told = false;
	if (p->loops && sim_terms.chains)
		sim_await_told(p, leash_watch_next_start(p->watch, LEASH_ACQUIRE(.wait_ms = wait_ms), &leader, sim_be_told, p,
		                                         NULL, why(p)));
	else
		p->said = leash_watch_next(p->watch, wait_ms, &leader, why(p));
	sim_acts++;
	sim_trace("%s watches: %s %s", shown(p), leash_status_name(p->said),
	          p->said == LEASH_OK ? leader.token : p->error.text);
	sim_judge_watched(p, &leader, began, wait_ms);
	if (p->said == LEASH_OK)
		memcpy(p->led_by, leader.token, sizeof p->led_by);
}

/* ---- holding ---- */

/* All locks at once. While it waits for one it may give back others: nobody inherits them. What it has is nested. */
static bool
acquire_set(struct sim_person *p)
{
	int64_t wait_ms = sim_chance(sim_habits.at_once) ? 0 : sim_between(1, sim_terms.wait_ms);
	unsigned before[SIM_LOCKS];
	bool nests = false;

	sim_trace("%s acquires the set, for %lld ms at most", shown(p), (long long)wait_ms);
	for (int l = 0; l < sim_terms.locks; l++) {
		before[l] = leash_lock_depth(p->handles[l]);
		nests |= before[l] > 0;
		if (before[l] == 0)
			p->client->gave_up[l] = true;
	}
	p->waits_since = sim_now;
	p->waits_until = sim_now + wait_ms * SIM_MS;
	p->lease_ms = sim_terms.lease_ms;
	p->told = false;
	if (p->loops && sim_terms.chains)
		sim_await_told(p, leash_multi_acquire_start(p->set, LEASH_ACQUIRE(.wait_ms = wait_ms), sim_be_told, p, NULL,
		                                            why(p)));
	else
		p->said = leash_multi_acquire(p->set, wait_ms, why(p));
	p->waited_until = sim_now;
	sim_acts++;
	sim_trace("%s acquires the set: %s %s", shown(p), leash_status_name(p->said), p->error.text);
	for (int l = 0; l < sim_terms.locks; l++) {
		p->lock = l;
		if (before[l] == 0 && (p->said == LEASH_OK || (!nests && strstr(p->error.text, sim_names[l]) != NULL)))
			sim_judge_acquired(p, p->said, false);
		if (leash_lock_depth(p->handles[l]) != before[l] + (p->said == LEASH_OK) && !p->client->leaves)
			sim_breach("lock %d: a set that ended with %s left it with another depth", l, leash_status_name(p->said));
		if (p->said != LEASH_OK || before[l] > 0)
			continue;
		p->got_at[l] = sim_now;
		p->client->gave_up[l] = false;
		p->client->lease_ms[l] = sim_terms.lease_ms;
	}
	return p->said == LEASH_OK;
}

static void
hold_set(struct sim_person *p)
{
	bool was_last[SIM_LOCKS], is_nested[SIM_LOCKS];
	uint64_t fences[SIM_LOCKS];

	for (int l = 0; l < sim_terms.locks; l++)
		fences[l] = leash_lock_fence(p->handles[l]);
	sim_sleep(sim_between(0, sim_chance(sim_habits.long_holds) ? 2 * sim_terms.lease_ms * SIM_MS : 50 * SIM_MS));
	for (int l = 0; l < sim_terms.locks; l++) {
		is_nested[l] = leash_lock_depth(p->handles[l]) > 1;
		was_last[l] = sim_judge_is_last(l, fences[l], p->reads[l]);
		if (is_nested[l])
			continue;
		p->client->gave_up[l] = true;
		p->got_at[l] = 0;
	}
	p->told = false;
	if (p->loops && sim_terms.chains)
		sim_await_told(p, leash_multi_release_start(p->set, sim_be_told, p, NULL, why(p)));
	else
		p->said = leash_multi_release(p->set, why(p));
	sim_acts++;
	sim_trace("%s releases the set: %s %s", shown(p), leash_status_name(p->said), p->error.text);
	for (int l = 0; l < sim_terms.locks; l++)
		if (!is_nested[l])
			sim_judge_released(p, l, fences[l], was_last[l]);
}

/* It has it again: a new hold, unless it did not give it up. */
static void
note_again(struct sim_person *p, int l, uint64_t *fence)
{
	uint64_t now = leash_lock_fence(p->handles[l]);

	p->client->gave_up[l] = false;
	p->got_at[l] = sim_now;
	if (now == *fence)
		return;
	*fence = now != 0 ? now : UINT64_MAX; /* or it is lost already */
	p->client->fences[l] = *fence;
	p->client->lease_ms[l] = p->limited ? 0 : sim_terms.lease_ms;
	p->lock = l;
	p->lease_ms = sim_terms.lease_ms;
	p->waits_since = p->waits_until = p->waited_until = sim_now;
	sim_judge_acquired(p, LEASH_OK, false);
}

/* By its loop. False: there was no memory to begin it, and it has the lock as before. */
static bool
wait_by_loop(struct sim_person *p, int l, int64_t wait_ms)
{
	bool cancels = sim_chance(0.3);
	leash_op *op = NULL;
	leash_status status;

	p->told = false;
	status = leash_condition_wait_start(p->conditions[l], LEASH_ACQUIRE(.wait_ms = wait_ms), sim_be_told, p, &op,
	                                    why(p));
	await_told_or_cancel(p, status, op, cancels);
	if (cancels && p->said == LEASH_CANCELED)
		p->said = LEASH_TIMEOUT; /* which leaves it with the lock as well */
	return status != LEASH_NO_MEMORY;
}

/* For a signal. False: it has the lock no more. */
static bool
wait_for_signal(struct sim_person *p, int l, uint64_t *fence)
{
	unsigned depth = leash_lock_depth(p->handles[l]);
	int64_t wait_ms = sim_between(0, sim_terms.wait_ms);
	bool has, began = true;

	sim_trace("%s waits for a condition of %s, for %lld ms at most", shown(p), sim_names[l], (long long)wait_ms);
	p->client->gave_up[l] = true;
	p->got_at[l] = 0;
	if (p->loops && sim_terms.stands)
		began = wait_by_loop(p, l, wait_ms);
	else
		p->said = leash_condition_wait(p->conditions[l], wait_ms, why(p));
	has = p->said == LEASH_OK || p->said == LEASH_TIMEOUT || !began;
	tell(p, "has waited for a condition of", l);
	if (has)
		note_again(p, l, fence);
	if (leash_lock_depth(p->handles[l]) != (has ? depth : 0) && !p->client->leaves)
		sim_breach("lock %d: a wait that ended with %s left it with another depth", l, leash_status_name(p->said));
	sim_judge_waited(p, l);
	return has;
}

static bool
use_condition(struct sim_person *p, int l, uint64_t *fence)
{
	leash_condition *c = p->conditions[l];

	if (sim_chance(0.5)) {
		bool nests = sim_terms.stands && sim_chance(0.3) && leash_lock_acquire(p->handles[l], 0, why(p)) == LEASH_OK;
		bool has = wait_for_signal(p, l, fence);

		if (nests && has)
			leash_lock_release(p->handles[l], NULL);
		return has;
	}
	p->told = false;
	if (p->loops && sim_terms.stands)
		sim_await_told(p, leash_condition_signal_start(c, sim_be_told, p, NULL, why(p)));
	else
		p->said = sim_chance(0.8) ? leash_condition_signal(c, why(p)) : leash_condition_broadcast(c, why(p));
	tell(p, "signals a condition of", l);
	sim_judge_waited(p, l);
	return true;
}

/* Some time goes by. True: to the end of the lease, if there is one, and past it. */
static bool
outlast(struct sim_person *p, int l)
{
	sim_sleep(sim_between(0, sim_chance(sim_habits.long_holds) ? 2 * sim_terms.lease_ms * SIM_MS : 50 * SIM_MS));
	if (sim_chance(0.5)) {
		if (l == SIM_PERMITS)
			leash_permit_alive(p->permit);
		else
			leash_lock_alive(p->handles[l]);
	}
	if (!sim_chance(sim_habits.outlasts))
		return false;
	sim_sleep(sim_left_ms(p, l) * SIM_MS + sim_between(0, 20 * SIM_MS));
	return true;
}

/* Adopted it may have a fence that is smaller than the last one that its former holder had handed on. */
static void
hold(struct sim_person *p, int l, bool adopted)
{
	uint64_t fence = adopted ? UINT64_MAX : leash_lock_fence(p->handles[l]);
	int acts = (int)sim_random(4);

	if (!adopted)
		p->client->fences[l] = fence;
	while (acts-- > 0) {
		if (outlast(p, l))
			continue;
		if (p->conditions[l] != NULL && !adopted && sim_chance(0.4)) {
			if (!use_condition(p, l, &fence))
				return;
			continue;
		}
		if (sim_terms.readwrite[l] && sim_chance(sim_habits.nests))
			fence = have_both(p, l, fence);
		else if (sim_chance(sim_habits.nests))
			nest(p, l);
		else if (sim_chance(sim_habits.extends))
			extend(p, l);
		else if (sim_chance(sim_habits.looks))
			sim_look(p, l);
		else if (sim_terms.leads && sim_is_mutex(l) && sim_chance(0.5))
			proclaim(p, l);
		else if (p->set != NULL && !adopted && sim_chance(0.2))
			sim_use_set(p);
		else if (sim_chance(0.05) && sim_terms.locks > 1 && acquire(p, (l + 1) % sim_terms.locks))
			release(p, (l + 1) % sim_terms.locks, leash_lock_fence(p->handles[(l + 1) % sim_terms.locks]));
	}
	p->ended = sim_chance(p->client->leaves ? 0.5 : 0.005);
	if (p->ended) /* its handle is freed, or its thread ends, or the client is closed: it is abandoned */
		p->client->gave_up[l] = true;
	else
		release(p, l, fence);
}

/* By what somebody has it who has died, and did not give it up before: that may still be under way. */
static bool
find_token(struct sim_person *p, int l, char token[static LEASH_TOKEN_MAX])
{
	const struct sim_client *dead = p->client->heir_of;
	leash_lock_info info = {.size = sizeof info};

	for (int k = 0; k < sim_terms.threads && sim_terms.readwrite[l]; k++) {
		const struct sim_person *had = &dead->people[k];

		if (had->got_at[l] == 0 || had->ended || had->tokens[l][0] == '\0')
			continue;
		if (had->reads[l] != p->reads[l])
			change_mode(p, l);
		memcpy(token, had->tokens[l], LEASH_TOKEN_MAX);
		return true;
	}
	if (sim_terms.readwrite[l] || dead->gave_up[l] || leash_lock_inspect(p->handles[l], &info, NULL) != LEASH_OK)
		return false;
	memcpy(token, info.holder.token, LEASH_TOKEN_MAX);
	return sim_judge_is_of(token, dead);
}

void
sim_adopt(struct sim_person *p, int l)
{
	char token[LEASH_TOKEN_MAX];

	if (p->client->heir_of->leaves || p->client->adopted[l] || !find_token(p, l, token))
		return;
	sim_trace("%s adopts %s from %s", shown(p), sim_names[l], token);
	p->client->adopted[l] = true;
	p->said = leash_lock_adopt(p->handles[l], token, why(p));
	tell(p, "adopts", l);
	p->client->adopted[l] = p->said == LEASH_OK;
	if (p->said != LEASH_OK)
		return;
	note_hold(p, l);
	hold(p, l, true);
}

void
sim_use_lock(struct sim_person *p, int l)
{
	if (acquire(p, l))
		hold(p, l, false);
}

void
sim_use_set(struct sim_person *p)
{
	if (acquire_set(p))
		hold_set(p);
}

/* ---- permits ---- */

static void
hold_permits(struct sim_person *p)
{
	int acts = (int)sim_random(4), l = (int)sim_random((uint32_t)sim_terms.locks);

	while (acts-- > 0) {
		if (outlast(p, SIM_PERMITS))
			continue;
		if (sim_chance(sim_habits.extends))
			extend(p, SIM_PERMITS);
		else if (sim_chance(0.05) && acquire(p, l))
			release(p, l, leash_lock_fence(p->handles[l]));
	}
	release(p, SIM_PERMITS, UINT64_MAX);
}

/* Whatever comes of that: nobody adopts the same ones again. */
static void
adopt_permits(struct sim_person *p)
{
	for (int k = 0; k < sim_terms.threads && !p->client->heir_of->leaves && p->permit == NULL; k++) {
		struct sim_person *dead = &sim_clients[p->client->heir_of->process.number].people[k];

		if (dead->permit == NULL)
			continue;
		dead->permit = NULL;
		p->count = dead->count;
		p->lease_ms = sim_terms.lease_ms;
		p->said = leash_semaphore_adopt(p->semaphore, p->count, dead->tokens[SIM_PERMITS], &p->permit, why(p));
		sim_trace("%s adopts %s: %s %s", shown(p), dead->tokens[SIM_PERMITS], leash_status_name(p->said),
		          p->error.text);
	}
	if (p->permit == NULL)
		return;
	got_permits(p);
	hold_permits(p);
}

void
sim_use_permits(struct sim_person *p)
{
	if (p->client->heir_of != NULL)
		adopt_permits(p);
	p->count = sim_between(1, sim_terms.permits);
	if (acquire(p, SIM_PERMITS))
		hold_permits(p);
}
