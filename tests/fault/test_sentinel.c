/* A master that is killed, frozen, demoted, or comes back, and sentinels that are gone: who holds goes on holding at the new master or is
 * told of the loss, who waits comes to the lock, and nobody is served by a master of the past. */
#include "tests/contract/actor.h"
#include "tests/fault/refused.h"
#include "tests/support/leashed.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <sys/socket.h>

enum { LOCKS = 20, LEASE_MS = 30000, TIMEOUT_MS = 1000, WITHIN_MS = 2000 };

static struct sentinel_set *set;
static struct leashed_events events;
static _Thread_local leash_error err; /* what the last call said */

static void
start_set(void)
{
	memset(&events, 0, sizeof events);
	set = sentinel_set_start(NULL);
}

static void
stop_set(void)
{
	sentinel_set_stop(set);
	set = NULL;
}

FIXTURE(start_set, stop_set);

static leash_client *
open_client(void)
{
	return leashed_open(sentinel_set_uri(set), LEASH_OPTIONS(.lease_ms = LEASE_MS, .timeout_ms = TIMEOUT_MS, .on_event = leashed_note_event,
	                                                         .event_arg = &events));
}

/* ---- who hears of a failover ---- */

/* A thread that notes when a sentinel says +switch-master for the first time. */
struct crier {
	pthread_t thread;
	redisContext *connection;
	_Atomic int64_t at_ns;
};

static void *
listen_in(void *arg)
{
	struct crier *c = arg;
	redisReply *reply = NULL;

	while (redisGetReply(c->connection, (void **)&reply) == REDIS_OK) {
		if (reply->elements == 3 && strcmp(reply->element[0]->str, "message") == 0 && c->at_ns == 0)
			c->at_ns = await_now_ns();
		freeReplyObject(reply);
	}
	return NULL;
}

static void
start_crier(struct crier *c, int sentinel)
{
	struct timeval forever = {0};
	redisReply *reply;

	c->at_ns = 0;
	c->connection = server_connect(sentinel_set_sentinel(set, sentinel));
	redisSetTimeout(c->connection, forever);
	reply = redisCommand(c->connection, "SUBSCRIBE +switch-master");
	assert_non_null(reply);
	freeReplyObject(reply);
	assert_int_equal(pthread_create(&c->thread, NULL, listen_in, c), 0);
}

static void
stop_crier(struct crier *c)
{
	shutdown(c->connection->fd, SHUT_RDWR);
	pthread_join(c->thread, NULL);
	redisFree(c->connection);
}

static struct crier criers[SENTINEL_SENTINELS];

static void
start_criers(void)
{
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		start_crier(&criers[i], i);
}

static void
stop_criers(void)
{
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		stop_crier(&criers[i]);
}

/* When the first sentinel said so. */
static int64_t
switched_ns(void)
{
	int64_t first = 0;

	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		if (criers[i].at_ns != 0 && (first == 0 || criers[i].at_ns < first))
			first = criers[i].at_ns;
	return first;
}

/* ---- 20 locks held, and 20 waited for ---- */

struct crowd {
	leash_client *holder, *other;
	leash_lock *held[LOCKS];
	struct actor waiting[LOCKS];
	int64_t renewed_ns[LOCKS]; /* when it was seen that it was renewed, or lost */
	bool lost[LOCKS];
};

static void
gather(struct crowd *c)
{
	memset(c, 0, sizeof *c);
	c->holder = open_client();
	c->other = open_client();
	for (int i = 0; i < LOCKS; i++) {
		char name[32];

		snprintf(name, sizeof name, "held%d", i);
		c->held[i] = leashed_lock(c->holder, name, NULL);
		assert_status(LEASH_OK, leash_lock_acquire(c->held[i], 0, &err));
		c->waiting[i] = (struct actor){.lock = leashed_lock(c->other, name, NULL), .wait_ms = LEASH_FOREVER};
		actor_start(&c->waiting[i]);
		actor_tell(&c->waiting[i], actor_acquire);
	}
	for (int i = 0; i < LOCKS; i++)
		actor_await_asleep(&c->waiting[i]);
	sentinel_set_await_synced(set);
}

static bool
is_lost(const leash_lock *lock)
{
	return !leash_lock_held(lock);
}

/* Await that of each hold it is known what became of it after `since`. */
static void
await_fates(struct crowd *c, int64_t since)
{
	int open = LOCKS;

	while (open > 0) {
		for (int i = 0; i < LOCKS; i++) {
			int64_t now = await_now_ns();

			if (c->renewed_ns[i] != 0)
				continue;
			c->lost[i] = is_lost(c->held[i]);
			/* it counts from before the renewal was sent */
			if (!c->lost[i] && now + leash_lock_remaining_ms(c->held[i]) * MS < since + LEASE_MS * (MS - MS / 100) - 10 * MS)
				continue;
			c->renewed_ns[i] = now;
			open--;
		}
		await_ms(1);
	}
}

static int64_t
last_of(const int64_t *at, int n)
{
	int64_t last = 0;

	for (int i = 0; i < n; i++)
		last = at[i] > last ? at[i] : last;
	return last;
}

