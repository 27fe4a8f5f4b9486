/* Who is the master: sentinels that agree and disagree, hang, refuse, talk nonsense and are gone; and a node that goes
 * where they say, with both lines. All of them are fakes (fakes.h), so that all of that comes when it should.
 *
 * The sentinels s0 to s2 may be in the URI, and s3 is not. They are honest, and name 127.0.0.1:1000 of epoch 7 for
 * "main". At any time:
 *
 *     is SEER MOOD                 honest, or one of those below
 *     names SEER PORT EPOCH [HOST [MS [SEER]]]   the master, for how long it has been that, and another sentinel; all
 *                                  for SEER, here and with asked: each of them
 *     asked SEER                   how often, since forget SEER
 *     switch SEER [NAME]           it publishes that another one is master
 *     hears SEER                   has been subscribed to, that often
 *
 * Who asks them, and the node:
 *
 *     begin COUNT [QUERY] [TIMEOUT_MS] [PERIOD]   the first of them are in the URI; end: of the node, too
 *     wish                what is asked for from now on; answer: the port of the master, not yet, or why not
 *     ask                 both, and the answer is awaited
 *     all                 each of them has answered, or has failed to; done: is it so?
 *     believed            the port of the master as it is known; host: where; since: in ns; ago: in ms
 *     news                how many there were since it was asked for last
 *
 *     hosts               two servers, h0, which all name from then on, and h1
 *     make [TIMEOUT_MS]   a node; hello: what awaiting it comes to; trouble: what the node says of itself
 *     at SERVER           is it there, with both lines? up: does it have a connection for commands?
 *     connects, denials   how many it was told of
 *     replica SERVER      it is one; master SERVER: or not
 *     locked SERVER       it wants a password */
#include "redis/sentinel.h"

#include "base/clock.h"
#include "redis/node.h"
#include "redis/pubsub.h"
#include "tests/redis/fakes.h"

#include <stdatomic.h>

/* ---- sentinels ---- */

enum { SEERS = 4 };

static struct lsh_uri uri;
static leash_error err;

/* What of a mood is answered otherwise. */
static const struct {
	const char *mood, *command, *answer;
} moods[] = {
	{"strange", "SENTINEL G", "*-1\r\n"}, /* a beginning of its own, lest the rule of all moods go with it */
	{"strange", "SENTINEL MAS", "-ERR No such master with that name\r\n"},
	{"strange", "SENTINEL SEN", "-ERR No such master with that name\r\n"},
	{"terse", "SENTINEL M", "-NOPERM this user has no permissions to run the 'sentinel|master' command\r\n"},
	{"terse", "SENTINEL S", "-NOPERM this user has no permissions to run the 'sentinel|sentinels' command\r\n"},
	{"denying", "AUTH", "-WRONGPASS invalid username-password pair or user is disabled.\r\n"},
	{"ordinary", "INF", "{redis_version:7.0.15\r\nredis_mode:standalone\r\n}"},
	{"mute", "", "silent"},
	{"closing", "", "close"},
};

/* What SENTINEL MASTER says besides, and is of no use to anybody here. */
#define MORE "{link-pending-commands}{0}{link-refcount}{1}"

DEED(is)
{
	for (size_t i = 0; i < COUNT(moods); i++)
		off(word[1], moods[i].command);
	for (size_t i = 0; i < COUNT(moods); i++)
		if (strcmp(word[2], moods[i].mood) == 0)
			play("on %s '%s' \"%s\"", word[1], moods[i].command, moods[i].answer);
}

static bool
is_meant(int i, const char *name)
{
	return strcmp(name, seen("s%d", i)) == 0 || strcmp(name, "all") == 0;
}

