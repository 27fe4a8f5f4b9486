/* The question is three commands in one write, which a sentinel executes one after another:
 *
 *   SENTINEL GET-MASTER-ADDR-BY-NAME   the address; in a failover sooner the new one than SENTINEL MASTER has it
 *   SENTINEL MASTER                    the epoch, and what else a sentinel thinks of the master
 *   SENTINEL SENTINELS                 the others
 *
 * A user who is permitted but the first of them is served all the same. What comes through the sieve is kept as far as it is of use, and
 * nothing is built of it: the second answer has too many items for lsh_reader, which is for hot paths. The bytes of a question's answers
 * are counted, since hiredis buffers without bound what does not end.
 *
 * No mutex: one thread at a time. */
#include "redis/lookout.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "redis/command.h"
#include "redis/dial.h"
#include "redis/fault.h"
#include "redis/listener.h"
#include "redis/sieve.h"
#include "redis/socket.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SWITCH_CHANNEL "+switch-master"
#define RESUBSCRIBE (1 * LSH_S)        /* so long after a subscription that broke, at the soonest */
#define RESUBSCRIBE_DENIED (30 * LSH_S) /* that is noted down in a log of the sentinel each time */

enum { MOST = 1 << 18, WORD_SIZE = 192 }; /* bytes of a question's answers; of a word that a sentinel says */

enum question { ADDRESS, MASTER, OTHERS, QUESTIONS };

enum field { FIELD_NONE, FIELD_IP, FIELD_PORT, FIELD_FLAGS, FIELD_EPOCH, FIELD_ROLE_TIME, FIELDS };

static const char *const field_names[FIELDS] = {"", "ip", "port", "flags", "config-epoch", "role-reported-time"};

/* What is kept of the answers to one question, while they come. */
struct said {
	enum question about;                 /* whose answer is under way; QUESTIONS: all are there */
	enum field field;                    /* the value of which the next string is */
	char refusal[WORD_SIZE];             /* to ADDRESS */
	bool stranger;
	struct lsh_whereabouts address, master;
	char flags[WORD_SIZE];
	uint64_t epoch, role_ms;
	size_t other_count;
	struct lsh_whereabouts others[LSH_OTHERS];
};

enum state { DOWN, DIALING, ASKING, IDLE };

struct lsh_lookout {
	struct lsh_uri uri;
	char *master;
	int64_t timeout;
	char *words;             /* the question */
	size_t size;

	/* the questions */
	enum state state;
	struct lsh_dial *dial;
	struct lsh_wire wire;
	bool kept;               /* the connection has served a question before */
	uint64_t number;         /* of the question under way */
	int64_t deadline;
	size_t sent, received;
	struct lsh_sieve sieve;
	struct said said;
	struct lsh_view view;
	size_t other_count;
	struct lsh_whereabouts others[LSH_OTHERS];

	/* the subscription */
	struct lsh_dial *news_dial;
	struct lsh_listener *news;
	bool subscribing, subscribed;
	int64_t subscribe_at;
	bool switched;
	leash_error deafness;    /* status LEASH_OK: there is none */
};

/* ---- what is kept of the answers ---- */

