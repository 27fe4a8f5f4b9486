/* Informants and talks: one server is asked, by a thread that waits for none of several, or by one that waits; replies
 * come one at a time, bounded and in time, or it is said why not. What is made of them: test_sentinel.c,
 * test_cluster.c.
 *
 * The server is the fake f. Of the informants i and j, and the talk t:
 *
 *     bounds BYTES               of one reply to an informant that is made from now on; time MS; listen: what is
 *                                unasked, too
 *     connect WHO                it is made, if it is not there, and says hello
 *     begin WHO                  the same, but it does not get to the end of its hello
 *     say WHO TEXT               ECHO; order WHO WORDS: any command
 *     ask WHO                    its time begins
 *     step WHO                   wait, up, what is said, or why it is down
 *     drip WHO                   the same, when another byte has come to all
 *     next WHO                   the same, when it is not wait any more; hear t: of a talk
 *     wants WHO                  when it wants to be stepped although nothing comes: now, never, in time or late
 *     take WHO                   what was said, which stays: taken; free WHO
 *     to URI                     where it is, if not at the fake; serve: at a real server */
#include "redis/informant.h"

#include "base/clock.h"
#include "base/park.h"
#include "redis/reply.h"
#include "tests/redis/fakes.h"
#include "tests/support/server.h"

#include <signal.h>
#include <sys/time.h>

static struct lsh_uri uri;
static struct lsh_informant_options options;
static struct lsh_informant *informants[3];
static leash_error err;
static struct redisReply *taken;
static struct server *real;

static struct lsh_informant **
who(const char *name)
{
	return &informants[place_of(name, (const char *[]){"i", "j", "t"}, 3)];
}

DEED(free)
{
	lsh_informant_free(*who(word[1]));
	*who(word[1]) = NULL;
}

DEED(to)
{
	lsh_uri_clear(&uri);
	assert_int_equal(lsh_uri_parse(&uri, word[1], &err), LEASH_OK);
}

static void
start(void)
{
	options = (struct lsh_informant_options){
		.name = "leash:asker", .timeout = 20 * LSH_S, .bytes = 1000, .elements = 10,
	};
	play("to %s", fake_uri(fakes_start("f", false)));
}

static void
stop(void)
{
	play("free i; free j; free t");
	lsh_uri_clear(&uri);
	fakes_stop();
	server_stop(real);
	real = NULL;
	lsh_answer_free(taken);
	taken = NULL;
}

FIXTURE(start, stop);

DOES(bounds, options.bytes = (size_t)number_of(word[1], 0))
DOES(time, options.timeout = number_of(word[1], 0) * LSH_MS)
DOES(listen, options.unasked = true)

/* "[1 two [3 +four] -five nil]" */
static void
put(char *text, const struct redisReply *answer)
{
	struct lsh_item item = lsh_answer_item(answer);
	char *end = text + strlen(text);

	if (item.type == LSH_INTEGER)
		sprintf(end, "%" PRId64, item.integer);
	else if (item.type == LSH_NIL)
		strcpy(end, "nil");
	else if (item.type != LSH_ARRAY)
		snprintf(end, 1024, "%s%s", item.type == LSH_ERROR ? "-" : item.type == LSH_STATUS ? "+" : "", item.text);
	for (size_t i = 0; item.type == LSH_ARRAY && i < lsh_answer_count(answer); i++)
		put(strcat(text, i == 0 ? "[" : " "), lsh_answer_at(answer, i));
	if (item.type == LSH_ARRAY)
		strcat(text, lsh_answer_count(answer) == 0 ? "[]" : "]");
	assert_int_equal(lsh_answer_item(lsh_answer_at(answer, lsh_answer_count(answer))).type, LSH_NIL); /* is not there */
}

static const char *
seen_reply(const struct redisReply *reply)
{
	char text[4096] = "";

	put(text, reply);
	return seen("%s", text);
}

