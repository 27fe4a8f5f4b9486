/* The map of a cluster, made of what nodes say: what is understood, whom it believes if they differ, what is said of
 * those who cannot be asked, when looks are taken, and its end.
 *
 * There are three nodes, n0 to n2, which have nothing to say at first, and A, B and C, which are where the map says
 * that servers are, and to which nobody connects.
 *
 *     says NODE A B       A has the slots 0 to 99, B the others
 *     ranges NODE TEXT    ranges, each with a node's id, its server and host, or nil, or none for an empty one:
 *                         '0-99 aA 127.0.0.1, 100-16383 bC nil'
 *     info NODE STATE EPOCH
 *     open COUNT [QUERY] [TIMEOUT_MS] [PERIOD_MS]   a map, of the first nodes; make: the same, unopened; close
 *     look NODE [TIMES]   looks are taken until it was asked so often, and its last answer was judged
 *     ask NODE            a look is begun: it is asked; asked NODE: how often; refresh: one is wished for
 *     at SLOTS            who has them: letters; - for nobody, ? for another
 *     trouble SLOT        why nobody has it; host SLOT: of the server that has it
 *     moved TEXT, sent TEXT   what a server says: where it leads; sent: of a slot that is on its way
 *     servers             that have a number; number SLOT: of who has it; uri NUMBER: where it is kept, its port
 *     changes             how many were told of; version */
#include "redis/cluster.h"

#include "base/clock.h"
#include "redis/slot.h"
#include "tests/redis/fakes.h"
#include "tests/support/random.h"
#include "tests/support/socket.h"
#include "tests/support/server.h"

#include <stdatomic.h>

enum { FIRST_PORT = 7001 };

static struct lsh_cluster *cluster;
static struct lsh_uri uri;
static leash_error err;
static atomic_int changes;

/* ---- what they say ---- */

DEED(ranges)
{
	char text[1024], *end = text, host[64], id, port;
	const char *ranges = word[2];
	int from, to, size = 0, count = 0;

	for (; sscanf(ranges, "%d-%d %c%c %63[^,]%n", &from, &to, &id, &port, host, &size) == 5; count++) {
		end += sprintf(end, "*3\r\n:%d\r\n:%d\r\n*4\r\n", from, to);
		end += strcmp(host, "nil") == 0 ? sprintf(end, "$-1\r\n")
		                                : sprintf(end, "{%s}", strcmp(host, "none") == 0 ? "" : host);
		end += sprintf(end, ":%d\r\n{%c%039d}*0\r\n", FIRST_PORT + port - 'A', id, 0);
		ranges += size + (ranges[size] == ',');
	}
	if (*ranges != '\0')
		fail_msg("no ranges: %s", ranges);
	play("on %s 'CLUSTER SLOTS' '*%d\r\n%s'", word[1], count, text);
}

DOES(says, play("ranges %s '0-99 a%s 127.0.0.1, 100-16383 b%s 127.0.0.1'", word[1], word[2], word[3]))
DOES(info, play("on %s 'CLUSTER INFO' '{cluster_enabled:1\r\ncluster_state:%s\r\ncluster_current_epoch:%s\r\n}'",
                word[1], word[2], word[3]))

/* ---- the map ---- */

CALLED(changed, changes++)

DEED(make)
{
	struct lsh_cluster_options options = {
		.uri = &uri, .name = "leash:test", .courier = courier, .timeout = number_of(word[3], 20000) * LSH_MS,
		.period = number_of(word[4], 0) * LSH_MS, .changed = changed,
	};

	read_uri(&uri, "redis+cluster://", (int)number_of(word[1], 1), "n0", word[2]);
	changes = 0;
	cluster = lsh_cluster_new(&options);
	assert_non_null(cluster);
}

static const char *
seen_with_uri(leash_status status)
{
	if (status != LEASH_OK)
		assert_non_null(strstr(err.text, "redis+cluster://"));
	return seen_end(status, &err);
}

