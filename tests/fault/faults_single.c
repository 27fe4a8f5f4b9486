/* The arenas of one server, which is reached in the clear or by TLS: everything that can be done to a server alone and to a network.
 *
 * Which of them breach what leash promises? Those that lose keys of locks, or let them expire early, behind the back of a server that
 * goes on: eviction, DEL, FLUSHALL, and a clock that jumps forward, be it on its way back. The others do not:
 *
 *   restart-empty   loses everything, but every contender has a restart_guard_ms that is longer than the longest lease in use. What
 *                   was valid at the end of the old server is told lost, but is over before the new one grants anything, and fences go
 *                   on with the clock
 *   restart-data    loses nothing that was answered: appendfsync always. TTLs go on while it is down
 *   replica-of      of a master that is not there: it takes no writes, and keeps all keys with their TTLs; then it is a master again
 *   acl-*           a step may be refused in its middle; that leaves no key without a TTL and no hold that nobody knows of
 *   full, misconf, no-replicas, max-clients, pauses, stops, kills, and all that a network does: nothing is executed, or late
 *
 * INFO stays permitted: by it a client learns that the server was restarted, so without it there is no guard.
 *
 * When a clock that was ahead is right again, the fences are ahead of it for as long, which only the key of the last fence knows. If
 * that were lost now they would go back, which is among what leash cannot help. So clock-ahead lingers until that is over. */
#include "tests/fault/faults.h"

#include "tests/support/ports.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LEASE_MS = 1000 };

static struct proxy *
proxy_of(struct run *run, const struct blow *blow)
{
	return crew_proxy(run->crew, blow->target);
}

/* ---- the server's process ---- */

static void
stop_server(struct run *run, struct blow *blow)
{
	(void)blow;
	server_pause(run->server);
}

static void
continue_server(struct run *run, struct blow *blow)
{
	(void)blow;
	server_resume(run->server);
}

static void
kill_server(struct run *run, struct blow *blow)
{
	(void)blow;
	server_kill(run->server);
}

static void
start_server(struct run *run, struct blow *blow)
{
	(void)blow;
	server_restart(run->server);
}

static void
kill_server_and_forget(struct run *run, struct blow *blow)
{
	(void)blow;
	server_kill(run->server);
	forget(run->server);
}

static void
put_clock_forward(struct run *run, struct blow *blow)
{
	blow->linger_ms = LEASE_MS / 2 + (int64_t)roll(blow, 3 * LEASE_MS);
	snprintf(blow->words, sizeof blow->words, "by %" PRId64 " ms", blow->linger_ms);
	server_set_clock(run->server, blow->linger_ms);
}

static void
put_clock_back(struct run *run, struct blow *blow)
{
	int64_t ms = LEASE_MS / 2 + (int64_t)roll(blow, 30 * LEASE_MS);

	snprintf(blow->words, sizeof blow->words, "by %" PRId64 " ms", ms);
	server_set_clock(run->server, -ms);
}

static void
set_clock_right(struct run *run, struct blow *blow)
{
	(void)blow;
	server_set_clock(run->server, 0);
}

/* ---- what the server is told ---- */

static void
pause_all(struct run *run, struct blow *blow)
{
	order(run->server, "CLIENT PAUSE %" PRId64 " ALL", blow->for_ms);
}

static void
pause_writes(struct run *run, struct blow *blow)
{
	order(run->server, "CLIENT PAUSE %" PRId64 " WRITE", blow->for_ms);
}

static void
sleep_server(struct run *run, struct blow *blow)
{
	redisContext *c = server_connect(run->server);
	int done = 0;

	if (redisAppendCommand(c, "DEBUG SLEEP %s.%03d", blow->for_ms >= 1000 ? "1" : "0", (int)(blow->for_ms % 1000)) != REDIS_OK)
		trouble("no memory");
	while (done == 0)
		if (redisBufferWrite(c, &done) != REDIS_OK)
			trouble("the server cannot be told to sleep: %s", c->errstr);
	blow->state = c;
}

