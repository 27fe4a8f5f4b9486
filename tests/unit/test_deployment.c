/* Deployments for tests are what they say: sets that fail over, clusters whose slots move, links that are held. */
#include "tests/support/cluster.h"
#include "tests/support/deployment.h"
#include "tests/support/quorum.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/test.h"

static const char *
get(struct server *server, const char *key)
{
	const char *text = server_text(server, "GET %s", key);

	return text ? text : "(nil)";
}

/* ---- sentinels ---- */

SENTENCE(a_set_has_a_master_that_its_sentinels_agree_about_and_replicas_that_have_all)
{
	struct sentinel_set *set = sentinel_set_start(NULL);

	assert_int_equal(sentinel_set_master_number(set), 0);
	assert_ptr_equal(sentinel_set_master(set), sentinel_set_server(set, 0));
	assert_int_equal(sentinel_set_await_failover(set, -1), 0);
	for (int i = 0; i < 50; i++)
		server_text(sentinel_set_master(set), "SET key%d %d EX 100", i, i);
	sentinel_set_await_synced(set);
	for (int i = 1; i < SENTINEL_SERVERS; i++)
		assert_string_equal(get(sentinel_set_server(set, i), "key49"), "49");
	assert_int_equal(server_integer(sentinel_set_master(set), "WAIT 2 10000"), 2);
	assert_non_null(strstr(sentinel_set_uri(set), sentinel_set_hosts(set)));
	assert_int_equal(sentinel_set_switches(set), 0);
	sentinel_set_stop(set);
}

SENTENCE(a_master_that_was_killed_is_replaced_and_comes_back_as_a_replica)
{
	struct sentinel_set *set = sentinel_set_start(NULL);
	int master;

	server_text(sentinel_set_master(set), "SET key kept");
	sentinel_set_await_synced(set);
	server_kill(sentinel_set_server(set, 0));
	sentinel_set_await_switch(set, 0);
	master = sentinel_set_await_failover(set, 0);
	assert_true(master == 1 || master == 2);
	assert_string_equal(get(sentinel_set_master(set), "key"), "kept");
	server_restart(sentinel_set_server(set, 0));
	sentinel_set_await_synced(set);
	assert_string_equal(get(sentinel_set_server(set, 0), "key"), "kept");
	assert_int_equal(sentinel_set_master_number(set), master);
	sentinel_set_stop(set);
}

SENTENCE(a_master_that_stands_still_is_replaced_by_two_sentinels_of_three)
{
	struct sentinel_set *set = sentinel_set_start(NULL);
	int master;

	server_pause(sentinel_set_sentinel(set, 0));
	server_pause(sentinel_set_server(set, 0));
	master = sentinel_set_await_failover(set, 0);
	assert_true(master != 0 && sentinel_set_replica_number(set) != 0);
	server_resume(sentinel_set_server(set, 0));
	server_resume(sentinel_set_sentinel(set, 0));
	assert_int_equal(sentinel_set_await_failover(set, 0), master);
	sentinel_set_await_synced(set);
	sentinel_set_stop(set);
}

SENTENCE(a_failover_can_be_had_without_a_fault_and_passwords_are_asked_for)
{
	struct sentinel_set *set = sentinel_set_start(&(struct sentinel_options){ .password = "data-word", .sentinel_password = "watch-word" });
	redisContext *c = redisConnect("127.0.0.1", sentinel_set_port(set, 0));
	redisReply *reply = redisCommand(c, "PING");
	int master;

	assert_true(reply && strncmp(reply->str, "NOAUTH", 6) == 0);
	freeReplyObject(reply);
	redisFree(c);
	c = redisConnect("127.0.0.1", server_port(sentinel_set_sentinel(set, 0)));
	reply = redisCommand(c, "SENTINEL MASTERS");
	assert_true(reply && strncmp(reply->str, "NOAUTH", 6) == 0);
	freeReplyObject(reply);
	redisFree(c);
	server_text(sentinel_set_master(set), "SET key kept");
	sentinel_set_await_synced(set);
	master = sentinel_set_failover(set);
	assert_int_not_equal(master, 0);
	assert_string_equal(get(sentinel_set_master(set), "key"), "kept");
	sentinel_set_stop(set);
}

