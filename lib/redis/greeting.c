/* The hello is one write; it holds the password, therefore it lives in guarded memory and only until it was sent. A password
 * that is in a file is read for each hello, because it may have been renewed since the last. The replies are peeked at and
 * only then taken from the wire, up to the end of the last: what comes behind it is for the receiver of the connection.
 *
 * No mutex: one thread at a time. */
#include "redis/greeting.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/token.h"
#include "redis/command.h"
#include "redis/fault.h"
#include "redis/reply.h"
#include "redis/secret.h"
#include "redis/socket.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum step { AUTH, SELECT, SETNAME, INFO, MEMORY, REPLICATION, TIME, SUBSCRIBE, STEPS };

static const char *const step_names[STEPS] = {"AUTH", "SELECT", "CLIENT SETNAME", "INFO", "INFO memory", "INFO replication", "TIME", "SUBSCRIBE"};

struct lsh_greeting {
	const struct lsh_uri *uri;
	char *name;     /* NULL: none */
	char *channel;  /* NULL: a connection for commands; "": one for channels that are asked for later */
	enum lsh_want want;
	enum step steps[STEPS];
	unsigned step_count, answered;
	bool heard;        /* anything at all */
	int64_t deadline;
	char *read;        /* the password that was in a file, from the begin to the end, by sodium_malloc; NULL: the URI's */
	char *words;       /* the commands, likewise, until they are sent */
	size_t size, sent; /* of words; 0 when nothing is left to send */
	struct lsh_hello hello;
	struct lsh_reader *reader;
	char bytes[4096];
};

static const char *
password_of(const struct lsh_greeting *g)
{
	return g->read != NULL ? g->read : g->uri->password;
}

/* ---- refusals ---- */

/* How much of a server's words is fit to be passed on. One that does not know a command quotes its arguments, and those are nobody's
 * business: of AUTH a password, of SUBSCRIBE what all our tokens begin with. Should the password stand there in any other way, then only
 * the first word is shown. */
static int
fit_words(const struct lsh_greeting *g, enum step step, const char *said)
{
	size_t n = step == AUTH ? strcspn(said, "'`\"") : strlen(said);
	const char *quoted = strstr(said, ", with args beginning with");

	if (quoted != NULL && n > (size_t)(quoted - said))
		n = (size_t)(quoted - said);
	if (lsh_secret_is_in(password_of(g), said, n))
		n = strcspn(said, " ");
	if (lsh_secret_is_in(password_of(g), said, n))
		n = 0;
	while (n > 0 && strchr(" ,.", said[n - 1]) != NULL)
		n--;
	return (int)n;
}

/* This is not an answer to a command, but what comes instead of a welcome. */
static bool
is_full(const char *said)
{
	return strncmp(said, "ERR max number of clients", strlen("ERR max number of clients")) == 0;
}

/* May the hello do without this one? Old servers and proxies do not know it, and a user may not be allowed it. */
static bool
is_dispensable(enum step step, const char *said)
{
	return (step == SETNAME || step == INFO || step == MEMORY || step == REPLICATION) && !is_full(said) &&
		(lsh_starts_with_word(said, "NOPERM") || lsh_starts_with_word(said, "ERR"));
}

static enum lsh_greeted __attribute__((format(printf, 5, 6)))
fail(const struct lsh_greeting *g, leash_error *err, leash_status status, int sys_errno, const char *format, ...)
{
	char text[sizeof err->text];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	lsh_fail(err, status, sys_errno, "%.120s: %s", g->uri->shown, text);
	return LSH_GREETING_FAILED;
}

