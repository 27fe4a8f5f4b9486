/* Examining servers: what is wrong with one is told, with how to mend it, and done as told it is mended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/await.h"
#include "tests/support/fake.h"
#include "tests/support/leashed.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* For one answer: servers here answer at once, however long this machine may stand still. */
enum { PATIENCE_MS = 60000 };

static struct server *server; /* of all tests, with an append-only file */
static _Thread_local leash_error err;

/* ---- what was found ---- */

struct found {
	leash_finding_level level;
	char server[200], topic[32], text[700], remedy[1100];
};

static struct found found[64];
static size_t found_count;
static char all_found[65536]; /* to be searched for secrets */

static void
check_line(const char *text, bool required)
{
	size_t n = strlen(text);

	assert_true(n > 0 || !required);
	for (size_t i = 0; i < n; i++)
		assert_in_range(text[i], ' ', '~');
	if (n > 0)
		assert_int_not_equal(text[n - 1], '.');
}

static void
take(void *arg, const leash_finding *f)
{
	struct found *to = &found[found_count++];

	assert_ptr_equal(arg, found);
	assert_true(found_count <= sizeof found / sizeof *found);
	assert_true(f->size >= sizeof *f);
	assert_in_range(f->level, LEASH_FINDING_FINE, LEASH_FINDING_ERROR);
	to->level = f->level;
	snprintf(to->server, sizeof to->server, "%s", f->server);
	snprintf(to->topic, sizeof to->topic, "%s", f->topic);
	snprintf(to->text, sizeof to->text, "%s", f->text);
	snprintf(to->remedy, sizeof to->remedy, "%s", f->remedy != NULL ? f->remedy : "");
	check_line(f->server, true);
	check_line(f->topic, true);
	check_line(f->text, true);
	check_line(to->remedy, f->remedy != NULL);
	assert_null(strchr(f->topic, ' '));
	if (f->level >= LEASH_FINDING_WARNING)
		assert_non_null(f->remedy); /* nothing is wrong that nobody could mend */
	snprintf(all_found + strlen(all_found), sizeof all_found - strlen(all_found), "%s %s %s %s\n", f->server, f->topic, f->text, to->remedy);
}

static leash_status
examine_with(const leash_options *options)
{
	found_count = 0;
	all_found[0] = '\0';
	memset(&err, 0, sizeof err);
	return leash_examine(options, take, found, &err);
}

static leash_status
examine(const char *uri)
{
	return examine_with(LEASH_OPTIONS(.uri = uri, .timeout_ms = PATIENCE_MS));
}

static leash_finding_level
worst(void)
{
	leash_finding_level level = LEASH_FINDING_FINE;

	for (size_t i = 0; i < found_count; i++)
		level = found[i].level > level ? found[i].level : level;
	return level;
}

static void
show_all(void)
{
	for (size_t i = 0; i < found_count; i++)
		print_message("%d %s: %s | %s\n", (int)found[i].level, found[i].topic, found[i].text, found[i].remedy);
}

/* The one on that topic, of that level, that says that. */
static const struct found *
the(const char *topic, leash_finding_level level, const char *part)
{
	for (size_t i = 0; i < found_count; i++)
		if (strcmp(found[i].topic, topic) == 0 && found[i].level == level && strstr(found[i].text, part) != NULL)
			return &found[i];
	show_all();
	fail_msg("nothing of level %d was found on %s that says '%s'", (int)level, topic, part);
	return NULL;
}

static void
check_worst(leash_finding_level level)
{
	if (worst() != level)
		show_all();
	assert_int_equal(worst(), level);
}

static void
check_remedy(const struct found *f, const char *part)
{
	if (strstr(f->remedy, part) == NULL)
		fail_msg("the remedy for '%s' is '%s', and says nothing of '%s'", f->text, f->remedy, part);
}

/* ---- servers ---- */

static void
ask(struct server *of, const char *command)
{
	redisReply *reply = server_command(of, command);

	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("%s: %s", command, reply->str);
	freeReplyObject(reply);
}

