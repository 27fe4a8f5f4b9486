/* Heirs: who is passed over when a lock is handed on, and that a hold that was handed on is one like any other. */
#include "tests/contract/crew.h"

#include "tests/support/place.h"
#include "tests/support/test.h"

/* ---- a hold that was handed on is one like any other ---- */

/* What the server says of the depth of that token's hold. */
static bool
depth_is(const char *lock, const char *token, const char *depth)
{
	const char *shown = place_text(lock, "HGET leash:{%s} %s", lock, token);

	return shown != NULL && strcmp(shown, depth) == 0;
}

FIXTURE(open_client, close_client);
PLACE(crew_open);

SENTENCE(what_was_handed_on_is_renewed_and_its_depth_begins_at_one)
{
	leash_lock *lock = leashed_lock(client, "kept", TURN(.lease_ms = 600, .handoffs = 255));
	struct member *heir = muster(1), *last = muster(1);
	leash_owner *owner;
	leash_lock *theirs;
	struct own own;
	leash_error err;

	heir->keeps = true;
	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	theirs = leashed_lock(client, "kept", TURN(.lease_ms = 600, .handoffs = 255, .owner = owner));
	own = acquire(lock);
	acquire(lock);
	acquire(lock);
	await_true(depth_is("kept", own.token, "3"));
	join(heir, theirs);
	release(lock);
	release(lock);
	assert_int_equal(stage_now(&heir->answered), 0);
	release(lock);
	await_hold(heir); /* which says that its depth is 1 */
	end(heir);
	assert_string_equal(heir->token, own.token);
	await_true(depth_is("kept", own.token, "1"));
	acquire(theirs);
	assert_int_equal(leash_lock_depth(theirs), 2);
	await_true(depth_is("kept", own.token, "2"));
	mark();
	await_true(sent(renew_sha) >= 4); /* more than a lease */
	assert_true(leash_lock_held(theirs));
	assert_int_equal(leash_lock_depth(theirs), 2);
	release(theirs);
	join(last, lock);
	release(theirs);
	await_hold(last);
	assert_string_equal(last->token, own.token);
	mark();
	end(last);
	await_ms(300); /* more than the time to the next renewal */
	if (!place_is(PLACE_MAJORITY))
		assert_int_equal(sent(renew_sha), 0);
	assert_free("kept");
	leash_lock_free(lock);
	leash_lock_free(theirs);
	leash_owner_free(owner);
}

struct losses {
	struct leashed_events events;
	_Atomic uint64_t fence;   /* of the last one that was lost */
};

static void
note_loss(void *arg, const leash_event *event)
{
	struct losses *losses = arg;

	if (event->type == LEASH_EVENT_LOST)
		losses->fence = event->fence;
	leashed_note_event(&losses->events, event);
}

SENTENCE(what_was_handed_on_and_is_lost_is_lost_for_its_present_owner_only)
{
	struct losses losses = {0};
	leash_lock *lock = leashed_lock(client, "lost", TURN(.lease_ms = 600, .handoffs = 255, .on_event = note_loss, .event_arg = &losses));
	struct member *victim = muster(1), *next = muster(1);
	struct own own = acquire(lock);
	leash_error err;

	join(victim, lock);
	release(lock);
	await_hold(victim);
	assert_string_equal(victim->token, own.token);
	join(next, lock);
	place_take_away("lost");
	await_hold(next);
	assert_string_not_equal(next->token, own.token);
	assert_true(next->fence > victim->fence);
	await_true(losses.events.count[LEASH_EVENT_LOST] == 1);
	assert_int_equal(losses.fence, victim->fence);
	assert_int_equal(leash_lock_depth(lock), 0); /* the first owner has nothing to unwind, */
	assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
	end(next);
	acquire(lock); /* and may have it again */
	assert_int_equal(released(victim), LEASH_LOST);
	assert_true(leash_lock_held(lock));
	release(lock);
	assert_free("lost");
	leash_lock_free(lock);
	assert_int_equal(losses.events.total - place_thin(&losses.events), 1);
}

/* ---- who is passed over ---- */

