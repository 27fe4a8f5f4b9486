/* Permits: how many are out at most, who gets them, and whose they are. That they are renewed, lost and waited for as
 * locks are is said by core/test_shared.c; what the server does: redis/test_share.c. */
#include "tests/contract/refusal.h"
#include "tests/support/child.h"
#include "tests/support/counted.h"
#include "tests/support/kept.h"

#include <unistd.h>

enum { LIMIT = 4 };

static leash_client *ours, *others;
static leash_semaphore *mine, *theirs;
static struct actor waiter; /* of `theirs`; waits for `wanted` */
static int64_t wanted;
static leash_permit *got; /* by it */

static leash_semaphore *
semaphore_of(leash_client *client, int64_t limit)
{
	leash_semaphore *made = NULL;

	assert_status(LEASH_OK, leash_semaphore_new(&made, client, "gpu", limit, NULL, &err));
	return made;
}

static void
open_two(void)
{
	actor_begin(&waiter, NULL, LEASH_FOREVER);
	if (place_is(PLACE_NO_QUEUE))
		return;
	ours = place_client(LEASH_OPTIONS(.lease_ms = 3000));
	others = place_client(LEASH_OPTIONS(.lease_ms = 3000));
	mine = semaphore_of(ours, LIMIT);
	theirs = semaphore_of(others, LIMIT);
}

static void
close_two(void)
{
	actor_end(&waiter);
	leash_semaphore_free(mine);
	leash_semaphore_free(theirs);
	leash_close(ours);
	leash_close(others);
	ours = others = NULL;
	mine = theirs = NULL;
}

PLACE(place_open_counted);
FIXTURE(open_two, close_two);

static leash_permit *
take(leash_semaphore *from, int64_t count)
{
	leash_permit *permit = NULL;

	assert_status(LEASH_OK, leash_semaphore_acquire(from, count, 5000, &permit, &err));
	assert_true(leash_permit_held(permit));
	assert_int_equal(leash_permit_count(permit), count);
	return permit;
}

static void
give(leash_permit *permit)
{
	assert_status(LEASH_OK, leash_permit_release(permit, &err));
}

static leash_status
try_for(leash_semaphore *from, int64_t count)
{
	leash_permit *none = NULL;
	leash_status status = leash_semaphore_acquire(from, count, 0, &none, &err);

	if (status == LEASH_OK)
		give(none);
	return status;
}

static void
wait_for_them(struct actor *a)
{
	a->status = leash_semaphore_acquire_with(
		theirs, wanted, LEASH_ACQUIRE(.wait_ms = a->wait_ms, .cancel = a->cancel), &got, &a->err);
}

static void
let_it_wait_for(int64_t count)
{
	wanted = count;
	actor_tell(&waiter, wait_for_them);
	place_await_waiting("gpu", 1);
}

/* ---- how many ---- */

SENTENCE(as_many_as_there_are_come_in_from_anywhere_and_no_more, .but = PLACE_NO_QUEUE)
{
	leash_permit *permits[LIMIT];

	for (int i = 0; i < LIMIT; i++)
		permits[i] = take(i % 2 == 0 ? mine : theirs, 1);
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", try_for(mine, 1));
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", leash_semaphore_acquire(theirs, 1, 100, &got, &err));
	give(permits[2]);
	permits[2] = take(theirs, 1);
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", try_for(mine, 1));
	for (int i = 0; i < LIMIT; i++)
		give(permits[i]);
	place_assert_free("gpu");
}

SENTENCE(several_are_acquired_together_or_none, .but = PLACE_NO_QUEUE)
{
	leash_permit *three = take(mine, 3);

	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", try_for(theirs, 2));
	give(take(theirs, 1));
	give(three);
	give(take(theirs, LIMIT));
}

