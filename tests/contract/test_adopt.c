/* Adopting a hold of another process: it goes on here, with the same fence, as if it had been acquired here. */
#include "tests/contract/refusal.h"

#include "tests/contract/actor.h"
#include "tests/support/await.h"
#include "tests/support/child.h"
#include "tests/support/monitor.h"
#include "tests/support/proxy.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define UUID "0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10"
#define TOKEN UUID ":42"
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Of each test: a client that adopts, and a thread of it; and one that had the lock before, in the same process for convenience. */
static leash_client *client, *former;
static leash_lock *lock, *held;      /* of "law" */
static struct leashed_events events; /* of the client that adopts */
static struct actor other;           /* a thread that uses `lock` */
static char token[LEASH_TOKEN_MAX];  /* of `held`, after hold() */
static uint64_t fence;               /* likewise */

static int
set_up(void **state)
{
	(void)state;
	server_resume(server);
	freeReplyObject(server_command(server, "FLUSHALL"));
	memset(&events, 0, sizeof events);
	client = leashed_open(server_uri(server), LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));
	former = open_client();
	lock = leashed_lock(client, "law", NULL);
	held = leashed_lock(former, "law", NULL);
	memset(&other, 0, sizeof other);
	other.lock = lock;
	other.wait_ms = LEASH_FOREVER;
	actor_start(&other);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	server_resume(server);
	leash_close(client);
	leash_close(former);
	actor_hear(&other);
	actor_tell(&other, NULL);
	actor_join(&other);
	leash_lock_free(lock);
	leash_lock_free(held);
	return 0;
}

static void
hold(void)
{
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_true(leash_lock_token(held, token, sizeof token) > 0);
	fence = leash_lock_fence(held);
}

static bool
is_free(void)
{
	return server_integer(server, "EXISTS leash:{law} leash:{law}:queue") == 0;
}

/* The former one finds out that what it had is gone. */
static void
let_the_former_one_lose(void)
{
	assert_status(LEASH_LOST, leash_lock_release(held, &err));
}

/* A client behind a proxy. */
static struct {
	struct proxy *proxy;
	leash_client *client;
	leash_lock *lock;
} far;

static void
go_far(int64_t timeout_ms, int64_t lease_ms)
{
	far.proxy = proxy_start(server_socket(server));
	far.client = leashed_open(proxy_uri(far.proxy), LEASH_OPTIONS(.timeout_ms = timeout_ms, .lease_ms = lease_ms));
	far.lock = other.lock = leashed_lock(far.client, "law", NULL);
}

static void
come_back(void)
{
	leash_lock_free(far.lock);
	other.lock = lock;
	leash_close(far.client);
	proxy_stop(far.proxy);
}

static void
adopt_by(struct actor *a)
{
	a->began_ns = await_now_ns();
	a->status = leash_lock_adopt(a->lock, token, &a->err);
	a->ended_ns = await_now_ns();
	a->held = leash_lock_held(a->lock);
}

/* ---- it goes on ---- */

static void
an_adopted_hold_is_one_as_any_other_with_the_same_token_and_fence(void **state)
{
	char mine[LEASH_TOKEN_MAX];

	(void)state;
	hold();
	assert_status(LEASH_OK, leash_lock_adopt(lock, token, &err));
	assert_true(leash_lock_held(lock));
	assert_int_equal(leash_lock_depth(lock), 1);
	assert_true(leash_lock_fence(lock) == fence);
	assert_int_equal(leash_lock_token(lock, mine, sizeof mine), strlen(token));
	assert_string_equal(mine, token);
	assert_in_range(leash_lock_remaining_ms(lock), 1, 30000);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err)); /* nests */
	assert_int_equal(leash_lock_depth(lock), 2);
	assert_status(LEASH_OK, leash_lock_extend(lock, 60000, &err));
	assert_in_range(leash_lock_remaining_ms(lock), 30000, 60000);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_true(is_free());
	assert_status(LEASH_NOT_HELD, leash_lock_adopt(lock, token, &err));
	let_the_former_one_lose();
	assert_int_equal(events.total, 0);
}

/* What a process hands to another one. */
struct legacy {
	char token[LEASH_TOKEN_MAX];
	uint64_t fence;
	struct stage stage;
};

