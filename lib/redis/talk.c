/* Talking: one thread, one connection, blocking, each wait with an end.
 *
 * hiredis builds the answers, behind a sieve. Its objects are freed level by level, on the stack, and an array that is announced has its
 * places at once: hence the bounds. The bytes of the answer under way are counted here, as it buffers without bound what does not make
 * one. */
#include "redis/talk.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "redis/dial.h"
#include "redis/sieve.h"
#include "redis/socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct lsh_talk {
	const struct lsh_uri *uri;
	int64_t timeout;
	struct lsh_wire wire;
	struct lsh_dial *dial; /* until it is connected */
	struct lsh_sieve sieve;
	size_t most;           /* bytes of an answer */
	redisReply *answer;    /* the last one */
	char *words;           /* what is to be sent */
	size_t size, room, sent;
	char bytes[16384];     /* what was received */
};

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
	return fail(t, err, lsh_errno_status(e, LEASH_UNAVAILABLE), e, lsh_errno_text(e, text));
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
dial(struct lsh_talk *t, enum lsh_want want, const char *name, struct lsh_hello *hello, leash_error *err)
{
	struct lsh_dial *dial = lsh_dial_new(t->uri, name, NULL);
	enum lsh_dialed dialed;
	leash_error trouble = {0};

	if (dial == NULL)
		return fail(t, err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a connection");
	t->dial = dial;
	lsh_dial_want(dial, want);
	lsh_dial_start(dial, lsh_after(lsh_now_ns(), t->timeout));
	while ((dialed = lsh_dial_step(dial, hello, &trouble)) == LSH_DIAL_WAIT) {
		int64_t deadline;
		struct pollfd polled = lsh_dial_poll(dial, &deadline);

		await(polled, deadline);
	}
	if (dialed == LSH_DIAL_DONE)
		t->wire = hello->wire;
	t->dial = NULL;
	lsh_dial_free(dial);
	if (dialed == LSH_DIAL_FAILED)
		return lsh_fail(err, trouble.status, trouble.sys_errno, "%s", trouble.text);
	return LEASH_OK;
}

static leash_status
open_talk(struct lsh_talk **out, enum lsh_want want, const struct lsh_uri *uri, const char *name, int64_t timeout, struct lsh_hello *hello,
          leash_error *err)
{
	struct lsh_talk *t = lsh_new(struct lsh_talk);
	leash_status status;

	if (t == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%.120s: out of memory for a connection", uri->shown);
	t->uri = uri;
	t->timeout = timeout;
	t->most = LSH_TALK_MOST;
	t->wire = LSH_NO_WIRE;
	*out = t;
	status = lsh_sieve_open(&t->sieve, NULL, LSH_TALK_LEVELS, LSH_TALK_ELEMENTS)
	                 ? dial(t, want, name, hello, err)
	                 : fail(t, err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a connection");
	if (status != LEASH_OK) {
		*out = NULL;
		lsh_talk_close(t);
	}
	return status;
}

leash_status
lsh_talk_open(struct lsh_talk **out, const struct lsh_uri *uri, const char *name, int64_t timeout, struct lsh_hello *hello, leash_error *err)
{
	struct lsh_hello ignored = {0};

	return open_talk(out, LSH_WANT_SERVER, uri, name, timeout, hello != NULL ? hello : &ignored, err);
}

leash_status
lsh_talk_open_sentinel(struct lsh_talk **out, const struct lsh_uri *uri, const char *name, int64_t timeout, leash_error *err)
{
	struct lsh_hello ignored = {0};

	return open_talk(out, LSH_WANT_SENTINEL, uri, name, timeout, &ignored, err);
}

void
lsh_talk_close(struct lsh_talk *t)
{
	if (t == NULL)
		return;
	lsh_wire_discard(&t->wire);
	lsh_answer_free(t->answer);
	lsh_sieve_close(&t->sieve);
	lsh_free(t->words);
	lsh_free(t);
}

void
lsh_talk_forsake(struct lsh_talk *t)
{
	/* TLS stays as it is, and so does the rest: a thread that is not in the child may have been in the middle of it */
	if (t->wire.fd >= 0)
		close(t->wire.fd);
	if (t->dial != NULL)
		lsh_dial_forsake(t->dial);
}

void
lsh_talk_allow_maps(struct lsh_talk *t)
{
	t->most = LSH_TALK_MAP_MOST;
	t->sieve.most_elements = LSH_TALK_MAP_ELEMENTS;
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
	if (redisReaderFeed(t->sieve.parser, t->bytes, (size_t)n) == REDIS_OK)
		return true;
	errno = ENOMEM;
	return false;
}

static leash_status
fail_as_too_long(const struct lsh_talk *t, leash_error *err, size_t most, const char *of_what)
{
	return lsh_fail(err, LEASH_PROTOCOL, 0, "%.120s: its answer has more than %zu %s, which is the most that is taken", t->uri->shown, most, of_what);
}

/* The next answer, if all of it is there; NULL: it is not. */
static leash_status
parse(struct lsh_talk *t, redisReply **answer, leash_error *err)
{
	const char *fault;
	void *object;

	if (lsh_sieve_next(&t->sieve, &object)) {
		*answer = object;
		return LEASH_OK;
	}
	if (t->sieve.too_many)
		return fail_as_too_long(t, err, t->sieve.most_elements, "elements");
	fault = lsh_sieve_fault(&t->sieve);
	if (fault == NULL)
		return fail(t, err, LEASH_NO_MEMORY, ENOMEM, "out of memory for an answer");
	return lsh_fail(err, LEASH_PROTOCOL, 0, "%.120s: what it sends is not what a Redis server says: %s", t->uri->shown, fault);
}

leash_status
lsh_talk_hear(struct lsh_talk *t, const struct redisReply **answer, leash_error *err)
{
	int64_t deadline = lsh_after(lsh_now_ns(), t->timeout);
	size_t count = t->sieve.parser->len - t->sieve.parser->pos;

	lsh_answer_free(lsh_talk_take(t));
	for (;;) {
		leash_status status = parse(t, &t->answer, err);

		if (status != LEASH_OK)
			return status;
		if (t->answer != NULL) {
			*answer = t->answer;
			return LEASH_OK;
		}
		if (count > t->most)
			return fail_as_too_long(t, err, t->most, "bytes");
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
