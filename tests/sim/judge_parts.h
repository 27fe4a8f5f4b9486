/* What the files of the judge have of each other. judge.c uses both others, judge_share.c and meddle.c
 * use judge_facts.c. */
#pragma once

#include "tests/sim/faults.h"
#include "tests/sim/judge.h"

/* ---- judge_facts.c: what is known, of locks and of permits ---- */

/* Visit all people of clients that live. */
#define each_person(p) \
	for (struct sim_client *c_ = sim_clients; c_ < sim_clients + sim_client_count; c_++) \
		for (struct sim_person *p = c_->people; p < c_->people + SIM_THREADS && !c_->process.dead; p++)

static inline int64_t
larger_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

extern int64_t judge_doubted_until[SIM_NAMES]; /* who had it when data was lost may have it still, beside another one */
extern int64_t judge_lost_until[SIM_HOSTS];    /* whoever had what that server has lost may still count on it */
bool judge_is_doubted(int name);
void judge_doubt(int name, int64_t ms);        /* for so long two may have it, rightly */

bool judge_waits_for(const struct sim_person *person, int name); /* and does not go yet */
int64_t judge_struck_until(void);              /* from then on nothing has been wrong */
bool judge_is_settled(int64_t more);           /* for so long, once all have dealt with the last fault */
int64_t judge_most_free(int name);                /* how long nobody may have it, though somebody waits */
int64_t judge_grace(void);                     /* how long a call may take more than it should */

const struct lsh_lock *judge_lock_in(const struct sim_client *client, int lock); /* NULL: it is closed */
const struct lsh_hold *judge_hold_of(const struct sim_person *person, int name); /* of a lock; NULL: it has none */
/* Whose token it is: of one that is open, and does not close; or NULL. */
const struct sim_client *judge_owner_of(const char *token);

int64_t judge_us_at(const struct sim_instance *instance);
/* The key of that name there, or with a suffix another one of its keys; or NULL. */
const struct sim_key *judge_key_at(const struct sim_instance *instance, int name, const char *suffix);
const struct sim_key *judge_key_in(const struct sim_keyspace *older, const struct sim_instance *instance, int name,
                                   const char *suffix);

/* ---- judge_share.c ---- */

bool judge_is_shared(int name);                /* permits, or a read-write lock */
void judge_look_for_passed(int name);
void judge_permits_look(void);
void judge_share_granted(const struct sim_person *person);
const struct sim_person *judge_permits_told(const leash_event *event); /* who has them; or NULL */
size_t judge_share_out(const struct sim_instance *instance, int name);
int64_t judge_share_kept(const struct sim_instance *instance, int name, const char *token);
/* For so long a server keeps what the person has, or has lost it, and lets nobody have it. */
int64_t judge_permits_kept(const struct sim_person *person);