/* Do what a remedy says up to what comes behind its first command. */
static void
do_as_told(struct server *of, const struct found *f)
{
	char command[sizeof f->remedy];

	snprintf(command, sizeof command, "%s", f->remedy);
	*strchrnul(command, ',') = '\0';
	*strchrnul(command, ';') = '\0';
	ask(of, command);
}

/* A user "bob" with these rules; with what is after "on nopass". */
static const char *
bob(struct server *of, const char *rules)
{
	static char uri[300];
	char command[600];

	snprintf(command, sizeof command, "ACL SETUSER bob reset on >sesame %s", rules);
	ask(of, command);
	snprintf(uri, sizeof uri, "unix://bob:sesame@%s", server_socket(of));
	return uri;
}

static void
check_nothing_is_left(struct server *in)
{
	assert_string_equal(server_text(in, "KEYS *"), "");
}

static int
set_up(void **state)
{
	(void)state;
	server = server_start((const char *const[]){"--appendonly", "yes", NULL});
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	server_stop(server);
	return 0;
}

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
	assert_status(LEASH_INVALID, leash_examine(LEASH_OPTIONS(.uri = server_uri(server)), NULL, NULL, &err));
	assert_status(LEASH_INVALID, examine("nonsense"));
	assert_status(LEASH_INVALID, examine_with(LEASH_OPTIONS(.uri = server_uri(server), .prefix = "a b")));
	assert_status(LEASH_INVALID, examine_with(LEASH_OPTIONS(.uri = server_uri(server), .timeout_ms = -1)));
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
	client = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = PATIENCE_MS));
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
	assert_status(LEASH_OK, leash_examine(LEASH_OPTIONS(.uri = server_uri(server), .timeout_ms = PATIENCE_MS), lock_meanwhile, NULL, &err));
	assert_true(lock_by_callback > 1);
	ask(server, "FLUSHALL");
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

	(void)state;
	assert_status(LEASH_OK, examine(server_uri(forgetful)));
	check_worst(LEASH_FINDING_WARNING);
	check_remedy(the("persistence", LEASH_FINDING_WARNING, "neither"), "restart_guard_ms");
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

/* ---- no server, no login ---- */

static void
nobody_there_is_a_finding_with_how_to_look(void **state)
{
	(void)state;
	assert_status(LEASH_UNAVAILABLE, examine("unix:///nowhere/at/all.sock"));
	assert_string_equal(found[0].server, "unix:///nowhere/at/all.sock");
	check_remedy(the("connection", LEASH_FINDING_ERROR, "No such file"), "redis-cli -s /nowhere/at/all.sock ping");
	assert_status(LEASH_UNAVAILABLE, examine("redis://127.0.0.1:1"));
	check_remedy(the("connection", LEASH_FINDING_ERROR, "refused"), "redis-cli -h 127.0.0.1 -p 1 ping");
	assert_int_equal(found_count, 1);
}

static void
a_wrong_password_is_told_and_never_shown(void **state)
{
	struct server *locked = server_start((const char *const[]){"--requirepass", "right-as-rain", NULL});
	char uri[300];

	(void)state;
	snprintf(uri, sizeof uri, "unix://:wrong-as-sin@%s", server_socket(locked));
	assert_status(LEASH_DENIED, examine(uri));
	the("connection", LEASH_FINDING_ERROR, "WRONGPASS");
	assert_null(strstr(all_found, "wrong-as-sin"));
	assert_null(strstr(err.text, "wrong-as-sin"));
	assert_status(LEASH_DENIED, examine(server_uri(locked)));
	check_remedy(the("connection", LEASH_FINDING_ERROR, "wants a password"), "password_file");
	snprintf(uri, sizeof uri, "unix://:right-as-rain@%s", server_socket(locked));
	assert_status(LEASH_OK, examine(uri));
	check_worst(LEASH_FINDING_WARNING);
	assert_null(strstr(all_found, "right-as-rain"));
	server_stop(locked);
}

