/* Handshake: the hello is one write. It holds the password, so it lies in guarded memory, until it is sent. A password
 * in a file is read for each hello: it may have been renewed. Replies are peeked at, and taken from the stream up to
 * the end of the last: what comes behind it is for the receiver of the connection. */
#include "redis/handshake.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "base/token.h"
#include "redis/command.h"
#include "redis/fault.h"
#include "redis/reply.h"
#include "redis/secret.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { HELLO_SIZE = 2 * LSH_SECRET_MAX + 2048 }; /* at most: a user, a password, all else but name and channel */

enum { UPTIME_MAX_S = 1 << 30 }; /* a server that says more is as good as 34 years old */

enum step { AUTH, SELECT, SETNAME, INFO, REPLICATION, MEMORY, TIME, SUBSCRIBE, STEPS };

static const char *
password_of(const struct lsh_handshake *g)
{
	return g->read != NULL ? g->read : g->uri->login.password;
}

/* ---- what a server says of itself ----
 *
 * Servers and proxies leave out or reword what they please: a field of INFO that is missing, or odd, is not known. */

const char *
lsh_info_find(const char *info, const char *field, size_t *size)
{
	const size_t n = strlen(field);

	for (const char *line = info; *line != '\0'; line += strspn(line, "\r\n")) {
		const size_t length = strcspn(line, "\r\n");

		if (length > n && memcmp(line, field, n) == 0 && line[n] == ':') {
			*size = length - n - 1;
			return line + n + 1;
		}
		line += length;
	}
	return NULL;
}

struct value {
	char text[64]; /* "": missing */
};

static struct value
value_of(const char *info, const char *field)
{
	struct value v = {""};
	size_t n;
	const char *found = lsh_info_find(info, field, &n);

	if (found != NULL)
		snprintf(v.text, sizeof v.text, "%.*s", (int)n, found);
	return v;
}

static bool
says(const char *info, const char *field, const char *wanted)
{
	return strcmp(value_of(info, field).text, wanted) == 0;
}

static bool
find_number(const char *info, const char *field, uint64_t *number)
{
	const struct value v = value_of(info, field);

	return lsh_decimal_read(v.text, strlen(v.text), number);
}

/* "7.0.15" is 0x07000f. */
static unsigned
read_version(const char *text)
{
	unsigned part[3] = {0}, version = 0;

	sscanf(text, "%9u.%9u.%9u", &part[0], &part[1], &part[2]);
	for (int i = 0; i < 3; i++)
		version = version << 8 | (part[i] < 255 ? part[i] : 255);
	return version;
}

static int64_t
read_uptime_ms(const char *text)
{
	uint64_t s;

	if (text[0] == '-' && lsh_decimal_read(text + 1, strlen(text + 1), &s))
		return 0; /* its clock went back to before its start: how old it is, it cannot say */
	if (!lsh_decimal_read(text, strlen(text), &s))
		return -1;
	if (s > UPTIME_MAX_S)
		s = UPTIME_MAX_S;
	return s > 0 ? (int64_t)(s - 1) * 1000 : 0; /* a difference of whole seconds: it may be almost one too many */
}

/* ---- answers. False: that is not what a Redis server says ---- */

static bool
take_server(struct lsh_handshake *g, const struct lsh_message *m)
{
	const char *info = m->item[0].text;
	const struct value id = value_of(info, "run_id");
	const size_t n = strlen(id.text);

	if (n < LSH_RUN_ID_SIZE && strspn(id.text, "0123456789abcdefABCDEF") == n)
		memcpy(g->hello.run_id, id.text, n + 1);
	g->hello.version = read_version(value_of(info, "redis_version").text);
	g->hello.uptime_ms = read_uptime_ms(value_of(info, "uptime_in_seconds").text);
	/* server_mode is Valkey's name for it */
	g->hello.cluster = says(info, "redis_mode", "cluster") || says(info, "server_mode", "cluster");
	g->hello.sentinel = says(info, "redis_mode", "sentinel") || says(info, "server_mode", "sentinel");
	return true;
}

static bool
take_replication(struct lsh_handshake *g, const struct lsh_message *m)
{
	const char *info = m->item[0].text;
	const bool is_master = says(info, "role", "master");
	uint64_t replicas, offset;

	g->hello.replica = !is_master && !says(info, "role", "");
	/* second_repl_offset: from where on its data are its own; -1 if they always were. Whom it took over from may come
	 * back, as a replica of it */
	g->hello.alone = is_master && find_number(info, "connected_slaves", &replicas) && replicas == 0 &&
	                 !find_number(info, "second_repl_offset", &offset);
	return true;
}

