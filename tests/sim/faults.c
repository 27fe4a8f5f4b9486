#include "tests/sim/faults.h"

#include "tests/sim/fiber.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const sim_fault_names[SIM_FAULTS] = {
#define X(id, name, ...) [SIM_##id] = (name),
	SIM_FAULT_LIST(X)
#undef X
};

bool sim_without[SIM_FAULTS];

bool sim_has_struck[SIM_FAULTS];
int64_t sim_struck_until;

static int64_t every; /* between two faults, at most */
static uint32_t weights[SIM_FAULTS]; /* how often each comes in this world */
static bool is_usual; /* nothing is far more common than elsewhere */
static double delays; /* of the weather, in a storm */
static double fine;   /* so often it is followed by fine weather */
static bool over;

/* ---- what may happen ---- */

static struct sim_instance *
some_server(void)
{
	return &sim_site.instances[sim_random((uint32_t)sim_site.count)];
}

static struct sim_client *
some_client(void)
{
	return &sim_clients[sim_random((uint32_t)sim_client_count)];
}

static void
note_trouble_until(int64_t at)
{
	sim_struck_until = at > sim_struck_until ? at : sim_struck_until;
}

static long long
in_ms(int64_t ns)
{
	return ns / SIM_MS;
}

/* Mostly short; now and then longer than any timeout, or even than a lease. */
static int64_t
some_time(void)
{
	uint32_t kind = sim_random(10);
	int64_t most_ms = kind < 6 ? 50 :
	                  kind < 9 || sim_climate == SIM_MILD ? 2 * sim_terms.timeout_ms :
	                  2 * sim_terms.longest_ms;
	int64_t ns = sim_between(0, most_ms * SIM_MS);

	note_trouble_until(sim_now + ns);
	return ns;
}

static void
between(const char *what, void (*act)(const struct sim_process *process, const struct sim_host *host))
{
	const struct sim_client *c = some_client();
	const struct sim_instance *n = some_server();

	sim_trace("between client %d and server %d %s", c->process.number, n->host.number, what);
	act(&c->process, &n->host);
}

static void
jam(void)
{
	note_trouble_until(sim_now + sim_weather.delay);
	between("what the server says is stuck", sim_jam);
}

static void
darken(void)
{
	const struct sim_client *c = some_client();
	const struct sim_instance *n = some_server();
	int64_t ns = some_time();

	sim_trace("nothing comes through between client %d and server %d for %lld ms", c->process.number, n->host.number,
	          in_ms(ns));
	sim_darken(&c->process, &n->host, sim_now + ns);
	sim_judge_cut_off(ns);
	if (sim_chance(0.3))
		sim_cut(&c->process, &n->host);
}

static void
slow_server(void)
{
	struct sim_instance *n = some_server();
	int64_t ns = some_time();

	sim_trace("server %d stands still for %lld ms", n->host.number, in_ms(ns));
	n->host.frozen_until = sim_now + ns;
}

static void
slow_client(void)
{
	struct sim_client *c = some_client();
	int64_t ns = some_time();

	if (sim_chance(0.5))
		sim_freeze(&c->process, ns);
	else
		c->process.tired = ns; /* so that the answer comes while it does */
}

static void
restart(enum sim_data data)
{
	sim_instance_restart(some_server(), data, sim_chance(0.3), some_time());
}

static void
fail_over(void)
{
	note_trouble_until(sim_now + 12 * SIM_S); /* until all know and follow the new one */
	sim_site_fail_over(sim_chance(0.3), some_time());
}

static void
forget(void)
{
	struct sim_instance *n = some_server();

	sim_trace("server %d forgets its scripts", n->host.number);
	sim_server_flush_scripts(n->server);
}

static void
fail_over_now(void *what, uint64_t turn)
{
	(void)what, (void)turn;
	if (!over && !sim_without[SIM_FAILOVER])
		fail_over();
}

/* And perhaps one that lags behind has to take over. */
static void
stall(void)
{
	int64_t ns = some_time();
	double share = sim_chance(0.5) ? 0.5 : 1;

	if (sim_chance(0.3))
		sim_at(sim_now + sim_between(0, ns), fail_over_now, NULL, 0);
	for (size_t i = 0; i < SIM_HOSTS; i++)
		if (sim_site.instances[i].master != NULL && sim_chance(share)) {
			sim_trace("replica %zu gets nothing for %lld ms", i, in_ms(ns));
			sim_site.instances[i].stalled_until = sim_now + ns;
		}
}

static void
die(void)
{
	struct sim_client *c = some_client();

	if (sim_client_count < SIM_PROCESSES && !c->process.dead)
		sim_client_die(c);
}

