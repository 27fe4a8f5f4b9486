/* Locks keep the laws for a user who may do no more than docs/deployments.md says; and nothing is denied to it. */
#include "tests/contract/laws.h"

#include <stdlib.h>

static enum deployment_kind
as_least(void)
{
	setenv("LEASH_TEST_USER", "least", 1);
	return deployment_chosen();
}

LAWS_IN(as_least());
