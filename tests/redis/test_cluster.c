/* The map of a cluster, made of what nodes say that a test has told them what to say: who is believed, who is not, and what is said of
 * those who cannot be asked. Real clusters: test_cluster_real.c. */
#include "redis/cluster.h"

#include "base/clock.h"
#include "tests/support/await.h"
#include "tests/support/fake.h"
#include "tests/support/ports.h"
#include "tests/support/server.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMEOUT (20 * LSH_S) /* a question has 2 s for each step */

enum { A = 7001, B = 7002, C = 7003 }; /* ports where the map says that servers are; nobody connects to them */

/* ---- nodes that say what they were told ---- */

enum manner { SAYS, HANGS, WAITS };

struct teller {
	struct fake *fake;
	int port;
	_Atomic enum manner manner;
	atomic_int questions;  /* heard */
	pthread_mutex_t mutex; /* guards the rest */
	char slots[4096], info[512];
};

static size_t
tell(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	struct teller *t = ctx;
	size_t n;

	if (!fake_is(argc, argv, argl, 0, "CLUSTER"))
		return FAKE_DEFAULT;
	if (fake_is(argc, argv, argl, 1, "SLOTS")) {
		t->questions++;
		while (t->manner == WAITS)
			usleep(1000);
	}
	if (t->manner == HANGS)
		return FAKE_SILENT;
	pthread_mutex_lock(&t->mutex);
	n = fake_say(out, size, "%s", fake_is(argc, argv, argl, 1, "SLOTS") ? t->slots : t->info);
	pthread_mutex_unlock(&t->mutex);
	return n;
}

static void
start_teller(struct teller *t)
{
	*t = (struct teller){.mutex = PTHREAD_MUTEX_INITIALIZER};
	snprintf(t->info, sizeof t->info, "-NOPERM User default has no permissions to run the 'cluster|info' command\r\n");
	t->fake = fake_start_tcp(tell, t);
	t->port = atoi(strrchr(fake_uri(t->fake), ':') + 1);
}

/* A range of slots, to `text`; `id` is of the node. */
static char *
put_range(char *text, int from, int to, const char *host, int port, char id)
{
	char name[64];

	if (host == NULL)
		snprintf(name, sizeof name, "$-1\r\n");
	else
		snprintf(name, sizeof name, "$%zu\r\n%s\r\n", strlen(host), host);
	return text + sprintf(text, "*3\r\n:%d\r\n:%d\r\n*4\r\n%s:%d\r\n$40\r\n%c%039d\r\n*0\r\n", from, to, name, port, id, 0);
}

static void
says_slots(struct teller *t, const char *text)
{
	pthread_mutex_lock(&t->mutex);
	snprintf(t->slots, sizeof t->slots, "%s", text);
	pthread_mutex_unlock(&t->mutex);
}

/* That `first` has the slots 0 to 99 and `second` the others. Their nodes' ids are A's and B's. */
static void
says(struct teller *t, int first, int second)
{
	char text[1024] = "*2\r\n";

	put_range(put_range(text + 4, 0, 99, "127.0.0.1", first, 'a'), 100, 16383, "127.0.0.1", second, 'b');
	says_slots(t, text);
}

static void
says_info(struct teller *t, const char *state, int epoch)
{
	char text[128];
	int n = snprintf(text, sizeof text, "cluster_enabled:1\r\ncluster_state:%s\r\ncluster_current_epoch:%d\r\n", state, epoch);

	pthread_mutex_lock(&t->mutex);
	snprintf(t->info, sizeof t->info, "$%d\r\n%s\r\n", n, text);
	pthread_mutex_unlock(&t->mutex);
}

/* ---- a cluster, as the library sees it ---- */

static struct lsh_uri uri;
static struct lsh_cluster *cluster;
static leash_error err;
static atomic_int changes;
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static char logged[16384];

static void
changed(void *ctx)
{
	(void)ctx;
	changes++;
}

