/* Whom the map of a cluster believes: nodes that differ, are out of date or cut off, those who say MOVED and ASK,
 * and nobody who leads to where the URI does not let us go. */
#include "tests/redis/tellers.h"
#include "tests/support/test.h"

/* ---- whom to believe ---- */

static leash_status
moved(unsigned slot, int port)
{
	char text[64];
	int index;
	leash_status status;

	snprintf(text, sizeof text, "MOVED %u 127.0.0.1:%d", slot, port);
	status = lsh_cluster_redirect(cluster, false, text, 0, &index, &err);
	if (status == LEASH_OK) {
		assert_int_equal(lsh_cluster_server(cluster, index)->port, port);
	}
	return status;
}

FIXTURE(start_tellers, stop_tellers);

SENTENCE(a_moved_corrects_its_slot_at_once_and_has_the_others_looked_at)
{
	uint64_t version;
	int questions;

	says(&tellers[0], A, B);
	must_open(1);
	version = lsh_cluster_version(cluster);
	questions = tellers[0].questions;
	assert_int_equal(moved(7, C), LEASH_OK);
	assert_int_equal(at(7), C);
	assert_int_equal(at(8), A);
	assert_true(lsh_cluster_version(cluster) > version);
	await_true(tellers[0].questions > questions);
	await_true(changes >= 2);
}

SENTENCE(an_answer_that_was_asked_for_before_does_not_undo_a_moved)
{
	struct teller *t = &tellers[0];
	int64_t told;

	says(t, A, B);
	says_info(t, "ok", 1);
	must_open(1);
	t->manner = WAITS;
	have_asked(t);
	told = await_now_ns();
	assert_int_equal(moved(7, C), LEASH_OK);
	says_info(t, "ok", 2); /* even if there is a newer order of things */
	t->manner = SAYS;
	look(t, 1);
	/* and by now there was one that was asked for after it, of an order that is as new: it has not been long enough */
	if (await_now_ns() - told < 2 * LSH_S)
		assert_int_equal(at(7), C);
	/* one of a newer order that was begun after it counts */
	says_info(t, "ok", 3);
	look(t, 1);
	assert_int_equal(at(7), A);
}

SENTENCE(what_was_learned_stands_for_a_while_against_those_who_have_not_heard_it)
{
	int64_t begun;

	says(&tellers[0], A, B);
	must_open(1);
	begun = await_now_ns();
	assert_int_equal(moved(7, C), LEASH_OK);
	lsh_cluster_refresh(cluster);
	await_true(at(7) == A); /* but not for ever: nobody else says so */
	assert_true(await_now_ns() - begun >= 2 * LSH_S);
}

SENTENCE(a_node_that_is_out_of_date_is_not_believed)
{
	says(&tellers[0], A, B);
	says_info(&tellers[0], "ok", 7);
	says(&tellers[1], C, B);
	says_info(&tellers[1], "ok", 8);
	must_open(2);
	await_true(at(0) == C);
	look(&tellers[0], 3);
	assert_int_equal(at(0), C);
	/* also if it is the only one */
	tellers[1].manner = HANGS;
	look(&tellers[0], 3);
	assert_int_equal(at(0), C);
}

SENTENCE(a_node_that_is_cut_off_is_not_believed)
{
	says(&tellers[0], A, B);
	says_info(&tellers[0], "fail", 99); /* it tries to be elected again and again */
	says(&tellers[1], C, B);
	says_info(&tellers[1], "ok", 8);
	must_open(2);
	await_true(at(0) == C);
	look(&tellers[0], 3);
	assert_int_equal(at(0), C);
}

SENTENCE(if_there_is_nothing_else_for_long_what_seems_out_of_date_counts)
{
	int64_t begun;

	says(&tellers[0], A, B);
	says_info(&tellers[0], "ok", 8);
	must_open(1);
	says(&tellers[0], C, B); /* set up anew, from the first epoch on */
	says_info(&tellers[0], "ok", 1);
	begun = await_now_ns();
	lsh_cluster_refresh(cluster);
	await_true(at(0) == C);
	assert_true(await_now_ns() - begun >= 10 * LSH_S);
	assert_true(was_logged("the cluster is another one than before"));
}

SENTENCE(an_address_that_leads_to_another_cluster_is_not_followed)
{
	char text[1024] = "*1\r\n";

	says(&tellers[0], A, B);
	says_info(&tellers[0], "ok", 1);
	must_open(2);
	put_range(text + 4, 0, 16383, "127.0.0.1", C, 'x');
	says_slots(&tellers[1], text);
	says_info(&tellers[1], "ok", 100);
	look(&tellers[1], 3);
	assert_int_equal(at(0), A);
	assert_int_equal(at(100), B);
	assert_int_equal(servers(), 2);
}

