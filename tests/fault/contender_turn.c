/* A turn: take a lock, keep it for a while, and give it back.
 *
 * By tries, waits with and without an end, waits that somebody cancels; as threads and as explicit owners, who wait or are told by a loop; through several handles; nested.
 * Who has it extends it, looks, and writes to the fenced register, now and then unasked. It reads and writes, upgrades and downgrades;
 * takes some of the permits, and gives back some of them; waits for a condition, and signals it; takes two locks as one; proclaims that
 * it leads.
 *
 * Of nine locks four are just that, three read-write locks, one is a semaphore, and one is Redisson's; the first with an odd number are
 * fair. Where plain says so, on a quorum, all are plain locks. No hold asks for more than a lease and a half at a time, and that is what
 * guard-ms has to be more than: after a restart that may have lost the data nothing is granted for so long, and exclusion stays.
 *
 * Holds that share are told apart in events by the argument of their handle, which is their number: so each turn has handles of its own. */
#include "tests/fault/contender.h"

#include <stdio.h>
#include <unistd.h>

struct turn {
	struct worker *worker;
	unsigned lock;
	leash_lock *handle;              /* by which it is held; NULL: it has permits */
	leash_lock *reads, *writes;      /* of a read-write lock; `handle` is one of them */
	leash_lock *mine;                /* of another lock, likewise; it is `handle` */
	leash_owner *owner;              /* NULL: the thread */
	int64_t count;
	leash_permit *permit;
	uint64_t number;
	uint64_t fence;                  /* the last one that was seen of it */
	bool of_set;
	bool by_loop;                    /* its acquire, its release and its extensions are begun, and told by the loop */
	bool over;                       /* there is nothing to give back */
};

static bool
is_fair(unsigned lock)
{
	return lock % 2 == 1 && !self.plain;
}

enum kind
kind_of(unsigned lock)
{
	static const enum kind kinds[] = {
		KIND_LOCK, KIND_LOCK, KIND_LOCK, KIND_LOCK, KIND_READERS, KIND_READERS, KIND_READERS, KIND_PERMITS, KIND_REDISSON,
	};

	return self.plain ? KIND_LOCK : kinds[lock % (sizeof kinds / sizeof *kinds)];
}

/* ---- what is written down ---- */

void
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

/* Redisson's lock has one that is right while the server's clock is. */
static uint64_t
fence_of(const struct turn *turn)
{
	return turn->permit != NULL || kind_of(turn->lock) == KIND_REDISSON ? 0 : leash_lock_fence(turn->handle);
}

static bool
look(struct turn *turn)
{
	uint64_t fence = fence_of(turn);
	int64_t until = valid_until(turn);

	if (fence != 0)
		turn->fence = fence;
	history_note(self.history, "look %" PRIu64 " %" PRId64, turn->number, until);
	return until != 0;
}

/* How a handle of this lock is made. `number`: of the hold, to be told in events; 0: it is not. */
static leash_lock_options
options_of(unsigned lock, leash_owner *owner, leash_mode mode, uint64_t number)
{
	enum kind kind = kind_of(lock);

	return *LEASH_LOCK_OPTIONS(.on_event = note_event, .event_arg = (void *)(uintptr_t)number, .restart_guard_ms = self.guard_ms,
	                           .fair = is_fair(lock),
	                           .mode = kind == KIND_READERS ? mode : kind == KIND_REDISSON ? LEASH_REDISSON : LEASH_MUTEX,
	                           .owner = owner, .min_replicas = self.min_replicas);
}

leash_lock *
handle_new(unsigned lock, leash_owner *owner, leash_mode mode, uint64_t number)
{
	leash_lock_options options = options_of(lock, owner, mode, number);
	char name[16];

	if (kind_of(lock) == KIND_PERMITS)
		return NULL;
	snprintf(name, sizeof name, "lock-%u", lock);
	return leashed_lock(self.client, name, &options);
}

