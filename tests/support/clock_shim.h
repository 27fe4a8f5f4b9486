/* Clocks that a test sets: of a server that runs, or of a client's process.
 *
 * The shim stands before libc: clock_gettime, gettimeofday and time of the process that it is in say what the true clocks say,
 * changed as a page asks that the test shares with it. It comes to a process in one of two ways:
 *
 *   preloaded     clock_shim.so, with the page's file named by $LEASH_CLOCK_PAGE: for servers, see server_start_clocked
 *   linked in     clock_shim.c among the sources of a test program, whose children call clock_shim_use(): for clients
 *
 * The kernel has no part in it: whoever sleeps, sleeps by true time. A timerfd that is set to a moment by a clock of the shim
 * is set to the true moment at which that clock, as it goes now, will say so. Other absolute deadlines are not translated. */
#ifndef LEASH_TEST_CLOCK_SHIM_H
#define LEASH_TEST_CLOCK_SHIM_H

#include <stdatomic.h>
#include <stdint.h>

#define CLOCK_SHIM_ENV "LEASH_CLOCK_PAGE"

/* All zero: the clocks are right. */
struct clock_page {
	_Atomic int64_t wall_ns;   /* CLOCK_REALTIME is so far ahead; it may jump at any time, as an operator's or an NTP client's may */
	_Atomic int64_t still_ns;  /* not 0: CLOCK_REALTIME stands still there */
	_Atomic int64_t ppm;       /* all clocks gain so much; set it before the process uses the page */
};

/* From now on this process has the page's clocks; NULL: the true ones. Only where the shim is linked in. */
void clock_shim_use(struct clock_page *page);

/* CLOCK_BOOTTIME as it is. */
int64_t clock_shim_true_ns(void);

#endif
