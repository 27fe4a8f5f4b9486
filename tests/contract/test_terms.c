/* The terms of a hold are those of the handle that got it, and are kept to the end: also by who inherits a place, by
 * what was sent before the grant or is sent again after a silence, and at the close. What ends a hold is told as what
 * it was. */
#include "tests/contract/actor.h"
#include "tests/support/child.h"
#include "tests/support/place.h"
#include "tests/support/proxy.h"
#include "tests/support/sanitizer.h"
#include "tests/support/test.h"

#include <pthread.h>

/* ---- acts ---- */

/* Into the int64_t that is its `ctx`: what leash_lock_remaining_ms() says. */
static void
ask_what_remains(struct actor *a)
{
	*(int64_t *)a->ctx = leash_lock_remaining_ms(a->lock);
	a->status = LEASH_OK;
}

/* Look until it is not held any more: `held` if it was later than the moment (ns) that is its `ctx`. */
static void
watch_the_end(struct actor *a)
{
	int64_t latest = *(const int64_t *)a->ctx, before = await_now_ns();

	while (leash_lock_held(a->lock) && before < latest) {
		await_ms(1);
		before = await_now_ns();
	}
	a->held = before >= latest;
	a->status = LEASH_OK;
}

static void
extend(struct actor *a)
{
	a->began_ns = await_now_ns();
	a->status = leash_lock_extend(a->lock, place_lease_ms(60000), &a->err);
	a->ended_ns = await_now_ns();
	a->held = leash_lock_held(a->lock);
}

/* ---- inherited places ---- */

enum { HOUR_MS = 3600000, OWN_MS = 4000 };

struct inheritance {
	struct actor leaver, heir;
	leash_client *client;
	leash_cancel *cancel;
	int64_t left_ms;
};

static void
start_inheritance(struct inheritance *x, const leash_lock_options *leaver, const leash_lock_options *heir)
{
	x->client = place_client(NULL);
	x->cancel = leashed_cancel();
	x->leaver =
		(struct actor){.lock = leashed_lock(x->client, "place", leaver), .wait_ms = LEASH_FOREVER, .cancel = x->cancel};
	x->heir =
		(struct actor){.lock = leashed_lock(x->client, "place", heir), .wait_ms = LEASH_FOREVER, .ctx = &x->left_ms};
	actor_start(&x->leaver);
	actor_start(&x->heir);
}

static void
leave_it_to_the_heir(struct inheritance *x)
{
	actor_tell(&x->heir, actor_acquire);
	actor_await_asleep(&x->heir);
	leash_cancel_fire(x->cancel);
	assert_heard(LEASH_CANCELED, &x->leaver);
}

static void
assert_own_lease(struct inheritance *x)
{
	int64_t left_ms;

	assert_heard(LEASH_OK, &x->heir);
	left_ms = place_left_ms("place");
	assert_true(left_ms > 0 && left_ms <= OWN_MS);
	assert_done(LEASH_OK, &x->heir, ask_what_remains);
	assert_true(x->left_ms > 0 && x->left_ms <= OWN_MS);
}

static void
end_inheritance(struct inheritance *x)
{
	assert_done(LEASH_OK, &x->heir, actor_release);
	actor_dismiss(&x->leaver);
	actor_dismiss(&x->heir);
	leash_cancel_free(x->cancel);
	leash_close(x->client);
	place_assert_free("place");
}

/* The leaver has a place behind a stranger, who vanishes: the heir's next word finds that the lock is theirs. */
static void
inherit_a_place(struct inheritance *x, const leash_lock_options *leaver, const leash_lock_options *heir)
{
	assert_int_equal(place_integer("place", "HSET leash:{place} stranger 1"), 1);
	assert_int_equal(place_integer("place", "PEXPIRE leash:{place} 600000"), 1);
	start_inheritance(x, leaver, heir);
	actor_tell(&x->leaver, actor_acquire);
	place_await_waiting("place", 1);
	leave_it_to_the_heir(x);
	assert_int_equal(place_integer("place", "DEL leash:{place}"), 1);
	assert_own_lease(x);
}

PLACE(place_open);

SENTENCE(who_inherits_a_place_gets_the_lease_of_its_own_handle, .but = PLACE_NO_QUEUE)
{
	struct inheritance x;

	inherit_a_place(&x, LEASH_LOCK_OPTIONS(.lease_ms = HOUR_MS), LEASH_LOCK_OPTIONS(.lease_ms = OWN_MS));
	end_inheritance(&x);
}

SENTENCE(who_inherits_a_place_and_wants_no_renewal_gets_one_lease_of_its_own, .but = PLACE_NO_QUEUE)
{
	struct inheritance x;
	int64_t got_ns;

	inherit_a_place(&x, LEASH_LOCK_OPTIONS(.lease_ms = HOUR_MS),
	                LEASH_LOCK_OPTIONS(.lease_ms = OWN_MS, .no_renew = true));
	got_ns = x.heir.ended_ns;
	await_ms(OWN_MS / 2); /* a renewal would have come by now */
	assert_done(LEASH_OK, &x.heir, ask_what_remains);
	assert_true(await_now_ns() - got_ns >= OWN_MS / 2 * MS);
	assert_true(x.left_ms <= OWN_MS / 2);
	end_inheritance(&x);
}

