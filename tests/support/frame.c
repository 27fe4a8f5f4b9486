/* The ends of RESP values. See frame.h. */
#include "tests/support/frame.h"

#include "tests/support/trouble.h"

#include <stdlib.h>
#include <string.h>

enum { BIGGEST = 1 << 30 };

void
bytes_append(struct bytes *b, const void *at, size_t size)
{
	if (b->head == b->tail)
		b->head = b->tail = 0;
	if (b->capacity - b->tail < size && b->head > 0) {
		memmove(b->at, b->at + b->head, b->tail - b->head);
		b->tail -= b->head;
		b->head = 0;
	}
	if (b->capacity - b->tail < size) {
		b->capacity = 2 * b->capacity + size;
		b->at = realloc(b->at, b->capacity);
		if (!b->at)
			trouble("no memory");
	}
	if (size > 0)
		memcpy(b->at + b->tail, at, size);
	b->tail += size;
}

size_t
bytes_length(const struct bytes *b)
{
	return b->tail - b->head;
}

/* The line has ended; has the value? */
static bool
end_line(struct frame *f)
{
	uint64_t n = f->negative ? 0 : f->number;
	char type = f->type;

	f->type = 0;
	if (f->open == 0)
		f->open = 1;
	switch (type) {
	case '$': case '=': case '!':
		if (!f->negative) {
			f->skip = n + 2;
			return false;
		}
		f->open--;
		break;
	case '*': case '~': case '>':
		f->open += n - 1;
		break;
	case '%':
		f->open += 2 * n - 1;
		break;
	case '|':
		f->open += 2 * n;   /* attributes come before the value they belong to */
		break;
	default:
		f->open--;
	}
	return f->open == 0;
}

static bool
feed_byte(struct frame *f, char c)
{
	if (c == '\n' && f->type)
		return end_line(f);
	if (f->type == 0) {
		f->type = c == '\n' ? '\r' : c;
		f->number = 0;
		f->negative = false;
		return c == '\n' && end_line(f);
	}
	if (c == '-')
		f->negative = true;
	else if (c >= '0' && c <= '9' && f->number < BIGGEST)
		f->number = f->number * 10 + (uint64_t)(c - '0');
	return false;
}

size_t
frame_feed(struct frame *f, const char *bytes, size_t size, bool *whole)
{
	size_t i = 0;

	*whole = false;
	while (i < size && !*whole) {
		if (f->skip > 0) {
			size_t n = f->skip < size - i ? (size_t)f->skip : size - i;

			f->skip -= n;
			i += n;
			*whole = f->skip == 0 && --f->open == 0;
		} else {
			*whole = feed_byte(f, bytes[i++]);
		}
	}
	return i;
}

const char *
frame_string(const char *value, size_t size, size_t *at, size_t *length)
{
	const char *end;

	if (*at == 0) {   /* past the head of the array */
		end = size > 0 && (value[0] == '*' || value[0] == '>') ? memchr(value, '\n', size) : NULL;
		if (!end)
			return NULL;
		*at = (size_t)(end + 1 - value);
	}
	if (*at >= size || value[*at] != '$')
		return NULL;
	const char *line = value + *at;
	end = memchr(line, '\n', size - *at);
	if (!end)
		return NULL;
	*length = 0;
	for (line++; *line >= '0' && *line <= '9' && *length <= size; line++)
		*length = *length * 10 + (size_t)(*line - '0');
	line = end + 1;
	if (*length > size || (size_t)(line - value) + *length + 2 > size)
		return NULL;
	*at = (size_t)(line - value) + *length + 2;
	return line;
}
