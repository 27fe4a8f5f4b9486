/* Times: leases and waits at and beyond their limits, for how long a fence is kept, and a TTL that somebody took away.
 * That no key is ever told a TTL of zero or less is seen in the simulator's worlds (sim/judge.c). When a hold is
 * renewed: core/test_single and unit/test_watchdog. */
#include "tests/contract/interface.h"

PLACE(interface_open);

SENTENCE(leases_out_of_range_are_refused_wherever_they_are_given)
{
	static const int64_t none[] = {99, 1, -1, -100, 86400001, INT64_MAX, INT64_MIN, INT64_MAX / 1000000, INT32_MIN, 0};
	leash_client *client = kept(open_client()), *no_client;
	leash_lock *lock = kept(leashed_lock(client, "range", NULL)), *no_lock;

	for (size_t i = 0; i < COUNT(none); i++) {
		int64_t ms = none[i];

		assert_refused(LEASH_INVALID, "lease_ms", leash_lock_extend(lock, ms, &err));
		if (ms == 0)
			continue; /* elsewhere that is the default */
		assert_refused(LEASH_INVALID, "lease_ms", leash_open(&no_client, LEASH_OPTIONS(.lease_ms = ms), &err));
		assert_refused(LEASH_INVALID, "lease_ms",
		               leash_lock_new(&no_lock, client, "range", LEASH_LOCK_OPTIONS(.lease_ms = ms), &err));
		assert_refused(LEASH_INVALID, "lease_ms", leash_lock_acquire_with(lock, LEASH_ACQUIRE(.lease_ms = ms), &err));
	}
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (size_t i = 0; i < COUNT(none); i++)
		assert_refused(LEASH_INVALID, "lease_ms", leash_lock_extend(lock, none[i], &err));
	assert_true(leash_lock_held(lock));
	assert_int_equal(leash_lock_depth(lock), 1);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

/* Of the server's clock, and so of the fence, no more is known than while it was asked. */
static bool
is_kept_for(int64_t kept_ms, int64_t began_ns)
{
	int64_t left_ms = place_integer("kept", "PTTL leash:{kept}:fence"), off_ms = 1000 + (await_now_ns() - began_ns) / MS;

	return left_ms <= kept_ms + off_ms && left_ms >= kept_ms - off_ms;
}

SENTENCE(a_fence_is_kept_for_an_hour_or_as_long_as_the_client_says_or_the_lease)
{
	static const struct {
		int64_t option_ms, lease_ms, kept_ms;
	} cases[] = {{0, 5000, 3600000}, {600000, 5000, 600000}, {1000, 9000, 9000}, {86400000, 5000, 86400000}};
	static const int64_t none[] = {-1, 1, 999, 86400001};
	leash_client *client;

	for (size_t i = 0; i < COUNT(none); i++)
		assert_refused(LEASH_INVALID, "fence_ttl_ms",
		               leash_open(&client, LEASH_OPTIONS(.uri = place_uri(), .fence_ttl_ms = none[i]), &err));
	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t began = await_now_ns();

		client = kept(place_client(LEASH_OPTIONS(.lease_ms = cases[i].lease_ms, .fence_ttl_ms = cases[i].option_ms)));
		leash_lock *lock = kept(leashed_lock(client, "kept", NULL));
		assert_status(LEASH_OK, leash_lock_acquire(lock, 60000, &err));
		await_true(is_kept_for(cases[i].kept_ms, began)); /* a server of a quorum may hear of it after the others */
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
}

/* What the server says is what was asked for, less what has passed; of the shortest lease that may be all of it. */
static void
check_ttl(const char *name, int64_t lease_ms)
{
	int64_t left_ms = place_left_ms(name);

	assert_true(left_ms <= lease_ms && (left_ms > lease_ms / 2 || (lease_ms == 100 && left_ms != -1)));
}

/* Kept, not only taken: for some leases. A machine that stands still for most of one may lose it, but not every time. */
static void
keep(leash_lock *lock, int64_t lease_ms)
{
	int lost = 0;

	for (await_ms(300); !leash_lock_held(lock); await_ms(300)) {
		assert_in_range(++lost, 1, 20);
		leash_lock_release(lock, NULL);
		assert_status(LEASH_OK,
		              leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = 5000, .lease_ms = lease_ms), &err));
	}
}

