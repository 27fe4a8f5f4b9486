/* Watches the hold of an outer run, which we work under: how long does it last? */
#ifndef LEASH_TOOLS_HOLDER_WATCH_H
#define LEASH_TOOLS_HOLDER_WATCH_H

#include "tools/cli.h"

#include <leash.h>

#include <stdint.h>

struct holding;
struct holding_outer;
struct stderr_writer;

struct holder_watch;

/* `outer` is what `look` of the holding said, asked at `asked_ns` (clock_boot_ns()); `lost_fd`, an eventfd, is written
 * to when the hold is lost. It and `holding` must live until holder_watch_end(). NULL: no memory, or no thread. */
struct holder_watch *holder_watch_new(struct stderr_writer *writer, struct holding *holding,
                                      const struct holding_outer *outer, int64_t asked_ns, int lost_fd);
int64_t holder_watch_remaining_ms(const struct holder_watch *watch); /* as leash_lock_remaining_ms() */
void holder_watch_end(struct holder_watch *watch);                   /* NULL is allowed */

#endif
