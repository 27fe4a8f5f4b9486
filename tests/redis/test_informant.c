/* Informants: one thread asks several servers and waits for none of them; replies come one at a time, bounded and in
 * time, or it is said why not. What they are asked, and what is made of it: test_sentinel.c, test_cluster.c; by a
 * thread that waits: test_talk.c. */
#include "redis/informant.h"

#include "base/clock.h"
#include "base/park.h"
#include "tests/support/descriptors.h"
#include "tests/support/fake.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <stdatomic.h>

#define PATIENCE (20 * LSH_S)

static struct fake *fake;
static struct lsh_uri uri;
static atomic_bool silent;
static struct lsh_informant_options options;
static leash_error err;

/* ECHO is answered by the default. */
static size_t
answer(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	(void)ctx, (void)out, (void)size;
	return silent && fake_is(argc, argv, argl, 0, "ECHO") ? FAKE_SILENT : FAKE_DEFAULT;
}

static void
start(void)
{
	silent = false;
	options = (struct lsh_informant_options){.name = "leash:asker", .timeout = PATIENCE, .bytes = 1000, .elements = 10};
	fake = fake_start(answer, NULL);
	assert_true(lsh_uri_parse(&uri, fake_uri(fake), &err) == LEASH_OK);
}

static void
stop(void)
{
	lsh_uri_clear(&uri);
	fake_stop(fake);
}

FIXTURE(start, stop);

static enum lsh_progress
next(struct lsh_informant *informant)
{
	enum lsh_progress informed;

	while ((informed = lsh_informant_step(informant)) == LSH_WAIT) {
		int64_t until = LSH_NEVER;
		struct pollfd polled[2];
		nfds_t n = lsh_informant_poll(informant, polled + 1, &until);

		lsh_kick_poll(-1, polled, 1 + n, until);
	}
	return informed;
}

static struct lsh_informant *
connector(const struct lsh_uri *to)
{
	struct lsh_informant *informant = lsh_informant_new(to, &options);

	assert_non_null(informant);
	assert_true(lsh_informant_is_down(informant));
	lsh_informant_connect(informant);
	assert_false(lsh_informant_is_down(informant));
	if (next(informant) != LSH_GO_ON)
		fail_msg("%s", lsh_informant_trouble(informant)->text);
	return informant;
}

static void
echo(struct lsh_informant *informant, const char *text)
{
	struct lsh_arg args[] = {LSH_ARG("ECHO"), lsh_arg_text(text)};

	assert_true(lsh_informant_send(informant, args, 2));
}

static void
must_say(struct lsh_informant *informant, const char *text)
{
	if (next(informant) != LSH_DONE)
		fail_msg("%s", lsh_informant_trouble(informant)->text);
	assert_string_equal(lsh_answer_item(lsh_informant_reply(informant)).text, text);
}

static void
must_fail(struct lsh_informant *informant, leash_status status, const char *part)
{
	const leash_error *trouble = lsh_informant_trouble(informant);

	assert_int_equal(next(informant), LSH_FAILED);
	if (trouble->status != status || strstr(trouble->text, part) == NULL || strstr(trouble->text, uri.shown) == NULL)
		fail_msg("%s: %s", leash_status_name(trouble->status), trouble->text);
	assert_true(lsh_informant_is_down(informant));
}

/* When it wants to be stepped although nothing comes. */
static int64_t
wanted_at(const struct lsh_informant *informant)
{
	int64_t until = LSH_NEVER;
	struct pollfd ignored;

	lsh_informant_poll(informant, &ignored, &until);
	return until;
}

/* ---- replies ---- */

SENTENCE(replies_come_one_at_a_time_in_the_order_of_the_commands)
{
	struct lsh_informant *informant = connector(&uri);

	assert_int_equal(lsh_informant_hello(informant)->version, 0x07000f);
	echo(informant, "one");
	echo(informant, "two");
	lsh_informant_ask(informant);
	must_say(informant, "one");
	must_say(informant, "two");
	echo(informant, "three");
	must_say(informant, "three");
	lsh_informant_free(informant);
}

