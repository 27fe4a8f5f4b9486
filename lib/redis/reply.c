/* Replies, parsed by hiredis behind a sieve. It buffers without bound what does not make a message, so the bytes of the
 * message under way are counted here. With maxbuf = 0 it keeps its buffer for ever. That of a `grown` reader is
 * made as large as it can get at the start, so that no later feed allocates: renewals must not fail for memory. The
 * pages behind what ordinary answers use are given back to the system, which the buffer does not notice. */
#include "redis/reply.h"

#include "base/list.h"
#include "base/memory.h"
#include "redis/sieve.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* As many bytes as are in the buffer at most: of a message not ended yet, and as much as is fed at a time. hiredis
 * removes what it has read when that is 1 KiB. */
enum { GROWN_SIZE = 2 * LSH_READ_SIZE + 1024 };

/* The same for ordinary answers, fed in small pieces. */
enum { USUAL_SIZE = 2 * LSH_PIECE_SIZE + 1024 };

struct lsh_reader {
	struct lsh_sieve sieve;
	size_t pending;        /* bytes fed since the last message ended */
	bool grown;            /* the buffer has all the room that it can ever need */
	bool large;            /* pages behind USUAL_SIZE are in use */
	size_t text_size;      /* of `text` in use */
	const char *fault;     /* "" as long as all is well */

	struct lsh_message message; /* not touched before it is needed, as is the rest */
	char text[LSH_TEXT_SIZE];
};

/* ---- what hiredis calls; what is returned need only be not NULL ---- */

static struct lsh_reader *
reader_of(const redisReadTask *task)
{
	struct lsh_sieve *sieve = task->privdata;

	return lsh_container(sieve, struct lsh_reader, sieve);
}

static struct lsh_item *
take_item(const redisReadTask *task, enum lsh_type type)
{
	struct lsh_reader *reader = reader_of(task);
	/* the sieve saw to it that there is but one array around it, and no larger than ours */
	struct lsh_item *item = &reader->message.item[task->parent != NULL ? task->idx : 0];

	if (task->parent == NULL) {
		reader->message.type = type;
		reader->message.count = 1;
		reader->text_size = 0;
	}
	*item = (struct lsh_item){.type = type, .text = ""};
	return item;
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
	struct lsh_reader *reader = reader_of(task);
	struct lsh_item *item = take_item(task, task->type == REDIS_REPLY_STRING ? LSH_STRING :
	                                  task->type == REDIS_REPLY_STATUS ? LSH_STATUS : LSH_ERROR);

	keep_text(reader, item, bytes, size);
	return item;
}

static void *
create_array(const redisReadTask *task, lsh_elements count)
{
	struct lsh_reader *reader = reader_of(task);

	reader->message.type = LSH_ARRAY;
	reader->message.count = (unsigned)count;
	reader->text_size = 0;
	return &reader->message;
}

static void *
create_integer(const redisReadTask *task, long long n)
{
	struct lsh_item *item = take_item(task, LSH_INTEGER);

	item->integer = n;
	return item;
}

static void *
create_nil(const redisReadTask *task)
{
	return take_item(task, LSH_NIL);
}

static void
free_nothing(void *object)
{
	(void)object;
}

static const redisReplyObjectFunctions builders = {
	.createString = create_string, .createArray = create_array, .createInteger = create_integer,
	.createNil = create_nil, .freeObject = free_nothing,
};

/* ---- the reader ---- */

static const char too_much[] = "more than 64 KiB without a reply";

static bool
fail(struct lsh_reader *reader, const char *why)
{
	reader->fault = why != NULL ? why : "out of memory";
	return false;
}

/* The buffer is empty. Give back the pages behind its usual end; where the system will not, they stay. */
static void
give_back(struct lsh_reader *reader)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)reader->sieve.parser->buf + USUAL_SIZE;
	uintptr_t to = (uintptr_t)reader->sieve.parser->buf + GROWN_SIZE;

	from = (from + page - 1) / page * page;
	to = to / page * page;
	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
	reader->large = false;
}

/* Feed as much as can ever be in the buffer, and have it passed over. */
static bool
grow(struct lsh_reader *reader)
{
	static char zeros[GROWN_SIZE]; /* no memory, as nobody writes there; in one piece: growing by steps leaves holes */
	redisReader *parser = reader->sieve.parser;
	void *none;

	if (redisReaderFeed(parser, zeros, sizeof zeros) != REDIS_OK)
		return false;
	parser->pos = parser->len;
	if (!lsh_sieve_next(&reader->sieve, &none))
		return false;
	give_back(reader);
	return true;
}

bool
lsh_reader_reset(struct lsh_reader *reader)
{
	if (reader->sieve.parser != NULL && reader->fault[0] == '\0' && reader->pending == 0)
		return true; /* the last message was the last: nothing has to be allocated anew */
	lsh_sieve_close(&reader->sieve);
	reader->pending = 0;
	reader->fault = "";
	if (lsh_sieve_open(&reader->sieve, &builders, 1, LSH_ITEMS)) {
		reader->sieve.parser->maxbuf = 0;
		if (!reader->grown || grow(reader))
			return true;
		lsh_sieve_close(&reader->sieve);
	}
	return fail(reader, NULL);
}

struct lsh_reader *
lsh_reader_new(bool grown)
{
	struct lsh_reader *reader = lsh_realloc(NULL, sizeof *reader);

	if (reader == NULL)
		return NULL;
	memset(reader, 0, offsetof(struct lsh_reader, message));
	reader->grown = grown;
	if (!lsh_reader_reset(reader)) {
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
	lsh_sieve_close(&reader->sieve);
	lsh_free(reader);
}

bool
lsh_reader_feed(struct lsh_reader *reader, const char *bytes, size_t size)
{
	if (reader->fault[0] != '\0')
		return false;
	if (size > LSH_READ_SIZE || reader->pending > LSH_READ_SIZE)
		return fail(reader, too_much);
	if (reader->large && reader->pending == 0 && reader->sieve.parser->len == 0)
		give_back(reader);
	if (redisReaderFeed(reader->sieve.parser, bytes, size) != REDIS_OK)
		return fail(reader, lsh_sieve_fault(&reader->sieve));
	reader->large |= reader->grown && reader->sieve.parser->len > USUAL_SIZE;
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
	if (!lsh_sieve_next(&reader->sieve, &object)) {
		fail(reader, lsh_sieve_fault(&reader->sieve));
		return -1;
	}
	unread = object != NULL ? reader->sieve.parser->len - reader->sieve.parser->pos : 0;
	size = reader->pending - unread; /* of the message, so far */
	if (size > LSH_READ_SIZE) {
		fail(reader, too_much);
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

bool
lsh_message_is_about(const struct lsh_message *m, const char *what, enum lsh_type type)
{
	return m->type == LSH_ARRAY && m->count == 3 && m->item[0].type == LSH_STRING && m->item[1].type == LSH_STRING &&
	       m->item[2].type == type && strcmp(m->item[0].text, what) == 0;
}
