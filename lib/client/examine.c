/* Examine: go through a server as one who is to keep locks in it. See examine.h for the parts.
 *
 * What it answers is not to be trusted: nothing of it is shown that is not printable and short, nothing becomes part of a command
 * in a remedy that is not a plain word, and a password that it reads back to us is not shown. */
#include "client/examine.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "client/client.h"
#include "client/options.h"
#include "redis/fault.h"
#include "redis/info.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>

enum {
	TEXT_SIZE = 640,
	WORDS_MAX = 24,
	TRIPS = 100,
	TIMEOUT_DEFAULT_MS = 1000,
	TRIES_MOST = 1 << 20, /* to find a name that one of many servers has */
	REPLICAS_MOST = 16,
	SKEW_MS = 1000,   /* of the clocks: more is worth a warning */
	FRESH_MS = 60000, /* a server that is so young may have been restarted under locks */
};

static const int64_t trips_limit = 3 * LSH_S;

/* ---- telling ---- */

void
lsh_remedy(struct lsh_examination *x, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(x->remedy, sizeof x->remedy, format, args);
	va_end(args);
}

void
lsh_find(struct lsh_examination *x, leash_finding_level level, const char *topic, const char *format, ...)
{
	char raw[TEXT_SIZE], text[sizeof raw], remedy[sizeof x->remedy];
	leash_finding finding = {.size = sizeof finding, .server = x->uri->shown, .topic = topic, .text = text, .level = level};
	va_list args;
	size_t n;

	va_start(args, format);
	vsnprintf(raw, sizeof raw, format, args);
	va_end(args);
	for (n = strlen(raw); n > 1 && raw[n - 1] == '.';) /* the words of a server end with a full stop at times */
		n--;
	lsh_show_text(text, sizeof text, raw, n);
	if (x->remedy[0] != '\0') {
		lsh_show_text(remedy, sizeof remedy, x->remedy, strlen(x->remedy));
		finding.remedy = remedy;
	}
	x->remedy[0] = '\0';
	x->tell(x->arg, &finding);
}

bool
lsh_repeats_password(const struct lsh_examination *x, const char *text, size_t n)
{
	return lsh_uri_is_repeated(x->uri, text, n);
}

const char *
lsh_words(const struct lsh_examination *x, char *out, size_t size, const char *text, size_t n)
{
	if (lsh_repeats_password(x, text, n))
		snprintf(out, size, "(not shown)");
	else
		lsh_show_text(out, size, text, n);
	return out;
}

/* ---- asking ---- */

void
lsh_say(struct lsh_examination *x, ...)
{
	struct lsh_arg args[WORDS_MAX];
	size_t n = 0;
	const char *word;
	va_list list;

	if (x->status != LEASH_OK)
		return;
	va_start(list, x);
	while (n < WORDS_MAX && (word = va_arg(list, const char *)) != NULL)
		args[n++] = lsh_arg_text(word);
	va_end(list);
	x->status = lsh_talk_say(x->talk, args, n, &x->err);
}

const struct redisReply *
lsh_hear(struct lsh_examination *x)
{
	const struct redisReply *answer = NULL;

	if (x->status == LEASH_OK)
		x->status = lsh_talk_hear(x->talk, &answer, &x->err);
	return x->status == LEASH_OK ? answer : NULL;
}

struct lsh_item
lsh_hear_item(struct lsh_examination *x)
{
	struct lsh_item item = lsh_answer_item(lsh_hear(x));

	lsh_note_hindrance(x, &item);
	return item;
}

bool
lsh_note_hindrance(struct lsh_examination *x, const struct lsh_item *answer)
{
	static const struct {
		const char *word;
		enum lsh_hindrance hindrance;
	} all[] = {
		{"OOM", LSH_FULL},          {"READONLY", LSH_READ_ONLY}, {"MISCONF", LSH_CANNOT_SAVE},     {"NOREPLICAS", LSH_FEW_REPLICAS},
		{"LOADING", LSH_LOADING},   {"BUSY", LSH_BUSY},          {"MASTERDOWN", LSH_MASTER_DOWN},  {"MOVED", LSH_CLUSTERED},
		{"ASK", LSH_CLUSTERED},     {"CROSSSLOT", LSH_CLUSTERED}, {"CLUSTERDOWN", LSH_CLUSTERED},
	};

	if (answer->type != LSH_ERROR)
		return false;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (lsh_starts_with_word(answer->text, all[i].word)) {
			if (all[i].hindrance == LSH_CLUSTERED && x->stop->cluster != NULL)
				return false; /* of a key that is elsewhere, as it must be */
			x->hindrances |= all[i].hindrance;
			return true;
		}
	return false;
}