static void
await_server(struct run *run, struct blow *blow)
{
	void *reply = NULL;

	(void)run;
	if (redisGetReply(blow->state, &reply) != REDIS_OK || ((redisReply *)reply)->type == REDIS_REPLY_ERROR)
		trouble("the server did not sleep: %s", reply != NULL ? ((redisReply *)reply)->str : ((redisContext *)blow->state)->errstr);
	freeReplyObject(reply);
	redisFree(blow->state);
}

static void
make_room(struct run *run, struct blow *blow)
{
	(void)blow;
	order(run->server, "CONFIG SET maxmemory 0");
}

/* Of the policy that is set; each command evicts before it is executed. */
static void
squeeze(struct run *run, struct blow *blow)
{
	order(run->server, "CONFIG SET maxmemory 1");
	order(run->server, "PING");
	make_room(run, blow);
}

/* By one of the other policies. */
static void
evict_some(struct run *run, struct blow *blow)
{
	static const char *const policies[] = {"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random"};

	snprintf(blow->words, sizeof blow->words, "by %s", policies[roll(blow, sizeof policies / sizeof *policies)]);
	order(run->server, "CONFIG SET maxmemory-policy %s", blow->words + strlen("by "));
	squeeze(run, blow);
}

static void
evict_by_ttl(struct run *run, struct blow *blow)
{
	order(run->server, "CONFIG SET maxmemory-policy volatile-ttl");
	squeeze(run, blow);
}

static void
evict_nothing(struct run *run, struct blow *blow)
{
	order(run->server, "CONFIG SET maxmemory-policy noeviction");
	make_room(run, blow);
}

static void
delete_locks(struct run *run, struct blow *blow)
{
	(void)blow;
	for (int i = 0; i < LOCKS; i++)
		order(run->server, "DEL leash:{lock-%d}", i);
}

static void
delete_queues(struct run *run, struct blow *blow)
{
	(void)blow;
	for (int i = 0; i < LOCKS; i++)
		order(run->server, "DEL leash:{lock-%d}:queue", i);
}

static void
flush_all(struct run *run, struct blow *blow)
{
	(void)blow;
	order(run->server, "FLUSHALL");
}

/* The file that it saves to is a folder. It keeps its data all the same, in the append-only file, but takes no writes. */
static void
fail_to_save(struct run *run, struct blow *blow)
{
	const char *folder = server_folder(run->server);
	char path[4096];

	(void)blow;
	remove_data(folder, "dump.rdb");
	snprintf(path, sizeof path, "%s/dump.rdb", folder);
	if (mkdir(path, 0700) != 0)
		trouble("%s: %s", path, strerror(errno));
	order(run->server, "CONFIG SET save %s", "3600 1");
	order(run->server, "BGSAVE SCHEDULE");
}

static void
save_nothing(struct run *run, struct blow *blow)
{
	(void)blow;
	order(run->server, "CONFIG SET save %s", "");
	remove_data(server_folder(run->server), "dump.rdb");
}

/* Nobody comes in any more: those who watch and injure it are as many as it takes. */
static void
shut_the_door(struct run *run, struct blow *blow)
{
	order(run->server, "CONFIG SET maxclients 1");
	kill_normal(run, blow);
	kill_pubsub(run, blow);
}

/* All that a contender needs, but for INFO. */
static const char *const permissions[] = {
	"evalsha", "eval",  "script", "time", "exists", "set",    "get",    "hset",          "hget",       "hdel",    "hexists",   "pexpire",
	"pttl",    "del",   "zadd",   "zrem", "zscore", "zcount", "zrangebyscore", "zrevrange", "publish", "subscribe",
};

static void
forbid_command(struct run *run, struct blow *blow)
{
	snprintf(blow->words, sizeof blow->words, "%s", permissions[roll(blow, sizeof permissions / sizeof *permissions)]);
	order(run->server, "ACL SETUSER " CREW_USER " -%s", blow->words);
	if (roll(blow, 2) == 0)
		order(run->server, "CLIENT KILL USER " CREW_USER);
}

