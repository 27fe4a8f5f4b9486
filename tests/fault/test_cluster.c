/* Locks in a cluster whose slot moves so that some of their keys are missing. What else befalls those whose slot moves:
 * the simulator (move), and the nemesis (slots-*). */
#include "tests/support/actor.h"
#include "tests/support/cluster.h"
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/test.h"

static leash_error err; /* what the last call said */

/* One who waits says its words, and gets the lock by them. Another one is dead, so whoever released it hands it on when
 * the move is over, and throws that place away. */
SENTENCE(a_hold_is_released_by_hdel_where_keys_are_missing_and_handed_on_when_the_move_is_over)
{
	struct cluster *cluster = cluster_start(&(struct nodes_options){.no_replicas = true});
	afterwards(nodes_stop, cluster);
	leash_client *client = kept(leashed_open(cluster_uri(cluster), LEASH_OPTIONS(.lease_ms = 9000)));
	leash_client *other = kept(leashed_open(cluster_uri(cluster), LEASH_OPTIONS(.lease_ms = 3000)));
	leash_lock *lock = kept(leashed_lock(client, "torn", NULL));
	static struct actor actor;
	int slot = cluster_slot("leash:{torn}"), at = cluster_master_of_slot(cluster, slot);

	actor_begin(&actor, leashed_lock(other, "torn", NULL), LEASH_FOREVER);
	for (int dead = 0; dead < 2; dead++, at = cluster_master_of_slot(cluster, slot)) {
		struct server *from = cluster_node(cluster, at);
		int64_t hdel = server_calls(from, "hdel");

		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		if (dead)
			server_integer(from, "ZADD leash:{torn}:queue 1 %s", "01234567-89ab-cdef-0123-456789abcdef:1 3000");
		else
			actor_tell(&actor, actor_acquire);
		await_true(server_integer(from, "ZCOUNT leash:{torn}:queue (0 +inf") == 1);
		cluster_move_begin(cluster, slot, (at + 1) % CLUSTER_MASTERS);
		server_integer(from, "DEL leash:{torn}:fence"); /* so that one is missing: TRYAGAIN */
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		assert_true(server_calls(from, "hdel") > hdel); /* and no script, which would have handed it on */
		assert_int_equal(server_integer(from, "CLUSTER COUNTKEYSINSLOT %d", slot), 1); /* the queue */
		/* whoever tries meanwhile is told what is in the way */
		do
			assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 300, &err));
		while (strstr(err.text, "TRYAGAIN") == NULL); /* but for an answer that comes late */
		cluster_move_end(cluster, slot);
		if (!dead) {
			assert_heard(LEASH_OK, &actor);
			assert_done(LEASH_OK, &actor, actor_release);
		}
		await_true(cluster_keys(cluster, "leash:{torn}*", false) == cluster_keys(cluster, "leash:{torn}:fence", false));
	}
	actor_dismiss(&actor);
	assert_int_equal(cluster_keys(cluster, "leash:*", true), 0);
}
