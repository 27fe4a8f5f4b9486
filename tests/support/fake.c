/* A scripted server. See fake.h.
 *
 * The thread owns the connections and what they have sent; everybody may add to what they are to be sent, so that and the
 * record are under the mutex. The answer is asked for without it: it may use the fake. */
#include "tests/support/fake.h"

#include "tests/support/await.h"
#include "tests/support/frame.h"
#include "tests/support/socket.h"
#include "tests/support/sweep.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 65536, OUT = FAKE_MOST, WORDS = 1024 };

struct guest {
	struct guest *next;
	int fd;
	struct bytes in;           /* what it said: the thread's */
	struct frame frame;
	size_t scanned;            /* of `in`, by the frame */
	/* under the mutex: */
	struct bytes out;          /* what it is to be told */
	char channel[128];         /* that it subscribed to last; "": none */
	bool ends;                 /* when all is said */
};

struct fake {
	struct sweep_item item;
	char *folder, *listening, *uri;
	int listener, kick;
	pthread_t thread;
	fake_answer *answer;
	void *ctx;
	/* the thread's: */
	char answer_bytes[OUT], chunk[CHUNK];
	const char *argv[WORDS];
	size_t argl[WORDS];

	_Atomic size_t accepted, open;

	pthread_mutex_t mutex;     /* guards the rest */
	struct guest *guests;
	bool stopping;
	atomic_bool hanging_up;
	struct bytes heard;        /* commands: their words joined by spaces, with a NUL behind the last */
};

/* --- answers --- */

bool
fake_is(int argc, const char **argv, const size_t *argl, int i, const char *word)
{
	return i < argc && argl[i] == strlen(word) && strncasecmp(argv[i], word, argl[i]) == 0;
}

size_t
fake_say(char *out, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(out, size, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= size)
		trouble("an answer of more than %zu bytes", size);
	return (size_t)n;
}

size_t
fake_info(char *out, size_t size, const char *version, const char *run_id, int64_t uptime_s)
{
	char info[512];
	size_t n = fake_say(info, sizeof info,
	                    "# Server\r\nredis_version:%s\r\nredis_mode:standalone\r\nrun_id:%s\r\nuptime_in_seconds:%lld\r\n"
	                    "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n",
	                    version, run_id, (long long)uptime_s);

	return fake_say(out, size, "$%zu\r\n%s\r\n", n, info);
}

static size_t
say_time(char *out, size_t size)
{
	struct timespec now;
	char us[24];

	clock_gettime(CLOCK_REALTIME, &now);
	return fake_say(out, size, "*2\r\n$10\r\n%lld\r\n$%zu\r\n%s\r\n", (long long)now.tv_sec,
	                fake_say(us, sizeof us, "%ld", now.tv_nsec / 1000), us);
}

/* One confirmation for each channel, of which the last is kept. */
static size_t
say_subscribed(struct fake *f, struct guest *guest, int argc, const char **argv, const size_t *argl, char *out, bool on)
{
	size_t n = 0;

	pthread_mutex_lock(&f->mutex);
	for (int i = 1; i < argc; i++) {
		snprintf(guest->channel, sizeof guest->channel, "%.*s", on ? (int)argl[i] : 0, argv[i]);
		n += fake_say(out + n, OUT - n, "*3\r\n$%d\r\n%s\r\n$%zu\r\n%.*s\r\n:%d\r\n", on ? 9 : 11,
		              on ? "subscribe" : "unsubscribe", argl[i], (int)argl[i], argv[i], on);
	}
	pthread_mutex_unlock(&f->mutex);
	return n;
}

static size_t
answer_like_redis(struct fake *f, struct guest *guest, int argc, const char **argv, const size_t *argl, char *out)
{
	static const char *const plain[][3] = {
		{"AUTH", NULL, "+OK"}, {"SELECT", NULL, "+OK"}, {"CLIENT", NULL, "+OK"}, {"PING", NULL, "+PONG"},
		{"SCRIPT", "LOAD", "$40\r\n0123456789abcdef0123456789abcdef01234567"},
		{"EVALSHA", NULL, "-NOSCRIPT No matching script. Please use EVAL."},
	};
	/* what a client of leash tells about itself, and that it goes */
	const bool introduces = argc >= 2 && memmem(argv[1], argl[1], ":client:", 8) != NULL;
#define IS(word) fake_is(argc, argv, argl, 0, word)

	if (IS("CLIENT") && fake_is(argc, argv, argl, 1, "ID"))
		return fake_say(out, OUT, ":%d\r\n", guest->fd);
	if (IS("ECHO") && argc == 2)
		return fake_say(out, OUT, "$%zu\r\n%.*s\r\n", argl[1], (int)argl[1], argv[1]);
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (IS(plain[i][0]) && (!plain[i][1] || fake_is(argc, argv, argl, 1, plain[i][1])))
			return fake_say(out, OUT, "%s\r\n", plain[i][2]);
	if (IS("INFO"))
		return fake_info(out, OUT, "7.0.15", "00112233445566778899aabbccddeeff00112233", 86400);
	if (IS("TIME"))
		return say_time(out, OUT);
	if (IS("SUBSCRIBE") || IS("UNSUBSCRIBE"))
		return say_subscribed(f, guest, argc, argv, argl, out, IS("SUBSCRIBE"));
	if (introduces && (IS("SET") || IS("DEL")))
		return fake_say(out, OUT, IS("SET") ? "+OK\r\n" : ":1\r\n");
	return fake_say(out, OUT, "-ERR unknown command '%.*s'\r\n", argc > 0 ? (int)argl[0] : 0, argc > 0 ? argv[0] : "");
#undef IS
}

