/* Adopting: going on with a hold that another client got.
 *
 * The step is the word, said for that token: it tells whether the token holds the lock, with which fence, and makes its lease last as
 * long as ours. Said twice it does the same, so a lost answer costs nothing; and it never gives the lock to a token that lost it.
 *
 * A token has one life, also here. Once a hold of it has ended in this client a release of it is under way, which may still free the lock
 * under whoever would adopt it anew; and of two threads that adopt it at once one may be told "held" by an answer that is older than the
 * other one's release. So it is not adopted while its cancel is owed or its release is awaited, and where an adopted hold has ended, or
 * the lock was broken from here, while the answer was on its way, the server is asked again.
 *
 * What is adopted is never handed on without Redis: its fences may have been counted on by the client that had it. */
#include "lock/errand.h"

#include "base/error.h"
#include "lock/confirm.h"
#include "lock/inspect.h"
#include "lock/quorum.h"
#include "redis/fault.h"

#include <errno.h>
#include <string.h>

enum { LEASE_MAX_MS = 86400000 };

struct adoption {
	struct lsh_errand errand;
	struct lsh_tenure *tenure;
	struct lsh_hold *hold;
	struct lsh_confirmation confirmation;
	bool over; /* the hold began and was lost; else what was made for it is still the caller's */
};

/* For this client, which certainly lives, and not for the token's: whose places, if it has any in the queue, must not look alive. */
static void
make_word(struct lsh_step *step, struct lsh_errand *errand)
{
	const struct lsh_tenure *t = lsh_container(errand, struct adoption, errand)->tenure;

	lsh_step_word(step, t);
	lsh_step_word_end(step, t);
}

/* lock->mutex held. Has a hold of this token ended here, and its release is not over? */
static bool
is_ending(struct lsh_lock *lock, const struct lsh_tenure *t)
{
	struct lsh_tenure *owed;
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &lock->releasing)
		if (lsh_tenure_is_for(lsh_container(at, struct lsh_releasing, link)->tenure, t->token, t->token_size))
			return true;
	owed = lsh_tenure_find_owed(lock->engine, t->token, t->token_size);
	if (owed != NULL)
		lsh_tenure_unref(owed);
	return owed != NULL;
}

/* lock->mutex held. May it be asked for, or, after the answer, be believed? */
static leash_status
check(struct lsh_lock *lock, const struct adoption *a, leash_error *err)
{
	const struct lsh_tenure *t = a->tenure;
	int64_t now = lsh_now_ns();

	if (lock->hold != NULL && lsh_tenure_is_for(lock->hold->tenure, t->token, t->token_size))
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': another owner of this client has adopted that token: share the handle's owner instead",
		                lock->shown);
	if (is_ending(lock, t))
		return lsh_fail(err, LEASH_NOT_HELD, 0, "lock '%s': that token is being released, by this client", lock->shown);
	if (lsh_node_is_up(lsh_lock_node(lock)) && a->hold->terms.restart_guard_ms > 0 && lock->engine->quorum == NULL &&
	    lsh_node_uptime(lsh_lock_node(lock), now) < 0)
		return lsh_fail(err, LEASH_DENIED, 0, "lock '%s': %s: %s", lock->shown, lsh_node_shown(lsh_lock_node(lock)), lsh_hold_no_uptime);
	if (lsh_node_is_up(lsh_lock_node(lock)) && lsh_hold_is_guarded(lock, &a->hold->terms, now, false))
		return lsh_fail(err, LEASH_UNAVAILABLE, 0, "lock '%s': %s: it was restarted, perhaps without its data: nothing is granted yet "
		                "(restart_guard_ms)", lock->shown, lsh_node_shown(lsh_lock_node(lock)));
	return LEASH_OK;
}

static bool
is_sane(const struct lsh_reply *reply)
{
	return reply->type == LSH_ARRAY && reply->count == 3 && reply->integers == 7 && reply->integer[0] >= 0 &&
	       reply->integer[0] <= LSH_FENCE_MAX && reply->integer[2] >= -1 && reply->integer[2] <= LSH_FENCE_MAX;
}

