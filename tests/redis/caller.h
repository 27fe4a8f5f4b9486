/* Callers of a pipeline, as the library's are: a command lies on the heap until it has ended, because its thread may
 * leave before that; and the pipeline has a thread of its own, which reads for the commands that were left.
 *
 * A line counts its commands: when it ends, each has ended exactly once, with an answer of its own if with any. */
#pragma once

#include "redis/pipeline.h"

#include <pthread.h>
#include <stdatomic.h>

/* What a command has come to when its thread leaves it; beside the outcomes. */
enum { LEFT = LSH_GARBLED + 1, OUTCOMES };
extern const char *const outcome_names[OUTCOMES];

#define PATIENT_NS (600 * LSH_S)

struct line {
	struct lsh_pipeline *pipeline;
	bool attached;
	atomic_ulong calls;                     /* how often the keeper was told */
	atomic_ulong appended, answered, ended; /* commands, */
	atomic_ulong wrong;                     /* and those that ended twice, or with another's answer */
	atomic_bool called, ending;
	struct lsh_parker *_Atomic parker;      /* of the pipeline's own thread, or NULL, */
	pthread_t thread;                       /* which is this one */
};

struct line *line_new(bool has_thread);
int line_attach(struct line *line, bool cramped); /* the other end; cramped: it takes little at once */
void line_cut(struct line *line);  /* broken first, if it is not */
void line_stop(struct line *line); /* and close what is attached; no other thread uses it */

struct command {
	struct lsh_ticket ticket; /* its reader is the thread that made it; a test may change that before the append */
	struct line *line;
	struct lsh_parker *parker;             /* of the thread that made it */
	void (*then)(struct command *command); /* called in-line when it has ended; NULL: nothing */
	char expected[24];                     /* the answer that is its own; "": any */
	atomic_int uses;
	atomic_bool over;
	enum lsh_outcome outcome;              /* from here on: once it is over */
	char text[LSH_REPLY_TEXT];             /* of the first item; of an integer its digits */
};

struct command *command_new(struct line *line, const char *expected);
enum lsh_appended command_append(struct command *command, const char *word, int64_t patience);
int command_await(struct command *command, int64_t deadline); /* its outcome, or LEFT */
void command_drop(struct command *command);
