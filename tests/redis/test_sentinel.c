/* Who is the master: sentinels that agree and disagree, hang, refuse, talk nonsense and are gone. They are fakes, so
 * that all of that comes when it should.
 *
 *     begin COUNT [QUERY] [TIMEOUT_MS] [PERIOD]   the first of them are in the URI; end
 *     wish                what is asked for from now on; answer: the port of the master, not yet, or why not
 *     ask                 both, and the answer is awaited
 *     all                 each of them has answered, or has failed to; done: is it so?
 *     believed            the port of the master as it is known; host: where; since: in ns
 *     news                how many there were since it was asked for last */
#include "redis/sentinel.h"

#include "base/clock.h"
#include "tests/redis/seers.h"

#include <inttypes.h>
#include <stdatomic.h>

static _Atomic int news;
static struct lsh_sentinel *s; /* who asks them */
static uint64_t wishes[2];     /* the last one, and the one before */
static struct lsh_master master;

CALLED(note_news, news++)

VERB(begin)
{
	struct lsh_sentinel_options options = {
		.uri = &uri, .name = "leash:asker", .timeout = number_of(word[3], 20000) * LSH_MS,
		.period = number_of(word[4], 0), .courier = courier, .news = note_news,
	};

	news = 0;
	write_uri((int)number_of(word[1], 1), word[2]);
	s = lsh_sentinel_new(&options);
	assert_non_null(s);
	assert_true(lsh_sentinel_start(s));
	return NULL;
}

static void
end(void)
{
	if (s != NULL)
		lsh_sentinel_stop(s);
	lsh_sentinel_free(s);
	s = NULL;
	lsh_uri_clear(&uri);
}

DOES(end, end())

static void
end_and_stop(void)
{
	end();
	stop_seers();
}

FIXTURE(start_seers, end_and_stop);

VERB(wish)
{
	wishes[1] = wishes[0];
	wishes[0] = lsh_sentinel_wish(s);
	return NULL;
}

static const char *
answer(uint64_t wish)
{
	enum lsh_known known = lsh_sentinel_answer(s, wish, &master, &err);

	if (known == LSH_NOBODY_KNOWS)
		assert_int_equal(strncmp(err.text, "redis+sentinel://", 17), 0);
	if (known == LSH_NOT_YET)
		return "not yet";
	return known == LSH_KNOWN ? seen_number(master.at.port) : seen_end(err.status, &err);
}

SEES(answer, answer(wishes[strcmp(word[1], "before") == 0]))

VERB(ask)
{
	const char *is;

	verb_wish(word);
	await_true(strcmp(is = answer(wishes[0]), "not yet") != 0);
	return is;
}

SEES(done, seen_whether(lsh_sentinel_is_done(s, wishes[0])))

VERB(all)
{
	verb_wish(word);
	await_true(lsh_sentinel_is_done(s, wishes[0]));
	return NULL;
}

SEES(believed, answer(0))
SEES(host, (answer(0), master.at.host))
SEES(since, (answer(0), seen_number(master.since)))
SEES(news, seen_number(atomic_exchange(&news, 0)))

/* ---- answers ---- */

SENTENCE(a_sentinel_says_who_the_master_is)
{
	play("begin 1; role s0 5000; ask = 1000; since <= %" PRId64 "; host = 127.0.0.1;"
	     "news >= 1", lsh_now_ns() - 4 * LSH_S);
}

SCENE(one_that_hangs_keeps_nobody_waiting, /* nor its end */
      "is s0 mute; begin 3 '' 3600000; ask = 1000; ask = 1000; done = no; end")
SCENE(the_highest_epoch_wins_however_many_say_otherwise,
      "begin 3; all; believed = 1000; names s2 2000 8; all; believed = 2000;"
      /* also where the others answer first, and it alone does not answer any more */
      "on s2 SENTINEL waits; ask = 2000; off s2 SENTINEL")
