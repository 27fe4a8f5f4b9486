/* Notices: what the application is told of a hold, on the thread for callbacks. They lie in the memory of the hold
 * and keep it alive; so the hold is made and freed here, too. */
#include "core/core.h"

#include "base/memory.h"

#include <stdio.h>

enum { NOTICES = LEASH_EVENT_FENCE_REGRESSION + 1 };

void
lsh_terms_unref(struct lsh_terms *terms)
{
	if (atomic_fetch_sub(&terms->references, 1) == 1)
		lsh_free(terms);
}

void
lsh_hold_unref(struct lsh_hold *hold)
{
	struct lsh_lock *lock = hold->lock;

	if (atomic_fetch_sub(&hold->references, 1) != 1)
		return;
	lsh_owner_unref(hold->owner);
	lsh_terms_unref(hold->terms);
	lsh_free(hold);
	lsh_lock_unref(lock);
}

static void
deliver(struct lsh_letter *letter)
{
	struct lsh_notice *notice = lsh_container(letter, struct lsh_notice, letter);
	struct lsh_hold *hold = notice->hold;
	char text[100];
	leash_event event = {
		.size = sizeof event,
		.lock = lsh_lock_name(hold->lock),
		.fence = hold->fence,
		.remaining_ms = notice->remaining_ms,
		.text = notice->text,
		.type = notice->type,
	};

	if (notice->wanted > 0) {
		snprintf(text, sizeof text, "%u of %u %s", notice->acknowledged, notice->wanted, notice->text);
		event.text = text;
	}
	hold->terms->on_event(hold->terms->event_arg, &event);
	lsh_hold_unref(hold);
}

struct lsh_hold *
lsh_hold_new(struct lsh_lock *lock, struct leash_owner *owner, struct lsh_terms *terms)
{
	int notices = terms->on_event != NULL ? NOTICES : 0;
	struct lsh_hold *hold = lsh_alloc(sizeof *hold + (size_t)notices * sizeof(struct lsh_notice));

	if (hold == NULL)
		return NULL;
	lsh_lock_retain(lock);
	hold->lock = lock;
	lsh_owner_retain(owner);
	hold->owner = owner;
	atomic_fetch_add(&terms->references, 1);
	hold->terms = terms;
	atomic_init(&hold->references, 1);
	for (int type = 0; type < notices; type++) {
		struct lsh_notice *notice = &hold->notices[type];

		lsh_list_init(&notice->letter.link);
		notice->letter.deliver = deliver;
		notice->hold = hold;
		notice->type = (leash_event_type)type;
	}
	return hold;
}

void
lsh_notice(struct lsh_hold *hold, leash_event_type type, const char *text)
{
	int64_t left = atomic_load(&hold->lock->valid_until) - lsh_now_ns();
	struct lsh_notice *notice = &hold->notices[type];

	if (hold->terms->on_event == NULL)
		return;
	notice->text = text;
	notice->remaining_ms = hold->lock->hold == hold && left > 0 ? left / LSH_MS : 0;
	atomic_fetch_add(&hold->references, 1);
	if (!lsh_courier_post(lsh_engine_of(hold->lock)->courier, &notice->letter))
		lsh_hold_unref(hold);
}

/* Was it taken back? */
static bool
take_back(struct lsh_hold *hold, leash_event_type type)
{
	struct lsh_courier *courier = lsh_engine_of(hold->lock)->courier;

	if (hold->terms->on_event == NULL || !lsh_courier_withdraw(courier, &hold->notices[type].letter))
		return false;
	lsh_hold_unref(hold);
	return true;
}

void
lsh_notice_at_risk(struct lsh_hold *hold, unsigned acknowledged, unsigned wanted, const char *why)
{
	if (hold->at_risk)
		return;
	hold->at_risk = true;
	if (hold->terms->on_event != NULL) {
		hold->notices[LEASH_EVENT_JEOPARDY].acknowledged = acknowledged;
		hold->notices[LEASH_EVENT_JEOPARDY].wanted = wanted;
	}
	if (!take_back(hold, LEASH_EVENT_RECOVERED))
		lsh_notice(hold, LEASH_EVENT_JEOPARDY, why);
}

void
lsh_notice_recovered(struct lsh_hold *hold)
{
	if (!hold->at_risk)
		return;
	hold->at_risk = false;
	if (!take_back(hold, LEASH_EVENT_JEOPARDY))
		lsh_notice(hold, LEASH_EVENT_RECOVERED, "renewed again");
}
