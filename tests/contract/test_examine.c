/* Examining servers: what is wrong with one is told, with how to mend it, and done as told it is mended. Who cannot be reached, or is no
 * server: test_examine_strangers.c. */
#include "tests/contract/findings.h"

#include "tests/support/await.h"
#include "tests/support/ports.h"
#include "tests/support/proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- a healthy one ---- */

static void
a_healthy_server_gets_no_warning(void **state)
{
	static const char *const topics[] = {"connection", "version", "eviction", "memory", "persistence", "replication", "limits", "permissions", "clock", "speed"};

	(void)state;
	assert_status(LEASH_OK, examine(server_uri(server)));
	assert_true(worst() <= LEASH_FINDING_NOTE);
	for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
		the(topics[i], LEASH_FINDING_FINE, "");
	the("permissions", LEASH_FINDING_FINE, "a lock was acquired, renewed, waited for, handed over and released");
	for (size_t i = 0; i < found_count; i++)
		assert_string_equal(found[i].server, server_uri(server));
	check_nothing_is_left(server);
}

/* Each of its servers is looked at, whichever deployment it is, and nothing is missing but that they would forget at a restart. */
static void
a_healthy_place_gets_no_warning_but_of_what_its_servers_forget(void **state)
{
	size_t fine = 0;

	(void)state;
	assert_status(LEASH_OK, examine_with(LEASH_OPTIONS(.uri = place_uri(), .timeout_ms = PATIENCE_MS, .lease_ms = place_lease_ms(0))));
	for (size_t i = 0; i < found_count; i++) {
		if (found[i].level >= LEASH_FINDING_WARNING)
			assert_string_equal(found[i].topic, "persistence");
		fine += strcmp(found[i].topic, "permissions") == 0 && strstr(found[i].text, "released") != NULL;
	}
	assert_int_equal(fine, deployment_masters(place));
	place_assert_empty();
}

static void
it_looks_through_the_prefix_that_locks_will_have(void **state)
{
	const char *uri = bob(server, "+@all ~own:* &own:wake:*");

	(void)state;
	assert_status(LEASH_OK, examine_with(LEASH_OPTIONS(.uri = uri, .timeout_ms = PATIENCE_MS, .prefix = "own")));
	assert_true(worst() <= LEASH_FINDING_NOTE);
	the("permissions", LEASH_FINDING_FINE, "keys own:* and channels own:wake:*");
	assert_status(LEASH_OK, examine(uri));
	check_remedy(the("permissions", LEASH_FINDING_ERROR, "keys leash:*"), "~leash:* &leash:wake:*");
}

static void
a_callback_may_call_leash_and_arguments_are_checked(void **state)
{
	(void)state;
	assert_status(LEASH_INVALID, leash_examine(LEASH_OPTIONS(.uri = place_uri()), NULL, NULL, &err));
	assert_status(LEASH_INVALID, examine("nonsense"));
	assert_status(LEASH_INVALID, examine_with(LEASH_OPTIONS(.uri = place_uri(), .prefix = "a b")));
	assert_status(LEASH_INVALID, examine_with(LEASH_OPTIONS(.uri = place_uri(), .timeout_ms = -1)));
	assert_status(LEASH_INVALID, examine("redis+quorum://a,b"));
	assert_int_equal(found_count, 0);
}

static int lock_by_callback;

