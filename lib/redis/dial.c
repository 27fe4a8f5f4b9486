/* Dialing.
 *
 * An attempt has one deadline. What is left of it is shared evenly among the addresses not tried yet, so that one that
 * swallows everything leaves time for the others; connecting and the hello together must end within that share.
 *
 * A name is asked for anew for every attempt, because it may have moved. The address that worked last comes first among
 * the answers, or last if its connection was soon given up: it may be that of a replica, while the master is another one.
 * If there is no answer for a while, or a failure, that address is tried without one. Not at once: a server that is no
 * longer meant may still be there, and would be found again and again. For the same reason the wait is longer if the last
 * connection was already made that way. A request that outlives its attempt serves the next one, so that a resolver that
 * hangs keeps one thread busy and not one per attempt.
 *
 * The hello is one write; it holds the password, therefore it lives in guarded memory and only until it was sent. The
 * replies are peeked at and only then taken from the socket, up to the end of the last: what comes behind it is for the
 * receiver of the connection.
 *
 * No mutex: one thread at a time. */
#include "redis/dial.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/token.h"
#include "redis/command.h"
#include "redis/fault.h"
#include "redis/reply.h"
#include "redis/resolve.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEAD_START (50 * LSH_MS) /* of the resolver before the address that worked last */
#define PATIENCE   (30 * LSH_S)  /* with a request, over several attempts */
#define BRIEF      (10 * LSH_S)  /* of a connection: less than this from hello to the next attempt */

enum {
	WORDS_SIZE = 160,      /* of a server's own words in a message */
	UPTIME_MAX_S = 1 << 30 /* a server that says more is as good as 34 years old */
};

enum state { IDLE, STARTED, RESOLVING, NEXT_ADDRESS, CONNECTING, GREETING };

enum outcome { GO_ON, WAIT, DONE, FAILED };

enum step { AUTH, SELECT, SETNAME, INFO, TIME, SUBSCRIBE, STEPS };

static const char *const step_names[STEPS] = {"AUTH", "SELECT", "CLIENT SETNAME", "INFO", "TIME", "SUBSCRIBE"};

struct lsh_dial {
	const struct lsh_uri *uri;
	char *name;     /* NULL: none */
	char *channel;  /* NULL: a connection for commands */
	enum state state;
	int64_t deadline;  /* of the attempt */
	int64_t until;     /* of what is under way in it */

	/* What to say if the attempt fails: of all addresses, of the one that got furthest. */
	leash_error err;
	enum state reached;

	/* Where to. `address` [next - 1] is under way. */
	bool is_name;
	bool tried_old;       /* `worked` was tried in this attempt without an answer */
	bool from_memory;     /* the address under way was not in an answer */
	bool was_from_memory; /* nor was that of the last connection */
	struct lsh_request *request;
	int64_t asked_at;
	struct lsh_address worked; /* last; of size 0: none */
	int64_t worked_at;
	bool was_brief;
	unsigned count, next;
	struct lsh_address address[LSH_ADDRESSES];

	/* The connection under way, and its hello. */
	int fd;
	int send_errno;  /* the server takes no more; it may have said why */
	char *words;     /* by sodium_malloc */
	size_t size, sent; /* of words */
	enum step steps[STEPS];
	unsigned step_count, answered;
	struct lsh_hello hello;
	struct lsh_reader *reader;
	char bytes[4096];
};

/* ---- what goes wrong ---- */

void
lsh_discard_socket(int fd)
{
	int e = errno;

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1, .l_linger = 0}, sizeof(struct linger));
	close(fd);
	errno = e;
}

static void
wipe_words(struct lsh_dial *d)
{
	if (d->size > 0)
		sodium_memzero(d->words, d->size);
	d->size = d->sent = 0;
}

static void
disconnect(struct lsh_dial *d)
{
	if (d->fd >= 0)
		lsh_discard_socket(d->fd);
	d->fd = -1;
	wipe_words(d);
}

