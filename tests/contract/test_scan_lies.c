/* Asking what is no server, or one that has lost its mind, who has locks and who waits: whatever it says, it is told in
 * time, and nothing is believed of it. What is no answer at all is said by redis/test_informant, what is no line of a
 * lock by unit/test_lock_line. */
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
	const char *scan, *eval, *who, *queue; /* answers; NULL: the default, but of a queue the same 200 places */
	unsigned cursor;                       /* not 0: there is always another page */
};

#define A_PLACE "$43\r\n0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10:1 3000\r\n"

static size_t
say_places(char *out, size_t size)
{
	size_t n = fake_say(out, size, "*400\r\n");

	for (int i = 0; i < 200; i++)
		n += fake_say(out + n, size - n, A_PLACE "$16\r\n%d\r\n", 1700000000 + i);
	return n;
}

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
	if (fake_is(argc, argv, argl, 0, "ZRANGEBYSCORE"))
		return liar->queue != NULL ? fake_say(out, size, "%s", liar->queue) : say_places(out, size);
	return FAKE_DEFAULT;
}

#define ONE_LOCK "*2\r\n$1\r\n0\r\n*1\r\n$9\r\nleash:{x}\r\n"
#define ITS_LINES "*7\r\n:1760000000015330\r\n:1\r\n:0\r\n:1760000000015330\r\n:-1\r\n" \
                  "$40\r\n0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10:1 1\r\n:9999\r\n"

