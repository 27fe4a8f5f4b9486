/* The public face of an owner. */
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "client/client.h"

#include <leash/owner.h>

#include <errno.h>

leash_status
leash_owner_new(leash_owner **out, leash_error *err)
{
	lsh_guarded();
	leash_owner *owner;

	if (out == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "leash_owner_new: `out` is NULL");
	if (lsh_process_id() == 0)
		return lsh_no_fork_guard(err);
	owner = lsh_new(leash_owner);
	if (owner == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for an owner");
	owner->id = lsh_owner_id();
	owner->process = lsh_process_id();
	atomic_init(&owner->references, 1);
	*out = owner;
	return LEASH_OK;
}

void
leash_owner_free(leash_owner *owner)
{
	lsh_guarded();

	if (owner == NULL)
		return;
	atomic_store(&owner->gone, true);
	/* a forked child's copies of holds are its parent's */
	if (lsh_process_is(owner->process) && atomic_load(&owner->holds) > 0)
		lsh_clients_abandon(owner, "its owner was freed");
	lsh_owner_unref(owner);
}
