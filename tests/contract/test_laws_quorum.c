/* A quorum of five servers: locks there keep the laws, as they do at one server. */
#include "tests/contract/laws.h"

int
main(void)
{
	return laws_run_in(DEPLOYMENT_QUORUM);
}
