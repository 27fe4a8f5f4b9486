/* Confirming, as holds and callers see it: who waits for replicas, what is asked for on whose behalf, and what follows from the answers.
 * What sends the steps and counts who acknowledged them is a confirmer (confirmer.c).
 *
 *   hold        UNCONFIRMED --acknowledged--> HELD, valid from before the step was sent; now its owner, and nobody before, is told
 *                 |  ^  +--too few--> again, while its caller has time
 *                 |  +--no answer, or not now--> again a little later, or when there is a connection
 *                 +--its caller gives up: too few in time, canceled, closed; or it is lost--> the tenure ends: canceled, the next one gets it
 *
 *               HELD --acknowledged--> HELD, for longer      HELD --too few, no answer--> JEOPARDY, and again; LOST at its valid-until
 *
 *   tenure      given (by a grant, the watchdog, a caller who extends, a new connection) --> in a confirmer's `work` --> part of its next batch
 *                 +--there is no such confirmer (the lock has moved): to the keeper of its site, which makes one --> given
 *
 * The step's answer alone moves the valid-until of an unconfirmed hold, which says when it is of no more use to wait; never that of a hold
 * whose owner was told. Releases go through the site's own pipe and overtake: a step that comes after one finds nothing and does nothing.
 *
 * Nothing here allocates, or waits for anything but what it says. */
#include "lock/confirm.h"

#include "base/error.h"
#include "lock/confirmer.h"
#include "lock/state.h"
#include "watchdog/pace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- who waits ---- */

static void
wake(struct lsh_confirmation *w, leash_status status)
{
	lsh_list_remove(&w->link);
	w->done = true;
	w->status = status;
	lsh_unpark(&w->thread->parker);
}

void
lsh_confirm_tell(struct lsh_hold *hold, leash_status status, const char *why)
{
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &hold->awaiting) {
		struct lsh_confirmation *w = lsh_container(at, struct lsh_confirmation, link);

		if (why != NULL)
			snprintf(w->text, sizeof w->text, "%s", why);
		wake(w, status);
	}
}

static void
tell_trouble(struct lsh_hold *hold, const struct lsh_confirm_trouble *trouble)
{
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &hold->awaiting) {
		struct lsh_confirmation *w = lsh_container(at, struct lsh_confirmation, link);

		w->counted = false;
		w->status = trouble->status;
		w->sys_errno = trouble->sys_errno;
		memcpy(w->text, trouble->text, sizeof w->text);
		w->hopeless = trouble->is_final;
		if (w->hopeless)
			lsh_unpark(&w->thread->parker);
	}
}

static void
tell_count(struct lsh_hold *hold, const struct lsh_confirm_count *count)
{
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &hold->awaiting) {
		struct lsh_confirmation *w = lsh_container(at, struct lsh_confirmation, link);

		w->counted = true;
		w->acknowledged = count->replicas;
		w->written = count->written;
	}
}

/* What they were waiting for was in the step that was sent at `sent`. */
static void
tell_success(struct lsh_hold *hold, int64_t sent)
{
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &hold->awaiting) {
		struct lsh_confirmation *w = lsh_container(at, struct lsh_confirmation, link);

		if (w->picked != 0 && w->picked <= sent)
			wake(w, LEASH_OK);
	}
}

/* ---- giving ---- */

/* How long replicas may take, in ns. */
static int64_t
time_for(const struct lsh_lock *lock, const struct lsh_terms *terms)
{
	int64_t ms = terms->replicas_ms > 0 ? terms->replicas_ms : lock->engine->options.timeout / LSH_MS;

	return (ms < terms->lease_ms ? ms : terms->lease_ms) * LSH_MS;
}

/* The answer came past valid-until, because this process or the server stood still: it is lost, whatever was answered. */
static bool
is_too_late(struct lsh_lock *lock, const struct lsh_tenure *t, int64_t now)
{
	if (now < t->valid_until)
		return false;
	lock->counts.renewals_failed += lock->hold->confirmed;
	lsh_hold_lose(lock, lock->hold->confirmed ? lsh_hold_why_over(lock->hold, t, now) : "its lease ran out before enough replicas acknowledged it");
	return true;
}