/* Note what went wrong, unless an address that got further has something to say already. */
static void __attribute__((format(printf, 4, 5)))
note(struct lsh_dial *d, leash_status status, int sys_errno, const char *format, ...)
{
	char text[sizeof d->err.text];
	va_list args;

	if (d->state < d->reached)
		return;
	d->reached = d->state;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	lsh_fail(&d->err, status, sys_errno, "%.120s: %s", d->uri->shown, text);
}

/* The address under way is not it. What is wrong with the URI would be wrong with the next one, too. */
static enum outcome
give_up(struct lsh_dial *d)
{
	disconnect(d);
	d->state = NEXT_ADDRESS;
	return d->err.status == LEASH_UNAVAILABLE || d->err.status == LEASH_PROTOCOL ? GO_ON : FAILED;
}

static const char *
errno_text(int e, char text[static 64])
{
	return strerror_r(e, text, 64); /* the one of GNU */
}

/* ---- the answers to the hello ---- */

static bool
repeats(const char *said, size_t size, const char *password)
{
	return password != NULL && password[0] != '\0' && memmem(said, size, password, strlen(password)) != NULL;
}

/* A server's words, fit to be passed on. One that does not know a command quotes its arguments, and those of AUTH are
 * nobody's business; should the password stand there in any other way, then only the first word is shown. */