DEED(names)
{
	const char *port = word[2], *host = *word[4] != '\0' ? word[4] : "127.0.0.1";
	const int64_t ms = number_of(word[5], 0);
	const int other = *word[6] != '\0' ? port_of(word[6]) : 0;

	for (int i = 0; i < SEERS; i++) {
		if (!is_meant(i, word[1]))
			continue;
		play("on s%d 'SENTINEL GET-MASTER-ADDR-BY-NAME main' '*2\r\n{%s}{%s}'", i, host, port);
		play("on s%d 'SENTINEL MASTER main' '*40\r\n{name}{main}{ip}{%s}{port}{%s}{config-epoch}{%s}{flags}{master}"
		     "{role-reported-time}{%" PRId64 "}" MORE MORE MORE MORE MORE MORE MORE "'", i, host, port, word[3], ms);
		play("on s%d 'SENTINEL SENTINELS main' '%s'", i,
		     other == 0 ? "*0\r\n" : seen("*1\r\n*6\r\n{name}{0011}{ip}{127.0.0.1}{port}{%d}", other));
	}
}

VERB(asked)
{
	size_t n = 0;

	for (int i = 0; i < SEERS; i++)
		n += is_meant(i, word[1]) ? fake_count(fake_of(seen("s%d", i)), "SENTINEL GET-MASTER-ADDR-BY-NAME") : 0;
	return seen_number(n);
}

SEES(hears, seen_number(fake_count(fake_of(word[1]), "SUBSCRIBE +switch-master")))

VERB(switch)
{
	const char *text = seen("%s 127.0.0.1 1 127.0.0.1 2", *word[2] != '\0' ? word[2] : "main");

	return seen_number(fake_publish(fake_of(word[1]), "+switch-master", text));
}

/* ---- who asks them ---- */

static _Atomic int news;
static struct lsh_sentinel *s; /* who asks them */
static uint64_t wishes[2];     /* the last one, and the one before */
static struct lsh_master master;

CALLED(note_news, news++)

DEED(begin)
{
	struct lsh_sentinel_options options = {
		.uri = &uri, .name = "leash:asker", .timeout = number_of(word[3], 20000) * LSH_MS,
		.period = number_of(word[4], 0), .courier = courier, .news = note_news,
	};

	news = 0;
	read_uri(&uri, "redis+sentinel://", (int)number_of(word[1], 1), "s0", seen("/main%s", word[2]));
	s = lsh_sentinel_new(&options);
	assert_non_null(s);
	assert_true(lsh_sentinel_start(s));
}

DEED(wish)
{
	wishes[1] = wishes[0];
	wishes[0] = lsh_sentinel_wish(s);
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

	do_wish(word);
	await_true(strcmp(is = answer(wishes[0]), "not yet") != 0);
	return is;
}

SEES(done, seen_whether(lsh_sentinel_is_done(s, wishes[0])))

DEED(all)
{
	do_wish(word);
	await_true(lsh_sentinel_is_done(s, wishes[0]));
}

SEES(believed, answer(0))
SEES(host, (answer(0), master.at.host))
SEES(since, (answer(0), seen_number(master.since)))
SEES(ago, (answer(0), seen_number((lsh_now_ns() - master.since) / LSH_MS)))
SEES(news, seen_number(atomic_exchange(&news, 0)))

/* ---- a node ---- */

static struct lsh_node *node;
static _Atomic int connects, denials;

CALLED(on_connected, connects++)

static void
on_denied(void *ctx, const leash_error *why)
{
	(void)ctx, (void)why;
	denials++;
}

CALLED(on_nothing, )

static const struct lsh_pubsub_ops pubsub_ops; /* no message comes */

static const struct lsh_node_ops node_ops = {
	.connected = on_connected, .denied = on_denied, .subscribed = on_nothing, .work = on_nothing,
};

DOES(replica, play("on %s 'INFO replication' {role:slave}", word[1]))
DOES(master, play("on %s 'INFO replication' {role:master}", word[1]))
DOES(locked, play("on %s '' '-NOAUTH Authentication required.\r\n'", word[1]))

DEED(hosts)
{
	for (int i = 0; i < 2; i++)
		play("fake h%d tcp; on h%d 'INFO server' "
		     "'{redis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:%040d\r\nuptime_in_seconds:86400\r\n}';"
		     "master h%d", i, i, i, i);
	play("let p port h0; names all $p 7");
}

