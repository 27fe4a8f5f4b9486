#include "tests/support/one_server.h"

#include <stddef.h>

struct server *server;
const char *uri;

int
start_server(void **state)
{
	(void)state;
	server = server_start(NULL);
	uri = server_uri(server);
	return 0;
}

int
stop_server(void **state)
{
	(void)state;
	server_stop(server);
	return 0;
}
