/* People look at what is held and break it without being told of which kind it is: read-write locks here. What is told of
 * permits is said by test_semaphore; of a mutex by test_inspect, test_scan and test_takeover; of gates, and a list of all
 * kinds, by tools/gates.txt and tools/kinds.txt. Which kinds a quorum has. */
#include "tests/contract/refusal.h"

#include "tests/support/kept.h"

#include <unistd.h>

/* Of each test: of a client each. */
static leash_lock *reads[2], *writes, *looks; /* "law"; the last is a handle of a mutex */
static leash_client *client;                  /* of `looks` */
static leash_lock_info info;
static char told[400];
static char last[LEASH_TOKEN_MAX];

static leash_lock *
law_of(leash_client *of, leash_mode mode)
{
	return kept(leashed_lock(of, "law", LEASH_LOCK_OPTIONS(.mode = mode)));
}

static void
set_up(void)
{
	place_resume();
	place_flush();
	client = kept(open_client());
	looks = law_of(client, LEASH_MUTEX);
	if (place_is(PLACE_NO_QUEUE))
		return;
	for (int i = 0; i < 2; i++)
		reads[i] = law_of(kept(place_client(LEASH_OPTIONS(.lease_ms = 60000))), LEASH_READ);
	writes = law_of(kept(place_client(LEASH_OPTIONS(.lease_ms = 60000))), LEASH_WRITE);
}

FIXTURE(set_up, NULL);
PLACE(refusal_open);

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
	char holders[sizeof told];

	await_true(all_are_known(through));
	assert_string_equal(info.name, "law");
	assert_true(info.held == (info.out > 0) && info.held == (info.kind != LEASH_KIND_NONE));
	strcpy(holders, told);
	snprintf(told, sizeof told, "%s, %lld out:%s", kinds[info.kind], (long long)info.out, holders);
	return told;
}

static void
share(void)
{
	acquires(reads[0]);
	acquires(reads[1]);
}

/* ---- looking ---- */

SENTENCE(all_who_read_are_told_of_through_a_handle_of_whatever_kind, .but = PLACE_NO_QUEUE)
{
	char token[LEASH_TOKEN_MAX];

	assert_string_equal(look(looks), "nothing, 0 out:");
	share();
	assert_string_equal(look(looks), "read-write, 2 out: 1/0 1/0");
	assert_string_equal(look(writes), "read-write, 2 out: 1/0 1/0");
	leash_lock_token(reads[0], token, sizeof token);
	assert_string_equal(last, token); /* whose lease ends first */
	leash_lock_token(reads[1], token, sizeof token);
	assert_string_equal(info.holder.token, token);
	assert_true(info.fence == leash_lock_fence(reads[0]) && info.held_since_ms > 0 && info.count == 1);
	told[0] = '\0';
	assert_status(LEASH_OK, leash_lock_holders(looks, &info, note, &(int){1}, &err));
	assert_string_equal(told, " 1/0"); /* enough */
	assert_status(LEASH_OK, leash_lock_inspect(reads[1], &info, &err));
	assert_true(info.held && info.kind == LEASH_KIND_READ_WRITE && info.out == 2);
	assert_string_equal(info.holder.token, token);
}

SENTENCE(who_writes_is_told_of_and_who_waits_for_what, .but = PLACE_NO_QUEUE)
{
	static struct actor waits;
	int places = 0;

	assert_status(LEASH_OK, leash_lock_acquire(writes, 0, &err));
	assert_string_equal(look(looks), "read-write, 1 out: 0/0");
	assert_true(info.count == 0 && info.depth == 1 && info.fence == leash_lock_fence(writes));
	begin_waiting(&waits, reads[0], LEASH_FOREVER);
	place_await_waiting("law", 1);
	assert_string_equal(look(looks), "read-write, 1 out: 0/0");
	assert_int_equal(info.waiting, 1);
	assert_status(LEASH_OK, leash_lock_waiters(looks, count_waiter, &places, &err));
	assert_int_equal(places, 1);
	assert_status(LEASH_OK, leash_lock_release(writes, &err));
	end_waiting(&waits);
}

/* ---- breaking ---- */

SENTENCE(all_who_read_lose_it_and_who_waited_to_write_has_it, .but = PLACE_NO_QUEUE)
{
	static struct actor waits;
	uint64_t fence;

	share();
	fence = leash_lock_fence(reads[0]);
	begin_waiting(&waits, writes, LEASH_FOREVER);
	place_await_waiting("law", 1);
	assert_status(LEASH_OK, leash_lock_break(reads[0], &err));
	assert_false(leash_lock_held(reads[0])); /* of the client that breaks: at once */
	assert_status(LEASH_LOST, leash_lock_release(reads[0], &err));
	actor_hear(&waits);
	assert_string_equal(look(looks), "read-write, 1 out: 0/0");
	assert_true(info.fence > fence);
	assert_status(LEASH_OK, leash_lock_break(law_of(kept(open_client()), LEASH_WRITE), &err));
	assert_string_equal(look(looks), "nothing, 0 out:");
	assert_refused(LEASH_NOT_HELD, "read-write lock 'law'", leash_lock_break(reads[0], &err));
	actor_tell(&waits, actor_release);
	assert_heard(LEASH_LOST, &waits);
	actor_end(&waits);
}

