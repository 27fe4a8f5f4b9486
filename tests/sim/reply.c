#include "tests/sim/reply.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool
sim_arg_is(const struct sim_arg *arg, const char *word)
{
	return arg->bytes != NULL && arg->size == strlen(word) && strncasecmp(arg->bytes, word, arg->size) == 0;
}

/* Digits without a leading zero. */
static bool
read_digits(const char *at, size_t size, uint64_t *out)
{
	*out = 0;
	if (size == 0 || size > 19 || (*at == '0' && size > 1))
		return false;
	for (; size > 0; at++, size--) {
		if (*at < '0' || *at > '9')
			return false;
		*out = *out * 10 + (uint64_t)(*at - '0');
	}
	return true;
}

bool
sim_arg_integer(const struct sim_arg *arg, int64_t *out)
{
	bool negative = arg->bytes != NULL && arg->size > 0 && *arg->bytes == '-';
	uint64_t n;

	if (arg->bytes == NULL) { /* as Redis would read the text that it prints of it */
		*out = fabs(arg->number) < 1e17 ? (int64_t)arg->number : 0;
		return (double)*out == arg->number && (*out != 0 || !signbit(arg->number));
	}
	if (!read_digits(arg->bytes + negative, arg->size - negative, &n) || n > (uint64_t)INT64_MAX + negative)
		return false;
	*out = negative ? (int64_t)(0 - n) : (int64_t)n;
	return !negative || n != 0;
}

static void
add(struct sim_reply *reply, struct lsh_item item)
{
	struct lsh_message *m = &reply->message;

	if (m->type != LSH_ARRAY) {
		m->type = item.type;
		m->count = 1;
		m->item[0] = item;
		return;
	}
	if (m->count < LSH_ITEMS)
		m->item[m->count++] = item;
}

void
sim_reply_text(struct sim_reply *reply, const char *bytes, size_t size)
{
	add(reply, (struct lsh_item){.type = LSH_STRING, .text = bytes, .length = size});
}

void
sim_reply_copy(struct sim_reply *reply, enum lsh_type type, const char *bytes, size_t size)
{
	char *at = reply->text + reply->used;

	if (size + 1 > sizeof reply->text - reply->used)
		abort();
	memcpy(at, bytes, size);
	at[size] = '\0';
	reply->used += size + 1;
	add(reply, (struct lsh_item){.type = type, .text = at, .length = size});
}

void
sim_reply_array(struct sim_reply *reply)
{
	reply->message.type = LSH_ARRAY;
	reply->message.count = 0;
}

void
sim_reply_integer(struct sim_reply *reply, int64_t n)
{
	add(reply, (struct lsh_item){.type = LSH_INTEGER, .integer = n});
}

void
sim_reply_nil(struct sim_reply *reply)
{
	add(reply, (struct lsh_item){.type = LSH_NIL});
}

void
sim_reply_status(struct sim_reply *reply, const char *text)
{
	add(reply, (struct lsh_item){.type = LSH_STATUS, .text = text, .length = strlen(text)});
}

bool
sim_reply_error(struct sim_reply *reply, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	reply->message.type = LSH_ERROR; /* also in the middle of an array */
	sim_reply_copy(reply, LSH_ERROR, text, strlen(text));
	return false;
}
