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

#include "tests/support/socket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { LEASE_MS = 1000 };

/* ---- what the server alone can do ---- */

static void
put_clock(struct step *s, int64_t ms)
{
	snprintf(s->blow->words, sizeof s->blow->words, "by %" PRId64 " ms", ms);
	server_set_clock(s->server, ms);
}

static void
put_clock_forward(struct step *s)
{
	s->blow->linger_ms = between(s);
	put_clock(s, s->blow->linger_ms);
}

static void
sleep_server(struct step *s)
{
	redisContext *c = server_connect(s->server);
	int64_t ms = s->blow->for_ms;
	int done = 0;

	if (redisAppendCommand(c, "DEBUG SLEEP %s.%03d", ms >= 1000 ? "1" : "0", (int)(ms % 1000)) != REDIS_OK)
		trouble("no memory");
	while (done == 0)
		if (redisBufferWrite(c, &done) != REDIS_OK)
			trouble("the server cannot be told to sleep: %s", c->errstr);
	s->blow->state = c;
}

static void
await_server(struct step *s)
{
	redisContext *c = s->blow->state;
	void *reply = NULL;

	if (redisGetReply(c, &reply) != REDIS_OK || ((redisReply *)reply)->type == REDIS_REPLY_ERROR)
		trouble("the server did not sleep: %s", reply != NULL ? ((redisReply *)reply)->str : c->errstr);
	freeReplyObject(reply);
	redisFree(c);
}

/* The file that it saves to is a folder. It keeps its data all the same, in the append-only file, but takes no writes. */
static void
fail_to_save(struct step *s)
{
	char path[4096];

	remove_data(s->server, "dump.rdb");
	snprintf(path, sizeof path, "%s/dump.rdb", server_folder(s->server));
	if (mkdir(path, 0700) != 0)
		trouble("%s: %s", path, strerror(errno));
	server_say(s->server, "CONFIG SET save %s", "3600 1");
	server_say(s->server, "BGSAVE SCHEDULE");
}

static void
save_nothing(struct step *s)
{
	server_say(s->server, "CONFIG SET save %s", "");
	remove_data(s->server, "dump.rdb");
}

#define OWN_VERBS(X) \
	X(put_clock_forward, put_clock_forward(s)) \
	X(put_clock_back, put_clock(s, -between(s))) \
	X(set_clock_right, server_set_clock(s->server, 0)) \
	X(sleep, sleep_server(s)) \
	X(await, await_server(s)) \
	X(fail_to_save, fail_to_save(s)) \
	X(save_nothing, save_nothing(s))

OWN_VERBS(VERB_FUNCTION)
static const struct verb verbs[] = {OWN_VERBS(VERB_FOR_EACH) {.name = NULL}};

/* ---- all faults ---- */

/* Of the policy that is set; each command evicts before it is executed. */
#define MAKE_ROOM "CONFIG SET maxmemory 0"
#define SQUEEZE "CONFIG SET maxmemory 1; PING; " MAKE_ROOM
#define EVICTS(policy) \
	.harm = HARM_BREACH, .begin = "CONFIG SET maxmemory-policy " policy "; " SQUEEZE, .again = SQUEEZE, \
	.end = "CONFIG SET maxmemory-policy noeviction; " MAKE_ROOM

#define KEYS_OF_ALL(more) \
	" leash:{lock-0}" more " leash:{lock-1}" more " leash:{lock-2}" more " leash:{lock-3}" more " leash:{lock-4}" more \
	" leash:{lock-5}" more " leash:{lock-6}" more " leash:{lock-7}" more " leash:{gate}" more
#define LOCKS_AND_GATES KEYS_OF_ALL("") " lock-8"
_Static_assert(LOCKS == 9, "and so many there are");

#define USER "ACL SETUSER " CREW_USER
#define CUT_OFF "CLIENT KILL USER " CREW_USER

/* All that a contender needs, but for INFO. */
#define PERMISSIONS \
	"<evalsha|eval|script|time|exists|set|get|hset|hget|hdel|hexists|pexpire|pttl|del|" \
	"zadd|zrem|zscore|zcount|zrangebyscore|zrevrange|publish|subscribe>"

