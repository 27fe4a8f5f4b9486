/* Talking: answers of any kind come whole, in their order, and in time; or it is said what is wrong. */
#include "redis/informant.h"

#include "base/clock.h"
#include "redis/reply.h"
#include "tests/support/descriptors.h"
#include "tests/support/fake.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"
#include "tests/support/test.h"

#include <signal.h>
#include <sys/time.h>

#define PATIENCE (20 * LSH_S)

static struct lsh_uri parsed;
static leash_error err;

static struct lsh_informant *
open_talk(const char *to, int64_t timeout)
{
	struct lsh_informant *talk = NULL;

	lsh_uri_clear(&parsed);
	assert_int_equal(lsh_uri_parse(&parsed, to, &err), LEASH_OK);
	if (lsh_talk_open(&talk, &parsed, LSH_WANT_SERVER, "leash:talker", timeout, &err) != LEASH_OK)
		fail_msg("%s", err.text);
	return talk;
}

static void
say(struct lsh_informant *talk, const char *word, const char *second)
{
	struct lsh_arg args[] = {lsh_arg_text(word), lsh_arg_text(second != NULL ? second : "")};

	assert_true(lsh_informant_send(talk, args, second != NULL ? 2 : 1));
}

static const struct redisReply *
hear(struct lsh_informant *talk)
{
	const struct redisReply *answer = NULL;

	if (lsh_talk_hear(talk, &answer, &err) != LEASH_OK)
		fail_msg("%s", err.text);
	assert_non_null(answer);
	return answer;
}

static void
hear_text(struct lsh_informant *talk, const char *text)
{
	struct lsh_item item = lsh_answer_item(hear(talk));

	assert_int_equal(item.length, strlen(text));
	assert_string_equal(item.text, text);
}

/* ---- answers ---- */

SENTENCE(answers_of_each_type_are_what_they_are)
{
	static const char script[] = "return {1, 'two', {3, {'four', {ok = 'five'}}}, false, {}}";
	struct lsh_informant *talk = open_talk(server_uri(server), PATIENCE);
	struct lsh_arg eval[] = {LSH_ARG("EVAL"), lsh_arg_text(script), LSH_ARG("0")};
	const struct redisReply *answer, *inner;

	assert_true(lsh_informant_send(talk, eval, 3));
	answer = hear(talk);
	assert_int_equal(lsh_answer_item(answer).type, LSH_ARRAY);
	assert_int_equal(lsh_answer_count(answer), 5);
	assert_int_equal(lsh_answer_item(lsh_answer_at(answer, 0)).integer, 1);
	assert_string_equal(lsh_answer_item(lsh_answer_at(answer, 1)).text, "two");
	inner = lsh_answer_at(lsh_answer_at(answer, 2), 1);
	assert_string_equal(lsh_answer_item(lsh_answer_at(inner, 0)).text, "four");
	assert_int_equal(lsh_answer_item(lsh_answer_at(inner, 1)).type, LSH_STATUS);
	assert_int_equal(lsh_answer_item(lsh_answer_at(answer, 3)).type, LSH_NIL);
	assert_int_equal(lsh_answer_item(lsh_answer_at(answer, 4)).type, LSH_ARRAY);
	assert_int_equal(lsh_answer_count(lsh_answer_at(answer, 4)), 0);
	assert_int_equal(lsh_answer_item(lsh_answer_at(answer, 5)).type, LSH_NIL);
	assert_int_equal(lsh_answer_item(lsh_answer_at(lsh_answer_at(answer, 0), 0)).type, LSH_NIL);
	say(talk, "WHAT", NULL);
	assert_int_equal(lsh_answer_item(hear(talk)).type, LSH_ERROR);
	say(talk, "ECHO", "");
	assert_int_equal(lsh_answer_item(hear(talk)).type, LSH_STRING);
	say(talk, "PING", NULL);
	assert_int_equal(lsh_answer_item(hear(talk)).type, LSH_STATUS);
	lsh_informant_free(talk);
}

SENTENCE(an_answer_that_was_taken_stays)
{
	struct lsh_informant *talk = open_talk(server_uri(server), PATIENCE);
	struct redisReply *first;

	assert_null(lsh_informant_take(talk));
	say(talk, "ECHO", "first");
	say(talk, "ECHO", "second");
	hear_text(talk, "first");
	first = lsh_informant_take(talk);
	assert_null(lsh_informant_take(talk));
	hear_text(talk, "second");
	assert_string_equal(lsh_answer_item(first).text, "first");
	lsh_informant_free(talk);
	assert_string_equal(lsh_answer_item(first).text, "first");
	lsh_answer_free(first);
	lsh_answer_free(NULL);
	lsh_informant_free(NULL);
}

