/* Clocks that jump or drift.
 *
 * The server's: Redis keeps the moment at which a key expires as a wall-clock time. A jump forward takes away at once
 * what had less time left than the jump, holds and places alike; a jump back lets all live longer by the jump. leash
 * itself measures by CLOCK_BOOTTIME, and needs the server's clock for one thing: to say until when an ask may be
 * executed. Fences and the order of the queue go by that clock too, but never back.
 *
 * The client's: its wall clock is looked at by nobody. Its CLOCK_BOOTTIME may drift by 1 % against the server's clock.
 * Such a client is a child of this process with the shim of tests/support/clock_shim.h, which is linked in.
 *
 * Leases are long against what a busy machine stalls; where a lease has to run out the test says so. */
#include "tests/contract/actor.h"
#include "tests/fault/refused.h"
#include "tests/judge/register.h"
#include "tests/support/child.h"
#include "tests/support/clock_shim.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/test.h"
#include "tests/support/witness.h"

#include <stdatomic.h>
#include <time.h>

enum { LEASE_MS = 9000, MINUTE_MS = 60000, HOUR_MS = 3600000 };

/* ---- what the tests share ---- */

/* What a client was told; a text is there before its event is counted. */
struct told {
	struct leashed_events events;
	char lost[160], jumped[160];
};

static void
note(void *arg, const leash_event *event)
{
	struct told *told = arg;

	if (event->type == LEASH_EVENT_LOST)
		snprintf(told->lost, sizeof told->lost, "%s", event->text);
	if (event->type == LEASH_EVENT_CLOCK_JUMP)
		snprintf(told->jumped, sizeof told->jumped, "%s", event->text);
	leashed_note_event(&told->events, event);
}

static leash_client *
open_told(const struct server *server, struct told *told)
{
	return leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = LEASE_MS, .timeout_ms = patience_ms(),
	                                                      .on_event = note, .event_arg = told));
}

static void
await_jump(struct told *told, const char *which_way)
{
	await_true(told->events.count[LEASH_EVENT_CLOCK_JUMP] > 0);
	assert_non_null(strstr(told->jumped, which_way));
}

/* TIME, in us. */
static int64_t
server_us(struct server *server)
{
	long long s = 0, us = 0;

	assert_int_equal(sscanf(server_text(server, "TIME"), "%lld %lld", &s, &us), 2);
	return s * 1000000 + us;
}

/* A client with a handle of "clock", and a thread that uses it. */
struct user {
	struct told told;
	leash_client *client;
	struct actor actor;
};

static void
start_user(struct user *user, const struct server *server, const leash_lock_options *options)
{
	memset(user, 0, sizeof *user);
	user->client = open_told(server, &user->told);
	actor_begin(&user->actor, leashed_lock(user->client, "clock", options), LEASH_FOREVER);
}

static void
end_user(struct user *user)
{
	actor_dismiss(&user->actor);
	leash_close(user->client);
}

static void
await_places(struct server *server, int count)
{
	await_true(server_integer(server, "ZCOUNT leash:{clock}:queue (0 +inf") == count);
}

/* It waits, as the `place`-th of all. */
static void
let_wait(struct server *server, struct user *user, int place)
{
	actor_tell(&user->actor, actor_acquire);
	await_places(server, place);
}

static void
nothing_is_left(struct server *server)
{
	await_true(server_integer(server, "EXISTS leash:{clock} leash:{clock}:queue") == 0);
}

/* What a child and its parent see. */
struct shared {
	struct clock_page page;
	char uri[256];
	struct told told;
	struct stage go;
	struct witness *witness;
	_Atomic int64_t end_ns; /* by the true clock */
	_Atomic int lapsed, turns, wrong;
};

static struct shared *
share(struct server *server)
{
	struct shared *shared = child_share(sizeof *shared);

	snprintf(shared->uri, sizeof shared->uri, "%s", server_uri(server));
	return shared;
}

/* ---- the shim ---- */

