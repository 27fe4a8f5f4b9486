/* The doctor at deployments of each kind: every server that keeps data is looked at, by what leash does there; what is
 * wrong with one is told of that one; and nothing is left at any. */
#include "tests/doctor/findings.h"

#include "tests/support/counted.h"
#include "tests/support/deployment.h"
#include "tests/support/least.h"
#include "tests/support/quorum.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/test.h"

static enum deployment_kind kind;
static struct deployment *deployment;
static char *as_least;

/* The first of that level or a worse one, on that topic (NULL: any); NULL: there is none. */
static const struct found *
first_on(const char *topic, enum level level)
{
	for (size_t i = 0; i < found_count; i++)
		if (found[i].level >= level && (topic == NULL || strcmp(found[i].topic, topic) == 0))
			return &found[i];
	return NULL;
}

#define first_at_least(level) first_on(NULL, (level))

/* Is it told of this server? By its port, "127.0.0.1:7000", or its socket. */
static bool
is_of(const struct found *f, const struct server *of)
{
	char port[16];

	snprintf(port, sizeof port, ":%d", server_port(of));
	return strstr(f->server, port) != NULL || strstr(f->server, server_socket(of)) != NULL;
}

static void
check_is_of(const struct found *f, const struct server *of)
{
	if (!is_of(f, of))
		fail_msg("'%s' is told of %s, not of the server at port %d", f->text, f->server, server_port(of));
}

static void
check_all_are_empty(void)
{
	assert_int_equal(deployment_keys(deployment, "*"), 0);
}

FIXTURE(NULL, check_all_are_empty);

SENTENCE(each_server_that_keeps_data_is_fit_and_nothing_is_left)
{
	size_t servers = deployment_masters(deployment);

	assert_int_equal(examine(deployment_uri(deployment)), LEASH_OK);
	if (first_at_least(WARNING) != NULL || count(FINE, "permissions", "a lock was acquired") != (int)servers) {
		show_all();
		fail_msg("%zu servers are not all fit", servers);
	}
	for (size_t i = 0; i < servers; i++) {
		bool named = false;

		for (size_t f = 0; f < found_count; f++)
			named |= is_of(&found[f], deployment_master(deployment, i));
		assert_true(named);
	}
}

/* CONFIG is nothing for a user of locks: to look is all that it is wanted for. */
static void
check_all_is_permitted(const char *why)
{
	if (count(FINE, "permissions", "user locks may not run CONFIG GET; so leash doctor can check less") ==
	    (int)deployment_masters(deployment))
		return;
	show_all();
	fail_msg("%s: it is not permitted all that it needs", why);
}

SENTENCE(the_user_of_the_documentation_has_all_permissions)
{
	least_admit(deployment, NULL);
	least_denied(deployment);
	assert_int_equal(examine(as_least), LEASH_OK);
	check_all_is_permitted("as documented");
}

static void
ask_all(const char *command)
{
	for (size_t i = 0; deployment_master(deployment, i) != NULL; i++)
		server_say(deployment_master(deployment, i), command);
}

SENTENCE(each_permission_that_is_missing_is_told_and_given_by_the_line_that_is_told)
{
	char command[sizeof found->remedy];
	struct least least;

	least_of(&least, kind);
	for (int i = 0; i < least.count; i++) {
		const char *rule = least.rule[i];

		if (strchr("+~&", rule[0]) == NULL || !least_is_known(deployment_master(deployment, 0), rule))
			continue;
		least_admit(deployment, rule);
		examine(as_least);
		if (found_count == 0) { /* so there are no servers to look at */
			assert_int_equal(kind, DEPLOYMENT_CLUSTER);
			assert_int_equal(err.status, LEASH_DENIED);
			assert_non_null(strcasestr(err.text, strcmp(rule, "+cluster|slots") == 0 ? "CLUSTER SLOTS" : rule + 1));
			continue;
		}
		const struct found *f = first_on("permissions", NOTE);
		if (f == NULL || strstr(f->remedy, rule) == NULL) {
			show_all();
			fail_msg("nothing is told of %s", rule);
		}
		snprintf(command, sizeof command, "%.*s", (int)strcspn(f->remedy, ",;"), f->remedy); /* the first */
		ask_all(command);
		examine(as_least);
		check_all_is_permitted(f->remedy);
		check_all_are_empty();
	}
}

