/* What the doctor makes of a server's own words, without a server: each row is what INFO and CONFIG said, what was
 * refused, and what is to be told of that, with which remedy. */
#include "tests/doctor/findings.h"
#include "tests/support/test.h"

struct row {
	const char *info;          /* lines, with spaces in place of ends */
	enum level level;
	const char *text, *remedy; /* parts; text NULL: nothing is told, remedy NULL: there is none */
	unsigned hindrances, version;
	enum lsh_deployment deployment;
	int64_t guard_ms;
	enum config config;        /* and what it is, */
	const char *value;         /* unless that is NULL */
};

#define ROW(info_, level_, text_, remedy_, ...) \
	{.info = info_, .level = level_, .text = text_, .remedy = remedy_, __VA_ARGS__}
#define SET(which, to) .config = CONFIG_##which, .value = to
#define HINDERED(by) .hindrances = HINDERED_##by

static void
check_row(check_fn *check, const struct row *row)
{
	struct lsh_uri uri = {.shown = (char[]){"redis://here"}, .restart_guard_ms = row->guard_ms};
	struct target target = {.uri = &uri, .deployment = row->deployment};
	char info[256];
	struct doctor d = {.told = take, .arg = found, .target = &target, .uri = &uri, .topic = "topic", .info = info,
	                   .conf_file = "redis.conf", .hindrances = row->hindrances, .hello.version = row->version,
	                   .hello.server_us = 1000000000000};

	snprintf(info, sizeof info, "%s", row->info);
	for (char *c = info; *c != '\0'; c++)
		*c = *c == ' ' ? '\n' : *c;
	if (row->value != NULL) {
		strcpy(d.config[row->config], row->value);
		d.config_known[row->config] = true;
	}
	forget();
	check(&d);
	if (row->text == NULL) {
		show_all();
		assert_int_equal(found_count, 0);
		return;
	}
	const struct found *f = the("topic", row->level, row->text);
	check_worst(row->level);
	if (row->remedy != NULL)
		check_remedy(f, row->remedy);
	else
		assert_string_equal(f->remedy, "");
}

static const struct row version[] = {
	ROW("", ERROR, "Redis 6.0.9 is too old", "Redis 6.2 or later", .version = 0x060009),
	ROW("", FINE, "Redis 6.2.0", NULL, .version = 0x060200),
	ROW("valkey_version:8.1.0", FINE, "Valkey 8.1.0 (as Redis 7.2.4)", NULL, .version = 0x070204),
	ROW("server_name:keydb", FINE, "keydb 6.3.4", NULL, .version = 0x060304),
};

static const struct row mode[] = {
	ROW("redis_mode:sentinel", ERROR, "it is a Sentinel, which keeps no data", "SENTINEL MASTERS"),
	ROW("server_mode:sentinel", ERROR, "it is a Sentinel, which keeps no data", "SENTINEL MASTERS"),
	ROW("cluster_enabled:1", ERROR, "it runs in cluster mode", "redis+cluster://"),
	ROW("", ERROR, "it runs in cluster mode", "redis+cluster://", HINDERED(CLUSTER)),
	ROW("redis_mode:standalone cluster_enabled:0", FINE, NULL, NULL),
};

static const struct row eviction[] = {
	ROW("maxmemory_policy:noeviction maxmemory:1", FINE, "drops no lock", NULL),
	ROW("maxmemory_policy:allkeys-lru maxmemory:1048576", ERROR, "allkeys-lru with a maxmemory of 1.0 MiB",
	    "redis.conf: maxmemory-policy noeviction"),
	ROW("maxmemory_policy:allkeys-lfu maxmemory:1024", ERROR, "allkeys-lfu with a maxmemory of 1.0 KiB", "noeviction"),
	ROW("maxmemory_policy:allkeys-random maxmemory:1", ERROR, "allkeys-random with a maxmemory of 1 B", "noeviction"),
	ROW("maxmemory_policy:volatile-lru maxmemory:1", ERROR, "volatile-lru", "noeviction"),
	ROW("maxmemory_policy:volatile-lfu maxmemory:1", ERROR, "volatile-lfu", "noeviction"),
	ROW("maxmemory_policy:volatile-random maxmemory:1", ERROR, "volatile-random", "noeviction"),
	ROW("maxmemory_policy:volatile-ttl maxmemory:1", ERROR, "volatile-ttl", "noeviction"),
	ROW("maxmemory_policy:volatile-ttl maxmemory:1 evicted_keys:3", ERROR, "has evicted 3 keys", "noeviction"),
	ROW("maxmemory_policy:allkeys-lru maxmemory:0", NOTE, "without a maxmemory it evicts nothing", "noeviction"),
	ROW("maxmemory:1", FINE, NULL, NULL),
};

