/* leash_error: its size, and what lsh_fail() lets into it. */
#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

enum { TEXT = sizeof(((leash_error *)NULL)->text), GUARD = 64 };

/* An error between two guards: what is written past its ends is found. */
struct guarded {
	unsigned char before[GUARD];
	leash_error err;
	unsigned char after[GUARD];
};

static void
guard(struct guarded *g)
{
	memset(g, 0xee, sizeof(*g));
}

static void
check_guards(const struct guarded *g)
{
	for (size_t i = 0; i < GUARD; i++) {
		assert_int_equal(g->before[i], 0xee);
		assert_int_equal(g->after[i], 0xee);
	}
}

static void
an_error_has_256_bytes(void **state)
{
	(void)state;
	assert_int_equal(sizeof(leash_error), 256);
	assert_int_equal(offsetof(leash_error, status), 0);
	assert_int_equal(offsetof(leash_error, sys_errno), 4);
	assert_int_equal(offsetof(leash_error, text), 8);
	assert_int_equal(TEXT, 248);
}

static void
failing_fills_in_and_returns_the_status(void **state)
{
	leash_error err;

	(void)state;
	assert_int_equal(lsh_fail(&err, LEASH_UNAVAILABLE, ECONNREFUSED, "lock '%s': attempt %d", "orders", 3),
			 LEASH_UNAVAILABLE);
	assert_int_equal(err.status, LEASH_UNAVAILABLE);
	assert_int_equal(err.sys_errno, ECONNREFUSED);
	assert_string_equal(err.text, "lock 'orders': attempt 3");
}

static void
without_a_struct_the_status_is_returned_all_the_same(void **state)
{
	(void)state;
	assert_int_equal(lsh_fail(NULL, LEASH_DENIED, EACCES, "%s", "nobody reads this"), LEASH_DENIED);
}

static void
errno_stays_and_is_there_for_the_format(void **state)
{
	leash_error err;

	(void)state;
	errno = ENOENT;
	lsh_fail(&err, LEASH_INVALID, errno, "%m");
	assert_int_equal(errno, ENOENT);
	assert_string_equal(err.text, strerror(ENOENT));
	lsh_fail(NULL, LEASH_INVALID, errno, "%m");
	assert_int_equal(errno, ENOENT);
}

static void
bytes_that_are_not_printable_are_escaped(void **state)
{
	leash_error err;

	(void)state;
	lsh_fail(&err, LEASH_PROTOCOL, 0, "%s", "a\tb\nc\x1b[31m\x7f\xc3\xa9 ~\\'");
	assert_string_equal(err.text, "a\\x09b\\x0ac\\x1b[31m\\x7f\\xc3\\xa9 ~\\'");
}

static void
every_byte_comes_out_printable(void **state)
{
	(void)state;
	for (int c = 1; c < 256; c++) {
		leash_error err;

		lsh_fail(&err, LEASH_PROTOCOL, 0, "<%c>", c);
		for (const char *at = err.text; *at != '\0'; at++)
			assert_true(*at >= ' ' && *at <= '~');
		assert_int_equal(strlen(err.text), c >= ' ' && c <= '~' ? 3 : 6);
	}
}

static void
a_text_that_just_fits_is_whole(void **state)
{
	char text[TEXT];
	struct guarded g;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[TEXT - 1] = '\0';
	guard(&g);
	lsh_fail(&g.err, LEASH_LOST, 0, "%s", text);
	assert_string_equal(g.err.text, text);
	check_guards(&g);
}

static void
a_text_that_does_not_fit_is_cut_off_and_marked(void **state)
{
	char text[3 * TEXT];
	struct guarded g;

	(void)state;
	for (size_t length = TEXT; length < sizeof(text); length++) {
		memset(text, 'x', length);
		text[length] = '\0';
		guard(&g);
		lsh_fail(&g.err, LEASH_LOST, 0, "%s", text);
		assert_int_equal(strnlen(g.err.text, TEXT), TEXT - 1);
		assert_memory_equal(g.err.text, text, TEXT - 4);
		assert_string_equal(g.err.text + TEXT - 4, "...");
		check_guards(&g);
	}
}

static void
no_escape_is_cut_in_two(void **state)
{
	char text[TEXT];
	struct guarded g;

	(void)state;
	for (size_t plain = 0; plain < 8; plain++) {
		size_t length;

		memset(text, 1, sizeof(text) - 1);
		memset(text, 'x', plain);
		text[TEXT - 1] = '\0';
		guard(&g);
		lsh_fail(&g.err, LEASH_LOST, 0, "%s", text);
		length = strnlen(g.err.text, TEXT);
		assert_true(length < TEXT && length >= TEXT - 4);
		assert_string_equal(g.err.text + length - 3, "...");
		assert_memory_equal(g.err.text + length - 7, "\\x01", 4);
		assert_int_equal((length - 3 - plain) % 4, 0);
		check_guards(&g);
	}
}

static void
a_text_may_be_made_of_the_one_before(void **state)
{
	leash_error err;

	(void)state;
	lsh_fail(&err, LEASH_UNAVAILABLE, 0, "connection refused");
	lsh_fail(&err, LEASH_UNAVAILABLE, 0, "lock 'orders': %s", err.text);
	assert_string_equal(err.text, "lock 'orders': connection refused");
}

static void
what_printf_cannot_format_leaves_the_text_of_the_status(void **state)
{
	static const wchar_t no_character[] = {(wchar_t)0x7fffffff, 0};
	leash_error err;

	(void)state;
	errno = EDOM;
	lsh_fail(&err, LEASH_LOST, 0, "%ls", no_character);
	assert_int_equal(errno, EDOM); /* printf sets it */
	assert_string_equal(err.text, leash_status_text(LEASH_LOST));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_has_256_bytes),
		cmocka_unit_test(failing_fills_in_and_returns_the_status),
		cmocka_unit_test(without_a_struct_the_status_is_returned_all_the_same),
		cmocka_unit_test(errno_stays_and_is_there_for_the_format),
		cmocka_unit_test(bytes_that_are_not_printable_are_escaped),
		cmocka_unit_test(every_byte_comes_out_printable),
		cmocka_unit_test(a_text_that_just_fits_is_whole),
		cmocka_unit_test(a_text_that_does_not_fit_is_cut_off_and_marked),
		cmocka_unit_test(no_escape_is_cut_in_two),
		cmocka_unit_test(a_text_may_be_made_of_the_one_before),
		cmocka_unit_test(what_printf_cannot_format_leaves_the_text_of_the_status),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
