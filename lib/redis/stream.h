/* A stream: a socket, and TLS on it where the URI says so. It is a value: who connected it hands it to who uses and
 * closes it. Any thread may send while another receives. */
#ifndef LSH_REDIS_STREAM_H
#define LSH_REDIS_STREAM_H

#include "redis/buffer.h"

#include <leash/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lsh_tls;

struct lsh_stream {
	int fd;              /* to be polled; -1: there is none */
	struct lsh_tls *tls; /* NULL: plain */
};

/* What a step comes to, where a thread must not block: the next one is due when what is polled for is ready or the time
 * is over, or at once; or it was the last. */
enum lsh_progress { LSH_WAIT, LSH_GO_ON, LSH_DONE, LSH_FAILED };

#define LSH_NO_STREAM ((struct lsh_stream){.fd = -1})

struct lsh_address;

/* Begin to connect: CLOEXEC, non-blocking, and of TCP with TCP_NODELAY and SO_KEEPALIVE. Poll for POLLOUT, then ask
 * lsh_stream_connected(). -1: errno says why. */
int lsh_stream_open(const struct lsh_address *address);

/* Is it connected? 0: it is; EINPROGRESS: not yet; else why it will not be. */
int lsh_stream_connected(int fd);

/* As send(), without a signal, and it never waits. Bytes count as sent when the system has taken all that was made of
 * them; after EAGAIN the same bytes are to be sent again, with or without others behind. */
ssize_t lsh_stream_send(const struct lsh_stream *stream, const void *bytes, size_t size);

/* Send as much of `words` as the connection takes. An error is not the end, but empties them: the server may have said
 * why before it closed, and if it has not, then reading fails, too. */
void lsh_stream_send_all(const struct lsh_stream *stream, struct lsh_buffer *words);

/* As recv(), with MSG_DONTWAIT, MSG_PEEK or both as `flags`. With room for LSH_WIRE_MOST bytes it leaves none behind
 * that poll() would not tell of, but an end or a fault; who reads less at a time asks lsh_stream_is_pending() before
 * each poll(), and so does its first reader. */
ssize_t lsh_stream_recv(const struct lsh_stream *stream, void *bytes, size_t size, int flags);
bool lsh_stream_is_pending(const struct lsh_stream *stream);

enum { LSH_WIRE_MOST = 40960 };

/* Why it failed, where errno says EPROTO. False: it did not. */
bool lsh_stream_trouble(const struct lsh_stream *stream, leash_error *err);

/* Is the answer still to come, after a recv without waiting that returned `n`? LEASH_OK: it may, by `deadline`. Else
 * `*err` is why not: the connection failed, or ended, or it takes too long. */
leash_status lsh_stream_await(const struct lsh_stream *stream, ssize_t n, int64_t deadline, leash_error *err);

/* Nothing comes or goes any more, and whoever waits for it wakes. The descriptor stays. */
void lsh_stream_break(const struct lsh_stream *stream);

/* Close it, so that what the kernel still has of it to send is thrown away. Keeps errno, and leaves LSH_NO_STREAM. */
void lsh_stream_discard(struct lsh_stream *stream);

/* Close it as it is. */
void lsh_stream_close(struct lsh_stream *stream);

#endif
