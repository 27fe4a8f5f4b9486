/* The bytes of a connection that speaks TLS come as those of a plain one do: whole, in order, told of by poll(), and ended by an end;
 * whatever the server's TLS may say in between. The server is OpenSSL in this process, so that it can be made to say it. */
#include "base/clock.h"
#include "base/thread.h"
#include "redis/pubsub.h"
#include "redis/tls.h"
#include "tests/redis/caller.h"
#include "tests/support/certs.h"
#include "tests/support/socket.h"
#include "tests/support/test.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static SSL_CTX *server_ctx;
static struct lsh_tls_options options = {.on = true};
static struct lsh_tls_context *context;

static void
set_up(void)
{
	leash_error err;

	signal(SIGPIPE, SIG_IGN); /* of OpenSSL's server; the client must not need it */
	server_ctx = SSL_CTX_new(TLS_server_method());
	assert_int_equal(SSL_CTX_use_certificate_file(server_ctx, certs_file(CERTS_SERVER), SSL_FILETYPE_PEM), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey_file(server_ctx, certs_key(CERTS_SERVER), SSL_FILETYPE_PEM), 1);
	options.cafile = (char *)(uintptr_t)certs_file(CERTS_AUTHORITY);
	context = lsh_tls_context_take(&options, &err);
	assert_non_null(context);
}

static void
tear_down(void)
{
	lsh_tls_context_drop(context);
	SSL_CTX_free(server_ctx);
}

GROUP(set_up, tear_down);

/* ---- two ends ---- */

struct ends {
	struct lsh_stream stream;
	SSL *server;
	int fd; /* the server's */
};

static void *
accept_one(void *ssl)
{
	return SSL_accept(ssl) == 1 ? ssl : NULL;
}

static enum lsh_progress
shake(struct lsh_stream *stream, leash_error *err)
{
	enum lsh_progress shaken;

	while ((shaken = lsh_tls_step(stream->tls, err)) == LSH_WAIT)
		poll(&(struct pollfd){.fd = stream->fd, .events = lsh_tls_events(stream->tls)}, 1, 1000);
	return shaken;
}

static void
connect_ends(struct ends *e, int version)
{
	leash_error err = {0};
	pthread_t thread;
	void *accepted;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	e->fd = fds[1];
	e->server = SSL_new(server_ctx);
	SSL_set_fd(e->server, e->fd);
	SSL_set_max_proto_version(e->server, version);
	e->stream = (struct lsh_stream){.fd = fds[0], .tls = lsh_tls_new(fds[0], context, &options, "localhost")};
	assert_non_null(e->stream.tls);
	assert_int_equal(pthread_create(&thread, NULL, accept_one, e->server), 0);
	if (shake(&e->stream, &err) != LSH_DONE)
		fail_msg("%s", err.text);
	pthread_join(thread, &accepted);
	assert_non_null(accepted);
}

static void
end_ends(struct ends *e)
{
	lsh_stream_discard(&e->stream);
	assert_int_equal(e->stream.fd, -1);
	SSL_free(e->server);
	close(e->fd);
}

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

#define for_each_version(v) for (const int *v = versions; v < versions + 2; v++)

/* The next number below `end` of a sequence. */
static unsigned
draw(unsigned *seed, unsigned end)
{
	*seed = *seed * 1103515245 + 12345;
	return (*seed >> 8) % end;
}

static void
fill(unsigned char *bytes, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)draw(&seed, 256);
}

/* Does poll() tell of anything? */
static bool
is_told(const struct lsh_stream *stream)
{
	return poll(&(struct pollfd){.fd = stream->fd, .events = POLLIN}, 1, 0) == 1;
}

static void
check_nothing(const struct lsh_stream *stream, int flags)
{
	char byte;

	errno = 0;
	assert_int_equal(lsh_stream_recv(stream, &byte, 1, flags), -1);
	assert_int_equal(errno, EAGAIN);
}

/* ---- receiving ---- */

