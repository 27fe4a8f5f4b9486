/* The pipeline: many threads share one connection, without an I/O thread. pipeline.c explains how. */
#ifndef LSH_REDIS_PIPELINE_H
#define LSH_REDIS_PIPELINE_H

#include "base/park.h"
#include "redis/command.h"
#include "redis/reply.h"
#include "redis/stream.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lsh_pipeline;

/* How a command ended. */
enum lsh_outcome {
	LSH_ANSWERED, /* the message says what happened */
	LSH_UNSENT,   /* the connection broke before any of it was handed to the system: not executed */
	LSH_UNKNOWN,  /* the connection broke afterwards: perhaps executed */
	LSH_GARBLED,  /* likewise, because what came back is not what a Redis server says */
};

/* A command on its way. It is the pipeline's from a successful append until `done`. */
struct lsh_ticket {
	/* Called once, by the thread that reads, with no mutex held. Must not wait; may append. The message, NULL unless
	 * LSH_ANSWERED, is the reader's. From the call on the ticket is its owner's again. */
	void (*done)(struct lsh_ticket *self, enum lsh_outcome outcome, const struct lsh_message *message);
	struct lsh_parker *_Atomic reader; /* of the thread that reads for it; NULL: the pipeline's own thread does */
	uint64_t number;             /* of the command in its pipeline */
	uint64_t epoch;              /* of the connection that carries it; before the append: the one that may, or 0: any */
	int64_t overdue;             /* when its connection counts as broken for want of an answer */
	int64_t limit;               /* when the reader has to wake its thread; LSH_NEVER: it wakes by itself */
	bool asking;                 /* the owner's: put an ASKING in front of it */
};

enum lsh_appended {
	LSH_APPENDED,
	LSH_PIPELINE_DOWN, /* no connection, or not the one that was wanted */
	LSH_PIPELINE_FULL, /* too much on its way, or no memory for more: decide anew when the keeper is told */
};

/* `tell` tells the keeper, on any thread, that there is something to do: the connection broke, or both seats of a
 * broken one are vacant now; somebody has to come to lsh_pipeline_serve(), for commands that no other thread reads for;
 * there is room again for who was refused as LSH_PIPELINE_FULL; or lsh_pipeline_shrink() will have something to do. It
 * must not wait or call back. NULL: no memory or descriptors. Starts without a connection. */
struct lsh_pipeline *lsh_pipeline_new(void (*tell)(void *keeper), void *keeper);
void lsh_pipeline_free(struct lsh_pipeline *pipeline); /* when nobody is in it; NULL is allowed */

/* Append a command: it gets its place in the order of all, and is sent with the next flush or wait. Never waits:
 * callers hold the mutex of what they decided on, so that the order on the wire is the order of the decisions. The
 * caller sets done, reader, epoch and asking. `patience` (ns, from `now`) is how long the connection may take to answer
 * it before it counts as broken.
 *
 * No other's command comes between an ASKING and its command: both are taken or none. Nobody hears the ASKING's answer,
 * unless it was refused and the command sent elsewhere for that: then the refusal is the command's answer, too. */
enum lsh_appended lsh_pipeline_append(struct lsh_pipeline *pipeline, struct lsh_ticket *ticket,
                                      const struct lsh_arg *args, size_t count, int64_t now, int64_t patience);

/* Append a command whose answer nobody wants, to go out with one that follows. False: there is no room or no
 * connection, it was not. */
bool lsh_pipeline_append_unheard(struct lsh_pipeline *pipeline, const struct lsh_arg *args, size_t count, int64_t now);

/* Send what was appended, unless somebody is certain to do it. No mutex of the caller is held. */
void lsh_pipeline_flush(struct lsh_pipeline *pipeline);

/* Flush, and read for everybody, unless another thread does, until `over(arg)`, which must not wait, or `deadline`;
 * sleep where the command `number` of connection `epoch` is not on its way. Whoever makes it over wakes `parker` then.
 * A command that has not ended is left to the pipeline's own thread. */
void lsh_pipeline_wait(struct lsh_pipeline *pipeline, struct lsh_parker *parker, uint64_t epoch, uint64_t number,
                       bool (*over)(void *arg), void *arg, int64_t deadline);

/* The thread that was to read for that command is not going to. Any mutex may be held: tells no ticket. */
void lsh_pipeline_leave(struct lsh_pipeline *pipeline, uint64_t epoch, uint64_t number);

/* Of the pipeline's own thread: flush, and read while there are commands for which no other thread reads, or until it
 * is over. */
void lsh_pipeline_serve(struct lsh_pipeline *pipeline, struct lsh_parker *parker, bool (*over)(void *arg), void *arg);

/* For the keeper of the connection. */
/* Takes the stream. False: it cannot be set up; it is not taken. */
bool lsh_pipeline_attach(struct lsh_pipeline *pipeline, struct lsh_stream stream);
bool lsh_pipeline_is_up(struct lsh_pipeline *pipeline);
uint64_t lsh_pipeline_commands(struct lsh_pipeline *pipeline);   /* handed to the system so far, over all connections */
uint64_t lsh_pipeline_connects(struct lsh_pipeline *pipeline);   /* how often it was attached */
uint64_t lsh_pipeline_epoch(struct lsh_pipeline *pipeline); /* of the present or last connection; unique; 0: none */
int lsh_pipeline_fd(struct lsh_pipeline *pipeline);              /* to poll for hang-ups; -1 if there is none */
int64_t lsh_pipeline_heard(const struct lsh_pipeline *pipeline); /* when it read last */

/* Break it if commands are on their way and nothing was heard since `since`. Any mutex may be held: whoever reads tells
 * of it. */
void lsh_pipeline_break_if_silent(struct lsh_pipeline *pipeline, int64_t since);
/* That connection, or with 0 any; no-op on a broken one. Tells the tickets: no mutex held. */
void lsh_pipeline_break(struct lsh_pipeline *pipeline, uint64_t epoch);
/* Give back what a burst needed, once the pipeline is quiet. Returns when to be called again; LSH_NEVER: not at all. */
int64_t lsh_pipeline_shrink(struct lsh_pipeline *pipeline, int64_t now);
/* The broken connection's, for closing, once both seats are vacant; else LSH_NO_STREAM. */
struct lsh_stream lsh_pipeline_detach(struct lsh_pipeline *pipeline);

#endif
