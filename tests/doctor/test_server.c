/* The doctor at one server: what is wrong with it is told with how to fix that, and once that is done it is fixed.
 * Servers that cannot be reached, or are none: test_strangers.c. */
#include "tests/doctor/findings.h"

#include "tests/support/ports.h"
#include "tests/support/proxy.h"
#include "tests/support/test.h"

#include <sys/stat.h>

GROUP(start_server, stop_server);

/* ---- a healthy one ---- */

SENTENCE(a_healthy_server_gets_no_warning)
{
	static const char *const topics[] = {"connection", "version", "eviction", "memory", "persistence", "replication",
	                                     "limits", "permissions", "clock", "speed"};

	assert_status(LEASH_OK, examine(server_uri(server)));
	check_at_worst(NOTE);
	for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
		the(topics[i], FINE, "");
	the("permissions", FINE, "a lock was acquired, renewed, waited for, handed over and released");
	for (size_t i = 0; i < found_count; i++)
		assert_string_equal(found[i].server, server_uri(server));
	check_nothing_is_left(server);
}

SENTENCE(it_looks_through_the_prefix_that_locks_will_have)
{
	const char *uri = bob(server, "+@all ~own:* &own:wake:*");

	assert_status(LEASH_OK, examine_with(LEASH_OPTIONS(.uri = uri, .timeout_ms = PATIENCE_MS, .prefix = "own")));
	check_at_worst(NOTE);
	the("permissions", FINE, "keys own:* and channels own:wake:*");
	assert_status(LEASH_OK, examine(uri));
	check_remedy(the("permissions", ERROR, "keys leash:*"), "~leash:* &leash:wake:*");
}

SENTENCE(options_that_are_wrong_are_refused_and_nothing_is_looked_at)
{
	assert_status(LEASH_INVALID, examine("nonsense"));
	assert_status(LEASH_INVALID, examine("redis+quorum://a,b"));
	assert_status(LEASH_INVALID, examine_with(LEASH_OPTIONS(.uri = server_uri(server), .prefix = "a b")));
	assert_status(LEASH_INVALID, examine_with(LEASH_OPTIONS(.uri = server_uri(server), .timeout_ms = -1)));
	assert_int_equal(found_count, 0);
}

/* ---- memory ---- */

/* Whichever policy it is: test_health.c. */
SENTENCE(a_server_that_may_evict_locks_is_not_fit_until_that_is_fixed)
{
	ask(server, "CONFIG SET maxmemory-policy allkeys-lru");
	ask(server, "CONFIG SET maxmemory 100mb");
	assert_status(LEASH_OK, examine(server_uri(server)));
	check_remedy(the("eviction", ERROR, "allkeys-lru"), ".conf: maxmemory-policy noeviction");
	ask(server, "CONFIG SET maxmemory 0");
	assert_status(LEASH_OK, examine(server_uri(server)));
	check_worst(NOTE);
	do_as_told(server, the("eviction", NOTE, "allkeys-lru"));
	ask(server, "CONFIG SET maxmemory 100mb");
	assert_status(LEASH_OK, examine(server_uri(server)));
	the("eviction", FINE, "noeviction");
	ask(server, "CONFIG SET maxmemory 0");
}

SENTENCE(a_full_server_is_told_as_such_and_not_as_one_without_permissions)
{
	ask(server, "CONFIG SET maxmemory 1");
	assert_status(LEASH_OK, examine(server_uri(server)));
	check_remedy(the("memory", ERROR, "full"), "CONFIG SET maxmemory");
	the("permissions", FINE, "no lock was tried");
	assert_status(LEASH_OK, examine(bob(server, "+@all -info -config ~leash:* &leash:wake:*")));
	the("memory", ERROR, "full");
	ask(server, "CONFIG SET maxmemory 0");
	check_nothing_is_left(server);
}

/* ---- persistence ---- */

SENTENCE(a_server_that_forgets_at_a_restart_is_warned_of)
{
	struct server *forgetful = server_start(NULL);
	char guarded[512];

	assert_status(LEASH_OK, examine(server_uri(forgetful)));
	check_worst(WARNING);
	check_remedy(the("persistence", WARNING, "neither"), "restart_guard_ms");
	snprintf(guarded, sizeof guarded, "%s?restart_guard=30000", server_uri(forgetful));
	assert_status(LEASH_OK, examine(guarded));
	the("persistence", NOTE, "none for 30000 ms");
	freeReplyObject(server_command(forgetful, "CONFIG SET save %s", "3600 1"));
	assert_status(LEASH_OK, examine(server_uri(forgetful)));
	the("persistence", WARNING, "snapshots only (save 3600 1)");
	assert_status(LEASH_OK, examine(bob(forgetful, "+@all -config ~leash:* &leash:wake:*")));
	do_as_told(forgetful, the("persistence", WARNING, "no append-only file"));
	assert_status(LEASH_OK, examine(server_uri(forgetful)));
	the("persistence", FINE, "appendfsync everysec");
	check_at_worst(NOTE);
	server_stop(forgetful);
}