enum { SENT = 3 << 20 };

struct speaker {
	SSL *ssl;
	const unsigned char *bytes;
	size_t size;
	unsigned seed;
	bool talks; /* says what TLS may say in between, too */
};

static void *
speak(void *arg)
{
	struct speaker *s = arg;
	unsigned seed = s->seed;

	for (size_t sent = 0; sent < s->size;) {
		size_t n = 1 + draw(&seed, draw(&seed, 3) == 0 ? 40000 : 900);

		if (n > s->size - sent)
			n = s->size - sent;
		if (SSL_write(s->ssl, s->bytes + sent, (int)n) != (int)n)
			return NULL;
		sent += n;
		if (s->talks && draw(&seed, 64) == 0)
			SSL_key_update(s->ssl, draw(&seed, 2) == 0 ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED);
	}
	return s;
}

SENTENCE(bytes_come_whole_and_poll_tells_of_all_of_them)
{
	static const size_t rooms[] = {1, 100, 4096, 16384, LSH_WIRE_MOST, LSH_READ_SIZE};
	unsigned char *bytes = malloc(SENT), *got = malloc(SENT);

	fill(bytes, SENT, 7);
	for_each_version(v) for (size_t r = 0; r < sizeof rooms / sizeof *rooms; r++) {
		size_t all = rooms[r] == 1 ? SENT / 64 : SENT, size = 0;
		struct ends e;
		struct speaker s;
		pthread_t thread;
		void *spoken;

		connect_ends(&e, *v);
		s = (struct speaker){e.server, bytes, all, (unsigned)r + 1, *v == TLS1_3_VERSION};
		assert_int_equal(pthread_create(&thread, NULL, speak, &s), 0);
		while (size < all) {
			size_t room = rooms[r] < all - size ? rooms[r] : all - size;
			ssize_t n;

			if (!lsh_stream_is_pending(&e.stream) || room >= LSH_WIRE_MOST)
				assert_int_equal(poll(&(struct pollfd){.fd = e.stream.fd, .events = POLLIN}, 1, 30000), 1);
			if (r % 2 == 0) {
				n = lsh_stream_recv(&e.stream, got + size, room, MSG_PEEK | MSG_DONTWAIT);
				if (n > 0) {
					assert_memory_equal(got + size, bytes + size, (size_t)n);
					assert_true(lsh_stream_is_pending(&e.stream));
				}
			}
			n = lsh_stream_recv(&e.stream, got + size, room, MSG_DONTWAIT);
			if (n < 0)
				assert_int_equal(errno, EAGAIN);
			else
				assert_true(n > 0);
			size += n > 0 ? (size_t)n : 0;
		}
		assert_memory_equal(got, bytes, all);
		pthread_join(thread, &spoken);
		assert_non_null(spoken);
		check_nothing(&e.stream, MSG_DONTWAIT);
		end_ends(&e);
	}
	free(bytes);
	free(got);
}

SENTENCE(half_a_record_is_nothing_yet_and_is_not_waited_for)
{
	unsigned char bytes[3000], record[4000], got[3000];
	ssize_t size;

	fill(bytes, sizeof bytes, 3);
	for_each_version(v) {
		struct ends e;

		connect_ends(&e, *v);
		lsh_stream_recv(&e.stream, got, 1, MSG_PEEK | MSG_DONTWAIT); /* the tickets */
		assert_int_equal(SSL_write(e.server, bytes, sizeof bytes), sizeof bytes);
		/* catch the record on its way, and deliver it byte by byte */
		size = recv(e.stream.fd, record, sizeof record, MSG_DONTWAIT);
		assert_true(size > (ssize_t)sizeof bytes);
		for (ssize_t i = 0; i < size - 1; i++) {
			assert_int_equal(send(e.fd, record + i, 1, 0), 1);
			check_nothing(&e.stream, i % 2 ? MSG_DONTWAIT : MSG_DONTWAIT | MSG_PEEK);
			assert_false(lsh_stream_is_pending(&e.stream));
		}
		assert_int_equal(send(e.fd, record + size - 1, 1, 0), 1);
		assert_int_equal(lsh_stream_recv(&e.stream, got, sizeof got, 0), sizeof bytes);
		assert_memory_equal(got, bytes, sizeof bytes);
		end_ends(&e);
	}
}