/* Longer than what a socket takes at once, both ways. */
SENTENCE(long_questions_and_answers_pass)
{
	enum { SIZE = 3 << 20 };
	struct lsh_informant *talk = open_talk(server_uri(server), PATIENCE);
	char *much = malloc(SIZE + 1);
	struct lsh_item item;

	for (size_t i = 0; i < SIZE; i++)
		much[i] = (char)('a' + i % 23);
	much[SIZE] = '\0';
	for (int i = 0; i < 3; i++)
		say(talk, "ECHO", much);
	for (int i = 0; i < 3; i++) {
		item = lsh_answer_item(hear(talk));
		assert_int_equal(item.length, SIZE);
		assert_memory_equal(item.text, much, SIZE);
	}
	free(much);
	lsh_informant_free(talk);
}

SENTENCE(an_answer_that_drips_comes_whole)
{
	struct proxy *proxy = proxy_start(server_socket(server));
	struct lsh_informant *talk = open_talk(proxy_uri(proxy), PATIENCE);

	proxy_drip(proxy, PROXY_BOTH, 1000);
	say(talk, "ECHO", "dripping");
	say(talk, "ECHO", "on and on");
	hear_text(talk, "dripping");
	hear_text(talk, "on and on");
	lsh_informant_free(talk);
	proxy_stop(proxy);
}

static void
ignore(int sig)
{
	(void)sig;
}

SENTENCE(signals_disturb_nothing)
{
	struct sigaction action = {.sa_handler = ignore}, before;
	struct itimerval each = {{0, 2000}, {0, 2000}}, none = {{0, 0}, {0, 0}};
	struct proxy *proxy = proxy_start(server_socket(server));
	struct lsh_informant *talk;

	sigaction(SIGALRM, &action, &before); /* without SA_RESTART */
	setitimer(ITIMER_REAL, &each, NULL);
	proxy_delay(proxy, PROXY_TO_CLIENT, 20000);
	talk = open_talk(proxy_uri(proxy), PATIENCE);
	for (int i = 0; i < 20; i++) {
		say(talk, "ECHO", "through signals");
		hear_text(talk, "through signals");
	}
	setitimer(ITIMER_REAL, &none, NULL);
	sigaction(SIGALRM, &before, NULL);
	lsh_informant_free(talk);
	proxy_stop(proxy);
}

/* ---- failures ---- */

/* The time of a question that nobody answers: test_informant.c. */
SENTENCE(an_answer_that_drips_has_no_more_time_than_another)
{
	struct proxy *proxy = proxy_start(server_socket(server));
	struct lsh_informant *talk = open_talk(proxy_uri(proxy), 200 * LSH_MS);
	const struct redisReply *answer;
	int64_t begun = lsh_now_ns();

	proxy_drip(proxy, PROXY_TO_CLIENT, 50000);
	say(talk, "ECHO", "this takes more than a second, at 50 ms for each byte");
	assert_int_equal(lsh_talk_hear(talk, &answer, &err), LEASH_UNAVAILABLE);
	assert_true(lsh_now_ns() - begun >= 200 * LSH_MS);
	assert_non_null(strstr(err.text, "no answer in time"));
	assert_non_null(strstr(err.text, parsed.shown));
	lsh_informant_free(talk);
	proxy_stop(proxy);
}

SENTENCE(a_connection_that_ends_is_told)
{
	struct proxy *proxy = proxy_start_tcp(server_socket(server));
	const struct redisReply *answer;

	for (size_t bytes = 0; bytes < 12; bytes++) {
		struct lsh_informant *talk = open_talk(proxy_uri(proxy), PATIENCE);

		proxy_cut_reply(proxy, "echo", bytes);
		say(talk, "ECHO", "cut off");
		assert_int_equal(lsh_talk_hear(talk, &answer, &err), LEASH_UNAVAILABLE);
		assert_int_equal(lsh_talk_hear(talk, &answer, &err), LEASH_UNAVAILABLE);
		lsh_informant_free(talk);
	}
	proxy_stop(proxy);
}

