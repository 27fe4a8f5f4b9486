/* Rounds: how a quorum is acquired. The first waiter of a line asks all servers at once, sleeps until their votes decide, and if they
 * decide against it begins anew a random while later, with a new token.
 *
 *   (no tenure) --the pause is over, and a majority can be asked--> ASKING --won--> granted
 *        ^                                                            |
 *        +-- canceled everywhere, a pause --------- lost, or late ----+ */
#include "lock/quorum.h"

#include "watchdog/pace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- why not ---- */

struct excuses {
	unsigned count;      /* servers that could not be asked, or do not count */
	unsigned lasting;    /* of those, with what does not pass by itself, */
	unsigned down;       /* and those to which there is no connection, or was none a moment ago */
	leash_status status; /* of one of them: DENIED if there is such a one */
	int sys_errno;
	char text[200];
};

static bool
is_lasting(leash_status status)
{
	return status != LEASH_OK && status != LEASH_UNAVAILABLE;
}

static void
add(struct excuses *x, leash_status status, int sys_errno, const char *text)
{
	x->count++;
	x->lasting += is_lasting(status);
	if (x->count > 1 && (is_lasting(x->status) || !is_lasting(status)))
		return;
	x->status = status;
	x->sys_errno = sys_errno;
	snprintf(x->text, sizeof x->text, "%s", text);
}

/* Of the servers themselves, and, where there is a ballot, of what they answered to it. Late: they should have. */
static void
gather(struct lsh_engine *e, const struct lsh_ballot *b, bool late, int64_t guard_ms, int64_t now, struct excuses *x)
{
	*x = (struct excuses){.status = LEASH_UNAVAILABLE};
	for (size_t i = 0; i < e->site_count; i++) {
		const struct lsh_leg *leg = b != NULL ? &b->legs[i] : NULL;
		leash_status status = LEASH_UNAVAILABLE;
		int sys_errno = 0;
		bool fails = leg != NULL && (leg->phase == LSH_LEG_FAILED || (leg->phase == LSH_LEG_HELD && leg->mute)); /* it is not to be told of a fence */
		char text[200];

		x->down += !lsh_node_is_up(e->sites[i]->node) || (leg != NULL && leg->phase == LSH_LEG_FAILED && leg->trouble == LEASH_OK);
		if (fails && leg->trouble != LEASH_OK)
			add(x, leg->trouble, 0, b->trouble_text);
		else if (lsh_quorum_excuse(e->sites[i], guard_ms, now, &status, &sys_errno, text, sizeof text))
			add(x, status, sys_errno, text);
		else if (fails || (leg != NULL && leg->phase == LSH_LEG_ASKING && late)) {
			snprintf(text, sizeof text, "%.100s: no answer in time", lsh_node_shown(e->sites[i]->node));
			add(x, LEASH_UNAVAILABLE, 0, text);
		}
	}
}

/* It is because of these; or others were in the way. */
static void
blame(struct lsh_engine *e, struct lsh_waiter *w, const struct excuses *x)
{
	char text[sizeof w->trouble_text];

	if (e->site_count - x->count >= e->quorum->majority) {
		w->refused = true;
		w->answered = false;
		w->trouble = LEASH_TIMEOUT;
		return;
	}
	lsh_quorum_say(text, sizeof text, x->count, e->site_count, "could not be asked", x->text);
	lsh_waiter_blame(w, x->status, x->sys_errno, text);
}

/* What does not pass by itself, and leaves no majority. A refused password may be old news: only the second time. */
static bool
is_hopeless(const struct lsh_engine *e, struct lsh_waiter *w, const struct excuses *x)
{
	bool before = w->denied_before;

	w->denied_before = e->site_count - x->lasting < e->quorum->majority;
	return w->denied_before && (before || x->status != LEASH_DENIED);
}

/* Who only tries waits, within the time for one answer, for connections, and for nothing else. */
static bool
may_go_on(const struct lsh_engine *e, struct lsh_waiter *w, const struct excuses *x)
{
	if (is_hopeless(e, w, x))
		return false;
	return !w->tries || (e->site_count - x->count < e->quorum->majority && e->site_count - (x->count - x->down) >= e->quorum->majority);
}

