/* Canvasses: what a caller asks of all servers of a quorum and waits for: a release, an extension, who has the lock, and taking it from
 * whoever has it. Each is over as soon as a majority has said enough. */
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
end(struct lsh_lock *lock, struct lsh_tenure *t, struct lsh_thread *self)
{
	t->ballot->watcher = self;
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
	struct votes votes;
	char text[200];
	int sys_errno;

	end(lock, t, self);
	for (;;) {
		votes = votes_of(t->ballot);
		if (votes.released >= majority || votes.released + votes.open < majority)
			break;
		if (lsh_now_ns() >= deadline || is_refused(t->ballot))
			break;
		await_answer(lock, self, deadline);
	}
	t->ballot->watcher = NULL;
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
	struct votes votes;
	char text[200];
	int sys_errno;

	/* wherever it may be: the keepers go on with what does not answer now */
	t->asked = true;
	for (size_t i = 0; i < t->ballot->count; i++)
		t->ballot->legs[i].asked = true;
	end(lock, t, self);
	for (;;) {
		votes = votes_of(t->ballot);
		if (votes.released + votes.gone >= majority || lsh_now_ns() >= deadline || is_refused(t->ballot))
			break;
		await_answer(lock, self, deadline);
	}
	t->ballot->watcher = NULL;
	if (votes.released + votes.gone < majority) {
		status = explain(t, votes.open, &sys_errno, text, sizeof text);
		status = lsh_fail(err, status == LEASH_DENIED ? status : LEASH_UNKNOWN, sys_errno, "lock '%s': not known whether it is broken: %s", lock->shown,
		                  text);
	}
	return status;
}

/* ---- extensions ---- */

