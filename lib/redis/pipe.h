/* The pipe: many threads share one connection, without an I/O thread. pipe.c explains how. */
#ifndef LSH_REDIS_PIPE_H
#define LSH_REDIS_PIPE_H

#include "base/park.h"
#include "redis/command.h"
#include "redis/reply.h"
#include "redis/wire.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lsh_pipe;

/* How a command ended. */
enum lsh_outcome {
	LSH_ANSWERED, /* the message says what happened */
	LSH_UNSENT,   /* the connection broke before any of it was handed to the system: not executed */
	LSH_UNKNOWN,  /* the connection broke afterwards: perhaps executed */
	LSH_GARBLED,  /* likewise, because what came back is not what a Redis server says */
};

/* A command on its way. It is the pipe's from a successful append until `done`. */
struct lsh_ticket {
	/* Called once, by the thread that reads, with no mutex held. Must not wait; may append. The message, which is there
	 * for LSH_ANSWERED, is the reader's. From the call on the ticket is its owner's again. */
	void (*done)(struct lsh_ticket *self, enum lsh_outcome outcome, const struct lsh_message *message);
	struct lsh_parker *_Atomic reader; /* of the thread that reads until it is answered; NULL: the pipe's own thread */
	uint64_t number;             /* of the command in its pipe */
	uint64_t epoch;              /* of the connection that carries it; before the append: the one that may, or 0: any */
	int64_t overdue;             /* when its connection counts as broken for want of an answer */
	int64_t limit;               /* when the reader has to wake its thread; LSH_NEVER: it wakes by itself */
	struct lsh_ticket *next;     /* among those that ended together */
	bool asking;                 /* an ASKING is in front of it */
};

enum lsh_appended {
	LSH_APPENDED,
	LSH_PIPE_DOWN, /* no connection, or not the one that was wanted */
	LSH_PIPE_FULL, /* too much on its way, or no memory for more: decide anew when unattended() says that there is room */
};

struct lsh_pipe_ops {
	/* The keeper has something to do: the connection broke, or both seats of a broken one are empty now. Any thread; must
	 * not wait or call back. */
	void (*broke)(void *ctx);
	/* Likewise: somebody has to come to lsh_pipe_serve(), for commands that no other thread reads for; or there is room
	 * again for who was refused as LSH_PIPE_FULL. */
	void (*unattended)(void *ctx);
	void (*grew)(void *ctx);  /* likewise: lsh_pipe_shrink() will have something to do; may be NULL */
};

/* NULL: no memory or descriptors. Starts without a connection. */
struct lsh_pipe *lsh_pipe_new(const struct lsh_pipe_ops *ops, void *ctx);
void lsh_pipe_free(struct lsh_pipe *pipe); /* when nobody is in it; NULL is allowed */

/* Append a command: it gets its place in the order of all, and is sent with the next flush or await. Never waits:
 * callers hold the mutex of what they decided on, so that the order on the wire is the order of the decisions. The
 * caller sets done, reader and epoch. `patience` (ns, from `now`) is how long the connection may take to answer it
 * before it counts as broken. */
enum lsh_appended lsh_pipe_append(struct lsh_pipe *pipe, struct lsh_ticket *ticket, const struct lsh_arg *args,
                                  size_t count, int64_t now, int64_t patience);

/* The same behind an ASKING, with no other's command in between: both or none. Nobody hears the ASKING's answer, unless
 * it was refused and the command sent elsewhere for that: then the refusal is the command's answer, too. */
enum lsh_appended lsh_pipe_append_asking(struct lsh_pipe *pipe, struct lsh_ticket *ticket, const struct lsh_arg *args,
                                         size_t count, int64_t now, int64_t patience);

/* Append a command whose answer nobody wants, to go out with one that follows. False: there is no room or no
 * connection, it was not. */
bool lsh_pipe_append_unheard(struct lsh_pipe *pipe, const struct lsh_arg *args, size_t count, int64_t now);

/* Send what was appended, unless somebody is certain to do it. No mutex of the caller is held. */
void lsh_pipe_flush(struct lsh_pipe *pipe);

/* Flush, and read for everybody, unless another thread does, until `over(arg)` or `deadline`; sleep where the command
 * `number` of connection `epoch` is not on its way (any more). Whoever makes it over wakes `parker` then; it must not
 * wait. The command is not given up by that: whoever leaves before it has ended leaves it to the pipe's own thread. */
void lsh_pipe_wait(struct lsh_pipe *pipe, struct lsh_parker *parker, uint64_t epoch, uint64_t number,
                   bool (*over)(void *arg), void *arg, int64_t deadline);

/* The thread that was to read for that command is not going to: as if it left. */
void lsh_pipe_leave(struct lsh_pipe *pipe, uint64_t epoch, uint64_t number);

/* Of the pipe's own thread: flush, and read while there are commands for which no other thread reads; until it is over,
 * see above. */
void lsh_pipe_serve(struct lsh_pipe *pipe, struct lsh_parker *parker, bool (*over)(void *arg), void *arg);

/* For the keeper of the connection. */
bool lsh_pipe_attach(struct lsh_pipe *pipe, struct lsh_wire wire); /* takes it, unless false: no memory */
bool lsh_pipe_is_up(struct lsh_pipe *pipe);
uint64_t lsh_pipe_commands(struct lsh_pipe *pipe);   /* handed to the system so far, over all connections */
uint64_t lsh_pipe_connects(struct lsh_pipe *pipe);   /* how often it was attached */
uint64_t lsh_pipe_epoch(struct lsh_pipe *pipe);      /* of the present or last connection, of all pipes; 0: none yet */
int lsh_pipe_fd(struct lsh_pipe *pipe);              /* to poll for hang-ups; -1 if there is none */
/* Break it if commands are on their way and nothing was heard since `since`. Any mutex may be held: whoever reads tells
 * of it. */
void lsh_pipe_break_if_silent(struct lsh_pipe *pipe, int64_t since);
/* That connection, or with 0 any; no-op on a broken one. Tells the tickets: no mutex held. */
void lsh_pipe_break(struct lsh_pipe *pipe, uint64_t epoch);
/* Give back what a burst needed, once the pipe is quiet. Returns when to be called again; LSH_NEVER: not at all. */
int64_t lsh_pipe_shrink(struct lsh_pipe *pipe, int64_t now);
/* The broken connection's, for closing, once both seats are empty; else LSH_NO_WIRE. */
struct lsh_wire lsh_pipe_detach(struct lsh_pipe *pipe);

/* In a forked child: close the child's copies of the descriptors, and touch nothing else. */
void lsh_pipe_forsake(struct lsh_pipe *pipe);

#endif