static void
take_host(struct lsh_whereabouts *at, const char *bytes, size_t size)
{
	size_t n = size < LSH_MASTER_HOST ? size : 0;

	/* a name or an address; no other byte is passed on to a resolver or a message */
	for (size_t i = 0; i < n; i++)
		if (strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.:-_%", bytes[i]) == NULL || bytes[i] == '\0')
			n = 0;
	memcpy(at->host, bytes, n);
	at->host[n] = '\0';
}

static void
take_port(struct lsh_whereabouts *at, const char *bytes, size_t size)
{
	uint64_t port;

	at->port = lsh_decimal_read(bytes, size, &port) && port <= UINT16_MAX ? (uint16_t)port : 0;
}

static enum field
field_of(const char *bytes, size_t size)
{
	for (enum field f = FIELD_NONE + 1; f < FIELDS; f++)
		if (strlen(field_names[f]) == size && memcmp(field_names[f], bytes, size) == 0)
			return f;
	return FIELD_NONE;
}

static void
take_value(struct said *said, struct lsh_whereabouts *at, const char *bytes, size_t size)
{
	switch (said->field) {
	case FIELD_IP:
		take_host(at, bytes, size);
		break;
	case FIELD_PORT:
		take_port(at, bytes, size);
		break;
	case FIELD_FLAGS:
		if (said->about == MASTER)
			snprintf(said->flags, sizeof said->flags, "%.*s", (int)(size < WORD_SIZE ? size : WORD_SIZE), bytes);
		break;
	case FIELD_EPOCH:
		if (said->about == MASTER && !lsh_decimal_read(bytes, size, &said->epoch))
			said->epoch = 0;
		break;
	case FIELD_ROLE_TIME:
		if (said->about == MASTER && !lsh_decimal_read(bytes, size, &said->role_ms))
			said->role_ms = 0;
		break;
	default:
		break;
	}
}

/* Item `i` of an array; `outer` is the place of that array in one around it. */
static void
take_item(struct said *said, size_t outer, size_t i, const char *bytes, size_t size)
{
	if (said->about == ADDRESS) {
		if (i == 0)
			take_host(&said->address, bytes, size);
		else if (i == 1)
			take_port(&said->address, bytes, size);
	} else if (i % 2 == 0) {
		said->field = field_of(bytes, size);
	} else if (said->about == MASTER) {
		take_value(said, &said->master, bytes, size);
	} else if (outer < LSH_OTHERS) {
		take_value(said, &said->others[outer], bytes, size);
		said->other_count = outer + 1;
	}
}

/* What hiredis calls: what is returned need only be not NULL. */

static struct lsh_lookout *
lookout_of(const redisReadTask *task)
{
	struct lsh_sieve *sieve = task->privdata;

	return lsh_container(sieve, struct lsh_lookout, sieve);
}

static void *
create_string(const redisReadTask *task, char *bytes, size_t size)
{
	struct lsh_lookout *l = lookout_of(task);
	const redisReadTask *array = task->parent;

	if (array != NULL)
		take_item(&l->said, array->parent != NULL ? (size_t)array->idx : 0, (size_t)task->idx, bytes, size);
	else if (task->type == REDIS_REPLY_ERROR && l->said.about == ADDRESS)
		snprintf(l->said.refusal, sizeof l->said.refusal, "%.*s", (int)(size < WORD_SIZE ? size : WORD_SIZE), bytes);
	return l;
}

static void *
create_array(const redisReadTask *task, lsh_elements count)
{
	struct lsh_lookout *l = lookout_of(task);

	(void)count;
	l->said.field = FIELD_NONE;
	return l;
}

static void *
create_nil(const redisReadTask *task)
{
	struct lsh_lookout *l = lookout_of(task);

	if (task->parent == NULL && l->said.about == ADDRESS)
		l->said.stranger = true;
	return l;
}

static const redisReplyObjectFunctions builders = {
	.createString = create_string,
	.createArray = create_array,
	.createInteger = lsh_sieve_pass_integer,
	.createNil = create_nil,
	.freeObject = lsh_sieve_free_nothing,
};

/* ---- the connection for questions ---- */

static void
disconnect(struct lsh_lookout *l)
{
	struct lsh_wire wire = l->wire;

	lsh_dial_stop(l->dial);
	l->wire = LSH_NO_WIRE; /* before it is closed: a forked child may see the one or the other, but no number of another file */
	lsh_wire_discard(&wire);
	lsh_sieve_close(&l->sieve);
	l->state = DOWN;
}

static void
unsubscribe(struct lsh_lookout *l)
{
	struct lsh_wire wire;

	lsh_dial_stop(l->news_dial);
	lsh_listener_break(l->news);
	wire = lsh_listener_detach(l->news);
	lsh_wire_discard(&wire);
	l->subscribing = l->subscribed = false;
}

/* The question under way has ended without an answer. */
static bool
fail_as(struct lsh_lookout *l, const leash_error *err)
{
	disconnect(l);
	unsubscribe(l); /* whoever does not answer says nothing either */
	l->subscribe_at = 0;
	l->view = (struct lsh_view){.sight = LSH_SEES_TROUBLE, .number = l->number, .trouble = *err};
	return true;
}

static bool __attribute__((format(printf, 4, 5)))
fail(struct lsh_lookout *l, leash_status status, int sys_errno, const char *format, ...)
{
	leash_error err;
	char text[sizeof err.text];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	lsh_fail(&err, status, sys_errno, "%.120s: %s", l->uri.shown, text);
	return fail_as(l, &err);
}

static void
start_dial(struct lsh_lookout *l)
{
	lsh_dial_start(l->dial, lsh_after(lsh_now_ns(), l->timeout));
	l->state = DIALING;
}

/* The connection is of no use. One that was kept may have been so for long: what it says is not about now. */
static bool
broken(struct lsh_lookout *l, int e)
{
	char text[LSH_ERRNO_TEXT];
	leash_error trouble;

	if (l->kept) {
		disconnect(l);
		start_dial(l);
		return false;
	}
	if (e == EPROTO && lsh_wire_trouble(&l->wire, &trouble))
		return fail(l, trouble.status, trouble.sys_errno, "%s", trouble.text);
	return fail(l, lsh_errno_status(e, LEASH_UNAVAILABLE), e, "%s", e == ECONNRESET ? "the sentinel closed the connection" : lsh_errno_text(e, text));
}

static void
begin_question(struct lsh_lookout *l)
{
	l->said = (struct said){.about = ADDRESS};
	l->sent = l->received = 0;
	l->deadline = lsh_after(lsh_now_ns(), l->timeout);
	l->state = ASKING;
}

static bool
connected(struct lsh_lookout *l, struct lsh_wire wire)
{
	l->wire = wire;
	l->kept = false;
	if (!lsh_sieve_open(&l->sieve, &builders, 1, SIZE_MAX)) /* nothing is kept for elements to come */
		return fail(l, LEASH_NO_MEMORY, ENOMEM, "out of memory for a connection");
	begin_question(l);
	return false;
}

static bool
go_on_dialing(struct lsh_lookout *l)
{
	struct lsh_hello hello = {0};
	leash_error err = {0};

	switch (lsh_dial_step(l->dial, &hello, &err)) {
	case LSH_DIAL_WAIT:
		return false;
	case LSH_DIAL_FAILED:
		return fail_as(l, &err);
	case LSH_DIAL_DONE:
		break;
	}
	return connected(l, hello.wire);
}

/* ---- answers ---- */

static bool
is_same(const struct lsh_whereabouts *a, const struct lsh_whereabouts *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0;
}

static bool
refused(struct lsh_lookout *l)
{
	const char *said = l->said.refusal;
	leash_status status = lsh_fault_status(lsh_fault_of(said));

	/* a server that is none says "ERR unknown command" */
	if (lsh_starts_with_word(said, "ERR"))
		return fail(l, LEASH_INVALID, 0, "is it a sentinel? SENTINEL was refused: %.*s", (int)strcspn(said, "'`\","), said);
	return fail(l, status == LEASH_OK ? LEASH_PROTOCOL : status, 0, "SENTINEL GET-MASTER-ADDR-BY-NAME was refused: %.120s", said);
}

/* All answers are there. */
static bool
answered(struct lsh_lookout *l)
{
	const struct said *said = &l->said;
	struct lsh_view view = {.number = l->number, .sight = LSH_SEES_STRANGER};

	if (said->refusal[0] != '\0')
		return refused(l);
	if (!said->stranger) {
		if (said->address.host[0] == '\0' || said->address.port == 0)
			return fail(l, LEASH_PROTOCOL, 0, "where it says that the master is, none can be");
		view.sight = LSH_SEES_MASTER;
		view.master = said->address;
		view.epoch = said->epoch;
		view.since = lsh_now_ns();
		/* in the middle of a failover the second answer may still be about the one before */
		if (is_same(&said->address, &said->master) && said->role_ms <= INT64_MAX / LSH_MS / 2)
			view.since -= (int64_t)said->role_ms * LSH_MS;
		view.down = is_same(&said->address, &said->master) && strstr(said->flags, "_down") != NULL;
		memcpy(l->others, said->others, sizeof l->others);
		l->other_count = said->other_count;
	}
	l->view = view;
	l->kept = true;
	l->state = IDLE;
	return true;
}

/* Take in what has come. True: the question has ended. */
static bool
parse(struct lsh_lookout *l)
{
	for (;;) {
		const char *fault;
		void *object;

		l->sieve.levels = l->said.about == OTHERS ? 2 : 1;
		if (!lsh_sieve_next(&l->sieve, &object)) {
			fault = lsh_sieve_fault(&l->sieve);
			if (fault == NULL)
				return fail(l, LEASH_NO_MEMORY, ENOMEM, "out of memory for an answer");
			return fail(l, LEASH_PROTOCOL, 0, "what it sends is not what a sentinel says: %s", fault);
		}
		if (object == NULL)
			return false;
		if (++l->said.about < QUESTIONS)
			continue;
		return l->sieve.parser->pos == l->sieve.parser->len ? answered(l) : fail(l, LEASH_PROTOCOL, 0, "it answers what it was not asked");
	}
}

/* Send what is left of the question. An error is not the end: the sentinel may have said why; and if not, then reading fails, too. */
static void
send_words(struct lsh_lookout *l)
{
	while (l->sent < l->size) {
		ssize_t n = lsh_wire_send(&l->wire, l->words + l->sent, l->size - l->sent);

		if (n >= 0)
			l->sent += (size_t)n;
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			l->sent = l->size;
	}
}

static ssize_t
receive(struct lsh_lookout *l, char *bytes, size_t size)
{
	ssize_t n;

	do
		n = lsh_wire_recv(&l->wire, bytes, size, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n;
}

static bool
go_on_asking(struct lsh_lookout *l)
{
	char bytes[4096];
	int64_t now;
	ssize_t n;

	send_words(l);
	while ((n = receive(l, bytes, sizeof bytes)) > 0) {
		l->received += (size_t)n;
		if (l->received > MOST)
			return fail(l, LEASH_PROTOCOL, 0, "an answer is longer than a sentinel would give");
		if (redisReaderFeed(l->sieve.parser, bytes, (size_t)n) != REDIS_OK)
			return fail(l, LEASH_NO_MEMORY, ENOMEM, "out of memory for an answer");
		if (parse(l))
			return true;
	}
	if (n == 0 || errno != EAGAIN)
		return broken(l, n == 0 ? ECONNRESET : errno);
	now = lsh_now_ns();
	if (now >= l->deadline && now != LSH_NEVER)
		return fail(l, LEASH_UNAVAILABLE, ETIMEDOUT, "no answer in time");
	return false;
}

/* Nothing comes that was not asked for but an end; the next question is asked on another connection. */
static void
look_idle(struct lsh_lookout *l)
{
	char byte;
	ssize_t n = receive(l, &byte, sizeof byte);

	if (n >= 0 || errno != EAGAIN)
		disconnect(l);
}

/* ---- the subscription ---- */

static void
heard(void *ctx, const char *text, size_t size)
{
	struct lsh_lookout *l = ctx;
	size_t n = strlen(l->master);

	/* "name old-ip old-port new-ip new-port"; a sentinel may watch other masters, too */
	if (size > n && memcmp(text, l->master, n) == 0 && text[n] == ' ')
		l->switched = true;
}

static void
broke(void *ctx)
{
	(void)ctx; /* our own thread sees it */
}

static void
subscribed(struct lsh_lookout *l, struct lsh_wire *wire)
{
	l->subscribing = false;
	l->subscribed = lsh_listener_attach(l->news, *wire);
	if (l->subscribed)
		lsh_listener_drain(l->news); /* what came right behind the confirmation poll() may not tell of */
	else
		lsh_wire_discard(wire);
	l->deafness.status = LEASH_OK;
	l->switched = true; /* what was said before is not known */
}

static void
go_on_subscribing(struct lsh_lookout *l, int64_t now)
{
	struct lsh_hello hello = {0};
	leash_error err = {0};

	switch (lsh_dial_step(l->news_dial, &hello, &err)) {
	case LSH_DIAL_WAIT:
		return;
	case LSH_DIAL_FAILED:
		l->subscribing = false;
		l->deafness = err;
		l->subscribe_at = lsh_after(now, err.status == LEASH_DENIED ? RESUBSCRIBE_DENIED : RESUBSCRIBE);
		return;
	case LSH_DIAL_DONE:
		subscribed(l, &hello.wire);
	}
}

static void
go_on_listening(struct lsh_lookout *l, int64_t now)
{
	lsh_listener_drain(l->news);
	if (lsh_listener_is_up(l->news))
		return;
	unsubscribe(l);
	l->subscribe_at = lsh_after(now, RESUBSCRIBE);
}

static bool
wants_subscription(const struct lsh_lookout *l)
{
	return l->state == IDLE && l->view.sight == LSH_SEES_MASTER && !l->subscribed && !l->subscribing;
}

static void
listen_in(struct lsh_lookout *l)
{
	int64_t now = lsh_now_ns();

	if (l->subscribed)
		go_on_listening(l, now);
	if (wants_subscription(l) && now >= l->subscribe_at && now != LSH_NEVER) {
		l->subscribing = true;
		lsh_dial_start(l->news_dial, lsh_after(now, l->timeout));
	}
	if (l->subscribing)
		go_on_subscribing(l, now);
}

/* ---- what its owner calls ---- */

void
lsh_lookout_ask(struct lsh_lookout *l, uint64_t number)
{
	l->number = number;
	if (l->state == IDLE)
		begin_question(l);
	else
		start_dial(l);
}

bool
lsh_lookout_is_asking(const struct lsh_lookout *l)
{
	return l->state == DIALING || l->state == ASKING;
}

nfds_t
lsh_lookout_poll(const struct lsh_lookout *l, struct pollfd *polled, int64_t *until)
{
	int64_t deadline = LSH_NEVER;
	nfds_t n = 0;
	bool ignored;

	if (l->state == DIALING) {
		polled[n++] = lsh_dial_poll(l->dial, &deadline);
	} else if (l->state != DOWN) {
		deadline = l->state == ASKING ? l->deadline : LSH_NEVER;
		polled[n++] = (struct pollfd){.fd = l->wire.fd, .events = (short)(POLLIN | (l->state == ASKING && l->sent < l->size ? POLLOUT : 0))};
	}
	*until = deadline < *until ? deadline : *until;
	deadline = LSH_NEVER;
	if (l->subscribing)
		polled[n++] = lsh_dial_poll(l->news_dial, &deadline);
	else if (l->subscribed)
		polled[n++] = (struct pollfd){.fd = lsh_listener_fd(l->news, &ignored), .events = POLLIN | POLLRDHUP};
	else if (wants_subscription(l))
		deadline = l->subscribe_at;
	*until = deadline < *until ? deadline : *until;
	return n;
}

bool
lsh_lookout_step(struct lsh_lookout *l)
{
	bool ended = false;

	if (l->state == DIALING)
		ended = go_on_dialing(l);
	if (l->state == ASKING)
		ended = go_on_asking(l) || ended;
	else if (l->state == IDLE)
		look_idle(l);
	listen_in(l);
	return ended;
}

const struct lsh_view *
lsh_lookout_view(const struct lsh_lookout *l)
{
	return &l->view;
}

bool
lsh_lookout_was_switched(struct lsh_lookout *l)
{
	bool switched = l->switched;

	l->switched = false;
	return switched;
}

const leash_error *
lsh_lookout_deafness(const struct lsh_lookout *l)
{
	return l->deafness.status != LEASH_OK ? &l->deafness : NULL;
}

size_t
lsh_lookout_others(const struct lsh_lookout *l, const struct lsh_whereabouts **others)
{
	*others = l->others;
	return l->other_count;
}

const struct lsh_uri *
lsh_lookout_uri(const struct lsh_lookout *l)
{
	return &l->uri;
}

/* ---- life ---- */

/* The question, written to `out` unless that is NULL. Returns its size. */
static size_t
write_question(const struct lsh_lookout *l, char *out)
{
	static const char *const commands[QUESTIONS] = {"GET-MASTER-ADDR-BY-NAME", "MASTER", "SENTINELS"};
	size_t size = 0;

	for (int i = 0; i < QUESTIONS; i++) {
		const struct lsh_arg args[] = {LSH_ARG("SENTINEL"), lsh_arg_text(commands[i]), lsh_arg_text(l->master)};

		size += out != NULL ? lsh_command_write(out + size, args, 3) : lsh_command_size(args, 3);
	}
	return size;
}

struct lsh_lookout *
lsh_lookout_new(struct lsh_uri *uri, const char *master, const char *name, int64_t timeout)
{
	static const struct lsh_listener_ops ops = {.message = heard, .broke = broke};
	struct lsh_lookout *l = lsh_new(struct lsh_lookout);

	if (l == NULL) {
		lsh_uri_clear(uri);
		return NULL;
	}
	l->uri = *uri;
	*uri = (struct lsh_uri){0};
	l->timeout = timeout;
	l->wire = LSH_NO_WIRE;
	l->master = lsh_strdup(master);
	if (l->master == NULL || (l->words = lsh_alloc(write_question(l, NULL))) == NULL)
		goto fail;
	l->size = write_question(l, l->words);
	l->dial = lsh_dial_new(&l->uri, name, NULL);
	l->news_dial = lsh_dial_new(&l->uri, name, SWITCH_CHANNEL);
	l->news = lsh_listener_new(&ops, l);
	if (l->dial == NULL || l->news_dial == NULL || l->news == NULL)
		goto fail;
	lsh_dial_want(l->dial, LSH_WANT_SENTINEL);
	lsh_dial_want(l->news_dial, LSH_WANT_SENTINEL);
	return l;

fail:
	lsh_lookout_free(l);
	return NULL;
}

void
lsh_lookout_free(struct lsh_lookout *l)
{
	if (l == NULL)
		return;
	if (l->dial != NULL)
		disconnect(l);
	lsh_dial_free(l->dial);
	lsh_dial_free(l->news_dial);
	lsh_listener_free(l->news);
	lsh_free(l->words);
	lsh_free(l->master);
	lsh_uri_clear(&l->uri);
	lsh_free(l);
}

void
lsh_lookout_forsake(struct lsh_lookout *l)
{
	/* TLS stays as it is: a thread that is not in the child may have been in the middle of it */
	if (l->wire.fd >= 0)
		close(l->wire.fd);
	lsh_dial_forsake(l->dial);
	lsh_dial_forsake(l->news_dial);
	lsh_listener_forsake(l->news);
}
