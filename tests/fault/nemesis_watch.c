/* The watchers, one for each server: what it is told (MONITOR), and what is in it (KEYS). And one for each sentinel:
 * what it says that it does (SUBSCRIBE). They go on over restarts, with connections of their own, and miss what happens
 * while they have none, or while the server stands still.
 *
 * Replicas are watched as well, since they become masters. They are told what a script did, and not the script, so no
 * renewal is seen twice but where a quorum was told it. Keys that a node of a cluster has and may not tell of, because
 * their slot moves, are looked for where it moves to, when it is there.
 *
 * A renewal is known by its number of keys, and by the lease behind its token: EVALSHA or EVAL, ..., 1, lock, token, lease; or,
 * of many, EVALSHA or EVAL, ..., 0, fence, and then lock, token, lease and depth of each. Of what is shared the token has a
 * need behind it, and there is no depth. Redisson's is EVALSHA or EVAL, ..., 1, lock, "renew", token, lease. It may be an old one, which
 * was stuck somewhere while its sender has given up the connection, reconnected and released, and then it is in order.
 * So it is noted as a late one in times of faults that make commands late, and a little longer. And what a server does
 * right after it stood still may have lain there all the while: it is noted as if it was done before.
 *
 * A failover is done by the sentinel that was elected for it, some tenths of a second before it tells a replica to be
 * the master. All sentinels say +switch-master when they know of it, also those that were told by others: the first
 * counts, so none is missed because the elected one was killed meanwhile.
 *
 * Of a cluster nobody says it: each node is asked again and again whom it follows. A replica has taken over after it
 * said last that it is one.
 *
 * MONITOR tells the server's wall clock. Its distance from ours is taken from the quickest line of the last second or
 * two. */
#include "tests/fault/nemesis.h"
#include "tests/support/await.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { SCAN_MS = 500, ROLE_MS = 20, CALM_MS = 1000, STILL_MS = 50 };

/* At one server, or sentinel. */
struct post {
	struct watch *watch;
	struct server *server;
	const char *asks;                /* to be told what happens; and what is done with it */
	void (*heard)(struct post *post, const redisReply *reply);
	pthread_t monitor, scanner;      /* a sentinel has no scanner, */
	pthread_t looker;                /* and only a node of a cluster has this */
	struct failover followed;        /* the looker's own: it was a replica then, of that one; port 0: it was none */
	_Atomic int64_t looked_at;       /* when it was asked last, and answered */
	size_t known;                    /* who say there who they are, in the end */

	/* the monitor's own */
	int64_t offset_ns, next_offset_ns, next_at;
	int64_t heard_at, still_since, still_until; /* the last line; and when there were none for a while */
};

struct watch {
	struct run *run;
	struct history *history;
	_Atomic bool ending;
	_Atomic bool delaying;
	_Atomic int64_t calm_at;         /* when whatever was late has come; unless delaying */
	_Atomic int64_t elected_at;      /* when a sentinel was, for a failover that nobody has finished yet; 0: none */
	int failovers[2];                /* a pipe of struct failover, from the posts to the nemesis */
	unsigned count;                  /* the servers' posts come first */
	struct post posts[MAX_SERVERS + SENTINEL_SENTINELS];
};

/* ---- lines of MONITOR ---- */

/* The next word of the command, quotes and all; NULL: there is no other. */
static const char *
next_word(const char **at, size_t *size)
{
	const char *word = strchr(*at, '"'), *end;

	if (word == NULL)
		return NULL;
	for (end = word + 1; *end != '"' && *end != '\0'; end++)
		if (*end == '\\' && end[1] != '\0')
			end++;
	*at = *end == '"' ? end + 1 : end;
	*size = (size_t)(end - word - 1);
	return word + 1;
}

static bool
is_word(const char *word, size_t size, const char *text)
{
	return size == strlen(text) && strncasecmp(word, text, size) == 0;
}

/* Our time of what the server did at `server_ns`, which is heard of now: never later than it was, nor later than
 * now. */
