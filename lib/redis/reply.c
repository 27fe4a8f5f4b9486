/* Replies, parsed by hiredis's redisReader through our own function table into the fixed storage of a reader.
 *
 * hiredis finds the items; what it builds of them is ours. It is told to refuse (a create function returns NULL, which
 * it takes for a lack of memory) what leash never asks for: an array in an array, one of more than LSH_ITEMS, a type of
 * RESP3. And it is made stricter where it lets pass what would put replies out of step: it does not look at the two
 * bytes behind a bulk string, and takes a lone CR or LF for a part of a line.
 *
 * It buffers without bound what does not make a message, so the bytes of the message under way are counted here. With
 * maxbuf = 0 it keeps its buffer for ever; a dummy of the largest size is fed at the start, so that no later feed has to
 * allocate: renewals must not fail for memory. Works with hiredis 0.14 and 1.x. */
#include "redis/reply.h"

#include "base/memory.h"

#include <hiredis/hiredis.h>

#include <stdio.h>
#include <string.h>

/* As many bytes as are in the buffer at most: of a message not ended yet, and as much as is fed at a time. hiredis
 * removes what it has read when that is 1 KiB. */
enum { GROWN_SIZE = 2 * LSH_READ_SIZE + 1024 };

#if HIREDIS_MAJOR >= 1
typedef size_t elements;
#else
typedef int elements;
#endif

struct lsh_reader {
	redisReader *parser;
	bool growing;          /* what is parsed is the dummy */
	size_t pending;        /* bytes fed since the last message ended */
	size_t text_size;      /* of `text` in use */
	const char *refusal;   /* why a create function returned NULL */
	struct lsh_message message;
	char fault[128];       /* "" as long as all is well */
	char text[LSH_TEXT_SIZE];
};

/* ---- what hiredis calls; what is returned need only be not NULL ---- */

static void *
refuse(struct lsh_reader *reader, const char *why)
{
	reader->refusal = why;
	return NULL;
}

static void
begin_message(struct lsh_reader *reader, enum lsh_type type, unsigned count)
{
	reader->message.type = type;
	reader->message.count = count;
	reader->text_size = 0;
}

static struct lsh_item *
take_item(const redisReadTask *task, enum lsh_type type)
{
	struct lsh_reader *reader = task->privdata;
	struct lsh_item *item;

	if (task->parent == NULL) {
		begin_message(reader, type, 1);
		item = &reader->message.item[0];
	} else {
		/* create_array() saw to it that there is but one array around it, and no larger than ours */
		item = &reader->message.item[task->idx];
	}
	*item = (struct lsh_item){.type = type, .text = ""};
	return item;
}

/* Does a string that ends at `end` bytes of hiredis's buffer have its two bytes behind it? On 32 bits its own sum wraps. */
static bool
is_in_buffer(const redisReader *parser, const char *bytes, size_t size)
{
	size_t from = (size_t)(bytes - parser->buf);

	return from <= parser->len && size <= parser->len - from && parser->len - from - size >= 2;
}

static void
keep_text(struct lsh_reader *reader, struct lsh_item *item, const char *bytes, size_t size)
{
	size_t room = LSH_TEXT_SIZE - 1 - reader->text_size;
	char *text = reader->text + reader->text_size;

	if (size > room)
		size = room;
	memcpy(text, bytes, size);
	text[size] = '\0';
	item->text = text;
	item->length = size;
	/* the last byte stays a NUL, for all strings that find no room */
	reader->text_size += size < room ? size + 1 : size;
}

static void *
create_string(const redisReadTask *task, char *bytes, size_t size)
{
	struct lsh_reader *reader = task->privdata;
	enum lsh_type type;
	struct lsh_item *item;

	if (!is_in_buffer(reader->parser, bytes, size))
		return refuse(reader, "a string longer than it can be");
	switch (task->type) {
	case REDIS_REPLY_STRING:
		type = LSH_STRING;
		break;
	case REDIS_REPLY_STATUS:
		type = LSH_STATUS;
		break;
	case REDIS_REPLY_ERROR:
		type = LSH_ERROR;
		break;
	default:
		return refuse(reader, "a type of RESP3");
	}
	if (bytes[size] != '\r' || bytes[size + 1] != '\n')
		return refuse(reader, "a string that does not end where it should");
	if (type != LSH_STRING && (memchr(bytes, '\r', size) != NULL || memchr(bytes, '\n', size) != NULL))
		return refuse(reader, "a line that is broken");
	item = take_item(task, type);
	if (!reader->growing)
		keep_text(reader, item, bytes, size);
	return item;
}

static void *
create_array(const redisReadTask *task, elements count)
{
	struct lsh_reader *reader = task->privdata;

	if (task->type != REDIS_REPLY_ARRAY)
		return refuse(reader, "a type of RESP3");
	if (task->parent != NULL)
		return refuse(reader, "an array in an array");
	if (count > LSH_ITEMS)
		return refuse(reader, "an array of more than 16 elements");
	begin_message(reader, LSH_ARRAY, (unsigned)count);
	return &reader->message;
}

static void *
create_integer(const redisReadTask *task, long long n)
{
	struct lsh_item *item = take_item(task, LSH_INTEGER);

	item->integer = n;
	return item;
}

/* A null bulk string or array; there is one of RESP3, too. */
static void *
create_nil(const redisReadTask *task)
{
	if (task->type != REDIS_REPLY_STRING && task->type != REDIS_REPLY_ARRAY)
		return refuse(task->privdata, "a type of RESP3");
	return take_item(task, LSH_NIL);
}

#if HIREDIS_MAJOR >= 1
static void *
create_double(const redisReadTask *task, double n, char *bytes, size_t size)
{
	(void)n, (void)bytes, (void)size;
	return refuse(task->privdata, "a type of RESP3");
}

