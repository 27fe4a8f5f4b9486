/* A kind that is added by one file and its Lua keeps the laws, as locks do. */
#include "tests/contract/laws.h"
#include "tests/kinds/plain.h"

LAWS_OF({.name = "plain kind", .options = {LAW_OPTIONS(), LAW_OPTIONS()},
         .open = plain_lock_new, .once = true, .holders = "EXISTS leash:{law}"});
