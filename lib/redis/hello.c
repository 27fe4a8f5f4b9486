/* The hello is one write; it holds the password, therefore it lives in guarded memory and only until it was sent. The
 * replies are peeked at and only then taken from the socket, up to the end of the last: what comes behind it is for the
 * receiver of the connection.
 *
 * No mutex: one thread at a time. */
#include "redis/hello.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/token.h"
#include "redis/command.h"
#include "redis/fault.h"
#include "redis/reply.h"
#include "redis/socket.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <string.h>

enum {
	WORDS_SIZE = 160,      /* of a server's own words in a message */
	UPTIME_MAX_S = 1 << 30 /* a server that says more is as good as 34 years old */
};

enum step { AUTH, SELECT, SETNAME, INFO, TIME, SUBSCRIBE, STEPS };

static const char *const step_names[STEPS] = {"AUTH", "SELECT", "CLIENT SETNAME", "INFO", "TIME", "SUBSCRIBE"};

struct lsh_greeting {
	const struct lsh_uri *uri;
	char *name;     /* NULL: none */
	char *channel;  /* NULL: a connection for commands */
	enum step steps[STEPS];
	unsigned step_count, answered;
	int64_t deadline;
	char *words;       /* the commands, by sodium_malloc */
	size_t size, sent; /* of words; 0 when nothing is left to send */
	struct lsh_hello hello;
	struct lsh_reader *reader;
	char bytes[4096];
};

/* ---- refusals ---- */

static bool
repeats(const char *said, size_t size, const char *password)
{
	return password != NULL && password[0] != '\0' && memmem(said, size, password, strlen(password)) != NULL;
}

/* A server's words, fit to be passed on. One that does not know a command quotes its arguments, and those of AUTH are
 * nobody's business; should the password stand there in any other way, then only the first word is shown. */
static void
show_words(const struct lsh_greeting *g, enum step step, const char *said, char words[static WORDS_SIZE])
{
	const char *password = g->uri->password;
	size_t n = step == AUTH ? strcspn(said, "'`\"") : strlen(said);

	if (repeats(said, n, password))
		n = strcspn(said, " ");
	if (repeats(said, n, password))
		n = 0;
	if (n >= WORDS_SIZE)
		n = WORDS_SIZE - 1;
	while (n > 0 && strchr(" ,.", said[n - 1]) != NULL)
		n--;
	memcpy(words, said, n);
	words[n] = '\0';
	if (n == 0)
		strcpy(words, "(its words are not shown)");
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
	return (step == SETNAME || step == INFO) && !is_full(said) &&
		(lsh_starts_with_word(said, "NOPERM") || lsh_starts_with_word(said, "ERR"));
}

/* The hello has failed at the step that is to be answered next. */
#define FAIL(g, err, status, sys_errno, format, ...) \
	(lsh_fail(err, status, sys_errno, "%.120s: " format, (g)->uri->shown, __VA_ARGS__), LSH_GREETING_FAILED)

/* The server said "-`said`" to `step`, or to the connection as such. */
static enum lsh_greeted
refused(const struct lsh_greeting *g, enum step step, const char *said, leash_error *err)
{
	enum lsh_fault fault = lsh_fault_of(said);
	bool plain = lsh_starts_with_word(said, "ERR");
	char words[WORDS_SIZE];

	show_words(g, step, said, words);
	if (is_full(said))
		return FAIL(g, err, LEASH_UNAVAILABLE, 0, "the connection was refused: %s", words);
	if (lsh_starts_with_word(said, "DENIED")) /* protected mode */
		return FAIL(g, err, LEASH_DENIED, 0, "the connection was refused: %s", words);
	if (fault == LSH_FAULT_NOT_NOW || fault == LSH_FAULT_NOT_HERE || fault == LSH_FAULT_REFUSED)
		return FAIL(g, err, LEASH_UNAVAILABLE, 0, "%s was refused: %s", step_names[step], words);
	if (lsh_starts_with_word(said, "NOAUTH") && g->uri->password == NULL)
		return FAIL(g, err, LEASH_DENIED, 0, "the server wants a password: %s was refused: %s", step_names[step], words);
	if (step == SELECT && plain)
		return FAIL(g, err, LEASH_INVALID, 0, "there is no database %d: SELECT was refused: %s", g->uri->db, words);
	if (step == AUTH || fault == LSH_FAULT_DENIED || plain)
		return FAIL(g, err, LEASH_DENIED, 0, "%s was refused: %s", step_names[step], words);
	return FAIL(g, err, LEASH_PROTOCOL, 0, "%s was refused, not in the words of a Redis server: %s", step_names[step], words);
}

