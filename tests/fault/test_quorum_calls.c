/* What is asked of a quorum, call by call: who has a lock, an extension, going on with the hold of another; answers
 * that are lost or late. */
#include "tests/fault/five.h"

#include "tests/contract/actor.h"
#include "tests/support/child.h"
#include "tests/support/proxy.h"
#include "tests/support/sanitizer.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <unistd.h>

FIXTURE(set_up, tear_down);

/* ---- extensions ---- */

SENTENCE(an_extension_longer_or_shorter_than_the_lease_leaves_the_renewals_to_come)
{
	leash_client *mine = open_with(LEASE_MS / 2, LEASE_MS);
	leash_lock *own = leashed_lock(mine, "own", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(own, 10000, &err));
	assert_status(LEASH_OK, leash_lock_extend(own, slow_ms(LEASE_MS), &err));
	for (int i = 0; i < 3; i++)
		await_renewal(own, LEASE_MS / 2);
	assert_status(LEASH_OK, leash_lock_extend(own, 100, &err));
	await_renewal(own, LEASE_MS / 2);
	assert_true(leash_lock_held(own));
	assert_int_equal(events.count[LEASH_EVENT_JEOPARDY], 0);
	assert_status(LEASH_OK, leash_lock_release(own, &err));
	leash_lock_free(own);
	leash_close(mine);
	check_that_nothing_is_left();
}

static void
extend(struct actor *actor)
{
	actor->began_ns = await_now_ns();
	actor->status =
		leash_lock_extend(actor->lock, actor->wait_ms > 0 ? actor->wait_ms : slow_ms(LEASE_MS), &actor->err);
}

/* ---- unknown ---- */

SENTENCE(a_vote_whose_answer_was_lost_is_asked_for_again, THROUGH_DOORS)
{
	for (int i = 0; i < 3; i++)
		proxy_cut_reply(quorum_door(quorum, i), "EVALSHA", 0);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (int i = 0; i < 3; i++)
		proxy_wait_hit(quorum_door(quorum, i));
	/* it may be by a second token, and the first is still to be canceled there */
	await_true(quorum_having(quorum, "leash:{q}") == SERVERS &&
	           strcmp(server_text(quorum_server(quorum, 0), "HVALS leash:{q}"), "1") == 0);
	release_everywhere();
}

SENTENCE(votes_that_are_never_heard_of_are_taken_back, THROUGH_DOORS)
{
	/* who gives up long before the votes lapse */
	leash_client *hasty = leashed_open(quorum_uri_guarded(quorum, slow_ms(LEASE_MS)),
	                                   LEASH_OPTIONS(.lease_ms = slow_ms(LEASE_MS), .timeout_ms = 250));
	leash_lock *tried = leashed_lock(hasty, "q", NULL);

	acquire_at_all(tried);
	assert_status(LEASH_OK, leash_lock_release(tried, &err));
	check_that_nothing_is_left();
	for (int i = 0; i < 3; i++)
		proxy_hold(quorum_door(quorum, i), PROXY_TO_CLIENT);
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(tried, 0, &err));
	assert_non_null(strstr(err.text, "3 of 5 servers"));
	assert_true(quorum_having(quorum, "leash:{q}") >= 1); /* they did vote */
	for (int i = 0; i < 3; i++)
		proxy_release(quorum_door(quorum, i));
	check_that_nothing_is_left();
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	release_everywhere();
	leash_lock_free(tried);
	leash_close(hasty);
}

