/* Ballots: the votes of all servers for one token, counted whenever one of them has changed, and what follows from the count. */
#include "lock/quorum.h"

#include "base/memory.h"
#include "watchdog/pace.h"

struct lsh_ballot *
lsh_ballot_new(struct lsh_tenure *t)
{
	struct lsh_engine *e = t->lock->engine;
	struct lsh_ballot *b = lsh_alloc(sizeof *b + e->site_count * sizeof b->legs[0]);

	if (b == NULL)
		return NULL;
	lsh_list_init(&b->watchers);
	lsh_list_init(&b->question_link);
	b->count = e->site_count;
	for (size_t i = 0; i < b->count; i++) {
		b->legs[i].tenure = t;
		b->legs[i].site = e->sites[i];
		lsh_list_init(&b->legs[i].work_link);
	}
	return b;
}

struct lsh_leg *
lsh_ballot_leg(struct lsh_ballot *b, const struct lsh_site *site)
{
	return &b->legs[site->index];
}

/* ---- who awaits what becomes of it ---- */

static void
set_extension(struct lsh_ballot *b)
{
	struct lsh_list *at, *after;

	b->extend_ms = 0;
	lsh_list_each(at, after, &b->watchers) {
		int64_t ms = lsh_container(at, struct lsh_watcher, link)->extend_ms;

		if (ms > b->extend_ms)
			b->extend_ms = ms;
	}
}

void
lsh_ballot_watch(struct lsh_ballot *b, struct lsh_watcher *watcher)
{
	lsh_list_append(&b->watchers, &watcher->link);
	set_extension(b);
}

void
lsh_ballot_unwatch(struct lsh_ballot *b, struct lsh_watcher *watcher)
{
	lsh_list_remove(&watcher->link);
	set_extension(b);
}

static void
wake(struct lsh_ballot *b)
{
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &b->watchers)
		lsh_unpark(&lsh_container(at, struct lsh_watcher, link)->thread->parker);
}

/* ---- */

void
lsh_ballot_give_work(struct lsh_tenure *t)
{
	struct lsh_ballot *b = t->ballot;

	if (t->phase == LSH_HELD && t->wanted_at > b->round_at)
		b->round_at = t->wanted_at;
	for (size_t i = 0; i < b->count; i++)
		lsh_leg_give(&b->legs[i]);
}

void
lsh_ballot_send(struct lsh_tenure *t)
{
	for (size_t i = 0; i < t->ballot->count; i++)
		lsh_leg_send(&t->ballot->legs[i]);
	lsh_ballot_count(t);
}

void
lsh_ballot_flush(struct lsh_engine *e)
{
	for (size_t i = 0; i < e->site_count; i++)
		lsh_pipe_flush(lsh_node_pipe(e->sites[i]->node));
}

void
lsh_ballot_break_if_silent(struct lsh_tenure *t)
{
	struct lsh_ballot *b = t->ballot;

	for (size_t i = 0; i < b->count; i++)
		if (b->legs[i].way.out)
			lsh_pipe_break_if_silent(lsh_node_pipe(b->legs[i].site->node), t->wanted_at);
}

int64_t
lsh_ballot_guard_ms(const struct lsh_tenure *t)
{
	if (t->phase == LSH_HELD)
		return t->lock->hold->terms.restart_guard_ms;
	return t->ballot->guard_ms;
}

/* ---- a hold ---- */

struct tally {
	unsigned sound;    /* servers of which nothing bad is known */
	unsigned renewed;  /* votes since the last renewal was wanted */
	unsigned pending;  /* what that renewal is still to bring */
	bool retry;        /* it failed on a server that can be asked */
	int64_t nth;       /* the majority-th largest valid-until of votes that count */
};

static struct tally
tally_of(const struct lsh_tenure *t)
{
	const struct lsh_ballot *b = t->ballot;
	int64_t valid[LSH_QUORUM_MAX];
	struct tally tally = {0};

	for (size_t i = 0; i < b->count; i++) {
		const struct lsh_leg *leg = &b->legs[i];

		valid[i] = leg->valid_until;
		tally.renewed += leg->valid_until > 0 && leg->kept_at >= b->round_at && leg->kept_ms >= b->extend_ms;
		tally.sound += !leg->failing;
		tally.pending += leg->way.out || leg->tried_at < b->round_at;
		tally.retry |= leg->failing && lsh_node_is_up(leg->site->node);
	}
	tally.nth = lsh_quorum_nth_largest(valid, b->count, t->lock->engine->quorum->majority);
	return tally;
}

