/* Those who know where the data is are asked by the same means as a client has: the sentinels, the cluster's map. */
#include "tools/doctor/targets.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "redis/cluster.h"
#include "redis/sentinel.h"

#include <errno.h>
#include <string.h>

struct visits {
	target_fn *visit;
	void *arg;
	const struct lsh_uri *uri; /* of the deployment */
	const char *name;
	int64_t timeout;
	leash_status status; /* of the first failure */
	leash_error *err;
};

bool
target_has(const struct target *target, const char *key, size_t size)
{
	return target->cluster == NULL || lsh_cluster_at(target->cluster, lsh_slot_of(key, size)) == target->index;
}

static void
note(struct visits *v, leash_status status, const leash_error *why)
{
	if (status != LEASH_OK && v->status == LEASH_OK) {
		v->status = status;
		*v->err = *why;
	}
}

static void
visit(struct visits *v, const struct lsh_uri *uri, const struct lsh_cluster *cluster, int index)
{
	struct target target = {.uri = uri, .deployment = v->uri->deployment, .cluster = cluster, .index = index};
	leash_error why = {0};

	note(v, v->visit(v->arg, &target, &why), &why);
}

static void
visit_at(struct visits *v, const char *host, uint16_t port)
{
	struct lsh_uri server;
	leash_error why = {0};

	if (!lsh_uri_of_server(&server, v->uri, host, port)) {
		note(v, lsh_fail_short(&why, ENOMEM, "a connection"), &why);
		return;
	}
	visit(v, &server, NULL, 0);
	lsh_uri_clear(&server);
}

/* ---- sentinels ---- */

static void
wake(void *ctx)
{
	struct lsh_thread *self = ctx;

	lsh_unpark(&self->parker);
}

static void
visit_master(struct visits *v)
{
	struct lsh_thread *self = lsh_self();
	const struct lsh_sentinel_options options = {
		.uri = v->uri, .name = v->name, .timeout = v->timeout, .news = wake, .ctx = self,
	};
	struct lsh_sentinel *sentinel = self != NULL ? lsh_sentinel_new(&options) : NULL;
	int64_t deadline = lsh_after(lsh_now_ns(), 2 * v->timeout);
	enum lsh_known known = LSH_NOT_YET;
	struct lsh_master master;
	leash_error why = {0};
	uint64_t wish;

	if (sentinel == NULL || !lsh_sentinel_start(sentinel)) {
		note(v, lsh_fail_short(&why, errno, "connections to the sentinels"), &why);
		lsh_sentinel_free(sentinel);
		return;
	}
	wish = lsh_sentinel_wish(sentinel);
	while ((known = lsh_sentinel_answer(sentinel, wish, &master, &why)) == LSH_NOT_YET && lsh_now_ns() < deadline)
		lsh_park(&self->parker, deadline);
	lsh_sentinel_stop(sentinel);
	lsh_sentinel_free(sentinel);
	if (known == LSH_KNOWN)
		visit_at(v, master.at.host, master.at.port);
	else if (known == LSH_NOT_YET)
		note(v, lsh_fail(&why, LEASH_UNAVAILABLE, ETIMEDOUT, "%.120s: no sentinel answered in time", v->uri->shown),
		     &why);
	else
		note(v, why.status, &why);
}

/* ---- clusters ---- */

static void
visit_masters(struct visits *v)
{
	const struct lsh_cluster_options options = {.uri = v->uri, .name = v->name, .timeout = v->timeout};
	struct lsh_cluster *cluster = lsh_cluster_new(&options);
	leash_error why = {0};
	leash_status status;

	if (cluster == NULL) {
		note(v, lsh_fail_short(&why, errno, "a look at the cluster"), &why);
		return;
	}
	status = lsh_cluster_open(cluster, &why);
	note(v, status, &why);
	for (int i = 0; status == LEASH_OK && i < LSH_SERVERS; i++)
		if (lsh_cluster_serves(cluster, i))
			visit(v, lsh_cluster_server(cluster, i), cluster, i);
	lsh_cluster_stop(cluster);
	lsh_cluster_free(cluster);
}

leash_status
targets_visit(const struct lsh_uri *uri, const char *name, int64_t timeout, target_fn *each, void *arg,
              leash_error *err)
{
	struct visits v = {.visit = each, .arg = arg, .uri = uri, .name = name, .timeout = timeout, .err = err};

	switch (uri->deployment) {
	case LSH_SINGLE:
		visit(&v, uri, NULL, 0);
		break;
	case LSH_SENTINEL:
		visit_master(&v);
		break;
	case LSH_CLUSTER:
		visit_masters(&v);
		break;
	case LSH_QUORUM:
		for (size_t i = 0; i < uri->host_count; i++)
			visit_at(&v, uri->hosts[i].host, uri->hosts[i].port);
		break;
	}
	return v.status;
}
