/* Talking: one thread, one connection, blocking, each wait with an end.
 *
 * hiredis finds the items of an answer and builds them, by its own functions with ours in front of them: those refuse (by NULL, which it
 * takes for a lack of memory) what leash never asks for, before any memory is taken for it, and what would put answers out of step,
 * because hiredis does not look at the two bytes behind a string. Its objects are freed level by level, on the stack, and an array that is
 * announced has its places at once: hence the bounds. The bytes of the answer under way are counted here, as it buffers without bound what
 * does not make one. Works with hiredis 0.14 and 1.x. */
#include "redis/talk.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "redis/dial.h"
#include "redis/socket.h"

#include <hiredis/hiredis.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#if HIREDIS_MAJOR >= 1
typedef size_t elements;
#else
typedef int elements;
#endif

struct lsh_talk {
	const struct lsh_uri *uri;
	int64_t timeout;
	struct lsh_wire wire;
	redisReader *reader;
	redisReplyObjectFunctions functions; /* ours in front of */
	redisReplyObjectFunctions builders;  /* hiredis's own */
	const char *refusal;   /* why one of ours returned NULL */
	size_t elements;       /* of the arrays of the answer under way */
	redisReply *answer;    /* the last one */
	char *words;           /* what is to be sent */
	size_t size, room, sent;
	char bytes[16384];     /* what was received */
};

/* ---- what hiredis calls ---- */

static void *
refuse(struct lsh_talk *t, const char *why)
{
	t->refusal = why;
	return NULL;
}

/* Does a string in hiredis's buffer have its CR and LF behind it? On 32 bits hiredis's own sum wraps. */
static bool
is_ended(const redisReader *reader, const char *bytes, size_t size)
{
	size_t from = (size_t)(bytes - reader->buf);

	return from <= reader->len && size <= reader->len - from && reader->len - from - size >= 2 && memcmp(bytes + size, "\r\n", 2) == 0;
}

static void *
create_string(const redisReadTask *task, char *bytes, size_t size)
{
	struct lsh_talk *t = task->privdata;

	if (task->type != REDIS_REPLY_STRING && task->type != REDIS_REPLY_STATUS && task->type != REDIS_REPLY_ERROR)
		return refuse(t, "a type of RESP3");
	if (!is_ended(t->reader, bytes, size))
		return refuse(t, "a string that does not end where it should");
	if (task->type != REDIS_REPLY_STRING && (memchr(bytes, '\r', size) != NULL || memchr(bytes, '\n', size) != NULL))
		return refuse(t, "a line that is broken");
	return t->builders.createString(task, bytes, size);
}

static void *
create_array(const redisReadTask *task, elements count)
{
	struct lsh_talk *t = task->privdata;
	unsigned level = 1;

	if (task->type != REDIS_REPLY_ARRAY)
		return refuse(t, "a type of RESP3");
	for (const redisReadTask *above = task->parent; above != NULL; above = above->parent)
		level++;
	if (level > LSH_TALK_LEVELS)
		return refuse(t, "arrays too deep in arrays");
	if ((size_t)count > LSH_TALK_ELEMENTS - t->elements)
		return refuse(t, "too many elements");
	t->elements += (size_t)count;
	return t->builders.createArray(task, count);
}