/* ---- connecting ---- */

/* How one would look by hand. */
static void
hand_made(const struct lsh_examination *x, char *out, size_t size)
{
	char host[200];

	lsh_show(host, sizeof host, x->uri->host, strlen(x->uri->host));
	if (x->uri->scheme == LSH_SCHEME_UNIX)
		snprintf(out, size, "redis-cli -s %s ping", host);
	else
		snprintf(out, size, "redis-cli -h %s -p %u ping", host, x->uri->port);
}

/* What was wrong, without the server's name, which each finding has. */
static const char *
trouble(const struct lsh_examination *x)
{
	size_t shown = strnlen(x->uri->shown, 120) + strlen(": ");

	return strlen(x->err.text) > shown ? x->err.text + shown : x->err.text;
}

/* The text itself says what to do about a certificate; this is how to see it. */
static void
remedy_for_certificate(struct lsh_examination *x)
{
	char host[200];

	lsh_show(host, sizeof host, x->uri->host, strlen(x->uri->host));
	lsh_remedy(x, "openssl s_client -connect %s:%u -showcerts shows the server's; cafile, server_name, cert and key in the URI say what we believe and show",
	           host, x->uri->port);
}

static void
remedy_for_login(struct lsh_examination *x)
{
	const char *text = x->err.text;

	if (strstr(text, "wants a password") != NULL)
		lsh_remedy(x, "name user and password in $LEASH_URI (redis://USER:PASSWORD@HOST), or where the password is: ?password_file=PATH or "
		           "?password_env=NAME");
	else if (strstr(text, ": AUTH was refused") != NULL)
		lsh_remedy(x, "mend user and password in the URI, or what ?password_file= or ?password_env= name; on the server ACL LIST shows the "
		           "users, and ACL LOG "
		              "who was refused");
	else if (x->uri->tls.on && strstr(trouble(x), "certificate") != NULL)
		remedy_for_certificate(x);
	else
		lsh_remedy(x, "the server takes no such clients: in its redis.conf, set a password for them (requirepass, or user ...), or "
		           "protected-mode no");
}

static void
remedy_for_outage(struct lsh_examination *x)
{
	const char *text = x->err.text;
	char by_hand[256];

	hand_made(x, by_hand, sizeof by_hand);
	if (strstr(text, "max number of clients") != NULL)
		lsh_remedy(x, "CONFIG SET maxclients to more than it is, and maxclients in redis.conf; CLIENT LIST shows who has the connections");
	else if (strstr(text, ": BUSY ") != NULL)
		lsh_remedy(x, "end the script that it runs: SCRIPT KILL, or FUNCTION KILL");
	else if (strstr(text, ": LOADING ") != NULL)
		lsh_remedy(x, "wait until it has read its data: INFO persistence says how far it is");
	else if (strstr(text, ": MASTERDOWN ") != NULL)
		lsh_remedy(x, "it is a replica without its master: name the master in the URI");
	else if (strstr(text, "does it want TLS?") != NULL)
		lsh_remedy(x, "if its port is for TLS (tls-port in redis.conf) write rediss:// in place of redis://, or name its other port");
	else if (x->err.sys_errno == EACCES || x->err.sys_errno == EPERM)
		lsh_remedy(x, "let this user (uid) use the socket: unixsocketperm in redis.conf, and the permissions of its folder");
	else if (x->err.sys_errno == ETIMEDOUT)
		lsh_remedy(x, "see whether it runs and is not blocked, and what lies between (firewall, network): %s; for a slow one, ?timeout=5000 in "
		           "the URI", by_hand);
	else if (x->stop->deployment == LSH_SENTINEL)
		lsh_remedy(x, "start the server, or wait until the sentinels name another master: %s", by_hand);
	else if (x->stop->cluster != NULL)
		lsh_remedy(x, "start the server, or one that takes its place: CLUSTER FAILOVER FORCE at a replica of it");
	else
		lsh_remedy(x, "start the server, or mend the address in the URI: %s", by_hand);
}