/* It was not acknowledged, and is tried again later, by the watchdog. `now` is before its valid-until. `node` may be NULL. */
static void
put_off(struct lsh_lock *lock, struct lsh_tenure *t, struct lsh_node *node, int64_t now)
{
	int64_t again = lsh_pace_retry(now, ++t->failures, t->valid_until, lsh_random32());

	t->wanted_at = 0;
	lock->counts.renewals_failed += lock->hold->confirmed;
	if (node == NULL || lsh_node_is_up(node))
		lsh_tenure_arm(t, again, (again - now) / 2);
	else
		lsh_tenure_arm(t, t->valid_until, 0); /* all is given again as soon as there is a connection */
}

void
lsh_confirm_failed(struct lsh_tenure *t, struct lsh_node *node, const struct lsh_confirm_trouble *trouble)
{
	struct lsh_lock *lock = t->lock;
	int64_t now = lsh_now_ns();

	if (is_too_late(lock, t, now))
		return;
	tell_trouble(lock->hold, trouble);
	if (lock->hold->confirmed && trouble->event != NULL)
		lsh_hold_endanger(lock, trouble->event);
	put_off(lock, t, trouble->event != NULL ? node : NULL, now); /* if there is to be a connection soon: see whether there is */
}

void
lsh_confirm_give_to(struct lsh_tenure *t, struct lsh_site *site, bool asks)
{
	struct lsh_confirmer *c = lsh_confirmer_find(site, &t->lock->hold->terms);

	if (c == NULL)
		lsh_tenure_give_work_to(t, site, asks); /* whose keeper holds no mutex, and makes one */
	else
		lsh_confirmer_add(c, t, asks);
}

void
lsh_confirm_lacks_means(struct lsh_tenure *t, int e)
{
	struct lsh_confirm_trouble trouble = {.status = LEASH_NO_MEMORY, .sys_errno = e,
	                                      .event = "not renewed for lack of memory, threads or descriptors: trying again"};
	char text[LSH_ERRNO_TEXT];

	snprintf(trouble.text, sizeof trouble.text, "%s", lsh_shortage_text(e, text));
	lsh_confirm_failed(t, NULL, &trouble);
}

void
lsh_confirm_give(struct lsh_tenure *t)
{
	lsh_confirm_give_to(t, lsh_lock_site(t->lock), false);
}

bool
lsh_confirm_prepare_at(struct lsh_site *site, const struct lsh_terms *terms)
{
	return lsh_confirmer_make(site, terms);
}

bool
lsh_confirm_prepare(struct lsh_lock *lock, const struct lsh_terms *terms)
{
	struct lsh_site *site = lsh_lock_site(lock);
	bool made;
	int e;

	if (lsh_confirmer_find(site, terms) != NULL)
		return true;
	lsh_engine_go_in(lock->engine); /* a thread of its keeper may not outlast the client */
	lsh_site_use(site);
	pthread_mutex_unlock(&lock->mutex);
	made = lsh_confirm_prepare_at(site, terms);
	e = errno;
	lsh_site_leave(site);
	pthread_mutex_lock(&lock->mutex);
	lsh_engine_go_out(lock->engine);
	errno = e;
	return made;
}

void
lsh_confirm_begin(struct lsh_lock *lock, int64_t now)
{
	struct lsh_hold *hold = lock->hold;
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &hold->awaiting)
		lsh_container(at, struct lsh_confirmation, link)->until = lsh_after(now, time_for(lock, &hold->terms));
	lsh_tenure_arm(hold->tenure, hold->tenure->valid_until, 0);
	lsh_confirm_give(hold->tenure);
}

/* ---- what is asked for ---- */