SENTENCE(scripts_that_are_not_loaded_are_told_with_who_loads_them_and_eval_is_not_missed)
{
	leash_script script = {.size = sizeof script};
	const char *between = strchr(as_least, '?') != NULL ? "&" : "?";
	char uri[1024];

	snprintf(uri, sizeof uri, "%s%sscripts=preloaded", as_least, between);
	least_admit(deployment, "+eval");
	ask_all("SCRIPT FLUSH");
	assert_status(LEASH_OK, examine(uri));
	check_remedy(the("trial", ERROR, "acquiring a lock was refused: NOSCRIPT"), "leash scripts --load");
	for (size_t i = 0; leash_script_at(i, &script); i++)
		for (size_t j = 0; deployment_master(deployment, j) != NULL; j++)
			freeReplyObject(server_command(deployment_master(deployment, j), "SCRIPT LOAD %s", script.text));
	assert_status(LEASH_OK, examine(uri));
	check_all_is_permitted("with scripts=preloaded");
	examine(as_least);
	assert_int_equal(count(ERROR, "permissions", "may not run EVAL, "), deployment_masters(deployment));
	least_admit(deployment, NULL);
}

SENTENCE(wherever_memory_runs_out_that_is_told_and_nothing_is_left)
{
	long before = counted.blocks, failed = 0, used;

	for (long n = 1;; n++) {
		counted.calls = 0;
		counted.fail_at = n;
		leash_status status = examine(deployment_uri(deployment));
		used = counted.calls;
		counted.fail_at = 0;
		assert_int_equal(counted_left(before), 0);
		if (used >= n && status != LEASH_OK) {
			assert_status(LEASH_NO_MEMORY, status);
			failed++;
		} else {
			assert_status(LEASH_OK, status);
		}
		if (used < n)
			break;
	}
	print_message("# memory ran out at %ld calls\n", failed);
	assert_true(failed > 5);
}

SENTENCE(what_is_wrong_with_one_is_told_of_that_one)
{
	size_t servers = deployment_masters(deployment);
	struct server *bad = deployment_master(deployment, servers - 1);

	server_say(bad, "CONFIG SET maxmemory 100mb");
	server_say(bad, "CONFIG SET maxmemory-policy allkeys-lru");
	examine(deployment_uri(deployment));
	assert_int_equal(count(ERROR, "eviction", "allkeys-lru"), 1);
	const struct found *f = first_at_least(ERROR);
	assert_string_equal(f->topic, "eviction");
	check_is_of(f, bad);
	server_say(bad, "CONFIG SET maxmemory-policy noeviction");
	server_say(bad, "CONFIG SET maxmemory 0");
}

/* Those behind it in the list are looked at all the same. */
SENTENCE(a_dead_server_of_a_quorum_is_named_and_the_others_are_looked_at, .of = 1U << DEPLOYMENT_QUORUM)
{
	struct server *dead = quorum_server(deployment_quorum(deployment), 1);
	char port[16];

	snprintf(port, sizeof port, ":%d", server_port(dead));
	server_kill(dead);
	assert_int_equal(examine(deployment_uri(deployment)), LEASH_UNAVAILABLE);
	assert_non_null(strstr(err.text, port));
	assert_int_equal(count(ERROR, "connection", ""), 1);
	check_is_of(first_at_least(ERROR), dead);
	assert_int_equal(count(FINE, "permissions", "a lock was acquired"), 4);
	server_restart(dead);
}

static struct server *
sentinel(int i)
{
	return sentinel_set_sentinel(deployment_sentinel_set(deployment), i);
}

/* How many findings of sentinels say so, at this level. */
static int
of_sentinels(enum level level, const char *part)
{
	return count(level, "sentinel", part) - count(level + 1, "sentinel", part);
}

SENTENCE(each_sentinel_is_looked_at, .of = 1U << DEPLOYMENT_SENTINEL)
{
	assert_int_equal(examine(deployment_uri(deployment)), LEASH_OK);
	assert_int_equal(of_sentinels(FINE, "the master is 127.0.0.1:"), SENTINEL_SENTINELS);
	assert_int_equal(of_sentinels(FINE, ", as 3 of 3 say"), SENTINEL_SENTINELS);
	assert_int_equal(of_sentinels(FINE, "of 3 sentinels it reaches 3; 2 of them see a master as down, and 2 replace "
	                                    "it"), SENTINEL_SENTINELS);
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		check_is_of(&found[2 * i], sentinel(i));
}

SENTENCE(a_quorum_and_times_by_which_no_failover_helps_are_told, .of = 1U << DEPLOYMENT_SENTINEL)
{
	server_say(sentinel(0), "SENTINEL SET main down-after-milliseconds 30000");
	server_say(sentinel(2), "SENTINEL SET main quorum 4");
	assert_int_equal(examine(deployment_uri(deployment)), LEASH_OK);
	assert_int_equal(of_sentinels(WARNING, "as down after 30000 ms, and a lease is 30000 ms"), 1);
	assert_int_equal(of_sentinels(WARNING, "its quorum is 4, but there are 3 sentinels: no failover will ever happen"),
	                 1);
	server_say(sentinel(0), "SENTINEL SET main down-after-milliseconds 10000");
	server_say(sentinel(2), "SENTINEL SET main quorum 2");
	examine(deployment_uri(deployment));
	assert_null(first_at_least(WARNING));
}

