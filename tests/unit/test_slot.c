/* Slots: the known ones, and what of a key they are of. */
#include "redis/slot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static unsigned
slot_of(const char *key)
{
	return lsh_slot_of(key, strlen(key));
}

static void
the_slots_that_are_known_are_right(void **state)
{
	(void)state;
	assert_int_equal(slot_of("123456789"), 12739);
	assert_int_equal(slot_of("foo"), 12182);
	assert_int_equal(slot_of("bar"), 5061);
	assert_int_equal(slot_of(""), 0);
	assert_int_equal(lsh_slot_of(NULL, 0), 0);
}

static void
a_hash_tag_stands_for_its_key(void **state)
{
	(void)state;
	assert_int_equal(slot_of("leash:{foo}"), slot_of("foo"));
	assert_int_equal(slot_of("leash:{foo}:queue"), slot_of("foo"));
	assert_int_equal(slot_of("leash:{foo}:wake:{bar}"), slot_of("foo"));
	assert_int_equal(slot_of("{foo}"), slot_of("foo"));
	assert_int_equal(slot_of("a{{foo}}b"), slot_of("{foo"));
	assert_int_equal(slot_of("}{foo}"), slot_of("foo"));
}

/* Of "{foo{}}bar" the tag is "foo{", of "foo{}{bar}" there is none: what counts is the first '{' and the '}' next to it. */
static void
an_empty_tag_or_half_a_one_is_none(void **state)
{
	static const char *const whole[] = {"foo{}{bar}", "{}", "foo{bar", "foo}bar", "foo}bar{", "{"};

	(void)state;
	assert_int_equal(slot_of("{foo{}}bar"), slot_of("foo{"));
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
		char tagged[32] = "x{";

		assert_int_not_equal(slot_of(whole[i]), slot_of("bar"));
		/* the same bytes as a tag of their own, where they have no '}' */
		if (strchr(whole[i], '}') != NULL)
			continue;
		strcat(strcat(tagged, whole[i]), "}");
		assert_int_equal(slot_of(tagged), slot_of(whole[i]));
	}
	assert_int_equal(slot_of("foo{}{bar}"), 8363);
}

static void
any_byte_is_a_part_of_a_key(void **state)
{
	char bytes[256];

	(void)state;
	for (int i = 0; i < 256; i++)
		bytes[i] = (char)i;
	/* with '{' and '}' among them: 0x7b is the tag's beginning, and 0x7c all of it */
	assert_int_equal(lsh_slot_of(bytes, sizeof bytes), slot_of("|"));
	assert_int_not_equal(lsh_slot_of("a\0b", 3), lsh_slot_of("a\0c", 3));
}

static void
all_slots_are_reached(void **state)
{
	static unsigned char seen[LSH_SLOTS];
	unsigned count = 0;

	(void)state;
	for (unsigned i = 0; i < 1 << 18; i++) {
		unsigned slot = lsh_slot_of((const char *)&i, sizeof i);

		assert_true(slot < LSH_SLOTS);
		count += !seen[slot];
		seen[slot] = 1;
	}
	assert_int_equal(count, LSH_SLOTS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_slots_that_are_known_are_right),
		cmocka_unit_test(a_hash_tag_stands_for_its_key),
		cmocka_unit_test(an_empty_tag_or_half_a_one_is_none),
		cmocka_unit_test(any_byte_is_a_part_of_a_key),
		cmocka_unit_test(all_slots_are_reached),
	};

	return cmocka_run_group_tests_name("slot", tests, NULL, NULL);
}