SEES(open, (do_make(word), seen_with_uri(lsh_cluster_open(cluster, &err))))

DEED(close)
{
	if (cluster != NULL)
		lsh_cluster_stop(cluster);
	lsh_cluster_free(cluster);
	cluster = NULL;
	lsh_uri_clear(&uri);
}

static void
start(void)
{
	log_start();
	play("each n n0 n1 n2; fake $n tcp;"
	     "on $n 'CLUSTER INFO' \"-NOPERM User default has no permissions to run the 'cluster|info' command\r\n\"");
}

static void
stop(void)
{
	play("close");
	fakes_stop();
}

FIXTURE(start, stop);

DOES(refresh, lsh_cluster_refresh(cluster))

static int64_t
asked(const char *node)
{
	return (int64_t)fake_count(fake_of(node), "CLUSTER INFO"); /* which comes first */
}

SEES(asked, seen_number(asked(word[1])))

DEED(ask)
{
	int64_t before = asked(word[1]);

	lsh_cluster_refresh(cluster);
	await_true(asked(word[1]) > before);
}

DEED(look)
{
	int64_t until = asked(word[1]) + number_of(word[2], 1);

	while (asked(word[1]) < until)
		do_ask(word);
	do_ask(word); /* which begins when the last answer was judged */
}

/* The port of the server that has a slot; -1: nobody. */
static int
at(unsigned slot)
{
	int index = lsh_cluster_at(cluster, slot);

	return index == LSH_NO_SERVER ? -1 : lsh_cluster_server(cluster, index)->port;
}

VERB(at)
{
	static char who[WORDS + 1];
	int n = 0;

	for (; *word[n + 1] != '\0'; n++) {
		int port = at((unsigned)number_of(word[n + 1], 0));

		who[n] = (char)(port == -1 ? '-' : port >= FIRST_PORT && port < FIRST_PORT + 3 ? 'A' + port - FIRST_PORT : '?');
	}
	who[n] = '\0';
	return who;
}

SEES(host, lsh_cluster_server(cluster, lsh_cluster_at(cluster, (unsigned)number_of(word[1], 0)))->host)
SEES(trouble, seen_with_uri(lsh_cluster_trouble(cluster, (unsigned)number_of(word[1], 0), &err)))

static const char *
redirect(bool asking, const char *text)
{
	int index;
	leash_status status = lsh_cluster_redirect(cluster, asking, text, 0, &index, &err);

	if (status != LEASH_OK)
		return seen_end(status, &err);
	const struct lsh_uri *to = lsh_cluster_server(cluster, index);
	return seen("%s %d", to->host, to->port);
}

SEES(moved, redirect(false, word[1]))
SEES(sent, redirect(true, word[1]))

VERB(servers)
{
	int64_t n = 0;

	for (int i = 0; i < LSH_SERVERS; i++)
		n += lsh_cluster_server(cluster, i) != NULL;
	return seen_number(n);
}

VERB(uri)
{
	const struct lsh_uri *of = lsh_cluster_server(cluster, (int)number_of(word[1], 0));

	return seen("%p:%d", (const void *)of, of->port);
}

SEES(number, seen_number(lsh_cluster_at(cluster, (unsigned)number_of(word[1], 0))))
SEES(changes, seen_number(changes))
SEES(version, seen_number(lsh_cluster_version(cluster)))

#define OPEN_FIRST "says n0 A B; open 1 = OK;"

SCENE(the_map_is_what_the_nodes_say,
      OPEN_FIRST "at 0 99 100 16383 = AABB; servers = 2; await changes = 1; let v version; look n0 2; version = $v;"
      "says n0 A C; look n0; at 100 0 = CA; version > $v; await changes = 2")
SCENE(slots_that_nobody_serves_are_holes, "ranges n0 '10-20 aA 127.0.0.1'; open 1 = OK; at 9 10 21 = -A-;"
      "await log ~ '11 of 16384 slots'; trouble 9 ~ UNAVAILABLE: 'no server serves slot 9'")