/* For how long the step asks; 0: it is not to be sent. */
static int64_t
lease_of(struct lsh_hold *hold, const struct lsh_tenure *t, int64_t now)
{
	int64_t lease_ms = hold->confirmed ? lsh_hold_wants_ms(hold, t, now) : t->lease_ms;
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &hold->awaiting) {
		struct lsh_confirmation *w = lsh_container(at, struct lsh_confirmation, link);

		w->picked = now;
		if (w->lease_ms > lease_ms)
			lease_ms = w->lease_ms;
	}
	if (lease_ms > 0 && hold->ends_at != LSH_NEVER && hold->ends_at - now < lease_ms * LSH_MS)
		lease_ms = hold->ends_at - now >= LSH_MS ? (hold->ends_at - now) / LSH_MS : 1;
	return lease_ms;
}

/* Until when the replicas may take for this step; 0: that is not worth while any more.
 *
 * A caller who is about to give up, having waited for all but the time of an answer, does not count: in one batch with others it would
 * cut their time. Of a hold that is not confirmed nothing remains without its caller; one that is confirmed is renewed all the same. */
static int64_t
limit_of(struct lsh_lock *lock, const struct lsh_hold *hold, int64_t now)
{
	int64_t most = time_for(lock, &hold->terms), share = hold->terms.lease_ms * LSH_MS / 4;
	int64_t limit = hold->confirmed ? lsh_after(now, most < share ? most : share) : LSH_NEVER; /* there is to be time for another one */
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &hold->awaiting) {
		int64_t until = lsh_container(at, struct lsh_confirmation, link)->until;

		if (until < limit && until - now > most / 3)
			limit = until;
	}
	return limit != LSH_NEVER ? limit : 0;
}

bool
lsh_confirm_wants(struct lsh_tenure *t, int64_t now, int64_t *lease_ms, int64_t *limit)
{
	struct lsh_hold *hold = t->lock->hold;

	*limit = limit_of(t->lock, hold, now);
	*lease_ms = lease_of(hold, t, now);
	if (*limit == 0 || *lease_ms == 0 || now >= t->valid_until) {
		t->wanted_at = 0;
		return false;
	}
	if (*lease_ms > t->longest_ms)
		t->longest_ms = *lease_ms;
	return true;
}

/* ---- what was answered ---- */

void
lsh_confirm_stepped(struct lsh_tenure *t, int64_t sent, int64_t lease_ms)
{
	if (t->lock->hold->confirmed)
		return;
	lsh_hold_renewed(t->lock, t, sent, lease_ms * LSH_MS);
	lsh_tenure_arm(t, t->valid_until, 0);
}

/* Enough replicas have it, as it was after the step. */
static void
acknowledged(struct lsh_lock *lock, struct lsh_tenure *t, int64_t sent, int64_t lease_ms)
{
	struct lsh_hold *hold = lock->hold;
	int64_t now = lsh_now_ns(), lease = lease_ms * LSH_MS, valid_until = lsh_pace_valid_until(sent, lease);

	if (now >= t->valid_until || now >= valid_until) {
		lsh_hold_lose(lock, "no renewal succeeded before its lease ran out");
		return;
	}
	t->failures = 0;
	t->wanted_at = 0;
	t->full_lease |= lease_ms >= hold->terms.lease_ms;
	if (hold->confirmed) {
		lock->counts.renewed++;
		lsh_hold_renewed(lock, t, sent, lease);
		lsh_hold_recover(lock);
		tell_success(hold, sent);
	} else {
		t->valid_until = valid_until < hold->ends_at ? valid_until : hold->ends_at; /* not what the server alone has said since */
		t->span = lease;
		lsh_hold_confirm(lock, now);
	}
	/* an extension puts no renewal off */
	lsh_hold_schedule(lock, t, sent, lease_ms < hold->terms.lease_ms ? lease : hold->terms.lease_ms * LSH_MS);
}