static void
disperse(struct crowd *c)
{
	int64_t came[LOCKS], began = await_now_ns();
	int lost = 0;

	for (int i = 0; i < LOCKS; i++) {
		lost += c->lost[i];
		assert_status(c->lost[i] ? LEASH_LOST : LEASH_OK, leash_lock_release(c->held[i], &err));
	}
	for (int i = 0; i < LOCKS; i++) {
		assert_heard(LEASH_OK, &c->waiting[i]);
		came[i] = c->waiting[i].ended_ns;
		assert_true(c->waiting[i].held);
	}
	print_message("# %d of %d lost; the last waiter came %.0f ms after the releases\n", lost, LOCKS, (double)(last_of(came, LOCKS) - began) / 1e6);
	for (int i = 0; i < LOCKS; i++) {
		assert_done(LEASH_OK, &c->waiting[i], actor_release);
		actor_dismiss(&c->waiting[i]);
		leash_lock_free(c->held[i]);
	}
	leash_close(c->holder);
	leash_close(c->other);
}

/* After `fault` the sentinels name another master; soon after that all is well there. */
static int
check_failover(struct crowd *c, void (*fault)(struct server *), int before)
{
	int64_t at, took;
	int now;

	start_criers();
	fault(sentinel_set_server(set, before));
	at = await_now_ns();
	await_true_for(switched_ns() != 0, 60);
	print_message("# +switch-master %.0f ms after the fault\n", (double)(switched_ns() - at) / 1e6);
	/* Since the fault: the old master answers nothing any more, and the sentinels name the new one a little before they cry it out. */
	await_fates(c, at);
	took = last_of(c->renewed_ns, LOCKS) - switched_ns();
	print_message("# the last hold was renewed, or known to be lost, %.0f ms after +switch-master\n", (double)took / 1e6);
	assert_true(took <= slow_ms(WITHIN_MS) * MS);
	now = sentinel_set_await_failover(set, before);
	for (int i = 0; i < LOCKS; i++)
		if (!c->lost[i])
			assert_int_equal(server_integer(sentinel_set_server(set, now), "HLEN leash:{held%d}", i), 1);
	stop_criers();
	return now;
}

SENTENCE(a_master_that_is_killed_costs_no_lock_that_was_replicated)
{
	struct crowd c;

	gather(&c);
	check_failover(&c, server_kill, sentinel_set_master_number(set));
	disperse(&c);
}

SENTENCE(a_master_that_freezes_is_left_as_soon_as_there_is_another_and_does_not_count_when_it_returns)
{
	int before = sentinel_set_master_number(set), now;
	struct server *old = sentinel_set_server(set, before);
	struct crowd c;
	leash_client *late;
	leash_lock *lock;

	gather(&c);
	now = check_failover(&c, server_pause, before);
	/* it comes back, and takes itself for the master for a while */
	server_resume(old);
	late = open_client();
	lock = leashed_lock(late, "held0", NULL);
	assert_status(c.lost[0] ? LEASH_OK : LEASH_TIMEOUT, leash_lock_acquire(lock, 0, &err));
	leash_lock_free(lock);
	lock = leashed_lock(late, "new", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_int_equal(server_integer(sentinel_set_server(set, now), "EXISTS leash:{new}"), 1);
	/* none of leash's connections leads there */
	assert_null(strstr(server_text(old, "CLIENT LIST"), "name=leash"));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(late);
	disperse(&c);
}

SENTENCE(a_failover_that_was_ordered_costs_no_lock)
{
	struct crowd c;

	gather(&c);
	start_criers();
	for (int i = 0; i < 2; i++) {
		int before = sentinel_set_master_number(set);

		memset(c.renewed_ns, 0, sizeof c.renewed_ns);
		for (int j = 0; j < SENTINEL_SENTINELS; j++)
			criers[j].at_ns = 0;
		sentinel_set_begin_failover(set);
		await_true_for(switched_ns() != 0, 60);
		await_fates(&c, switched_ns());
		print_message("# the last hold was renewed, or known to be lost, %.0f ms after +switch-master\n",
		              (double)(last_of(c.renewed_ns, LOCKS) - switched_ns()) / 1e6);
		sentinel_set_await_failover(set, before);
		sentinel_set_await_synced(set);
	}
	stop_criers();
	disperse(&c);
}

/* ---- sentinels that are gone ---- */

SENTENCE(without_any_sentinel_a_client_goes_on_and_none_is_opened)
{
	leash_client *client = open_client(), *other = NULL;
	leash_lock *lock = leashed_lock(client, "lock", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		server_kill(sentinel_set_sentinel(set, i));
	await_ms(500);
	assert_true(leash_lock_held(lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_UNAVAILABLE, leash_open(&other, LEASH_OPTIONS(.uri = sentinel_set_uri(set)), &err));
	check_text(err.text, "no sentinel answered");
	server_restart(sentinel_set_sentinel(set, 2));
	other = open_client();
	leash_close(other);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
}
