/* Renewing many holds in one step, and the fences that go with them. What becomes of one renewal by itself is in
 * test_word. */
#include "tests/redis/steps.h"

/* KEY TOKEN MS: it holds the lock for so long yet. */
VERB(hold)
{
	play("HSET %s %s 1 = 1; PEXPIRE %s %s = 1; SET %s:fence now PX 1000000", word[1], word[2], word[1], word[3], word[1]);
	return NULL;
}

#define HOLD_THREE "each k LOCK BILLS MAILS; hold $k A1 1000; next;"

SCENE(each_of_many_is_renewed_for_its_own_lease_with_its_own_token_and_depth,
      "hold LOCK A1 1000; hold BILLS A2 1000; hold MAILS B1 1000;"
      "renewals 0 BILLS A2 200000 3 LOCK A1 400000 1 MAILS B1 600000 2 = 1 1 1; PTTL BILLS = ~200000; PTTL LOCK = ~400000;"
      "PTTL MAILS = ~600000; HGETALL BILLS = A2 3; HGETALL LOCK = A1 1; HGETALL MAILS = B1 2")
SCENE(none_of_many_is_created_and_no_ttl_is_shortened,
      "hold LOCK B1 400000; hold MAILS A1 600000; renewals 0 LOCK A1 600000 1 BILLS A1 600000 1 MAILS A1 1 1 = 0 0 1;"
      "EXISTS BILLS = 0; HGETALL LOCK = B1 1; PTTL LOCK = ~400000; PTTL MAILS = ~600000")
SCENE(a_key_of_another_type_is_that_ones_trouble_alone, /* by itself it is told why */
      HOLD_THREE "mess; DEL LOCK; RPUSH LOCK theirs;"
      "renewals 0 BILLS A1 600000 1 LOCK A1 600000 1 MAILS A1 600000 1 = 1 -1 1; PTTL LOCK = -1; PTTL BILLS = ~600000;"
      "PTTL MAILS = ~600000; renew A1 600000 1 = !WRONGTYPE")
SCENE(a_key_that_is_not_permitted_is_that_ones_trouble_alone_even_if_it_is_the_first,
      HOLD_THREE "by ~leash:{bills}* ~leash:{mails};" /* a fence that is not permitted is no error of the renewal */
      "renewals 3600000 LOCK A1 600000 1 BILLS A1 600000 1 MAILS A1 600000 1 = -1 1 1; by all; PTTL LOCK = -2..1000;"
      "PTTL BILLS = ~600000; PTTL MAILS = ~600000; PTTL BILLS:fence = ~3600000; PTTL MAILS:fence = ~1000000")
SCENE(a_lease_out_of_range_is_that_ones_trouble_alone,
      "each k LOCK BILLS MAILS; hold $k A1 100000; next;"
      "renewals 0 LOCK A1 86400001 1 BILLS A1 none 1 MAILS A1 86400000 1 = -1 -1 1; PTTL LOCK = ~100000;"
      "PTTL BILLS = ~100000; PTTL MAILS = ~86400000")
SCENE(a_lock_of_many_that_has_no_ttl_gets_one_and_that_is_said_of_it_alone,
      HOLD_THREE "PERSIST BILLS; renewals 0 LOCK A1 600000 1 BILLS A1 600000 1 MAILS A1 600000 1 = 1 2 1;"
      "PTTL BILLS = ~600000")
SCENE(a_replica_renews_none_of_many_and_a_full_server_all,
      HOLD_THREE "PEXPIRE LOCK 12000000; CONFIG SET maxmemory 1;"
      "renewals 0 LOCK A1 1000 2 BILLS A1 600000 3 MAILS A1 600000 1 = 1 1 1; HGETALL BILLS = A1 3; REPLICAOF 127.0.0.1 1;"
      "renewals 0 LOCK A1 1000 2 BILLS A1 600000 3 MAILS C1 600000 1 = -1 -1 0")
SCENE(a_fence_is_kept_when_half_of_its_time_is_over_and_left_alone_if_that_is_0,
      "ask A1; PEXPIRE FENCE 2700000; renew A1 600000 1 = 1; PTTL FENCE = ~2700000; PEXPIRE FENCE 900000;"
      "renew A1 600000 1 0 = 1; PTTL FENCE = ~900000; renewals 0 LOCK A1 600000 1 = 1; PTTL FENCE = ~900000;"
      "renewals 3600000 LOCK A1 600000 1 = 1; PTTL FENCE = ~3600000")

/* On the server that the tests run on, which may know GT, and as one that does not. */
SENTENCE(before_gt_a_renewal_does_the_same)
{
	static const char gt[] = "redis.REDIS_VERSION_NUM and 'GT'";
	const char *at = strstr(lsh_script_renew.text, gt);
	char text[8192];

	assert_non_null(at);
	snprintf(text, sizeof text, "%.*snil%s", (int)(at - lsh_script_renew.text), lsh_script_renew.text, at + strlen(gt));
	play(HOLD_THREE "PEXPIRE BILLS 12000000; PERSIST MAILS = 1;"
	     "EVALSHA %s 0 0 LOCK A1 600000 2 BILLS A1 600000 1 MAILS A1 600000 1 = 1 1 2;"
	     "PTTL LOCK = ~600000; HGETALL LOCK = A1 2; PTTL BILLS = ~12000000; PTTL MAILS = ~600000",
	     server_text(server, "SCRIPT LOAD %s", text));
}

SENTENCE(a_hundred_renewals_are_one_script_and_answered_in_their_order)
{
	enum { MANY = 100 };
	bool knows_gt = atoi(strstr(server_text(server, "INFO server"), "redis_version:") + strlen("redis_version:")) >= 7;
	char words[8192] = "", answers[256] = "", name[32];

	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "leash:{job-%d}", i);
		if (i % 3 != 0)
			play("hold %s A1 1000000", name);
		sprintf(words + strlen(words), " %s A1 12000000 1", name);
		strcat(answers, i % 3 != 0 ? " 1" : " 0");
	}
	play("mess; CONFIG RESETSTAT; renewals 0%s =%s; calls evalsha = 1; calls hget = 100; calls pexpire = 66", words, answers);
	play("calls pttl = %d", knows_gt ? 0 : 66);
	for (int i = 0; i < MANY; i++)
		if (i % 3 != 0)
			play("PTTL leash:{job-%d} = ~12000000", i);
}
