/* Times: leases and waits at and beyond their limits, and extensions, which never cost what is left of a lease. */
#include "tests/contract/refusal.h"

#include "tests/support/monitor.h"
#include "tests/support/test.h"

#include <pthread.h>

static const int64_t no_lease[] = {99, 1, -1, -100, 86400001, INT64_MAX, INT64_MIN, INT64_MAX / 1000000, INT32_MIN};

enum { NO_LEASES = sizeof no_lease / sizeof *no_lease };

PLACE(refusal_open);

SENTENCE(leases_out_of_range_are_refused_wherever_they_are_given)
{
	leash_client *client = open_client(), *none;
	leash_lock *lock = leashed_lock(client, "range", NULL), *no_lock;

	for (int i = 0; i < NO_LEASES; i++) {
		int64_t ms = no_lease[i];

		assert_refused(LEASH_INVALID, "lease_ms", leash_open(&none, LEASH_OPTIONS(.lease_ms = ms), &err));
		assert_refused(LEASH_INVALID, "lease_ms", leash_lock_new(&no_lock, client, "range", LEASH_LOCK_OPTIONS(.lease_ms = ms), &err));
		assert_refused(LEASH_INVALID, "lease_ms", leash_lock_acquire_with(lock, LEASH_ACQUIRE(.lease_ms = ms), &err));
		assert_refused(LEASH_INVALID, "lease_ms", leash_lock_extend(lock, ms, &err));
	}
	assert_refused(LEASH_INVALID, "lease_ms", leash_lock_extend(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (int i = 0; i < NO_LEASES; i++)
		assert_refused(LEASH_INVALID, "lease_ms", leash_lock_extend(lock, no_lease[i], &err));
	assert_true(leash_lock_held(lock));
	assert_int_equal(leash_lock_depth(lock), 1);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

/* What the server says is what was asked for, less what has passed. */
static void
check_ttl(const char *name, int64_t lease_ms)
{
	int64_t ttl = place_left_ms(name);

	assert_true(ttl > 0);
	assert_true(ttl <= lease_ms);
	assert_true(lease_ms == 100 || ttl > lease_ms / 2);
}

/* Kept, not only taken: for some leases. A machine that stands still for most of one may lose it, but not every time. */
static void
keep(leash_lock *lock, int64_t lease_ms)
{
	int lost = 0;

	for (await_ms(300); !leash_lock_held(lock); await_ms(300)) {
		assert_in_range(++lost, 1, 20);
		leash_lock_release(lock, NULL);
		assert_status(LEASH_OK, leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = 5000, .lease_ms = lease_ms), &err));
	}
}

SENTENCE(a_fence_is_kept_for_an_hour_or_as_long_as_the_client_says_or_the_lease)
{
	static const struct {
		int64_t option_ms, lease_ms, kept_ms;
	} cases[] = {{0, 5000, 3600000}, {600000, 5000, 600000}, {1000, 9000, 9000}, {86400000, 5000, 86400000}};
	static const int64_t none[] = {-1, 1, 999, 86400001};
	leash_client *client;

	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_refused(LEASH_INVALID, "fence_ttl_ms", leash_open(&client, LEASH_OPTIONS(.uri = place_uri(), .fence_ttl_ms = none[i]), &err));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		leash_lock *lock;
		int64_t began = await_now_ns(), left;

		client = place_client(LEASH_OPTIONS(.lease_ms = cases[i].lease_ms, .fence_ttl_ms = cases[i].option_ms));
		lock = leashed_lock(client, "kept", NULL);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 60000, &err));
		left = place_integer("kept", "PTTL leash:{kept}:fence");
		assert_true(left <= cases[i].kept_ms + 1000 && left >= cases[i].kept_ms - 1000 - (await_now_ns() - began) / 1000000);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		leash_lock_free(lock);
		leash_close(client);
	}
}

