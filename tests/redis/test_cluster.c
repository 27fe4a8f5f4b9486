/* The map of a cluster, made of what nodes say that a test has told them what to say: what is understood, what is
 * said of those who cannot be asked, when looks are taken, and its end. Whom it believes if they differ:
 * test_cluster_belief.c; real clusters: test_cluster_real.c. */
#include "tests/redis/tellers.h"

#include "base/descriptor.h"
#include "tests/support/descriptors.h"
#include "tests/support/ports.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <sys/wait.h>
#include <unistd.h>

FIXTURE(start_tellers, stop_tellers);

/* ---- the map ---- */

SENTENCE(the_map_is_what_the_nodes_say)
{
	uint64_t version;

	open_first();
	the_map_is("0=A 99=A 100=B 16383=B");
	assert_int_equal(servers(), 2);
	assert_string_equal(lsh_cluster_server(cluster, lsh_cluster_at(cluster, 0))->host, "127.0.0.1");
	await_true(changes == 1);
	version = lsh_cluster_version(cluster);
	look(&tellers[0], 2);
	assert_int_equal(lsh_cluster_version(cluster), version); /* nothing is new */
	says(&tellers[0], A, C);
	look(&tellers[0], 1);
	the_map_is("100=C 0=A");
	assert_true(lsh_cluster_version(cluster) > version);
	await_true(changes == 2);
}

SENTENCE(a_server_keeps_its_number_and_its_uri)
{
	const struct lsh_uri *first;
	int number;

	open_first();
	number = lsh_cluster_at(cluster, 0);
	first = lsh_cluster_server(cluster, number);
	says_info(&tellers[0], "ok", 1);
	says(&tellers[0], C, B);
	look(&tellers[0], 1);
	the_map_is("0=C");
	assert_ptr_equal(lsh_cluster_server(cluster, number), first);
	assert_int_equal(first->port, A);
	says_info(&tellers[0], "ok", 2);
	says(&tellers[0], A, B);
	look(&tellers[0], 1);
	assert_int_equal(lsh_cluster_at(cluster, 0), number);
	assert_int_equal(servers(), 3);
}

SENTENCE(slots_that_nobody_serves_are_holes)
{
	says_map(&tellers[0], "10-20 aA 127.0.0.1");
	must_open(1);
	the_map_is("9=- 10=A 21=-");
	await_true(was_logged("11 of 16384 slots"));
	assert_int_equal(lsh_cluster_trouble(cluster, 9, &err), LEASH_UNAVAILABLE);
	assert_non_null(strstr(err.text, "nobody serves slot 9"));
	assert_non_null(strstr(err.text, "redis+cluster://"));
}

SENTENCE(a_host_that_is_not_named_is_the_one_that_was_asked)
{
	says_map(&tellers[0], "0-99 aA '', 100-16383 bB nil");
	must_open(1);
	the_map_is("0=A 100=B");
	assert_string_equal(lsh_cluster_server(cluster, lsh_cluster_at(cluster, 0))->host, "127.0.0.1");
	assert_string_equal(lsh_cluster_server(cluster, lsh_cluster_at(cluster, 100))->host, "127.0.0.1");
}

SENTENCE(of_a_master_without_an_address_what_was_known_stands)
{
	open_first();
	says_map(&tellers[0], "0-99 aA ?, 100-16383 bC 127.0.0.1");
	look(&tellers[0], 1);
	the_map_is("0=A 100=C");
}

SENTENCE(a_map_in_many_pieces_is_understood)
{
	enum { PIECES = 8000 };
	static char text[PIECES * 80];
	char *end = text + sprintf(text, "*%d\r\n", PIECES);
	struct teller *t = &tellers[0];

	open_first();
	/* more than a teller keeps: said unasked, in its place */
	for (int i = 0; i < PIECES; i++)
		end += sprintf(end, "*3\r\n:%d\r\n:%d\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n", 2 * i, 2 * i + 1,
		               i % 2 == 0 ? A : B);
	t->manner = HANGS;
	have_asked(t);
	fake_send(t->fake, "$-1\r\n", 5);
	fake_send(t->fake, text, (size_t)(end - text));
	await_true(at(16383) == -1); /* the last that is looked at */
	t->manner = SAYS;
	the_map_is("0=A 2=B");
	assert_int_equal(at(2 * PIECES - 1), B);
	assert_int_equal(at(2 * PIECES), -1);
}