/* lock->mutex held. What was made for the token goes, and is not canceled: it is not ours. */
static void
forget(struct adoption *a)
{
	struct lsh_ballot *b = a->tenure->ballot;

	a->tenure->asked = false;
	for (size_t i = 0; b != NULL && i < b->count; i++)
		b->legs[i].asked = false;
	lsh_tenure_end(a->tenure);
}

static leash_status
not_held(const struct lsh_lock *lock, const char *why, leash_error *err)
{
	return lsh_fail(err, LEASH_NOT_HELD, 0, "lock '%s': nobody holds it by that token%s", lock->shown, why);
}

/* lock->mutex held. The token holds the lock, with a lease that counts from `sent`. */
static leash_status
take_over(struct lsh_lock *lock, struct adoption *a, int64_t fence, int64_t sent, int64_t lease_ms, leash_error *err)
{
	struct lsh_tenure *t = a->tenure;
	leash_status status = check(lock, a, err);

	if (status != LEASH_OK)
		return status;
	/* this client was given the lock after the server said so */
	if (lock->hold != NULL && (uint64_t)fence * 256 < lock->hold->fence)
		return not_held(lock, " any more", err);
	t->asked = true; /* from here on its release is ours */
	t->adopted = true;
	if (lsh_hold_adopt(lock, a->hold, t, fence, sent, lease_ms * LSH_MS))
		return LEASH_OK;
	if (atomic_load(&lock->engine->closing))
		return lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", lock->shown);
	return lsh_fail(err, LEASH_UNAVAILABLE, 0, "lock '%s': not adopted: the answer came when the lease that it speaks of was over", lock->shown);
}

/* Ask the server. lock->mutex held; released meanwhile. */
static leash_status
ask(struct lsh_lock *lock, struct adoption *a, int64_t deadline, struct lsh_thread *self, struct lsh_attempt *attempt, leash_error *err)
{
	static const char what[] = "not adopted: ";
	leash_status status = LEASH_OK;

	if (!lsh_errand_run(&a->errand, lock->engine->options.timeout, deadline, self, attempt))
		status = lsh_errand_unanswered(&a->errand, attempt, what, err);
	else if (attempt->reply.type == LSH_ERROR)
		status = lsh_errand_refused(&a->errand, attempt, &lsh_script_heartbeat, what, err);
	else if (!is_sane(&attempt->reply))
		status = lsh_errand_nonsense(&a->errand, attempt, err);
	else
		lsh_node_learn_clock(attempt->site->node, attempt->reply.integer[0], attempt->sent, lsh_now_ns());
	lsh_errand_end(attempt);
	return status;
}

/* lock->mutex held; released meanwhile. */
static leash_status
adopt(struct lsh_lock *lock, struct adoption *a, struct lsh_thread *self, leash_error *err)
{
	int64_t deadline = lsh_after(lsh_now_ns(), 2 * lock->engine->options.timeout);
	struct lsh_attempt attempt;
	leash_status status;
	unsigned ended;

	do {
		status = check(lock, a, err);
		if (status != LEASH_OK)
			return status;
		ended = lock->disowned;
		lsh_site_prolong(lsh_lock_site(lock), a->tenure->token, a->tenure->lease_ms, lsh_now_ns());
		status = ask(lock, a, deadline, self, &attempt, err);
		if (status != LEASH_OK)
			return status;
		if (attempt.reply.integer[2] <= 0)
			return not_held(lock, attempt.reply.integer[2] == 0 ? ": it is in the queue" : "", err);
	} while (lock->disowned != ended);
	if (attempt.reply.integer[1] > a->tenure->longest_ms && attempt.reply.integer[1] <= LEASE_MAX_MS)
		a->tenure->longest_ms = attempt.reply.integer[1]; /* what its former holder asked for */
	return take_over(lock, a, attempt.reply.integer[2], attempt.sent, a->tenure->lease_ms, err);
}