static unsigned
extended(const struct lsh_ballot *b, int64_t since, unsigned *pending)
{
	unsigned n = 0;

	*pending = 0;
	for (size_t i = 0; i < b->count; i++) {
		n += b->legs[i].valid_until > 0 && b->legs[i].kept_at >= since && b->legs[i].kept_ms >= b->extend_ms;
		*pending += b->legs[i].way.out || b->legs[i].tried_at < since;
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
	unsigned n, pending;
	leash_status status = LEASH_OK;
	char text[200];
	int sys_errno;

	if (hold->ends_at != LSH_NEVER && hold->ends_at - now < LSH_MS)
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': max_hold_ms leaves nothing to extend", lock->shown);
	if (hold->ends_at != LSH_NEVER && hold->ends_at - now < lease_ms * LSH_MS)
		lease_ms = (hold->ends_at - now) / LSH_MS;
	lsh_tenure_retain(&t->timer);
	b->watcher = self;
	b->extend_ms = lease_ms;
	b->trouble = LEASH_OK;
	t->wanted_at = now;
	lsh_tenure_arm(t, look < t->valid_until ? look : t->valid_until, 0);
	b->round_at = now;
	lsh_ballot_send(t);
	for (;;) {
		n = extended(b, now, &pending);
		if (lock->hold != hold || n >= e->quorum->majority || pending == 0 || lsh_now_ns() >= deadline)
			break;
		await_answer(lock, self, deadline < t->valid_until ? deadline : t->valid_until);
		if (lock->hold == hold && lsh_now_ns() >= t->valid_until)
			lsh_hold_lose(lock, "its lease ran out");
	}
	b->watcher = NULL;
	b->extend_ms = 0;
	if (lock->hold != hold && lsh_hold_of(lock, owner) == NULL) {
		status = lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", lock->shown);
	} else if (lock->hold != hold) {
		status = lsh_fail(err, LEASH_LOST, 0, "lock '%s': it was lost while it was held", lock->shown);
	} else if (n < e->quorum->majority) {
		status = explain(t, (unsigned)b->count - n, &sys_errno, text, sizeof text);
		status = lsh_fail(err, status == LEASH_DENIED ? status : LEASH_UNAVAILABLE, sys_errno, "lock '%s': not extended: %s", lock->shown, text);
	}
	lsh_tenure_unref(t);
	return status;
}

/* ---- questions ---- */

/* A question to all servers, with the tenure that carries it; the answers are in its legs. NULL: no memory. */
static struct lsh_tenure *
question_new(struct lsh_lock *lock, struct lsh_thread *self)
{
	static const struct lsh_terms any = {.lease_ms = 1000};
	struct lsh_tenure *t = lsh_tenure_new(lock, &any);

	if (t == NULL)
		return NULL;
	t->ballot->watcher = self;
	t->ballot->looks = true;
	t->ballot->round_at = lsh_now_ns();
	return t;
}

static void
question_end(struct lsh_tenure *t)
{
	t->ballot->watcher = NULL;
	lsh_tenure_end(t);
}

static const struct lsh_reply *
answer_of(const struct lsh_leg *leg)
{
	return leg->phase == LSH_LEG_HELD && !leg->way.out ? &leg->way.ticket.reply : NULL;
}

/* What the servers have said so far. */
struct opinion {
	unsigned answered, pending, nonsense;
	unsigned agree; /* that the lock is its holder's: as many as agree on any one */
	leash_lock_info info;
};

static void
hear_opinion(const struct lsh_ballot *b, const leash_lock_info *infos, struct opinion *o)
{
	for (size_t i = 0; i < b->count; i++) {
		leash_lock_info info = infos[i];
		unsigned agree = 0;

		for (size_t j = 0; infos[i].held && j < b->count; j++) {
			if (!infos[j].held || strcmp(infos[i].holder.token, infos[j].holder.token) != 0)
				continue;
			agree++;
			if (infos[j].remaining_ms >= 0 && (info.remaining_ms < 0 || infos[j].remaining_ms < info.remaining_ms))
				info.remaining_ms = infos[j].remaining_ms;
			if (infos[j].fence > info.fence)
				info.fence = infos[j].fence;
			if (infos[j].depth > info.depth)
				info.depth = infos[j].depth;
		}
		if (agree > o->agree) {
			o->agree = agree;
			o->info = info;
		}
	}
}

static void
form_opinion(const struct lsh_ballot *b, struct opinion *o)
{
	leash_lock_info infos[LSH_QUORUM_MAX] = {0};

	*o = (struct opinion){0};
	for (size_t i = 0; i < b->count; i++) {
		const struct lsh_reply *reply = answer_of(&b->legs[i]);

		o->pending += b->legs[i].phase == LSH_LEG_NEW || b->legs[i].way.out;
		if (reply == NULL)
			continue;
		if (reply->type == LSH_STRING && lsh_lock_line_read(reply->text, strlen(reply->text), &infos[i]))
			o->answered++;
		else
			o->nonsense++;
		if (infos[i].fence > o->info.fence)
			o->info.fence = infos[i].fence;
	}
	hear_opinion(b, infos, o);
}

leash_status
lsh_canvass_look(struct lsh_lock *lock, int64_t deadline, struct lsh_thread *self, leash_lock_info *info, leash_error *err)
{
	struct lsh_engine *e = lock->engine;
	unsigned majority = e->quorum->majority;
	struct lsh_tenure *t = question_new(lock, self);
	struct opinion o;
	leash_status status;
	char text[200];
	int sys_errno;

	if (t == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	lsh_ballot_send(t);
	for (;;) {
		form_opinion(t->ballot, &o);
		/* enough is known when one has a majority, or nobody can have */
		if (o.agree >= majority || o.pending == 0 || (o.answered >= majority && o.agree + o.pending < majority))
			break;
		if (lsh_now_ns() >= deadline || atomic_load(&e->closing))
			break;
		await_answer(lock, self, deadline);
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
		strcpy(info->name, lock->name);
		status = LEASH_OK;
	}
	question_end(t);
	return status;
}

void
lsh_canvass_who(struct lsh_lock *lock, int64_t deadline, struct lsh_thread *self, leash_party *party)
{
	struct lsh_tenure *t = question_new(lock, self);
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

			pending |= t->ballot->legs[i].phase == LSH_LEG_NEW || t->ballot->legs[i].way.out;
			known = reply != NULL && reply->type == LSH_STRING && lsh_party_read(reply->text, strlen(reply->text), party);
		}
		if (known || !pending || lsh_now_ns() >= deadline || atomic_load(&lock->engine->closing))
			break;
		await_answer(lock, self, deadline);
	}
	question_end(t);
}
