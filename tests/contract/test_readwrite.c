/* Read-write locks of several processes: who is in with whom, and in which order. Within a process, and what the core
 * makes of answers: core/test_readwrite.c; what the server does: redis/test_share.c. And that people look at what is held
 * and break it without being told of which kind it is; of permits that is said by test_semaphore, of a mutex by
 * test_inspect and test_takeover, of gates, and of a list of all kinds, by tools/gates.txt and tools/kinds.txt. */
#include "tests/contract/interface.h"

#include <unistd.h>

/* Of "law": three clients, and of each a handle to read and one to write. */
static struct side {
	leash_lock *reads, *writes;
} ours, theirs, third;
static leash_client *client; /* a fourth one, */
static leash_lock *looks;    /* and its handle, of a mutex */
static struct actor waiter;
static leash_lock_info info;
static char told[400], last[LEASH_TOKEN_MAX];

static struct side
open_side(void)
{
	leash_client *of = kept(place_client(LEASH_OPTIONS(.lease_ms = 60000)));

	return (struct side){kept(leashed_lock(of, "law", LEASH_LOCK_OPTIONS(.mode = LEASH_READ))),
	                     kept(leashed_lock(of, "law", LEASH_LOCK_OPTIONS(.mode = LEASH_WRITE)))};
}

static void
set_up(void)
{
	place_flush();
	client = kept(open_client());
	looks = kept(leashed_lock(client, "law", NULL));
	if (place_is(PLACE_NO_QUEUE))
		return;
	ours = open_side();
	theirs = open_side();
	third = open_side();
}

FIXTURE(set_up, NULL);
PLACE(place_open);

#define QUEUED .but = PLACE_NO_QUEUE

/* Another thread waits for it, as the only one. */
static void
wait_for(leash_lock *lock)
{
	begin_waiting(&waiter, lock, LEASH_FOREVER);
	place_await_waiting("law", 1);
}

/* ---- who is in ---- */

SENTENCE(who_came_behind_a_writer_who_waits_waits_too, QUEUED)
{
	uint64_t fence;

	acquires(ours.reads);
	fence = leash_lock_fence(ours.reads);
	wait_for(theirs.writes);
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
	leash_lock *none = NULL;

	assert_refused(LEASH_INVALID, "it is open in this client and is of another kind there: handles of one name must agree",
	               leash_lock_new(&none, client, "law", LEASH_LOCK_OPTIONS(.mode = LEASH_READ), &err));
	acquires(ours.reads);
	assert_status(LEASH_MISMATCH, leash_lock_acquire(looks, 0, &err));
	assert_status(LEASH_INVALID, leash_lock_upgrade(looks, &err));
	releases(ours.reads);
	acquires(looks);
	assert_status(LEASH_MISMATCH, leash_lock_acquire(ours.writes, 0, &err));
	releases(looks);
}

static bool unknown; /* who somebody is */

static bool
note(void *most, const leash_hold_info *hold)
{
	size_t n = strlen(told);

	assert_int_equal(hold->size, sizeof *hold);
	assert_in_range(hold->remaining_ms, 1, 60000);
	unknown |= hold->who.pid == 0;
	assert_true(hold->who.pid == getpid() || unknown);
	snprintf(last, sizeof last, "%s", hold->who.token);
	snprintf(told + n, sizeof told - n, " %lld/%lld", (long long)hold->count, (long long)hold->limit);
	return most == NULL || --*(int *)most > 0;
}

/* In a cluster that is asked of another server, which may hear of it later. */
static bool
all_are_known(leash_lock *through)
{
	told[0] = '\0';
	unknown = false;
	info.size = sizeof info;
	assert_status(LEASH_OK, leash_lock_holders(through, &info, note, NULL, &err));
	return !unknown;
}

static const char *
look(leash_lock *through)
{
	static const char *const kinds[] = {"nothing", "mutex", "read-write", "semaphore"};
	char holders[301];

	await_true(all_are_known(through));
	assert_string_equal(info.name, "law");
	assert_true(info.held == (info.out > 0) && info.held == (info.kind != LEASH_KIND_NONE));
	snprintf(holders, sizeof holders, "%.300s", told);
	snprintf(told, sizeof told, "%s, %lld out:%s", kinds[info.kind], (long long)info.out, holders);
	return told;
}

static void
share(void)
{
	acquires(ours.reads);
	acquires(theirs.reads);
}

/* ---- looking ---- */

SENTENCE(all_who_read_are_told_of_through_a_handle_of_whatever_kind, QUEUED)
{
	char token[LEASH_TOKEN_MAX];

	assert_string_equal(look(looks), "nothing, 0 out:");
	share();
	assert_string_equal(look(looks), "read-write, 2 out: 1/0 1/0");
	assert_string_equal(look(third.writes), "read-write, 2 out: 1/0 1/0");
	leash_lock_token(ours.reads, token, sizeof token);
	assert_string_equal(last, token); /* whose lease ends first */
	leash_lock_token(theirs.reads, token, sizeof token);
	assert_string_equal(info.holder.token, token);
	assert_true(info.fence == leash_lock_fence(ours.reads) && info.held_since_ms > 0 && info.count == 1);
	told[0] = '\0';
	assert_status(LEASH_OK, leash_lock_holders(looks, &info, note, &(int){1}, &err));
	assert_string_equal(told, " 1/0"); /* enough */
	assert_status(LEASH_OK, leash_lock_inspect(theirs.reads, &info, &err));
	assert_true(info.held && info.kind == LEASH_KIND_READ_WRITE && info.out == 2);
	assert_string_equal(info.holder.token, token);
}