static leash_status
acquire_permits(struct turn *turn, const leash_acquire *how, int64_t cancel_ms, leash_error *err)
{
	leash_lock_options options = options_of(turn->lock, NULL, LEASH_MUTEX, turn->number);
	leash_semaphore *semaphore;
	char name[16];

	snprintf(name, sizeof name, "lock-%u", turn->lock);
	if (leash_semaphore_new(&semaphore, self.client, name, PERMITS, &options, err) != LEASH_OK)
		trouble("no semaphore: %s", err->text);
	leash_status status = turn->by_loop
		? loop_acquire_permits(semaphore, turn->count, how, cancel_ms, &turn->permit, err)
		: leash_semaphore_acquire_with(semaphore, turn->count, how, &turn->permit, err);
	leash_semaphore_free(semaphore);
	return status;
}

/* As history.h has it. */
static const char *
need_of(const struct turn *turn, char text[static 16])
{
	if (turn->of_set)
		snprintf(text, 16, "several");
	else if (turn->handle == NULL)
		snprintf(text, 16, "%" PRId64 "/%d", turn->count, PERMITS);
	else if (kind_of(turn->lock) == KIND_REDISSON)
		snprintf(text, 16, "1/1");
	else if (kind_of(turn->lock) == KIND_READERS)
		snprintf(text, 16, turn->handle == turn->reads ? "read" : "write");
	else
		snprintf(text, 16, is_fair(turn->lock) ? "fair" : "plain");
	return text;
}

static void
note_got(struct turn *turn, int64_t came)
{
	char token[LEASH_TOKEN_MAX] = "";

	turn->fence = fence_of(turn);
	if (turn->permit != NULL)
		leash_permit_token(turn->permit, token, sizeof token);
	else
		leash_lock_token(turn->handle, token, sizeof token);
	int64_t until = valid_until(turn);
	/* it may be over already */
	history_note_at(self.history, came, "got %" PRIu64 " OK %" PRIu64 " %s %" PRId64, turn->number, turn->fence,
	                token[0] != '\0' ? token : "-", until);
}

static void
note_ask(struct turn *turn, int64_t wait_ms)
{
	char need[16];

	history_note(self.history, "ask %" PRIu64 " lock-%u %" PRId64 " %s", turn->number, turn->lock,
	             wait_ms == LEASH_FOREVER ? -1 : wait_ms, need_of(turn, need));
}

static void
note_refused(const struct turn *turn, int64_t came, leash_status status)
{
	history_note_at(self.history, came, "got %" PRIu64 " %s 0 - 0", turn->number, leash_status_name(status));
}

static leash_status
acquire(struct turn *turn, const leash_acquire *how, bool may_be_canceled, leash_error *err)
{
	int64_t cancel_ms = may_be_canceled && turn->by_loop ? (int64_t)roll(&turn->worker->random, 500) : -1;

	if (turn->handle == NULL)
		return acquire_permits(turn, how, cancel_ms, err);
	if (turn->by_loop)
		return loop_acquire(turn->handle, how, cancel_ms, err);
	return leash_lock_acquire_with(turn->handle, how, err);
}

static leash_status
release(struct turn *turn, leash_error *err)
{
	if (turn->permit != NULL)
		return turn->by_loop ? loop_release_permits(turn->permit, err) : leash_permit_release(turn->permit, err);
	return turn->by_loop ? loop_release(turn->handle, err) : leash_lock_release(turn->handle, err);
}

/* Is it held now? */
static bool
begin(struct turn *turn, int64_t wait_ms, bool may_be_canceled)
{
	leash_error err = {0};

	note_ask(turn, wait_ms);
	leash_cancel *cancel = cancel_begin(turn->worker, may_be_canceled && !turn->by_loop);
	leash_status status = acquire(turn, LEASH_ACQUIRE(.wait_ms = wait_ms, .cancel = cancel), may_be_canceled, &err);
	int64_t came = await_now_ns();
	cancel_end(turn->worker, cancel);
	if (status == LEASH_OK) {
		note_got(turn, came);
		return true;
	}
	note_refused(turn, came, status);
	accept_end("acquire", turn->number, status, &err);
	return false;
}