/* ---- where we are sent ---- */

SENTENCE(servers_that_the_uri_does_not_allow_have_no_slots)
{
	char text[1024] = "*2\r\n";

	put_range(put_range(text + 4, 0, 99, "127.0.0.1", A, 'a'), 100, 16383, "evil.example", B, 'b');
	says_slots(&tellers[0], text);
	must_open_with("?redirects=127.0.0.1,cache-a", 1);
	assert_int_equal(at(0), A);
	assert_int_equal(at(100), -1);
	assert_int_equal(servers(), 1);
	await_true(was_logged("'evil.example', to which 'redirects'"));
	look(&tellers[0], 3);
	assert_int_equal(times_logged("evil.example"), 1); /* it is said once */
}

SENTENCE(a_cluster_of_which_nothing_is_allowed_is_refused)
{
	char text[1024] = "*1\r\n";

	put_range(text + 4, 0, 16383, "evil.example", B, 'b');
	says_slots(&tellers[0], text);
	assert_int_equal(open_with("?redirects=127.0.0.1", TIMEOUT, 1), LEASH_DENIED);
	assert_non_null(strstr(err.text, "redirects"));
}

SENTENCE(an_ask_changes_nothing)
{
	uint64_t version;
	int index, questions;

	says(&tellers[0], A, B);
	must_open(1);
	version = lsh_cluster_version(cluster);
	questions = tellers[0].questions;
	assert_int_equal(lsh_cluster_redirect(cluster, true, "ASK 7 127.0.0.1:7003", 0, &index, &err), LEASH_OK);
	assert_int_equal(lsh_cluster_server(cluster, index)->port, C);
	assert_int_equal(at(7), A);
	assert_int_equal(lsh_cluster_version(cluster), version);
	assert_int_equal(tellers[0].questions, questions);
	/* no host: that of the server which said it; IPv6 without brackets */
	assert_int_equal(lsh_cluster_redirect(cluster, true, "ASK 7 :7003", 0, &index, &err), LEASH_OK);
	assert_string_equal(lsh_cluster_server(cluster, index)->host, "127.0.0.1");
	assert_int_equal(lsh_cluster_redirect(cluster, true, "ASK 7 ::1:7003", 0, &index, &err), LEASH_OK);
	assert_string_equal(lsh_cluster_server(cluster, index)->host, "::1");
	assert_int_equal(lsh_cluster_server(cluster, index)->port, C);
}

SENTENCE(a_redirection_to_nowhere_or_to_where_we_may_not_is_refused)
{
	int index;

	says(&tellers[0], A, B);
	must_open_with("?redirects=127.0.0.1", 1);
	assert_int_equal(lsh_cluster_redirect(cluster, false, "MOVED 7 evil.example:6379", 0, &index, &err),
	                 LEASH_DENIED);
	assert_non_null(strstr(err.text, "'evil.example:6379'"));
	assert_non_null(strstr(err.text, "redirects"));
	assert_int_equal(lsh_cluster_redirect(cluster, true, "ASK 7 10.0.0.9:6379", 0, &index, &err), LEASH_DENIED);
	assert_int_equal(lsh_cluster_redirect(cluster, false, "MOVED 7 127.0.0.1", 0, &index, &err), LEASH_PROTOCOL);
	assert_non_null(strstr(err.text, "7001"));
	assert_int_equal(lsh_cluster_redirect(cluster, false, "MOVED", 0, &index, &err), LEASH_PROTOCOL);
	assert_int_equal(lsh_cluster_redirect(cluster, false, "ASK 7 127.0.0.1:1", 0, &index, &err), LEASH_PROTOCOL);
	assert_int_equal(lsh_cluster_redirect(cluster, true, "MOVED 7 127.0.0.1:1", 0, &index, &err),
	                 LEASH_PROTOCOL);
	assert_int_equal(at(7), A);
	assert_int_equal(servers(), 2);
}

SENTENCE(no_number_of_redirections_is_too_many_to_bear)
{
	leash_status status = LEASH_OK;

	says(&tellers[0], A, B);
	must_open(1);
	for (int port = 10000; port < 10000 + 2 * LSH_SERVERS && status == LEASH_OK; port++)
		status = moved(7, port);
	assert_int_equal(status, LEASH_UNAVAILABLE);
	assert_int_equal(servers(), 2 + LSH_STRANGERS);
	assert_int_equal(moved(7, A), LEASH_OK); /* those that are known stay known */
	assert_int_equal(at(7), A);
}