static void
show_words(const struct lsh_dial *d, enum step step, const char *said, char words[static WORDS_SIZE])
{
	const char *password = d->uri->password;
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

/* The server said "-`said`" to `step`, or to the connection as such. */
static enum outcome
refused(struct lsh_dial *d, enum step step, const char *said)
{
	enum lsh_fault fault = lsh_fault_of(said);
	bool plain = lsh_starts_with_word(said, "ERR");
	char words[WORDS_SIZE];

	show_words(d, step, said, words);
	if (is_full(said))
		note(d, LEASH_UNAVAILABLE, 0, "the connection was refused: %s", words);
	else if (lsh_starts_with_word(said, "DENIED")) /* protected mode */
		note(d, LEASH_DENIED, 0, "the connection was refused: %s", words);
	else if (fault == LSH_FAULT_NOT_NOW || fault == LSH_FAULT_NOT_HERE || fault == LSH_FAULT_REFUSED)
		note(d, LEASH_UNAVAILABLE, 0, "%s was refused: %s", step_names[step], words);
	else if (lsh_starts_with_word(said, "NOAUTH") && d->uri->password == NULL)
		note(d, LEASH_DENIED, 0, "the server wants a password: %s was refused: %s", step_names[step], words);
	else if (step == SELECT && plain)
		note(d, LEASH_INVALID, 0, "there is no database %d: SELECT was refused: %s", d->uri->db, words);
	else if (step == AUTH || fault == LSH_FAULT_DENIED || plain)
		note(d, LEASH_DENIED, 0, "%s was refused: %s", step_names[step], words);
	else
		note(d, LEASH_PROTOCOL, 0, "%s was refused, not in the words of a Redis server: %s", step_names[step], words);
	return give_up(d);
}

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
take_info(struct lsh_dial *d, const struct lsh_message *m)
{
	const char *info = m->item[0].text, *value;
	uint64_t uptime_s;
	size_t n;

	if (m->type != LSH_STRING)
		return false;
	value = find_field(info, "run_id", &n);
	if (value != NULL && n < LSH_RUN_ID_SIZE && is_hexadecimal(value, n)) {
		memcpy(d->hello.run_id, value, n);
		d->hello.run_id[n] = '\0';
	}
	value = find_field(info, "redis_version", &n);
	if (value != NULL)
		d->hello.version = read_version(value, n);
	value = find_field(info, "uptime_in_seconds", &n);
	if (value != NULL && lsh_decimal_read(value, n, &uptime_s)) {
		if (uptime_s > UPTIME_MAX_S)
			uptime_s = UPTIME_MAX_S;
		/* the difference of two times in whole seconds: it may be almost one too many */
		d->hello.uptime_ms = uptime_s > 0 ? (int64_t)(uptime_s - 1) * 1000 : 0;
	}
	value = find_field(info, "redis_mode", &n);
	if (value == NULL)
		value = find_field(info, "server_mode", &n); /* Valkey's name for it */
	d->hello.cluster = value != NULL && n == strlen("cluster") && memcmp(value, "cluster", n) == 0;
	return true;
}

static bool
read_number(const struct lsh_item *item, uint64_t *n)
{
	return item->type == LSH_STRING && lsh_decimal_read(item->text, item->length, n);
}

static bool
take_time(struct lsh_dial *d, const struct lsh_message *m)
{
	uint64_t s, us;

	if (m->type != LSH_ARRAY || m->count != 2 || !read_number(&m->item[0], &s) || !read_number(&m->item[1], &us) ||
	    s >= INT64_MAX / 1000000 || us >= 1000000)
		return false;
	d->hello.server_us = (int64_t)(s * 1000000 + us);
	return true;
}

static bool
is_text(const struct lsh_item *item, const char *text)
{
	return item->type == LSH_STRING && item->length == strlen(text) && memcmp(item->text, text, item->length) == 0;
}

static bool
is_subscribed(const struct lsh_dial *d, const struct lsh_message *m)
{
	return m->type == LSH_ARRAY && m->count == 3 && is_text(&m->item[0], "subscribe") && is_text(&m->item[1], d->channel) &&
		m->item[2].type == LSH_INTEGER;
}

static bool
is_ok(const struct lsh_message *m)
{
	return m->type == LSH_STATUS && strcmp(m->item[0].text, "OK") == 0;
}

static bool
is_answer_to(struct lsh_dial *d, enum step step, const struct lsh_message *m)
{
	switch (step) {
	case INFO:
		return take_info(d, m);
	case TIME:
		return take_time(d, m);
	case SUBSCRIBE:
		return is_subscribed(d, m);
	default:
		return is_ok(m);
	}
}

static enum outcome
take_answer(struct lsh_dial *d, const struct lsh_message *m)
{
	enum step step = d->steps[d->answered];

	if (m->type == LSH_ERROR) {
		if (!is_dispensable(step, m->item[0].text))
			return refused(d, step, m->item[0].text);
	} else if (!is_answer_to(d, step, m)) {
		note(d, LEASH_PROTOCOL, 0, "%s: the answer is not what a Redis server says", step_names[step]);
		return give_up(d);
	}
	if (++d->answered < d->step_count)
		return GO_ON;
	/* not before the bytes came: then the server's time is at least server_us plus what has passed since */
	d->hello.received_ns = lsh_now_ns();
	return DONE;
}

/* ---- the hello ---- */

/* The hello's commands, written to `out` unless that is NULL. Returns their size. */
static size_t
write_hello(const struct lsh_dial *d, char *out)
{
	char digits[LSH_DECIMAL_SIZE];
	struct lsh_arg args[3];
	size_t n, size = 0;

	for (unsigned i = 0; i < d->step_count; i++) {
		n = 0;
		switch (d->steps[i]) {
		case AUTH:
			args[n++] = LSH_ARG("AUTH");
			if (d->uri->user != NULL)
				args[n++] = lsh_arg_text(d->uri->user);
			args[n++] = lsh_arg_text(d->uri->password);
			break;
		case SELECT:
			args[n++] = LSH_ARG("SELECT");
			args[n++] = lsh_arg_decimal(digits, d->uri->db);
			break;
		case SETNAME:
			args[n++] = LSH_ARG("CLIENT");
			args[n++] = LSH_ARG("SETNAME");
			args[n++] = lsh_arg_text(d->name);
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
			args[n++] = lsh_arg_text(d->channel);
			break;
		}
		size += out != NULL ? lsh_command_write(out + size, args, n) : lsh_command_size(args, n);
	}
	return size;
}

static void
list_steps(struct lsh_dial *d)
{
	unsigned n = 0;

	if (d->uri->password != NULL)
		d->steps[n++] = AUTH;
	if (d->uri->db != 0 && d->channel == NULL) /* channels know no databases */
		d->steps[n++] = SELECT;
	if (d->name != NULL)
		d->steps[n++] = SETNAME;
	d->steps[n++] = INFO;
	d->steps[n++] = d->channel == NULL ? TIME : SUBSCRIBE;
	d->step_count = n;
}

static enum outcome
begin_hello(struct lsh_dial *d)
{
	d->state = GREETING;
	if (!lsh_reader_reset(d->reader)) {
		note(d, LEASH_NO_MEMORY, ENOMEM, "no memory for its answers");
		return give_up(d);
	}
	d->size = write_hello(d, d->words);
	d->sent = 0;
	d->send_errno = 0;
	d->answered = 0;
	d->hello = (struct lsh_hello){.fd = -1, .uptime_ms = -1};
	return GO_ON;
}

/* Send what is left of the hello. An error is not the end yet: the server may have said why before it closed. */
static void
send_words(struct lsh_dial *d)
{
	while (d->sent < d->size) {
		ssize_t n = send(d->fd, d->words + d->sent, d->size - d->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			d->sent += (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN)
			return;
		d->send_errno = errno;
		break;
	}
	wipe_words(d);
}

/* Read the first `size` of d->bytes; `*used` of them belong to the answers. */
static enum outcome
read_answers(struct lsh_dial *d, size_t size, size_t *used)
{
	const struct lsh_message *m;
	enum outcome outcome;
	int x;

	for (*used = 0; *used < size;) {
		const char *from = d->bytes + *used, *end = memchr(from, '\n', size - *used);
		/* every message ends with a LF, so that none of the next one is fed */
		size_t n = end != NULL ? (size_t)(end + 1 - from) : size - *used;

		*used += n;
		x = lsh_reader_feed(d->reader, from, n) ? lsh_reader_next(d->reader, &m) : -1;
		if (x < 0) {
			note(d, LEASH_PROTOCOL, 0, "%s: the answer is not what a Redis server says: %s",
			     step_names[d->steps[d->answered]], lsh_reader_fault(d->reader));
			return give_up(d);
		}
		if (x > 0) {
			outcome = take_answer(d, m);
			if (outcome == DONE || d->state != GREETING)
				return outcome;
		}
	}
	return GO_ON;
}

/* Take what was peeked at from the socket. */
static void
consume(struct lsh_dial *d, size_t size)
{
	while (size > 0) {
		ssize_t n = recv(d->fd, d->bytes, size, MSG_DONTWAIT);

		if (n > 0)
			size -= (size_t)n;
		else if (n == 0 || errno != EINTR)
			return; /* cannot be; the next recv will tell */
	}
}

static enum outcome
cut_off(struct lsh_dial *d, int e)
{
	char text[64];

	if (e == 0)
		note(d, LEASH_UNAVAILABLE, ECONNRESET, "%s: the server closed the connection", step_names[d->steps[d->answered]]);
	else
		note(d, LEASH_UNAVAILABLE, e, "%s: %s", step_names[d->steps[d->answered]], errno_text(e, text));
	return give_up(d);
}

static enum outcome
late(struct lsh_dial *d)
{
	note(d, LEASH_UNAVAILABLE, ETIMEDOUT, "%s: no answer in time", step_names[d->steps[d->answered]]);
	return give_up(d);
}

static enum outcome
go_on_greeting(struct lsh_dial *d)
{
	enum outcome outcome;
	size_t used;
	ssize_t n;

	send_words(d);
	n = recv(d->fd, d->bytes, sizeof d->bytes, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && errno == EINTR)
		return GO_ON;
	if (n < 0 && errno == EAGAIN && d->send_errno == 0)
		return lsh_now_ns() < d->until ? WAIT : late(d);
	if (n <= 0)
		return cut_off(d, n == 0 ? 0 : d->send_errno != 0 ? d->send_errno : errno);
	outcome = read_answers(d, (size_t)n, &used);
	if (d->fd >= 0)
		consume(d, used);
	return outcome;
}

/* ---- connecting ---- */

static void
note_connect_error(struct lsh_dial *d, int e)
{
	char address[LSH_ADDRESS_TEXT], text[64];
	const char *why = e == ETIMEDOUT ? "no answer in time" : errno_text(e, text);

	if (e == EAGAIN && d->uri->scheme == LSH_SCHEME_UNIX)
		why = "too many others wait to be let in"; /* the backlog is full */
	address[0] = '\0';
	if (d->is_name)
		lsh_address_show(&d->address[d->next - 1], address);
	note(d, LEASH_UNAVAILABLE, e, "connecting%s%s: %s", address[0] != '\0' ? " to " : "", address, why);
}

static enum outcome
not_connected(struct lsh_dial *d, int e)
{
	note_connect_error(d, e);
	return give_up(d);
}

/* A connection to a port of this machine that nobody listens on may, if that port is an ephemeral one, be connected to
 * itself; and then the server could not come back. */
static bool
is_own_echo(const struct lsh_dial *d)
{
	struct lsh_address own = {.size = sizeof own - offsetof(struct lsh_address, any)};
	struct lsh_address peer = own;

	return d->uri->scheme == LSH_SCHEME_TCP && getsockname(d->fd, &own.any, &own.size) == 0 &&
		getpeername(d->fd, &peer.any, &peer.size) == 0 && lsh_address_is(&own, &peer);
}

static enum outcome
connected(struct lsh_dial *d)
{
	if (is_own_echo(d))
		return not_connected(d, ECONNREFUSED);
	return begin_hello(d);
}

static void
set_options(const struct lsh_dial *d)
{
	/* an option that the system does not know is no reason not to connect */
	if (d->uri->scheme == LSH_SCHEME_UNIX)
		return;
	setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	setsockopt(d->fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
	setsockopt(d->fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){10}, sizeof(int));
	setsockopt(d->fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){5}, sizeof(int));
	setsockopt(d->fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){3}, sizeof(int));
}