SENTENCE(the_shortest_and_the_longest_lease_are_taken_wherever_they_are_given)
{
	static const char *const names[] = {"by-client", "by-lock", "by-acquire"};
	const int64_t longest = place_lease_ms(86400000), ends[] = {100, longest};

	for (int i = 0; i < 2; i++) {
		int64_t lease_ms = ends[i];
		leash_client *client = kept(place_client(LEASH_OPTIONS(.lease_ms = lease_ms))), *other = kept(open_client());
		leash_lock *locks[] = {
			kept(leashed_lock(client, names[0], NULL)),
			kept(leashed_lock(other, names[1], LEASH_LOCK_OPTIONS(.lease_ms = lease_ms))),
			kept(leashed_lock(other, names[2], NULL)),
		};

		for (int by = 0; by < 3; by++) {
			int64_t said_ms = by == 2 ? lease_ms : 0;

			await_true(place_is_free(names[by])); /* also of what was lost in the round before */
			assert_status(LEASH_OK, leash_lock_acquire_with(locks[by], LEASH_ACQUIRE(.lease_ms = said_ms), &err));
			check_ttl(names[by], lease_ms);
			if (lease_ms == 100)
				keep(locks[by], lease_ms);
			else
				assert_in_range(leash_lock_remaining_ms(locks[by]), longest / 2, longest);
		}
		while (leash_lock_extend(locks[2], longest, &err) == LEASH_LOST) /* the shortest, just now */
			keep(locks[2], lease_ms);
		assert_true(leash_lock_held(locks[2]));
		check_ttl(names[2], longest);
		assert_status(LEASH_OK, leash_lock_extend(locks[2], 100, &err)); /* it never gets shorter */
		check_ttl(names[2], longest);
		for (int by = 0; by < 3; by++) {
			leash_status status = leash_lock_release(locks[by], &err);

			assert_true(status == LEASH_OK || (status == LEASH_LOST && lease_ms == 100 && by < 2));
		}
	}
}

SENTENCE(negative_waits_are_refused_and_huge_ones_are_waits)
{
	static const int64_t negative[] = {-1, -2, -1000, INT32_MIN, INT64_MIN + 1};
	static const int64_t huge[] = {INT32_MAX, INT64_MAX / 1000000, INT64_MAX / 1000000 + 1, INT64_MAX - 1, INT64_MAX,
	                               LEASH_FOREVER};
	leash_lock *held = kept(leashed_lock(kept(open_client()), "wait", NULL));
	leash_lock *wanted = kept(leashed_lock(kept(open_client()), "wait", NULL));

	for (size_t i = 0; i < COUNT(negative); i++) {
		const leash_acquire *how = LEASH_ACQUIRE(.wait_ms = negative[i]);

		assert_refused(LEASH_INVALID, "wait_ms", leash_lock_acquire(wanted, negative[i], &err));
		assert_refused(LEASH_INVALID, "wait_ms", leash_lock_acquire_with(wanted, how, &err));
	}
	assert_false(leash_lock_held(wanted));
	for (size_t i = 0; i < COUNT(huge); i++) {
		struct actor w;

		assert_status(LEASH_OK, leash_lock_acquire(wanted, huge[i], &err)); /* a free one at once */
		assert_status(LEASH_OK, leash_lock_release(wanted, &err));
		assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
		begin_waiting(&w, wanted, huge[i]);
		place_await_waiting("wait", 1);
		await_ms(20);
		assert_false(actor_is_done(&w));
		assert_status(LEASH_OK, leash_lock_release(held, &err));
		end_waiting(&w);
	}
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
