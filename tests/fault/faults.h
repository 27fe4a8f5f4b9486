/* The faults that the nemesis knows: what each does, to whom, and what it does to what leash promises. And the arenas: a deployment,
 * with all that befalls it. */
#ifndef LEASH_TEST_FAULTS_H
#define LEASH_TEST_FAULTS_H

#include "tests/fault/nemesis.h"
#include "tests/support/trouble.h"

/* Where it takes place. Two at one place never overlap, so that each can undo just what it did. */
enum seat {
	SEAT_SERVER,     /* the servers that keep data, and what is between them */
	SEAT_PROCESS,    /* a contender */
	SEAT_PROXY,      /* a contender's proxy */
	SEAT_ASIDE,      /* what may come together with a fault of the servers: sentinels, connections, scripts */
	SEATS
};

/* What it does to locks that are held while it lasts. */
enum harm {
	HARM_NONE,
	HARM_LOST,       /* they are lost, and told so; but nobody else may have one before its valid-until */
	HARM_BREACH,     /* keys are lost or expire early: nothing is promised */
};

struct fault {
	const char *name;
	enum seat seat;
	enum harm harm;
	unsigned enough;       /* there is no such harm if locks have at least so many min_replicas; 0: they do not help */
	bool until_whole;      /* it lasts, and does harm, until the arena is whole again; `end` comes before that */
	bool delays;           /* commands may be executed long after they were sent */
	bool reads;            /* a proxy has to understand what passes */
	int64_t least, most;   /* how long it lasts, in % of the lease */
	/* What the one server is told at its beginning and at its end, with a semicolon between orders; or NULL. */
	const char *orders, *orders_at_end;
	void (*begin)(struct run *run, struct blow *blow);   /* or NULL */
	void (*again)(struct run *run, struct blow *blow);   /* every few dozen ms while it lasts; or NULL */
	void (*end)(struct run *run, struct blow *blow);     /* or NULL: there is nothing to undo */
};

struct arena {
	const char *name;
	const struct fault *faults;
	const size_t *fault_count;
	int64_t lease_ms;
	int64_t guard_ms;      /* of all locks: more than a lease and a half, the longest that contenders ask for */
	int64_t timeout_ms;    /* of their connections */
	bool sealed;           /* proxies do not understand what passes: it is TLS */
	bool plain;            /* all locks are */
	/* Fills in `servers`, and writes the URI for contenders without a login; of one server that is the URI of none, but a target. */
	void (*start)(struct run *run);
	void (*uri)(const struct run *run, char uri[URI]);
	/* After each burst, when its faults have ended: make it whole, and wait until it is. NULL: it is at once. */
	void (*mend)(struct run *run, uint64_t *dice);
	void (*stop)(struct run *run);
};

extern const struct arena arena_single, arena_tls, arena_sentinel, arena_cluster, arena_quorum;

/* Does it take place there? */
bool arena_has(const struct arena *arena, const struct fault *fault);

/* ---- for all arenas ---- */

#define PROCESS .seat = SEAT_PROCESS
#define SERVER .seat = SEAT_SERVER
#define PROXY .seat = SEAT_PROXY
#define ASIDE .seat = SEAT_ASIDE
#define LASTS(from, to) .least = (from), .most = (to)
#define SHORT LASTS(5, 60)
#define LONG LASTS(120, 250)
#define ANY LASTS(30, 200)

#define FAULTS_OF_CONTENDERS(for_long) \
	{"kill", PROCESS, LASTS(0, 100), .begin = kill_contender, .end = replace_contender}, \
	{"freeze", PROCESS, SHORT, .begin = freeze_contender, .end = thaw_contender}, \
	{"freeze-long", PROCESS, for_long, .begin = freeze_contender, .end = thaw_contender}

void kill_contender(struct run *run, struct blow *blow);
void replace_contender(struct run *run, struct blow *blow);
void freeze_contender(struct run *run, struct blow *blow);
void thaw_contender(struct run *run, struct blow *blow);

/* All servers that run. */
#define FAULTS_OF_ALL_SERVERS(for_so_long) \
	{"script-flush", ASIDE, for_so_long, .begin = flush_scripts, .again = flush_scripts}, \
	{"client-kill-normal", ASIDE, for_so_long, .begin = kill_normal, .again = kill_normal}, \
	{"client-kill-pubsub", ASIDE, for_so_long, .begin = kill_pubsub, .again = kill_pubsub}

void flush_scripts(struct run *run, struct blow *blow);
void kill_normal(struct run *run, struct blow *blow);
void kill_pubsub(struct run *run, struct blow *blow);

void fault_begin(struct run *run, struct blow *blow);
void fault_end(struct run *run, struct blow *blow);
void calm_proxy(struct proxy *proxy);   /* it is as at the start; what it held goes on */
uint64_t roll(struct blow *blow, uint64_t below);

/* Say something to a server that it must do. */
#define order(server, ...) \
	do { \
		redisReply *reply_ = server_command((server), __VA_ARGS__); \
		if (reply_->type == REDIS_REPLY_ERROR) \
			trouble("the nemesis is refused: %s", reply_->str); \
		freeReplyObject(reply_); \
	} while (0)

/* ... or may refuse; not at all if it does not run. */
#define tell(run, i, ...) \
	do { \
		if (server_pid((run)->servers[i]) != 0 && !(run)->still[i]) \
			freeReplyObject(server_command((run)->servers[i], __VA_ARGS__)); \
	} while (0)

void stop_one(struct run *run, unsigned i);       /* SIGSTOP */
void continue_one(struct run *run, unsigned i);   /* all are allowed that run */
/* A master that has a successor is about to come back: wait until all who use it have had time to hear of that. Or do not, now and then, and
 * note that as a breach: true. `all`: so many min_replicas keep it from harm. */
bool returns_early(struct run *run, uint64_t *dice, unsigned all);
/* Note what sentinels, or replicas of a cluster, did without an order. How many breaches were that? */
unsigned note_failovers(struct run *run);
void forget(const struct server *server);         /* remove the data of one that was killed */
void remove_data(const char *folder, const char *name);

/* What each server that keeps data has to know: who comes, and to keep it. Ended by NULL. */
extern const char *const server_args[];

#endif