static void
a_password_that_is_a_word_of_the_server_hides_nothing_that_is_wrong(void **state)
{
	static const char *const words[] = {"allkeys-lru", "l", "slave", "no", "3600 1", "master", "0"};

	(void)state;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct server *odd = server_start((const char *const[]){"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", "--requirepass", words[i], NULL});
		char uri[300];

		freeReplyObject(server_command(odd, "CONFIG SET save %s", "3600 1"));
		setenv("LEASH_TEST_PASSWORD", words[i], 1);
		snprintf(uri, sizeof uri, "unix://%s?password_env=LEASH_TEST_PASSWORD", server_socket(odd));
		assert_status(LEASH_OK, examine(uri));
		the("eviction", LEASH_FINDING_ERROR, "");
		the("persistence", LEASH_FINDING_WARNING, "");
		the("permissions", LEASH_FINDING_FINE, "handed over");
		freeReplyObject(server_command(odd, "REPLICAOF 127.0.0.1 1"));
		assert_status(LEASH_OK, examine(uri));
		the("replication", LEASH_FINDING_ERROR, "is a replica");
		server_stop(odd);
	}
	unsetenv("LEASH_TEST_PASSWORD");
}

static void
a_database_that_is_not_there_is_told(void **state)
{
	char uri[300];

	(void)state;
	snprintf(uri, sizeof uri, "unix://%s?db=999", server_socket(server));
	assert_status(LEASH_INVALID, examine(uri));
	the("connection", LEASH_FINDING_ERROR, "no database 999");
}

static void
a_server_that_stands_still_is_told_after_the_time_for_one_answer(void **state)
{
	(void)state;
	server_pause(server);
	assert_status(LEASH_UNAVAILABLE, examine_with(LEASH_OPTIONS(.uri = server_uri(server), .timeout_ms = 200)));
	server_resume(server);
	check_remedy(the("connection", LEASH_FINDING_ERROR, "no answer in time"), "?timeout=");
}

/* ---- a connection that breaks ---- */

static void
wherever_the_connection_breaks_that_is_told_and_nothing_is_left(void **state)
{
	struct proxy *proxy = proxy_start(server_socket(server));
	unsigned n, broken = 0;

	(void)state;
	assert_status(LEASH_OK, examine(proxy_uri(proxy)));
	for (n = 0;; n++) {
		leash_status status;

		proxy_skip(proxy, n);
		proxy_cut_reply(proxy, NULL, 0);
		status = examine(proxy_uri(proxy));
		if (!proxy_hit(proxy))
			break;
		if (status == LEASH_UNAVAILABLE) {
			the("connection", LEASH_FINDING_ERROR, "");
			broken++;
		} else {
			assert_int_equal(status, LEASH_OK); /* it was the second connection */
			check_worst(LEASH_FINDING_ERROR);
		}
		check_nothing_is_left(server);
	}
	proxy_stop(proxy);
	print_message("# %u requests, %u times it was the connection\n", n, broken);
	assert_true(n > 50 && broken > 50);
}

static void
an_ask_that_arrives_when_nobody_waits_for_it_any_more_does_nothing(void **state)
{
	struct proxy *proxy = proxy_start(server_socket(server));

	(void)state;
	assert_status(LEASH_OK, examine(proxy_uri(proxy))); /* so that the server knows the scripts */
	do { /* until it was the ask, and no pause of this machine, that took too long */
		proxy_strand_request(proxy, "\r\n10000\r\n");
		assert_status(LEASH_UNAVAILABLE, examine_with(LEASH_OPTIONS(.uri = proxy_uri(proxy), .timeout_ms = 1000)));
	} while (!proxy_hit(proxy));
	the("connection", LEASH_FINDING_ERROR, "while it was looked at");
	await_ms(1500);
	proxy_release(proxy);
	await_ms(200); /* for what should not come */
	check_nothing_is_left(server);
	proxy_stop(proxy);
}

/* Once it has all connections that it needs, it gets no more. */
static void
take_and_refuse(void *proxy, const leash_finding *f)
{
	take(found, f);
	if (strcmp(f->topic, "limits") == 0)
		proxy_refuse(proxy, true);
}