SCENE(an_answer_of_a_higher_epoch_overrides_one_that_came_first,
      "names s1 2000 8; on s1 SENTINEL waits; begin 2; ask = 1000; news; off s1 SENTINEL; await believed = 2000;"
      "news >= 1")
SCENE(of_one_epoch_the_majority_wins, /* and a tie leaves things as they are */
      "names s1 2000 7; names s2 2000 7; begin 3; all; believed = 2000; is s2 strange; all; believed = 2000")
SCENE(who_does_not_answer_any_more_has_no_voice, /* nor its epoch, to which the other, set up anew, never comes */
      "names s0 2000 9; begin 2; all; believed = 2000; stop s0; all; believed = 1000")
SCENE(an_answer_to_an_earlier_question_is_no_answer_to_a_later_wish,
      "begin 1; await hears s0 = 1; ask = 1000; ask = 1000; forget s0; on s0 SENTINEL waits; wish; await asked s0 = 1; wish; off s0 SENTINEL;"
      "await answer before = 1000; await answer = 1000; asked s0 >= 2")
SCENE(a_user_who_may_ask_for_the_address_alone_is_served, "is s0 terse; begin 1; ask = 1000")

/* ---- when they are asked ---- */

SCENE(a_connection_serves_many_questions_and_one_that_broke_is_replaced_at_once,
      "begin 1; ask = 1000; await hears s0 = 1; repeat 20; ask = 1000; next; accepted s0 = 2;"
      "repeat 10; hang_up s0; ask = 1000; once s0 SENTINEL close; ask = 1000")
SCENE(they_are_asked_once_in_a_period_without_a_wish,
      /* a second is the shortest, and an eighth is left out by chance; */
      "clock; begin 1 '' 20000 1; await believed = 1000; names s0 2000 8; await believed = 2000;"
      "took >= 800") /* nor sooner, but for what it asks when it has subscribed */
SCENE(a_switch_is_asked_about_at_once, /* before a period is over, which takes 8 s at least */
      "begin 2; all; await hears s1 = 1; all; names s1 2000 8; news; switch s1 = 1; await 5 believed = 2000; news >= 1")
SCENE(a_switch_of_another_master_is_not_heeded,
      "begin 1; all; await hears s0 = 1; all; pass 100; forget s0;" /* it asks once more when it has subscribed */
      "switch s0 mainly; switch s0 other; publish s0 +switch-master main; publish s0 +switch-master ''; pass 200;"
      "asked s0 = 0;"
      "switch s0; await asked s0 >= 1; believed = 1000") /* what was published is a hint and no answer */
SCENE(a_subscription_that_breaks_is_renewed_and_what_was_missed_is_asked_for, /* before a period is over */
      "begin 1; all; await hears s0 = 1; all; names s0 2000 8; hang_up s0; await 5 believed = 2000; await hears s0 = 2")
SCENE(where_all_of_the_uri_are_gone_those_are_asked_whom_they_named,
      "names s3 3000 9; knows s0 s3; begin 2; all; believed = 1000; asked s3 = 0; stop s0; stop s1; ask = 3000")

SENTENCE(however_many_say_switch_they_are_asked_a_few_times_a_second_and_after_the_last)
{
	int64_t began, took;

	play("begin 1; all; await hears s0 = 1; all; forget s0");
	/* each one is heard and could be asked about before the next */
	for (began = lsh_now_ns(); (took = lsh_now_ns() - began) < LSH_S;)
		play("switch s0; pass 2");
	play("asked s0 >= 1; asked s0 <= %" PRId64, 2 + took / (200 * LSH_MS));
	play("names s0 2000 8; switch s0; await 5 believed = 2000");
}

/* ---- what goes wrong ---- */

SCENE(a_name_that_none_knows_is_invalid_and_said_so, /* or the set was just coming up */
      "is s0 strange; is s1 strange; is s2 strange; begin 3; ask ~ INVALID: 'no sentinel knows a master called' main;"
      "is s1 honest; ask = 1000")