static int
hold_until_killed(void *arg)
{
	struct legacy *legacy = arg;
	leash_client *own = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 5000));
	leash_lock *mine = leashed_lock(own, "law", NULL);

	for (int i = 0; i < 3; i++)
		assert_status(LEASH_OK, leash_lock_acquire(mine, 0, &err));
	leash_lock_token(mine, legacy->token, sizeof legacy->token);
	legacy->fence = leash_lock_fence(mine);
	stage_set(&legacy->stage, 1);
	pause();
	return 1;
}

static void
the_hold_of_a_process_that_was_killed_goes_on_for_as_long_as_one_likes(void **state)
{
	struct legacy *legacy = child_share(sizeof *legacy);
	leash_client *brisk =
		leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 3000, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *mine = leashed_lock(brisk, "law", NULL);
	pid_t pid = child_run(hold_until_killed, legacy);

	(void)state;
	stage_await(&legacy->stage, 1);
	child_kill(pid);
	actor_tell(&other, actor_acquire); /* of a third client */
	await_true(server_integer(server, "ZCARD leash:{law}:queue") > 0);
	assert_status(LEASH_OK, leash_lock_adopt(mine, legacy->token, &err));
	assert_true(leash_lock_fence(mine) == legacy->fence);
	await_ms(6500); /* past the lease of the one that was killed, and two of ours */
	assert_true(leash_lock_held(mine));
	assert_string_equal(server_text(server, "HGETALL leash:{law}"), (snprintf(token, sizeof token, "%.58s 1", legacy->token), token));
	assert_in_range(server_integer(server, "PTTL leash:{law}"), 1, 3000);
	assert_false(actor_is_done(&other));
	assert_status(LEASH_OK, leash_lock_release(mine, &err));
	assert_heard(LEASH_OK, &other);
	assert_true(other.held && other.fence > legacy->fence);
	assert_done(LEASH_OK, &other, actor_release);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	leash_lock_free(mine);
	leash_close(brisk);
	child_unshare(legacy, sizeof *legacy);
}

static void
a_lease_that_is_longer_than_ours_stays_as_long_and_a_shorter_one_grows(void **state)
{
	leash_lock *brief = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.lease_ms = 3000));

	(void)state;
	hold();
	assert_status(LEASH_OK, leash_lock_adopt(brief, token, &err));
	assert_in_range(leash_lock_remaining_ms(brief), 1, 3000);
	assert_true(server_integer(server, "PTTL leash:{law}") > 3000);
	assert_status(LEASH_OK, leash_lock_release(brief, &err));
	let_the_former_one_lose();
	leash_lock_free(brief);

	freeReplyObject(server_command(server, "DEL leash:{law}:fence"));
	freeReplyObject(server_command(server, "HSET leash:{law} " TOKEN " 1"));
	freeReplyObject(server_command(server, "PEXPIRE leash:{law} 5000"));
	assert_status(LEASH_OK, leash_lock_adopt(lock, TOKEN, &err));
	assert_true(server_integer(server, "PTTL leash:{law}") > 5000);
	assert_true(leash_lock_fence(lock) > fence); /* there is one also where it was lost */
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

static void
who_it_was_is_known_for_as_long_as_its_token_holds_the_lock(void **state)
{
	leash_lock *lasting = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.lease_ms = 600000));
	char key[64];

	(void)state;
	hold();
	snprintf(key, sizeof key, "leash:client:%.36s", token);
	assert_in_range(server_integer(server, "PTTL %s", key), 1, 100000);
	assert_status(LEASH_OK, leash_lock_adopt(lasting, token, &err));
	assert_in_range(server_integer(server, "PTTL %s", key), 600000, 2000000);
	assert_status(LEASH_OK, leash_lock_release(lasting, &err));
	let_the_former_one_lose();
	leash_lock_free(lasting);
}

static void
the_terms_of_the_handle_are_those_of_the_hold(void **state)
{
	leash_lock *const handles[] = {
		leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.max_hold_ms = 1500)),
		leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.lease_ms = 1500, .no_renew = true)),
		leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.lease_ms = 1500, .alive_ms = 100)),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(handles); i++) {
		hold();
		assert_status(LEASH_OK, leash_lock_adopt(handles[i], token, &err));
		assert_in_range(leash_lock_remaining_ms(handles[i]), 0, 1500);
		await_true(!leash_lock_held(handles[i]));
		await_true(events.count[LEASH_EVENT_LOST] == (int)i + 1);
		await_true(is_free()); /* and the server is told so, whatever was left of the lease */
		assert_status(LEASH_LOST, leash_lock_release(handles[i], &err));
		let_the_former_one_lose();
		leash_lock_free(handles[i]);
	}
}

