/* Writing to stderr or a log without waiting for it. See stderr_writer.h. The callers write texts to a pipe, and never
 * wait for it; a thread reads them there, and may wait. */
#include "tools/stderr_writer.h"

#include "tools/clock.h"
#include "tools/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Of a process to itself, so pointers do; and at most PIPE_BUF, so it is written at once or not. */
struct packet {
	struct cli_news news;
	char text[1000]; /* as much of it as there is: no NUL at its end */
};

_Static_assert(sizeof(struct packet) <= PIPE_BUF, "a packet is written in one piece");

struct stderr_writer {
	struct side_thread thread;
	struct cli cli;      /* a copy: the thread may outlive the run that it speaks for */
	int in, out; /* of a pipe in packets: each message arrives as one */
};

static void *
write_all(void *arg)
{
	struct stderr_writer *w = arg;
	struct packet packet;
	ssize_t n;

	while ((n = read(w->in, &packet, sizeof packet - 1)) > (ssize_t)offsetof(struct packet, text)) {
		((char *)&packet)[n] = '\0';
		cli_report(&w->cli, &packet.news, packet.text);
	}
	return NULL;
}

struct stderr_writer *
writer_new(const struct cli *cli)
{
	struct stderr_writer *w = calloc(1, sizeof *w);
	int ends[2];

	if (w == NULL)
		return NULL;
	w->cli = *cli;
	if (pipe2(ends, O_CLOEXEC | O_DIRECT) != 0) {
		free(w);
		return NULL;
	}
	w->in = ends[0];
	w->out = ends[1];
	fcntl(w->out, F_SETFL, O_NONBLOCK | O_DIRECT);
	if (thread_begin(&w->thread, write_all, w))
		return w;
	close(w->in);
	close(w->out);
	free(w);
	return NULL;
}

static void __attribute__((format(printf, 3, 0)))
send_news(struct stderr_writer *w, const struct cli_news *news, const char *format, va_list args)
{
	struct packet packet = {.news = *news};
	size_t size;
	ssize_t done;

	if (!cli_is_said(&w->cli, news->level))
		return;
	packet.news.time_ms = clock_wall_ms();
	vsnprintf(packet.text, sizeof packet.text, format, args);
	size = offsetof(struct packet, text) + strlen(packet.text);
	do
		done = write(w->out, &packet, size);
	while (done < 0 && errno == EINTR);
}

void
writer_say(struct stderr_writer *writer, enum cli_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_news(writer, &(struct cli_news){.level = level}, format, args);
	va_end(args);
}

int
writer_fail(struct stderr_writer *writer, int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_news(writer, &(struct cli_news){.level = CLI_ERROR}, format, args);
	va_end(args);
	return status;
}

void
writer_tell(struct stderr_writer *writer, const struct cli_news *news, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_news(writer, news, format, args);
	va_end(args);
}

void
writer_pass(struct stderr_writer *writer)
{
	int left = 1;

	for (int i = 0; i < 10 && left > 0; i++) {
		clock_sleep_ms(10);
		if (ioctl(writer->in, FIONREAD, &left) != 0)
			left = 0;
	}
}

void
writer_end(struct stderr_writer *writer)
{
	struct timespec limit;

	if (writer == NULL)
		return;
	close(writer->out); /* then the thread ends when it has read all */
	clock_gettime(CLOCK_MONOTONIC, &limit);
	limit.tv_sec++;
	if (pthread_clockjoin_np(writer->thread.thread, NULL, CLOCK_MONOTONIC, &limit) != 0) {
		pthread_detach(writer->thread.thread); /* it waits still, and keeps what it needs */
		return;
	}
	close(writer->in);
	close(writer->thread.bell);
	free(writer);
}
