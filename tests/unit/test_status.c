/* The numbers that programs were compiled with, and their names. */
#include "tests/support/test.h"

#include <leash.h>

/* Written down once more on purpose: the one list in the header must not change what it says. */
static const char *const names[] = {
	[LEASH_OK] = "0 OK", [LEASH_TIMEOUT] = "1 TIMEOUT", [LEASH_LOST] = "2 LOST", [LEASH_NOT_HELD] = "3 NOT_HELD",
	[LEASH_CANCELED] = "4 CANCELED", [LEASH_UNAVAILABLE] = "5 UNAVAILABLE", [LEASH_UNKNOWN] = "6 UNKNOWN",
	[LEASH_INVALID] = "7 INVALID", [LEASH_NO_MEMORY] = "8 NO_MEMORY", [LEASH_DENIED] = "9 DENIED",
	[LEASH_MISMATCH] = "10 MISMATCH", [LEASH_FORKED] = "11 FORKED", [LEASH_IN_CALLBACK] = "12 IN_CALLBACK",
	[LEASH_CLOSED] = "13 CLOSED", [LEASH_PROTOCOL] = "14 PROTOCOL", [LEASH_UNSUPPORTED] = "15 UNSUPPORTED",
	[LEASH_DEADLOCK] = "16 DEADLOCK",
};

static const char *const events[] = {
	"0 ?", [LEASH_EVENT_JEOPARDY] = "1 JEOPARDY", [LEASH_EVENT_RECOVERED] = "2 RECOVERED", [LEASH_EVENT_LOST] = "3 LOST",
	[LEASH_EVENT_ABANDONED] = "4 ABANDONED", [LEASH_EVENT_CLOCK_JUMP] = "5 CLOCK_JUMP",
	[LEASH_EVENT_FENCE_REGRESSION] = "6 FENCE_REGRESSION", "7 ?",
};

static void
check(size_t number, const char *name, const char *wanted)
{
	char text[64];

	snprintf(text, sizeof text, "%zu %s", number, name);
	assert_string_equal(text, wanted);
}

SENTENCE(each_status_and_event_keeps_its_number_and_name)
{
	assert_int_equal(COUNT(names), 17);
	for (size_t i = 0; i < COUNT(names); i++)
		check(i, leash_status_name((leash_status)i), names[i]);
	for (size_t i = 0; i < COUNT(events); i++)
		check(i, leash_event_name((leash_event_type)i), events[i]);
}

SENTENCE(each_status_has_a_text_of_its_own)
{
	for (size_t i = 0; i < COUNT(names); i++) {
		const char *text = leash_status_text((leash_status)i);

		assert_true(strlen(text) > 0 && strlen(text) < sizeof(((leash_error *)NULL)->text));
		assert_int_not_equal(text[strlen(text) - 1], '.');
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(text, leash_status_text((leash_status)j));
	}
	assert_string_equal(leash_status_text(LEASH_OK), "done");
}

SENTENCE(a_number_that_is_no_status_has_no_name)
{
	static const int none[] = {COUNT(names), -1};

	for (size_t i = 0; i < COUNT(none); i++) {
		assert_string_equal(leash_status_name((leash_status)none[i]), "?");
		assert_string_equal(leash_status_text((leash_status)none[i]), "unknown status");
	}
}

/* Whose numbers are the same: install/version.sh. */
SENTENCE(the_library_is_of_the_version_of_its_header)
{
	assert_string_equal(leash_version(), LEASH_VERSION);
}