/* A null bulk string or array; there is one of RESP3, too. */
static void *
create_nil(const redisReadTask *task)
{
	struct lsh_talk *t = task->privdata;

	if (task->type != REDIS_REPLY_STRING && task->type != REDIS_REPLY_ARRAY)
		return refuse(t, "a type of RESP3");
	return t->builders.createNil(task);
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

static bool
make_reader(struct lsh_talk *t)
{
	t->reader = redisReaderCreate();
	if (t->reader == NULL)
		return false;
	t->functions = t->builders = *t->reader->fn;
	t->functions.createString = create_string;
	t->functions.createArray = create_array;
	t->functions.createNil = create_nil;
#if HIREDIS_MAJOR >= 1
	t->functions.createDouble = create_double;
	t->functions.createBool = create_bool;
#endif
	t->reader->fn = &t->functions;
	t->reader->privdata = t;
	return true;
}

/* ---- failures ---- */

static leash_status
fail(const struct lsh_talk *t, leash_error *err, leash_status status, int sys_errno, const char *what)
{
	return lsh_fail(err, status, sys_errno, "%.120s: %s", t->uri->shown, what);
}

static leash_status
fail_by_errno(const struct lsh_talk *t, leash_error *err)
{
	char text[LSH_ERRNO_TEXT];
	leash_error trouble;
	int e = errno;

	if (e == EPROTO && lsh_wire_trouble(&t->wire, &trouble))
		return fail(t, err, trouble.status, trouble.sys_errno, trouble.text);
	return fail(t, err, e == ENOMEM ? LEASH_NO_MEMORY : LEASH_UNAVAILABLE, e, lsh_errno_text(e, text));
}

/* Sleep until the connection is ready, or `deadline`. */
static void
await(struct pollfd polled, int64_t deadline)
{
	int64_t left = deadline - lsh_now_ns();
	struct timespec t;

	left = left > 0 ? left : 0;
	t.tv_sec = left / LSH_S;
	t.tv_nsec = left % LSH_S;
	ppoll(&polled, 1, &t, NULL);
}

/* ---- life ---- */

static leash_status
dial(struct lsh_talk *t, const char *name, struct lsh_hello *hello, leash_error *err)
{
	struct lsh_dial *dial = lsh_dial_new(t->uri, name, NULL);
	enum lsh_dialed dialed;
	leash_error trouble = {0};

	if (dial == NULL)
		return fail(t, err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a connection");
	lsh_dial_start(dial, lsh_after(lsh_now_ns(), t->timeout));
	while ((dialed = lsh_dial_step(dial, hello, &trouble)) == LSH_DIAL_WAIT) {
		int64_t deadline;
		struct pollfd polled = lsh_dial_poll(dial, &deadline);

		await(polled, deadline);
	}
	lsh_dial_free(dial);
	if (dialed == LSH_DIAL_FAILED)
		return lsh_fail(err, trouble.status, trouble.sys_errno, "%s", trouble.text);
	t->wire = hello->wire;
	return LEASH_OK;
}

leash_status
lsh_talk_open(struct lsh_talk **out, const struct lsh_uri *uri, const char *name, int64_t timeout, struct lsh_hello *hello, leash_error *err)
{
	struct lsh_talk *t = lsh_new(struct lsh_talk);
	struct lsh_hello ignored = {0};
	leash_status status;

	if (t == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%.120s: out of memory for a connection", uri->shown);
	t->uri = uri;
	t->timeout = timeout;
	t->wire = LSH_NO_WIRE;
	status = make_reader(t) ? dial(t, name, hello != NULL ? hello : &ignored, err)
	                        : fail(t, err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a connection");
	if (status != LEASH_OK)
		lsh_talk_close(t);
	else
		*out = t;
	return status;
}

void
lsh_talk_close(struct lsh_talk *t)
{
	if (t == NULL)
		return;
	lsh_wire_discard(&t->wire);
	lsh_answer_free(t->answer);
	if (t->reader != NULL)
		redisReaderFree(t->reader);
	lsh_free(t->words);
	lsh_free(t);
}

/* ---- saying and hearing ---- */

leash_status
lsh_talk_say(struct lsh_talk *t, const struct lsh_arg *args, size_t count, leash_error *err)
{
	size_t most = lsh_command_size(args, count);

	if (t->sent == t->size)
		t->sent = t->size = 0;
	if (t->room - t->size < most) {
		size_t room = 2 * (t->size + most);
		char *words = lsh_realloc(t->words, room);

		if (words == NULL)
			return fail(t, err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a command");
		t->words = words;
		t->room = room;
	}
	t->size += lsh_command_write(t->words + t->size, args, count);
	return LEASH_OK;
}

/* Send as much as the connection takes. One that is broken may still have something to say: why. */
static void
send_words(struct lsh_talk *t)
{
	while (t->sent < t->size) {
		ssize_t n = lsh_wire_send(&t->wire, t->words + t->sent, t->size - t->sent);

		if (n >= 0)
			t->sent += (size_t)n;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			t->sent = t->size;
	}
}

/* Read what there is, and count it. False: the connection is broken, errno says why. */
static bool
read_some(struct lsh_talk *t, size_t *count)
{
	ssize_t n = lsh_wire_recv(&t->wire, t->bytes, sizeof t->bytes, MSG_DONTWAIT);

	if (n == 0)
		errno = ECONNRESET;
	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	*count += (size_t)n;
	if (redisReaderFeed(t->reader, t->bytes, (size_t)n) == REDIS_OK)
		return true;
	errno = ENOMEM;
	return false;
}

/* The next answer, if all of it is there; NULL: it is not. */
static leash_status
parse(struct lsh_talk *t, redisReply **answer, leash_error *err)
{
	void *object = NULL;

	t->refusal = NULL;
	if (redisReaderGetReply(t->reader, &object) == REDIS_OK) {
		*answer = object;
		return LEASH_OK;
	}
	if (t->refusal == NULL && t->reader->err == REDIS_ERR_OOM)
		return fail(t, err, LEASH_NO_MEMORY, ENOMEM, "out of memory for an answer");
	return lsh_fail(err, LEASH_PROTOCOL, 0, "%.120s: what it sends is not what a Redis server says: %s", t->uri->shown,
	                t->refusal != NULL ? t->refusal : t->reader->errstr);
}

leash_status
lsh_talk_hear(struct lsh_talk *t, const struct redisReply **answer, leash_error *err)
{
	int64_t deadline = lsh_after(lsh_now_ns(), t->timeout);
	size_t count = t->reader->len - t->reader->pos;

	lsh_answer_free(lsh_talk_take(t));
	t->elements = 0;
	for (;;) {
		leash_status status = parse(t, &t->answer, err);

		if (status != LEASH_OK)
			return status;
		if (t->answer != NULL) {
			*answer = t->answer;
			return LEASH_OK;
		}
		if (count > LSH_TALK_MOST)
			return fail(t, err, LEASH_PROTOCOL, 0, "an answer is longer than a Redis server would give");
		if (lsh_now_ns() >= deadline)
			return fail(t, err, LEASH_UNAVAILABLE, ETIMEDOUT, "no answer in time");
		send_words(t);
		if (!lsh_wire_is_pending(&t->wire))
			await((struct pollfd){.fd = t->wire.fd, .events = (short)(POLLIN | (t->sent < t->size ? POLLOUT : 0))}, deadline);
		if (!read_some(t, &count))
			return fail_by_errno(t, err);
	}
}

struct redisReply *
lsh_talk_take(struct lsh_talk *t)
{
	redisReply *answer = t->answer;

	t->answer = NULL;
	return answer;
}

/* ---- answers ---- */

void
lsh_answer_free(struct redisReply *answer)
{
	if (answer != NULL)
		freeReplyObject(answer);
}

struct lsh_item
lsh_answer_item(const struct redisReply *answer)
{
	struct lsh_item item = {.type = LSH_NIL, .text = ""};

	if (answer == NULL)
		return item;
	switch (answer->type) {
	case REDIS_REPLY_INTEGER:
		item.type = LSH_INTEGER;
		item.integer = answer->integer;
		break;
	case REDIS_REPLY_STRING:
	case REDIS_REPLY_STATUS:
	case REDIS_REPLY_ERROR:
		item.type = answer->type == REDIS_REPLY_STRING ? LSH_STRING : answer->type == REDIS_REPLY_STATUS ? LSH_STATUS : LSH_ERROR;
		item.text = answer->str;
		item.length = (size_t)answer->len;
		break;
	case REDIS_REPLY_ARRAY:
		item.type = LSH_ARRAY;
		break;
	}
	return item;
}

size_t
lsh_answer_count(const struct redisReply *answer)
{
	return answer != NULL && answer->type == REDIS_REPLY_ARRAY ? (size_t)answer->elements : 0;
}

const struct redisReply *
lsh_answer_at(const struct redisReply *answer, size_t i)
{
	return i < lsh_answer_count(answer) ? answer->element[i] : NULL;
}
