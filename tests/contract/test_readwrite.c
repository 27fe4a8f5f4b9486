/* Read-write locks of several processes: who is in with whom, and in which order. Within a process, and what the core
 * makes of answers: core/test_readwrite.c; what the server does: redis/test_share.c. */
#include "tests/contract/refusal.h"
#include "tests/support/kept.h"

/* Of "law": two clients, and of each a handle to read and one to write. */
static struct side {
	leash_lock *reads, *writes;
} ours, theirs;
static struct actor waiter;

static struct side
open_side(void)
{
	leash_client *client = kept(place_client(LEASH_OPTIONS(.lease_ms = 3000)));

	return (struct side){kept(leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.mode = LEASH_READ))),
	                     kept(leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.mode = LEASH_WRITE)))};
}

static void
set_up(void)
{
	if (place_is(PLACE_NO_QUEUE))
		return;
	place_flush();
	ours = open_side();
	theirs = open_side();
}

PLACE(place_open);
FIXTURE(set_up, NULL);

#define QUEUED .but = PLACE_NO_QUEUE

/* Another thread waits for it, as the only one. */
static void
wait_for(leash_lock *lock)
{
	begin_waiting(&waiter, lock, LEASH_FOREVER);
	place_await_waiting("law", 1);
}

SENTENCE(readers_of_two_processes_are_in_together_and_a_writer_alone, QUEUED)
{
	acquires(ours.reads);
	acquires(theirs.reads);
	assert_int_equal(leash_lock_fence(ours.reads), leash_lock_fence(theirs.reads));
	assert_status(LEASH_DEADLOCK, leash_lock_acquire(theirs.writes, 0, &err));
	releases(theirs.reads);
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(theirs.writes, 0, &err));
	releases(ours.reads);
	acquires(theirs.writes);
	assert_true(leash_lock_held(theirs.reads));
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(ours.reads, 0, &err));
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(ours.writes, 0, &err));
	releases(theirs.writes);
	place_assert_empty();
}

SENTENCE(who_came_behind_a_writer_who_waits_waits_too, QUEUED)
{
	uint64_t fence;

	acquires(ours.reads);
	fence = leash_lock_fence(ours.reads);
	wait_for(theirs.writes);
	struct side third = open_side();
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(third.reads, 0, &err));
	releases(ours.reads);
	assert_heard(LEASH_OK, &waiter);
	assert_true(waiter.fence > fence);
	end_waiting(&waiter);
	acquires(third.reads);
	assert_true(leash_lock_fence(third.reads) > waiter.fence);
	releases(third.reads);
}

SENTENCE(who_is_the_only_reader_may_write_and_read_on_behind_it, QUEUED)
{
	uint64_t fence;

	acquires(ours.reads);
	acquires(theirs.reads);
	assert_status(LEASH_TIMEOUT, leash_lock_upgrade(ours.writes, &err));
	assert_true(leash_lock_held(ours.reads) && !leash_lock_held(ours.writes));
	releases(theirs.reads);
	fence = leash_lock_fence(ours.reads);
	assert_status(LEASH_OK, leash_lock_upgrade(ours.writes, &err));
	assert_true(leash_lock_fence(ours.writes) > fence);
	wait_for(theirs.reads);
	releases(ours.writes);
	assert_true(leash_lock_held(ours.reads) && !leash_lock_held(ours.writes));
	assert_heard(LEASH_OK, &waiter);
	end_waiting(&waiter);
	releases(ours.reads);
	place_assert_empty();
}

SENTENCE(a_name_is_of_one_kind, QUEUED)
{
	leash_client *client = kept(place_client(LEASH_OPTIONS(.lease_ms = 3000)));
	leash_lock *mutex = kept(leashed_lock(client, "law", NULL)), *none = NULL;

	assert_status(LEASH_INVALID, leash_lock_new(&none, client, "law", LEASH_LOCK_OPTIONS(.mode = LEASH_READ), &err));
	acquires(ours.reads);
	assert_status(LEASH_MISMATCH, leash_lock_acquire(mutex, 0, &err));
	assert_status(LEASH_INVALID, leash_lock_upgrade(mutex, &err));
	releases(ours.reads);
	acquires(mutex);
	assert_status(LEASH_MISMATCH, leash_lock_acquire(ours.writes, 0, &err));
	releases(mutex);
}
