/* Locks in a cluster: a slot that moves while its lock is held, and waited for. */
#include "tests/contract/actor.h"
#include "tests/support/cluster.h"
#include "tests/support/leashed.h"
#include "tests/support/test.h"

static _Thread_local leash_error err; /* what the last call said */

static struct cluster *cluster;
static struct leashed_events events;

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

/* A lock of one client's, and an actor of another one's who wants it, too. */
struct scene {
	leash_client *client, *other;
	leash_lock *lock;
	struct actor actor;
	char key[40];
	int slot, from, to;
};

static void
set(struct scene *s, const char *name)
{
	memset(&events, 0, sizeof events);
	*s = (struct scene){.client = leashed_open(cluster_uri(cluster), LEASH_OPTIONS(.lease_ms = 3000, .event_arg = &events,
	                                                                              .on_event = leashed_note_event))};
	s->other = leashed_open(cluster_uri(cluster), LEASH_OPTIONS(.lease_ms = 3000));
	s->lock = leashed_lock(s->client, name, NULL);
	actor_begin(&s->actor, leashed_lock(s->other, name, NULL), LEASH_FOREVER);
	snprintf(s->key, sizeof s->key, "leash:{%s}", name);
	s->slot = cluster_slot(s->key);
	s->from = cluster_master_of_slot(cluster, s->slot);
	s->to = (s->from + 1) % CLUSTER_MASTERS;
}

/* Nothing is left over but fences, and those do not last. */
static void
strike(struct scene *s)
{
	actor_dismiss(&s->actor);
	leash_lock_free(s->lock);
	leash_close(s->other);
	leash_close(s->client);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	await_true(cluster_keys(cluster, "leash:*", false) == cluster_keys(cluster, "leash:*:fence", false));
	assert_int_equal(cluster_keys(cluster, "leash:*", true), 0);
}

static void
await_queue(struct scene *s, int node, int64_t waiting)
{
	await_true(server_integer(cluster_node(cluster, node), "ZCOUNT %s:queue (0 +inf", s->key) == waiting);
}

SENTENCE(a_hold_is_renewed_and_released_in_the_middle_of_a_move)
{
	struct scene s;
	struct server *from, *to;
	int64_t there;

	set(&s, "half-way");
	from = cluster_node(cluster, s.from);
	to = cluster_node(cluster, s.to);
	assert_status(LEASH_OK, leash_lock_acquire(s.lock, 0, &err));
	actor_tell(&s.actor, actor_acquire);
	await_queue(&s, s.from, 1);

	cluster_move_begin(cluster, s.slot, s.to);
	assert_status(LEASH_OK, leash_lock_extend(s.lock, 3000, &err)); /* where it still is */
	while (cluster_move_keys(cluster, s.slot, 1) > 0)
		assert_status(LEASH_OK, leash_lock_extend(s.lock, 3000, &err));
	assert_int_equal(server_integer(from, "CLUSTER COUNTKEYSINSLOT %d", s.slot), 0);
	assert_int_equal(server_integer(to, "CLUSTER COUNTKEYSINSLOT %d", s.slot), 3);
	there = server_calls(to, "asking");
	assert_status(LEASH_OK, leash_lock_extend(s.lock, 4000, &err));
	assert_true(server_calls(to, "asking") > there);
	/* a renewal of the keeper's own, and words of the other one go there as well */
	there = server_calls(to, "asking");
	await_true(server_calls(to, "asking") > there + 3);
	assert_true(leash_lock_held(s.lock));

	assert_status(LEASH_OK, leash_lock_release(s.lock, &err));
	assert_int_equal(server_integer(to, "CLUSTER COUNTKEYSINSLOT %d", s.slot), 2);
	cluster_move_end(cluster, s.slot);
	assert_heard(LEASH_OK, &s.actor);
	assert_done(LEASH_OK, &s.actor, actor_release);
	strike(&s);
}

SENTENCE(a_hold_is_released_by_hdel_where_keys_are_missing_and_the_next_word_hands_the_lock_on)
{
	struct scene s;
	struct server *from;
	int64_t hdel;

	set(&s, "torn");
	from = cluster_node(cluster, s.from);
	assert_status(LEASH_OK, leash_lock_acquire(s.lock, 0, &err));
	actor_tell(&s.actor, actor_acquire);
	await_queue(&s, s.from, 1);
	cluster_move_begin(cluster, s.slot, s.to);
	server_integer(from, "DEL %s:fence", s.key); /* so that one is missing: TRYAGAIN, also when all others are moved */
	hdel = server_calls(from, "hdel");
	assert_status(LEASH_OK, leash_lock_release(s.lock, &err));
	assert_int_equal(server_calls(from, "hdel"), hdel + 1);
	assert_int_equal(server_integer(from, "CLUSTER COUNTKEYSINSLOT %d", s.slot), 1); /* the queue */
	assert_false(actor_is_done(&s.actor));
	/* whoever tries meanwhile is told what is in the way */
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(s.lock, 300, &err));
	assert_non_null(strstr(err.text, "TRYAGAIN"));
	cluster_move_end(cluster, s.slot);
	assert_heard(LEASH_OK, &s.actor);
	assert_done(LEASH_OK, &s.actor, actor_release);
	strike(&s);
}

/* Who waits is dead, and says no word: whoever released it hands it on, and throws that place away. */
SENTENCE(what_was_released_in_a_moving_slot_is_handed_on_when_that_is_over)
{
	struct scene s;
	struct server *from;

	set(&s, "left-behind");
	from = cluster_node(cluster, s.from);
	assert_status(LEASH_OK, leash_lock_acquire(s.lock, 0, &err));
	assert_int_equal(server_integer(from, "ZADD %s:queue 1 %s", s.key, "01234567-89ab-cdef-0123-456789abcdef:1 3000"), 1);
	cluster_move_begin(cluster, s.slot, s.to);
	server_integer(from, "DEL %s:fence", s.key);
	assert_status(LEASH_OK, leash_lock_release(s.lock, &err));
	assert_int_equal(server_integer(from, "EXISTS %s:queue", s.key), 1);
	cluster_move_end(cluster, s.slot);
	await_true(server_integer(cluster_node(cluster, s.to), "EXISTS %s:queue", s.key) == 0);
	strike(&s);
}
