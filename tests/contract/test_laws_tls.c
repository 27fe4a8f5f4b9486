/* One server that speaks TLS: locks there keep the laws, as they do at one server. */
#include "tests/contract/laws.h"

LAWS_IN(DEPLOYMENT_TLS);