/* Those who watch the server and injure it are as many clients as "max-clients" has to turn all others away. */
static const struct fault faults[] = {
	FAULTS_OF_CONTENDERS(LONG),

	{"server-stop", SERVER, SHORT, .delays = true, .begin = "stop", .end = "go_on"},
	{"server-stop-long", SERVER, LONG, .delays = true, .begin = "stop", .end = "go_on"},
	{"restart-data", SERVER, LASTS(0, 60), .begin = "kill", .end = "restart"},
	{"restart-data-long", SERVER, LONG, .begin = "kill", .end = "restart"},
	{"restart-empty", SERVER, LASTS(0, 150), .harm = HARM_LOST, .begin = "kill; forget", .end = "restart"},
	{"clock-ahead", SERVER, ANY, .harm = HARM_BREACH, .begin = "put_clock_forward 500 3500", .end = "set_clock_right"},
	{"clock-back", SERVER, ANY, .harm = HARM_BREACH, .begin = "put_clock_back 500 30500", .end = "set_clock_right"},

	FAULTS_OF_ALL_SERVERS(SERVER, ANY),
	{"client-pause-all", SERVER, ANY, .delays = true, .begin = "CLIENT PAUSE $ms ALL"},
	{"client-pause-write", SERVER, ANY, .delays = true, .begin = "CLIENT PAUSE $ms WRITE"},
	{"debug-sleep", SERVER, LASTS(10, 190), .delays = true, .begin = "sleep", .end = "await"},
	{"full", SERVER, ANY, .begin = "CONFIG SET maxmemory 1", .end = MAKE_ROOM},
	{"evict", SERVER, ANY, EVICTS("<allkeys-lru|allkeys-lfu|allkeys-random|volatile-lru|volatile-lfu|volatile-random>")},
	{"evict-ttl", SERVER, ANY, EVICTS("volatile-ttl")},
	{"del-locks", SERVER, ANY, .harm = HARM_BREACH, .begin = "DEL" LOCKS_AND_GATES, .again = "DEL" LOCKS_AND_GATES},
	{"del-queues", SERVER, ANY, .begin = "DEL" KEYS_OF_ALL(":queue"), .again = "DEL" KEYS_OF_ALL(":queue")},
	{"flushall", SERVER, ANY, .harm = HARM_BREACH, .begin = "FLUSHALL", .again = "FLUSHALL"},
	{"misconf", SERVER, ANY, .begin = "fail_to_save", .end = "save_nothing"},
	{"max-clients", SERVER, ANY,
	 .begin = "CONFIG SET maxclients 1; " KILL_NORMAL "; " KILL_PUBSUB, .end = "CONFIG SET maxclients 1000"},
	{"no-replicas", SERVER, ANY,
	 .begin = "CONFIG SET min-replicas-to-write 1", .end = "CONFIG SET min-replicas-to-write 0"},
	{"replica-of", SERVER, ANY, .begin = "REPLICAOF 127.0.0.1 1", .end = "REPLICAOF NO ONE"},
	{"acl-command", SERVER, ANY, .begin = USER " -" PERMISSIONS "; maybe " CUT_OFF, .end = USER " +$it"},
	{"acl-keys", SERVER, ANY, .begin = USER " resetkeys", .end = USER " ~*"},
	{"acl-channels", SERVER, ANY, .begin = USER " resetchannels", .end = USER " &*"},
	{"acl-password", SERVER, ANY, .begin = USER " resetpass >another; " CUT_OFF, .end = USER " resetpass >" CREW_PASSWORD},
	{"acl-off", SERVER, ANY, .begin = USER " off; " CUT_OFF, .end = USER " on"},

	{"delay", PROXY, ANY, .delays = true, .begin = "delay_some_way 1000 401000", .end = "calm_down"},
	{"drip", PROXY, ANY, .delays = true, .begin = "drip_some_way 1000 10000", .end = "calm_down"},
	{"throttle", PROXY, ANY, .delays = true, .begin = "drip 20 100", .end = "calm_down"},   /* to 10 to 50 kB/s */
	{"hold", PROXY, ANY, .delays = true, .begin = "hold", .end = "calm_down"},
	{"hold-requests", PROXY, ANY, .delays = true, .begin = "hold_requests", .end = "calm_down"},
	{"hold-replies", PROXY, ANY, .delays = true, .begin = "hold_replies", .end = "calm_down"},
	{"drop", PROXY, ANY, .begin = "hold_some_way", .end = "drop"},
	{"hold-messages", PROXY, ANY, .reads = true, .delays = true, .begin = "hold_messages", .end = "calm_down"},
	{"hold-a-reply", PROXY, ANY, .reads = true, .delays = true, .begin = "hold_reply", .end = "calm_down"},
	{"strand-a-request", PROXY, ANY, .reads = true, .delays = true, .begin = "strand_request", .end = "calm_down"},
	{"drop-messages", PROXY, ANY, .reads = true, .begin = "drop_messages", .end = "calm_down"},
	{"reset", PROXY, ANY, .begin = "reset", .again = "reset"},
	{"refuse", PROXY, ANY, .begin = "refuse", .end = "calm_down"},
	{"cut-requests", PROXY, ANY, .reads = true, .begin = "cut_request", .again = "cut_request", .end = "calm_down"},
	{"cut-replies", PROXY, ANY, .reads = true, .begin = "cut_reply", .again = "cut_reply", .end = "calm_down"},
	{"weather", PROXY, ANY, .reads = true, .delays = true, .begin = "weather 500000", .end = "calm_down"},
};

/* ---- the server ---- */

/* Everything that was answered is kept: unlike elsewhere there is no other server that has it. */
static const char *const own_args[] = ARGS_OF_SERVERS("always");

static void
start(struct run *run)
{
	struct words words = {.count = 0};

	run->nodes = &run->alone;
	run->count = 1;
	words_add_all(&words, own_args);
	if (run->arena->sealed) {
		run->alone.told = ports_take();
		words_add_all(&words, certs_server_args(CERTS_SERVER, false));
		words_add_number(&words, "--tls-port", run->alone.told);
	}
	run->alone.server = server_start_clocked((const char *const *)words.at);
	words_free(&words);
}

#define ONE_SERVER \
	.faults = faults, .fault_count = sizeof faults / sizeof *faults, .verbs = verbs, \
	.lease_ms = LEASE_MS, .guard_ms = 2 * LEASE_MS, .timeout_ms = LEASE_MS / 2, .start = start

const struct arena arena_single = {.name = "single", ONE_SERVER};

/* Where what passes cannot be read, what happens to it happens to bytes. */
const struct arena arena_tls = {.name = "tls", ONE_SERVER, .sealed = true};
