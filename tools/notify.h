/* What a service manager is told of a run, by the protocol of sd_notify(3): STATUS, READY, STOPPING, WATCHDOG. */
#ifndef LEASH_TOOLS_NOTIFY_H
#define LEASH_TOOLS_NOTIFY_H

#include <stdint.h>

struct notify;

/* NULL: no manager has started this process ($NOTIFY_SOCKET), or there is no memory. NULL is allowed for all that
 * follows. None of it waits for the manager. */
struct notify *notify_begin(void);

/* We wait: why, as STATUS. And the same in more words, by any thread, which is told only while we still wait. */
void notify_wait(struct notify *notify, const char *status);
void notify_wait_on(struct notify *notify, const char *status);

/* READY, with a STATUS. */
void notify_ready(struct notify *notify, const char *status);

/* Who has called notify_beat() must do so again before the time that it returns (clock_boot_ns(); INT64_MAX: never), or
 * call notify_rest(). Else the watchdog gets no more signs of life, and the manager ends us. */
int64_t notify_beat(struct notify *notify);
void notify_rest(struct notify *notify);

void notify_stop(struct notify *notify); /* STOPPING */
void notify_end(struct notify *notify);

#endif