static void
log_line(void *ctx, leash_log_level level, const char *line)
{
	size_t n;

	(void)ctx, (void)level;
	pthread_mutex_lock(&log_mutex);
	n = strlen(logged);
	snprintf(logged + n, sizeof logged - n, "%s\n", line);
	pthread_mutex_unlock(&log_mutex);
}

static bool
was_logged(const char *text)
{
	bool was;

	pthread_mutex_lock(&log_mutex);
	was = strstr(logged, text) != NULL;
	pthread_mutex_unlock(&log_mutex);
	return was;
}

static leash_status
open_uri(const char *text, int64_t timeout)
{
	static const struct lsh_cluster_ops ops = {.changed = changed, .log = log_line};
	struct lsh_cluster_options options = {.uri = &uri, .name = "leash:test", .timeout = timeout};

	logged[0] = '\0';
	changes = 0;
	err = (leash_error){0};
	if (lsh_uri_parse(&uri, text, &err) != LEASH_OK)
		fail_msg("%s", err.text);
	cluster = lsh_cluster_new(&options, &ops, NULL);
	assert_non_null(cluster);
	return lsh_cluster_open(cluster, &err);
}

static leash_status
open_with(const char *query, int64_t timeout, int count, const struct teller *t)
{
	char text[256] = "redis+cluster://";

	for (int i = 0; i < count; i++)
		sprintf(text + strlen(text), "%s127.0.0.1:%d", i > 0 ? "," : "", t[i].port);
	strcat(text, query);
	return open_uri(text, timeout);
}

static void
must_open(int count, const struct teller *t)
{
	if (open_with("", TIMEOUT, count, t) != LEASH_OK)
		fail_msg("%s", err.text);
}

static void
close_cluster(void)
{
	lsh_cluster_stop(cluster);
	lsh_cluster_free(cluster);
	cluster = NULL;
	lsh_uri_clear(&uri);
}

/* The port of the server that has a slot; -1: nobody. */
static int
at(unsigned slot)
{
	int index = lsh_cluster_at(cluster, slot);

	return index == LSH_NO_SERVER ? -1 : lsh_cluster_server(cluster, index)->port;
}

static leash_status
moved(unsigned slot, int port)
{
	char text[64];
	unsigned said;
	int index;
	leash_status status;

	snprintf(text, sizeof text, "MOVED %u 127.0.0.1:%d", slot, port);
	status = lsh_cluster_moved(cluster, text, 0, &said, &index, &err);
	if (status == LEASH_OK) {
		assert_int_equal(said, slot);
		assert_int_equal(lsh_cluster_server(cluster, index)->port, port);
	}
	return status;
}

/* Have looks taken until this node was asked `times` times more. */
static void
look(struct teller *t, int times)
{
	int until = t->questions + times, before;

	while ((before = t->questions) < until) {
		lsh_cluster_refresh(cluster);
		await_true(t->questions > before);
	}
	/* its last answer was judged before another is asked for */
	before = t->questions;
	lsh_cluster_refresh(cluster);
	await_true(t->questions > before);
}

static struct teller tellers[3];

static int
start(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		start_teller(&tellers[i]);
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	if (cluster != NULL)
		close_cluster();
	for (int i = 0; i < 3; i++) {
		tellers[i].manner = SAYS;
		fake_stop(tellers[i].fake);
	}
	return 0;
}

static int
count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/* ---- the map ---- */

static void
the_map_is_what_the_nodes_say(void **state)
{
	uint64_t version;

	(void)state;
	says(&tellers[0], A, B);
	must_open(1, tellers);
	assert_int_equal(at(0), A);
	assert_int_equal(at(99), A);
	assert_int_equal(at(100), B);
	assert_int_equal(at(16383), B);
	assert_int_equal(lsh_cluster_servers(cluster), 2);
	assert_string_equal(lsh_cluster_server(cluster, lsh_cluster_at(cluster, 0))->host, "127.0.0.1");
	await_true(changes == 1);
	version = lsh_cluster_version(cluster);
	look(&tellers[0], 2);
	assert_int_equal(lsh_cluster_version(cluster), version); /* nothing is new */
	says(&tellers[0], A, C);
	look(&tellers[0], 1);
	assert_int_equal(at(100), C);
	assert_int_equal(at(0), A);
	assert_true(lsh_cluster_version(cluster) > version);
	await_true(changes == 2);
}