SENTENCE(a_server_that_cannot_save_is_not_fit)
{
	struct server *full = SERVER("--dbfilename", "taken");
	char folder[512];

	snprintf(folder, sizeof folder, "%s/taken", server_folder(full));
	assert_int_equal(mkdir(folder, 0700), 0);
	ask(full, "SET something to-save");
	freeReplyObject(server_command(full, "CONFIG SET save %s", "3600 1"));
	ask(full, "BGSAVE");
	await_true(strstr(server_text(full, "INFO persistence"), "rdb_last_bgsave_status:err") != NULL);
	assert_status(LEASH_OK, examine(server_uri(full)));
	check_remedy(the("persistence", ERROR, "MISCONF"), "stop-writes-on-bgsave-error no");
	ask(full, "CONFIG SET stop-writes-on-bgsave-error no");
	assert_status(LEASH_OK, examine(server_uri(full)));
	check_worst(WARNING);
	the("persistence", WARNING, "rdb_last_bgsave_status is err");
	server_stop(full);
}

SENTENCE(a_server_that_loads_is_not_fit_yet)
{
	struct server *slow = SERVER("--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024",
	                             "--enable-debug-command", "yes");
	leash_status status;

	ask(slow, "DEBUG POPULATE 20000");
	ask(slow, "SAVE");
	server_kill(slow);
	server_boot(slow);
	status = examine(server_uri(slow));
	ask(slow, "CONFIG SET key-load-delay 0");
	if (status == LEASH_OK) /* it let the hello pass */
		the("persistence", ERROR, "loading");
	else
		check_remedy(the("connection", ERROR, "LOADING"), "wait");
	server_stop(slow);
}

/* ---- replication ---- */

SENTENCE(a_replica_names_its_master)
{
	struct server *master = server_start_tcp((const char *const[]){"--appendonly", "yes", NULL});
	struct server *replica = server_start(NULL);
	char where[60];

	snprintf(where, sizeof where, "redis://127.0.0.1:%d", server_port(master));
	freeReplyObject(server_command(replica, "REPLICAOF 127.0.0.1 %d", server_port(master)));
	assert_status(LEASH_OK, examine(server_uri(replica)));
	check_remedy(the("replication", ERROR, "is a replica"), where);
	await_true(strstr(server_text(master, "INFO replication"), "state=online") != NULL);
	assert_status(LEASH_OK, examine(where));
	the("replication", NOTE, "master of 1 replica");
	check_at_worst(NOTE);
	assert_status(LEASH_OK, examine(bob(replica, "+@all -info ~leash:* &leash:wake:*")));
	the("replication", ERROR, "is a replica");
	server_stop(master);
	ask(replica, "CONFIG SET replica-serve-stale-data no");
	await_true(strstr(server_text(replica, "INFO replication"), "master_link_status:down") != NULL);
	examine(server_uri(replica));
	check_worst(ERROR);
	server_stop(replica);
}

SENTENCE(a_replica_whose_clock_is_ahead_is_named)
{
	char port[12], where[60];
	struct server *master = server_start_tcp((const char *const[]){"--appendonly", "yes", NULL}), *replica;

	snprintf(port, sizeof port, "%d", ports_take());
	replica = server_start_clocked((const char *const[]){"--port", port, NULL});
	snprintf(where, sizeof where, "redis://127.0.0.1:%d", server_port(master));
	freeReplyObject(server_command(replica, "REPLICAOF 127.0.0.1 %d", server_port(master)));
	await_true(strstr(server_text(master, "INFO replication"), "state=online") != NULL);
	assert_status(LEASH_OK, examine(where));
	the("clock", FINE, port);
	server_set_clock(replica, 3600000);
	assert_status(LEASH_OK, examine(where));
	check_remedy(the("clock", WARNING, "ahead of the master's"), "NTP");
	the("clock", WARNING, port);
	server_set_clock(replica, -3600000);
	assert_status(LEASH_OK, examine(where));
	the("clock", FINE, port);
	server_stop(replica);
	server_stop(master);
}

SENTENCE(a_guard_without_info_and_what_it_goes_by_are_told)
{
	char uri[300];

	snprintf(uri, sizeof uri, "%s?restart_guard=1000", bob(server, "+@all -info ~leash:* &leash:wake:*"));
	assert_status(LEASH_OK, examine(uri));
	check_remedy(the("uptime", ERROR, "restart_guard"), "+info");
}

