/* Tenures: one token's life in Redis, from its first ask to the cancel that was answered for good. */
#include "lock/channel.h"

#include "base/memory.h"
#include "base/mutation.h"
#include "lock/quorum.h"
#include "watchdog/pace.h"

#include <stdio.h>
#include <string.h>

int64_t
lsh_tenure_lease_ms(const struct lsh_terms *terms)
{
	return terms->max_hold_ms > 0 && terms->max_hold_ms < terms->lease_ms ? terms->max_hold_ms : terms->lease_ms;
}

void
lsh_tenure_adopt(struct lsh_tenure *t, const struct lsh_terms *terms)
{
	t->lease_ms = lsh_tenure_lease_ms(terms);
	if (t->lease_ms > t->longest_ms)
		t->longest_ms = t->lease_ms;
}

struct lsh_tenure *
lsh_tenure_new(struct lsh_lock *lock, const struct lsh_terms *terms)
{
	struct lsh_engine *e = lock->engine;
	struct lsh_tenure *t = lsh_new(struct lsh_tenure);
	size_t digits;

	if (t == NULL)
		return NULL;
	t->lock = lock;
	if (e->quorum != NULL && (t->ballot = lsh_ballot_new(t)) == NULL) {
		lsh_free(t);
		return NULL;
	}
	/* before Redis is asked: arming a lease that was granted cannot fail */
	if (!lsh_watchdog_reserve(e->watchdog)) {
		lsh_free(t->ballot);
		lsh_free(t);
		return NULL;
	}
	atomic_init(&t->references, 1);
	lsh_lock_retain(lock);
	t->token_size = lsh_token_write(t->token, e->uuid, lsh_numbers_next(&e->numbers));
	lsh_tenure_adopt(t, terms);
	t->claim_ms = lsh_pace_claim_ms(t->lease_ms);
	digits = lsh_decimal_write(t->cfg, (uint64_t)t->claim_ms);
	t->sharded = lsh_channel_is_sharded(lsh_lock_site(lock));
	strcpy(t->cfg + digits, t->sharded ? e->cfg_sharded_suffix : e->cfg_suffix);
	lsh_list_init(&t->work_link);
	lsh_list_init(&t->owed_link);
	lsh_list_init(&t->confirm_link);
	return t;
}

struct lsh_tenure *
lsh_tenure_new_for(struct lsh_lock *lock, const struct lsh_terms *terms, const char *token, size_t size)
{
	struct lsh_tenure *t = lsh_tenure_new(lock, terms);

	if (t == NULL)
		return NULL;
	memcpy(t->token, token, size);
	t->token[size] = '\0';
	t->token_size = size;
	return t;
}

bool
lsh_tenure_is_for(const struct lsh_tenure *t, const char *token, size_t size)
{
	return t->token_size == size && memcmp(t->token, token, size) == 0;
}

struct lsh_tenure *
lsh_tenure_find(struct lsh_lock *lock, const char *token, size_t size)
{
	struct lsh_list *at, *after;

	if (lock->hold != NULL && lsh_tenure_is_for(lock->hold->tenure, token, size))
		return lock->hold->tenure;
	/* the first to be granted is mostly the first that came */
	lsh_list_each(at, after, &lock->lines) {
		struct lsh_tenure *t = lsh_container(at, struct lsh_line, link)->tenure;

		if (t != NULL && lsh_tenure_is_for(t, token, size))
			return t;
	}
	return NULL;
}

struct lsh_tenure *
lsh_tenure_find_owed(struct lsh_engine *e, const char *token, size_t size)
{
	struct lsh_tenure *found = NULL;

	pthread_mutex_lock(&e->work_mutex);
	for (struct lsh_list *at = e->owed.next; at != &e->owed && found == NULL; at = at->next) {
		struct lsh_tenure *t = lsh_container(at, struct lsh_tenure, owed_link);

		if (lsh_tenure_is_for(t, token, size)) {
			found = t;
			lsh_tenure_retain(&t->timer);
		}
	}
	pthread_mutex_unlock(&e->work_mutex);
	return found;
}

void
lsh_tenure_retain(struct lsh_timer *timer)
{
	struct lsh_tenure *t = lsh_container(timer, struct lsh_tenure, timer);

	atomic_fetch_add_explicit(&t->references, 1, memory_order_relaxed);
}

void
lsh_tenure_unref(struct lsh_tenure *t)
{
	struct lsh_lock *lock = t->lock;

	if (atomic_fetch_sub(&t->references, 1) != 1)
		return;
	lsh_watchdog_unreserve(lock->engine->watchdog);
	lsh_site_leave(t->ask_site);
	lsh_free(t->ballot);
	lsh_free(t);
	lsh_lock_unref(lock);
}

void
lsh_tenure_arm(struct lsh_tenure *t, int64_t due, int64_t slack)
{
	if (slack < 0) /* a mistake of ours about time, which is no reason to end the application */
		lsh_courier_log(t->lock->engine->courier, LEASH_LOG_ERROR, "a retry was due before the moment from which it was counted: it is made at once");
	lsh_watchdog_arm(t->lock->engine->watchdog, &t->timer, due, slack);
}

void
lsh_tenure_put(struct lsh_tenure *t, struct lsh_site *site, bool asks)
{
	bool waits = !lsh_list_empty(&t->work_link);

	if (t->lock->engine->stopped || (waits && t->work_site == site))
		return;
	lsh_site_use(site);
	if (waits) {
		lsh_list_remove(&t->work_link); /* from where the lock lived: whose keeper may be waiting for an answer that does not come */
		lsh_site_leave(t->work_site);
	} else {
		lsh_tenure_retain(&t->timer);
	}
	lsh_list_append(&site->work, &t->work_link);
	t->work_site = site;
	t->asks = asks;
}