SCENE(a_server_that_is_no_sentinel_is_invalid, "is s0 ordinary; begin 1; ask ~ INVALID: 'this is no sentinel'")
SCENE(nobody_there_is_unavailable_with_the_reason_and_what_was_believed_stands,
      "begin 2; all; believed = 1000; let t since; let p port s1; stop s0; stop s1;"
      "ask ~ UNAVAILABLE: 'no sentinel answered: redis://127.0.0.1:' $p 'Connection refused'; believed = 1000;"
      "since = $t")
SCENE(all_that_hang_are_given_up_at_the_timeout,
      "is s0 mute; is s1 mute; begin 2 '' 100; ask ~ UNAVAILABLE: 'no answer in time'")
SCENE(a_master_where_the_uri_lets_nobody_go_is_none,
      "names s0 1000 9 10.66.6.6; names s1 1000 7 10.66.6.6; begin 3 ?redirects=127.0.0.1; all; ask = 1000;"
      "host = 127.0.0.1; stop s2; ask ~ DENIED: '10.66.6.6:1000, where' redirects")

SENTENCE(a_wrong_password_is_denied_and_not_shown) /* and one of them will do */
{
	setenv("TEST_SENTINEL_PASSWORD", "opensesame", 1);
	play("is s0 denying; is s1 denying; begin 2 ?sentinel_password_env=TEST_SENTINEL_PASSWORD; "
	     "ask ~ DENIED: 'AUTH was refused: WRONGPASS' !~ opensesame; heard s0 'AUTH opensesame' >= 1;"
	     "log ~ WRONGPASS !~ opensesame; is s1 honest; ask = 1000");
}

SCENE(nonsense_is_no_answer_and_another_sentinels_answer_counts,
      "on s0 SENTINEL +OK\r\n; begin 1 '' 500;"
      "each x +OK\r\n :7\r\n 'HTTP/1.1 400 Bad Request\r\n\r\n' {hello} *0\r\n *1\r\n{127.0.0.1} *2\r\n{127.0.0.1}{0}"
      "  *2\r\n{127.0.0.1}{65536} *2\r\n{127.0.0.1}{-1} *2\r\n{}{1000} *2\r\n{127.0.\r\n.1}{1000}"
      "  '*2\r\n{127 0 0 1}{1000}' *2\r\n$9\r\n127.0.0.1XY{1000} *2\r\n*1\r\n:1\r\n{1000}"
      "  *1\r\n*1\r\n*1\r\n*1\r\n:1\r\n *1073741823\r\n:1\r\n *-7\r\n %1\r\n+a\r\n+b\r\n"
      "  *2\r\n{127.0.0.1}{1000}*2\r\n{127.0.0.1}{1000}*0\r\n*0\r\n*0\r\n;"
      "on s0 SENTINEL '$x'; ask ~ PROTOCOL:; next;"
      "on s0 SENTINEL $536870912\r\n; ask ~ UNAVAILABLE:;" /* the rest does not come */
      "off s0 SENTINEL; ask = 1000; end; on s0 SENTINEL +OK\r\n; begin 3; ask = 1000")

SENTENCE(an_answer_that_never_ends_is_cut_short)
{
	static char bytes[400000];

	memset(bytes, 'x', sizeof bytes);
	memcpy(bytes, "$1000000\r\n", 10);
	on_bytes("s0", "SENTINEL", bytes, sizeof bytes);
	play("begin 1; ask ~ PROTOCOL: 'its answer has more than 262144 bytes, which is the most that is taken'");
}

#define NOBODY "await inside s0 = 0; await inside s1 = 0; await inside s2 = 0;"

SCENE(it_leaves_no_descriptor_behind_in_whatever_state_it_ends, /* the other ends are in this process, too */
      "begin 3; end;" NOBODY "let d descriptors; each m honest strange mute denying ordinary terse closing;"
      "begin 3; is s1 $m; end; begin 3; ask = 1000; end; begin 3; ask = 1000; await hears s0 >= 1; end; next;"
      NOBODY "descriptors = $d")
