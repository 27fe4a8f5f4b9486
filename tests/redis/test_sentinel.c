/* Who is the master: sentinels that agree and disagree, hang, refuse, talk nonsense and are gone. They are fakes, so
 * that all of that comes when it should. */
#include "redis/sentinel.h"

#include "base/clock.h"
#include "tests/redis/seers.h"
#include "tests/support/descriptors.h"
#include "tests/support/test.h"

#include <stdatomic.h>

#define PATIENCE (20 * LSH_S)

static _Atomic int news;
static struct lsh_sentinel *s; /* who asks them */

static void
note_news(void *ctx)
{
	(void)ctx;
	news++;
}

static void
begin_with(int count, const char *query, int64_t timeout, int64_t period)
{
	struct lsh_sentinel_options options = {
		.uri = &uri, .name = "leash:asker", .timeout = timeout, .period = period, .courier = courier, .news = note_news,
	};

	news = 0;
	forget_told();
	write_uri(count, query);
	s = lsh_sentinel_new(&options);
	assert_non_null(s);
	assert_true(lsh_sentinel_start(s));
}

static void
begin(int count)
{
	begin_with(count, "", PATIENCE, 0);
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

static enum lsh_known
ask(struct lsh_master *master)
{
	uint64_t wish = lsh_sentinel_wish(s);
	enum lsh_known found;

	await_true((found = lsh_sentinel_answer(s, wish, master, &err)) != LSH_NOT_YET);
	return found;
}

static int
master_port(void)
{
	struct lsh_master master = {.at.port = 0};

	if (ask(&master) != LSH_KNOWN)
		fail_msg("%s", err.text);
	return master.at.port;
}

/* Every sentinel has answered, or has failed to. */
static void
await_all(void)
{
	uint64_t wish = lsh_sentinel_wish(s);

	await_true(lsh_sentinel_is_done(s, wish));
}

static int
believed_port(void)
{
	struct lsh_master master = {.at.port = 0};

	assert_int_equal(lsh_sentinel_answer(s, 0, &master, NULL), LSH_KNOWN);
	return master.at.port;
}

static void
check_nobody_knows(leash_status status, const char *part)
{
	struct lsh_master master;

	memset(&err, 0, sizeof err);
	assert_int_equal(ask(&master), LSH_NOBODY_KNOWS);
	if (err.status != status || strstr(err.text, part) == NULL || strncmp(err.text, "redis+sentinel://", 17) != 0)
		fail_msg("%s: %s", leash_status_name(err.status), err.text);
	assert_int_not_equal(err.text[strlen(err.text) - 1], '.');
}

static void
end_and_stop(void)
{
	end();
	stop_seers();
}

FIXTURE(start_seers, end_and_stop);

/* ---- answers ---- */

SENTENCE(a_sentinel_says_who_the_master_is)
{
	struct lsh_master master;
	int64_t now;

	begin(1);
	seers[0].role_ms = 5000;
	assert_int_equal(ask(&master), LSH_KNOWN);
	now = lsh_now_ns();
	assert_string_equal(master.at.host, "127.0.0.1");
	assert_int_equal(master.at.port, 1000);
	assert_true(master.since <= now - 5 * LSH_S);
	assert_true(news > 0);
}

SENTENCE(one_that_hangs_keeps_nobody_waiting)
{
	uint64_t wish;
	int64_t began, took;

	seers[0].mood = MUTE;
	begin_with(3, "", 3600 * LSH_S, 0);
	began = lsh_now_ns();
	assert_int_equal(master_port(), 1000);
	took = lsh_now_ns() - began;
	wish = lsh_sentinel_wish(s);
	assert_int_equal(master_port(), 1000);
	assert_false(lsh_sentinel_is_done(s, wish));
	print_message("# %.1f ms\n", (double)took / 1e6);
	end(); /* which does not wait for it either */
}

SENTENCE(the_highest_epoch_wins_however_many_say_otherwise)
{
	begin(3);
	await_all();
	assert_int_equal(believed_port(), 1000);
	seer_names(&seers[2], 2000, 8);
	await_all();
	assert_int_equal(believed_port(), 2000);
	/* also where the others answer first, and it alone does not answer any more */
	pthread_mutex_lock(&seers[2].gate);
	assert_int_equal(master_port(), 2000);
	pthread_mutex_unlock(&seers[2].gate);
}

SENTENCE(an_answer_of_a_higher_epoch_overrides_one_that_came_first)
{
	seer_names(&seers[1], 2000, 8);
	pthread_mutex_lock(&seers[1].gate);
	begin(2);
	assert_int_equal(master_port(), 1000);
	news = 0;
	pthread_mutex_unlock(&seers[1].gate);
	await_true(believed_port() == 2000);
	assert_true(news > 0);
}

SENTENCE(of_one_epoch_the_majority_wins)
{
	seer_names(&seers[1], 2000, 7);
	seer_names(&seers[2], 2000, 7);
	begin(3);
	await_all();
	assert_int_equal(believed_port(), 2000);
	/* a tie leaves things as they are */
	seers[2].mood = STRANGE;
	await_all();
	assert_int_equal(believed_port(), 2000);
}

SENTENCE(who_does_not_answer_any_more_has_no_voice)
{
	seer_names(&seers[0], 2000, 9);
	begin(2);
	await_all();
	assert_int_equal(believed_port(), 2000);
	stop_seer(&seers[0]); /* and with it an epoch that the other, set up anew, never comes to */
	await_all();
	assert_int_equal(believed_port(), 1000);
}

SENTENCE(an_answer_to_an_earlier_question_is_no_answer_to_a_later_wish)
{
	struct lsh_master master;
	uint64_t first, second;

	begin(1);
	assert_int_equal(master_port(), 1000);
	fake_forget(seers[0].fake);
	pthread_mutex_lock(&seers[0].gate);
	first = lsh_sentinel_wish(s);
	await_true(seer_asked(&seers[0]) == 1); /* on its way back it says 1000 */
	second = lsh_sentinel_wish(s);
	pthread_mutex_unlock(&seers[0].gate);
	await_true(lsh_sentinel_answer(s, first, &master, NULL) == LSH_KNOWN);
	await_true(lsh_sentinel_answer(s, second, &master, NULL) == LSH_KNOWN);
	assert_int_equal(seer_asked(&seers[0]), 2);
}

SENTENCE(a_user_who_may_ask_for_the_address_alone_is_served)
{
	seers[0].mood = TERSE;
	begin(1);
	assert_int_equal(master_port(), 1000);
}

/* ---- when they are asked ---- */

SENTENCE(a_connection_serves_many_questions_and_one_that_broke_is_replaced_at_once)
{
	size_t accepted;

	begin(1);
	await_true(fake_count(seers[0].fake, "SUBSCRIBE") == 1);
	accepted = fake_accepted(seers[0].fake);
	for (int i = 0; i < 20; i++)
		assert_int_equal(master_port(), 1000);
	assert_int_equal(fake_accepted(seers[0].fake), accepted);
	for (int i = 0; i < 20; i++) {
		if (i % 2 == 0)
			fake_hang_up(seers[0].fake);
		else
			seers[0].closes = 1; /* it breaks when it is asked */
		assert_int_equal(master_port(), 1000);
	}
}

SENTENCE(they_are_asked_once_in_a_period_without_a_wish)
{
	int64_t began = lsh_now_ns();
	struct lsh_master master;

	begin_with(1, "", PATIENCE, 1); /* a second is the shortest */
	await_true(lsh_sentinel_answer(s, 0, &master, NULL) == LSH_KNOWN);
	assert_int_equal(master.at.port, 1000);
	seer_names(&seers[0], 2000, 8);
	await_true(believed_port() == 2000);
	/* nor sooner, but for what it asks after it has subscribed; and by chance an eighth is left out */
	assert_true(lsh_now_ns() - began >= 800 * LSH_MS);
}

SENTENCE(a_switch_is_asked_about_at_once)
{
	begin(2);
	await_all();
	await_true(fake_count(seers[1].fake, "SUBSCRIBE +switch-master") == 1);
	await_all();
	seer_names(&seers[1], 2000, 8);
	news = 0;
	/* it was heard before a period is over, and that takes 8 s at least */
	assert_int_equal(fake_publish(seers[1].fake, "+switch-master", "main 127.0.0.1 1000 127.0.0.1 2000"), 1);
	await_true_for(believed_port() == 2000, 5);
	assert_true(news > 0);
}

SENTENCE(a_switch_of_another_master_is_not_heeded)
{
	size_t before;

	begin(1);
	await_true(fake_count(seers[0].fake, "SUBSCRIBE +switch-master") == 1);
	await_ms(100); /* it asks once more after that */
	before = seer_asked(&seers[0]);
	fake_publish(seers[0].fake, "+switch-master", "mainly 127.0.0.1 1 127.0.0.1 2");
	fake_publish(seers[0].fake, "+switch-master", "other 127.0.0.1 1 127.0.0.1 2");
	fake_publish(seers[0].fake, "+switch-master", "main");
	fake_publish(seers[0].fake, "+switch-master", "");
	await_ms(200);
	assert_true(seer_asked(&seers[0]) == before);
	fake_publish(seers[0].fake, "+switch-master", "main 127.0.0.1 1 127.0.0.1 2");
	await_true(seer_asked(&seers[0]) > before);
	assert_int_equal(believed_port(), 1000); /* what was published is a hint and no answer */
}

SENTENCE(however_many_say_switch_they_are_asked_a_few_times_a_second_and_after_the_last)
{
	int64_t began;
	size_t said = 0, asked;

	begin(1);
	await_true(fake_count(seers[0].fake, "SUBSCRIBE +switch-master") == 1);
	await_all();
	fake_forget(seers[0].fake);
	began = lsh_now_ns();
	/* each one is heard and could be asked about before the next */
	for (; lsh_now_ns() - began < LSH_S; said++) {
		fake_publish(seers[0].fake, "+switch-master", "main 127.0.0.1 1 127.0.0.1 2");
		await_ms(2);
	}
	asked = seer_asked(&seers[0]);
	seer_names(&seers[0], 2000, 8);
	fake_publish(seers[0].fake, "+switch-master", "main 127.0.0.1 1000 127.0.0.1 2000");
	await_true_for(believed_port() == 2000, 5);
	print_message("# %zu messages, %zu questions in %.2f s\n", said, asked, (double)(lsh_now_ns() - began) / 1e9);
	assert_true(asked > 0);
	assert_true((int64_t)asked <= 2 + (lsh_now_ns() - began) / (200 * LSH_MS));
}

SENTENCE(a_subscription_that_breaks_is_renewed_and_what_was_missed_is_asked_for)
{
	begin(1);
	await_true(fake_count(seers[0].fake, "SUBSCRIBE") == 1);
	await_all();
	seer_names(&seers[0], 2000, 8);
	fake_hang_up(seers[0].fake);
	/* nothing else asks: not before 8 s are over */
	assert_int_equal(master_port(), 2000);
	await_true(fake_count(seers[0].fake, "SUBSCRIBE") == 2);
}

SENTENCE(where_all_of_the_uri_are_gone_those_are_asked_whom_they_named)
{
	seer_names(&seers[SEERS], 3000, 9);
	seers[0].other = port_of(seers[SEERS].fake);
	begin(2);
	await_all();
	assert_int_equal(believed_port(), 1000);
	assert_int_equal(seer_asked(&seers[SEERS]), 0); /* not before */
	stop_seer(&seers[0]);
	stop_seer(&seers[1]);
	assert_int_equal(master_port(), 3000);
}

/* ---- what goes wrong ---- */

SENTENCE(a_name_that_none_knows_is_invalid_and_said_so)
{
	for (int i = 0; i < SEERS; i++)
		seers[i].mood = STRANGE;
	begin(3);
	check_nobody_knows(LEASH_INVALID, "no sentinel knows a master called 'main'");
	seers[1].mood = HONEST; /* the set was just coming up */
	assert_int_equal(master_port(), 1000);
}

SENTENCE(a_wrong_password_is_denied_and_not_shown)
{
	setenv("TEST_SENTINEL_PASSWORD", "opensesame", 1);
	seers[0].mood = DENYING;
	seers[1].mood = DENYING;
	begin_with(2, "?sentinel_password_env=TEST_SENTINEL_PASSWORD", PATIENCE, 0);
	check_nobody_knows(LEASH_DENIED, "AUTH was refused: WRONGPASS");
	assert_null(strstr(err.text, "opensesame"));
	assert_true(fake_saw(seers[0].fake, "AUTH opensesame"));
	assert_true(was_told("WRONGPASS"));
	assert_false(was_told("opensesame"));
	seers[1].mood = HONEST; /* one of them will do */
	assert_int_equal(master_port(), 1000);
}

SENTENCE(a_server_that_is_no_sentinel_is_invalid)
{
	seers[0].mood = ORDINARY;
	begin(1);
	check_nobody_knows(LEASH_INVALID, "this is no sentinel");
}

SENTENCE(nobody_there_is_unavailable_with_the_reason_and_what_was_believed_stands)
{
	struct lsh_master before, after;
	char port[16];

	begin(2);
	await_all();
	assert_int_equal(lsh_sentinel_answer(s, 0, &before, NULL), LSH_KNOWN);
	stop_seer(&seers[0]);
	snprintf(port, sizeof port, ":%d", port_of(seers[1].fake));
	stop_seer(&seers[1]);
	check_nobody_knows(LEASH_UNAVAILABLE, "no sentinel answered: redis://127.0.0.1:");
	assert_non_null(strstr(err.text, port));
	assert_non_null(strstr(err.text, "Connection refused"));
	assert_int_equal(lsh_sentinel_answer(s, 0, &after, NULL), LSH_KNOWN);
	assert_int_equal(after.at.port, 1000);
	assert_true(after.since == before.since);
}

SENTENCE(all_that_hang_are_given_up_at_the_timeout)
{
	seers[0].mood = seers[1].mood = MUTE;
	begin_with(2, "", 100 * LSH_MS, 0);
	check_nobody_knows(LEASH_UNAVAILABLE, "no answer in time");
}

SENTENCE(a_master_where_the_uri_lets_nobody_go_is_none)
{
	for (int i = 0; i < 2; i++)
		seers[i].host = "10.66.6.6";
	seer_names(&seers[0], 1000, 9);
	begin_with(3, "?redirects=127.0.0.1", PATIENCE, 0);
	await_all();
	assert_int_equal(master_port(), 1000);
	{
		struct lsh_master master;

		assert_int_equal(lsh_sentinel_answer(s, 0, &master, NULL), LSH_KNOWN);
		assert_string_equal(master.at.host, "127.0.0.1");
	}
	stop_seer(&seers[2]);
	check_nobody_knows(LEASH_DENIED, "10.66.6.6:1000, where 'redirects'");
}

SENTENCE(nonsense_is_no_answer_and_another_sentinels_answer_counts)
{
	static const char *const nonsense[] = {
		"HTTP/1.1 400 Bad Request\r\n\r\n",
		"+OK\r\n",
		":7\r\n",
		"$5\r\nhello\r\n",
		"*0\r\n",
		"*1\r\n$9\r\n127.0.0.1\r\n",
		"*2\r\n$9\r\n127.0.0.1\r\n$1\r\n0\r\n",
		"*2\r\n$9\r\n127.0.0.1\r\n$5\r\n65536\r\n",
		"*2\r\n$9\r\n127.0.0.1\r\n$2\r\n-1\r\n",
		"*2\r\n$0\r\n\r\n$4\r\n1000\r\n",
		"*2\r\n$10\r\n127.0.\r\n.1\r\n$4\r\n1000\r\n",
		"*2\r\n$9\r\n127 0 0 1\r\n$4\r\n1000\r\n",
		"*2\r\n$9\r\n127.0.0.1XY$4\r\n1000\r\n",
		"*2\r\n*1\r\n:1\r\n$4\r\n1000\r\n",
		"*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
		"*1073741823\r\n:1\r\n",
		"*-7\r\n",
		"$536870912\r\n",
		"%1\r\n+a\r\n+b\r\n",
		"*2\r\n$9\r\n127.0.0.1\r\n$4\r\n1000\r\n*2\r\n$9\r\n127.0.0.1\r\n$4\r\n1000\r\n*0\r\n*0\r\n*0\r\n",
	};

	seers[0].babble = nonsense[0];
	begin_with(1, "", 500 * LSH_MS, 0);
	for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
		struct lsh_master master;

		seers[0].babble = nonsense[i];
		if (ask(&master) != LSH_NOBODY_KNOWS)
			fail_msg("this was taken for an answer: %s", nonsense[i]);
		if (err.status != LEASH_PROTOCOL && err.status != LEASH_UNAVAILABLE)
			fail_msg("%s: %s", leash_status_name(err.status), err.text);
		for (const char *at = err.text; *at != '\0'; at++)
			assert_in_range(*at, ' ', '~');
	}
	seers[0].babble = NULL;
	assert_int_equal(master_port(), 1000);
	end();

	seers[0].babble = nonsense[0];
	begin(3);
	assert_int_equal(master_port(), 1000);
}

