#include "redis/informant.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/park.h"
#include "base/text.h"
#include "redis/buffer.h"
#include "redis/connector.h"
#include "redis/sieve.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { LEVELS = 7 }; /* of arrays in arrays: what hiredis 0.14 can do */

#define TOO_LONG "its answer has more than %zu %s, which is the most that is accepted"
#define UNASKED  "it sends a reply that nobody asked for"

enum state { DOWN, CONNECTING, UP };

struct lsh_informant {
	const struct lsh_uri *uri;
	struct lsh_informant_options options;
	enum state state;
	leash_error trouble;    /* why it is down */
	struct lsh_connector *connector;
	struct lsh_hello hello;
	struct lsh_stream stream;
	int64_t deadline;
	struct lsh_buffer out;  /* commands */
	unsigned due;           /* replies */
	bool more;              /* a step may have something to say that poll() does not tell of */
	size_t received;        /* bytes of the reply under way */
	struct lsh_sieve sieve;
	redisReply *reply;      /* the last one */
	char bytes[16384];
};

/* ---- failures ---- */

static void
disconnect(struct lsh_informant *i)
{
	lsh_connector_stop(i->connector);
	lsh_stream_discard(&i->stream);
	lsh_sieve_close(&i->sieve);
	i->state = DOWN;
	i->more = false;
}

static enum lsh_progress __attribute__((format(printf, 4, 5)))
fail(struct lsh_informant *i, leash_status status, int sys_errno, const char *format, ...)
{
	char text[sizeof i->trouble.text];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	lsh_fail(&i->trouble, status, sys_errno, "%.120s: %s", i->uri->shown, text);
	disconnect(i);
	return LSH_FAILED;
}

/* ---- the connection ---- */

static enum lsh_progress
go_on_connecting(struct lsh_informant *i)
{
	const enum lsh_progress progress = lsh_connector_step(i->connector, &i->hello, &i->trouble);

	if (progress == LSH_FAILED)
		i->state = DOWN;
	if (progress != LSH_DONE)
		return progress;
	i->stream = i->hello.stream;
	if (!lsh_sieve_open(&i->sieve, NULL, LEVELS, i->options.elements))
		return fail(i, LEASH_NO_MEMORY, ENOMEM, "out of memory for a connection");
	i->state = UP;
	i->received = 0;
	lsh_informant_ask(i);
	return LSH_GO_ON;
}

/* The next reply, if all of it is there; else WAIT. */
static enum lsh_progress
parse(struct lsh_informant *i)
{
	void *object;

	if (!lsh_sieve_next(&i->sieve, &object)) {
		const char *fault = lsh_sieve_fault(&i->sieve);

		if (i->sieve.too_many)
			return fail(i, LEASH_PROTOCOL, 0, TOO_LONG, i->options.elements, "elements");
		if (fault == NULL)
			return fail(i, LEASH_NO_MEMORY, ENOMEM, "out of memory for an answer");
		return fail(i, LEASH_PROTOCOL, 0, "it does not answer as a Redis server does: %s", fault);
	}
	if (object == NULL && i->received > i->options.bytes)
		return fail(i, LEASH_PROTOCOL, 0, TOO_LONG, i->options.bytes, "bytes");
	if (object == NULL)
		return LSH_WAIT;
	i->reply = object;
	i->received = i->sieve.parser->len - i->sieve.parser->pos; /* of the next one */
	i->due -= i->due > 0;
	if (i->due > 0)
		return LSH_DONE;
	i->deadline = LSH_NEVER;
	if (i->received > 0 && !i->options.unasked)
		return fail(i, LEASH_PROTOCOL, 0, UNASKED);
	return LSH_DONE;
}

