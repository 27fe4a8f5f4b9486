/* Says with --verbose who holds what we wait for: a thread that asks seldom, as its connection has other work. */
#ifndef LEASH_TOOLS_HOLDER_REPORT_H
#define LEASH_TOOLS_HOLDER_REPORT_H

struct hold_set;
struct stderr_writer;

struct holder_report;

/* NULL: nothing will be said. */
struct holder_report *holder_report_new(struct stderr_writer *writer, const struct hold_set *set);

void holder_report_mute(struct holder_report *report); /* it says nothing more; does not block */
void holder_report_end(struct holder_report *report);  /* NULL is allowed, also above */

#endif