/* One whole one, an array of strings. */
static void
on_command(struct fake *f, struct guest *guest, const char *at, size_t size)
{
	const size_t special = FAKE_SILENT | FAKE_CLOSE;
	size_t n = FAKE_DEFAULT, next = 0;
	int argc = 0;

	while (argc < WORDS && (f->argv[argc] = frame_string(at, size, &next, &f->argl[argc])) != NULL)
		argc++;
	if (argc == 0)
		return;
	pthread_mutex_lock(&f->mutex);
	for (int i = 0; i < argc; i++) {
		bytes_append(&f->heard, f->argv[i], f->argl[i]);
		bytes_append(&f->heard, i + 1 < argc ? " " : "", 1);
	}
	pthread_mutex_unlock(&f->mutex);
	if (f->answer)
		n = f->answer(f->ctx, argc, f->argv, f->argl, f->answer_bytes, OUT);
	if (n == FAKE_DEFAULT)
		n = answer_like_redis(f, guest, argc, f->argv, f->argl, f->answer_bytes);
	pthread_mutex_lock(&f->mutex);
	if (!guest->ends)
		bytes_append(&guest->out, f->answer_bytes, n & ~special);
	guest->ends |= (n & FAKE_CLOSE) != 0;
	pthread_mutex_unlock(&f->mutex);
}

/* --- the thread; mutex held where it is not said otherwise --- */

static void
free_guest(struct fake *f, struct guest *guest, bool reset)
{
	if (reset)
		socket_reset(guest->fd);
	else
		socket_close(guest->fd);
	free(guest->in.at);
	free(guest->out.at);
	free(guest);
	f->open--;
}

/* Not under the mutex. False: it has gone. */
static bool
listen_to(struct fake *f, struct guest *guest)
{
	ssize_t n = recv(guest->fd, f->chunk, CHUNK, 0);
	bool whole;

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	bytes_append(&guest->in, f->chunk, (size_t)n);
	while (guest->scanned < bytes_length(&guest->in) && !guest->ends) {
		const char *at = guest->in.at + guest->in.head, *next = at + guest->scanned;

		guest->scanned += frame_feed(&guest->frame, next, bytes_length(&guest->in) - guest->scanned, &whole);
		if (!whole)
			break;
		on_command(f, guest, at, guest->scanned);
		guest->in.head += guest->scanned;
		guest->scanned = 0;
	}
	return true;
}

