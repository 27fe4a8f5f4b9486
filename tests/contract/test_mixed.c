/* Plain and fair clients that meet at one lock keep the laws: in Redis both are the same. */
#include "tests/contract/laws.h"

LAWS_OF(.name = "mixed", .options = {LAW_OPTIONS(), LAW_OPTIONS(.fair = true)});
