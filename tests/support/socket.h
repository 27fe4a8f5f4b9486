/* Sockets of the tests' own: listening, dialing, resetting; and ports for servers. A target is a path ("/...") or
 * "127.0.0.1:<port>". All sockets are non-blocking and CLOEXEC. */
#pragma once

#include <signal.h>

int socket_listen(const char *path);        /* on a unix socket */
int socket_listen_tcp(int *port);           /* on a free one, which is said */
int socket_accept(int listener);            /* -1: nobody there */
int socket_dial(const char *target);        /* -1 and errno: refused; over TCP it may not have been established yet */
int socket_free_port(void);                 /* of 127.0.0.1: free a moment ago */

enum { PORTS_BUS = 10000 };   /* so much above its own port a node of a cluster has its bus */

/* A port of 127.0.0.1 for a server that must know its own before it is started, because others are told it. It is free, as is
 * the one of its bus, and this process has not been given it before. Below those that the kernel gives to connections, so nobody
 * takes it by chance before its server does. */
int ports_take(void);
void ports_let_go(int port); /* the server is there no more: until then other processes are kept from it */

/* A forked child closes it at once: else it would keep open what this process closes. To be ended by one of the next two. */
void socket_private(int fd);

void socket_close(int fd);

/* Close at once; over TCP the peer gets a RST. (A unix socket knows none: there the peer reads an end.) */
void socket_reset(int fd);

/* hiredis writes without MSG_NOSIGNAL, and servers in tests die, or cut their clients off: between these two a write to a connection that
 * is gone is an error of the calling thread's, and no SIGPIPE. */
void socket_hush(sigset_t *before);
void socket_unhush(const sigset_t *before);