static const struct row memory[] = {
	ROW("used_memory:95 maxmemory:100", WARNING, "95 B of 100 B (maxmemory) are used, 95 %", "CONFIG SET maxmemory"),
	ROW("used_memory:90 maxmemory:100", FINE, "90 B used of 100 B", NULL),
	ROW("used_memory:95 maxmemory:0 total_system_memory:100", WARNING, "of the machine are used",
	    "give the machine more memory"),
	ROW("used_memory:9 maxmemory:0 total_system_memory:100", FINE, "without a maxmemory; the machine has 100 B", NULL),
	ROW("used_memory:9 maxmemory:0", FINE, "9 B used, without a maxmemory", NULL),
	ROW("used_memory:9 maxmemory:8", ERROR, "the server is full, 9 B of 8 B", "CONFIG SET maxmemory", HINDERED(FULL)),
	ROW("", ERROR, "the server is full: it refuses", "CONFIG SET maxmemory", HINDERED(FULL)),
};

static const struct row persistence[] = {
	ROW("loading:1 loading_loaded_perc:12.5 loading_eta_seconds:300", ERROR,
	    "loading its data, 12.5 %, for about 5 min,", "wait"),
	ROW("", ERROR, "the server is loading its data, and", "wait", HINDERED(LOADING)),
	ROW("aof_last_write_status:err", ERROR, "(aof_last_write_status is err), and refuses all writes", "fix its disk",
	    HINDERED(NO_SAVE)),
	ROW("", ERROR, "cannot save its data, and refuses all writes", "stop-writes-on-bgsave-error no", HINDERED(NO_SAVE)),
	ROW("rdb_last_bgsave_status:err", WARNING, "rdb_last_bgsave_status is err", "BGSAVE"),
	ROW("aof_last_bgrewrite_status:err", WARNING, "aof_last_bgrewrite_status is err", "BGREWRITEAOF"),
	ROW("aof_enabled:1", FINE, "append-only file: locks survive", NULL),
	ROW("aof_enabled:1", FINE, "appendfsync always", NULL, SET(APPENDFSYNC, "always")),
	ROW("aof_enabled:1", FINE, "appendfsync everysec", NULL, SET(APPENDFSYNC, "everysec")),
	ROW("aof_enabled:1", NOTE, "appendfsync no", NULL, SET(APPENDFSYNC, "no")),
	ROW("aof_enabled:0", NOTE, "none for 500 ms after one", NULL, .guard_ms = 500),
	ROW("aof_enabled:0", NOTE, "a quorum does not count it", NULL, .deployment = LSH_QUORUM),
	ROW("aof_enabled:0", WARNING, "if it takes any, are forgotten", "CONFIG SET appendonly yes"),
	ROW("aof_enabled:0", WARNING, "neither append-only file nor snapshots", "restart_guard_ms", SET(SAVE, "")),
	ROW("aof_enabled:0 rdb_last_save_time:999880", WARNING, "(save 60 1), the last one 2 min old", "appendonly",
	    SET(SAVE, "60 1")),
	ROW("aof_enabled:0 rdb_last_save_time:999881", WARNING, "the last one 119 s old", "appendonly", SET(SAVE, "60 1")),
	ROW("aof_enabled:0 rdb_last_save_time:0", WARNING, "the last one 11 days old", "appendonly", SET(SAVE, "60 1")),
};