static void
lock_meanwhile(void *arg, const leash_finding *f)
{
	leash_client *client;
	leash_lock *lock;

	(void)arg;
	if (lock_by_callback++ > 0 || f->level == LEASH_FINDING_ERROR)
		return;
	client = place_client(LEASH_OPTIONS(.timeout_ms = PATIENCE_MS));
	lock = leashed_lock(client, "meanwhile", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

static void
a_callback_may_take_a_lock(void **state)
{
	(void)state;
	assert_status(LEASH_OK, leash_examine(LEASH_OPTIONS(.uri = place_uri(), .timeout_ms = PATIENCE_MS, .lease_ms = place_lease_ms(0)),
	                                      lock_meanwhile, NULL, &err));
	assert_true(lock_by_callback > 1);
	place_flush();
}

/* ---- memory ---- */

static void
a_server_that_may_evict_locks_is_not_fit_until_that_is_mended(void **state)
{
	static const char *const policies[] = {"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"};

	(void)state;
	for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
		freeReplyObject(server_command(server, "CONFIG SET maxmemory-policy %s", policies[i]));
		ask(server, "CONFIG SET maxmemory 100mb");
		assert_status(LEASH_OK, examine(server_uri(server)));
		check_remedy(the("eviction", LEASH_FINDING_ERROR, policies[i]), ".conf: maxmemory-policy noeviction");
		ask(server, "CONFIG SET maxmemory 0");
		assert_status(LEASH_OK, examine(server_uri(server)));
		check_worst(LEASH_FINDING_NOTE);
		do_as_told(server, the("eviction", LEASH_FINDING_NOTE, policies[i]));
		ask(server, "CONFIG SET maxmemory 100mb");
		assert_status(LEASH_OK, examine(server_uri(server)));
		the("eviction", LEASH_FINDING_FINE, "noeviction");
	}
	ask(server, "CONFIG SET maxmemory 0");
}

static void
a_full_server_is_told_as_such_and_not_as_one_without_permissions(void **state)
{
	(void)state;
	ask(server, "CONFIG SET maxmemory 1");
	assert_status(LEASH_OK, examine(server_uri(server)));
	check_remedy(the("memory", LEASH_FINDING_ERROR, "full"), "CONFIG SET maxmemory");
	the("permissions", LEASH_FINDING_FINE, "no lock was tried");
	assert_status(LEASH_OK, examine(bob(server, "+@all -info -config ~leash:* &leash:wake:*")));
	the("memory", LEASH_FINDING_ERROR, "full");
	ask(server, "CONFIG SET maxmemory 0");
	check_nothing_is_left(server);
}

static void
a_server_that_is_nearly_full_is_warned_of(void **state)
{
	long long used = atoll(strstr(server_text(server, "INFO memory"), "used_memory:") + strlen("used_memory:"));

	(void)state;
	freeReplyObject(server_command(server, "CONFIG SET maxmemory %lld", used + used / 20));
	assert_status(LEASH_OK, examine(server_uri(server)));
	the("memory", LEASH_FINDING_WARNING, "maxmemory");
	ask(server, "CONFIG SET maxmemory 0");
}

/* ---- persistence ---- */

static void
a_server_that_forgets_at_a_restart_is_warned_of(void **state)
{
	struct server *forgetful = server_start(NULL);
	char guarded[512];

	(void)state;
	assert_status(LEASH_OK, examine(server_uri(forgetful)));
	check_worst(LEASH_FINDING_WARNING);
	check_remedy(the("persistence", LEASH_FINDING_WARNING, "neither"), "restart_guard_ms");
	snprintf(guarded, sizeof guarded, "%s?restart_guard=30000", server_uri(forgetful));
	assert_status(LEASH_OK, examine(guarded));
	the("persistence", LEASH_FINDING_NOTE, "none for 30000 ms");
	freeReplyObject(server_command(forgetful, "CONFIG SET save %s", "3600 1"));
	assert_status(LEASH_OK, examine(server_uri(forgetful)));
	the("persistence", LEASH_FINDING_WARNING, "snapshots only (save 3600 1)");
	assert_status(LEASH_OK, examine(bob(forgetful, "+@all -config ~leash:* &leash:wake:*")));
	do_as_told(forgetful, the("persistence", LEASH_FINDING_WARNING, "no append-only file"));
	assert_status(LEASH_OK, examine(server_uri(forgetful)));
	the("persistence", LEASH_FINDING_FINE, "appendfsync everysec");
	assert_true(worst() <= LEASH_FINDING_NOTE);
	server_stop(forgetful);
}

static void
a_server_that_cannot_save_is_not_fit(void **state)
{
	struct server *full = server_start((const char *const[]){"--dbfilename", "taken", NULL});
	char folder[512];

	(void)state;
	snprintf(folder, sizeof folder, "%s/taken", server_folder(full));
	assert_int_equal(mkdir(folder, 0700), 0);
	ask(full, "SET something to-save");
	freeReplyObject(server_command(full, "CONFIG SET save %s", "3600 1"));
	ask(full, "BGSAVE");
	await_true(strstr(server_text(full, "INFO persistence"), "rdb_last_bgsave_status:err") != NULL);
	assert_status(LEASH_OK, examine(server_uri(full)));
	check_remedy(the("persistence", LEASH_FINDING_ERROR, "MISCONF"), "stop-writes-on-bgsave-error no");
	ask(full, "CONFIG SET stop-writes-on-bgsave-error no");
	assert_status(LEASH_OK, examine(server_uri(full)));
	check_worst(LEASH_FINDING_WARNING);
	the("persistence", LEASH_FINDING_WARNING, "rdb_last_bgsave_status is err");
	server_stop(full);
}

static void
a_server_that_loads_is_not_fit_yet(void **state)
{
	struct server *slow = server_start((const char *const[]){"--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024",
	                                                         "--enable-debug-command", "yes", NULL});
	leash_status status;

	(void)state;
	ask(slow, "DEBUG POPULATE 20000");
	ask(slow, "SAVE");
	server_kill(slow);
	server_boot(slow);
	status = examine(server_uri(slow));
	ask(slow, "CONFIG SET key-load-delay 0");
	if (status == LEASH_OK) /* it let the hello pass */
		the("persistence", LEASH_FINDING_ERROR, "loading");
	else
		check_remedy(the("connection", LEASH_FINDING_ERROR, "LOADING"), "wait");
	server_stop(slow);
}

/* ---- replication ---- */

static void
a_replica_names_its_master(void **state)
{
	struct server *master = server_start_tcp((const char *const[]){"--appendonly", "yes", NULL});
	struct server *replica = server_start(NULL);
	char where[60];

	(void)state;
	snprintf(where, sizeof where, "redis://127.0.0.1:%d", server_port(master));
	freeReplyObject(server_command(replica, "REPLICAOF 127.0.0.1 %d", server_port(master)));
	assert_status(LEASH_OK, examine(server_uri(replica)));
	check_remedy(the("replication", LEASH_FINDING_ERROR, "is a replica"), where);
	await_true(strstr(server_text(master, "INFO replication"), "state=online") != NULL);
	assert_status(LEASH_OK, examine(where));
	the("replication", LEASH_FINDING_NOTE, "master of 1 replica");
	assert_true(worst() <= LEASH_FINDING_NOTE);
	assert_status(LEASH_OK, examine(bob(replica, "+@all -info ~leash:* &leash:wake:*")));
	the("replication", LEASH_FINDING_ERROR, "is a replica");
	server_stop(master);
	ask(replica, "CONFIG SET replica-serve-stale-data no");
	await_true(strstr(server_text(replica, "INFO replication"), "master_link_status:down") != NULL);
	examine(server_uri(replica));
	check_worst(LEASH_FINDING_ERROR);
	server_stop(replica);
}

static void
a_replica_whose_clock_is_ahead_is_named(void **state)
{
	char port[12], where[60];
	struct server *master = server_start_tcp((const char *const[]){"--appendonly", "yes", NULL}), *replica;

	(void)state;
	snprintf(port, sizeof port, "%d", ports_take());
	replica = server_start_clocked((const char *const[]){"--port", port, NULL});
	snprintf(where, sizeof where, "redis://127.0.0.1:%d", server_port(master));
	freeReplyObject(server_command(replica, "REPLICAOF 127.0.0.1 %d", server_port(master)));
	await_true(strstr(server_text(master, "INFO replication"), "state=online") != NULL);
	assert_status(LEASH_OK, examine(where));
	the("clock", LEASH_FINDING_FINE, port);
	server_set_clock(replica, 3600000);
	assert_status(LEASH_OK, examine(where));
	check_remedy(the("clock", LEASH_FINDING_WARNING, "ahead of the master's"), "NTP");
	the("clock", LEASH_FINDING_WARNING, port);
	server_set_clock(replica, -3600000);
	assert_status(LEASH_OK, examine(where));
	the("clock", LEASH_FINDING_FINE, port);
	server_stop(replica);
	server_stop(master);
}

static void
a_guard_without_info_and_what_it_goes_by_are_told(void **state)
{
	char uri[300];

	(void)state;
	snprintf(uri, sizeof uri, "%s?restart_guard=1000", bob(server, "+@all -info ~leash:* &leash:wake:*"));
	assert_status(LEASH_OK, examine(uri));
	check_remedy(the("uptime", LEASH_FINDING_ERROR, "restart_guard"), "+info");
}

static void
a_master_with_too_few_replicas_is_not_fit(void **state)
{
	(void)state;
	ask(server, "CONFIG SET min-replicas-to-write 2");
	assert_status(LEASH_OK, examine(server_uri(server)));
	check_remedy(the("replication", LEASH_FINDING_ERROR, "wants 2 replicas"), "CONFIG SET min-replicas-to-write 0");
	assert_status(LEASH_OK, examine(bob(server, "+@all -info -config ~leash:* &leash:wake:*")));
	the("replication", LEASH_FINDING_ERROR, "NOREPLICAS");
	ask(server, "CONFIG SET min-replicas-to-write 0");
}

static void
a_cluster_is_not_what_such_a_uri_names(void **state)
{
	struct server *node = server_start((const char *const[]){"--cluster-enabled", "yes", NULL});

	(void)state;
	assert_status(LEASH_OK, examine(server_uri(node)));
	the("version", LEASH_FINDING_ERROR, "cluster mode");
	assert_status(LEASH_OK, examine(bob(node, "+@all -info ~leash:* &leash:wake:*")));
	the("version", LEASH_FINDING_ERROR, "cluster mode");
	server_stop(node);
}

/* ---- a quorum ---- */

static void
a_server_that_a_quorum_names_twice_is_told(void **state)
{
	struct server *twin = server_start_tcp(NULL), *other = server_start_tcp(NULL);
	char uri[512], shown[64];

	(void)state;
	snprintf(shown, sizeof shown, "the same server as redis://127.0.0.1:%d", server_port(twin));
	snprintf(uri, sizeof uri, "redis+quorum://127.0.0.1:%d,127.0.0.1:%d,localhost:%d?restart_guard=1", server_port(twin), server_port(other), server_port(twin));
	assert_status(LEASH_OK, examine(uri));
	check_remedy(the("connection", LEASH_FINDING_ERROR, shown), "once");
	server_stop(twin);
	server_stop(other);
}

/* ---- clock and limits ---- */

static void
a_clock_that_is_off_is_told_with_how_far(void **state)
{
	struct server *off = server_start_clocked((const char *const[]){"--appendonly", "yes", NULL});

	(void)state;
	server_set_clock(off, 60500);
	assert_status(LEASH_OK, examine(server_uri(off)));
	the("clock", LEASH_FINDING_WARNING, "s ahead of ours");
	the("clock", LEASH_FINDING_WARNING, " 60.");
	server_set_clock(off, -60500);
	assert_status(LEASH_OK, examine(server_uri(off)));
	check_remedy(the("clock", LEASH_FINDING_WARNING, "s behind ours"), "NTP");
	server_set_clock(off, 0);
	assert_status(LEASH_OK, examine(server_uri(off)));
	the("clock", LEASH_FINDING_FINE, "ms");
	server_stop(off);
}

static void
connections_that_run_out_are_told(void **state)
{
	struct server *small = server_start((const char *const[]){"--appendonly", "yes", "--maxclients", "4", "--timeout", "3600", NULL});
	redisContext *guests[3];

	(void)state;
	ask(small, "PING");
	for (int i = 0; i < 2; i++)
		guests[i] = server_connect(small);
	assert_status(LEASH_OK, examine(server_uri(small)));
	the("limits", LEASH_FINDING_WARNING, "4 of at most 4");
	the("connection", LEASH_FINDING_ERROR, "second connection");
	the("limits", LEASH_FINDING_NOTE, "3600 s");
	guests[2] = server_connect(small);
	assert_status(LEASH_UNAVAILABLE, examine(server_uri(small)));
	check_remedy(the("connection", LEASH_FINDING_ERROR, "max number of clients"), "CONFIG SET maxclients");
	for (int i = 0; i < 3; i++)
		redisFree(guests[i]);
	server_stop(small);
}

static void
a_slow_line_is_told_by_what_leash_has_patience_for(void **state)
{
	struct proxy *proxy = proxy_start(server_socket(server));

	(void)state;
	proxy_delay(proxy, PROXY_TO_SERVER, 260000);
	assert_status(LEASH_OK, examine_with(LEASH_OPTIONS(.uri = proxy_uri(proxy), .timeout_ms = 2500)));
	check_remedy(the("speed", LEASH_FINDING_WARNING, "tenth"), "?timeout=");
	proxy_stop(proxy);
	check_nothing_is_left(server);
}

/* ---- permissions ---- */

static const char ALL_KEYS[] = "~leash:* &leash:wake:*";

/* What lib/lua needs, and of those who hold and look. */
static const struct {
	const char *command;
	leash_finding_level level;
} needed[] = {
	{"EVALSHA", LEASH_FINDING_ERROR},       {"EVAL", LEASH_FINDING_ERROR},     {"TIME", LEASH_FINDING_ERROR},      {"EXISTS", LEASH_FINDING_ERROR},
	{"SET", LEASH_FINDING_ERROR},           {"GET", LEASH_FINDING_ERROR},      {"HSET", LEASH_FINDING_ERROR},      {"HGET", LEASH_FINDING_ERROR},
	{"HDEL", LEASH_FINDING_ERROR},          {"HEXISTS", LEASH_FINDING_ERROR},  {"PEXPIRE", LEASH_FINDING_ERROR},   {"PTTL", LEASH_FINDING_ERROR},
	{"DEL", LEASH_FINDING_ERROR},           {"ZADD", LEASH_FINDING_ERROR},     {"ZREM", LEASH_FINDING_ERROR},      {"ZSCORE", LEASH_FINDING_ERROR},
	{"ZCOUNT", LEASH_FINDING_ERROR},        {"ZREVRANGE", LEASH_FINDING_ERROR}, {"ZRANGEBYSCORE", LEASH_FINDING_ERROR},
	{"PUBLISH", LEASH_FINDING_ERROR},       {"SUBSCRIBE", LEASH_FINDING_ERROR}, {"HLEN", LEASH_FINDING_WARNING},   {"HGETALL", LEASH_FINDING_WARNING},
	{"SCAN", LEASH_FINDING_WARNING},        {"GETRANGE", LEASH_FINDING_WARNING}, {"INFO", LEASH_FINDING_WARNING},
};

static void
each_command_that_is_not_permitted_is_named_with_what_permits_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
		char rules[100];
		const char *uri;
		const struct found *f;

		snprintf(rules, sizeof rules, "+@all -%s %s", needed[i].command, ALL_KEYS);
		uri = bob(server, rules);
		assert_status(LEASH_OK, examine(uri));
		check_worst(needed[i].level);
		f = the("permissions", needed[i].level, needed[i].command);
		check_remedy(f, "ACL SETUSER bob ");
		check_nothing_is_left(server);
		do_as_told(server, f);
		assert_status(LEASH_OK, examine(uri));
		assert_true(worst() <= LEASH_FINDING_NOTE);
		the("permissions", LEASH_FINDING_FINE, "handed over");
	}
}