SENTENCE(who_wants_many_is_not_passed_by_those_who_want_few, .but = PLACE_NO_QUEUE)
{
	leash_permit *one = take(mine, 1);

	let_it_wait_for(LIMIT);
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", try_for(mine, 1));
	give(one);
	assert_heard(LEASH_OK, &waiter);
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", try_for(mine, 1));
	give(got);
}

SENTENCE(some_are_given_back_and_the_others_stay, .but = PLACE_NO_QUEUE)
{
	leash_permit *three = take(mine, 3);

	let_it_wait_for(3);
	assert_status(LEASH_OK, leash_permit_release_some(three, 2, &err));
	assert_heard(LEASH_OK, &waiter);
	assert_int_equal(leash_permit_count(three), 1);
	assert_true(leash_permit_held(three));
	for (int64_t count = -1; count <= 2; count++)
		assert_refused(LEASH_INVALID, "semaphore 'gpu': ", leash_permit_release_some(three, count, &err));
	give(three);
	give(got);
	give(take(theirs, LIMIT));
}

SENTENCE(a_wait_that_is_canceled_leaves_no_place, .but = PLACE_NO_QUEUE)
{
	leash_permit *all = take(mine, LIMIT);

	waiter.cancel = kept(leashed_cancel());
	let_it_wait_for(1);
	leash_cancel_fire(waiter.cancel);
	assert_heard(LEASH_CANCELED, &waiter);
	give(all);
	await_true(place_is_free("gpu"));
}

/* ---- whose they are ---- */

static void
release_it(struct actor *a)
{
	a->status = leash_permit_release(a->ctx, &a->err);
}

SENTENCE(any_thread_may_give_them_back, .but = PLACE_NO_QUEUE)
{
	waiter.ctx = take(mine, 2);
	assert_done(LEASH_OK, &waiter, release_it);
	place_assert_free("gpu");
}

SENTENCE(each_is_a_hold_of_its_own, .but = PLACE_NO_QUEUE)
{
	leash_permit *a = take(mine, 1), *b = take(mine, 1);
	char tokens[2][LEASH_TOKEN_MAX];

	size_t size = leash_permit_token(a, tokens[0], LEASH_TOKEN_MAX);

	assert_int_equal(size, strlen(tokens[0]));
	leash_permit_token(b, tokens[1], LEASH_TOKEN_MAX);
	assert_string_not_equal(tokens[0], tokens[1]);
	assert_status(LEASH_OK, leash_permit_extend(a, place_lease_ms(60000), &err));
	assert_in_range(leash_permit_remaining_ms(a), 3001, 60000);
	assert_in_range(leash_permit_remaining_ms(b), 1, 3000);
	assert_int_equal(stats_of(ours).holding, 2);
	give(a);
	assert_true(leash_permit_held(b));
	give(b);
}

SENTENCE(they_outlast_the_handle_that_they_were_acquired_with, .but = PLACE_NO_QUEUE)
{
	leash_permit *permit = take(mine, 1);

	leash_semaphore_free(mine);
	assert_true(leash_permit_held(permit));
	give(permit);
	mine = semaphore_of(ours, LIMIT);
	place_assert_free("gpu");
}

SENTENCE(they_are_renewed_and_free_when_the_lease_of_a_client_that_died_is_over, .but = PLACE_NO_QUEUE)
{
	leash_permit *permit = take(mine, LIMIT);

	await_true(stats_of(ours).renewed >= 3);
	assert_true(leash_permit_held(permit));
	let_it_wait_for(1);
	/* so it looks like to the server: nobody renews, nobody releases */
	place_say("leash:{gpu}", "DEL leash:{gpu}");
	assert_heard(LEASH_OK, &waiter);
	give(got);
	await_true(!leash_permit_held(permit));
	assert_int_equal(leash_permit_remaining_ms(permit), 0);
	assert_refused(LEASH_LOST, "semaphore 'gpu': ", leash_permit_release(permit, &err));
}

static void
note_permit(void *arg, const leash_event *event)
{
	if (event->type == LEASH_EVENT_LOST)
		atomic_store((const leash_permit *_Atomic *)arg, event->permit);
}