/* It did not get as far as an open connection. A command of the hello that is not permitted is no refused login: the server was reached. */
static leash_status
tell_failed_hello(struct lsh_examination *x)
{
	leash_status status = x->status;
	const char *what = trouble(x);

	if (strncmp(what, "TIME was refused: ", 18) == 0 || strncmp(what, "SELECT was refused: ", 20) == 0) {
		if (status == LEASH_DENIED || status == LEASH_UNSUPPORTED) {
			lsh_find(x, LEASH_FINDING_FINE, "connection", "connected");
			if (strstr(what, "NOPERM") != NULL)
				lsh_rights_remedy_all(x);
			else
				lsh_remedy(x, "take rename-command for it out of the server's redis.conf; if that is a Sentinel, name the server that keeps the data");
			lsh_find(x, LEASH_FINDING_ERROR, "permissions", "%s, without which nothing else can be tried", what);
			return LEASH_OK;
		}
	}
	if (status == LEASH_DENIED)
		remedy_for_login(x);
	else if (status == LEASH_UNAVAILABLE)
		remedy_for_outage(x);
	else if (status == LEASH_PROTOCOL && x->uri->tls.on)
		lsh_remedy(x, "name the port at which it speaks TLS (tls-port in redis.conf), or, where plain text will do, write redis:// in place of rediss://");
	else if (status == LEASH_PROTOCOL)
		lsh_remedy(x, "something else listens there: mend host and port in the URI; where TLS is wanted write rediss:// in place of redis://");
	else if (status == LEASH_INVALID)
		lsh_remedy(x, "name a database that there is (0 always is), or raise `databases` in redis.conf; a cluster has no other than 0");
	lsh_find(x, LEASH_FINDING_ERROR, "connection", "%s", what);
	return status;
}

