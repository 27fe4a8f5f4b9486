/* Handles: how one is made, and what a call does before it begins an op of it. */
#include "client/handle.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text.h"
#include "base/thread.h"
#include "client/options.h"
#include "client/groups.h"

#include <leash/metrics.h>
#include <leash/readwrite.h>

#include <errno.h>
#include <string.h>

/* ---- checks ---- */

static leash_status
check(const leash_lock *lock, const char *call, leash_status (*check_client)(const leash_client *, leash_error *),
      leash_error *err)
{
	if (lock == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the lock is NULL", call);
	if (lock->owner != NULL && atomic_load(&lock->owner->gone))
		return lsh_handle_named(
			lock, lsh_fail(err, LEASH_INVALID, 0, "%s: the owner of this handle was freed", call), err);
	return lsh_handle_named(lock, check_client(lsh_client_of(lock), err), err);
}

leash_status
lsh_handle_check(const leash_lock *lock, const char *call, leash_error *err)
{
	return check(lock, call, lsh_client_check, err);
}

leash_status
lsh_handle_is_there(const leash_lock *lock, const char *call, leash_error *err)
{
	return check(lock, call, lsh_client_is_there, err);
}

leash_status
lsh_handle_check_lease(const leash_lock *lock, int64_t lease_ms, leash_error *err)
{
	bool on_quorum = lsh_client_of(lock)->uri.deployment == LSH_QUORUM;

	return lsh_handle_named(lock, lsh_check_lease(lease_ms, on_quorum ? lock->terms : NULL, err), err);
}

leash_status
lsh_handle_read_acquire(const leash_lock *lock, leash_acquire *a, const leash_acquire *how, leash_error *err)
{
	leash_status status = lsh_acquire_read(a, how, err);

	if (status == LEASH_OK && a->cancel != NULL && !lsh_process_is(a->cancel->process))
		status = lsh_fail(err, LEASH_FORKED, 0, "the cancel belongs to the parent process: make one in the child");
	lsh_handle_named(lock, status, err);
	if (status == LEASH_OK && a->lease_ms != 0)
		status = lsh_handle_check_lease(lock, a->lease_ms, err);
	return status;
}

leash_status
lsh_handle_check_acquire(const leash_lock *lock, leash_acquire *a, const leash_acquire *how, const char *call,
                         leash_error *err)
{
	leash_status status = lsh_handle_check(lock, call, err);

	return status == LEASH_OK ? lsh_handle_read_acquire(lock, a, how, err) : status;
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
	if (own->on_lost != NULL)
		lsh_share(&own->on_lost->references);
	return own;
}

static leash_status
read_redisson(const struct lsh_kind **kind, const leash_lock_options *o, bool on_quorum, leash_error *err)
{
	*kind = &lsh_redisson;
	if (on_quorum)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "a lock that is shared with Redisson is not possible on a quorum: "
		                "its RLock is on one server, which alone says who holds it");
	if (o->fair)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "a lock that is shared with Redisson cannot be fair: its RLock has "
		                "no queue, and its RFairLock is another lock, which leash does not know");
	return LEASH_OK;
}

/* What its options say of the kind, and of what it needs of that. */
static leash_status
read_mode(uint32_t *need, const struct lsh_kind **kind, const leash_lock_options *o, bool on_quorum, leash_error *err)
{
	if (o->mode == LEASH_MUTEX)
		return LEASH_OK;
	if (*kind != &lsh_mutex)
		return lsh_fail(err, LEASH_INVALID, 0, "`mode` is for a lock");
	if (o->mode == LEASH_REDISSON)
		return read_redisson(kind, o, on_quorum, err);
	*kind = &lsh_readwrite;
	*need = o->mode == LEASH_READ ? LSH_NEED_READ : LSH_NEED_WRITE;
	if (on_quorum)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "a read-write lock is not possible on a quorum: its servers have no "
		                "common queue, so readers would keep writers out forever");
	return LEASH_OK;
}

static leash_status
join_group(struct lsh_terms *terms, leash_client *client, const char *name, leash_error *err)
{
	struct lsh_group *group = lsh_group_open(client, name);

	if (group == NULL && errno == ENOMEM)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a group");
	if (group == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "there are %d groups in this client already, so none for '%s': a group "
		                "is for many locks", LEASH_GROUPS_MAX, name);
	terms->times = &group->times;
	return LEASH_OK;
}

