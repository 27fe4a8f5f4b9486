/* Many locks held through many restarts and reconnects, and through an outage that is too long.
 *
 * LEASH_TEST_LOCKS (10000), LEASH_TEST_RESTARTS (20) and LEASH_TEST_RECONNECTS (1000) change how many. */
#include "tests/support/knob.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

/* ---- a flock of locks, all held by the calling thread ---- */

struct flock {
	int count;
	leash_lock **locks;
};

static struct flock
flock_new(leash_client *client, int count)
{
	struct flock flock = {.count = count, .locks = calloc((size_t)count, sizeof *flock.locks)};

	assert_non_null(flock.locks);
	for (int i = 0; i < count; i++) {
		char name[32];

		snprintf(name, sizeof name, "flock:%d", i);
		flock.locks[i] = leashed_lock(client, name, NULL);
	}
	return flock;
}

static void
flock_free(struct flock *flock)
{
	for (int i = 0; i < flock->count; i++)
		leash_lock_free(flock->locks[i]);
	free(flock->locks);
}

static void
flock_acquire(struct flock *flock)
{
	leash_error err;

	for (int i = 0; i < flock->count; i++)
		assert_status(LEASH_OK, leash_lock_acquire(flock->locks[i], 60000, &err));
}

static void
flock_release(struct flock *flock, leash_status expected)
{
	leash_error err;

	for (int i = 0; i < flock->count; i++)
		assert_status(expected, leash_lock_release(flock->locks[i], &err));
}

static int
flock_held(const struct flock *flock)
{
	int held = 0;

	for (int i = 0; i < flock->count; i++)
		held += leash_lock_held(flock->locks[i]);
	return held;
}

/* ---- what the server has of them ---- */

static int64_t
keys(struct server *server)
{
	return server_integer(server, "EVAL %s 0", "return #redis.call('KEYS', 'leash:*}')");
}

/* What is left of the lease that is nearest to its end, ms; -1: one has no end. */
static int64_t
shortest_ttl(struct server *server)
{
	return server_integer(server, "EVAL %s 0",
	                      "local least = math.huge "
	                      "for _, key in ipairs(redis.call('KEYS', 'leash:*}')) do least = math.min(least, "
	                      "redis.call('PTTL', key)) end "
	                      "return least");
}

/* Nothing is overdue: a renewal comes at a third of the lease. To look at 10,000 keys is work, and must not be what
 * delays the renewals. */
static void
await_renewals_of_all(struct server *server, int64_t lease_ms)
{
	await_true((await_ms(200), shortest_ttl(server) > lease_ms * 6 / 10));
}

/* ---- the tests ---- */

SENTENCE(many_locks_outlive_many_restarts_of_a_server_that_keeps_its_data)
{
	int count = (int)knob("LEASH_TEST_LOCKS", 10000), restarts = (int)knob("LEASH_TEST_RESTARTS", 20);
	int64_t lease_ms = slow_ms(10000), longest_ns = 0, least_ttl = lease_ms;
	/* not everysec: then what is answered while an fsync goes on is written up to 2 s later, and a kill loses it */
	struct server *server = server_start((const char *const[]){"--appendonly", "yes", "--appendfsync", "no", NULL});
	static struct leashed_events events;
	leash_client *client;
	struct flock flock;

	client = leashed_open(server_uri(server),
	                      LEASH_OPTIONS(.lease_ms = lease_ms, .on_event = leashed_note_event, .event_arg = &events));
	flock = flock_new(client, count);
	flock_acquire(&flock);
	for (int i = 0; i < restarts; i++) {
		int64_t down = await_now_ns(), ttl;

		server_kill(server);
		server_restart(server);
		longest_ns = await_now_ns() - down > longest_ns ? await_now_ns() - down : longest_ns;
		ttl = shortest_ttl(server);
		least_ttl = ttl < least_ttl ? ttl : least_ttl;
		assert_int_equal(keys(server), count);
		assert_int_equal(flock_held(&flock), count);
		/* between restarts that follow each other so closely there is hardly time for a renewal */
		if (i % 10 == 9 || ttl < lease_ms * 6 / 10)
			await_renewals_of_all(server, lease_ms);
	}
	await_renewals_of_all(server, lease_ms);
	assert_int_equal(flock_held(&flock), count);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	printf("# %d locks, %d restarts, the longest outage %.0f ms of a lease of %lld: all held, the shortest lease left "
	       "%lld ms\n", count, restarts,
	       (double)longest_ns / 1e6, (long long)lease_ms, (long long)least_ttl);
	flock_release(&flock, LEASH_OK);
	assert_int_equal(keys(server), 0);
	flock_free(&flock);
	leash_close(client);
	server_stop(server);
}