static char *
put_node(char *text, int port, char id)
{
	return text + sprintf(text, "*4\r\n$9\r\n127.0.0.1\r\n:%d\r\n$40\r\n%c%039d\r\n*0\r\n", port, id, port % 10000);
}

/* Each slot for itself, over as many masters as a cluster is made for, with two replicas each: more nodes than are
 * kept. The first has the id of A's. */
SENTENCE(the_most_scattered_map_is_understood)
{
	enum { MASTERS = 1000, SLOTS = 16384, FIRST = 10000 };
	char *text = malloc(SLOTS * 320), *end = text + sprintf(text, "$-1\r\n*%d\r\n", SLOTS);
	struct teller *t = &tellers[0];
	int64_t begun;

	open_first();
	for (int i = 0; i < SLOTS; i++) {
		int master = FIRST + i % MASTERS;

		end += sprintf(end, "*5\r\n:%d\r\n:%d\r\n", i, i);
		end = put_node(put_node(put_node(end, master, 'a'), master + MASTERS, 'b'), master + 2 * MASTERS, 'c');
	}
	t->manner = HANGS;
	have_asked(t);
	begun = await_now_ns();
	fake_send(t->fake, text, (size_t)(end - text));
	await_true(at(SLOTS - 1) == FIRST + (SLOTS - 1) % MASTERS);
	print_message("# %.1f MB, understood after %.0f ms\n", (double)(end - text) / 1e6,
	              (double)(await_now_ns() - begun) / 1e6);
	t->manner = SAYS;
	free(text);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		assert_int_equal(at(slot), FIRST + (int)slot % MASTERS);
}

SENTENCE(a_map_beyond_that_is_refused_with_the_bound)
{
	says_slots(&tellers[0], "*1048577\r\n");
	the_open_fails("", 1, LEASH_PROTOCOL,
	               "its answer has more than 1048576 elements, which is the most that is taken");
}

/* ---- those who cannot be asked ---- */

SENTENCE(one_that_hangs_does_not_hold_up_the_others)
{
	tellers[0].manner = tellers[1].manner = HANGS;
	says(&tellers[2], A, B);
	must_open(3);
	the_map_is("0=A");
	/* those that were of no use are asked last: one who answers is enough for the next map */
	says(&tellers[2], A, C);
	look(&tellers[2], 2);
	the_map_is("100=C");
}

SENTENCE(nonsense_is_not_believed)
{
	static const char *const nonsense[] = {
		"+OK\r\n", "*1\r\n:1\r\n", "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nx\r\n:1\r\n", "what\r\n", "*99999999\r\n",
	};

	says(&tellers[1], A, B);
	for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
		says_slots(&tellers[0], nonsense[i]);
		the_open_fails("", 1, LEASH_PROTOCOL, "");
		close_cluster();
		must_open(2);
		the_map_is("0=A");
		close_cluster();
	}
}

SENTENCE(a_server_without_a_cluster_is_said_to_be_one)
{
	says_slots(&tellers[0], "-ERR This instance has cluster support disabled\r\n");
	the_open_fails("", 1, LEASH_UNSUPPORTED, "no part of a cluster: for this server alone write redis://");
}

SENTENCE(a_node_that_knows_of_no_slots_is_said_to)
{
	says_slots(&tellers[0], "*0\r\n");
	the_open_fails("", 1, LEASH_UNAVAILABLE, "was the cluster created?");
	close_cluster();
	says(&tellers[1], A, B);
	must_open(2);
	the_map_is("0=A");
}