static void
end(struct turn *turn)
{
	leash_error err = {0};

	history_note(self.history, "give %" PRIu64, turn->number);
	leash_status status = release(turn, &err);
	int64_t came = await_now_ns();
	history_note_at(self.history, came, "gave %" PRIu64 " %s", turn->number, leash_status_name(status));
	if (status != LEASH_OK && status != LEASH_LOST && status != LEASH_UNKNOWN && status != LEASH_DENIED)
		impossible("release", turn->number, status, &err);
}

/* What the lock is for. Whoever writes believes that it holds the lock, or has not looked. */
static void
write_down(struct turn *turn)
{
	if (turn->permit != NULL ? leash_permit_held(turn->permit) : kind_of(turn->lock) == KIND_REDISSON && leash_lock_held(turn->handle))
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
	return turn->owner != NULL ? w->own[turn->lock] : self.shared[which][turn->lock];
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
		impossible("nested acquire", turn->number, status, &err);
	usleep((useconds_t)roll(&w->random, 5000));
	status = leash_lock_release(other, &err);
	if (status != LEASH_OK && status != LEASH_LOST)
		impossible("nested release", turn->number, status, &err);
}

static void
extend(struct turn *turn)
{
	int64_t lease_ms = self.lease_ms + (int64_t)roll(&turn->worker->random, (uint64_t)self.lease_ms / 2);
	leash_error err = {0};
	leash_status status = turn->permit != NULL ? leash_permit_extend(turn->permit, lease_ms, &err)
		: turn->by_loop ? loop_extend(turn->handle, lease_ms, &err) : leash_lock_extend(turn->handle, lease_ms, &err);

	if (status != LEASH_OK && status != LEASH_LOST && status != LEASH_UNAVAILABLE && status != LEASH_DENIED)
		impossible("extend", turn->number, status, &err);
	look(turn);
}

static leash_condition *
condition_of(leash_lock *handle)
{
	leash_condition *condition;
	leash_error err;

	if (leash_condition_new(&condition, handle, "changed", NULL, &err) != LEASH_OK)
		trouble("no condition: %s", err.text);
	return condition;
}

static void
signal_change(struct turn *turn)
{
	leash_condition *condition = condition_of(turn->handle);
	bool to_all = once_in(&turn->worker->random, 2);
	leash_error err = {0};
	leash_status status = to_all ? leash_condition_broadcast(condition, &err) : leash_condition_signal(condition, &err);

	if (status != LEASH_OK && status != LEASH_UNAVAILABLE && status != LEASH_DENIED)
		impossible("signal", turn->number, status, &err);
	leash_condition_free(condition);
}

static void
proclaim(struct turn *turn)
{
	char value[NAME + 24];
	leash_error err = {0};

	snprintf(value, sizeof value, "%s/%" PRIu64, self.name, turn->number);
	leash_status status = leash_lock_proclaim(turn->handle, value, &err);
	if (status != LEASH_OK && status != LEASH_LOST && status != LEASH_UNAVAILABLE && status != LEASH_DENIED)
		impossible("proclaim", turn->number, status, &err);
}

/* What only a lock is for that nobody else shares. */
static void
tell_others(struct turn *turn)
{
	uint64_t *random = &turn->worker->random;

	if (self.plain || kind_of(turn->lock) != KIND_LOCK)
		return;
	if (once_in(random, 4))
		signal_change(turn);
	if (turn->lock == 0 && once_in(random, 3))
		proclaim(turn);
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
	if (held)
		tell_others(turn);
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
	note_refused(&new, came, status);
	if (status != LEASH_LOST && status != LEASH_UNAVAILABLE && status != LEASH_DENIED && (status != LEASH_TIMEOUT || call != upgrade))
		impossible("trade", turn->number, status, &err);
	return false;
}