SENTENCE(who_writes_is_told_of_and_who_waits_for_what, QUEUED)
{
	int places = 0;

	assert_status(LEASH_OK, leash_lock_acquire(third.writes, 0, &err));
	assert_string_equal(look(looks), "read-write, 1 out: 0/0");
	assert_true(info.count == 0 && info.depth == 1 && info.fence == leash_lock_fence(third.writes));
	wait_for(ours.reads);
	assert_string_equal(look(looks), "read-write, 1 out: 0/0");
	assert_int_equal(info.waiting, 1);
	assert_status(LEASH_OK, leash_lock_waiters(looks, count_waiter, &places, &err));
	assert_int_equal(places, 1);
	assert_status(LEASH_OK, leash_lock_release(third.writes, &err));
	end_waiting(&waiter);
}

/* ---- breaking ---- */

SENTENCE(all_who_read_lose_it_and_who_waited_to_write_has_it, QUEUED)
{
	uint64_t fence;

	share();
	fence = leash_lock_fence(ours.reads);
	wait_for(third.writes);
	assert_status(LEASH_OK, leash_lock_break(ours.reads, &err));
	assert_false(leash_lock_held(ours.reads)); /* of the client that breaks: at once */
	assert_status(LEASH_LOST, leash_lock_release(ours.reads, &err));
	actor_hear(&waiter);
	assert_string_equal(look(looks), "read-write, 1 out: 0/0");
	assert_true(info.fence > fence);
	assert_status(LEASH_OK, leash_lock_break(open_side().writes, &err));
	assert_string_equal(look(looks), "nothing, 0 out:");
	assert_refused(LEASH_NOT_HELD, "read-write lock 'law'", leash_lock_break(ours.reads, &err));
	actor_tell(&waiter, actor_release);
	assert_heard(LEASH_LOST, &waiter);
	actor_end(&waiter);
}

SENTENCE(what_is_of_another_kind_is_left_alone, QUEUED)
{
	share();
	assert_refused(LEASH_MISMATCH, "lock 'law'", leash_lock_break(looks, &err));
	assert_true(leash_lock_held(ours.reads) && leash_lock_held(theirs.reads));
	assert_string_equal(look(looks), "read-write, 2 out: 1/0 1/0");
	place_flush();
	place_say("leash:{law}", "HSET leash:{law} " TOKEN " 1");
	assert_refused(LEASH_MISMATCH, "read-write lock 'law'", leash_lock_break(third.writes, &err));
	place_say("leash:{law}", "HSET leash:{law} user ann");
	assert_refused(LEASH_MISMATCH, "lock 'law'", leash_lock_break(looks, &err));
	assert_int_equal(place_integer("law", "HLEN leash:{law}"), 2);
}

/* What else is needed is said by test_inspect, of permits. */
SENTENCE(a_break_that_is_not_permitted_says_how_many_it_broke_and_the_holds_stand, QUEUED)
{
	share();
	place_say_all("ACL SETUSER %s -zrem", place_user());
	assert_refused(LEASH_DENIED, "read-write lock 'law'", leash_lock_break(third.writes, &err));
	check_text("0 of 2 holds were broken, then: ");
	place_say_all("ACL SETUSER %s +zrem", place_user());
	assert_string_equal(look(looks), "read-write, 2 out: 1/0 1/0");
	assert_true(leash_lock_held(ours.reads) && leash_lock_held(theirs.reads));
}

SENTENCE(of_very_many_so_many_are_broken_as_a_call_tells_of, QUEUED)
{
	place_integer("law", "EVAL %s 1 leash:{law}",
	              "for i = 1, 130 do redis.call('ZADD', KEYS[1], 90000000000000 * 100 + i, '" UUID ":' .. i .. ' 1/0') end "
	              "return redis.call('PEXPIRE', KEYS[1], 60000)");
	assert_status(LEASH_OK, leash_lock_break(third.writes, &err));
	assert_int_equal(place_integer("law", "ZCARD leash:{law}"), 130 - LEASH_HOLDS_MAX);
	assert_string_equal(place_text("law", "ZRANGE leash:{law} 0 0"), UUID ":1 1/0"); /* the longest leases are gone */
	assert_status(LEASH_OK, leash_lock_break(third.writes, &err));
	assert_refused(LEASH_NOT_HELD, "'law'", leash_lock_break(third.writes, &err));
}

/* ---- where there are no others ---- */

#define NOT_MADE(type, names, ...) \
	assert_refused(LEASH_UNSUPPORTED, names, leash_##type##_new(&(leash_##type *){NULL}, __VA_ARGS__, &err))

SENTENCE(a_quorum_has_mutexes_without_a_queue_and_nothing_else)
{
	if (!place_is(PLACE_NO_QUEUE))
		return;
	NOT_MADE(semaphore, "quorum", client, "gpu", 1, NULL);
	NOT_MADE(condition, "lock 'law'", looks, "more", NULL);
	NOT_MADE(latch, "latch 'done': a quorum", client, "done", 1);
	NOT_MADE(barrier, "barrier 'meet': a quorum", client, "meet", 1);
	NOT_MADE(watch, "quorum", client, "law");
	NOT_MADE(lock, "read-write lock 'other'", client, "other", LEASH_LOCK_OPTIONS(.mode = LEASH_READ));
	NOT_MADE(lock, "quorum", client, "other", LEASH_LOCK_OPTIONS(.mode = LEASH_REDISSON));
	NOT_MADE(lock, "quorum", client, "other", LEASH_LOCK_OPTIONS(.fair = true));
	assert_refused(LEASH_UNSUPPORTED, "lock 'law': a quorum has no queue", leash_lock_waiters(looks, count_waiter, NULL, &err));
	acquires(looks);
	assert_refused(LEASH_UNSUPPORTED, "lock 'law'", leash_lock_proclaim(looks, "mine", &err));
	releases(looks);
}
