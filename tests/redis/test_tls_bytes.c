/* The bytes of a connection that speaks TLS come as those of a plain one do: whole, in order, told of by poll(), and
 * ended by an end; whatever the server's TLS may say in between; and a handshake that is cut or altered at any byte is
 * not believed. The server is OpenSSL in this process, so that it can be made to say it.
 *
 *     ends                of another connection
 *     recv [SIZE]         what comes: bytes, none, end or EPROTO; peek: and it is still there; trouble: what it is
 *     send BYTES          how many were taken, or what is wrong
 *     told                does poll() tell of anything? pending: is there anything of which it does not? more: either
 *     write BYTES, read   by the server; bye: it says that it ends; gone: it ends without a word
 *     keys                it wants new ones
 *     catch               what it said is caught on its way, of which go_on FROM SIZE */
#include "base/clock.h"
#include "base/thread.h"
#include "redis/pubsub.h"
#include "redis/tls.h"
#include "tests/redis/scenes.h"
#include "tests/support/certs.h"
#include "tests/support/random.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { SENT = 3 << 20 };

static unsigned char bytes[SENT], got[SENT]; /* what is sent, and what came of it */
static SSL_CTX *server_ctx;
static struct lsh_tls_options options = {.on = true};
static struct lsh_tls_context *context;