/* The waiter's time is over in the middle of a round, which says nothing then: others had the lock a round ago. */
static bool
is_cut_short(const struct lsh_waiter *w, const struct lsh_ballot *b, int64_t now)
{
	return w->rounds > 0 && w->refused && now >= b->limit && b->limit >= w->deadline;
}

void
lsh_round_blame(struct lsh_lock *lock, struct lsh_waiter *w, const struct lsh_line *line)
{
	struct lsh_engine *e = lock->engine;
	const struct lsh_waiter *first = lsh_line_first(line);
	const struct lsh_tenure *t = line->tenure;
	struct excuses x;

	if (lock->hold != NULL) {
		w->trouble = LEASH_TIMEOUT;
	} else if (first != NULL && first != w && first->answered) {
		lsh_waiter_blame(w, first->trouble, first->trouble_errno, first->trouble_text); /* that one spoke for both */
	} else if (t != NULL && is_cut_short(w, t->ballot, lsh_now_ns())) {
		w->trouble = LEASH_TIMEOUT;
	} else if (t != NULL || w->rounds == 0) {
		gather(e, t != NULL ? t->ballot : NULL, true, w->hold != NULL ? w->hold->terms.restart_guard_ms : 0, lsh_now_ns(), &x);
		blame(e, w, &x);
	} /* else what the last round came to */
}

leash_status
lsh_round_excuse(const struct lsh_tenure *t, int *sys_errno, char *text, size_t size)
{
	struct lsh_engine *e = t->lock->engine;
	struct excuses x;

	gather(e, t->ballot, true, t->ballot->guard_ms, lsh_now_ns(), &x);
	if (x.count > 0)
		lsh_quorum_say(text, size, x.count, e->site_count, "could not be asked", x.text);
	else
		snprintf(text, size, "the answers came too late to count");
	*sys_errno = x.sys_errno;
	return x.status;
}

/* How long the round took that ended now, for the pauses after it. One that went on past its limit was not a long one: this process stood
 * still meanwhile, or its machine was suspended, and nobody else was in its way for so long. */
static int64_t
length_of(const struct lsh_ballot *b, int64_t now)
{
	return (now < b->limit ? now : b->limit) - b->began;
}

/* ---- turns ---- */

/* Those who lost a round rest, and one who asks right behind its own release would be before them for ever. So after a turn it rests as
 * they do, where others were in its way a while ago. Who always wins sees none: with threads that wait here still it rests after some turns
 * all the same, to find out. */
void
lsh_round_let_others(struct lsh_lock *lock, const struct lsh_tenure *t)
{
	enum { MEMORY_MS = 5000, TURN_MS = 4, TURNS = 16 }; /* several short holds in a row are one turn */
	int64_t now = lsh_now_ns(), round = t->ballot->began > 0 ? length_of(t->ballot, t->turn_began) : 0; /* 0: it was adopted */
	bool waits = !lsh_list_empty(&lock->plain.waiters), contended = lock->contended_at > 0 && now - lock->contended_at < MEMORY_MS * LSH_MS;

	if (now < lsh_after_ms(lock->rests_until, TURN_MS))
		return;
	if (contended || (waits && ++lock->turns % TURNS == 0))
		lock->rests_until = lsh_after(now, lsh_quorum_pause(round, 1, lsh_random32()));
}

/* Whose time is so short that it would be over asks nevertheless. */
static int64_t
rests_until(const struct lsh_lock *lock, const struct lsh_waiter *w)
{
	if (w->tries || lock->rests_until <= w->rests_until || lock->rests_until >= w->deadline)
		return w->rests_until;
	return lock->rests_until;
}

/* ---- a round ---- */

bool
lsh_round_is_on(const struct lsh_tenure *t, const struct lsh_terms *terms)
{
	return t->lease_ms == lsh_tenure_lease_ms(terms) && t->ballot->guard_ms == terms->restart_guard_ms;
}

