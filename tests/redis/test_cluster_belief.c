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

	open_first();
	version = lsh_cluster_version(cluster);
	questions = tellers[0].questions;
	assert_int_equal(moved(7, C), LEASH_OK);
	the_map_is("7=C 8=A");
	assert_true(lsh_cluster_version(cluster) > version);
	await_true(tellers[0].questions > questions);
	await_true(changes >= 2);
}

SENTENCE(an_answer_that_was_asked_for_before_does_not_undo_a_moved)
{
	struct teller *t = &tellers[0];
	int64_t told;

	says_all(t, A, B, "ok", 1);
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
		the_map_is("7=C");
	/* one of a newer order that was begun after it counts */
	says_info(t, "ok", 3);
	look(t, 1);
	the_map_is("7=A");
}

SENTENCE(what_was_learned_stands_for_a_while_against_those_who_have_not_heard_it)
{
	int64_t begun;

	open_first();
	begun = await_now_ns();
	assert_int_equal(moved(7, C), LEASH_OK);
	lsh_cluster_refresh(cluster);
	await_true(at(7) == A); /* but not for ever: nobody else says so */
	assert_true(await_now_ns() - begun >= 2 * LSH_S);
}

SENTENCE(a_node_that_is_out_of_date_or_cut_off_is_not_believed)
{
	for (int cut_off = 0; cut_off < 2; cut_off++) {
		/* one that is cut off tries to be elected again and again */
		says_all(&tellers[0], A, B, cut_off ? "fail" : "ok", cut_off ? 99 : 7);
		says_all(&tellers[1], C, B, "ok", 8);
		must_open(2);
		await_true(at(0) == C);
		look(&tellers[0], 3);
		the_map_is("0=C");
		/* also if it is the only one */
		tellers[1].manner = HANGS;
		look(&tellers[0], 3);
		the_map_is("0=C");
		tellers[1].manner = SAYS;
		close_cluster();
	}
}

SENTENCE(if_there_is_nothing_else_for_long_what_seems_out_of_date_counts)
{
	int64_t begun;

	says_all(&tellers[0], A, B, "ok", 8);
	must_open(1);
	says_all(&tellers[0], C, B, "ok", 1); /* set up anew, from the first epoch on */
	begun = await_now_ns();
	lsh_cluster_refresh(cluster);
	await_true(at(0) == C);
	assert_true(await_now_ns() - begun >= 10 * LSH_S);
	assert_true(was_logged("the cluster is another one than before"));
}

SENTENCE(an_address_that_leads_to_another_cluster_is_not_followed)
{
	says_all(&tellers[0], A, B, "ok", 1);
	must_open(2);
	says_map(&tellers[1], "0-16383 xC 127.0.0.1");
	says_info(&tellers[1], "ok", 100);
	look(&tellers[1], 3);
	the_map_is("0=A 100=B");
	assert_int_equal(servers(), 2);
}

/* ---- where we are sent ---- */

SENTENCE(servers_that_the_uri_does_not_allow_have_no_slots)
{
	says_map(&tellers[0], "0-99 aA 127.0.0.1, 100-16383 bB evil.example");
	must_open_with("?redirects=127.0.0.1,cache-a", 1);
	the_map_is("0=A 100=-");
	assert_int_equal(servers(), 1);
	await_true(was_logged("'evil.example', to which 'redirects'"));
	look(&tellers[0], 3);
	assert_int_equal(times_logged("evil.example"), 1); /* it is said once */
}

SENTENCE(a_cluster_of_which_nothing_is_allowed_is_refused)
{
	says_map(&tellers[0], "0-16383 bB evil.example");
	the_open_fails("?redirects=127.0.0.1", 1, LEASH_DENIED, "redirects");
}

SENTENCE(an_ask_changes_nothing)
{
	uint64_t version;
	int index, questions;

	open_first();
	version = lsh_cluster_version(cluster);
	questions = tellers[0].questions;
	assert_int_equal(lsh_cluster_redirect(cluster, true, "ASK 7 127.0.0.1:7003", 0, &index, &err), LEASH_OK);
	assert_int_equal(lsh_cluster_server(cluster, index)->port, C);
	the_map_is("7=A");
	assert_int_equal(lsh_cluster_version(cluster), version);
	assert_int_equal(tellers[0].questions, questions);
	/* no host: that of the server which said it; IPv6 without brackets */
	assert_int_equal(lsh_cluster_redirect(cluster, true, "ASK 7 :7003", 0, &index, &err), LEASH_OK);
	assert_string_equal(lsh_cluster_server(cluster, index)->host, "127.0.0.1");
	assert_int_equal(lsh_cluster_redirect(cluster, true, "ASK 7 ::1:7003", 0, &index, &err), LEASH_OK);
	assert_string_equal(lsh_cluster_server(cluster, index)->host, "::1");
	assert_int_equal(lsh_cluster_server(cluster, index)->port, C);
}

static void
the_redirect_fails(bool asking, const char *text, leash_status status, const char *part)
{
	int index;

	assert_int_equal(lsh_cluster_redirect(cluster, asking, text, 0, &index, &err), status);
	if (strstr(err.text, part) == NULL)
		fail_msg("%s: %s", text, err.text);
}

SENTENCE(a_redirection_to_nowhere_or_to_where_we_may_not_is_refused)
{
	says(&tellers[0], A, B);
	must_open_with("?redirects=127.0.0.1", 1);
	the_redirect_fails(false, "MOVED 7 evil.example:6379", LEASH_DENIED, "'evil.example:6379', to which 'redirects'");
	the_redirect_fails(true, "ASK 7 10.0.0.9:6379", LEASH_DENIED, "redirects");
	the_redirect_fails(false, "MOVED 7 127.0.0.1", LEASH_PROTOCOL, "7001");
	the_redirect_fails(false, "MOVED", LEASH_PROTOCOL, "");
	the_redirect_fails(false, "ASK 7 127.0.0.1:1", LEASH_PROTOCOL, "");
	the_redirect_fails(true, "MOVED 7 127.0.0.1:1", LEASH_PROTOCOL, "");
	the_map_is("7=A");
	assert_int_equal(servers(), 2);
}

SENTENCE(no_number_of_redirections_is_too_many_to_bear)
{
	leash_status status = LEASH_OK;

	open_first();
	for (int port = 10000; port < 10000 + 2 * LSH_SERVERS && status == LEASH_OK; port++)
		status = moved(7, port);
	assert_int_equal(status, LEASH_UNAVAILABLE);
	assert_int_equal(servers(), 2 + LSH_STRANGERS);
	assert_int_equal(moved(7, A), LEASH_OK); /* those that are known stay known */
	the_map_is("7=A");
}
