/* Gates: people meet at a barrier, arrive at latches and wait for them; and what must be true of that. */
#pragma once

#include "tests/sim/people.h"

/* At a barrier, or a latch of this minute. Does not return before that is over. */
void sim_use_gate(struct sim_person *person);