void
lsh_tenure_give_work_to(struct lsh_tenure *t, struct lsh_site *site, bool asks)
{
	struct lsh_engine *e = t->lock->engine;

	if (t->ballot != NULL) {
		lsh_ballot_give_work(t);
		return;
	}
	pthread_mutex_lock(&e->work_mutex);
	lsh_tenure_put(t, site, asks);
	pthread_mutex_unlock(&e->work_mutex);
	lsh_node_kick(site->node);
}

void
lsh_tenure_give_work(struct lsh_tenure *t)
{
	lsh_tenure_give_work_to(t, lsh_lock_site(t->lock), false);
}

void
lsh_tenure_give_work_next(struct lsh_tenure *t)
{
	struct lsh_engine *e = t->lock->engine;
	struct lsh_site *site = lsh_lock_site(t->lock);

	pthread_mutex_lock(&e->work_mutex);
	lsh_tenure_put(t, site, false);
	if (!lsh_list_empty(&t->work_link)) {
		lsh_list_remove(&t->work_link);
		lsh_list_prepend(&site->work, &t->work_link);
	}
	pthread_mutex_unlock(&e->work_mutex);
	lsh_node_kick(site->node);
}

void
lsh_tenure_begin_end(struct lsh_tenure *t)
{
	int64_t now = lsh_now_ns();

	if (t->adopted && t->phase == LSH_HELD)
		t->lock->disowned++;
	if (LSH_MUTATES(LSH_RENEWALS_GO_ON))
		lsh_tenure_retain(&t->timer);
	else
		lsh_watchdog_forget(t->lock->engine->watchdog, &t->timer);
	if (t->line != NULL)
		t->line->tenure = NULL;
	t->line = NULL;
	t->phase = LSH_ENDING;
	/* the last ask is refused after one timeout, and no renewal is sent any more; the rest is for clocks that differ */
	t->lapses_at = lsh_after_ms(now, t->lock->engine->options.timeout / LSH_MS + t->longest_ms + t->longest_ms / 50 + 2000);
	if (now == LSH_NEVER)
		t->lapses_at = LSH_NEVER; /* nobody knows: its cancel must be answered */
	t->failures = 0;
}

void
lsh_tenure_owe(struct lsh_tenure *t)
{
	struct lsh_engine *e = t->lock->engine;

	t->owed = true;
	pthread_mutex_lock(&e->work_mutex);
	if (!e->stopped && lsh_list_empty(&t->owed_link)) {
		lsh_tenure_retain(&t->timer);
		lsh_list_append(&e->owed, &t->owed_link);
	}
	pthread_mutex_unlock(&e->work_mutex);
	lsh_tenure_give_work(t);
}

void
lsh_tenure_settle(struct lsh_tenure *t)
{
	struct lsh_engine *e = t->lock->engine;
	struct lsh_parker *closer;
	bool owed, none_left;

	t->phase = LSH_ENDED;
	if (!t->owed)
		return; /* nobody but its releaser knows of it */
	lsh_watchdog_forget(e->watchdog, &t->timer);
	pthread_mutex_lock(&e->work_mutex);
	owed = !lsh_list_empty(&t->owed_link);
	lsh_list_remove(&t->owed_link);
	none_left = lsh_list_empty(&e->owed);
	pthread_mutex_unlock(&e->work_mutex);
	if (owed)
		lsh_tenure_unref(t); /* not the last: the caller has one */
	closer = atomic_load(&e->closer);
	if (none_left && closer != NULL)
		lsh_unpark(closer);
}

void
lsh_tenure_end(struct lsh_tenure *t)
{
	if (t->ballot != NULL) {
		lsh_ballot_end(t);
		lsh_tenure_unref(t); /* the line's, or the hold's */
		return;
	}
	lsh_tenure_begin_end(t);
	if (t->asked && !LSH_MUTATES(LSH_CANCELS_ARE_NOT_SENT))
		lsh_tenure_owe(t);
	else
		t->phase = LSH_ENDED;
	lsh_tenure_unref(t); /* the line's, or the hold's */
}

/* Until when, by the server's clock, an ask of it may be executed after a cancel that went over connection `epoch`; 0: no longer. */
static int64_t
haunts_until_us(const struct lsh_tenure *t, uint64_t epoch)
{
	/* the last ask went before the cancel if both went over one connection */
	return t->ask_epoch != epoch && t->not_after_us > t->ghost_until_us ? t->not_after_us : t->ghost_until_us;
}

/* By the clock of the server that the asks went to, wherever the lock lives now, and whoever answered the cancel: each `not_after` is a
 * moment of that clock, which an estimate keeps running here although the server may be gone. Until then an ask that is stuck there
 * could still be executed, should the lock live there again; elsewhere none can: in a cluster each server refuses what is not its own
 * (MOVED, ASK), also for a key that it has given away. */
static int64_t
server_us_at_least(const struct lsh_tenure *t, int64_t at)
{
	return lsh_node_server_us_at_least(t->ask_site != NULL ? t->ask_site->node : lsh_lock_node(t->lock), at);
}

int64_t
lsh_tenure_settles_at(const struct lsh_tenure *t, uint64_t epoch, int64_t now)
{
	int64_t left_us = haunts_until_us(t, epoch) - server_us_at_least(t, now);

	return left_us > 0 ? lsh_after_ms(now, left_us / 990 + 2) : now; /* what is certain of the server's clock goes on 1 % slower than ours */
}

bool
lsh_tenure_is_settled(const struct lsh_tenure *t, uint64_t epoch, int64_t sent)
{
	int64_t until = haunts_until_us(t, epoch);

	return LSH_MUTATES(LSH_FIRST_CANCEL_IS_ENOUGH) || until == 0 || server_us_at_least(t, sent) > until;
}
