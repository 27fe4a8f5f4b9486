/* The faults: what goes wrong in a simulated world, and how a world is drawn from its seed. */
#pragma once

#include "tests/sim/judge.h"
#include "tests/sim/site.h"

/* Its name, what --without calls it, how often it comes, whether in a rough climate only, and what happens. */
#define SIM_FAULT_LIST(X) \
	X(CUT, "cut", 10, false, between("all wires break", sim_cut)) \
	X(DARK, "dark", 10, false, darken()) \
	X(HOLE, "hole", 3, false, between("all that is said is lost from now on", sim_forget_wires)) \
	X(SLOW_SERVER, "slow-server", 8, false, slow_server()) \
	X(SLOW_CLIENT, "slow-client", 8, false, slow_client()) \
	X(RESTART, "restart", 4, false, restart(SIM_KEPT)) \
	X(LOSS, "loss", 4, true, restart(SIM_LOST)) \
	X(ROLLBACK, "rollback", 4, true, restart(SIM_SAVED)) \
	X(FAILOVER, "failover", 4, false, fail_over()) \
	X(FORGET, "forget", 3, false, forget()) \
	X(STALL, "stall", 8, false, stall()) \
	X(DEATH, "death", 1, true, die()) \
	X(REOPEN, "reopen", 2, false, some_client()->leaves = true) \
	X(DRIFT, "drift", 2, false, drift()) \
	X(MOVE, "move", 4, false, move()) \
	X(FENCE, "fence", 2, false, misnumber()) \
	X(ECHO, "echo", 4, false, between("what the server said last comes once more", sim_repeat)) \
	X(ERROR, "error", 2, true, err()) \
	X(REFUSE, "refuse", 3, false, refuse()) \
	X(SHORT, "short", 3, false, run_short()) \
	X(JAM, "jam", 0, false, jam())

enum sim_fault {
#define X(id, ...) SIM_##id,
	SIM_FAULT_LIST(X)
#undef X
	SIM_FAULTS
};
extern const char *const sim_fault_names[SIM_FAULTS];
extern bool sim_without[SIM_FAULTS]; /* what never happens */

extern bool sim_has_struck[SIM_FAULTS];
extern int64_t sim_struck_until; /* from then on nothing has been wrong, but that clients stood still */

void sim_faults_draw(enum sim_deployment deployment); /* the world: weather, terms, site; no people yet */
void sim_faults_vary(uint64_t seed); /* without chance, so that no other world becomes another one */
void sim_faults_begin(void);
void sim_faults_end(void);   /* nothing goes wrong any more, and what did is mended */

/* ---- meddle.c ---- */

void sim_meddle(uint64_t turn); /* somebody else has locks, deletes them, or says that they were given away */
bool sim_java_has(int lock);    /* a lock of Redisson's */
