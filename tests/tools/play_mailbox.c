/* Sockets of datagrams, as a service manager and logs have them: what was sent there. */
#include "tests/tools/play_parts.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void
close_mailbox(void *closed)
{
	struct mailbox *m = closed;

	for (int i = 0; i < m->count; i++)
		free(m->heard[i]);
	close(m->fd);
}

VERB(socket) /* n, n @ */
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	play_split(rest);
	struct mailbox *m = ENTRY(play.mailboxes, play.words[0]);
	play_set(m->name, "%s%s/%s", play.word_count > 1 ? "@" : "", play_value("folder"), m->name);
	size_t size = strlen(play_value(m->name));
	play_must(size < sizeof address.sun_path, "its path is too long");
	memcpy(address.sun_path, play_value(m->name), size);
	if (address.sun_path[0] == '@')
		address.sun_path[0] = '\0';
	else
		unlink(address.sun_path);
	m->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(m->fd, (const struct sockaddr *)&address,
	         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)) != 0)
		play_wrong("%s: %s", play_value(m->name), strerror(errno));
	afterwards(close_mailbox, m);
}

/* All that is there, with a '.' in place of each NUL. */
static void
listen_to(struct mailbox *m)
{
	char text[TEXT];
	ssize_t n;

	while ((n = recv(m->fd, text, sizeof text - 1, 0)) >= 0) {
		play_must(m->count < (int)COUNT(m->heard), "there are too many datagrams");
		text[n] = '\0';
		for (ssize_t i = 0; i < n; i++)
			if (text[i] == '\0')
				text[i] = '.';
		m->heard[m->count++] = strdup(text);
	}
}

static bool
has_heard(struct mailbox *m, const char *pattern)
{
	listen_to(m);
	for (int i = m->first; i < m->count; i++)
		if (play_fits(m->heard[i], pattern, false, false)) {
			m->first = i + 1;
			return true;
		}
	return false;
}

/* `*rest` is the text then. */
static struct mailbox *
mailbox_called(char **rest)
{
	char *name = strsep(rest, " ");

	for (int i = 0; i < FEW; i++)
		if (strcmp(play.mailboxes[i].name, name) == 0)
			return &play.mailboxes[i];
	play_wrong("there is no socket %s", name);
}

VERB(heard) /* n text */
{
	struct mailbox *m = mailbox_called(&rest);
	const char *pattern = play_expand(rest);
	int64_t limit = await_limit_ns(AWAIT_S);

	while (!has_heard(m, pattern)) {
		if (await_is_past(limit))
			play_wrong("it did not hear that; the last that it heard: %s", m->count > 0 ? m->heard[m->count - 1] : "");
		await_ms(2);
	}
}

VERB_AS(heard_not, "heard!")
{
	struct mailbox *m = mailbox_called(&rest);

	if (has_heard(m, rest != NULL ? play_expand(rest) : ""))
		play_wrong("it heard: %s", m->heard[m->first - 1]);
}

VERB(deaf)
{
	struct sockaddr_un address;
	socklen_t size = sizeof address;
	struct mailbox *m = mailbox_called(&rest);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	getsockname(m->fd, (struct sockaddr *)&address, &size);
	while (sendto(fd, "full", 4, 0, (const struct sockaddr *)&address, size) >= 0)
		continue;
	play_must(errno == EAGAIN, "it cannot be filled");
	close(fd);
}