SENTENCE(a_server_has_the_time_that_was_set_and_expires_keys_by_it)
{
	struct server *server = server_start_clocked(NULL);
	struct timespec t;
	int64_t before_us;

	clock_gettime(CLOCK_REALTIME, &t);
	before_us = t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
	assert_true(server_us(server) >= before_us && server_us(server) < before_us + 30 * 1000000);
	freeReplyObject(server_command(server, "SET minute x PX %d", MINUTE_MS));
	freeReplyObject(server_command(server, "SET day x PX %d", 24 * HOUR_MS));

	server_set_clock(server, HOUR_MS);
	assert_true(server_us(server) >= before_us + HOUR_MS * INT64_C(1000));
	assert_int_equal(server_integer(server, "EXISTS minute"), 0);
	assert_true(server_integer(server, "PTTL day") <= 23 * HOUR_MS);

	server_set_clock(server, -HOUR_MS);
	assert_true(server_us(server) < before_us - HOUR_MS / 2 * INT64_C(1000));
	assert_true(server_integer(server, "PTTL day") > 24 * HOUR_MS);
	server_restart(server);
	assert_true(server_us(server) < before_us - HOUR_MS / 2 * INT64_C(1000));
	server_stop(server);
}

/* ---- the server's clock goes forward ---- */

SENTENCE(a_hold_that_a_jump_took_is_lost_at_the_next_renewal_and_its_fence_protects)
{
	struct server *server = server_start_clocked(NULL);
	struct told told = {.lost = ""}, other_told = {.lost = ""};
	leash_client *client = open_told(server, &told), *other = open_told(server, &other_told);
	leash_lock *lock = leashed_lock(client, "clock", NULL), *theirs = leashed_lock(other, "clock", NULL);
	struct fenced *registers;
	uint64_t fence;
	leash_error err;

	registers = fenced_create(server_folder(server), 1);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	fence = leash_lock_fence(lock);
	assert_true(fenced_write(registers, 0, fence));

	server_set_clock(server, MINUTE_MS);
	/* now there are two who believe to hold it, for as long as the first has not asked */
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	await_jump(&other_told, "forward");
	assert_true(leash_lock_fence(theirs) > fence);
	assert_true(fenced_write(registers, 0, leash_lock_fence(theirs)));
	assert_false(fenced_write(registers, 0, fence));

	await_true(told.events.count[LEASH_EVENT_LOST] == 1);
	assert_non_null(strstr(told.lost, "the server did not have it any more")); /* and not: its lease ran out */
	assert_false(leash_lock_held(lock));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	assert_true(leash_lock_held(theirs));
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 0, &err));
	await_jump(&told, "forward");
	assert_int_equal(other_told.events.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	nothing_is_left(server);
	fenced_close(registers);
	leash_lock_free(lock);
	leash_lock_free(theirs);
	leash_close(client);
	leash_close(other);
	server_stop(server);
}