DEED(make)
{
	struct lsh_node_options options = {
		.uri = &uri, .name = "leash:node", .courier = courier, .messages = &pubsub_ops, .channel = "wake",
		.timeout = number_of(word[1], 20000) * LSH_MS,
	};

	connects = denials = 0;
	read_uri(&uri, "redis+sentinel://", 2, "s0", "/main");
	node = lsh_node_new(&options, &node_ops, NULL);
	assert_non_null(node);
	assert_true(lsh_node_start(node));
}

SEES(hello, seen_end(lsh_node_await_hello(node, &err), &err))
SEES(trouble, (lsh_node_trouble(node, &err), seen_end(err.status, &err)))
SEES(up, seen_whether(lsh_node_is_up(node)))
SEES(at, seen_whether(lsh_node_is_up(node) && lsh_node_is_subscribed(node) && fake_open(fake_of(word[1])) == 2))
SEES(connects, seen_number(connects))
SEES(denials, seen_number(denials))

DEED(end)
{
	if (s != NULL)
		lsh_sentinel_stop(s);
	lsh_sentinel_free(s);
	s = NULL;
	if (node != NULL)
		lsh_node_stop(node);
	lsh_node_free(node);
	node = NULL;
	lsh_uri_clear(&uri);
}

static void
start(void)
{
	log_start();
	play("each s s0 s1 s2 s3; fake $s tcp; on $s INFO '{redis_version:7.0.15\r\nredis_mode:sentinel\r\n}';"
	     "on $s TIME \"-ERR unknown command 'TIME'\r\n\"; on $s SELECT \"-ERR unknown command 'SELECT'\r\n\"; next;"
	     "names all 1000 7");
}

static void
stop(void)
{
	play("end");
	fakes_stop();
}

FIXTURE(start, stop);

SCENE(a_sentinel_says_who_the_master_is,
      "begin 1; names s0 1000 7 127.0.0.1 5000; ask = 1000; ago >= 4000; host = 127.0.0.1; news >= 1")
SCENE(one_that_hangs_keeps_nobody_waiting, /* nor its end */
      "is s0 mute; begin 3 '' 3600000; ask = 1000; ask = 1000; done = no; end")
SCENE(the_highest_epoch_wins_however_many_say_otherwise,
      "begin 3; all; believed = 1000; names s2 2000 8; all; believed = 2000;"
      /* also where the others answer first, and it alone does not answer any more */
      "on s2 SENTINEL waits; ask = 2000; off s2 SENTINEL")
SCENE(an_answer_of_a_higher_epoch_overrides_one_that_came_first, "names s1 2000 8; on s1 SENTINEL waits; begin 2;"
      "ask = 1000; news; off s1 SENTINEL; await believed = 2000; news >= 1")
SCENE(of_one_epoch_the_majority_wins, /* and a tie leaves things as they are */
      "names s1 2000 7; names s2 2000 7; begin 3; all; believed = 2000; is s2 strange; all; believed = 2000")
SCENE(who_does_not_answer_any_more_has_no_voice, /* nor its epoch, to which the other, set up anew, never comes */
      "names s0 2000 9; begin 2; all; believed = 2000; stop s0; all; believed = 1000")
SCENE(an_answer_to_an_earlier_question_is_no_answer_to_a_later_wish, "begin 1; await hears s0 = 1; ask = 1000;"
      "ask = 1000; forget s0; on s0 SENTINEL waits; wish; await asked s0 = 1; wish; off s0 SENTINEL;"
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
      "asked s0 = 0; switch s0; await asked s0 >= 1; believed = 1000") /* what was published is a hint and no answer */
SCENE(a_subscription_that_breaks_is_renewed_and_what_was_missed_is_asked_for, /* before a period is over */
      "begin 1; all; await hears s0 = 1; all; names s0 2000 8; hang_up s0; await 5 believed = 2000; await hears s0 = 2")