/* By less than what leash allows for: 1 %. */
static void
drift(void)
{
	struct sim_instance *n = some_server();
	int64_t ahead = sim_server_us(n->server, sim_world_us()) - sim_world_us();

	sim_server_set_clock(n->server, sim_world_us(), ahead, sim_between(-500, 500));
}

static void
move(void)
{
	int l = (int)sim_random((uint32_t)sim_terms.locks + (sim_terms.permits > 0)); /* any, or the semaphore */
	const char *key = sim_judge_key(l < sim_terms.locks ? l : SIM_PERMITS);

	sim_cluster_move(lsh_slot_of(key, strlen(key)));
}

/* What one server keeps as the last fence of a lock; for an hour, or for ever. */
static void
set_fence(const char *key, const char *fence, bool for_ever)
{
	char name[40];
	struct lsh_arg args[] = {
		LSH_ARG("SET"), {name, (size_t)snprintf(name, sizeof name, "%s:fence", key)}, {fence, strlen(fence)},
		LSH_ARG("PX"), LSH_ARG("3600000"),
	};

	sim_instance_run(&sim_site.instances[0], args, for_ever ? 3 : 5);
}

/* One server of a quorum, and always the same one, has a fence that is so far ahead of the clocks that it goes on from
 * there. The others make a majority without it. */
static void
misnumber(void)
{
	const struct sim_instance *n = &sim_site.instances[0];
	const char *key = sim_judge_key((int)sim_random((uint32_t)sim_terms.locks));
	char fence[32];

	if (n->host.down)
		return;
	snprintf(fence, sizeof fence, "%" PRId64, sim_server_us(n->server, sim_world_us()) + SIM_FAR_US + 3600000000);
	sim_trace("server %d has %s as the fence of %s", n->host.number, fence, key);
	set_fence(key, fence, true);
}

/* Out of memory for Lua, say. */
static void
err(void)
{
	struct sim_instance *n = some_server();

	sim_trace("the next script of server %d ends with an error", n->host.number);
	n->fails = true;
}

static void
refuse(void)
{
	static const char *const words[] = {
		"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script", "TRYAGAIN",
		"CLUSTERDOWN The cluster is down", "READONLY You can't write against a read only replica.",
		"MASTERDOWN Link with MASTER is down", "OOM command not allowed when used memory > 'maxmemory'.",
		"MISCONF Errors writing to the AOF file", "NOREPLICAS Not enough good replicas to write.",
		"NOPERM this user has no permissions to run the 'evalsha' command", "ODD what is this?",
	};
	struct sim_instance *n = some_server();
	int64_t ns = some_time();

	n->refusal = words[sim_random(sizeof words / sizeof *words)];
	n->refuses_until = sim_now + ns;
	sim_trace("server %d says %s for %lld ms", n->host.number, n->refusal, in_ms(ns));
}

static void
run_short(void)
{
	struct sim_client *c = some_client();
	int64_t ns = some_time();

	c->process.short_until = sim_now + ns;
	sim_trace("client %d gets memory and descriptors only now and then for %lld ms", c->process.number, in_ms(ns));
}

static const struct {
	uint32_t often;
	bool rough; /* in a rough climate only */
} faults[SIM_FAULTS] = {
#define X(id, name, often, rough, ...) [SIM_##id] = {often, rough},
	SIM_FAULT_LIST(X)
#undef X
};

static void
happen(enum sim_fault fault)
{
	switch (fault) {
#define X(id, name, often, rough, ...) case SIM_##id: __VA_ARGS__; break;
	SIM_FAULT_LIST(X)
#undef X
	case SIM_FAULTS: break;
	}
}

static bool
may_happen(enum sim_fault fault)
{
	if (sim_without[fault] || (faults[fault].rough && sim_climate != SIM_ROUGH))
		return false;
	if (fault == SIM_MOVE)
		return sim_site.deployment == SIM_CLUSTER;
	if (fault == SIM_FENCE)
		return sim_site.deployment == SIM_QUORUM;
	if (sim_site.deployment != SIM_SINGLE && sim_site.deployment != SIM_QUORUM)
		return fault != SIM_RESTART && fault != SIM_LOSS && fault != SIM_ROLLBACK && fault != SIM_DRIFT;
	return fault != SIM_FAILOVER && fault != SIM_STALL;
}

