/* Canvasses: what a caller asks of all servers of a quorum and waits for: a release, an extension, who has the lock, taking it from whoever
 * has it, and going on with what another client got. Each is over as soon as a majority has said enough. */
#include "lock/quorum.h"

#include "base/error.h"
#include "redis/fault.h"
#include "watchdog/pace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Sleep until an answer has come, or `deadline`. lock->mutex held; released meanwhile, so flush what was appended. */
static void
await_answer(struct lsh_lock *lock, struct lsh_thread *self, int64_t deadline)
{
	pthread_mutex_unlock(&lock->mutex);
	lsh_ballot_flush(lock->engine);
	lsh_park(&self->parker, deadline);
	pthread_mutex_lock(&lock->mutex);
}

/* Why the servers have not answered of which that was wanted: `n` of them. */
static leash_status
explain(const struct lsh_tenure *t, unsigned n, int *sys_errno, char *text, size_t size)
{
	const struct lsh_ballot *b = t->ballot;
	leash_status status = LEASH_UNAVAILABLE;
	char why[200];

	*sys_errno = 0;
	snprintf(why, sizeof why, "no answer in time");
	if (b->trouble != LEASH_OK) {
		status = b->trouble;
		snprintf(why, sizeof why, "%s", b->trouble_text);
	} else {
		for (size_t i = 0; i < b->count; i++)
			if (!lsh_node_is_up(b->legs[i].site->node)) {
				status = lsh_node_trouble(b->legs[i].site->node, why, sizeof why, sys_errno);
				break;
			}
	}
	lsh_quorum_say(text, size, n, b->count, "did not answer", why);
	return status;
}

/* There was no connection, or it was lost before an answer came: it is asked again over a new one. */
static bool
is_away(const struct lsh_leg *leg)
{
	struct lsh_node *node = leg->site->node;

	return leg->trouble == LEASH_OK && (!lsh_node_is_up(node) || lsh_pipe_epoch(lsh_node_pipe(node)) != leg->tried_epoch);
}

/* ---- cancels ---- */

struct votes {
	unsigned released, gone; /* by the servers' answers; gone too where there never was one */
	unsigned open;           /* may answer yet */
};

static struct votes
votes_of(const struct lsh_ballot *b)
{
	struct votes votes = {0};

	for (size_t i = 0; i < b->count; i++) {
		const struct lsh_leg *leg = &b->legs[i];

		votes.released += leg->answer == LSH_RELEASED;
		votes.gone += leg->answer == LSH_NOT_THERE || (leg->answer == LSH_NO_ANSWER && leg->phase == LSH_LEG_ENDED);
		votes.open += leg->answer == LSH_NO_ANSWER && leg->phase == LSH_LEG_ENDING;
	}
	return votes;
}

/* Has each server that is open refused already? What may mend that comes too late for whoever waits. */
static bool
is_refused(const struct lsh_ballot *b)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->legs[i].answer == LSH_NO_ANSWER && b->legs[i].phase == LSH_LEG_ENDING && b->legs[i].trouble == LEASH_OK)
			return false;
	return true;
}

static void
end(struct lsh_lock *lock, struct lsh_tenure *t, struct lsh_watcher *watcher)
{
	lsh_ballot_watch(t->ballot, watcher);
	t->ballot->trouble = LEASH_OK;
	for (size_t i = 0; i < t->ballot->count; i++)
		t->ballot->legs[i].trouble = LEASH_OK;
	lsh_ballot_end(t);
	lsh_ballot_send(t);
	lsh_lock_wake(lock); /* its asks go out behind the cancels */
}

