/* What lsh_fail() lets into a leash_error (its layout: install/header.sh); and the names of statuses and events. */
#include "base/error.h"

#include "tests/support/test.h"

#include <leash.h>

#include <errno.h>

enum { TEXT = sizeof(((leash_error *)NULL)->text), GUARD = 64 };

/* An error between two guards: what is written past its ends is found. */
static struct {
	unsigned char before[GUARD];
	leash_error err;
	unsigned char after[GUARD];
} g;

#define err (g.err)

static void
guard(void)
{
	memset(&g, 0xee, sizeof(g));
}

static void
check_guards(void)
{
	for (size_t i = 0; i < GUARD; i++)
		assert_true(g.before[i] == 0xee && g.after[i] == 0xee);
}

FIXTURE(guard, check_guards);

/* errno stays, and is there for the format. */
SENTENCE(failing_fills_in_and_returns_the_status)
{
	errno = ENOENT;
	assert_int_equal(lsh_fail(&err, LEASH_UNAVAILABLE, ECONNREFUSED, "lock '%s': %m", "orders"), LEASH_UNAVAILABLE);
	assert_int_equal(err.status, LEASH_UNAVAILABLE);
	assert_int_equal(err.sys_errno, ECONNREFUSED);
	assert_string_equal(err.text, "lock 'orders': No such file or directory");
	assert_int_equal(errno, ENOENT);
	assert_int_equal(lsh_fail(NULL, LEASH_DENIED, EACCES, "%s", "nobody reads this"), LEASH_DENIED);
	assert_int_equal(errno, ENOENT);
}

SENTENCE(bytes_that_are_not_printable_are_escaped)
{
	lsh_fail(&err, LEASH_PROTOCOL, 0, "%s", "a\tb\nc\x1b[31m\x7f\xc3\xa9 ~\\'");
	assert_string_equal(err.text, "a\\x09b\\x0ac\\x1b[31m\\x7f\\xc3\\xa9 ~\\'");
	for (int c = 1; c < 256; c++) {
		lsh_fail(&err, LEASH_PROTOCOL, 0, "<%c>", c);
		for (const char *at = err.text; *at != '\0'; at++)
			assert_true(*at >= ' ' && *at <= '~');
		assert_int_equal(strlen(err.text), c >= ' ' && c <= '~' ? 3 : 6);
	}
}

SENTENCE(a_text_that_does_not_fit_is_cut_off_and_marked)
{
	char text[3 * TEXT];

	for (size_t length = TEXT - 1; length < sizeof(text); length++) {
		memset(text, 'a', length);
		text[length] = '\0';
		lsh_fail(&err, LEASH_LOST, 0, "%s", text);
		assert_int_equal(strnlen(err.text, TEXT), TEXT - 1);
		assert_memory_equal(err.text, text, TEXT - 4);
		assert_string_equal(err.text + TEXT - 4, length < TEXT ? "aaa" : "...");
		check_guards();
	}
}

SENTENCE(a_text_may_be_made_of_the_one_before)
{
	lsh_fail(&err, LEASH_UNAVAILABLE, 0, "connection refused");
	lsh_fail(&err, LEASH_UNAVAILABLE, 0, "lock 'orders': %s", err.text);
	assert_string_equal(err.text, "lock 'orders': connection refused");
}

SENTENCE(what_printf_cannot_format_leaves_the_text_of_the_status)
{
	static const wchar_t no_character[] = {(wchar_t)0x7fffffff, 0};

	errno = EDOM;
	lsh_fail(&err, LEASH_LOST, 0, "%ls", no_character);
	assert_int_equal(errno, EDOM); /* printf sets it */
	assert_string_equal(err.text, leash_status_text(LEASH_LOST));
}

/* Written down once more on purpose: what their header says must not change. */
SENTENCE(each_status_and_event_keeps_its_number_and_name)
{
	static const char *const statuses[] = {
		"OK", "TIMEOUT", "LOST", "NOT_HELD", "CANCELED", "UNAVAILABLE", "UNKNOWN", "INVALID", "NO_MEMORY", "DENIED",
		"MISMATCH", "FORKED", "IN_CALLBACK", "CLOSED", "PROTOCOL", "UNSUPPORTED", "DEADLOCK", "?",
	}, *const events[] = {
		"?", "JEOPARDY", "RECOVERED", "LOST", "ABANDONED", "CLOCK_JUMP", "FENCE_REGRESSION", "NOT_RELEASED", "?",
	};

	for (size_t i = 0; i < COUNT(statuses); i++)
		assert_string_equal(leash_status_name((leash_status)i), statuses[i]);
	for (size_t i = 0; i < COUNT(events); i++)
		assert_string_equal(leash_event_name((leash_event_type)i), events[i]);
	assert_string_equal(leash_status_name((leash_status)-1), "?");
	assert_true(LEASH_DEADLOCK == 16 && LEASH_EVENT_NOT_RELEASED == 7);
}

SENTENCE(each_status_has_a_text_of_its_own)
{
	for (int i = LEASH_OK; i <= LEASH_DEADLOCK; i++) {
		const char *text = leash_status_text((leash_status)i);

		assert_true(strlen(text) > 0 && strlen(text) < TEXT && text[strlen(text) - 1] != '.');
		for (int j = -1; j < i; j++)
			assert_string_not_equal(text, leash_status_text((leash_status)j));
	}
	assert_string_equal(leash_status_text((leash_status)-1), "unknown status");
	assert_string_equal(leash_status_text((leash_status)(LEASH_DEADLOCK + 1)), "unknown status");
}