static void
the_handles_owner_adopts_and_any_thread_releases(void **state)
{
	leash_owner *owner = NULL;
	leash_lock *owned;

	(void)state;
	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	owned = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = owner));
	hold();
	other.lock = owned;
	assert_done(LEASH_OK, &other, adopt_by);
	assert_true(other.held && leash_lock_held(owned) && !leash_lock_held(lock));
	assert_refused(LEASH_INVALID, "lock 'law'", leash_lock_adopt(owned, token, &err));
	assert_status(LEASH_OK, leash_lock_release(owned, &err));
	assert_true(is_free());
	let_the_former_one_lose();
	other.lock = lock;
	leash_lock_free(owned);
	leash_owner_free(owner);
}

static void *
adopt_and_end(void *arg)
{
	leash_lock *mine = arg;
	leash_error e;

	return leash_lock_adopt(mine, token, &e) == LEASH_OK ? mine : NULL;
}

static void
the_end_of_the_thread_that_adopted_abandons_it_and_so_does_the_last_handle(void **state)
{
	pthread_t thread;
	void *adopted;
	leash_lock *last;

	(void)state;
	hold();
	pthread_create(&thread, NULL, adopt_and_end, lock);
	pthread_join(thread, &adopted);
	assert_ptr_equal(adopted, lock);
	await_true(is_free());
	await_true(events.count[LEASH_EVENT_ABANDONED] == 1);
	let_the_former_one_lose();

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	leash_lock_token(held, token, sizeof token);
	leash_lock_free(lock);
	last = leashed_lock(client, "law", NULL);
	assert_status(LEASH_OK, leash_lock_adopt(last, token, &err));
	leash_lock_free(last);
	await_true(is_free());
	await_true(events.count[LEASH_EVENT_ABANDONED] == 2);
	let_the_former_one_lose();
	lock = leashed_lock(client, "law", NULL);
	other.lock = lock;
}

static void
closing_the_client_releases_what_was_adopted(void **state)
{
	leash_client *third = open_client();
	leash_lock *mine = leashed_lock(third, "law", NULL);

	(void)state;
	hold();
	assert_status(LEASH_OK, leash_lock_adopt(mine, token, &err));
	leash_close(third);
	assert_true(is_free());
	leash_lock_free(mine);
	let_the_former_one_lose();
}

/* ---- others in this process ---- */

static void
who_waits_in_this_process_goes_on_waiting_and_is_next(void **state)
{
	for (int fair = 0; fair < 2; fair++) {
		leash_lock *theirs = leashed_lock(former, "line", LEASH_LOCK_OPTIONS(.fair = fair == 1));
		leash_lock *mine = leashed_lock(client, "line", LEASH_LOCK_OPTIONS(.fair = fair == 1));
		struct waiting waiting[3];
		uint64_t first;

		(void)state;
		assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
		leash_lock_token(theirs, token, sizeof token);
		first = leash_lock_fence(theirs);
		memset(waiting, 0, sizeof waiting);
		for (size_t i = 0; i < COUNT(waiting); i++) {
			waiting[i].lock = mine;
			waiting[i].wait_ms = LEASH_FOREVER;
			begin_waiting(&waiting[i]);
		}
		await_true(server_integer(server, "ZCARD leash:{line}:queue") == (fair ? 4 : 2));
		assert_status(LEASH_OK, leash_lock_adopt(mine, token, &err));
		assert_true(leash_lock_held(mine) && leash_lock_fence(mine) == first);
		await_ms(1500); /* words are said meanwhile */
		assert_true(leash_lock_held(mine));
		assert_int_equal(waiting[0].acquired + waiting[1].acquired + waiting[2].acquired, 0);
		assert_status(LEASH_OK, leash_lock_release(mine, &err));
		for (size_t i = 0; i < COUNT(waiting); i++)
			waiting[i].may_release = 1;
		for (size_t i = 0; i < COUNT(waiting); i++)
			end_waiting(&waiting[i]);
		assert_status(LEASH_OK, leash_lock_acquire(mine, 1000, &err));
		assert_true(leash_lock_fence(mine) > first);
		assert_status(LEASH_OK, leash_lock_release(mine, &err));
		assert_status(LEASH_LOST, leash_lock_release(theirs, &err));
		assert_int_equal(server_integer(server, "EXISTS leash:{line} leash:{line}:queue"), 0);
		leash_lock_free(theirs);
		leash_lock_free(mine);
	}
	assert_int_equal(events.total, 0);
}