SENTENCE(an_event_says_of_which_it_tells, .but = PLACE_NO_QUEUE)
{
	static const leash_permit *_Atomic told;
	leash_semaphore *heard;
	leash_permit *a, *b;

	atomic_store(&told, NULL);
	assert_status(LEASH_OK, leash_semaphore_new(&heard, ours, "gpu", LIMIT,
	              LEASH_LOCK_OPTIONS(.on_event = note_permit, .event_arg = (void *)&told), &err));
	a = take(heard, 1);
	b = take(heard, 2);
	place_say("leash:{gpu}", "DEL leash:{gpu}");
	assert_status(LEASH_LOST, leash_permit_extend(b, 3000, &err));
	await_true(atomic_load(&told) == b);
	assert_status(LEASH_LOST, leash_permit_release(b, &err));
	leash_permit_release(a, NULL);
	leash_semaphore_free(heard);
}

SENTENCE(another_client_goes_on_with_them_by_their_token, .but = PLACE_NO_QUEUE)
{
	leash_permit *permit = take(mine, 2), *adopted = NULL;
	char token[LEASH_TOKEN_MAX];

	leash_permit_token(permit, token, sizeof token);
	assert_refused(LEASH_NOT_HELD, "semaphore 'gpu': ", leash_semaphore_adopt(theirs, 1, token, &adopted, &err));
	assert_status(LEASH_OK, leash_semaphore_adopt(theirs, 2, token, &adopted, &err));
	assert_int_equal(leash_permit_count(adopted), 2);
	give(adopted);
	place_assert_free("gpu");
	assert_refused(LEASH_LOST, "semaphore 'gpu': ", leash_permit_release(permit, &err));
}

SENTENCE(a_closed_client_gives_all_back_and_its_permits_are_still_to_be_freed, .but = PLACE_NO_QUEUE)
{
	leash_client *client = place_client(NULL);
	leash_semaphore *semaphore = semaphore_of(client, LIMIT);
	leash_permit *permits[] = {take(semaphore, 1), take(semaphore, 2)};

	leash_close(client);
	place_assert_free("gpu");
	for (int i = 0; i < 2; i++) {
		assert_false(leash_permit_held(permits[i]));
		assert_refused(LEASH_CLOSED, "semaphore 'gpu': ", leash_permit_release(permits[i], &err));
	}
	assert_refused(LEASH_CLOSED, "semaphore 'gpu': ", try_for(semaphore, 1));
	leash_semaphore_free(semaphore);
}

static int
use_as_child(void *permit)
{
	assert_false(leash_permit_held(permit));
	assert_refused(LEASH_FORKED, "semaphore 'gpu': ", try_for(mine, 1));
	assert_refused(LEASH_FORKED, "semaphore 'gpu': ", leash_permit_extend(permit, 3000, &err));
	assert_refused(LEASH_FORKED, "semaphore 'gpu': ", leash_permit_release(permit, &err));
	leash_semaphore_free(mine);
	return 0;
}

SENTENCE(a_forked_child_has_none_of_its_parents, .but = PLACE_NO_QUEUE)
{
	leash_permit *permit = take(mine, 1);

	child_wait(child_run(use_as_child, permit));
	assert_true(leash_permit_held(permit));
	give(permit);
}

SENTENCE(wherever_memory_runs_out_none_is_held, .but = PLACE_NO_QUEUE)
{
	long used = 0, n;

	for (n = 1; n == 1 || used >= n - 1; n++) {
		leash_semaphore *made = NULL;
		leash_permit *permit = NULL;
		leash_status status;

		counted.calls = 0;
		counted.fail_at = n;
		status = leash_semaphore_new(&made, ours, "gpu", LIMIT, NULL, &err);
		if (status == LEASH_OK)
			status = leash_semaphore_acquire(made, 2, 5000, &permit, &err);
		used = counted.calls;
		counted.fail_at = 0;
		if (status == LEASH_OK)
			give(permit);
		else
			assert_status(LEASH_NO_MEMORY, status);
		leash_semaphore_free(made);
		await_true(place_is_free("gpu"));
	}
	assert_true(n > 4);
}

