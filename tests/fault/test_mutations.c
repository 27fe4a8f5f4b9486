/* Rules that keep a lock exclusive, each broken on purpose (lib/base/mutation.h), let loose in the storm of simulation.c.
 *
 * No test fails by that: a storm may be lucky, and is, now and then. What is told is whether the witness caught it, and how soon.
 * That each is caught for certain, and by which test, is for test_defences.c.
 *
 * LEASH_TEST_MUTATION_SECONDS (8) is how long each storm lasts, unless it is over sooner. */
#include "base/mutation.h"
#include "tests/fault/simulation.h"
#include "tests/support/test.h"

static void
mutate(enum lsh_mutation mutation)
{
	char number[16];

	snprintf(number, sizeof number, "%d", (int)mutation);
	setenv("LEASH_MUTATION", number, 1);
}

static void
storm(bool until_caught, struct simulated *simulated)
{
	struct simulation simulation = {
		.seconds = simulation_seconds("LEASH_TEST_MUTATION_SECONDS", 8),
		.seed = simulation_seed(),
		.until_caught = until_caught,
	};

	simulation_run(&simulation, simulated);
}

SENTENCE(without_a_mutation_the_witness_of_a_storm_is_silent)
{
	struct simulated simulated;

	mutate(LSH_NO_MUTATION);
	storm(false, &simulated);
	simulation_print(&simulated);
	assert_int_equal(simulated.violations, 0);
	assert_int_equal(simulated.keys_left, 0);
}

SENTENCE(with_a_mutation_the_witness_of_a_storm_may_speak)
{
	static const struct {
		enum lsh_mutation mutation;
		const char *what;
	} wild[] = {
		{LSH_SENT_WORDS_COUNT, "claims count from the last word sent"},
		{LSH_CLAIMS_COUNT_FROM_NOW, "claims count from the arrival of the message"},
		{LSH_TOKENS_COME_BACK, "a token is asked again after \"unknown\""},
		{LSH_REPEATED_ASKS_COUNT, "claims count from words although it was asked twice"},
	};

	for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
		struct simulated simulated;

		mutate(wild[i].mutation);
		storm(true, &simulated);
		if (simulated.violations > 0)
			printf("# %-52s caught after %.1f s\n", wild[i].what, simulated.caught_s);
		else
			printf("# %-52s not caught in %.1f s\n", wild[i].what, simulated.lasted_s);
	}
	mutate(LSH_NO_MUTATION);
}
