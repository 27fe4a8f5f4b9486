/* Ports for servers. See ports.h.
 *
 * Processes begin at a place of their own by chance; within one the numbers go round. */
#include "tests/support/ports.h"

#include "tests/support/await.h"
#include "tests/support/socket.h"
#include "tests/support/trouble.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

enum { LOWEST = 10500, COUNT = 9400 };   /* the buses end at 29900 */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic unsigned next;

static void
begin_anywhere(void)
{
	next = (unsigned)((uint64_t)await_now_ns() / 1000 * 2654435761U ^ (unsigned)getpid() * 40503U) % COUNT;
}

static bool
is_free(int port)
{
	int fd = socket_bind(&port);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int
ports_take(void)
{
	pthread_once(&once, begin_anywhere);
	for (int i = 0; i < COUNT; i++) {
		int port = LOWEST + (int)(next++ % COUNT);

		if (is_free(port) && is_free(port + PORTS_BUS))
			return port;
	}
	trouble("no port of 127.0.0.1 is free");
}