static void
what_the_server_does_not_let_be_deleted_goes_by_itself(void **state)
{
	struct proxy *proxy = proxy_start(server_socket(server));
	char *keys, *rest;
	int count = 0;

	(void)state;
	assert_status(LEASH_OK, examine(bob(server, "+@all -del ~leash:* &leash:wake:*")));
	check_nothing_is_left(server); /* none was made */
	/* or nobody is left to ask for it: DEL is tried twice by itself, and the third is meant */
	proxy_skip(proxy, 2);
	proxy_cut_request(proxy, "\r\nDEL\r\n");
	found_count = 0;
	assert_status(LEASH_UNAVAILABLE, leash_examine(LEASH_OPTIONS(.uri = proxy_uri(proxy), .timeout_ms = PATIENCE_MS), take_and_refuse, proxy, &err));
	assert_true(proxy_hit(proxy));
	keys = strdup(server_text(server, "KEYS *"));
	for (char *key = strtok_r(keys, " ", &rest); key != NULL; key = strtok_r(NULL, " ", &rest), count++)
		assert_in_range(server_integer(server, "PTTL %s", key), 1, 60000);
	assert_int_equal(count, 1);
	free(keys);
	ask(server, "FLUSHALL");
	proxy_stop(proxy);
}

/* ---- those who are no servers ---- */

struct script {
	const char *command, *answer; /* to it, NULL: as of an empty Redis, as for those that are not named */
};

static size_t
answer_by_script(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	for (const struct script *s = ctx; s->command != NULL; s++)
		if (strcmp(s->command, "*") == 0 || fake_is(argc, argv, argl, 0, s->command))
			return s->answer != NULL ? fake_say(out, size, "%s", s->answer) : FAKE_DEFAULT;
	return FAKE_DEFAULT;
}

static leash_status
examine_fake(const struct script *script)
{
	struct fake *fake = fake_start(answer_by_script, (void *)(uintptr_t)script);
	char uri[300];
	leash_status status;

	snprintf(uri, sizeof uri, "unix://joe:open-sesame@%s", fake_uri(fake) + strlen("unix://"));
	status = examine(uri);
	fake_stop(fake);
	assert_null(strstr(all_found, "open-sesame"));
	assert_null(strstr(err.text, "open-sesame"));
	return status;
}

static void
what_is_no_redis_is_told_as_that(void **state)
{
	(void)state;
	assert_status(LEASH_PROTOCOL, examine_fake((const struct script[]){{"*", "HTTP/1.1 400 Bad Request\r\n\r\n"}, {0}}));
	the("connection", LEASH_FINDING_ERROR, "");
	assert_int_equal(found_count, 1);
}

static void
a_server_that_has_no_commands_is_told_which(void **state)
{
	const struct found *f;

	(void)state;
	assert_status(LEASH_OK, examine_fake((const struct script[]){{0}}));
	f = the("permissions", LEASH_FINDING_ERROR, "EVAL, EXISTS, SET");
	assert_non_null(strstr(f->text, "does not know"));
}

/* All that is tried by itself it answers; its scripts say this. */
static leash_status
examine_scripts(const char *answer)
{
	return examine_fake((const struct script[]){{"AUTH", NULL}, {"CLIENT", NULL}, {"INFO", NULL}, {"TIME", NULL}, {"SUBSCRIBE", NULL},
		{"EVALSHA", answer}, {"EVAL", answer}, {"*", ":0\r\n"}, {0}});
}

static void
permissions_are_fine_only_where_a_lock_works(void **state)
{
	const struct found *f;

	(void)state;
	assert_status(LEASH_OK, examine_scripts(":0\r\n"));
	the("trial", LEASH_FINDING_ERROR, "acquiring a lock was answered with 0");
	assert_status(LEASH_OK, examine_scripts(":7\r\n"));
	the("trial", LEASH_FINDING_ERROR, "renewing it was answered with 7");
	assert_status(LEASH_OK, examine_scripts("*2\r\n:1\r\n:2\r\n"));
	the("trial", LEASH_FINDING_ERROR, "acquiring a lock");
	assert_status(LEASH_OK, examine_scripts("-ERR Error running script \x1b open-sesame\r\n"));
	the("trial", LEASH_FINDING_ERROR, "was refused: (not shown)");
	assert_status(LEASH_OK, examine_scripts("-ERR The user executing the script can't run this command or subcommand script: 0, on @user_script:1.\r\n"));
	f = the("permissions", LEASH_FINDING_ERROR, "can't run this command");
	check_remedy(f, "+evalsha");
	for (size_t i = 0; i < found_count; i++)
		assert_false(strcmp(found[i].topic, "permissions") == 0 && found[i].level == LEASH_FINDING_FINE);
}

