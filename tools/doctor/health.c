/* Health: what a server says about itself by INFO and CONFIG GET. Either may be refused; what is not known is not
 * judged, and where INFO does not tell what hinders a server, what it refused tells it. */
#include "tools/doctor/checks.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "redis/handshake.h"

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

static const char *const config_names[CONFIGS] = {
	[CONFIG_APPENDFSYNC] = "appendfsync",
	[CONFIG_SAVE] = "save",
	[CONFIG_MIN_REPLICAS] = "min-replicas-to-write",
	[CONFIG_MAXCLIENTS] = "maxclients",
	[CONFIG_TIMEOUT] = "timeout",
};

/* ---- looking ---- */

static void
take_info(struct doctor *d, const struct lsh_item *item)
{
	size_t n = item->type == LSH_STRING ? item->length : 0;

	n = n < INFO_MAX ? n : INFO_MAX;
	d->info = lsh_alloc(n + 1); /* zeroed */
	if (d->info == NULL)
		d->status = lsh_fail_short(&d->err, ENOMEM, "what the server says about itself");
	else if (n > 0)
		memcpy(d->info, item->text, n);
}

static void
take_config(struct doctor *d, enum config which, const struct redisReply *answer)
{
	struct lsh_item value = lsh_answer_item(lsh_answer_at(answer, 1));

	if (value.type != LSH_STRING || value.length >= CONFIG_SIZE ||
	    (value.length > 0 && !doctor_is_plain(value.text, value.length, " -_.")))
		return;
	memcpy(d->config[which], value.text, value.length);
	d->config_known[which] = true;
}

void
health_take_user(struct doctor *d, const char *user)
{
	size_t n = strlen(user);

	d->user[0] = '\0';
	if (n < USER_SIZE && doctor_is_plain(user, n, "._-@:") && !doctor_is_secret(d, user, n))
		memcpy(d->user, user, n + 1);
}

void
health_look(struct doctor *d)
{
	struct lsh_item item;

	DOCTOR_SEND(d, "INFO");
	DOCTOR_SEND(d, "ACL", "WHOAMI");
	for (int i = 0; i < CONFIGS; i++)
		DOCTOR_SEND(d, "CONFIG", "GET", config_names[i]);
	item = doctor_receive_item(d);
	take_info(d, &item);
	item = doctor_receive_item(d);
	if (item.type == LSH_STRING)
		health_take_user(d, item.text);
	for (int i = 0; i < CONFIGS; i++)
		take_config(d, (enum config)i, doctor_receive(d));
}

/* ---- reading what it said ---- */

static const char *
find(const struct doctor *d, const char *field, size_t *size)
{
	return d->info != NULL ? lsh_info_find(d->info, field, size) : NULL;
}

static bool
field_number(const struct doctor *d, const char *field, uint64_t *n)
{
	size_t size;
	const char *value = find(d, field, &size);

	return value != NULL && lsh_decimal_read(value, size, n);
}

/* To be shown, into `out`; "" if it is no plain word. Returns `out`. */
static const char *
field_word(const struct doctor *d, const char *field, char out[static SHORT])
{
	size_t size;
	const char *value = find(d, field, &size);

	out[0] = '\0';
	if (value != NULL && size < SHORT && doctor_is_plain(value, size, ".-_:"))
		doctor_words(d, out, SHORT, value, size);
	return out;
}

static bool
field_is(const struct doctor *d, const char *field, const char *expected)
{
	size_t size;
	const char *value = find(d, field, &size);

	return value != NULL && size == strlen(expected) && memcmp(value, expected, size) == 0;
}

static bool
config_number(const struct doctor *d, enum config which, uint64_t *n)
{
	return d->config_known[which] && lsh_decimal_read(d->config[which], strlen(d->config[which]), n);
}

bool
health_has_replicas(const struct doctor *d)
{
	uint64_t n;

	return field_number(d, "connected_slaves", &n) && n > 0;
}