static void *
create_bool(const redisReadTask *task, int yes)
{
	(void)yes;
	return refuse(task->privdata, "a type of RESP3");
}
#endif

static void
free_nothing(void *object)
{
	(void)object;
}

static redisReplyObjectFunctions functions = { /* hiredis wants it writable, and writes nothing */
	.createString = create_string,
	.createArray = create_array,
	.createInteger = create_integer,
	.createNil = create_nil,
	.freeObject = free_nothing,
#if HIREDIS_MAJOR >= 1
	.createDouble = create_double,
	.createBool = create_bool,
#endif
};

/* ---- the reader ---- */

static void
fail(struct lsh_reader *reader, const char *why)
{
	snprintf(reader->fault, sizeof reader->fault, "%s", why);
}

static void
fail_as_parsed(struct lsh_reader *reader)
{
	const redisReader *parser = reader->parser;

	if (reader->refusal != NULL)
		fail(reader, reader->refusal);
	else if (parser->err == REDIS_ERR_OOM || parser->errstr[0] == '\0')
		fail(reader, "out of memory");
	else
		fail(reader, parser->errstr);
}

/* Feed a dummy as large as all that can ever be in the buffer, and read it away. */
static bool
grow(struct lsh_reader *reader)
{
	static const char zeros[4096];
	char head[16];
	int n = snprintf(head, sizeof head, "$%d\r\n", GROWN_SIZE);
	void *object = NULL;
	bool grown;

	reader->growing = true;
	grown = redisReaderFeed(reader->parser, head, (size_t)n) == REDIS_OK;
	for (size_t left = GROWN_SIZE; grown && left > 0;) {
		size_t some = left < sizeof zeros ? left : sizeof zeros;

		grown = redisReaderFeed(reader->parser, zeros, some) == REDIS_OK;
		left -= some;
	}
	grown = grown && redisReaderFeed(reader->parser, "\r\n", 2) == REDIS_OK &&
		redisReaderGetReply(reader->parser, &object) == REDIS_OK && object != NULL;
	reader->growing = false;
	return grown;
}

static bool
is_fresh(const struct lsh_reader *reader)
{
	return reader->parser != NULL && reader->fault[0] == '\0' && reader->pending == 0;
}

bool
lsh_reader_reset(struct lsh_reader *reader)
{
	if (is_fresh(reader)) /* the last message was the last: nothing has to be allocated anew */
		return true;
	if (reader->parser != NULL)
		redisReaderFree(reader->parser);
	reader->parser = redisReaderCreateWithFunctions(&functions);
	reader->pending = 0;
	reader->refusal = NULL;
	reader->fault[0] = '\0';
	if (reader->parser != NULL) {
		reader->parser->privdata = reader;
		reader->parser->maxbuf = 0;
		if (grow(reader))
			return true;
		redisReaderFree(reader->parser);
		reader->parser = NULL;
	}
	fail(reader, "out of memory");
	return false;
}

struct lsh_reader *
lsh_reader_new(void)
{
	struct lsh_reader *reader = lsh_new(struct lsh_reader);

	if (reader != NULL && !lsh_reader_reset(reader)) {
		lsh_free(reader);
		return NULL;
	}
	return reader;
}

void
lsh_reader_free(struct lsh_reader *reader)
{
	if (reader == NULL)
		return;
	if (reader->parser != NULL)
		redisReaderFree(reader->parser);
	lsh_free(reader);
}

bool
lsh_reader_feed(struct lsh_reader *reader, const char *bytes, size_t size)
{
	if (reader->fault[0] != '\0')
		return false;
	if (size > LSH_READ_SIZE || reader->pending > LSH_READ_SIZE) {
		fail(reader, "more than 64 KiB without a reply");
		return false;
	}
	if (redisReaderFeed(reader->parser, bytes, size) != REDIS_OK) {
		fail_as_parsed(reader);
		return false;
	}
	reader->pending += size;
	return true;
}

int
lsh_reader_next(struct lsh_reader *reader, const struct lsh_message **message)
{
	void *object = NULL;
	size_t unread, size;

	if (reader->fault[0] != '\0')
		return -1;
	if (redisReaderGetReply(reader->parser, &object) != REDIS_OK) {
		fail_as_parsed(reader);
		return -1;
	}
	unread = object != NULL ? reader->parser->len - reader->parser->pos : 0;
	size = reader->pending - unread; /* of the message, so far */
	if (size > LSH_READ_SIZE) {
		fail(reader, "more than 64 KiB without a reply");
		return -1;
	}
	if (object == NULL)
		return 0;
	reader->pending = unread;
	*message = &reader->message;
	return 1;
}

const char *
lsh_reader_fault(const struct lsh_reader *reader)
{
	return reader->fault;
}

void
lsh_reply_keep(struct lsh_reply *reply, const struct lsh_message *message)
{
	const struct lsh_item *text = NULL;

	reply->type = message->type;
	reply->count = (uint16_t)message->count;
	reply->integers = 0;
	for (unsigned i = 0; i < message->count; i++) {
		const struct lsh_item *item = &message->item[i];

		if (item->type == LSH_INTEGER) {
			reply->integer[i] = item->integer;
			reply->integers = (uint16_t)(reply->integers | 1u << i);
		} else if (item->type != LSH_NIL && text == NULL) {
			text = item;
		}
	}
	if (text != NULL) {
		size_t n = text->length < LSH_REPLY_TEXT ? text->length : LSH_REPLY_TEXT - 1;

		memcpy(reply->text, text->text, n);
		reply->text[n] = '\0';
	} else {
		reply->text[0] = '\0';
	}
}