/* Each is the whole of what INFO says. */
static const char *const infos[] = {
	"",
	":",
	"redis_version",
	"redis_version:",
	"redis_version:999999999999.9.9\r\nvalkey_version:\x1b[2J\r\n",
	"redis_version:7.0.0\r\nvalkey_version:open-sesame\r\nserver_name:open-sesame\r\nmaxmemory_policy:open-sesame\r\nmaxmemory:1\r\nrole:slave\r\n"
	"master_host:open-sesame\r\nmaster_port:open-sesame\r\nloading:1\r\nloading_loaded_perc:open-sesame\r\n",
	"redis_version:7.0.0\r\nused_memory:18446744073709551615\r\nmaxmemory:1\r\nmaxmemory_policy:noeviction\r\nconnected_clients:18446744073709551615\r\n"
	"maxclients:1\r\nrdb_last_save_time:18446744073709551615\r\naof_enabled:0\r\nrole:master\r\nconnected_slaves:18446744073709551615\r\n"
	"uptime_in_seconds:18446744073709551615\r\nevicted_keys:18446744073709551615\r\nloading_eta_seconds:18446744073709551615\r\nloading:1\r\n",
	"redis_version:7.0.0\r\nused_memory:-1\r\nmaxmemory:99999999999999999999\r\nmaxmemory_policy:allkeys-lru\r\nrole:slave\r\nmaster_host:$(reboot);`x`\r\n"
	"master_port:6379 -x\r\nmaster_link_status:down\r\n",
	"redis_version:0.0.0\r\nredis_mode:sentinel\r\ncluster_enabled:1\r\nrole:slave\r\nmaster_host:fe80::1\r\nmaster_port:6379\r\n",
	"redis_version:7.0.0\r\nrdb_last_bgsave_status:err\r\naof_last_write_status:err\r\naof_last_bgrewrite_status:err\r\naof_enabled:1\r\n",
	"\n\n\n\r\r\r:::\r\n\xff\xfe\x80:\xff\r\nrole:\r\nmaxmemory:\r\n",
};

static void
whatever_info_says_is_survived_and_shown_harmlessly(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
		char answer[4096];

		snprintf(answer, sizeof answer, "$%zu\r\n%s\r\n", strlen(infos[i]), infos[i]);
		assert_status(LEASH_OK, examine_fake((const struct script[]){
			{"INFO", answer}, {"CONFIG", "*2\r\n$4\r\nsave\r\n$11\r\nopen-sesame\r\n"}, {"ACL", "$11\r\nopen-sesame\r\n"}, {0}}));
		assert_null(strstr(all_found, "reboot"));
		assert_status(LEASH_OK, examine_fake((const struct script[]){
			{"INFO", answer}, {"CONFIG", "*1\r\n*1\r\n:1\r\n"}, {"ACL", "$17\r\ndefault on +@all \r\n"}, {"SET", "-NOPERM \x1b[2J\r\n"}, {0}}));
		assert_null(strstr(all_found, "+@all"));
	}
}