static void
permit_command(struct run *run, struct blow *blow)
{
	order(run->server, "ACL SETUSER " CREW_USER " +%s", blow->words);
}

/* ---- the network ---- */

static void
calm_down(struct run *run, struct blow *blow)
{
	calm_proxy(proxy_of(run, blow));
}

static enum proxy_way
some_way(struct blow *blow)
{
	return (enum proxy_way)(1 + roll(blow, 3));
}

static void
delay(struct run *run, struct blow *blow)
{
	proxy_delay(proxy_of(run, blow), some_way(blow), 1000 + (int64_t)roll(blow, LEASE_MS * 400));
}

static void
drip(struct run *run, struct blow *blow)
{
	proxy_drip(proxy_of(run, blow), some_way(blow), 1000 + (int64_t)roll(blow, 9000));
}

/* To 10 to 50 kB/s. */
static void
throttle(struct run *run, struct blow *blow)
{
	proxy_drip(proxy_of(run, blow), PROXY_BOTH, 20 + (int64_t)roll(blow, 80));
}

static void
hold_both(struct run *run, struct blow *blow)
{
	proxy_hold(proxy_of(run, blow), PROXY_BOTH);
}

static void
hold_requests(struct run *run, struct blow *blow)
{
	proxy_hold(proxy_of(run, blow), PROXY_TO_SERVER);
}

static void
hold_replies(struct run *run, struct blow *blow)
{
	proxy_hold(proxy_of(run, blow), PROXY_TO_CLIENT);
}

static void
hold_some_way(struct run *run, struct blow *blow)
{
	proxy_hold(proxy_of(run, blow), some_way(blow));
}

/* What was held never arrives. */
static void
drop_what_was_held(struct run *run, struct blow *blow)
{
	proxy_reset_all(proxy_of(run, blow));
	proxy_release(proxy_of(run, blow));
}

static void
hold_messages(struct run *run, struct blow *blow)
{
	proxy_hold_messages(proxy_of(run, blow), true);
}

static void
drop_messages(struct run *run, struct blow *blow)
{
	proxy_drop_messages(proxy_of(run, blow), 50 + 50 * (unsigned)roll(blow, 2));
}

static void
reset(struct run *run, struct blow *blow)
{
	proxy_reset_all(proxy_of(run, blow));
}

static void
refuse(struct run *run, struct blow *blow)
{
	proxy_refuse(proxy_of(run, blow), true);
	proxy_reset_all(proxy_of(run, blow));
}

static void
cut_a_request(struct run *run, struct blow *blow)
{
	if (blow->begun && !proxy_hit(proxy_of(run, blow)))
		return;
	proxy_skip(proxy_of(run, blow), (unsigned)roll(blow, 8));
	proxy_cut_request(proxy_of(run, blow), NULL);
}

/* At any byte. The longest answers to a step have some 80; those of the hello have more. */
static void
cut_a_reply(struct run *run, struct blow *blow)
{
	if (blow->begun && !proxy_hit(proxy_of(run, blow)))
		return;
	proxy_skip(proxy_of(run, blow), (unsigned)roll(blow, 8));
	proxy_cut_reply(proxy_of(run, blow), NULL, (size_t)roll(blow, roll(blow, 4) == 0 ? 4000 : 80));
}

static void
hold_a_reply(struct run *run, struct blow *blow)
{
	proxy_skip(proxy_of(run, blow), (unsigned)roll(blow, 8));
	proxy_hold_reply(proxy_of(run, blow), "EVALSHA");
}

/* It is executed when the fault is over, long after its sender has lost the connection. */
static void
strand_a_request(struct run *run, struct blow *blow)
{
	proxy_skip(proxy_of(run, blow), (unsigned)roll(blow, 8));
	proxy_strand_request(proxy_of(run, blow), "EVALSHA");
}