SENTENCE(a_master_with_too_few_replicas_is_not_fit)
{
	ask(server, "CONFIG SET min-replicas-to-write 2");
	assert_status(LEASH_OK, examine(server_uri(server)));
	check_remedy(the("replication", ERROR, "wants 2 replicas"), "CONFIG SET min-replicas-to-write 0");
	assert_status(LEASH_OK, examine(bob(server, "+@all -info -config ~leash:* &leash:wake:*")));
	the("replication", ERROR, "NOREPLICAS");
	ask(server, "CONFIG SET min-replicas-to-write 0");
}

SENTENCE(a_cluster_is_not_what_such_a_uri_names)
{
	struct server *node = SERVER("--cluster-enabled", "yes");

	assert_status(LEASH_OK, examine(server_uri(node)));
	the("version", ERROR, "cluster mode");
	assert_status(LEASH_OK, examine(bob(node, "+@all -info ~leash:* &leash:wake:*")));
	the("version", ERROR, "cluster mode");
	server_stop(node);
}

/* ---- a quorum ---- */

SENTENCE(a_server_that_a_quorum_names_twice_is_told)
{
	struct server *twin = server_start_tcp(NULL), *other = server_start_tcp(NULL);
	char uri[512], shown[64];

	snprintf(shown, sizeof shown, "the same server as redis://127.0.0.1:%d", server_port(twin));
	snprintf(uri, sizeof uri, "redis+quorum://127.0.0.1:%d,127.0.0.1:%d,localhost:%d?restart_guard=1",
	         server_port(twin), server_port(other), server_port(twin));
	assert_status(LEASH_OK, examine(uri));
	check_remedy(the("connection", ERROR, shown), "once");
	server_stop(twin);
	server_stop(other);
}

/* ---- clock and limits ---- */

SENTENCE(a_clock_that_is_off_is_told_with_how_far)
{
	struct server *off = server_start_clocked((const char *const[]){"--appendonly", "yes", NULL});

	server_set_clock(off, 60500);
	assert_status(LEASH_OK, examine(server_uri(off)));
	the("clock", WARNING, "s ahead of ours");
	the("clock", WARNING, " 60.");
	server_set_clock(off, -60500);
	assert_status(LEASH_OK, examine(server_uri(off)));
	check_remedy(the("clock", WARNING, "s behind ours"), "NTP");
	server_set_clock(off, 0);
	assert_status(LEASH_OK, examine(server_uri(off)));
	the("clock", FINE, "ms");
	server_stop(off);
}

SENTENCE(connections_that_run_out_are_told)
{
	struct server *small = SERVER("--appendonly", "yes", "--maxclients", "4", "--timeout", "3600");
	redisContext *guests[3];

	ask(small, "PING");
	for (int i = 0; i < 2; i++)
		guests[i] = server_connect(small);
	assert_status(LEASH_OK, examine(server_uri(small)));
	the("limits", WARNING, "4 of at most 4");
	the("connection", ERROR, "second connection");
	the("limits", NOTE, "3600 s");
	guests[2] = server_connect(small);
	assert_status(LEASH_UNAVAILABLE, examine(server_uri(small)));
	check_remedy(the("connection", ERROR, "max number of clients"), "CONFIG SET maxclients");
	for (int i = 0; i < 3; i++)
		redisFree(guests[i]);
	server_stop(small);
}

SENTENCE(a_slow_line_is_told_by_what_leash_has_patience_for)
{
	struct proxy *proxy = proxy_start(server_socket(server));

	proxy_delay(proxy, PROXY_TO_SERVER, 260000);
	assert_status(LEASH_OK, examine_with(LEASH_OPTIONS(.uri = proxy_uri(proxy), .timeout_ms = 2500)));
	check_remedy(the("speed", WARNING, "tenth"), "?timeout=");
	proxy_stop(proxy);
	check_nothing_is_left(server);
}

/* ---- permissions ---- */

static const char ALL_KEYS[] = "~leash:* &leash:wake:*";

/* What lib/lua needs; and from HLEN on what those need who look at locks. */
static const char *const needed[] = {
	"EVALSHA", "EVAL", "TIME", "EXISTS", "SET", "GET", "HSET", "HGET", "HDEL", "HEXISTS", "PEXPIRE", "PTTL", "DEL",
	"ZADD", "ZREM", "ZSCORE", "ZCOUNT", "ZREVRANGE", "ZRANGEBYSCORE", "PUBLISH", "SUBSCRIBE",
	"HLEN", "HGETALL", "SCAN", "GETRANGE", "INFO",
};