static enum outcome
try_next_address(struct lsh_dial *d)
{
	int64_t now = lsh_now_ns();
	const struct lsh_address *address;
	unsigned shares;

	if (d->next == d->count) {
		d->state = RESOLVING;
		d->until = d->deadline;
		return d->request != NULL ? GO_ON : FAILED;
	}
	address = &d->address[d->next++];
	d->state = CONNECTING;
	if (now >= d->deadline)
		return not_connected(d, ETIMEDOUT);
	/* the answer of the resolver, if it is still to come, needs a share as well */
	shares = d->count - d->next + 1 + (d->request != NULL);
	d->until = now + (d->deadline - now) / shares;
	d->fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0)
		return not_connected(d, errno);
	set_options(d);
	if (connect(d->fd, &address->any, address->size) == 0)
		return connected(d);
	return errno == EINPROGRESS || errno == EINTR ? GO_ON : not_connected(d, errno);
}

static enum outcome
go_on_connecting(struct lsh_dial *d)
{
	struct pollfd p = {.fd = d->fd, .events = POLLOUT};
	int e = 0;

	if (poll(&p, 1, 0) <= 0)
		return lsh_now_ns() >= d->until ? not_connected(d, ETIMEDOUT) : WAIT;
	if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &e, &(socklen_t){sizeof e}) != 0)
		e = errno;
	return e == 0 ? connected(d) : not_connected(d, e);
}