static void
set_valid_until(struct lsh_lock *lock, struct lsh_tenure *t, int64_t valid_until)
{
	int64_t before = t->valid_until;

	if (valid_until > lock->hold->ends_at)
		valid_until = lock->hold->ends_at;
	t->valid_until = valid_until;
	atomic_store(&lock->valid_until, valid_until);
	if (valid_until < before) /* the timer may be set for later; and the sooner the votes are won again the better */
		lsh_tenure_arm(t, t->wanted_at == 0 ? lsh_now_ns() : valid_until, 0);
}

int64_t
lsh_ballot_wants_ms(const struct lsh_tenure *t, int64_t now)
{
	int64_t wants_ms = lsh_hold_wants_ms(t->lock->hold, t, now), extend_ms = t->ballot->extend_ms;

	return extend_ms > wants_ms ? extend_ms : wants_ms;
}

bool
lsh_ballot_is_renewing(const struct lsh_ballot *b)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct lsh_leg *leg = &b->legs[i];

		if (leg->phase == LSH_LEG_HELD && (leg->way.out || leg->tried_at < b->round_at))
			return true;
	}
	return false;
}

/* It is held: where it has no vote, see whether it can have one; unless it may not be asked for, and the keeper would come back at once. */
static void
ask_again(const struct lsh_tenure *t, int64_t now)
{
	struct lsh_ballot *b = t->ballot;

	if (lsh_ballot_is_renewing(b) || lsh_ballot_wants_ms(t, now) == 0)
		return;
	for (size_t i = 0; i < b->count; i++) {
		struct lsh_leg *leg = &b->legs[i];

		if (leg->phase != LSH_LEG_HELD && !leg->way.out && (leg->tried_at < b->round_at || leg->tried_at == 0))
			lsh_leg_give(leg);
	}
}

/* The renewal that is going on. */
static void
settle_renewal(struct lsh_lock *lock, struct lsh_tenure *t, const struct tally *tally, int64_t now)
{
	struct lsh_ballot *b = t->ballot;

	if (t->wanted_at == 0)
		return;
	if (tally->renewed >= lock->engine->quorum->majority) {
		int64_t lease_ms = lock->hold->terms.lease_ms;

		lock->counts.renewed++;
		t->wanted_at = 0;
		t->failures = 0;
		t->full_lease = true;
		t->span = (b->extend_ms > lease_ms ? b->extend_ms : lease_ms) * LSH_MS;
		lsh_hold_schedule(lock, t, b->round_at, lease_ms * LSH_MS);
	} else if (tally->pending == 0) {
		int64_t again = t->valid_until;

		lock->counts.renewals_failed++;
		t->wanted_at = 0;
		t->failures++;
		if (tally->retry) /* the others are asked as soon as there is a connection */
			again = lsh_pace_retry(now, t->failures, t->valid_until, lsh_random32());
		lsh_tenure_arm(t, again, (again - now) / 2);
	}
}

/* It is lost, and a renewal that is going on has failed. */
static void
lose(struct lsh_lock *lock, const struct lsh_tenure *t, const char *why)
{
	lock->counts.renewals_failed += t->wanted_at != 0;
	lsh_hold_lose(lock, why);
}

static void
count_hold(struct lsh_tenure *t)
{
	struct lsh_lock *lock = t->lock;
	unsigned majority = lock->engine->quorum->majority;
	int64_t now = lsh_now_ns();
	struct tally tally;

	if (now >= t->valid_until) {
		lose(lock, t, lsh_hold_why_over(lock->hold, t, now));
		return;
	}
	tally = tally_of(t);
	if (tally.nth <= now) {
		lose(lock, t, "a majority of the servers did not have it any more");
		return;
	}
	if (tally.nth != t->valid_until)
		set_valid_until(lock, t, tally.nth);
	settle_renewal(lock, t, &tally, now);
	ask_again(t, now);
	if (tally.sound < majority)
		lsh_hold_endanger(lock, "a majority of the servers does not renew it: trying again");
	else if (tally.sound == majority)
		lsh_hold_endanger(lock, "just a majority of the servers has it: one more that fails, and it is lost");
	else if (!lsh_hold_is_hung(lock->hold, now))
		lsh_hold_recover(lock);
}

/* ---- a round ---- */

