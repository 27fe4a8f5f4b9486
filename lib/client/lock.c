/* Handles: what is checked when one is made and when it is used; the calls that may wait; and what can be told of its
 * hold from memory. */
#include "client/handle.h"

#include "admin/inspect.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text.h"
#include "client/cancel.h"
#include "client/options.h"
#include "client/wait.h"

#include <leash/readwrite.h>
#include <leash/takeover.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- checks ---- */

leash_status
lsh_handle_check(const leash_lock *lock, const char *call, leash_error *err)
{
	if (lock == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the lock is NULL", call);
	if (lock->owner != NULL && atomic_load(&lock->owner->gone))
		return lsh_handle_named(
			lock, lsh_fail(err, LEASH_INVALID, 0, "%s: the owner of this handle was freed", call), err);
	return lsh_handle_named(lock, lsh_client_check(lsh_client_of(lock), err), err);
}

/* And on this lease? Else INVALID. */
static leash_status
check_lease(const leash_lock *lock, int64_t lease_ms, leash_error *err)
{
	bool on_quorum = lsh_client_of(lock)->uri.deployment == LSH_QUORUM;

	return lsh_handle_named(lock, lsh_check_lease(lease_ms, on_quorum ? lock->terms : NULL, err), err);
}

/* ---- life ---- */

/* For a handle; most have those of their client. NULL: no memory. */
static struct lsh_terms *
keep(const struct lsh_terms *terms, struct lsh_terms *defaults)
{
	struct lsh_terms *own;

	if (memcmp(terms, defaults, sizeof *terms) == 0)
		return defaults;
	own = lsh_new(struct lsh_terms);
	if (own == NULL)
		return NULL;
	*own = *terms;
	atomic_init(&own->references, 1);
	return own;
}

static leash_status
read_redisson(const struct lsh_kind **kind, const leash_lock_options *o, bool on_quorum, leash_error *err)
{
	*kind = &lsh_redisson;
	if (on_quorum)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "a lock that is shared with Redisson is not possible on a quorum: "
		                "its RLock is on one server, and is held by whoever has it there");
	if (o->fair)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "a lock that is shared with Redisson cannot be fair: its RLock has "
		                "no queue, and its RFairLock is another lock, which leash does not know");
	return LEASH_OK;
}

/* What its options say of the kind, and of what it needs of that. */
static leash_status
read_mode(leash_lock *lock, const struct lsh_kind **kind, const leash_lock_options *o, bool on_quorum, leash_error *err)
{
	if (o->mode == LEASH_MUTEX)
		return LEASH_OK;
	if (*kind != &lsh_mutex)
		return lsh_fail(err, LEASH_INVALID, 0, "`mode` is for a lock");
	if (o->mode == LEASH_REDISSON)
		return read_redisson(kind, o, on_quorum, err);
	*kind = &lsh_readwrite;
	lock->need = o->mode == LEASH_READ ? LSH_NEED_READ : LSH_NEED_WRITE;
	if (on_quorum)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "a read-write lock is not possible on a quorum: its servers have no "
		                "common queue, so readers would keep writers out for ever");
	return LEASH_OK;
}