SCENE(a_host_that_is_not_named_is_the_one_that_was_asked,
      "ranges n0 '0-99 aA none, 100-16383 bB nil'; open 1 = OK; at 0 100 = AB; host 0 = 127.0.0.1;host 100 = 127.0.0.1")
SCENE(of_a_master_without_an_address_what_was_known_stands,
      OPEN_FIRST "ranges n0 '0-99 aA ?, 100-16383 bC 127.0.0.1'; look n0; at 0 100 = AC")
SCENE(a_map_beyond_all_bounds_is_refused_with_the_bound, "on n0 'CLUSTER SLOTS' '*1048577\r\n';"
      "open 1 ~ PROTOCOL: 'its answer has more than 1048576 elements, which is the most that is accepted'")

SCENE(a_server_keeps_its_number_and_its_uri,
      OPEN_FIRST "let n number 0; let u uri $n; info n0 ok 1; says n0 C B; look n0; at 0 = C; uri $n = $u;"
      "info n0 ok 2; says n0 A B; look n0; servers = 3; number 0 = $n")

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

	for (int i = 0; i < SLOTS; i++) {
		int master = FIRST + i % MASTERS;

		end += sprintf(end, "*5\r\n:%d\r\n:%d\r\n", i, i);
		end = put_node(put_node(put_node(end, master, 'a'), master + MASTERS, 'b'), master + 2 * MASTERS, 'c');
	}
	play(OPEN_FIRST "on n0 CLUSTER silent; ask n0"); /* more than a fake keeps: said unasked, in its place */
	fake_send(fake_of("n0"), text, (size_t)(end - text));
	free(text);
	await_true(at(SLOTS - 1) == FIRST + (SLOTS - 1) % MASTERS);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		assert_int_equal(at(slot), FIRST + (int)slot % MASTERS);
}

/* Of any bytes, and of few: the shortest are there many times, and so "{}", "a{}b" and the like. */
SENTENCE(a_key_has_the_slot_of_its_tag_or_of_all_of_it_as_the_server_says)
{
	struct server *server = server_start((const char *const[]){"--cluster-enabled", "yes", NULL});
	uint64_t seed = 7;
	char key[64];

	for (int i = 0; i < 6000; i++) {
		size_t size = random_below(&seed, i % 2 == 0 ? 6 : sizeof key);

		for (size_t j = 0; j < size; j++)
			key[j] = i % 4 < 2 ? "{}ab\0\xff"[random_below(&seed, 6)] : (char)random_below(&seed, 256);
		assert_int_equal(lsh_slot_of(key, size), server_integer(server, "CLUSTER KEYSLOT %b", key, size));
	}
	server_stop(server);
}

/* ---- those who cannot be asked ---- */

SCENE(one_that_hangs_does_not_hold_up_the_others,
      /* those of no use are asked last: one answer is enough for the next map */
      "on n0 CLUSTER silent; on n1 CLUSTER silent; says n2 A B; open 3 = OK; at 0 = A; says n2 A C; look n2;at 100 = C")
SCENE(a_server_without_a_cluster_is_said_to_be_one, "on n0 'CLUSTER SLOTS' "
      "'-ERR This instance has cluster support disabled\r\n';"
      "open 1 ~ UNSUPPORTED: 'not part of a cluster: for this server alone write redis://'")
SCENE(a_node_that_knows_of_no_slots_is_said_to, "on n0 'CLUSTER SLOTS' *0\r\n;"
      "open 1 ~ UNAVAILABLE: 'was the cluster created?'; close; says n1 A B; open 2 = OK; at 0 = A")
SCENE(nonsense_is_not_believed, "says n1 A B;"
      "each x +OK\r\n *1\r\n:1\r\n '*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n{x}:1\r\n' what\r\n *99999999\r\n;"
      "on n0 'CLUSTER SLOTS' '$x'; open 1 ~ PROTOCOL:; close; open 2 = OK; at 0 = A; close")
