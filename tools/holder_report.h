/* Says who holds what we wait for, and our place in the queue, also to a service manager: a thread that asks seldom, as
 * its connection has other work. */
#ifndef LEASH_TOOLS_HOLDER_REPORT_H
#define LEASH_TOOLS_HOLDER_REPORT_H

#include <stdbool.h>

struct hold_set;
struct notify;
struct stderr_writer;

struct holder_report;

/* To `writer`, and to `notify`; each may be NULL. `soon`: after 0.3 s, not after 1 s. NULL: nothing will be said. */
struct holder_report *
holder_report_new(struct stderr_writer *writer, struct notify *notify, const struct hold_set *set, bool soon);

void holder_report_mute(struct holder_report *report); /* it says nothing more; does not block */
void holder_report_end(struct holder_report *report);  /* NULL is allowed, also above */

#endif
