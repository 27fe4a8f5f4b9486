/* The fenced resource: what a lock is there to protect, by a fence as well. Beside it the same without a fence.
 *
 * There is one register for each lock, in a file of the run's folder, which all processes map. A write carries the fence of its
 * hold. The fenced register takes it only if no larger fence has been written before; an equal one is the same holder again. Its
 * twin takes everything, and counts a smaller fence that was written after a larger one: what a paused holder did to a resource
 * that trusts the lock alone.
 *
 * The value that a register holds is the fence itself, which says whose write it is. So a write is one compare-and-swap of 64
 * bits, and a writer who is killed or frozen anywhere leaves a register that is whole, and free. A value beside the fence could
 * not be had so cheaply: a writer that has raised the fence and is frozen before it stores the value would later store it over
 * that of a larger fence. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fenced;

struct fenced *fenced_create(const char *folder, size_t locks);   /* a new file in it, "registers"; one that is there is trouble */
struct fenced *fenced_open(const char *folder);                   /* what another process has created */
void fenced_close(struct fenced *registers);                      /* the file stays; NULL is allowed */

/* Write to the register of lock 0, 1, ..., and to its twin. False: it was refused. Processes and threads: any. */
bool fenced_write(struct fenced *registers, size_t lock, uint64_t fence);

/* The same by who has no fence, but permits: only that it was there is to be seen. */
void fenced_visit(struct fenced *registers, size_t lock);

uint64_t fenced_greatest(const struct fenced *registers, size_t lock);   /* fence that was taken; 0: none */

/* Over all locks. A write that is cut short by a SIGKILL may be missing. */
uint64_t fenced_refused(const struct fenced *registers);
uint64_t fenced_corrupted(const struct fenced *registers);               /* writes that harmed a twin */
