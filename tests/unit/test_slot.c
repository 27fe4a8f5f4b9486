/* Slots: the known ones, and what of a key they are of. */
#include "redis/slot.h"

#include "tests/support/test.h"

static unsigned
slot_of(const char *key)
{
	return lsh_slot_of(key, strlen(key));
}

/* Of "{foo{}}bar" the tag is "foo{", of "foo{}{bar}" there is none: what counts is the first '{' and the '}' next to it. */
SENTENCE(a_key_has_the_slot_of_its_tag_or_of_all_of_it)
{
	static const struct {
		const char *key, *same;
		unsigned slot;
	} cases[] = {
		{"123456789", "x{123456789}", 12739}, {"foo", "leash:{foo}", 12182}, {"foo", "leash:{foo}:queue", 12182},
		{"foo", "leash:{foo}:wake:{bar}", 12182}, {"foo", "}{foo}", 12182}, {"bar", "{bar}", 5061}, {"", "", 0},
		{"foo{}{bar}", "foo{}{bar}", 8363},
	};
	static const char *const same[][2] = {
		{"{foo", "a{{foo}}b"}, {"foo{", "{foo{}}bar"}, {"foo{bar", "x{foo{bar}"}, {"{", "x{{}"},
	};
	static const char *const whole[] = {"foo{}{bar}", "{}", "foo{bar", "foo}bar", "foo}bar{", "{"}; /* half a tag is none */

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(slot_of(cases[i].key), cases[i].slot);
		assert_int_equal(slot_of(cases[i].same), cases[i].slot);
	}
	for (size_t i = 0; i < COUNT(same); i++)
		assert_int_equal(slot_of(same[i][0]), slot_of(same[i][1]));
	for (size_t i = 0; i < COUNT(whole); i++)
		assert_int_not_equal(slot_of(whole[i]), slot_of("bar"));
	assert_int_equal(lsh_slot_of(NULL, 0), 0);
}

SENTENCE(any_byte_is_a_part_of_a_key_and_all_slots_are_reached)
{
	static unsigned char seen[LSH_SLOTS];
	unsigned count = 0;
	char bytes[256];

	for (int i = 0; i < 256; i++)
		bytes[i] = (char)i;
	/* with '{' and '}' among them: 0x7b is the tag's beginning, and 0x7c all of it */
	assert_int_equal(lsh_slot_of(bytes, sizeof bytes), slot_of("|"));
	assert_int_not_equal(lsh_slot_of("a\0b", 3), lsh_slot_of("a\0c", 3));
	for (unsigned i = 0; i < 1 << 18; i++) {
		unsigned slot = lsh_slot_of((const char *)&i, sizeof i);

		assert_true(slot < LSH_SLOTS);
		count += !seen[slot];
		seen[slot] = 1;
	}
	assert_int_equal(count, LSH_SLOTS);
}
