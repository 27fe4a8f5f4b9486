/* Examining a deployment of several servers: each that keeps data is looked at, by what leash does there; what is wrong with one is
 * told of that one; and nothing is left at any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/await.h"
#include "tests/support/deployment.h"
#include "tests/support/groups.h"
#include "tests/support/least.h"
#include "tests/support/leashed.h"
#include "tests/support/quorum.h"
#include "tests/support/sentinel_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 60000 };

static enum deployment_kind kind;
static struct deployment *deployment;
static char *as_least;
static _Thread_local leash_error err;

/* ---- what was found ---- */

struct found {
	leash_finding_level level;
	char server[200], topic[32], text[700], remedy[1100];
};

static struct found found[128];
static size_t found_count;

static void
take(void *arg, const leash_finding *f)
{
	struct found *to = &found[found_count++];

	assert_ptr_equal(arg, found);
	assert_true(found_count < sizeof found / sizeof *found);
	to->level = f->level;
	snprintf(to->server, sizeof to->server, "%s", f->server);
	snprintf(to->topic, sizeof to->topic, "%s", f->topic);
	snprintf(to->text, sizeof to->text, "%s", f->text);
	snprintf(to->remedy, sizeof to->remedy, "%s", f->remedy != NULL ? f->remedy : "");
}

static leash_status
examine(const char *uri)
{
	found_count = 0;
	memset(&err, 0, sizeof err);
	return leash_examine(LEASH_OPTIONS(.uri = uri, .timeout_ms = PATIENCE_MS), take, found, &err);
}

static void
show_all(void)
{
	for (size_t i = 0; i < found_count; i++)
		print_message("# %d %s %s: %s | %s\n", (int)found[i].level, found[i].server, found[i].topic, found[i].text, found[i].remedy);
}

/* How many findings have that level (or a worse one), topic and part. */
static int
count(leash_finding_level level, const char *topic, const char *part)
{
	int n = 0;

	for (size_t i = 0; i < found_count; i++)
		n += found[i].level >= level && strcmp(found[i].topic, topic) == 0 && strstr(found[i].text, part) != NULL;
	return n;
}

static const struct found *
first_at_least(leash_finding_level level)
{
	for (size_t i = 0; i < found_count; i++)
		if (found[i].level >= level)
			return &found[i];
	return NULL;
}

/* The port that its URI ends with, as "127.0.0.1:7000". */
static void
check_names(const struct found *f, struct server *server)
{
	char port[16];

	snprintf(port, sizeof port, ":%s", server_text(server, "CONFIG GET port") + strlen("port "));
	if (strstr(f->server, port) == NULL)
		fail_msg("'%s' is told of %s, not of %s", f->text, f->server, port);
}

static void
check_nothing_is_left(void)
{
	assert_int_equal(deployment_keys(deployment, "*"), 0);
}

static void
tell(struct server *server, const char *command)
{
	redisReply *reply = server_command(server, command);

	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("%s: %s", command, reply->str);
	freeReplyObject(reply);
}

/* ---- */

static void
each_server_that_keeps_data_is_fit_and_nothing_is_left(void **state)
{
	size_t servers = deployment_masters(deployment);

	(void)state;
	assert_int_equal(examine(deployment_uri(deployment)), LEASH_OK);
	if (first_at_least(LEASH_FINDING_WARNING) != NULL || count(LEASH_FINDING_FINE, "permissions", "a lock was acquired") != (int)servers) {
		show_all();
		fail_msg("%zu servers are not all fit", servers);
	}
	for (size_t i = 0; i < servers; i++) {
		bool named = false;
		char port[16];

		snprintf(port, sizeof port, ":%s", server_text(deployment_master(deployment, i), "CONFIG GET port") + strlen("port "));
		for (size_t f = 0; f < found_count; f++)
			named |= strstr(found[f].server, port) != NULL;
		assert_true(named);
	}
	check_nothing_is_left();
}

/* CONFIG is nothing for a user of locks: to look is all that it is wanted for. */
static void
check_all_is_permitted(const char *why)
{
	if (count(LEASH_FINDING_FINE, "permissions", "user locks may not run CONFIG GET; so this examination knows less") ==
	    (int)deployment_masters(deployment))
		return;
	show_all();
	fail_msg("%s: it is not permitted all that it needs", why);
}