leash_status
lsh_handle_new(leash_lock **out, leash_client *client, const char *name, const struct lsh_kind *kind,
               const leash_lock_options *options, leash_error *err)
{
	leash_lock *lock = lsh_new(leash_lock);
	leash_lock_options o;
	struct lsh_terms terms;
	leash_status status;
	char shown[80];

	if (lock == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a lock");
	lsh_show(shown, sizeof shown, name, strlen(name));
	status = lsh_lock_options_read(&o, &terms, options, &client->defaults, client->uri.deployment == LSH_QUORUM, err);
	if (status == LEASH_OK)
		status = read_mode(lock, &kind, &o, client->uri.deployment == LSH_QUORUM, err);
	lsh_fail_about(err, status, kind->name, shown);
	if ((kind->flags & LSH_PASSED) != 0) {
		terms.restart_guard_ms = 0;
		terms.on_event = NULL;
	}
	if (kind->mark != NULL) /* nothing of it is written that a replica could confirm */
		terms.safety = (struct lsh_safety){0};
	if (status == LEASH_OK && (lock->terms = keep(&terms, &client->defaults)) == NULL)
		status = lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a lock");
	if (status == LEASH_OK)
		status = lsh_lock_open(&lock->lock, client->engine, name, kind, o.fair || (kind->flags & LSH_REENTRANT) == 0,
		                       err);
	if (status != LEASH_OK) {
		lsh_terms_unref(lock->terms);
		lsh_free(lock);
		return status;
	}
	lsh_client_retain(client);
	lock->owner = o.owner;
	if (lock->owner != NULL)
		lsh_share(&lock->owner->references);
	*out = lock;
	return LEASH_OK;
}

leash_status
lsh_handle_check_new(const void *out, const leash_client *client, const char *name, const char *call, leash_error *err)
{
	size_t n = name != NULL ? strnlen(name, LEASH_NAME_MAX + 1) : 0;

	if (out == NULL || client == NULL || name == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: %s is NULL", call,
		                out == NULL ? "`out`" : client == NULL ? "the client" : "the name");
	if (n == 0)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the name is empty: it must have 1 to %d bytes", call,
		                LEASH_NAME_MAX);
	if (n > LEASH_NAME_MAX)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the name has more than %d bytes: it begins with '%.40s'", call,
		                LEASH_NAME_MAX, name);
	return lsh_fail_about(err, lsh_client_is_there(client, err), call, NULL);
}

leash_status
leash_lock_new(leash_lock **out, leash_client *client, const char *name, const leash_lock_options *options,
               leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check_new(out, client, name, "leash_lock_new", err);

	return status == LEASH_OK ? lsh_handle_new(out, client, name, &lsh_mutex, options, err) : status;
}

/* May its memory be looked at? In a forked child what lies below may be locked by threads that are not here. */
static bool
is_usable(const leash_lock *lock)
{
	return lock != NULL && lsh_process_is(lsh_client_of(lock)->process);
}

void
lsh_handle_end(leash_lock *lock)
{
	leash_client *client = lsh_client_of(lock);

	lsh_terms_unref(lock->terms);
	if (is_usable(lock)) {
		lsh_lock_close(lock->lock);
		lsh_client_unref(client);
	}
	lsh_owner_unref(lock->owner);
}

void
leash_lock_free(leash_lock *lock)
{
	lsh_guarded();

	if (lock == NULL)
		return;
	lsh_handle_end(lock);
	lsh_free(lock);
}

/* ---- acquiring ---- */

/* For an owner that is occupied; if that nests, nothing has to be prepared. */
static leash_status
run_for_hold(struct lsh_wait *w, leash_lock *lock, const struct lsh_op_verb *verb, leash_error *err)
{
	leash_status status = lsh_wait_prepare(lock, err);
	struct lsh_view view = {0};

	if (status != LEASH_OK)
		lsh_lock_view(lock->lock, w->op.owner, lock->need, &view);
	return status == LEASH_OK || view.is_held ? lsh_wait_run(w, verb, err) : status;
}

leash_status
lsh_handle_acquire(leash_lock *lock, const leash_acquire *how, leash_error *err)
{
	struct lsh_seat *seat = NULL;
	struct lsh_wait w;
	leash_status status = lsh_wait_make(&w, lock, err);

	if (status != LEASH_OK)
		return status;
	if (how->cancel != NULL && (seat = lsh_cancel_sit(how->cancel, &w.thread->parker)) == NULL)
		return lsh_wait_no_memory(lock, err);
	w.op.deadline = lsh_wait_until(&w, how->wait_ms);
	w.op.cancel = how->cancel;
	w.op.wait_ms = how->wait_ms;
	w.op.lease_ms = how->lease_ms;
	status = run_for_hold(&w, lock, &lsh_acquiring, err);
	lsh_cancel_rise(seat);
	return status;
}

leash_status
lsh_handle_check_acquire(const leash_lock *lock, leash_acquire *a, const leash_acquire *how, const char *call,
                         leash_error *err)
{
	leash_status status = lsh_handle_check(lock, call, err);

	if (status != LEASH_OK)
		return status;
	status = lsh_acquire_read(a, how, err);
	if (status == LEASH_OK && a->cancel != NULL && !lsh_process_is(a->cancel->process))
		status = lsh_fail(err, LEASH_FORKED, 0, "the cancel belongs to the parent process: make one in the child");
	lsh_handle_named(lock, status, err);
	if (status == LEASH_OK && a->lease_ms != 0)
		status = check_lease(lock, a->lease_ms, err);
	return status;
}