/* ---- names ---- */

static bool
can_try_old(const struct lsh_dial *d)
{
	return d->worked.size != 0 && !d->tried_old;
}

static enum outcome
try_old(struct lsh_dial *d)
{
	d->tried_old = true;
	d->from_memory = true;
	d->address[0] = d->worked;
	d->count = 1;
	d->next = 0;
	d->state = NEXT_ADDRESS;
	return GO_ON;
}

static enum outcome
begin(struct lsh_dial *d)
{
	int64_t now = lsh_now_ns(), left;
	int e = 0;

	if (!d->is_name) {
		d->state = NEXT_ADDRESS;
		d->next = 0;
		if (d->count > 0)
			return GO_ON;
		note(d, LEASH_INVALID, ENAMETOOLONG, "the path is too long for a unix socket");
		return FAILED;
	}
	d->state = RESOLVING;
	d->count = d->next = 0;
	d->tried_old = false;
	d->was_brief = now - d->worked_at < BRIEF;
	if (d->request != NULL && (lsh_request_answer(d->request) != NULL || now - d->asked_at > PATIENCE)) {
		lsh_request_drop(d->request);
		d->request = NULL;
	}
	if (d->request == NULL) {
		d->request = lsh_request_new(d->uri->host, d->uri->port, &e);
		d->asked_at = now;
	}
	if (d->request == NULL) {
		char text[64];

		note(d, e == ENOMEM ? LEASH_NO_MEMORY : LEASH_UNAVAILABLE, e, "its name cannot be resolved: %s",
		     errno_text(e, text));
		return can_try_old(d) ? try_old(d) : FAILED;
	}
	d->until = d->deadline;
	now = lsh_now_ns(); /* to start a thread may have taken its time */
	left = d->deadline - now;
	if (can_try_old(d) && left > 0)
		d->until = now + (d->was_from_memory ? left / 2 : left / 4 < HEAD_START ? left / 4 : HEAD_START);
	return GO_ON;
}

