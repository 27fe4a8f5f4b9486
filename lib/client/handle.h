/* A handle: what leash_lock is made of, and the checks that calls begin with. Only this folder includes it. */
#ifndef LSH_CLIENT_HANDLE_H
#define LSH_CLIENT_HANDLE_H

#include "base/error.h"
#include "client/client.h"
#include "core/op.h"

#include <leash/condition.h>
#include <leash/lock.h>
#include <leash/semaphore.h>

/* What a handle has besides, unless its lock is for one alone. */
struct lsh_extra {
	_Atomic uint32_t need;
	int64_t known;           /* of a watch: the state that was told last */
};

struct leash_lock {
	struct lsh_terms *terms; /* referenced; those of the client, unless its options say otherwise */
	struct lsh_lock *lock;   /* and its client is referenced */
	leash_owner *owner;      /* referenced; NULL: the calling thread */
	struct lsh_extra extra[]; /* one, or none: lsh_handle_extra() */
};

struct leash_permit {
	leash_owner owner; /* the first: an event names it, see struct lsh_hold; the memory is that of its last reference */
	leash_lock handle; /* and its extra */
};

struct leash_semaphore {
	leash_lock *handle;
	uint32_t limit;
};

static inline leash_client *
lsh_client_of(const leash_lock *lock)
{
	return lsh_lock_resource(lock->lock)->backend->options.owner;
}

static inline bool
lsh_kind_has_extra(const struct lsh_kind *kind)
{
	return (kind->flags & (LSH_SHARED | LSH_PASSED)) != 0;
}

/* Of a lock for one alone: nothing. */
static inline const struct lsh_extra *
lsh_handle_extra(const leash_lock *lock)
{
	static const struct lsh_extra nothing;

	return lsh_kind_has_extra(lsh_lock_resource(lock->lock)->kind) ? lock->extra : &nothing;
}

/* Unless that is LEASH_OK: name what the handle is of in front of the text. Returns `status`; `err` may be NULL. */
static inline leash_status
lsh_handle_named(const leash_lock *lock, leash_status status, leash_error *err)
{
	const struct lsh_resource *r;

	if (status == LEASH_OK)
		return LEASH_OK;
	r = lsh_lock_resource(lock->lock);
	return lsh_fail_about(err, status, r->kind->name, lsh_resource_shown(r));
}

/* Of a lock of this kind; the arguments are those of leash_lock_new(), and checked. */
leash_status lsh_handle_new(leash_lock **out, leash_client *client, const char *name, const struct lsh_kind *kind,
                            const leash_lock_options *options, leash_error *err);

/* May its memory be looked at? Not NULL; in a forked child what lies below may be locked by threads that are not
 * here. */
bool lsh_handle_is_usable(const leash_lock *lock);
leash_owner *lsh_handle_owner(const leash_lock *lock); /* NULL: a thread that has nothing, as it never called */
void lsh_handle_end(leash_lock *lock); /* but for its memory */

/* May a caller's struct have that size? Up to `least`, the end of its first field, there would be nothing to tell. */
leash_status lsh_check_size(size_t size, size_t least, const char *call, const char *what, leash_error *err);

/* To a caller who may be older (its struct ends sooner) or newer (we know its beginning only), all but the size. */
void lsh_copy_out(void *out, size_t size, const void *from, size_t from_size);

/* To be held by itself, as the handle's lock allows. NULL: no memory. lsh_handle_end() of its handle frees it. */
leash_permit *lsh_permit_new(const leash_lock *of, uint32_t need);
/* Of the party that arrives; NULL: of one of this client that nobody else has. INVALID, NO_MEMORY */
leash_status lsh_latch_token(char token[static LSH_TOKEN_SIZE], const leash_lock *handle, const char *party,
                             leash_error *err);
/* Likewise, of a semaphore that was checked. INVALID (`out`, count), NO_MEMORY */
leash_status lsh_permit_make(leash_permit **made, const leash_semaphore *semaphore, int64_t count, const void *out,
                             const char *call, leash_error *err);
/* Its acquire has ended so: it is `*out` from now on, or is none. Returns `status`. */
leash_status lsh_permit_made(leash_permit *permit, leash_status status, leash_permit **out);

/* For an owner that is occupied; checked, and `how` with its defaults. */
leash_status lsh_handle_acquire(leash_lock *lock, const leash_acquire *how, leash_error *err);

/* May a hold be adopted by that token? Else INVALID. */
leash_status lsh_handle_check_token(const leash_lock *lock, const char *token, leash_error *err);
leash_status lsh_handle_check_upgrade(const leash_lock *lock, const char *call, leash_error *err);
/* What is left needs this if so many permits of a handle that was checked are given back. INVALID */
leash_status lsh_permit_less(uint32_t *need, const leash_permit *permit, int64_t count, leash_error *err);

/* Of a handle that was checked: leash_lock_break(). */
leash_status lsh_handle_break(leash_lock *lock, leash_error *err);

/* Of this call: are `out`, the client and the name there, and is that a name? Else INVALID, FORKED or CLOSED. */
leash_status lsh_handle_check_new(const void *out, const leash_client *client, const char *name, const char *call,
                                  leash_error *err);
/* May a call on this handle go on that waits? Else INVALID (no handle, or no owner), FORKED, IN_CALLBACK or CLOSED. */
leash_status lsh_handle_check(const leash_lock *lock, const char *call, leash_error *err);
leash_status lsh_semaphore_check(const leash_semaphore *semaphore, const char *call, leash_error *err); /* the same */
/* And one that does not wait? Else INVALID, FORKED or CLOSED. */
leash_status lsh_handle_is_there(const leash_lock *lock, const char *call, leash_error *err);
leash_status lsh_semaphore_is_there(const leash_semaphore *semaphore, const char *call, leash_error *err);
/* May one acquire so? Then `a` is `how` with its defaults. Else INVALID (wait, lease) or FORKED (cancel). */
leash_status lsh_handle_read_acquire(const leash_lock *lock, leash_acquire *a, const leash_acquire *how,
                                     leash_error *err);
/* lsh_handle_check() and that */
leash_status lsh_handle_check_acquire(const leash_lock *lock, leash_acquire *a, const leash_acquire *how,
                                      const char *call, leash_error *err);
leash_status lsh_handle_check_lease(const leash_lock *lock, int64_t lease_ms, leash_error *err); /* else INVALID */

/* ---- before an op ---- */

/* An op of the handle, for its owner, that begins now. Nobody is told of it; and it ends when an answer cannot come any
 * more. */
void lsh_handle_op(struct lsh_op *op, const leash_lock *lock);
/* When an acquire ends that began as `op`, and may wait so long; a try awaits one answer. */
int64_t lsh_handle_until(const struct lsh_op *op, int64_t wait_ms);

/* Before an op that makes a hold, and after it. For an owner that is not NULL one acquires at a time: two would find
 * that it has no hold, and make two. Else LEASH_INVALID */
leash_status lsh_handle_occupy(const leash_lock *lock, leash_error *err);
void lsh_handle_vacate(leash_owner *owner);
/* What acknowledges a hold, a thread and descriptors, is made before the server is asked. LEASH_NO_MEMORY */
leash_status lsh_handle_prepare(const leash_lock *lock, leash_error *err);
/* Likewise; but if the owner nests, nothing has to be there. */
leash_status lsh_handle_prepare_hold(const leash_lock *lock, const leash_owner *owner, leash_error *err);

#endif
