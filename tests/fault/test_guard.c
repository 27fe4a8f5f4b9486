/* restart_guard_ms goes by what a server says of its life. What waits for the guard: core/test_single. */
#include "tests/support/fake.h"
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/test.h"

#include <time.h>

static leash_error err;

/* What a server says of itself. */
struct life {
	const char *run_id;
	int64_t uptime_s; /* by its wall clock, which may have been set; -1: INFO is not permitted */
};

#define ANN "0123456789abcdef0123456789abcdef01234567"
#define BOB "89abcdef0123456789abcdef0123456789abcdef"

/* A guard of a minute. */
static const struct guarded {
	const char *name;
	struct life first, then;
	leash_status at_first, at_last;
} guarded[] = {
	{"a_server_that_has_been_up_for_long_grants", {ANN, 86400}, {ANN, 86400}, LEASH_OK, LEASH_OK},
	{"a_young_server_does_not_and_its_clock_makes_it_no_older", {ANN, 0}, {ANN, 86400}, LEASH_UNAVAILABLE,
	 LEASH_UNAVAILABLE},
	{"a_server_whose_clock_went_back_before_its_birth_is_a_young_one", {ANN, -3600}, {ANN, 0}, LEASH_UNAVAILABLE,
	 LEASH_UNAVAILABLE},
	{"who_knew_the_server_before_does_not_believe_its_age_after_a_restart_or_in_the_place_of_another", {ANN, 86400},
	 {BOB, 86400}, LEASH_OK, LEASH_UNAVAILABLE},
	{"without_info_a_guard_is_refused_and_not_left_out", {ANN, -1}, {ANN, -1}, LEASH_DENIED, LEASH_DENIED},
};

static const struct life *_Atomic life;

static size_t
live(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	(void)ctx;
	if (fake_is(argc, argv, argl, 0, "INFO") && life->uptime_s == -1)
		return fake_say(out, size, "-NOPERM this user has no permissions to run the 'info' command\r\n");
	if (fake_is(argc, argv, argl, 0, "INFO") && fake_is(argc, argv, argl, 1, "server"))
		return fake_info(out, size, "7.0.15", life->run_id, life->uptime_s);
	if (fake_is(argc, argv, argl, 0, "EVALSHA"))
		return fake_say(out, size, ":%lld\r\n", argc <= 8 ? 1 : (long long)time(NULL) * 1000000);
	return FAKE_DEFAULT;
}

static void
check_refusal(leash_status status)
{
	assert_int_equal(err.status, status);
	assert_non_null(strstr(err.text, status == LEASH_DENIED ? "permit INFO (+info)" : "restart_guard_ms"));
}

static void
ask(leash_lock *lock, leash_status expected)
{
	assert_status(expected, leash_lock_acquire(lock, 0, &err));
	if (expected == LEASH_OK)
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	else
		check_refusal(expected);
}

SENTENCES(a_guard_goes_by_the_life_of_the_server, guarded)
{
	const struct guarded *row = given;

	life = &row->first;
	struct fake *fake = kept(fake_start(live, NULL));
	leash_client *client = kept(leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 20000)));
	leash_lock *lock = kept(leashed_lock(client, "guarded", LEASH_LOCK_OPTIONS(.restart_guard_ms = 60000)));
	ask(lock, row->at_first);
	life = &row->then;
	fake_hang_up(fake);
	await_true(fake_accepted(fake) >= 4 && fake_open(fake) == 2);
	ask(lock, row->at_last);
	if (row->at_first == LEASH_DENIED) {
		assert_status(LEASH_DENIED, leash_lock_acquire(lock, LEASH_FOREVER, &err));
		assert_status(LEASH_DENIED, leash_lock_adopt(lock, "00112233-4455-4677-8899-aabbccddeeff:1", &err));
		check_refusal(LEASH_DENIED);
	}
}