SCENE(a_permission_that_is_missing_is_named, /* of CLUSTER INFO it is enough to say so once */
      "on n0 'CLUSTER SLOTS' \"-NOPERM User default has no permissions to run the 'cluster|slots' command\r\n\";"
      "on n1 CLUSTER silent; open 2 '' 3000 ~ DENIED: 'CLUSTER SLOTS is not permitted'; close; forget_log;"
      OPEN_FIRST "look n0 3; log ~ 'CLUSTER INFO is not permitted'; logged 'CLUSTER INFO' = 1")

SENTENCE(those_who_cannot_be_reached_are_said_so_and_looked_for_again)
{
	int port = ports_take();
	char text[64];

	snprintf(text, sizeof text, "%d", port);
	struct server *server = server_start((const char *const[]){"--port", text, "--cluster-enabled", "yes", NULL});
	server_kill(server);
	play("make 0 127.0.0.1:%d", port); /* none of the fakes */
	assert_int_equal(lsh_cluster_open(cluster, &err), LEASH_UNAVAILABLE);
	assert_non_null(strstr(err.text, "connecting"));
	play("trouble 5 ~ UNAVAILABLE: connecting");
	server_restart(server);
	freeReplyObject(server_command(server, "CLUSTER ADDSLOTS 5"));
	await_true(at(5) == port); /* nobody asks for it */
	play("close");
	server_stop(server);
}

SENTENCE(looks_are_not_taken_more_often_than_is_good)
{
	int64_t began, took;

	play(OPEN_FIRST "forget n0");
	for (began = await_now_ns(); (took = await_now_ns() - began) < 2 * LSH_S;)
		play("refresh; pass 1");
	assert_in_range(asked("n0"), 2, 2 + took / (75 * LSH_MS));
}

SCENE(a_look_is_taken_now_and_then_without_being_asked_for,
      "says n0 A B; open 1 '' 20000 50 = OK; says n0 C B; await at 0 = C")

/* ---- whom to believe ---- */

SCENE(a_moved_corrects_its_slot_at_once_and_has_the_others_looked_at,
      OPEN_FIRST "let v version; let q asked n0; moved 'MOVED 7 127.0.0.1:7003' = '127.0.0.1 7003'; at 7 8 = CA;"
      "version > $v; await asked n0 > $q; await changes >= 2")
SCENE(what_was_learned_stands_for_a_while_against_those_who_have_not_heard_it, /* but not for ever */
      OPEN_FIRST "clock; moved 'MOVED 7 127.0.0.1:7003' = '127.0.0.1 7003'; refresh; await at 7 = A; took >= 2000")
SCENE(a_node_that_is_out_of_date_is_not_believed, /* also if it is the only one */
      "says n0 A B; info n0 ok 7; says n1 C B; info n1 ok 8; open 2 = OK; await at 0 = C; look n0 3; at 0 = C;"
      "on n1 CLUSTER silent; look n0; at 0 = C")
SCENE(a_node_that_is_cut_off_is_not_believed, /* it tries to be elected again and again */
      "says n0 A B; info n0 fail 99; says n1 C B; info n1 ok 8; open 2 = OK; await at 0 = C; look n0 3; at 0 = C;"
      "on n1 CLUSTER silent; look n0; at 0 = C")
SCENE(if_there_is_nothing_else_for_long_what_seems_out_of_date_counts, /* set up anew, from the first epoch on */
      "says n0 A B; info n0 ok 8; open 1 = OK; says n0 C B; info n0 ok 1; clock; refresh; await at 0 = C;"
      "took >= 10000; log ~ 'this is another cluster than before'")
