/* What a quorum says to one of its servers: an ask for a vote, which wants a fence; a heartbeat, to go on with a vote;
 * and that there is a larger fence. */
#include "tests/redis/steps.h"
#include "tests/support/test.h"

static struct answer
vote_with(const char *token, const char *lease_ms, const char *not_after_us, const char *proposal)
{
	return step(acquire, 3, token, lease_ms, not_after_us, TRY, proposal);
}

/* As text: arguments have to last for a while only. */
static const char *
text(int64_t n)
{
	static char texts[8][24];
	static unsigned i;
	char *out = texts[i++ % 8];

	snprintf(out, sizeof texts[0], "%lld", (long long)n);
	return out;
}

static struct answer
vote(const char *token, int64_t proposal)
{
	return vote_with(token, "600000", NEVER_LATE, text(proposal));
}

static redisReply *
raise_to(int64_t fence)
{
	redisReply *reply =
		redisCommand(connection, "EVALSHA %s 2 " LOCK " " FENCE " %s " FENCE_MS, lsh_script_raise.sha1, text(fence));

	look();
	return reply;
}

static void
assert_raised(int64_t fence, int64_t to)
{
	redisReply *reply = raise_to(fence);

	assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
	assert_int_equal(reply->integer, to);
	assert_last_fence(to);
	freeReplyObject(reply);
}

FIXTURE(clean, close_listeners);
GROUP(start, stop);

SENTENCE(a_free_lock_gets_the_vote_and_the_fence_that_was_proposed)
{
	int64_t proposal = server_us() - 1000000;

	assert_int_equal(fence_of(vote(ANN1, proposal)), proposal);
	assert_string_equal(holder(), ANN1);
	assert_last_fence(proposal);
	assert_ttl(LOCK, LEASE);
	assert_ttl(FENCE, HOUR);
	assert_false(exists(QUEUE));
}

SENTENCE(a_second_owner_is_refused)
{
	struct answer answer;

	vote(ANN1, server_us());
	answer = vote(BOB1, server_us());
	assert_not_held(answer);
	assert_true(answer.item[1] > LEASE / 2 && answer.item[1] <= LEASE);
	assert_string_equal(holder(), ANN1);
}

SENTENCE(asked_again_it_answers_the_same_and_prolongs)
{
	int64_t proposal = server_us();

	vote(ANN1, proposal);
	assert_int_equal(server_integer(server, "PEXPIRE %s 60000", LOCK), 1);
	assert_int_equal(fence_of(vote(ANN1, proposal + 5)), proposal);
	assert_ttl(LOCK, LEASE);
	assert_int_equal(fence_of(vote_with(ANN1, "1000", NEVER_LATE, "7")), proposal); /* and never shortens */
	assert_ttl(LOCK, LEASE);
	server_integer(server, "DEL %s", FENCE);
	assert_int_equal(fence_of(vote(ANN1, proposal + 5)), proposal + 5);
}

SENTENCE(too_late_it_does_nothing)
{
	struct answer answer;

	answer = vote_with(ANN1, "600000", text(server_us() - 1), text(server_us()));
	assert_int_equal(answer.item[0], -1);
	assert_true(answer.item[2] > 0);
	assert_false(exists(LOCK));
	assert_false(exists(FENCE));
}

SENTENCE(fences_grow_whatever_is_proposed)
{
	int64_t first = server_us() + 1000000;

	assert_int_equal(fence_of(vote(ANN1, first)), first);
	release(ANN1);
	assert_int_equal(fence_of(vote(BOB1, 1)), first + 1);
	release(BOB1);
	assert_int_equal(fence_of(vote(ANN2, first + 1)), first + 2);
	release(ANN2);
	assert_int_equal(fence_of(vote(BOB2, first + 100)), first + 100);
}

SENTENCE(no_fence_is_more_than_an_hour_ahead)
{
	int64_t hour = INT64_C(3600000000), before = server_us(), fence;

	fence = fence_of(vote(ANN1, INT64_C(1) << 52));
	assert_between(fence, before + hour, server_us() + hour);
}

/* A fence whose key has ended was smaller: nobody whose clock is behind by more than its TTL gets one below it. */
SENTENCE(no_fence_is_further_behind_than_the_last_one_is_kept)
{
	int64_t hour = INT64_C(3600000000), before = server_us(), fence;

	fence = fence_of(vote(ANN1, before - 2 * hour));
	assert_between(fence, before - hour + 1, server_us() - hour + 1);
}

SENTENCE(what_is_no_fence_is_replaced)
{
	int64_t proposal = server_us();

	server_text(server, "SET %s nonsense PX 60000", FENCE);
	assert_int_equal(fence_of(vote(ANN1, proposal)), proposal);
	release(ANN1);
	server_text(server, "SET %s 9007199254740991 PX 60000", FENCE);
	assert_int_equal(fence_of(vote(ANN2, proposal)), proposal);
	release(ANN2);
	server_text(server, "SET %s %lld PX 60000", FENCE, (long long)server_us() + YEAR_US + 60000000);
	assert_int_equal(fence_of(vote(BOB1, proposal)), proposal);
	server_text(server, "SET %s 9007199254740990 PX 60000", FENCE);
	assert_int_equal(fence_of(vote(BOB1, proposal)), proposal); /* asked again */
	server_text(server, "SET %s 9007199254740990 PX 60000", FENCE);
	assert_int_equal(state_of(step(heartbeat, 3, DAN, "1000", BOB1, TRY, text(proposal))), proposal);
	server_text(server, "SET %s 9007199254740990 PX 60000", FENCE);
	assert_raised(proposal, proposal);
}