/* Read what there is, once: who says ever more does not keep the thread from others. */
static enum lsh_progress
receive(struct lsh_informant *i)
{
	ssize_t n = lsh_stream_recv(&i->stream, i->bytes, sizeof i->bytes, MSG_DONTWAIT);
	enum lsh_progress progress = LSH_WAIT;
	leash_error why;

	if (n > 0 && i->due == 0 && !i->options.unasked)
		return fail(i, LEASH_PROTOCOL, 0, UNASKED);
	if (n > 0 && redisReaderFeed(i->sieve.parser, i->bytes, (size_t)n) != REDIS_OK)
		return fail(i, LEASH_NO_MEMORY, ENOMEM, "out of memory for an answer");
	if (n > 0) {
		i->received += (size_t)n;
		progress = parse(i);
	}
	if (progress == LSH_WAIT && lsh_stream_await(&i->stream, n, i->deadline, &why) != LEASH_OK)
		return fail(i, why.status, why.sys_errno, "%s", why.text);
	return progress;
}

static enum lsh_progress
go_on(struct lsh_informant *i)
{
	enum lsh_progress progress;

	lsh_stream_send_all(&i->stream, &i->out);
	progress = parse(i);
	return progress == LSH_WAIT ? receive(i) : progress;
}

/* ---- what its owner calls ---- */

void
lsh_informant_connect(struct lsh_informant *i)
{
	disconnect(i);
	lsh_buffer_empty(&i->out);
	i->due = 0;
	lsh_connector_start(i->connector, lsh_after(lsh_now_ns(), i->options.timeout));
	i->state = CONNECTING;
}

void
lsh_informant_stop(struct lsh_informant *i)
{
	disconnect(i);
	i->trouble = (leash_error){0};
}

bool
lsh_informant_is_down(const struct lsh_informant *i)
{
	return i->state == DOWN;
}

bool
lsh_informant_send(struct lsh_informant *i, const struct lsh_arg *args, size_t count)
{
	size_t most = lsh_command_size(args, count);

	if (!lsh_buffer_reserve(&i->out, most, SIZE_MAX)) {
		fail(i, LEASH_NO_MEMORY, ENOMEM, "out of memory for a command");
		i->more = true;
		return false;
	}
	i->out.end += lsh_command_write(i->out.bytes + i->out.end, args, count);
	i->due++;
	return true;
}

void
lsh_informant_ask(struct lsh_informant *i)
{
	i->deadline = i->due > 0 || i->options.unasked ? lsh_after(lsh_now_ns(), i->options.timeout) : LSH_NEVER;
}

nfds_t
lsh_informant_poll(const struct lsh_informant *i, struct pollfd *polled, int64_t *until)
{
	short events = lsh_buffer_size(&i->out) > 0 ? POLLIN | POLLOUT : POLLIN;

	if (i->more || (i->state == UP && lsh_stream_is_pending(&i->stream)))
		*until = 0;
	if (i->state != UP)
		return lsh_connector_poll(i->connector, polled, until);
	*polled = (struct pollfd){.fd = i->stream.fd, .events = events};
	*until = i->deadline < *until ? i->deadline : *until;
	return 1;
}

enum lsh_progress
lsh_informant_step(struct lsh_informant *i)
{
	enum lsh_progress progress = LSH_FAILED;

	lsh_answer_free(lsh_informant_take(i));
	i->more = false;
	if (i->state == CONNECTING)
		progress = go_on_connecting(i);
	else if (i->state == UP)
		progress = go_on(i);
	i->more = progress == LSH_GO_ON || progress == LSH_DONE;
	return progress;
}

const leash_error *
lsh_informant_trouble(const struct lsh_informant *i)
{
	return &i->trouble;
}

const struct lsh_hello *
lsh_informant_hello(const struct lsh_informant *i)
{
	return &i->hello;
}

const struct redisReply *
lsh_informant_reply(const struct lsh_informant *i)
{
	return i->reply;
}

struct redisReply *
lsh_informant_take(struct lsh_informant *i)
{
	redisReply *reply = i->reply;

	i->reply = NULL;
	return reply;
}

/* ---- life ---- */

