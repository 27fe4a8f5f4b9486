/* Scanning what is no server, or one that has lost its mind: whatever it says, it is told in time, and nothing is believed of it. */
#include "tests/support/fake.h"
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

static void
check_lie(const char *scan, const char *eval, const char *who, leash_status expected, size_t visited)
{
	struct liar liar = {.scan = scan, .eval = eval, .who = who};
	struct fake *fake = fake_start(lie, &liar);
	leash_client *c = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 2000));
	size_t visits = 0;
	leash_status status = leash_client_scan(c, NULL, visit, &visits, &err);

	if (status != expected || visits != visited)
		fail_msg("%s, %zu visited: %.60s / %.60s / %.60s: %s", leash_status_name(status), visits, scan, eval != NULL ? eval : "",
		         who != NULL ? who : "", status != LEASH_OK ? err.text : "");
	leash_close(c);
	fake_stop(fake);
}

SENTENCE(what_no_server_would_say_is_a_protocol_error)
{
	static const char *const pages[] = {
		"+OK\r\n", ":1\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "*1\r\n$1\r\n0\r\n", "*3\r\n$1\r\n0\r\n*0\r\n*0\r\n", "*2\r\n:0\r\n*0\r\n",
		"*2\r\n$1\r\n0\r\n$1\r\nx\r\n", "*2\r\n$1\r\n0\r\n*-1\r\n", "*2\r\n$2\r\n-1\r\n*0\r\n", "*2\r\n$0\r\n\r\n*0\r\n",
		"*2\r\n$21\r\n184467440737095516160\r\n*0\r\n", "*2\r\n$2\r\n00\r\n*0\r\n", "*2\r\n*0\r\n*0\r\n", "*2\r\n$1\r\n0\r\n*1\r\n:5\r\n",
		"*2\r\n$1\r\n0\r\n*1\r\n*1\r\n$9\r\nleash:{x}\r\n", "*2\r\n$1\r\n0\r\n*1\r\n$-1\r\n", "*2\r\n$1\r\n0\r\n*2147483647\r\n",
		"*2147483647\r\n", "*65537\r\n", "*2\r\n$1\r\n0\r\n*65535\r\n", "*2\r\n$1\r\n0\r\n%1\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n",
		"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", "_\r\n", ",1.5\r\n", "#t\r\n", "~1\r\n:1\r\n", "%1\r\n:1\r\n:1\r\n",
		"*2\r\n$1\r\n0xx*0\r\n", "+O\rK\r\n", "*2\r\n$1\r\n7\r\n*0\r\n", "-WHAT is that\r\n",
	};
	/* the rest of it might come */
	static const char *const parts[] = {"*2\r\n$1\r\n0\r\n*60000\r\n", "$2147483647\r\n", "$536870912\r\n", "*2\r\n$1\r\n0\r\n"};
	static const char *const lines[] = {
		"+OK\r\n", ":1\r\n", "*0\r\n", "$-1\r\n", "$0\r\n\r\n", "$5\r\nhello\r\n", "-WHAT is that\r\n",
		"$81\r\n0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10:1 0 9999 1760000000015330 0 1760000000015330\r\n",
		"$81\r\n0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10:1 1 -999 1760000000015330 0 1760000000015330\r\n",
	};

	for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
		check_lie(pages[i], NULL, NULL, LEASH_PROTOCOL, 0);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		check_lie(parts[i], NULL, NULL, LEASH_UNAVAILABLE, 0);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		check_lie(ONE_LOCK, lines[i], NULL, LEASH_PROTOCOL, 0);
	check_lie(ONE_LOCK, "-NOSCRIPT none\r\n", NULL, LEASH_UNSUPPORTED, 0); /* the fake does not know EVAL */
	check_lie(ONE_LOCK, ITS_LINE, "*3\r\n:1\r\n:2\r\n:3\r\n", LEASH_OK, 1);
	check_lie(ONE_LOCK, ITS_LINE, "-ERR no\r\n", LEASH_OK, 1);
	check_lie(ONE_LOCK, ITS_LINE, "$-1\r\n", LEASH_OK, 1);
	check_lie(ONE_LOCK, ITS_LINE, "$7\r\n1 2 3 4\r\n", LEASH_OK, 1);
	check_lie(ONE_LOCK, ITS_LINE, "$7\r\n1 2 3\xff" "4\r\n", LEASH_OK, 1);
	check_lie("*2\r\n$1\r\n0\r\n*2\r\n$9\r\nother:{x}\r\n$7\r\nleash:{\r\n", NULL, NULL, LEASH_OK, 0);
	check_lie("-LOADING Redis is loading\r\n", NULL, NULL, LEASH_UNAVAILABLE, 0);
}

/* More than any answer may have, and no end in sight. */
static size_t
say_much(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	const char *piece = ctx;
	size_t n = 0, one = strlen(piece);

	if (!fake_is(argc, argv, argl, 0, "SCAN"))
		return FAKE_DEFAULT;
	while (n + one <= size && n < (2 << 20) - 100) {
		memcpy(out + n, piece, one);
		n += one;
	}
	return n;
}

SENTENCE(an_answer_without_an_end_is_no_answer)
{
	static char *const pieces[] = {"*1\r\n", "*7\r\n", "$536870912\r\n", "x", "+x", ":1"};

	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		struct fake *fake = fake_start(say_much, pieces[i]);
		leash_client *c = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 1000));
		size_t visits = 0;
		leash_status status = leash_client_scan(c, NULL, visit, &visits, &err);

		if (status != LEASH_PROTOCOL && status != LEASH_UNAVAILABLE) /* 2 MiB are no reason to stop yet */
			fail_msg("%s: %s", pieces[i], leash_status_name(status));
		assert_int_equal(visits, 0);
		leash_close(c);
		fake_stop(fake);
	}
}

SENTENCE(a_scan_that_goes_on_for_ever_is_ended)
{
	struct liar liar = {.cursor = 1};
	struct fake *fake = fake_start(lie, &liar);
	leash_client *c = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 20000));
	size_t visits = 0;

	assert_status(LEASH_PROTOCOL, leash_client_scan(c, NULL, visit, &visits, &err));
	assert_non_null(strstr(err.text, "for ever"));
	printf("# ended after %u steps\n", liar.cursor);
	leash_close(c);
	fake_stop(fake);
}
