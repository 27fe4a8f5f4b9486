/* How late the machine is while something is timed: a few threads that do nothing but sleep, and look how much later they wake.
 *
 * A limit says what leash may take; what even a sleeper is late comes on top, several times over, because what is timed needs several
 * threads and processes to be run one after the other. On a quiet machine that is nothing. */
#pragma once

#include <stdint.h>

void lag_begin(void);    /* by one thread of the process at a time */
int64_t lag_end(void);   /* the allowance, in ns: assert_true(took < 100 * MS + lag_end()) */
