/* People look at what is held, list it and break it without being told of which kind it is: read-write locks here, and
 * permits as far as test_semaphore does not say it. What is told of a mutex is said by test_inspect, test_scan and
 * test_break. */
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
	assert_status(LEASH_OK, leash_lock_acquire(reads[0], 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(reads[1], 0, &err));
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

SENTENCE(a_mutex_has_one_holder)
{
	assert_status(LEASH_OK, leash_lock_acquire(looks, 0, &err));
	assert_string_equal(look(looks), "mutex, 1 out: 0/0");
	assert_string_equal(last, info.holder.token);
	assert_true(info.limit == -1);
	if (!place_is(PLACE_NO_QUEUE))
		assert_string_equal(look(reads[0]), "mutex, 1 out: 0/0");
}

SENTENCE(an_operators_limit_is_told_where_nobody_is_in, .but = PLACE_NO_QUEUE)
{
	place_say("leash:{law}:limit", "SET leash:{law}:limit 0 PX 60000");
	assert_string_equal(look(looks), "nothing, 0 out:");
	assert_int_equal(info.limit, 0);
}

/* ---- listing ---- */

static bool
list(void *arg, const leash_lock_info *found)
{
	char *text = arg;
	size_t n = strlen(text);

	assert_true(found->held && found->holder.pid == getpid() && found->remaining_ms > 0);
	snprintf(text + n, sizeof told - n, " %s %d:%lld", found->name, (int)found->kind, (long long)found->out);
	return true;
}

/* The keys beside that of a lock are of the same types. */
SENTENCE(a_scan_comes_by_all_that_is_held_and_by_nothing_else, .but = PLACE_NO_QUEUE)
{
	static const char *const found[] = {" law 2:2", " gpu 3:3", " mutex 1:1"};
	leash_client *other = kept(open_client());
	leash_lock *mutex = kept(leashed_lock(other, "mutex", NULL));
	leash_semaphore *gpu = NULL;
	leash_permit *permit = NULL;
	static struct actor waits;
	size_t length = 0;

	assert_status(LEASH_OK, leash_semaphore_new(&gpu, other, "gpu", 4, NULL, &err));
	assert_status(LEASH_OK, leash_semaphore_acquire(gpu, 3, 0, &permit, &err));
	assert_status(LEASH_OK, leash_semaphore_limit(gpu, 4, 60000, &err));
	assert_status(LEASH_OK, leash_lock_acquire(mutex, 0, &err));
	share();
	begin_waiting(&waits, writes, LEASH_FOREVER);
	place_await_waiting("law", 1);
	told[0] = '\0';
	assert_status(LEASH_OK, leash_client_scan(client, NULL, list, told, &err));
	for (size_t i = 0; i < COUNT(found); i++) {
		assert_non_null(strstr(told, found[i]));
		length += strlen(found[i]);
	}
	assert_int_equal(strlen(told), length);
	told[0] = '\0';
	assert_status(LEASH_OK, leash_client_scan(client, "l*", list, told, &err));
	assert_string_equal(told, found[0]);
	assert_status(LEASH_OK, leash_lock_break(reads[0], &err));
	end_waiting(&waits);
	assert_status(LEASH_OK, leash_permit_release(permit, &err));
	leash_semaphore_free(gpu);
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

SENTENCE(readers_of_one_client_who_share_a_hold_lose_it_together, .but = PLACE_NO_QUEUE)
{
	leash_lock *both[2];
	leash_owner *owners[2];
	leash_client *ours = kept(place_client(LEASH_OPTIONS(.lease_ms = 3000)));

	for (int i = 0; i < 2; i++) {
		assert_status(LEASH_OK, leash_owner_new(&owners[i], &err));
		both[i] = leashed_lock(ours, "law", LEASH_LOCK_OPTIONS(.mode = LEASH_READ, .owner = owners[i], .handoff_ms = 60000));
		assert_status(LEASH_OK, leash_lock_acquire(both[i], 0, &err));
	}
	assert_string_equal(look(looks), "read-write, 1 out: 1/0");
	assert_status(LEASH_OK, leash_lock_break(writes, &err));
	for (int i = 0; i < 2; i++) {
		await_true(!leash_lock_held(both[i])); /* at its next renewal */
		assert_status(LEASH_LOST, leash_lock_release(both[i], &err));
		assert_status(LEASH_OK, leash_lock_acquire(both[i], 0, &err));
	}
	assert_status(LEASH_OK, leash_lock_break(both[0], &err)); /* and at once where it is broken */
	for (int i = 0; i < 2; i++) {
		assert_false(leash_lock_held(both[i]));
		assert_status(LEASH_LOST, leash_lock_release(both[i], &err));
		leash_lock_free(both[i]);
		leash_owner_free(owners[i]);
	}
}

SENTENCE(permits_are_taken_from_all_and_who_waits_has_room, .but = PLACE_NO_QUEUE)
{
	leash_semaphore *gpu = NULL, *theirs = NULL;
	leash_permit *permit[2] = {NULL}, *next = NULL;

	assert_status(LEASH_OK, leash_semaphore_new(&gpu, kept(open_client()), "gpu", 4, NULL, &err));
	assert_status(LEASH_OK, leash_semaphore_new(&theirs, client, "gpu", 4, NULL, &err));
	assert_refused(LEASH_NOT_HELD, "semaphore 'gpu'", leash_semaphore_break(gpu, &err));
	assert_status(LEASH_OK, leash_semaphore_acquire(gpu, 3, 0, &permit[0], &err));
	assert_status(LEASH_OK, leash_semaphore_acquire(theirs, 1, 0, &permit[1], &err));
	assert_status(LEASH_OK, leash_semaphore_break(gpu, &err));
	assert_int_equal(place_integer("gpu", "EXISTS leash:{gpu}"), 0);
	assert_status(LEASH_OK, leash_semaphore_acquire(theirs, 4, 0, &next, &err));
	for (int i = 0; i < 2; i++)
		assert_status(LEASH_LOST, leash_permit_release(permit[i], &err));
	assert_status(LEASH_OK, leash_permit_release(next, &err));
	leash_semaphore_free(gpu);
	leash_semaphore_free(theirs);
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

SENTENCE(a_permission_that_is_missing_is_named_and_the_holds_stand, .but = PLACE_NO_QUEUE)
{
	static const char *const commands[] = {"HLEN", "ZCOUNT", "GET", "TIME", "ZREVRANGE", "EVALSHA", "ZREM"};

	share();
	for (size_t i = 0; i < COUNT(commands); i++) {
		place_say_all("ACL SETUSER %s -%s", place_user(), commands[i]);
		assert_refused(LEASH_DENIED, commands[i], leash_lock_break(writes, &err));
		check_text("read-write lock 'law'");
		place_say_all("ACL SETUSER %s +%s", place_user(), commands[i]);
	}
	check_text("0 of 2 holds were broken, then: ");
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