struct lsh_informant *
lsh_informant_new(const struct lsh_uri *uri, const struct lsh_informant_options *options)
{
	struct lsh_informant *i = lsh_new(struct lsh_informant);

	if (i == NULL)
		return NULL;
	i->uri = uri;
	i->options = *options;
	i->stream = LSH_NO_STREAM;
	i->connector = lsh_connector_new(uri, options->want, options->name, NULL);
	if (i->connector == NULL) {
		lsh_free(i);
		return NULL;
	}
	return i;
}

void
lsh_informant_free(struct lsh_informant *i)
{
	if (i == NULL)
		return;
	disconnect(i);
	lsh_connector_free(i->connector);
	lsh_answer_free(i->reply);
	lsh_free(i->out.bytes);
	lsh_free(i);
}

/* ---- talks ---- */

/* Sleep until it says something. If that is not `wanted`, say why. */
static leash_status
await(struct lsh_informant *i, enum lsh_progress wanted, leash_error *err)
{
	enum lsh_progress progress;

	while ((progress = lsh_informant_step(i)) == LSH_WAIT) {
		int64_t until = LSH_NEVER;
		struct pollfd polled[2];
		nfds_t n = lsh_informant_poll(i, polled + 1, &until);

		lsh_kick_poll(-1, polled, 1 + n, until);
	}
	if (progress == wanted)
		return LEASH_OK;
	if (err != NULL)
		*err = i->trouble;
	return i->trouble.status;
}

leash_status
lsh_talk_open(struct lsh_informant **out, const struct lsh_uri *uri, enum lsh_want want, const char *name,
              int64_t timeout, leash_error *err)
{
	const struct lsh_informant_options options = {
		.name = name, .timeout = timeout, .want = want, .unasked = true,
		.bytes = LSH_TALK_MOST, .elements = LSH_TALK_ELEMENTS,
	};
	leash_status status;

	*out = lsh_informant_new(uri, &options);
	if (*out == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%.120s: out of memory for a connection", uri->shown);
	lsh_informant_connect(*out);
	status = await(*out, LSH_GO_ON, err);
	if (status != LEASH_OK) {
		lsh_informant_free(*out);
		*out = NULL;
	}
	return status;
}

leash_status
lsh_talk_hear(struct lsh_informant *i, const struct redisReply **answer, leash_error *err)
{
	leash_status status;

	lsh_informant_ask(i);
	status = await(i, LSH_DONE, err);
	if (status == LEASH_OK)
		*answer = i->reply;
	return status;
}

/* ---- replies ---- */

void
lsh_answer_free(struct redisReply *answer)
{
	if (answer != NULL)
		freeReplyObject(answer);
}

struct lsh_item
lsh_answer_item(const struct redisReply *answer)
{
	static const enum lsh_type types[] = {
		[REDIS_REPLY_STRING] = LSH_STRING, [REDIS_REPLY_STATUS] = LSH_STATUS, [REDIS_REPLY_ERROR] = LSH_ERROR,
		[REDIS_REPLY_INTEGER] = LSH_INTEGER, [REDIS_REPLY_ARRAY] = LSH_ARRAY, [REDIS_REPLY_NIL] = LSH_NIL,
	};
	struct lsh_item item = {.type = LSH_NIL, .text = ""};

	if (answer == NULL)
		return item;
	item.type = types[answer->type]; /* no other gets through the sieve */
	if (item.type == LSH_INTEGER) {
		item.integer = answer->integer;
	} else if (item.type != LSH_NIL && item.type != LSH_ARRAY) {
		item.text = answer->str;
		item.length = (size_t)answer->len;
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

int
lsh_trouble_weight(const leash_error *trouble)
{
	static const leash_status by_weight[] = {
		LEASH_UNAVAILABLE, LEASH_NO_MEMORY, LEASH_PROTOCOL, LEASH_UNSUPPORTED, LEASH_INVALID, LEASH_DENIED,
	};
	int n = sizeof by_weight / sizeof *by_weight;

	while (--n > 0 && by_weight[n] != trouble->status)
		;
	/* one that does not exist is not waited for: the others may come back */
	return n == 0 && trouble->sys_errno == ENXIO ? -1 : n;
}
