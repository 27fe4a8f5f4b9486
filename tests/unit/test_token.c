/* Identities: UUIDs that are ones, tokens of one form only, nothing at all without randomness. And jitter. */
#include "base/token.h"

#include "base/map.h"

#include "tests/support/child.h"
#include "tests/support/test.h"

#include <leash/lock.h>

#include <errno.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UUID "01234567-89ab-4cde-8f01-23456789abcd"

static int no_randomness; /* an errno, or 0 */

/* In the place of libc's. */
ssize_t
getrandom(void *out, size_t n, unsigned flags)
{
	if (no_randomness != 0) {
		errno = no_randomness;
		return -1;
	}
	return syscall(SYS_getrandom, out, n, flags);
}

SENTENCE(without_randomness_nothing_begins)
{
	unsigned char key[4] = {1, 2, 3, 4};
	struct lsh_map map, zeroed = {.size = 0};

	no_randomness = EAGAIN;
	assert_false(lsh_sodium_ready());
	assert_false(lsh_random_bytes(key, sizeof(key)));
	assert_false(lsh_map_init(&map));
	no_randomness = 0;
	lsh_map_clear(&map); /* what begins to be made and is not must be cleared without harm */
	lsh_map_clear(&zeroed);
	assert_memory_equal(key, "\1\2\3\4", sizeof(key));
	assert_true(lsh_sodium_ready());
}

/* The first: later libsodium is ready for good. */
SENTENCE(randomness_that_dries_up_later_makes_no_weak_uuid)
{
	char uuid[LSH_UUID_SIZE + 1] = "untouched";

	assert_true(lsh_sodium_ready());
	no_randomness = EAGAIN;
	assert_false(lsh_uuid_make(uuid));
	no_randomness = 0;
	assert_string_equal(uuid, "untouched");
	assert_true(lsh_uuid_make(uuid));
}

static int
compare(const void *a, const void *b, void *size)
{
	return memcmp(a, b, *(const size_t *)size);
}

/* No two of them are the same. */
static void
check_unique(void *all, size_t count, size_t size)
{
	qsort_r(all, count, size, compare, &size);
	for (size_t i = 1; i < count; i++)
		assert_memory_not_equal((char *)all + i * size, (char *)all + (i - 1) * size, size);
}

/* Each digit takes all values that it may have, and no others. */
SENTENCE(a_uuid_has_the_form_of_version_4_and_comes_once)
{
	enum { MANY = 5000 };
	static const char digits[] = "0123456789abcdef";
	static char uuids[MANY][LSH_UUID_SIZE + 1];
	unsigned seen[LSH_UUID_SIZE] = {0};

	for (size_t i = 0; i < MANY; i++) {
		assert_true(lsh_uuid_make(uuids[i]));
		assert_int_equal(strlen(uuids[i]), LSH_UUID_SIZE);
		for (size_t j = 0; j < LSH_UUID_SIZE; j++)
			if (j == 8 || j == 13 || j == 18 || j == 23)
				assert_int_equal(uuids[i][j], '-');
			else
				seen[j] |= 1u << (strchr(digits, uuids[i][j]) - digits);
	}
	for (size_t j = 0; j < LSH_UUID_SIZE; j++)
		if (seen[j] != 0)
			assert_int_equal(seen[j], j == 14 ? 1 << 4 : j == 19 ? 0xf00 : 0xffff);
	check_unique(uuids, MANY, sizeof(*uuids));
}

/* As the keys and SipHash have it, whatever the machine. */
SENTENCE(a_party_of_a_lock_has_the_same_uuid_everywhere)
{
	char uuid[LSH_UUID_SIZE + 1], other[LSH_UUID_SIZE + 1];

	assert_true(lsh_uuid_of(uuid, "done", "worker-1"));
	assert_string_equal(uuid, "abb2430d-c6f6-835a-860e-d9df128dbfd2");
	assert_true(lsh_uuid_of(other, "done", "worker-2"));
	assert_string_not_equal(uuid, other);
	assert_true(lsh_uuid_of(other, "donew", "orker-1"));
	assert_string_not_equal(uuid, other);
}

