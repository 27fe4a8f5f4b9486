/* Renewing many holds in one step, and the fences that go with them. What becomes of one renewal by itself is in
 * test_word. */
#include "tests/redis/steps.h"

#include "tests/support/test.h"
#include "tests/support/trouble.h"

enum { MANY = 100, WORDS = 4 + 4 * MANY };

#define BILLS "leash:{bills}"
#define MAILS "leash:{mails}"

static void
hold(const char *lock, const char *token, int64_t lease_ms)
{
	assert_int_equal(server_integer(server, "HSET %s %s 1", lock, token), 1);
	assert_int_equal(server_integer(server, "PEXPIRE %s %lld", lock, (long long)lease_ms), 1);
	server_text(server, "SET %s:fence %lld PX 1000000", lock, (long long)server_us());
}

/* Renew many with one command: `words` are the fence ms, and a lock, token, lease and depth for each. Up to MANY
 * answers. */
static const int64_t *
renew_by(const char *sha1, const char *const *words)
{
	static int64_t answers[MANY];
	const char *argv[WORDS] = {"EVALSHA", sha1, "0"};
	int argc = 3;
	redisReply *reply;

	while (*words != NULL)
		argv[argc++] = *words++;
	reply = redisCommandArgv(connection, argc, argv, NULL);
	if (reply == NULL || reply->type != REDIS_REPLY_ARRAY)
		trouble("not an answer to renewals: %s", reply != NULL ? reply->str : connection->errstr);
	assert_int_equal(reply->elements, (argc - 4) / 4);
	for (size_t i = 0; i < reply->elements; i++) {
		assert_int_equal(reply->element[i]->type, REDIS_REPLY_INTEGER);
		answers[i] = reply->element[i]->integer;
	}
	freeReplyObject(reply);
	look();
	return answers;
}

#define renew_many(...) renew_by(lsh_script_renew.sha1, (const char *const[]){__VA_ARGS__, NULL})

#define assert_answers(answers, a, b, c) \
	do { \
		const int64_t *answers_ = (answers); \
		assert_int_equal(answers_[0], a); \
		assert_int_equal(answers_[1], b); \
		assert_int_equal(answers_[2], c); \
	} while (0)

FIXTURE(clean, close_listeners);
GROUP(start, stop);

SENTENCE(each_of_many_is_renewed_for_its_own_lease_with_its_own_token_and_depth)
{
	hold(LOCK, ANN1, 1000);
	hold(BILLS, ANN2, 1000);
	hold(MAILS, BOB1, 1000);
	assert_answers(renew_many("0", BILLS, ANN2, "200000", "3", LOCK, ANN1, "400000", "1",
	                          MAILS, BOB1, "600000", "2"), 1, 1, 1);
	assert_ttl(BILLS, 200000);
	assert_ttl(LOCK, 400000);
	assert_ttl(MAILS, 600000);
	assert_string_equal(server_text(server, "HGETALL " BILLS), ANN2 " 3");
	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 1");
	assert_string_equal(server_text(server, "HGETALL " MAILS), BOB1 " 2");
}

SENTENCE(none_of_many_is_created_and_no_ttl_is_shortened)
{
	hold(LOCK, BOB1, 400000);
	hold(MAILS, ANN1, 600000);
	assert_answers(renew_many("0", LOCK, ANN1, "600000", "1", BILLS, ANN1, "600000", "1",
	                          MAILS, ANN1, "1", "1"), 0, 0, 1);
	assert_false(exists(BILLS));
	assert_string_equal(server_text(server, "HGETALL " LOCK), BOB1 " 1");
	assert_ttl(LOCK, 400000);
	assert_ttl(MAILS, 600000);
}

SENTENCE(a_key_of_another_type_is_that_ones_trouble_alone)
{
	order = NOTHING;
	server_integer(server, "RPUSH " LOCK " theirs");
	hold(BILLS, ANN1, 1000);
	hold(MAILS, ANN1, 1000);
	assert_answers(renew_many("0", BILLS, ANN1, "600000", "1", LOCK, ANN1, "600000", "1",
	                          MAILS, ANN1, "600000", "1"), 1, -1, 1);
	assert_int_equal(ttl_of(LOCK), -1);
	assert_ttl(BILLS, LEASE);
	assert_ttl(MAILS, LEASE);
	assert_error(renew(ANN1, "600000", "1"), "WRONGTYPE"); /* by itself it is told why */
}

SENTENCE(a_key_that_is_not_permitted_is_that_ones_trouble_alone_even_if_it_is_the_first)
{
	redisContext *limited = server_connect(server);

	hold(LOCK, ANN1, 1000);
	hold(BILLS, ANN1, 1000);
	hold(MAILS, ANN1, 1000);
	server_text(server, "ACL SETUSER ann reset on nopass ~" BILLS "* ~" MAILS " &* +@all");
	freeReplyObject(redisCommand(limited, "AUTH ann any"));
	connection = limited;
	assert_answers(renew_many(FENCE_MS, LOCK, ANN1, "600000", "1", BILLS, ANN1, "600000", "1",
	                          MAILS, ANN1, "600000", "1"), -1, 1, 1);
	connection = unlimited;
	assert_between(ttl_of(LOCK), -2, 1000);
	assert_ttl(BILLS, LEASE);
	assert_ttl(MAILS, LEASE);
	assert_ttl(BILLS ":fence", HOUR);
	assert_ttl(MAILS ":fence", 1000000); /* which is not permitted, and no error of the renewal */
	redisFree(limited);
	server_integer(server, "ACL DELUSER ann");
}