static void
the_user_of_the_documentation_has_all_permissions(void **state)
{
	(void)state;
	least_admit(deployment, NULL);
	least_denied(deployment);
	assert_int_equal(examine(as_least), LEASH_OK);
	check_all_is_permitted("as documented");
	check_nothing_is_left();
}

/* What it says is done, up to what comes behind the command, on all servers. */
static void
do_as_told(const struct found *f)
{
	char command[sizeof f->remedy];
	struct server *server;

	snprintf(command, sizeof command, "%s", f->remedy);
	*strchrnul(command, ',') = '\0';
	for (size_t i = 0; (server = deployment_master(deployment, i)) != NULL; i++)
		tell(server, command);
}

static bool
tries(const char *rule)
{
	return strchr("+~&", rule[0]) != NULL && least_is_known(deployment_master(deployment, 0), rule);
}

static void
each_permission_that_is_missing_is_told_and_given_by_the_line_that_is_told(void **state)
{
	struct least least;

	(void)state;
	least_of(&least, kind);
	for (int i = 0; i < least.count; i++) {
		const char *rule = least.rule[i];
		const struct found *f;

		if (!tries(rule))
			continue;
		least_admit(deployment, rule);
		examine(as_least);
		if (found_count == 0) { /* so there are no servers to look at */
			assert_int_equal(kind, DEPLOYMENT_CLUSTER);
			assert_int_equal(err.status, LEASH_DENIED);
			assert_non_null(strcasestr(err.text, strcmp(rule, "+cluster|slots") == 0 ? "CLUSTER SLOTS" : rule + 1));
			continue;
		}
		f = first_at_least(LEASH_FINDING_NOTE);
		while (f != NULL && f < found + found_count && strcmp(f->topic, "permissions") != 0)
			f++;
		if (f == NULL || f == found + found_count || strstr(f->remedy, rule) == NULL) {
			show_all();
			fail_msg("nothing is told of %s", rule);
		}
		do_as_told(f);
		examine(as_least);
		check_all_is_permitted(f->remedy);
		check_nothing_is_left();
	}
}

static void
what_is_wrong_with_one_is_told_of_that_one(void **state)
{
	size_t servers = deployment_masters(deployment);
	struct server *bad = deployment_master(deployment, servers - 1);
	const struct found *f;

	(void)state;
	tell(bad, "CONFIG SET maxmemory 100mb");
	tell(bad, "CONFIG SET maxmemory-policy allkeys-lru");
	examine(deployment_uri(deployment));
	assert_int_equal(count(LEASH_FINDING_ERROR, "eviction", "allkeys-lru"), 1);
	f = first_at_least(LEASH_FINDING_ERROR);
	assert_string_equal(f->topic, "eviction");
	check_names(f, bad);
	tell(bad, "CONFIG SET maxmemory-policy noeviction");
	tell(bad, "CONFIG SET maxmemory 0");
	check_nothing_is_left();
}

/* Those behind it in the list are looked at all the same. */
static void
a_dead_server_of_a_quorum_is_named_and_the_others_are_looked_at(void **state)
{
	struct quorum *quorum = deployment_quorum(deployment);
	char port[16];

	(void)state;
	snprintf(port, sizeof port, ":%s", server_text(quorum_server(quorum, 1), "CONFIG GET port") + strlen("port "));
	server_kill(quorum_server(quorum, 1));
	assert_int_equal(examine(deployment_uri(deployment)), LEASH_UNAVAILABLE);
	assert_non_null(strstr(err.text, port));
	assert_int_equal(count(LEASH_FINDING_ERROR, "connection", ""), 1);
	assert_non_null(strstr(first_at_least(LEASH_FINDING_ERROR)->server, port));
	assert_int_equal(count(LEASH_FINDING_FINE, "permissions", "a lock was acquired"), 4);
	server_restart(quorum_server(quorum, 1));
	check_nothing_is_left();
}

/* ---- sentinels ---- */

static struct server *
sentinel(int i)
{
	return sentinel_set_sentinel(deployment_sentinel_set(deployment), i);
}

static void
check_is_of(const struct found *f, int i)
{
	char port[16];

	snprintf(port, sizeof port, ":%d", server_port(sentinel(i)));
	if (strstr(f->server, port) == NULL)
		fail_msg("'%s' is told of %s, not of sentinel %d, %s", f->text, f->server, i, port);
}