SENTENCE(an_answer_that_never_ends_is_cut_short)
{
	static char long_answer[400000];

	strcpy(long_answer, "$1000000\r\n");
	memset(long_answer + strlen(long_answer), 'x', sizeof long_answer - 20);
	seers[0].babble = long_answer;
	begin(1);
	check_nobody_knows(LEASH_PROTOCOL, "its answer has more than 262144 bytes, which is the most that is taken");
}

SENTENCE(an_answer_that_is_cut_off_anywhere_is_no_answer)
{
	char whole[2048];
	size_t size = seer_say_master(&seers[0], whole, sizeof whole);

	seers[0].cut = 1;
	begin_with(1, "", 500 * LSH_MS, 0);
	for (size_t i = 1; i < size; i += i < 40 ? 1 : 37) {
		struct lsh_master master;

		seers[0].cut = i;
		assert_int_equal(ask(&master), LSH_NOBODY_KNOWS);
		assert_int_equal(err.status, LEASH_UNAVAILABLE);
	}
	seers[0].cut = 0;
	assert_int_equal(master_port(), 1000);
}

/* The other ends of the connections are in this process, too. */
static bool
nobody_is_in(void)
{
	size_t open = 0;

	for (int i = 0; i < SEERS; i++)
		open += fake_open(seers[i].fake);
	return open == 0;
}

SENTENCE(it_leaves_no_descriptor_behind_in_whatever_state_it_ends)
{
	unsigned before;

	begin(3);
	end();
	await_true(nobody_is_in());
	before = descriptors_count();
	for (int i = 0; i < 30; i++) {
		begin(3);
		seers[1].mood = (enum mood)(i % (MOODS));
		if (i % 3 > 0)
			master_port();
		if (i % 3 > 1)
			await_true(fake_count(seers[0].fake, "SUBSCRIBE") > 0);
		end();
	}
	await_true(nobody_is_in());
	assert_int_equal(descriptors_count(), before);
}