/* ---- answers ---- */

/* The value of `field` in what INFO says; NULL: it does not say. */
static const char *
find_field(const char *info, const char *field, size_t *size)
{
	size_t n = strlen(field);

	for (const char *line = info; *line != '\0';) {
		size_t length = strcspn(line, "\r\n");

		if (length > n && memcmp(line, field, n) == 0 && line[n] == ':') {
			*size = length - n - 1;
			return line + n + 1;
		}
		line += length;
		line += strspn(line, "\r\n");
	}
	return NULL;
}

/* "7.0.15" is 0x07000f. */
static unsigned
read_version(const char *text, size_t size)
{
	unsigned version = 0, part = 0, parts = 1;

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '.') {
			if (++parts > 3)
				break;
			version = version << 8 | part;
			part = 0;
		} else if (text[i] >= '0' && text[i] <= '9') {
			part = part * 10 + (unsigned)(text[i] - '0');
			if (part > 255)
				part = 255;
		} else {
			break;
		}
	}
	version = version << 8 | part;
	return parts < 3 ? version << 8 * (3 - parts) : version;
}

static bool
is_hexadecimal(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (strchr("0123456789abcdefABCDEF", text[i]) == NULL)
			return false;
	return true;
}

static bool
take_info(struct lsh_hello *hello, const struct lsh_message *m)
{
	const char *info = m->item[0].text, *value;
	uint64_t uptime_s;
	size_t n;

	if (m->type != LSH_STRING)
		return false;
	value = find_field(info, "run_id", &n);
	if (value != NULL && n < LSH_RUN_ID_SIZE && is_hexadecimal(value, n)) {
		memcpy(hello->run_id, value, n);
		hello->run_id[n] = '\0';
	}
	value = find_field(info, "redis_version", &n);
	if (value != NULL)
		hello->version = read_version(value, n);
	value = find_field(info, "uptime_in_seconds", &n);
	if (value != NULL && lsh_decimal_read(value, n, &uptime_s)) {
		if (uptime_s > UPTIME_MAX_S)
			uptime_s = UPTIME_MAX_S;
		/* the difference of two times in whole seconds: it may be almost one too many */
		hello->uptime_ms = uptime_s > 0 ? (int64_t)(uptime_s - 1) * 1000 : 0;
	}
	value = find_field(info, "redis_mode", &n);
	if (value == NULL)
		value = find_field(info, "server_mode", &n); /* Valkey's name for it */
	hello->cluster = value != NULL && n == strlen("cluster") && memcmp(value, "cluster", n) == 0;
	return true;
}

static bool
read_number(const struct lsh_item *item, uint64_t *n)
{
	return item->type == LSH_STRING && lsh_decimal_read(item->text, item->length, n);
}