SENTENCE(what_a_sentinel_does_not_permit_is_told_with_the_rule, .of = 1U << DEPLOYMENT_SENTINEL)
{
	least_admit(deployment, "+sentinel|master");
	assert_int_equal(examine(as_least), LEASH_OK);
	assert_int_equal(of_sentinels(NOTE, "SENTINEL MASTER was refused, so its quorum and its times are not known: "
	                                    "NOPERM"), SENTINEL_SENTINELS);
	assert_string_equal(first_at_least(NOTE)->remedy, "ACL SETUSER locks +sentinel|master, on the sentinel");
	least_admit(deployment, NULL);
}

/* By another name, so that they leave the set alone. */
SENTENCE(a_sentinel_that_knows_nothing_of_the_master_or_another_one_is_named, .of = 1U << DEPLOYMENT_SENTINEL)
{
	struct sentinel_set *set = deployment_sentinel_set(deployment);
	int master = sentinel_set_await_failover(set, -1);
	char *uri = strdup(deployment_uri(deployment));

	strcpy(strrchr(uri, '/'), "/odd");
	for (int i = 0; i < SENTINEL_SENTINELS; i += 2)
		server_say(sentinel(i), "SENTINEL MONITOR odd 127.0.0.1 %d 2", sentinel_set_port(set, master));
	assert_int_equal(examine(uri), LEASH_OK);
	assert_int_equal(of_sentinels(WARNING, "it knows no master called 'odd'"), 1);
	assert_int_equal(of_sentinels(FINE, ", as 2 of 3 say"), 2);
	server_say(sentinel(1), "SENTINEL MONITOR odd 127.0.0.1 %d 2",
	           sentinel_set_port(set, (master + 1) % SENTINEL_SERVERS));
	assert_int_equal(examine(uri), LEASH_OK);
	assert_int_equal(of_sentinels(WARNING, ", but 2 of 3 sentinels say 127.0.0.1:"), 1);
	for (size_t i = 0; i < found_count; i++)
		if (strstr(found[i].text, " sentinels say ") != NULL)
			check_is_of(&found[i], sentinel(1));
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		server_say(sentinel(i), "SENTINEL REMOVE odd");
	free(uri);
}

/* The last: there is no set left then. */
SENTENCE(sentinels_that_are_gone_are_named_and_too_few_of_them_are_told, .of = 1U << DEPLOYMENT_SENTINEL)
{
	server_kill(sentinel(0));
	assert_int_equal(examine(deployment_uri(deployment)), LEASH_OK);
	assert_int_equal(of_sentinels(WARNING, "it cannot be asked: connecting: Connection refused"), 1);
	assert_null(first_at_least(ERROR));
	server_kill(sentinel(2));
	/* by another's word each time */
	await_true(examine(deployment_uri(deployment)) == LEASH_OK &&
	           of_sentinels(WARNING, "it reaches 1, itself included, and a failover needs 2: none will happen") > 0);
	assert_int_equal(count(FINE, "permissions", "a lock was acquired"), 1);
	server_kill(sentinel(1));
	assert_int_equal(examine(deployment_uri(deployment)), LEASH_UNAVAILABLE);
	assert_int_equal(of_sentinels(WARNING, "it cannot be asked"), SENTINEL_SENTINELS);
	assert_int_equal(of_sentinels(ERROR, "no sentinel answered"), 1);
}

static void
start(void)
{
	kind = *(const enum deployment_kind *)given;
	deployment = deployment_start_with(kind, (const char *const[]){"--appendonly", "yes", NULL});
	as_least = least_uri(deployment);
}

static void
stop(void)
{
	deployment_stop(deployment);
	free(as_least);
}

#define PART(name, kind) {name, {start, stop}, .given = &(const enum deployment_kind){kind}, .is = 1U << (kind)}

static const struct part parts[] = {
	PART("sentinel", DEPLOYMENT_SENTINEL), PART("single", DEPLOYMENT_SINGLE), PART("tls", DEPLOYMENT_TLS),
	PART("cluster", DEPLOYMENT_CLUSTER), PART("quorum", DEPLOYMENT_QUORUM),
};

PARTS(parts);
GROUP(counted_start, NULL);