/* Put the addresses of the answer in line, but not again the one that just failed. */
static void
line_up(struct lsh_dial *d, const struct lsh_answer *answer)
{
	unsigned known = LSH_ADDRESSES, n = 0;

	for (unsigned i = 0; i < answer->count; i++)
		if (lsh_address_is(&answer->address[i], &d->worked))
			known = i;
	if (known < answer->count && !d->tried_old && !d->was_brief)
		d->address[n++] = d->worked;
	for (unsigned i = 0; i < answer->count; i++)
		if (i != known)
			d->address[n++] = answer->address[i];
	if (known < answer->count && !d->tried_old && d->was_brief)
		d->address[n++] = d->worked;
	d->count = n;
	d->next = 0;
	d->from_memory = false;
}

static void
note_unresolved(struct lsh_dial *d, const struct lsh_answer *answer)
{
	bool no_memory = answer->error == EAI_MEMORY || answer->sys_errno == ENOMEM;
	char text[64];

	note(d, no_memory ? LEASH_NO_MEMORY : LEASH_UNAVAILABLE, answer->sys_errno, "its name cannot be resolved: %s",
	     answer->error == EAI_SYSTEM ? errno_text(answer->sys_errno, text) : gai_strerror(answer->error));
}

static enum outcome
go_on_resolving(struct lsh_dial *d)
{
	const struct lsh_answer *answer = lsh_request_answer(d->request);
	int64_t now = lsh_now_ns();

	if (answer != NULL && answer->error == 0) {
		line_up(d, answer);
		d->state = NEXT_ADDRESS;
	} else if (answer != NULL) {
		note_unresolved(d, answer);
	}
	if (answer != NULL) {
		lsh_request_drop(d->request);
		d->request = NULL;
		if (d->state == NEXT_ADDRESS)
			return GO_ON;
		return can_try_old(d) ? try_old(d) : FAILED;
	}
	if (now >= d->deadline) {
		note(d, LEASH_UNAVAILABLE, ETIMEDOUT, "its name was not resolved in time");
		return FAILED;
	}
	return now >= d->until && can_try_old(d) ? try_old(d) : WAIT;
}

/* ---- the dial ---- */