/* Faults come in storms; in between the weather is fine for so long that all that is to be done is done. */
static int64_t
next_strike(void)
{
	int64_t at = sim_now + sim_between(0, every);

	sim_weather.delays = delays;
	if (!sim_chance(fine)) {
		if (delays > 0) /* what is late then comes then */
			note_trouble_until(at + sim_weather.delay);
		return at;
	}
	sim_weather.delays = 0;
	for (size_t i = 0; i < sim_site.count; i++)
		sim_instance_save(&sim_site.instances[i]);
	return sim_now + sim_between(0, 3 * sim_terms.longest_ms * SIM_MS + 60 * SIM_S);
}

static void
strike(void *what, uint64_t turn)
{
	uint32_t sum = 0, at;
	int i = 0;

	(void)what, (void)turn;
	if (over)
		return;
	sim_at(next_strike(), strike, NULL, 0);
	for (int k = 0; k < SIM_FAULTS; k++)
		sum += weights[k];
	for (at = sim_random(sum); at >= weights[i]; i++)
		at -= weights[i];
	if (may_happen((enum sim_fault)i)) {
		note_trouble_until(sim_now);
		sim_has_struck[i] = true;
		happen((enum sim_fault)i);
	}
}

/* ---- the world ---- */

/* In half of the worlds some faults are missing, and some are far more common than in others: what needs a certain one
 * twice, or one of them alone, happens in some (swarm testing: Groce et al., ISSTA 2012). */
static void
draw_weights(void)
{
	static const uint32_t shares[] = {0, 1, 1, 8};
	uint32_t sum = 0;

	for (int i = 0; i < SIM_FAULTS; i++)
		if (faults[i].often > 0)
			sum += weights[i] = faults[i].often * (is_usual ? 1 : shares[sim_random(4)]);
	if (sum == 0)
		weights[SIM_CUT] = 1;
}

/* Likewise for what people do. */
static double
habit(double usual)
{
	static const double shares[] = {0, 1, 1, 4};

	return usual * (is_usual ? 1 : shares[sim_random(4)]);
}

static void
draw_habits(void)
{
	sim_habits = (struct sim_habits){
		.at_once = habit(0.2), .cancels = habit(0.1), .own_lease = habit(0.1), .nests = habit(0.2),
		.extends = habit(0.2), .outlasts = habit(0.03), .long_holds = habit(0.1), .rests = habit(0.05),
		.looks = habit(0.03), .owns = habit(0.1),
	};
}

static void
draw_weather(void)
{
	bool calm = sim_climate == SIM_CALM;

	sim_weather = (struct sim_weather){
		.latency = sim_between(20 * SIM_US, 500 * SIM_US),
		.jitter = sim_between(0, 500 * SIM_US),
		.delays = calm ? 0 : sim_chance(0.5) ? 0.01 : 0.1,
		.delay = sim_between(SIM_MS, sim_terms.timeout_ms * SIM_MS * (sim_climate == SIM_ROUGH ? 2 : 1)),
		.pieces = sim_chance(0.5) ? 0 : 0.2,
		.ghosts = calm ? 0 : 0.5,
		.haunts = sim_between(SIM_MS, sim_terms.longest_ms * SIM_MS),
		.narrow = !sim_chance(0.8),
	};
	delays = sim_weather.delays;
	fine = is_usual || sim_chance(0.7) ? 0.05 : 0.3;
	sim_sluggishness = sim_chance(0.7) ? 20 * SIM_US : calm ? 2 * SIM_MS : 20 * SIM_MS;
	every = sim_climate == SIM_CALM ? 0 : sim_between(20 * SIM_MS, sim_climate == SIM_ROUGH ? SIM_S : 10 * SIM_S);
}

static void
draw_terms(enum sim_deployment deployment)
{
	static const int64_t leases[] = {500, 1000, 3000, 10000, 30000}, timeouts[] = {200, 1000, 5000, 20000};
	bool rough = sim_climate == SIM_ROUGH;

	sim_terms = (struct sim_terms){
		.clients = (int)sim_between(1, 4), .threads = (int)sim_between(1, SIM_THREADS),
		.locks = (int)sim_between(1, SIM_LOCKS), .lease_ms = leases[sim_random(5)],
		.timeout_ms = timeouts[sim_random(4)],
	};
	sim_terms.longest_ms = sim_terms.lease_ms + sim_terms.lease_ms / 2;
	sim_terms.wait_ms = 4 * sim_terms.lease_ms;
	if (deployment == SIM_REPLICAS || (deployment != SIM_SINGLE && deployment != SIM_QUORUM && sim_chance(0.7)))
		sim_terms.min_replicas = 1;
	/* a quorum insists */
	if (deployment == SIM_QUORUM || (rough && sim_chance(0.5)))
		sim_terms.guard_ms = sim_terms.longest_ms;
	sim_terms.fsynced = deployment != SIM_QUORUM && sim_chance(0.2);
	sim_terms.breaks = sim_chance(0.2);
	sim_terms.limits = sim_chance(0.3);
	for (int l = 0; l < sim_terms.locks; l++) {
		sim_terms.fair[l] = deployment != SIM_QUORUM && sim_chance(0.3);
		sim_terms.alone[l] = sim_chance(0.3);
	}
}