leash_status
lsh_canvass_release(struct lsh_lock *lock, struct lsh_tenure *t, struct lsh_thread *self, leash_error *err)
{
	struct lsh_engine *e = lock->engine;
	unsigned majority = e->quorum->majority;
	int64_t deadline = lsh_after(lsh_now_ns(), 2 * e->options.timeout);
	leash_status status = LEASH_OK, why;
	struct lsh_watcher watcher = {.thread = self};
	struct votes votes;
	char text[200];
	int sys_errno;

	lsh_round_let_others(lock, t);
	end(lock, t, &watcher);
	for (;;) {
		votes = votes_of(t->ballot);
		if (votes.released >= majority || votes.released + votes.open < majority)
			break;
		if (lsh_now_ns() >= deadline || is_refused(t->ballot))
			break;
		await_answer(lock, self, deadline);
	}
	lsh_ballot_unwatch(t->ballot, &watcher);
	if (votes.released + votes.open < majority) {
		status = lsh_fail(err, LEASH_LOST, 0, "lock '%s': it was lost: only %u of %zu servers still had it", lock->shown, votes.released, t->ballot->count);
	} else if (votes.released < majority) {
		why = explain(t, votes.open, &sys_errno, text, sizeof text);
		status = lsh_fail(err, why == LEASH_DENIED ? why : LEASH_UNKNOWN, sys_errno,
		                  "lock '%s': not known whether it is released, it ends with its lease at the latest: %s", lock->shown, text);
	}
	lsh_tenure_unref(t);
	return status;
}

leash_status
lsh_canvass_take(struct lsh_lock *lock, struct lsh_tenure *t, struct lsh_thread *self, leash_error *err)
{
	struct lsh_engine *e = lock->engine;
	unsigned majority = e->quorum->majority;
	int64_t deadline = lsh_after(lsh_now_ns(), 2 * e->options.timeout);
	leash_status status = LEASH_OK;
	struct lsh_watcher watcher = {.thread = self};
	struct votes votes;
	char text[200];
	int sys_errno;

	/* wherever it may be: the keepers go on with what does not answer now */
	t->asked = true;
	for (size_t i = 0; i < t->ballot->count; i++)
		t->ballot->legs[i].asked = true;
	end(lock, t, &watcher);
	for (;;) {
		votes = votes_of(t->ballot);
		if (votes.released + votes.gone >= majority || lsh_now_ns() >= deadline || is_refused(t->ballot))
			break;
		await_answer(lock, self, deadline);
	}
	lsh_ballot_unwatch(t->ballot, &watcher);
	if (votes.released + votes.gone < majority) {
		status = explain(t, votes.open, &sys_errno, text, sizeof text);
		status = lsh_fail(err, status == LEASH_DENIED ? status : LEASH_UNKNOWN, sys_errno, "lock '%s': not known whether it is broken: %s", lock->shown,
		                  text);
	}
	return status;
}

/* ---- extensions ---- */

/* Votes that last for `ms` from `since` on, or longer; and those that still may. */
static unsigned
extended(const struct lsh_ballot *b, int64_t since, int64_t ms, unsigned *pending)
{
	unsigned n = 0;

	*pending = 0;
	for (size_t i = 0; i < b->count; i++) {
		const struct lsh_leg *leg = &b->legs[i];

		n += leg->valid_until > 0 && leg->kept_at >= since && leg->kept_ms >= ms;
		*pending += leg->way.out || leg->tried_at < since || (leg->phase == LSH_LEG_HELD && leg->failing && is_away(leg));
	}
	return n;
}

leash_status
lsh_canvass_extend(struct lsh_lock *lock, struct lsh_hold *hold, int64_t lease_ms, struct lsh_thread *self, leash_error *err)
{
	struct lsh_engine *e = lock->engine;
	uint64_t owner = hold->owner->id;
	struct lsh_tenure *t = hold->tenure;
	struct lsh_ballot *b = t->ballot;
	int64_t now = lsh_now_ns(), look = now + hold->terms.lease_ms * LSH_MS / 4, deadline = lsh_after(now, 2 * e->options.timeout);
	struct lsh_watcher watcher = {.thread = self};
	unsigned n, pending;
	leash_status status = LEASH_OK;
	char text[200];
	int sys_errno;

	if (hold->ends_at != LSH_NEVER && hold->ends_at - now < LSH_MS)
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': max_hold_ms leaves nothing to extend", lock->shown);
	if (hold->ends_at != LSH_NEVER && hold->ends_at - now < lease_ms * LSH_MS)
		lease_ms = (hold->ends_at - now) / LSH_MS;
	lsh_tenure_retain(&t->timer);
	watcher.extend_ms = lease_ms;
	lsh_ballot_watch(b, &watcher);
	b->trouble = LEASH_OK;
	t->wanted_at = now;
	lsh_tenure_arm(t, look < t->valid_until ? look : t->valid_until, 0);
	b->round_at = now;
	lsh_ballot_send(t);
	for (;;) {
		n = extended(b, now, lease_ms, &pending);
		if (!lsh_hold_is_still(lock, hold, t) || n >= e->quorum->majority || n + pending < e->quorum->majority || lsh_now_ns() >= deadline)
			break;
		await_answer(lock, self, deadline < t->valid_until ? deadline : t->valid_until);
		if (lsh_hold_is_still(lock, hold, t) && lsh_now_ns() >= t->valid_until)
			lsh_hold_lose(lock, "its lease ran out");
	}
	lsh_ballot_unwatch(b, &watcher);
	if (!lsh_hold_is_still(lock, hold, t)) {
		status = lsh_hold_gone(lock, owner, err);
	} else if (n < e->quorum->majority) {
		status = explain(t, (unsigned)b->count - n, &sys_errno, text, sizeof text);
		status = lsh_fail(err, status == LEASH_DENIED ? status : LEASH_UNAVAILABLE, sys_errno, "lock '%s': not extended: %s", lock->shown, text);
	}
	lsh_tenure_unref(t);
	return status;
}