static void
set_up(void)
{
	uint64_t seed = 7;
	leash_error err;

	for (size_t i = 0; i < SENT; i++)
		bytes[i] = (unsigned char)random_below(&seed, 256);
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

static int version;

static void
take_next_version(void)
{
	version = version == 0 ? TLS1_2_VERSION : TLS1_3_VERSION;
}

enum { OLD = 1, NEW = 2 };

static const struct part parts[] = {
	{.name = "TLS 1.2", .around = {take_next_version, NULL}, .is = OLD},
	{.name = "TLS 1.3", .around = {take_next_version, NULL}, .is = NEW},
};

PARTS(parts);

/* ---- two ends ---- */

static struct lsh_stream stream = {.fd = -1}; /* fd -1: there are none */
static SSL *server;
static int far; /* the server's */
static enum lsh_progress shaken;
static leash_error err;

static void
end_ends(void)
{
	if (stream.fd < 0)
		return;
	lsh_stream_discard(&stream);
	assert_int_equal(stream.fd, -1);
	SSL_free(server);
	close(far);
}

/* What goes wrong in a handshake with what the server says, whose bytes go through our hands; -1: nothing. */
struct wrong {
	long cut;   /* so many come through, and then the end */
	long alter; /* this one is altered */
	bool drips; /* they come one by one */
};

/* Take what the client said, and say what the server answers. False: it has nothing to say, or is cut off. */
static bool
answer_client(const struct wrong *wrong, long *passed)
{
	char said[8192];
	ssize_t n = recv(far, said, sizeof said, MSG_DONTWAIT);

	if (n > 0)
		assert_int_equal(BIO_write(SSL_get_rbio(server), said, (int)n), n);
	SSL_do_handshake(server);
	ERR_clear_error();
	n = BIO_read(SSL_get_wbio(server), said, wrong->drips ? 1 : sizeof said);
	if (n <= 0)
		return false;
	bool is_cut = wrong->cut >= 0 && *passed + n > wrong->cut;
	if (is_cut)
		n = wrong->cut - *passed;
	if (wrong->alter >= *passed && wrong->alter < *passed + n)
		said[wrong->alter - *passed] ^= 0x21;
	assert_int_equal(send(far, said, (size_t)n, 0), n);
	*passed += n;
	return !is_cut;
}

/* How many bytes of the server's came through. */
static long
shake(struct wrong wrong)
{
	long passed = 0;
	int fds[2];

	end_ends();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	far = fds[1];
	server = SSL_new(server_ctx);
	SSL_set_bio(server, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	SSL_set_max_proto_version(server, version);
	SSL_set_accept_state(server);
	stream = (struct lsh_stream){.fd = fds[0], .tls = lsh_tls_new(fds[0], context, &options, "localhost")};
	assert_non_null(stream.tls);
	while ((shaken = lsh_tls_step(stream.tls, &err)) == LSH_WAIT)
		if (!answer_client(&wrong, &passed)) /* the rest is awaited in vain */
			shutdown(far, SHUT_RDWR);
	return passed;
}

static const struct wrong none = {-1, -1, false};

static void
connect_ends(void)
{
	long passed = shake(none);

	if (shaken != LSH_DONE)
		fail_msg("%s", err.text);
	answer_client(&none, &passed); /* tickets */
	SSL_set_fd(server, far);
	fcntl(far, F_SETFL, 0);
}

FIXTURE(connect_ends, end_ends);

DOES(ends, connect_ends())

static const char *
seen_size(ssize_t n)
{
	return n < 0 ? errno == EAGAIN ? "none" : strerrorname_np(errno) : seen_number(n);
}

static const char *
receive(const char *size, int flags)
{
	char said[4096];
	ssize_t n = lsh_stream_recv(&stream, said, (size_t)number_of(size, sizeof said), flags | MSG_DONTWAIT);

	return n < 0 ? seen_size(n) : n == 0 ? "end" : seen("%.*s", (int)n, said);
}

SEES(recv, receive(word[1], 0))
SEES(peek, receive(*word[1] != '\0' ? word[1] : "1", MSG_PEEK))

VERB(trouble)
{
	leash_error trouble;

	return lsh_stream_trouble(&stream, &trouble) ? seen_end(trouble.status, &trouble) : "none";
}

VERB(send)
{
	errno = 0;
	return seen_size(lsh_stream_send(&stream, word[1], strlen(word[1])));
}

SEES(told, seen_whether(poll(&(struct pollfd){.fd = stream.fd, .events = POLLIN}, 1, 0) == 1))
SEES(pending, seen_whether(lsh_stream_is_pending(&stream)))
SEES(more, seen_whether(strcmp(verb_told(word), "yes") == 0 || strcmp(verb_pending(word), "yes") == 0))
DOES(write, assert_int_equal(SSL_write(server, word[1], (int)strlen(word[1])), (int)strlen(word[1])))

VERB(read)
{
	char said[64] = "";

	return seen("%.*s", SSL_read(server, said, sizeof said), said);
}

DOES(bye, assert_true(SSL_shutdown(server) >= 0))
DOES(gone, shutdown(far, SHUT_RDWR))

DEED(keys)
{
	assert_int_equal(SSL_key_update(server, SSL_KEY_UPDATE_REQUESTED), 1);
	assert_int_equal(SSL_do_handshake(server), 1);
}

static char caught[4096];
static size_t caught_size;

VERB(catch)
{
	ssize_t n = recv(stream.fd, caught, sizeof caught, MSG_DONTWAIT);

	assert_true(n > 0);
	caught_size = (size_t)n;
	return seen_number(n);
}

DOES(go_on, assert_int_equal(send(far, caught + number_of(word[1], 0), (size_t)number_of(word[2], 0), 0),
                             number_of(word[2], 0)))

SENTENCE(a_handshake_that_is_cut_anywhere_fails)
{
	long whole = shake(none);

	assert_int_equal(shaken, LSH_DONE);
	assert_true(whole > 500);
	/* a signature may have a few bytes less than that one */
	for (long cut = 0; cut < whole - 10; cut += version == TLS1_2_VERSION ? 3 : 1) {
		shake((struct wrong){cut, -1, cut % 2 == 0});
		if (shaken != LSH_FAILED || err.status != LEASH_UNAVAILABLE || !strstr(err.text, "closed the connection"))
			fail_msg("cut after %ld: %s", cut, err.text);
	}
}

SENTENCE(a_handshake_that_is_altered_anywhere_is_not_believed)
{
	unsigned believed = 0; /* the version in a record's head, which is to be ignored */
	long whole = shake(none);

	for (long at = 0; at < whole; at += 3) {
		shake((struct wrong){-1, at, false});
		believed += shaken == LSH_DONE;
		if (shaken != LSH_DONE && err.status != LEASH_PROTOCOL && err.status != LEASH_UNAVAILABLE &&
		    err.status != LEASH_DENIED)
			fail_msg("altered at %ld: %s: %s", at, leash_status_name(err.status), err.text);
	}
	assert_true(believed < 30);
}

SENTENCE(a_handshake_that_drips_is_taken_as_it_comes)
{
	shake((struct wrong){-1, -1, true});
	assert_int_equal(shaken, LSH_DONE);
}

/* ---- receiving ---- */

/* What TLS may say in between, too. */
static void *
speak(void *size)
{
	uint64_t seed = 3;

	for (size_t sent = 0, all = *(size_t *)size; sent < all;) {
		size_t n = 1 + random_below(&seed, random_below(&seed, 3) == 0 ? 40000 : 900);

		if (n > all - sent)
			n = all - sent;
		if (SSL_write(server, bytes + sent, (int)n) != (int)n)
			return NULL;
		sent += n;
		if (SSL_version(server) == TLS1_3_VERSION && random_below(&seed, 64) == 0)
			SSL_key_update(server, random_below(&seed, 2) ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED);
	}
	return size;
}

/* Look at the next ones, and take them; so many there were. */
static size_t
take(size_t at, size_t room, bool peeks)
{
	if (!lsh_stream_is_pending(&stream) || room >= LSH_WIRE_MOST)
		assert_int_equal(poll(&(struct pollfd){.fd = stream.fd, .events = POLLIN}, 1, 30000), 1);
	ssize_t n = peeks ? lsh_stream_recv(&stream, got + at, room, MSG_PEEK | MSG_DONTWAIT) : 0;
	if (n > 0) {
		assert_memory_equal(got + at, bytes + at, (size_t)n);
		assert_true(lsh_stream_is_pending(&stream));
	}
	n = lsh_stream_recv(&stream, got + at, room, MSG_DONTWAIT);
	assert_true(n > 0 || (n < 0 && errno == EAGAIN));
	return n > 0 ? (size_t)n : 0;
}

SENTENCE(bytes_come_whole_and_poll_tells_of_all_of_them)
{
	static const size_t rooms[] = {1, 100, 4096, 16384, LSH_WIRE_MOST, LSH_READ_SIZE};

	for (size_t i = 0; i < COUNT(rooms); i++) {
		size_t room = rooms[i], all = room == 1 ? SENT / 64 : SENT;
		pthread_t thread;
		void *spoken;

		connect_ends();
		assert_int_equal(pthread_create(&thread, NULL, speak, &all), 0);
		for (size_t size = 0; size < all;)
			size += take(size, room < all - size ? room : all - size, i % 2 == 0);
		assert_memory_equal(got, bytes, all);
		pthread_join(thread, &spoken);
		assert_non_null(spoken);
		play("recv = none");
	}
}

SENTENCE(half_a_record_is_nothing_yet_and_is_not_waited_for)
{
	play("peek = none; write 'it comes byte by byte'; catch"); /* behind the tickets */
	for (size_t i = 0; i < caught_size - 1; i++)
		play("go_on %zu 1; %s = none; pending = no", i, i % 2 == 0 ? "peek" : "recv");
	play("go_on %zu 1; recv = 'it comes byte by byte'", caught_size - 1);
}

SCENE(what_tls_says_by_itself_on_an_idle_connection_is_no_answer, /* and send takes the answer to that along */
      "peek = none; repeat 20; keys; told = yes; peek = none; told = no; send ping = 4; read = ping; write pong;"
      "recv = pong", .of = NEW)

/* ---- ends and faults ---- */

SCENE(an_end_is_an_end_with_or_without_a_word,
      "each x bye gone; ends; $x; repeat 3; peek = end; recv = end; trouble = none; next")
SCENE(what_was_said_before_an_end_comes_first, "each x bye gone; ends; write last; $x; peek 1 = l; recv = last;"
      "more = yes; repeat 3; peek = end; recv = end; trouble = none; next")

SENTENCE(a_record_that_was_tampered_with_ends_the_connection)
{
	for (size_t at = 0; at < 48; at++) {
		const char *is;

		play("ends; peek = none; write 'sixteen letters!'; catch >= 21");
		if (at >= caught_size)
			continue;
		caught[at] ^= 0x10;
		play("go_on 0 %zu", caught_size);
		shutdown(far, SHUT_WR);
		await_true((is = receive("", 0)) != NULL && strcmp(is, "none") != 0);
		if (strcmp(is, "EPROTO") == 0)
			play("trouble ~ PROTOCOL: 'TLS failed: '; send x = EPROTO");
		else if (strcmp(is, "end") == 0)
			assert_true(at == 3 || at == 4); /* its length: the rest never comes */
		else
			/* the version in a record's head is nobody's business */
			assert_true(at < 3 && strcmp(is, "sixteen letters!") == 0);
	}
}

SENTENCE(a_send_to_who_has_gone_is_an_error_and_no_signal)
{
	ssize_t n = 0;

	signal(SIGPIPE, SIG_DFL);
	close(far);
	far = -1;
	for (int i = 0; i < 10 && n >= 0; i++)
		n = lsh_stream_send(&stream, "x", 1);
	assert_int_equal(n, -1);
	assert_true(errno == EPIPE || errno == ECONNRESET);
	signal(SIGPIPE, SIG_IGN);
}

/* ---- both at once ---- */

static unsigned full; /* how often the socket did */

/* What was not taken is brought again, with more behind it, or less. */
static void *
send_all(void *arg)
{
	uint64_t seed = 99;

	for (size_t sent = 0; sent < SENT;) {
		size_t most = 1 + random_below(&seed, 30000);
		ssize_t n = lsh_stream_send(&stream, bytes + sent, most < SENT - sent ? most : SENT - sent);
		int e = errno;
		char byte;

		/* as the pipeline's writer does before it sends, whoever reads */
		lsh_stream_recv(&stream, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
		if (n > 0) {
			sent += (size_t)n;
			continue;
		}
		if (e != EAGAIN)
			return NULL;
		full++;
		poll(&(struct pollfd){.fd = stream.fd, .events = POLLOUT}, 1, 1000);
	}
	return arg;
}

/* An echo that asks for new keys all the time: one thread sends, another receives, each with the other's work to do. */
static void *
echo(void *arg)
{
	unsigned char said[16384];

	for (size_t all = 0; all < SENT;) {
		int n = SSL_read(server, said, sizeof said);

		if (n <= 0 || SSL_write(server, said, n) != n)
			return NULL;
		all += (size_t)n;
		if (SSL_version(server) == TLS1_3_VERSION && all % 16 == 0)
			SSL_key_update(server, SSL_KEY_UPDATE_REQUESTED);
	}
	return arg;
}

SENTENCE(one_thread_may_send_and_peek_while_another_receives_and_all_that_is_sent_is_sent_once)
{
	pthread_t sending, echoing;
	void *sent, *echoed;

	fcntl(stream.fd, F_SETFL, 0); /* as the pipeline has it */
	setsockopt(stream.fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_usec = 20000}, sizeof(struct timeval));
	setsockopt(stream.fd, SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int));
	full = 0;
	assert_int_equal(pthread_create(&echoing, NULL, echo, &full), 0);
	assert_int_equal(pthread_create(&sending, NULL, send_all, &full), 0);
	for (size_t size = 0; size < SENT;) {
		size_t room = SENT - size < LSH_READ_SIZE ? SENT - size : LSH_READ_SIZE;
		ssize_t n = lsh_stream_recv(&stream, got + size, room, 0);

		assert_true(n > 0 || (n < 0 && errno == EAGAIN));
		size += n > 0 ? (size_t)n : 0;
	}
	pthread_join(sending, &sent);
	pthread_join(echoing, &echoed);
	assert_true(sent != NULL && echoed != NULL);
	assert_memory_equal(got, bytes, SENT);
	assert_true(full > 10);
}

DEED(application_fails)
{
	ERR_clear_error();
	SSL_CTX_use_certificate_file(server_ctx, "/nowhere", SSL_FILETYPE_PEM);
	assert_true(ERR_peek_last_error() != 0);
}

SENTENCE(errors_that_the_application_left_in_openssl_disturb_nobody_and_we_leave_none)
{
	play("application_fails; ends; peek = none; send ping = 4; recv = none; bye; application_fails; recv = end;"
	     "trouble = none");
	ERR_clear_error();
	connect_ends();
	assert_int_equal(send(far, "\x17\x03\x03\x00\x20garbagegarbagegarbagegarbagegarb", 37, 0), 37);
	play("recv = EPROTO");
	assert_int_equal(ERR_peek_error(), 0);
}

CALLED(tell_nobody, )

static void
count_message(void *ctx, const struct lsh_item *channel, const char *text, size_t size)
{
	(void)channel, (void)text, (void)size;
	++*(int *)ctx;
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

	for (size_t i = 0; i < MESSAGES; i++)
		memcpy(record + i * SIZE, message, SIZE);
	for (int drains = 0; drains < 2; drains++) {
		int messages = 0;
		struct lsh_pubsub *pubsub = lsh_pubsub_new(&ops, &messages, tell_nobody, NULL);

		assert_non_null(pubsub);
		connect_ends();
		assert_true(lsh_pubsub_attach(pubsub, stream));
		assert_int_equal(SSL_write(server, record, sizeof record), sizeof record);
		if (drains)
			lsh_pubsub_drain(pubsub);
		else
			lsh_pubsub_wait(pubsub, &lsh_self()->parker, LSH_NEVER, is_there, &messages);
		assert_int_equal(messages, MESSAGES);
		lsh_pubsub_break(pubsub);
		assert_int_equal(lsh_pubsub_detach(pubsub).fd, stream.fd);
		lsh_pubsub_free(pubsub);
	}
}
