/* A parrot: a server that refuses one command, and repeats all of it while it does so, with whatever is in it. */
#ifndef LEASH_TEST_FAULT_PARROT_H
#define LEASH_TEST_FAULT_PARROT_H

#include "tests/support/fake.h"

/* The command; NULL: none. It may be another one at any time. */
extern _Atomic(const char *) parrot_repeats;

struct fake *parrot_start(void); /* fake_stop() ends it */

#endif