/* Give it up until something has changed, or for a while. Is it another hold then? */
static bool
await_change(struct turn *turn)
{
	struct turn new = *turn;
	struct worker *w = turn->worker;
	leash_condition *condition = condition_of(turn->mine);
	int64_t wait_ms = (int64_t)roll(&w->random, 2 * (uint64_t)self.lease_ms);
	leash_error err = {0};
	char need[16];

	new.number = ++self.holds;
	history_note(self.history, "wait %" PRIu64 " %" PRIu64 " %s", turn->number, new.number, need_of(&new, need));
	leash_cancel *cancel = cancel_begin(w, once_in(&w->random, 3));
	leash_status status = leash_condition_wait_with(condition, LEASH_ACQUIRE(.wait_ms = wait_ms, .cancel = cancel), &err);
	int64_t came = await_now_ns();
	cancel_end(w, cancel);
	leash_condition_free(condition);
	turn->over = status != LEASH_OK && status != LEASH_TIMEOUT && status != LEASH_CANCELED;
	if (turn->over && status != LEASH_LOST && status != LEASH_UNAVAILABLE && status != LEASH_DENIED)
		impossible("wait", turn->number, status, &err);
	if (turn->over || leash_lock_fence(turn->mine) == turn->fence) {
		note_refused(&new, came, turn->over ? status : LEASH_CANCELED);
		return false;
	}
	*turn = new;
	note_got(turn, came);
	return true;
}

/* Is it another hold now? */
static bool
change(struct turn *turn)
{
	leash_error err = {0};
	leash_status status;
	bool done;

	if (turn->mine != NULL)
		return kind_of(turn->lock) == KIND_LOCK && await_change(turn);
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
		impossible("nested call", turn->number, status, &err);
	look(turn);
	return done;
}

static void
take_one(struct worker *w)
{
	uint64_t *random = &w->random, kind = roll(random, 16);
	struct turn turn = {.worker = w, .lock = (unsigned)roll(random, (uint64_t)self.lock_count), .number = ++self.holds};
	int64_t wait_ms = kind < 3 ? 0 : kind < 11 ? 10 + (int64_t)roll(random, 2 * (uint64_t)self.lease_ms) : LEASH_FOREVER;

	turn.owner = once_in(random, 3) ? w->owner : NULL;
	turn.by_loop = (turn.owner != NULL || kind_of(turn.lock) == KIND_PERMITS) && once_in(random, 2);
	if (kind_of(turn.lock) == KIND_READERS) {
		turn.reads = handle_new(turn.lock, turn.owner, LEASH_READ, turn.number);
		turn.writes = handle_new(turn.lock, turn.owner, LEASH_WRITE, turn.number);
		turn.handle = once_in(random, 3) ? turn.writes : turn.reads;
	} else if (kind_of(turn.lock) == KIND_PERMITS) {
		turn.count = 1 + (int64_t)roll(random, PERMITS);
	} else if (kind_of(turn.lock) == KIND_REDISSON || (!self.plain && once_in(random, 4))) {
		turn.handle = turn.mine = handle_new(turn.lock, turn.owner, LEASH_MUTEX, turn.number);
	} else {
		turn.handle = turn.owner != NULL ? w->own[turn.lock] : self.shared[roll(random, SHARED)][turn.lock];
	}
	if (begin(&turn, wait_ms, kind > 12 || kind == 10)) {
		keep(&turn);
		while (once_in(random, 2) && change(&turn))
			keep(&turn);
		if (!turn.over)
			end(&turn);
	}
	leash_lock_free(turn.reads);
	leash_lock_free(turn.writes);
	leash_lock_free(turn.mine);
}

/* ---- two locks as one ---- */