static leash_status
check_and_acquire(leash_lock *lock, const leash_acquire *how, const char *call, leash_error *err)
{
	lsh_guarded();
	leash_acquire a;
	leash_status status = lsh_handle_check_acquire(lock, &a, how, call, err);

	if (status == LEASH_OK)
		status = lsh_handle_named(lock, lsh_wait_occupy(lock->owner, err), err);
	if (status != LEASH_OK)
		return status;
	status = lsh_handle_acquire(lock, &a, err);
	lsh_wait_vacate(lock->owner);
	return status;
}

leash_status
leash_lock_acquire(leash_lock *lock, int64_t wait_ms, leash_error *err)
{
	return check_and_acquire(lock, LEASH_ACQUIRE(.wait_ms = wait_ms), "leash_lock_acquire", err);
}

leash_status
leash_lock_acquire_with(leash_lock *lock, const leash_acquire *how, leash_error *err)
{
	return check_and_acquire(lock, how, "leash_lock_acquire_with", err);
}

leash_status
leash_lock_adopt(leash_lock *lock, const char *token, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check(lock, "leash_lock_adopt", err);
	const char *wrong = "it is NULL";
	struct lsh_wait w;

	if (status != LEASH_OK)
		return status;
	/* of its text no more is shown than that: it may be anything, a secret that was given in the wrong place */
	if (token == NULL || !lsh_token_is_one(token, strnlen(token, LEASH_TOKEN_MAX), &wrong))
		status = lsh_fail(err, LEASH_INVALID, 0, "that is no owner token, \"<uuid>:<n>\": %s", wrong);
	else if (memcmp(token, lsh_lock_resource(lock->lock)->backend->uuid, LSH_UUID_SIZE) == 0)
		status = lsh_fail(err, LEASH_INVALID, 0,
		                  "that token is one of this client's own: share the handle's owner instead");
	if (status == LEASH_OK)
		status = lsh_wait_occupy(lock->owner, err);
	lsh_handle_named(lock, status, err);
	if (status != LEASH_OK)
		return status;
	status = lsh_wait_make(&w, lock, err);
	w.op.token = token;
	if (status == LEASH_OK)
		status = run_for_hold(&w, lock, &lsh_adopting, err);
	lsh_wait_vacate(lock->owner);
	return status;
}

/* ---- the others ---- */

leash_status
leash_lock_release(leash_lock *lock, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check(lock, "leash_lock_release", err);
	struct lsh_wait w;

	if (status != LEASH_OK)
		return status;
	lsh_wait_make(&w, lock, NULL); /* without memory it is released all the same, in the background */
	return lsh_wait_run(&w, &lsh_releasing, err);
}

leash_status
leash_lock_upgrade(leash_lock *lock, leash_error *err)
{
	static const char call[] = "leash_lock_upgrade";
	lsh_guarded();
	leash_status status = lsh_handle_check(lock, call, err);
	struct lsh_wait w;

	if (status == LEASH_OK && lock->need != LSH_NEED_WRITE)
		status = lsh_handle_named(lock, lsh_fail(err, LEASH_INVALID, 0, "%s: its handle is not to write", call), err);
	if (status != LEASH_OK || (status = lsh_wait_make(&w, lock, err)) != LEASH_OK)
		return status;
	return lsh_wait_run(&w, &lsh_upgrading, err);
}

leash_status
leash_lock_extend(leash_lock *lock, int64_t lease_ms, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check(lock, "leash_lock_extend", err);
	struct lsh_wait w;

	if (status == LEASH_OK)
		status = check_lease(lock, lease_ms, err);
	if (status != LEASH_OK || (status = lsh_wait_make(&w, lock, err)) != LEASH_OK)
		return status;
	w.op.lease_ms = lease_ms;
	return lsh_wait_run(&w, &lsh_extending, err);
}

static uint32_t
need_of(const leash_hold_info *hold)
{
	if (hold->count < 0)
		return LSH_NEED_SIGNAL;
	return hold->count > 0 ? lsh_need((uint32_t)hold->count, (uint32_t)hold->limit) : LSH_NEED_WRITE;
}