static int64_t
our_time(struct post *p, int64_t server_ns)
{
	int64_t now = await_now_ns();

	if (now >= p->next_at) {
		p->offset_ns = p->next_offset_ns;
		p->next_offset_ns = INT64_MAX;
		p->next_at = now + INT64_C(1000000000);
	}
	if (now - server_ns < p->next_offset_ns)
		p->next_offset_ns = now - server_ns;
	if (p->next_offset_ns < p->offset_ns)
		p->offset_ns = p->next_offset_ns;
	return server_ns + p->offset_ns;
}

/* Of a quorum a release is OK when most servers have executed it: the others may have all before it still to come. */
static void
on_renewal(struct watch *w, const char *token, size_t size, int64_t ns)
{
	bool late = w->delaying || ns < w->calm_at || w->run->quorum != NULL;

	history_note_at(w->history, ns, "renew %.*s%s", (int)size, token, late ? " late" : "");
	w->run->renewals++;
}

/* Since when what the server does now may have lain there, at the latest. */
static int64_t
may_be_from(struct post *p, int64_t ns)
{
	if (ns - p->heard_at > STILL_MS * MS) {
		p->still_since = p->heard_at;
		p->still_until = ns;
	}
	p->heard_at = ns;
	return ns - p->still_until < STILL_MS * MS ? p->still_since : ns;
}

/* A command of a client. */
static void
on_command(struct watch *w, const char *at, int64_t ns)
{
	const char *word, *token = NULL;
	int of = 4, each = 0;                /* which word is the next token, and how many words each renewal has */
	size_t size, length = 0;

	for (int i = 0; (word = next_word(&at, &size)) != NULL; i++) {
		if (i == 0 && !is_word(word, size, "evalsha") && !is_word(word, size, "eval"))
			return;
		if (i == 2 && is_word(word, size, "0"))
			of = 5;
		else if (i == 2 && !is_word(word, size, "1"))
			return;
		if (i == of && each == 0 && is_word(word, size, "renew"))
			of++;
		else if (i == of) {
			token = word;
			length = strcspn(word, " \"");
			each = length < size ? 3 : 4;
		} else if (i == of + 1) {
			if (strspn(word, "0123456789") == size)
				on_renewal(w, token, length, ns);
			of += each;
		}
	}
}

static void
on_monitor(struct post *p, const redisReply *reply)
{
	const char *line = reply->str != NULL ? reply->str : "", *point;
	const char *where = strchr(line, '['), *command = strchr(line, ']');
	int64_t ns = strtoll(line, (char **)(uintptr_t)&point, 10) * 1000000000;

	if (where == NULL || command == NULL || *point != '.')
		return;
	ns += strtoll(point + 1, NULL, 10) * 1000;   /* six digits */
	ns = may_be_from(p, our_time(p, ns));
	where = strchr(where, ' ');
	if (where == NULL || strncmp(where, " lua]", 5) != 0)
		on_command(p->watch, command, ns);
}

/* ---- what sentinels say ---- */

static void
hand_over(struct watch *w, const struct failover *failover)
{
	if (write(w->failovers[1], failover, sizeof *failover) != sizeof *failover)
		trouble("too many failovers");
}

/* The message of +switch-master is "<name> <old address> <old port> <new address> <new port>". */
static void
on_sentinel(struct post *p, const redisReply *reply)
{
	struct failover failover;

	if (reply->elements == 3 && strcmp(reply->element[0]->str, "subscribe") == 0)
		p->looked_at = await_now_ns();
	if (reply->elements != 3 || strcmp(reply->element[0]->str, "message") != 0)
		return;
	if (strcmp(reply->element[1]->str, "+elected-leader") == 0) {
		p->watch->elected_at = await_now_ns();
		return;
	}
	failover.since_ns = atomic_exchange(&p->watch->elected_at, 0);
	if (failover.since_ns == 0)
		return;
	if (sscanf(reply->element[2]->str, "%*s %*s %d", &failover.port) != 1)
		trouble("a sentinel says %s", reply->element[2]->str);
	hand_over(p->watch, &failover);
}

/* ---- the two threads ---- */

/* All that has come. False: the connection is of no use any more. */
static bool
hear(struct post *p, redisContext *c)
{
	void *reply = NULL;
	bool good = redisBufferRead(c) == REDIS_OK;

	while (good && (good = redisGetReplyFromReader(c, &reply) == REDIS_OK) && reply != NULL) {
		p->heard(p, reply);
		freeReplyObject(reply);
	}
	return good;
}