static void
what_was_adopted_is_not_handed_on_without_asking_the_server(void **state)
{
	leash_lock *patient = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.handoff_ms = 60000));

	(void)state;
	hold();
	assert_status(LEASH_OK, leash_lock_adopt(patient, token, &err));
	actor_tell(&other, actor_acquire);
	actor_await_asleep(&other);
	assert_status(LEASH_OK, leash_lock_release(patient, &err));
	assert_heard(LEASH_OK, &other);
	/* the one who had it before may have counted on from its fence */
	assert_true(other.held && other.fence >= fence + 256 && other.fence % 256 == 0);
	assert_done(LEASH_OK, &other, actor_release);
	let_the_former_one_lose();
	leash_lock_free(patient);
}

static void
a_hold_of_another_thread_stands_unless_the_server_gave_the_lock_away(void **state)
{
	(void)state;
	hold();
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_done(LEASH_OK, &other, actor_acquire);
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_adopt(lock, token, &err));
	assert_done(LEASH_OK, &other, actor_look);
	assert_true(other.held);

	freeReplyObject(server_command(server, "DEL leash:{law}"));
	hold();
	assert_status(LEASH_OK, leash_lock_adopt(lock, token, &err));
	assert_true(leash_lock_held(lock));
	assert_done(LEASH_OK, &other, actor_look);
	assert_false(other.held);
	assert_done(LEASH_LOST, &other, actor_release);
	assert_true(leash_lock_held(lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	let_the_former_one_lose();
}

static void
an_answer_that_a_later_hold_of_this_process_has_overtaken_is_not_believed(void **state)
{
	struct actor *waiter = calloc(1, sizeof *waiter);

	(void)state;
	go_far(30000, 0);
	assert_status(LEASH_NOT_HELD, leash_lock_adopt(lock, TOKEN, &err)); /* the server knows the script */
	hold();
	waiter->lock = far.lock;
	waiter->wait_ms = LEASH_FOREVER;
	actor_start(waiter);
	actor_tell(waiter, actor_acquire);
	await_true(server_integer(server, "ZCARD leash:{law}:queue") == 2);
	/* "held" is on its way; the lock is released and given to the thread that waits here, which hears of it over the other connection */
	proxy_hold_reply(far.proxy, token);
	actor_tell(&other, adopt_by);
	proxy_wait_hit(far.proxy);
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_heard(LEASH_OK, waiter);
	proxy_release(far.proxy);
	assert_heard(LEASH_NOT_HELD, &other);
	assert_done(LEASH_OK, waiter, actor_look);
	assert_true(waiter->held);
	assert_done(LEASH_OK, waiter, actor_release);
	actor_tell(waiter, NULL);
	actor_join(waiter);
	free(waiter);
	come_back();
}

static void
a_token_has_one_owner_in_a_client(void **state)
{
	(void)state;
	hold();
	assert_done(LEASH_OK, &other, adopt_by);
	assert_refused(LEASH_INVALID, "lock 'law'", leash_lock_adopt(lock, token, &err));
	assert_done(LEASH_OK, &other, actor_look);
	assert_true(other.held);
	assert_done(LEASH_OK, &other, actor_release);
	let_the_former_one_lose();
}

/* Threads that adopt one token at once, and whoever got it releases it. */
enum { RACERS = 3, ROUNDS = 60 };

static struct {
	struct stage go, done;
	_Atomic unsigned adopted, refused, inside, clashes;
} race;

static void *
adopt_at_once(void *arg)
{
	leash_lock *mine = leashed_lock(client, "law", NULL);

	(void)arg;
	for (unsigned round = 1; round <= ROUNDS; round++) {
		leash_status status;

		stage_await(&race.go, round);
		status = leash_lock_adopt(mine, token, NULL);
		race.refused += status == LEASH_NOT_HELD || status == LEASH_INVALID;
		if (status == LEASH_OK) {
			race.adopted++;
			race.clashes += race.inside++ != 0;
			sched_yield();
			race.clashes += !leash_lock_held(mine);
			race.inside--;
			race.clashes += leash_lock_release(mine, NULL) != LEASH_OK;
		}
		stage_raise(&race.done);
	}
	leash_lock_free(mine);
	return NULL;
}

static void
of_threads_that_adopt_at_once_one_has_it_and_nobody_has_what_was_released(void **state)
{
	pthread_t threads[RACERS];

	(void)state;
	for (int i = 0; i < RACERS; i++)
		pthread_create(&threads[i], NULL, adopt_at_once, NULL);
	for (unsigned round = 1; round <= ROUNDS; round++) {
		hold();
		stage_set(&race.go, round);
		stage_await(&race.done, round * RACERS);
		assert_true(is_free());
		let_the_former_one_lose();
	}
	for (int i = 0; i < RACERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(race.clashes, 0);
	assert_int_equal(race.adopted, ROUNDS);
	assert_int_equal(race.refused, (RACERS - 1) * ROUNDS);
}

static _Atomic int standing, go_on;

static void
stand_still(int signal)
{
	(void)signal;
	standing = 1;
	while (!go_on)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void
a_thread_that_comes_late_to_its_answer_has_nothing_of_what_was_released_meanwhile(void **state)
{
	leash_client *patient = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = 30000));
	struct actor *late = calloc(1, sizeof *late);
	struct sigaction act = {.sa_handler = stand_still}, before;

	(void)state;
	sigaction(SIGUSR1, &act, &before);
	standing = go_on = 0;
	hold();
	other.lock = late->lock = leashed_lock(patient, "law", NULL);
	actor_start(late);
	/* both words are on their way; the first thread reads the answers for both */
	server_pause(server);
	actor_tell(&other, adopt_by);
	actor_await_asleep(&other);
	actor_tell(late, adopt_by);
	actor_await_asleep(late);
	pthread_kill(late->thread, SIGUSR1);
	await_true(standing);
	server_resume(server);
	assert_heard(LEASH_OK, &other);
	assert_done(LEASH_OK, &other, actor_release);
	go_on = 1;
	assert_heard(LEASH_NOT_HELD, late);
	assert_false(late->held);
	actor_tell(late, NULL);
	actor_join(late);
	free(late);
	leash_lock_free(other.lock);
	other.lock = lock;
	leash_close(patient);
	let_the_former_one_lose();
	sigaction(SIGUSR1, &before, NULL);
}

static void
look_at_it(struct actor *a)
{
	leash_lock_info info = {.size = sizeof info};

	a->began_ns = await_now_ns();
	a->status = leash_lock_inspect(a->lock, &info, &a->err);
	a->ended_ns = await_now_ns();
}

static void
nor_of_what_was_broken_meanwhile_by_this_client(void **state)
{
	leash_client *patient = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = 30000));
	struct actor *late = calloc(1, sizeof *late);
	struct sigaction act = {.sa_handler = stand_still}, before;

	(void)state;
	sigaction(SIGUSR1, &act, &before);
	standing = go_on = 0;
	hold();
	other.lock = late->lock = leashed_lock(patient, "law", NULL);
	actor_start(late);
	server_pause(server);
	actor_tell(&other, look_at_it); /* and reads */
	actor_await_asleep(&other);
	actor_tell(late, adopt_by);
	actor_await_asleep(late);
	pthread_kill(late->thread, SIGUSR1);
	await_true(standing);
	server_resume(server);
	assert_heard(LEASH_OK, &other);
	assert_status(LEASH_OK, leash_lock_break(other.lock, &err));
	go_on = 1;
	assert_heard(LEASH_NOT_HELD, late);
	assert_false(late->held);
	actor_tell(late, NULL);
	actor_join(late);
	free(late);
	leash_lock_free(other.lock);
	other.lock = lock;
	leash_close(patient);
	let_the_former_one_lose();
	sigaction(SIGUSR1, &before, NULL);
}