SENTENCE(an_ask_that_a_jump_made_too_late_is_aimed_anew_in_the_same_call)
{
	struct server *server = server_start_clocked(NULL);
	struct told told = {.lost = ""};
	leash_client *client = open_told(server, &told);
	leash_lock *lock = leashed_lock(client, "clock", NULL);
	struct monitor *monitor;
	leash_error err;
	int by_ms;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	monitor = monitor_start(server);
	for (int minutes = 1; minutes <= 3; minutes++) {
		server_set_clock(server, minutes * MINUTE_MS);
		monitor_mark(monitor);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		assert_int_equal(monitor_count(monitor, "EVALSHA"), 2); /* too late, and aimed anew */
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		monitor_mark(monitor);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		assert_int_equal(monitor_count(monitor, "EVALSHA"), 1);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	await_true(told.events.count[LEASH_EVENT_CLOCK_JUMP] == 3);
	assert_non_null(strstr(told.jumped, "forward by "));
	by_ms = atoi(strstr(told.jumped, "forward by ") + 11);
	/* less by what the answer took, more by what the one before did */
	assert_true(by_ms > MINUTE_MS / 2 && by_ms <= MINUTE_MS + 1000);
	monitor_stop(monitor);
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
}

static void
acquire_and_release(struct actor *actor)
{
	actor_acquire(actor);
	if (actor->status == LEASH_OK)
		actor->status = leash_lock_release(actor->lock, &actor->err);
}

SENTENCE(waiters_whose_places_a_jump_took_ask_anew_and_all_have_their_turn)
{
	struct server *server = server_start_clocked(NULL);
	struct user holder, waiter[3];

	start_user(&holder, server, NULL);
	assert_done(LEASH_OK, &holder.actor, actor_acquire);
	for (int i = 0; i < 3; i++) {
		start_user(&waiter[i], server, LEASH_LOCK_OPTIONS(.fair = i == 1));
		actor_tell(&waiter[i].actor, acquire_and_release);
		await_places(server, i + 1);
	}
	server_set_clock(server, MINUTE_MS);
	/* lock and queue have expired; whoever asks first is first */
	for (int i = 0; i < 3; i++) {
		assert_heard(LEASH_OK, &waiter[i].actor);
		await_jump(&waiter[i].told, "forward");
		assert_true(waiter[i].actor.fence > holder.actor.fence);
		end_user(&waiter[i]);
	}
	await_true(holder.told.events.count[LEASH_EVENT_LOST] == 1);
	assert_done(LEASH_LOST, &holder.actor, actor_release);
	nothing_is_left(server);
	end_user(&holder);
	server_stop(server);
}

/* By the server's clock, how many of the waiting clients have said a word within 10 s, and so count as alive? */
static int64_t
alive(struct server *server)
{
	return server_integer(server, "ZCOUNT leash:{clock}:queue -inf -%lld", (long long)server_us(server) - 10000000);
}

static void
check_order(struct user *user, int count)
{
	uint64_t fence = 0;

	for (int i = 0; i < count; i++) {
		assert_heard(LEASH_OK, &user[i].actor);
		for (int behind = i + 1; behind < count; behind++)
			assert_false(actor_is_done(&user[behind].actor));
		assert_true(user[i].actor.held && user[i].actor.fence > fence);
		fence = user[i].actor.fence;
		assert_done(LEASH_OK, &user[i].actor, actor_release);
	}
}

/* The first holds, the next three wait; the clock jumps, and two more come. */
static void
places_keep_their_order_over_a_jump_of(int64_t ms)
{
	struct server *server = server_start_clocked(NULL);
	struct user user[6];

	for (int i = 0; i < 6; i++) {
		start_user(&user[i], server, LEASH_LOCK_OPTIONS(.lease_ms = MINUTE_MS, .fair = true));
		if (i == 0)
			assert_done(LEASH_OK, &user[i].actor, actor_acquire);
		else
			let_wait(server, &user[i], i);
		if (i == 3) {
			server_set_clock(server, ms);
			await_jump(&user[i].told, ms > 0 ? "forward" : "back");
			await_true(alive(server) == 3);
		}
	}
	check_order(user, 6);
	nothing_is_left(server);
	for (int i = 0; i < 6; i++)
		end_user(&user[i]);
	server_stop(server);
}

/* Longer than a client counts as alive without a word, shorter than the queue lives. */
SENTENCE(places_keep_their_order_when_the_clock_goes_forward)
{
	places_keep_their_order_over_a_jump_of(13000);
}

/* ---- the server's clock goes back ---- */

SENTENCE(when_the_clock_goes_back_holders_hold_and_release_and_waiters_go_on)
{
	struct server *server = server_start_clocked(NULL);
	struct user waiter;
	struct told told = {.lost = ""};
	leash_client *client = open_told(server, &told);
	leash_lock *lock = leashed_lock(client, "clock", NULL);
	uint64_t fence;
	int64_t ttl;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	fence = leash_lock_fence(lock);
	start_user(&waiter, server, NULL);
	let_wait(server, &waiter, 1);
	server_set_clock(server, -HOUR_MS);
	await_jump(&waiter.told, "back");   /* by its next word */

	/* the lease of a hold that nobody ends now lasts an hour longer, and no renewal shortens it */
	await_renewals(lock, 1);
	ttl = server_integer(server, "PTTL leash:{clock}");
	assert_true(ttl > HOUR_MS - LEASE_MS && ttl <= HOUR_MS + LEASE_MS);
	assert_true(leash_lock_remaining_ms(lock) <= LEASE_MS);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_heard(LEASH_OK, &waiter.actor);
	assert_true(waiter.actor.fence > fence);
	ttl = server_integer(server, "PTTL leash:{clock}");
	assert_true(ttl > 0 && ttl <= LEASE_MS);
	assert_done(LEASH_OK, &waiter.actor, actor_release);

	for (int i = 0; i < 5; i++) {
		fence = waiter.actor.fence;
		assert_done(LEASH_OK, &waiter.actor, actor_acquire);
		assert_true(waiter.actor.fence > fence);
		fence = waiter.actor.fence;
		assert_done(LEASH_OK, &waiter.actor, actor_release);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		assert_true(leash_lock_fence(lock) > fence);
		waiter.actor.fence = leash_lock_fence(lock);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	assert_int_equal(told.events.count[LEASH_EVENT_LOST] + waiter.told.events.count[LEASH_EVENT_LOST], 0);
	assert_int_equal(told.events.count[LEASH_EVENT_FENCE_REGRESSION], 0);
	assert_int_equal(waiter.told.events.count[LEASH_EVENT_FENCE_REGRESSION], 0);
	nothing_is_left(server);
	end_user(&waiter);
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
}

SENTENCE(a_first_fence_tells_that_the_clock_went_back)
{
	struct server *server = server_start_clocked(NULL);
	struct told told = {.lost = ""};
	leash_client *client = open_told(server, &told);
	leash_lock *lock = leashed_lock(client, "clock", NULL);
	leash_error err;

	server_set_clock(server, -HOUR_MS);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	await_jump(&told, "back");
	assert_true(leash_lock_held(lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	/* and forward again: known from the next ask */
	server_set_clock(server, 0);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	await_true(told.events.count[LEASH_EVENT_CLOCK_JUMP] == 2);
	assert_non_null(strstr(told.jumped, "forward"));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
}

SENTENCE(places_keep_their_order_when_the_clock_goes_back)
{
	places_keep_their_order_over_a_jump_of(-HOUR_MS);
}

static int
wait_until_killed(void *arg)
{
	struct shared *shared = arg;
	leash_client *client;
	leash_error err;

	stage_await(&shared->go, 1);
	client = leashed_open(shared->uri, LEASH_OPTIONS(.lease_ms = LEASE_MS));
	return (int)leash_lock_acquire(leashed_lock(client, "clock", NULL), LEASH_FOREVER, &err);
}

/* It counts as alive for another hour, but nobody listens where it waited. */
SENTENCE(a_waiter_that_died_when_the_clock_went_back_stops_nobody)
{
	struct server *server = server_start_clocked(NULL);
	struct shared *shared = share(server);
	struct user holder, waiter;
	pid_t pid = child_run(wait_until_killed, shared);

	start_user(&holder, server, NULL);
	assert_done(LEASH_OK, &holder.actor, actor_acquire);
	stage_set(&shared->go, 1);
	await_places(server, 1);
	start_user(&waiter, server, NULL);
	let_wait(server, &waiter, 2);
	await_true(alive(server) == 2);
	child_kill(pid);
	server_set_clock(server, -HOUR_MS);
	assert_int_equal(alive(server), 2);
	assert_done(LEASH_OK, &holder.actor, actor_release);
	assert_heard(LEASH_OK, &waiter.actor);
	assert_done(LEASH_OK, &waiter.actor, actor_release);
	nothing_is_left(server);
	end_user(&waiter);
	end_user(&holder);
	child_unshare(shared, sizeof *shared);
	server_stop(server);
}

/* The clock was an hour ahead. What was issued then must not be forgotten before the clock is there again, however
 * short fences are kept. */
SENTENCE(a_fence_that_is_ahead_of_the_clock_is_kept_until_the_clock_is_there)
{
	struct server *server = server_start_clocked(NULL);
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 1000, .fence_ttl_ms = 1000));
	leash_lock *lock = leashed_lock(client, "clock", NULL);
	uint64_t last = 0;
	leash_error err;

	server_set_clock(server, HOUR_MS);
	for (int i = 0; i < 4; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 60000, &err));
		assert_true(leash_lock_fence(lock) > last);
		last = leash_lock_fence(lock);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		server_set_clock(server, 0);
		await_ms(1100); /* longer than a fence is kept */
	}
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
}

