#include "tools/history.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 4096 };

bool
history_init(struct history *h)
{
	*h = (struct history){.changes = calloc(KEPT, sizeof *h->changes)};
	return h->changes != NULL;
}

void
history_destroy(struct history *h)
{
	free(h->changes);
	h->changes = NULL;
}

static struct change *
add(struct history *h, const char *name)
{
	struct change *change = &h->changes[h->count++ % KEPT];

	*change = (struct change){.at_ms = 0};
	strcpy(change->name, name);
	return change;
}

static void
note_holder(struct history *h, const struct sample *now, const leash_lock_info *info)
{
	struct change *change = add(h, info->name);

	change->at_ms = info->held_since_ms > 0 ? moment_here(&now->moment, info->held_since_ms) : now->moment.here_ms;
	change->holder = info->holder;
}

/* Of those who share it one is named, and not always the same. */
static bool
has_changed_hands(const leash_lock_info *was, const leash_lock_info *info)
{
	return was->out <= 1 && info->out <= 1 && strcmp(was->holder.token, info->holder.token) != 0;
}

/* Did the sample keep all that fit, and does this one fit? Else nothing is known of what is not in it. */
static bool
would_have(const struct sample *s, const char *name)
{
	return s->fitting == s->ranking.count && wish_fits(&s->wish, name);
}

void
history_note(struct history *h, const struct sample *before, const struct sample *now)
{
	if (before == NULL) {
		h->since_ms = now->moment.here_ms;
		return;
	}
	for (size_t i = 0; i < now->ranking.count; i++) {
		const leash_lock_info *info = &now->ranking.at[i]->info;
		const struct rank_row *was = ranking_find(&before->ranking, info->name);

		if (was != NULL ? has_changed_hands(&was->info, info) : would_have(before, info->name))
			note_holder(h, now, info);
	}
	for (size_t i = 0; i < before->ranking.count; i++) {
		const char *name = before->ranking.at[i]->info.name;

		if (would_have(now, name) && ranking_find(&now->ranking, name) == NULL)
			add(h, name)->at_ms = now->moment.here_ms;
	}
}

const struct change *
history_before(const struct history *h, const char *name, const struct change *change)
{
	size_t i = h->count, oldest = h->count > KEPT ? h->count - KEPT : 0;

	while (change != NULL && i > oldest && &h->changes[(i - 1) % KEPT] != change)
		i--;
	for (i -= change != NULL && i > oldest; i > oldest; i--)
		if (strcmp(h->changes[(i - 1) % KEPT].name, name) == 0)
			return &h->changes[(i - 1) % KEPT];
	return NULL;
}
