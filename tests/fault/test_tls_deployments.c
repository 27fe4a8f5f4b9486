/* TLS in a deployment of several servers, with no plain port left (what locks are there: contract/, run for each): a
 * server that cannot show that it is the one, or speaks no TLS, is refused by name, wherever its address came from. */
#include "tests/fault/refused.h"
#include "tests/support/certs.h"
#include "tests/support/cluster.h"
#include "tests/support/leashed.h"
#include "tests/support/quorum.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/test.h"

enum { LEASE_MS = 3000, GUARD_MS = 4000 };

static const char *uri;
static _Thread_local leash_error err; /* what the last call said */

/* A lock of this name is had, renewed and released. */
static void
check_served(const char *name)
{
	leash_client *client = leashed_open(uri, LEASH_OPTIONS(.lease_ms = LEASE_MS));
	leash_lock *lock = leashed_lock(client, name, NULL);

	assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
	await_renewals(lock, 2);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

enum {
	IN_SET = 1 << 0,
	IN_WRONG_SET = 1 << 1,
	IN_WRONG_CLUSTER = 1 << 2,
	IN_WRONG_QUORUM = 1 << 3,
};

/* What is told when a server is refused: which one, and why. */
static void
check_told(const char *text, int port, const char *why)
{
	char name[32];

	snprintf(name, sizeof name, "127.0.0.1:%d", port);
	if (strstr(text, name) == NULL || strstr(text, why) == NULL)
		fail_msg("nothing of %s and \"%s\": %s", name, why, text);
}

static void
check_refused_at_open(const char *at, leash_status status, int port, const char *why)
{
	leash_client *client = NULL;

	assert_refused(status, "127.0.0.1", why, leash_open(&client, LEASH_OPTIONS(.uri = at, .timeout_ms = 5000), &err));
	check_told(err.text, port, why);
}

static const char ELSEWHERE[] = "subjectAltName must have IP:127.0.0.1";

/* ---- a sentinel set ---- */

static struct sentinel_set *set;

static void
start_set(void)
{
	set = sentinel_set_start(&(struct nodes_options){ .tls = true, .password = "opensesame", .sentinel_password = "lookout", .first = *(const enum certs_of *)given });
	uri = sentinel_set_uri(set);
}

static void
stop_set(void)
{
	sentinel_set_stop(set);
}

/* The sentinels speak TLS, and what they call "bare" does not. */
SENTENCE(a_plain_server_that_the_sentinels_name_is_refused, .of = IN_SET)
{
	struct server *plain = server_start_tcp(NULL);
	char *other = strdup(uri);

	check_served("shared");
	memcpy(strstr(other, "/main") + 1, "bare", 4);
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		assert_string_equal(server_text(sentinel_set_sentinel(set, i), "SENTINEL MONITOR bare 127.0.0.1 %d 2", server_port(plain)), "OK");
	check_refused_at_open(other, LEASH_PROTOCOL, server_port(plain), "does not speak TLS");
	assert_int_equal(server_integer(plain, "DBSIZE"), 0);
	free(other);
	server_stop(plain);
}

SENTENCE(a_master_with_a_certificate_for_somebody_else_is_refused, .of = IN_WRONG_SET)
{
	check_refused_at_open(uri, LEASH_DENIED, sentinel_set_port(set, 0), ELSEWHERE);
	assert_int_equal(server_integer(sentinel_set_server(set, 0), "DBSIZE"), 0);
}

/* ---- a cluster ---- */

static struct cluster *cluster;

static void
start_cluster(void)
{
	cluster = cluster_start(&(struct nodes_options){ .tls = true, .no_replicas = true, .first = *(const enum certs_of *)given });
	uri = cluster_uri(cluster);
}

static void
stop_cluster(void)
{
	cluster_stop(cluster);
}

/* Node 0 is the one. */
SENTENCE(a_node_with_a_certificate_for_somebody_else_is_refused_and_the_others_serve, .of = IN_WRONG_CLUSTER)
{
	leash_client *client = leashed_open(uri, NULL);
	char name[CLUSTER_NAME];
	leash_lock *lock;

	cluster_name_in_slot(CLUSTER_SLOTS - 1, name);
	check_served(name);
	cluster_name_in_slot(0, name);
	lock = leashed_lock(client, name, NULL);
	assert_int_not_equal(leash_lock_acquire(lock, 2000, &err), LEASH_OK);
	check_told(err.text, cluster_port(cluster, 0), ELSEWHERE);
	leash_lock_free(lock);
	leash_close(client);
	assert_int_equal(server_integer(cluster_node(cluster, 0), "DBSIZE"), 0);
}

/* ---- a quorum ---- */

static struct quorum *quorum;

static void
start_quorum(void)
{
	quorum = quorum_start(&(struct nodes_options){ .count = 3, .tls = true, .first = *(const enum certs_of *)given });
	uri = quorum_uri_guarded(quorum, GUARD_MS);
	quorum_await_uptime(quorum, GUARD_MS);
}

static void
stop_quorum(void)
{
	quorum_stop(quorum);
}

SENTENCE(a_majority_is_had_without_the_server_that_is_refused, .of = IN_WRONG_QUORUM)
{
	static struct ear ear = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	leash_client *client = leashed_open(uri, LEASH_OPTIONS(.lease_ms = LEASE_MS, .on_log = hear_line, .log_arg = &ear));
	leash_lock *lock = leashed_lock(client, "most", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	await_renewals(lock, 2);
	assert_int_equal(quorum_having(quorum, "leash:{most}"), 2);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	check_told(ear.text, server_port(quorum_server(quorum, 0)), "certificate has expired");
	assert_int_equal(server_integer(quorum_server(quorum, 0), "DBSIZE"), 0);
}

static const enum certs_of right = 0, elsewhere = CERTS_ELSEWHERE, expired = CERTS_EXPIRED;

static const struct part parts[] = {
	{"sentinel", {start_set, stop_set}, .given = &right, .is = IN_SET},
	{"sentinel", {start_set, stop_set}, .given = &elsewhere, .is = IN_WRONG_SET},
	{"cluster", {start_cluster, stop_cluster}, .given = &elsewhere, .is = IN_WRONG_CLUSTER},
	{"quorum", {start_quorum, stop_quorum}, .given = &expired, .is = IN_WRONG_QUORUM},
};

PARTS(parts);
