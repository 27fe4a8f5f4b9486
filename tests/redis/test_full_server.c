/* The steps on servers that cannot as they should, and among keys that are somebody else's. */
#include "tests/redis/steps.h"
#include "tests/support/test.h"

FIXTURE(clean, close_listeners);
GROUP(start, stop);

/* ---- servers that cannot as they should ---- */

/* However long the TTL that it sees: what it sees may be old. */
SENTENCE(a_replica_never_says_held)
{
	fence_of(ask_with(ANN1, "12000000", NEVER_LATE, EXACT));
	assert_not_held(ask(BOB1));
	server_text(server, "REPLICAOF 127.0.0.1 1");
	assert_error(renew(ANN1, "600000", "1"), "READONLY");
	assert_error(ask(ANN1), "READONLY");
	assert_error(word(ANN, ANN1), "READONLY");
	assert_error(release(ANN1), "READONLY");
	assert_error(ask(CID1), "READONLY");
}

static void
fill_up(void)
{
	server_text(server, "CONFIG SET maxmemory 1");
}

SENTENCE(a_full_server_refuses_who_asks_and_keeps_nothing_of_it)
{
	fill_up();
	assert_error(ask(ANN1), "OOM");
	assert_error(try(ANN1), "OOM");
	assert_int_equal(server_integer(server, "DBSIZE"), 0);
}

SENTENCE(a_full_server_refuses_new_places)
{
	line_up(ANN1, BOB1);
	fill_up();
	assert_error(ask(CID1), "OOM");
	assert_string_equal(places(), BOB1 " 60000");
	assert_not_held(try(CID1));
}

SENTENCE(a_full_server_refuses_who_tries_for_an_abandoned_lock)
{
	line_up(ANN1, BOB1);
	expire(LOCK);
	listen_for(BOB);
	fill_up();
	assert_error(try(CID1), "OOM");
	assert_false(exists(LOCK));
	assert_string_equal(places(), BOB1 " 60000");
}

SENTENCE(a_full_server_answers_a_holder_that_asks_again)
{
	int64_t fence = fence_of(ask_with(ANN1, "20000", NEVER_LATE, EXACT));

	fill_up();
	assert_int_equal(fence_of(ask(ANN1)), fence);
	assert_between(ttl_of(LOCK), 20001, LEASE);
}

SENTENCE(a_full_server_renews_and_writes_the_depth_down)
{
	fence_of(ask_with(ANN1, "20000", NEVER_LATE, EXACT));
	fill_up();
	assert_number(renew(ANN1, "12000000", "3"), 1);
	assert_ttl(LOCK, 12000000);
	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 3");
	assert_number(renew(ANN1, "20000", "4"), 1);
	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 4");
}

SENTENCE(a_full_server_releases_and_hands_on)
{
	struct pubsub *bob = listen_for(BOB);

	line_up(ANN1, BOB1);
	fill_up();
	assert_number(release(ANN1), 1);
	assert_string_equal(holder(), BOB1);
	assert_ttl(LOCK, CLAIM);
	assert_told(bob, BOB1);
	assert_number(release(BOB1), 1);
	assert_false(exists(LOCK));
}

SENTENCE(a_full_server_lets_leave_and_hands_on)
{
	struct pubsub *cid = listen_for(CID);

	line_up(ANN1, BOB1, CID1);
	expire(LOCK);
	fill_up();
	assert_number(release(BOB1), 2);
	assert_string_equal(holder(), CID1);
	assert_told(cid, CID1);
}

SENTENCE(a_full_server_takes_words_and_hands_on)
{
	struct pubsub *bob = listen_for(BOB);
	int64_t before;

	line_up(ANN1, BOB1, CID1);
	bury(CID);
	fill_up();
	before = server_us();
	assert_int_equal(state_of(word(CID, CID1)), 0);
	assert_true(alive_until(CID) >= before + ALIVE * 1000);
	expire(LOCK);
	assert_int_equal(state_of(word(CID, CID1)), 0);
	assert_string_equal(holder(), BOB1);
	assert_told(bob, BOB1);
}

/* ---- keys that are somebody else's ---- */

static void
put_stranger(const char *key)
{
	order = NOTHING;
	server_integer(server, "DEL %s", key);
	server_integer(server, "RPUSH %s theirs", key);
}

static void
assert_stranger(const char *key)
{
	assert_string_equal(server_text(server, "TYPE %s", key), "list");
	assert_string_equal(server_text(server, "LRANGE %s 0 -1", key), "theirs");
	assert_int_equal(ttl_of(key), -1);
}

SENTENCE(a_lock_key_that_is_no_lock_is_left_alone)
{
	put_stranger(LOCK);
	assert_error(ask(ANN1), "WRONGTYPE");
	assert_error(try(ANN1), "WRONGTYPE");
	assert_error(word(ANN, ANN1), "WRONGTYPE");
	assert_error(renew(ANN1, "600000", "1"), "WRONGTYPE");
	assert_error(release(ANN1), "WRONGTYPE");
	assert_stranger(LOCK);
	assert_int_equal(server_integer(server, "DBSIZE"), 1);
}

SENTENCE(a_queue_key_that_is_no_queue_is_left_alone)
{
	put_stranger(QUEUE);
	assert_error(ask(BOB1), "WRONGTYPE");
	assert_error(try(BOB1), "WRONGTYPE");
	assert_error(word(BOB, BOB1), "WRONGTYPE");
	assert_error(release(BOB1), "WRONGTYPE");
	assert_false(exists(LOCK));
	expire(QUEUE);
	fence_of(ask(ANN1));
	put_stranger(QUEUE);
	assert_error(ask(BOB1), "WRONGTYPE");
	assert_not_held(try(BOB1));
	assert_error(word(ANN, ANN1), "WRONGTYPE");
	assert_number(renew(ANN1, "600000", "1"), 1);
	assert_number(release(ANN1), 1);
	assert_false(exists(LOCK));
	assert_stranger(QUEUE);
}

SENTENCE(a_fence_key_that_is_no_fence_is_left_alone)
{
	listen_for(BOB);
	put_stranger(FENCE);
	assert_error(ask(ANN1), "WRONGTYPE");
	assert_false(exists(LOCK));
	expire(FENCE);
	line_up(ANN1, BOB1);
	put_stranger(FENCE);
	assert_error(ask(ANN1), "WRONGTYPE");
	assert_string_equal(holder(), ANN1);
	assert_number(release(ANN1), 1);
	assert_error(word(BOB, BOB1), "WRONGTYPE");
	assert_false(exists(LOCK));
	assert_string_equal(places(), BOB1 " 60000"); /* as nothing was given to it */
	assert_stranger(FENCE);
}
