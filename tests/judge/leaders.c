/* The rule of leaders: what one proclaimed is never shown as another one's, and who watches is told of them in their order. */
#include "tests/judge/account.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HANDOFFS = 256 };   /* fences of a token: that which it had first, and those next to it */

static bool
is_of(const struct account *a, const struct news *news, const struct hold *hold)
{
	const char *name = a->files.at[a->processes.at[hold->process].file].name;

	return hold->number == news->number && strncmp(name, news->name.at, news->name.size) == 0 &&
	       strcmp(name + news->name.size, ".history") == 0;
}

/* In the histories those of a process stand in their order. What was proclaimed is not handed on. */
void
verdict_leaders(struct account *a)
{
	const struct hold **by_token = account_last_holds(a);
	const struct news *last = NULL;

	EACH(const struct news, news, a->news) {
		const struct hold *hold = by_token[news->token];
		const char *file = a->files.at[a->processes.at[news->process].file].name;

		if (hold && !is_of(a, news, hold))
			account_object_to(a, VERDICT_LEADERS, news->lock, "%s:%" PRIu32 ": it is %s that leads, not hold %" PRIu64 " of %.*s", file, news->line,
			                  account_hold(a, hold, hold->got_line), news->number, (int)news->name.size, news->name.at);
		if (hold && news->fence != 0 && hold->fence != 0 && news->fence / HANDOFFS != hold->fence / HANDOFFS &&
		    !account_breached(a, hold->asked - VERDICT_LATE_GRACE_MS * MS, news->moment, true))
			account_object_to(a, VERDICT_LEADERS, news->lock, "%s:%" PRIu32 ": told of fence %" PRIu64 " of %s, which has %" PRIu64, file, news->line,
			                  news->fence, account_hold(a, hold, hold->got_line), hold->fence);
		if (last && last->process == news->process && last->lock == news->lock && news->fence < last->fence && news->fence != 0 &&
		    !account_breached(a, last->moment - VERDICT_LATE_GRACE_MS * MS, news->moment, true))
			account_object_to(a, VERDICT_LEADERS, news->lock, "%s:%" PRIu32 ": told of fence %" PRIu64 " after %" PRIu64, file, news->line,
			                  news->fence, last->fence);
		last = news;
	}
	free(by_token);
}