static void
each_renamed_command_is_named_as_one(void **state)
{
	static const char *const renamed[] = {"HSET", "EVALSHA", "ZREVRANGE", "PUBLISH", "SUBSCRIBE", "TIME"};

	(void)state;
	for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
		struct server *odd = server_start((const char *const[]){"--appendonly", "yes", "--rename-command", renamed[i], "", NULL});

		assert_status(LEASH_OK, examine(server_uri(odd)));
		check_worst(LEASH_FINDING_ERROR);
		check_remedy(the("permissions", LEASH_FINDING_ERROR, renamed[i]), "rename-command");
		check_nothing_is_left(odd);
		server_stop(odd);
	}
}

static void
a_server_that_hides_its_settings_is_judged_by_what_it_tells(void **state)
{
	struct server *managed = server_start((const char *const[]){"--appendonly", "yes", "--rename-command", "CONFIG", "", "--rename-command", "ACL", "", NULL});

	(void)state;
	assert_status(LEASH_OK, examine(server_uri(managed)));
	check_worst(LEASH_FINDING_NOTE);
	the("permissions", LEASH_FINDING_NOTE, "CONFIG GET");
	the("persistence", LEASH_FINDING_FINE, "append-only file");
	server_stop(managed);
}

static void
a_user_without_permissions_has_all_after_as_many_remedies_as_there_are_steps(void **state)
{
	const char *uri = bob(server, "");

	(void)state;
	assert_status(LEASH_OK, examine(uri));
	check_worst(LEASH_FINDING_ERROR);
	do_as_told(server, the("permissions", LEASH_FINDING_ERROR, "TIME"));
	assert_status(LEASH_OK, examine(uri));
	check_worst(LEASH_FINDING_NOTE); /* it need not be permitted CONFIG GET */
	uri = bob(server, "+time");
	assert_status(LEASH_OK, examine(uri));
	check_nothing_is_left(server);
	do_as_told(server, the("permissions", LEASH_FINDING_ERROR, "EVALSHA, EVAL, EXISTS, SET, GET"));
	assert_status(LEASH_OK, examine(uri)); /* keys and channels are looked at for commands that are permitted */
	do_as_told(server, the("permissions", LEASH_FINDING_ERROR, "keys leash:*"));
	assert_status(LEASH_OK, examine(uri));
	check_worst(LEASH_FINDING_NOTE);
}

