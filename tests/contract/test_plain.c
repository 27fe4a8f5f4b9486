/* Plain locks keep the laws. */
#include "tests/contract/laws.h"

LAWS_OF(.name = "plain", .options = {LAW_OPTIONS(), LAW_OPTIONS()});
