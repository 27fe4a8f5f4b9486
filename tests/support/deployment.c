/* Deployments of all kinds, seen alike. See deployment.h. */
#include "tests/support/deployment.h"

#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/least.h"
#include "tests/support/node.h"
#include "tests/support/quorum.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/sweep.h"
#include "tests/support/trouble.h"

#include <stdlib.h>
#include <string.h>

struct deployment {
	struct sweep_item item;
	enum deployment_kind kind;
	struct node single;   /* of single and tls */
	char *single_uri;
	struct sentinel_set *sentinels;
	struct cluster *cluster;
	struct quorum *quorum;
	const char *quorum_uri;
	char *least_uri;      /* NULL: whoever uses it may do everything */
};

static const char *const names[DEPLOYMENT_KINDS] = { "single", "tls", "sentinel", "cluster", "quorum" };

const char *
deployment_name(enum deployment_kind kind)
{
	return names[kind];
}

enum deployment_kind
deployment_chosen(void)
{
	const char *chosen = getenv("LEASH_TEST_DEPLOYMENT");

	for (int i = 0; i < DEPLOYMENT_KINDS; i++)
		if (!chosen || !*chosen || strcmp(chosen, names[i]) == 0)
			return (enum deployment_kind)i;
	trouble("LEASH_TEST_DEPLOYMENT is '%s': it can be single, tls, sentinel, cluster or quorum", chosen);
}

/* ---- its life ---- */

static void
start_single(struct deployment *d, const char *const *args)
{
	struct words words = { .count = 0 };

	node_prepare(&d->single, 0, false, d->kind == DEPLOYMENT_TLS, NULL);
	node_words(&d->single, &words);
	words_add_all(&words, args);
	node_start(&d->single, &words);
	words_free(&words);
	if (d->kind == DEPLOYMENT_TLS)
		d->single_uri = node_text("rediss://127.0.0.1:%d?%s", d->single.told, certs_query());
	else
		d->single_uri = node_text("%s", server_uri(d->single.server));
}

static void
stop(void *deployment)
{
	deployment_stop(deployment);
}

struct deployment *
deployment_start_with(enum deployment_kind kind, const char *const *args)
{
	struct deployment *d = calloc(1, sizeof *d);

	if (!d)
		trouble("no memory");
	d->kind = kind;
	switch (kind) {
	case DEPLOYMENT_SINGLE:
	case DEPLOYMENT_TLS:
		start_single(d, args);
		break;
	case DEPLOYMENT_SENTINEL:
		d->sentinels = sentinel_set_start(&(struct sentinel_options){ .args = args });
		break;
	case DEPLOYMENT_CLUSTER:
		d->cluster = cluster_start(&(struct cluster_options){ .args = args });
		break;
	case DEPLOYMENT_QUORUM:
		d->quorum = quorum_start(&(struct quorum_options){ .args = args });
		d->quorum_uri = quorum_uri_guarded(d->quorum, DEPLOYMENT_GUARD_MS);
		quorum_await_uptime(d->quorum, DEPLOYMENT_GUARD_MS);
		break;
	}
	sweep_add(&d->item, stop, d);   /* last: what was added last is stopped first, and this stops the rest */
	if (least_is_wanted()) {
		least_admit(d, NULL);
		d->least_uri = least_uri(d);
	}
	return d;
}

void
deployment_stop(struct deployment *d)
{
	if (!d || !sweep_drop(&d->item))
		return;
	node_stop(&d->single);
	sentinel_set_stop(d->sentinels);
	cluster_stop(d->cluster);
	quorum_stop(d->quorum);
	free(d->single_uri);
	free(d->least_uri);
	free(d);
}

enum deployment_kind
deployment_kind(const struct deployment *d)
{
	return d->kind;
}

const char *
deployment_uri(const struct deployment *d)
{
	if (d->least_uri)
		return d->least_uri;
	if (d->sentinels)
		return sentinel_set_uri(d->sentinels);
	if (d->cluster)
		return cluster_uri(d->cluster);
	if (d->quorum)
		return d->quorum_uri;
	return d->single_uri;
}

/* ---- its servers ---- */

struct server *
deployment_member(const struct deployment *d, int i)
{
	if (d->sentinels && i < SENTINEL_SENTINELS)
		return sentinel_set_sentinel(d->sentinels, i);
	if (d->sentinels)
		return i < SENTINEL_SENTINELS + SENTINEL_SERVERS ? sentinel_set_server(d->sentinels, i - SENTINEL_SENTINELS) : NULL;
	if (d->cluster)
		return i < CLUSTER_NODES ? cluster_node(d->cluster, i) : NULL;
	if (d->quorum)
		return i < quorum_count(d->quorum) ? quorum_server(d->quorum, i) : NULL;
	return i < 1 ? d->single.server : NULL;
}

size_t
deployment_masters(struct deployment *d)
{
	size_t n = 0;

	while (deployment_master(d, n))
		n++;
	return n;
}

struct server *
deployment_master(struct deployment *d, size_t i)
{
	if (d->sentinels)
		return i == 0 ? sentinel_set_master(d->sentinels) : NULL;
	if (!d->cluster)
		return deployment_member(d, (int)i);
	for (int n = 0; n < CLUSTER_NODES && cluster_node(d->cluster, n); n++)
		if (cluster_is_master(d->cluster, n) && i-- == 0)
			return cluster_node(d->cluster, n);
	return NULL;
}

struct server *
deployment_at(struct deployment *d, const char *key)
{
	if (d->cluster)
		return cluster_server_of(d->cluster, key);
	for (int i = 0; d->quorum && i < quorum_count(d->quorum); i++)
		if (quorum_runs(d->quorum, i))
			return quorum_server(d->quorum, i);
	return deployment_master(d, 0);
}

/* The sentinels first, and they go on last: they must not make something of it that the servers stand still. */
void
deployment_pause(struct deployment *d)
{
	struct server *server;

	for (int i = 0; (server = deployment_member(d, i)) != NULL; i++)
		if (server_pid(server) != 0)
			server_pause(server);
}

void
deployment_resume(struct deployment *d)
{
	struct server *server;
	int n = 0;

	while (deployment_member(d, n))
		n++;
	while (n-- > 0)
		if ((server = deployment_member(d, n)) && server_pid(server) != 0)
			server_resume(server);
}

struct server *
deployment_server(const struct deployment *d)
{
	return d->single.server;
}

struct sentinel_set *
deployment_sentinel_set(const struct deployment *d)
{
	return d->sentinels;
}

struct cluster *
deployment_cluster(const struct deployment *d)
{
	return d->cluster;
}

struct quorum *
deployment_quorum(const struct deployment *d)
{
	return d->quorum;
}

/* ---- what is in it ---- */

static int64_t
count_keys(struct deployment *d, const char *pattern, bool lasting)
{
	if (d->cluster)
		return cluster_keys(d->cluster, pattern, lasting);
	if (d->quorum)
		return quorum_keys(d->quorum, pattern, lasting);
	if (d->sentinels)
		return node_keys(&(struct node){ .server = sentinel_set_master(d->sentinels) }, pattern, lasting);
	return node_keys(&d->single, pattern, lasting);
}

int64_t
deployment_keys(struct deployment *d, const char *pattern)
{
	return count_keys(d, pattern, false);
}

int64_t
deployment_lasting_keys(struct deployment *d, const char *pattern)
{
	return count_keys(d, pattern, true);
}
