/* Releasing and extending: the two steps that an owner waits for although it holds the lock. */
#include "lock/errand.h"

#include "base/error.h"
#include "base/mutation.h"
#include "lock/confirm.h"
#include "lock/quorum.h"
#include "redis/fault.h"

#include <errno.h>

/* What a release is. */
struct release {
	struct lsh_errand errand;
	struct lsh_releasing releasing;
};

static void
make_cancel(struct lsh_step *step, struct lsh_errand *errand)
{
	const struct lsh_tenure *t = lsh_container(errand, struct release, errand)->releasing.tenure;

	/* who holds has no place: HDEL is all that there is of it */
	if (errand->plain)
		lsh_step_forget(step, t);
	else
		lsh_step_cancel(step, t);
}

/* The next ask of a plain line goes out in the same write, right behind the release that lets it. */
static void
ask_next(struct lsh_lock *lock)
{
	if (!lock->fair)
		lsh_line_ask(lock, &lock->plain);
}

/* The server refused a release: what is the answer, and is it worth trying again in the background? */
static leash_status
release_refused(const struct lsh_lock *lock, const struct lsh_site *site, const char *words, bool *try_again, leash_error *err)
{
	const char *shown = lsh_node_shown(site->node);
	enum lsh_fault fault = lsh_fault_of(words);
	char says[LSH_FAULT_TEXT];

	lsh_step_say(says, lock, &lsh_script_release, words);
	*try_again = fault != LSH_FAULT_MISMATCH;
	if (fault == LSH_FAULT_MISMATCH)
		return lsh_fail(err, LEASH_LOST, 0, "lock '%s': it was lost: %s: %s", lock->shown, shown, says);
	if (fault == LSH_FAULT_DENIED)
		return lsh_fail(err, LEASH_DENIED, 0, "lock '%s': not released, it ends with its lease: %s: %s", lock->shown, shown, says);
	return lsh_fail(err, LEASH_UNKNOWN, 0, "lock '%s': not released yet, it ends with its lease at the latest: %s: %s", lock->shown, shown, says);
}

static leash_status
not_held(const struct lsh_lock *lock, leash_error *err)
{
	if (atomic_load(&lock->engine->closing))
		return lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", lock->shown);
	return lsh_fail(err, LEASH_NOT_HELD, 0, "lock '%s': this owner does not hold it", lock->shown);
}

static leash_status
lost(const struct lsh_lock *lock, leash_error *err)
{
	return lsh_fail(err, LEASH_LOST, 0, "lock '%s': it was lost while it was held", lock->shown);
}

/* Release in Redis what has been released here. lock->mutex held; released meanwhile. */
static leash_status
release_tenure(struct lsh_lock *lock, struct lsh_tenure *t, struct lsh_thread *self, leash_error *err)
{
	struct release release = {
		.errand = {.lock = lock, .make = make_cancel, .appended = ask_next, .whole = &t->send_whole, .lets_others = t->waited, .has_plain = true},
		.releasing.tenure = t,
	};
	struct lsh_engine *e = lock->engine;
	struct lsh_attempt a;
	leash_status status = LEASH_OK;
	bool settled = false;

	lsh_tenure_begin_end(t);
	/* An answer is awaited for one timeout and, if that breaks the connection, for another one on a new connection. */
	lsh_list_append(&lock->releasing, &release.releasing.link);
	if (!lsh_errand_run(&release.errand, e->options.timeout, lsh_after(lsh_now_ns(), 2 * e->options.timeout), self, &a)) {
		status = lsh_fail(err, LEASH_UNKNOWN, a.sys_errno, "lock '%s': not known whether it is released, it ends with its lease at the latest: %s",
		                  lock->shown, a.text);
	} else if (a.reply.type == LSH_ERROR) {
		bool try_again;

		status = release_refused(lock, a.site, a.reply.text, &try_again, err);
		settled = !try_again;
	} else if (a.reply.type != LSH_INTEGER || a.reply.integer[0] < 0 || a.reply.integer[0] > 2) {
		status = lsh_errand_nonsense(&release.errand, &a, err);
	} else {
		settled = lsh_tenure_is_settled(t, a.epoch, a.sent) && lsh_lock_site(lock)->serial == a.home;
		t->forgotten = settled && release.errand.plain;
		settled = settled && !release.errand.plain; /* that hands on to nobody: the keeper cancels, until the slot has moved and that does */
		/* 0 after an earlier try whose answer was lost: that one released it, or it lapsed after it was left. Or somebody took it away before
		 * that try: the server keeps nothing that would tell. */
		if (a.reply.integer[0] != 1 && (!a.unknown_before || LSH_MUTATES(LSH_TRIES_ARE_FORGOTTEN)))
			status = lsh_fail(err, LEASH_LOST, 0, "lock '%s': it was lost: the server did not have it any more", lock->shown);
	}
	lsh_errand_end(&a);
	lsh_list_remove(&release.releasing.link);
	if (settled)
		lsh_tenure_settle(t);
	else
		lsh_tenure_owe(t);
	lsh_tenure_unref(t);
	return status;
}

