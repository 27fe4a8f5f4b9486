/* The map of a real cluster: it is what the cluster says, and follows it when slots move and masters fail. */
#include "redis/cluster.h"

#include "base/clock.h"
#include "tests/support/cluster.h"
#include "tests/support/random.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

static struct cluster *servers;
static struct lsh_uri uri;
static struct lsh_cluster *cluster;
static leash_error err;

static void
open_map(void)
{
	struct lsh_cluster_options options = {.uri = &uri, .name = "leash:test", .timeout = 20 * LSH_S};

	assert_int_equal(lsh_uri_parse(&uri, cluster_uri(servers), &err), LEASH_OK);
	cluster = lsh_cluster_new(&options);
	assert_non_null(cluster);
	if (lsh_cluster_open(cluster, &err) != LEASH_OK)
		fail_msg("%s", err.text);
}

static void
close_map(void)
{
	lsh_cluster_stop(cluster);
	lsh_cluster_free(cluster);
	lsh_uri_clear(&uri);
}

static void
start(void)
{
	servers = cluster_start(&(struct nodes_options){.fails_over = true});
}

static void
stop(void)
{
	cluster_stop(servers);
}

FIXTURE(open_map, close_map);
GROUP(start, stop);

/* The node that has a slot by the map; -1: none. */
static int
at(unsigned slot)
{
	int index = lsh_cluster_at(cluster, slot);

	for (int i = 0; index != LSH_NO_SERVER && i < CLUSTER_NODES; i++)
		if (cluster_port(servers, i) == lsh_cluster_server(cluster, index)->port)
			return i;
	return -1;
}

/* Of any bytes, and of few: the shortest are there many times, and so "{}", "a{}b" and the like. */
SENTENCE(a_key_has_the_slot_of_its_tag_or_of_all_of_it_as_the_server_says)
{
	struct server *server = cluster_node(servers, 0);
	uint64_t seed = 7;
	char key[64];

	for (int i = 0; i < 6000; i++) {
		size_t size = random_below(&seed, i % 2 == 0 ? 6 : sizeof key);

		for (size_t j = 0; j < size; j++)
			key[j] = i % 4 < 2 ? "{}ab\0\xff"[random_below(&seed, 6)] : (char)random_below(&seed, 256);
		assert_int_equal(lsh_slot_of(key, size), server_integer(server, "CLUSTER KEYSLOT %b", key, size));
	}
}

SENTENCE(the_map_is_that_of_the_cluster)
{
	int there = 0;

	for (unsigned slot = 0; slot < LSH_SLOTS; slot += 127)
		assert_int_equal(at(slot), cluster_master_of_slot(servers, (int)slot));
	for (int i = 0; i < LSH_SERVERS; i++)
		there += lsh_cluster_server(cluster, i) != NULL;
	assert_int_equal(there, CLUSTER_MASTERS);
}

SENTENCE(a_slot_that_moves_is_found_again) /* of which nobody is told */
{
	int from = at(6), to = (from + 1) % CLUSTER_MASTERS;

	cluster_move_slot(servers, 6, to);
	lsh_cluster_refresh(cluster);
	await_true(at(6) == to);
	cluster_move_slot(servers, 6, from);
}

SENTENCE(a_master_that_is_killed_is_replaced)
{
	int old = at(16383);
	server_kill(cluster_node(servers, old));
	int next = cluster_await_takeover(servers, old);
	lsh_cluster_refresh(cluster); /* as whoever's connection broke does */
	await_true(at(16383) == next);
	server_restart(cluster_node(servers, old));
	cluster_await_ok(servers);
}

/* What it says when it runs again was true once. */
SENTENCE(a_master_that_stood_still_is_not_believed)
{
	int old = at(0);
	server_pause(cluster_node(servers, old));
	int next = cluster_await_takeover(servers, old);
	lsh_cluster_refresh(cluster);
	await_true(at(0) == next);
	server_resume(cluster_node(servers, old));
	for (int64_t end = await_now_ns() + 3 * LSH_S; await_now_ns() < end; await_ms(1)) {
		lsh_cluster_refresh(cluster);
		assert_int_equal(at(0), next);
	}
	cluster_await_ok(servers);
}
