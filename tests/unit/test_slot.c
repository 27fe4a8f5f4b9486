/* Slots: the known ones, and what of a key they are of. */
#include "redis/slot.h"

#include "tests/support/test.h"

static unsigned
slot_of(const char *key)
{
	return lsh_slot_of(key, strlen(key));
}

SENTENCE(the_slots_that_are_known_are_right)
{
	assert_int_equal(slot_of("123456789"), 12739);
	assert_int_equal(slot_of("foo"), 12182);
	assert_int_equal(slot_of("bar"), 5061);
	assert_int_equal(slot_of(""), 0);
	assert_int_equal(lsh_slot_of(NULL, 0), 0);
}

SENTENCE(a_hash_tag_stands_for_its_key)
{
	assert_int_equal(slot_of("leash:{foo}"), slot_of("foo"));
	assert_int_equal(slot_of("leash:{foo}:queue"), slot_of("foo"));
	assert_int_equal(slot_of("leash:{foo}:wake:{bar}"), slot_of("foo"));
	assert_int_equal(slot_of("{foo}"), slot_of("foo"));
	assert_int_equal(slot_of("a{{foo}}b"), slot_of("{foo"));
	assert_int_equal(slot_of("}{foo}"), slot_of("foo"));
}

/* Of "{foo{}}bar" the tag is "foo{", of "foo{}{bar}" there is none: what counts is the first '{' and the '}' next to it. */
SENTENCE(an_empty_tag_or_half_a_one_is_none)
{
	static const char *const whole[] = {"foo{}{bar}", "{}", "foo{bar", "foo}bar", "foo}bar{", "{"};

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

SENTENCE(any_byte_is_a_part_of_a_key)
{
	char bytes[256];

	for (int i = 0; i < 256; i++)
		bytes[i] = (char)i;
	/* with '{' and '}' among them: 0x7b is the tag's beginning, and 0x7c all of it */
	assert_int_equal(lsh_slot_of(bytes, sizeof bytes), slot_of("|"));
	assert_int_not_equal(lsh_slot_of("a\0b", 3), lsh_slot_of("a\0c", 3));
}

SENTENCE(all_slots_are_reached)
{
	static unsigned char seen[LSH_SLOTS];
	unsigned count = 0;

	for (unsigned i = 0; i < 1 << 18; i++) {
		unsigned slot = lsh_slot_of((const char *)&i, sizeof i);

		assert_true(slot < LSH_SLOTS);
		count += !seen[slot];
		seen[slot] = 1;
	}
	assert_int_equal(count, LSH_SLOTS);
}
