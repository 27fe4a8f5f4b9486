/* Leading: a hold of which others are told what its owner says of itself. It is not handed off within the process, as
 * what was said would be taken for the next owner's; and its release tells all who watch. */
#include "core/core.h"

#include <string.h>

bool
lsh_lead(struct lsh_lock *lock, const struct leash_owner *owner)
{
	lsh_within(&lock->resource.monitor);
	struct lsh_hold *hold = lsh_hold_of(lock, owner);

	if (hold == NULL || hold->lost)
		return false;
	hold->lease->watched = true;
	return true;
}

void
lsh_lead_no_more(struct lsh_lock *lock, const struct leash_owner *owner, const char *token)
{
	lsh_within(&lock->resource.monitor);
	struct lsh_hold *hold = lsh_hold_of(lock, owner);

	if (hold != NULL && !hold->lost && lsh_lease_has_token(hold->lease, token, strlen(token)))
		lsh_lease_lose(hold->lease, "the server did not have it any more");
}
