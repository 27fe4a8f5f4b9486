/* The vital signs of a server: what INFO and CONFIG GET say of it. Either may be refused; what is not known is not judged, and where
 * INFO does not tell what hinders a server, what it refused tells it. */
#include "client/examine.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "redis/info.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	INFO_MAX = 256 * 1024,
	VERSION_LEAST = 0x060200,
	PERCENT_HIGH = 90,
	LAG_HIGH_S = 10,
	SHORT = 64,
};

static const char *const config_names[LSH_CONFIGS] = {
	[LSH_CONFIG_APPENDFSYNC] = "appendfsync",
	[LSH_CONFIG_SAVE] = "save",
	[LSH_CONFIG_STOP_WRITES] = "stop-writes-on-bgsave-error",
	[LSH_CONFIG_MIN_REPLICAS] = "min-replicas-to-write",
	[LSH_CONFIG_MAXCLIENTS] = "maxclients",
	[LSH_CONFIG_TIMEOUT] = "timeout",
};

/* ---- looking ---- */

/* Is each byte of it a letter, a digit, or in `others`? Then it may be shown, and stand in a command. */
static bool
is_plain(const char *text, size_t n, const char *others)
{
	for (size_t i = 0; i < n; i++) {
		char c = text[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && (c == '\0' || strchr(others, c) == NULL))
			return false;
	}
	return n > 0;
}

static void
take_info(struct lsh_examination *x, const struct lsh_item *item)
{
	size_t n = item->type == LSH_STRING ? item->length : 0;

	n = n < INFO_MAX ? n : INFO_MAX;
	x->info = lsh_alloc(n + 1);
	if (x->info == NULL) {
		x->status = lsh_fail(&x->err, LEASH_NO_MEMORY, ENOMEM, "out of memory for what the server says of itself");
		return;
	}
	memcpy(x->info, item->text, n);
	x->info[n] = '\0';
}

static void
take_config(struct lsh_examination *x, enum lsh_config which, const struct redisReply *answer)
{
	struct lsh_item value = lsh_answer_item(lsh_answer_at(answer, 1));

	if (value.type != LSH_STRING || value.length >= LSH_CONFIG_SIZE || (value.length > 0 && !is_plain(value.text, value.length, " -_.")))
		return;
	memcpy(x->config[which], value.text, value.length);
	x->config_known[which] = true;
}

void
lsh_vitals_take_user(struct lsh_examination *x, const char *user)
{
	size_t n = strlen(user);

	x->user[0] = '\0';
	if (n < LSH_USER_SIZE && is_plain(user, n, "._-@:") && !lsh_repeats_password(x, user, n))
		memcpy(x->user, user, n + 1);
}

void
lsh_vitals_look(struct lsh_examination *x)
{
	struct lsh_item item;

	lsh_say(x, "INFO", NULL);
	lsh_say(x, "ACL", "WHOAMI", NULL);
	for (int i = 0; i < LSH_CONFIGS; i++)
		lsh_say(x, "CONFIG", "GET", config_names[i], NULL);
	item = lsh_hear_item(x);
	take_info(x, &item);
	item = lsh_hear_item(x);
	if (item.type == LSH_STRING)
		lsh_vitals_take_user(x, item.text);
	for (int i = 0; i < LSH_CONFIGS; i++)
		take_config(x, (enum lsh_config)i, lsh_hear(x));
}

/* ---- reading what was said ---- */

static bool
field_number(const struct lsh_examination *x, const char *field, uint64_t *n)
{
	size_t size;
	const char *value = x->info != NULL ? lsh_info_find(x->info, field, &size) : NULL;

	return value != NULL && lsh_decimal_read(value, size, n);
}

/* To be shown, into `out`; "" if it is no plain word. Returns `out`. */
static const char *
field_word(const struct lsh_examination *x, const char *field, char out[static SHORT])
{
	size_t size;
	const char *value = x->info != NULL ? lsh_info_find(x->info, field, &size) : NULL;

	out[0] = '\0';
	if (value != NULL && size < SHORT && is_plain(value, size, ".-_:"))
		lsh_words(x, out, SHORT, value, size);
	return out;
}