static void
a_server_keeps_its_number_and_its_uri(void **state)
{
	const struct lsh_uri *first;
	int number;

	(void)state;
	says(&tellers[0], A, B);
	must_open(1, tellers);
	number = lsh_cluster_at(cluster, 0);
	first = lsh_cluster_server(cluster, number);
	says_info(&tellers[0], "ok", 1);
	says(&tellers[0], C, B);
	look(&tellers[0], 1);
	assert_int_equal(at(0), C);
	assert_ptr_equal(lsh_cluster_server(cluster, number), first);
	assert_int_equal(first->port, A);
	says_info(&tellers[0], "ok", 2);
	says(&tellers[0], A, B);
	look(&tellers[0], 1);
	assert_int_equal(lsh_cluster_at(cluster, 0), number);
	assert_int_equal(lsh_cluster_servers(cluster), 3);
}

static void
slots_that_nobody_serves_are_holes(void **state)
{
	char text[1024] = "*1\r\n";

	(void)state;
	put_range(text + 4, 10, 20, "127.0.0.1", A, 'a');
	says_slots(&tellers[0], text);
	must_open(1, tellers);
	assert_int_equal(at(9), -1);
	assert_int_equal(at(10), A);
	assert_int_equal(at(21), -1);
	await_true(was_logged("11 of 16384 slots"));
	assert_int_equal(lsh_cluster_trouble(cluster, 9, &err), LEASH_UNAVAILABLE);
	assert_non_null(strstr(err.text, "nobody serves slot 9"));
	assert_non_null(strstr(err.text, "redis+cluster://"));
}

static void
a_host_that_is_not_named_is_the_one_that_was_asked(void **state)
{
	char text[1024] = "*2\r\n";

	(void)state;
	put_range(put_range(text + 4, 0, 99, "", A, 'a'), 100, 16383, NULL, B, 'b');
	says_slots(&tellers[0], text);
	must_open(1, tellers);
	assert_int_equal(at(0), A);
	assert_int_equal(at(100), B);
	assert_string_equal(lsh_cluster_server(cluster, lsh_cluster_at(cluster, 0))->host, "127.0.0.1");
	assert_string_equal(lsh_cluster_server(cluster, lsh_cluster_at(cluster, 100))->host, "127.0.0.1");
}

static void
of_a_master_without_an_address_what_was_known_stands(void **state)
{
	char text[1024] = "*2\r\n";

	(void)state;
	says(&tellers[0], A, B);
	must_open(1, tellers);
	put_range(put_range(text + 4, 0, 99, "?", A, 'a'), 100, 16383, "127.0.0.1", C, 'b');
	says_slots(&tellers[0], text);
	look(&tellers[0], 1);
	assert_int_equal(at(0), A);
	assert_int_equal(at(100), C);
}

static void
a_map_in_many_pieces_is_understood(void **state)
{
	enum { PIECES = 8000 };
	static char text[PIECES * 80];
	char *end = text + sprintf(text, "*%d\r\n", PIECES);
	struct teller *t = &tellers[0];

	(void)state;
	says(t, A, B);
	must_open(1, tellers);
	/* more than a teller keeps: said unasked, in its place */
	for (int i = 0; i < PIECES; i++)
		end += sprintf(end, "*3\r\n:%d\r\n:%d\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n", 2 * i, 2 * i + 1, i % 2 == 0 ? A : B);
	t->manner = HANGS;
	{
		int before = t->questions;

		lsh_cluster_refresh(cluster);
		await_true(t->questions > before);
	}
	fake_send(t->fake, text, (size_t)(end - text));
	fake_send(t->fake, "$-1\r\n", 5);
	await_true(at(16383) == -1); /* the last that is looked at */
	t->manner = SAYS;
	assert_int_equal(at(0), A);
	assert_int_equal(at(2), B);
	assert_int_equal(at(2 * PIECES - 1), B);
	assert_int_equal(at(2 * PIECES), -1);
}

