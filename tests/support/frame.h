/* What comes by a connection, and where a RESP value in it ends, found out byte by byte. What is not RESP counts line
 * by line. Knows RESP 2 and 3; checks nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes, taken from the front and added at the end. */
struct bytes {
	char *at;
	size_t head, tail, capacity;
};

void bytes_append(struct bytes *bytes, const void *at, size_t size);
size_t bytes_length(const struct bytes *bytes);

/* All zero: at the start of a value. */
struct frame {
	uint64_t open;     /* values begun and not ended: those of arrays, and the one itself */
	uint64_t skip;     /* bytes of a string that are still to come, with its CR LF */
	uint64_t number;   /* of the line so far */
	char type;         /* the first byte of the line; 0: none yet */
	bool negative;
};

/* Take in bytes up to the end of the value: returns how many those were; `*whole` tells whether it has ended. */
size_t frame_feed(struct frame *frame, const char *bytes, size_t size, bool *whole);

/* A string of an array of strings (a command, a message): `*at` goes on behind it. NULL: no more, or something else. */
const char *frame_string(const char *value, size_t size, size_t *at, size_t *length);
