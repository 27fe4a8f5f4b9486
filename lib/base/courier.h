/* The courier: the thread on which callbacks run, so that a slow one delays nothing but later callbacks.
 *
 * A letter lies in its sender's memory: posting allocates nothing and cannot fail. Log lines are copied into a fixed
 * ring; when that is full the line is dropped and counted. */
#ifndef LSH_BASE_COURIER_H
#define LSH_BASE_COURIER_H

#include "base/list.h"

#include <leash/event.h>

#include <stdbool.h>

struct lsh_courier;

struct lsh_letter {
	struct lsh_list link; /* made by its sender; in a list while it is posted */
	/* On the courier's thread, no mutex held; the letter is the sender's again. */
	void (*deliver)(struct lsh_letter *letter);
};

/* NULL: no memory or threads. `on_log` may be NULL. */
struct lsh_courier *lsh_courier_new(leash_log_fn on_log, void *log_arg);

/* Deliver what is still there, and end the thread. Later posts are not delivered: lsh_courier_post() is false. */
void lsh_courier_stop(struct lsh_courier *courier);
void lsh_courier_free(struct lsh_courier *courier); /* NULL is allowed */

/* False: it is posted already, or the courier has stopped. */
bool lsh_courier_post(struct lsh_courier *courier, struct lsh_letter *letter);

/* Take a letter back. False: it is not there (any more). */
bool lsh_courier_withdraw(struct lsh_courier *courier, struct lsh_letter *letter);

/* A line for the log. NULL in place of a courier: there is none. */
void lsh_courier_log(struct lsh_courier *courier, leash_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Is the calling thread in a callback of this courier, or (NULL) of any? */
bool lsh_courier_in_callback(const struct lsh_courier *courier);

#endif