static void *
monitor(void *arg)
{
	struct post *p = arg;

	while (!p->watch->ending) {
		redisContext *c = server_dial(p->server, 0);
		int done = 0;

		if (c == NULL) {
			await_ms(5);
			continue;
		}
		p->offset_ns = p->next_offset_ns = INT64_MAX;
		p->heard_at = await_now_ns();
		if (redisAppendCommand(c, p->asks) != REDIS_OK)
			trouble("no memory");
		bool good = redisBufferWrite(c, &done) == REDIS_OK;   /* a line of some bytes is sent at once */
		while (good && !p->watch->ending)
			good = poll(&(struct pollfd){.fd = c->fd, .events = POLLIN}, 1, 50) == 0 || hear(p, c);
		redisFree(c);
	}
	return NULL;
}

/* Who has arrived at a latch counts for a day; who was killed at a gate, or waiting for a condition, has its place for longer
 * than a lease. */
static bool
lasts_longer(const char *key)
{
	return strncmp(key, "leash:{latch-", 13) == 0 || strncmp(key, "leash:{gate}", 12) == 0 || strstr(key, "?changed}") != NULL;
}

static void
note_left(struct post *p, const char *key, long long pttl)
{
	size_t n = strlen(key);

	if (pttl == -2 || (pttl != -1 && lasts_longer(key)))
		return;
	if (strncmp(key, "leash:client:", 13) == 0 && pttl != -1 && ++p->known <= p->watch->run->killed)
		return;
	if (n < 6 || strcmp(key + n - 6, ":fence") != 0)
		history_note(p->watch->history, "left %s", key);
}

/* Look at each key of leash's and its PTTL. False: the server does not answer. A replica of a cluster tells a
 * PTTL to who says READONLY; others do not mind the word, or do not know it. */
static bool
scan(struct post *p, redisContext *c, bool in_the_end)
{
	freeReplyObject(redisCommand(c, "READONLY"));
	redisReply *keys = redisCommand(c, "KEYS l*"); /* leash:..., and Redisson's lock-8 */
	bool answered = keys != NULL && keys->type == REDIS_REPLY_ARRAY;

	for (size_t i = 0; answered && i < keys->elements; i++) {
		const char *key = keys->element[i]->str;
		redisReply *pttl = redisCommand(c, "PTTL %s", key);

		if (pttl != NULL && pttl->type == REDIS_REPLY_INTEGER && in_the_end)
			note_left(p, key, pttl->integer);
		else if (pttl != NULL && pttl->type == REDIS_REPLY_INTEGER && pttl->integer == -1)
			history_note(p->watch->history, "endless %s", key);
		freeReplyObject(pttl);
	}
	freeReplyObject(keys);
	return answered && c->err == 0;
}

/* Ask its server something every so often, until the watch ends. `visit`: false: the connection is of no use any more. */
static void
visit_often(struct post *p, int64_t every_ms, bool (*visit)(struct post *p, redisContext *c))
{
	redisContext *c = NULL;

	while (!p->watch->ending) {
		if (c == NULL)
			c = server_dial(p->server, 1);
		if (c != NULL && !visit(p, c)) {
			redisFree(c);
			c = NULL;
		}
		await_ms(every_ms);
	}
	if (c != NULL)
		redisFree(c);
}

static bool
scan_for_endless(struct post *p, redisContext *c)
{
	return scan(p, c, false);
}

static void *
scanner(void *p)
{
	visit_often(p, SCAN_MS, scan_for_endless);
	return NULL;
}

/* ---- whom nodes of a cluster follow ---- */

/* The port of the node with this id, in what CLUSTER NODES says. A line of that begins "<id> <address>:<port>@". */
static int
port_of(const char *nodes, const char *id)
{
	const char *line = strstr(nodes, id);
	int port = 0;

	while (line != NULL && line != nodes && line[-1] != '\n')
		line = strstr(line + 1, id);
	if (line != NULL)
		sscanf(line, "%*s %*[^:]:%d@", &port);
	return port;
}

