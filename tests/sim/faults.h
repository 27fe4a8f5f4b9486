/* The faults: what goes wrong in a simulated world, and how a world is drawn from its seed. */
#ifndef LEASH_TEST_SIM_FAULTS_H
#define LEASH_TEST_SIM_FAULTS_H

#include "tests/sim/judge.h"
#include "tests/sim/site.h"

enum sim_fault {
	SIM_CUT, SIM_DARK, SIM_HOLE, SIM_SLOW_SERVER, SIM_SLOW_CLIENT, SIM_RESTART, SIM_LOSS, SIM_ROLLBACK, SIM_FAILOVER,
	SIM_FORGET, SIM_STALL, SIM_DEATH, SIM_REOPEN, SIM_DRIFT, SIM_MOVE, SIM_FENCE,
	SIM_ECHO, SIM_ERROR, SIM_REFUSE, SIM_SHORT, SIM_FAULTS,
};
extern const char *const sim_fault_names[SIM_FAULTS];
extern bool sim_without[SIM_FAULTS]; /* what never happens */

extern bool sim_has_struck[SIM_FAULTS];
extern int64_t sim_struck_until; /* from then on nothing has been wrong, but that clients stood still */

void sim_faults_draw(enum sim_deployment deployment); /* the world: weather, terms, site; no people yet */
void sim_faults_begin(void);
void sim_faults_end(void);   /* nothing goes wrong any more, and what did is mended */

#endif
