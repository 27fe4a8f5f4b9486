/* See callback.h. */
#include "tests/contract/callback.h"

#include "tests/support/leashed.h"
#include "tests/support/test.h"

struct told {
	leash_status (*call)(void *);
	void *arg;
	_Atomic bool done;
	leash_status status;
};

static void
call(void *arg, const leash_event *event)
{
	struct told *told = arg;

	if (event->type != LEASH_EVENT_LOST)
		return;
	told->status = told->call(told->arg);
	told->done = true;
}

leash_status
status_in_callback(leash_client *client, leash_status (*function)(void *), void *arg)
{
	struct told told = {.call = function, .arg = arg};
	leash_lock *lock = leashed_lock(client, "to be lost",
	                                LEASH_LOCK_OPTIONS(.lease_ms = 100, .no_renew = true, .on_event = call, .event_arg = &told));
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	await_true(told.done);
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	return told.status;
}
