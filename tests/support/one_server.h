/* One server for all tests of a program: the fixture of the group, and what the tests reach it by. */
#pragma once

#include "tests/support/server.h"

extern struct server *server;
extern const char *uri; /* the server's, by its socket */

/* For GROUP(). */
void start_server(void);
void start_tcp_server(void); /* which listens on a port, too */
void stop_server(void);
