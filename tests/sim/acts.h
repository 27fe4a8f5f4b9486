/* Acts: what a person does with a lock, a set, permits and who leads. Each tells the judge what came of it. */
#pragma once

#include "tests/sim/people.h"

/* Acquire, do this and that with it, and release; or end in the middle of it. Does not return before that. */
void sim_use_lock(struct sim_person *person, int lock);
void sim_use_set(struct sim_person *person);
void sim_use_permits(struct sim_person *person);

/* Go on with what a client that died had, if it still has it. Likewise. */
void sim_adopt(struct sim_person *person, int lock);

void sim_break(struct sim_person *person, int lock);
void sim_look(struct sim_person *person, int lock);
void sim_watch(struct sim_person *person); /* the next change of who leads */
