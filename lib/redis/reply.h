/* Replies of a server, parsed by hiredis into fixed storage.
 *
 * A reader is fed bytes and yields one message at a time: a scalar, or a flat array of up to LSH_ITEMS scalars, which
 * is all that leash ever asks for. On anything else, and on more than 64 KiB that do not make a message, it fails, and
 * so does the connection. One thread at a time. */
#ifndef LSH_REDIS_REPLY_H
#define LSH_REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LSH_ITEMS = 272,        /* elements of an array */
	LSH_READ_SIZE = 65536,  /* bytes to feed at most at a time */
	LSH_PIECE_SIZE = 4096,  /* bytes to feed at a time, where most answers are small */
	LSH_TEXT_SIZE = 8192,   /* of all strings of a message; what does not fit is cut off */
	LSH_REPLY_TEXT = 232,   /* of what is kept of a refusal, or of an answer about a key */
};

enum lsh_type { LSH_NIL, LSH_INTEGER, LSH_STRING, LSH_STATUS, LSH_ERROR, LSH_ARRAY };

/* One scalar. `text` is NUL-terminated, for LSH_STRING, LSH_STATUS and LSH_ERROR, and belongs to the reader until its
 * next message. */
struct lsh_item {
	enum lsh_type type;
	int64_t integer;
	const char *text;
	size_t length;
};

/* A message: `type` is LSH_ARRAY with `count` items, or that of the one item. */
struct lsh_message {
	enum lsh_type type;
	unsigned count;
	struct lsh_item item[LSH_ITEMS];
};

/* Is it what the server says of a channel: `what`, its name, and something of `type`? */
bool lsh_message_is_about(const struct lsh_message *message, const char *what, enum lsh_type type);

struct lsh_reader;

/* With `grown` nothing is allocated after this, until a reset after a fault. NULL: no memory. */
struct lsh_reader *lsh_reader_new(bool grown);
void lsh_reader_free(struct lsh_reader *reader);

/* Forget what was fed: for the next connection. False: no memory; the reader is unusable until this succeeds. */
bool lsh_reader_reset(struct lsh_reader *reader);

/* Add up to LSH_READ_SIZE bytes. False: not what a Redis server says; lsh_reader_fault() tells. */
bool lsh_reader_feed(struct lsh_reader *reader, const char *bytes, size_t size);

/* 1: `*message` is the next one, valid until the next call; 0: more bytes are needed; -1: as a failed feed. */
int lsh_reader_next(struct lsh_reader *reader, const struct lsh_message **message);

/* What was wrong, in a few words. */
const char *lsh_reader_fault(const struct lsh_reader *reader);

#endif
