/* People: clients, and the threads in them that acquire and release locks and permits by the public interface. */
#pragma once

#include "tests/sim/net.h"

#include <leash/client.h>
#include <leash/condition.h>
#include <leash/inspect.h>
#include <leash/leader.h>
#include <leash/lock.h>
#include <leash/loop_kinds.h>
#include <leash/multi.h>
#include <leash/owner.h>
#include <leash/readwrite.h>
#include <leash/semaphore.h>
#include <leash/takeover.h>

/* What has a name: locks, and behind them the semaphore. */
enum { SIM_LOCKS = 3, SIM_PERMITS = SIM_LOCKS, SIM_NAMES, SIM_THREADS = 3 };

/* How the world is. */
struct sim_terms {
	int clients, threads, locks;  /* threads of each client */
	int64_t lease_ms, timeout_ms, guard_ms, min_replicas;
	int64_t longest_ms;           /* of all leases */
	int64_t wait_ms;              /* the longest wait */
	bool breaks, limits;          /* people break locks; some have max_hold_ms or alive_ms, or do not renew */
	bool fsynced;
	bool sets;                    /* people acquire all locks at once, too */
	bool forks;                   /* clients have forked children */
	bool meddles;                 /* others use the servers, too */
	bool leads;                   /* who has a lock says so, and people watch who that is */
	int parties;                  /* of gates, at which people meet; 0: there are none */
	bool loops;                   /* some people have a loop to tell them what came of it */
	bool chains;                  /* and they use it for sets, and acquire anew where they are told of a release */
	bool nowait;                  /* some people do not wait for what they release */
	bool conditions;              /* who holds a lock waits for a condition of it, or signals */
	bool stands;                  /* and those who have a loop use it for that */
	int permits;                  /* of the semaphore; 0: there is none */
	bool fair[SIM_LOCKS], alone[SIM_LOCKS]; /* alone: not handed off */
	bool readwrite[SIM_NAMES];    /* it is a read-write lock, */
	bool redisson[SIM_NAMES];     /* or Redisson's, which a service in Java uses, too */
};
extern struct sim_terms sim_terms;

static inline bool
sim_is_mutex(int lock)
{
	return !sim_terms.readwrite[lock] && !sim_terms.redisson[lock];
}

/* How often people do what. */
struct sim_habits {
	double at_once, cancels, own_lease; /* acquires that do not wait, that are canceled, with a lease of their own */
	double nests, extends, looks;       /* looks: inspect, who waits, scan */
	double owns;                        /* people who hold for an owner of their own, and release in another thread */
	double outlasts, long_holds;        /* holds to the end of their lease; for up to two leases */
	double rests;                       /* of up to 2 s, between two holds */
};
extern struct sim_habits sim_habits;

struct sim_client;

/* A thread of a client. */
struct sim_person {
	struct sim_client *client;
	int number;
	leash_lock *handles[SIM_LOCKS];
	leash_lock *others[SIM_LOCKS]; /* of a read-write lock: of the mode that it does not use now; else NULL */
	bool reads[SIM_NAMES]; /* by `handles` */
	leash_multi *set;      /* of all of them; or NULL */
	leash_watch *watch;    /* of the first lock; or NULL */
	char led_by[LEASH_TOKEN_MAX]; /* what that told last: a token, or ""; or "?" */
	leash_condition *conditions[SIM_LOCKS]; /* or NULL */
	bool meets;            /* at the barrier, */
	int met;               /* where so many were at once since it came */
	leash_semaphore *semaphore; /* or NULL */
	leash_permit *permit;  /* that it has, and does not give back yet; or NULL */
	int64_t count;         /* so many, or it waits for them */
	bool lost;             /* that they are it was told */
	char tokens[SIM_NAMES][LEASH_TOKEN_MAX]; /* theirs, and of what it has of read-write locks */
	int64_t passed_since;  /* who came later has got what it waits for; 0: nobody has */
	bool waits;            /* in an acquire of `lock`, */
	int lock;
	int64_t waits_since, waits_until;
	int64_t waited_until;  /* in its last acquire, */
	int64_t lease_ms;      /* which was for a lease of so long */
	int64_t permit_ms;     /* the lease of its permits; 0: they are not renewed */
	int64_t permit_until;  /* it counts on them, or did so */
	int64_t most_ms[SIM_NAMES]; /* max_hold_ms of its handles */
	int64_t got_at[SIM_NAMES];  /* it has had the lock at the latest since then; 0: it has it not */
	bool limited;          /* a handle has max_hold_ms, or does not renew */
	leash_owner *own;      /* for whom it holds; NULL: for its thread */
	uint64_t owner;        /* which the library knows as this; */
	bool ended;            /* that has ended, perhaps in the middle of a hold */
	bool nowait;           /* of some handles it does not wait for a release */
	bool loops;            /* it begins what it does, and is told; */
	bool told;             /* it was */
	int links;             /* of a chain (acts.c): still to go; */
	uint64_t chain_fence;  /* and of its present hold */
	bool chain_was_last;
	leash_status said;     /* what its last call said */
	leash_error error;
};