bool
lsh_vitals_has_replicas(const struct lsh_examination *x)
{
	uint64_t n;

	return field_number(x, "connected_slaves", &n) && n > 0;
}

static bool
field_is(const struct lsh_examination *x, const char *field, const char *expected)
{
	size_t size;
	const char *value = x->info != NULL ? lsh_info_find(x->info, field, &size) : NULL;

	return value != NULL && size == strlen(expected) && memcmp(value, expected, size) == 0;
}

static bool
config_number(const struct lsh_examination *x, enum lsh_config which, uint64_t *n)
{
	return x->config_known[which] && lsh_decimal_read(x->config[which], strlen(x->config[which]), n);
}

static bool
hindered(const struct lsh_examination *x, enum lsh_hindrance by)
{
	return (x->hindrances & by) != 0;
}

/* "900 B", "1.5 MiB". Returns `out`. */
static const char *
show_bytes(char out[static SHORT], uint64_t n)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)n;
	int unit = 0;

	for (; value >= 1024 && unit < 6; unit++)
		value /= 1024;
	snprintf(out, SHORT, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
	return out;
}

static const char *
show_span(char out[static SHORT], uint64_t s)
{
	if (s < 120)
		snprintf(out, SHORT, "%llu s", (unsigned long long)s);
	else if (s < 7200)
		snprintf(out, SHORT, "%llu min", (unsigned long long)(s / 60));
	else if (s < 172800)
		snprintf(out, SHORT, "%llu h", (unsigned long long)(s / 3600));
	else
		snprintf(out, SHORT, "%llu days", (unsigned long long)(s / 86400));
	return out;
}

/* ---- what it is ---- */

static void
tell_version(struct lsh_examination *x)
{
	unsigned v = x->hello.version;
	char valkey[SHORT], name[SHORT], what[3 * SHORT];

	if (v == 0)
		return;
	field_word(x, "valkey_version", valkey);
	field_word(x, "server_name", name);
	if (valkey[0] != '\0') {
		x->conf_file = "valkey.conf";
		snprintf(what, sizeof what, "Valkey %s (as Redis %u.%u.%u)", valkey, v >> 16, v >> 8 & 0xff, v & 0xff);
	} else {
		snprintf(what, sizeof what, "%s %u.%u.%u", name[0] != '\0' ? name : "Redis", v >> 16, v >> 8 & 0xff, v & 0xff);
	}
	if (v < VERSION_LEAST) {
		lsh_remedy(x, "install Redis 6.2 or later, or Valkey");
		lsh_find(x, LEASH_FINDING_ERROR, "version", "%s is too old: leash needs Redis 6.2 or later, or Valkey", what);
	} else {
		lsh_find(x, LEASH_FINDING_FINE, "version", "%s", what);
	}
}

static void
tell_mode(struct lsh_examination *x)
{
	uint64_t enabled;
	bool clustered = x->hello.cluster || (field_number(x, "cluster_enabled", &enabled) && enabled == 1);

	if ((clustered || hindered(x, LSH_CLUSTERED)) && x->stop->cluster == NULL) {
		lsh_remedy(x, "write redis+cluster:// in place of redis://, or use a server that is no part of a cluster (cluster-enabled no in %s)", x->conf_file);
		lsh_find(x, LEASH_FINDING_ERROR, "version",
		         "it runs in cluster mode, but the URI names a single server: locks whose slot another node has are refused");
	}
	if (field_is(x, "redis_mode", "sentinel") || field_is(x, "server_mode", "sentinel")) {
		lsh_remedy(x, "name the server that keeps the data: redis-cli -p PORT SENTINEL MASTERS lists them");
		lsh_find(x, LEASH_FINDING_ERROR, "version", "it is a Sentinel, which keeps no data");
	}
}

/* ---- memory ---- */

