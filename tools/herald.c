/* Saying things without waiting. See herald.h. A pipe that is never waited for carries the texts to a thread that may wait. */
#include "tools/herald.h"

#include "tools/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Of a process to itself, so pointers do; and at most PIPE_BUF, so it is written at once or not. */
struct packet {
	struct cli_news news;
	char text[1000]; /* as much of it as there is: no NUL at its end */
};

_Static_assert(sizeof(struct packet) <= PIPE_BUF, "a packet is written in one piece");

struct herald {
	struct aside aside;
	struct cli cli;      /* a copy: the thread may outlive the run that it speaks for */
	const char *lock;
	int in, out; /* of a pipe in packets: each message arrives as one */
};

static void *
cry_out(void *arg)
{
	struct herald *h = arg;
	struct packet packet;
	ssize_t n;

	while ((n = read(h->in, &packet, sizeof packet - 1)) > (ssize_t)offsetof(struct packet, text)) {
		((char *)&packet)[n] = '\0';
		cli_report(&h->cli, &packet.news, packet.text);
	}
	return NULL;
}

struct herald *
herald_new(const struct cli *cli, const char *lock)
{
	struct herald *h = calloc(1, sizeof *h);
	int ends[2];

	if (h == NULL)
		return NULL;
	h->cli = *cli;
	h->lock = lock;
	if (pipe2(ends, O_CLOEXEC | O_DIRECT) != 0) {
		free(h);
		return NULL;
	}
	h->in = ends[0];
	h->out = ends[1];
	fcntl(h->out, F_SETFL, O_NONBLOCK | O_DIRECT);
	if (aside_begin(&h->aside, cry_out, h))
		return h;
	close(h->in);
	close(h->out);
	free(h);
	return NULL;
}

static void __attribute__((format(printf, 4, 0)))
send_news(struct herald *h, const char *level, const leash_event *event, const char *format, va_list args)
{
	struct packet packet = {.news = {.level = level, .lock = h->lock, .time_ms = cli_now_ms()}};
	size_t size;
	ssize_t done;

	if (event != NULL) {
		packet.news.event = event->type;
		packet.news.fence = event->fence;
		packet.news.remaining_ms = event->remaining_ms;
	}
	vsnprintf(packet.text, sizeof packet.text, format, args);
	size = offsetof(struct packet, text) + strlen(packet.text);
	do
		done = write(h->out, &packet, size);
	while (done < 0 && errno == EINTR);
}

void
herald_say(struct herald *herald, const char *format, ...)
{
	va_list args;

	if (herald->cli.quiet)
		return;
	va_start(args, format);
	send_news(herald, "info", NULL, format, args);
	va_end(args);
}

void
herald_warn(struct herald *herald, const char *format, ...)
{
	va_list args;

	if (herald->cli.quiet)
		return;
	va_start(args, format);
	send_news(herald, "warning", NULL, format, args);
	va_end(args);
}

void
herald_tell(struct herald *herald, const char *format, ...)
{
	va_list args;

	if (!herald->cli.verbose)
		return;
	va_start(args, format);
	send_news(herald, "info", NULL, format, args);
	va_end(args);
}

int
herald_fail(struct herald *herald, int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_news(herald, "error", NULL, format, args);
	va_end(args);
	return status;
}

void
herald_report(struct herald *herald, const char *level, const leash_event *event, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_news(herald, level, event, format, args);
	va_end(args);
}

void
herald_end(struct herald *herald)
{
	struct timespec limit;

	if (herald == NULL)
		return;
	close(herald->out); /* then the thread ends when it has read all */
	clock_gettime(CLOCK_MONOTONIC, &limit);
	limit.tv_sec++;
	if (pthread_clockjoin_np(herald->aside.thread, NULL, CLOCK_MONOTONIC, &limit) != 0) {
		pthread_detach(herald->aside.thread); /* it waits still, and keeps what it needs */
		return;
	}
	close(herald->in);
	close(herald->aside.bell);
	free(herald);
}
