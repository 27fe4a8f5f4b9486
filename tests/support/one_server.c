#include "tests/support/one_server.h"

struct server *server;
const char *uri;

static void
start(struct server *one)
{
	server = one;
	uri = server_uri(server);
}

void
start_server(void)
{
	start(server_start(NULL));
}

void
start_tcp_server(void)
{
	start(server_start_tcp(NULL));
}

void
stop_server(void)
{
	server_stop(server);
}
