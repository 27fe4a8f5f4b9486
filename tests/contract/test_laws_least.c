/* Locks keep the laws for a user who may do no more than docs/deployments.md says; and nothing is denied to it. */
#include "tests/contract/laws.h"

#include <stdlib.h>

int
main(void)
{
	setenv("LEASH_TEST_USER", "least", 1);
	return laws_run_in(deployment_chosen());
}