/* ---- what is told of it ---- */

static leash_lock_info info;
static struct {
	size_t count, most;
	leash_hold_info permit[LEASH_HOLDS_MAX];
} seen;

static bool
see(void *arg, const leash_hold_info *permit)
{
	(void)arg;
	assert_int_equal(permit->size, sizeof *permit);
	assert_true(seen.count == 0 || permit->remaining_ms <= seen.permit[seen.count - 1].remaining_ms);
	assert_in_range(seen.count, 0, LEASH_HOLDS_MAX - 1);
	seen.permit[seen.count] = *permit;
	return ++seen.count != seen.most;
}

static leash_status
inspect(void)
{
	memset(&info, 0x5a, sizeof info);
	info.size = sizeof info;
	seen.count = 0;
	return leash_semaphore_inspect(mine, &info, see, NULL, &err);
}

static const char *
told(void)
{
	static char text[200];
	int n;

	assert_status(LEASH_OK, inspect());
	assert_int_equal(info.size, sizeof info);
	assert_string_equal(info.name, "gpu");
	assert_int_equal(info.kind, info.out == 0 ? LEASH_KIND_NONE : info.permits > 0 ? LEASH_KIND_SEMAPHORE : LEASH_KIND_READ_WRITE);
	assert_true(info.out == 0 || seen.count == 0 || strcmp(info.holder.token, seen.permit[0].who.token) == 0);
	n = snprintf(text, sizeof text, "%lld out, %u wait, limit %lld:", (long long)info.out, info.waiting,
	             (long long)info.limit);
	for (size_t i = 0; i < seen.count && n < (int)sizeof text; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, " %lld/%lld", (long long)seen.permit[i].count,
		              (long long)seen.permit[i].limit);
	return text;
}

SENTENCE(all_that_is_out_is_told_with_who_has_it_and_how_many_wait, .but = PLACE_NO_QUEUE)
{
	leash_client *known = kept(place_client(LEASH_OPTIONS(.client_name = "renderer", .lease_ms = place_lease_ms(60000))));
	leash_semaphore *wide = semaphore_of(known, 5);
	leash_permit *two, *one;
	char token[LEASH_TOKEN_MAX];

	assert_string_equal(told(), "0 out, 0 wait, limit -1:");
	one = take(mine, 1);
	two = take(wide, 2);
	let_it_wait_for(3);
	assert_string_equal(told(), "3 out, 1 wait, limit -1: 2/5 1/4");
	leash_permit_token(two, token, sizeof token);
	assert_string_equal(seen.permit[0].who.token, token);
	assert_string_equal(seen.permit[0].who.program, "renderer");
	assert_int_equal(seen.permit[0].who.pid, getpid());
	assert_in_range(seen.permit[0].remaining_ms, 3001, 60000);
	assert_in_range(seen.permit[1].remaining_ms, 1, 3000);
	seen.most = 1;
	assert_string_equal(told(), "3 out, 1 wait, limit -1: 2/5");
	seen.most = 0;
	assert_status(LEASH_OK, leash_semaphore_inspect(mine, &info, NULL, NULL, &err));
	assert_int_equal(info.out, 3);
	give(two);
	assert_heard(LEASH_OK, &waiter);
	give(got);
	give(one);
	leash_semaphore_free(wide);
}

static struct {
	size_t count;
	int64_t wants[2];
	leash_waiter_info last;
} queue;

static bool
note_waiter(void *arg, const leash_waiter_info *of)
{
	(void)arg;
	assert_int_equal(of->position, queue.count + 1);
	queue.wants[queue.count++ % 2] = of->count;
	queue.last = *of;
	return true;
}

