/* Deployments for tests are what they say, where a test would pass in one that is not: links that are held, and what is
 * counted over several servers. */
#include "tests/support/deployment.h"
#include "tests/support/node.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/test.h"

/* That a link was there to be held, in any deployment, is found by who holds it. */
SENTENCE(what_a_held_link_of_a_set_has_not_brought_is_lost_by_a_failover)
{
	struct sentinel_set *set = sentinel_set_start(&(struct nodes_options){ .doors = true });
	const struct node *nodes = sentinel_set_nodes(set);
	struct server *master = sentinel_set_master(set);

	server_text(master, "SET before kept");
	sentinel_set_await_synced(set);
	nodes_hold_link(nodes, 0, 1);
	server_text(master, "SET key late");
	assert_int_equal(server_integer(master, "WAIT 1 10000"), 1);
	assert_int_equal(server_integer(master, "WAIT 2 300"), 1);
	nodes_let_links_go(nodes, SENTINEL_SERVERS);
	sentinel_set_await_synced(set);
	nodes_hold_link(nodes, 0, 1);
	nodes_hold_link(nodes, 0, 2);
	server_text(master, "SET after lost");
	assert_int_equal(server_integer(master, "WAIT 1 300"), 0);
	server_kill(sentinel_set_server(set, 0));
	sentinel_set_await_failover(set, 0);
	assert_string_equal(server_text(sentinel_set_master(set), "GET before"), "kept");
	assert_null(server_text(sentinel_set_master(set), "GET after"));
	sentinel_set_stop(set);
}

SENTENCE(keys_are_counted_over_all_servers_of_any_deployment)
{
	static const size_t masters[] = {
		[DEPLOYMENT_SINGLE] = 1, [DEPLOYMENT_TLS] = 1, [DEPLOYMENT_SENTINEL] = 1, [DEPLOYMENT_CLUSTER] = 3, [DEPLOYMENT_QUORUM] = 5,
	};

	for (int kind = 0; kind < DEPLOYMENT_KINDS; kind++) {
		struct deployment *d = deployment_start_with((enum deployment_kind)kind, NULL);
		bool quorum = kind == DEPLOYMENT_QUORUM;

		assert_int_equal(deployment_kind(d), kind);
		assert_int_equal(deployment_masters(d), masters[kind]);
		for (size_t i = 0; quorum && i < 5; i++)
			server_text(deployment_master(d, i), "SET leash:{a} 1 PX 100000");
		deployment_text(d, "leash:{a}", "SET %s 1 PX 100000", "leash:{a}");
		deployment_text(d, "leash:{b}", "SET %s 2", "leash:{b}");
		assert_string_equal(deployment_text(d, "leash:{a}", "GET %s", "leash:{a}"), "1");
		assert_int_equal(deployment_keys(d, "leash:*"), quorum ? 6 : 2);
		assert_int_equal(deployment_lasting_keys(d, "leash:*"), 1);
		deployment_stop(d);
	}
}