struct sim_client {
	struct sim_process process; /* first */
	leash_client *leash;        /* NULL: it is not open */
	leash_lock *watched[SIM_LOCKS]; /* a handle of each lock, for the judge; while it is open */
	struct sim_person people[SIM_THREADS];
	int living;                 /* people that have not gone home */
	bool dispatches;            /* a thread of it tells people what came of what they began */
	bool leaves;                /* people go home, and it closes; unless all leave it opens again */
	bool gone;                  /* for good */
	const struct sim_client *heir_of; /* one that has died: what that held it adopts; or NULL */
	bool adopted[SIM_LOCKS];    /* likewise: or is about to. Where its release got lost it would find it once more */
	bool gave_up[SIM_NAMES];    /* the release of its last hold has begun */
	uint64_t fences[SIM_LOCKS]; /* of the last hold, since it was opened; 0: there was none */
	int64_t lease_ms[SIM_NAMES]; /* of the last acquire that succeeded, or extension; 0: it is not renewed */
};
extern struct sim_client sim_clients[SIM_PROCESSES];
extern int sim_client_count;

extern const char *const sim_names[SIM_NAMES];
int64_t sim_left_ms(const struct sim_person *person, int name); /* of what it holds of that */

void sim_people_arrive(void);
void sim_people_leave(void);     /* all clients close for good */
bool sim_people_are_gone(void);
void sim_client_die(struct sim_client *client); /* another one takes its place */

/* A child is forked between two events: a real one, in which nothing of the parent's world goes on. What is its
 * parent's it cannot use, and it says nothing over its connections. Ends where the child sees a breach. */
void sim_fork(struct sim_client *client);

extern uint64_t sim_acquired, sim_acts; /* so many acquires succeeded; so many calls were made */

/* ---- acts.c: what a person does with a lock, a set, permits and who leads; the judge is told what came of it ---- */

/* Acquire, do this and that with it, and release; or end in the middle of it. Does not return before that. */
void sim_use_lock(struct sim_person *person, int lock);
/* By a loop: where it is told, and how it waits for that. It was begun, or that was refused; the end is in p->said. */
void sim_be_told(void *person, leash_status status, const leash_error *err);
void sim_await_told(struct sim_person *person, leash_status begun);
void sim_use_set(struct sim_person *person);
void sim_use_chain(struct sim_person *person, int lock); /* it has a loop: acquire and release, some times */
void sim_use_permits(struct sim_person *person);
void sim_use_gate(struct sim_person *person); /* gates.c: at a barrier, or a latch of this minute */

/* Go on with what a client that died had, if it still has it. Likewise. */
void sim_adopt(struct sim_person *person, int lock);

void sim_break(struct sim_person *person, int lock);
void sim_look(struct sim_person *person, int lock);
void sim_watch(struct sim_person *person); /* the next change of who leads */
