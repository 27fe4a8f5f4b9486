/* Names: what Redis is told is never broken by one. That no two make the same key is said by unit/test_text, that no text
 * is broken by fault/test_hostile_input. */
#include "tests/contract/interface.h"
#include "tests/support/cluster.h"

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

/* All keys there are, but for those that say who the clients are; of a quorum at the first of its servers. */
static const char *
keys(void)
{
	static const char script[] =
		"local keys, text = redis.call('KEYS', '*'), '' table.sort(keys) for _, key in ipairs(keys) do "
		"if string.sub(key, 1, 13) ~= 'leash:client:' then text = text .. key .. ' ' end end return text";
	static char text[8192];
	struct server *at;
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; (at = deployment_master(place, i)) != NULL && (i == 0 || !place_is(PLACE_MAJORITY)); i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s", server_text(at, "EVAL %s 0", script));
	return text;
}

/* There are those of this lock and no others; of a quorum soon, as that server may be late. */
static void
check_keys(const char *encoded, bool is_queue)
{
	char expected[8192], queue[2048] = "";

	if (is_queue)
		snprintf(queue, sizeof queue, "leash:{%s}:queue ", encoded);
	snprintf(expected, sizeof expected, "leash:{%s} leash:{%s}:fence %s", encoded, encoded, queue);
	if (place_is(PLACE_MAJORITY))
		await_true(strcmp(keys(), expected) == 0);
	assert_string_equal(keys(), expected);
}

/* Hold the lock called `name`, and wait for it, and see that its keys are those of `encoded`. */
static void
hold_and_wait(leash_client *holder, leash_client *other, const char *name, const char *encoded)
{
	leash_lock *held = kept(leashed_lock(holder, name, NULL)), *wanted = kept(leashed_lock(other, name, NULL));
	struct actor w;
	char key[2048], fence[2048];

	snprintf(key, sizeof key, "leash:{%s}", encoded);
	snprintf(fence, sizeof fence, "leash:{%s}:fence", encoded);
	assert_int_equal(cluster_slot(key), cluster_slot(fence));
	place_flush();
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	check_keys(encoded, false);
	assert_int_equal(deployment_integer(place, key, "HLEN %s", key), 1);
	assert_int_equal(leash_lock_acquire(wanted, 0, &err), LEASH_TIMEOUT);
	check_text("lock '");
	begin_waiting(&w, wanted, LEASH_FOREVER);
	place_await_waiting(encoded, 1);
	check_keys(encoded, !place_is(PLACE_NO_QUEUE));
	assert_int_not_equal(leash_lock_acquire(wanted, 1, &err), LEASH_OK);
	check_text("lock '");
	assert_status(LEASH_OK, leash_lock_release(held, &err)); /* and the message of the grant names the key */
	actor_hear(&w);
	check_keys(encoded, false);
	end_waiting(&w);
	place_assert_free(encoded);
}

PLACE(interface_open);

SENTENCE(every_name_makes_its_very_own_keys_in_one_slot)
{
	leash_client *holder = kept(open_client()), *other = kept(open_client());
	char longest[LEASH_NAME_MAX + 1], encoded[3 * LEASH_NAME_MAX + 1] = "";

	for (size_t i = 0; i < COUNT(names); i++)
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