SENTENCE(a_token_is_the_uuid_and_the_number_and_is_read_as_it_was_written)
{
	char token[LSH_TOKEN_SIZE];

	assert_in_range(LSH_TOKEN_SIZE, 1, LEASH_TOKEN_MAX);
	assert_int_equal(lsh_token_write(token, UUID "ignored", 42), 39);
	assert_string_equal(token, UUID ":42");
	assert_int_equal(lsh_token_write(token, UUID, 0), 38);
	assert_string_equal(token, UUID ":0");
	assert_int_equal(lsh_token_write(token, UUID, UINT64_MAX), LSH_TOKEN_SIZE - 1);
	assert_string_equal(token, UUID ":18446744073709551615");
	for (unsigned bit = 0; bit < 64; bit++)
		for (uint64_t off = 0; off < 3; off++) {
			uint64_t n = 1, wanted = (UINT64_C(1) << bit) + off - 1;

			assert_true(lsh_token_read(token, lsh_token_write(token, UUID, wanted), UUID, &n));
			assert_true(n == wanted);
		}
}

SENTENCE(only_the_one_form_is_a_token)
{
	static const char *const bad[] = {
		"", ":", "42", UUID, UUID ":", UUID ":042", UUID ":00", UUID ":+42", UUID ":-1", UUID ": 42", UUID ":42 ", UUID ":42\n",
		UUID ":0x2a", UUID ":4a", UUID ":18446744073709551616", UUID ":100000000000000000000", UUID "-42", UUID " 42",
		UUID "::42", UUID ":42:42", " " UUID ":42",
		"01234567-89ab-4cde-8f01-23456789abce:42", /* another client's */
		"01234567-89AB-4CDE-8F01-23456789ABCD:42", "01234567-89ab-4cde-8f01-23456789abc:42",
	};
	uint64_t n = 7;

	for (size_t i = 0; i < COUNT(bad); i++) {
		char *exact = malloc(strlen(bad[i]) + 1); /* a sanitizer sees whoever reads past the end */

		memcpy(exact, bad[i], strlen(bad[i]));
		assert_false(lsh_token_read(exact, strlen(bad[i]), UUID, &n));
		free(exact);
		assert_int_equal(n, 7);
	}
	assert_false(lsh_token_read(UUID ":4\0", LSH_UUID_SIZE + 3, UUID, &n));
	assert_int_equal(n, 7);
	assert_true(lsh_token_read(UUID ":42 and more", LSH_UUID_SIZE + 3, UUID, &n));
	assert_int_equal(n, 42);
}

SENTENCE(numbers_are_all_different_and_known_and_nobody_else_finds_one)
{
	enum { NUMBERS = 100000 };
	static uint64_t n[NUMBERS];
	struct lsh_numbers numbers, others;

	assert_true(lsh_numbers_init(&numbers) && lsh_numbers_init(&others));
	for (size_t i = 0; i < NUMBERS; i++) {
		uint64_t other = lsh_numbers_next(&others);

		n[i] = lsh_numbers_next(&numbers);
		assert_true(lsh_numbers_has(&numbers, n[i]));
		assert_false(lsh_numbers_has(&numbers, i) || lsh_numbers_has(&numbers, n[i] + 1) || lsh_numbers_has(&numbers, n[i] ^ 1));
		assert_false(lsh_numbers_has(&numbers, other));
	}
	check_unique(n, NUMBERS, sizeof *n);
}

SENTENCE(jitter_differs_from_call_to_call)
{
	uint32_t ones[32] = {0};

	for (int i = 0; i < 4096; i++) {
		uint32_t random = lsh_random32();

		for (unsigned bit = 0; bit < 32; bit++)
			ones[bit] += random >> bit & 1;
	}
	for (unsigned bit = 0; bit < 32; bit++) /* half of 4096, give or take 10 standard deviations */
		assert_in_range(ones[bit], 2048 - 320, 2048 + 320);
}

enum { DRAWN = 8 };

static void *
draw(void *arg)
{
	uint32_t *out = arg;

	for (size_t i = 0; i < DRAWN; i++)
		out[i] = lsh_random32();
	return NULL;
}

static int
draw_in_child(void *out)
{
	draw(out);
	return 0;
}

SENTENCE(jitter_differs_from_thread_to_thread_and_from_parent_to_child)
{
	uint32_t here[DRAWN], there[DRAWN], *childs = child_share(sizeof here);
	pthread_t thread;

	draw(here);
	assert_int_equal(pthread_create(&thread, NULL, draw, there), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_memory_not_equal(here, there, sizeof(here));
	child_wait(child_run(draw_in_child, childs));
	draw(here);
	assert_memory_not_equal(here, childs, sizeof(here));
	child_unshare(childs, sizeof here);
}
