#include "tests/sim/site.h"

#include "lua/scripts.h"
#include "tests/sim/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct sim_site sim_site;

const char *const sim_deployment_names[SIM_DEPLOYMENTS] = {
	[SIM_SINGLE] = "single", [SIM_REPLICAS] = "replicas", [SIM_SENTINEL] = "sentinel",
	[SIM_CLUSTER] = "cluster", [SIM_QUORUM] = "quorum",
};

int64_t
sim_world_us(void)
{
	return INT64_C(1760000000) * 1000000 + sim_now / SIM_US;
}

/* ---- replicas ---- */

static bool
follows(const struct sim_instance *replica, const struct sim_instance *n)
{
	return replica->master == n && !replica->host.down;
}

/* It gets all that there is by now: an order in which that can have come, as any other. */
static void
replicate(void *what, uint64_t turn)
{
	struct sim_instance *replica = what;
	const struct sim_instance *n = replica->master;

	if (replica->stalled_until > sim_now) {
		sim_at(replica->stalled_until, replicate, replica, turn);
		return;
	}
	replica->coming = false;
	if (n == NULL || n->host.down || replica->host.down)
		return;
	sim_keyspace_copy(&replica->server->context.keyspace, &n->server->context.keyspace);
	replica->offset = n->offset;
}

static void
let_replicate(struct sim_instance *replica)
{
	if (replica->coming)
		return;
	replica->coming = true;
	sim_at(sim_now + sim_between(50 * SIM_US, 2 * SIM_MS), replicate, replica, 0);
}

void
sim_instance_wrote(struct sim_instance *n)
{
	n->offset++;
	for (size_t i = 0; i < SIM_HOSTS; i++)
		if (follows(&sim_site.instances[i], n))
			let_replicate(&sim_site.instances[i]);
}

int64_t
sim_instance_acknowledged(const struct sim_instance *n, uint64_t offset)
{
	int64_t count = 0;

	for (size_t i = 0; i < SIM_HOSTS; i++)
		count += follows(&sim_site.instances[i], n) && sim_site.instances[i].offset >= offset;
	return count;
}

/* From now on it follows this one: with all that it has. Who is connected is thrown out, as sentinels do. */
static void
follow(struct sim_instance *n, struct sim_instance *master)
{
	sim_trace("server %d is a replica of server %d", n->host.number, master->host.number);
	n->master = master;
	n->server->context.is_replica = true;
	n->was_replica = true;
	n->offset = 0;
	sim_host_reset(&n->host);
	let_replicate(n);
}

/* ---- commands ---- */

/* "server 0 executes acquire leash:{apple} ... : 1 0" */
static void
trace_run(const struct sim_instance *n, const struct lsh_arg *args, size_t count, const struct lsh_message *answer)
{
	char text[400];
	size_t size = 0;

	for (const struct lsh_script *const *s = lsh_scripts; *s != NULL; s++)
		if (args[1].size == 40 ? memcmp(args[1].bytes, (*s)->sha1, 40) == 0 : strcmp(args[1].bytes, (*s)->text) == 0)
			size = (size_t)snprintf(text, sizeof text, "%s", (*s)->name);
	for (size_t i = 3; i < count && size < sizeof text; i++)
		size += (size_t)snprintf(text + size, sizeof text - size, " %.*s", (int)args[i].size, args[i].bytes);
	for (size_t i = 0; i < answer->count && size < sizeof text; i++)
		size += (size_t)snprintf(text + size, sizeof text - size, "%s %" PRId64 "%.60s", i == 0 ? ":" : "",
		                         answer->item[i].integer, answer->item[i].text != NULL ? answer->item[i].text : "");
	sim_trace("    server %d executes %s", n->host.number, text);
}

const struct lsh_message *
sim_instance_run(struct sim_instance *n, const struct lsh_arg *args, size_t count)
{
	static const struct lsh_message error = {LSH_ERROR, 1, {{LSH_ERROR, 0, "ERR user_script:9: an error", 27}}};
	const struct lsh_message *answer;

	sim_judge_serves(n);
	answer = sim_server_run(n->server, args, count, sim_world_us());

	if (args[0].size >= 4 && strncasecmp(args[0].bytes, "EVAL", 4) == 0) {
		sim_instance_wrote(n);
		answer = n->fails && answer->type != LSH_ERROR ? &error : answer;
		n->fails = false;
	}
	if (sim_traces && count > 3)
		trace_run(n, args, count, answer);
	sim_judge_served(n);
	sim_judge_let_in(n, args, answer);
	return answer;
}

/* ---- life ---- */

static void
begin_life(struct sim_instance *n)
{
	for (size_t i = 0; i < sizeof n->run_id - 1; i++)
		n->run_id[i] = "0123456789abcdef"[sim_random(16)];
	n->started = n->promoted = sim_now;
	n->was_replica = false;
	n->host.down = n->host.vanished = false;
}

