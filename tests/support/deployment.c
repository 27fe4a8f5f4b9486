#include "tests/support/deployment.h"

#include "tests/support/cluster.h"
#include "tests/support/least.h"
#include "tests/support/quorum.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/trouble.h"

#include <stdlib.h>
#include <string.h>

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

/* A quorum of one, but for its name. */
static struct nodes *
start_single(bool tls, const char *const *args)
{
	struct quorum *one = quorum_start(&(struct nodes_options){ .tls = tls, .args = args, .count = 1 });

	free(one->all.uri);
	if (tls)
		one->all.uri = text_of("rediss://127.0.0.1:%d?%s", one->all.node[0].told, certs_query());
	else
		one->all.uri = text_of("%s", server_uri(one->all.node[0].server));
	return &one->all;
}

STOP_BY(deployment_stop)

struct deployment *
deployment_start_with(enum deployment_kind kind, const char *const *args)
{
	struct deployment *d = zeroed(sizeof *d);

	d->kind = kind;
	switch (kind) {
	case DEPLOYMENT_SINGLE:
	case DEPLOYMENT_TLS:
		d->all = start_single(kind == DEPLOYMENT_TLS, args);
		d->server = d->all->node[0].server;
		break;
	case DEPLOYMENT_SENTINEL:
		d->sentinels = sentinel_set_start(&(struct nodes_options){ .args = args });
		d->all = &d->sentinels->all;
		break;
	case DEPLOYMENT_CLUSTER:
		d->cluster = cluster_start(&(struct nodes_options){ .args = args });
		d->all = &d->cluster->all;
		break;
	case DEPLOYMENT_QUORUM:
		d->quorum = quorum_start(&(struct nodes_options){ .args = args });
		d->all = &d->quorum->all;
		quorum_uri_guarded(d->quorum, DEPLOYMENT_GUARD_MS);
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
	nodes_stop(d->all);
	free(d->least_uri);
	free(d);
}

const char *
deployment_uri(const struct deployment *d)
{
	return d->least_uri ? d->least_uri : d->quorum ? d->all->guarded : d->all->uri;
}

struct server *
deployment_member(const struct deployment *d, int i)
{
	if (i >= d->all->count)
		return NULL;
	return d->all->node[d->sentinels ? (SENTINEL_SERVERS + i) % d->all->count : i].server;
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
	for (int n = 0; n < d->all->count; n++)
		if (cluster_is_master(d->cluster, n) && i-- == 0)
			return cluster_node(d->cluster, n);
	return NULL;
}

struct server *
deployment_at(struct deployment *d, const char *key)
{
	if (d->cluster)
		return cluster_server_of(d->cluster, key);
	for (int i = 0; d->quorum && i < d->all->count; i++)
		if (quorum_runs(d->quorum, i))
			return quorum_server(d->quorum, i);
	return deployment_master(d, 0);
}

/* The sentinels first, and they go on last: they must not make something of it that the servers stand still. */
void
deployment_pause(struct deployment *d)
{
	for (int i = 0; i < deployment_members(d); i++)
		if (server_pid(deployment_member(d, i)) != 0)
			server_pause(deployment_member(d, i));
}

void
deployment_resume(struct deployment *d)
{
	for (int i = deployment_members(d); i-- > 0;)
		if (server_pid(deployment_member(d, i)) != 0)
			server_resume(deployment_member(d, i));
}
