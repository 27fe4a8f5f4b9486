/* What a simulated command is told, and what it answers: a message of the library, made piece by piece. */
#pragma once

#include "redis/reply.h"

/* One that comes from a script may be a number: it becomes text only where text is wanted. */
struct sim_arg {
	const char *bytes; /* NULL: it is a number */
	size_t size;
	double number;
};

/* A reply, and where its texts are if they are not a key's. Good until the next command to the same keyspace. Elements
 * after the first LSH_ITEMS are left out: a client of the library would refuse them all. */
struct sim_reply {
	struct lsh_message message;
	char text[LSH_READ_SIZE];
	size_t used;
};

bool sim_arg_is(const struct sim_arg *arg, const char *word); /* in whichever case */
bool sim_arg_integer(const struct sim_arg *arg, int64_t *out); /* as strictly as Redis */

void sim_reply_integer(struct sim_reply *reply, int64_t n);
void sim_reply_nil(struct sim_reply *reply);
void sim_reply_status(struct sim_reply *reply, const char *text);
/* False: so that it can be said in the same breath. */
bool sim_reply_error(struct sim_reply *reply, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_reply_array(struct sim_reply *reply);
/* The next element of an array that was begun; else the whole reply: a string that stays where it is, */
void sim_reply_text(struct sim_reply *reply, const char *bytes, size_t size);
/* or a text that is copied. */
void sim_reply_copy(struct sim_reply *reply, enum lsh_type type, const char *bytes, size_t size);