SENTENCE(what_is_of_another_kind_is_left_alone, .but = PLACE_NO_QUEUE)
{
	share();
	assert_refused(LEASH_MISMATCH, "lock 'law'", leash_lock_break(looks, &err));
	assert_true(leash_lock_held(reads[0]) && leash_lock_held(reads[1]));
	assert_string_equal(look(looks), "read-write, 2 out: 1/0 1/0");
	place_flush();
	place_say("leash:{law}", "HSET leash:{law} " TOKEN " 1");
	assert_refused(LEASH_MISMATCH, "read-write lock 'law'", leash_lock_break(writes, &err));
	assert_int_equal(place_integer("law", "HLEN leash:{law}"), 1);
}

/* What else is needed is said by test_inspect, of permits. */
SENTENCE(a_break_that_is_not_permitted_says_how_many_it_broke_and_the_holds_stand, .but = PLACE_NO_QUEUE)
{
	share();
	place_say_all("ACL SETUSER %s -zrem", place_user());
	assert_refused(LEASH_DENIED, "read-write lock 'law'", leash_lock_break(writes, &err));
	check_text("0 of 2 holds were broken, then: ");
	place_say_all("ACL SETUSER %s +zrem", place_user());
	assert_string_equal(look(looks), "read-write, 2 out: 1/0 1/0");
	assert_true(leash_lock_held(reads[0]) && leash_lock_held(reads[1]));
}

SENTENCE(of_very_many_so_many_are_broken_as_a_call_tells_of, .but = PLACE_NO_QUEUE)
{
	place_integer("law", "EVAL %s 1 leash:{law}",
	              "for i = 1, 130 do redis.call('ZADD', KEYS[1], 90000000000000 * 100 + i, '" UUID ":' .. i .. ' 1/0') end "
	              "return redis.call('PEXPIRE', KEYS[1], 60000)");
	assert_status(LEASH_OK, leash_lock_break(writes, &err));
	assert_int_equal(place_integer("law", "ZCARD leash:{law}"), 130 - LEASH_HOLDS_MAX);
	assert_string_equal(place_text("law", "ZRANGE leash:{law} 0 0"), UUID ":1 1/0"); /* the longest leases are gone */
	assert_status(LEASH_OK, leash_lock_break(writes, &err));
	assert_refused(LEASH_NOT_HELD, "'law'", leash_lock_break(writes, &err));
}

/* ---- where there are no others ---- */

SENTENCE(a_quorum_has_mutexes_without_a_queue_and_nothing_else)
{
	leash_semaphore *semaphore;
	leash_condition *condition;
	leash_latch *latch;
	leash_barrier *barrier;
	leash_watch *watch;
	leash_lock *other;

	if (!place_is(PLACE_NO_QUEUE))
		return;
	assert_refused(LEASH_UNSUPPORTED, "quorum", leash_semaphore_new(&semaphore, client, "gpu", 1, NULL, &err));
	assert_refused(LEASH_UNSUPPORTED, "lock 'law'", leash_condition_new(&condition, looks, "more", NULL, &err));
	assert_refused(LEASH_UNSUPPORTED, "latch 'done': a quorum", leash_latch_new(&latch, client, "done", 1, &err));
	assert_refused(LEASH_UNSUPPORTED, "barrier 'meet': a quorum", leash_barrier_new(&barrier, client, "meet", 1, &err));
	assert_refused(LEASH_UNSUPPORTED, "quorum", leash_watch_new(&watch, client, "law", &err));
	assert_refused(LEASH_UNSUPPORTED, "read-write lock 'other'",
	               leash_lock_new(&other, client, "other", LEASH_LOCK_OPTIONS(.mode = LEASH_READ), &err));
	assert_refused(LEASH_UNSUPPORTED, "quorum",
	               leash_lock_new(&other, client, "other", LEASH_LOCK_OPTIONS(.mode = LEASH_REDISSON), &err));
	assert_refused(LEASH_UNSUPPORTED, "lock 'law': a quorum has no queue", leash_lock_waiters(looks, count_waiter, NULL, &err));
	acquires(looks);
	assert_refused(LEASH_UNSUPPORTED, "lock 'law'", leash_lock_proclaim(looks, "mine", &err));
	releases(looks);
}
