/* A wire: the bytes of one connection: a socket, and TLS on it where the URI says so. Who uses it need not know which.
 *
 * It is a value, which is handed from who connected it to who uses it; the last one closes it. Any thread may send
 * while another receives. */
#ifndef LSH_REDIS_WIRE_H
#define LSH_REDIS_WIRE_H

#include <leash/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct lsh_tls;

struct lsh_wire {
	int fd;              /* to be polled; -1: there is none */
	struct lsh_tls *tls; /* NULL: plain */
};

#define LSH_NO_WIRE ((struct lsh_wire){.fd = -1})

struct lsh_address;

/* Begin to connect: CLOEXEC, non-blocking, and of TCP with TCP_NODELAY and SO_KEEPALIVE. Poll for POLLOUT, then ask
 * lsh_wire_connected(). -1: errno says why. */
int lsh_wire_open(const struct lsh_address *address);

/* Is it connected? 0: it is; EINPROGRESS: not yet; else why it will not be. */
int lsh_wire_connected(int fd);

/* As send(), without a signal, and it never waits. Bytes count as sent when the system has taken all that was made of
 * them; after EAGAIN the same bytes are to be sent again, with or without others behind. */
ssize_t lsh_wire_send(const struct lsh_wire *wire, const void *bytes, size_t size);

/* As recv(), with MSG_DONTWAIT, MSG_PEEK or both as `flags`. With room for LSH_WIRE_MOST bytes it leaves none behind
 * that poll() would not tell of, but an end or a fault; who reads less at a time asks lsh_wire_is_pending() before each
 * poll(), and so does its first reader. */
ssize_t lsh_wire_recv(const struct lsh_wire *wire, void *bytes, size_t size, int flags);
bool lsh_wire_is_pending(const struct lsh_wire *wire);

enum { LSH_WIRE_MOST = 40960 };

/* Why it failed, where errno says EPROTO. False: it did not. */
bool lsh_wire_trouble(const struct lsh_wire *wire, leash_error *err);

/* Nothing comes or goes any more, and whoever waits for it wakes. The descriptor stays. */
void lsh_wire_break(const struct lsh_wire *wire);

/* Close it, so that what the kernel still has of it to send is thrown away. Keeps errno, and leaves LSH_NO_WIRE. */
void lsh_wire_discard(struct lsh_wire *wire);

/* Close it as it is. */
void lsh_wire_close(struct lsh_wire *wire);

#endif