/* In the place of all answers but those of the hello. */
static const char *const answers[] = {
	":1\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "+OK\r\n", "-ERR \x1b[31m open-sesame\r\n", "-NOPERM open-sesame permissions to access channel\r\n",
	"-OOM\r\n", "-LOADING x\r\n", "-BUSY x\r\n", "-MOVED 1 x:1\r\n", "-MISCONF open-sesame\r\n", "-READONLY\r\n", "-\r\n", "*2\r\n$1\r\na\r\n$1\r\nb\r\n",
	"*2\r\n$20\r\n18446744073709551615\r\n$6\r\n999999\r\n", "*3\r\n*1\r\n*1\r\n:1\r\n:2\r\n$3\r\nabc\r\n", "*3\r\n:0\r\n:9223372036854775807\r\n:-9223372036854775808\r\n",
	"$5\r\na\0b\x1b\x07\r\n",
};

struct liar {
	const char *answer;
	int times; /* it told the truth: for a hello */
};

static size_t
lie(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	struct liar *liar = ctx;

	(void)size;
	if (fake_is(argc, argv, argl, 0, "AUTH") || (fake_is(argc, argv, argl, 0, "CLIENT") && fake_has(argc, argv, argl, "SETNAME")) ||
	    (fake_is(argc, argv, argl, 0, "INFO") && argc == 2) || (fake_is(argc, argv, argl, 0, "TIME") && liar->times++ % 4 < 1))
		return FAKE_DEFAULT;
	if (memcmp(liar->answer, "$5\r\na", 6) == 0) {
		memcpy(out, "$5\r\na\0b\x1b\x07\r\n", 11);
		return 11;
	}
	return fake_say(out, size, "%s", liar->answer);
}

static void
whatever_a_server_answers_is_survived_and_shown_harmlessly(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		struct liar liar = {.answer = answers[i]};
		struct fake *fake = fake_start(lie, &liar);
		char uri[300];

		snprintf(uri, sizeof uri, "unix://joe:open-sesame@%s", fake_uri(fake) + strlen("unix://"));
		examine_with(LEASH_OPTIONS(.uri = uri, .timeout_ms = 1000));
		check_worst(LEASH_FINDING_ERROR);
		assert_null(strstr(all_found, "open-sesame"));
		assert_null(strstr(err.text, "open-sesame"));
		fake_stop(fake);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_server_gets_no_warning),
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
		cmocka_unit_test(a_master_with_too_few_replicas_is_not_fit),
		cmocka_unit_test(a_cluster_is_not_what_such_a_uri_names),
		cmocka_unit_test(a_clock_that_is_off_is_told_with_how_far),
		cmocka_unit_test(connections_that_run_out_are_told),
		cmocka_unit_test(a_slow_line_is_told_by_what_leash_has_patience_for),
		cmocka_unit_test(each_command_that_is_not_permitted_is_named_with_what_permits_it),
		cmocka_unit_test(each_renamed_command_is_named_as_one),
		cmocka_unit_test(a_server_that_hides_its_settings_is_judged_by_what_it_tells),
		cmocka_unit_test(a_user_without_permissions_has_all_after_as_many_remedies_as_there_are_steps),
		cmocka_unit_test(a_remedy_is_whole_whatever_the_prefix),
		cmocka_unit_test(keys_and_channels_that_are_not_permitted_are_told_from_commands),
		cmocka_unit_test(nobody_there_is_a_finding_with_how_to_look),
		cmocka_unit_test(a_wrong_password_is_told_and_never_shown),
		cmocka_unit_test(a_password_that_is_a_word_of_the_server_hides_nothing_that_is_wrong),
		cmocka_unit_test(a_database_that_is_not_there_is_told),
		cmocka_unit_test(a_server_that_stands_still_is_told_after_the_time_for_one_answer),
		cmocka_unit_test(wherever_the_connection_breaks_that_is_told_and_nothing_is_left),
		cmocka_unit_test(an_ask_that_arrives_when_nobody_waits_for_it_any_more_does_nothing),
		cmocka_unit_test(what_the_server_does_not_let_be_deleted_goes_by_itself),
		cmocka_unit_test(what_is_no_redis_is_told_as_that),
		cmocka_unit_test(a_server_that_has_no_commands_is_told_which),
		cmocka_unit_test(permissions_are_fine_only_where_a_lock_works),
		cmocka_unit_test(whatever_info_says_is_survived_and_shown_harmlessly),
		cmocka_unit_test(whatever_a_server_answers_is_survived_and_shown_harmlessly),
	};

	return cmocka_run_group_tests_name("examine", tests, set_up, tear_down);
}