void
lsh_confirm_counted(struct lsh_tenure *t, struct lsh_node *node, int64_t sent, int64_t lease_ms, const struct lsh_confirm_count *count)
{
	struct lsh_lock *lock = t->lock;
	const struct lsh_hold *hold = lock->hold;
	const struct lsh_terms *terms = &hold->terms;
	int64_t now = lsh_now_ns(), most = time_for(lock, terms), share = terms->lease_ms * LSH_MS / 4;

	if (count->replicas >= terms->min_replicas && (count->written || !terms->fsynced)) {
		acknowledged(lock, t, sent, lease_ms);
		return;
	}
	if (is_too_late(lock, t, now))
		return;
	tell_count(lock->hold, count);
	/* others in the batch had less time */
	if (!hold->confirmed || now - t->wanted_at < (most < share ? most : share) / 4 * 3) {
		lsh_confirm_give(t);
		return;
	}
	if (terms->fsynced && !count->written)
		lsh_hold_endanger(lock, "the renewal was not written to disk in time: trying again");
	else
		lsh_hold_endanger_short(lock, count->replicas, terms->min_replicas, terms->fsynced ? "replicas wrote the renewal to disk: trying again"
		                                                                                   : "replicas acknowledged the renewal: trying again");
	put_off(lock, t, node, now);
}

/* ---- callers ---- */

void
lsh_confirm_expect(struct lsh_confirmation *w, struct lsh_hold *hold, struct lsh_thread *self)
{
	w->thread = self;
	w->until = LSH_NEVER;
	w->status = LEASH_UNAVAILABLE;
	lsh_list_append(&hold->awaiting, &w->link);
}

/* Its time is over: say how far it came. */
static void
explain(struct lsh_lock *lock, const struct lsh_terms *terms, struct lsh_confirmation *w)
{
	const char *shown = lsh_node_shown(lsh_lock_node(lock));

	if (!w->counted && w->text[0] != '\0')
		return;
	w->status = LEASH_UNAVAILABLE;
	w->sys_errno = 0;
	if (!w->counted)
		snprintf(w->text, sizeof w->text, "%.100s: no answer in time", shown);
	else if (terms->fsynced && !w->written)
		snprintf(w->text, sizeof w->text, "%.100s: it was not written to disk there in time", shown);
	else
		snprintf(w->text, sizeof w->text, "%.100s: %u of %u replicas %s in time", shown, w->acknowledged, terms->min_replicas,
		         terms->fsynced ? "wrote it to disk" : "acknowledged it");
}

leash_status
lsh_confirm_await(struct lsh_lock *lock, struct lsh_confirmation *w, struct leash_cancel *cancel, bool *over)
{
	const atomic_bool *closing = &lock->engine->closing;

	while (!w->done && !w->hopeless && !atomic_load(closing) && !lsh_cancel_is_fired(cancel) && lsh_now_ns() < w->until) {
		pthread_mutex_unlock(&lock->mutex);
		lsh_park(&w->thread->parker, w->until);
		pthread_mutex_lock(&lock->mutex);
	}
	if (w->done && w->status == LEASH_OK)
		return LEASH_OK;
	*over = w->done;
	lsh_list_remove(&w->link);
	if (atomic_load(closing))
		w->status = LEASH_CLOSED;
	else if (*over)
		w->status = LEASH_UNAVAILABLE;
	else if (!w->hopeless && lsh_cancel_is_fired(cancel))
		w->status = LEASH_CANCELED;
	else if (!w->hopeless)
		explain(lock, &lock->hold->terms, w);
	return w->status;
}

leash_status
lsh_confirm_extend(struct lsh_lock *lock, struct lsh_confirmation *w, bool *over)
{
	struct lsh_tenure *t = lock->hold->tenure;
	int64_t until = lsh_after(lsh_now_ns(), time_for(lock, &lock->hold->terms));

	w->until = until < t->valid_until ? until : t->valid_until;
	lsh_confirm_give(t);
	return lsh_confirm_await(lock, w, NULL, over);
}
