/* OpenSSL on two buffers in memory.
 *
 * OpenSSL's object must not be used by two threads at once, hence the mutex. It is free while a thread receives, so
 * that others can send; one that looks for the end meanwhile (MSG_PEEK) must not disturb the order, hence `receiving`.
 *
 * Bytes count as sent when all ciphertext of them is with the system. Until then the caller is told EAGAIN, and brings
 * the same bytes again; `accepted` says how many are encrypted already. So at most a record is under way. What OpenSSL
 * says by itself (an answer to a KeyUpdate, an alert) goes out at once if the system takes it, else with the next
 * bytes.
 *
 * The socket is read only when OpenSSL has nothing more to give, at most twice in a call, and waited for once: a server
 * that drips bytes does not keep the caller from looking at the clock. */
#include "redis/tls.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/mutex.h"
#include "redis/tls_context.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

enum {
	CHUNK = 16384,      /* plaintext of a record at most, and bytes taken from the socket at once */
	RECORD = CHUNK + 512,
	HOARD = 8 * RECORD, /* of what OpenSSL says by itself and the system does not take: the server never reads */
};

struct lsh_tls {
	int fd;
	pthread_mutex_t mutex; /* guards all of these, but in_bytes of the thread that receives */
	SSL *ssl;
	BIO *in, *out;         /* its; ciphertext */
	unsigned long before;  /* the last error in the thread's queue before a call: the application may have left it */
	struct lsh_tls_verdict verdict;
	bool heard;            /* anything at all from the server */
	bool ended;            /* nothing more will be received */
	atomic_bool more;      /* OpenSSL may have more to give; also read without the mutex */
	leash_error trouble;   /* LEASH_OK: none */
	size_t accepted;       /* bytes that were encrypted, of those that were not said to be sent */
	int lost;              /* why the socket takes nothing any more, an errno; it may still have something to say */

	bool receiving;
	size_t sent;           /* of `out` */
	char in_bytes[CHUNK];
};

/* half a record that was there before, and a chunk */
_Static_assert(LSH_WIRE_MOST > RECORD + CHUNK, "all that OpenSSL can have at once");

/* Enter it from here on to the end of the block. */
#define within(t) __attribute__((cleanup(leave), unused)) struct lsh_tls *const entered = enter(t)

static struct lsh_tls *
enter(struct lsh_tls *t)
{
	pthread_mutex_lock(&t->mutex);
	ERR_set_mark();
	return t;
}

/* Keeps errno. */
static void
leave(struct lsh_tls *const *t)
{
	const int e = errno;

	ERR_pop_to_mark();
	pthread_mutex_unlock(&(*t)->mutex);
	errno = e;
}

/* ---- entered ---- */

static SSL *
begin_call(struct lsh_tls *t)
{
	t->before = ERR_peek_last_error();
	errno = 0;
	return t->ssl;
}

/* A call did not bring what it was made for. True: it will, when more has been received; else this is the end, or a
 * fault. Not SSL_get_error(): that takes for the call's own what it finds in the queue. */
static bool
wants_more(struct lsh_tls *t)
{
	unsigned long code = ERR_peek_last_error();
	bool said_end = (SSL_get_shutdown(t->ssl) & SSL_RECEIVED_SHUTDOWN) != 0; /* or why it has failed */

	if (code == t->before)
		code = 0;
	if (code == 0 && !said_end && SSL_want_read(t->ssl)) /* which it also says of what has failed */
		return true;
	t->ended = true;
	if (code != 0 || !said_end)
		lsh_tls_explain(&t->verdict, t->before, code, &t->trouble);
	return false;
}

static void
fail(struct lsh_tls *t, leash_status status, int sys_errno, const char *text)
{
	t->ended = true;
	lsh_fail(&t->trouble, status, sys_errno, "%s", text);
}