static const char *
step(struct lsh_informant *informant)
{
	enum lsh_progress progress = lsh_informant_step(informant);

	assert_int_equal(lsh_informant_is_down(informant), progress == LSH_FAILED);
	if (progress != LSH_FAILED)
		return progress == LSH_WAIT    ? "wait"
		       : progress == LSH_GO_ON ? "up"
		                               : seen_reply(lsh_informant_reply(informant));
	err = *lsh_informant_trouble(informant);
	assert_non_null(strstr(err.text, uri.shown));
	return seen_end(err.status, &err);
}

SEES(step, step(*who(word[1])))
SEES(drip, (fake_send(fake_of("f"), "x", 1), await_ms(20), step(*who(word[1]))))

VERB(next)
{
	struct lsh_informant *informant = *who(word[1]);
	const char *is;

	while (strcmp(is = step(informant), "wait") == 0) {
		int64_t until = LSH_NEVER;
		struct pollfd polled[2];
		nfds_t n = lsh_informant_poll(informant, polled + 1, &until);

		lsh_kick_poll(-1, polled, 1 + n, until);
	}
	return is;
}

DEED(begin)
{
	if (*who(word[1]) == NULL) {
		*who(word[1]) = lsh_informant_new(&uri, &options);
		assert_non_null(*who(word[1]));
		assert_true(lsh_informant_is_down(*who(word[1])));
	}
	lsh_informant_connect(*who(word[1]));
	assert_false(lsh_informant_is_down(*who(word[1])));
}

DOES(connect, play("begin %s; next %s = up", word[1], word[1]))

VERB(talk)
{
	int64_t timeout = number_of(word[1], 20000) * LSH_MS;
	leash_status status = lsh_talk_open(who("t"), &uri, LSH_WANT_SERVER, "leash:talker", timeout, &err);

	assert_true((status == LEASH_OK) == (*who("t") != NULL));
	return seen_end(status, &err);
}

VERB(hear)
{
	const struct redisReply *answer = NULL;
	leash_status status = lsh_talk_hear(*who("t"), &answer, &err);

	return status == LEASH_OK ? seen_reply(answer) : seen_end(status, &err);
}

DEED(order)
{
	struct lsh_arg args[WORDS];
	size_t n = 0;

	for (; *word[n + 2] != '\0'; n++)
		args[n] = lsh_arg_text(word[n + 2]);
	assert_true(lsh_informant_send(*who(word[1]), args, n));
}

DEED(say)
{
	struct lsh_arg args[] = {LSH_ARG("ECHO"), lsh_arg_text(word[2])};

	assert_true(lsh_informant_send(*who(word[1]), args, 2));
}

VERB(take)
{
	lsh_answer_free(taken);
	taken = lsh_informant_take(*who(word[1]));
	return taken != NULL ? seen_reply(taken) : "nothing";
}

SEES(taken, seen_reply(taken))
DOES(serve, play("to %s", server_uri(real = server_start(NULL))))

DOES(ask, lsh_informant_ask(*who(word[1])))

VERB(wants)
{
	int64_t until = LSH_NEVER;
	struct pollfd ignored;

	lsh_informant_poll(*who(word[1]), &ignored, &until);
	return until <= 0 ? "now" : until == LSH_NEVER ? "never" : until >= lsh_now_ns() + 60 * LSH_S ? "late" : "in time";
}

/* ---- replies ---- */

SCENE(replies_come_one_at_a_time_in_the_order_of_the_commands,
      "connect i; say i one; say i two; ask i; next i = one; next i = two; say i three; next i = three")
SCENE(one_that_hangs_keeps_no_other_waiting, "connect i; connect j; on f ECHO silent; say i anything; ask i;"
      "step i = wait; await heard f ECHO = 1; off f ECHO; say j hello; ask j; step i = wait; next j = hello;"
      "step i = wait")
SCENE(what_is_said_unasked_is_no_reply_unless_it_was_wanted,
      "connect i; send f '*1\r\n$4\r\nnews\r\n' = 1; next i ~ PROTOCOL: 'a reply that nobody asked for';"
      /* nor right behind what was asked for, where it would be taken for the reply to the next question */
      "connect i; on f ECHO '+x\r\n+y\r\n'; say i x; ask i; next i ~ PROTOCOL: 'a reply that nobody asked for';"
      "free i; listen; connect i; send f '*1\r\n$4\r\nnews\r\n' = 1; next i = [news]")