SENTENCE(who_waits_is_told_with_how_many_it_wants, .but = PLACE_NO_QUEUE)
{
	static const char add[] = "ZADD leash:{gpu}:queue %s %s";
	leash_permit *all = take(mine, LIMIT);

	memset(&queue, 0, sizeof queue);
	assert_status(LEASH_OK, leash_semaphore_waiters(mine, note_waiter, NULL, &err));
	assert_int_equal(queue.count, 0);
	let_it_wait_for(3);
	place_say("leash:{gpu}", add, "9000000000000000", TOKEN " w 3000");
	assert_status(LEASH_OK, leash_semaphore_waiters(mine, note_waiter, NULL, &err));
	assert_true(queue.count == 2 && queue.wants[0] == 3 && queue.wants[1] == 0);
	assert_string_equal(queue.last.who.token, TOKEN);
	place_say("leash:{gpu}", add, "9000000000000001", TOKEN " x 3000");
	assert_refused(LEASH_MISMATCH, "semaphore 'gpu': ", leash_semaphore_waiters(mine, note_waiter, NULL, &err));
	place_say("leash:{gpu}", "ZREM leash:{gpu}:queue %s %s", TOKEN " x 3000", TOKEN " w 3000");
	give(all);
	assert_heard(LEASH_OK, &waiter);
	give(got);
}

SENTENCE(an_operators_limit_is_for_all_and_for_a_while, .but = PLACE_NO_QUEUE)
{
	leash_permit *two = take(mine, 2);

	assert_status(LEASH_OK, leash_semaphore_limit(theirs, 2, 86400000, &err));
	assert_string_equal(told(), "2 out, 0 wait, limit 2: 2/4");
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", try_for(mine, 1));
	assert_status(LEASH_OK, leash_semaphore_limit(theirs, 0, 60000, &err));
	assert_true(leash_permit_held(two));
	give(two);
	assert_string_equal(told(), "0 out, 0 wait, limit 0:");
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", try_for(mine, 1));
	assert_status(LEASH_OK, leash_semaphore_limit(mine, 1, 60000, &err));
	give(take(mine, 3)); /* alone */
	assert_status(LEASH_OK, leash_semaphore_limit(mine, 1, 0, &err));
	assert_status(LEASH_OK, leash_semaphore_limit(mine, 0, 0, &err));
	assert_string_equal(told(), "0 out, 0 wait, limit -1:");
	assert_status(LEASH_OK, leash_semaphore_limit(mine, 0, 300, &err));
	give(take(mine, 4)); /* who waits comes in when it has ended by itself */
}

SENTENCE(who_waits_and_has_room_comes_in_when_the_limit_is_raised_or_ends, .but = PLACE_NO_QUEUE)
{
	static const int64_t limits[][2] = {{3, 60000}, {0, 0}};

	for (size_t i = 0; i < COUNT(limits); i++) {
		leash_permit *one = take(mine, 1);

		assert_status(LEASH_OK, leash_semaphore_limit(mine, 1, 60000, &err));
		let_it_wait_for(2);
		assert_string_equal(told(), "1 out, 1 wait, limit 1: 1/4");
		assert_status(LEASH_OK, leash_semaphore_limit(mine, limits[i][0], limits[i][1], &err));
		assert_int_equal(place_integer("gpu", "ZCARD leash:{gpu}"), 3);
		assert_heard(LEASH_OK, &waiter);
		give(got);
		give(one);
	}
	assert_status(LEASH_OK, leash_semaphore_limit(mine, 0, 0, &err));
}