static bool
take_time(struct lsh_hello *hello, const struct lsh_message *m)
{
	uint64_t s, us;

	if (m->type != LSH_ARRAY || m->count != 2 || !read_number(&m->item[0], &s) || !read_number(&m->item[1], &us) ||
	    s >= INT64_MAX / 1000000 || us >= 1000000)
		return false;
	hello->server_us = (int64_t)(s * 1000000 + us);
	return true;
}

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
		return take_info(&g->hello, m);
	case TIME:
		return take_time(&g->hello, m);
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
		return FAIL(g, err, LEASH_PROTOCOL, 0, "%s: the answer is not what a Redis server says", step_names[step]);
	}
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
			return FAIL(g, err, LEASH_PROTOCOL, 0, "%s: the answer is not what a Redis server says: %s",
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
			args[n++] = lsh_arg_text(g->uri->password);
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
	unsigned n = 0;

	if (g->uri->password != NULL)
		g->steps[n++] = AUTH;
	if (g->uri->db != 0 && g->channel == NULL) /* channels know no databases */
		g->steps[n++] = SELECT;
	if (g->name != NULL)
		g->steps[n++] = SETNAME;
	g->steps[n++] = INFO;
	g->steps[n++] = g->channel == NULL ? TIME : SUBSCRIBE;
	g->step_count = n;
}

void
lsh_greeting_end(struct lsh_greeting *g)
{
	if (g->size > 0)
		sodium_memzero(g->words, g->size);
	g->size = g->sent = 0;
}

/* Send what is left of the hello. An error is not the end: the server may have said why before it closed, and if it has
 * not, then reading fails, too. */
static void
send_words(struct lsh_greeting *g)
{
	while (g->sent < g->size) {
		ssize_t n = send(g->hello.fd, g->words + g->sent, g->size - g->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			g->sent += (size_t)n;
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			break;
	}
	lsh_greeting_end(g);
}

/* Take what was peeked at from the socket. */
static void
consume(struct lsh_greeting *g, size_t size)
{
	while (size > 0) {
		ssize_t n = recv(g->hello.fd, g->bytes, size, MSG_DONTWAIT);

		if (n > 0)
			size -= (size_t)n;
		else if (n == 0 || errno != EINTR)
			return; /* cannot be; the next recv will tell */
	}
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
	list_steps(g);
	g->words = sodium_malloc(write_hello(g, NULL));
	g->reader = lsh_reader_new();
	if (g->words == NULL || g->reader == NULL)
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
	lsh_reader_free(g->reader);
	sodium_free(g->words); /* which wipes them */
	lsh_free(g->channel);
	lsh_free(g->name);
	lsh_free(g);
}

bool
lsh_greeting_begin(struct lsh_greeting *g, int fd, int64_t deadline)
{
	if (!lsh_reader_reset(g->reader))
		return false;
	g->size = write_hello(g, g->words);
	g->sent = 0;
	g->answered = 0;
	g->deadline = deadline;
	g->hello = (struct lsh_hello){.fd = fd, .uptime_ms = -1};
	return true;
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
	char text[LSH_ERRNO_TEXT];
	const char *step;
	size_t used;
	ssize_t n;

	send_words(g);
	do {
		n = recv(g->hello.fd, g->bytes, sizeof g->bytes, MSG_PEEK | MSG_DONTWAIT);
		if (n > 0) {
			greeted = read_answers(g, (size_t)n, &used, err);
			consume(g, used);
		}
	} while (greeted == LSH_GREETING_WAIT && (n > 0 || (n < 0 && errno == EINTR)));

	if (greeted == LSH_GREETING_DONE)
		*hello = g->hello;
	if (greeted != LSH_GREETING_WAIT)
		return greeted;
	step = step_names[g->steps[g->answered]];
	if (n == 0)
		return FAIL(g, err, LEASH_UNAVAILABLE, ECONNRESET, "%s: the server closed the connection", step);
	if (errno != EAGAIN)
		return FAIL(g, err, LEASH_UNAVAILABLE, errno, "%s: %s", step, lsh_errno_text(errno, text));
	if (lsh_now_ns() >= g->deadline)
		return FAIL(g, err, LEASH_UNAVAILABLE, ETIMEDOUT, "%s: no answer in time", step);
	return LSH_GREETING_WAIT;
}
