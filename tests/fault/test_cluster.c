/* Locks in a cluster: wherever a slot is, and wherever it goes while its lock is held and waited for. */
#include "tests/contract/actor.h"
#include "tests/support/cluster.h"
#include "tests/support/fake.h"
#include "tests/support/leashed.h"
#include "tests/support/test.h"

#include <unistd.h>

static _Thread_local leash_error err; /* what the last call said */

static struct cluster *cluster;
static struct leashed_events events;

static leash_client *
open_client(void)
{
	memset(&events, 0, sizeof events);
	return leashed_open(cluster_uri(cluster), LEASH_OPTIONS(.lease_ms = 3000, .on_event = leashed_note_event, .event_arg = &events));
}

/* Nothing is left over but fences, and those do not last. */
static void
check_that_all_is_gone(void)
{
	await_true(cluster_keys(cluster, "leash:*") == cluster_keys(cluster, "leash:*:fence"));
	assert_int_equal(cluster_lasting_keys(cluster, "leash:*"), 0);
}

static void
stop(void)
{
	cluster_stop(cluster);
}

static void
start(void)
{
	cluster = cluster_start(&(struct cluster_options){.no_replicas = true});
}

/* ---- slots that move ---- */

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
	*s = (struct scene){.client = open_client()};
	s->other = leashed_open(cluster_uri(cluster), LEASH_OPTIONS(.lease_ms = 3000));
	s->lock = leashed_lock(s->client, name, NULL);
	actor_begin(&s->actor, leashed_lock(s->other, name, NULL), LEASH_FOREVER);
	snprintf(s->key, sizeof s->key, "leash:{%s}", name);
	s->slot = cluster_slot(s->key);
	s->from = cluster_master_of_slot(cluster, s->slot);
	s->to = (s->from + 1) % CLUSTER_MASTERS;
}

static void
strike(struct scene *s)
{
	actor_dismiss(&s->actor);
	leash_lock_free(s->lock);
	leash_close(s->other);
	leash_close(s->client);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	check_that_all_is_gone();
}

static void
await_queue(struct scene *s, int node, int64_t waiting)
{
	await_true(server_integer(cluster_node(cluster, node), "ZCOUNT %s:queue (0 +inf", s->key) == waiting);
}

SENTENCE(a_hold_is_renewed_and_released_in_the_middle_of_a_move, BETWEEN(start, NULL))
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

/* ---- who looks ---- */

struct sight {
	int count, known;
};

static bool
see_lock(void *arg, const leash_lock_info *info)
{
	struct sight *sight = arg;

	sight->count++;
	sight->known += info->holder.pid == getpid();
	return true;
}

static bool
see_waiter(void *arg, const leash_waiter_info *waiter)
{
	struct sight *sight = arg;

	sight->count++;
	sight->known += waiter->who.pid == getpid();
	return true;
}

SENTENCE(who_looks_sees_all_of_the_cluster, BETWEEN(NULL, stop))
{
	enum { LOCKS = 40 };
	struct scene s;
	leash_lock *lock[LOCKS];
	struct sight sight = {0};
	leash_lock_info info = {.size = sizeof info};

	set(&s, "seen");
	assert_status(LEASH_OK, leash_lock_acquire(s.lock, 0, &err));
	actor_tell(&s.actor, actor_acquire);
	await_queue(&s, s.from, 1);
	for (int i = 0; i < LOCKS; i++) {
		char name[32];

		cluster_name_in_slot(i * (CLUSTER_SLOTS / LOCKS), name);
		lock[i] = leashed_lock(s.client, name, NULL);
		assert_status(LEASH_OK, leash_lock_acquire(lock[i], 0, &err));
	}
	await_true(cluster_keys(cluster, "leash:client:*") == 2);
	assert_status(LEASH_OK, leash_client_scan(s.client, NULL, see_lock, &sight, &err));
	assert_int_equal(sight.count, LOCKS + 1);
	assert_int_equal(sight.known, LOCKS + 1);
	cluster_move_slot(cluster, s.slot, s.to);
	sight = (struct sight){0};
	assert_status(LEASH_OK, leash_lock_waiters(s.lock, see_waiter, &sight, &err));
	assert_int_equal(sight.count, 1);
	assert_int_equal(sight.known, 1);
	assert_status(LEASH_OK, leash_lock_inspect(s.actor.lock, &info, &err));
	assert_true(info.held);
	assert_int_equal(info.holder.pid, getpid());
	assert_int_equal(info.waiting, 1);
	for (int i = 0; i < LOCKS; i++) {
		assert_status(LEASH_OK, leash_lock_release(lock[i], &err));
		leash_lock_free(lock[i]);
	}
	assert_status(LEASH_OK, leash_lock_release(s.lock, &err));
	assert_heard(LEASH_OK, &s.actor);
	assert_done(LEASH_OK, &s.actor, actor_release);
	strike(&s);
}

/* ---- servers that lie ---- */

static struct {
	struct fake *fake[2];
	int port[2];
	char words[2][128];      /* what each answers to a script */
	_Atomic int asked;
} liars;