SENTENCE(a_release_whose_answers_were_lost_is_a_release, THROUGH_DOORS)
{
	acquire_at_all(lock);
	for (int i = 0; i < SERVERS; i++)
		proxy_cut_reply(quorum_door(quorum, i), "EVALSHA", 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	proxy_disarm(quorum_door(quorum, 0));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	for (int i = 0; i < 3; i++)
		proxy_hold(quorum_door(quorum, i), PROXY_BOTH);
	assert_status(LEASH_UNKNOWN, leash_lock_release(lock, &err));
	printf("# %s\n", err.text);
	for (int i = 0; i < 3; i++)
		proxy_release(quorum_door(quorum, i));
	check_that_nothing_is_left(); /* long before the lease is over, or the keys are of a later one */
}

SENTENCE(asks_that_come_late_do_nothing, THROUGH_DOORS)
{
	/* they are stuck, and what is sent after them goes over new connections */
	for (int i = 0; i < 3; i++)
		proxy_strand_request(quorum_door(quorum, i), "EVALSHA");
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	for (int i = 0; i < 3; i++)
		proxy_wait_hit(quorum_door(quorum, i));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	await_ms(slow_ms(LEASE_MS)); /* past their not_after */
	for (int i = 0; i < SERVERS; i++)
		proxy_release(quorum_door(quorum, i));
	check_that_nothing_is_left();
	await_ms(100);
	check_that_nothing_is_left();
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

SENTENCE(scripts_that_are_gone_cost_no_failure)
{
	for (int i = 0; i < 20; i++) {
		for (int n = 0; n < SERVERS; n++)
			freeReplyObject(server_command(quorum_server(quorum, n), "SCRIPT FLUSH"));
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		for (int n = 0; n < SERVERS; n++)
			freeReplyObject(server_command(quorum_server(quorum, n), "SCRIPT FLUSH"));
		if (i % 8 == 0)
			await_renewal(lock, LEASE_MS);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	check_that_nothing_is_left();
}

static int64_t
steps_by_hash(void)
{
	int64_t calls = 0;

	for (int i = 0; i < SERVERS; i++)
		calls += server_calls(quorum_server(quorum, i), "evalsha");
	return calls;
}

/* It would be refused because of the very token that is being released. */
SENTENCE(no_ask_overtakes_a_release_for_which_a_server_lacks_the_script, THROUGH_DOORS)
{
	enum { TIMES = 4 };
	struct actor next = {0};
	int64_t least = INT64_MAX;

	next.wait_ms = 20000;
	actor_start(&next);
	quorum_delay(quorum, 10 * 1000); /* what goes out in the meantime is sure to come before a second try */
	for (int i = 0; i < TIMES; i++) {
		leash_client *fresh = open_with(LEASE_MS, LEASE_MS); /* its connections are new */
		leash_lock *first = leashed_lock(fresh, "q", NULL);
		/* so it is not handed on */
		leash_lock *second = leashed_lock(fresh, "q", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(LEASE_MS) - 1));
		int64_t before;

		next.lock = second;
		for (int n = 0; n < SERVERS; n++)
			freeReplyObject(server_command(quorum_server(quorum, n), "SCRIPT FLUSH"));
		assert_status(LEASH_OK, leash_lock_acquire(first, 10000, &err)); /* now they have the script for votes */
		await_true(quorum_having(quorum, "leash:{q}") == SERVERS);
		actor_tell(&next, actor_acquire);
		actor_await_asleep(&next);
		before = steps_by_hash();
		assert_status(LEASH_OK, leash_lock_release(first, &err));
		assert_heard(LEASH_OK, &next);
		if (steps_by_hash() - before < least)
			least = steps_by_hash() - before;
		assert_done(LEASH_OK, &next, actor_release);
		leash_lock_free(first);
		leash_lock_free(second);
		leash_close(fresh);
	}
	printf("# %lld steps\n", (long long)least);
	assert_true(least <= 2 * SERVERS); /* a release and a vote at each, and no further round */
	actor_end(&next);
	quorum_delay(quorum, 0);
	check_that_nothing_is_left();
}

/* ---- what it can and cannot do ---- */

SENTENCE(what_a_quorum_cannot_do_is_said)
{
	leash_client *bare = leashed_open(quorum_uri(quorum), LEASH_OPTIONS(.lease_ms = 1000));
	leash_lock *other = NULL;

	assert_status(LEASH_INVALID, leash_lock_new(&other, bare, "q", NULL, &err));
	assert_non_null(strstr(err.text, "LEASH_LOCK_OPTIONS"));
	assert_non_null(strstr(err.text, "restart_guard="));
	assert_status(LEASH_INVALID, leash_lock_new(&other, bare, "q", LEASH_LOCK_OPTIONS(.restart_guard_ms = 999), &err));
	assert_non_null(strstr(err.text, "restart_guard_ms"));
	assert_status(LEASH_UNSUPPORTED, leash_lock_new(&other, client, "q", LEASH_LOCK_OPTIONS(.fair = true), &err));
	assert_null(other);
	assert_status(LEASH_OK, leash_lock_new(&other, bare, "q", LEASH_LOCK_OPTIONS(.restart_guard_ms = 1000), &err));
	assert_status(LEASH_INVALID, leash_lock_acquire_with(other, LEASH_ACQUIRE(.lease_ms = 1001), &err));
	assert_status(LEASH_INVALID, leash_lock_extend(other, 1001, &err));
	assert_status(LEASH_UNSUPPORTED, leash_lock_waiters(other, (leash_waiter_fn)abort, NULL, &err));
	leash_lock_free(other);
	leash_close(bare);
}

SENTENCE(who_has_it_is_what_a_majority_says)
{
	leash_client *other = open_with(LEASE_MS, LEASE_MS);
	leash_lock *theirs = leashed_lock(other, "q", NULL);
	leash_lock_info info = {.size = sizeof info};
	char token[LEASH_TOKEN_MAX];

	assert_status(LEASH_OK, leash_lock_inspect(theirs, &info, &err));
	assert_false(info.held);
	assert_status(LEASH_NOT_HELD, leash_lock_break(theirs, &err));
	acquire_at_all(lock);
	server_kill(quorum_server(quorum, 0));
	server_pause(quorum_server(quorum, 1));
	assert_status(LEASH_OK, leash_lock_inspect(theirs, &info, &err));
	assert_true(info.held);
	leash_lock_token(lock, token, sizeof token);
	assert_string_equal(info.holder.token, token);
	assert_int_equal(info.holder.pid, getpid());
	assert_int_equal(info.fence, leash_lock_fence(lock));
	assert_true(info.remaining_ms > 0 && info.remaining_ms <= slow_ms(LEASE_MS));
	assert_status(LEASH_OK, leash_lock_break(theirs, &err));
	await_true(events.count[LEASH_EVENT_LOST] == 1); /* it does not creep back */
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	server_resume(quorum_server(quorum, 1));
	check_that_nothing_is_left();
	/* single votes make no holder */
	for (int i = 1; i < 3; i++)
		assert_int_equal(server_integer(quorum_server(quorum, i), "HSET leash:{q} %s 1", token), 1);
	assert_status(LEASH_OK, leash_lock_inspect(theirs, &info, &err));
	assert_false(info.held);
	assert_int_equal(server_integer(quorum_server(quorum, 3), "HSET leash:{q} %s 1", token), 1);
	assert_status(LEASH_OK, leash_lock_inspect(theirs, &info, &err));
	assert_true(info.held);
	assert_status(LEASH_OK, leash_lock_break(theirs, &err));
	leash_lock_free(theirs);
	leash_close(other);
	check_that_nothing_is_left();
}

SENTENCE(the_largest_fence_counts_and_a_majority_knows_it_before_anybody_has_the_lock)
{
	int64_t ahead = 0;
	int know = 0;

	/* of the three that are left one has issued a larger one than the others, and than the time */
	server_kill(quorum_server(quorum, 3));
	server_kill(quorum_server(quorum, 4));
	ahead = strtoll(server_text(quorum_server(quorum, 0), "GET leash:{q}:fence"), NULL, 10) + 600000000;
	server_text(quorum_server(quorum, 0), "SET leash:{q}:fence %s PX 600000",
	            server_text(quorum_server(quorum, 0), "ECHO %lld", (long long)ahead));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	assert_int_equal(leash_lock_fence(lock), ((uint64_t)ahead + 1) * 256);
	for (int i = 0; i < 3; i++)
		know += strtoll(server_text(quorum_server(quorum, i), "GET leash:{q}:fence"), NULL, 10) == ahead + 1;
	assert_int_equal(know, 3);
	release_everywhere();
}

SENTENCE(threads_of_a_process_hand_it_on_among_themselves)
{
	enum { ACTORS = 4 };
	struct actor actors[ACTORS] = {0};
	leash_stats stats = {.size = sizeof stats};

	acquire_at_all(lock);
	for (int i = 0; i < ACTORS; i++) {
		actors[i] = (struct actor){.lock = leashed_lock(client, "q", NULL), .wait_ms = 20000};
		actor_start(&actors[i]);
		actor_tell(&actors[i], actor_acquire);
		actor_await_asleep(&actors[i]);
	}
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	for (int i = 0; i < ACTORS; i++) {
		assert_heard(LEASH_OK, &actors[i]);
		assert_true(actors[i].held);
		assert_done(LEASH_OK, &actors[i], actor_release);
		actor_dismiss(&actors[i]);
	}
	assert_status(LEASH_OK, leash_client_stats(client, &stats, &err));
	printf("# handed on %llu times\n", (unsigned long long)stats.handed_on);
	check_that_nothing_is_left();
}

/* ---- what another client got ---- */

/* A hold of a process that was killed; known to all servers. (Of one that lives it would be canceled at the end of its
 * lease, under whoever has adopted it.) */
struct legacy {
	struct stage left;
	char token[LEASH_TOKEN_MAX];
	uint64_t fence;
};

static int
write_will(void *arg)
{
	leash_client *own = open_with(LEASE_MS, LEASE_MS);
	leash_lock *held = leashed_lock(own, "q", LEASH_LOCK_OPTIONS(.no_renew = true));
	struct legacy *l = arg;

	assert_status(LEASH_OK, leash_lock_acquire(held, 10000, &err));
	while (quorum_having(quorum, "leash:{q}") < SERVERS) { /* it was not connected to all of them yet */
		assert_status(LEASH_OK, leash_lock_release(held, &err));
		await_ms(10);
		assert_status(LEASH_OK, leash_lock_acquire(held, 10000, &err));
	}
	leash_lock_token(held, l->token, sizeof l->token);
	l->fence = leash_lock_fence(held);
	stage_set(&l->left, 1);
	pause();
	return 1;
}

static void
leave_legacy(struct legacy *out)
{
	struct legacy *l;
	pid_t pid;

	if (UNDER_TSAN)
		skip(); /* whose children have no threads */
	l = child_share(sizeof *l);
	pid = child_run(write_will, l);
	stage_await(&l->left, 1);
	child_kill(pid);
	strcpy(out->token, l->token);
	out->fence = l->fence;
	child_unshare(l, sizeof *l);
}

/* It is refused with a text that has this part, and nothing comes of it. */
static void
check_that_it_cannot_be_adopted(struct legacy *l, leash_status status, const char *part)
{
	assert_status(status, leash_lock_adopt(lock, l->token, &err));
	assert_non_null(strstr(err.text, part));
	printf("# %s\n", err.text);
	assert_false(leash_lock_held(lock));
	check_that_nothing_is_left();
}

SENTENCE(the_hold_of_a_process_that_was_killed_goes_on_here_with_its_fence)
{
	char token[LEASH_TOKEN_MAX];
	struct legacy legacy;
	int64_t adopted;

	leave_legacy(&legacy);
	server_kill(quorum_server(quorum, 1));
	server_pause(quorum_server(quorum, 4));
	assert_status(LEASH_OK, leash_lock_adopt(lock, legacy.token, &err));
	adopted = await_now_ns();
	assert_true(leash_lock_held(lock));
	assert_true(leash_lock_fence(lock) == legacy.fence);
	leash_lock_token(lock, token, sizeof token);
	assert_string_equal(token, legacy.token);
	assert_true(leash_lock_remaining_ms(lock) <= slow_ms(LEASE_MS));
	assert_status(LEASH_INVALID, leash_lock_adopt(lock, legacy.token, &err));
	while (await_now_ns() < adopted + slow_ms(LEASE_MS) * MS) /* past what the other one had asked for */
		await_renewal(lock, LEASE_MS);
	assert_status(LEASH_OK, leash_lock_extend(lock, slow_ms(LEASE_MS), &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	server_resume(quorum_server(quorum, 4));
	check_that_nothing_is_left();
	assert_status(LEASH_NOT_HELD, leash_lock_adopt(lock, legacy.token, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	assert_true(leash_lock_fence(lock) > legacy.fence);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	check_that_nothing_is_left();
}

/* The process lives, so a vote of its may still be on its way when whoever adopted its hold has released it
 * everywhere. */
SENTENCE(a_vote_that_comes_when_another_has_released_the_lock_gives_it_to_nobody_and_is_taken_back, THROUGH_DOORS)
{
	leash_client *other = open_with(LEASE_MS, LEASE_MS);
	leash_lock *theirs = leashed_lock(other, "q", NULL);
	char token[LEASH_TOKEN_MAX];
	int again = 0;

	proxy_hold(quorum_door(quorum, 4), PROXY_TO_SERVER);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	leash_lock_token(lock, token, sizeof token);
	for (int i = 0; i < SERVERS; i++)
		server_integer(quorum_server(quorum, i), "HDEL leash:{q} %s", token);
	assert_int_equal(quorum_having(quorum, "leash:{q}"), 0);
	proxy_release(quorum_door(quorum, 4));
	await_true((again = quorum_having(quorum, "leash:{q}")) != 0 || !leash_lock_held(lock));
	printf("# seen free, and then held again on %d of 5 servers\n", again);
	assert_true(again <= 1);
	assert_status(LEASH_OK, leash_lock_acquire(theirs, LEASH_FOREVER, &err)); /* four are enough */
	await_true(!leash_lock_held(lock));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	assert_true(leash_lock_held(theirs));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	check_that_nothing_is_left();
	leash_lock_free(theirs);
	leash_close(other);
}

SENTENCE(what_a_minority_has_is_not_adopted)
{
	struct legacy legacy;

	leave_legacy(&legacy);
	for (int i = 0; i < 3; i++)
		assert_int_equal(server_integer(quorum_server(quorum, i), "DEL leash:{q}"), 1);
	check_that_it_cannot_be_adopted(&legacy, LEASH_NOT_HELD, "of 5 servers");
}

SENTENCE(what_cannot_be_known_is_not_adopted_and_not_denied)
{
	struct legacy legacy;

	leave_legacy(&legacy);
	server_kill(quorum_server(quorum, 0));
	server_kill(quorum_server(quorum, 1));
	assert_int_equal(server_integer(quorum_server(quorum, 2), "DEL leash:{q}"), 1);
	check_that_it_cannot_be_adopted(&legacy, LEASH_UNAVAILABLE, "2 of 5 servers");
}

/* What a server says that may have forgotten is neither a vote nor a refusal. */
SENTENCE(servers_that_were_restarted_say_nothing_of_a_token_that_counts)
{
	enum { GUARD_MS = 60000 };
	struct legacy legacy;
	leash_client *guarded;
	leash_lock *heir;

	leave_legacy(&legacy);
	guarded = open_with(LEASE_MS, GUARD_MS); /* for which no server has been up for long enough */
	heir = leashed_lock(guarded, "q", NULL);
	assert_status(LEASH_UNAVAILABLE, leash_lock_adopt(heir, legacy.token, &err));
	assert_non_null(strstr(err.text, "restart_guard_ms"));
	printf("# %s\n", err.text);
	assert_status(LEASH_UNAVAILABLE, leash_lock_adopt(heir, "00000000-0000-4000-8000-000000000000:1", &err));
	leash_lock_free(heir);
	leash_close(guarded);
	check_that_nothing_is_left();
}

SENTENCE(servers_that_lack_what_is_adopted_get_it_with_the_next_renewal)
{
	struct legacy legacy;

	leave_legacy(&legacy);
	for (int i = 0; i < 2; i++)
		assert_int_equal(server_integer(quorum_server(quorum, i), "DEL leash:{q}"), 1);
	assert_status(LEASH_OK, leash_lock_adopt(lock, legacy.token, &err));
	await_true(quorum_having(quorum, "leash:{q}") == SERVERS || events.count[LEASH_EVENT_LOST] > 0);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	/* as long as just a majority has it; but the others may get it before anybody could say so, if they lacked the
	 * script */
	await_true(events.count[LEASH_EVENT_RECOVERED] == events.count[LEASH_EVENT_JEOPARDY]);
	assert_true(leash_lock_fence(lock) == legacy.fence);
	assert_int_equal(quorum_lasting_keys(quorum, "*"), 0);
	release_everywhere();
}

static void
set_fence(int i, int64_t fence)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", (long long)fence);
	server_text(quorum_server(quorum, i), "SET leash:{q}:fence %s PX 600000", text);
}

static int
knowing(int64_t fence)
{
	int n = 0;

	for (int i = 0; i < SERVERS; i++)
		if (quorum_runs(quorum, i))
			n += strtoll(server_text(quorum_server(quorum, i), "GET leash:{q}:fence"), NULL, 10) == fence;
	return n;
}

SENTENCE(of_fences_that_differ_the_one_of_a_majority_is_the_holders_else_the_largest)
{
	struct legacy legacy;
	int64_t issued;

	leave_legacy(&legacy);
	issued = (int64_t)(legacy.fence / 256);
	set_fence(0, issued + 1000);
	assert_status(LEASH_OK, leash_lock_adopt(lock, legacy.token, &err));
	assert_true(leash_lock_fence(lock) == legacy.fence);
	release_everywhere();

	/* of these it cannot be told which one it was: never less than that, and a majority knows it before anybody else
	 * does */
	leave_legacy(&legacy);
	issued = (int64_t)(legacy.fence / 256);
	server_kill(quorum_server(quorum, 3));
	server_kill(quorum_server(quorum, 4));
	set_fence(0, issued + 1000);
	assert_status(LEASH_OK, leash_lock_adopt(lock, legacy.token, &err));
	assert_true(leash_lock_fence(lock) == (uint64_t)(issued + 1000) * 256);
	assert_int_equal(knowing(issued + 1000), 3);
	release_everywhere();
}

SENTENCE(a_fence_that_a_majority_cannot_be_told_of_is_nobodys_and_the_reason_is_named)
{
	struct legacy legacy;

	leave_legacy(&legacy);
	server_kill(quorum_server(quorum, 3));
	server_kill(quorum_server(quorum, 4));
	set_fence(0, (int64_t)(legacy.fence / 256) + 1000);
	for (int i = 0; i < 3; i++)
		server_text(quorum_server(quorum, i), "ACL SETUSER default -set");
	assert_status(LEASH_DENIED, leash_lock_adopt(lock, legacy.token, &err));
	assert_non_null(strstr(err.text, "SET is not permitted"));
	check_that_nothing_is_left();
}

SENTENCE(what_is_being_released_is_not_adopted_again, THROUGH_DOORS)
{
	struct legacy legacy;

	leave_legacy(&legacy);
	assert_status(LEASH_OK, leash_lock_adopt(lock, legacy.token, &err));
	for (int i = 0; i < 3; i++)
		proxy_hold(quorum_door(quorum, i), PROXY_TO_SERVER);
	assert_status(LEASH_UNKNOWN, leash_lock_release(lock, &err));
	assert_status(LEASH_NOT_HELD, leash_lock_adopt(lock, legacy.token, &err));
	assert_non_null(strstr(err.text, "being released"));
	for (int i = 0; i < 3; i++)
		proxy_release(quorum_door(quorum, i));
	check_that_nothing_is_left();
	assert_status(LEASH_NOT_HELD, leash_lock_adopt(lock, legacy.token, &err));
}

/* Neither wakes the other one for it. */
SENTENCE(an_extension_and_a_release_at_once_end_both, THROUGH_DOORS)
{
	leash_owner *owner = NULL;
	leash_lock *own;
	struct actor extender = {0};
	int64_t began;

	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	own = leashed_lock(client, "q", LEASH_LOCK_OPTIONS(.owner = owner));
	actor_begin(&extender, own, 0);
	acquire_at_all(own);
	quorum_delay(quorum, 50 * 1000);
	actor_tell(&extender, extend);
	actor_await_asleep(&extender);
	began = await_now_ns();
	assert_status(LEASH_OK, leash_lock_release(own, &err));
	actor_hear(&extender);
	printf("# %.0f ms: %s\n", (double)(await_now_ns() - began) / 1e6,
	       extender.status == LEASH_OK ? "extended" : extender.err.text);
	assert_true(extender.status == LEASH_OK || extender.status == LEASH_NOT_HELD);
	assert_true(await_now_ns() - began < 1000 * MS); /* which is half of what the extension would have waited for */
	actor_end(&extender);
	leash_lock_free(own);
	leash_owner_free(owner);
	quorum_delay(quorum, 0);
	check_that_nothing_is_left();
}

SENTENCE(two_extensions_at_once_are_each_as_long_as_was_asked_for, THROUGH_DOORS)
{
	leash_owner *owner = NULL;
	leash_lock *own;
	struct actor extender = {0};

	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	own = leashed_lock(client, "q", LEASH_LOCK_OPTIONS(.owner = owner, .lease_ms = slow_ms(LEASE_MS) / 3));
	actor_begin(&extender, own, slow_ms(LEASE_MS) / 2);
	acquire_at_all(own);
	quorum_delay(quorum, 50 * 1000);
	actor_tell(&extender, extend);
	actor_await_asleep(&extender);
	assert_status(LEASH_OK, leash_lock_extend(own, slow_ms(LEASE_MS), &err));
	assert_true(leash_lock_remaining_ms(own) > slow_ms(LEASE_MS) / 2);
	assert_heard(LEASH_OK, &extender);
	actor_end(&extender);
	assert_status(LEASH_OK, leash_lock_release(own, &err));
	leash_lock_free(own);
	leash_owner_free(owner);
	quorum_delay(quorum, 0);
	check_that_nothing_is_left();
}

/* ---- all locks there are ---- */

enum { LISTED = 150 }; /* more than are asked about at once */

struct list {
	int count, times[LISTED]; /* told of "lock <i>" */
	leash_lock_info last;
};

static bool
note_lock(void *arg, const leash_lock_info *info)
{
	struct list *list = arg;
	int i;

	list->count++;
	list->last = *info;
	if (sscanf(info->name, "lock %d", &i) == 1 && i >= 0 && i < LISTED)
		list->times[i]++;
	return true;
}

static void
give_votes(int lock_number, int from, int to, const char *token)
{
	for (int i = from; i < to; i++) {
		assert_int_equal(server_integer(quorum_server(quorum, i), "HSET leash:{lock%%20%d} %s 1", lock_number, token),
		                 1);
		assert_int_equal(server_integer(quorum_server(quorum, i), "PEXPIRE leash:{lock%%20%d} 600000", lock_number), 1);
	}
}

SENTENCE(what_a_majority_has_is_listed_once_and_nothing_else)
{
	static const char ann[] = "00000000-0000-4000-8000-00000000000a:1",
		bob[] = "00000000-0000-4000-8000-00000000000b:1";
	struct list list = {0}, one = {0};

	/* with all, with three that differ from lock to lock, with two, with two others */
	for (int i = 0; i < LISTED; i++) {
		if (i % 4 == 0) {
			give_votes(i, 0, 5, ann);
		} else if (i % 4 == 1) {
			give_votes(i, 2, 5, ann);
			give_votes(i, 0, 2, bob);
		} else {
			give_votes(i, 0, 2, ann);
			give_votes(i, 3, 4 + i % 2, bob);
		}
	}
	assert_status(LEASH_OK, leash_client_scan(client, "lock *", note_lock, &list, &err));
	for (int i = 0; i < LISTED; i++)
		assert_int_equal(list.times[i], i % 4 < 2);
	assert_status(LEASH_OK, leash_client_scan(client, "lock 1", note_lock, &one, &err));
	assert_int_equal(one.count, 1);
	assert_string_equal(one.last.holder.token, ann);
	for (int i = 0; i < SERVERS; i++)
		freeReplyObject(server_command(quorum_server(quorum, i), "FLUSHALL"));
}

static unsigned
listed_depth(void)
{
	struct list list = {0};

	assert_status(LEASH_OK, leash_client_scan(client, NULL, note_lock, &list, &err));
	return list.count > 0 ? list.last.depth : 0;
}

SENTENCE(a_lock_is_listed_with_its_holder_and_the_time_that_a_majority_gives_it)
{
	struct list list = {0};
	char token[LEASH_TOKEN_MAX];

	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	await_true(listed_depth() == 2); /* which the next renewal tells */
	await_true(quorum_having(quorum, "leash:{q}") == SERVERS);
	leash_lock_token(lock, token, sizeof token);
	for (int i = 0; i < 2; i++)
		server_integer(quorum_server(quorum, i), "PEXPIRE leash:{q} 600000");
	assert_status(LEASH_OK, leash_client_scan(client, NULL, note_lock, &list, &err));
	assert_int_equal(list.count, 1);
	assert_string_equal(list.last.name, "q");
	assert_string_equal(list.last.holder.token, token);
	assert_int_equal(list.last.holder.pid, getpid());
	assert_true(list.last.fence == leash_lock_fence(lock));
	assert_int_equal(list.last.depth, 2);
	assert_in_range(list.last.remaining_ms, 1, slow_ms(LEASE_MS));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	release_everywhere();
}

struct breaker {
	struct list list;
	int after;
};

static bool
pause_one(void *arg, const leash_lock_info *info)
{
	struct breaker *b = arg;

	if (b->list.count == b->after)
		server_pause(quorum_server(quorum, 0));
	return note_lock(&b->list, info);
}

SENTENCE(locks_are_listed_as_long_as_a_majority_answers)
{
	static const char ann[] = "00000000-0000-4000-8000-00000000000a:1";
	struct breaker b = {.after = 70};

	for (int i = 0; i < LISTED; i++)
		give_votes(i, 0, 5, ann);
	/* the one that is gone through stands still in the middle of it: what it was to tell is told by the next one */
	assert_status(LEASH_OK, leash_client_scan(client, NULL, pause_one, &b, &err));
	for (int i = 0; i < LISTED; i++)
		assert_in_range(b.list.times[i], 1, 2);
	server_kill(quorum_server(quorum, 3));
	memset(&b, 0, sizeof b);
	assert_status(LEASH_OK, leash_client_scan(client, NULL, note_lock, &b.list, &err));
	assert_int_equal(b.list.count, LISTED);
	server_kill(quorum_server(quorum, 4));
	assert_status(LEASH_UNAVAILABLE, leash_client_scan(client, NULL, note_lock, &b.list, &err));
	assert_non_null(strstr(err.text, "3 of 5 servers"));
	printf("# %s\n", err.text);
	server_resume(quorum_server(quorum, 0));
	for (int i = 0; i < 3; i++)
		freeReplyObject(server_command(quorum_server(quorum, i), "FLUSHALL"));
}

/* ---- whose terms ---- */

/* Votes that count for who asked need not count for the next in the line. */
SENTENCE(a_round_is_not_won_for_another_than_who_began_it, THROUGH_DOORS)
{
	struct actor first = {0}, second = {0};
	leash_cancel *cancel = leashed_cancel();

	first.lock = leashed_lock(client, "q", NULL);
	first.wait_ms = 20000;
	first.cancel = cancel;
	second.lock =
		leashed_lock(client, "q", LEASH_LOCK_OPTIONS(.restart_guard_ms = 600000, .lease_ms = slow_ms(LEASE_MS)));
	second.wait_ms = 1500;
	actor_start(&first);
	actor_start(&second);
	quorum_delay(quorum, 120 * 1000); /* the answers come when the first one has left */
	actor_tell(&first, actor_acquire);
	actor_await_asleep(&first);
	actor_tell(&second, actor_acquire);
	leash_cancel_fire(cancel);
	assert_heard(LEASH_CANCELED, &first);
	quorum_delay(quorum, 0);
	assert_heard(LEASH_UNAVAILABLE, &second);
	assert_non_null(strstr(second.err.text, "restart_guard_ms"));
	actor_tell(&first, NULL);
	actor_tell(&second, NULL);
	actor_join(&first);
	actor_join(&second);
	leash_cancel_free(cancel);
	leash_lock_free(first.lock);
	leash_lock_free(second.lock);
	check_that_nothing_is_left();
}

/* ---- how long it takes ---- */

static double
median_ms(leash_lock *of)
{
	enum { TIMES = 15 };
	int64_t took[TIMES];

	for (int i = 0; i < TIMES; i++) {
		took[i] = await_now_ns();
		assert_status(LEASH_OK, leash_lock_acquire(of, 10000, &err));
		took[i] = await_now_ns() - took[i];
		assert_status(LEASH_OK, leash_lock_release(of, &err));
	}
	sort_times(took, TIMES);
	return (double)took[TIMES / 2] / 1e6;
}

SENTENCE(five_are_asked_in_the_time_of_one, THROUGH_DOORS)
{
	struct server *server = server_start_tcp(NULL);
	char target[64];
	struct proxy *door;
	leash_client *alone;
	leash_lock *single;
	double one, five;

	snprintf(target, sizeof target, "127.0.0.1:%d", server_port(server));
	door = proxy_start_tcp(target);
	alone = leashed_open(proxy_uri(door), NULL);
	single = leashed_lock(alone, "q", NULL);
	proxy_delay(door, PROXY_BOTH, 20 * 1000);
	quorum_delay(quorum, 20 * 1000);
	one = median_ms(single);
	five = median_ms(lock);
	printf("# one: %.1f ms, five: %.1f ms, ratio %.2f\n", one, five, five / one);
	assert_true(five <= 1.5 * one);
	proxy_delay(door, PROXY_BOTH, 0);
	quorum_delay(quorum, 0);
	leash_lock_free(single);
	leash_close(alone);
	proxy_stop(door);
	server_stop(server);
}