static void
tell_eviction(struct lsh_examination *x)
{
	char policy[SHORT], limit[SHORT], lost[SHORT + 40] = "";
	uint64_t most = 0, evicted;

	if (field_word(x, "maxmemory_policy", policy)[0] == '\0' || !field_number(x, "maxmemory", &most))
		return;
	show_bytes(limit, most);
	if (field_is(x, "maxmemory_policy", LSH_NO_EVICTION)) {
		lsh_find(x, LEASH_FINDING_FINE, "eviction", "maxmemory-policy is noeviction: a full server refuses, and drops no lock");
		return;
	}
	lsh_remedy(x, "CONFIG SET maxmemory-policy noeviction, and in %s: maxmemory-policy noeviction; or keep locks in a server of their own",
	           x->conf_file);
	if (most == 0) {
		lsh_find(x, LEASH_FINDING_NOTE, "eviction",
		         "maxmemory-policy is %s: without a maxmemory it evicts nothing, but with one it would drop locks", policy);
		return;
	}
	if (field_number(x, "evicted_keys", &evicted) && evicted > 0)
		snprintf(lost, sizeof lost, "; it has evicted %llu keys so far", (unsigned long long)evicted);
	lsh_find(x, LEASH_FINDING_ERROR, "eviction",
	         "maxmemory-policy is %s with a maxmemory of %s: a full server drops locks that are held, and others get them%s",
	         policy, limit, lost);
}

static void
tell_memory(struct lsh_examination *x)
{
	uint64_t used = 0, most = 0, machine = 0;
	char u[SHORT], m[SHORT];
	bool known = field_number(x, "used_memory", &used) && field_number(x, "maxmemory", &most), full = hindered(x, LSH_FULL), limited = most > 0;
	double percent;

	if (!known && !full)
		return;
	if (!limited && field_number(x, "total_system_memory", &machine))
		most = machine;
	percent = most > 0 ? 100 * (double)used / (double)most : 0;
	show_bytes(u, used);
	show_bytes(m, most);
	if (full || percent > PERCENT_HIGH)
		lsh_remedy(x, "%s; find what fills it: redis-cli --bigkeys",
		           limited || full ? "CONFIG SET maxmemory to more than it is, and maxmemory in its configuration" : "give the machine more memory");
	if (full)
		lsh_find(x, LEASH_FINDING_ERROR, "memory", "the server is full%s%s%s%s: it refuses to give locks, though it renews and releases them",
		         known ? ", " : "", known ? u : "", known ? " of " : "", known ? m : "");
	else if (percent > PERCENT_HIGH)
		lsh_find(x, LEASH_FINDING_WARNING, "memory", "%s of %s %s used, %.0f %%: a server that is full refuses to give locks", u, m,
		         limited ? "(maxmemory) are" : "of the machine are", percent);
	else if (limited)
		lsh_find(x, LEASH_FINDING_FINE, "memory", "%s used of %s", u, m);
	else
		lsh_find(x, LEASH_FINDING_FINE, "memory", "%s used, without a maxmemory%s%s", u, most > 0 ? "; the machine has " : "", most > 0 ? m : "");
}

/* ---- persistence ---- */

static void
tell_loading(struct lsh_examination *x)
{
	char percent[SHORT], left[SHORT] = "";
	uint64_t loading = 0, eta;

	if (!(field_number(x, "loading", &loading) && loading == 1) && !hindered(x, LSH_LOADING))
		return;
	x->hindrances |= LSH_LOADING;
	field_word(x, "loading_loaded_perc", percent);
	if (field_number(x, "loading_eta_seconds", &eta))
		show_span(left, eta);
	lsh_remedy(x, "wait until it has read its data: INFO persistence says how far it is");
	lsh_find(x, LEASH_FINDING_ERROR, "persistence", "the server is loading its data%s%s%s%s%s, and answers nothing else until then",
	         percent[0] != '\0' ? ", " : "", percent, percent[0] != '\0' ? " %" : "", left[0] != '\0' ? ", for about " : "", left);
}