/* The server said "-`said`" to `step`, or to the connection as such. */
static enum lsh_greeted
refused(const struct lsh_greeting *g, enum step step, const char *said, leash_error *err)
{
	const char *name = step_names[step];
	enum lsh_fault fault = lsh_fault_of(said);
	bool plain = lsh_starts_with_word(said, "ERR"), unknown = plain && strstr(said, "unknown command") != NULL;
	int n = fit_words(g, step, said);
	const char *words = said;

	if (n == 0) {
		words = "(its words are not shown)";
		n = (int)strlen(words);
	}
	if (is_full(said))
		return fail(g, err, LEASH_UNAVAILABLE, 0, "the connection was refused: %.*s", n, words);
	if (lsh_starts_with_word(said, "DENIED")) /* protected mode */
		return fail(g, err, LEASH_DENIED, 0, "the connection was refused: %.*s", n, words);
	if (fault == LSH_FAULT_NOT_NOW || fault == LSH_FAULT_NOT_HERE || fault == LSH_FAULT_REFUSED)
		return fail(g, err, LEASH_UNAVAILABLE, 0, "%s was refused: %.*s", name, n, words);
	if (lsh_starts_with_word(said, "NOAUTH"))
		return fail(g, err, LEASH_DENIED, 0, "the server wants a password: %s was refused: %.*s", name, n, words);
	if (unknown && step != AUTH) /* a sentinel has all that comes before TIME */
		return fail(g, err, LEASH_UNSUPPORTED, 0, "%s was refused: %.*s (%s)", name, n, words,
		            step == TIME ? "is it a sentinel? then write redis+sentinel://. Or was it renamed by rename-command?" : "was it renamed by rename-command?");
	if (step == SELECT && plain)
		return fail(g, err, LEASH_INVALID, 0, "there is no database %d: SELECT was refused: %.*s", (int)g->uri->db, n, words);
	if (step == AUTH || fault == LSH_FAULT_DENIED || plain)
		return fail(g, err, LEASH_DENIED, 0, "%s was refused: %.*s", name, n, words);
	return fail(g, err, LEASH_PROTOCOL, 0, "%s was refused, not in the words of a Redis server: %.*s", name, n, words);
}

/* What a server does that expects TLS where we speak plainly: most just hang up. */
static const char hint[] = " (does it want TLS? then write rediss://)";

static bool
speaks_tls(const char *bytes, size_t size)
{
	return bytes[0] == 0x15 && (size == 1 || bytes[1] == 0x03); /* an alert */
}

/* ---- answers ---- */

static bool
is_text(const struct lsh_item *item, const char *text)
{
	return item->type == LSH_STRING && item->length == strlen(text) && memcmp(item->text, text, item->length) == 0;
}

static bool
is_subscribed(const char *channel, const struct lsh_message *m)
{
	return m->type == LSH_ARRAY && m->count == 3 && is_text(&m->item[0], "subscribe") && is_text(&m->item[1], channel) &&
		m->item[2].type == LSH_INTEGER;
}

static bool
is_ok(const struct lsh_message *m)
{
	return m->type == LSH_STATUS && strcmp(m->item[0].text, "OK") == 0;
}

static bool
is_answer_to(struct lsh_greeting *g, enum step step, const struct lsh_message *m)
{
	switch (step) {
	case INFO:
		return lsh_hello_take_info(&g->hello, m);
	case MEMORY:
		return lsh_hello_take_memory(&g->hello, m);
	case REPLICATION:
		return lsh_hello_take_replication(&g->hello, m);
	case TIME:
		return lsh_hello_take_time(&g->hello, m);
	case SUBSCRIBE:
		return is_subscribed(g->channel, m);
	default:
		return is_ok(m);
	}
}

static enum lsh_greeted
take_answer(struct lsh_greeting *g, const struct lsh_message *m, leash_error *err)
{
	enum step step = g->steps[g->answered];

	if (m->type == LSH_ERROR) {
		if (!is_dispensable(step, m->item[0].text))
			return refused(g, step, m->item[0].text, err);
	} else if (!is_answer_to(g, step, m)) {
		return fail(g, err, LEASH_PROTOCOL, 0, "%s: the answer is not what a Redis server says", step_names[step]);
	}
	if (step == REPLICATION && g->hello.replica && g->want == LSH_WANT_MASTER)
		return fail(g, err, LEASH_UNAVAILABLE, 0, "this is a replica, not the master");
	if (step == INFO && g->want == LSH_WANT_SENTINEL && g->hello.version != 0 && !g->hello.sentinel)
		return fail(g, err, LEASH_INVALID, 0, "this is no sentinel: the port of those is usually 26379");
	if (++g->answered < g->step_count)
		return LSH_GREETING_WAIT;
	/* not before the bytes came: then the server's time is at least server_us plus what has passed since */
	g->hello.received_ns = lsh_now_ns();
	return LSH_GREETING_DONE;
}

/* Read the first `size` of g->bytes; `*used` of them belong to the answers. */
static enum lsh_greeted
read_answers(struct lsh_greeting *g, size_t size, size_t *used, leash_error *err)
{
	enum lsh_greeted greeted = LSH_GREETING_WAIT;

	for (*used = 0; *used < size && greeted == LSH_GREETING_WAIT;) {
		const char *from = g->bytes + *used, *end = memchr(from, '\n', size - *used);
		/* every message ends with a LF, so that none of the next one is fed */
		size_t n = end != NULL ? (size_t)(end + 1 - from) : size - *used;
		const struct lsh_message *m;
		int x = lsh_reader_feed(g->reader, from, n) ? lsh_reader_next(g->reader, &m) : -1;

		*used += n;
		if (x < 0)
			return fail(g, err, LEASH_PROTOCOL, 0, "%s: the answer is not what a Redis server says: %s",
				    step_names[g->steps[g->answered]], lsh_reader_fault(g->reader));
		if (x > 0)
			greeted = take_answer(g, m, err);
	}
	return greeted;
}

