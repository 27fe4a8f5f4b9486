/* Descriptors of leash: none of them is 0, 1 or 2. A program that was started without its standard streams would
 * print into ours, or read from it. */
#ifndef LSH_BASE_DESCRIPTOR_H
#define LSH_BASE_DESCRIPTOR_H

/* `fd`, which was opened a moment ago; if it is one of those, it is closed, and this is a copy of it that is none.
 * -1, of which errno says why, stays -1. */
int lsh_descriptor_lift(int fd);

#endif
