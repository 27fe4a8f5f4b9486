/* The clocks of this machine, and sleeping. */
#ifndef LEASH_TOOLS_CLOCK_H
#define LEASH_TOOLS_CLOCK_H

#include <stdint.h>

#define MS INT64_C(1000000) /* in ns */

int64_t clock_wall_ms(void);   /* since 1970: what people read */
int64_t clock_boot_ns(void);   /* it runs while the machine sleeps, as leases do */
int64_t clock_steady_ns(void); /* it stands while the machine sleeps: for measuring */

/* Less if a signal comes. */
void clock_sleep_ms(int64_t ms);

#endif
