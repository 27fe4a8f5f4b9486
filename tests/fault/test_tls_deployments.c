/* TLS in a deployment of several servers, with no plain port left (what locks are there: contract/, run for each): a
 * server that cannot show that it is the one, or speaks no TLS, is refused by name, wherever its address came from. */
#include "tests/fault/refused.h"
#include "tests/support/certs.h"
#include "tests/support/cluster.h"
#include "tests/support/kept.h"
#include "tests/support/quorum.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/test.h"

enum { LEASE_MS = 3000, GUARD_MS = 4000 };

static leash_error err; /* what the last call said */
static struct ear ear = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* A lock of this name is had, renewed and released. */
static void
check_served(const char *uri, const char *name)
{
	leash_client *client = kept(leashed_open(uri, LEASH_OPTIONS(.lease_ms = LEASE_MS, .on_log = hear_line,
	                                                            .log_arg = &ear)));
	leash_lock *lock = kept(leashed_lock(client, name, NULL));

	assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
	await_renewals(lock, 2);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

/* What is told when a server is refused: which one, and why; and it has nothing. */
static void
check_told(const char *text, struct server *of, const char *why)
{
	char name[32];

	snprintf(name, sizeof name, "127.0.0.1:%d", server_port(of));
	if (strstr(text, name) == NULL || strstr(text, why) == NULL)
		fail_msg("nothing of %s and \"%s\": %s", name, why, text);
	assert_int_equal(server_integer(of, "DBSIZE"), 0);
}

static void
check_refused(const char *uri, leash_status status, struct server *of, const char *why)
{
	leash_client *none = NULL;

	assert_refused(status, "127.0.0.1", why, leash_open(&none, LEASH_OPTIONS(.uri = uri, .timeout_ms = 5000), &err));
	check_told(err.text, of, why);
}

static const char ELSEWHERE[] = "subjectAltName must have IP:127.0.0.1";

/* The sentinels speak TLS, and what they call "bare" does not. */
SENTENCE(a_master_that_the_sentinels_name_serves_unless_it_is_plain_or_its_certificate_is_for_somebody_else)
{
	struct sentinel_set *set = sentinel_set_start(&(struct nodes_options){
		.tls = true, .password = "opensesame", .sentinel_password = "lookout", .first = CERTS_ELSEWHERE});
	struct server *plain = kept(server_start_tcp(NULL));
	char bare[512];

	check_refused(sentinel_set_uri(set), LEASH_DENIED, sentinel_set_server(set, 0), ELSEWHERE);
	sentinel_set_failover(set);
	check_served(sentinel_set_uri(set), "shared");
	snprintf(bare, sizeof bare, "%s", sentinel_set_uri(set));
	memcpy(strstr(bare, "/main") + 1, "bare", 4);
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		assert_string_equal(server_text(sentinel_set_sentinel(set, i), "SENTINEL MONITOR bare 127.0.0.1 %d 2",
		                                server_port(plain)), "OK");
	check_refused(bare, LEASH_PROTOCOL, plain, "does not speak TLS");
	sentinel_set_stop(set);
}

/* Node 0 is the one. */
SENTENCE(a_node_with_a_certificate_for_somebody_else_is_refused_and_the_others_serve)
{
	struct cluster *cluster = cluster_start(&(struct nodes_options){
		.tls = true, .no_replicas = true, .first = CERTS_ELSEWHERE});
	char name[CLUSTER_NAME];

	cluster_name_in_slot(CLUSTER_SLOTS - 1, name);
	check_served(cluster_uri(cluster), name);
	cluster_name_in_slot(0, name);
	leash_lock *lock = kept(leashed_lock(kept(leashed_open(cluster_uri(cluster), NULL)), name, NULL));
	assert_int_not_equal(leash_lock_acquire(lock, 2000, &err), LEASH_OK);
	check_told(err.text, cluster_node(cluster, 0), ELSEWHERE);
	cluster_stop(cluster);
}

SENTENCE(a_majority_is_had_without_the_server_that_is_refused)
{
	struct quorum *quorum = quorum_start(&(struct nodes_options){.count = 3, .tls = true, .first = CERTS_EXPIRED});

	quorum_await_uptime(quorum, GUARD_MS);
	ear.size = 0;
	check_served(quorum_uri_guarded(quorum, GUARD_MS), "most");
	check_told(ear.text, quorum_server(quorum, 0), "certificate has expired");
	quorum_stop(quorum);
}