static void
what_is_just_being_released_is_not_adopted_again(void **state)
{
	(void)state;
	go_far(30000, 0);
	hold();
	assert_done(LEASH_OK, &other, adopt_by);
	proxy_hold(far.proxy, PROXY_TO_SERVER);
	actor_tell(&other, actor_release);
	actor_await_asleep(&other);
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_adopt(far.lock, token, &err)); /* at once, without asking */
	proxy_release(far.proxy);
	assert_heard(LEASH_OK, &other);
	assert_status(LEASH_NOT_HELD, leash_lock_adopt(far.lock, token, &err));
	let_the_former_one_lose();
	come_back();
}

/* ---- what is not to be had ---- */

static void
what_nobody_holds_by_that_token_is_not_held_and_nothing_is_changed(void **state)
{
	(void)state;
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_adopt(lock, TOKEN, &err)); /* free */
	assert_true(is_free());
	hold();
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_adopt(lock, TOKEN, &err)); /* held by another one */
	assert_true(leash_lock_held(held));
	/* in the queue, of a client that is dead: it stays dead */
	freeReplyObject(server_command(server, "ZADD leash:{law}:queue -5 " UUID " 7 %s", TOKEN " 3000"));
	freeReplyObject(server_command(server, "PEXPIRE leash:{law}:queue 60000"));
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_adopt(lock, TOKEN, &err));
	assert_string_equal(server_text(server, "ZSCORE leash:{law}:queue " UUID), "-5");
	assert_false(leash_lock_held(lock));
	assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}