static bool
hindered(const struct doctor *d, enum hindrance by)
{
	return (d->hindrances & by) != 0;
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

static void
show_span(char out[static SHORT], uint64_t s)
{
	static const struct {
		unsigned seconds;
		const char *name;
	} units[] = {{86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}};
	size_t unit = 0;

	while (units[unit].seconds > 1 && s < 2 * (uint64_t)units[unit].seconds)
		unit++;
	snprintf(out, SHORT, "%" PRIu64 " %s", s / units[unit].seconds, units[unit].name);
}

/* ---- what it is ---- */

void
health_tell_version(struct doctor *d)
{
	unsigned v = d->hello.version;
	char valkey[SHORT], name[SHORT], what[3 * SHORT];

	if (v == 0)
		return;
	field_word(d, "valkey_version", valkey);
	field_word(d, "server_name", name);
	if (valkey[0] != '\0') {
		d->conf_file = "valkey.conf";
		snprintf(what, sizeof what, "Valkey %s (as Redis %u.%u.%u)", valkey, v >> 16, v >> 8 & 0xff, v & 0xff);
	} else {
		snprintf(what, sizeof what, "%s %u.%u.%u", name[0] != '\0' ? name : "Redis", v >> 16, v >> 8 & 0xff, v & 0xff);
	}
	if (v >= VERSION_LEAST) {
		tell(d, FINE, "%s", what);
		return;
	}
	advise(d, "install Redis 6.2 or later, or Valkey");
	tell(d, ERROR, "%s is too old: leash needs Redis 6.2 or later, or Valkey", what);
}

void
health_tell_mode(struct doctor *d)
{
	bool clustered = d->hello.cluster || field_is(d, "cluster_enabled", "1") || hindered(d, HINDERED_CLUSTER);

	if (clustered && d->target->cluster == NULL) {
		advise(d, "write redis+cluster:// in place of redis://, or use a server that is no part of a cluster "
		       "(cluster-enabled no in %s)", d->conf_file);
		tell(d, ERROR, "it runs in cluster mode, but the URI names a single server: locks whose slot another node has "
		     "are refused");
	}
	if (field_is(d, "redis_mode", "sentinel") || field_is(d, "server_mode", "sentinel")) {
		advise(d, "name the server that keeps the data: redis-cli -p PORT SENTINEL MASTERS lists them");
		tell(d, ERROR, "it is a Sentinel, which keeps no data");
	}
}

/* ---- memory ---- */

static const char more_memory[] = "CONFIG SET maxmemory to a higher value, and maxmemory in its configuration";

void
health_tell_eviction(struct doctor *d)
{
	char policy[SHORT], limit[SHORT], lost[SHORT + 40] = "";
	uint64_t most = 0, evicted;

	if (field_word(d, "maxmemory_policy", policy)[0] == '\0' || !field_number(d, "maxmemory", &most))
		return;
	if (field_is(d, "maxmemory_policy", LSH_NO_EVICTION)) {
		tell(d, FINE, "maxmemory-policy is noeviction: a full server refuses, and drops no lock");
		return;
	}
	advise(d, "CONFIG SET maxmemory-policy noeviction, and in %s: maxmemory-policy noeviction; or keep locks in a "
	       "server of their own", d->conf_file);
	if (most == 0) {
		tell(d, NOTE, "maxmemory-policy is %s: without a maxmemory it evicts nothing, but with one it would drop locks",
		     policy);
		return;
	}
	if (field_number(d, "evicted_keys", &evicted) && evicted > 0)
		snprintf(lost, sizeof lost, "; it has evicted %" PRIu64 " keys so far", evicted);
	tell(d, ERROR, "maxmemory-policy is %s with a maxmemory of %s: a full server drops locks that are held, and others "
	     "get them%s", policy, show_bytes(limit, most), lost);
}

static void
tell_used(struct doctor *d, const char *used, const char *most, bool limited, double percent)
{
	if (percent > PERCENT_HIGH) {
		advise(d, "%s; find what fills it: redis-cli --bigkeys",
		       limited ? more_memory : "give the machine more memory");
		tell(d, WARNING, "%s of %s %s used, %.0f %%: a server that is full refuses to give locks", used, most,
		     limited ? "(maxmemory) are" : "of the machine are", percent);
	} else if (limited) {
		tell(d, FINE, "%s used of %s", used, most);
	} else {
		tell(d, FINE, "%s used, without a maxmemory%s%s", used, percent > 0 ? "; the machine has " : "",
		     percent > 0 ? most : "");
	}
}

void
health_tell_memory(struct doctor *d)
{
	uint64_t used = 0, most = 0;
	char u[SHORT], m[SHORT], sizes[2 * SHORT + 8] = "";
	bool known = field_number(d, "used_memory", &used) && field_number(d, "maxmemory", &most), limited = most > 0;

	if (!limited)
		field_number(d, "total_system_memory", &most);
	show_bytes(u, used);
	show_bytes(m, most);
	if (hindered(d, HINDERED_FULL)) {
		if (known)
			snprintf(sizes, sizeof sizes, ", %s of %s", u, m);
		advise(d, "%s; find what fills it: redis-cli --bigkeys", more_memory);
		tell(d, ERROR, "the server is full%s: it refuses to give locks, though it renews and releases them", sizes);
	} else if (known) {
		tell_used(d, u, m, limited, most > 0 ? 100 * (double)used / (double)most : 0);
	}
}

/* ---- persistence ---- */

static void
tell_loading(struct doctor *d)
{
	char percent[SHORT], span[SHORT], loaded[SHORT + 8] = "", left[SHORT + 16] = "";
	uint64_t eta;

	if (!field_is(d, "loading", "1") && !hindered(d, HINDERED_LOADING))
		return;
	d->hindrances |= HINDERED_LOADING;
	if (field_word(d, "loading_loaded_perc", percent)[0] != '\0')
		snprintf(loaded, sizeof loaded, ", %s %%", percent);
	if (field_number(d, "loading_eta_seconds", &eta)) {
		show_span(span, eta);
		snprintf(left, sizeof left, ", for about %s", span);
	}
	advise(d, "wait until it has read its data: INFO persistence says how far it is");
	tell(d, ERROR, "the server is loading its data%s%s, and answers nothing else until then", loaded, left);
}

/* True: it can write down what it keeps, or at least goes on without. */
static bool
tell_failing_saves(struct doctor *d)
{
	bool rdb = field_is(d, "rdb_last_bgsave_status", "err"), aof = field_is(d, "aof_last_write_status", "err");
	bool rewrite = field_is(d, "aof_last_bgrewrite_status", "err"), refused = hindered(d, HINDERED_NO_SAVE);
	const char *what = aof ? "aof_last_write_status" : rdb ? "rdb_last_bgsave_status" : "aof_last_bgrewrite_status";

	if (!rdb && !aof && !rewrite && !refused)
		return true;
	advise(d, "fix its disk (space, permissions of CONFIG GET dir; its log says which), then BGSAVE or BGREWRITEAOF%s",
	       refused && !aof ? "; CONFIG SET stop-writes-on-bgsave-error no takes writes meanwhile" : "");
	if (!refused)
		tell(d, WARNING, "the server could not save its data last time: %s is err", what);
	else if (rdb || aof)
		tell(d, ERROR, "the server cannot save its data (%s is err), and refuses all writes until it can (MISCONF)",
		     what);
	else
		tell(d, ERROR, "the server cannot save its data, and refuses all writes until it can (MISCONF)");
	return !refused;
}

static void
tell_log_file(struct doctor *d)
{
	const char *fsync = d->config[CONFIG_APPENDFSYNC];

	if (strcmp(fsync, "always") == 0)
		tell(d, FINE, "append-only file, appendfsync always: locks survive a restart, and a crash of the machine");
	else if (strcmp(fsync, "no") == 0)
		tell(d, NOTE, "append-only file, appendfsync no: locks survive a restart; a crash of the machine forgets those "
		     "of the last half minute or so");
	else
		tell(d, FINE, "append-only file%s: locks survive a restart; a crash of the machine forgets those of the last "
		     "second", strcmp(fsync, "everysec" ) == 0 ? ", appendfsync everysec" : "");
}

/* With a restart guard nobody gets a lock that the server has forgotten. */
static void
tell_forgetful(struct doctor *d)
{
	if (d->uri->restart_guard_ms > 0)
		tell(d, NOTE, "no append-only file: a restart may forget locks, so it gives none for %" PRId64
		     " ms after one (restart_guard)", d->uri->restart_guard_ms);
	else
		tell(d, NOTE, "no append-only file: a restart may forget locks, so a quorum does not count it for "
		     "restart_guard_ms after one");
}

static void
tell_snapshots(struct doctor *d)
{
	const char *save = d->config[CONFIG_SAVE];
	char shown[CONFIG_SIZE], age[SHORT] = "is";
	uint64_t saved, now_s = (uint64_t)d->hello.server_us / 1000000;

	if (field_number(d, "rdb_last_save_time", &saved) && saved <= now_s)
		show_span(age, now_s - saved);
	advise(d, "CONFIG SET appendonly yes, and in %s: appendonly yes; or let programs set restart_guard_ms to their "
	       "lease", d->conf_file);
	if (!d->config_known[CONFIG_SAVE])
		tell(d, WARNING, "no append-only file: after a crash all locks since the last snapshot, if it takes any, are "
		     "forgotten, and others get them while their holders continue");
	else if (save[0] == '\0')
		tell(d, WARNING, "neither append-only file nor snapshots: a restart forgets all locks, and others get them "
		     "while their holders continue");
	else
		tell(d, WARNING, "snapshots only (save %s), the last one %s old: a crash forgets the locks since then, and "
		     "others get them while their holders continue", doctor_words(d, shown, sizeof shown, save, strlen(save)),
		     age);
}

void
health_tell_persistence(struct doctor *d)
{
	uint64_t aof;

	tell_loading(d);
	if (!tell_failing_saves(d) || !field_number(d, "aof_enabled", &aof))
		return;
	if (aof == 1)
		tell_log_file(d);
	else if (d->uri->restart_guard_ms > 0 || d->target->deployment == LSH_QUORUM)
		tell_forgetful(d);
	else
		tell_snapshots(d);
}

/* ---- replication ---- */

static void
tell_replica(struct doctor *d)
{
	const char *down = field_is(d, "master_link_status", "down") ? ", and its connection to that is down" : "";
	char host[SHORT], where[3 * SHORT] = "";
	uint64_t port;

	field_word(d, "master_host", host);
	if (doctor_is_plain(host, strlen(host), ".-_:") && host[0] != '-' && field_number(d, "master_port", &port) &&
	    port <= UINT16_MAX)
		snprintf(where, sizeof where, strchr(host, ':') != NULL ? "redis://[%s]:%u" : "redis://%s:%u", host,
		         (unsigned)port);
	if (where[0] != '\0')
		advise(d, "name the master in the URI: %s", where);
	else
		advise(d, "name the master in the URI; INFO replication names it");
	tell(d, ERROR, "it is a replica%s%s%s: locks are given by the master only", where[0] != '\0' ? " of " : "", where,
	     down);
}

/* The value of a key in "ip=10.0.0.2,port=6379,state=online,offset=14,lag=0", of `*n` bytes; "" if it is not there. */
static const char *
part(const char *line, size_t size, const char *key, size_t *n)
{
	const char *end = line + size, *comma;

	for (; line < end; line = comma + 1) {
		size_t length = strlen(key);

		comma = memchr(line, ',', (size_t)(end - line));
		comma = comma != NULL ? comma : end;
		if ((size_t)(comma - line) > length && memcmp(line, key, length) == 0 && line[length] == '=') {
			*n = (size_t)(comma - line) - length - 1;
			return line + length + 1;
		}
	}
	*n = 0;
	return "";
}

bool
health_replica(const struct doctor *d, unsigned i, struct replica *out)
{
	char name[SHORT];
	const char *line, *value;
	uint64_t port = 0;
	size_t size, n;

	snprintf(name, sizeof name, "slave%u", i);
	line = find(d, name, &size);
	if (line == NULL)
		return false;
	*out = (struct replica){0};
	value = part(line, size, "ip", &n);
	snprintf(out->host, sizeof out->host, "%.*s", n < sizeof out->host ? (int)n : 0, value);
	value = part(line, size, "port", &n);
	if (out->host[0] != '\0' && lsh_decimal_read(value, n, &port) && port <= UINT16_MAX)
		out->port = (uint16_t)port;
	value = part(line, size, "state", &n);
	out->online = n == 6 && memcmp(value, "online", n) == 0;
	value = part(line, size, "lag", &n);
	lsh_decimal_read(value, n, &out->lag_s);
	return true;
}

/* One that is being set up, or is cut off and was not given up yet, would lack locks if it took over. */
static void
tell_those_behind(struct doctor *d, uint64_t replicas)
{
	struct replica replica;
	unsigned behind = 0;

	for (unsigned i = 0; i < replicas && i < 100; i++)
		behind += health_replica(d, i, &replica) && (!replica.online || replica.lag_s > LAG_HIGH_S);
	if (behind == 0)
		return;
	advise(d, "INFO replication says which (state, lag); see whether it is still loading, or what lies between");
	tell(d, WARNING, "%u of %" PRIu64 " replicas do%s not keep up: after a failover to %s locks are missing", behind,
	     replicas, behind == 1 ? "es" : "", behind == 1 ? "it" : "them");
}

/* Whether that matters depends on who counts on them. */
static void
tell_none(struct doctor *d)
{
	if (d->target->deployment == LSH_SENTINEL) {
		advise(d, "start its replicas, or a further one: REPLICAOF HOST PORT at it");
		tell(d, WARNING, "a master without connected replicas: when it dies the sentinels have nobody to take its "
		     "place");
	} else if (d->target->deployment == LSH_CLUSTER) {
		advise(d, "CLUSTER REPLICATE ID at a node without slots; CLUSTER MYID at this one says the id");
		tell(d, NOTE, "a master without replicas: when it dies nobody serves its slots, nor the locks in them");
	} else {
		tell(d, FINE, "a master without replicas");
	}
}

static void
tell_master(struct doctor *d)
{
	uint64_t replicas = 0, wanted = 0, good = 0;
	bool few = hindered(d, HINDERED_FEW_REPLICAS);

	config_number(d, CONFIG_MIN_REPLICAS, &wanted);
	field_number(d, "connected_slaves", &replicas);
	if (field_number(d, "min_slaves_good_slaves", &good) && good < wanted)
		few = true;
	if (few) {
		advise(d, "bring the replicas back (INFO replication lists them and their lag), or CONFIG SET "
		       "min-replicas-to-write %" PRIu64, good);
		tell(d, ERROR, "it wants %" PRIu64 " replicas that keep up, has %" PRIu64
		     ", and refuses all writes until then (NOREPLICAS)", wanted > 0 ? wanted : 1, good);
	} else if (replicas > 0) {
		if (wanted == 0)
			advise(d, "min-replicas-to-write 1 and min-replicas-max-lag 10 let a master that is cut off give no locks "
			       "for longer than that; hand the fence to what a lock protects");
		tell(d, NOTE, "master of %" PRIu64 " replica%s: replication is asynchronous, so a failover may forget a lock "
		     "just given", replicas, replicas == 1 ? "" : "s");
		tell_those_behind(d, replicas);
	} else {
		tell_none(d);
	}
}

void
health_tell_replication(struct doctor *d)
{
	if (field_is(d, "role", "slave") || hindered(d, HINDERED_READ_ONLY | HINDERED_MASTER_DOWN))
		tell_replica(d);
	else if (field_is(d, "role", "master") || hindered(d, HINDERED_FEW_REPLICAS))
		tell_master(d);
}

/* ---- limits ---- */

static void
tell_connections(struct doctor *d)
{
	uint64_t most = 0, now = 0, rejected = 0;
	char refused[SHORT] = "";
	bool high;

	if (!field_number(d, "maxclients", &most))
		config_number(d, CONFIG_MAXCLIENTS, &most);
	if (!field_number(d, "connected_clients", &now) || most == 0)
		return;
	if (field_number(d, "rejected_connections", &rejected) && rejected > 0)
		snprintf(refused, sizeof refused, "; it has refused %" PRIu64 " so far", rejected);
	high = (double)now * 100 > (double)most * PERCENT_HIGH;
	if (high)
		advise(d, "CONFIG SET maxclients to more than %" PRIu64 ", and maxclients in %s; CLIENT LIST shows who they are"
		       ,most, d->conf_file);
	tell(d, high ? WARNING : FINE, "%" PRIu64 " of at most %" PRIu64 " connections%s%s", now, most, refused,
	     high ? ": when they run out nobody can connect" : "");
}

void
health_tell_limits(struct doctor *d)
{
	uint64_t idle = 0;

	if (hindered(d, HINDERED_BUSY)) {
		advise(d, "SCRIPT KILL, or FUNCTION KILL, ends it; SLOWLOG GET shows what it was");
		tell(d, ERROR, "the server is busy with somebody's script, and answers nobody until that is over (BUSY)");
	}
	tell_connections(d);
	if (config_number(d, CONFIG_TIMEOUT, &idle) && idle > 0) {
		advise(d, "CONFIG SET timeout 0, and in %s: timeout 0", d->conf_file);
		tell(d, NOTE, "it closes connections that were idle for %" PRIu64 " s; leash connects again, and the next lock "
		     "takes longer", idle);
	}
}