SENTENCE(who_inherits_a_place_holds_no_longer_than_its_own_max_hold_ms, .but = PLACE_NO_QUEUE)
{
	struct inheritance x;

	inherit_a_place(&x, LEASH_LOCK_OPTIONS(.lease_ms = HOUR_MS),
	                LEASH_LOCK_OPTIONS(.lease_ms = HOUR_MS, .max_hold_ms = OWN_MS));
	end_inheritance(&x);
}

/* The leaver never asked, because its handle waits out the time after the start of the server. */
SENTENCE(who_inherits_what_was_not_asked_for_yet_asks_on_its_own_terms)
{
	struct inheritance x;

	start_inheritance(&x, LEASH_LOCK_OPTIONS(.lease_ms = place_lease_ms(HOUR_MS), .restart_guard_ms = HOUR_MS),
	                  LEASH_LOCK_OPTIONS(.lease_ms = OWN_MS));
	actor_tell(&x.leaver, actor_acquire);
	actor_await_asleep(&x.leaver);
	leave_it_to_the_heir(&x);
	assert_own_lease(&x);
	end_inheritance(&x);
}

/* ---- max_hold_ms ---- */

static const char *
until_when_its_client_counts_as_alive(void)
{
	return place_text("word", "ZRANGE leash:{word}:queue 0 0 WITHSCORES");
}

SENTENCE(a_word_that_was_under_way_at_the_grant_does_not_carry_a_hold_past_max_hold_ms, .but = PLACE_ONE_SOCKET)
{
	enum { MOST_MS = 4000 };
	struct proxy *proxy = proxy_start(server_socket(deployment_server(place)));
	leash_client *holder = place_client(NULL),
		*client = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = 30000));
	leash_lock *held = leashed_lock(holder, "word", NULL);
	struct actor waiter =
		{.lock = leashed_lock(client, "word", LEASH_LOCK_OPTIONS(.max_hold_ms = MOST_MS)), .wait_ms = LEASH_FOREVER};
	int64_t asked_ns, latest_ns;
	char alive[64];
	uint64_t sent;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	actor_start(&waiter);
	actor_tell(&waiter, actor_acquire);
	place_await_waiting("word", 1);
	/* after one word the server knows the script, and nothing has to be said twice */
	snprintf(alive, sizeof alive, "%s", until_when_its_client_counts_as_alive());
	await_true(strcmp(until_when_its_client_counts_as_alive(), alive) != 0);
	actor_await_asleep(&waiter);
	/* the next word is sent, but does not arrive before the release: it will be answered "held", after the message */
	proxy_hold(proxy, PROXY_TO_SERVER);
	asked_ns = await_now_ns(); /* so the hold counts from before this */
	latest_ns = asked_ns + MOST_MS * MS;
	sent = proxy_bytes(proxy, PROXY_TO_SERVER);
	await_true(proxy_bytes(proxy, PROXY_TO_SERVER) > sent);
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	/* a slow machine may have left the message no time */
	await_true(actor_is_done(&waiter) || await_now_ns() >= latest_ns);
	proxy_release(proxy);
	assert_heard(LEASH_OK, &waiter);
	waiter.ctx = &latest_ns;
	if (waiter.ended_ns < latest_ns) {
		assert_done(LEASH_OK, &waiter, watch_the_end);
		assert_false(waiter.held);
		assert_done(LEASH_LOST, &waiter, actor_release);
	} else {
		print_message("# too slow: nothing was under way at the grant\n");
		actor_do(&waiter, actor_release);
	}
	actor_dismiss(&waiter);
	leash_lock_free(held);
	leash_close(client);
	leash_close(holder);
	proxy_stop(proxy);
}

SENTENCE(an_extend_that_is_sent_again_does_not_reach_past_max_hold_ms, .but = PLACE_ONE_SOCKET)
{
	enum { PATIENCE_MS = 1500, MOST_MS = 30000 };
	struct proxy *proxy = proxy_start(server_socket(deployment_server(place)));
	leash_client *client = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = PATIENCE_MS));
	struct actor holder =
		{.lock = leashed_lock(client, "again", LEASH_LOCK_OPTIONS(.lease_ms = 30000, .max_hold_ms = MOST_MS))};
	int64_t latest_ns, left_ms, now;
	size_t accepted;

	holder.ctx = &left_ms;
	actor_start(&holder);
	assert_done(LEASH_OK, &holder, actor_acquire);
	latest_ns = holder.ended_ns + MOST_MS * MS;
	accepted = proxy_accepted(proxy);
	proxy_hold(proxy, PROXY_BOTH);
	actor_tell(&holder, extend);
	/* its answer is given up, the connection with it */
	await_true(proxy_accepted(proxy) > accepted);
	proxy_release(proxy);
	assert_heard(LEASH_OK, &holder);
	assert_true(actor_took_ns(&holder) >= PATIENCE_MS * MS);
	now = await_now_ns();
	assert_done(LEASH_OK, &holder, ask_what_remains);
	assert_true(left_ms > 0);
	assert_true(now + left_ms * MS <= latest_ns);
	assert_done(LEASH_OK, &holder, actor_release);
	actor_dismiss(&holder);
	leash_close(client);
	proxy_stop(proxy);
}

