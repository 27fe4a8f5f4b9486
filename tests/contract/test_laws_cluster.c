/* A cluster: locks there keep the laws, as they do at one server. */
#include "tests/contract/laws.h"

LAWS_IN(DEPLOYMENT_CLUSTER);
