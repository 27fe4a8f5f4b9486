/* Plain locks keep the laws; and so do plain and fair clients that meet at one lock: in Redis both are the same. */
#include "tests/contract/laws.h"

LAWS_OF({.name = "plain", .options = {LAW_OPTIONS(), LAW_OPTIONS()}},
        {.name = "mixed", .options = {LAW_OPTIONS(), LAW_OPTIONS(.fair = true)}});