SCENE(where_all_of_the_uri_are_gone_those_are_asked_whom_they_named, "names s3 3000 9; names s0 1000 7 127.0.0.1 0 s3;"
      "begin 2; all; believed = 1000; asked s3 = 0; stop s0; stop s1; ask = 3000")

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
SCENE(a_server_that_is_no_sentinel_is_invalid, "is s0 ordinary; begin 1; ask ~ INVALID: 'this is not a sentinel'")
SCENE(nobody_there_is_unavailable_with_the_reason_and_what_was_believed_stands, "begin 2; all; believed = 1000;"
      "let t since; let p port s1; stop s0; stop s1;"
      "ask ~ UNAVAILABLE: 'no sentinel answered: redis://127.0.0.1:' $p 'Connection refused'; believed = 1000;"
      "since = $t")
SCENE(all_that_hang_are_given_up_at_the_timeout,
      "is s0 mute; is s1 mute; begin 2 '' 100; ask ~ UNAVAILABLE: 'no answer in time'")
SCENE(a_master_where_the_uri_lets_nobody_go_is_none,
      "names s0 1000 9 10.66.6.6; names s1 1000 7 10.66.6.6; begin 3 ?redirects=127.0.0.1; all; ask = 1000;"
      "host = 127.0.0.1; stop s2; ask ~ DENIED: '10.66.6.6:1000, which' redirects")

SENTENCE(a_wrong_password_is_denied_and_not_shown) /* and one of them will do */
{
	setenv("TEST_SENTINEL_PASSWORD", "opensesame", 1);
	play("is s0 denying; is s1 denying; begin 2 ?sentinel_password_env=TEST_SENTINEL_PASSWORD; "
	     "ask ~ DENIED: 'AUTH was refused: WRONGPASS' !~ opensesame; heard s0 'AUTH opensesame' >= 1;"
	     "log ~ WRONGPASS !~ opensesame; is s1 honest; ask = 1000");
}

SCENE(nonsense_is_no_answer_and_another_sentinels_answer_counts, "on s0 SENTINEL +OK\r\n; begin 1 '' 500;"
      "each x +OK\r\n :7\r\n 'HTTP/1.1 400 Bad Request\r\n\r\n' {hello} *0\r\n *1\r\n{127.0.0.1} *2\r\n{127.0.0.1}{0}"
      "  *2\r\n{127.0.0.1}{65536} *2\r\n{127.0.0.1}{-1} *2\r\n{}{1000} *2\r\n{127.0.\r\n.1}{1000}"
      "  '*2\r\n{127 0 0 1}{1000}' *2\r\n$9\r\n127.0.0.1XY{1000} *2\r\n*1\r\n:1\r\n{1000}"
      "  *1\r\n*1\r\n*1\r\n*1\r\n:1\r\n *1073741823\r\n:1\r\n *-7\r\n %1\r\n+a\r\n+b\r\n"
      "  *2\r\n{127.0.0.1}{1000}*2\r\n{127.0.0.1}{1000}*0\r\n*0\r\n*0\r\n; on s0 SENTINEL '$x'; ask ~ PROTOCOL:; next;"
      "on s0 SENTINEL $536870912\r\n; ask ~ UNAVAILABLE:;" /* the rest does not come */
      "off s0 SENTINEL; ask = 1000; end; on s0 SENTINEL +OK\r\n; begin 3; ask = 1000")

SENTENCE(an_answer_that_never_ends_is_cut_short)
{
	static char bytes[400000];

	memset(bytes, 'x', sizeof bytes);
	memcpy(bytes, "$1000000\r\n", 10);
	on_bytes("s0", "SENTINEL", bytes, sizeof bytes, false);
	play("begin 1; ask ~ PROTOCOL: 'its answer has more than 262144 bytes, which is the most that is accepted'");
}

#define NOBODY "await inside s0 = 0; await inside s1 = 0; await inside s2 = 0;"

SCENE(it_leaves_no_descriptor_behind_in_whatever_state_it_ends, /* the other ends are in this process, too */
      "begin 3; end;" NOBODY "let d descriptors; each m honest strange mute denying ordinary terse closing;"
      "begin 3; is s1 $m; end; begin 3; ask = 1000; end; begin 3; ask = 1000; await hears s0 >= 1; end; next;"
      NOBODY "descriptors = $d")

