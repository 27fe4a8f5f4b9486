/* The site. See site.h. */
#include "tests/sim/site.h"

#include "lua/scripts.h"
#include "tests/sim/judge.h"
#include "tests/sim/speaker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_site sim_site;

const char *const sim_deployment_names[SIM_DEPLOYMENTS] = {
	[SIM_SINGLE] = "single", [SIM_REPLICAS] = "replicas", [SIM_QUORUM] = "quorum",
};

int64_t
sim_world_us(void)
{
	return INT64_C(1760000000) * 1000000 + sim_now / SIM_US;
}

/* ---- replicas ---- */

static struct sim_instance *
instance_of(const struct sim_replica *replica)
{
	for (size_t i = 0; i < sim_site.count; i++)
		for (size_t k = 0; k < sim_site.instances[i].replica_count; k++)
			if (&sim_site.instances[i].replicas[k] == replica)
				return &sim_site.instances[i];
	abort();
}

/* It gets all that there is by now: an order in which that can have come, as any other. */
static void
replicate(void *what, uint64_t turn)
{
	struct sim_replica *replica = what;
	struct sim_instance *n = instance_of(replica);

	if (replica->stalled_until > sim_now) {
		sim_at(replica->stalled_until, replicate, replica, turn);
		return;
	}
	replica->coming = false;
	if (n->host.down)
		return;
	sim_keyspace_copy(&replica->data, &n->server->context.keyspace);
	replica->offset = n->offset;
}

static void
wrote(struct sim_instance *n)
{
	n->offset++;
	for (size_t i = 0; i < n->replica_count; i++) {
		if (n->replicas[i].coming)
			continue;
		n->replicas[i].coming = true;
		sim_at(sim_now + sim_between(50 * SIM_US, 2 * SIM_MS), replicate, &n->replicas[i], 0);
	}
}

int64_t
sim_instance_acknowledged(const struct sim_instance *n, uint64_t offset)
{
	int64_t count = 0;

	for (size_t i = 0; i < n->replica_count; i++)
		count += n->replicas[i].offset >= offset;
	return count;
}

/* ---- commands ---- */

static int64_t
publish(void *ctx, const char *channel, size_t channel_size, const char *text, size_t size)
{
	return sim_speakers_publish(ctx, channel, channel_size, text, size);
}

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
	const struct lsh_message *answer = sim_server_run(n->server, args, count, sim_world_us());

	if (args[0].size >= 4 && strncasecmp(args[0].bytes, "EVAL", 4) == 0)
		wrote(n);
	if (sim_traces && count > 3)
		trace_run(n, args, count, answer);
	sim_judge_served(n);
	return answer;
}

/* ---- life ---- */

static void
begin_life(struct sim_instance *n)
{
	for (size_t i = 0; i < sizeof n->run_id - 1; i++)
		n->run_id[i] = "0123456789abcdef"[sim_random(16)];
	n->started = sim_now;
	n->host.down = n->host.vanished = false;
}

static void
come_back(void *what, uint64_t turn)
{
	struct sim_instance *n = what;

	(void)turn;
	sim_trace("server %d is back", n->host.number);
	begin_life(n);
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
	if (data != SIM_KEPT)
		sim_judge_data_lost(n->host.number);
	n->went_back = n->went_back || data == SIM_SAVED;
}

void
sim_instance_fail_over(struct sim_instance *n, bool vanishes, int64_t after)
{
	size_t best = 0;

	if (n->host.down)
		return;
	for (size_t i = 1; i < n->replica_count; i++)
		if (n->replicas[i].offset > n->replicas[best].offset)
			best = i;
	sim_trace("server %d %s; a replica takes over that lacks the last %" PRIu64 " writes", n->host.number,
	          vanishes ? "vanishes" : "ends", n->offset - n->replicas[best].offset);
	end_life(n, vanishes, after);
	n->offset = n->replicas[best].offset;
	n->went_back = true;
	sim_server_restart(n->server, &n->replicas[best].data);
	for (size_t i = 0; i < n->replica_count; i++) { /* they begin with a copy of the new master's */
		sim_keyspace_copy(&n->replicas[i].data, &n->server->context.keyspace);
		n->replicas[i].offset = n->offset;
	}
}

static void
open_instance(struct sim_instance *n, int number, struct sim_lua *lua)
{
	static const struct sim_hooks hooks = {.publish = publish};

	n->host = (struct sim_host){
		.number = number, .accept = sim_speaker_new, .hear = sim_speaker_hear, .gone = sim_speaker_gone,
	};
	n->server = sim_server_new(lua, &hooks, n);
	if (sim_site.deployment == SIM_REPLICAS)
		n->replica_count = SIM_REPLICAS_MOST;
	sim_host_open(&n->host);
	begin_life(n);
	n->started = sim_now - 1000 * SIM_S;
}

void
sim_site_open(enum sim_deployment deployment)
{
	struct sim_lua *lua = sim_lua_new();
	char *uri = sim_site.uri, *end = uri + sizeof sim_site.uri;

	sim_site.deployment = deployment;
	sim_site.count = deployment != SIM_QUORUM ? 1 : sim_chance(0.8) ? 3 : 5;
	uri += snprintf(uri, (size_t)(end - uri), "redis%s://", deployment == SIM_QUORUM ? "+quorum" : "");
	for (size_t i = 0; i < sim_site.count; i++) {
		open_instance(&sim_site.instances[i], (int)i, lua);
		uri += snprintf(uri, (size_t)(end - uri), "%s10.0.0.%zu:6379", i > 0 ? "," : "", i + 1);
	}
}
