/* Scripts that an administrator has loaded: a user who may send none, and a client that does not try. */
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <pthread.h>

static struct server *server;
static char uri[512];
static _Thread_local leash_error err;

/* All that a user of locks needs, but EVAL: README.md and docs/deployments.md say the same. */
static const char rules[] =
	"ACL SETUSER worker on >secret resetkeys ~leash:* resetchannels &leash:wake:* -@all +evalsha +time +exists +get +set +hset +hget +hdel "
	"+hexists +pexpire +pttl +del +zadd +zrem +zscore +zcount +zrangebyscore +zrevrange +publish +subscribe +getrange +hlen +hgetall +scan "
	"+info +client|setname +ping";

static void
start(void)
{
	server = server_start(NULL);
	server_text(server, rules);
	snprintf(uri, sizeof uri, "unix://worker:secret@%s?scripts=preloaded", server_socket(server));
}

static void
stop(void)
{
	server_stop(server);
}

FIXTURE(start, stop);

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
	leash_status status = leash_scripts_load(LEASH_OPTIONS(.uri = server_uri(server)), &err);

	assert_string_equal(status == LEASH_OK ? "" : err.text, "");
}

static void
check_ttls(void)
{
	redisReply *keys = server_command(server, "KEYS *");

	for (size_t i = 0; i < keys->elements; i++)
		assert_true(server_integer(server, "PTTL %s", keys->element[i]->str) != -1);
	freeReplyObject(keys);
}

struct turn {
	leash_lock *lock;
	leash_status status;
};

static void *
take_a_turn(void *arg)
{
	struct turn *turn = arg;

	turn->status = leash_lock_acquire(turn->lock, LEASH_FOREVER, NULL);
	if (turn->status == LEASH_OK)
		turn->status = leash_lock_release(turn->lock, NULL);
	return NULL;
}

static bool
count(void *arg, const leash_lock_info *info)
{
	(void)info;
	++*(int *)arg;
	return true;
}

SENTENCE(a_user_who_may_send_no_script_does_all_with_those_that_are_loaded)
{
	struct monitor *monitor;
	leash_client *client, *other;
	leash_lock *lock, *theirs;
	leash_lock_info info = {.size = sizeof info};
	struct turn turn;
	pthread_t thread;
	int seen = 0;

	load_scripts();
	monitor = kept(monitor_start(server));
	client = leashed_open(uri, NULL);
	other = leashed_open(uri, NULL);
	lock = leashed_lock(client, "orders", NULL);
	theirs = leashed_lock(other, "orders", NULL);
	assert_int_equal(leash_lock_acquire(lock, 0, &err), LEASH_OK);
	assert_int_equal(leash_lock_extend(lock, 40000, &err), LEASH_OK);
	assert_int_equal(leash_lock_inspect(theirs, &info, &err), LEASH_OK);
	assert_true(info.held);
	assert_int_equal(leash_client_scan(client, NULL, count, &seen, &err), LEASH_OK);
	assert_int_equal(seen, 1);
	turn.lock = theirs;
	pthread_create(&thread, NULL, take_a_turn, &turn);
	await_true(server_integer(server, "EXISTS leash:{orders}:queue") == 1);
	check_ttls();
	assert_int_equal(leash_lock_release(lock, &err), LEASH_OK);
	pthread_join(thread, NULL);
	assert_int_equal(turn.status, LEASH_OK);
	leash_lock_free(lock);
	leash_lock_free(theirs);
	leash_close(client);
	leash_close(other);
	assert_int_equal(monitor_count(monitor, "\"EVAL\""), 0);
	assert_true(monitor_count(monitor, "\"EVALSHA\"") > 0);
}

SENTENCE(scripts_that_are_not_loaded_are_named_and_not_sent)
{
	struct monitor *monitor = kept(monitor_start(server));
	leash_client *client = kept(leashed_open(uri, NULL));
	leash_lock *lock = kept(leashed_lock(client, "orders", NULL));

	assert_int_equal(leash_lock_acquire(lock, 10000, &err), LEASH_UNSUPPORTED);
	assert_non_null(strstr(err.text, "leash scripts --load"));
	assert_non_null(strstr(err.text, "unix://"));
	assert_int_equal(monitor_count(monitor, "\"EVAL\""), 0);
	assert_int_equal(server_integer(server, "EXISTS leash:{orders}"), 0);
}

SENTENCE(scripts_that_are_forgotten_endanger_a_hold_until_they_are_loaded_again)
{
	struct leashed_events events = {.total = 0};
	leash_client *client;
	leash_lock *lock;

	load_scripts();
	client = leashed_open(uri, LEASH_OPTIONS(.lease_ms = 30000 * (uint32_t)await_slowness(), .on_event = leashed_note_event, .event_arg = &events));
	lock = kept(leashed_lock(client, "orders", NULL));
	assert_int_equal(leash_lock_acquire(lock, 0, &err), LEASH_OK);
	server_text(server, "SCRIPT FLUSH");
	assert_int_equal(leash_lock_extend(lock, 60000, &err), LEASH_UNSUPPORTED);
	assert_non_null(strstr(err.text, "leash scripts --load"));
	assert_true(leash_lock_held(lock));
	load_scripts();
	assert_int_equal(leash_lock_extend(lock, 60000, &err), LEASH_OK);
	assert_int_equal(leash_lock_release(lock, &err), LEASH_OK);
	leash_close(client);
}

SENTENCE(loading_without_permission_is_denied_and_says_which)
{
	leash_script script = {.size = sizeof script};
	size_t n = 0;

	assert_int_equal(leash_scripts_load(LEASH_OPTIONS(.uri = uri), &err), LEASH_DENIED);
	assert_non_null(strstr(err.text, "SCRIPT LOAD"));
	while (leash_script_at(n, &script)) {
		assert_int_equal(strlen(script.sha1), 40);
		assert_true(strlen(script.text) > 0);
		n++;
	}
	assert_true(n >= 5);
	assert_false(leash_script_at(0, NULL));
}

SENTENCE(each_server_of_a_quorum_gets_them_whatever_is_wrong_with_another)
{
	struct server *of[3];
	char at[3][32], all[256];

	for (int i = 0; i < 3; i++) {
		of[i] = server_start_tcp(NULL);
		snprintf(at[i], sizeof at[i], "127.0.0.1:%d", server_port(of[i]));
	}
	snprintf(all, sizeof all, "redis+quorum://%s,%s,%s", at[0], at[1], at[2]);
	server_kill(of[0]);
	assert_int_equal(leash_scripts_load(LEASH_OPTIONS(.uri = all), &err), LEASH_UNAVAILABLE);
	assert_non_null(strstr(err.text, at[0]));
	assert_true(all_are_loaded(of[1]) && all_are_loaded(of[2]));
	server_restart(of[0]);
	assert_int_equal(leash_scripts_load(LEASH_OPTIONS(.uri = all), &err), LEASH_OK);
	assert_true(all_are_loaded(of[0]));
	for (int i = 0; i < 3; i++)
		server_stop(of[i]);
}

SENTENCE(who_loads_them_where_sentinels_choose_is_told_to_name_each_server)
{
	assert_int_equal(leash_scripts_load(LEASH_OPTIONS(.uri = "redis+sentinel://127.0.0.1:1/main"), &err), LEASH_UNSUPPORTED);
	assert_non_null(strstr(err.text, "name each by redis://"));
}