static leash_multi *
pick_two(struct worker *w, struct turn turns[2])
{
	leash_owner *owner = once_in(&w->random, 6) ? w->owner : NULL;
	leash_multi *multi;
	leash_error err;

	do
		for (int i = 0; i < 2; i++)
			turns[i].lock = (unsigned)roll(&w->random, (uint64_t)self.lock_count);
	while (turns[0].lock == turns[1].lock || kind_of(turns[0].lock) != KIND_LOCK || kind_of(turns[1].lock) != KIND_LOCK);
	for (int i = 0; i < 2; i++) {
		turns[i].worker = w;
		turns[i].number = ++self.holds;
		turns[i].of_set = true;
		turns[i].handle = handle_new(turns[i].lock, owner, LEASH_MUTEX, turns[i].number);
	}
	if (leash_multi_new(&multi, (leash_lock *[]){turns[0].handle, turns[1].handle}, 2, &err) != LEASH_OK)
		trouble("no set: %s", err.text);
	return multi;
}

static void
keep_two(struct turn turns[2])
{
	uint64_t *random = &turns[0].worker->random;
	int64_t until = await_now_ns() + (int64_t)length_us(random) * 1000;

	do
		for (int i = 0; i < 2; i++)
			if (look(&turns[i]) && once_in(random, 2))
				write_down(&turns[i]);
	while (usleep(2000), await_now_ns() < until && !self.ending);
}

/* Which of them was lost is known by their events. */
static void
end_two(leash_multi *multi, const struct turn turns[2])
{
	leash_error err = {0};

	for (int i = 0; i < 2; i++)
		history_note(self.history, "give %" PRIu64, turns[i].number);
	leash_status status = leash_multi_release(multi, &err);
	for (int i = 0; i < 2; i++)
		history_note(self.history, "gave %" PRIu64 " %s", turns[i].number, status == LEASH_OK ? "OK" : "UNKNOWN");
	if (status != LEASH_OK && status != LEASH_LOST && status != LEASH_UNKNOWN && status != LEASH_DENIED)
		impossible("release", turns[0].number, status, &err);
}

static void
take_two(struct worker *w)
{
	struct turn turns[2] = {0};
	leash_multi *multi = pick_two(w, turns);
	int64_t wait_ms = once_in(&w->random, 4) ? LEASH_FOREVER : (int64_t)roll(&w->random, 2 * (uint64_t)self.lease_ms);
	leash_error err = {0};

	for (int i = 0; i < 2; i++)
		note_ask(&turns[i], wait_ms);
	leash_cancel *cancel = cancel_begin(w, wait_ms == LEASH_FOREVER);
	leash_status status = leash_multi_acquire_with(multi, LEASH_ACQUIRE(.wait_ms = wait_ms, .cancel = cancel), &err);
	int64_t came = await_now_ns();
	cancel_end(w, cancel);
	for (int i = 0; i < 2; i++)
		if (status == LEASH_OK)
			note_got(&turns[i], came);
		else
			note_refused(&turns[i], came, status);
	if (status == LEASH_OK) {
		keep_two(turns);
		end_two(multi, turns);
	} else {
		accept_end("acquire of two", turns[0].number, status, &err);
	}
	leash_multi_free(multi);
	for (int i = 0; i < 2; i++)
		leash_lock_free(turns[i].handle);
}

/* ---- what workers do ---- */

void
take_a_turn(struct worker *w)
{
	if (once_in(&w->random, 12))
		take_two(w);
	else
		take_one(w);
}

static bool
take_alone(struct worker *w, unsigned lock)
{
	struct turn turn = {.worker = w, .lock = lock, .count = PERMITS, .number = ++self.holds};

	turn.handle = handle_new(lock, NULL, LEASH_WRITE, turn.number);
	bool had = begin(&turn, LEASH_FOREVER, false);
	if (had)
		end(&turn);
	leash_lock_free(turn.handle);
	return had;
}

void
take_them_all(struct worker *w)
{
	for (unsigned i = 0; i < self.lock_count; i++)
		while (!take_alone(w, i))
			continue;
}