/* ---- the guard after a restart ---- */

/* The server's age in INFO is a difference of its wall clock. */
SENTENCE(a_clock_that_goes_forward_does_not_end_the_guard_of_who_is_connected)
{
	struct server *server = server_start_clocked(NULL);
	struct told told = {.lost = ""};
	leash_client *client = open_told(server, &told);
	leash_lock *lock = leashed_lock(client, "clock", LEASH_LOCK_OPTIONS(.restart_guard_ms = MINUTE_MS));
	leash_error err;

	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 0, &err));
	assert_non_null(strstr(err.text, "restart_guard_ms"));
	server_set_clock(server, HOUR_MS);
	server_integer(server, "CLIENT KILL TYPE normal SKIPME yes");
	/* the next connection is told that the server is an hour old */
	await_jump(&told, "forward");
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 0, &err));
	assert_non_null(strstr(err.text, "restart_guard_ms"));
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
}

/* It was away for longer than the guard, and its clock is set forward by as much before anybody meets it again. */
SENTENCE(a_clock_that_goes_forward_after_a_restart_does_not_make_the_server_old_for_who_knew_it)
{
	enum { GUARD_MS = 3000, UP_MS = GUARD_MS + 1100 }; /* the server counts its life in whole seconds */
	struct server *server = server_start_clocked(NULL);
	struct proxy *proxy = proxy_start(server_socket(server));
	leash_client *client = leashed_open(proxy_uri(proxy), NULL);
	leash_lock *lock = leashed_lock(client, "clock", LEASH_LOCK_OPTIONS(.restart_guard_ms = GUARD_MS));
	leash_error err;
	int64_t back;

	proxy_refuse(proxy, true);
	proxy_reset_all(proxy);
	server_kill(server);
	await_ms(UP_MS);
	server_restart(server);
	server_set_clock(server, UP_MS);
	back = await_now_ns();
	proxy_refuse(proxy, false);
	assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	assert_true(await_now_ns() - back >= GUARD_MS * INT64_C(1000000));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	proxy_stop(proxy);
	server_stop(server);
}