/* Each of those who were found to have it. */
static leash_status
break_holds(leash_lock *lock, const struct lsh_sight *found, leash_error *err)
{
	bool is_mutex = (lsh_lock_resource(lock->lock)->kind->flags & LSH_SHARED) == 0;
	leash_error why = {0};
	struct lsh_wait w;

	if (found->count == 0)
		return lsh_handle_named(lock, lsh_fail(err, LEASH_NOT_HELD, 0, "nobody has it"), err);
	if (is_mutex != (found->info.kind == LEASH_KIND_MUTEX))
		return lsh_handle_named(lock, lsh_fail(err, LEASH_MISMATCH, 0, "what is held there is of another kind"), err);
	for (size_t i = 0; i < found->count; i++) {
		const leash_hold_info *hold = &found->hold[i];

		if (lsh_wait_make(&w, lock, err) != LEASH_OK)
			return LEASH_NO_MEMORY;
		w.op.token = hold->who.token;
		if (found->info.kind == LEASH_KIND_LATCH)
			w.op.want.need = lsh_need_of(LSH_ARRIVED, 0);
		else if (!is_mutex)
			w.op.want.need = need_of(hold);
		if (lsh_wait_run(&w, &lsh_breaking, &why) == LEASH_OK)
			continue;
		if (found->count == 1)
			return lsh_fail(err, why.status, why.sys_errno, "%s", why.text);
		return lsh_fail(err, why.status, why.sys_errno, "%zu of %zu holds were broken, then: %s", i, found->count,
		                why.text); /* which may be cut off */
	}
	return LEASH_OK;
}

leash_status
lsh_handle_break(leash_lock *lock, leash_error *err)
{
	struct lsh_sight *found;
	leash_status status = lsh_inspect(&found, lock->lock, true, false, err);

	if (status != LEASH_OK)
		return status;
	status = break_holds(lock, found, err);
	lsh_free(found);
	return status;
}

leash_status
leash_lock_break(leash_lock *lock, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check(lock, "leash_lock_break", err);

	return status == LEASH_OK ? lsh_handle_break(lock, err) : status;
}

/* ---- memory only ---- */

leash_owner *
lsh_handle_owner(const leash_lock *lock)
{
	struct lsh_thread *self;

	if (lock->owner != NULL)
		return lock->owner;
	self = lsh_self_if_known();
	return self != NULL ? &self->owner : NULL;
}

static int64_t
remaining(const leash_lock *lock)
{
	return is_usable(lock) ? lsh_remaining(lock->lock, lsh_handle_owner(lock), lock->need) : 0;
}

bool
leash_lock_held(const leash_lock *lock)
{
	return remaining(lock) > 0;
}

int64_t
leash_lock_remaining_ms(const leash_lock *lock)
{
	return remaining(lock) / LSH_MS;
}

static struct lsh_view
look(const leash_lock *lock)
{
	lsh_guarded();
	struct lsh_view view = {0};

	if (is_usable(lock))
		lsh_lock_view(lock->lock, lsh_handle_owner(lock), lock->need, &view);
	return view;
}

unsigned
leash_lock_depth(const leash_lock *lock)
{
	return look(lock).depth;
}

uint64_t
leash_lock_fence(const leash_lock *lock)
{
	return look(lock).fence;
}

size_t
leash_lock_token(const leash_lock *lock, char *out, size_t size)
{
	struct lsh_view view;

	if (out == NULL && size > 0)
		return 0;
	view = look(lock);
	if (size > 0)
		snprintf(out, size, "%s", view.token);
	return strlen(view.token);
}

void
leash_lock_alive(leash_lock *lock)
{
	lsh_guarded();

	if (is_usable(lock))
		lsh_alive(lock->lock, lsh_handle_owner(lock));
}

/* These never change, so a forked child may look. */

const char *
leash_lock_name(const leash_lock *lock)
{
	return lock != NULL ? lsh_lock_name(lock->lock) : NULL;
}

leash_client *
leash_lock_client(const leash_lock *lock)
{
	return lock != NULL ? lsh_client_of(lock) : NULL;
}