/* ---- where a node goes ---- */

#define SECOND "let p port h1; names all $p 8;"

SENTENCE(a_node_goes_where_the_sentinels_say_with_both_lines)
{
	struct lsh_uri moved;

	play("hosts; make; hello = OK; await at h0 = yes; accepted h1 = 0; heard h0 'INFO replication' >= 1");
	const struct lsh_uri *where = lsh_node_where(node, &moved);
	assert_non_null(where);
	assert_int_equal(where->port, port_of("h0"));
	lsh_uri_clear(&moved);
	/* known as a master only just now, however long it has been up */
	assert_true(lsh_node_uptime(node, lsh_now_ns()) < 3600 * LSH_S);
}

SCENE(it_asks_before_every_connect, "hosts; make; hello = OK; repeat 5; await at h0 = yes;"
      "pass 50;" /* what was asked after the subscription is answered */
      "forget s0; forget s1; let c connects; hang_up h0; await connects !~ $c; asked all >= 1")
SCENE(when_the_master_is_another_one_it_goes_there_at_once,
      "hosts; make; hello = OK; await at h0 = yes; await hears s1 = 1;" SECOND "switch s1; await at h1 = yes;"
      "await inside h0 = 0; await connects = 2; accepted h1 = 2;"
      "let p port h0; names all $p 9; switch s0; await at h0 = yes") /* and back, with the same run id as before */
SCENE(a_dial_to_a_master_that_is_one_no_more_is_given_up, /* and says nothing */
      "hosts; on h0 '' silent; make 3600000; await hears s0 = 1; await hears s1 = 1; up = no;" SECOND
      "switch s1; await at h1 = yes; hello = OK")
SCENE(a_replica_in_the_masters_place_is_not_taken_for_it, /* and the sentinels are asked before each attempt */
      "hosts; replica h0; make; hello ~ UNAVAILABLE: 'this is a replica, not the master' '/main: redis://127.0.0.1:';"
      "trouble ~ UNAVAILABLE:; forget s0; await asked s0 >= 3; master h0; await at h0 = yes; await connects = 1")
SCENE(the_first_attempt_has_not_failed_before_all_sentinels_have_answered, "hosts; stop h0; let p port h1;"
      "names s1 $p 8; on s1 SENTINEL waits; make; await log ~ 'Connection refused'; off s1 SENTINEL; hello = OK;"
      "await at h1 = yes")
SCENE(nobody_is_denied_before_all_sentinels_have_answered, /* by a server that only the first of them names */
      "hosts; locked h0; let p port h1; names s1 $p 8; on s1 SENTINEL waits; make; await log ~ 'wants a password';"
      "off s1 SENTINEL; await at h1 = yes; denials = 0")
SCENE(a_master_that_all_sentinels_name_and_that_refuses_us_is_a_denial,
      "hosts; locked h0; make; await denials >= 1; hello ~ DENIED:")
SCENE(without_sentinels_a_connection_is_kept_and_none_is_made, /* messages: they go where the commands went */
      "hosts; make; hello = OK; await at h0 = yes; stop s0; stop s1; pass 100; at h0 = yes; hang_up h0;"
      "await log ~ 'no sentinel answered'; trouble ~ UNAVAILABLE: 'no sentinel answered'; up = no; accepted h0 <= 3")

SENTENCE(a_server_that_is_left_is_asked_about_anew)
{
	play("hosts; make; hello = OK; await at h0 = yes; pass 50; forget s0;" SECOND);
	uint64_t epoch = lsh_pipeline_epoch(lsh_node_pipeline(node));
	lsh_node_leave(node, epoch - 1, "LATE"); /* of a connection that is gone: it does not end the one after it */
	assert_int_equal(lsh_pipeline_epoch(lsh_node_pipeline(node)), epoch);
	assert_true(lsh_pipeline_is_up(lsh_node_pipeline(node)));
	lsh_node_leave(node, epoch, "READONLY You can't write against a read only replica.");
	play("await at h1 = yes; asked s0 >= 1; log ~ READONLY !~ LATE");
}