static void
bad_weather(struct run *run, struct blow *blow)
{
	proxy_weather(proxy_of(run, blow), &(struct proxy_weather){.lost = 200, .late = 10, .messages_late = 40, .late_us = LEASE_MS * 500,
	                                                           .messages_dropped = 10, .messages_doubled = 10, .seed = blow->dice});
}

/* ---- all of them ---- */

static const struct fault faults[] = {
	FAULTS_OF_CONTENDERS(LONG),

	{"server-stop", SERVER, SHORT, .delays = true, .begin = stop_server, .end = continue_server},
	{"server-stop-long", SERVER, LONG, .delays = true, .begin = stop_server, .end = continue_server},
	{"restart-data", SERVER, LASTS(0, 60), .begin = kill_server, .end = start_server},
	{"restart-data-long", SERVER, LONG, .begin = kill_server, .end = start_server},
	{"restart-empty", SERVER, LASTS(0, 150), .harm = HARM_LOST, .begin = kill_server_and_forget, .end = start_server},
	{"clock-ahead", SERVER, ANY, .harm = HARM_BREACH, .begin = put_clock_forward, .end = set_clock_right},
	{"clock-back", SERVER, ANY, .harm = HARM_BREACH, .begin = put_clock_back, .end = set_clock_right},

	{"script-flush", SERVER, ANY, .begin = flush_scripts, .again = flush_scripts},
	{"client-kill-normal", SERVER, ANY, .begin = kill_normal, .again = kill_normal},
	{"client-kill-pubsub", SERVER, ANY, .begin = kill_pubsub, .again = kill_pubsub},
	{"client-pause-all", SERVER, ANY, .delays = true, .begin = pause_all},
	{"client-pause-write", SERVER, ANY, .delays = true, .begin = pause_writes},
	{"debug-sleep", SERVER, LASTS(10, 190), .delays = true, .begin = sleep_server, .end = await_server},
	{"full", SERVER, ANY, .orders = "CONFIG SET maxmemory 1", .orders_at_end = "CONFIG SET maxmemory 0"},
	{"evict", SERVER, ANY, .harm = HARM_BREACH, .begin = evict_some, .again = squeeze, .end = evict_nothing},
	{"evict-ttl", SERVER, ANY, .harm = HARM_BREACH, .begin = evict_by_ttl, .again = squeeze, .end = evict_nothing},
	{"del-locks", SERVER, ANY, .harm = HARM_BREACH, .begin = delete_locks, .again = delete_locks},
	{"del-queues", SERVER, ANY, .begin = delete_queues, .again = delete_queues},
	{"flushall", SERVER, ANY, .harm = HARM_BREACH, .begin = flush_all, .again = flush_all},
	{"misconf", SERVER, ANY, .begin = fail_to_save, .end = save_nothing},
	{"max-clients", SERVER, ANY, .begin = shut_the_door, .orders_at_end = "CONFIG SET maxclients 1000"},
	{"no-replicas", SERVER, ANY,
	 .orders = "CONFIG SET min-replicas-to-write 1", .orders_at_end = "CONFIG SET min-replicas-to-write 0"},
	{"replica-of", SERVER, ANY, .orders = "REPLICAOF 127.0.0.1 1", .orders_at_end = "REPLICAOF NO ONE"},
	{"acl-command", SERVER, ANY, .begin = forbid_command, .end = permit_command},
	{"acl-keys", SERVER, ANY,
	 .orders = "ACL SETUSER " CREW_USER " resetkeys", .orders_at_end = "ACL SETUSER " CREW_USER " ~*"},
	{"acl-channels", SERVER, ANY,
	 .orders = "ACL SETUSER " CREW_USER " resetchannels", .orders_at_end = "ACL SETUSER " CREW_USER " &*"},
	{"acl-password", SERVER, ANY,
	 .orders = "ACL SETUSER " CREW_USER " resetpass >another; CLIENT KILL USER " CREW_USER,
	 .orders_at_end = "ACL SETUSER " CREW_USER " resetpass >" CREW_PASSWORD},
	{"acl-off", SERVER, ANY,
	 .orders = "ACL SETUSER " CREW_USER " off; CLIENT KILL USER " CREW_USER,
	 .orders_at_end = "ACL SETUSER " CREW_USER " on"},

	{"delay", PROXY, ANY, .delays = true, .begin = delay, .end = calm_down},
	{"drip", PROXY, ANY, .delays = true, .begin = drip, .end = calm_down},
	{"throttle", PROXY, ANY, .delays = true, .begin = throttle, .end = calm_down},
	{"hold", PROXY, ANY, .delays = true, .begin = hold_both, .end = calm_down},
	{"hold-requests", PROXY, ANY, .delays = true, .begin = hold_requests, .end = calm_down},
	{"hold-replies", PROXY, ANY, .delays = true, .begin = hold_replies, .end = calm_down},
	{"drop", PROXY, ANY, .begin = hold_some_way, .end = drop_what_was_held},
	{"hold-messages", PROXY, ANY, .reads = true, .delays = true, .begin = hold_messages, .end = calm_down},
	{"hold-a-reply", PROXY, ANY, .reads = true, .delays = true, .begin = hold_a_reply, .end = calm_down},
	{"strand-a-request", PROXY, ANY, .reads = true, .delays = true, .begin = strand_a_request, .end = calm_down},
	{"drop-messages", PROXY, ANY, .reads = true, .begin = drop_messages, .end = calm_down},
	{"reset", PROXY, ANY, .begin = reset, .again = reset},
	{"refuse", PROXY, ANY, .begin = refuse, .end = calm_down},
	{"cut-requests", PROXY, ANY, .reads = true, .begin = cut_a_request, .again = cut_a_request, .end = calm_down},
	{"cut-replies", PROXY, ANY, .reads = true, .begin = cut_a_reply, .again = cut_a_reply, .end = calm_down},
	{"weather", PROXY, ANY, .reads = true, .delays = true, .begin = bad_weather, .end = calm_down},
};