/* ---- questions ---- */

/* Put what is new in the ballot to all servers: also to those that are connected later. */
static void
question_begin(struct lsh_tenure *t, struct lsh_watcher *watcher)
{
	struct lsh_ballot *b = t->ballot;

	lsh_ballot_watch(b, watcher);
	lsh_list_append(&t->lock->questions, &b->question_link);
	b->looks = true;
	b->round_at = lsh_now_ns();
}

/* Nobody awaits its answers any more. */
static void
question_over(struct lsh_tenure *t, struct lsh_watcher *watcher)
{
	lsh_ballot_unwatch(t->ballot, watcher);
	lsh_list_remove(&t->ballot->question_link);
	t->ballot->looks = t->ballot->keeps = false;
}

/* A question of its own, with the tenure that carries it; the answers are in its legs. NULL: no memory. */
static struct lsh_tenure *
question_new(struct lsh_lock *lock, struct lsh_watcher *watcher)
{
	static const struct lsh_terms any = {.lease_ms = 1000};
	struct lsh_tenure *t = lsh_tenure_new(lock, &any);

	if (t == NULL)
		return NULL;
	question_begin(t, watcher);
	return t;
}

static void
question_end(struct lsh_tenure *t, struct lsh_watcher *watcher)
{
	question_over(t, watcher);
	lsh_tenure_end(t);
}

/* May the server answer yet? One that was not connected before the question was put may be a moment later. */
static bool
is_pending(const struct lsh_leg *leg)
{
	if (leg->way.out || leg->tried_at == 0)
		return true;
	return leg->phase == LSH_LEG_FAILED && leg->trouble == LEASH_OK && !lsh_node_has_tried(leg->site->node);
}

/* Sleep until an answer has come, or `deadline`; but whether a first attempt to connect has failed, nobody says. */
static void
await_opinion(struct lsh_lock *lock, const struct lsh_ballot *b, struct lsh_thread *self, int64_t deadline)
{
	int64_t look = lsh_after_ms(lsh_now_ns(), 10);

	for (size_t i = 0; i < b->count && look < deadline; i++)
		if (!b->legs[i].way.out && is_pending(&b->legs[i]))
			deadline = look;
	await_answer(lock, self, deadline);
}

static const struct lsh_reply *
answer_of(const struct lsh_leg *leg)
{
	return leg->phase == LSH_LEG_HELD && !leg->way.out ? &leg->way.ticket.reply : NULL;
}

/* What the servers have said so far. */
struct opinion {
	unsigned answered, pending, nonsense;
	unsigned away;  /* of the others: may answer once there is a connection again */
	unsigned agree; /* that the lock is its holder's: as many as agree on any one */
	leash_lock_info info;
};

static void
form_opinion(const struct lsh_ballot *b, unsigned majority, struct opinion *o)
{
	leash_lock_info infos[LSH_QUORUM_MAX] = {0};

	*o = (struct opinion){0};
	for (size_t i = 0; i < b->count; i++) {
		const struct lsh_reply *reply = answer_of(&b->legs[i]);

		if (is_pending(&b->legs[i]))
			o->pending++;
		else
			o->away += b->legs[i].phase == LSH_LEG_FAILED && is_away(&b->legs[i]);
		if (reply == NULL)
			continue;
		if (reply->type == LSH_STRING && lsh_lock_line_read(reply->text, strlen(reply->text), &infos[i]))
			o->answered++;
		else
			o->nonsense++;
		if (infos[i].fence > o->info.fence)
			o->info.fence = infos[i].fence;
	}
	o->agree = lsh_quorum_agree(infos, b->count, majority, &o->info);
}

