/* Names: what Redis is told is never broken by one. That no two make the same key is said by unit/test_text, that no text is broken by
 * fault/test_hostile_input. */
#include "tests/contract/refusal.h"
#include "tests/support/cluster.h"
#include "tests/support/kept.h"
#include "tests/support/test.h"

static const struct {
	const char *name, *encoded;
} names[] = {
	{"a line\r\nand another", "a%20line%0D%0Aand%20another"},
	{"{}", "%7B%7D"},
	{"}{x", "%7D%7Bx"},
	{"x}:fence", "x%7D:fence"},
	{"%7D", "%257D"},
	{"\x01\x1f\x7f", "%01%1F%7F"},
	{"\xff\xfe\x80", "\xff\xfe\x80"}, /* not UTF-8 */
	{"*?[a-z]\\", "*?[a-z]\\"},
	{"it's \"quoted\"", "it's%20\"quoted\""},
	{"%s%n%d", "%25s%25n%25d"},
	{"a:b:c/d?e=f&g", "a:b:c/d?e=f&g"},
};

enum { NAMES = sizeof names / sizeof *names };

static bool
is_among(const char *key, char keys[3][2048])
{
	return strcmp(key, keys[0]) == 0 || strcmp(key, keys[1]) == 0 || strcmp(key, keys[2]) == 0;
}

/* Keys there are, but for those that say who the clients are; of a quorum at the first of its servers. */
static int64_t
count_keys(void)
{
	struct server *at;
	int64_t n = 0;

	for (size_t i = 0; (at = deployment_master(place, i)) != NULL && (i == 0 || !place_is(PLACE_MAJORITY)); i++)
		n += server_integer(at, "EVAL %s 0", "return #redis.call('KEYS', '*') - #redis.call('KEYS', 'leash:client:*')");
	return n;
}

/* What is in Redis is exactly these keys, and who the clients are; and all of them are in one slot. */
static void
check_keys(char keys[3][2048], size_t count)
{
	redisReply *reply;

	if (place_is(PLACE_MAJORITY)) /* it may be a little later than the others, with what it makes and with what it drops */
		await_true(count_keys() == (int64_t)count);
	assert_int_equal(count_keys(), (int64_t)count);
	reply = server_command(deployment_at(place, keys[0]), "KEYS leash:{*");
	assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
	assert_int_equal(reply->elements, count);
	for (size_t i = 0; i < reply->elements; i++) {
		assert_true(is_among(reply->element[i]->str, keys));
		assert_int_equal(cluster_slot(reply->element[i]->str), cluster_slot(keys[0]));
	}
	freeReplyObject(reply);
}

/* Hold the lock called `name`, and wait for it, and see that its keys are those of `encoded`. */
static void
hold_and_wait(leash_client *holder, leash_client *other, const char *name, const char *encoded)
{
	leash_lock *held = leashed_lock(holder, name, NULL), *wanted = leashed_lock(other, name, NULL);
	struct actor w;
	char keys[3][2048];

	snprintf(keys[0], sizeof keys[0], "leash:{%s}", encoded);
	snprintf(keys[1], sizeof keys[1], "leash:{%s}:fence", encoded);
	snprintf(keys[2], sizeof keys[2], "leash:{%s}:queue", encoded);
	place_flush();
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	check_keys(keys, 2);
	assert_int_equal(deployment_integer(place, keys[0], "HLEN %s", keys[0]), 1);
	assert_int_equal(leash_lock_acquire(wanted, 0, &err), LEASH_TIMEOUT);
	check_text("lock '");
	begin_waiting(&w, wanted, LEASH_FOREVER);
	place_await_waiting(encoded, 1);
	check_keys(keys, place_is(PLACE_NO_QUEUE) ? 2 : 3);
	assert_int_equal(leash_lock_acquire(wanted, 1, &err) == LEASH_OK, false);
	check_text("lock '");
	assert_status(LEASH_OK, leash_lock_release(held, &err)); /* and the message of the grant names the key */
	actor_hear(&w);
	check_keys(keys, 2);
	end_waiting(&w);
	place_assert_free(encoded);
	leash_lock_free(held);
	leash_lock_free(wanted);
}

PLACE(refusal_open);

SENTENCE(every_name_makes_its_very_own_keys_in_one_slot)
{
	leash_client *holder = kept(open_client()), *other = kept(open_client());
	char longest[LEASH_NAME_MAX + 1], encoded[3 * LEASH_NAME_MAX + 1] = "";

	for (size_t i = 0; i < NAMES; i++)
		hold_and_wait(holder, other, names[i].name, names[i].encoded);

	memset(longest, 'n', LEASH_NAME_MAX);
	longest[LEASH_NAME_MAX] = '\0';
	hold_and_wait(holder, other, longest, longest);
	memset(longest, '}', LEASH_NAME_MAX); /* the longest key there is */
	for (int i = 0; i < LEASH_NAME_MAX; i++)
		memcpy(encoded + 3 * i, "%7D", 4);
	hold_and_wait(holder, other, longest, encoded);

	place_flush();
}

SENTENCE(names_without_a_byte_or_with_too_many_are_refused)
{
	leash_client *client = kept(open_client());
	leash_lock *untouched = (leash_lock *)(uintptr_t)1;
	char *name = malloc(100001);

	assert_non_null(name);
	assert_refused(LEASH_INVALID, "name", leash_lock_new(&untouched, client, "", NULL, &err));
	memset(name, 'x', 100000);
	name[100000] = '\0';
	assert_refused(LEASH_INVALID, "xxxxxxxx", leash_lock_new(&untouched, client, name, NULL, &err));
	name[513] = '\0';
	assert_refused(LEASH_INVALID, "512", leash_lock_new(&untouched, client, name, NULL, &err));
	memset(name, '\n', 513);
	assert_refused(LEASH_INVALID, "\\x0a", leash_lock_new(&untouched, client, name, NULL, &err));
	assert_ptr_equal(untouched, (leash_lock *)(uintptr_t)1);
	free(name);
}
