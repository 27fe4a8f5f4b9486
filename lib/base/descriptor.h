/* Descriptors of leash: which ones are open, so that a forked child can close its copies of all of them.
 *
 * None of them is 0, 1 or 2. A program that was started without its standard streams would print into ours, or read
 * from it. Threads: any. */
#ifndef LSH_BASE_DESCRIPTOR_H
#define LSH_BASE_DESCRIPTOR_H

/* Take `fd`, which was opened a moment ago; if it is 0, 1 or 2, it is closed, and this returns a copy that is none of
 * them. -1, of which errno says why, stays -1; so does a lack of memory or descriptors. */
int lsh_descriptor_take(int fd);

/* Close one that was taken; -1 is allowed. */
void lsh_descriptor_close(int fd);

/* In a forked child: close all that were taken before the fork, whatever the parent's threads were doing with them. */
void lsh_descriptor_close_inherited(void);

#endif