SENTENCE(what_a_held_link_has_not_brought_is_lost_by_a_failover)
{
	struct sentinel_set *set = sentinel_set_start(&(struct sentinel_options){ .doors = true });

	server_text(sentinel_set_master(set), "SET before kept");
	sentinel_set_await_synced(set);
	sentinel_set_hold_replication(set);
	server_text(sentinel_set_master(set), "SET after lost");
	assert_int_equal(server_integer(sentinel_set_master(set), "WAIT 1 300"), 0);
	server_kill(sentinel_set_server(set, 0));
	sentinel_set_await_failover(set, 0);
	assert_string_equal(get(sentinel_set_master(set), "before"), "kept");
	assert_string_equal(get(sentinel_set_master(set), "after"), "(nil)");
	sentinel_set_stop(set);
}

SENTENCE(one_link_can_be_held_and_brings_all_when_it_goes_on)
{
	struct sentinel_set *set = sentinel_set_start(&(struct sentinel_options){ .doors = true });
	struct server *master = sentinel_set_master(set);

	server_text(master, "SET key early");
	assert_int_equal(server_integer(master, "WAIT 2 10000"), 2);
	sentinel_set_hold_link(set, 0, 1);
	server_text(master, "SET key late");
	assert_int_equal(server_integer(master, "WAIT 1 10000"), 1);
	assert_int_equal(server_integer(master, "WAIT 2 300"), 1);
	assert_string_equal(get(sentinel_set_server(set, 2), "key"), "late");
	assert_string_equal(get(sentinel_set_server(set, 1), "key"), "early");
	sentinel_set_unhold_link(set, 0, 1);
	sentinel_set_await_synced(set);
	assert_string_equal(get(sentinel_set_server(set, 1), "key"), "late");
	assert_int_equal(sentinel_set_switches(set), 0);
	sentinel_set_stop(set);
}

/* ---- clusters ---- */

/* What a client without a map is told that asks a node, at the port that clients know: "MOVED 1 127.0.0.1:2", or the value. To be freed. */
static char *
ask(struct cluster *cluster, int node, const char *command, const char *key)
{
	redisContext *c = redisConnect("127.0.0.1", cluster_port(cluster, node));
	redisReply *reply;
	char *text;

	assert_true(c && !c->err);
	reply = redisCommand(c, "%s %s", command, key);
	assert_non_null(reply);
	text = strdup(reply->str ? reply->str : "(nil)");
	assert_non_null(text);
	freeReplyObject(reply);
	redisFree(c);
	return text;
}

static void
assert_asked(struct cluster *cluster, int node, const char *key, const char *format, int slot, int other)
{
	char *text = ask(cluster, node, "GET", key), expected[64];

	snprintf(expected, sizeof expected, format, slot, cluster_port(cluster, other));
	assert_string_equal(text, expected);
	free(text);
}