/* ---- what is told of the end ---- */

struct told {
	char text[200];
	_Atomic bool lost;
};

static void
note_why(void *arg, const leash_event *event)
{
	struct told *told = arg;

	if (event->type != LEASH_EVENT_LOST)
		return;
	snprintf(told->text, sizeof told->text, "%s", event->text);
	told->lost = true;
}

SENTENCE(a_lease_that_ran_out_because_the_server_was_away_is_not_told_as_max_hold_ms)
{
	struct told told = {0};
	leash_client *client = place_client(LEASH_OPTIONS(.timeout_ms = 200));
	leash_lock *lock = leashed_lock(client, "away",
	                                LEASH_LOCK_OPTIONS(.lease_ms = 2000, .max_hold_ms = 3500, .on_event = note_why,
	                                                   .event_arg = &told));
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	/* its end is nearer than another whole lease, and yet not what ends it */
	place_pause();
	await_true(told.lost);
	place_resume();
	assert_null(strstr(told.text, "max_hold_ms"));
	assert_non_null(strstr(told.text, "renewal"));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

SENTENCE(the_end_of_max_hold_ms_is_told_by_its_name)
{
	/* renewed up to its end, and cut to it from the start */
	static const int64_t lease_ms[] = {2000, 60000}, most_ms[] = {3500, 700};

	for (size_t i = 0; i < 2; i++) {
		struct told told = {0};
		leash_client *client = place_client(NULL);
		leash_lock *lock = leashed_lock(client, "most",
		                                LEASH_LOCK_OPTIONS(.lease_ms = place_lease_ms(slow_ms(lease_ms[i])),
		                                                   .max_hold_ms = slow_ms(most_ms[i]),
		                                                   .on_event = note_why, .event_arg = &told));
		leash_error err;

		assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
		await_true(told.lost);
		if (strstr(told.text, "max_hold_ms") == NULL)
			fail_msg("%s", told.text);
		assert_status(LEASH_LOST, leash_lock_release(lock, &err));
		leash_lock_free(lock);
		leash_close(client);
	}
}

/* ---- the close ---- */

static void
close_client(struct actor *a)
{
	a->began_ns = await_now_ns();
	leash_close(a->ctx);
	a->status = LEASH_OK;
}

SENTENCE(an_extend_that_is_under_way_at_the_close_says_closed)
{
	leash_client *client = place_client(LEASH_OPTIONS(.timeout_ms = 30000));
	struct actor holder = {.lock = leashed_lock(client, "closed", NULL)},
		closer = {.lock = leashed_lock(client, "closed", NULL), .ctx = client};

	actor_start(&holder);
	actor_start(&closer);
	assert_done(LEASH_OK, &holder, actor_acquire);
	place_pause();
	actor_tell(&holder, extend);
	actor_await_asleep(&holder);
	actor_tell(&closer, close_client);
	actor_await_asleep(&closer); /* until the extend is answered */
	place_resume();
	assert_heard(LEASH_CLOSED, &holder);
	assert_false(holder.held);
	assert_heard(LEASH_OK, &closer);
	assert_done(LEASH_CLOSED, &holder, actor_release);
	place_assert_free("closed");
	actor_dismiss(&holder);
	actor_dismiss(&closer);
}

/* ---- children of callbacks ---- */

static int
use_leash(void *arg)
{
	leash_client *client = NULL;
	leash_lock *lock;
	leash_error err;

	(void)arg;
	/* that is looked at next */
	assert_status(LEASH_INVALID, leash_open(&client, LEASH_OPTIONS(.uri = "nowhere://"), &err));
	if (UNDER_TSAN)
		return 0;
	client = place_client(NULL);
	lock = leashed_lock(client, "child", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	return 0;
}

struct birth {
	_Atomic bool over;
	int status;
	leash_status parent;
};

static void
fork_a_child(void *arg, const leash_event *event)
{
	struct birth *birth = arg;
	leash_client *client = NULL;

	(void)event;
	birth->parent = leash_open(&client, LEASH_OPTIONS(.uri = place_uri()), NULL);
	birth->status = child_end(child_run(use_leash, NULL));
	birth->over = true;
}

SENTENCE(a_child_that_was_forked_in_a_callback_is_in_no_callback)
{
	struct birth birth = {.parent = LEASH_OK};
	leash_client *client = place_client(NULL);
	leash_lock *lock =
		leashed_lock(client, "parent", LEASH_LOCK_OPTIONS(.on_event = fork_a_child, .event_arg = &birth));
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	leash_lock_free(lock); /* abandoned: that is an event */
	await_true(birth.over);
	assert_int_equal(birth.parent, LEASH_IN_CALLBACK);
	assert_int_equal(birth.status, 0);
	leash_close(client);
}