/* The lock went by whoever was next. */
static void
assert_heir_of(struct member *heir, const struct own *own)
{
	await_hold(heir);
	assert_string_equal(heir->token, own->token);
	assert_int_equal(heir->fence, own->fence + 1);
	assert_nothing_sent();
}

SENTENCE(who_was_canceled_while_it_was_next_is_passed_over)
{
	leash_lock *lock = leashed_lock(client, "cancel", TURN(.handoffs = 255));
	leash_error err;

	for (int i = 0; i < 20; i++) {
		struct member *gone = muster(1), *heir = muster(1);
		struct own own = acquire(lock);

		assert_status(LEASH_OK, leash_cancel_new(&gone->cancel, &err));
		join(gone, lock);
		join(heir, lock);
		mark();
		if (i % 2 == 0)
			freeze(gone);
		leash_cancel_fire(gone->cancel);
		release(lock); /* it is the first in the line still, or leaves at this moment */
		assert_heir_of(heir, &own);
		thaw();
		await_answer(gone, LEASH_CANCELED);
		end(gone);
		end(heir);
		leash_cancel_free(gone->cancel);
	}
	assert_free("cancel");
	leash_lock_free(lock);
}

SENTENCE(who_ran_out_of_time_while_it_was_next_is_passed_over)
{
	leash_lock *lock = leashed_lock(client, "late", TURN(.handoffs = 255));

	for (int i = 0; i < 3; i++) {
		struct member *gone = muster(1), *heir = muster(1);
		struct own own = acquire(lock);

		gone->wait_ms = 500;
		join(gone, lock);
		freeze(gone); /* long before its time is up */
		join(heir, lock);
		mark();
		await_ms(501);
		release(lock);
		assert_heir_of(heir, &own);
		thaw();
		await_answer(gone, LEASH_TIMEOUT);
		end(gone);
		end(heir);
	}
	assert_free("late");
	leash_lock_free(lock);
}

SENTENCE(who_is_next_at_the_end_of_its_time_has_the_lock_or_leaves_it_to_the_next)
{
	leash_lock *lock = leashed_lock(client, "end", TURN(.handoffs = 255));
	int late = 0;

	for (int i = 0; i < 20; i++) {
		struct member *gone = muster(1), *heir = muster(1);
		struct own own = acquire(lock);
		int64_t set_out_at = await_now_ns();

		gone->wait_ms = 40;
		set_out(gone, lock);
		await_true(goes_on_sleeping(gone) || stage_now(&gone->answered) == 1);
		join(heir, lock);
		mark();
		while (await_now_ns() < set_out_at + 40000000 + i * 25000)
			continue; /* as near to its deadline as may be, which is a little later than 40 ms from then */
		release(lock);
		stage_await(&gone->answered, 1);
		late += gone->status == LEASH_TIMEOUT;
		await_answer(gone, gone->status == LEASH_OK ? LEASH_OK : LEASH_TIMEOUT);
		end(gone);
		await_hold(heir);
		assert_string_equal(heir->token, own.token);
		assert_int_equal(heir->fence, own.fence + (gone->status == LEASH_OK ? 2 : 1));
		assert_nothing_sent();
		end(heir);
	}
	printf("# %d of 20 were late\n", late);
	assert_free("end");
	leash_lock_free(lock);
}

SENTENCE(a_thread_that_ends_as_the_holder_passes_the_lock_to_those_who_wait)
{
	struct leashed_events events = {0};
	leash_lock *lock = leashed_lock(client, "ended", TURN(.handoffs = 255, .on_event = leashed_note_event, .event_arg = &events));
	struct member *gone = muster(1), *heir = muster(1), *last = muster(1);

	gone->keeps = true;
	acquire(lock);
	join(gone, lock);
	release(lock);
	await_hold(gone); /* it was handed on, and now its thread ends */
	join(heir, lock);
	join(last, lock);
	end(gone);
	await_hold(heir);
	assert_string_not_equal(heir->token, gone->token);
	assert_true(heir->fence > gone->fence + 1);
	end(heir);
	await_hold(last);
	assert_string_equal(last->token, heir->token);
	end(last);
	await_true(events.count[LEASH_EVENT_ABANDONED] == 1);
	await_true(place_is_free("ended"));
	assert_int_equal(events.total, 1);
	leash_lock_free(lock);
}