/* ---- commands ---- */

/* The hello's commands, written to `out` unless that is NULL. Returns their size. */
static size_t
write_hello(const struct lsh_greeting *g, char *out)
{
	char digits[LSH_DECIMAL_SIZE];
	struct lsh_arg args[3];
	size_t n, size = 0;

	for (unsigned i = 0; i < g->step_count; i++) {
		n = 0;
		switch (g->steps[i]) {
		case AUTH:
			args[n++] = LSH_ARG("AUTH");
			if (g->uri->user != NULL)
				args[n++] = lsh_arg_text(g->uri->user);
			args[n++] = lsh_arg_text(password_of(g));
			break;
		case SELECT:
			args[n++] = LSH_ARG("SELECT");
			args[n++] = lsh_arg_decimal(digits, g->uri->db);
			break;
		case SETNAME:
			args[n++] = LSH_ARG("CLIENT");
			args[n++] = LSH_ARG("SETNAME");
			args[n++] = lsh_arg_text(g->name);
			break;
		case INFO:
			args[n++] = LSH_ARG("INFO");
			args[n++] = LSH_ARG("server");
			break;
		case MEMORY: /* by itself: several sections at once are too much for Redis 6.2 */
			args[n++] = LSH_ARG("INFO");
			args[n++] = LSH_ARG("memory");
			break;
		case REPLICATION:
			args[n++] = LSH_ARG("INFO");
			args[n++] = LSH_ARG("replication");
			break;
		case TIME:
			args[n++] = LSH_ARG("TIME");
			break;
		default:
			args[n++] = LSH_ARG("SUBSCRIBE");
			args[n++] = lsh_arg_text(g->channel);
			break;
		}
		size += out != NULL ? lsh_command_write(out + size, args, n) : lsh_command_size(args, n);
	}
	return size;
}

static void
list_steps(struct lsh_greeting *g)
{
	bool sentinel = g->want == LSH_WANT_SENTINEL;
	unsigned n = 0;

	if (lsh_uri_has_password(g->uri))
		g->steps[n++] = AUTH;
	if (g->uri->db != 0 && g->channel == NULL && !sentinel) /* channels know no databases */
		g->steps[n++] = SELECT;
	if (g->name != NULL)
		g->steps[n++] = SETNAME;
	g->steps[n++] = INFO;
	if (g->want == LSH_WANT_MASTER || (g->channel == NULL && !sentinel))
		g->steps[n++] = REPLICATION;
	if (g->channel == NULL && !sentinel)
		g->steps[n++] = MEMORY;
	if (g->channel != NULL && g->channel[0] != '\0')
		g->steps[n++] = SUBSCRIBE;
	else if (g->channel == NULL && !sentinel)
		g->steps[n++] = TIME;
	g->step_count = n;
}

void
lsh_greeting_want(struct lsh_greeting *g, enum lsh_want want)
{
	g->want = want;
	list_steps(g);
}

void
lsh_greeting_move(struct lsh_greeting *g, const struct lsh_uri *uri)
{
	g->uri = uri;
}

static void
forget_words(struct lsh_greeting *g)
{
	sodium_free(g->words); /* which wipes them */
	g->words = NULL;
	g->size = g->sent = 0;
}

void
lsh_greeting_end(struct lsh_greeting *g)
{
	forget_words(g);
	sodium_free(g->read);
	g->read = NULL;
}

/* Send what is left of the hello. An error is not the end: the server may have said why before it closed, and if it has
 * not, then reading fails, too. */
static void
send_words(struct lsh_greeting *g)
{
	while (g->sent < g->size) {
		ssize_t n = lsh_wire_send(&g->hello.wire, g->words + g->sent, g->size - g->sent);

		if (n >= 0)
			g->sent += (size_t)n;
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			break;
	}
	forget_words(g);
}

/* Take what was peeked at from the wire. */
static void
consume(struct lsh_greeting *g, size_t size)
{
	while (size > 0) {
		ssize_t n = lsh_wire_recv(&g->hello.wire, g->bytes, size, MSG_DONTWAIT);

		if (n > 0)
			size -= (size_t)n;
		else if (n == 0 || errno != EINTR)
			return; /* cannot be; the next recv will tell */
	}
}