SCENE(an_address_that_leads_to_another_cluster_is_not_followed, "says n0 A B; info n0 ok 1; open 2 = OK;"
      "ranges n1 '0-16383 xC 127.0.0.1'; info n1 ok 100; look n1 3; at 0 100 = AB; servers = 2")

SENTENCE(an_answer_that_was_asked_for_before_does_not_undo_a_moved) /* even if there is a newer order of things */
{
	play("says n0 A B; info n0 ok 1; open 1 = OK; on n0 CLUSTER waits; ask n0");
	int64_t told = await_now_ns();
	play("moved 'MOVED 7 127.0.0.1:7003' = '127.0.0.1 7003'; info n0 ok 2; off n0 CLUSTER; look n0");
	/* and by now there was one that was asked for after it, of an order that is as new: it has not been long enough */
	if (await_now_ns() - told < 2 * LSH_S)
		play("at 7 = C");
	play("info n0 ok 3; look n0; at 7 = A"); /* one of a newer order that was begun after it counts */
}

/* ---- where we are sent ---- */

SCENE(servers_that_the_uri_does_not_allow_have_no_slots, /* which is said once */
      "ranges n0 '0-99 aA 127.0.0.1, 100-16383 bB evil.example'; open 1 ?redirects=127.0.0.1,cache-a = OK;"
      "at 0 100 = A-; servers = 1; await log ~ evil.example which redirects; look n0 3; logged evil.example = 1")
SCENE(a_cluster_of_which_nothing_is_allowed_is_refused,
      "ranges n0 '0-16383 bB evil.example'; open 1 ?redirects=127.0.0.1 ~ DENIED: redirects")
SCENE(an_ask_changes_nothing, /* no host: that of the server which said it; IPv6 without brackets */
      OPEN_FIRST "let v version; let q asked n0; sent 'ASK 7 127.0.0.1:7003' = '127.0.0.1 7003'; at 7 = A;"
      "version = $v; asked n0 = $q; sent 'ASK 7 :7003' = '127.0.0.1 7003'; sent 'ASK 7 ::1:7003' = '::1 7003'")
SCENE(a_redirection_to_nowhere_or_to_where_we_may_not_is_refused, "says n0 A B; open 1 ?redirects=127.0.0.1 = OK;"
      "moved 'MOVED 7 evil.example:6379' ~ DENIED: evil.example:6379 which redirects;"
      "sent 'ASK 7 10.0.0.9:6379' ~ DENIED: redirects; moved 'MOVED 7 127.0.0.1' ~ PROTOCOL: 7001;"
      "moved MOVED ~ PROTOCOL:; moved 'ASK 7 127.0.0.1:1' ~ PROTOCOL:; sent 'MOVED 7 127.0.0.1:1' ~ PROTOCOL:;"
      "at 7 = A; servers = 2")

SENTENCE(no_number_of_redirections_is_too_many_to_bear) /* and those that are known stay known */
{
	char text[64];
	int port = 10000;

	play(OPEN_FIRST);
	do
		snprintf(text, sizeof text, "MOVED 7 127.0.0.1:%d", port++);
	while (port < 10000 + 2 * LSH_SERVERS && redirect(false, text)[0] == '1');
	play("moved '%s' ~ UNAVAILABLE:; servers = %d; moved 'MOVED 7 127.0.0.1:7001' = '127.0.0.1 7001'; at 7 = A", text,
	     2 + LSH_STRANGERS);
}

SCENE(its_end_does_not_wait_for_those_who_hang, /* an answer has 2 s */
      OPEN_FIRST "on n0 CLUSTER silent; ask n0; clock; close; took < 1500")
SCENE(nothing_is_left_of_it, "let d descriptors; says n0 A B; on n1 CLUSTER silent; repeat 5; open 2 = OK; refresh;"
      "close; next; await inside n0 = 0; await inside n1 = 0; await descriptors = $d") /* a fake may hear it late */
SCENE(one_that_was_never_opened_can_be_freed, "make 2; close; close") /* nor is none closed in vain */
