/* Writing a history: each line is one write(2) at the end of the file, so nothing has to be flushed, and no lock is taken that a
 * thread which is frozen or killed could hold. */
#include "tests/judge/history.h"

#include "tests/support/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_SIZE = 2048 };

struct history {
	int fd;
};

struct history *
history_open(const char *folder, const char *name)
{
	struct history *h = malloc(sizeof(*h));
	char *path = NULL;

	if (!h || asprintf(&path, "%s/%s.history", folder, name) < 0)
		trouble("out of memory");
	h->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
	if (h->fd < 0)
		trouble("%s: %s", path, strerror(errno));
	free(path);
	return h;
}

void
history_close(struct history *h)
{
	if (!h)
		return;
	close(h->fd);
	free(h);
}

void
history_note_at(struct history *h, int64_t ns, const char *format, ...)
{
	char line[LINE_MAX_SIZE];
	int moment = snprintf(line, sizeof(line), "%" PRId64 " ", ns);
	va_list args;
	ssize_t n;

	va_start(args, format);
	int text = vsnprintf(line + moment, sizeof(line) - (size_t)moment, format, args);
	va_end(args);
	size_t size = (size_t)moment + (size_t)text;
	if (text < 0 || size >= sizeof(line) || memchr(line, '\n', size))
		trouble("this is not a line of a history: %s", format);
	line[size++] = '\n';
	do
		n = write(h->fd, line, size);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)size)   /* the rest would come behind another thread's line */
		trouble("a history cannot be written: %s", n < 0 ? strerror(errno) : "the disk is full");
}