SENTENCE(one_that_hangs_keeps_no_other_waiting)
{
	struct lsh_informant *hanging = connector(&uri), *other = connector(&uri);
	bool heard = false;

	silent = true;
	echo(hanging, "anything");
	lsh_informant_ask(hanging);
	await_true(lsh_informant_step(hanging) == LSH_WAIT && fake_count(fake, "ECHO") == 1);
	silent = false;
	echo(other, "hello");
	lsh_informant_ask(other);
	while (!heard) {
		assert_int_equal(lsh_informant_step(hanging), LSH_WAIT);
		heard = lsh_informant_step(other) == LSH_DONE;
	}
	assert_string_equal(lsh_answer_item(lsh_informant_reply(other)).text, "hello");
	lsh_informant_free(hanging);
	lsh_informant_free(other);
}

/* A step hands out one reply and reads once, and asks for the next step itself. */
SENTENCE(who_says_ever_more_keeps_no_other_waiting)
{
	enum { WORDS = 100000 };
	char *words = malloc(4 * WORDS);
	struct lsh_informant *informant;
	int heard = 0;

	for (int i = 0; i < WORDS; i++)
		memcpy(words + 4 * i, "+x\r\n", 4);
	options.unasked = true;
	informant = connector(&uri);
	assert_int_equal(fake_send(fake, words, 4 * WORDS), 1);
	for (; heard < WORDS; heard++) {
		assert_int_equal(next(informant), LSH_DONE);
		assert_int_equal(wanted_at(informant), 0);
	}
	assert_int_equal(lsh_informant_step(informant), LSH_WAIT);
	assert_true(wanted_at(informant) > 0);
	lsh_informant_free(informant);
	free(words);
}

SENTENCE(what_is_said_unasked_is_no_reply_unless_it_was_wanted)
{
	static const char news[] = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\nnews\r\n";
	struct lsh_informant *informant = connector(&uri);

	assert_int_equal(fake_send(fake, news, sizeof news - 1), 1);
	must_fail(informant, LEASH_PROTOCOL, "it answers what it was not asked");
	/* nor right behind what was asked for, where it would be taken for the reply to the next question */
	lsh_informant_connect(informant);
	assert_int_equal(next(informant), LSH_GO_ON);
	silent = true;
	echo(informant, "x");
	lsh_informant_ask(informant);
	await_true(lsh_informant_step(informant) == LSH_WAIT && fake_count(fake, "ECHO") == 1);
	assert_true(fake_send(fake, "+x\r\n+y\r\n", 8) > 0);
	must_fail(informant, LEASH_PROTOCOL, "it answers what it was not asked");
	lsh_informant_free(informant);

	options.unasked = true;
	informant = connector(&uri);
	assert_true(fake_send(fake, news, sizeof news - 1) > 0);
	assert_int_equal(next(informant), LSH_DONE);
	assert_string_equal(lsh_answer_item(lsh_answer_at(lsh_informant_reply(informant), 2)).text, "news");
	lsh_informant_free(informant);
}

/* ---- bounds ---- */

/* The bound is a reply's own, not that of all. */
SENTENCE(how_much_is_too_much_depends_on_what_is_asked_for)
{
	enum { SIZE = 5 << 20, LESS = 4 << 20 };
	struct server *server = server_start(NULL);
	char *much = malloc(SIZE + 1);
	struct lsh_informant *informant;

	memset(much, 'x', SIZE);
	much[SIZE] = '\0';
	lsh_uri_clear(&uri);
	assert_int_equal(lsh_uri_parse(&uri, server_uri(server), &err), LEASH_OK);
	options.bytes = 32 << 20;
	informant = connector(&uri);
	for (int i = 0; i < 8; i++)
		echo(informant, much);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(next(informant), LSH_DONE);
		assert_int_equal(lsh_answer_item(lsh_informant_reply(informant)).length, SIZE);
	}
	lsh_informant_free(informant);
	options.bytes = LESS;
	informant = connector(&uri);
	echo(informant, much);
	must_fail(informant, LEASH_PROTOCOL, "its answer has more than 4194304 bytes, which is the most that is taken");
	lsh_informant_free(informant);
	free(much);
	server_stop(server);
}