/* Says why it does not go on, and goes; what is still to be sent finds nobody. */
static size_t
say_why_and_go(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	(void)ctx;
	if (fake_is(argc, argv, argl, 0, "ECHO"))
		return fake_say(out, size, "-ERR enough\r\n") | FAKE_CLOSE;
	return FAKE_DEFAULT;
}

SENTENCE(the_last_words_of_a_server_are_heard)
{
	struct fake *fake = fake_start(say_why_and_go, NULL);
	struct lsh_informant *talk = open_talk(fake_uri(fake), PATIENCE);
	char *much = malloc(1 << 20);
	struct lsh_item item;

	memset(much, 'x', 1 << 20);
	much[(1 << 20) - 1] = '\0';
	say(talk, "ECHO", "once");
	for (int i = 0; i < 8; i++)
		say(talk, "SET", much);
	item = lsh_answer_item(hear(talk));
	assert_int_equal(item.type, LSH_ERROR);
	assert_string_equal(item.text, "ERR enough");
	free(much);
	lsh_informant_free(talk);
	fake_stop(fake);
}

static size_t
say_that(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	return fake_is(argc, argv, argl, 0, "ECHO") ? fake_say(out, size, "%s", (const char *)ctx) : FAKE_DEFAULT;
}

SENTENCE(what_no_server_would_say_is_a_protocol_error)
{
	static char *const bad[] = {
		"what\r\n", "*65537\r\n", "*2147483647\r\n", "*99999999999999999999\r\n", "*-2\r\n", "$-2\r\n", "$2\r\nabc\r\n",
		"$2\r\nab\r\r", "$2\r\nab\n\r",
		"+a\rb\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "*2\r\n*40000\r\n",
		"_\r\n", "#t\r\n", ",1\r\n", "(1\r\n", "%0\r\n", "~0\r\n", ">0\r\n", "=4\r\ntxt:\r\n", ":x\r\n",
	};
	unsigned fds = descriptors_count();

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct fake *fake = fake_start(say_that, bad[i]);
		struct lsh_informant *talk = open_talk(fake_uri(fake), 500 * LSH_MS);
		const struct redisReply *answer;
		leash_status status;

		say(talk, "ECHO", "x");
		status = lsh_talk_hear(talk, &answer, &err);
		if (strcmp(bad[i], "*2\r\n*40000\r\n") == 0 ? status != LEASH_UNAVAILABLE : status != LEASH_PROTOCOL)
			fail_msg("%s: %s", bad[i], leash_status_name(status));
		lsh_informant_free(talk);
		fake_stop(fake);
	}
	assert_int_equal(descriptors_count(), fds);
}

/* 2 MiB for each question that it has heard, of one answer. */
static size_t
go_on_and_on(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	const char *piece = ctx;
	size_t n = 0, one = strlen(piece);

	if (!fake_is(argc, argv, argl, 0, "ECHO"))
		return FAKE_DEFAULT;
	for (; n + one <= size; n += one)
		memcpy(out + n, piece, one);
	return n;
}

SENTENCE(an_answer_without_an_end_is_given_up)
{
	static char *const pieces[] = {"xxxxxxxx", "$4194305\r\n", "*1\r\n", "*2\r\n:1\r\n", "+ever"};

	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		struct fake *fake = fake_start(go_on_and_on, pieces[i]);
		struct lsh_informant *talk = open_talk(fake_uri(fake), PATIENCE);
		const struct redisReply *answer;

		for (int j = 0; j < 5; j++)
			say(talk, "ECHO", "x");
		assert_int_equal(lsh_talk_hear(talk, &answer, &err), LEASH_PROTOCOL);
		lsh_informant_free(talk);
		fake_stop(fake);
	}
}

SENTENCE(who_cannot_be_reached_is_said_so)
{
	struct lsh_informant *talk = NULL;
	unsigned fds = descriptors_count();

	lsh_uri_clear(&parsed);
	assert_int_equal(lsh_uri_parse(&parsed, "unix:///nowhere/at/all", &err), LEASH_OK);
	assert_int_equal(lsh_talk_open(&talk, &parsed, LSH_WANT_SERVER, "leash:x", LSH_S, &err), LEASH_UNAVAILABLE);
	assert_non_null(strstr(err.text, "/nowhere/at/all"));
	assert_null(talk);
	assert_int_equal(descriptors_count(), fds);
}

static void
stop_and_forget(void)
{
	lsh_uri_clear(&parsed);
	stop_server();
}

GROUP(start_server, stop_and_forget);
