/* Sockets of the tests' own: listening, dialing, resetting. A target is a path ("/...") or "127.0.0.1:<port>".
 * All are non-blocking and CLOEXEC. */
#pragma once

#include <signal.h>

int socket_listen(const char *path);        /* on a unix socket */
int socket_bind(int *port);                 /* of 127.0.0.1; 0: a free one, which is said; -1: somebody has it */
int socket_listen_tcp(int *port);           /* on a free one, which is said */
int socket_accept(int listener);            /* -1: nobody there */
int socket_dial(const char *target);        /* -1 and errno: refused; over TCP it may not have been established yet */
int socket_free_port(void);                 /* of 127.0.0.1: free a moment ago */

/* A forked child closes it at once: else it would keep open what this process closes. To be ended by one of the next two. */
void socket_private(int fd);

void socket_close(int fd);

/* Close at once; over TCP the peer gets a RST. (A unix socket knows none: there the peer reads an end.) */
void socket_reset(int fd);

/* hiredis writes without MSG_NOSIGNAL, and servers in tests die, or cut their clients off: between these two a write to a connection that
 * is gone is an error of the calling thread's, and no SIGPIPE. */
void socket_hush(sigset_t *before);
void socket_unhush(const sigset_t *before);