/* A line goes on " myself,slave <id of its master> ", or " myself,master - ". */
static void
on_nodes(struct post *p, const char *nodes, int64_t asked_at)
{
	const char *mine = strstr(nodes, " myself,");
	char flags[64], master[64];

	if (mine == NULL || sscanf(mine, " %63s %63s", flags, master) != 2)
		trouble("a node says of itself: %s", nodes);
	if (strstr(flags, "slave") != NULL) {
		p->followed = (struct failover){.since_ns = asked_at, .port = port_of(nodes, master)};
	} else if (p->followed.port != 0) {
		hand_over(p->watch, &p->followed);
		p->followed.port = 0;
	}
	p->looked_at = asked_at;
}

static bool
look(struct post *p, redisContext *c)
{
	int64_t asked_at = await_now_ns();
	redisReply *reply = redisCommand(c, "CLUSTER NODES");

	if (reply == NULL)
		return false;
	if (reply->str != NULL && reply->type != REDIS_REPLY_ERROR)
		on_nodes(p, reply->str, asked_at);
	freeReplyObject(reply);
	return true;
}

static void *
looker(void *p)
{
	visit_often(p, ROLE_MS, look);
	return NULL;
}

/* ---- for the run ---- */

static struct post *
start_post(struct watch *w, struct server *server, const char *asks, void (*heard)(struct post *, const redisReply *))
{
	struct post *p = &w->posts[w->count++];

	p->watch = w;
	p->server = server;
	p->asks = asks;
	p->heard = heard;
	if (pthread_create(&p->monitor, NULL, monitor, p) != 0)
		trouble("no thread");
	return p;
}

struct watch *
watch_start(struct run *run)
{
	struct watch *w = zeroed(sizeof *w);

	w->run = run;
	w->history = history_open(run->folder, "watcher");
	if (pipe2(w->failovers, O_CLOEXEC | O_NONBLOCK) != 0)
		trouble("no pipe: %s", strerror(errno));
	for (unsigned i = 0; i < run->count; i++) {
		struct post *p = start_post(w, run->nodes[i].server, "MONITOR", on_monitor);

		if (pthread_create(&p->scanner, NULL, scanner, p) != 0 ||
		    (run->cluster != NULL && pthread_create(&p->looker, NULL, looker, p) != 0))
			trouble("no thread");
	}
	for (int i = 0; run->sentinels != NULL && i < SENTINEL_SENTINELS; i++)
		start_post(w, sentinel_set_sentinel(run->sentinels, i), "SUBSCRIBE +elected-leader +switch-master",
		           on_sentinel);
	for (unsigned i = run->cluster != NULL ? 0 : run->count; i < w->count; i++)
		await_true(w->posts[i].looked_at != 0); /* a failover that began before that would go unseen */
	return w;
}

void
watch_delays(struct watch *w, bool yes)
{
	if (!yes && w->delaying)
		w->calm_at = await_now_ns() + CALM_MS * INT64_C(1000000);
	w->delaying = yes;
}

void
watch_left(struct watch *w)
{
	for (unsigned i = 0; i < w->run->count; i++) {
		redisContext *c = server_dial(w->posts[i].server, 60);

		if (c == NULL || !scan(&w->posts[i], c, true))
			trouble("a server does not tell what is in it");
		redisFree(c);
	}
}

bool
watch_failover(struct watch *w, struct failover *next)
{
	return read(w->failovers[0], next, sizeof *next) == sizeof *next;
}

bool
watch_has_looked(const struct watch *w, unsigned server, int64_t since_ns)
{
	return w->posts[server].looked_at >= since_ns;
}

void
watch_stop(struct watch *w)
{
	w->ending = true;
	for (unsigned i = 0; i < w->count; i++) {
		pthread_join(w->posts[i].monitor, NULL);
		if (i < w->run->count)
			pthread_join(w->posts[i].scanner, NULL);
		if (i < w->run->count && w->run->cluster != NULL)
			pthread_join(w->posts[i].looker, NULL);
	}
	close(w->failovers[0]);
	close(w->failovers[1]);
	history_close(w->history);
	free(w);
}
