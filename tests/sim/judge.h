/* The judge: what may never be, whatever goes wrong. It goes by what people are told, by what servers have, and by what
 * clients count on; and looks at what is left when all have gone. */
#pragma once

#include "tests/sim/people.h"

#include <leash/event.h>

/* How much goes wrong. CALM: nothing. */
enum sim_climate { SIM_CALM, SIM_MILD, SIM_ROUGH };
extern enum sim_climate sim_climate;

#define SIM_FAR_US (INT64_C(364) * 86400 * 1000000) /* no fence is so far ahead of the clocks */

struct lsh_arg;
struct lsh_message;
struct sim_instance;

const char *sim_judge_key(int lock);

void sim_judge_look(void); /* after each step */
void sim_judge_serves(const struct sim_instance *instance); /* it is about to execute a command */
void sim_judge_served(struct sim_instance *instance); /* it has done so */
/* Likewise, and answered: whom did it let in by that, of those who share? */
void sim_judge_let_in(const struct sim_instance *n, const struct lsh_arg *args, const struct lsh_message *answer);

/* Of each place in the queue of a lock: whose it is, and where that is told. */
typedef void sim_visit_place(struct sim_instance *instance, int lock, const char *token, const char *channel);
void sim_judge_each_place(struct sim_instance *instance, int lock, sim_visit_place *visit);

/* What a person was told, by `said` and `error`; but by an acquire, or what is one, `status`. */
void sim_judge_acquired(const struct sim_person *person, leash_status status, bool canceled);
/* Nobody else has got it since, but to read with who reads; UINT64_MAX: that is not known. */
bool sim_judge_is_last(int lock, uint64_t fence, bool reads);
void sim_judge_released(const struct sim_person *person, int lock, uint64_t fence, bool was_last);
void sim_judge_proclaimed(const struct sim_person *person, int lock); /* the token that it has */
/* It was told who leads by the first lock, or waited in vain; it may have done so for `wait_ms` since it began. */
void sim_judge_watched(const struct sim_person *person, const leash_leader *leader, int64_t began, int64_t wait_ms);
/* It was upgraded, or the last write of it was released. Whose fence is the one that it `had` goes on with that, though
 * it be smaller than others: it was adopted. */
void sim_judge_traded(const struct sim_person *person, int lock, uint64_t had);
void sim_judge_waited(const struct sim_person *person, int lock); /* for a signal, or said one */
void sim_judge_broken(int lock);      /* now, or before */
bool sim_judge_is_of(const char *token, const struct sim_client *client);
void sim_judge_lost(int lock, const char *why); /* although its lease lasts */
void sim_judge_extended(const struct sim_person *person, int lock, int64_t began, int64_t lease_ms);
/* Has every server of a quorum given its vote to one token? One that comes back meanwhile may hide it from a scan. */
bool sim_judge_is_everywhere(int lock);

/* `holds`: before and after it looked; `seen`: the server says so, too. */
void sim_judge_looked(const struct sim_person *person, int lock, bool holds, bool seen);
void sim_judge_unopened(const struct sim_client *client, leash_status status, const leash_error *err);
void sim_judge_closed(const struct sim_client *client);
void sim_judge_told(void *client, const leash_event *event);
void sim_judge_told_person(void *person, const leash_event *event); /* of a read-write lock */

void sim_judge_went_back(const struct sim_instance *instance); /* it has older data now */
void sim_judge_cut_off(int64_t ns); /* a server hears nothing of a client for so long */
void sim_judge_data_lost(const struct sim_instance *instance, bool is_guarded); /* what it granted it may grant again */
void sim_judge_took_over(const struct sim_instance *instance, const struct sim_instance *from); /* with its losses */
const char *sim_judge_last_fence(int lock); /* that anybody has got, as servers have it */
void sim_judge_end(void);             /* all have gone */