/* A step hands out one reply and reads once, and asks for the next step itself. */
SENTENCE(who_says_ever_more_keeps_no_other_waiting)
{
	enum { SAID = 100000 };
	char *bytes = malloc(4 * SAID), name[] = "i", *word[] = {NULL, name};

	for (int i = 0; i < SAID; i++)
		memcpy(bytes + 4 * i, "+x\r\n", 4);
	play("listen; connect i");
	assert_int_equal(fake_send(fake_of("f"), bytes, 4 * SAID), 1);
	for (int i = 0; i < SAID; i++) {
		assert_string_equal(verb_next(word), "+x");
		assert_string_equal(verb_wants(word), "now");
	}
	play("step i = wait; wants i = never");
	free(bytes);
}

SCENE(answers_of_each_type_are_what_they_are,
      "serve; talk = OK; order t EVAL \"return {1, 'two', {3, {'four', {ok = 'five'}}}, false, {}}\" 0; order t EVAL;"
      "hear = '[1 two [3 [four +five]] nil []]'; hear ~ -ERR; say t ''; hear = ''")
SCENE(an_answer_that_was_taken_stays, "talk; take t = nothing; say t first; say t second; hear = first; take t = first;"
      "hear = second; taken = first; free t; taken = first")
SCENE(an_answer_that_drips_comes_whole, "connect i; on f ECHO silent; say i x; ask i; step i = wait;"
      "await heard f ECHO = 1; each b $ 8 \r \n d r i p p i n g \r; send f '$b' = 1; pass 1; step i = wait; next;"
      "send f '\n'; next i = dripping")

static void
ignore(__attribute__((unused)) int sig)
{
}

SENTENCE(signals_disturb_nothing)
{
	struct sigaction action = {.sa_handler = ignore}, before;
	struct itimerval each = {{0, 2000}, {0, 2000}}, none = {{0, 0}, {0, 0}};

	sigaction(SIGALRM, &action, &before); /* without SA_RESTART */
	setitimer(ITIMER_REAL, &each, NULL);
	play("talk 2000 = OK; repeat 20; say t 'through signals'; hear = 'through signals'; next;"
	     "on f ECHO silent; clock; say t x; hear ~ UNAVAILABLE: 'no answer in time'; took >= 2000");
	setitimer(ITIMER_REAL, &none, NULL);
	sigaction(SIGALRM, &before, NULL);
}

/* The bound is a reply's own, not that of all; and these are longer than what a socket takes at once, both ways. */
SENTENCE(how_much_is_too_much_depends_on_what_is_asked_for)
{
	enum { SIZE = 5 << 20, LESS = 4 << 20 };
	char *much = malloc(SIZE + 1), name[] = "i", *word[] = {NULL, name, much};

	for (size_t i = 0; i < SIZE; i++)
		much[i] = (char)('a' + i % 23);
	much[SIZE] = '\0';
	play("serve; bounds %d; connect i", 32 << 20);
	for (int i = 0; i < 8; i++)
		do_say(word);
	for (int i = 0; i < 8; i++) {
		verb_next(word);
		struct lsh_item item = lsh_answer_item(lsh_informant_reply(informants[0]));
		assert_int_equal(item.length, SIZE);
		assert_memory_equal(item.text, much, SIZE);
	}
	play("free i; bounds %d; connect i", LESS);
	do_say(word);
	play("next i ~ PROTOCOL: 'its answer has more than 4194304 bytes, which is the most that is accepted'");
	free(much);
}

SCENE(the_elements_are_bounded_before_there_is_room_for_them, "listen; connect i; send f *11\r\n;"
      "next i ~ PROTOCOL: 'its answer has more than 10 elements, which is the most that is accepted'")