/* A majority has voted for it. Its fence is the largest of theirs, once a majority knows it. */
static void
win(struct lsh_tenure *t, const int64_t *valid, unsigned majority, unsigned open)
{
	struct lsh_ballot *b = t->ballot;
	struct lsh_lock *lock = t->lock;
	int64_t nth = lsh_quorum_nth_largest(valid, b->count, majority), fence = 0, now = lsh_now_ns();
	const struct lsh_leg *last = NULL;
	unsigned know = 0, may_know = open;

	for (size_t i = 0; i < b->count; i++)
		if (b->legs[i].phase == LSH_LEG_HELD && b->legs[i].fence > fence)
			fence = b->legs[i].fence;
	b->fence = fence;
	for (size_t i = 0; i < b->count; i++) {
		struct lsh_leg *leg = &b->legs[i];

		if (leg->valid_until == nth)
			last = leg;
		if (leg->phase != LSH_LEG_HELD)
			continue;
		know += leg->fence == fence && leg->valid_until > now; /* one that has lapsed may have gone to another since */
		may_know += leg->fence == fence || !leg->mute;
		if (leg->fence < fence && !leg->mute && !leg->way.out)
			lsh_leg_give(leg);
	}
	if (know >= majority) {
		b->proposal = fence; /* whoever is asked again is to know it */
		b->fence = 0;
		if (lsh_hold_grant(lock, t, fence, last->sent, last->renewed_ms * LSH_MS, false))
			count_hold(t); /* it may be in jeopardy from the start */
		else
			lsh_round_lost(t);
	} else if (may_know < majority) {
		lsh_round_lost(t);
	}
}

static void
count_round(struct lsh_tenure *t)
{
	struct lsh_ballot *b = t->ballot;
	unsigned majority = t->lock->engine->quorum->majority, votes = 0, open = 0;
	int64_t valid[LSH_QUORUM_MAX], now = lsh_now_ns();
	const struct lsh_waiter *first = lsh_line_first(t->line);

	/* it was begun for another one, who has left: this one is awake, and begins anew */
	if (!lsh_round_is_on(t, &first->hold->terms))
		return;
	for (size_t i = 0; i < b->count; i++) {
		const struct lsh_leg *leg = &b->legs[i];

		valid[i] = leg->valid_until;
		votes += leg->valid_until > now;
		open += leg->phase == LSH_LEG_ASKING || leg->phase == LSH_LEG_NEW;
	}
	if (votes >= majority)
		win(t, valid, majority, open);
	else if (votes + open < majority)
		lsh_round_lost(t);
}

/* ---- the end ---- */

void
lsh_leg_ended(struct lsh_leg *leg)
{
	struct lsh_parker *closer = leg->site->engine->closer;

	leg->phase = LSH_LEG_ENDED;
	leg->tenure->ballot->ending--;
	atomic_fetch_sub(&leg->site->owed_legs, 1);
	atomic_fetch_sub(&leg->site->loose_legs, 1);
	if (closer != NULL)
		lsh_unpark(closer);
}

/* Else nobody is there who would do it: the client has been closed. */
static bool
is_owed(struct lsh_tenure *t)
{
	pthread_mutex_t *mutex = &t->lock->engine->work_mutex;
	bool owed;

	pthread_mutex_lock(mutex);
	owed = !lsh_list_empty(&t->owed_link);
	pthread_mutex_unlock(mutex);
	return owed;
}

void
lsh_ballot_end(struct lsh_tenure *t)
{
	struct lsh_ballot *b = t->ballot;

	if (t->phase == LSH_ENDING || t->phase == LSH_ENDED)
		return;
	lsh_tenure_begin_end(t);
	for (size_t i = 0; i < b->count; i++) {
		struct lsh_leg *leg = &b->legs[i];

		leg->phase = leg->asked ? LSH_LEG_ENDING : LSH_LEG_ENDED;
		leg->stood_until = leg->valid_until;
		leg->valid_until = 0;
		b->ending += leg->asked;
		atomic_fetch_add(&leg->site->owed_legs, leg->asked);
		atomic_fetch_add(&leg->site->loose_legs, leg->asked);
	}
	if (b->ending == 0) {
		t->phase = LSH_ENDED;
		return;
	}
	lsh_tenure_owe(t);
	if (is_owed(t))
		lsh_tenure_arm(t, t->lapses_at, 0);
}

static void
count_end(struct lsh_tenure *t)
{
	const struct lsh_ballot *b = t->ballot;
	int64_t again = t->lapses_at;

	if (b->ending == 0) {
		lsh_tenure_settle(t);
		return;
	}
	for (size_t i = 0; i < b->count; i++)
		if (b->legs[i].phase == LSH_LEG_ENDING && !b->legs[i].cancel.out && b->legs[i].again_at < again)
			again = b->legs[i].again_at;
	if (is_owed(t))
		lsh_tenure_arm(t, again, 0);
}

void
lsh_ballot_count(struct lsh_tenure *t)
{
	switch (t->phase) {
	case LSH_ASKING:
		count_round(t);
		break;
	case LSH_HELD:
		count_hold(t);
		break;
	case LSH_ENDING:
		count_end(t);
		break;
	default:
		break;
	}
	wake(t->ballot);
}