static char *
put_node(char *text, int port, char id)
{
	return text + sprintf(text, "*4\r\n$9\r\n127.0.0.1\r\n:%d\r\n$40\r\n%c%039d\r\n*0\r\n", port, id, port % 10000);
}

/* Each slot for itself, over as many masters as a cluster is made for, with two replicas each: more nodes than are kept. The first has the
 * id of A's. */
static void
the_most_scattered_map_is_understood(void **state)
{
	enum { MASTERS = 1000, SLOTS = 16384, FIRST = 10000 };
	char *text = malloc(SLOTS * 320), *end = text + sprintf(text, "*%d\r\n", SLOTS);
	struct teller *t = &tellers[0];
	int64_t begun;

	(void)state;
	says(t, A, B);
	must_open(1, tellers);
	for (int i = 0; i < SLOTS; i++) {
		int master = FIRST + i % MASTERS;

		end += sprintf(end, "*5\r\n:%d\r\n:%d\r\n", i, i);
		end = put_node(put_node(put_node(end, master, 'a'), master + MASTERS, 'b'), master + 2 * MASTERS, 'c');
	}
	end += sprintf(end, "$-1\r\n");
	t->manner = HANGS;
	{
		int before = t->questions;

		lsh_cluster_refresh(cluster);
		await_true(t->questions > before);
	}
	begun = await_now_ns();
	fake_send(t->fake, text, (size_t)(end - text));
	await_true(at(SLOTS - 1) == FIRST + (SLOTS - 1) % MASTERS);
	print_message("# %.1f MB, understood after %.0f ms\n", (double)(end - text) / 1e6, (double)(await_now_ns() - begun) / 1e6);
	t->manner = SAYS;
	free(text);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		assert_int_equal(at(slot), FIRST + (int)slot % MASTERS);
}

static void
a_map_beyond_that_is_refused_with_the_bound(void **state)
{
	(void)state;
	says_slots(&tellers[0], "*1048577\r\n");
	assert_int_equal(open_with("", TIMEOUT, 1, tellers), LEASH_PROTOCOL);
	if (strstr(err.text, "its answer has more than 1048576 elements, which is the most that is taken") == NULL)
		fail_msg("%s", err.text);
}

/* ---- whom to believe ---- */

static void
a_moved_corrects_its_slot_at_once_and_has_the_others_looked_at(void **state)
{
	uint64_t version;
	int questions;

	(void)state;
	says(&tellers[0], A, B);
	must_open(1, tellers);
	version = lsh_cluster_version(cluster);
	questions = tellers[0].questions;
	assert_int_equal(moved(7, C), LEASH_OK);
	assert_int_equal(at(7), C);
	assert_int_equal(at(8), A);
	assert_true(lsh_cluster_version(cluster) > version);
	await_true(tellers[0].questions > questions);
	await_true(changes >= 2);
}