SENTENCE(a_cluster_serves_all_slots_and_moves_one_key_by_key)
{
	struct cluster *cluster = cluster_start(NULL);
	char name[CLUSTER_NAME], key[CLUSTER_NAME + 16], lasting[CLUSTER_NAME + 16], missing[CLUSTER_NAME + 16];
	struct server *from;

	for (int slot = 0; slot < CLUSTER_SLOTS; slot += 1931) {
		cluster_name_in_slot(slot, name);
		snprintf(key, sizeof key, "leash:{%s}", name);
		assert_int_equal(cluster_slot(key), slot);
		assert_int_equal(server_integer(cluster_node(cluster, 0), "CLUSTER KEYSLOT %s", key), slot);
		assert_int_equal(cluster_master_of(cluster, key), slot * 3 / CLUSTER_SLOTS);
		server_text(cluster_server_of(cluster, key), "SET %s here PX 100000", key);
	}
	assert_int_equal(cluster_slot("no tag"), server_integer(cluster_node(cluster, 0), "CLUSTER KEYSLOT %s", "no tag"));
	assert_int_equal(cluster_slot("a{}b{c}"), server_integer(cluster_node(cluster, 0), "CLUSTER KEYSLOT %s", "a{}b{c}"));
	assert_int_equal(cluster_keys(cluster, "leash:*"), 9);
	assert_int_equal(cluster_lasting_keys(cluster, "*"), 0);

	cluster_name_in_slot(0, name);
	snprintf(key, sizeof key, "leash:{%s}", name);
	snprintf(lasting, sizeof lasting, "leash:{%s}:other", name);
	from = cluster_server_of(cluster, key);
	server_text(from, "SET %s there", lasting);
	assert_int_equal(cluster_lasting_keys(cluster, "*"), 1);
	assert_asked(cluster, 2, key, "MOVED %d 127.0.0.1:%d", 0, 0);
	cluster_move_begin(cluster, 0, 2);
	assert_asked(cluster, 0, key, "here", 0, 0);
	snprintf(missing, sizeof missing, "leash:{%s}:none", name);
	assert_asked(cluster, 0, missing, "ASK %d 127.0.0.1:%d", 0, 2);
	assert_int_equal(cluster_move_keys(cluster, 0, 1), 1);
	assert_int_equal(cluster_keys(cluster, "leash:*"), 10);
	assert_int_equal(cluster_lasting_keys(cluster, "*"), 1);
	assert_int_equal(cluster_master_of_slot(cluster, 0), 0);
	cluster_move_undo(cluster, 0);
	assert_string_equal(get(from, key), "here");
	assert_string_equal(get(from, lasting), "there");

	cluster_move_begin(cluster, 0, 2);
	assert_int_equal(cluster_move_keys(cluster, 0, 9), 2);
	assert_asked(cluster, 0, key, "ASK %d 127.0.0.1:%d", 0, 2);
	assert_asked(cluster, 2, key, "MOVED %d 127.0.0.1:%d", 0, 0);
	/* as after a failover, of a replica that had not heard that it is gone */
	server_text(from, "CLUSTER SETSLOT 0 STABLE");
	server_text(from, "SET %s again", lasting);
	server_text(from, "CLUSTER SETSLOT 0 MIGRATING %s", cluster_id(cluster, 2));
	cluster_move_end(cluster, 0);
	assert_asked(cluster, 0, key, "MOVED %d 127.0.0.1:%d", 0, 2);
	assert_int_equal(cluster_master_of_slot(cluster, 0), 2);
	assert_string_equal(get(cluster_server_of(cluster, key), key), "here");
	assert_string_equal(get(cluster_server_of(cluster, key), lasting), "again");
	cluster_await_ok(cluster);
	cluster_move_slot(cluster, 0, 1);
	assert_string_equal(get(cluster_node(cluster, 1), key), "here");
	assert_int_equal(cluster_keys(cluster, "leash:*"), 10);
	cluster_stop(cluster);
}

SENTENCE(a_replica_takes_over_from_a_master_that_is_dead_or_stands_still_or_is_told_to_go)
{
	struct cluster *cluster = cluster_start(&(struct cluster_options){ .password = "cluster-word" });
	char name[CLUSTER_NAME];
	char *text;

	text = ask(cluster, 0, "GET", "any");
	assert_non_null(strstr(text, "NOAUTH"));
	free(text);
	for (int i = 0; i < CLUSTER_MASTERS; i++) {
		cluster_name_in_slot(i * 6000, name);
		server_text(cluster_node(cluster, i), "SET %s %d", name, i);
		assert_int_equal(cluster_replica_of(cluster, i), i + 3);
	}
	cluster_await_synced(cluster);

	assert_int_equal(cluster_failover(cluster, 0), 3);
	server_kill(cluster_node(cluster, 1));
	assert_int_equal(cluster_await_takeover(cluster, 1), 4);
	server_pause(cluster_node(cluster, 2));
	assert_int_equal(cluster_await_takeover(cluster, 2), 5);
	cluster_await_ok(cluster);
	for (int i = 0; i < CLUSTER_MASTERS; i++) {
		cluster_name_in_slot(i * 6000, name);
		assert_int_equal(cluster_master_of(cluster, name), i + 3);
		assert_int_equal(atoi(get(cluster_server_of(cluster, name), name)), i);
	}
	server_resume(cluster_node(cluster, 2));
	server_restart(cluster_node(cluster, 1));
	await_true_for(cluster_replica_of(cluster, 4) == 1 && cluster_replica_of(cluster, 5) == 2, 60);
	cluster_await_ok(cluster);
	cluster_await_synced(cluster);
	assert_int_equal(cluster_keys(cluster, "*"), 3);
	assert_int_equal(cluster_failover(cluster, 4), 1);
	cluster_stop(cluster);
}