/* True: it can write down what it keeps, or at least goes on without. */
static bool
tell_failing_saves(struct lsh_examination *x)
{
	bool rdb_fails = field_is(x, "rdb_last_bgsave_status", "err"), aof_fails = field_is(x, "aof_last_write_status", "err");
	bool rewrite_fails = field_is(x, "aof_last_bgrewrite_status", "err"), refused = hindered(x, LSH_CANNOT_SAVE);
	const char *what = aof_fails ? "aof_last_write_status" : rdb_fails ? "rdb_last_bgsave_status" : "aof_last_bgrewrite_status";

	if (!rdb_fails && !aof_fails && !rewrite_fails && !refused)
		return true;
	lsh_remedy(x, "mend its disk (space, permissions of CONFIG GET dir; its log says which), then BGSAVE or BGREWRITEAOF%s",
	           refused && !aof_fails ? "; CONFIG SET stop-writes-on-bgsave-error no takes writes meanwhile" : "");
	if (refused)
		lsh_find(x, LEASH_FINDING_ERROR, "persistence", "the server cannot save its data%s%s%s, and refuses all writes until it can (MISCONF)",
		         rdb_fails || aof_fails ? " (" : "", rdb_fails || aof_fails ? what : "", rdb_fails || aof_fails ? " is err)" : "");
	else
		lsh_find(x, LEASH_FINDING_WARNING, "persistence", "the server could not save its data last time: %s is err", what);
	return !refused;
}

static void
tell_log_file(struct lsh_examination *x)
{
	const char *fsync = x->config[LSH_CONFIG_APPENDFSYNC];

	if (strcmp(fsync, "always") == 0)
		lsh_find(x, LEASH_FINDING_FINE, "persistence",
		         "append-only file, appendfsync always: locks survive a restart, and a crash of the machine");
	else if (strcmp(fsync, "no") == 0)
		lsh_find(x, LEASH_FINDING_NOTE, "persistence",
		         "append-only file, appendfsync no: locks survive a restart; a crash of the machine forgets those of the last half minute or so");
	else
		lsh_find(x, LEASH_FINDING_FINE, "persistence",
		         "append-only file%s: locks survive a restart; a crash of the machine forgets those of the last second",
		         strcmp(fsync, "everysec") == 0 ? ", appendfsync everysec" : "");
}

/* Whoever is guarded against it gets no lock that another has forgotten to hold. */
static void
tell_forgetful(struct lsh_examination *x)
{
	if (x->uri->restart_guard_ms > 0)
		lsh_find(x, LEASH_FINDING_NOTE, "persistence",
		         "no append-only file: a restart may forget locks, so it gives none for %" PRId64 " ms after one (restart_guard)", x->uri->restart_guard_ms);
	else
		lsh_find(x, LEASH_FINDING_NOTE, "persistence",
		         "no append-only file: a restart may forget locks, so a quorum does not count it for restart_guard_ms after one");
}

static void
tell_snapshots(struct lsh_examination *x)
{
	char save[LSH_CONFIG_SIZE];
	uint64_t saved, now_s = (uint64_t)x->hello.server_us / 1000000;
	char age[SHORT] = "";

	if (field_number(x, "rdb_last_save_time", &saved) && saved <= now_s)
		show_span(age, now_s - saved);
	lsh_words(x, save, sizeof save, x->config[LSH_CONFIG_SAVE], strlen(x->config[LSH_CONFIG_SAVE]));
	lsh_remedy(x, "CONFIG SET appendonly yes, and in %s: appendonly yes; or let programs set restart_guard_ms to their lease", x->conf_file);
	if (!x->config_known[LSH_CONFIG_SAVE])
		lsh_find(x, LEASH_FINDING_WARNING, "persistence",
		         "no append-only file: after a crash all locks since the last snapshot, if it takes any, are forgotten, and others get them while their holders go on");
	else if (save[0] == '\0')
		lsh_find(x, LEASH_FINDING_WARNING, "persistence",
		         "neither append-only file nor snapshots: a restart forgets all locks, and others get them while their holders go on");
	else
		lsh_find(x, LEASH_FINDING_WARNING, "persistence",
		         "snapshots only (save %s), the last one %s old: a crash forgets the locks since then, and others get them while their holders go on", save,
		         age[0] != '\0' ? age : "is");
}

