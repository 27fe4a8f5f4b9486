/* The listener: the wake-up channel, read by the threads that wait for what comes there.
 *
 * It has one seat. A thread that waits takes it if it is vacant, reads, and hands each message to `message`, whoever it is for;
 * the others sleep on their parkers. Who leaves a vacant seat behind pokes the first of the sleepers. So a message reaches the
 * thread that it is meant for with one wake-up at most, and with none if that thread reads itself.
 *
 * When nobody waits nobody reads: a message is a hint, and what it said can be asked for. The keeper of the connection reads
 * now and then what was left, and looks for hang-ups. */
#ifndef LSH_REDIS_LISTENER_H
#define LSH_REDIS_LISTENER_H

#include "base/park.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lsh_listener;

struct lsh_listener_ops {
	/* A message; any thread that waits, no mutex held. */
	void (*message)(void *ctx, const char *text, size_t size);
	/* The connection broke, or the seat of a broken one is empty now; any thread; must not wait or call back. */
	void (*broke)(void *ctx);
};

struct lsh_listener *lsh_listener_new(const struct lsh_listener_ops *ops, void *ctx); /* NULL: no memory or descriptors */
void lsh_listener_free(struct lsh_listener *listener);                              /* NULL is allowed */

/* Wait until `over(arg)` or `deadline`, reading if the seat is vacant. `over` is called with no mutex held, again after each
 * message and each wake-up of `parker`, the calling thread's. */
void lsh_listener_wait(struct lsh_listener *listener, struct lsh_parker *parker, int64_t deadline, bool (*over)(void *arg), void *arg);

/* For the keeper of the connection. */
bool lsh_listener_attach(struct lsh_listener *listener, int fd); /* as lsh_pipe_attach() */
bool lsh_listener_is_up(struct lsh_listener *listener);
int lsh_listener_fd(struct lsh_listener *listener, bool *read); /* to poll for hang-ups, and with *read for bytes; -1: none */
void lsh_listener_drain(struct lsh_listener *listener);        /* read what is there, if the seat is vacant */
void lsh_listener_break(struct lsh_listener *listener);
int lsh_listener_detach(struct lsh_listener *listener);        /* as lsh_pipe_detach() */

/* In a forked child: close the child's copies of the descriptors, and touch nothing else. */
void lsh_listener_forsake(struct lsh_listener *listener);

#endif
