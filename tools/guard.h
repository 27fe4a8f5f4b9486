/* The guard: a process between leash and CMD, which outlives leash and then kills all that descends from CMD. */
#ifndef LEASH_TOOLS_GUARD_H
#define LEASH_TOOLS_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

/* In a process that `leash` has just forked, with all signals blocked, before CMD is forked. False: leash is dead, or
 * errno says why. */
bool guard_begin(pid_t leash);

/* Then, with CMD as the only child: until CMD or leash has ended. Signals that stop CMD are written to `news`, each as
 * an int. `group` is CMD's process group, 0 if it has none of its own. */
_Noreturn void guard_keep(pid_t leash, pid_t cmd, pid_t group, int news);

/* Write one int to the pipe, by the guard or by CMD before its exec. */
void guard_tell(int news, int what);

#endif
