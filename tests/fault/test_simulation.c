/* A storm over six clients: late, lost and doubled commands and messages, connections that end, processes that stand still. See
 * simulation.c. LEASH_TEST_SIMULATION_SECONDS (20) and LEASH_TEST_SEED change it. */
#include "tests/fault/simulation.h"
#include "tests/support/test.h"

SENTENCE(in_a_storm_no_two_holds_are_valid_at_once_and_after_it_all_get_the_lock_and_nothing_is_left)
{
	struct simulation simulation = {
		.seconds = simulation_seconds("LEASH_TEST_SIMULATION_SECONDS", 20),
		.seed = simulation_seed(),
	};
	struct simulated simulated;

	simulation_run(&simulation, &simulated);
	simulation_print(&simulated);
	assert_int_equal(simulated.violations, 0);
	assert_int_equal(simulated.keys_left, 0);
	/* it did storm, and they did work */
	assert_true((double)simulated.holds > simulated.lasted_s);
	assert_true(simulated.late > 0 && simulated.cut > 0 && simulated.freezes > 0);
}
