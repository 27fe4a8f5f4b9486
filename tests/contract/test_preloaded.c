/* Scripts that an administrator has loaded, and a client that does not try to send any. What a user does with them is
 * said by test_least; what they are, and where they cannot be loaded, by tools/scripts.txt. */
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"

static char preloaded[512]; /* its URI */
static leash_error err;

static void
start(void)
{
	start_server();
	snprintf(preloaded, sizeof preloaded, "%s?scripts=preloaded", uri);
}

FIXTURE(start, stop_server);

static bool
all_are_loaded(struct server *of)
{
	leash_script script = {.size = sizeof script};
	size_t n = 0;

	while (leash_script_at(n, &script)) {
		if (strcmp(server_text(of, "SCRIPT EXISTS %s", script.sha1), "1") != 0)
			return false;
		n++;
	}
	return n > 0;
}

static void
load_scripts(void)
{
	assert_status(LEASH_OK, leash_scripts_load(LEASH_OPTIONS(.uri = uri), &err));
}

SENTENCE(scripts_that_are_not_loaded_are_named_and_not_sent)
{
	struct monitor *monitor = kept(monitor_start(server));
	leash_lock *lock = kept(leashed_lock(kept(leashed_open(preloaded, NULL)), "orders", NULL));

	assert_int_equal(leash_lock_acquire(lock, 10000, &err), LEASH_UNSUPPORTED);
	assert_non_null(strstr(err.text, "leash scripts --load"));
	assert_non_null(strstr(err.text, "unix://"));
	assert_int_equal(monitor_count(monitor, "\"EVAL\""), 0);
	assert_false(leash_script_at(0, NULL));
	assert_int_equal(server_integer(server, "EXISTS leash:{orders}"), 0);
}

SENTENCE(scripts_that_are_forgotten_endanger_a_hold_until_they_are_loaded_again)
{
	uint32_t lease_ms = 30000 * (uint32_t)await_slowness();

	load_scripts();
	leash_lock *lock = kept(leashed_lock(kept(leashed_open(preloaded, LEASH_OPTIONS(.lease_ms = lease_ms))), "orders", NULL));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	server_text(server, "SCRIPT FLUSH");
	assert_int_equal(leash_lock_extend(lock, 60000, &err), LEASH_UNSUPPORTED);
	assert_non_null(strstr(err.text, "leash scripts --load"));
	assert_true(leash_lock_held(lock));
	load_scripts();
	assert_status(LEASH_OK, leash_lock_extend(lock, 60000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

SENTENCE(each_server_of_a_quorum_gets_them_whatever_is_wrong_with_another)
{
	struct server *of[3];
	char at[3][32], all[256];

	for (int i = 0; i < 3; i++) {
		of[i] = kept(server_start_tcp(NULL));
		snprintf(at[i], sizeof at[i], "127.0.0.1:%d", server_port(of[i]));
	}
	snprintf(all, sizeof all, "redis+quorum://%s,%s,%s", at[0], at[1], at[2]);
	server_kill(of[0]);
	assert_int_equal(leash_scripts_load(LEASH_OPTIONS(.uri = all), &err), LEASH_UNAVAILABLE);
	assert_non_null(strstr(err.text, at[0]));
	assert_true(all_are_loaded(of[1]) && all_are_loaded(of[2]));
	server_restart(of[0]);
	assert_status(LEASH_OK, leash_scripts_load(LEASH_OPTIONS(.uri = all), &err));
	assert_true(all_are_loaded(of[0]));
}
