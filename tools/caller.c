/* Finding the process that a lock is for, and watching it. See caller.h.
 *
 * A pidfd goes on meaning the same process, and tells its end at once. Where the kernel has none, or forbids them, we
 * look every 0.2 s whether /proc still has a process of that pid and start time.
 *
 * To let go is one datagram, the token, to a socket of the abstract namespace, whose name is the first part of the
 * token; who knows only that part can do nothing with it. It is sent before the release. So whoever sees that the hold
 * is gone, and looks here afterwards, knows whether that was a release. */
#include "tools/caller.h"

#include "tools/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

enum { LOOK_MS = 200, DATAGRAMS = 1000 };

/* ---- who it is ---- */

/* A process that was forked, and executed nothing, has its stack where the other has it. 0: we may not see it. */
static bool
is_fork_of(const struct process *p, const struct process *parent)
{
	return p->stack != 0 && p->stack == parent->stack;
}

/* Does it have the reading end of that pipe? */
static bool
reads(int proc, pid_t pid, const struct stat *pipe)
{
	const struct dirent *entry;
	char path[32];
	bool found = false;
	int fd;
	DIR *dir;

	snprintf(path, sizeof path, "%d/fd", (int)pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
		struct stat file, link;

		found = fstatat(fd, entry->d_name, &file, 0) == 0 && file.st_ino == pipe->st_ino &&
		        file.st_dev == pipe->st_dev && fstatat(fd, entry->d_name, &link, AT_SYMLINK_NOFOLLOW) == 0 &&
		        (link.st_mode & S_IRUSR) != 0; /* /proc shows so how it is open */
	}
	if (dir != NULL)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return found;
}

/* For $(...) a shell may fork a subshell, and that one leash. It is not asked who reads our output otherwise: of a
 * whole script that may be cron, or sshd. */
pid_t
caller_find(void)
{
	pid_t found = getppid();
	DIR *proc = process_open_proc();
	struct process at, parent;
	struct stat out;

	if (proc == NULL)
		return found;
	if (fstat(STDOUT_FILENO, &out) == 0 && S_ISFIFO(out.st_mode) && process_read(dirfd(proc), found, &at))
		while (process_read(dirfd(proc), at.parent, &parent) && is_fork_of(&at, &parent)) {
			at = parent;
			if (!reads(dirfd(proc), at.pid, &out))
				continue;
			found = at.pid;
			break;
		}
	closedir(proc);
	return found;
}

/* Has another child of `shell` the reading end? */
static bool
is_read_by_sibling(DIR *proc, pid_t shell, const struct stat *pipe)
{
	const struct dirent *entry;
	struct process other;
	bool found = false;

	while (!found && (entry = readdir(proc)) != NULL)
		found = process_read(dirfd(proc), (pid_t)atoi(entry->d_name), &other) && other.parent == shell &&
		        other.pid != getpid() && reads(dirfd(proc), other.pid, pipe);
	return found;
}

bool
caller_is_of_pipeline(void)
{
	DIR *proc = process_open_proc();
	struct process shell, parent;
	struct stat out;
	bool found;

	if (proc == NULL)
		return false;
	found = fstat(STDOUT_FILENO, &out) == 0 && S_ISFIFO(out.st_mode) && process_read(dirfd(proc), getppid(), &shell) &&
	        process_read(dirfd(proc), shell.parent, &parent) && is_fork_of(&shell, &parent) &&
	        !reads(dirfd(proc), shell.pid, &out) && is_read_by_sibling(proc, shell.pid, &out);
	closedir(proc);
	return found;
}

void
caller_name(pid_t pid, char out[static CALLER_NAME_SIZE])
{
	char path[64], comm[32];
	ssize_t n;
	int fd;

	out[0] = '\0';
	snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, comm, sizeof comm - 1);
	close(fd);
	if (n <= 0)
		return;
	comm[n] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	for (char *c = comm; *c != '\0'; c++)
		if (*c <= ' ' || *c > '~')
			*c = '_';
	snprintf(out, CALLER_NAME_SIZE, "%s[%ld]", comm, (long)pid);
}

/* ---- watching it ---- */

/* Without a pidfd: a timer, and what tells the process from a later one of its pid. */
static bool
open_timer(struct caller *c)
{
	static const struct itimerspec often = {{.tv_nsec = LOOK_MS * 1000000}, {.tv_nsec = LOOK_MS * 1000000}};
	struct process process;

	errno = ENOSYS; /* as it is if /proc is not there either */
	c->proc = process_open_proc();
	if (c->proc == NULL || !process_read(dirfd(c->proc), c->pid, &process))
		return false;
	c->started = process.started;
	c->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return c->fd >= 0 && timerfd_settime(c->fd, 0, &often, NULL) == 0;
}

static bool
add_news(const struct caller *c, int fd)
{
	return epoll_ctl(c->news, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN}) == 0;
}

bool
caller_open(struct caller *c, pid_t pid)
{
	*c = (struct caller){.pid = pid, .socket = -1};
	c->news = epoll_create1(EPOLL_CLOEXEC);
	c->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (c->fd < 0 && ((errno != ENOSYS && errno != EPERM) || !open_timer(c))) {
		errno = errno == ENOENT ? ESRCH : errno;
		return false;
	}
	return c->news >= 0 && add_news(c, c->fd);
}

static bool
has_ended(const struct caller *c)
{
	struct pollfd at = {.fd = c->fd, .events = POLLIN};
	struct process now;
	uint64_t count;

	if (c->proc == NULL)
		return poll(&at, 1, 0) > 0;
	if (read(c->fd, &count, sizeof count) < 0 && errno != EAGAIN)
		return false;
	if (!process_read(dirfd(c->proc), c->pid, &now))
		return errno == ENOENT || errno == ESRCH;
	return now.started != c->started || process_has_ended(&now);
}

void
caller_signal(const struct caller *c, int signal)
{
	if (c->proc == NULL)
		syscall(SYS_pidfd_send_signal, c->fd, signal, NULL, 0);
	else if (!has_ended(c))
		kill(c->pid, signal);
}

/* ---- letting go ---- */

/* A token begins with 122 random bits; this is 48 of them. */
static socklen_t
address_of(const char *token, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "leash-keep-%.13s", token);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address->sun_path + 1));
}

bool
caller_listen(struct caller *c, const char *token)
{
	struct sockaddr_un address;
	socklen_t size = address_of(token, &address);

	snprintf(c->token, sizeof c->token, "%s", token);
	c->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return c->socket >= 0 && bind(c->socket, (struct sockaddr *)&address, size) == 0 && add_news(c, c->socket);
}

void
caller_let_go(const char *token)
{
	static const struct timeval limit = {.tv_sec = 1}; /* for who does not read any more */
	struct sockaddr_un address;
	socklen_t size = address_of(token, &address);
	int to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (to < 0)
		return;
	setsockopt(to, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	sendto(to, token, strlen(token), MSG_NOSIGNAL, (struct sockaddr *)&address, size); /* as a rule nobody listens */
	close(to);
}

/* A queue has at most as many datagrams, so that nobody can keep us here by sending more. */
static void
hear(struct caller *c)
{
	char told[LEASH_TOKEN_MAX];
	ssize_t n;

	for (int i = 0; i < DATAGRAMS && (n = recv(c->socket, told, sizeof told, 0)) >= 0; i++)
		if ((size_t)n == strlen(c->token) && memcmp(told, c->token, (size_t)n) == 0)
			c->let_go = true;
}

bool
caller_is_over(struct caller *c)
{
	hear(c);
	return c->let_go || has_ended(c);
}