static size_t
lie(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	int me = (int)(intptr_t)ctx;

	if (fake_is(argc, argv, argl, 0, "EVALSHA") || fake_is(argc, argv, argl, 0, "EVAL")) {
		liars.asked++;
		return fake_say(out, size, "-%s\r\n", liars.words[me]);
	}
	if (!fake_is(argc, argv, argl, 0, "CLUSTER"))
		return FAKE_DEFAULT;
	if (fake_is(argc, argv, argl, 1, "INFO"))
		return fake_say(out, size, "$18\r\ncluster_state:ok\r\n\r\n");
	return fake_say(out, size, "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n$40\r\n%040d\r\n", liars.port[0], 1);
}

static leash_lock *
lock_of_liars(leash_client **client, const char *query)
{
	char uri[128];

	memset(&liars, 0, sizeof liars);
	for (int i = 0; i < 2; i++) {
		liars.fake[i] = fake_start_tcp(lie, (void *)(intptr_t)i);
		liars.port[i] = atoi(strrchr(fake_uri(liars.fake[i]), ':') + 1);
	}
	snprintf(uri, sizeof uri, "redis+cluster://127.0.0.1:%d%s", liars.port[0], query);
	*client = leashed_open(uri, NULL);
	return leashed_lock(*client, "lied-to", NULL);
}

static void
end_lies(leash_client *client, leash_lock *lock)
{
	leash_lock_free(lock);
	leash_close(client);
	for (int i = 0; i < 2; i++)
		fake_stop(liars.fake[i]);
}

SENTENCE(who_is_sent_round_in_circles_is_told_so)
{
	static const char *const verbs[] = {"MOVED", "ASK"};
	enum { ASKED = 6 }; /* once, and after each of five redirections */

	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		leash_client *client;
		leash_lock *lock = lock_of_liars(&client, "");
		char other[64];

		for (int j = 0; j < 2; j++)
			snprintf(liars.words[j], sizeof liars.words[j], "%s %d 127.0.0.1:%d", verbs[i], cluster_slot("leash:{lied-to}"), liars.port[1 - j]);
		assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, LEASH_FOREVER, &err));
		assert_non_null(strstr(err.text, "5 times in a row"));
		assert_non_null(strstr(err.text, verbs[i]));
		snprintf(other, sizeof other, "127.0.0.1:%d", liars.port[0]);
		assert_non_null(strstr(err.text, other));
		/* an ASK is said again where there was no connection yet */
		assert_in_range(liars.asked, ASKED, i == 0 ? ASKED : 3 * ASKED);
		end_lies(client, lock);
	}
}

SENTENCE(nobody_is_sent_to_a_host_that_the_uri_does_not_allow)
{
	leash_client *client;
	leash_lock *lock = lock_of_liars(&client, "?redirects=127.0.0.1");

	snprintf(liars.words[0], sizeof liars.words[0], "MOVED %d evil.example:6379", cluster_slot("leash:{lied-to}"));
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	assert_non_null(strstr(err.text, "evil.example"));
	assert_non_null(strstr(err.text, "redirects"));
	assert_int_equal(liars.asked, 1);
	end_lies(client, lock);
}

SENTENCE(what_is_no_redirection_is_no_redis_server)
{
	static const char *const words[] = {"MOVED", "MOVED x y", "ASK 1", "MOVED 99999 127.0.0.1:1", "MOVED 1 127.0.0.1:0"};
	leash_client *client;
	leash_lock *lock = lock_of_liars(&client, "");

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		snprintf(liars.words[0], sizeof liars.words[0], "%s", words[i]);
		assert_status(LEASH_PROTOCOL, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	}
	end_lies(client, lock);
}

/* ---- what is down ---- */

SENTENCE(a_node_that_stands_still_delays_nobody_at_the_others)
{
	leash_client *client;
	leash_lock *stuck, *fine;
	char name[32];

	cluster = cluster_start(&(struct cluster_options){.no_replicas = true, .node_timeout_ms = 600000});
	memset(&events, 0, sizeof events);
	client = leashed_open(cluster_uri(cluster), LEASH_OPTIONS(.timeout_ms = 3000, .on_event = leashed_note_event, .event_arg = &events));
	cluster_name_in_slot(0, name);
	stuck = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.lease_ms = 6000));
	cluster_name_in_slot(CLUSTER_SLOTS - 1, name);
	fine = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.lease_ms = 1500, .on_event = leashed_note_event, .event_arg = &events));
	assert_status(LEASH_OK, leash_lock_acquire(stuck, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(fine, 0, &err));
	server_pause(cluster_node(cluster, 0));
	/* many renewals of the one, while one of the other is not answered */
	await_true_for(events.count[LEASH_EVENT_LOST] == 1, 60);
	assert_false(leash_lock_held(stuck));
	assert_true(leash_lock_held(fine));
	for (int i = 0; i < 50; i++) {
		assert_status(LEASH_OK, leash_lock_release(fine, &err));
		assert_status(LEASH_OK, leash_lock_acquire(fine, 0, &err));
	}
	assert_status(LEASH_OK, leash_lock_release(fine, &err));
	server_resume(cluster_node(cluster, 0));
	assert_status(LEASH_LOST, leash_lock_release(stuck, &err));
	assert_status(LEASH_OK, leash_lock_acquire(stuck, 20000, &err));
	assert_status(LEASH_OK, leash_lock_release(stuck, &err));
	leash_lock_free(stuck);
	leash_lock_free(fine);
	leash_close(client);
	check_that_all_is_gone();
	cluster_stop(cluster);
}
