/* The lease, over time: it is kept as long as the hold lasts, and not a moment longer. */
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/place.h"
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Milliseconds that a test may take to do nothing much, on this machine. */
static int64_t
hold_ms(void)
{
	const char *seconds = getenv("LEASH_TEST_HOLD_SECONDS");

	return (seconds != NULL ? atoi(seconds) : 15) * INT64_C(1000);
}

enum { LEASE_MS = 3000 }; /* a busy machine stands still for a second now and then */

/* A redis-cli that asks for a key's PTTL every 20 ms, whatever this process is doing meanwhile. */
struct sampler {
	const char *socket, *key;
	int out[2]; /* the pipe that it writes to */
	pid_t pid;
	char line[256]; /* what has come of the next one */
	size_t used;
	size_t samples, low;
	int64_t worst;
};

static int
become_redis_cli(void *arg)
{
	struct sampler *s = arg;

	dup2(s->out[1], 1);
	dup2(s->out[1], 2);
	execlp("redis-cli", "redis-cli", "-s", s->socket, "-r", "-1", "-i", "0.02", "PTTL", s->key, (char *)NULL);
	dprintf(1, "%s\n", strerror(errno));
	return 1;
}

static void
sampler_start(struct sampler *s)
{
	assert_int_equal(pipe2(s->out, O_CLOEXEC), 0);
	s->pid = child_run(become_redis_cli, s);
	close(s->out[1]);
	assert_int_equal(fcntl(s->out[0], F_SETFL, O_NONBLOCK), 0);
}

static void
take_line(struct sampler *s)
{
	char *end;
	int64_t ttl = strtoll(s->line, &end, 10);

	if (end == s->line || *end != '\0')
		fail_msg("redis-cli: %s", s->line);
	if (ttl <= 0)
		fail_msg("sample %zu of PTTL is %lld", s->samples, (long long)ttl);
	s->samples++;
	s->low += ttl < LEASE_MS / 2;
	s->worst = ttl < s->worst ? ttl : s->worst;
}

/* Look at all that it has written so far. */
static void
take_samples(struct sampler *s)
{
	char text[512];
	ssize_t n;

	while ((n = read(s->out[0], text, sizeof text)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] != '\n' && s->used < sizeof s->line - 1) {
				s->line[s->used++] = text[i];
				continue;
			}
			s->line[s->used] = '\0';
			s->used = 0;
			take_line(s);
		}
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		fail_msg("redis-cli has ended");
}

static void
sampler_stop(struct sampler *s)
{
	take_samples(s);
	child_kill(s->pid);
	close(s->out[0]);
}

PLACE(place_open);

SENTENCE(a_lock_held_for_many_leases_is_never_free_and_its_ttl_stays_above_half)
{
	static const char renewal[] = "\" \"1\" \"leash:{kept}\" "; /* the only script that has one key */
	leash_client *holder = place_client(LEASH_OPTIONS(.lease_ms = LEASE_MS));
	leash_client *other = place_client(NULL);
	leash_lock *lock = leashed_lock(holder, "kept", NULL), *wanted = leashed_lock(other, "kept", NULL);
	struct monitor *monitor = monitor_start(place_at("kept"));
	struct sampler sampler = {.socket = server_socket(place_at("kept")), .key = "leash:{kept}", .worst = INT64_MAX};
	size_t attempts = 0, renewals;
	leash_error err;
	int64_t end;
	char *last;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	sampler_start(&sampler);
	end = await_now_ns() + hold_ms() * 1000000;
	while (await_now_ns() < end) {
		take_samples(&sampler);
		assert_true(leash_lock_held(lock));
		assert_status(LEASH_TIMEOUT, leash_lock_acquire(wanted, ++attempts % 50 == 0 ? 30 : 0, &err));
		await_ms(20);
	}
	sampler_stop(&sampler);
	printf("# %zu samples of PTTL, %zu below a half, the lowest %lld ms\n", sampler.samples, sampler.low, (long long)sampler.worst);
	assert_true(sampler.low * 100 <= sampler.samples);
	assert_true((double)sampler.samples * await_slowness() * 200 >= (double)hold_ms()); /* it did not sleep most of the time */

	renewals = monitor_count(monitor, renewal);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	place_assert_free("kept");
	await_ms(LEASE_MS + 500);
	last = monitor_last(monitor, "\"eval"); /* EVALSHA, or EVAL */
	printf("# %zu attempts of another client, %zu renewals\n", attempts, renewals);
	if (!place_is(PLACE_MAJORITY)) { /* there what is renewed may have been asked for again meanwhile */
		assert_true(renewals > 0);
		assert_null(strstr(last, renewal)); /* it was the release, or one more renewal had come before that */
		assert_true(monitor_count(monitor, renewal) <= renewals + 1);
	}
	free(last);
	monitor_stop(monitor);
	leash_lock_free(lock);
	leash_lock_free(wanted);
	leash_close(holder);
	leash_close(other);
}