SENTENCE(the_elements_are_bounded_before_there_is_room_for_them)
{
	struct lsh_informant *informant;

	options.unasked = true;
	informant = connector(&uri);
	assert_int_equal(fake_send(fake, "*11\r\n", 5), 1);
	must_fail(informant, LEASH_PROTOCOL, "its answer has more than 10 elements, which is the most that is taken");
	lsh_informant_free(informant);
}

/* ---- time ---- */

SENTENCE(the_time_begins_with_the_question_and_ends_with_the_last_reply)
{
	struct lsh_informant *informant;
	int64_t begun;

	options.timeout = 300 * LSH_MS;
	informant = connector(&uri);
	assert_true(wanted_at(informant) <= 0); /* once more, for what may have come behind the hello */
	assert_int_equal(lsh_informant_step(informant), LSH_WAIT);
	assert_true(wanted_at(informant) == LSH_NEVER);
	await_ms(400);
	assert_int_equal(lsh_informant_step(informant), LSH_WAIT);
	begun = lsh_now_ns();
	echo(informant, "in time");
	lsh_informant_ask(informant);
	assert_true(wanted_at(informant) >= begun + options.timeout);
	must_say(informant, "in time");
	assert_int_equal(lsh_informant_step(informant), LSH_WAIT);
	assert_true(wanted_at(informant) == LSH_NEVER);
	silent = true;
	begun = lsh_now_ns();
	echo(informant, "too late");
	lsh_informant_ask(informant);
	must_fail(informant, LEASH_UNAVAILABLE, "no answer in time");
	assert_true(lsh_now_ns() - begun >= 300 * LSH_MS);
	lsh_informant_free(informant);
}

/* ---- failures ---- */

SENTENCE(one_that_is_down_says_why_until_it_is_dialed_again)
{
	struct lsh_informant *informant = connector(&uri);

	echo(informant, "lost");
	fake_hang_up(fake);
	must_fail(informant, LEASH_UNAVAILABLE, "");
	must_fail(informant, LEASH_UNAVAILABLE, "");
	lsh_informant_connect(informant);
	echo(informant, "forgotten"); /* with the attempt that it was for */
	lsh_informant_connect(informant);
	echo(informant, "anew");
	assert_int_equal(next(informant), LSH_GO_ON);
	must_say(informant, "anew");
	assert_int_equal(lsh_informant_step(informant), LSH_WAIT);
	assert_true(wanted_at(informant) == LSH_NEVER);
	assert_false(fake_saw(fake, "forgotten"));
	lsh_informant_free(informant);
}

SENTENCE(nothing_is_left_of_it_in_whatever_state_it_ends)
{
	unsigned before = descriptors_count();

	for (int i = 0; i < 20; i++) {
		struct lsh_informant *informant = lsh_informant_new(&uri, &options);

		assert_non_null(informant);
		if (i % 4 > 0)
			lsh_informant_connect(informant);
		if (i % 4 > 1)
			assert_int_equal(next(informant), LSH_GO_ON);
		if (i % 4 > 2) {
			echo(informant, "kept");
			must_say(informant, "kept");
		}
		if (i % 8 > 3) {
			struct redisReply *kept = lsh_informant_take(informant);

			assert_null(lsh_informant_take(informant));
			lsh_answer_free(kept);
		}
		lsh_informant_free(informant);
	}
	await_true(fake_open(fake) == 0);
	assert_int_equal(descriptors_count(), before);
	lsh_informant_free(NULL);
}