static bool
take_memory(struct lsh_handshake *g, const struct lsh_message *m)
{
	const struct value policy = value_of(m->item[0].text, "maxmemory_policy");
	const size_t n = strlen(policy.text);
	uint64_t most;

	/* no limit, so that nothing is ever evicted, is as good as that policy */
	if (n > 0 && n < LSH_POLICY_SIZE && find_number(m->item[0].text, "maxmemory", &most))
		strcpy(g->hello.eviction, most > 0 ? policy.text : LSH_NO_EVICTION);
	return true;
}

static bool
take_time(struct lsh_handshake *g, const struct lsh_message *m)
{
	uint64_t s, us;

	if (m->count != 2 || !lsh_decimal_read(m->item[0].text, m->item[0].length, &s) ||
	    !lsh_decimal_read(m->item[1].text, m->item[1].length, &us) || s >= INT64_MAX / 256 / 1000000 || us >= 1000000)
		return false;
	g->hello.server_us = (int64_t)(s * 1000000 + us);
	return true;
}

static bool
take_subscribed(struct lsh_handshake *g, const struct lsh_message *m)
{
	return lsh_message_is_about(m, "subscribe", LSH_INTEGER) && strcmp(m->item[1].text, g->channel) == 0;
}

/* What is said, in this order. */
static const struct {
	const char *name;   /* the command, but for what depends. Redis 6.2 takes no list of sections of INFO */
	bool dispensable;   /* old servers and proxies do not know it, and a user may not be allowed it */
	enum lsh_type type; /* of its answer */
	bool (*take)(struct lsh_handshake *g, const struct lsh_message *answer); /* NULL: it is "OK" */
} steps[STEPS] = {
	[AUTH] = {"AUTH", false, LSH_STATUS, NULL},
	[SELECT] = {"SELECT", false, LSH_STATUS, NULL},
	[SETNAME] = {"CLIENT SETNAME", true, LSH_STATUS, NULL},
	[INFO] = {"INFO server", true, LSH_STRING, take_server},
	[REPLICATION] = {"INFO replication", true, LSH_STRING, take_replication},
	[MEMORY] = {"INFO memory", true, LSH_STRING, take_memory},
	[TIME] = {"TIME", false, LSH_ARRAY, take_time},
	[SUBSCRIBE] = {"SUBSCRIBE", false, LSH_ARRAY, take_subscribed},
};

/* The one that is answered next. */
static enum step
next_step(const struct lsh_handshake *g)
{
	return (enum step)(ffs((int)g->due) - 1);
}

/* ---- refusals ---- */

/* How much of a server's words is fit to be passed on. One that does not know a command quotes its arguments, and those
 * are nobody's business: of AUTH a password, of SUBSCRIBE what all our tokens begin with. If the password stands there
 * in any other way, only the first word is shown. */
static int
fit_words(const struct lsh_handshake *g, enum step step, const char *said)
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

/* What kind of refusal it is. "ERR" to AUTH is one of who we are, too. */
static leash_status
status_of(enum step step, const char *said)
{
	const leash_status status = lsh_fault_status(lsh_fault_of(said));

	if (is_full(said))
		return LEASH_UNAVAILABLE;
	if (status == LEASH_UNAVAILABLE || status == LEASH_DENIED)
		return status;
	if (step == AUTH || lsh_starts_with_word(said, "DENIED")) /* protected mode */
		return LEASH_DENIED;
	if (!lsh_starts_with_word(said, "ERR"))
		return LEASH_PROTOCOL;
	if (strstr(said, "unknown command") != NULL)
		return LEASH_UNSUPPORTED;
	return step == SELECT ? LEASH_INVALID : LEASH_DENIED;
}

/* The server said "-`said`" to `step`, or to the connection as such. */
static leash_status
refused(const struct lsh_handshake *g, enum step step, const char *said, leash_error *err)
{
	const leash_status status = status_of(step, said);
	const bool as_such = is_full(said) || lsh_starts_with_word(said, "DENIED");
	const char *before = "", *behind = "";
	const int n = fit_words(g, step, said);

	if (lsh_starts_with_word(said, "NOAUTH"))
		before = "the server wants a password: ";
	else if (status == LEASH_INVALID)
		before = "there is no such database: ";
	else if (status == LEASH_PROTOCOL)
		before = "this is not the answer of a Redis server: ";
	else if (status == LEASH_UNSUPPORTED) /* a sentinel has all that comes before TIME */
		behind = step != TIME ? " (was it renamed by rename-command?)" :
		         " (is it a sentinel? then write redis+sentinel://. Or was it renamed by rename-command?)";
	return lsh_fail(err, status, 0, "%s%s was refused: %.*s%s%s", before, as_such ? "the connection" : steps[step].name,
	                n, said, n > 0 ? "" : "(its text is not shown)", behind);
}