SENTENCE(what_tls_says_by_itself_on_an_idle_connection_is_no_answer)
{
	struct ends e;
	char got[16];

	connect_ends(&e, TLS1_3_VERSION);
	/* the tickets that came behind the handshake */
	check_nothing(&e.stream, MSG_PEEK | MSG_DONTWAIT);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(SSL_key_update(e.server, SSL_KEY_UPDATE_REQUESTED), 1);
		assert_int_equal(SSL_do_handshake(e.server), 1);
		assert_true(is_told(&e.stream));
		check_nothing(&e.stream, MSG_PEEK | MSG_DONTWAIT);
		assert_false(is_told(&e.stream));
		assert_int_equal(lsh_stream_send(&e.stream, "ping", 4), 4); /* which takes the answer to that along */
		assert_int_equal(SSL_read(e.server, got, sizeof got), 4);
		assert_int_equal(SSL_write(e.server, "pong", 4), 4);
		assert_int_equal(lsh_stream_recv(&e.stream, got, sizeof got, 0), 4);
		assert_memory_equal(got, "pong", 4);
	}
	end_ends(&e);
}

/* ---- ends and faults ---- */

SENTENCE(an_end_is_an_end_with_or_without_a_word)
{
	char got[16];

	for_each_version(v) for (int word = 0; word < 2; word++) for (int data = 0; data < 2; data++) {
		struct ends e;
		leash_error trouble;

		connect_ends(&e, *v);
		if (data)
			assert_int_equal(SSL_write(e.server, "last", 4), 4);
		if (word)
			assert_int_equal(SSL_shutdown(e.server), 0);
		else
			shutdown(e.fd, SHUT_RDWR);
		if (data) {
			assert_int_equal(lsh_stream_recv(&e.stream, got, 1, MSG_PEEK | MSG_DONTWAIT), 1);
			assert_int_equal(lsh_stream_recv(&e.stream, got, sizeof got, 0), 4);
			assert_memory_equal(got, "last", 4);
			assert_true(lsh_stream_is_pending(&e.stream) || is_told(&e.stream));
		}
		for (int i = 0; i < 3; i++)
			assert_int_equal(lsh_stream_recv(&e.stream, got, sizeof got, i == 0 ? MSG_PEEK | MSG_DONTWAIT : 0), 0);
		assert_false(lsh_stream_trouble(&e.stream, &trouble));
		end_ends(&e);
	}
}

