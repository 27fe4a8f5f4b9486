/* Forked children: what is their parent's they cannot use, and they say nothing over its connections. A real fork, in
 * which nothing of the parent's world goes on. */
#pragma once

#include <stdbool.h>

struct sim_client;

extern bool sim_is_child;

/* Between two events. Ends where the child sees a breach. */
void sim_fork(struct sim_client *client);
