/* The faults that the nemesis knows: what each does, to whom, and what it does to what leash promises. And the arenas: a deployment,
 * with all that befalls it.
 *
 * What a fault does is a text of steps with semicolons between them: "choose 1 2; kill; forget". There are three kinds of steps:
 *
 *   choose 1 2           a verb, with up to two numbers; they stand in faults.c, and in the file of the arena that has them alone
 *   CONFIG SET ...       what begins with a capital is told to each server that is chosen, and must be obeyed. "$ms": for how long the
 *                        fault lasts; "<a|b|c>": one of these by chance; "$it": which one that was
 *   ?SCRIPT FLUSH        is told to those that run of them, and may be refused
 *
 * "maybe ..." is done every other time. At first the first server is chosen; of an arena of one server that is the one. */
#pragma once

#include "tests/fault/nemesis.h"
#include "tests/support/node.h"
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
	const char *begin;
	const char *again;     /* every few dozen ms while it lasts; or NULL */
	const char *end;       /* or NULL: there is nothing to undo */
};

/* A step that is a verb, as it is played. */
struct step {
	struct run *run;
	struct blow *blow;
	unsigned i;            /* the server that is chosen, */
	struct server *server;
	struct proxy *door;    /* and the proxy before it, or before the contender */
	int64_t n[2];          /* 0: it has none */
};

struct verb {
	const char *name;
	bool once;             /* not for each server that is chosen, resp. its proxy */
	void (*play)(struct step *s);
};

/* Verbs are told as rows of `name, what is done with s`; these make functions of them, and a table. */
#define VERB_FUNCTION(name, ...) \
	static void verb_##name(struct step *s) \
	{ \
		__VA_ARGS__; \
	}
#define VERB_ONCE(name, ...) {#name, true, verb_##name},
#define VERB_FOR_EACH(name, ...) {#name, false, verb_##name},

/* A function of an arena that only waits for what its kind of deployment can wait for. */
#define WAITS_BY(name, ...) \
	static void name(struct run *run) \
	{ \
		__VA_ARGS__; \
	}

struct arena {
	const char *name;
	const struct fault *faults;
	size_t fault_count;
	const struct verb *verbs;   /* its own; the last has no name. NULL: none */
	int64_t lease_ms;
	int64_t guard_ms;      /* of all locks: more than a lease and a half, the longest that contenders ask for */
	int64_t timeout_ms;    /* of their connections */
	bool sealed;           /* proxies do not understand what passes: it is TLS */
	bool plain;            /* all are plain locks, no read-write locks, no semaphores */
	void (*start)(struct run *run);   /* fills in `nodes`, `count` and `uri` */

	/* Where a master may have a successor; NULL elsewhere. */
	unsigned replicas;     /* of each master */
	unsigned (*master)(struct run *run, struct blow *blow);    /* one that has a lock */
	unsigned (*replica)(struct run *run, struct blow *blow, unsigned master);
	void (*await_synced)(struct run *run);
	void (*await_successor)(struct run *run);                  /* of the master that was ousted */
	void (*await_return)(struct run *run, uint64_t *dice);     /* of that one, which runs again */
	void (*settle)(struct run *run);                           /* wait until all servers agree who is master */
};

extern const struct arena arena_single, arena_tls, arena_sentinel, arena_cluster, arena_quorum;

/* Does it take place there? */
bool arena_has(const struct arena *arena, const struct fault *fault);
void arena_stop(struct run *run);
/* After each burst, when its faults have ended: make it whole, and wait until it is. */
void arena_mend(struct run *run, uint64_t *dice);
void arena_check(const struct arena *arena);   /* all verbs of its faults are known */

#define PROCESS .seat = SEAT_PROCESS
#define SERVER .seat = SEAT_SERVER
#define PROXY .seat = SEAT_PROXY
#define ASIDE .seat = SEAT_ASIDE
#define LASTS(from, to) .least = (from), .most = (to)
#define SHORT LASTS(5, 60)
#define LONG LASTS(120, 250)
#define ANY LASTS(30, 200)

#define FAULTS_OF_CONTENDERS(for_long) \
	{"kill", PROCESS, LASTS(0, 100), .begin = "kill_contender", .end = "replace_contender"}, \
	{"freeze", PROCESS, SHORT, .begin = "freeze_contender", .end = "thaw_contender"}, \
	{"freeze-long", PROCESS, for_long, .begin = "freeze_contender", .end = "thaw_contender"}

#define FLUSH_SCRIPTS "all; ?SCRIPT FLUSH"
#define KILL_NORMAL "all; ?CLIENT KILL TYPE normal USER " CREW_USER
#define KILL_PUBSUB "all; ?CLIENT KILL TYPE pubsub USER " CREW_USER
#define FAULTS_OF_ALL_SERVERS(seat, for_so_long) \
	{"script-flush", seat, for_so_long, .begin = FLUSH_SCRIPTS, .again = FLUSH_SCRIPTS}, \
	{"client-kill-normal", seat, for_so_long, .begin = KILL_NORMAL, .again = KILL_NORMAL}, \
	{"client-kill-pubsub", seat, for_so_long, .begin = KILL_PUBSUB, .again = KILL_PUBSUB}

void fault_play(struct run *run, struct blow *blow, const char *steps);   /* NULL: none */

uint64_t roll(struct blow *blow, uint64_t below);
int64_t between(struct step *s);   /* its two numbers, by chance */
unsigned the_chosen(const struct blow *blow);   /* the one server */
void remove_data(const struct server *server, const char *name);   /* a pattern of the shell */
void forget(const struct server *server);         /* the data of one that was killed */

/* What each server that keeps data has to know: who comes, and to keep it. Ended by NULL. */
#define ARGS_OF_SERVERS(fsync) \
	{"--appendonly", "yes", "--appendfsync", fsync, "--save", "", "--enable-debug-command", "yes", \
	 "--user", CREW_USER, "on", ">" CREW_PASSWORD, "~*", "&*", "+@all", NULL}
extern const char *const server_args[];