SENTENCE(a_record_that_was_tampered_with_ends_the_connection)
{
	char record[256], got[64];

	for_each_version(v) for (ssize_t at = 0; at < 48; at++) {
		struct ends e;
		leash_error trouble;
		ssize_t size, n;

		connect_ends(&e, *v);
		lsh_stream_recv(&e.stream, got, 1, MSG_PEEK | MSG_DONTWAIT);
		assert_int_equal(SSL_write(e.server, "sixteen letters!", 16), 16);
		size = recv(e.stream.fd, record, sizeof record, MSG_DONTWAIT);
		assert_true(size > 20);
		if (at < size) {
			record[at] ^= 0x10;
			assert_int_equal(send(e.fd, record, (size_t)size, 0), size);
			shutdown(e.fd, SHUT_WR);
			while ((n = lsh_stream_recv(&e.stream, got, sizeof got, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
				poll(&(struct pollfd){.fd = e.stream.fd, .events = POLLIN}, 1, 1000);
			if (n > 0) { /* the version in a record's head is nobody's business */
				assert_true(at < 3);
				assert_int_equal(n, 16);
			} else if (n < 0) {
				assert_int_equal(errno, EPROTO);
				assert_true(lsh_stream_trouble(&e.stream, &trouble));
				assert_int_equal(trouble.status, LEASH_PROTOCOL);
				assert_non_null(strstr(trouble.text, "TLS failed: "));
				assert_int_equal(lsh_stream_send(&e.stream, "x", 1), -1);
				assert_int_equal(errno, EPROTO);
			} else {
				assert_true(at == 3 || at == 4); /* its length: the rest never comes */
			}
		}
		end_ends(&e);
	}
}

SENTENCE(a_send_to_who_has_gone_is_an_error_and_no_signal)
{
	struct ends e;
	ssize_t n = 0;

	signal(SIGPIPE, SIG_DFL);
	connect_ends(&e, TLS1_3_VERSION);
	close(e.fd);
	e.fd = -1;
	for (int i = 0; i < 10 && n >= 0; i++)
		n = lsh_stream_send(&e.stream, "x", 1);
	assert_int_equal(n, -1);
	assert_true(errno == EPIPE || errno == ECONNRESET);
	end_ends(&e);
	signal(SIGPIPE, SIG_IGN);
}

/* ---- sending ---- */

struct hearer {
	SSL *ssl;
	unsigned char *got;
	size_t size, all;
	atomic_bool go;
	bool talks;
};

static void *
hear(void *arg)
{
	struct hearer *h = arg;

	while (!atomic_load(&h->go))
		usleep(100);
	while (h->size < h->all) {
		int n = SSL_read(h->ssl, h->got + h->size, (int)(h->all - h->size));

		if (n <= 0)
			return NULL;
		h->size += (size_t)n;
		if (h->talks && h->size % 7 == 0)
			SSL_key_update(h->ssl, SSL_KEY_UPDATE_REQUESTED), SSL_do_handshake(h->ssl);
	}
	return h;
}

/* A full socket: what was not taken is brought again, with more behind it. */
SENTENCE(bytes_that_the_socket_does_not_take_are_sent_later_and_once)
{
	unsigned char *bytes = malloc(SENT), *got = malloc(SENT);

	fill(bytes, SENT, 11);
	for_each_version(v) {
		struct ends e;
		struct hearer h;
		size_t sent = 0;
		unsigned full = 0, seed = 5;
		pthread_t thread;
		void *heard;

		connect_ends(&e, *v);
		setsockopt(e.stream.fd, SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int));
		h = (struct hearer){.ssl = e.server, .got = got, .all = SENT, .talks = *v == TLS1_3_VERSION};
		assert_int_equal(pthread_create(&thread, NULL, hear, &h), 0);
		while (sent < SENT) {
			size_t most = 1 + draw(&seed, 30000); /* fewer than before as well */
			ssize_t n = lsh_stream_send(&e.stream, bytes + sent, most < SENT - sent ? most : SENT - sent);

			if (n > 0) {
				sent += (size_t)n;
				continue;
			}
			assert_int_equal(errno, EAGAIN);
			full++;
			atomic_store(&h.go, true);
			check_nothing(&e.stream, MSG_DONTWAIT);
			poll(&(struct pollfd){.fd = e.stream.fd, .events = POLLOUT}, 1, 1000);
		}
		atomic_store(&h.go, true);
		pthread_join(thread, &heard);
		assert_non_null(heard);
		assert_memory_equal(got, bytes, SENT);
		assert_true(full > 10);
		end_ends(&e);
	}
	free(bytes);
	free(got);
}

/* ---- both at once ---- */

struct sender {
	const struct lsh_stream *stream;
	const unsigned char *bytes;
	bool good;
};

static void *
send_all(void *arg)
{
	struct sender *s = arg;
	unsigned seed = 99;

	s->good = true;
	for (size_t sent = 0; sent < SENT && s->good;) {
		size_t most = 1 + draw(&seed, 3000);
		ssize_t n = lsh_stream_send(s->stream, s->bytes + sent, most < SENT - sent ? most : SENT - sent);
		int e = errno;
		char byte;

		/* as the pipeline's writer does before it sends, whoever reads */
		lsh_stream_recv(s->stream, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
		if (n > 0)
			sent += (size_t)n;
		else if (e == EAGAIN)
			poll(&(struct pollfd){.fd = s->stream->fd, .events = POLLOUT}, 1, 1000);
		else
			s->good = false;
	}
	return NULL;
}

/* An echo that asks for new keys all the time: one thread sends, another receives, each with the other's work to do. */
static void *
echo(void *arg)
{
	SSL *ssl = arg;
	unsigned char bytes[16384];
	size_t all = 0;

	while (all < SENT) {
		int n = SSL_read(ssl, bytes, sizeof bytes);

		if (n <= 0 || SSL_write(ssl, bytes, n) != n)
			return NULL;
		all += (size_t)n;
		if (SSL_version(ssl) == TLS1_3_VERSION && all % 16 == 0)
			SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
	}
	return arg;
}

SENTENCE(one_thread_may_send_and_peek_while_another_receives)
{
	unsigned char *bytes = malloc(SENT), *got = malloc(SENT);

	fill(bytes, SENT, 17);
	for_each_version(v) {
		struct ends e;
		struct sender s;
		pthread_t sending, echoing;
		size_t size = 0;
		void *echoed;

		connect_ends(&e, *v);
		fcntl(e.stream.fd, F_SETFL, 0); /* as the pipeline has it */
		setsockopt(e.stream.fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_usec = 20000}, sizeof(struct timeval));
		s = (struct sender){&e.stream, bytes, true};
		assert_int_equal(pthread_create(&echoing, NULL, echo, e.server), 0);
		assert_int_equal(pthread_create(&sending, NULL, send_all, &s), 0);
		while (size < SENT) {
			ssize_t n = lsh_stream_recv(&e.stream, got + size, SENT - size < LSH_READ_SIZE ? SENT - size : LSH_READ_SIZE, 0);

			if (n < 0)
				assert_int_equal(errno, EAGAIN);
			else
				assert_true(n > 0);
			size += n > 0 ? (size_t)n : 0;
		}
		pthread_join(sending, NULL);
		pthread_join(echoing, &echoed);
		assert_true(s.good);
		assert_non_null(echoed);
		assert_memory_equal(got, bytes, SENT);
		end_ends(&e);
	}
	free(bytes);
	free(got);
}

/* ---- the application's OpenSSL ---- */

SENTENCE(errors_that_the_application_left_in_openssl_disturb_nobody_and_we_leave_none)
{
	char got[16];

	for_each_version(v) {
		struct ends e;
		leash_error trouble;

		ERR_clear_error();
		SSL_CTX_use_certificate_file(server_ctx, "/nowhere", SSL_FILETYPE_PEM);
		assert_true(ERR_peek_last_error() != 0);
		connect_ends(&e, *v);
		check_nothing(&e.stream, MSG_PEEK | MSG_DONTWAIT);
		assert_int_equal(lsh_stream_send(&e.stream, "ping", 4), 4);
		check_nothing(&e.stream, MSG_DONTWAIT);
		SSL_shutdown(e.server);
		ERR_clear_error();
		SSL_CTX_use_certificate_file(server_ctx, "/nowhere", SSL_FILETYPE_PEM);
		assert_int_equal(lsh_stream_recv(&e.stream, got, sizeof got, 0), 0);
		assert_false(lsh_stream_trouble(&e.stream, &trouble));
		end_ends(&e);
		ERR_clear_error();

		/* and of ours nothing is left behind */
		connect_ends(&e, *v);
		assert_int_equal(send(e.fd, "\x17\x03\x03\x00\x20garbagegarbagegarbagegarbagegarb", 37, 0), 37);
		assert_int_equal(lsh_stream_recv(&e.stream, got, sizeof got, MSG_DONTWAIT), -1);
		assert_int_equal(errno, EPROTO);
		assert_int_equal(ERR_peek_error(), 0);
		end_ends(&e);
	}
}

/* ---- the pipeline ---- */

static void
answer_one(SSL *ssl, const char *answer)
{
	char heard[64];

	assert_true(SSL_read(ssl, heard, sizeof heard) > 0);
	assert_int_equal(SSL_write(ssl, answer, (int)strlen(answer)), (int)strlen(answer));
}

struct asker {
	struct line *line;
	int outcome;
};

static void *
ask(void *arg)
{
	struct asker *a = arg;
	struct command *command = command_new(a->line, "PONG");
	struct lsh_arg ping[] = {LSH_ARG("PING")};

	a->outcome = LSH_UNSENT;
	if (command_append(command, ping, 1, 30 * LSH_S) == LSH_APPENDED)
		a->outcome = command_await(command, LSH_NEVER);
	command_drop(command);
	return NULL;
}

SENTENCE(tickets_and_new_keys_on_an_idle_pipe_break_nothing_and_an_unasked_answer_does)
{
	struct asker a = {.line = line_start()};
	struct ends e;
	pthread_t thread;

	connect_ends(&e, TLS1_3_VERSION);
	line_attach(a.line, e.stream);
	for (int i = 0; i < 5; i++) {
		await_ms(15); /* longer than the pipeline takes for idle: it looks before it asks */
		assert_int_equal(SSL_key_update(e.server, SSL_KEY_UPDATE_REQUESTED), 1);
		assert_int_equal(SSL_do_handshake(e.server), 1);
		assert_int_equal(pthread_create(&thread, NULL, ask, &a), 0);
		answer_one(e.server, "+PONG\r\n");
		pthread_join(thread, NULL);
		assert_int_equal(a.outcome, LSH_ANSWERED);
	}
	await_ms(15);
	assert_int_equal(SSL_write(e.server, "+GHOST\r\n", 8), 8);
	ask(&a);
	assert_int_equal(a.outcome, LSH_UNSENT);
	assert_int_equal(line_detach(a.line).fd, e.stream.fd);
	end_ends(&e);
	line_stop(a.line);
}

/* ---- the pubsub ---- */

static void
tell_nobody(void *keeper)
{
	(void)keeper;
}

static void
count_message(void *ctx, const char *text, size_t size)
{
	int *messages = ctx;

	(void)text, (void)size;
	++*messages;
}

static bool
is_there(void *messages)
{
	return *(int *)messages > 0;
}

/* Who waits for one of them leaves with it; and the keeper drains what has come. */
SENTENCE(no_message_of_a_long_record_stays_behind_where_poll_does_not_tell_of_it)
{
	static const struct lsh_pubsub_ops ops = {.message = count_message};
	static const char message[] = "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$7\r\ng x 1 y\r\n";
	enum { MESSAGES = 300, SIZE = sizeof message - 1 };
	char record[MESSAGES * SIZE];
	struct ends e;

	for (size_t i = 0; i < MESSAGES; i++)
		memcpy(record + i * SIZE, message, SIZE);
	for (int drains = 0; drains < 2; drains++) {
		int messages = 0;
		struct lsh_pubsub *pubsub = lsh_pubsub_new(&ops, &messages, tell_nobody, NULL);

		assert_non_null(pubsub);
		connect_ends(&e, TLS1_3_VERSION);
		assert_true(lsh_pubsub_attach(pubsub, e.stream));
		assert_int_equal(SSL_write(e.server, record, sizeof record), sizeof record);
		if (drains)
			lsh_pubsub_drain(pubsub);
		else
			lsh_pubsub_wait(pubsub, &lsh_self()->parker, LSH_NEVER, is_there, &messages);
		assert_int_equal(messages, MESSAGES);
		lsh_pubsub_break(pubsub);
		assert_int_equal(lsh_pubsub_detach(pubsub).fd, e.stream.fd);
		lsh_pubsub_free(pubsub);
		end_ends(&e);
	}
}