/* lock->mutex held; released meanwhile. The same on a quorum. */
static leash_status
adopt_from_many(struct lsh_lock *lock, struct adoption *a, struct lsh_thread *self, leash_error *err)
{
	const struct lsh_terms *terms = &a->hold->terms;
	struct lsh_kept kept;
	leash_status status;
	unsigned ended;

	for (;;) {
		struct lsh_tenure *t = a->tenure, *again;

		status = check(lock, a, err);
		if (status != LEASH_OK)
			return status;
		ended = lock->disowned;
		status = lsh_canvass_keep(lock, t, terms->restart_guard_ms, self, &kept, err);
		if (status != LEASH_OK)
			return status;
		if (lock->disowned == ended)
			break;
		again = lsh_tenure_new_for(lock, terms, t->token, t->token_size);
		if (again == NULL)
			return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
		forget(a);
		a->tenure = again;
	}
	status = take_over(lock, a, kept.fence, kept.sent, kept.lease_ms, err);
	if (status == LEASH_OK) {
		lsh_tenure_retain(&a->tenure->timer);
		lsh_ballot_count(a->tenure); /* it may be in jeopardy from the start */
		lsh_tenure_unref(a->tenure);
	}
	return status;
}

/* lock->mutex held; released meanwhile. It was adopted: that counts once enough replicas know. */
static leash_status
wait_for_replicas(struct lsh_lock *lock, struct adoption *a, leash_error *err)
{
	struct lsh_confirmation *w = &a->confirmation;
	leash_status status = lsh_confirm_await(lock, w, NULL, &a->over);

	if (status == LEASH_OK)
		return LEASH_OK;
	if (!a->over) {
		lsh_hold_finish(lock)->asked = false; /* as it was */
		lsh_lock_wake(lock);
	}
	if (status == LEASH_CLOSED)
		return lsh_fail(err, status, 0, "lock '%s': the client was closed", lock->shown);
	return lsh_fail(err, status, w->sys_errno, "lock '%s': not adopted: %s", lock->shown, w->text);
}

leash_status
lsh_adopt(struct lsh_lock *lock, struct leash_owner *owner, const struct lsh_terms *terms, const char *token, leash_error *err)
{
	struct lsh_thread *self = lsh_self();
	struct adoption a = {.errand = {.lock = lock, .make = make_word}};
	char short_of[LSH_ERRNO_TEXT];
	struct lsh_hold *hold;
	leash_status status;

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	if (memcmp(token, lock->engine->uuid, LSH_UUID_SIZE) == 0)
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': that token is one of this client's own: share the handle's owner instead", lock->shown);
	pthread_mutex_lock(&lock->mutex);
	hold = lsh_hold_check(lock, owner->id);
	if (hold != NULL && hold == lock->hold) {
		status = lsh_fail(err, LEASH_INVALID, 0, "lock '%s': this owner holds it already", lock->shown);
	} else if (hold != NULL) {
		status = lsh_fail(err, LEASH_LOST, 0, "lock '%s': an earlier hold of this owner was lost: release it before another one is adopted", lock->shown);
	} else if (lsh_terms_confirm(terms) && !lsh_confirm_prepare(lock, terms) && !atomic_load(&lock->engine->closing)) {
		status = lsh_fail(err, LEASH_NO_MEMORY, errno, "lock '%s': a connection for its replicas: %s", lock->shown, lsh_shortage_text(errno, short_of));
	} else if ((a.hold = lsh_hold_new(lock, owner, terms)) == NULL) {
		status = lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	} else if ((a.tenure = lsh_tenure_new_for(lock, terms, token, strlen(token))) == NULL) {
		lsh_hold_unref(a.hold);
		status = lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	} else {
		a.errand.whole = &a.tenure->send_whole;
		if (lsh_terms_confirm(terms))
			lsh_confirm_expect(&a.confirmation, a.hold, self);
		lsh_engine_go_in(lock->engine);
		status = lock->engine->quorum != NULL ? adopt_from_many(lock, &a, self, err) : adopt(lock, &a, self, err);
		if (status == LEASH_OK && lsh_terms_confirm(terms))
			status = wait_for_replicas(lock, &a, err);
		lsh_engine_go_out(lock->engine);
		if (status != LEASH_OK)
			lsh_hold_unref(a.hold);
		if (status != LEASH_OK && !a.over)
			forget(&a);
	}
	pthread_mutex_unlock(&lock->mutex);
	return status;
}