/* How many findings of sentinels say so, at this level. */
static int
of_sentinels(leash_finding_level level, const char *part)
{
	return count(level, "sentinel", part) - count(level + 1, "sentinel", part);
}

static void
each_sentinel_is_looked_at(void **state)
{
	(void)state;
	assert_int_equal(examine(deployment_uri(deployment)), LEASH_OK);
	assert_int_equal(of_sentinels(LEASH_FINDING_FINE, "the master is 127.0.0.1:"), SENTINEL_SENTINELS);
	assert_int_equal(of_sentinels(LEASH_FINDING_FINE, ", as 3 of 3 say"), SENTINEL_SENTINELS);
	assert_int_equal(of_sentinels(LEASH_FINDING_FINE, "of 3 sentinels it reaches 3; 2 of them take a master for down, and 2 replace it"), SENTINEL_SENTINELS);
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		check_is_of(&found[2 * i], i);
}

/* Examined, by another's word each time, until this is found. */
static bool
comes_to_light(const char *part)
{
	examine(deployment_uri(deployment));
	return of_sentinels(LEASH_FINDING_WARNING, part) > 0;
}

static void
a_quorum_and_times_by_which_no_failover_helps_are_told(void **state)
{
	(void)state;
	tell(sentinel(0), "SENTINEL SET main down-after-milliseconds 30000");
	tell(sentinel(2), "SENTINEL SET main quorum 4");
	assert_int_equal(examine(deployment_uri(deployment)), LEASH_OK);
	assert_int_equal(of_sentinels(LEASH_FINDING_WARNING, "for down after 30000 ms, and a lease is 30000 ms"), 1);
	assert_int_equal(of_sentinels(LEASH_FINDING_WARNING, "its quorum is 4, but there are 3 sentinels: no failover will ever happen"), 1);
	tell(sentinel(0), "SENTINEL SET main down-after-milliseconds 1000");
	tell(sentinel(2), "SENTINEL SET main quorum 2");
	examine(deployment_uri(deployment));
	assert_null(first_at_least(LEASH_FINDING_WARNING));
}

static void
what_a_sentinel_does_not_permit_is_told_with_the_rule(void **state)
{
	(void)state;
	least_admit(deployment, "+sentinel|master");
	assert_int_equal(examine(as_least), LEASH_OK);
	assert_int_equal(of_sentinels(LEASH_FINDING_NOTE, "SENTINEL MASTER was refused, so its quorum and its times are not known: NOPERM"), SENTINEL_SENTINELS);
	assert_string_equal(first_at_least(LEASH_FINDING_NOTE)->remedy, "ACL SETUSER locks +sentinel|master, on the sentinel");
	least_admit(deployment, NULL);
}

/* By another name, so that they leave the set alone. */
static void
a_sentinel_that_knows_nothing_of_the_master_or_another_one_is_named(void **state)
{
	struct sentinel_set *set = deployment_sentinel_set(deployment);
	int master = sentinel_set_await_failover(set, -1);
	char *uri = strdup(deployment_uri(deployment)), monitor[80];

	(void)state;
	strcpy(strrchr(uri, '/'), "/odd");
	for (int i = 0; i < SENTINEL_SENTINELS; i += 2) {
		snprintf(monitor, sizeof monitor, "SENTINEL MONITOR odd 127.0.0.1 %d 2", sentinel_set_port(set, master));
		tell(sentinel(i), monitor);
	}
	assert_int_equal(examine(uri), LEASH_OK);
	assert_int_equal(of_sentinels(LEASH_FINDING_WARNING, "it knows no master called 'odd'"), 1);
	assert_int_equal(of_sentinels(LEASH_FINDING_FINE, ", as 2 of 3 say"), 2);
	snprintf(monitor, sizeof monitor, "SENTINEL MONITOR odd 127.0.0.1 %d 2", sentinel_set_port(set, (master + 1) % SENTINEL_SERVERS));
	tell(sentinel(1), monitor);
	assert_int_equal(examine(uri), LEASH_OK);
	assert_int_equal(of_sentinels(LEASH_FINDING_WARNING, "which is not what is believed: 127.0.0.1:"), 1);
	for (size_t i = 0; i < found_count; i++)
		if (strstr(found[i].text, "which is not what is believed") != NULL)
			check_is_of(&found[i], 1);
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		tell(sentinel(i), "SENTINEL REMOVE odd");
	free(uri);
}