SENTENCE(a_permission_that_is_missing_is_named)
{
	says_slots(&tellers[0], "-NOPERM User default has no permissions to run the 'cluster|slots' command\r\n");
	tellers[1].manner = HANGS;
	assert_int_equal(open_with("", 3 * LSH_S, 2), LEASH_DENIED);
	assert_non_null(strstr(err.text, "CLUSTER SLOTS is not permitted"));
	assert_non_null(strstr(err.text, "redis+cluster://"));
	close_cluster();
	/* of the other one it is enough to say so once */
	says(&tellers[0], A, B);
	tellers[1].manner = SAYS;
	must_open(1);
	look(&tellers[0], 3);
	assert_true(was_logged("CLUSTER INFO is not permitted"));
	assert_int_equal(times_logged("CLUSTER INFO"), 1);
}

SENTENCE(those_who_cannot_be_reached_are_said_so_and_looked_for_again)
{
	struct server *server;
	int port = ports_take();
	char text[64];

	snprintf(text, sizeof text, "%d", port);
	server = server_start((const char *const[]){"--port", text, "--cluster-enabled", "yes", NULL});
	snprintf(text, sizeof text, "redis+cluster://127.0.0.1:%d", port);
	server_kill(server);
	assert_int_equal(open_uri(text, TIMEOUT), LEASH_UNAVAILABLE);
	assert_non_null(strstr(err.text, "connecting"));
	assert_int_equal(lsh_cluster_trouble(cluster, 5, &err), LEASH_UNAVAILABLE);
	assert_non_null(strstr(err.text, "connecting"));
	server_restart(server);
	freeReplyObject(server_command(server, "CLUSTER ADDSLOTS 5"));
	await_true(at(5) == port); /* nobody asks for it */
	close_cluster();
	server_stop(server);
}

SENTENCE(looks_are_not_taken_more_often_than_is_good)
{
	int64_t begun, took;
	int questions;

	open_first();
	begun = await_now_ns();
	questions = tellers[0].questions;
	while (await_now_ns() - begun < 2 * LSH_S) {
		lsh_cluster_refresh(cluster);
		await_ms(1);
	}
	took = await_now_ns() - begun;
	questions = tellers[0].questions - questions;
	assert_true(questions >= 2);
	assert_true(questions <= 2 + took / (75 * LSH_MS));
}

SENTENCE(a_look_is_taken_now_and_then_without_being_asked_for)
{
	char text[64];

	says(&tellers[0], A, B);
	snprintf(text, sizeof text, "redis+cluster://127.0.0.1:%d", tellers[0].port);
	make_cluster(text, TIMEOUT, 50 * LSH_MS);
	assert_int_equal(lsh_cluster_open(cluster, &err), LEASH_OK);
	says(&tellers[0], C, B);
	await_true(at(0) == C);
}

/* ---- its end ---- */

SENTENCE(its_end_does_not_wait_for_those_who_hang)
{
	int64_t begun;

	open_first();
	tellers[0].manner = HANGS;
	have_asked(&tellers[0]);
	begun = await_now_ns();
	lsh_cluster_stop(cluster);
	assert_true(await_now_ns() - begun < 1500 * LSH_MS); /* an answer has 2 s */
}

SENTENCE(nothing_is_left_of_it)
{
	unsigned fds = descriptors_count();

	says(&tellers[0], A, B);
	tellers[1].manner = HANGS;
	for (int i = 0; i < 5; i++) {
		must_open(2);
		lsh_cluster_refresh(cluster);
		close_cluster();
	}
	/* the last connections may come to the fakes a moment later */
	await_true(descriptors_count() == fds + fake_open(tellers[0].fake) + fake_open(tellers[1].fake));
	await_true(fake_open(tellers[0].fake) == 0 && fake_open(tellers[1].fake) == 0);
	assert_int_equal(descriptors_count(), fds);
}

SENTENCE(one_that_was_never_opened_can_be_freed)
{
	make_cluster("redis+cluster://127.0.0.1:1,127.0.0.1:2", TIMEOUT, 0);
	close_cluster();
	lsh_cluster_free(NULL);
}

SENTENCE(a_forked_child_closes_what_it_has_of_it)
{
	int status;
	pid_t child;

	open_first();
	tellers[0].manner = HANGS;
	have_asked(&tellers[0]);
	child = fork();
	if (child == 0) {
		unsigned with = descriptors_count();

		lsh_descriptor_close_inherited();
		_exit(descriptors_count() == with - 2 ? 0 : 1); /* a connection, and what its thread is woken by */
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