SENTENCE(a_fence_stays_for_as_long_as_the_lock_is_held)
{
	leash_client *client = place_client(LEASH_OPTIONS(.lease_ms = 400, .fence_ttl_ms = 1000));
	leash_lock *lock = leashed_lock(client, "stays", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(lock, 60000, &err));
	for (int i = 0; i < 6; i++)
		keep(lock, 400);
	assert_true(place_integer("stays", "PTTL leash:{stays}:fence") > 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

SENTENCE(the_shortest_and_the_longest_lease_are_taken_wherever_they_are_given)
{
	const int64_t longest = place_lease_ms(86400000), ends[] = {100, longest};

	for (int i = 0; i < 2; i++) {
		leash_client *client = place_client(LEASH_OPTIONS(.lease_ms = ends[i]));
		leash_client *other = open_client();
		leash_lock *by_client = leashed_lock(client, "by client", NULL);
		leash_lock *by_lock = leashed_lock(other, "by lock", LEASH_LOCK_OPTIONS(.lease_ms = ends[i]));
		leash_lock *by_acquire = leashed_lock(other, "by acquire", NULL);

		assert_status(LEASH_OK, leash_lock_acquire(by_client, 0, &err));
		check_ttl("by%20client", ends[i]);
		assert_status(LEASH_OK, leash_lock_acquire(by_lock, 0, &err));
		check_ttl("by%20lock", ends[i]);
		assert_status(LEASH_OK, leash_lock_acquire_with(by_acquire, LEASH_ACQUIRE(.lease_ms = ends[i]), &err));
		check_ttl("by%20acquire", ends[i]);
		if (ends[i] == 100) {
			keep(by_client, ends[i]);
			keep(by_lock, ends[i]);
			keep(by_acquire, ends[i]);
		} else {
			assert_true(leash_lock_remaining_ms(by_client) > longest / 2 && leash_lock_remaining_ms(by_client) < longest);
		}
		assert_status(LEASH_OK, leash_lock_extend(by_acquire, longest, &err));
		check_ttl("by%20acquire", longest);
		assert_status(LEASH_OK, leash_lock_extend(by_acquire, 100, &err)); /* it never gets shorter */
		check_ttl("by%20acquire", longest);
		for (int n = 0; n < 2; n++) {
			leash_status status = leash_lock_release(n == 0 ? by_client : by_lock, &err);

			assert_true(status == LEASH_OK || (status == LEASH_LOST && ends[i] == 100));
		}
		assert_status(LEASH_OK, leash_lock_release(by_acquire, &err));
		leash_lock_free(by_client);
		leash_lock_free(by_lock);
		leash_lock_free(by_acquire);
		leash_close(client);
		leash_close(other);
	}
}

SENTENCE(negative_waits_are_refused_and_huge_ones_are_waits)
{
	static const int64_t negative[] = {-1, -2, -1000, INT32_MIN, INT64_MIN + 1};
	static const int64_t huge[] = {INT32_MAX, INT64_MAX / 1000000, INT64_MAX / 1000000 + 1, INT64_MAX - 1, INT64_MAX, LEASH_FOREVER};
	leash_client *client = open_client(), *other = open_client();
	leash_lock *held = leashed_lock(client, "wait", NULL), *wanted = leashed_lock(other, "wait", NULL);

	for (size_t i = 0; i < sizeof negative / sizeof *negative; i++) {
		assert_refused(LEASH_INVALID, "wait_ms", leash_lock_acquire(wanted, negative[i], &err));
		assert_refused(LEASH_INVALID, "wait_ms", leash_lock_acquire_with(wanted, LEASH_ACQUIRE(.wait_ms = negative[i]), &err));
	}
	assert_false(leash_lock_held(wanted));
	for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
		struct waiting w = {.lock = wanted, .wait_ms = huge[i], .may_release = 1};

		assert_status(LEASH_OK, leash_lock_acquire(wanted, huge[i], &err)); /* a free one at once */
		assert_status(LEASH_OK, leash_lock_release(wanted, &err));
		assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
		begin_waiting(&w);
		place_await_waiting("wait", 1);
		await_ms(20);
		assert_false(w.acquired);
		assert_status(LEASH_OK, leash_lock_release(held, &err));
		end_waiting(&w);
	}
	leash_lock_free(held);
	leash_lock_free(wanted);
	leash_close(client);
	leash_close(other);
}

/* Of all servers that take writes. */
enum { MONITORS = 8 };

static size_t
count_at(struct monitor *const *monitors, size_t (*count)(struct monitor *, const char *), const char *text)
{
	size_t n = 0;

	for (int i = 0; i < MONITORS; i++)
		n += monitors[i] != NULL ? count(monitors[i], text) : 0;
	return n;
}

SENTENCE(no_expiry_of_zero_or_less_is_ever_sent)
{
	static const char *const keys[] = {"", ":fence", ":queue"}, *const bad[] = {"0\"", "-"}, *const used[] = {"brief", "capped", "hung", "wanted"};
	leash_client *client = place_client(LEASH_OPTIONS(.lease_ms = 100)), *other = open_client();
	leash_lock *brief = leashed_lock(client, "brief", NULL);
	leash_lock *capped = leashed_lock(client, "capped", LEASH_LOCK_OPTIONS(.max_hold_ms = 350));
	leash_lock *hung = leashed_lock(client, "hung", LEASH_LOCK_OPTIONS(.alive_ms = 100));
	leash_lock *held = leashed_lock(client, "wanted", LEASH_LOCK_OPTIONS(.no_renew = true)), *wanted = leashed_lock(other, "wanted", NULL);
	struct monitor *monitors[MONITORS] = {NULL};

	for (size_t i = 0; deployment_master(place, i) != NULL; i++)
		monitors[i] = monitor_start(deployment_master(place, i));
	for (int i = 0; i < 3; i++) {
		int64_t end = await_now_ns() + 500 * INT64_C(1000000);

		assert_status(LEASH_OK, leash_lock_acquire(brief, 5000, &err));
		assert_status(LEASH_OK, leash_lock_acquire(capped, 5000, &err));
		assert_status(LEASH_OK, leash_lock_acquire(hung, 5000, &err));
		assert_status(LEASH_OK, leash_lock_acquire(held, 5000, &err));
		/* who waits gets it when the lease has run out, by its own word */
		assert_status(LEASH_OK, leash_lock_acquire(wanted, 30000, &err));
		while (await_now_ns() < end) {
			leash_lock_extend(capped, 100, NULL); /* to the very end of max_hold_ms */
			await_ms(1);
		}
		leash_lock_release(brief, NULL);
		leash_lock_release(capped, NULL);
		leash_lock_release(hung, NULL);
		assert_status(LEASH_LOST, leash_lock_release(held, &err));
		assert_status(LEASH_OK, leash_lock_release(wanted, &err));
	}
	assert_true(count_at(monitors, monitor_count_in_scripts, "\"pexpire\"") > 10);
	for (size_t n = 0; n < sizeof used / sizeof *used; n++) {
		for (int k = 0; k < 3; k++) {
			for (int b = 0; b < 2; b++) {
				char text[128];

				snprintf(text, sizeof text, "\"pexpire\" \"leash:{%s}%s\" \"%s", used[n], keys[k], bad[b]);
				assert_int_equal(count_at(monitors, monitor_count_in_scripts, text), 0);
				assert_int_equal(count_at(monitors, monitor_count, text), 0);
			}
		}
	}
	for (int i = 0; i < MONITORS; i++)
		monitor_stop(monitors[i]);
	leash_lock_free(brief);
	leash_lock_free(capped);
	leash_lock_free(hung);
	leash_lock_free(held);
	leash_lock_free(wanted);
	leash_close(client);
	leash_close(other);
}