static void
a_master_whose_replicas_are_gone_is_told_of(void **state)
{
	struct sentinel_set *set = deployment_sentinel_set(deployment);
	int master = sentinel_set_await_failover(set, -1);

	(void)state;
	for (int i = 0; i < SENTINEL_SERVERS; i++)
		if (i != master)
			server_kill(sentinel_set_server(set, i));
	await_true(examine(deployment_uri(deployment)) == LEASH_OK && count(LEASH_FINDING_WARNING, "replication", "") == 1);
	assert_int_equal(count(LEASH_FINDING_WARNING, "replication", "a master without connected replicas: when it dies the sentinels have nobody"), 1);
	for (int i = 0; i < SENTINEL_SERVERS; i++)
		if (i != master)
			server_restart(sentinel_set_server(set, i));
	sentinel_set_await_synced(set);
}

/* The last: there is no set left then. */
static void
sentinels_that_are_gone_are_named_and_too_few_of_them_are_told(void **state)
{
	(void)state;
	server_kill(sentinel(0));
	assert_int_equal(examine(deployment_uri(deployment)), LEASH_OK);
	assert_int_equal(of_sentinels(LEASH_FINDING_WARNING, "it cannot be asked: connecting: Connection refused"), 1);
	assert_null(first_at_least(LEASH_FINDING_ERROR));
	server_kill(sentinel(2));
	await_true(comes_to_light("of 3 sentinels it reaches 1, itself included, and a failover needs 2: none will happen"));
	assert_int_equal(count(LEASH_FINDING_FINE, "permissions", "a lock was acquired"), 1);
	server_kill(sentinel(1));
	assert_int_equal(examine(deployment_uri(deployment)), LEASH_UNAVAILABLE);
	assert_int_equal(of_sentinels(LEASH_FINDING_WARNING, "it cannot be asked"), SENTINEL_SENTINELS);
	assert_int_equal(of_sentinels(LEASH_FINDING_ERROR, "no sentinel answered"), 1);
}

/* ---- */

static void
start(void *arg)
{
	kind = *(const enum deployment_kind *)arg;
	deployment = deployment_start_with(kind, (const char *const[]){"--appendonly", "yes", NULL});
	as_least = least_uri(deployment);
}

static void
stop(void)
{
	deployment_stop(deployment);
	free(as_least);
}

int
main(void)
{
	static enum deployment_kind kinds[] = {DEPLOYMENT_SENTINEL, DEPLOYMENT_CLUSTER, DEPLOYMENT_QUORUM};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_server_that_keeps_data_is_fit_and_nothing_is_left),
		cmocka_unit_test(the_user_of_the_documentation_has_all_permissions),
		cmocka_unit_test(each_permission_that_is_missing_is_told_and_given_by_the_line_that_is_told),
		cmocka_unit_test(what_is_wrong_with_one_is_told_of_that_one),
		cmocka_unit_test(a_dead_server_of_a_quorum_is_named_and_the_others_are_looked_at), /* the last: of quorums only */
	};
	const struct CMUnitTest of_a_set[] = {
		tests[0], tests[1], tests[2], tests[3],
		cmocka_unit_test(each_sentinel_is_looked_at),
		cmocka_unit_test(a_quorum_and_times_by_which_no_failover_helps_are_told),
		cmocka_unit_test(what_a_sentinel_does_not_permit_is_told_with_the_rule),
		cmocka_unit_test(a_sentinel_that_knows_nothing_of_the_master_or_another_one_is_named),
		cmocka_unit_test(a_master_whose_replicas_are_gone_is_told_of),
		cmocka_unit_test(sentinels_that_are_gone_are_named_and_too_few_of_them_are_told),
	};
	struct group groups[sizeof kinds / sizeof *kinds];
	size_t n = sizeof tests / sizeof *tests;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		groups[i] = (struct group){.name = deployment_name(kinds[i]), .tests = tests, .count = kinds[i] == DEPLOYMENT_QUORUM ? n : n - 1,
		                           .start = start, .stop = stop, .arg = &kinds[i]};
	groups[0].tests = of_a_set;
	groups[0].count = sizeof of_a_set / sizeof *of_a_set;
	return groups_run("rounds", groups, sizeof groups / sizeof *groups);
}
