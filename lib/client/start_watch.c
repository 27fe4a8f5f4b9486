/* Watching who leads, for a loop. One op stands for the call: it never begins, and is told in the end. An acquire of
 * the watch's kind is granted once something has changed, and then a query asks what:
 *
 *   stirred --looked at--> WAITING --told: granted--> ASKING --answered: news--> told, gone
 *                           ^   +--told: anything else--> told, gone   |
 *                           +--as before again, or the server went away, and there is time left */
#include "client/leader.h"
#include "client/loop.h"
#include "client/wait.h"

#include "admin/leader.h"
#include "admin/query.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

struct lsh_watch_op {
	leash_op *head;
	leash_op *waiting;       /* WAITING: the acquire */
	struct lsh_query *query; /* ASKING */
	leash_lock *watch;       /* the caller's; `leader` as well */
	leash_leader *leader;
	leash_permit *permit;    /* by which it waits */
	int64_t before, until, wait_ms;
	atomic_bool is_canceled;
	bool begun;
};

static void await_change(struct lsh_watch_op *w);

/* It was answered. */
static void
take(struct lsh_watch_op *w)
{
	leash_lock *watch = w->watch;
	int64_t left_ms = (w->until - lsh_now_ns()) / LSH_MS;
	leash_leader found;
	leash_error why;
	leash_status status = lsh_query_result(w->query, watch->lock, &why);

	if (status == LEASH_OK)
		status = lsh_leader_read(w->query, watch->lock, &found, &watch->extra->known, &why);
	lsh_query_drop(w->query);
	w->query = NULL;
	if (w->until != LSH_NEVER)
		w->wait_ms = left_ms > 0 ? left_ms : 0;
	if (status == LEASH_OK ? watch->extra->known == w->before : status == LEASH_UNAVAILABLE && left_ms > 0) {
		await_change(w);
		return;
	}
	if (status == LEASH_OK)
		lsh_copy_out(w->leader, w->leader->size, &found, sizeof found);
	lsh_loop_end(w->head, status, &why);
}

static void
ask(struct lsh_watch_op *w)
{
	leash_lock *watch = w->watch;
	leash_status status;
	leash_error why;

	w->query = lsh_leader_query(watch->lock);
	if (w->query == NULL) {
		status = lsh_query_none(lsh_lock_resource(watch->lock)->backend, &why);
		lsh_loop_end(w->head, lsh_handle_named(watch, status, &why), &why);
		return;
	}
	w->query->stirred = lsh_loop_stirred;
	w->query->waiter = w->head;
	w->query->deadline = lsh_after(lsh_now_ns(), w->query->backend->options.timeout);
	lsh_loop_stirred(w->head);
}

static void
told(void *arg, leash_status status, const leash_error *why)
{
	struct lsh_watch_op *w = arg;

	w->waiting = NULL;
	if (status == LEASH_OK)
		ask(w);
	else
		lsh_loop_end(w->head, status, why);
}

/* There is nothing on the server to release. */
static void
let_go(leash_op *o)
{
	if (o->op.status == LEASH_OK)
		lsh_wait_let_go(&o->permit->handle);
}

static void
await_change(struct lsh_watch_op *w)
{
	leash_error why;
	leash_status status;

	w->permit->handle.extra->known = w->watch->extra->known;
	status = lsh_loop_make(&w->waiting, &w->permit->handle, told, w, &why);
	if (status == LEASH_OK) {
		w->waiting->permit = w->permit;
		w->waiting->end = let_go;
		w->waiting->op.wait_ms = w->wait_ms;
		w->waiting->op.deadline = lsh_handle_until(&w->waiting->op, w->wait_ms);
		status = lsh_loop_begin(w->waiting, &lsh_acquiring, NULL, &why);
	}
	if (status != LEASH_OK) {
		w->waiting = NULL;
		lsh_loop_end(w->head, status, &why);
	} else if (atomic_load(&w->is_canceled)) {
		lsh_op_leave(&w->waiting->op);
	}
}

static void
look(leash_op *head)
{
	struct lsh_watch_op *w = head->watch;
	int64_t until;

	if (!w->begun) {
		w->begun = true;
		await_change(w);
	} else if (w->waiting != NULL && atomic_load(&w->is_canceled)) {
		lsh_op_leave(&w->waiting->op);
	} else if (w->query != NULL && lsh_query_goes_on(w->query, &until)) {
		lsh_loop_tick_at(head, until);
	} else if (w->query != NULL) {
		take(w);
	}
}

static void
leave(leash_op *head)
{
	atomic_store(&head->watch->is_canceled, true);
}

static void
end(leash_op *head)
{
	struct lsh_watch_op *w = head->watch;

	lsh_query_drop(w->query);
	lsh_handle_end(&w->permit->handle);
	lsh_free(w);
}

/* `made`: the op is, too. NO_MEMORY */
static leash_status
make(struct lsh_watch_op **made, leash_lock *watch, leash_done_fn done, void *arg, leash_error *err)
{
	struct lsh_watch_op *w = lsh_new(struct lsh_watch_op);
	leash_status status = LEASH_OK;

	if (w == NULL || (w->permit = lsh_permit_new(watch, watch->extra->need)) == NULL)
		status = lsh_wait_no_memory(watch, err);
	if (status == LEASH_OK)
		status = lsh_loop_make(&w->head, &w->permit->handle, done, arg, err);
	if (status == LEASH_OK) {
		*made = w;
		return LEASH_OK;
	}
	if (w != NULL && w->permit != NULL)
		lsh_handle_end(&w->permit->handle);
	lsh_free(w);
	return status;
}

leash_status
leash_watch_next_start(leash_watch *watch, const leash_acquire *how, leash_leader *leader, leash_done_fn done,
                       void *arg, leash_op **op, leash_error *err)
{
	static const char call[] = "leash_watch_next_start";
	lsh_guarded();
	leash_status status = lsh_watch_check(watch, leader, call, lsh_handle_is_there, err);
	leash_lock *handle = (leash_lock *)watch;
	struct lsh_watch_op *w;
	leash_acquire a;

	if (status == LEASH_OK)
		status = lsh_loop_read_acquire(handle, &a, how, call, err);
	if (status == LEASH_OK)
		status = make(&w, handle, done, arg, err);
	if (status != LEASH_OK)
		return status;
	w->watch = handle;
	w->leader = leader;
	w->before = handle->extra->known;
	w->wait_ms = a.wait_ms;
	w->until = a.wait_ms != LEASH_FOREVER ? lsh_after_ms(lsh_now_ns(), a.wait_ms) : LSH_NEVER;
	w->head->watch = w;
	w->head->leave = leave;
	w->head->look = look;
	w->head->end = end;
	return lsh_loop_stir(w->head, op, err);
}