SENTENCE(a_fence_a_year_ahead_is_counted_on_from_and_stays_until_the_clock_is_there)
{
	int64_t fence = server_us() + YEAR_US - 60000000;
	redisReply *refused;

	assert_raised(fence, fence);
	assert_true(ttl_of(FENCE) > fence_ahead_ms() - 2000);
	assert_int_equal(fence_of(vote(ANN1, server_us())), fence + 1);
	assert_true(ttl_of(FENCE) > fence_ahead_ms() - 2000);
	refused = raise_to(server_us() + YEAR_US + 60000000);
	assert_int_equal(refused->type, REDIS_REPLY_ERROR);
	freeReplyObject(refused);
	assert_last_fence(fence + 1);
}

SENTENCE(a_lease_out_of_range_is_refused)
{
	assert_error(vote_with(ANN1, "0", NEVER_LATE, "1"), "ERR");
	assert_error(vote_with(ANN1, "86400001", NEVER_LATE, "1"), "ERR");
	assert_false(exists(LOCK));
}

SENTENCE(a_vote_is_renewed_and_released_as_any_lock)
{
	vote(ANN1, server_us());
	assert_int_equal(server_integer(server, "PEXPIRE %s 60000", LOCK), 1);
	assert_number(renew(ANN1, "600000", "2"), 1);
	assert_ttl(LOCK, LEASE);
	assert_number(release(BOB1), 0);
	assert_number(release(ANN1), 1);
	assert_false(exists(LOCK));
}

SENTENCE(a_larger_fence_is_heard_of_and_a_smaller_one_changes_nothing)
{
	int64_t fence = server_us();

	assert_raised(fence, fence);
	assert_ttl(FENCE, HOUR);
	assert_raised(fence - 1, fence);
	assert_last_fence(fence);
	assert_raised(fence + 1, fence + 1);
	assert_int_equal(fence_of(vote(ANN1, fence - 5)), fence + 2);
	assert_raised(fence + 9, fence + 9);
	assert_int_equal(fence_of(vote(ANN1, 1)), fence + 9); /* asked again, its holder answers with that, too */
}

/* ---- going on with a vote ---- */

static struct answer
keep(const char *token, const char *lease_ms, int64_t proposal)
{
	return step(heartbeat, 3, DAN, lease_ms, token, TRY, text(proposal));
}

SENTENCE(a_vote_that_is_kept_answers_its_fence_and_lasts_no_shorter)
{
	int64_t fence = fence_of(vote(ANN1, server_us()));
	struct answer answer;

	answer = keep(ANN1, "1000", 1);
	assert_int_equal(state_of(answer), fence);
	assert_true(answer.item[1] > LEASE / 2 && answer.item[1] <= LEASE);
	assert_true(answer.item[0] >= fence - 1000000);
	assert_ttl(LOCK, LEASE);
	server_integer(server, "PEXPIRE %s 60000", FENCE);
	answer = keep(ANN1, "1200000", 1);
	assert_int_equal(answer.item[1], 1200000);
	assert_ttl(LOCK, 1200000);
	assert_last_fence(fence);
	assert_ttl(FENCE, HOUR);
	assert_string_equal(holder(), ANN1);
}

SENTENCE(what_another_has_or_nobody_is_not_kept)
{
	struct answer answer;

	answer = keep(ANN1, "1000", 1);
	assert_int_equal(state_of(answer), -1);
	assert_false(exists(LOCK));
	assert_false(exists(FENCE));
	vote(BOB1, server_us());
	answer = keep(ANN1, "1200000", 1);
	assert_int_equal(state_of(answer), -1);
	assert_string_equal(holder(), BOB1);
	assert_ttl(LOCK, LEASE);
}

SENTENCE(a_vote_whose_fence_is_gone_gets_the_one_that_is_proposed)
{
	int64_t proposal = server_us();

	vote(ANN1, proposal);
	server_integer(server, "DEL %s", FENCE);
	assert_int_equal(state_of(keep(ANN1, "1000", proposal + 7)), proposal + 7);
	assert_last_fence(proposal + 7);
	assert_ttl(FENCE, HOUR);
	assert_error(keep(ANN1, "0", 1), "ERR");
}

SENTENCE(keys_that_are_not_ours_are_left_alone)
{
	redisReply *refused;

	order = NOTHING;
	assert_int_equal(server_integer(server, "LPUSH %s theirs", LOCK), 1);
	assert_error(vote(ANN1, 1), "WRONGTYPE");
	server_integer(server, "DEL %s", LOCK);
	server_integer(server, "DEL %s", FENCE);
	assert_int_equal(server_integer(server, "LPUSH %s theirs", FENCE), 1);
	assert_error(vote(ANN1, 1), "WRONGTYPE");
	refused = raise_to(1);
	assert_int_equal(refused->type, REDIS_REPLY_ERROR);
	assert_non_null(strstr(refused->str, "WRONGTYPE"));
	freeReplyObject(refused);
	assert_false(exists(LOCK));
	server_integer(server, "DEL %s", FENCE);
}
