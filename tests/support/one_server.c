#include "tests/support/one_server.h"

#include <stddef.h>

struct server *server;
const char *uri;

static int
start(struct server *one)
{
	server = one;
	uri = server_uri(server);
	return 0;
}

int
start_server(void **state)
{
	(void)state;
	return start(server_start(NULL));
}

int
start_tcp_server(void **state)
{
	(void)state;
	return start(server_start_tcp(NULL));
}

int
stop_server(void **state)
{
	(void)state;
	server_stop(server);
	return 0;
}