SENTENCE(nodes_with_doors_tell_their_doors_and_a_held_link_loses_what_it_has_not_brought)
{
	struct cluster *cluster = cluster_start(&(struct cluster_options){ .doors = true });
	char before[CLUSTER_NAME], after[CLUSTER_NAME];
	int64_t began_ns;

	cluster_name_in_slot(1, before);
	cluster_name_in_slot(2, after);
	assert_int_not_equal(cluster_port(cluster, 0), server_port(cluster_node(cluster, 0)));
	assert_asked(cluster, 1, before, "MOVED %d 127.0.0.1:%d", 1, 0);
	server_text(cluster_node(cluster, 0), "SET %s kept", before);
	cluster_await_synced(cluster);
	cluster_hold_link(cluster, 0, 3);
	server_text(cluster_node(cluster, 0), "SET %s lost", after);
	assert_int_equal(server_integer(cluster_node(cluster, 0), "WAIT 1 300"), 0);
	server_kill(cluster_node(cluster, 0));
	assert_int_equal(cluster_await_takeover(cluster, 0), 3);
	cluster_unhold_all(cluster);
	assert_string_equal(get(cluster_server_of(cluster, before), before), "kept");
	assert_string_equal(get(cluster_server_of(cluster, after), after), "(nil)");

	cluster_delay(cluster, 20000);
	began_ns = await_now_ns();
	free(ask(cluster, 1, "GET", before));
	assert_true(await_now_ns() - began_ns >= INT64_C(40000000));
	cluster_stop(cluster);
}

/* ---- quorums ---- */

SENTENCE(the_servers_of_a_quorum_know_nothing_of_each_other)
{
	struct quorum *q = quorum_start(&(struct quorum_options){ .doors = true });
	redisContext *c;
	redisReply *reply;
	int64_t began_ns;

	assert_int_equal(quorum_count(q), 5);
	for (int i = 0; i < 5; i++)
		server_text(quorum_server(q, i), "SET key %d", i);
	server_text(quorum_server(q, 1), "PEXPIRE key 100000");
	assert_int_equal(quorum_having(q, "key"), 5);
	assert_int_equal(quorum_keys(q, "k*"), 5);
	assert_int_equal(quorum_lasting_keys(q, "k*"), 4);
	server_kill(quorum_server(q, 0));
	server_pause(quorum_server(q, 3));
	assert_int_equal(quorum_having(q, "key"), 3);
	server_restart(quorum_server(q, 0));
	server_resume(quorum_server(q, 3));
	assert_int_equal(quorum_having(q, "key"), 4);
	for (int i = 0; i < 5; i++)
		assert_non_null(strstr(quorum_uri(q), proxy_target(quorum_door(q, i))));
	assert_non_null(strstr(quorum_uri_guarded(q, 30000), "?restart_guard=30000"));

	quorum_delay(q, 20000);
	c = redisConnect("127.0.0.1", atoi(strchr(proxy_target(quorum_door(q, 4)), ':') + 1));
	began_ns = await_now_ns();
	reply = redisCommand(c, "GET key");
	assert_string_equal(reply->str, "4");
	assert_true(await_now_ns() - began_ns >= INT64_C(40000000));
	freeReplyObject(reply);
	redisFree(c);
	quorum_stop(q);
}

/* ---- TLS ---- */

/* What is said without TLS to the port that clients know gets no answer but an end. */
static void
assert_speaks_tls_alone(int port)
{
	redisContext *c = redisConnectWithTimeout("127.0.0.1", port, (struct timeval){ .tv_sec = 30 });
	redisReply *reply;

	assert_true(c && !c->err);
	redisSetTimeout(c, (struct timeval){ .tv_sec = 30 });
	reply = redisCommand(c, "PING");
	assert_null(reply);
	redisFree(c);
}