static void
tell_persistence(struct lsh_examination *x)
{
	uint64_t aof;

	tell_loading(x);
	if (!tell_failing_saves(x) || !field_number(x, "aof_enabled", &aof))
		return;
	if (aof == 1)
		tell_log_file(x);
	else if (x->uri->restart_guard_ms > 0 || x->stop->deployment == LSH_QUORUM)
		tell_forgetful(x);
	else
		tell_snapshots(x);
}

/* ---- replication ---- */

static void
tell_replica(struct lsh_examination *x)
{
	char host[SHORT], where[3 * SHORT] = "";
	uint64_t port;
	bool six;

	field_word(x, "master_host", host);
	six = strchr(host, ':') != NULL;
	if (is_plain(host, strlen(host), ".-_:") && host[0] != '-' && field_number(x, "master_port", &port) && port <= 65535)
		snprintf(where, sizeof where, "redis://%s%s%s:%u", six ? "[" : "", host, six ? "]" : "", (unsigned)port);
	if (where[0] != '\0')
		lsh_remedy(x, "name the master in the URI: %s", where);
	else
		lsh_remedy(x, "name the master in the URI; INFO replication names it");
	lsh_find(x, LEASH_FINDING_ERROR, "replication",
	         "it is a replica%s%s%s: locks are given by the master only", where[0] != '\0' ? " of " : "", where,
	         field_is(x, "master_link_status", "down") ? ", and its connection to that is down" : "");
}

/* "ip=10.0.0.2,port=6379,state=online,offset=14,lag=0" */
static bool
keeps_up(const char *replica, size_t size)
{
	const char *lag = memmem(replica, size, ",lag=", 5), *end = lag != NULL ? memchr(lag + 5, ',', (size_t)(replica + size - lag - 5)) : NULL;
	uint64_t s = 0;

	if (lag != NULL)
		lsh_decimal_read(lag + 5, (size_t)((end != NULL ? end : replica + size) - lag - 5), &s);
	return memmem(replica, size, ",state=online,", 14) != NULL && s <= LAG_HIGH_S;
}

/* One that is being set up, or is cut off and has not been given up yet, would lack locks if it took over. */
static void
tell_those_behind(struct lsh_examination *x, uint64_t replicas)
{
	unsigned long long behind = 0;
	char name[SHORT];
	size_t size;

	for (uint64_t i = 0; i < replicas && i < 100; i++) {
		const char *replica;

		snprintf(name, sizeof name, "slave%llu", (unsigned long long)i);
		replica = lsh_info_find(x->info, name, &size);
		behind += replica != NULL && !keeps_up(replica, size);
	}
	if (behind == 0)
		return;
	lsh_remedy(x, "INFO replication says which (state, lag); see whether it is still loading, or what lies between");
	lsh_find(x, LEASH_FINDING_WARNING, "replication", "%llu of %llu replicas do%s not keep up: after a failover to %s locks are missing", behind,
	         (unsigned long long)replicas, behind == 1 ? "es" : "", behind == 1 ? "it" : "them");
}

/* Whether that matters depends on who counts on them. */
static void
tell_none(struct lsh_examination *x)
{
	if (x->stop->deployment == LSH_SENTINEL) {
		lsh_remedy(x, "start its replicas, or a further one: REPLICAOF HOST PORT at it");
		lsh_find(x, LEASH_FINDING_WARNING, "replication", "a master without connected replicas: when it dies the sentinels have nobody to take its place");
	} else if (x->stop->deployment == LSH_CLUSTER) {
		lsh_remedy(x, "CLUSTER REPLICATE ID at a node without slots; CLUSTER MYID at this one says the id");
		lsh_find(x, LEASH_FINDING_NOTE, "replication", "a master without replicas: when it dies nobody serves its slots, nor the locks in them");
	} else {
		lsh_find(x, LEASH_FINDING_FINE, "replication", "a master without replicas");
	}
}

