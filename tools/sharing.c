#include "tools/sharing.h"

#include "tools/environment.h"
#include "tools/hold.h"

bool
sharing_note(void *arg, const leash_hold_info *hold)
{
	struct sharing *s = arg;

	if (s->info.kind == LEASH_KIND_MUTEX)
		return false;
	if (!hold_is_ours(&hold->who) && s->others++ == 0)
		s->other = hold->who;
	if (!environment_has_token(hold->who.token))
		return true;
	s->out += sharing_writes(hold) ? 1 : hold->count;
	if (sharing_writes(hold) || sharing_reads(hold))
		s->own = *hold;
	return true;
}