struct lsh_dial *
lsh_dial_new(const struct lsh_uri *uri, const char *name, const char *channel)
{
	struct lsh_dial *d;

	if (!lsh_sodium_ready() || (d = lsh_new(struct lsh_dial)) == NULL)
		return NULL;
	d->uri = uri;
	d->fd = -1;
	if (uri->scheme == LSH_SCHEME_UNIX)
		d->count = lsh_address_of_path(&d->address[0], uri->host);
	else
		d->count = lsh_address_of_number(&d->address[0], uri->host, uri->port);
	d->is_name = uri->scheme == LSH_SCHEME_TCP && d->count == 0;
	if (name != NULL && (d->name = lsh_strdup(name)) == NULL)
		goto fail;
	if (channel != NULL && (d->channel = lsh_strdup(channel)) == NULL)
		goto fail;
	list_steps(d);
	d->words = sodium_malloc(write_hello(d, NULL));
	d->reader = lsh_reader_new();
	if (d->words == NULL || d->reader == NULL)
		goto fail;
	return d;

fail:
	lsh_dial_free(d);
	return NULL;
}

void
lsh_dial_stop(struct lsh_dial *d)
{
	disconnect(d);
	d->state = IDLE;
}

void
lsh_dial_free(struct lsh_dial *d)
{
	if (d == NULL)
		return;
	lsh_dial_stop(d);
	lsh_request_drop(d->request);
	lsh_reader_free(d->reader);
	sodium_free(d->words);
	lsh_free(d->channel);
	lsh_free(d->name);
	lsh_free(d);
}

void
lsh_dial_start(struct lsh_dial *d, int64_t deadline)
{
	lsh_dial_stop(d);
	d->state = STARTED;
	d->deadline = deadline;
	d->until = lsh_now_ns(); /* so that whoever polls first does not sleep */
	d->reached = IDLE;
	d->err.status = LEASH_OK;
}

struct pollfd
lsh_dial_poll(const struct lsh_dial *d, int64_t *deadline)
{
	struct pollfd p = {.fd = -1};

	*deadline = d->until;
	switch (d->state) {
	case RESOLVING:
		p.fd = lsh_request_fd(d->request);
		p.events = POLLIN;
		break;
	case CONNECTING:
		p.fd = d->fd;
		p.events = POLLOUT;
		break;
	case GREETING:
		p.fd = d->fd;
		p.events = d->sent < d->size ? POLLIN | POLLOUT : POLLIN;
		break;
	case IDLE:
		*deadline = LSH_NEVER;
		break;
	default:
		break;
	}
	return p;
}

static void
hand_over(struct lsh_dial *d, struct lsh_hello *hello)
{
	*hello = d->hello;
	hello->fd = d->fd;
	d->fd = -1;
	d->worked = d->address[d->next - 1];
	d->worked_at = lsh_now_ns();
	d->was_from_memory = d->is_name && d->from_memory;
	lsh_dial_stop(d);
}

static enum outcome
go_on(struct lsh_dial *d)
{
	switch (d->state) {
	case STARTED:
		return begin(d);
	case RESOLVING:
		return go_on_resolving(d);
	case NEXT_ADDRESS:
		return try_next_address(d);
	case CONNECTING:
		return go_on_connecting(d);
	case GREETING:
		return go_on_greeting(d);
	case IDLE:
		break;
	}
	return WAIT;
}

enum lsh_dialed
lsh_dial_step(struct lsh_dial *d, struct lsh_hello *hello, leash_error *err)
{
	assert(d->state != IDLE);
	for (;;) {
		switch (go_on(d)) {
		case GO_ON:
			break;
		case WAIT:
			return LSH_DIAL_WAIT;
		case DONE:
			hand_over(d, hello);
			return LSH_DIAL_DONE;
		case FAILED:
			if (err != NULL)
				*err = d->err;
			lsh_dial_stop(d);
			return LSH_DIAL_FAILED;
		}
	}
}
