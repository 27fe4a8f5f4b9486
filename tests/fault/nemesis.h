/* The nemesis: what a run consists of, for the files that it is made of.
 *
 *   nemesis.c           the program: the course of a run, its judgement (tests/judge/verdict.h), the command line
 *   nemesis_plan.c      which faults there will be: chance, repeatable by a seed
 *   nemesis_crew.c      the contenders (contender.c)
 *   nemesis_watch.c     the watchers, who note what each server is told and what is in it, and hear what sentinels do
 *   faults.h            what a fault is, and an arena: a deployment with all that befalls it
 *   faults.c            how a fault is played, and what happens to contenders and to servers of any arena
 *   faults_single.c ... one arena each, or two: its servers, and its faults
 *
 * One thread does all of it but the watching. */
#pragma once

#include "tests/judge/history.h"
#include "tests/support/node.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LOCKS = 9, CONTENDERS = 6, THREADS = 4, MAX_BLOWS = 3, MAX_SERVERS = 8, URI = 512 };

/* As whom the contenders log in; who watches and injures is somebody else. */
#define CREW_USER "contender"
#define CREW_PASSWORD "secret"

struct arena;
struct cluster;
struct crew;
struct fault;
struct fenced;
struct quorum;
struct sentinel_set;
struct watch;

/* Sentinels have given a master a successor, or in a cluster its replica has taken over. */
struct failover {
	int64_t since_ns;          /* not later than it began; or, of one to come, when it was ordered */
	int port;                  /* of the old master; 0: there is none to come */
};

struct run {
	char *folder;              /* of the histories, and of the registers */
	uint64_t seed;
	unsigned min_replicas;     /* of all locks */
	struct history *history;
	struct crew *crew;
	struct watch *watch;
	struct fenced *registers;

	/* the deployment; one of the four */
	const struct arena *arena;
	struct node alone;         /* the one server; `told` is its port if it speaks TLS */
	struct sentinel_set *sentinels;
	struct cluster *cluster;
	struct quorum *quorum;
	const struct node *nodes;  /* all that keep data, and after them the sentinels */
	unsigned count;            /* of those that keep data */
	const char *uri;           /* for contenders, without a login; NULL: there is one server */
	int64_t counts_ns[MAX_SERVERS];   /* of a quorum: from when on it counts again */
	bool still[MAX_SERVERS];   /* it was stopped by a fault, and does not answer */
	/* a master that was killed, stopped or passed over, and has not joined its successor yet; -1: none */
	int ousted;
	struct failover ordered;   /* by the last fault that ousts a master, until it is seen */

	int64_t calm_ns;           /* the last contender was started or thawed then */
	size_t contenders, killed; /* that were started; of those */

	/* what is said of it in the end */
	int64_t begun, slowest_ns;
	unsigned *counts;          /* of each fault */
	size_t bursts;
	_Atomic size_t renewals;   /* that were seen */
};

/* ---- nemesis_plan.c ---- */

/* One fault of a plan. */
struct blow {
	const struct fault *fault;
	unsigned target;           /* a contender, if it is about one */
	int64_t from_ms, for_ms;   /* since the burst began */
	uint64_t dice;             /* for what else is left to chance; not 0 */

	/* while it lasts */
	bool begun, ended;
	int64_t again_ns;
	char words[40];            /* more of what it is; the fault's own, as are the next three */
	int64_t linger_ms;         /* after its end: no other burst may begin */
	unsigned chosen;           /* one bit for each server or lock that it is about */
	void *state;
};

/* Blows that overlap, and the quiet time after them. */
struct burst {
	struct blow blows[MAX_BLOWS];
	unsigned count;
	int64_t quiet_ms;          /* at least */
};

struct plan;

_Noreturn void misused(const char *what, const char *word);   /* says so, and ends the program */
/* `only`: names with commas between them, or NULL for all. */
struct plan *plan_new(const struct arena *arena, uint64_t seed, char *only);
void plan_free(struct plan *plan);
void plan_next(struct plan *plan, struct burst *burst);
int64_t burst_ms(const struct burst *burst);   /* as long as it is meant to last, with its quiet time */

uint64_t dice_roll(uint64_t *dice, uint64_t below);

/* ---- nemesis_crew.c ---- */

struct crew *crew_start(struct run *run);
struct proxy *crew_proxy(struct crew *crew, unsigned number);   /* in an arena of one server */
void crew_kill(struct crew *crew, unsigned number);
void crew_replace(struct crew *crew, unsigned number);
void crew_freeze(struct crew *crew, unsigned number);
void crew_thaw(struct crew *crew, unsigned number);
unsigned crew_failures(struct crew *crew);     /* how many have ended by themselves so far; each was told to stderr */
unsigned crew_finish(struct crew *crew);       /* tell them to end, and wait; how many did not end, or not well */
void crew_free(struct crew *crew);

/* ---- nemesis_watch.c ---- */

struct watch *watch_start(struct run *run);
/* May a renewal be executed long after it was sent? Then it is noted as a late one. */
void watch_delays(struct watch *watch, bool yes);
void watch_left(struct watch *watch);   /* note what keys are left; contenders that were killed may still be known by name */
bool watch_failover(struct watch *watch, struct failover *next);   /* false: there is none that was not told yet */
/* In a cluster: has the server been asked since then whom it follows? */
bool watch_has_looked(const struct watch *watch, unsigned server, int64_t since_ns);
void watch_stop(struct watch *watch);