SENTENCE(a_limit_whose_answer_is_lost_is_said_again, .but = PLACE_ONE_SOCKET)
{
	struct proxy *proxy = kept(proxy_start(server_socket(deployment_server(place))));
	leash_client *far = leashed_open(proxy_uri(proxy), NULL);
	leash_semaphore *semaphore = semaphore_of(far, LIMIT);

	assert_status(LEASH_OK, leash_semaphore_limit(semaphore, 3, 60000, &err));
	for (int i = 0; i < 2; i++) {
		if (i == 0)
			proxy_cut_request(proxy, "evalsha");
		else
			proxy_cut_reply(proxy, "evalsha", 1);
		assert_status(LEASH_OK, leash_semaphore_limit(semaphore, i, 60000, &err));
		assert_true(proxy_hit(proxy));
		assert_string_equal(place_text("gpu", "GET leash:{gpu}:limit"), i == 0 ? "0" : "1");
	}
	assert_status(LEASH_OK, leash_semaphore_limit(semaphore, 0, 0, &err));
	leash_semaphore_free(semaphore);
	leash_close(far);
}

/* So many holds of 2 permits, of clients that nobody knows. */
static void
make_holds(long long holds)
{
	place_flush();
	place_integer("gpu", "EVAL %s 1 leash:{gpu} %lld",
	              "local ends = redis.call('TIME')[1] * 1000000 + 60000000 "
	              "for i = 1, tonumber(ARGV[1]) do "
	              "local who = string.format('0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b%02d:%d 2/1000000', i % 90, i) "
	              "redis.call('ZADD', KEYS[1], ends + i, who, ends + i, who .. ' 2') end "
	              "return redis.call('PEXPIRE', KEYS[1], 60000)", holds);
}

SENTENCE(of_many_those_are_told_of_that_last_longest, .but = PLACE_NO_QUEUE)
{
	static const int holds[] = {1, 63, 64, 65, LEASH_HOLDS_MAX, LEASH_HOLDS_MAX + 1, 5000};

	for (size_t i = 0; i < COUNT(holds); i++) {
		char last[16];

		make_holds(holds[i]);
		assert_status(LEASH_OK, inspect());
		assert_int_equal(info.out, 2 * holds[i]);
		assert_int_equal(seen.count, holds[i] < LEASH_HOLDS_MAX ? holds[i] : LEASH_HOLDS_MAX);
		snprintf(last, sizeof last, ":%d", holds[i]);
		assert_string_equal(strchr(seen.permit[0].who.token, ':'), last);
	}
	place_flush();
}

SENTENCE(what_is_no_semaphore_is_a_mismatch, .but = PLACE_NO_QUEUE)
{
	static const char add[] = "ZADD leash:{gpu} 99999999999999999 %s";
	static const struct {
		const char *command, *who;
	} none[] = {
		{"SET leash:{gpu} 1", ""}, {"HSET leash:{gpu} %s 1", "user"}, {"SET leash:{gpu}:queue 1", ""},
		{"SADD leash:{gpu}:fence 1", ""}, {"SADD leash:{gpu}:limit 1", ""}, {"ZADD leash:{gpu} inf %s", TOKEN " 1/4"},
		{add, "x"}, {add, TOKEN}, {add, TOKEN " "}, {add, TOKEN " x"}, {add, TOKEN " 0/4"}, {add, TOKEN " 2/1"},
		{add, TOKEN " 1/"}, {add, TOKEN " /1"}, {add, TOKEN " 1001/0"}, {add, TOKEN " 1/1000001"}, {add, TOKEN " W"},
		{add, UUID ":x 1/4"}, {add, UUID ":1\n1/4"},
	};

	for (size_t i = 0; i < COUNT(none); i++) {
		place_flush();
		place_say("leash:{gpu}", none[i].command, none[i].who);
		assert_refused(LEASH_MISMATCH, "semaphore 'gpu': ", inspect());
		assert_true(info.out == INT64_C(0x5a5a5a5a5a5a5a5a) && seen.count == 0);
		if (none[i].command != add && strstr(none[i].command, "fence") == NULL && strstr(none[i].command, " inf") == NULL)
			assert_refused(LEASH_MISMATCH, "semaphore 'gpu': ", leash_semaphore_limit(mine, 1, 1000, &err));
	}
	place_flush();
}

