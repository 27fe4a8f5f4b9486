/* Adopting a hold while others adopt, wait, release or break; and while the server, or its answer, is late. */
#include "tests/contract/adoption.h"

#include "tests/support/proxy.h"
#include "tests/support/test.h"

#include <sched.h>
#include <signal.h>
#include <time.h>

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

FIXTURE(set_up, tear_down);
PLACE(refusal_open);

/* ---- others in this process ---- */

SENTENCE(who_waits_in_this_process_goes_on_waiting_and_is_next)
{
	for (int fair = 0; fair < (place_is(PLACE_NO_QUEUE) ? 1 : 2); fair++) {
		leash_lock *theirs = leashed_lock(former, "line", LEASH_LOCK_OPTIONS(.fair = fair == 1));
		leash_lock *mine = leashed_lock(client, "line", LEASH_LOCK_OPTIONS(.fair = fair == 1));
		struct waiting waiting[3];
		uint64_t first;

		assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
		leash_lock_token(theirs, token, sizeof token);
		first = leash_lock_fence(theirs);
		memset(waiting, 0, sizeof waiting);
		for (size_t i = 0; i < COUNT(waiting); i++) {
			waiting[i].lock = mine;
			waiting[i].wait_ms = LEASH_FOREVER;
			begin_waiting(&waiting[i]);
		}
		place_await_waiting("line", fair ? 3 : 1);
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
		place_assert_free("line");
		leash_lock_free(theirs);
		leash_lock_free(mine);
	}
	assert_int_equal(events.total, place_thin(&events)); /* the former one's votes may be late */
}

SENTENCE(what_was_adopted_is_not_handed_on_without_asking_the_server)
{
	leash_lock *patient = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.handoff_ms = 60000));

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

SENTENCE(a_hold_of_another_thread_stands_unless_the_server_gave_the_lock_away)
{
	hold();
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_done(LEASH_OK, &other, actor_acquire);
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_adopt(lock, token, &err));
	assert_done(LEASH_OK, &other, actor_look);
	assert_true(other.held);

	place_say("leash:{law}", "DEL leash:{law}");
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

SENTENCE(an_answer_that_a_later_hold_of_this_process_has_overtaken_is_not_believed, .but = PLACE_ONE_SOCKET)
{
	struct actor *waiter = calloc(1, sizeof *waiter);

	go_far(30000, 0);
	assert_status(LEASH_NOT_HELD, leash_lock_adopt(lock, TOKEN, &err)); /* the server knows the script */
	hold();
	actor_begin(waiter, far.lock, LEASH_FOREVER);
	actor_tell(waiter, actor_acquire);
	place_await_waiting("law", 1);
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
	actor_end(waiter);
	free(waiter);
	come_back();
}