/* May the hello do without what was refused so? */
static bool
is_dispensable(enum step step, const char *said)
{
	return steps[step].dispensable && !is_full(said) &&
	       (lsh_starts_with_word(said, "NOPERM") || lsh_starts_with_word(said, "ERR"));
}

static leash_status
take_answer(struct lsh_handshake *g, const struct lsh_message *m, leash_error *err)
{
	const enum step step = next_step(g);
	const char *said = m->item[0].text;

	if (m->type == LSH_ERROR) {
		if (!is_dispensable(step, said))
			return refused(g, step, said, err);
	} else if (m->type != steps[step].type ||
	           !(steps[step].take != NULL ? steps[step].take(g, m) : strcmp(said, "OK") == 0)) {
		return lsh_fail(err, LEASH_PROTOCOL, 0, "%s: the answer is not what a Redis server sends", steps[step].name);
	}
	if (step == REPLICATION && g->hello.replica && g->want == LSH_WANT_MASTER)
		return lsh_fail(err, LEASH_UNAVAILABLE, 0, "this is a replica, not the master");
	if (step == INFO && g->want == LSH_WANT_SENTINEL && g->hello.version != 0 && !g->hello.sentinel)
		return lsh_fail(err, LEASH_INVALID, 0, "this is not a sentinel: those usually listen on port 26379");
	g->due &= ~(1u << step);
	return LEASH_OK;
}

/* Read the first `size` of g->bytes, and consume those that belong to the answers. */
static leash_status
read_answers(struct lsh_handshake *g, size_t size, leash_error *err)
{
	leash_status status = LEASH_OK;
	size_t used = 0;
	ssize_t got;

	if (!g->heard && g->bytes[0] == 0x15 && (size == 1 || g->bytes[1] == 0x03)) /* an alert */
		return lsh_fail(err, LEASH_PROTOCOL, 0, "the server speaks TLS: write rediss:// for it, or name its port "
		                "without TLS");
	g->heard = true;
	while (used < size && status == LEASH_OK && g->due != 0) {
		const char *from = g->bytes + used, *end = memchr(from, '\n', size - used);
		/* every message ends with a LF, so that none of the next one is fed */
		size_t n = end != NULL ? (size_t)(end + 1 - from) : size - used;
		const struct lsh_message *m;
		int x = lsh_reader_feed(g->reader, from, n) ? lsh_reader_next(g->reader, &m) : -1;

		used += n;
		if (x < 0)
			status = lsh_fail(err, LEASH_PROTOCOL, 0, "%s: the answer is not what a Redis server sends: %s",
			                  steps[next_step(g)].name, lsh_reader_fault(g->reader));
		else if (x > 0)
			status = take_answer(g, m, err);
	}
	/* take from the stream what was peeked at; if it is not there, the next recv will tell */
	while (used > 0 && (got = lsh_stream_recv(&g->hello.stream, g->bytes, used, MSG_DONTWAIT)) > 0)
		used -= (size_t)got;
	return status;
}

/* ---- commands ---- */