/* False: it is to be closed, or has gone. */
static bool
talk_to(struct guest *guest)
{
	while (bytes_length(&guest->out) > 0) {
		ssize_t n = send(guest->fd, guest->out.at + guest->out.head, bytes_length(&guest->out), MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		guest->out.head += (size_t)n;
	}
	return !guest->ends;
}

static void
welcome(struct fake *f)
{
	int fd;

	while ((fd = socket_accept(f->listener)) >= 0) {
		struct guest *guest = zeroed(sizeof *guest);

		socket_private(fd);
		guest->fd = fd;
		guest->next = f->guests;
		f->guests = guest;
		f->accepted++;
		f->open++;
	}
}

static void
serve(struct fake *f, const struct pollfd *polls)
{
	const struct pollfd *poll = polls + 2;

	for (struct guest **at = &f->guests; *at; poll++) {
		struct guest *guest = *at;
		bool stays = true;

		if (poll->revents & ~POLLOUT) {
			pthread_mutex_unlock(&f->mutex);
			stays = listen_to(f, guest);
			pthread_mutex_lock(&f->mutex);
		}
		if (stays && talk_to(guest)) {
			at = &guest->next;
			continue;
		}
		*at = guest->next;
		free_guest(f, guest, false);
	}
}

static void
hang_up_all(struct fake *f)
{
	while (f->guests) {
		struct guest *guest = f->guests;

		f->guests = guest->next;
		free_guest(f, guest, true);
	}
	f->hanging_up = false;
}

static void *
run(void *arg)
{
	struct fake *f = arg;
	struct pollfd *polls = NULL;
	uint64_t kicks;

	pthread_mutex_lock(&f->mutex);
	while (!f->stopping) {
		nfds_t n = 2;

		polls = realloc(polls, (2 + f->open) * sizeof *polls);
		if (!polls)
			trouble("no memory");
		polls[0] = (struct pollfd){ .fd = f->listener, .events = POLLIN };
		polls[1] = (struct pollfd){ .fd = f->kick, .events = POLLIN };
		for (const struct guest *guest = f->guests; guest; guest = guest->next)
			polls[n++] = (struct pollfd){ guest->fd, .events = bytes_length(&guest->out) ? POLLIN | POLLOUT : POLLIN };
		pthread_mutex_unlock(&f->mutex);
		if (poll(polls, n, -1) < 0 && errno != EINTR)
			trouble("poll: %s", strerror(errno));
		if (polls[1].revents && read(f->kick, &kicks, sizeof kicks) < 0)
			trouble("eventfd: %s", strerror(errno));
		pthread_mutex_lock(&f->mutex);
		serve(f, polls);
		if (f->hanging_up)
			hang_up_all(f);
		if (polls[0].revents)
			welcome(f);
	}
	hang_up_all(f);
	pthread_mutex_unlock(&f->mutex);
	free(polls);
	return NULL;
}

/* --- for the tests --- */

STOP_BY(fake_stop)

struct fake *
fake_start_with(fake_answer *answer, void *ctx, bool tcp)
{
	struct fake *f = zeroed(sizeof *f);
	int port;

	f->answer = answer;
	f->ctx = ctx;
	if (tcp) {
		f->listener = socket_listen_tcp(&port);
		f->listening = text_of("127.0.0.1:%d", port);
	} else {
		f->folder = sweep_folder();
		f->listening = text_of("%s/fake.sock", f->folder);
		f->listener = socket_listen(f->listening);
	}
	f->uri = text_of("%s%s", tcp ? "redis://" : "unix://", f->listening);
	socket_private(f->listener);
	f->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&f->mutex, NULL);
	if (f->kick < 0 || pthread_create(&f->thread, NULL, run, f) != 0)
		trouble("cannot start a fake server");
	sweep_add(&f->item, stop, f);
	return f;
}

static void
unlock_and_kick(struct fake *f)
{
	pthread_mutex_unlock(&f->mutex);
	if (write(f->kick, &(uint64_t){ 1 }, sizeof(uint64_t)) < 0 && errno != EAGAIN)
		trouble("eventfd: %s", strerror(errno));
}

void
fake_stop(struct fake *f)
{
	if (!f || !sweep_drop(&f->item))
		return;
	pthread_mutex_lock(&f->mutex);
	f->stopping = true;
	unlock_and_kick(f);
	pthread_join(f->thread, NULL);
	socket_close(f->listener);
	close(f->kick);
	sweep_remove(f->folder);
	free(f->heard.at);
	free(f->listening);
	free(f->uri);
	pthread_mutex_destroy(&f->mutex);
	free(f);
}

const char *
fake_uri(const struct fake *f)
{
	return f->uri;
}

const char *
fake_target(const struct fake *f)
{
	return f->listening;
}

/* To those who listen to a channel; NULL: to those who listen to none. */
static size_t
send_to(struct fake *f, const char *channel, const char *bytes, size_t size)
{
	size_t n = 0;

	pthread_mutex_lock(&f->mutex);
	for (struct guest *guest = f->guests; guest; guest = guest->next) {
		if (strcmp(guest->channel, channel ? channel : "") != 0 || guest->ends)
			continue;
		bytes_append(&guest->out, bytes, size);
		n++;
	}
	unlock_and_kick(f);
	return n;
}

size_t
fake_send(struct fake *f, const char *bytes, size_t size)
{
	return send_to(f, NULL, bytes, size);
}

size_t
fake_publish(struct fake *f, const char *channel, const char *payload)
{
	char *message = text_of("*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(channel), channel,
	                        strlen(payload), payload);
	size_t n = send_to(f, channel, message, strlen(message));

	free(message);
	return n;
}

void
fake_hang_up(struct fake *f)
{
	pthread_mutex_lock(&f->mutex);
	f->hanging_up = true;
	unlock_and_kick(f);
	await_true(!f->hanging_up);
}

size_t
fake_count(struct fake *f, const char *word)
{
	size_t n = 0, size = word ? strlen(word) : 0;

	pthread_mutex_lock(&f->mutex);
	for (const char *at = f->heard.at; at < f->heard.at + f->heard.tail; at += strlen(at) + 1)
		n += !word || (strncasecmp(at, word, size) == 0 && (at[size] == ' ' || at[size] == '\0'));
	pthread_mutex_unlock(&f->mutex);
	return n;
}

void
fake_forget(struct fake *f)
{
	pthread_mutex_lock(&f->mutex);
	f->heard.tail = 0;
	pthread_mutex_unlock(&f->mutex);
}

size_t
fake_accepted(struct fake *f)
{
	return f->accepted;
}

size_t
fake_open(struct fake *f)
{
	return f->open;
}
