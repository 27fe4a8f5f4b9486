/* Threads that look at a lock which another process holds. */
#ifndef LEASH_TOOLS_HOLDER_WATCH_H
#define LEASH_TOOLS_HOLDER_WATCH_H

#include "tools/cli.h"

#include <leash.h>

#include <stdint.h>

struct holding;
struct stderr_writer;

/* Watches the hold of an outer run, which we work under: how long does it last? */
struct holder_watch;

/* `info` is what leash_lock_inspect() said, asked at `asked_ns` (clock_boot_ns()); `lost_fd`, an eventfd, is written to
 * when the hold is lost. It and `holding` must live until holder_watch_end(). NULL: no memory, or no thread. */
struct holder_watch *holder_watch_new(struct stderr_writer *writer, const struct holding *holding,
                                      const leash_lock_info *info, int64_t asked_ns, int lost_fd);
int64_t holder_watch_remaining_ms(const struct holder_watch *watch); /* as leash_lock_remaining_ms() */
void holder_watch_end(struct holder_watch *watch);                   /* NULL is allowed */

/* Says with --verbose who holds the lock that we wait for. */
struct holder_report;

/* NULL: nothing will be said. */
struct holder_report *holder_report_new(struct stderr_writer *writer, const struct holding *holding);

void holder_report_mute(struct holder_report *report); /* it says nothing more; does not block */
void holder_report_end(struct holder_report *report);  /* NULL is allowed, also above */

#endif
