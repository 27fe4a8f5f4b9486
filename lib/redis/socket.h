/* Sockets to a server: one is opened, polled until it is connected, and thrown away if it is of no use. Nothing here waits. */
#ifndef LSH_REDIS_SOCKET_H
#define LSH_REDIS_SOCKET_H

#include "redis/resolve.h"

/* Begin to connect: CLOEXEC, non-blocking, and of TCP with TCP_NODELAY and SO_KEEPALIVE. Poll for POLLOUT, then ask
 * lsh_socket_connected(). -1: errno says why. */
int lsh_socket_open(const struct lsh_address *address);

/* Is it connected? 0: it is; EINPROGRESS: not yet; else why it will not be. */
int lsh_socket_connected(int fd);

/* Close a connection so that what the kernel still has of it to send is thrown away. Keeps errno. */
void lsh_discard_socket(int fd);

#endif
