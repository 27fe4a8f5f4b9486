/* The fences of a quorum: they grow whatever happens to a minority, also where a server has, or says, an absurd one. */
#include "tests/fault/storm.h"

#include "tests/support/fake.h"
#include "tests/support/knob.h"
#include "tests/support/server.h"
#include "tests/support/test.h"
#include "tests/support/trouble.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* ---- in a storm ---- */

struct climber {
	pthread_t thread;
	leash_client *client;
	_Atomic uint64_t *last;
	_Atomic long *acquired, *regressed;
	long wanted;
	unsigned seed;
};

static void *
climb(void *arg)
{
	struct climber *c = arg;
	leash_lock *own = leashed_lock(c->client, "steps", LEASH_LOCK_OPTIONS(.no_handoff = true));

	while (*c->acquired < c->wanted) {
		leash_error why;
		uint64_t fence, last;

		if (leash_lock_acquire(own, 60000, &why) != LEASH_OK)
			trouble_at(__FILE__, __LINE__, "%s", why.text);
		fence = leash_lock_fence(own); /* 0: lost already */
		if (fence != 0) {
			last = atomic_exchange(c->last, fence);
			*c->regressed += fence <= last;
			*c->acquired += 1;
		}
		await_ms(dice(&c->seed, 10));
		if (leash_lock_release(own, &why) == LEASH_NOT_HELD)
			trouble_at(__FILE__, __LINE__, "%s", why.text);
	}
	leash_lock_free(own);
	return NULL;
}

FIXTURE(set_up, tear_down);

SENTENCE(fences_grow_whatever_happens_to_a_minority)
{
	enum { CLIENTS = 3 };
	long wanted = knob("LEASH_TEST_FENCES", 1000);
	struct storm storm;
	struct climber climbers[CLIENTS];
	_Atomic uint64_t last = 0;
	_Atomic long acquired = 0, regressed = 0;

	storm_begin(&storm);
	for (int i = 0; i < CLIENTS; i++) {
		climbers[i] = (struct climber){.client = open_with(STORM_LEASE_MS, STORM_LEASE_MS), .last = &last, .acquired = &acquired,
		                               .regressed = &regressed, .wanted = wanted, .seed = (unsigned)i + 1};
		assert_int_equal(pthread_create(&climbers[i].thread, NULL, climb, &climbers[i]), 0);
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(climbers[i].thread, NULL);
	storm_end(&storm);
	printf("# %ld acquired\n", acquired);
	assert_int_equal(regressed, 0);
	assert_int_equal(events.count[LEASH_EVENT_FENCE_REGRESSION], 0);
	for (int i = 0; i < CLIENTS; i++)
		leash_close(climbers[i].client);
	check_that_nothing_is_left();
}

/* ---- fences that cannot be ---- */

/* Kill two, so that each majority has server 0. */
static void
keep_the_first_three(void)
{
	server_kill(quorum_server(quorum, 3));
	server_kill(quorum_server(quorum, 4));
}

SENTENCE(an_absurd_fence_on_one_server_stops_nobody_and_no_fence_goes_back)
{
	static const char *const absurd[] = {"9007199254740989", "9007199254740990", "9007199254740991", "36028797018963967", "4503599627370496"};
	uint64_t last = 0;

	keep_the_first_three();
	for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
		server_text(quorum_server(quorum, 0), "SET leash:{q}:fence %s PX 60000", absurd[i]);
		for (int round = 0; round < 3; round++) {
			assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
			assert_true(leash_lock_fence(lock) > last);
			last = leash_lock_fence(lock);
			assert_status(LEASH_OK, leash_lock_release(lock, &err));
			await_true(quorum_having(quorum, "leash:{q}") == 0); /* its next round needs all three */
		}
	}
	check_that_nothing_is_left();
}

/* Votes with the fence in `ctx`, and says yes to all else. */
static size_t
lie(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	if (!fake_is(argc, argv, argl, 0, "EVALSHA"))
		return FAKE_DEFAULT;
	return fake_say(out, size, ":%s\r\n", argc > 8 ? *(const char *_Atomic *)ctx : "1");
}

static void
count_accusations(void *arg, leash_log_level level, const char *line)
{
	*(_Atomic int *)arg += level == LEASH_LOG_WARNING && strstr(line, "its vote does not count") != NULL;
}

SENTENCE(a_vote_with_an_absurd_fence_is_none_and_no_other_server_hears_of_it)
{
	/* a year and a minute ahead is too far, also for who says that its clock is there, too */
	char far[32], *const ahead = far;
	const char *const absurd[] = {"9007199254740989", "9007199254740991", "36028797018963967", ahead};
	const char *_Atomic fence = absurd[0];
	struct fake *liar = fake_start_tcp(lie, &fence);
	_Atomic int accused = 0;
	uint64_t last = 0;
	char uri[512];
	leash_client *mine;
	leash_lock *own;

	snprintf(far, sizeof far, "%lld", (long long)(time(NULL) + 365 * 86400 + 60) * 1000000);
	snprintf(uri, sizeof uri, "redis+quorum://127.0.0.1:%d,127.0.0.1:%d,%s?restart_guard=%lld", server_port(quorum_server(quorum, 0)),
	         server_port(quorum_server(quorum, 1)), fake_target(liar), (long long)slow_ms(LEASE_MS));
	mine = leashed_open(uri, LEASH_OPTIONS(.lease_ms = slow_ms(LEASE_MS), .on_log = count_accusations, .log_arg = &accused));
	own = leashed_lock(mine, "q", NULL);
	for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
		fence = absurd[i];
		for (int round = 0; round < 3; round++) {
			assert_status(LEASH_OK, leash_lock_acquire(own, 10000, &err));
			assert_true(leash_lock_fence(own) > last);
			assert_true(leash_lock_fence(own) < (uint64_t)(time(NULL) + 7200) * 1000000 * 256);
			last = leash_lock_fence(own);
			assert_status(LEASH_OK, leash_lock_release(own, &err));
		}
	}
	assert_true(accused > 0);
	server_kill(quorum_server(quorum, 1));
	assert_status(LEASH_PROTOCOL, leash_lock_acquire(own, 0, &err));
	assert_non_null(strstr(err.text, "fence"));
	leash_lock_free(own);
	leash_close(mine);
	fake_stop(liar);
	check_that_nothing_is_left();
}