static void
what_is_no_token_is_refused_and_told_why(void **state)
{
	static const struct {
		const char *token, *why;
	} cases[] = {
		{NULL, "NULL"},
		{"", "empty"},
		{"x", "too short"},
		{UUID, "too short"},
		{UUID ":", "too short"},
		{UUID ":123456789012345678901", "too long"},
		{UUID ":12345678901234567890123456789012345678901234567890", "too long"},
		{"0c6f1d52x8a1e-4b7e-9d0a-3f1c5e7a9b10:42", "UUID"},
		{"0c6f1d5-28a1e-4b7e-9d0a-3f1c5e7a9b10:42", "UUID"},
		{"0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b1g:42", "UUID"},
		{" " UUID ":4", "UUID"},
		{UUID "-42", "colon"},
		{UUID ":x", "number"},
		{UUID ":4 2", "number"},
		{UUID ":-42", "number"},
		{UUID ":42\n", "number"},
	};
	struct monitor *monitor = monitor_start(server);

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_refused(LEASH_INVALID, "lock 'law'", leash_lock_adopt(lock, cases[i].token, &err));
		check_text(cases[i].why);
	}
	assert_refused(LEASH_INVALID, "leash_lock_adopt", leash_lock_adopt(NULL, TOKEN, &err));
	assert_int_equal(monitor_count(monitor, "eval"), 0);
	monitor_stop(monitor);
}

static void
a_token_of_this_clients_own_is_refused(void **state)
{
	char mine[LEASH_TOKEN_MAX];

	(void)state;
	assert_done(LEASH_OK, &other, actor_acquire);
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 0, &err));
	snprintf(mine, sizeof mine, "%.57s", server_text(server, "HKEYS leash:{law}"));
	assert_refused(LEASH_INVALID, "owner", leash_lock_adopt(lock, mine, &err));
	assert_done(LEASH_OK, &other, actor_release);
	assert_refused(LEASH_INVALID, "owner", leash_lock_adopt(lock, mine, &err));
}

static void
who_holds_the_lock_already_or_has_lost_it_adopts_nothing(void **state)
{
	leash_lock *lapsing = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.lease_ms = 100, .no_renew = true));

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_refused(LEASH_INVALID, "lock 'law'", leash_lock_adopt(lock, TOKEN, &err));
	assert_true(leash_lock_held(lock));
	assert_int_equal(leash_lock_depth(lock), 1);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));

	assert_status(LEASH_OK, leash_lock_acquire(lapsing, 0, &err));
	await_true(!leash_lock_held(lapsing) && is_free());
	hold();
	assert_refused(LEASH_LOST, "lock 'law'", leash_lock_adopt(lock, token, &err));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_adopt(lock, token, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	let_the_former_one_lose();
	leash_lock_free(lapsing);
}

static void
a_key_of_another_kind_is_a_mismatch_and_a_permission_that_is_missing_is_named(void **state)
{
	(void)state;
	freeReplyObject(server_command(server, "SET leash:{law} x"));
	assert_refused(LEASH_MISMATCH, "lock 'law'", leash_lock_adopt(lock, TOKEN, &err));
	assert_string_equal(server_text(server, "GET leash:{law}"), "x");
	freeReplyObject(server_command(server, "DEL leash:{law}"));
	freeReplyObject(server_command(server, "SET leash:{law}:queue x"));
	assert_refused(LEASH_MISMATCH, "lock 'law'", leash_lock_adopt(lock, TOKEN, &err));
	freeReplyObject(server_command(server, "DEL leash:{law}:queue"));

	hold();
	freeReplyObject(server_command(server, "ACL SETUSER default -hexists"));
	assert_refused(LEASH_DENIED, "HEXISTS", leash_lock_adopt(lock, token, &err));
	freeReplyObject(server_command(server, "ACL SETUSER default +hexists"));
	assert_false(leash_lock_held(lock));
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}