static bool
is_local(const struct lsh_examination *x)
{
	const char *host = x->uri->host;

	return x->uri->scheme == LSH_SCHEME_UNIX || strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

static void
tell_connection(struct lsh_examination *x)
{
	const char *plain = is_local(x) ? "over TCP, on this machine" : "over TCP, without TLS";
	const char *tcp = !x->uri->tls.on ? plain : x->uri->tls.unverified ? "by TLS, whoever it is (verify=no)" : "by TLS";
	const char *way = x->uri->scheme == LSH_SCHEME_UNIX ? "over a unix socket" : tcp;
	char who[LSH_USER_SIZE + 16] = "";

	if (x->user[0] != '\0')
		snprintf(who, sizeof who, ", as user %s", x->user);
	if (is_local(x) || lsh_uri_has_password(x->uri)) {
		lsh_find(x, LEASH_FINDING_FINE, "connection", "connected %s%s", way, who);
		return;
	}
	lsh_remedy(x, "ACL SETUSER NAME on >PASSWORD with the permissions that leash needs, and ACL SETUSER default off; let only trusted "
	           "networks reach it");
	lsh_find(x, LEASH_FINDING_NOTE, "connection", "connected %s%s, without a password: whoever reaches it can take and break locks", way, who);
}

/* ---- clock and speed ---- */

struct trips {
	int64_t us[TRIPS];  /* in order, when they are over */
	int count;
	int64_t ahead_us;   /* of the server's clock, as the shortest trip found it, */
	int64_t within_us;  /* so exactly */
};

static int64_t
wall_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* TIME, because whoever locks may ask for it. */
static void
measure(struct lsh_examination *x, struct trips *t)
{
	int64_t began = lsh_now_ns();

	t->within_us = INT64_MAX;
	while (t->count < TRIPS && lsh_now_ns() - began < trips_limit) {
		int64_t sent = lsh_now_ns(), before = wall_us(), trip_us;
		const struct redisReply *answer;
		struct lsh_item s, us;
		uint64_t seconds, rest;

		lsh_say(x, "TIME", NULL);
		answer = lsh_hear(x);
		if (answer == NULL)
			return;
		trip_us = (lsh_now_ns() - sent) / LSH_US;
		t->us[t->count++] = trip_us;
		s = lsh_answer_item(lsh_answer_at(answer, 0));
		us = lsh_answer_item(lsh_answer_at(answer, 1));
		if (trip_us >= t->within_us || s.type != LSH_STRING || us.type != LSH_STRING || !lsh_decimal_read(s.text, s.length, &seconds) ||
		    !lsh_decimal_read(us.text, us.length, &rest) || seconds > INT64_C(1) << 40 || rest >= 1000000)
			continue;
		t->within_us = trip_us;
		t->ahead_us = (int64_t)(seconds * 1000000 + rest) - before - trip_us / 2;
	}
	qsort(t->us, (size_t)t->count, sizeof *t->us, compare);
}

static void
tell_clock(struct lsh_examination *x, const struct trips *t)
{
	int64_t ms = t->ahead_us / 1000, off = ms < 0 ? -ms : ms;
	const char *where = ms < 0 ? "behind" : "ahead of";

	if (t->within_us == INT64_MAX)
		return;
	if (off > SKEW_MS) {
		lsh_remedy(x, "set both clocks by NTP: chronyc tracking, or timedatectl timesync-status, on either machine");
		lsh_find(x, LEASH_FINDING_WARNING, "clock",
		         "the server's clock is %lld.%03lld s %s ours: leases do not depend on that, but fences and the times that are shown go by the server's",
		         (long long)off / 1000, (long long)off % 1000, where);
	} else {
		lsh_find(x, LEASH_FINDING_FINE, "clock", "the server's clock is %lld ms %s ours", (long long)off, where);
	}
}

static void
tell_age(struct lsh_examination *x)
{
	int64_t ms = x->hello.uptime_ms;

	if (ms < 0 && x->uri->restart_guard_ms > 0 && x->stop->deployment != LSH_QUORUM) {
		lsh_remedy(x, "ACL SETUSER %s +info, or do without restart_guard", x->user[0] != '\0' ? x->user : "NAME");
		lsh_find(x, LEASH_FINDING_ERROR, "uptime", "INFO is not permitted, so its uptime is unknown, and every lock with restart_guard is refused");
	}
	if (ms >= FRESH_MS && x->uri->restart_guard_ms > 0)
		lsh_find(x, LEASH_FINDING_NOTE, "uptime", "restart_guard goes by the age that the server says, which goes by its wall clock: do not set that "
		         "forward after a restart, or who did not know the server before takes it for older than it is");
	if (ms < 0 || ms >= FRESH_MS)
		return;
	lsh_find(x, LEASH_FINDING_NOTE, "uptime",
	         "the server was started less than %lld s ago: of the locks that were held before it knows what it had saved",
	         (long long)(ms / 1000 + 2));
}

static void
tell_speed(struct lsh_examination *x, const struct trips *t)
{
	double median = t->count > 0 ? (double)t->us[t->count / 2] / 1000 : 0, worst = t->count > 0 ? (double)t->us[t->count - 1] / 1000 : 0;
	leash_finding_level level = LEASH_FINDING_FINE;

	if (t->count == 0)
		return;
	if (worst > (double)x->timeout_ms)
		level = LEASH_FINDING_ERROR;
	else if (worst > (double)x->timeout_ms / 10)
		level = LEASH_FINDING_WARNING;
	if (level != LEASH_FINDING_FINE)
		lsh_remedy(x, "give it more time (?timeout=%lld in the URI), or find what holds it up: SLOWLOG GET, LATENCY DOCTOR, and redis-cli "
		           "--intrinsic-latency "
		              "on its machine", (long long)(worst * 10) + 1);
	lsh_find(x, level, "speed", "%d round trips: %.2f ms in the middle, %.2f ms at worst%s", t->count, median, worst,
	         level == LEASH_FINDING_ERROR     ? ", which is longer than leash waits for an answer"
	         : level == LEASH_FINDING_WARNING ? ", which is more than a tenth of the time that leash waits for an answer"
	                                          : "");
}

/* "ip=10.0.0.7,port=6379,state=online,...", as INFO lists a replica. False: it is not in this form. */
static bool
read_replica(const char *line, size_t size, char host[static 256], uint16_t *port)
{
	const char *comma = memchr(line, ',', size);
	const char *digits = comma != NULL ? comma + 6 : NULL, *end = line + size;
	uint64_t n;

	if (size < 4 || comma == NULL || comma - line >= 256 || end - comma < 8 || memcmp(line, "ip=", 3) != 0 || memcmp(comma, ",port=", 6) != 0)
		return false;
	if (memchr(digits, ',', (size_t)(end - digits)) != NULL)
		end = memchr(digits, ',', (size_t)(end - digits));
	if (!lsh_decimal_read(digits, (size_t)(end - digits), &n) || n == 0 || n > UINT16_MAX)
		return false;
	snprintf(host, 256, "%.*s", (int)(comma - line - 3), line + 3);
	*port = (uint16_t)n;
	return true;
}

/* A replica gets a lease as the moment at which it ends: one whose clock is ahead may have dropped it when it becomes the master. */
static void
tell_clock_of(struct lsh_examination *x, const struct lsh_uri *replica)
{
	struct lsh_talk *talk;
	struct lsh_hello hello;
	leash_error why = {0};
	char words[sizeof why.text];
	int64_t ahead_ms;

	if (lsh_talk_open(&talk, replica, x->name, x->timeout_ms * LSH_MS, &hello, &why) != LEASH_OK) {
		lsh_find(x, LEASH_FINDING_NOTE, "clock", "the clock of a replica could not be compared: %s",
		         lsh_words(x, words, sizeof words, why.text, strlen(why.text)));
		return;
	}
	lsh_talk_close(talk);
	ahead_ms = (hello.server_us - x->hello.server_us - (hello.received_ns - x->hello.received_ns) / LSH_US) / 1000;
	if (ahead_ms <= SKEW_MS) {
		lsh_find(x, LEASH_FINDING_FINE, "clock", "replica %s does not have its clock ahead of the master's", replica->shown);
		return;
	}
	lsh_remedy(x, "set the clocks of all servers by NTP: chronyc tracking, or timedatectl timesync-status");
	lsh_find(x, LEASH_FINDING_WARNING, "clock", "the clock of replica %s is %lld.%03lld s ahead of the master's: if it takes over, leases end there "
	         "so much sooner, also those that it has acknowledged (min_replicas)", replica->shown, (long long)ahead_ms / 1000, (long long)ahead_ms % 1000);
}

static void
tell_clocks_of_replicas(struct lsh_examination *x)
{
	for (int i = 0; i < REPLICAS_MOST; i++) {
		char field[16], host[256];
		struct lsh_uri uri;
		const char *line;
		uint16_t port;
		size_t size;

		snprintf(field, sizeof field, "slave%d", i);
		line = x->info != NULL ? lsh_info_find(x->info, field, &size) : NULL;
		if (line == NULL || !read_replica(line, size, host, &port) || !lsh_uri_allows(x->uri, host) ||
		    !lsh_uri_of_server(&uri, x->uri, host, port))
			continue;
		tell_clock_of(x, &uri);
		lsh_uri_clear(&uri);
	}
}

static void
look_at_time(struct lsh_examination *x)
{
	struct trips trips = {0};

	if (x->status != LEASH_OK || (x->hindrances & (LSH_LOADING | LSH_BUSY)) != 0)
		return;
	measure(x, &trips);
	tell_clock(x, &trips);
	tell_clocks_of_replicas(x);
	tell_age(x);
	tell_speed(x, &trips);
}

/* ---- the examination ---- */

static bool
make_scratch(struct lsh_examination *x)
{
	static const char *const ends[] = {"", ":fence", ":queue"};
	int tries = 0;

	/* of a cluster's servers each has a part of the names */
	do {
		if (tries++ == TRIES_MOST || !lsh_uuid_make(x->uuid))
			return false;
		for (int i = 0; i < 3; i++)
			snprintf(x->keys[i], sizeof x->keys[i], "%s:{leash-doctor-%s}%s", x->prefix, x->uuid, ends[i]);
	} while (!lsh_stop_has(x->stop, x->keys[0], strlen(x->keys[0])));
	snprintf(x->party, sizeof x->party, "%s:client:%s", x->prefix, x->uuid);
	snprintf(x->channel, sizeof x->channel, "%s:wake:%s", x->prefix, x->uuid);
	snprintf(x->shard, sizeof x->shard, "%.*s:wake:%s", (int)sizeof x->keys[0], x->keys[0], x->uuid);
	snprintf(x->other, sizeof x->other, "%s:other", x->shard);
	return true;
}

/* What is wanted of each server. */
struct examining {
	leash_options options;
	leash_finding_fn tell;
	void *arg;
	char name[80];
	int64_t timeout_ms;
	unsigned visited;
	struct {
		char run_id[LSH_RUN_ID_SIZE], shown[160];
	} met[LSH_QUORUM_MAX]; /* of a quorum */
	unsigned met_count;
};

static leash_status
prepare(struct lsh_examination *x, const struct examining *wanted, leash_error *err)
{
	x->tell = wanted->tell;
	x->arg = wanted->arg;
	x->conf_file = "redis.conf";
	snprintf(x->prefix, sizeof x->prefix, "%s", wanted->options.prefix);
	memcpy(x->name, wanted->name, sizeof x->name);
	lsh_vitals_take_user(x, x->uri->user != NULL ? x->uri->user : "default");
	x->timeout_ms = wanted->timeout_ms;
	if (!make_scratch(x))
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "the system has no randomness to give, which owner tokens are made of");
	return LEASH_OK;
}