SENTENCE(each_command_that_is_not_permitted_is_named_with_what_permits_it)
{
	for (size_t i = 0, of_lua = 21; i < sizeof needed / sizeof *needed; i++) {
		enum level level = i < of_lua ? ERROR : WARNING;
		const struct found *f;
		char rules[100];
		const char *uri;

		snprintf(rules, sizeof rules, "+@all -%s %s", needed[i], ALL_KEYS);
		uri = bob(server, rules);
		assert_status(LEASH_OK, examine(uri));
		check_worst(level);
		f = the("permissions", level, needed[i]);
		check_remedy(f, "ACL SETUSER bob ");
		check_nothing_is_left(server);
		do_as_told(server, f);
		assert_status(LEASH_OK, examine(uri));
		check_at_worst(NOTE);
		the("permissions", FINE, "handed over");
	}
}

SENTENCE(each_renamed_command_is_named_as_one)
{
	static const char *const renamed[] = {"HSET", "EVALSHA", "ZREVRANGE", "PUBLISH", "SUBSCRIBE", "TIME"};

	for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
		struct server *odd = SERVER("--appendonly", "yes", "--rename-command", renamed[i], "");

		assert_status(LEASH_OK, examine(server_uri(odd)));
		check_worst(ERROR);
		check_remedy(the("permissions", ERROR, renamed[i]), "rename-command");
		check_nothing_is_left(odd);
		server_stop(odd);
	}
}

SENTENCE(a_server_that_hides_its_settings_is_judged_by_what_it_tells)
{
	struct server *managed = SERVER("--appendonly", "yes", "--rename-command", "CONFIG", "", "--rename-command", "ACL",
	                                "");

	assert_status(LEASH_OK, examine(server_uri(managed)));
	check_worst(NOTE);
	the("permissions", NOTE, "CONFIG GET");
	the("persistence", FINE, "append-only file");
	server_stop(managed);
}

SENTENCE(a_user_without_permissions_has_all_after_as_many_remedies_as_there_are_steps)
{
	const char *uri = bob(server, "");

	assert_status(LEASH_OK, examine(uri));
	check_worst(ERROR);
	do_as_told(server, the("permissions", ERROR, "TIME"));
	assert_status(LEASH_OK, examine(uri));
	check_worst(NOTE); /* it need not be permitted CONFIG GET */
	uri = bob(server, "+time");
	assert_status(LEASH_OK, examine(uri));
	check_nothing_is_left(server);
	do_as_told(server, the("permissions", ERROR, "EVALSHA, EVAL, EXISTS, SET, GET"));
	assert_status(LEASH_OK, examine(uri)); /* keys and channels are looked at for commands that are permitted */
	do_as_told(server, the("permissions", ERROR, "keys leash:*"));
	assert_status(LEASH_OK, examine(uri));
	check_worst(NOTE);
}

/* The longest one, where nothing else is permitted either, so that the list of what is missing is the longest, too. */
SENTENCE(a_remedy_is_whole_whatever_the_prefix)
{
	static const char prefix[] = "a-prefix-of-sixty-four-characters-is-the-longest-that-there-is--";
	const char *uri = bob(server, "");
	char whole[200];

	assert_int_equal(strlen(prefix), 64);
	snprintf(whole, sizeof whole, " ~%s:* &%s:wake:*, then ACL SAVE", prefix, prefix);
	assert_status(LEASH_OK, examine_with(LEASH_OPTIONS(.uri = uri, .timeout_ms = PATIENCE_MS, .prefix = prefix)));
	check_remedy(the("permissions", ERROR, "TIME"), whole);
	do_as_told(server, the("permissions", ERROR, "TIME"));
	assert_status(LEASH_OK, examine_with(LEASH_OPTIONS(.uri = uri, .timeout_ms = PATIENCE_MS, .prefix = prefix)));
	check_worst(NOTE);
}

SENTENCE(keys_and_channels_that_are_not_permitted_are_told_from_commands)
{
	const struct found *f;
	const char *uri;

	assert_status(LEASH_OK, examine(bob(server, "+@all &leash:wake:*")));
	f = the("permissions", ERROR, " on keys leash:*");
	check_remedy(f, "bob ~leash:*,");
	assert_status(LEASH_OK, examine(bob(server, "+@all ~leash:*")));
	f = the("permissions", ERROR, "PUBLISH, SUBSCRIBE on channels leash:wake:*");
	check_remedy(f, "bob &leash:wake:*,");
	uri = bob(server, "+@all ~leash:{* &leash:wake:*");
	assert_status(LEASH_OK, examine(uri));
	check_worst(WARNING);
	f = the("permissions", WARNING, "not shown by name");
	do_as_told(server, f);
	assert_status(LEASH_OK, examine(uri));
	check_at_worst(NOTE);
	assert_status(LEASH_OK, examine(bob(server, "+@all %%R~leash:* &leash:wake:*")));
	the("permissions", ERROR, " on keys leash:*");
	check_nothing_is_left(server);
}