SENTENCE(nested_pairs_talk_to_nobody_and_the_hash_shows_the_depth_after_a_renewal)
{
	leash_client *client = place_client(LEASH_OPTIONS(.lease_ms = 600));
	leash_lock *lock = leashed_lock(client, "nested", NULL), *again = leashed_lock(client, "nested", NULL);
	leash_lock *quiet = leashed_lock(client, "quiet", LEASH_LOCK_OPTIONS(.lease_ms = place_lease_ms(60000)));
	struct monitor *monitor = monitor_start(place_at("quiet"));
	leash_error err;

	/* with a lease that is not renewed during the test, all that is sent is counted */
	assert_status(LEASH_OK, leash_lock_acquire(quiet, 0, &err));
	monitor_mark(monitor);
	for (int i = 0; i < 100; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(quiet, 0, &err));
		assert_status(LEASH_OK, leash_lock_acquire(quiet, 0, &err));
		assert_int_equal(leash_lock_depth(quiet), 3);
		assert_status(LEASH_OK, leash_lock_release(quiet, &err));
		assert_status(LEASH_OK, leash_lock_release(quiet, &err));
	}
	if (!place_is(PLACE_MAJORITY))
		assert_int_equal(monitor_count(monitor, "leash:{quiet}"), 0);
	assert_status(LEASH_OK, leash_lock_release(quiet, &err));
	if (!place_is(PLACE_MAJORITY))
		assert_int_equal(monitor_count(monitor, "leash:{quiet}"), 1);
	monitor_stop(monitor);

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	await_true(strcmp(place_text("nested", "HVALS leash:{nested}"), "1") == 0);
	assert_status(LEASH_OK, leash_lock_acquire(again, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	await_true(strcmp(place_text("nested", "HVALS leash:{nested}"), "3") == 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_true(leash_lock_held(lock));
	assert_true(leash_lock_held(again));
	assert_int_equal(place_integer("nested", "EXISTS leash:{nested}"), 1);
	await_true(strcmp(place_text("nested", "HVALS leash:{nested}"), "1") == 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_false(leash_lock_held(again));
	place_assert_free("nested");
	leash_lock_free(quiet);
	leash_lock_free(again);
	leash_lock_free(lock);
	leash_close(client);
}

/* Log lines that say so. */
static void
count_persistent(void *count, leash_log_level level, const char *line)
{
	*(_Atomic int *)count += level == LEASH_LOG_WARNING && strstr(line, "lock 'kept'") != NULL && strstr(line, "PERSIST") != NULL;
}

SENTENCE(a_key_that_somebody_made_persistent_ends_with_its_holder_again_and_the_log_says_so)
{
	_Atomic int said = 0;
	leash_client *client = place_client(LEASH_OPTIONS(.lease_ms = 3000, .on_log = count_persistent, .log_arg = &said));
	leash_lock *lock = leashed_lock(client, "kept", NULL);
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
	leash_lock_free(lock);
	leash_close(client);
}