/* The longest that there is, where nothing else is permitted either, so that the list of what is missing is the longest. */
static void
a_remedy_is_whole_whatever_the_prefix(void **state)
{
	static const char prefix[] = "a-prefix-of-sixty-four-characters-is-the-longest-that-there-is--";
	const char *uri = bob(server, "");
	char whole[200];

	(void)state;
	assert_int_equal(strlen(prefix), 64);
	snprintf(whole, sizeof whole, " ~%s:* &%s:wake:*, then ACL SAVE", prefix, prefix);
	assert_status(LEASH_OK, examine_with(LEASH_OPTIONS(.uri = uri, .timeout_ms = PATIENCE_MS, .prefix = prefix)));
	check_remedy(the("permissions", LEASH_FINDING_ERROR, "TIME"), whole);
	do_as_told(server, the("permissions", LEASH_FINDING_ERROR, "TIME"));
	assert_status(LEASH_OK, examine_with(LEASH_OPTIONS(.uri = uri, .timeout_ms = PATIENCE_MS, .prefix = prefix)));
	check_worst(LEASH_FINDING_NOTE);
}

static void
keys_and_channels_that_are_not_permitted_are_told_from_commands(void **state)
{
	const struct found *f;
	const char *uri;

	(void)state;
	assert_status(LEASH_OK, examine(bob(server, "+@all &leash:wake:*")));
	f = the("permissions", LEASH_FINDING_ERROR, " on keys leash:*");
	check_remedy(f, "bob ~leash:*,");
	assert_status(LEASH_OK, examine(bob(server, "+@all ~leash:*")));
	f = the("permissions", LEASH_FINDING_ERROR, "PUBLISH, SUBSCRIBE on channels leash:wake:*");
	check_remedy(f, "bob &leash:wake:*,");
	uri = bob(server, "+@all ~leash:{* &leash:wake:*");
	assert_status(LEASH_OK, examine(uri));
	check_worst(LEASH_FINDING_WARNING);
	f = the("permissions", LEASH_FINDING_WARNING, "not shown by name");
	do_as_told(server, f);
	assert_status(LEASH_OK, examine(uri));
	assert_true(worst() <= LEASH_FINDING_NOTE);
	assert_status(LEASH_OK, examine(bob(server, "+@all %%R~leash:* &leash:wake:*")));
	the("permissions", LEASH_FINDING_ERROR, " on keys leash:*");
	check_nothing_is_left(server);
}

