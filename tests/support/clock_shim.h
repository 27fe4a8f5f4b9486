/* The clock of a server that a test sets: clock_shim.so, which is preloaded (server_start_clocked), stands before libc.
 * clock_gettime, gettimeofday and time say of the wall clock what a page asks that the test shares with it; its file is
 * named by $LEASH_CLOCK_PAGE. The kernel has no part in it: whoever sleeps, sleeps by true time. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define CLOCK_SHIM_ENV "LEASH_CLOCK_PAGE"

/* All zero: the clock is right. */
struct clock_page {
	_Atomic int64_t wall_ns;   /* it is so far ahead, and may jump at any time, as an operator's or an NTP client's may */
	_Atomic int64_t still_ns;  /* not 0: it stands still there */
};
