/* Breaking: the release of a lock by the token of whoever has it. Redis has that token for one hold and never again. So
 * breaking cannot hit an owner that got the lock meanwhile, and may be sent again when its reply was lost. */
#include "core/core.h"

#include <errno.h>
#include <string.h>

/* A hold of this client that is `broken`, or perhaps is, learns of it now, instead of at its next renewal. If a hold is
 * about to begin here, the reply or the message that is on its way for it must not be believed any more. */
static void
tell_ours(const struct lsh_op *op, bool broken)
{
	struct lsh_lease *ours = lsh_lease_find(&op->lock->resource, op->token, strlen(op->token));

	op->lock->generation += broken; /* for whoever is adopting it */
	if (ours == NULL || ours->state >= LSH_ENDING)
		return;
	if (!broken || ours->adopting) {
		lsh_lease_check(ours); /* what it hears is asked after the break */
	} else if (ours->state >= LSH_PENDING) {
		lsh_lease_lose(ours, "it was broken: leash_lock_break()");
	} else if (lsh_op_of(ours) != NULL) {
		lsh_lease_give_up(ours);
		lsh_queue_drive(lsh_op_of(ours)->queue);
	}
}

static void
finish(struct lsh_op *op, leash_status status)
{
	if (status != LEASH_OK)
		lsh_lease_stop_breaking(op->lease);
	lsh_op_finish(op, status);
	tell_ours(op, status == LEASH_OK);
}

static void
ended(struct lsh_op *op, enum lsh_found found, const leash_error *why)
{
	bool maybe = lsh_lease_is_maybe_broken(op->lease);
	leash_status status = why->status == LEASH_DENIED || !maybe ? why->status : LEASH_UNKNOWN;

	if (found == LSH_FOUND_NOT_YET)
		op->why = *why;
	else if (found == LSH_FOUND_REFUSED)
		finish(op, lsh_op_fail(op, status, why->sys_errno, "%s: %s",
		                       maybe ? "not known whether it is broken" : "not broken", why->text));
	else
		finish(op, LEASH_OK); /* or it ended by itself meanwhile */
}

static void
late(struct lsh_op *op)
{
	leash_error why = op->why;

	if (lsh_is_closing(op->lock)) {
		finish(op, lsh_op_fail(op, LEASH_CLOSED, 0, "the client was closed"));
		return;
	}
	lsh_lease_describe(op->lease, &why);
	if (why.status == LEASH_UNKNOWN || why.status == LEASH_OK)
		why.status = LEASH_UNAVAILABLE;
	ended(op, LSH_FOUND_REFUSED, &why);
}

static leash_status
begin(struct lsh_op *op)
{
	struct lsh_wish any = {.lease_ms = 1000, .need = op->want.need};
	struct lsh_lease *lease = lsh_lease_new_for(&op->lock->resource, &any, op->token, strlen(op->token));

	if (lease == NULL)
		return lsh_op_fail(op, LEASH_NO_MEMORY, ENOMEM, "out of memory");
	lsh_op_wait_for(op, lease);
	lsh_lease_release_everywhere(lease, op->reader);
	return LEASH_OK;
}

const struct lsh_op_verb lsh_breaking = {.begin = begin, .late = late, .ended = ended};
