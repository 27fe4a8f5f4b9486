/* The lease, over time: it is kept as long as the hold lasts, and not a moment longer. */
#include "tests/support/child.h"
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/place.h"
#include "tests/support/test.h"

enum { LEASE_MS = 3000 }; /* a busy machine stands still for a second now and then */

/* Milliseconds that a test may take to do nothing much, on this machine. */
static int64_t
hold_ms(void)
{
	const char *seconds = getenv("LEASH_TEST_HOLD_SECONDS");

	return (seconds != NULL ? atoi(seconds) : 15) * INT64_C(1000);
}

/* What a process of its own reads of a key's PTTL every 20 ms, whatever this one is doing meanwhile. */
struct samples {
	struct server *server;
	_Atomic size_t count, low;
	_Atomic int64_t worst;
	_Atomic bool are_enough;
};

static int
sample(void *arg)
{
	struct samples *s = arg;
	redisContext *c = server_connect(s->server);

	for (; !s->are_enough; await_ms(20)) {
		redisReply *reply = redisCommand(c, "PTTL leash:{kept}");
		int64_t ttl = reply->integer;

		s->low += ttl < LEASE_MS / 2;
		if (ttl < s->worst)
			s->worst = ttl;
		s->count++;
		freeReplyObject(reply);
	}
	redisFree(c);
	return 0;
}

PLACE(place_open);

SENTENCE(a_lock_held_for_many_leases_is_never_free_and_its_ttl_stays_above_half)
{
	static const char renewal[] = "\" \"1\" \"leash:{kept}\" "; /* the only script that has one key */
	leash_lock *lock = kept(leashed_lock(kept(place_client(LEASH_OPTIONS(.lease_ms = LEASE_MS))), "kept", NULL));
	leash_lock *wanted = kept(leashed_lock(kept(place_client(NULL)), "kept", NULL));
	struct monitor *monitor = kept(monitor_start(place_at("kept")));
	struct samples *samples = child_share(sizeof *samples);
	size_t attempts = 0;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	samples->server = place_at("kept");
	samples->worst = INT64_MAX;
	pid_t pid = child_run(sample, samples);
	int64_t end = await_now_ns() + hold_ms() * MS;
	while (await_now_ns() < end) {
		assert_true(leash_lock_held(lock));
		assert_status(LEASH_TIMEOUT, leash_lock_acquire(wanted, ++attempts % 50 == 0 ? 30 : 0, &err));
		await_ms(20);
	}
	samples->are_enough = true;
	child_wait(pid);
	printf("# %zu samples of PTTL, %zu below a half, the lowest %lld ms\n", samples->count, samples->low,
	       (long long)samples->worst);
	assert_true(samples->worst > 0);
	assert_true(samples->low * 100 <= samples->count);
	/* it did not sleep most of the time */
	assert_true((double)samples->count * await_slowness() * 200 >= (double)hold_ms());

	size_t renewals = monitor_count(monitor, renewal);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	place_assert_free("kept");
	await_ms(LEASE_MS + 500);
	char *last = monitor_last(monitor, "\"eval"); /* EVALSHA, or EVAL */
	printf("# %zu attempts of another client, %zu renewals\n", attempts, renewals);
	if (!place_is(PLACE_MAJORITY)) { /* there what is renewed may have been asked for again meanwhile */
		assert_true(renewals > 0);
		assert_null(strstr(last, renewal)); /* it was the release, or one more renewal had come before that */
		assert_true(monitor_count(monitor, renewal) <= renewals + 1);
	}
	free(last);
	child_unshare(samples, sizeof *samples);
}

static void
await_depth(const char *depth)
{
	await_true(strcmp(place_text("nested", "HVALS leash:{nested}"), depth) == 0);
}

SENTENCE(the_hash_shows_the_depth_after_a_renewal)
{
	leash_client *client = kept(place_client(LEASH_OPTIONS(.lease_ms = 600)));
	leash_lock *lock = kept(leashed_lock(client, "nested", NULL)), *again = kept(leashed_lock(client, "nested", NULL));
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	await_depth("1");
	assert_status(LEASH_OK, leash_lock_acquire(again, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	await_depth("3");
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_true(leash_lock_held(lock) && leash_lock_held(again));
	await_depth("1");
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_false(leash_lock_held(again));
	place_assert_free("nested");
}

/* Log lines that say so. */
static void
count_persistent(void *count, leash_log_level level, const char *line)
{
	*(_Atomic int *)count += level == LEASH_LOG_WARNING && strstr(line, "lock 'kept'") != NULL &&
	                         strstr(line, "PERSIST") != NULL;
}

SENTENCE(a_key_that_somebody_made_persistent_ends_with_its_holder_again_and_the_log_says_so)
{
	static _Atomic int said;
	leash_client *client = kept(place_client(LEASH_OPTIONS(.lease_ms = 3000, .on_log = count_persistent,
	                                                       .log_arg = &said)));
	leash_lock *lock = kept(leashed_lock(client, "kept", NULL));
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 60000, &err));
	assert_status(LEASH_OK, leash_lock_extend(lock, 3000, &err));
	assert_int_equal(said, 0);
	place_say("leash:{kept}", "PERSIST leash:{kept}");
	assert_status(LEASH_OK, leash_lock_extend(lock, 3000, &err));
	await_true(said > 0 && place_left_ms("kept") > 0);
	said = 0;
	place_say("leash:{kept}", "PERSIST leash:{kept}");
	await_true(said > 0 && place_left_ms("kept") > 0); /* the watchdog has renewed it */
	assert_true(leash_lock_held(lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}