SENTENCE(all_of_it_speaks_tls_where_that_is_wanted)
{
	struct sentinel_set *set = sentinel_set_start(&(struct sentinel_options){ .tls = true, .doors = true, .password = "word" });
	struct cluster *cluster;
	struct quorum *quorum;

	for (int i = 0; i < SENTINEL_SERVERS; i++) {
		assert_speaks_tls_alone(sentinel_set_port(set, i));
		assert_speaks_tls_alone(server_port(sentinel_set_sentinel(set, i)));
	}
	sentinel_set_hold_link(set, 0, 1);
	server_text(sentinel_set_master(set), "SET key late");
	assert_int_equal(server_integer(sentinel_set_master(set), "WAIT 1 10000"), 1);
	assert_int_equal(server_integer(sentinel_set_master(set), "WAIT 2 300"), 1);
	sentinel_set_unhold_replication(set);
	sentinel_set_await_synced(set);
	assert_int_not_equal(sentinel_set_failover(set), 0);
	assert_non_null(strstr(sentinel_set_uri(set), "rediss+sentinel://:word@127.0.0.1:"));
	assert_non_null(strstr(sentinel_set_uri(set), "?cafile=/"));
	sentinel_set_stop(set);

	cluster = cluster_start(&(struct cluster_options){ .tls = true });
	assert_speaks_tls_alone(cluster_port(cluster, 3));
	server_text(cluster_node(cluster, 2), "SET {a}b 1");   /* slot 15495 */
	cluster_move_slot(cluster, cluster_slot("{a}b"), 0);
	assert_string_equal(get(cluster_node(cluster, 0), "{a}b"), "1");
	assert_int_equal(cluster_failover(cluster, 0), 3);
	assert_string_equal(get(cluster_node(cluster, 3), "{a}b"), "1");
	cluster_stop(cluster);

	quorum = quorum_start(&(struct quorum_options){ .tls = true, .count = 3 });
	assert_speaks_tls_alone(server_port(quorum_server(quorum, 2)));
	assert_non_null(strstr(quorum_uri(quorum), "rediss+quorum://"));
	quorum_stop(quorum);
}

/* ---- any ---- */

SENTENCE(any_deployment_is_asked_alike)
{
	static const enum deployment_kind kinds[] = { DEPLOYMENT_SINGLE, DEPLOYMENT_TLS, DEPLOYMENT_SENTINEL, DEPLOYMENT_CLUSTER,
	                                              DEPLOYMENT_QUORUM };
	static const size_t masters[] = { 1, 1, 1, 3, 5 };

	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		struct deployment *d = deployment_start(kinds[k]);
		bool quorum = kinds[k] == DEPLOYMENT_QUORUM;
		redisContext *c;

		assert_int_equal(deployment_kind(d), kinds[k]);
		assert_int_equal(deployment_masters(d), masters[k]);
		for (size_t i = 0; quorum && i < 5; i++)
			server_text(deployment_master(d, i), "SET leash:{a} 1 PX 100000");
		deployment_text(d, "leash:{a}", "SET %s 1 PX 100000", "leash:{a}");
		deployment_text(d, "leash:{b}", "SET %s 2", "leash:{b}");
		assert_string_equal(deployment_text(d, "leash:{a}", "GET %s", "leash:{a}"), "1");
		assert_int_equal(deployment_keys(d, "leash:*"), quorum ? 6 : 2);
		assert_int_equal(deployment_lasting_keys(d, "leash:*"), 1);
		assert_int_equal(deployment_delete(d, "leash:{a}"), quorum ? 5 : 1);
		assert_int_equal(deployment_keys(d, "leash:*"), 1);
		assert_int_equal(deployment_channels(d, "word*"), 0);
		c = server_connect(deployment_master(d, 0));
		freeReplyObject(redisCommand(c, "SUBSCRIBE word1"));
		assert_int_equal(deployment_channels(d, "word*"), 1);
		redisFree(c);
		if (kinds[k] == DEPLOYMENT_TLS)
			assert_speaks_tls_alone(atoi(strrchr(deployment_uri(d), ':') + 1));
		deployment_pause(d);
		deployment_resume(d);
		assert_string_equal(deployment_text(d, "leash:{b}", "GET %s", "leash:{b}"), "2");
		deployment_stop(d);
	}
}