static void
an_answer_that_was_asked_for_before_does_not_undo_a_moved(void **state)
{
	struct teller *t = &tellers[0];
	int64_t told;
	int questions;

	(void)state;
	says(t, A, B);
	says_info(t, "ok", 1);
	must_open(1, tellers);
	t->manner = WAITS;
	questions = t->questions;
	lsh_cluster_refresh(cluster);
	await_true(t->questions > questions);
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

static void
what_was_learned_stands_for_a_while_against_those_who_have_not_heard_it(void **state)
{
	int64_t begun;

	(void)state;
	says(&tellers[0], A, B);
	must_open(1, tellers);
	begun = await_now_ns();
	assert_int_equal(moved(7, C), LEASH_OK);
	lsh_cluster_refresh(cluster);
	await_true(at(7) == A); /* but not for ever: nobody else says so */
	assert_true(await_now_ns() - begun >= 2 * LSH_S);
}

static void
a_node_that_is_out_of_date_is_not_believed(void **state)
{
	(void)state;
	says(&tellers[0], A, B);
	says_info(&tellers[0], "ok", 7);
	says(&tellers[1], C, B);
	says_info(&tellers[1], "ok", 8);
	must_open(2, tellers);
	await_true(at(0) == C);
	look(&tellers[0], 3);
	assert_int_equal(at(0), C);
	/* also if it is the only one */
	tellers[1].manner = HANGS;
	look(&tellers[0], 3);
	assert_int_equal(at(0), C);
}

static void
a_node_that_is_cut_off_is_not_believed(void **state)
{
	(void)state;
	says(&tellers[0], A, B);
	says_info(&tellers[0], "fail", 99); /* it tries to be elected again and again */
	says(&tellers[1], C, B);
	says_info(&tellers[1], "ok", 8);
	must_open(2, tellers);
	await_true(at(0) == C);
	look(&tellers[0], 3);
	assert_int_equal(at(0), C);
}

static void
if_there_is_nothing_else_for_long_what_seems_out_of_date_counts(void **state)
{
	int64_t begun;

	(void)state;
	says(&tellers[0], A, B);
	says_info(&tellers[0], "ok", 8);
	must_open(1, tellers);
	says(&tellers[0], C, B); /* set up anew, from the first epoch on */
	says_info(&tellers[0], "ok", 1);
	begun = await_now_ns();
	lsh_cluster_refresh(cluster);
	await_true(at(0) == C);
	assert_true(await_now_ns() - begun >= 10 * LSH_S);
	assert_true(was_logged("the cluster is another one than before"));
}

static void
an_address_that_leads_to_another_cluster_is_not_followed(void **state)
{
	char text[1024] = "*1\r\n";

	(void)state;
	says(&tellers[0], A, B);
	says_info(&tellers[0], "ok", 1);
	must_open(2, tellers);
	put_range(text + 4, 0, 16383, "127.0.0.1", C, 'x');
	says_slots(&tellers[1], text);
	says_info(&tellers[1], "ok", 100);
	look(&tellers[1], 3);
	assert_int_equal(at(0), A);
	assert_int_equal(at(100), B);
	assert_int_equal(lsh_cluster_servers(cluster), 2);
}

/* ---- where we are sent ---- */

static void
servers_that_the_uri_does_not_allow_have_no_slots(void **state)
{
	char text[1024] = "*2\r\n";

	(void)state;
	put_range(put_range(text + 4, 0, 99, "127.0.0.1", A, 'a'), 100, 16383, "evil.example", B, 'b');
	says_slots(&tellers[0], text);
	if (open_with("?redirects=127.0.0.1,cache-a", TIMEOUT, 1, tellers) != LEASH_OK)
		fail_msg("%s", err.text);
	assert_int_equal(at(0), A);
	assert_int_equal(at(100), -1);
	assert_int_equal(lsh_cluster_servers(cluster), 1);
	await_true(was_logged("'evil.example', to which 'redirects'"));
	look(&tellers[0], 3);
	assert_ptr_equal(strstr(strstr(logged, "evil.example") + 1, "evil.example"), NULL); /* it is said once */
}

static void
a_cluster_of_which_nothing_is_allowed_is_refused(void **state)
{
	char text[1024] = "*1\r\n";

	(void)state;
	put_range(text + 4, 0, 16383, "evil.example", B, 'b');
	says_slots(&tellers[0], text);
	assert_int_equal(open_with("?redirects=127.0.0.1", TIMEOUT, 1, tellers), LEASH_DENIED);
	assert_non_null(strstr(err.text, "redirects"));
}

static void
an_ask_changes_nothing(void **state)
{
	uint64_t version;
	unsigned slot;
	int index, questions;

	(void)state;
	says(&tellers[0], A, B);
	must_open(1, tellers);
	version = lsh_cluster_version(cluster);
	questions = tellers[0].questions;
	assert_int_equal(lsh_cluster_ask(cluster, "ASK 7 127.0.0.1:7003", 0, &slot, &index, &err), LEASH_OK);
	assert_int_equal(slot, 7);
	assert_int_equal(lsh_cluster_server(cluster, index)->port, C);
	assert_int_equal(at(7), A);
	assert_int_equal(lsh_cluster_version(cluster), version);
	assert_int_equal(tellers[0].questions, questions);
	/* no host: that of the server which said it; IPv6 without brackets */
	assert_int_equal(lsh_cluster_ask(cluster, "ASK 7 :7003", 0, &slot, &index, &err), LEASH_OK);
	assert_string_equal(lsh_cluster_server(cluster, index)->host, "127.0.0.1");
	assert_int_equal(lsh_cluster_ask(cluster, "ASK 7 ::1:7003", 0, &slot, &index, &err), LEASH_OK);
	assert_string_equal(lsh_cluster_server(cluster, index)->host, "::1");
	assert_int_equal(lsh_cluster_server(cluster, index)->port, C);
}

static void
a_redirection_to_nowhere_or_to_where_we_may_not_is_refused(void **state)
{
	unsigned slot;
	int index;

	(void)state;
	says(&tellers[0], A, B);
	if (open_with("?redirects=127.0.0.1", TIMEOUT, 1, tellers) != LEASH_OK)
		fail_msg("%s", err.text);
	assert_int_equal(lsh_cluster_moved(cluster, "MOVED 7 evil.example:6379", 0, &slot, &index, &err), LEASH_DENIED);
	assert_non_null(strstr(err.text, "'evil.example:6379'"));
	assert_non_null(strstr(err.text, "redirects"));
	assert_int_equal(lsh_cluster_ask(cluster, "ASK 7 10.0.0.9:6379", 0, &slot, &index, &err), LEASH_DENIED);
	assert_int_equal(lsh_cluster_moved(cluster, "MOVED 7 127.0.0.1", 0, &slot, &index, &err), LEASH_PROTOCOL);
	assert_non_null(strstr(err.text, "7001"));
	assert_int_equal(lsh_cluster_moved(cluster, "MOVED", 0, &slot, &index, &err), LEASH_PROTOCOL);
	assert_int_equal(lsh_cluster_moved(cluster, "ASK 7 127.0.0.1:1", 0, &slot, &index, &err), LEASH_PROTOCOL);
	assert_int_equal(lsh_cluster_ask(cluster, "MOVED 7 127.0.0.1:1", 0, &slot, &index, &err), LEASH_PROTOCOL);
	assert_int_equal(at(7), A);
	assert_int_equal(lsh_cluster_servers(cluster), 2);
}

static void
no_number_of_redirections_is_too_many_to_bear(void **state)
{
	leash_status status = LEASH_OK;

	(void)state;
	says(&tellers[0], A, B);
	must_open(1, tellers);
	for (int port = 10000; port < 10000 + 2 * LSH_SERVERS && status == LEASH_OK; port++)
		status = moved(7, port);
	assert_int_equal(status, LEASH_NO_MEMORY);
	assert_int_equal(lsh_cluster_servers(cluster), LSH_SERVERS);
	assert_int_equal(moved(7, A), LEASH_OK); /* those that are known stay known */
	assert_int_equal(at(7), A);
}

/* ---- those who cannot be asked ---- */

static void
one_that_hangs_does_not_hold_up_the_others(void **state)
{
	(void)state;
	tellers[0].manner = tellers[1].manner = HANGS;
	says(&tellers[2], A, B);
	must_open(3, tellers);
	assert_int_equal(at(0), A);
	/* those that were of no use are asked last: one who answers is enough for the next map */
	says(&tellers[2], A, C);
	look(&tellers[2], 2);
	assert_int_equal(at(100), C);
}

static void
nonsense_is_not_believed(void **state)
{
	static const char *const nonsense[] = {"+OK\r\n", "*1\r\n:1\r\n", "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nx\r\n:1\r\n", "what\r\n", "*99999999\r\n"};

	(void)state;
	says(&tellers[1], A, B);
	for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
		says_slots(&tellers[0], nonsense[i]);
		assert_int_equal(open_with("", TIMEOUT, 1, tellers), LEASH_PROTOCOL);
		assert_non_null(strstr(err.text, "redis+cluster://"));
		close_cluster();
		must_open(2, tellers);
		assert_int_equal(at(0), A);
		close_cluster();
	}
}