/* Note which steps there are, and write their commands at `out`. Returns their size. */
static size_t
write_hello(struct lsh_handshake *g, char *out)
{
	const bool commands = g->channel == NULL && g->want != LSH_WANT_SENTINEL; /* channels know no databases */
	char db[LSH_DECIMAL_SIZE];
	const struct {
		bool is_said;
		const char *last; /* argument, which is not in the name; NULL: none */
	} said[STEPS] = {
		[AUTH] = {lsh_has_password(&g->uri->login), password_of(g)},
		[SELECT] = {commands && g->uri->db != 0, lsh_arg_decimal(db, g->uri->db).bytes},
		[SETNAME] = {g->name != NULL, g->name},
		[INFO] = {true, NULL},
		[REPLICATION] = {commands || g->want == LSH_WANT_MASTER, NULL},
		[MEMORY] = {commands, NULL},
		[TIME] = {commands, NULL},
		[SUBSCRIBE] = {g->channel != NULL && g->channel[0] != '\0', g->channel},
	};
	size_t size = 0;

	g->due = 0;
	for (enum step step = AUTH; step < STEPS; step++) {
		const char *name = steps[step].name, *second = strchr(name, ' ');
		struct lsh_arg args[3] = {{name, strcspn(name, " ")}};
		size_t n = 1;

		if (!said[step].is_said)
			continue;
		if (second != NULL)
			args[n++] = lsh_arg_text(second + 1);
		if (step == AUTH && g->uri->login.user != NULL)
			args[n++] = lsh_arg_text(g->uri->login.user);
		if (said[step].last != NULL)
			args[n++] = lsh_arg_text(said[step].last);
		size += lsh_command_write(out + size, args, n);
		g->due |= 1u << step;
	}
	return size;
}

static void
forget_words(struct lsh_handshake *g)
{
	sodium_free(g->words.bytes); /* which wipes them */
	g->words = (struct lsh_buffer){0};
}

void
lsh_handshake_end(struct lsh_handshake *g)
{
	forget_words(g);
	sodium_free(g->read);
	g->read = NULL;
	lsh_reader_free(g->reader);
	g->reader = NULL;
}

/* Is something still to come? */
static leash_status
check_silence(const struct lsh_handshake *g, ssize_t n, leash_error *err)
{
	const bool plainly = g->hello.stream.tls == NULL && g->uri->scheme == LSH_SCHEME_TCP && !g->heard;
	leash_error why;

	if (lsh_stream_await(&g->hello.stream, n, g->deadline, &why) == LEASH_OK)
		return LEASH_OK;
	if (lsh_stream_trouble(&g->hello.stream, err))
		return err->status;
	/* what a server does that expects TLS where we speak plainly: most just hang up */
	return lsh_fail(err, why.status, why.sys_errno, "%s: %s%s", steps[next_step(g)].name, why.text,
	                plainly && why.sys_errno == ECONNRESET ? " (does it want TLS? then write rediss://)" : "");
}

/* ---- the handshake ---- */

leash_status
lsh_handshake_begin(struct lsh_handshake *g, const struct lsh_uri *uri, struct lsh_stream stream, int64_t deadline,
                    leash_error *err)
{
	const size_t size = HELLO_SIZE + (g->name != NULL ? strlen(g->name) : 0) +
	                    (g->channel != NULL ? strlen(g->channel) : 0);
	leash_status status;

	lsh_handshake_end(g);
	g->uri = uri;
	status = lsh_uri_read_password(&g->read, g->uri, err);
	if (status == LEASH_INVALID) /* it may be on its way: the next attempt looks again */
		status = err->status = LEASH_UNAVAILABLE;
	if (status != LEASH_OK)
		return status;
	g->words.bytes = lsh_sodium_ready() ? sodium_malloc(size) : NULL;
	g->reader = lsh_reader_new(false);
	if (g->words.bytes == NULL || g->reader == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "no memory for its answers");
	g->words.end = write_hello(g, g->words.bytes);
	g->heard = false;
	g->deadline = deadline;
	g->hello = (struct lsh_hello){.stream = stream, .uptime_ms = -1};
	return LEASH_OK;
}

short
lsh_handshake_events(const struct lsh_handshake *g)
{
	return lsh_buffer_size(&g->words) > 0 ? POLLIN | POLLOUT : POLLIN;
}

enum lsh_progress
lsh_handshake_step(struct lsh_handshake *g, leash_error *err)
{
	leash_status status = LEASH_OK;
	ssize_t n;

	lsh_stream_send_all(&g->hello.stream, &g->words);
	if (lsh_buffer_size(&g->words) == 0)
		forget_words(g);
	do {
		n = lsh_stream_recv(&g->hello.stream, g->bytes, sizeof g->bytes, MSG_PEEK | MSG_DONTWAIT);
		if (n > 0)
			status = read_answers(g, (size_t)n, err);
	} while (status == LEASH_OK && g->due != 0 && n > 0);

	if (status == LEASH_OK && g->due != 0)
		status = check_silence(g, n, err);
	if (status != LEASH_OK)
		return LSH_FAILED;
	if (g->due != 0)
		return LSH_WAIT;
	/* not before the bytes came: then the server's time is at least server_us plus what has passed since */
	g->hello.received_ns = lsh_now_ns();
	return LSH_DONE;
}
