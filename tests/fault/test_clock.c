/* The server's clock jumps. Redis keeps the moment at which a key expires as a wall-clock time. A jump forward takes
 * away at once what had less time left than the jump, holds and places alike; a jump back lets all live longer by it.
 * Fences and the order of the queue go by that clock too, but never back (redis/test_ask). What the core makes of it,
 * and of our own clocks: core/test_single. */
#include "tests/fault/refused.h"
#include "tests/support/leashed.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

enum { LEASE_MS = 4500, MINUTE_MS = 60000, HOUR_MS = 3600000 };

static leash_error err;
static struct server *server;

/* What a client was told; a text is there before its event is counted. */
static struct user {
	struct leashed_events events;
	char lost[160], jumped[160];
	leash_client *client;
	leash_lock *lock;
} ann, bob;

static void
note(void *arg, const leash_event *event)
{
	struct user *user = arg;

	if (event->type == LEASH_EVENT_LOST)
		snprintf(user->lost, sizeof user->lost, "%s", event->text);
	if (event->type == LEASH_EVENT_CLOCK_JUMP)
		snprintf(user->jumped, sizeof user->jumped, "%s", event->text);
	leashed_note_event(&user->events, event);
}

static void
come(struct user *user)
{
	*user = (struct user){.client = NULL};
	user->client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = LEASE_MS, .timeout_ms = patience_ms(),
	                                                              .on_event = note, .event_arg = user));
	user->lock = leashed_lock(user->client, "clock", NULL);
}

static void
go(struct user *user)
{
	leash_lock_free(user->lock);
	leash_close(user->client);
}

static void
start(void)
{
	server = server_start_clocked(NULL);
	come(&ann);
	come(&bob);
}

static void
stop(void)
{
	assert_int_equal(ann.events.count[LEASH_EVENT_FENCE_REGRESSION], 0);
	assert_int_equal(bob.events.count[LEASH_EVENT_FENCE_REGRESSION], 0);
	await_true(server_integer(server, "EXISTS leash:{clock} leash:{clock}:queue") == 0);
	go(&ann);
	go(&bob);
	server_stop(server);
}

FIXTURE(start, stop);

static void
await_jump(struct user *user, const char *which_way)
{
	await_true(user->events.count[LEASH_EVENT_CLOCK_JUMP] > 0);
	assert_non_null(strstr(user->jumped, which_way));
}

SENTENCE(a_hold_that_a_jump_took_is_lost_at_the_next_renewal_and_its_fence_is_smaller)
{
	uint64_t fence;

	assert_status(LEASH_OK, leash_lock_acquire(ann.lock, 0, &err));
	fence = leash_lock_fence(ann.lock);
	server_set_clock(server, MINUTE_MS);
	/* now there are two who believe to hold it, for as long as the first has not asked */
	assert_status(LEASH_OK, leash_lock_acquire(bob.lock, 0, &err));
	await_jump(&bob, "forward by ");
	assert_true(leash_lock_fence(bob.lock) > fence);
	await_true(ann.events.count[LEASH_EVENT_LOST] == 1);
	assert_non_null(strstr(ann.lost, "the server did not have it any more")); /* and not: its lease ran out */
	assert_status(LEASH_LOST, leash_lock_release(ann.lock, &err));
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(ann.lock, 0, &err));
	await_jump(&ann, "forward by ");
	assert_true(leash_lock_held(bob.lock));
	assert_status(LEASH_OK, leash_lock_release(bob.lock, &err));
}

SENTENCE(when_the_clock_goes_back_holders_hold_and_release_and_waiters_go_on)
{
	static struct waiting waiting;
	uint64_t fence;
	int64_t ttl;

	assert_status(LEASH_OK, leash_lock_acquire(ann.lock, 0, &err));
	begin_waiting(&waiting, bob.lock, LEASH_FOREVER);
	await_true(server_integer(server, "ZCOUNT leash:{clock}:queue (0 +inf") == 1);
	server_set_clock(server, -HOUR_MS);
	await_jump(&bob, "back by "); /* by its next word */
	/* the lease of a hold that nobody ends now lasts an hour longer, and no renewal shortens it */
	ttl = server_integer(server, "PTTL leash:{clock}");
	assert_in_range(ttl, HOUR_MS - LEASE_MS, HOUR_MS + LEASE_MS);
	assert_true(leash_lock_remaining_ms(ann.lock) <= LEASE_MS);
	fence = leash_lock_fence(ann.lock);
	assert_status(LEASH_OK, leash_lock_release(ann.lock, &err));
	end_waiting(&waiting, LEASH_OK);
	for (int i = 0; i < 4; i++) {
		struct user *next = i % 2 ? &ann : &bob;

		assert_status(LEASH_OK, leash_lock_acquire(next->lock, 0, &err));
		assert_in_range(server_integer(server, "PTTL leash:{clock}"), 1, LEASE_MS);
		assert_true(leash_lock_fence(next->lock) > fence);
		fence = leash_lock_fence(next->lock);
		assert_status(LEASH_OK, leash_lock_release(next->lock, &err));
	}
	assert_int_equal(ann.events.count[LEASH_EVENT_LOST] + bob.events.count[LEASH_EVENT_LOST], 0);
}
