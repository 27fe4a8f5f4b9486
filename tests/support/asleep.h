/* Who runs, sleeps, stands still or is gone, by /proc: whoever has something to do, and only waits for a CPU, does not. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* R, S, T, Z, as in proc(5), of a thread by its number, or of a process' first one; X: it is gone. */
char state_of(pid_t thread);
bool asleep(pid_t thread); /* does the thread sleep, or is it gone? */
unsigned long asleep_times(pid_t thread); /* how often it went to sleep so far, where it sleeps now; 0: it does not */
bool asleep_others(void); /* do all threads of this process, but the one that asks? */