SCENE(what_no_server_would_say_is_a_protocol_error, "talk; free t; await inside f = 0; let d descriptors;"
      "each x what\r\n *65537\r\n *2147483647\r\n *99999999999999999999\r\n *-2\r\n $-2\r\n $2\r\nabc\r\n $2\r\nab\r\r"
      "  $2\r\nab\n\r +a\rb\r\n *1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"
      "  _\r\n #t\r\n ,1\r\n (1\r\n %0\r\n ~0\r\n >0\r\n =4\r\ntxt:\r\n :x\r\n; on f ECHO '$x'; talk; say t x;"
      "hear ~ PROTOCOL:; free t; next; on f ECHO '*2\r\n*40000\r\n'; talk 2000; say t x; hear ~ UNAVAILABLE:; free t;"
      "await inside f = 0; descriptors = $d")

SENTENCE(an_answer_without_an_end_is_given_up)
{
	static const char *const pieces[] = {"xxxxxxxx", "$4194305\r\n", "*1\r\n", "*2\r\n:1\r\n", "+ever"};
	char *bytes = malloc(FAKE_MOST);

	for (size_t i = 0; i < COUNT(pieces); i++) {
		size_t n = 0;

		for (; n + strlen(pieces[i]) <= FAKE_MOST; n += strlen(pieces[i]))
			memcpy(bytes + n, pieces[i], strlen(pieces[i]));
		on_bytes("f", "ECHO", bytes, n, false);
		play("talk; repeat 5; say t x; next; hear ~ PROTOCOL:; free t");
	}
	free(bytes);
}

SCENE(the_time_begins_with_the_question_and_ends_with_the_last_reply,
      /* once more, for what came behind the hello */
      "time 2000; connect i; wants i = now; step i = wait; wants i = never;"
      "pass 2100; step i = wait; say i x; ask i; wants i = 'in time'; next i = x; step i = wait; wants i = never")
SCENE(an_answer_that_drips_has_no_more_time_than_another,
      "time 2000; connect i; on f ECHO silent; clock; say i x; ask i; step i = wait; await heard f ECHO = 1;"
      "send f $1000\r\n; await 15 drip i ~ UNAVAILABLE: 'no answer in time'; took >= 2000")

SCENE(one_that_is_down_says_why_until_it_is_dialed_again, "connect i; say i lost; hang_up f; next i ~ UNAVAILABLE:;"
      "next i ~ UNAVAILABLE:; begin i; say i forgotten; begin i; say i anew; next i = up; next i = anew; step i = wait;"
      "wants i = never; heard f 'ECHO forgotten' = 0") /* with the attempt that it was for */

SENTENCE(a_connection_that_ends_is_told)
{
	static const char answer[] = "*3\r\n:1\r\n$7\r\ncut off\r\n*1\r\n+x\r\n";

	for (size_t bytes = 0; bytes < sizeof answer - 1; bytes++) {
		on_bytes("f", "ECHO", answer, bytes | FAKE_CLOSE, false);
		play("talk; say t x; hear ~ UNAVAILABLE:; hear ~ UNAVAILABLE:; free t");
	}
}

SENTENCE(the_last_words_of_a_server_are_heard) /* what is still to be sent finds nobody */
{
	char *much = malloc(1 << 20);
	struct lsh_arg set[] = {LSH_ARG("SET"), {much, 1 << 20}};

	memset(much, 'x', 1 << 20);
	on_bytes("f", "ECHO", "-ERR enough\r\n", 13 | FAKE_CLOSE, false);
	play("talk; say t once");
	for (int i = 0; i < 8; i++)
		assert_true(lsh_informant_send(*who("t"), set, 2));
	play("hear = '-ERR enough'");
	free(much);
}

SCENE(who_cannot_be_reached_is_said_so,
      "let d descriptors; to unix:///nowhere/at/all; talk 1000 ~ UNAVAILABLE: /nowhere/at/all; descriptors = $d")
SCENE(nothing_is_left_of_it_in_whatever_state_it_ends,
      "let d descriptors; repeat 5; free i; begin i; free i; connect i; free i; connect i; say i kept; next i = kept;"
      "free i; connect i; say i kept; next i = kept; take i; free i; next; await inside f = 0; descriptors = $d")