/* What it said until then is worth telling, too. */
static void
tell_break(struct lsh_examination *x)
{
	remedy_for_outage(x);
	lsh_find(x, LEASH_FINDING_ERROR, "connection", "while it was looked at: %s", trouble(x));
}

static leash_status
look(struct lsh_examination *x)
{
	enum lsh_tried tried = LSH_NOT_TRIED;

	x->status = lsh_talk_open(&x->talk, x->uri, x->name, x->timeout_ms * LSH_MS, &x->hello, &x->err);
	if (x->status == LEASH_NO_MEMORY)
		return x->status;
	if (x->status != LEASH_OK)
		return tell_failed_hello(x);
	lsh_vitals_look(x);
	lsh_rights_try(x);
	tell_connection(x);
	lsh_vitals_tell(x);
	tried = lsh_trial(x);
	if (x->status == LEASH_OK && tried != LSH_LOCK_FAILS)
		lsh_rights_tell(x, tried == LSH_LOCK_WORKS);
	look_at_time(x);
	if (x->status != LEASH_OK && x->status != LEASH_NO_MEMORY)
		tell_break(x);
	return x->status;
}

/* Servers of a quorum that are one, by two names, have one vote (lsh_quorum_counts): a majority is harder to have than it seems. */
static void
tell_twin(struct lsh_examination *x, struct examining *wanted)
{
	const char *run_id = x->hello.run_id;

	if (x->stop->deployment != LSH_QUORUM || run_id[0] == '\0' || wanted->met_count == LSH_QUORUM_MAX)
		return;
	for (unsigned i = 0; i < wanted->met_count; i++)
		if (strcmp(wanted->met[i].run_id, run_id) == 0) {
			lsh_remedy(x, "name each server of the quorum once in the URI, and as many as 3, 5 or 7");
			lsh_find(x, LEASH_FINDING_ERROR, "connection", "it is the same server as %s, and so the two have one vote", wanted->met[i].shown);
			return;
		}
	snprintf(wanted->met[wanted->met_count].run_id, sizeof wanted->met->run_id, "%s", run_id);
	snprintf(wanted->met[wanted->met_count++].shown, sizeof wanted->met->shown, "%s", x->uri->shown);
}