static const struct place_exception elsewhere[] = {
	{"a_healthy_place_gets_no_warning_but_of_what_its_servers_forget", PLACE_RIGHTS}, /* CONFIG GET */
	{"a_callback_may_take_a_lock", 0},
	{"a_callback_may_call_leash_and_arguments_are_checked", 0},
	{"", PLACE_ONE_SOCKET},
	{NULL, 0},
};

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_server_gets_no_warning),
		cmocka_unit_test(a_healthy_place_gets_no_warning_but_of_what_its_servers_forget),
		cmocka_unit_test(it_looks_through_the_prefix_that_locks_will_have),
		cmocka_unit_test(a_callback_may_call_leash_and_arguments_are_checked),
		cmocka_unit_test(a_callback_may_take_a_lock),
		cmocka_unit_test(a_server_that_may_evict_locks_is_not_fit_until_that_is_mended),
		cmocka_unit_test(a_full_server_is_told_as_such_and_not_as_one_without_permissions),
		cmocka_unit_test(a_server_that_is_nearly_full_is_warned_of),
		cmocka_unit_test(a_server_that_forgets_at_a_restart_is_warned_of),
		cmocka_unit_test(a_server_that_cannot_save_is_not_fit),
		cmocka_unit_test(a_server_that_loads_is_not_fit_yet),
		cmocka_unit_test(a_replica_names_its_master),
		cmocka_unit_test(a_replica_whose_clock_is_ahead_is_named),
		cmocka_unit_test(a_guard_without_info_and_what_it_goes_by_are_told),
		cmocka_unit_test(a_master_with_too_few_replicas_is_not_fit),
		cmocka_unit_test(a_cluster_is_not_what_such_a_uri_names),
		cmocka_unit_test(a_server_that_a_quorum_names_twice_is_told),
		cmocka_unit_test(a_clock_that_is_off_is_told_with_how_far),
		cmocka_unit_test(connections_that_run_out_are_told),
		cmocka_unit_test(a_slow_line_is_told_by_what_leash_has_patience_for),
		cmocka_unit_test(each_command_that_is_not_permitted_is_named_with_what_permits_it),
		cmocka_unit_test(each_renamed_command_is_named_as_one),
		cmocka_unit_test(a_server_that_hides_its_settings_is_judged_by_what_it_tells),
		cmocka_unit_test(a_user_without_permissions_has_all_after_as_many_remedies_as_there_are_steps),
		cmocka_unit_test(a_remedy_is_whole_whatever_the_prefix),
		cmocka_unit_test(keys_and_channels_that_are_not_permitted_are_told_from_commands),
	};

	return findings_run("examine", tests, sizeof tests / sizeof *tests, elsewhere);
}
