/* Waiting for a condition, for a loop. One op stands for the call: it never begins, and is told in the end. Whoever
 * dispatches lets the wait go on (condition_wait.c):
 *
 *   stirred --looked at--> UNDER WAY --stirred, its tick has come, canceled--> looked at --it is over--> told, gone */
#include "client/condition.h"
#include "client/loop.h"
#include "client/wait.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

struct lsh_condition_op {
	leash_op *head;
	leash_cancel cancel; /* of nobody else: without seats */
	struct lsh_condition_wait wait;
};

static void
look(leash_op *head)
{
	struct lsh_condition_wait *w = &head->condition->wait;
	struct lsh_outlook outlook;

	if (!lsh_condition_wait_goes_on(w, &outlook)) {
		lsh_loop_end(head, w->status, &w->why);
		return;
	}
	lsh_source_leave(&outlook.source);
	lsh_loop_tick_at(head, outlook.tick_at);
}

static void
leave(leash_op *head)
{
	atomic_store(&head->condition->cancel.fired, true);
}

static void
end(leash_op *head)
{
	lsh_condition_wait_end(&head->condition->wait);
	lsh_loop_vacate(head);
	lsh_free(head->condition);
}

/* For an owner that is occupied. NO_MEMORY */
static leash_status
make(leash_op **made, const leash_condition *c, leash_acquire *how, leash_done_fn done, void *arg, leash_error *err)
{
	struct lsh_condition_op *o = lsh_new(struct lsh_condition_op);
	leash_status status = LEASH_OK;
	leash_op *head;

	if (o == NULL)
		return lsh_wait_no_memory(c->lock, err);
	how->cancel = &o->cancel;
	lsh_condition_wait_make(&o->wait, c, how);
	if (o->wait.place == NULL)
		status = lsh_wait_no_memory(c->lock, err);
	if (status == LEASH_OK)
		status = lsh_loop_make(&head, c->lock, done, arg, err);
	if (status != LEASH_OK) {
		lsh_condition_wait_end(&o->wait);
		lsh_free(o);
		return status;
	}
	o->wait.stirred = lsh_loop_stirred;
	o->wait.waiter = head;
	head->condition = o;
	head->leave = leave;
	head->look = look;
	head->end = end;
	*made = head;
	return LEASH_OK;
}

leash_status
leash_condition_wait_start(leash_condition *c, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                           leash_error *err)
{
	static const char call[] = "leash_condition_wait_start";
	lsh_guarded();
	leash_acquire a;
	leash_status status;
	leash_op *head = NULL;

	if (c == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the condition is NULL", call);
	status = lsh_loop_check(c->lock, call, err);
	if (status == LEASH_OK)
		status = lsh_loop_read_acquire(c->lock, &a, how, call, err);
	if (status == LEASH_OK)
		status = lsh_handle_occupy(c->lock, err);
	if (status != LEASH_OK)
		return status;
	status = make(&head, c, &a, done, arg, err);
	if (status == LEASH_OK)
		return lsh_loop_stir(head, op, err);
	lsh_handle_vacate(c->lock->owner);
	return status;
}