/* ---- answers that are lost or late ---- */

static void
an_adoption_whose_answer_was_lost_is_asked_for_again(void **state)
{
	(void)state;
	go_far(0, 0);
	for (int i = 0; i < 3; i++) {
		hold();
		if (i == 0)
			proxy_cut_request(far.proxy, token);
		else
			proxy_cut_reply(far.proxy, token, i == 1 ? 0 : 9);
		assert_status(LEASH_OK, leash_lock_adopt(far.lock, token, &err));
		assert_true(proxy_hit(far.proxy));
		assert_true(leash_lock_held(far.lock) && leash_lock_fence(far.lock) == fence);
		assert_status(LEASH_OK, leash_lock_release(far.lock, &err));
		assert_true(is_free());
		let_the_former_one_lose();
	}
	come_back();
}

static void
a_server_that_stands_still_leaves_the_others_hold_as_it_was(void **state)
{
	(void)state;
	hold();
	server_pause(server);
	assert_refused(LEASH_UNAVAILABLE, "lock 'law'", leash_lock_adopt(lock, token, &err));
	assert_false(leash_lock_held(lock));
	server_resume(server);
	assert_string_equal(server_text(server, "HKEYS leash:{law}"), token);
	await_true(server_integer(server, "PTTL leash:{law}") > 0);
	assert_true(leash_lock_held(held));
	await_true(leash_lock_extend(held, 30000, &err) == LEASH_OK); /* and nobody cancels it */
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}

static void
an_answer_that_comes_when_its_lease_is_over_is_not_believed_and_releases_nothing(void **state)
{
	(void)state;
	go_far(30000, 100);
	hold();
	proxy_hold_reply(far.proxy, token);
	actor_tell(&other, adopt_by);
	proxy_wait_hit(far.proxy);
	await_ms(150);
	proxy_release(far.proxy);
	assert_heard(LEASH_UNAVAILABLE, &other);
	assert_false(other.held);
	await_ms(100);
	assert_string_equal(server_text(server, "HKEYS leash:{law}"), token);
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	come_back();
}

static void
a_client_that_is_closed_meanwhile_adopts_nothing(void **state)
{
	leash_client *third = open_client();

	(void)state;
	hold();
	other.lock = leashed_lock(third, "law", NULL);
	server_pause(server);
	actor_tell(&other, adopt_by);
	actor_await_asleep(&other);
	leash_close(third);
	assert_heard(LEASH_CLOSED, &other);
	server_resume(server);
	await_true(server_integer(server, "HLEN leash:{law}") == 1);
	assert_true(leash_lock_held(held));
	leash_lock_free(other.lock);
	other.lock = lock;
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}

static void
nothing_is_adopted_so_soon_after_a_restart_as_the_guard_says(void **state)
{
	leash_lock *guarded = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.restart_guard_ms = 86400000));

	(void)state;
	hold();
	assert_refused(LEASH_UNAVAILABLE, "restart_guard_ms", leash_lock_adopt(guarded, token, &err));
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	leash_lock_free(guarded);
}

/* ---- the call ---- */

static void
adopt_in_callback(void *arg, const leash_event *event)
{
	_Atomic int *status = arg;

	(void)event;
	*status = leash_lock_adopt(lock, TOKEN, NULL);
}

static void
a_callback_may_not_wait_for_it(void **state)
{
	_Atomic int status = -1;
	leash_lock *lost = leashed_lock(
		client, "lost", LEASH_LOCK_OPTIONS(.lease_ms = 100, .no_renew = true, .on_event = adopt_in_callback, .event_arg = &status));

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(lost, 0, &err));
	await_true(status != -1);
	assert_int_equal(status, LEASH_IN_CALLBACK);
	assert_status(LEASH_LOST, leash_lock_release(lost, &err));
	leash_lock_free(lost);
}

static int
adopt_in_child(void *arg)
{
	(void)arg;
	assert_refused(LEASH_FORKED, "lock 'law'", leash_lock_adopt(lock, token, &err));
	return 0;
}