/* When one has a majority, or nobody can have, enough is known; what most servers cannot say yet is waited for. */
static bool
is_formed(const struct opinion *o, unsigned majority)
{
	if (o->agree >= majority)
		return true;
	if (o->answered >= majority)
		return o->agree + o->pending < majority;
	return o->answered + o->pending + o->away < majority;
}

leash_status
lsh_canvass_look(struct lsh_lock *lock, int64_t deadline, struct lsh_thread *self, leash_lock_info *info, leash_error *err)
{
	struct lsh_engine *e = lock->engine;
	unsigned majority = e->quorum->majority;
	struct lsh_watcher watcher = {.thread = self};
	struct lsh_tenure *t = question_new(lock, &watcher);
	struct opinion o;
	leash_status status;
	char text[200];
	int sys_errno;

	if (t == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	lsh_ballot_send(t);
	for (;;) {
		form_opinion(t->ballot, majority, &o);
		if (is_formed(&o, majority) || lsh_now_ns() >= deadline || atomic_load(&e->closing))
			break;
		await_opinion(lock, t->ballot, self, deadline);
	}
	if (atomic_load(&e->closing)) {
		status = lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", lock->shown);
	} else if (o.agree < majority && o.answered < majority) {
		status = o.nonsense > 0 ? LEASH_PROTOCOL : explain(t, (unsigned)t->ballot->count - o.answered, &sys_errno, text, sizeof text);
		if (o.nonsense > 0)
			status = lsh_fail(err, status, 0, "lock '%s': not known who has it: the answers are not what Redis servers say to a script", lock->shown);
		else
			status = lsh_fail(err, status, sys_errno, "lock '%s': not known who has it: %s", lock->shown, text);
	} else {
		uint64_t fence = o.info.fence;
		size_t size = info->size;

		if (o.agree < majority) {
			o.info = (leash_lock_info){.fence = fence}; /* single votes make no holder */
		}
		*info = o.info;
		info->size = size;
		info->held_since_ms = info->held ? (int64_t)(info->fence / 256 / 1000) : 0;
		info->waiting = 0; /* who waits is known to nobody but to those who do */
		info->no_queue = true;
		strcpy(info->name, lock->name);
		status = LEASH_OK;
	}
	question_end(t, &watcher);
	return status;
}

void
lsh_canvass_who(struct lsh_lock *lock, int64_t deadline, struct lsh_thread *self, leash_party *party)
{
	struct lsh_watcher watcher = {.thread = self};
	struct lsh_tenure *t = question_new(lock, &watcher);
	bool known = false, pending = true;

	if (t == NULL)
		return;
	t->ballot->asks_who = true;
	t->token_size = strlen(party->token);
	memcpy(t->token, party->token, t->token_size + 1);
	lsh_ballot_send(t);
	while (!known && pending) {
		pending = false;
		for (size_t i = 0; i < t->ballot->count && !known; i++) {
			const struct lsh_reply *reply = answer_of(&t->ballot->legs[i]);

			pending |= is_pending(&t->ballot->legs[i]);
			known = reply != NULL && reply->type == LSH_STRING && lsh_party_read(reply->text, strlen(reply->text), party);
		}
		if (known || !pending || lsh_now_ns() >= deadline || atomic_load(&lock->engine->closing))
			break;
		await_opinion(lock, t->ballot, self, deadline);
	}
	question_end(t, &watcher);
}

/* ---- what another client got ---- */

/* Of what the servers have said so far. */
struct keeping {
	unsigned votes;    /* that count, and last still */
	unsigned refusals; /* by servers that count */
	unsigned pending;  /* may answer yet, or are to hear of a larger fence */
	unsigned away;     /* may come back */
	unsigned knowing;  /* of the votes: servers that know `fence` */
	int64_t fence;     /* that a majority of the servers knows; or the largest */
	const struct lsh_leg *nth; /* the majority-th to end, where there are so many */
};

static void
count_fences(const struct lsh_ballot *b, int64_t now, unsigned majority, struct keeping *k)
{
	for (size_t i = 0; i < b->count && k->knowing < majority; i++) {
		int64_t fence = b->legs[i].fence;
		unsigned knowing = 0;

		for (size_t j = 0; j < b->count; j++)
			knowing += b->legs[j].valid_until > now && b->legs[j].fence == fence;
		if (knowing >= majority || fence > k->fence) {
			k->fence = fence;
			k->knowing = knowing;
		}
	}
}

static struct keeping
count_kept(const struct lsh_tenure *t, unsigned majority)
{
	const struct lsh_ballot *b = t->ballot;
	int64_t valid[LSH_QUORUM_MAX], now = lsh_now_ns(), nth;
	struct keeping k = {0};

	for (size_t i = 0; i < b->count; i++) {
		const struct lsh_leg *leg = &b->legs[i];

		valid[i] = leg->valid_until;
		k.votes += leg->valid_until > now;
		k.refusals += leg->phase == LSH_LEG_REFUSED && lsh_quorum_counts(leg->site, b->guard_ms, now);
		k.pending += is_pending(leg) || (leg->phase == LSH_LEG_HELD && leg->fence < b->fence && !leg->mute);
		k.away += !is_pending(leg) && leg->phase == LSH_LEG_FAILED && is_away(leg);
	}
	count_fences(b, now, majority, &k);
	nth = lsh_quorum_nth_largest(valid, b->count, majority);
	for (size_t i = 0; i < b->count && k.votes >= majority; i++)
		if (b->legs[i].valid_until == nth)
			k.nth = &b->legs[i];
	return k;
}

/* They do not agree on the fence: the largest it is, and a majority is to know that first. False: that was tried. */
static bool
raise_fence(struct lsh_tenure *t, const struct keeping *k)
{
	if (t->ballot->fence >= k->fence)
		return false;
	t->ballot->fence = k->fence;
	lsh_ballot_send(t);
	return true;
}

static leash_status
not_kept(struct lsh_lock *lock, const struct lsh_tenure *t, const struct keeping *k, leash_error *err)
{
	struct lsh_engine *e = lock->engine;
	leash_status status;
	char text[200];
	int sys_errno;

	if (atomic_load(&e->closing))
		return lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", lock->shown);
	if (k->refusals + e->quorum->majority > t->ballot->count)
		return lsh_fail(err, LEASH_NOT_HELD, 0, "lock '%s': nobody holds it by that token: %u of %zu servers do not have it", lock->shown, k->refusals,
		                t->ballot->count);
	status = lsh_round_excuse(t, &sys_errno, text, sizeof text);
	return lsh_fail(err, status, sys_errno, "lock '%s': not adopted: %s", lock->shown, text);
}

leash_status
lsh_canvass_keep(struct lsh_lock *lock, struct lsh_tenure *t, int64_t guard_ms, struct lsh_thread *self, struct lsh_kept *kept, leash_error *err)
{
	struct lsh_engine *e = lock->engine;
	unsigned majority = e->quorum->majority;
	int64_t deadline = lsh_after(lsh_now_ns(), 2 * e->options.timeout);
	struct lsh_watcher watcher = {.thread = self};
	leash_status status = LEASH_OK;
	struct keeping k;

	question_begin(t, &watcher);
	t->ballot->keeps = true;
	t->ballot->guard_ms = guard_ms;
	t->ballot->proposal = lsh_quorum_propose(e->quorum);
	lsh_ballot_send(t);
	for (;;) {
		k = count_kept(t, majority);
		if (k.knowing >= majority || k.refusals + majority > t->ballot->count || lsh_now_ns() >= deadline || atomic_load(&e->closing))
			break;
		/* the fence is raised among those who are there; whether there is a majority depends on the others, too */
		if (k.pending == 0 && (k.votes < majority ? k.away == 0 : !raise_fence(t, &k)))
			break;
		await_opinion(lock, t->ballot, self, deadline);
	}
	question_over(t, &watcher);
	if (k.knowing >= majority && !atomic_load(&e->closing)) {
		*kept = (struct lsh_kept){k.fence, k.nth->sent, k.nth->renewed_ms};
		t->ballot->proposal = k.fence; /* whoever is asked later is to know it */
		t->ballot->fence = 0;
		/* wherever it may be: its release goes to all */
		for (size_t i = 0; i < t->ballot->count; i++)
			t->ballot->legs[i].asked = true;
	} else {
		status = not_kept(lock, t, &k, err);
	}
	return status;
}
