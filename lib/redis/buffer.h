/* A buffer: bytes are put at its end and taken from its beginning. It grows with them, and can shrink once it is
 * empty. */
#ifndef LSH_REDIS_BUFFER_H
#define LSH_REDIS_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct lsh_buffer {
	char *bytes;
	size_t first, end, room;
};

/* Make room for `size` more bytes behind its end. False: no memory, or there would be more than `most` in it. */
bool lsh_buffer_reserve(struct lsh_buffer *buffer, size_t size, size_t most);

/* Put bytes where there is room for them. */
void lsh_buffer_put(struct lsh_buffer *buffer, const void *bytes, size_t size);

/* Give back what it has more than `least` bytes of room, of which there are some, if it is empty. */
void lsh_buffer_shrink(struct lsh_buffer *buffer, size_t least);

static inline size_t
lsh_buffer_size(const struct lsh_buffer *buffer)
{
	return buffer->end - buffer->first;
}

static inline void
lsh_buffer_empty(struct lsh_buffer *buffer)
{
	buffer->first = buffer->end = 0;
}

#endif