/* Have the system take the ciphertext that there is. False: it does not take all of it now. */
static bool
flush(struct lsh_tls *t)
{
	while (t->lost == 0) {
		char *bytes;
		size_t size = (size_t)BIO_get_mem_data(t->out, &bytes);
		ssize_t n;

		if (t->sent == size) {
			t->sent = 0;
			return size == 0 || BIO_reset(t->out) == 1;
		}
		n = send(t->fd, bytes + t->sent, size - t->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0)
			t->sent += (size_t)n;
		else if (errno == EAGAIN)
			return false;
		else if (errno != EINTR)
			t->lost = errno;
	}
	return false;
}

/* Plain text, or a backlog of the server's? Its first byte is that of a record in every version of TLS. */
static bool
is_tls(const char *bytes)
{
	return bytes[0] >= SSL3_RT_CHANGE_CIPHER_SPEC && bytes[0] <= SSL3_RT_APPLICATION_DATA;
}

/* Take ciphertext from the socket. 1: there was some; 0: the connection has ended; -1: errno says why not. */
static int
fetch(struct lsh_tls *t, int flags)
{
	ssize_t n;
	int e;

	if (t->receiving) {
		errno = EAGAIN;
		return -1;
	}
	t->receiving = true;
	pthread_mutex_unlock(&t->mutex);
	n = recv(t->fd, t->in_bytes, sizeof t->in_bytes, flags & MSG_DONTWAIT);
	e = errno;
	pthread_mutex_lock(&t->mutex);
	t->receiving = false;
	if (n == 0)
		t->ended = true;
	if (n <= 0) {
		errno = e;
		return n < 0 ? -1 : 0;
	}
	if (!t->heard && !is_tls(t->in_bytes)) {
		fail(t, LEASH_PROTOCOL, EPROTO, LSH_TLS_UNKNOWN);
		return 1;
	}
	t->heard = true;
	if (BIO_write(t->in, t->in_bytes, (int)n) != n)
		fail(t, LEASH_NO_MEMORY, ENOMEM, "out of memory for TLS");
	return 1;
}

/* Take what OpenSSL has decrypted, up to `size` bytes. */
static size_t
take(struct lsh_tls *t, char *bytes, size_t size, bool peek)
{
	size_t got = 0;

	while (got < size && !t->ended) {
		int n = (peek ? SSL_peek : SSL_read)(begin_call(t), bytes + got, (int)(size - got));

		if (n > 0)
			got += (size_t)n;
		if ((n <= 0 && wants_more(t)) || peek)
			break;
	}
	t->more = got == size || (got > 0 && (peek || t->ended));
	return got;
}

/* ---- shaking hands ---- */

static enum lsh_progress
give_up(struct lsh_tls *t, leash_error *err)
{
	if (t->trouble.status == LEASH_OK)
		fail(t, LEASH_UNAVAILABLE, ECONNRESET, t->heard ?
		     "the server closed the connection in the middle of the TLS handshake" :
		     "the server closed the connection instead of speaking TLS");
	*err = t->trouble;
	return LSH_FAILED;
}

