/* Who writes keeps the laws of a lock that nobody reads. */
#include "tests/contract/laws.h"

LAWS_OF({.name = "write", .options = {LAW_OPTIONS(.mode = LEASH_WRITE), LAW_OPTIONS(.mode = LEASH_WRITE)},
         .holders = "ZCARD leash:{law}"},
        {.name = "fair write", .ordered = true, .holders = "ZCARD leash:{law}",
         .options = {LAW_OPTIONS(.mode = LEASH_WRITE, .fair = true), LAW_OPTIONS(.mode = LEASH_WRITE, .fair = true)}});