/* It failed, or ended. */
static enum lsh_greeted
broken(const struct lsh_greeting *g, ssize_t n, leash_error *err)
{
	const char *step = step_names[g->steps[g->answered]];
	bool mute = g->answered == 0 && !g->heard && g->hello.wire.tls == NULL && g->uri->scheme == LSH_SCHEME_TCP;
	char text[LSH_ERRNO_TEXT];
	leash_error trouble;
	int e = errno;

	if (n < 0 && e == EPROTO && lsh_wire_trouble(&g->hello.wire, &trouble))
		return fail(g, err, trouble.status, trouble.sys_errno, "%s", trouble.text);
	if (n == 0)
		return fail(g, err, LEASH_UNAVAILABLE, ECONNRESET, "%s: the server closed the connection%s", step, mute ? hint : "");
	return fail(g, err, lsh_errno_status(e, LEASH_UNAVAILABLE), e, "%s: %s%s", step, lsh_errno_text(e, text), mute && e == ECONNRESET ? hint : "");
}

/* ---- the greeting ---- */

struct lsh_greeting *
lsh_greeting_new(const struct lsh_uri *uri, const char *name, const char *channel)
{
	struct lsh_greeting *g;

	if (!lsh_sodium_ready() || (g = lsh_new(struct lsh_greeting)) == NULL)
		return NULL;
	g->uri = uri;
	if (name != NULL && (g->name = lsh_strdup(name)) == NULL)
		goto fail;
	if (channel != NULL && (g->channel = lsh_strdup(channel)) == NULL)
		goto fail;
	lsh_greeting_want(g, LSH_WANT_SERVER);
	g->reader = lsh_reader_new();
	if (g->reader == NULL)
		goto fail;
	return g;

fail:
	lsh_greeting_free(g);
	return NULL;
}

void
lsh_greeting_free(struct lsh_greeting *g)
{
	if (g == NULL)
		return;
	lsh_greeting_end(g);
	lsh_reader_free(g->reader);
	lsh_free(g->channel);
	lsh_free(g->name);
	lsh_free(g);
}

static leash_status
prepare_words(struct lsh_greeting *g, leash_error *err)
{
	leash_status status = lsh_uri_read_password(&g->read, g->uri, err);
	size_t size;

	if (status == LEASH_INVALID) /* it may be on its way: the next attempt looks again */
		err->status = LEASH_UNAVAILABLE;
	if (status != LEASH_OK)
		return err->status;
	size = write_hello(g, NULL);
	g->words = sodium_malloc(size);
	if (g->words == NULL || !lsh_reader_reset(g->reader))
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "no memory for its answers");
	g->size = write_hello(g, g->words);
	return LEASH_OK;
}

leash_status
lsh_greeting_begin(struct lsh_greeting *g, struct lsh_wire wire, int64_t deadline, leash_error *err)
{
	leash_status status;

	lsh_greeting_end(g);
	status = prepare_words(g, err);
	if (status != LEASH_OK)
		return status;
	g->answered = 0;
	g->heard = false;
	g->deadline = deadline;
	g->hello = (struct lsh_hello){.wire = wire, .uptime_ms = -1};
	return LEASH_OK;
}

short
lsh_greeting_events(const struct lsh_greeting *g)
{
	return g->sent < g->size ? POLLIN | POLLOUT : POLLIN;
}

enum lsh_greeted
lsh_greeting_step(struct lsh_greeting *g, struct lsh_hello *hello, leash_error *err)
{
	enum lsh_greeted greeted = LSH_GREETING_WAIT;
	size_t used;
	ssize_t n;

	send_words(g);
	do {
		n = lsh_wire_recv(&g->hello.wire, g->bytes, sizeof g->bytes, MSG_PEEK | MSG_DONTWAIT);
		if (n > 0 && !g->heard && speaks_tls(g->bytes, (size_t)n))
			return fail(g, err, LEASH_PROTOCOL, 0, "the server speaks TLS: write rediss:// for it, or name its port without TLS");
		if (n > 0) {
			g->heard = true;
			greeted = read_answers(g, (size_t)n, &used, err);
			consume(g, used);
		}
	} while (greeted == LSH_GREETING_WAIT && (n > 0 || (n < 0 && errno == EINTR)));

	if (greeted == LSH_GREETING_DONE)
		*hello = g->hello;
	if (greeted != LSH_GREETING_WAIT)
		return greeted;
	if (n == 0 || errno != EAGAIN)
		return broken(g, n, err);
	if (lsh_now_ns() >= g->deadline)
		return fail(g, err, LEASH_UNAVAILABLE, ETIMEDOUT, "%s: no answer in time", step_names[g->steps[g->answered]]);
	return LSH_GREETING_WAIT;
}
