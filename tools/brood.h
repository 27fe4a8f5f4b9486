/* The brood: every process that descends from this one, wherever it went: other process groups, other sessions, orphans. */
#ifndef LEASH_TOOLS_BROOD_H
#define LEASH_TOOLS_BROOD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct brood {
	pid_t *strangers; /* children that came with this process when it was made leash by an exec; and all below them */
	size_t count;
};

/* What brood_signal() found. */
struct brood_found {
	size_t alive;      /* descendants that live, of those that may be signaled */
	size_t forbidden;  /* those that live and may not be: another user's */
	pid_t one_of_them; /* of the forbidden; 0: none */
	int hindered;      /* errno: for want of memory or descriptors nobody could be looked for; 0: there was no lack */
};

/* From now on orphans among the descendants become our children instead of init's. Before the first child. False: errno says why. */
bool brood_begin(struct brood *brood);
void brood_end(struct brood *brood);

/* That child was reaped: its number may be another's from now on. */
void brood_reaped(struct brood *brood, pid_t pid);

/* Send `signal` to every living descendant but those in process group `spared` (0: none is spared); 0: only look. Who forks at this very
 * moment may be missed: look again. */
struct brood_found brood_signal(const struct brood *brood, int signal, pid_t spared);

#endif