/* Of servers that take over from each other, they are the same: the end of a key's life goes by the clock. */
static void
draw_clocks(void)
{
	int64_t ahead_us = sim_between(-10000000, 10000000), ppm = sim_between(-200, 200);

	for (size_t i = 0; i < SIM_HOSTS && sim_site.instances[i].server != NULL; i++) {
		sim_server_set_clock(sim_site.instances[i].server, sim_world_us(), ahead_us, ppm);
		if (sim_site.deployment == SIM_QUORUM) {
			ahead_us = sim_between(-10000000, 10000000);
			ppm = sim_between(-200, 200);
		}
	}
}

void
sim_faults_draw(enum sim_deployment deployment)
{
	uint32_t kind = sim_random(8);

	sim_climate = kind < 2 ? SIM_CALM : kind < 5 ? SIM_MILD : SIM_ROUGH;
	draw_terms(deployment);
	is_usual = sim_chance(0.5);
	draw_habits();
	draw_weather();
	draw_weights();
	sim_site_open(deployment);
	draw_clocks();
}

/* In some worlds only one fault happens, and often, where it matters: some want a lock for much longer than others, and
 * many give up; what lies on a disk is of a time before its leases; a claim is over before anybody's patience. */
void
sim_faults_vary(uint64_t seed)
{
	static const struct {
		enum sim_fault fault;
		int64_t every, lease_ms, longest_ms, timeout_ms, delay;
		double delays, fine, gives_up, long_holds;
	} varieties[8] = {
		[0] = {SIM_HOLE, 10 * SIM_S, 3000, 4500, 20000, 0, 0, 0.05, 0.05, 0.5},
		[2] = {SIM_DARK, 5 * SIM_S, 1000, 60000, 200, 500 * SIM_MS, 0.1, 0.05, 0.5, 0.1},
		[4] = {SIM_ROLLBACK, 5 * SIM_S, 3000, 4500, 200, 0, 0, 0.3, 0.1, 0.1},
		[6] = {SIM_JAM, 500 * SIM_MS, 300, 450, 5000, 2 * SIM_S, 0.05, 0.05, 0.1, 0.4},
	}, *v;

	v = &varieties[seed % 8];
	if (v->every == 0 || sim_climate == SIM_CALM)
		return;
	sim_climate = SIM_ROUGH;
	sim_terms.lease_ms = v->lease_ms;
	sim_terms.longest_ms = v->longest_ms;
	sim_terms.timeout_ms = v->timeout_ms;
	sim_terms.wait_ms = 20000;
	sim_terms.guard_ms = sim_site.deployment == SIM_QUORUM ? v->longest_ms : 0;
	sim_habits.cancels = sim_habits.own_lease = sim_habits.extends = v->gives_up;
	sim_habits.long_holds = v->long_holds;
	sim_weather.delay = v->delay;
	delays = sim_weather.delays = v->delays;
	every = v->every;
	fine = v->fine;
	memset(weights, 0, sizeof weights);
	weights[v->fault] = 1;
}

void
sim_faults_begin(void)
{
	if (sim_climate != SIM_CALM)
		sim_at(next_strike(), strike, NULL, 0);
}

void
sim_faults_end(void)
{
	over = true;
	for (size_t i = 0; i < sim_site.count; i++)
		sim_site.instances[i].fails = false;
	sim_weather.delays = 0;
	for (size_t i = 0; i < sim_site.count; i++) {
		struct sim_instance *n = &sim_site.instances[i];

		n->host.frozen_until = 0;
		n->refuses_until = 0;
		for (int c = 0; c < sim_client_count; c++)
			sim_darken(&sim_clients[c].process, &n->host, 0);
	}
	for (int c = 0; c < sim_client_count; c++)
		sim_clients[c].process.tired = sim_clients[c].process.short_until = 0;
	/* else what is late would get a smaller one */
	for (int l = 0; l < sim_terms.locks && sim_has_struck[SIM_FENCE]; l++)
		set_fence(sim_judge_key(l), sim_judge_last_fence(l), false);
	sim_trace("nothing goes wrong any more");
}
