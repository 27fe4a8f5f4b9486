/* Sets of locks, for a loop. One op stands for the call: it never begins, and is told in the end. Those of the members
 * are ops like any other, which are told here. What an acquire asks for is begun by whoever dispatches:
 *
 *   stirred --looked at--> members UNDER WAY --the last of them is told--> what is next? --some--> UNDER WAY
 *                                                                                +--nothing--> told, gone
 *
 * A release begins at once, on whichever thread; its members are told by whoever dispatches, perhaps meanwhile. */
#include "client/loop.h"
#include "client/multi.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#include <errno.h>

struct lsh_set_op {
	leash_op *head;        /* of the call */
	struct lsh_set *call;  /* of an acquire; NULL: it releases */
	atomic_bool is_canceled;
	bool begun;
	atomic_size_t open;    /* members that are under way; and one while a release begins */
	size_t count;
	struct member_op {
		struct lsh_set_op *set;
		leash_lock *lock;
		leash_op *op;      /* under way; else NULL */
	} members[];
};

/* ---- its members ---- */

static void
answer(struct member_op *m, leash_status status, const leash_error *why)
{
	struct lsh_set_op *s = m->set;
	struct lsh_op *all = &s->head->op;

	m->op = NULL;
	if (s->call != NULL) {
		lsh_set_answer(s->call, (size_t)(m - s->members), status, why);
	} else if (lsh_set_is_told(all->status, status)) {
		all->status = status;
		all->why = *why;
	}
}

static void go_on(struct lsh_set_op *s);

static void
told(void *arg, leash_status status, const leash_error *why)
{
	struct member_op *m = arg;

	answer(m, status, why);
	if (atomic_fetch_sub(&m->set->open, 1) == 1)
		go_on(m->set);
}

static void
begin(struct member_op *m)
{
	leash_error why;
	leash_status status = lsh_loop_make(&m->op, m->lock, told, m, &why);

	if (status == LEASH_OK) {
		lsh_set_aim(m->set->call, (size_t)(m - m->set->members), &m->op->op);
		status = lsh_loop_begin(m->op, &lsh_acquiring, NULL, &why);
	}
	if (status == LEASH_OK)
		atomic_fetch_add(&m->set->open, 1);
	else
		answer(m, status, &why);
}

/* ---- all of them ---- */

static void
leave_all(struct lsh_set_op *s)
{
	for (size_t i = 0; i < s->count && s->call != NULL; i++)
		if (s->members[i].op != NULL)
			lsh_op_leave(&s->members[i].op->op);
}

/* Nothing is under way. */
static void
go_on(struct lsh_set_op *s)
{
	struct lsh_op *all = &s->head->op;

	if (!s->begun)
		s->call->status = lsh_set_begin(s->call, all, &s->call->why);
	s->begun = true;
	while (s->call != NULL && atomic_load(&s->open) == 0 && lsh_set_next(s->call))
		for (size_t i = 0; i < s->count; i++)
			if (s->call->members[i].asks)
				begin(&s->members[i]);
	if (atomic_load(&s->open) > 0) {
		if (atomic_load(&s->is_canceled))
			leave_all(s);
		return;
	}
	if (s->call != NULL) {
		all->status = s->call->status;
		all->why = s->call->why;
	}
	all->front->done(all);
}

static void
look(leash_op *head)
{
	if (!head->set->begun)
		go_on(head->set);
	else if (atomic_load(&head->set->is_canceled))
		leave_all(head->set);
}

static void
leave(leash_op *head)
{
	atomic_store(&head->set->is_canceled, true);
}

static void
end(leash_op *head)
{
	if (head->set->call != NULL)
		lsh_loop_vacate(head);
	lsh_free(head->set->call);
	lsh_free(head->set);
}

/* ---- the calls ---- */

/* `how`: it acquires. NO_MEMORY */
static leash_status
make(struct lsh_set_op **out, const leash_multi *m, const leash_acquire *how, leash_done_fn done, void *arg,
     leash_error *err)
{
	struct lsh_set_op *s = lsh_alloc(sizeof *s + m->count * sizeof *s->members);
	struct lsh_set *call = how != NULL ? lsh_set_new(m, how) : NULL;
	leash_status status = LEASH_OK;

	if (s == NULL || (how != NULL && call == NULL))
		status = lsh_wait_no_memory(m->locks[0], err);
	if (status == LEASH_OK)
		status = lsh_loop_make(&s->head, m->locks[0], done, arg, err);
	if (status != LEASH_OK) {
		lsh_free(call);
		lsh_free(s);
		return status;
	}
	s->call = call;
	s->head->set = s;
	s->head->leave = leave;
	s->head->look = look;
	s->head->end = end;
	for (s->count = 0; s->count < m->count; s->count++)
		s->members[s->count] = (struct member_op){.set = s, .lock = m->locks[s->count]};
	*out = s;
	return LEASH_OK;
}

leash_status
leash_multi_acquire_start(leash_multi *m, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                          leash_error *err)
{
	static const char call[] = "leash_multi_acquire_start";
	lsh_guarded();
	leash_acquire a;
	leash_status status = lsh_multi_check(m, &a, how, lsh_loop_check, call, err);
	struct lsh_set_op *s;

	if (status == LEASH_OK)
		status = lsh_loop_check_acquire(m->locks[0], &a, call, err);
	if (status == LEASH_OK)
		status = lsh_handle_occupy(m->locks[0], err);
	if (status != LEASH_OK)
		return status;
	status = make(&s, m, &a, done, arg, err);
	if (status == LEASH_OK)
		return lsh_loop_stir(s->head, op, err);
	lsh_handle_vacate(m->locks[0]->owner);
	return status;
}

/* All are made before the first begins: from then on who dispatches may answer. */
static leash_status
release(struct lsh_set_op *s, leash_op **op, leash_error *err)
{
	leash_op *head = s->head;
	leash_error why;

	s->begun = true;
	atomic_init(&s->open, 1);
	for (size_t i = 0; i < s->count; i++) {
		leash_status status = lsh_loop_make(&s->members[i].op, s->members[i].lock, told, &s->members[i], &why);

		if (status != LEASH_OK) {
			lsh_wait_let_go(s->members[i].lock);
			answer(&s->members[i], status, &why);
		} else {
			s->open++;
		}
	}
	if (op != NULL)
		*op = head;
	for (size_t i = 0; i < s->count; i++)
		if (s->members[i].op != NULL && lsh_loop_begin(s->members[i].op, &lsh_releasing, NULL, &why) != LEASH_OK)
			atomic_fetch_sub(&s->open, 1); /* closed, and so released */
	return atomic_fetch_sub(&s->open, 1) > 1 ? LEASH_OK : lsh_loop_over(head, op, err);
}

leash_status
leash_multi_release_start(leash_multi *m, leash_done_fn done, void *arg, leash_op **op, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_multi_check(m, NULL, NULL, lsh_loop_check, "leash_multi_release_start", err);
	struct lsh_set_op *s;

	if (status != LEASH_OK)
		return status;
	if (make(&s, m, NULL, done, arg, err) == LEASH_OK)
		return release(s, op, err);
	for (size_t i = 0; i < m->count; i++)
		lsh_wait_let_go(m->locks[i]);
	return lsh_handle_named(m->locks[0], lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "it and the others of its set are "
	                        "released in the background, and its result is not reported: out of memory"), err);
}