static void
a_server_without_a_cluster_is_said_to_be_one(void **state)
{
	(void)state;
	says_slots(&tellers[0], "-ERR This instance has cluster support disabled\r\n");
	assert_int_equal(open_with("", TIMEOUT, 1, tellers), LEASH_UNSUPPORTED);
	assert_non_null(strstr(err.text, "redis+cluster://127.0.0.1:"));
	assert_non_null(strstr(err.text, "no part of a cluster: for this server alone write redis://"));
}

static void
a_node_that_knows_of_no_slots_is_said_to(void **state)
{
	(void)state;
	says_slots(&tellers[0], "*0\r\n");
	assert_int_equal(open_with("", TIMEOUT, 1, tellers), LEASH_UNAVAILABLE);
	assert_non_null(strstr(err.text, "was the cluster created?"));
	close_cluster();
	says(&tellers[1], A, B);
	must_open(2, tellers);
	assert_int_equal(at(0), A);
}

static void
a_permission_that_is_missing_is_named(void **state)
{
	(void)state;
	says_slots(&tellers[0], "-NOPERM User default has no permissions to run the 'cluster|slots' command\r\n");
	tellers[1].manner = HANGS;
	assert_int_equal(open_with("", 3 * LSH_S, 2, tellers), LEASH_DENIED);
	assert_non_null(strstr(err.text, "CLUSTER SLOTS is not permitted"));
	assert_non_null(strstr(err.text, "redis+cluster://"));
	close_cluster();
	/* of the other one it is enough to say so once */
	says(&tellers[0], A, B);
	tellers[1].manner = SAYS;
	must_open(1, tellers);
	look(&tellers[0], 3);
	assert_true(was_logged("CLUSTER INFO is not permitted"));
	assert_null(strstr(strstr(logged, "CLUSTER INFO") + 1, "CLUSTER INFO"));
}