static void
a_closed_client_a_forked_child_and_an_owner_that_was_freed_are_refused(void **state)
{
	leash_client *third = open_client();
	leash_lock *mine = leashed_lock(third, "law", NULL);
	leash_owner *owner = NULL;

	(void)state;
	hold();
	child_wait(child_run(adopt_in_child, NULL));
	leash_close(third);
	assert_refused(LEASH_CLOSED, "lock 'law'", leash_lock_adopt(mine, token, &err));
	leash_lock_free(mine);
	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	mine = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = owner));
	leash_owner_free(owner);
	assert_refused(LEASH_INVALID, "owner", leash_lock_adopt(mine, token, &err));
	leash_lock_free(mine);
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}

static void
an_owner_for_whom_a_thread_adopts_cannot_adopt_or_acquire_meanwhile(void **state)
{
	leash_owner *owner = NULL;
	leash_lock *owned;

	(void)state;
	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	owned = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = owner));
	hold();
	server_pause(server);
	other.lock = owned;
	actor_tell(&other, adopt_by);
	actor_await_asleep(&other);
	assert_refused(LEASH_INVALID, "another thread", leash_lock_adopt(owned, token, &err));
	assert_refused(LEASH_INVALID, "another thread", leash_lock_acquire(owned, 0, &err));
	server_resume(server);
	actor_hear(&other);
	if (other.status == LEASH_OK) {
		assert_status(LEASH_OK, leash_lock_release(owned, &err));
		let_the_former_one_lose();
	} else {
		assert_heard(LEASH_UNAVAILABLE, &other);
		assert_status(LEASH_OK, leash_lock_release(held, &err));
	}
	other.lock = lock;
	leash_lock_free(owned);
	leash_owner_free(owner);
}

int
main(void)
{
#define each(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		each(an_adopted_hold_is_one_as_any_other_with_the_same_token_and_fence),
		each(the_hold_of_a_process_that_was_killed_goes_on_for_as_long_as_one_likes),
		each(a_lease_that_is_longer_than_ours_stays_as_long_and_a_shorter_one_grows),
		each(who_it_was_is_known_for_as_long_as_its_token_holds_the_lock),
		each(the_terms_of_the_handle_are_those_of_the_hold),
		each(the_handles_owner_adopts_and_any_thread_releases),
		each(the_end_of_the_thread_that_adopted_abandons_it_and_so_does_the_last_handle),
		each(closing_the_client_releases_what_was_adopted),
		each(who_waits_in_this_process_goes_on_waiting_and_is_next),
		each(what_was_adopted_is_not_handed_on_without_asking_the_server),
		each(a_hold_of_another_thread_stands_unless_the_server_gave_the_lock_away),
		each(an_answer_that_a_later_hold_of_this_process_has_overtaken_is_not_believed),
		each(a_token_has_one_owner_in_a_client),
		each(of_threads_that_adopt_at_once_one_has_it_and_nobody_has_what_was_released),
		each(a_thread_that_comes_late_to_its_answer_has_nothing_of_what_was_released_meanwhile),
		each(nor_of_what_was_broken_meanwhile_by_this_client),
		each(what_is_just_being_released_is_not_adopted_again),
		each(what_nobody_holds_by_that_token_is_not_held_and_nothing_is_changed),
		each(what_is_no_token_is_refused_and_told_why),
		each(a_token_of_this_clients_own_is_refused),
		each(who_holds_the_lock_already_or_has_lost_it_adopts_nothing),
		each(a_key_of_another_kind_is_a_mismatch_and_a_permission_that_is_missing_is_named),
		each(an_adoption_whose_answer_was_lost_is_asked_for_again),
		each(a_server_that_stands_still_leaves_the_others_hold_as_it_was),
		each(an_answer_that_comes_when_its_lease_is_over_is_not_believed_and_releases_nothing),
		each(a_client_that_is_closed_meanwhile_adopts_nothing),
		each(nothing_is_adopted_so_soon_after_a_restart_as_the_guard_says),
		each(a_callback_may_not_wait_for_it),
		each(a_closed_client_a_forked_child_and_an_owner_that_was_freed_are_refused),
		each(an_owner_for_whom_a_thread_adopts_cannot_adopt_or_acquire_meanwhile),
	};

	return refusal_run("adopt", tests, COUNT(tests));
}
