#include "redis/buffer.h"

#include "base/memory.h"

#include <string.h>

bool
lsh_buffer_reserve(struct lsh_buffer *b, size_t size, size_t most)
{
	size_t used = lsh_buffer_size(b), room = b->room > 0 ? b->room : 1024;
	char *bytes;

	if (size > most || used > most - size)
		return false;
	if (b->room - b->end >= size)
		return true;
	if (b->first > 0)
		memmove(b->bytes, b->bytes + b->first, used);
	b->first = 0;
	b->end = used;
	while (room - used < size)
		room *= 2;
	if (room == b->room)
		return true;
	bytes = lsh_realloc(b->bytes, room);
	if (bytes == NULL)
		return false;
	b->bytes = bytes;
	b->room = room;
	return true;
}

void
lsh_buffer_put(struct lsh_buffer *b, const void *bytes, size_t size)
{
	memcpy(b->bytes + b->end, bytes, size);
	b->end += size;
}

void
lsh_buffer_shrink(struct lsh_buffer *b, size_t least)
{
	char *bytes;

	if (b->room <= least || lsh_buffer_size(b) > 0)
		return;
	lsh_buffer_empty(b);
	bytes = lsh_realloc(b->bytes, least);
	if (bytes != NULL) {
		b->bytes = bytes;
		b->room = least;
	}
}
