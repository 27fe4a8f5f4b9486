#include "redis/sieve.h"

#include <string.h>

static void *
refuse(struct lsh_sieve *s, const char *why)
{
	s->refusal = why;
	return NULL;
}

static void *
refuse_type(const redisReadTask *task)
{
	return refuse(task->privdata, "a type of RESP3");
}

/* ---- what hiredis calls ---- */

static bool
is_ended(const redisReader *parser, const char *bytes, size_t size)
{
	size_t from = (size_t)(bytes - parser->buf);

	return from <= parser->len && size <= parser->len - from && parser->len - from - size >= 2 &&
	       memcmp(bytes + size, "\r\n", 2) == 0;
}

static void *
create_string(const redisReadTask *task, char *bytes, size_t size)
{
	struct lsh_sieve *s = task->privdata;

	if (task->type != REDIS_REPLY_STRING && task->type != REDIS_REPLY_STATUS && task->type != REDIS_REPLY_ERROR)
		return refuse_type(task);
	if (!is_ended(s->parser, bytes, size))
		return refuse(s, "a string that does not end where it should");
	if (task->type != REDIS_REPLY_STRING && (memchr(bytes, '\r', size) != NULL || memchr(bytes, '\n', size) != NULL))
		return refuse(s, "a broken line");
	return s->builders->createString(task, bytes, size);
}

static void *
create_array(const redisReadTask *task, lsh_elements count)
{
	struct lsh_sieve *s = task->privdata;
	unsigned level = 1;

	if (task->type != REDIS_REPLY_ARRAY)
		return refuse_type(task);
	for (const redisReadTask *above = task->parent; above != NULL; above = above->parent)
		level++;
	if (level > s->levels)
		return refuse(s, "arrays nested too deep");
	if (level == 1)
		s->elements = 0;
	if ((size_t)count > s->most_elements - s->elements) {
		s->too_many = true;
		return refuse(s, "an array with too many elements");
	}
	s->elements += (size_t)count;
	return s->builders->createArray(task, count);
}

/* A null bulk string or array; there is one of RESP3, too. */
static void *
create_nil(const redisReadTask *task)
{
	struct lsh_sieve *s = task->privdata;

	if (task->type != REDIS_REPLY_STRING && task->type != REDIS_REPLY_ARRAY)
		return refuse_type(task);
	return s->builders->createNil(task);
}

#if HIREDIS_MAJOR >= 1
static void *
create_double(const redisReadTask *task, double n, char *bytes, size_t size)
{
	(void)n, (void)bytes, (void)size;
	return refuse_type(task);
}

static void *
create_bool(const redisReadTask *task, int yes)
{
	(void)yes;
	return refuse_type(task);
}
#endif

/* ---- what its owner calls ---- */

bool
lsh_sieve_open(struct lsh_sieve *s, const redisReplyObjectFunctions *builders, unsigned levels, size_t most)
{
	redisReader *parser = redisReaderCreate();

	if (parser == NULL)
		return false;
	*s = (struct lsh_sieve){.parser = parser, .levels = levels, .most_elements = most};
	s->builders = builders != NULL ? builders : parser->fn;
	s->functions = *s->builders; /* integers go by, and what was built is freed by whoever built it */
	s->functions.createString = create_string;
	s->functions.createArray = create_array;
	s->functions.createNil = create_nil;
#if HIREDIS_MAJOR >= 1
	s->functions.createDouble = create_double;
	s->functions.createBool = create_bool;
#endif
	parser->fn = &s->functions;
	parser->privdata = s;
	return true;
}

void
lsh_sieve_close(struct lsh_sieve *s)
{
	if (s->parser != NULL)
		redisReaderFree(s->parser);
	s->parser = NULL;
}

bool
lsh_sieve_next(struct lsh_sieve *s, void **object)
{
	*object = NULL;
	return redisReaderGetReply(s->parser, object) == REDIS_OK;
}

const char *
lsh_sieve_fault(const struct lsh_sieve *s)
{
	if (s->refusal != NULL)
		return s->refusal;
	return s->parser->err == REDIS_ERR_OOM || s->parser->errstr[0] == '\0' ? NULL : s->parser->errstr;
}
