/* The clock that everything in leash is measured by: CLOCK_BOOTTIME, which goes on while the machine is suspended,
 * so that a machine that wakes up knows that its leases have run out. */
#ifndef LSH_BASE_CLOCK_H
#define LSH_BASE_CLOCK_H

#include <stdint.h>

#define LSH_US INT64_C(1000)       /* in ns */
#define LSH_MS INT64_C(1000000)    /* in ns */
#define LSH_S  INT64_C(1000000000) /* in ns */

#define LSH_NEVER INT64_MAX /* as a moment: after all others */

/* Now, in ns; LSH_NEVER if the clock cannot be read: then every lease counts as over, which is the safe side. */
int64_t lsh_now_ns(void);

/* The wall clock, in us since 1970; 0 if it cannot be read. For what is compared with other machines. */
int64_t lsh_wall_us(void);

/* The moment `ns`, or `ms`, after `now`; LSH_NEVER where that is out of range. If `now` could not be read it is 0,
 * which is past: a wait ends, and what is due is done, also when the clock can be read again. */
int64_t lsh_after(int64_t now, int64_t ns);
int64_t lsh_after_ms(int64_t now, int64_t ms);

struct timespec;

/* How long to sleep before looking whether it is `until`: what is left, but 5 s at most. The kernel's timeouts stand
 * still while the machine is suspended, so one long sleep would last that much too long. NULL: for LSH_NEVER. */
struct timespec *lsh_nap(struct timespec *nap, int64_t until);

/* Let a timerfd of CLOCK_BOOTTIME be readable from `at` on; LSH_NEVER: not at all. What has expired so far is taken
 * back. */
void lsh_alarm_set(int fd, int64_t at);

#endif