SENTENCE(what_others_than_leash_may_hold_is_told, .but = PLACE_NO_QUEUE)
{
	place_say("leash:{gpu}", "ZADD leash:{gpu} 99999999999999999 %s", TOKEN " w");
	assert_string_equal(told(), "1 out, 0 wait, limit -1: 0/0");
	place_flush();
	place_say("leash:{gpu}", "ZADD leash:{gpu} 99999999999999999 %s", TOKEN " 1/0");
	assert_string_equal(told(), "1 out, 0 wait, limit -1: 1/0");
	place_flush();
}

static leash_status
ask_who_waits(void)
{
	return leash_semaphore_waiters(mine, note_waiter, NULL, &err);
}

static leash_status
limit(void)
{
	return leash_semaphore_limit(mine, 3, 60000, &err);
}

SENTENCE(a_permission_that_is_missing_is_named, .but = PLACE_NO_QUEUE)
{
	static const struct {
		leash_status (*ask)(void);
		const char *commands[9];
	} needs[] = {
		{inspect, {"TIME", "GET", "HLEN", "ZCOUNT", "ZREVRANGE", "EVALSHA"}},
		{ask_who_waits, {"ZRANGEBYSCORE"}},
		{limit, {"ZCOUNT", "GET", "SET", "EVALSHA"}},
	};
	leash_permit *permit = take(mine, 1);

	for (size_t i = 0; i < COUNT(needs); i++)
		for (const char *const *command = needs[i].commands; *command != NULL; command++) {
			place_say_all("ACL SETUSER %s -%s", place_user(), *command);
			assert_refused(LEASH_DENIED, *command, needs[i].ask());
			check_text("semaphore 'gpu': ");
			place_say_all("ACL SETUSER %s +%s", place_user(), *command);
		}
	give(permit);
	place_say("leash:{gpu}:limit", "DEL leash:{gpu}:limit");
}

SENTENCE(a_server_that_stands_still_is_unavailable, .but = PLACE_NO_QUEUE)
{
	leash_permit *permit = take(mine, 1);

	place_pause();
	assert_refused(LEASH_UNAVAILABLE, "semaphore 'gpu': ", inspect());
	assert_refused(LEASH_UNAVAILABLE, "semaphore 'gpu': ", leash_semaphore_limit(mine, 0, 0, &err));
	place_resume();
	await_true(inspect() == LEASH_OK);
	assert_int_equal(info.out, 1);
	give(permit);
}

/* ---- what is none ---- */

SENTENCE(a_quorum_has_none_and_says_why)
{
	leash_semaphore *none = NULL;
	leash_client *quorum = NULL;

	if (!place_is(PLACE_NO_QUEUE))
		return;
	quorum = kept(place_client(NULL));
	assert_refused(LEASH_UNSUPPORTED, "quorum", leash_semaphore_new(&none, quorum, "gpu", 1, NULL, &err));
	assert_null(none);
}