/* The same where there is no memory for a thread that calls for the first time, and acts for an owner: it has nothing to wait with. */
static leash_status
release_unheard(struct lsh_lock *lock, struct lsh_tenure *t, leash_error *err)
{
	lsh_tenure_end(t);
	lsh_lock_wake(lock);
	return lsh_fail(err, LEASH_UNKNOWN, ENOMEM, "lock '%s': it is released in the background: there is no memory to wait for the answer", lock->shown);
}

leash_status
lsh_release(struct lsh_lock *lock, struct leash_owner *owner, leash_error *err)
{
	struct lsh_thread *self = owner != NULL ? lsh_self() : NULL, *next = NULL;
	struct lsh_hold *hold;
	leash_status status;

	pthread_mutex_lock(&lock->mutex);
	hold = owner != NULL ? lsh_hold_check(lock, owner->id) : NULL;
	if (hold == NULL) {
		status = not_held(lock, err);
	} else if (hold != lock->hold) {
		status = lost(lock, err);
		if (--hold->depth == 0)
			lsh_hold_unwind(lock, hold);
	} else if (--hold->depth > 0) {
		status = LEASH_OK;
	} else if ((next = lsh_hold_hand_on(lock)) != NULL) {
		lock->counts.released++;
		lsh_hold_unwind(lock, hold);
		status = LEASH_OK;
	} else {
		struct lsh_tenure *t = lsh_hold_finish(lock);

		lock->counts.released++;
		lsh_hold_unwind(lock, hold);
		lsh_engine_go_in(lock->engine);
		status = self == NULL        ? release_unheard(lock, t, err)
		         : t->ballot != NULL ? lsh_canvass_release(lock, t, self, err)
		                             : release_tenure(lock, t, self, err);
		lsh_engine_go_out(lock->engine);
	}
	pthread_mutex_unlock(&lock->mutex);
	if (next != NULL)
		lsh_unpark(&next->parker); /* only now, when it finds the mutex free */
	return status;
}

/* ---- extend ---- */

struct extension {
	struct lsh_errand errand;
	struct lsh_tenure *tenure;
	int64_t lease_ms; /* of the last try */
	int64_t ends_at;  /* which each is nearer to */
	unsigned depth;
};

static void
make_renewal(struct lsh_step *step, struct lsh_errand *errand)
{
	struct extension *x = lsh_container(errand, struct extension, errand);
	int64_t now = lsh_now_ns();

	if (x->ends_at != LSH_NEVER && x->ends_at - now < x->lease_ms * LSH_MS)
		x->lease_ms = x->ends_at - now > LSH_MS ? (x->ends_at - now) / LSH_MS : 1;
	lsh_step_renew(step, x->tenure, x->lease_ms, x->depth);
}