SENTENCE(a_lease_out_of_range_is_that_ones_trouble_alone)
{
	hold(LOCK, ANN1, 100000);
	hold(BILLS, ANN1, 100000);
	hold(MAILS, ANN1, 100000);
	assert_answers(renew_many("0", LOCK, ANN1, "86400001", "1", BILLS, ANN1, "none", "1",
	                          MAILS, ANN1, "86400000", "1"), -1, -1, 1);
	assert_ttl(LOCK, 100000);
	assert_ttl(BILLS, 100000);
	assert_ttl(MAILS, DAY);
}

SENTENCE(a_lock_of_many_that_has_no_ttl_gets_one_and_that_is_said_of_it_alone)
{
	hold(LOCK, ANN1, 1000);
	hold(BILLS, ANN1, 1000);
	hold(MAILS, ANN1, 1000);
	assert_int_equal(server_integer(server, "PERSIST " BILLS), 1);
	assert_answers(renew_many("0", LOCK, ANN1, "600000", "1", BILLS, ANN1, "600000", "1",
	                          MAILS, ANN1, "600000", "1"), 1, 2, 1);
	assert_ttl(BILLS, LEASE);
}

SENTENCE(a_replica_renews_none_of_many_and_a_full_server_all)
{
	hold(LOCK, ANN1, 12000000);
	hold(BILLS, ANN1, 1000);
	hold(MAILS, ANN1, 1000);
	server_text(server, "CONFIG SET maxmemory 1");
	assert_answers(renew_many("0", LOCK, ANN1, "1000", "2", BILLS, ANN1, "600000", "3",
	                          MAILS, ANN1, "600000", "1"), 1, 1, 1);
	assert_string_equal(server_text(server, "HGETALL " BILLS), ANN1 " 3");
	server_text(server, "REPLICAOF 127.0.0.1 1");
	assert_answers(renew_many("0", LOCK, ANN1, "1000", "2", BILLS, ANN1, "600000", "3",
	                          MAILS, CID1, "600000", "1"), -1, -1, 0);
}

SENTENCE(a_fence_is_kept_when_half_of_its_time_is_over_and_left_alone_if_that_is_0)
{
	fence_of(ask(ANN1));
	assert_int_equal(server_integer(server, "PEXPIRE " FENCE " %d", HOUR * 3 / 4), 1);
	assert_number(renew(ANN1, "600000", "1"), 1);
	assert_ttl(FENCE, HOUR * 3 / 4);
	assert_int_equal(server_integer(server, "PEXPIRE " FENCE " %d", HOUR / 4), 1);
	assert_number(step(renew, 1, ANN1, "600000", "1", "0"), 1);
	assert_ttl(FENCE, HOUR / 4);
	assert_int_equal(renew_many("0", LOCK, ANN1, "600000", "1")[0], 1);
	assert_ttl(FENCE, HOUR / 4);
	assert_int_equal(renew_many(FENCE_MS, LOCK, ANN1, "600000", "1")[0], 1);
	assert_ttl(FENCE, HOUR);
}

/* On the server that the tests run on, which may know GT, and as one that does not. */
SENTENCE(before_gt_a_renewal_does_the_same)
{
	static const char gt[] = "redis.REDIS_VERSION_NUM and 'GT'";
	static const char *const words[] = {
		"0", LOCK, ANN1, "600000", "2", BILLS, ANN1, "600000", "1", MAILS, ANN1, "600000", "1", NULL,
	};
	const char *at = strstr(lsh_script_renew.text, gt);
	char text[8192];
	const char *sha1;

	assert_non_null(at);
	snprintf(text, sizeof text, "%.*snil%s", (int)(at - lsh_script_renew.text), lsh_script_renew.text, at + strlen(gt));
	sha1 = server_text(server, "SCRIPT LOAD %s", text);
	hold(LOCK, ANN1, 1000);
	hold(BILLS, ANN1, 12000000);
	hold(MAILS, ANN1, 1000);
	assert_int_equal(server_integer(server, "PERSIST " MAILS), 1);
	assert_answers(renew_by(sha1, words), 1, 1, 2);
	assert_ttl(LOCK, LEASE);
	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 2");
	assert_ttl(BILLS, 12000000);
	assert_ttl(MAILS, LEASE);
}

SENTENCE(a_hundred_renewals_are_one_script_and_answered_in_their_order)
{
	static char lock[MANY][32];
	const char *words[2 + 4 * MANY] = {"0"};
	const int64_t *answers;
	bool knows_gt = atoi(strstr(server_text(server, "INFO server"), "redis_version:") + strlen("redis_version:")) >= 7;

	for (int i = 0; i < MANY; i++) {
		snprintf(lock[i], sizeof lock[i], "leash:{job-%d}", i);
		if (i % 3 != 0)
			hold(lock[i], ANN1, 1000000);
		memcpy(&words[1 + 4 * i], (const char *const[]){lock[i], ANN1, "12000000", "1"}, 4 * sizeof *words);
	}
	order = NOTHING;
	server_text(server, "CONFIG RESETSTAT");
	answers = renew_by(lsh_script_renew.sha1, words);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(answers[i], i % 3 != 0);
	assert_int_equal(server_calls(server, "evalsha"), 1);
	assert_int_equal(server_calls(server, "hget"), MANY);
	assert_int_equal(server_calls(server, "pexpire"), MANY * 2 / 3);
	assert_int_equal(server_calls(server, "pttl"), knows_gt ? 0 : MANY * 2 / 3);
	for (int i = 0; i < MANY; i++)
		if (i % 3 != 0)
			assert_ttl(lock[i], 12000000);
}
