/* Bad input: whatever an application hands over is taken as documented or refused, with a status and one line of text
 * that says what and where; and what Redis is told is never broken by a name: that no two make the same key is said by
 * unit/test_text, that no text is broken by fault/test_hostile_input. Times have tests of their own (test_times); which
 * URIs are refused, and why, unit/test_uri says. */
#include "tests/contract/interface.h"
#include "tests/support/cluster.h"

PLACE(interface_open);

/* ---- arguments ---- */

SENTENCE(null_arguments_are_refused_by_every_function)
{
	leash_client *client = kept(open_client()), *none = (leash_client *)(uintptr_t)1;
	leash_lock *lock = kept(leashed_lock(client, "null", NULL)), *untouched = (leash_lock *)(uintptr_t)1;
	leash_memory half = {.alloc = malloc, .realloc = NULL, .free = free};

	assert_refused(LEASH_INVALID, "leash_open", leash_open(NULL, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_owner_new", leash_owner_new(NULL, &err));
	assert_refused(LEASH_INVALID, "leash_lock_new", leash_lock_new(NULL, client, "x", NULL, &err));
	assert_refused(LEASH_INVALID, "leash_lock_new", leash_lock_new(&untouched, client, NULL, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_lock_inspect", leash_lock_inspect(lock, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_lock_holders", leash_lock_holders(lock, NULL, NULL, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_lock_waiters", leash_lock_waiters(lock, NULL, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_client_stats", leash_client_stats(client, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_client_scan", leash_client_scan(client, NULL, NULL, NULL, &err));
	assert_string_equal(calls_not_refused(&(struct callee){.client = NULL}, LEASH_INVALID), "");
	assert_ptr_equal(untouched, (leash_lock *)(uintptr_t)1);
	assert_holds_nothing(NULL);
	assert_true(leash_lock_name(NULL) == NULL && leash_lock_client(NULL) == NULL && leash_client_uri(NULL) == NULL);
	leash_lock_alive(NULL);
	leash_lock_free(NULL);
	leash_owner_free(NULL);
	leash_close(NULL);
	assert_int_equal(leash_set_memory(NULL), LEASH_INVALID); /* too late by now */
	assert_int_equal(leash_set_memory(&half), LEASH_INVALID);

	/* nobody wants to know why */
	assert_int_equal(leash_open(NULL, NULL, NULL), LEASH_INVALID);
	assert_int_equal(leash_open(&none, LEASH_OPTIONS(.uri = "nonsense"), NULL), LEASH_INVALID);
	assert_ptr_equal(none, (leash_client *)(uintptr_t)1);
	assert_int_equal(leash_lock_new(&untouched, client, "x", LEASH_LOCK_OPTIONS(.lease_ms = 1), NULL), LEASH_INVALID);
	assert_ptr_equal(untouched, (leash_lock *)(uintptr_t)1);
	assert_int_equal(leash_lock_extend(lock, 1, NULL), LEASH_INVALID);
	assert_int_equal(leash_lock_acquire_with(lock, NULL, NULL), LEASH_OK); /* tries once */
	assert_true(leash_lock_token(lock, NULL, 0) > 0);
	assert_int_equal(leash_lock_token(lock, NULL, 10), 0);
	assert_int_equal(leash_lock_release(lock, NULL), LEASH_OK);
}

SENTENCE(a_token_is_cut_off_where_there_is_no_room)
{
	leash_client *client = kept(open_client());
	leash_lock *lock = kept(leashed_lock(client, "token", NULL));
	char whole[LEASH_TOKEN_MAX], out[LEASH_TOKEN_MAX];

	assert_int_equal(leash_lock_token(lock, whole, sizeof whole), 0);
	assert_string_equal(whole, "");
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	size_t n = leash_lock_token(lock, whole, sizeof whole);
	assert_int_equal(n, strlen(whole));
	assert_true(n < LEASH_TOKEN_MAX);
	await_true(place_integer("token", "HLEN leash:{token}") == 1); /* of a quorum some servers may be late */
	assert_string_equal(place_text("token", "HKEYS leash:{token}"), whole);
	for (size_t size = 1; size <= n + 1; size++) {
		memset(out, 'x', sizeof out);
		assert_int_equal(leash_lock_token(lock, out, size), n);
		assert_int_equal(strlen(out), size - 1);
		assert_memory_equal(out, whole, size - 1);
		for (size_t i = size; i < sizeof out; i++)
			assert_int_equal(out[i], 'x');
	}
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_int_equal(leash_lock_token(lock, out, sizeof out), 0);
}

SENTENCE(a_handle_tells_its_name_and_its_client_and_that_where_it_is)
{
	static const char name[] = "it's {one}\n\xff";
	leash_client *client = kept(open_client());
	leash_lock *lock = kept(leashed_lock(client, name, NULL));
	const char *uri = leash_client_uri(leash_lock_client(lock));

	assert_string_equal(leash_lock_name(lock), name);
	assert_ptr_equal(leash_lock_client(lock), client);
	assert_int_equal(strncmp(uri, place_uri(), strcspn(place_uri(), ":")), 0);
	assert_null(strpbrk(uri, "@&"));
}

/* ---- options ---- */

#define X65 "ppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp"

SENTENCE(other_options_out_of_range_are_refused_and_named)
{
#define ROW(field_, value) {#field_, {.size = sizeof(leash_options), .field_ = (value)}}
	static const struct {
		const char *name;
		leash_options options;
	} rows[] = {
		ROW(timeout_ms, 9), ROW(timeout_ms, 1), ROW(timeout_ms, -1), ROW(timeout_ms, 60001), ROW(timeout_ms, INT64_MAX),
		ROW(timeout_ms, INT64_MIN), ROW(open_wait_ms, -1),
		ROW(prefix, ""), ROW(prefix, "a b"), ROW(prefix, "a:b"), ROW(prefix, "{a}"),
		ROW(prefix, "a\n"), ROW(prefix, "a/b"), ROW(prefix, "\xc3\xa4"), ROW(prefix, "%41"), ROW(prefix, X65),
		ROW(client_name, ""), ROW(client_name, "a b"), ROW(client_name, "a\n"), ROW(client_name, "\x1b"),
		ROW(client_name, "\xc3\xa4"), ROW(client_name, "\x7f"), ROW(client_name, X65),
	};
#undef ROW
#define ROW(field_, value) {#field_, {.size = sizeof(leash_lock_options), .field_ = (value)}}
	static const struct {
		const char *name;
		leash_lock_options options;
	} of_locks[] = {
		ROW(max_hold_ms, 99), ROW(max_hold_ms, 1), ROW(max_hold_ms, -1), ROW(max_hold_ms, INT64_MIN), ROW(alive_ms, 99),
		ROW(alive_ms, 1), ROW(alive_ms, -1), ROW(alive_ms, INT64_MIN), ROW(restart_guard_ms, -1),
		ROW(restart_guard_ms, INT64_MAX), ROW(handoffs, 256), ROW(handoffs, -1), ROW(handoff_ms, 60001),
		ROW(handoff_ms, -1), ROW(min_replicas, 17), ROW(min_replicas, -1), ROW(replicas_ms, -1), ROW(replicas_ms, 86400001),
	};
#undef ROW
	leash_client *client = kept(open_client()), *none;
	leash_lock *lock;

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_refused(LEASH_INVALID, rows[i].name, leash_open(&none, &rows[i].options, &err));
	for (size_t i = 0; i < COUNT(of_locks); i++)
		assert_refused(LEASH_INVALID, of_locks[i].name, leash_lock_new(&lock, client, "x", &of_locks[i].options, &err));
}

SENTENCE(an_option_that_does_nothing_beside_another_is_refused_and_both_are_named)
{
	static const struct {
		const char *idle, *beside;
		leash_lock_options options;
	} rows[] = {
#define ROW(one, other, ...) {one " has no effect ", " " other, {.size = sizeof(leash_lock_options), __VA_ARGS__}}
		ROW("handoffs", "no_handoff", .handoffs = 2, .no_handoff = true),
		ROW("handoff_ms", "no_handoff", .handoff_ms = 2, .no_handoff = true),
		ROW("handoffs", "fair", .handoffs = 2, .fair = true),
		ROW("handoff_ms", "fair", .handoff_ms = 2, .fair = true),
		ROW("alive_ms", "no_renew", .alive_ms = 1000, .no_renew = true),
		ROW("alive_ms", "max_hold_ms", .alive_ms = 1001, .max_hold_ms = 1000),
		ROW("replicas_ms", "min_replicas or fsynced", .replicas_ms = 1000),
#undef ROW
	};
	leash_client *client = kept(open_client());
	leash_lock *lock;

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_refused(LEASH_INVALID, rows[i].idle, leash_lock_new(&lock, client, "x", &rows[i].options, &err));
		check_text(rows[i].beside);
	}
}

SENTENCE(options_at_the_ends_of_their_ranges_are_taken, .but = PLACE_RIGHTS) /* another prefix */
{
	char prefix[65], name[65], key[128];
	leash_client *client;
	leash_lock *lock;

	memset(prefix, 'p', 64);
	memset(name, '!', 64);
	prefix[64] = name[64] = '\0';
	memcpy(prefix, "aZ0.9_-", 7);
	client = kept(place_client(LEASH_OPTIONS(.prefix = prefix, .client_name = name, .timeout_ms = 60000)));
	assert_non_null(strstr(place_text("token", "CLIENT LIST"), name));
	lock = kept(leashed_lock(client, "ends", LEASH_LOCK_OPTIONS(.max_hold_ms = INT64_MAX, .alive_ms = INT64_MAX,
	                                                       .handoffs = 255, .handoff_ms = 60000)));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	snprintf(key, sizeof key, "%s:{ends}", prefix);
	await_true(deployment_integer(place, key, "EXISTS %s", key) == 1);
	assert_true(leash_lock_remaining_ms(lock) > place_lease_ms(30000) * 2 / 3);
	leash_lock_alive(lock);
	assert_status(LEASH_OK, leash_lock_extend(lock, place_lease_ms(86400000), &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

/* They lead to a lock, of which so much is left. */
static int64_t
use_with(const leash_options *options, const leash_lock_options *lock_options, const leash_acquire *how)
{
	leash_client *client;
	leash_lock *lock;

	assert_status(LEASH_OK, leash_open(&client, options, &err));
	assert_status(LEASH_OK, leash_lock_new(&lock, kept(client), "sized", lock_options, &err));
	assert_status(LEASH_OK, leash_lock_acquire_with(kept(lock), how, &err));
	int64_t left_ms = leash_lock_remaining_ms(lock);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	return left_ms;
}

SENTENCE(options_of_older_and_newer_callers_are_understood, .but = PLACE_SHORT_LEASE)
{
	struct {
		leash_options known;
		uint64_t unknown[3];
	} newer = {.known = {.size = sizeof newer, .uri = place_uri()}};
	struct {
		leash_lock_options known;
		unsigned char unknown[5];
	} newer_lock = {.known = {.size = sizeof newer_lock}};
	struct {
		leash_acquire known;
		uint64_t unknown[100];
	} newer_acquire = {.known = {.size = sizeof newer_acquire}};
	leash_options older =
		{.size = offsetof(leash_options, lease_ms), .uri = place_uri(), .lease_ms = -1, .timeout_ms = -1};
	leash_lock_options older_lock = {.size = offsetof(leash_lock_options, lease_ms), .lease_ms = -1, .max_hold_ms = -1};
	leash_acquire older_acquire = {.size = offsetof(leash_acquire, lease_ms), .wait_ms = 30000, .lease_ms = -1};
	leash_client *client = kept(open_client()), *none;
	leash_lock *lock = kept(leashed_lock(client, "sized", NULL)), *no_lock;

	/* a field that they do not have yet is not looked at */
	use_with(&older, &older_lock, &older_acquire);
	/* a field that we do not know yet may be there, but not be set */
	use_with(&newer.known, &newer_lock.known, &newer_acquire.known);
	newer.unknown[2] = UINT64_C(1) << 63;
	newer_lock.unknown[4] = 1;
	newer_acquire.unknown[99] = 1;
	assert_refused(LEASH_UNSUPPORTED, "LEASH_OPTIONS", leash_open(&none, &newer.known, &err));
	assert_refused(LEASH_UNSUPPORTED, "LEASH_LOCK_OPTIONS",
	               leash_lock_new(&no_lock, client, "x", &newer_lock.known, &err));
	assert_refused(LEASH_UNSUPPORTED, "LEASH_ACQUIRE", leash_lock_acquire_with(lock, &newer_acquire.known, &err));
	assert_refused(LEASH_INVALID, "mode is 4",
	               leash_lock_new(&no_lock, client, "x", LEASH_LOCK_OPTIONS(.mode = LEASH_REDISSON + 1), &err));
	assert_false(leash_lock_held(lock));

	/* one without a size was not made by the macro */
	for (size_t size = 0; size < sizeof(size_t); size++) {
		older.size = older_lock.size = older_acquire.size = size;
		assert_refused(LEASH_INVALID, "LEASH_OPTIONS", leash_open(&none, &older, &err));
		assert_refused(LEASH_INVALID, "LEASH_LOCK_OPTIONS", leash_lock_new(&no_lock, client, "x", &older_lock, &err));
		assert_refused(LEASH_INVALID, "LEASH_ACQUIRE", leash_lock_acquire_with(lock, &older_acquire, &err));
	}

	/* one with nothing but a size means the defaults, and $LEASH_URI */
	older.size = older_lock.size = older_acquire.size = sizeof(size_t);
	assert_in_range(use_with(&older, &older_lock, &older_acquire), 20001, 29999);
	setenv("LEASH_URI", "nonsense", 1);
	assert_refused(LEASH_INVALID, "uri", leash_open(&none, &older, &err));
	setenv("LEASH_URI", place_uri(), 1);
}

/* ---- what is filled in ---- */

static leash_status
fill_stats(leash_client *client, leash_lock *lock, void *out)
{
	(void)lock;
	return leash_client_stats(client, out, &err);
}

static leash_status
fill_info(leash_client *client, leash_lock *lock, void *out)
{
	(void)client;
	return leash_lock_inspect(lock, out, &err);
}

/* A struct whose first field is its size, which has to reach behind `least`. */
static const struct filled {
	const char *name;
	leash_status (*fill)(leash_client *client, leash_lock *lock, void *out);
	size_t size, least, shorter;
} filled[] = {
	{"leash_stats_are_filled_in_to_their_size", fill_stats, sizeof(leash_stats), sizeof(size_t) + 8, offsetof(leash_stats, released)},
	{"leash_lock_info_is_filled_in_to_its_size", fill_info, sizeof(leash_lock_info), offsetof(leash_lock_info, holder),
	 offsetof(leash_lock_info, depth)},
};

static size_t
untouched_from(const unsigned char *bytes, size_t from, size_t size)
{
	while (size > from && bytes[size - 1] == 0x5a)
		size--;
	return size;
}

SENTENCES(what_is_filled_in, filled)
{
	const struct filled *f = given;
	const size_t wrong[] = {0, 1, sizeof(size_t), f->least - 1, 65537, SIZE_MAX}, right[] = {f->shorter, f->size, f->size + 8};
	leash_client *client = kept(open_client());
	leash_lock *lock = kept(leashed_lock(client, "sized", NULL));
	union {
		size_t size;
		leash_stats stats;
		leash_lock_info info;
		unsigned char bytes[sizeof(leash_lock_info) + sizeof(leash_stats) + 8];
	} out;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (size_t i = 0; i < COUNT(wrong); i++) {
		memset(&out, 0x5a, sizeof out);
		out.size = wrong[i];
		assert_refused(LEASH_INVALID, "size", f->fill(client, lock, &out));
		assert_true(out.size == wrong[i]);
		assert_int_equal(untouched_from(out.bytes, sizeof(size_t), sizeof out), sizeof(size_t));
	}
	for (size_t i = 0; i < COUNT(right); i++) {
		memset(&out, 0x5a, sizeof out);
		out.size = right[i];
		assert_status(LEASH_OK, f->fill(client, lock, &out));
		assert_true(out.size == right[i]);
		assert_in_range(untouched_from(out.bytes, 0, sizeof out), f->least - 8, right[i] < f->size ? right[i] : f->size);
	}
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

/* ---- names ---- */

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
	static char name[100001];

	assert_refused(LEASH_INVALID, "name", leash_lock_new(&untouched, client, "", NULL, &err));
	memset(name, 'x', 100000);
	assert_refused(LEASH_INVALID, "xxxxxxxx", leash_lock_new(&untouched, client, name, NULL, &err));
	name[513] = '\0';
	assert_refused(LEASH_INVALID, "512", leash_lock_new(&untouched, client, name, NULL, &err));
	memset(name, '\n', 513);
	assert_refused(LEASH_INVALID, "\\x0a", leash_lock_new(&untouched, client, name, NULL, &err));
	assert_ptr_equal(untouched, (leash_lock *)(uintptr_t)1);
}