static void
demote(void *what, uint64_t turn)
{
	struct sim_instance *n = what;

	(void)turn;
	if (n != sim_site.masters[n->shard] && n->master == NULL && !n->host.down)
		follow(n, sim_site.masters[n->shard]);
}

/* How long a master of the past takes itself for one, at most: until a sentinel sees it, or the next node says so. */
static int64_t
past(void)
{
	return sim_site.deployment == SIM_CLUSTER ? 500 * SIM_MS : 8 * SIM_S;
}

static void
come_back(void *what, uint64_t turn)
{
	struct sim_instance *n = what;

	(void)turn;
	sim_trace("server %d is back", n->host.number);
	begin_life(n);
	n->server->context.is_replica = n->master != NULL;
	if (n->master != NULL)
		let_replicate(n);
	if (sim_site.deployment == SIM_SENTINEL || sim_site.deployment == SIM_CLUSTER)
		sim_at(sim_now + sim_between(0, past()), demote, n, 0);
}

static void
end_life(struct sim_instance *n, bool vanishes, int64_t after)
{
	n->host.down = true;
	n->host.vanished = vanishes;
	n->host.frozen_until = 0;
	sim_host_reset(&n->host);
	sim_at(sim_now + after, come_back, n, 0);
}

void
sim_instance_save(struct sim_instance *n)
{
	sim_keyspace_copy(&n->saved, &n->server->context.keyspace);
}

void
sim_instance_restart(struct sim_instance *n, enum sim_data data, bool vanishes, int64_t after)
{
	static const char *const names[] = {"has all its data", "has old data", "has no data"};
	const struct sim_keyspace *keys[] = {&n->server->context.keyspace, &n->saved, NULL};

	if (n->host.down)
		return;
	sim_trace("server %d %s, and %s then", n->host.number, vanishes ? "vanishes" : "ends", names[data]);
	end_life(n, vanishes, after);
	sim_server_restart(n->server, keys[data]);
	if (data != SIM_KEPT && n->master == NULL)
		sim_judge_data_lost(n, true);
	if (data == SIM_SAVED)
		sim_judge_went_back(n);
}

/* ---- failover ---- */

static struct sim_instance *
best_replica(const struct sim_instance *n)
{
	struct sim_instance *best = NULL;

	for (size_t i = 0; i < SIM_HOSTS; i++)
		if (follows(&sim_site.instances[i], n) && (best == NULL || sim_site.instances[i].offset > best->offset))
			best = &sim_site.instances[i];
	return best;
}

/* Has somebody that is away more than it, that may be acknowledged? Or lacks it what was so where it was before? */
static bool
lacks_something(const struct sim_instance *best, const struct sim_instance *n)
{
	for (size_t i = 0; i < SIM_HOSTS; i++)
		if (sim_site.instances[i].master == n && sim_site.instances[i].offset > best->offset)
			return true;
	return sim_terms.min_replicas == 0 || best->offset < n->imported;
}

/* Behind one address: the master goes on with what the replica has. */
static void
replace(struct sim_instance *n, bool vanishes, int64_t after)
{
	struct sim_instance *best = best_replica(n);

	sim_trace("server %d %s; a replica takes over that lacks the last %" PRIu64 " writes", n->host.number,
	          vanishes ? "vanishes" : "ends", n->offset - best->offset);
	end_life(n, vanishes, after);
	n->offset = best->offset;
	sim_server_restart(n->server, &best->server->context.keyspace);
	sim_judge_went_back(n);
	for (size_t i = 0; i < SIM_HOSTS; i++)
		if (sim_site.instances[i].master == n) { /* they begin with a copy */
			sim_keyspace_copy(&sim_site.instances[i].server->context.keyspace, &n->server->context.keyspace);
			sim_site.instances[i].offset = n->offset;
		}
}

static void
promote(void *what, uint64_t turn)
{
	struct sim_instance *old = what, *best = best_replica(old);
	char text[100];

	(void)turn;
	if (sim_site.masters[old->shard] != old || best == NULL)
		return;
	sim_trace("server %d is the master; it lacks the last %" PRIu64 " writes", best->host.number,
	          old->offset - best->offset);
	if (lacks_something(best, old))
		sim_judge_data_lost(best, sim_site.deployment == SIM_SENTINEL); /* a cluster does not say how long it is one */
	sim_judge_took_over(best, old);
	best->master = NULL;
	best->imported = best->offset; /* of which its replicas may have acknowledged nothing */
	best->promoted = sim_now;
	best->server->context.is_replica = false;
	sim_judge_went_back(best);
	sim_site.masters[old->shard] = best;
	sim_site.epoch++;
	for (size_t i = 0; i < sim_site.count; i++)
		if (sim_site.instances[i].master == old)
			follow(&sim_site.instances[i], best);
	if (!old->host.down) /* it was only out of the others' sight */
		sim_at(sim_now + sim_between(0, past()), demote, old, 0);
	if (sim_site.deployment == SIM_CLUSTER)
		return;
	snprintf(text, sizeof text, "mymaster 10.0.0.%d 6379 10.0.0.%d 6379", old->host.number + 1, best->host.number + 1);
	for (size_t i = sim_site.count; i < sim_site.count + SIM_SENTINELS; i++)
		sim_speakers_publish(&sim_site.instances[i], "+switch-master", 14, text, strlen(text));
}

