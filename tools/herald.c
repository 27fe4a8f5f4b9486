/* Saying things without waiting. See herald.h. A pipe that is never waited for carries the texts to a thread that may wait. */
#include "tools/herald.h"

#include "tools/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NEWS = 'n', MISTAKE = 'm' }; /* the first byte of a packet */

struct herald {
	struct aside aside;
	struct cli cli;      /* a copy: the thread may outlive the run that it speaks for */
	int in, out; /* of a pipe in packets: each message arrives as one */
};

static void *
cry_out(void *arg)
{
	struct herald *h = arg;
	char text[PIPE_BUF];
	ssize_t n;

	while ((n = read(h->in, text, sizeof text - 1)) > 0) {
		text[n] = '\0';
		if (text[0] == MISTAKE)
			cli_fail(&h->cli, 0, "%s", text + 1);
		else
			cli_say(&h->cli, "%s", text + 1);
	}
	return NULL;
}

struct herald *
herald_new(const struct cli *cli)
{
	struct herald *h = calloc(1, sizeof *h);
	int ends[2];

	if (h == NULL)
		return NULL;
	h->cli = *cli;
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

static void __attribute__((format(printf, 3, 0)))
send_text(struct herald *h, char kind, const char *format, va_list args)
{
	char text[1000] = {kind};
	ssize_t done;

	vsnprintf(text + 1, sizeof text - 1, format, args);
	do
		done = write(h->out, text, strlen(text));
	while (done < 0 && errno == EINTR);
}

void
herald_say(struct herald *herald, const char *format, ...)
{
	va_list args;

	if (herald->cli.quiet)
		return;
	va_start(args, format);
	send_text(herald, NEWS, format, args);
	va_end(args);
}

void
herald_tell(struct herald *herald, const char *format, ...)
{
	va_list args;

	if (!herald->cli.verbose)
		return;
	va_start(args, format);
	send_text(herald, NEWS, format, args);
	va_end(args);
}

int
herald_fail(struct herald *herald, int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_text(herald, MISTAKE, format, args);
	va_end(args);
	return status;
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