static enum lsh_progress
shake(struct lsh_tls *t, leash_error *err)
{
	char text[LSH_ERRNO_TEXT];

	for (;;) {
		int n = t->ended ? -1 : SSL_do_handshake(begin_call(t));
		bool over = n != 1 && (t->ended || !wants_more(t));

		flush(t); /* also if it failed: the server is told why */
		if (n == 1)
			return LSH_DONE;
		if (over)
			return give_up(t, err);
		n = fetch(t, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return LSH_WAIT;
		if (n < 0 && errno == ECONNRESET)
			t->ended = true;
		else if (n < 0 && errno != EINTR)
			fail(t, lsh_errno_status(errno, LEASH_UNAVAILABLE), errno, lsh_errno_text(errno, text));
	}
}

enum lsh_progress
lsh_tls_step(struct lsh_tls *t, leash_error *err)
{
	within(t);
	return shake(t, err);
}

short
lsh_tls_events(struct lsh_tls *t)
{
	return BIO_pending(t->out) > 0 ? POLLIN | POLLOUT : POLLIN;
}

bool
lsh_tls_has_heard(struct lsh_tls *t)
{
	return t->heard;
}

/* ---- sending and receiving ---- */

/* How many of these bytes have gone; 0: none yet, -1: errno says why they never will. */
static ssize_t
send_some(struct lsh_tls *t, const void *bytes, size_t size)
{
	ssize_t n;

	if (flush(t) && t->accepted == 0) {
		n = t->trouble.status == LEASH_OK ? SSL_write(begin_call(t), bytes, (int)(size < CHUNK ? size : CHUNK)) : -1;
		if (n > 0)
			t->accepted = (size_t)n;
		else if (t->trouble.status == LEASH_OK && wants_more(t))
			return 0; /* a message to us came half: first the other half */
		flush(t);
	}
	if (t->trouble.status != LEASH_OK || t->lost != 0) {
		errno = t->lost != 0 ? t->lost : EPROTO;
		return -1;
	}
	if (BIO_pending(t->out) > 0)
		return 0;
	n = (ssize_t)(t->accepted < size ? t->accepted : size);
	t->accepted -= (size_t)n;
	return n;
}

ssize_t
lsh_tls_send(struct lsh_tls *t, const void *bytes, size_t size)
{
	ssize_t n;

	if (size == 0)
		return 0;
	within(t);
	n = send_some(t, bytes, size);
	if (n == 0)
		errno = EAGAIN;
	return n > 0 ? n : -1;
}

/* Send what OpenSSL has said by itself. */
static void
answer(struct lsh_tls *t)
{
	if (BIO_pending(t->out) > 0)
		flush(t);
	if (BIO_pending(t->out) > HOARD && !t->ended)
		fail(t, LEASH_PROTOCOL, EPROTO, "the server asks for more data, but reads none");
}

static ssize_t
recv_some(struct lsh_tls *t, void *bytes, size_t size, int flags)
{
	bool peek = (flags & MSG_PEEK) != 0;
	size_t got = take(t, bytes, size, peek);

	answer(t);
	/* a second time, because the end may stand behind tickets that nobody asked for */
	for (int i = 0; i < 2 && got == 0 && !t->ended; i++) {
		if (fetch(t, i == 0 ? flags : MSG_DONTWAIT) < 0)
			return -1;
		got = take(t, bytes, size, peek);
		answer(t);
	}
	if (got > 0)
		return (ssize_t)got;
	errno = t->trouble.status != LEASH_OK ? EPROTO : EAGAIN;
	return t->ended && t->trouble.status == LEASH_OK ? 0 : -1;
}

ssize_t
lsh_tls_recv(struct lsh_tls *t, void *bytes, size_t size, int flags)
{
	within(t);
	return recv_some(t, bytes, size, flags);
}

bool
lsh_tls_is_pending(struct lsh_tls *t)
{
	return t->more;
}

bool
lsh_tls_trouble(struct lsh_tls *t, leash_error *err)
{
	lsh_locked(&t->mutex);
	*err = t->trouble;
	return err->status != LEASH_OK;
}

/* ---- life ---- */

struct lsh_tls *
lsh_tls_new(int fd, struct lsh_tls_context *context, const struct lsh_tls_options *options, const char *host)
{
	struct lsh_tls *t = lsh_new(struct lsh_tls);

	if (t == NULL)
		return NULL;
	t->fd = fd;
	pthread_mutex_init(&t->mutex, NULL);
	t->ssl = lsh_tls_context_session(context, options, host, &t->verdict);
	ERR_set_mark();
	t->in = BIO_new(BIO_s_mem());
	t->out = BIO_new(BIO_s_mem());
	ERR_pop_to_mark();
	if (t->ssl == NULL || t->in == NULL || t->out == NULL) {
		BIO_free(t->in);
		BIO_free(t->out);
		lsh_tls_free(t);
		return NULL;
	}
	SSL_set_bio(t->ssl, t->in, t->out); /* which has them now */
	SSL_set_connect_state(t->ssl);
	return t;
}

void
lsh_tls_free(struct lsh_tls *t)
{
	if (t == NULL)
		return;
	SSL_free(t->ssl);
	pthread_mutex_destroy(&t->mutex);
	lsh_free(t);
}