void
sim_site_fail_over(bool vanishes, int64_t after)
{
	struct sim_instance *n = sim_site.masters[sim_site.deployment == SIM_CLUSTER ? sim_random(SIM_SHARDS) : 0];

	if (n->host.down || best_replica(n) == NULL)
		return;
	if (sim_site.deployment == SIM_REPLICAS) {
		replace(n, vanishes, after);
		return;
	}
	if (sim_chance(0.7)) {
		sim_trace("server %d, the master, %s", n->host.number, vanishes ? "vanishes" : "ends");
		end_life(n, vanishes, after);
		sim_server_restart(n->server, &n->server->context.keyspace);
	} else {
		sim_trace("server %d, the master, is cut off from the others and its replicas", n->host.number);
		for (size_t i = 0; i < sim_site.count; i++)
			if (sim_site.instances[i].master == n)
				sim_site.instances[i].stalled_until = sim_now + after + 5 * SIM_S;
	}
	sim_at(sim_now + sim_between(100 * SIM_MS, 3 * SIM_S), promote, n, 0);
}

/* ---- the deployments ---- */

/* What a script names was looked at before it was run. */
static bool
is_local(void *instance, const char *key, size_t size)
{
	const struct sim_instance *n = instance;
	const struct lsh_arg arg = {key, size};
	char says[100];

	return !n->names_no_key || sim_cluster_may_run(n, &arg, 1, n->was_asked_for, says, sizeof says);
}

static struct sim_instance *
open_instance(int number, struct sim_lua *lua)
{
	struct sim_instance *n = &sim_site.instances[number];

	n->host = (struct sim_host){
		.number = number, .accept = sim_speaker_new, .hear = sim_speaker_hear, .gone = sim_speaker_gone,
		.is_idle = sim_speaker_is_idle,
	};
	if (lua != NULL)
		n->server = sim_server_new(lua, sim_speakers_publish, n);
	if (lua != NULL && sim_site.deployment == SIM_CLUSTER)
		n->server->context.is_local = is_local;
	sim_host_open(&n->host);
	begin_life(n);
	n->started = n->promoted = sim_now - 1000 * SIM_S;
	return n;
}

static void
add_replicas(size_t from, size_t count, struct sim_lua *lua)
{
	for (size_t i = from; i < from + count; i++) {
		struct sim_instance *n = open_instance((int)i, lua);

		n->shard = sim_site.deployment == SIM_CLUSTER ? (int)(i - from) : 0;
		n->master = sim_site.masters[n->shard];
		n->server->context.is_replica = n->was_replica = true;
	}
}

static void
write_uri(const char *scheme, size_t from, size_t count, const char *rest)
{
	char *at = sim_site.uri, *end = at + sizeof sim_site.uri;

	at += snprintf(at, (size_t)(end - at), "%s://", scheme);
	for (size_t i = from; i < from + count; i++)
		at += snprintf(at, (size_t)(end - at), "%s10.0.0.%zu:6379", i > from ? "," : "", i + 1);
	snprintf(at, (size_t)(end - at), "%s", rest);
}

void
sim_site_open(enum sim_deployment deployment)
{
	struct sim_lua *lua = sim_lua_new();

	sim_site.deployment = deployment;
	sim_site.masters[0] = open_instance(0, lua);
	sim_site.count = 1;
	if (deployment == SIM_QUORUM) {
		sim_site.count = sim_chance(0.8) ? 3 : 5;
		for (size_t i = 1; i < sim_site.count; i++)
			open_instance((int)i, lua);
		write_uri("redis+quorum", 0, sim_site.count, "");
	} else if (deployment == SIM_SENTINEL) {
		sim_site.count = 3;
		add_replicas(1, 2, lua);
		for (size_t i = sim_site.count; i < sim_site.count + SIM_SENTINELS; i++)
			open_instance((int)i, NULL);
		write_uri("redis+sentinel", sim_site.count, SIM_SENTINELS, "/mymaster");
	} else if (deployment == SIM_CLUSTER) {
		sim_site.count = 2 * SIM_SHARDS;
		for (int i = 1; i < SIM_SHARDS; i++) {
			sim_site.masters[i] = open_instance(i, lua);
			sim_site.masters[i]->shard = i;
		}
		add_replicas(SIM_SHARDS, SIM_SHARDS, lua);
		sim_cluster_open();
		write_uri("redis+cluster", 0, sim_site.count, "");
	} else {
		if (deployment == SIM_REPLICAS)
			add_replicas(1, 2, lua);
		write_uri("redis", 0, 1, "");
	}
}