static int64_t
lapses_at(const struct lsh_tenure *t, int64_t now)
{
	const struct lsh_ballot *b = t->ballot;
	int64_t ttls[LSH_QUORUM_MAX], lapses_ms;
	unsigned votes = 0;
	size_t refusals = 0;

	for (size_t i = 0; i < b->count; i++) {
		votes += b->legs[i].valid_until > 0;
		if (b->legs[i].phase == LSH_LEG_REFUSED)
			ttls[refusals++] = b->legs[i].ttl_ms;
	}
	lapses_ms = lsh_quorum_lapses_ms(ttls, refusals, votes, t->lock->engine->quorum->majority);
	return lapses_ms < 0 ? LSH_NEVER : lsh_after_ms(now, lapses_ms + 1);
}

void
lsh_round_lost(struct lsh_tenure *t)
{
	struct lsh_engine *e = t->lock->engine;
	struct lsh_waiter *w = lsh_line_first(t->line);
	int64_t now = lsh_now_ns(), lapses = lapses_at(t, now);
	struct excuses x;

	gather(e, t->ballot, now >= t->ballot->limit, t->ballot->guard_ms, now, &x);
	if (!is_cut_short(w, t->ballot, now))
		blame(e, w, &x);
	if (w->refused)
		t->lock->contended_at = now;
	w->hopeless = !may_go_on(e, w, &x);
	w->rounds++;
	w->rests_until = lsh_after(now, lsh_quorum_pause(length_of(t->ballot, now), w->rounds, lsh_random32()));
	if (lapses < w->rests_until)
		w->rests_until = lapses;
	lsh_tenure_end(t);
	lsh_waiter_wake(w);
}

/* Nobody can be asked, or too few of them count: see what the connections bring. */
static enum lsh_asked
rest(struct lsh_lock *lock, struct lsh_waiter *w, const struct excuses *x, int64_t now)
{
	struct lsh_engine *e = lock->engine;

	blame(e, w, x);
	if (!may_go_on(e, w, x))
		return LSH_ASK_FAILED;
	lsh_waiter_sleep(w, lsh_after(now, lsh_quorum_pause(0, 16, lsh_random32())));
	return LSH_LOOK_AGAIN;
}

static enum lsh_asked
begin(struct lsh_lock *lock, struct lsh_waiter *w)
{
	struct lsh_engine *e = lock->engine;
	struct lsh_tenure *t;
	int64_t now = lsh_now_ns(), limit = lsh_after(now, e->options.timeout);
	struct excuses x;

	gather(e, NULL, false, w->hold->terms.restart_guard_ms, now, &x);
	if (e->site_count - x.count < e->quorum->majority)
		return rest(lock, w, &x, now);
	t = lsh_tenure_new(lock, &w->hold->terms);
	if (t == NULL) {
		lsh_waiter_blame(w, LEASH_NO_MEMORY, ENOMEM, "out of memory");
		return LSH_ASK_FAILED;
	}
	w->line->tenure = t;
	t->line = w->line;
	t->phase = LSH_ASKING;
	t->ballot->began = now;
	t->ballot->guard_ms = w->hold->terms.restart_guard_ms;
	t->ballot->limit = limit < w->deadline ? limit : w->deadline;
	t->ballot->proposal = lsh_quorum_propose(e->quorum);
	lsh_tenure_retain(&t->timer);
	lsh_ballot_send(t);
	pthread_mutex_unlock(&lock->mutex);
	lsh_ballot_flush(e);
	pthread_mutex_lock(&lock->mutex);
	lsh_tenure_unref(t);
	return LSH_LOOK_AGAIN;
}

enum lsh_asked
lsh_round_drive(struct lsh_lock *lock, struct lsh_waiter *w)
{
	struct lsh_tenure *t = w->line->tenure;

	/* somebody else's round: how its votes count, and for how long, was by that one's terms */
	if (t != NULL && !lsh_round_is_on(t, &w->hold->terms)) {
		lsh_tenure_end(t);
		t = NULL;
	}
	if (t != NULL && lsh_now_ns() >= t->ballot->limit) {
		lsh_round_lost(t);
		t = NULL;
	}
	if (t != NULL) {
		lsh_waiter_sleep(w, t->ballot->limit);
		return LSH_LOOK_AGAIN;
	}
	if (w->hopeless)
		return LSH_ASK_FAILED;
	if (lsh_now_ns() < rests_until(lock, w)) {
		lsh_waiter_sleep(w, rests_until(lock, w));
		return LSH_LOOK_AGAIN;
	}
	return begin(lock, w);
}