SENTENCE(a_server_whose_clock_went_back_before_its_birth_is_a_young_one)
{
	struct server *server = server_start_clocked(NULL);
	struct told told = {.lost = ""};
	leash_client *client;
	leash_lock *lock;
	leash_error err;

	server_set_clock(server, -HOUR_MS);
	client = open_told(server, &told);
	lock = leashed_lock(client, "clock", LEASH_LOCK_OPTIONS(.restart_guard_ms = MINUTE_MS));
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 0, &err));
	assert_non_null(strstr(err.text, "restart_guard_ms"));
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
}

/* ---- the client's clocks ---- */

/* The process's own threads hold and wait while its wall clock is moved under them. */
static int
live_with_a_mad_wall_clock(void *arg)
{
	static const int64_t hours[] = {1, -1, 24 * 365, -24 * 365, 0};
	struct shared *shared = arg;
	leash_client *client;
	leash_lock *lock;
	struct actor waiter;
	uint64_t fence = 0;
	leash_error err;

	clock_shim_use(&shared->page);
	client = leashed_open(shared->uri, LEASH_OPTIONS(.lease_ms = LEASE_MS, .timeout_ms = patience_ms(),
	                                                 .on_event = note, .event_arg = &shared->told));
	lock = leashed_lock(client, "clock", NULL);
	actor_begin(&waiter, leashed_lock(client, "clock", NULL), 50);
	for (size_t i = 0; i < sizeof hours / sizeof *hours; i++) {
		time_t before = time(NULL);
		int64_t step_s =
			hours[i] * 3600 - atomic_exchange(&shared->page.wall_ns, hours[i] * 3600 * 1000 * MS) / 1000 / MS;

		/* the clock did jump */
		if (time(NULL) < before + step_s || time(NULL) > before + step_s + 30)
			return 2;
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		assert_true(leash_lock_fence(lock) > fence);
		fence = leash_lock_fence(lock);
		shared->page.wall_ns = -shared->page.wall_ns;
		assert_done(LEASH_TIMEOUT, &waiter, actor_acquire);
		assert_true(actor_took_ns(&waiter) >= 50 * MS);
		if (i == 0)
			await_renewals(lock, 1);
		assert_true(leash_lock_held(lock) && leash_lock_remaining_ms(lock) <= LEASE_MS);
		shared->page.wall_ns = hours[i] * 3600 * 1000 * MS;
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	actor_dismiss(&waiter);
	leash_lock_free(lock);
	leash_close(client);
	return shared->told.events.total;
}

SENTENCE(the_clients_wall_clock_has_no_effect)
{
	struct server *server = server_start(NULL);
	struct shared *shared = share(server);

	child_wait(child_run(live_with_a_mad_wall_clock, shared));
	nothing_is_left(server);
	child_unshare(shared, sizeof *shared);
	server_stop(server);
}

/* ---- drift ---- */

/* Hold it, mostly until leash says that the lease is over, and write down all the while by the true clock that it was
 * held. */
static void
hold_and_testify(struct shared *shared, leash_lock *lock, bool to_the_end)
{
	int64_t now = clock_shim_true_ns();
	struct testimony *testimony = witness_enter(shared->witness, 0, lock); /* it reads a clock of ours, so: */

	if (testimony == NULL)
		return;
	testimony->first = testimony->last = now;
	for (int looks = 0; to_the_end || looks < 20; looks++) {
		now = clock_shim_true_ns();
		if (!leash_lock_held(lock)) {
			shared->lapsed++;
			return;
		}
		testimony->last = now;
		if (looks % 64 == 0)
			await_ms(1);
	}
}

static int
contend(struct shared *shared, int64_t ppm)
{
	struct clock_page *page = calloc(1, sizeof *page);
	leash_client *client;
	leash_lock *lock;
	leash_error err;

	page->ppm = ppm;
	clock_shim_use(page);
	client = leashed_open(shared->uri, LEASH_OPTIONS(.timeout_ms = patience_ms()));
	lock = leashed_lock(client, "clock", LEASH_LOCK_OPTIONS(.lease_ms = 500, .no_renew = true));
	for (int turn = 0; clock_shim_true_ns() < shared->end_ns; turn++) {
		leash_status status = leash_lock_acquire(lock, MINUTE_MS, &err), released;

		if (status != LEASH_OK && status != LEASH_TIMEOUT)
			shared->wrong++;
		if (status != LEASH_OK)
			continue;
		shared->turns++;
		hold_and_testify(shared, lock, turn % 3 != 0);
		released = leash_lock_release(lock, &err);
		if (released != LEASH_OK && released != LEASH_LOST)
			shared->wrong++;
	}
	leash_lock_free(lock);
	leash_close(client);
	free(page);
	return 0;
}

static int
contend_slow(void *shared)
{
	return contend(shared, -10000);
}

static int
contend_fast(void *shared)
{
	return contend(shared, 10000);
}

static int
contend_too_slow(void *shared)
{
	return contend(shared, -200000);
}

/* One client of each sort for so long, or until there is a violation; how many there are. */
static size_t
violations_between(int (*one)(void *), int (*other)(void *), int64_t ms)
{
	struct server *server = server_start(NULL);
	struct shared *shared = share(server);
	char text[256] = "";
	size_t violations;
	pid_t child[2];

	shared->witness = witness_new(20000);
	shared->end_ns = clock_shim_true_ns() + ms * MS;
	child[0] = child_run(one, shared);
	child[1] = child_run(other, shared);
	while (clock_shim_true_ns() < shared->end_ns) {
		await_ms(10);
		if (witness_violations(shared->witness, NULL, 0) > 0)
			shared->end_ns = 0;
	}
	child_wait(child[0]);
	child_wait(child[1]);
	violations = witness_violations(shared->witness, text, sizeof text);
	printf("# %d turns, %d of them to the end of the lease%s%s\n", shared->turns, shared->lapsed,
	       violations > 0 ? ": " : "", text);
	assert_int_equal(shared->wrong, 0);
	assert_true(shared->lapsed > 0 && shared->turns > shared->lapsed);
	witness_free(shared->witness);
	child_unshare(shared, sizeof *shared);
	server_stop(server);
	return violations;
}

SENTENCE(clients_whose_clocks_drift_by_a_percent_exclude_each_other)
{
	assert_int_equal(violations_between(contend_slow, contend_fast, 8000), 0);
}

/* Or the test before would say nothing. */
SENTENCE(a_clock_that_is_far_slower_than_that_is_seen_by_the_witness)
{
	assert_true(violations_between(contend_too_slow, contend_fast, slow_ms(60000)) > 0);
}