SENTENCE(a_lock_and_a_semaphore_of_one_name_are_a_mismatch, .but = PLACE_NO_QUEUE)
{
	leash_lock *lock = kept(leashed_lock(kept(place_client(NULL)), "gpu", NULL)), *same = NULL;
	leash_permit *permit;

	assert_refused(LEASH_INVALID, "lock 'gpu'", leash_lock_new(&same, ours, "gpu", NULL, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_refused(LEASH_MISMATCH, "semaphore 'gpu': ", try_for(mine, 1));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	permit = take(mine, 1);
	assert_refused(LEASH_MISMATCH, "lock 'gpu'", leash_lock_acquire(lock, 0, &err));
	give(permit);
}

SENTENCE(what_cannot_be_is_refused_by_name, .but = PLACE_NO_QUEUE)
{
	leash_semaphore *none = NULL;
	leash_permit *permit = NULL;
	leash_owner *owner;

	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	assert_refused(LEASH_INVALID, "leash_semaphore_new", leash_semaphore_new(NULL, ours, "gpu", 1, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_semaphore_new", leash_semaphore_new(&none, ours, "", 1, NULL, &err));
	assert_refused(LEASH_INVALID, "the limit is 0", leash_semaphore_new(&none, ours, "gpu", 0, NULL, &err));
	assert_refused(LEASH_INVALID, "the limit is 1000001", leash_semaphore_new(&none, ours, "gpu", 1000001, NULL, &err));
	assert_refused(LEASH_INVALID, "semaphore 'gpu': permits have no owner", leash_semaphore_new(&none, ours, "gpu", 1, LEASH_LOCK_OPTIONS(.owner = owner), &err));
	assert_refused(LEASH_INVALID, "semaphore 'gpu': lease_ms is 1, ",
	               leash_semaphore_new(&none, ours, "gpu", 1, LEASH_LOCK_OPTIONS(.lease_ms = 1), &err));
	assert_refused(LEASH_INVALID, "semaphore 'gpu': lease_ms is 1, ",
	               leash_semaphore_acquire_with(mine, 1, LEASH_ACQUIRE(.lease_ms = 1), &permit, &err));
	assert_refused(LEASH_INVALID, "count is 0", leash_semaphore_acquire(mine, 0, 0, &permit, &err));
	assert_refused(LEASH_INVALID, "count is 5", leash_semaphore_acquire(mine, LIMIT + 1, 0, &permit, &err));
	assert_refused(LEASH_INVALID, "leash_semaphore_acquire", leash_semaphore_acquire(NULL, 1, 0, &permit, &err));
	assert_refused(LEASH_INVALID, "leash_semaphore_acquire", leash_semaphore_acquire(mine, 1, 0, NULL, &err));
	assert_refused(LEASH_INVALID, "semaphore 'gpu': ", leash_semaphore_acquire(mine, 1, -2, &permit, &err));
	assert_refused(LEASH_INVALID, "semaphore 'gpu': ", leash_semaphore_adopt(mine, 1, "x", &permit, &err));
	assert_refused(LEASH_INVALID, "leash_permit_release", leash_permit_release(NULL, &err));
	assert_refused(LEASH_INVALID, "leash_permit_extend", leash_permit_extend(NULL, 1000, &err));
	assert_null(none);
	assert_null(permit);
	assert_false(leash_permit_held(NULL));
	assert_int_equal(leash_permit_count(NULL), 0);
	leash_permit_alive(NULL);
	leash_semaphore_free(NULL);
	assert_refused(LEASH_INVALID, "leash_semaphore_inspect", leash_semaphore_inspect(NULL, &info, see, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_semaphore_inspect", leash_semaphore_inspect(mine, NULL, see, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_semaphore_waiters", leash_semaphore_waiters(NULL, note_waiter, NULL, &err));
	assert_refused(LEASH_INVALID, "semaphore 'gpu': ", leash_semaphore_waiters(mine, NULL, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_semaphore_limit", leash_semaphore_limit(NULL, 1, 1, &err));
	assert_refused(LEASH_INVALID, "'gpu': the limit is -1", leash_semaphore_limit(mine, -1, 1, &err));
	assert_refused(LEASH_INVALID, "'gpu': the limit is 1000001", leash_semaphore_limit(mine, 1000001, 1, &err));
	assert_refused(LEASH_INVALID, "'gpu': for_ms is -1", leash_semaphore_limit(mine, 1, -1, &err));
	assert_refused(LEASH_INVALID, "'gpu': for_ms is 86400001", leash_semaphore_limit(mine, 1, 86400001, &err));
	for (size_t size = 0; size < 3; size++) {
		info.size = (size_t[]){0, offsetof(leash_lock_info, holder) - 1, 65537}[size];
		assert_refused(LEASH_INVALID, "lock_info", leash_semaphore_inspect(mine, &info, see, NULL, &err));
	}
	leash_owner_free(owner);
}