SENTENCE(a_token_has_one_owner_in_a_client)
{
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

SENTENCE(of_threads_that_adopt_at_once_one_has_it_and_nobody_has_what_was_released)
{
	pthread_t threads[RACERS];

	for (int i = 0; i < RACERS; i++)
		pthread_create(&threads[i], NULL, adopt_at_once, NULL);
	for (unsigned round = 1; round <= ROUNDS; round++) {
		hold();
		stage_set(&race.go, round);
		stage_await(&race.done, round * RACERS);
		place_assert_free("law");
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

/* A client with two threads that have asked for something: `other`, which reads the answers for both, and one that is to adopt but
 * stands still before it can look what became of it. */
static struct {
	leash_client *client;
	struct actor *actor;
	struct sigaction before;
} late;

static void
be_late(actor_act *what_the_other_does)
{
	struct sigaction act = {.sa_handler = stand_still};

	late.client = place_client(LEASH_OPTIONS(.timeout_ms = 30000));
	late.actor = calloc(1, sizeof *late.actor);
	other.lock = late.actor->lock = leashed_lock(late.client, "law", NULL);
	sigaction(SIGUSR1, &act, &late.before);
	standing = go_on = 0;
	actor_start(late.actor);
	place_pause();
	actor_tell(&other, what_the_other_does);
	actor_await_asleep(&other);
	actor_tell(late.actor, adopt_by);
	actor_await_asleep(late.actor);
	pthread_kill(late.actor->thread, SIGUSR1);
	await_true(standing);
	place_resume();
	assert_heard(LEASH_OK, &other);
}

/* It is told what was so when its answer was read: by the other thread, or once that had left. */
static void
come_late_to_nothing(leash_status told, leash_status or_told)
{
	go_on = 1;
	actor_hear(late.actor);
	if (late.actor->status != or_told)
		assert_heard(told, late.actor);
	assert_false(late.actor->held);
	actor_end(late.actor);
	free(late.actor);
	leash_lock_free(other.lock);
	other.lock = lock;
	leash_close(late.client);
	sigaction(SIGUSR1, &late.before, NULL);
}

SENTENCE(a_thread_that_comes_late_to_its_answer_has_nothing_of_what_was_released_meanwhile)
{
	hold();
	be_late(adopt_by);
	assert_done(LEASH_OK, &other, actor_release);
	come_late_to_nothing(LEASH_INVALID, LEASH_NOT_HELD); /* the other one had adopted it, or was releasing it */
	let_the_former_one_lose();
}

static void
look_at_it(struct actor *a)
{
	leash_lock_info info = {.size = sizeof info};

	a->began_ns = await_now_ns();
	a->status = leash_lock_inspect(a->lock, &info, &a->err);
	a->ended_ns = await_now_ns();
}

SENTENCE(nor_of_what_was_broken_meanwhile_by_this_client)
{
	hold();
	be_late(look_at_it);
	assert_status(LEASH_OK, leash_lock_break(other.lock, &err));
	come_late_to_nothing(LEASH_OK, LEASH_OK); /* it had the lock, until that was broken */
	let_the_former_one_lose();
}

SENTENCE(what_is_just_being_released_is_not_adopted_again, .but = PLACE_ONE_SOCKET)
{
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

SENTENCE(an_owner_for_whom_a_thread_adopts_cannot_adopt_or_acquire_meanwhile)
{
	leash_owner *owner = NULL;
	leash_lock *owned;

	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	owned = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = owner));
	hold();
	place_pause();
	other.lock = owned;
	actor_tell(&other, adopt_by);
	actor_await_asleep(&other);
	assert_refused(LEASH_INVALID, "another thread", leash_lock_adopt(owned, token, &err));
	assert_refused(LEASH_INVALID, "another thread", leash_lock_acquire(owned, 0, &err));
	place_resume();
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

/* ---- answers that are lost or late ---- */

SENTENCE(an_adoption_whose_answer_was_lost_is_asked_for_again, .but = PLACE_ONE_SOCKET)
{
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
		place_assert_free("law");
		let_the_former_one_lose();
	}
	come_back();
}

SENTENCE(a_server_that_stands_still_leaves_the_others_hold_as_it_was)
{
	hold();
	place_pause();
	assert_refused(LEASH_UNAVAILABLE, "lock 'law'", leash_lock_adopt(lock, token, &err));
	assert_false(leash_lock_held(lock));
	place_resume();
	assert_string_equal(place_text("law", "HKEYS leash:{law}"), token);
	await_true(place_left_ms("law") > 0);
	assert_true(leash_lock_held(held));
	await_true(leash_lock_extend(held, place_lease_ms(30000), &err) == LEASH_OK); /* and nobody cancels it */
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}

SENTENCE(an_answer_that_comes_when_its_lease_is_over_is_not_believed_and_releases_nothing,
         .but = PLACE_ONE_SOCKET)
{
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
	assert_string_equal(place_text("law", "HKEYS leash:{law}"), token);
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	come_back();
}

SENTENCE(a_client_that_is_closed_meanwhile_adopts_nothing)
{
	leash_client *third = open_client();

	hold();
	other.lock = leashed_lock(third, "law", NULL);
	place_pause();
	actor_tell(&other, adopt_by);
	actor_await_asleep(&other);
	leash_close(third);
	assert_heard(LEASH_CLOSED, &other);
	place_resume();
	await_true(place_integer("law", "HLEN leash:{law}") == 1);
	assert_true(leash_lock_held(held));
	leash_lock_free(other.lock);
	other.lock = lock;
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}