static const struct row replication[] = {
	ROW("role:slave master_host:10.0.0.2 master_port:6380", ERROR, "it is a replica of redis://10.0.0.2:6380:",
	    "redis://10.0.0.2:6380"),
	ROW("role:slave master_host:fe80::1 master_port:6379", ERROR, "of redis://[fe80::1]:6379:",
	    "redis://[fe80::1]:6379"),
	ROW("role:slave master_host:-x master_port:6379", ERROR, "it is a replica: locks", "INFO replication names it"),
	ROW("role:slave master_link_status:down", ERROR, "its connection to that is down", "name the master"),
	ROW("", ERROR, "it is a replica", "name the master", HINDERED(READ_ONLY)),
	ROW("", ERROR, "it is a replica", "name the master", HINDERED(MASTER_DOWN)),
	ROW("role:master connected_slaves:0", FINE, "a master without replicas", NULL),
	ROW("role:master connected_slaves:0", WARNING, "the sentinels have nobody", "REPLICAOF",
	    .deployment = LSH_SENTINEL),
	ROW("role:master connected_slaves:0", NOTE, "nobody serves its slots", "CLUSTER REPLICATE",
	    .deployment = LSH_CLUSTER),
	ROW("role:master connected_slaves:1 slave0:ip=10.0.0.2,port=6379,state=online,offset=14,lag=10", NOTE,
	    "master of 1 replica:", "min-replicas-to-write 1"),
	ROW("role:master connected_slaves:2 slave0:ip=a,port=1,state=online,lag=11 slave1:ip=b,port=1,state=online,lag=0",
	    WARNING, "1 of 2 replicas does not keep up", "lag"),
	ROW("role:master connected_slaves:2 slave0:ip=a,port=1,state=wait_bgsave,lag=0 slave1:state=send_bulk", WARNING,
	    "2 of 2 replicas do not keep up: after a failover to them", "lag"),
	ROW("role:master min_slaves_good_slaves:1", ERROR, "it wants 2 replicas that keep up, has 1",
	    "CONFIG SET min-replicas-to-write 1", SET(MIN_REPLICAS, "2")),
	ROW("role:master connected_slaves:1 min_slaves_good_slaves:1", NOTE, "master of 1 replica:", NULL, SET(MIN_REPLICAS,
	    "1")),
	ROW("", ERROR, "it wants 1 replicas", "CONFIG SET min-replicas-to-write 0", HINDERED(FEW_REPLICAS)),
};

static const struct row limits[] = {
	ROW("connected_clients:91 maxclients:100", WARNING, "91 of at most 100 connections: when they run out",
	    "CONFIG SET maxclients"),
	ROW("connected_clients:90 maxclients:100", FINE, "90 of at most 100 connections", NULL),
	ROW("connected_clients:1 rejected_connections:7", FINE, "it has refused 7 so far", NULL, SET(MAXCLIENTS, "10")),
	ROW("connected_clients:1", FINE, NULL, NULL),
	ROW("", ERROR, "busy with somebody's script", "SCRIPT KILL", HINDERED(BUSY)),
	ROW("", NOTE, "idle for 60 s", "CONFIG SET timeout 0", SET(TIMEOUT, "60")),
	ROW("", FINE, NULL, NULL, SET(TIMEOUT, "0")),
};

#define TABLE(sentence, check, rows) {#sentence, check, rows, COUNT(rows)}

static const struct table {
	const char *name;
	check_fn *check;
	const struct row *rows;
	size_t count;
} tables[] = {
	TABLE(an_old_server_is_not_fit, health_tell_version, version),
	TABLE(a_sentinel_or_a_node_of_a_cluster_is_not_fit_as_a_single_server, health_tell_mode, mode),
	TABLE(a_server_that_may_evict_locks_is_not_fit_whichever_policy_it_has, health_tell_eviction, eviction),
	TABLE(a_server_that_is_nearly_full_is_warned_of_and_a_full_one_is_not_fit, health_tell_memory, memory),
	TABLE(what_a_restart_forgets_is_told, health_tell_persistence, persistence),
	TABLE(a_replica_is_not_fit_and_replicas_that_lag_or_lack_are_told, health_tell_replication, replication),
	TABLE(connections_that_run_out_and_scripts_that_run_on_are_told, health_tell_limits, limits),
};

SENTENCES(what_a_server_says_is_judged, tables)
{
	const struct table *t = given;

	for (size_t i = 0; i < t->count; i++)
		check_row(t->check, &t->rows[i]);
	check_row(t->check, &(const struct row)ROW("", FINE, NULL, NULL)); /* of one that says nothing */
}