leash_status
lsh_handle_new(leash_lock **out, leash_client *client, const char *name, const struct lsh_kind *kind,
               const leash_lock_options *options, leash_error *err)
{
	bool on_quorum = client->uri.deployment == LSH_QUORUM;
	leash_lock *lock;
	leash_lock_options o;
	struct lsh_terms terms;
	leash_status status;
	uint32_t need = 0;
	char shown[80];

	lsh_show(shown, sizeof shown, name, strlen(name));
	status = lsh_lock_options_read(&o, &terms, options, &client->defaults, on_quorum, err);
	if (status == LEASH_OK)
		status = read_mode(&need, &kind, &o, on_quorum, err);
	if (status == LEASH_OK && o.group != NULL)
		status = join_group(&terms, client, o.group, err);
	lsh_fail_about(err, status, kind->name, shown);
	if ((kind->flags & LSH_PASSED) != 0) {
		terms.restart_guard_ms = 0;
		terms.on_event = NULL;
		terms.on_lost = NULL;
	}
	if (kind->mark != NULL) /* nothing of it is written that a replica could confirm */
		terms.safety = (struct lsh_safety){0};
	if (status != LEASH_OK)
		return status;
	lock = lsh_alloc(sizeof *lock + (lsh_kind_has_extra(kind) ? sizeof *lock->extra : 0));
	if (lock == NULL || (lock->terms = keep(&terms, &client->defaults)) == NULL)
		status = lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a lock");
	else
		status = lsh_lock_open(&lock->lock, client->engine, name, kind, o.fair || (kind->flags & LSH_REENTRANT) == 0,
		                       err);
	if (status != LEASH_OK) {
		lsh_terms_unref(lock != NULL ? lock->terms : NULL);
		lsh_free(lock);
		return status;
	}
	if (lsh_kind_has_extra(kind))
		lock->extra->need = need;
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

void
lsh_handle_end(leash_lock *lock)
{
	leash_client *client = lsh_client_of(lock);

	lsh_terms_unref(lock->terms);
	if (lsh_handle_is_usable(lock)) {
		lsh_lock_close(lock->lock);
		lsh_client_unref(client);
	}
	lsh_owner_unref(lock->owner);
}

bool
lsh_handle_is_usable(const leash_lock *lock)
{
	return lock != NULL && lsh_process_is(lsh_client_of(lock)->process);
}

/* ---- before an op ---- */

leash_owner *
lsh_handle_owner(const leash_lock *lock)
{
	struct lsh_thread *self;

	if (lock->owner != NULL)
		return lock->owner;
	self = lsh_self_if_known();
	return self != NULL ? &self->owner : NULL;
}

void
lsh_handle_op(struct lsh_op *op, const leash_lock *lock)
{
	const struct lsh_extra *extra = lsh_handle_extra(lock);

	/* but for the texts, of which only the first byte matters */
	memset(op, 0, offsetof(struct lsh_op, why));
	op->why.status = LEASH_OK;
	op->why.sys_errno = 0;
	op->why.text[0] = '\0';
	op->lock = lock->lock;
	op->owner = lock->owner;
	op->terms = lock->terms;
	op->want.need = extra->need;
	op->want.known = extra->known;
	op->began = lsh_now_ns(); /* before the monitor, for which many may be waiting */
	/* An answer is awaited for one timeout and, if that breaks the connection, for another one on a new connection. */
	op->deadline = lsh_after(op->began, 2 * lsh_lock_resource(lock->lock)->backend->options.timeout);
	lsh_list_init(&op->link);
}

int64_t
lsh_handle_until(const struct lsh_op *op, int64_t wait_ms)
{
	if (wait_ms == 0)
		return lsh_after(op->began, lsh_lock_resource(op->lock)->backend->options.timeout);
	return wait_ms == LEASH_FOREVER ? LSH_NEVER : lsh_after_ms(op->began, wait_ms);
}

leash_status
lsh_handle_occupy(const leash_lock *lock, leash_error *err)
{
	if (lock->owner == NULL || !atomic_exchange(&lock->owner->busy, true))
		return LEASH_OK;
	return lsh_handle_named(lock, lsh_fail(err, LEASH_INVALID, 0, "another acquire for its owner is under way already"),
	                        err);
}

void
lsh_handle_vacate(leash_owner *owner)
{
	if (owner != NULL)
		atomic_store(&owner->busy, false);
}

leash_status
lsh_handle_prepare(const leash_lock *lock, leash_error *err)
{
	struct lsh_resource *resource = lsh_lock_resource(lock->lock);

	if (lsh_backend_prepare(resource, &lock->terms->safety) || atomic_load(&resource->backend->closing))
		return LEASH_OK;
	return lsh_handle_named(lock, lsh_fail_short(err, errno, "a connection for its replicas"), err);
}

leash_status
lsh_handle_prepare_hold(const leash_lock *lock, const leash_owner *owner, leash_error *err)
{
	leash_status status = lsh_handle_prepare(lock, err);
	struct lsh_view view;

	if (status == LEASH_OK)
		return LEASH_OK;
	lsh_lock_view(lock->lock, owner, lsh_handle_extra(lock)->need, &view);
	return view.is_held ? LEASH_OK : status;
}
