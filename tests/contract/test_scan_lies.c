/* Scanning and inspecting what is no server, or one that has lost its mind: whatever it says, it is told in time, and nothing is believed
 * of it. What is no answer at all is said by redis/test_talk, what is no line of a lock by unit/test_lock_line. */
#include "tests/support/fake.h"
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/test.h"

static leash_error err;

static bool
visit(void *arg, const leash_lock_info *info)
{
	size_t *visits = arg;

	assert_string_equal(info->name, "x");
	++*visits;
	return true;
}

struct liar {
	const char *scan, *eval, *who; /* answers; NULL: the default */
	unsigned cursor;               /* not 0: there is always another page */
};

static size_t
lie(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	struct liar *liar = ctx;

	if (fake_is(argc, argv, argl, 0, "SCAN") && liar->cursor > 0)
		return fake_say(out, size, "*2\r\n$8\r\n%08u\r\n*0\r\n", 10000000 + liar->cursor++);
	if (fake_is(argc, argv, argl, 0, "SCAN") && liar->scan != NULL)
		return fake_say(out, size, "%s", liar->scan);
	if (fake_is(argc, argv, argl, 0, "DBSIZE"))
		return fake_say(out, size, ":3\r\n");
	if (fake_is(argc, argv, argl, 0, "EVALSHA") && liar->eval != NULL)
		return fake_say(out, size, "%s", liar->eval);
	if (fake_is(argc, argv, argl, 0, "GETRANGE") && liar->who != NULL)
		return fake_say(out, size, "%s", liar->who);
	return FAKE_DEFAULT;
}

#define ONE_LOCK "*2\r\n$1\r\n0\r\n*1\r\n$9\r\nleash:{x}\r\n"
#define ITS_LINE "$81\r\n0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10:1 1 9999 1760000000015330 0 1760000000015330\r\n"

static const struct lying {
	const char *name, *scan, *eval, *who;
	leash_status status; /* of the scan; and visits are made: */
	size_t visits;
} lies[] = {
	/* pages */
	{"a_page_that_is_a_status", "+OK\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_page_that_is_a_number", ":1\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_page_that_is_nil", "*-1\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_page_of_nothing", "*0\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_page_of_one", "*1\r\n$1\r\n0\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_page_of_three", "*3\r\n$1\r\n0\r\n*0\r\n*0\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_cursor_that_is_an_integer", "*2\r\n:0\r\n*0\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_cursor_that_is_an_array", "*2\r\n*0\r\n*0\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_cursor_below_zero", "*2\r\n$2\r\n-1\r\n*0\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_cursor_without_digits", "*2\r\n$0\r\n\r\n*0\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_cursor_with_too_many", "*2\r\n$21\r\n184467440737095516160\r\n*0\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_cursor_of_zeros", "*2\r\n$2\r\n00\r\n*0\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_cursor_that_stands_still", "*2\r\n$1\r\n7\r\n*0\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"keys_that_are_a_string", "*2\r\n$1\r\n0\r\n$1\r\nx\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"keys_that_are_nil", "*2\r\n$1\r\n0\r\n*-1\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_key_that_is_a_number", "*2\r\n$1\r\n0\r\n*1\r\n:5\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_key_that_is_nil", "*2\r\n$1\r\n0\r\n*1\r\n$-1\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_key_that_is_an_array", "*2\r\n$1\r\n0\r\n*1\r\n*1\r\n$9\r\nleash:{x}\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"more_keys_than_there_can_be", "*2\r\n$1\r\n0\r\n*2147483647\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"keys_that_do_not_come", "*2\r\n$1\r\n0\r\n*60000\r\n", NULL, NULL, LEASH_UNAVAILABLE, 0},
	{"an_error", "-WHAT is that\r\n", NULL, NULL, LEASH_PROTOCOL, 0},
	{"a_server_that_loads", "-LOADING Redis is loading\r\n", NULL, NULL, LEASH_UNAVAILABLE, 0},
	{"keys_that_are_no_locks", "*2\r\n$1\r\n0\r\n*2\r\n$9\r\nother:{x}\r\n$7\r\nleash:{\r\n", NULL, NULL, LEASH_OK, 0},
	/* lines of a lock */
	{"a_line_that_is_a_status", ONE_LOCK, "+OK\r\n", NULL, LEASH_PROTOCOL, 0},
	{"a_line_that_is_a_number", ONE_LOCK, ":1\r\n", NULL, LEASH_PROTOCOL, 0},
	{"a_line_that_is_an_array", ONE_LOCK, "*1\r\n$3\r\nfoo\r\n", NULL, LEASH_PROTOCOL, 0},
	{"a_line_that_is_nil", ONE_LOCK, "$-1\r\n", NULL, LEASH_PROTOCOL, 0},
	{"a_line_without_words", ONE_LOCK, "$5\r\nhello\r\n", NULL, LEASH_PROTOCOL, 0},
	{"a_line_that_is_an_error", ONE_LOCK, "-WHAT is that\r\n", NULL, LEASH_PROTOCOL, 0},
	{"a_script_that_is_not_there", ONE_LOCK, "-NOSCRIPT none\r\n", NULL, LEASH_UNSUPPORTED, 0}, /* nor is EVAL */
	/* who has it is not known then */
	{"a_client_that_is_an_array", ONE_LOCK, ITS_LINE, "*3\r\n:1\r\n:2\r\n:3\r\n", LEASH_OK, 1},
	{"a_client_that_is_a_number", ONE_LOCK, ITS_LINE, ":5\r\n", LEASH_OK, 1},
	{"a_client_that_is_an_error", ONE_LOCK, ITS_LINE, "-ERR no\r\n", LEASH_OK, 1},
	{"a_client_that_is_loading", ONE_LOCK, ITS_LINE, "-LOADING no\r\n", LEASH_OK, 1},
	{"a_client_that_is_nil", ONE_LOCK, ITS_LINE, "$-1\r\n", LEASH_OK, 1},
	{"a_client_with_a_byte_that_is_no_text", ONE_LOCK, ITS_LINE, "$7\r\n1 2 3\xff" "4\r\n", LEASH_OK, 1},
};

SENTENCES(what_no_server_would_say, lies)
{
	const struct lying *lying = given;
	struct liar liar = {.scan = lying->scan, .eval = lying->eval, .who = lying->who};
	struct fake *fake = kept(fake_start(lie, &liar));
	leash_client *c = kept(leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 2000)));
	leash_lock *lock = kept(leashed_lock(c, "x", NULL));
	leash_lock_info info = {.size = sizeof info, .name = "untouched"};
	size_t visits = 0;

	assert_status(lying->status, leash_client_scan(c, NULL, visit, &visits, &err));
	assert_int_equal(visits, lying->visits);
	if (lying->eval != NULL) {
		assert_status(lying->status, leash_lock_inspect(lock, &info, &err));
		assert_string_equal(info.name, lying->status == LEASH_OK ? "x" : "untouched");
		assert_int_equal(info.holder.pid, 0);
	}
}

SENTENCE(a_scan_that_goes_on_for_ever_is_ended)
{
	struct liar liar = {.cursor = 1};
	struct fake *fake = kept(fake_start(lie, &liar));
	leash_client *c = kept(leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 20000)));
	size_t visits = 0;

	assert_status(LEASH_PROTOCOL, leash_client_scan(c, NULL, visit, &visits, &err));
	assert_non_null(strstr(err.text, "for ever"));
	printf("# ended after %u steps\n", liar.cursor);
}