static leash_status
extend_hold(struct lsh_lock *lock, struct lsh_hold *hold, int64_t lease_ms, struct lsh_thread *self, leash_error *err)
{
	struct lsh_engine *e = lock->engine;
	uint64_t owner = hold->owner->id;
	struct lsh_tenure *t = hold->tenure;
	struct extension x = {
		.errand = {.lock = lock, .make = make_renewal, .whole = &t->send_whole},
		.tenure = t,
		.lease_ms = lease_ms,
		.ends_at = hold->ends_at,
		.depth = hold->depth,
	};
	int64_t now = lsh_now_ns(), until;
	struct lsh_attempt a;
	bool answered;
	leash_status status = LEASH_OK;

	if (hold->ends_at != LSH_NEVER && hold->ends_at - now < LSH_MS)
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': max_hold_ms leaves nothing to extend", lock->shown);
	if (x.lease_ms > t->longest_ms)
		t->longest_ms = x.lease_ms;
	until = lsh_after(now, 2 * e->options.timeout);
	lsh_tenure_retain(&t->timer);
	answered = lsh_errand_run(&x.errand, e->options.timeout, until < t->valid_until ? until : t->valid_until, self, &a);
	if (!lsh_hold_is_still(lock, hold, t)) {
		status = lsh_hold_gone(lock, owner, err);
	} else if (!answered) {
		status = lsh_fail(err, a.status == LEASH_DENIED ? a.status : LEASH_UNAVAILABLE, a.sys_errno, "lock '%s': not extended: %s", lock->shown, a.text);
	} else if (a.reply.type == LSH_ERROR && lsh_fault_of(a.reply.text) == LSH_FAULT_MISMATCH) {
		lsh_hold_lose(lock, "its key holds something else");
		status = lost(lock, err);
	} else if (a.reply.type == LSH_ERROR) {
		status = lsh_errand_refused(&x.errand, &a, &lsh_script_renew, "not extended: ", err);
	} else if (a.reply.type != LSH_INTEGER || a.reply.integer[0] < 0 || a.reply.integer[0] > LSH_HAD_NO_TTL) {
		status = lsh_errand_nonsense(&x.errand, &a, err);
	} else if (a.reply.integer[0] == 0 || lsh_now_ns() >= t->valid_until) {
		lsh_hold_lose(lock, "it is not there any more");
		status = lost(lock, err);
	} else {
		lsh_hold_renewed(lock, t, a.sent, x.lease_ms * LSH_MS);
		lsh_hold_heed_renewal(lock, a.site->node, a.reply.integer[0]);
		t->full_lease |= x.lease_ms >= hold->terms.lease_ms;
		lsh_hold_recover(lock);
		if (x.lease_ms >= hold->terms.lease_ms) /* a shorter one puts no renewal off */
			lsh_hold_schedule(lock, t, a.sent, hold->terms.lease_ms * LSH_MS);
		if (lsh_lock_site(lock)->serial != a.home)
			lsh_tenure_give_work(t); /* it lives elsewhere meanwhile: does that one know of it? */
	}
	lsh_errand_end(&a);
	lsh_tenure_unref(t);
	return status;
}

/* The same where it counts only once replicas have acknowledged it. */
static leash_status
extend_confirmed(struct lsh_lock *lock, struct lsh_hold *hold, int64_t lease_ms, struct lsh_thread *self, leash_error *err)
{
	struct lsh_confirmation w = {.lease_ms = lease_ms};
	uint64_t owner = hold->owner->id;
	leash_status status;
	bool over;

	if (hold->ends_at != LSH_NEVER && hold->ends_at - lsh_now_ns() < LSH_MS)
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': max_hold_ms leaves nothing to extend", lock->shown);
	lsh_confirm_expect(&w, hold, self);
	status = lsh_confirm_extend(lock, &w, &over);
	if (status == LEASH_OK)
		return LEASH_OK;
	if (status == LEASH_CLOSED)
		return lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", lock->shown);
	if (over)
		return lsh_hold_gone(lock, owner, err);
	return lsh_fail(err, status, w.sys_errno, "lock '%s': not extended: %s", lock->shown, w.text);
}

leash_status
lsh_extend(struct lsh_lock *lock, struct leash_owner *owner, int64_t lease_ms, leash_error *err)
{
	struct lsh_thread *self = lsh_self();
	struct lsh_hold *hold;
	leash_status status;

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	pthread_mutex_lock(&lock->mutex);
	hold = lsh_hold_check(lock, owner->id);
	if (hold == NULL)
		status = not_held(lock, err);
	else if (hold != lock->hold)
		status = lost(lock, err);
	else {
		lsh_engine_go_in(lock->engine);
		status = lock->engine->quorum != NULL ? lsh_canvass_extend(lock, hold, lease_ms, self, err)
		         : lsh_terms_confirm(&hold->terms) ? extend_confirmed(lock, hold, lease_ms, self, err)
		                                           : extend_hold(lock, hold, lease_ms, self, err);
		lsh_engine_go_out(lock->engine);
	}
	pthread_mutex_unlock(&lock->mutex);
	return status;
}
