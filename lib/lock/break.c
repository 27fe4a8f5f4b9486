/* Breaking: taking a lock from whoever has it.
 *
 * Two steps: look who has it, then release it by that token, which is in Redis for one hold and never again. So the second step
 * cannot hit anybody who got the lock meanwhile, and may be sent again when its answer was lost. */
#include "lock/errand.h"

#include "base/error.h"
#include "lock/quorum.h"
#include "redis/fault.h"

#include <errno.h>
#include <string.h>

struct breakage {
	struct lsh_errand errand;
	struct lsh_tenure *tenure;
};

static void
make_release(struct lsh_step *step, struct lsh_errand *errand)
{
	const struct lsh_tenure *t = lsh_container(errand, struct breakage, errand)->tenure;

	if (errand->plain)
		lsh_step_forget(step, t);
	else
		lsh_step_cancel(step, t);
}

/* lock->mutex held. It may be a hold of this client's: then that need not wait for its next renewal to learn of it. Or one that is about
 * to begin here, by an answer or a message that is on its way: which must not be believed any more. */
static void
tell_our_own(struct lsh_lock *lock, const struct lsh_tenure *t, bool done)
{
	struct lsh_tenure *ours = lsh_tenure_find(lock, t->token, t->token_size);
	struct lsh_line *line;

	lock->disowned += done; /* for who is adopting it */
	if (ours == NULL)
		return;
	if (!done) {
		lsh_tenure_give_work(ours);
	} else if (ours->phase == LSH_HELD) {
		lsh_hold_lose(lock, "it was broken: leash_lock_break()");
	} else {
		line = ours->line;
		lsh_tenure_end(ours);
		lsh_line_wake(line);
	}
}

/* lock->mutex held; released meanwhile. */
static leash_status
take_from(struct lsh_lock *lock, struct lsh_tenure *t, struct lsh_thread *self, leash_error *err)
{
	static const char unknown[] = "not known whether it is broken: ";
	struct lsh_engine *e = lock->engine;
	struct breakage b = {.errand = {.lock = lock, .make = make_release, .whole = &t->send_whole, .has_plain = true}, .tenure = t};
	struct lsh_attempt a;
	leash_status status = LEASH_OK;

	if (e->quorum != NULL) {
		status = lsh_canvass_take(lock, t, self, err);
		tell_our_own(lock, t, status == LEASH_OK);
		return status;
	}
	if (!lsh_errand_run(&b.errand, e->options.timeout, lsh_after(lsh_now_ns(), 2 * e->options.timeout), self, &a))
		status = lsh_errand_unanswered(&b.errand, &a, a.unknown_before ? unknown : "not broken: ", err);
	else if (a.reply.type == LSH_ERROR)
		status = lsh_errand_refused(&b.errand, &a, &lsh_script_release, a.unknown_before ? unknown : "not broken: ", err);
	else if (a.reply.type != LSH_INTEGER || a.reply.integer[0] < 0 || a.reply.integer[0] > 2)
		status = lsh_errand_nonsense(&b.errand, &a, err);
	lsh_errand_end(&a);
	if (status != LEASH_OK && a.unknown_before) { /* perhaps that try did it */
		status = LEASH_UNKNOWN;
		if (err != NULL)
			err->status = status;
	}
	/* 0: it ended by itself meanwhile, or an earlier try did it */
	tell_our_own(lock, t, status == LEASH_OK);
	return status;
}

/* lock->mutex held; released meanwhile. */
static leash_status
break_lock(struct lsh_lock *lock, struct lsh_thread *self, leash_error *err)
{
	static const struct lsh_terms any = {.lease_ms = 1000};
	leash_lock_info info;
	struct lsh_tenure *t;
	leash_status status = lsh_look(lock, lsh_after(lsh_now_ns(), lock->engine->options.timeout), self, &info, err);

	if (status != LEASH_OK)
		return status;
	if (!info.held)
		return lsh_fail(err, LEASH_NOT_HELD, 0, "lock '%s': nobody has it", lock->shown);
	t = lsh_tenure_new_for(lock, &any, info.holder.token, strlen(info.holder.token));
	if (t == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	status = take_from(lock, t, self, err);
	lsh_tenure_end(t); /* it was never asked for here: nothing is canceled in the background */
	return status;
}

leash_status
lsh_break(struct lsh_lock *lock, leash_error *err)
{
	struct lsh_thread *self = lsh_self();
	leash_status status;

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	lsh_engine_go_in(lock->engine);
	pthread_mutex_lock(&lock->mutex);
	status = break_lock(lock, self, err);
	pthread_mutex_unlock(&lock->mutex);
	lsh_engine_go_out(lock->engine);
	return status;
}