static const struct lying {
	const char *name, *scan, *eval, *who;
	leash_status status; /* of who scans, or asks for the queue; and visits are made: */
	size_t visits;
	const char *queue; /* that is asked for; or "again and again" */
} lies[] = {
	/* pages */
	{"a_page_that_is_a_status", .scan = "+OK\r\n", .status = LEASH_PROTOCOL},
	{"a_page_that_is_a_number", .scan = ":1\r\n", .status = LEASH_PROTOCOL},
	{"a_page_that_is_nil", .scan = "*-1\r\n", .status = LEASH_PROTOCOL},
	{"a_page_of_nothing", .scan = "*0\r\n", .status = LEASH_PROTOCOL},
	{"a_page_of_one", .scan = "*1\r\n$1\r\n0\r\n", .status = LEASH_PROTOCOL},
	{"a_page_of_three", .scan = "*3\r\n$1\r\n0\r\n*0\r\n*0\r\n", .status = LEASH_PROTOCOL},
	{"a_cursor_that_is_an_integer", .scan = "*2\r\n:0\r\n*0\r\n", .status = LEASH_PROTOCOL},
	{"a_cursor_that_is_an_array", .scan = "*2\r\n*0\r\n*0\r\n", .status = LEASH_PROTOCOL},
	{"a_cursor_below_zero", .scan = "*2\r\n$2\r\n-1\r\n*0\r\n", .status = LEASH_PROTOCOL},
	{"a_cursor_without_digits", .scan = "*2\r\n$0\r\n\r\n*0\r\n", .status = LEASH_PROTOCOL},
	{"a_cursor_with_too_many", .scan = "*2\r\n$21\r\n184467440737095516160\r\n*0\r\n", .status = LEASH_PROTOCOL},
	{"a_cursor_of_zeros", .scan = "*2\r\n$2\r\n00\r\n*0\r\n", .status = LEASH_PROTOCOL},
	{"a_cursor_that_stands_still", .scan = "*2\r\n$1\r\n7\r\n*0\r\n", .status = LEASH_PROTOCOL},
	{"keys_that_are_a_string", .scan = "*2\r\n$1\r\n0\r\n$1\r\nx\r\n", .status = LEASH_PROTOCOL},
	{"keys_that_are_nil", .scan = "*2\r\n$1\r\n0\r\n*-1\r\n", .status = LEASH_PROTOCOL},
	{"a_key_that_is_a_number", .scan = "*2\r\n$1\r\n0\r\n*1\r\n:5\r\n", .status = LEASH_PROTOCOL},
	{"a_key_that_is_nil", .scan = "*2\r\n$1\r\n0\r\n*1\r\n$-1\r\n", .status = LEASH_PROTOCOL},
	{"a_key_that_is_an_array", .scan = "*2\r\n$1\r\n0\r\n*1\r\n*1\r\n$9\r\nleash:{x}\r\n", .status = LEASH_PROTOCOL},
	{"more_keys_than_there_can_be", .scan = "*2\r\n$1\r\n0\r\n*2147483647\r\n", .status = LEASH_PROTOCOL},
	{"keys_that_do_not_come", .scan = "*2\r\n$1\r\n0\r\n*60000\r\n", .status = LEASH_UNAVAILABLE},
	{"an_error", .scan = "-WHAT is that\r\n", .status = LEASH_PROTOCOL},
	{"a_server_that_loads", .scan = "-LOADING Redis is loading\r\n", .status = LEASH_UNAVAILABLE},
	{"keys_that_are_no_locks", .scan = "*2\r\n$1\r\n0\r\n*2\r\n$9\r\nother:{x}\r\n$7\r\nleash:{\r\n"},
	/* what a lock is */
	{"a_lock_that_is_a_status", .scan = ONE_LOCK, .eval = "+OK\r\n", .status = LEASH_PROTOCOL},
	{"a_lock_that_is_a_number", .scan = ONE_LOCK, .eval = ":1\r\n", .status = LEASH_PROTOCOL},
	{"a_lock_that_is_a_string", .scan = ONE_LOCK, .eval = "$5\r\nhello\r\n", .status = LEASH_PROTOCOL},
	{"a_lock_that_is_nil", .scan = ONE_LOCK, .eval = "$-1\r\n", .status = LEASH_PROTOCOL},
	{"a_lock_of_one_word", .scan = ONE_LOCK, .eval = "*1\r\n$3\r\nfoo\r\n", .status = LEASH_PROTOCOL},
	{"a_lock_of_texts", .scan = ONE_LOCK, .eval = "*5\r\n$1\r\n0\r\n$1\r\n0\r\n$1\r\n0\r\n$1\r\n0\r\n$1\r\n0\r\n",
	 .status = LEASH_PROTOCOL},
	{"a_lock_that_is_an_error", .scan = ONE_LOCK, .eval = "-WHAT is that\r\n", .status = LEASH_PROTOCOL},
	/* nor is EVAL */
	{"a_script_that_is_not_there", .scan = ONE_LOCK, .eval = "-NOSCRIPT none\r\n", .status = LEASH_UNSUPPORTED},
	/* who has it is not known then */
	{"a_client_that_is_an_array", .scan = ONE_LOCK, .eval = ITS_LINES, .who = "*3\r\n:1\r\n:2\r\n:3\r\n", .visits = 1},
	{"a_client_that_is_a_number", .scan = ONE_LOCK, .eval = ITS_LINES, .who = ":5\r\n", .visits = 1},
	{"a_client_that_is_an_error", .scan = ONE_LOCK, .eval = ITS_LINES, .who = "-ERR no\r\n", .visits = 1},
	{"a_client_that_is_loading", .scan = ONE_LOCK, .eval = ITS_LINES, .who = "-LOADING no\r\n", .visits = 1},
	{"a_client_that_is_nil", .scan = ONE_LOCK, .eval = ITS_LINES, .who = "$-1\r\n", .visits = 1},
	{"a_client_with_a_byte_that_is_no_text", .scan = ONE_LOCK, .eval = ITS_LINES, .who = "$7\r\n1 2 3\xff" "4\r\n",
	 .visits = 1},
	/* queues */
	{"a_queue_that_is_a_status", .queue = "+OK\r\n", .status = LEASH_PROTOCOL},
	{"a_queue_that_is_a_number", .queue = ":1\r\n", .status = LEASH_PROTOCOL},
	{"a_queue_that_is_nil", .queue = "$-1\r\n", .status = LEASH_PROTOCOL},
	{"a_queue_that_is_no_array", .queue = "*-1\r\n", .status = LEASH_PROTOCOL},
	{"a_queue_that_is_an_error", .queue = "-WHAT is that\r\n", .status = LEASH_PROTOCOL},
	{"a_queue_that_has_an_odd_number_of_words", .queue = "*1\r\n" A_PLACE, .status = LEASH_PROTOCOL},
	{"a_queue_that_has_a_place_since_an_integer", .queue = "*2\r\n" A_PLACE ":5\r\n", .status = LEASH_PROTOCOL},
	{"a_queue_that_has_a_place_that_is_a_number", .queue = "*2\r\n:5\r\n$1\r\n5\r\n", .status = LEASH_PROTOCOL},
	{"a_queue_that_has_a_place_since_nothing", .queue = "*2\r\n" A_PLACE "$1\r\n0\r\n", .status = LEASH_PROTOCOL},
	{"a_queue_that_has_a_place_since_an_array", .queue = "*2\r\n" A_PLACE "*1\r\n$1\r\n5\r\n", .status = LEASH_PROTOCOL},
	{"a_queue_that_goes_back", .queue = "*4\r\n" A_PLACE "$1\r\n5\r\n" A_PLACE "$1\r\n4\r\n", .status = LEASH_PROTOCOL},
	{"a_queue_that_goes_on_for_ever", .queue = "again and again", .status = LEASH_PROTOCOL},
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

	if (lying->queue != NULL) {
		liar.queue = strcmp(lying->queue, "again and again") != 0 ? lying->queue : NULL;
		assert_status(lying->status, leash_lock_waiters(lock, count_waiter, &(int){0}, &err));
		return;
	}
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
	assert_non_null(strstr(err.text, "does not end"));
	printf("# ended after %u steps\n", liar.cursor);
}