static void
those_who_cannot_be_reached_are_said_so_and_looked_for_again(void **state)
{
	struct server *server;
	int port = ports_take();
	char text[64];

	(void)state;
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

static void
looks_are_not_taken_more_often_than_is_good(void **state)
{
	int64_t begun, took;
	int questions;

	(void)state;
	says(&tellers[0], A, B);
	must_open(1, tellers);
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

static void
a_look_is_taken_now_and_then_without_being_asked_for(void **state)
{
	static const struct lsh_cluster_ops ops = {.changed = changed, .log = log_line};
	struct lsh_cluster_options options = {.uri = &uri, .name = "leash:test", .timeout = TIMEOUT, .period = 50 * LSH_MS};
	char text[64];

	(void)state;
	says(&tellers[0], A, B);
	snprintf(text, sizeof text, "redis+cluster://127.0.0.1:%d", tellers[0].port);
	assert_int_equal(lsh_uri_parse(&uri, text, &err), LEASH_OK);
	cluster = lsh_cluster_new(&options, &ops, NULL);
	assert_non_null(cluster);
	assert_int_equal(lsh_cluster_open(cluster, &err), LEASH_OK);
	says(&tellers[0], C, B);
	await_true(at(0) == C);
}

/* ---- its end ---- */

static void
its_end_does_not_wait_for_those_who_hang(void **state)
{
	int64_t begun;
	int questions;

	(void)state;
	says(&tellers[0], A, B);
	must_open(1, tellers);
	tellers[0].manner = HANGS;
	questions = tellers[0].questions;
	lsh_cluster_refresh(cluster);
	await_true(tellers[0].questions > questions);
	begun = await_now_ns();
	lsh_cluster_stop(cluster);
	assert_true(await_now_ns() - begun < 1500 * LSH_MS); /* an answer has 2 s */
}

static void
nothing_is_left_of_it(void **state)
{
	int fds = count_fds();

	(void)state;
	says(&tellers[0], A, B);
	tellers[1].manner = HANGS;
	for (int i = 0; i < 5; i++) {
		must_open(2, tellers);
		lsh_cluster_refresh(cluster);
		close_cluster();
	}
	assert_int_equal(count_fds(), fds + (int)(fake_open(tellers[0].fake) + fake_open(tellers[1].fake)));
	await_true(fake_open(tellers[0].fake) == 0 && fake_open(tellers[1].fake) == 0);
	assert_int_equal(count_fds(), fds);
}

static void
one_that_was_never_opened_can_be_freed(void **state)
{
	static const struct lsh_cluster_ops ops = {.changed = changed, .log = log_line};
	struct lsh_cluster_options options = {.uri = &uri, .name = "leash:test", .timeout = TIMEOUT};

	(void)state;
	assert_int_equal(lsh_uri_parse(&uri, "redis+cluster://127.0.0.1:1,127.0.0.1:2", &err), LEASH_OK);
	cluster = lsh_cluster_new(&options, &ops, NULL);
	assert_non_null(cluster);
	lsh_cluster_stop(cluster);
	lsh_cluster_free(cluster);
	lsh_cluster_free(NULL);
	cluster = NULL;
	lsh_uri_clear(&uri);
}

static void
a_forked_child_closes_what_it_has_of_it(void **state)
{
	int questions, status;
	pid_t child;

	(void)state;
	says(&tellers[0], A, B);
	must_open(1, tellers);
	tellers[0].manner = HANGS;
	questions = tellers[0].questions;
	lsh_cluster_refresh(cluster);
	await_true(tellers[0].questions > questions);
	child = fork();
	if (child == 0) {
		int with = count_fds();

		lsh_cluster_forsake(cluster);
		_exit(count_fds() == with - 1 ? 0 : 1);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define sentence(name) cmocka_unit_test_setup_teardown(name, start, stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		sentence(the_map_is_what_the_nodes_say),
		sentence(a_server_keeps_its_number_and_its_uri),
		sentence(slots_that_nobody_serves_are_holes),
		sentence(a_host_that_is_not_named_is_the_one_that_was_asked),
		sentence(of_a_master_without_an_address_what_was_known_stands),
		sentence(a_map_in_many_pieces_is_understood),
		sentence(the_most_scattered_map_is_understood),
		sentence(a_map_beyond_that_is_refused_with_the_bound),
		sentence(a_moved_corrects_its_slot_at_once_and_has_the_others_looked_at),
		sentence(an_answer_that_was_asked_for_before_does_not_undo_a_moved),
		sentence(what_was_learned_stands_for_a_while_against_those_who_have_not_heard_it),
		sentence(a_node_that_is_out_of_date_is_not_believed),
		sentence(a_node_that_is_cut_off_is_not_believed),
		sentence(if_there_is_nothing_else_for_long_what_seems_out_of_date_counts),
		sentence(an_address_that_leads_to_another_cluster_is_not_followed),
		sentence(servers_that_the_uri_does_not_allow_have_no_slots),
		sentence(a_cluster_of_which_nothing_is_allowed_is_refused),
		sentence(an_ask_changes_nothing),
		sentence(a_redirection_to_nowhere_or_to_where_we_may_not_is_refused),
		sentence(no_number_of_redirections_is_too_many_to_bear),
		sentence(one_that_hangs_does_not_hold_up_the_others),
		sentence(nonsense_is_not_believed),
		sentence(a_server_without_a_cluster_is_said_to_be_one),
		sentence(a_node_that_knows_of_no_slots_is_said_to),
		sentence(a_permission_that_is_missing_is_named),
		sentence(those_who_cannot_be_reached_are_said_so_and_looked_for_again),
		sentence(looks_are_not_taken_more_often_than_is_good),
		sentence(a_look_is_taken_now_and_then_without_being_asked_for),
		sentence(its_end_does_not_wait_for_those_who_hang),
		sentence(nothing_is_left_of_it),
		sentence(one_that_was_never_opened_can_be_freed),
		sentence(a_forked_child_closes_what_it_has_of_it),
	};

	return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
