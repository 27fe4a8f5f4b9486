/* Who reads, where others write, and who takes the only permit of a semaphore, keep the laws of a lock. */
#include "tests/contract/laws.h"

LAWS_OF({.name = "read", .options = {LAW_OPTIONS(.mode = LEASH_READ), LAW_OPTIONS(.mode = LEASH_WRITE)},
         .holders = "ZCARD leash:{law}"},
        {.name = "permit", .options = {LAW_OPTIONS(), LAW_OPTIONS()}, .permits = true, .ordered = true,
         .holders = "ZCARD leash:{law}"});