static void
tell_master(struct lsh_examination *x)
{
	uint64_t replicas = 0, wanted = 0, good = 0;
	bool few = hindered(x, LSH_FEW_REPLICAS);

	config_number(x, LSH_CONFIG_MIN_REPLICAS, &wanted);
	field_number(x, "connected_slaves", &replicas);
	if (field_number(x, "min_slaves_good_slaves", &good) && good < wanted)
		few = true;
	if (few) {
		lsh_remedy(x, "bring the replicas back (INFO replication lists them and their lag), or CONFIG SET min-replicas-to-write %llu",
		           (unsigned long long)good);
		lsh_find(x, LEASH_FINDING_ERROR, "replication",
		         "it wants %llu replicas that keep up, has %llu, and refuses all writes until then (NOREPLICAS)",
		         (unsigned long long)(wanted > 0 ? wanted : 1), (unsigned long long)good);
	} else if (replicas > 0) {
		if (wanted == 0)
			lsh_remedy(x, "min-replicas-to-write 1 and min-replicas-max-lag 10 let a master that is cut off give no locks for longer than that; "
			           "hand the fence to what "
			              "a lock protects");
		lsh_find(x, LEASH_FINDING_NOTE, "replication",
		         "master of %llu replica%s: replication is asynchronous, so a failover may forget a lock just given",
		         (unsigned long long)replicas, replicas == 1 ? "" : "s");
		tell_those_behind(x, replicas);
	} else {
		tell_none(x);
	}
}

static void
tell_replication(struct lsh_examination *x)
{
	bool read_only = hindered(x, LSH_READ_ONLY), cut_off = hindered(x, LSH_MASTER_DOWN);

	if (field_is(x, "role", "slave") || read_only || cut_off)
		tell_replica(x);
	else if (field_is(x, "role", "master") || hindered(x, LSH_FEW_REPLICAS))
		tell_master(x);
}

/* ---- limits ---- */

static void
tell_limits(struct lsh_examination *x)
{
	uint64_t most = 0, now = 0, idle = 0, rejected = 0;
	char refused[SHORT] = "";

	if (hindered(x, LSH_BUSY)) {
		lsh_remedy(x, "SCRIPT KILL, or FUNCTION KILL, ends it; SLOWLOG GET shows what it was");
		lsh_find(x, LEASH_FINDING_ERROR, "limits",
		         "the server is busy with a script of somebody's, and answers nobody until that is over (BUSY)");
	}
	if (!field_number(x, "maxclients", &most))
		config_number(x, LSH_CONFIG_MAXCLIENTS, &most);
	if (field_number(x, "rejected_connections", &rejected) && rejected > 0)
		snprintf(refused, sizeof refused, "; it has refused %llu so far", (unsigned long long)rejected);
	if (field_number(x, "connected_clients", &now) && most > 0) {
		bool high = (double)now * 100 > (double)most * PERCENT_HIGH;

		if (high)
			lsh_remedy(x, "CONFIG SET maxclients to more than %llu, and maxclients in %s; CLIENT LIST shows who they are", (unsigned long long)most,
			           x->conf_file);
		lsh_find(x, high ? LEASH_FINDING_WARNING : LEASH_FINDING_FINE, "limits", "%llu of at most %llu connections%s%s", (unsigned long long)now,
		         (unsigned long long)most, refused, high ? ": when they run out nobody can connect" : "");
	}
	if (config_number(x, LSH_CONFIG_TIMEOUT, &idle) && idle > 0) {
		lsh_remedy(x, "CONFIG SET timeout 0, and in %s: timeout 0", x->conf_file);
		lsh_find(x, LEASH_FINDING_NOTE, "limits",
		         "it closes connections that were idle for %llu s; leash connects again, and the next lock takes longer for it",
		         (unsigned long long)idle);
	}
}

void
lsh_vitals_tell(struct lsh_examination *x)
{
	tell_version(x);
	tell_mode(x);
	tell_eviction(x);
	tell_memory(x);
	tell_persistence(x);
	tell_replication(x);
	tell_limits(x);
}