static leash_status
examine_one(void *arg, const struct lsh_stop *stop, leash_error *err)
{
	struct lsh_examination *x = lsh_new(struct lsh_examination);
	struct examining *wanted = arg;
	leash_status status;

	wanted->visited++;
	if (x == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for an examination");
	x->stop = stop;
	x->uri = stop->uri;
	status = prepare(x, wanted, err);
	if (status == LEASH_OK) {
		status = look(x);
		tell_twin(x, wanted);
		if (status != LEASH_OK)
			lsh_fail(err, status, x->err.sys_errno, "%s", x->err.text);
	}
	lsh_talk_close(x->ear);
	lsh_talk_close(x->talk);
	lsh_free(x->info);
	lsh_free(x);
	return status;
}

/* Those who lead to the server. */
static leash_status
examine_sentinels(const struct examining *wanted, const struct lsh_uri *uri, leash_error *err)
{
	struct lsh_examination *x = lsh_new(struct lsh_examination);
	leash_status status;

	if (x == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for an examination");
	x->tell = wanted->tell;
	x->arg = wanted->arg;
	x->timeout_ms = wanted->timeout_ms;
	memcpy(x->name, wanted->name, sizeof x->name);
	status = lsh_sentinels_look(x, uri, wanted->options.lease_ms);
	if (status != LEASH_OK)
		lsh_fail(err, status, x->err.sys_errno, "%s", x->err.text);
	lsh_free(x);
	return status;
}

/* They lead nowhere: what was told of each of them does not say so. */
static void
tell_no_master(const struct examining *wanted, const struct lsh_uri *uri, const leash_error *why)
{
	size_t shown = strlen(uri->shown);
	const char *text = strncmp(why->text, uri->shown, shown) == 0 && why->text[shown] == ':' ? why->text + shown + 2 : why->text;
	leash_finding finding = {.size = sizeof finding, .server = uri->shown, .topic = "sentinel", .text = text, .level = LEASH_FINDING_ERROR,
	                         .remedy = "mend what is said of its sentinels above: without one of them nobody knows where the master is"};

	wanted->tell(wanted->arg, &finding);
}

static leash_status
examine(const leash_options *options, leash_finding_fn tell, void *arg, leash_error *err)
{
	struct examining wanted = {.tell = tell, .arg = arg};
	struct lsh_uri uri = {0};
	leash_error why = {0};
	leash_status status = lsh_options_read(&wanted.options, options, err);

	if (status == LEASH_OK)
		status = lsh_uri_parse(&uri, wanted.options.uri, err);
	if (status != LEASH_OK)
		return status;
	snprintf(wanted.name, sizeof wanted.name, "leash:%s", wanted.options.client_name != NULL ? wanted.options.client_name : "doctor");
	wanted.timeout_ms = wanted.options.timeout_ms != 0 ? wanted.options.timeout_ms : uri.timeout_ms != 0 ? uri.timeout_ms : TIMEOUT_DEFAULT_MS;
	if (uri.deployment == LSH_SENTINEL)
		status = examine_sentinels(&wanted, &uri, &why);
	if (status == LEASH_OK)
		status = lsh_rounds(&uri, wanted.name, wanted.timeout_ms * LSH_MS, examine_one, &wanted, &why);
	if (status != LEASH_OK && status != LEASH_NO_MEMORY && uri.deployment == LSH_SENTINEL && wanted.visited == 0)
		tell_no_master(&wanted, &uri, &why);
	if (status != LEASH_OK && err != NULL)
		*err = why;
	lsh_uri_clear(&uri);
	return status;
}

leash_status
leash_examine(const leash_options *options, leash_finding_fn tell, void *arg, leash_error *err)
{
	struct lsh_guard guard;
	leash_status status;

	if (tell == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "leash_examine: `tell` is NULL");
	if (lsh_courier_in_callback(NULL))
		return lsh_fail(err, LEASH_IN_CALLBACK, 0, "leash_examine: this call waits, which a leash callback must not");
	guard = lsh_enter();
	status = examine(options, tell, arg, err);
	lsh_leave(guard);
	return status;
}
