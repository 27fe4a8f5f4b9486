/* Wake-ups: what a message says, and whom it is for. */
#ifndef LSH_LEASE_WAKEUP_H
#define LSH_LEASE_WAKEUP_H

#include <stddef.h>

void lsh_wakeup_message(void *host, const char *text, size_t size); /* a struct lsh_host; any thread, not entered */

#endif