static const size_t fault_count = sizeof faults / sizeof *faults;

/* ---- the server ---- */

/* Everything that was answered is kept: unlike elsewhere there is no other server that has it. */
static const char *const own_args[] = {"--appendonly", "yes", "--appendfsync", "always", "--enable-debug-command", "yes", "--user", CREW_USER, "on",
                                       ">" CREW_PASSWORD, "~*", "&*", "+@all", NULL};

static void
start(struct run *run)
{
	run->server = server_start_clocked(own_args);
	run->servers[run->server_count++] = run->server;
}

static void
start_tls(struct run *run)
{
	const char *args[64], *const *certs = certs_server_args(CERTS_SERVER, false);
	size_t count = 0;
	char port[12];

	snprintf(port, sizeof port, "%d", run->port = ports_take());
	for (size_t i = 0; own_args[i] != NULL; i++)
		args[count++] = own_args[i];
	for (size_t i = 0; certs[i] != NULL; i++)
		args[count++] = certs[i];
	args[count++] = "--tls-port";
	args[count++] = port;
	args[count] = NULL;
	run->server = server_start_clocked(args);
	run->servers[run->server_count++] = run->server;
}

static void
stop(struct run *run)
{
	server_stop(run->server);
}

const struct arena arena_single = {
	.name = "single", .faults = faults, .fault_count = &fault_count, .lease_ms = LEASE_MS, .guard_ms = 2 * LEASE_MS, .timeout_ms = LEASE_MS / 2,
	.start = start, .stop = stop,
};

/* Where what passes cannot be read, what happens to it happens to bytes. */
const struct arena arena_tls = {
	.name = "tls", .faults = faults, .fault_count = &fault_count, .lease_ms = LEASE_MS, .guard_ms = 2 * LEASE_MS, .timeout_ms = LEASE_MS / 2,
	.sealed = true, .start = start_tls, .stop = stop,
};
