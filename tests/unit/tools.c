/* See tools.h. */
#include "tests/unit/tools.h"

#include "tests/support/await.h"
#include "tests/support/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

redisContext *
dial(const char *target)
{
	const char *colon = strchr(target, ':');
	redisContext *c = target[0] == '/' ? redisConnectUnix(target) : redisConnect("127.0.0.1", atoi(colon + 1));

	assert_non_null(c);
	assert_int_equal(c->err, 0);
	redisSetTimeout(c, (struct timeval){ .tv_sec = (time_t)(30 * await_slowness()) });
	return c;
}

bool
says(redisContext *c, const char *expected, const char *command)
{
	redisReply *reply = redisCommand(c, command);
	bool yes = reply && reply->str && strcmp(reply->str, expected) == 0;

	if (reply)
		freeReplyObject(reply);
	return yes;
}

int
dial_raw(const char *target)
{
	int fd = socket_dial(target);

	assert_true(fd >= 0);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

void
say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

size_t
hear_all(int fd, char *out, size_t size)
{
	size_t n = 0;
	ssize_t got;

	while ((got = recv(fd, out + n, size - n - 1, 0)) > 0)
		n += (size_t)got;
	out[n] = '\0';
	return n;
}

void
hear(int fd, const char *expected)
{
	char text[256];
	size_t n = 0, size = strlen(expected);

	while (n < size) {
		ssize_t got = recv(fd, text + n, size - n, 0);

		assert_true(got > 0);
		n += (size_t)got;
	}
	assert_memory_equal(text, expected, size);
}

bool
silent_for(int fd, int ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, ms) == 0;
}

int
sleep_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return 0;
}