SENTENCE(through_an_outage_longer_than_the_lease_all_are_lost_and_know_it_before_it_ends)
{
	int count = (int)knob("LEASH_TEST_LOCKS", 10000);
	int64_t lease_ms = slow_ms(6000), down;
	struct server *server = server_start((const char *const[]){"--appendonly", "yes", "--appendfsync", "no", NULL});
	static struct leashed_events events;
	leash_client *client, *other;
	struct flock mine, theirs;

	client = leashed_open(server_uri(server),
	                      LEASH_OPTIONS(.lease_ms = lease_ms, .on_event = leashed_note_event, .event_arg = &events));
	mine = flock_new(client, count);
	flock_acquire(&mine);
	server_kill(server);
	down = await_now_ns();
	while (await_now_ns() < down + lease_ms * MS)
		await_ms(10);
	assert_int_equal(flock_held(&mine), 0); /* though the server might have renewed all of them just before its end */
	await_true(events.count[LEASH_EVENT_LOST] == count);
	printf("# %d locks, an outage longer than the lease of %lld ms: all lost, the last was told after %.0f ms\n", count,
	       (long long)lease_ms,
	       (double)(events.at_ns[LEASH_EVENT_LOST] - down) / 1e6);
	server_restart(server);
	other = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 60000));
	theirs = flock_new(other, count);
	flock_acquire(&theirs);
	flock_release(&mine, LEASH_LOST);
	assert_int_equal(flock_held(&theirs), count);
	assert_int_equal(keys(server), count);
	flock_release(&theirs, LEASH_OK);
	flock_free(&mine);
	flock_free(&theirs);
	leash_close(client);
	leash_close(other);
	server_stop(server);
}

SENTENCE(after_many_reconnects_the_watchdog_renews_everything_once_a_period)
{
	enum { LOCKS = 100 };
	int reconnects = (int)knob("LEASH_TEST_RECONNECTS", 1000);
	int64_t lease_ms = slow_ms(6000), begun;
	struct server *server = server_start(NULL);
	static struct leashed_events events;
	struct monitor *monitor;
	leash_client *client;
	leash_lock *asked;
	struct flock flock;
	size_t renewals;
	leash_error err;
	double periods;

	client = leashed_open(server_uri(server),
	                      LEASH_OPTIONS(.lease_ms = lease_ms, .on_event = leashed_note_event, .event_arg = &events));
	flock = flock_new(client, LOCKS);
	asked = leashed_lock(client, "asked", NULL);
	flock_acquire(&flock);
	for (int i = 0; i < reconnects; i++) {
		freeReplyObject(server_command(server, "CLIENT KILL TYPE %s SKIPME yes", i % 2 == 0 ? "normal" : "pubsub"));
		if (i % 2 == 0) {
			assert_status(LEASH_OK, leash_lock_acquire(asked, 60000, &err)); /* it is connected again */
			assert_status(LEASH_OK, leash_lock_release(asked, &err));
		} else {
			await_true(server_text(server, "PUBSUB CHANNELS leash:*")[0] != '\0');
		}
		assert_int_equal(flock_held(&flock), LOCKS);
	}
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	monitor = monitor_start(server);
	monitor_mark(monitor);
	begun = await_now_ns();
	for (int i = 0; i < LOCKS; i++) {
		char key[48];

		snprintf(key, sizeof key, "\"leash:{flock:%d}\"", i);
		monitor_await(monitor, key, 2);
	}
	renewals = monitor_count(monitor, "leash:{flock:");
	/* a renewal comes at a third of the lease, or a little before */
	periods = (double)(await_now_ns() - begun) / 1e6 / ((double)lease_ms / 3);
	printf("# %d reconnects; then %zu renewals of %d locks in %.1f renewal periods\n", reconnects, renewals, LOCKS,
	       periods);
	assert_true((double)renewals < LOCKS * (periods + 1) * 1.5);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	monitor_stop(monitor);
	flock_release(&flock, LEASH_OK);
	flock_free(&flock);
	leash_lock_free(asked);
	leash_close(client);
	server_stop(server);
}
