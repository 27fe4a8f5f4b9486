/* A slot that moves while a lock in it is released: as long as its keys are in two places no script can hand it on, and a release is HDEL
 * alone. Whoever released it hands it on as soon as that is over, and does not storm the servers until then. */
#include "tests/support/cluster.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/test.h"

static leash_error err; /* what the last call said */

static struct cluster *cluster;

/* A lock that is held, in a slot that is about to move, and waited for by a client that died: it says no word, and whoever hands the lock
 * on throws its place away. */
struct scene {
	leash_client *client;
	leash_lock *lock;
	char key[40];
	int slot;
	struct server *from, *to;
	int target;
};

static void
set(struct scene *s, const char *name)
{
	int from;

	s->client = leashed_open(cluster_uri(cluster), LEASH_OPTIONS(.lease_ms = 60000));
	s->lock = leashed_lock(s->client, name, NULL);
	snprintf(s->key, sizeof s->key, "leash:{%s}", name);
	s->slot = cluster_slot(s->key);
	from = cluster_master_of_slot(cluster, s->slot);
	s->target = (from + 1) % CLUSTER_MASTERS;
	s->from = cluster_node(cluster, from);
	s->to = cluster_node(cluster, s->target);
	assert_status(LEASH_OK, leash_lock_acquire(s->lock, 30000, &err));
}

static void
die_in_its_queue(struct scene *s)
{
	assert_int_equal(server_integer(s->from, "ZADD %s:queue 1 %s", s->key, "01234567-89ab-cdef-0123-456789abcdef:1 3000"), 1);
}

static void
strike(struct scene *s)
{
	assert_status(LEASH_OK, leash_lock_acquire(s->lock, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(s->lock, &err));
	leash_lock_free(s->lock);
	leash_close(s->client);
	await_true(cluster_keys(cluster, "leash:*") == cluster_keys(cluster, "leash:*:fence"));
}

static void
start(void)
{
	cluster = cluster_start(&(struct cluster_options){.no_replicas = true});
}

static void
stop(void)
{
	cluster_stop(cluster);
}

GROUP(start, stop);

SENTENCE(what_was_released_in_a_moving_slot_is_handed_on_when_that_is_over)
{
	struct scene s;

	for (int stays = 0; stays < 2; stays++) {
		struct server *at;

		set(&s, stays ? "staying" : "torn");
		at = stays ? s.from : s.to;
		die_in_its_queue(&s);
		cluster_move_begin(cluster, s.slot, s.target);
		server_integer(s.from, "DEL %s:fence", s.key); /* one key is missing: TRYAGAIN */
		assert_status(LEASH_OK, leash_lock_release(s.lock, &err));
		assert_int_equal(server_integer(s.from, "EXISTS %s:queue", s.key), 1);
		(stays ? cluster_move_undo : cluster_move_end)(cluster, s.slot);
		await_true(server_integer(at, "EXISTS %s:queue", s.key) == 0);
		strike(&s);
	}
}

/* All keys have moved, but nobody waits, and so one is missing there, too. */
SENTENCE(while_it_moves_few_commands_are_sent)
{
	struct monitor *monitor[2];
	struct scene s;
	size_t n = 0;

	set(&s, "patient");
	cluster_move_begin(cluster, s.slot, s.target);
	while (cluster_move_keys(cluster, s.slot, 1) > 0)
		;
	monitor[0] = monitor_start(s.from);
	monitor[1] = monitor_start(s.to);
	assert_status(LEASH_OK, leash_lock_release(s.lock, &err));
	await_ms(1000);
	for (int i = 0; i < 2; i++) {
		n += monitor_count(monitor[i], NULL);
		monitor_stop(monitor[i]);
	}
	print_message("%zu commands in a second\n", n);
	assert_true(n < 100);
	cluster_move_end(cluster, s.slot);
	strike(&s);
}
