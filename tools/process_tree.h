/* The process tree: all descendants of this process, also in other process groups and sessions, and orphans. */
#ifndef LEASH_TOOLS_PROCESS_TREE_H
#define LEASH_TOOLS_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process_tree {
	pid_t *strangers; /* children of this process from before it executed leash: they and theirs are left out */
	size_t count;
};

/* What tree_signal() found. */
struct tree_found {
	size_t alive;      /* living descendants that we may signal */
	size_t forbidden;  /* living descendants of another user, which we may not signal */
	pid_t one_of_them; /* of the forbidden; 0: none */
	int hindered;      /* errno of a lack of memory or descriptors, which kept us from looking; 0: none */
};

/* From now on orphans among the descendants become our children. Before the first fork. False: errno says why. */
bool tree_begin(struct process_tree *tree);
void tree_end(struct process_tree *tree);

/* That child was reaped: its pid may be reused. */
void tree_reaped(struct process_tree *tree, pid_t pid);

/* Send `signal` to every living descendant; 0: only look. One that is forked meanwhile may be missed: look again. */
struct tree_found tree_signal(const struct process_tree *tree, int signal);

#endif
