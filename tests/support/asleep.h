/* Who sleeps, by /proc: whoever has something to do, and only waits for a CPU, does not. */
#ifndef LEASH_TEST_ASLEEP_H
#define LEASH_TEST_ASLEEP_H

#include <stdbool.h>
#include <sys/types.h>

/* Does the thread sleep, or is it gone? By its number, or that of a process for its first one. */
bool asleep(pid_t thread);

/* How often it went to sleep so far, where it sleeps now; 0: it does not. */
unsigned long asleep_times(pid_t thread);

/* Do all threads of this process, but the one that asks? */
bool asleep_others(void);

#endif
