/* Telling a service manager. See notify.h.
 *
 * Each message is a datagram of lines KEY=value. A thread sends them, so that nobody waits for a manager that hangs:
 * what its socket does not take is sent again later. Each message has the whole state, and may come twice.
 *
 * The same thread gives the watchdog its signs of life. While CMD runs they depend on the main thread: a supervisor
 * that hangs could not end CMD when the lock is lost. */
#include "tools/notify.h"

#include "tools/clock.h"
#include "tools/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { STATUS_SIZE = 1000, RETRY_MS = 100 };
enum phase { WAITING, READY, STOPPING };

struct notify {
	struct side_thread thread;
	int fd;
	struct sockaddr_un manager;
	socklen_t manager_size;
	int64_t pulse_ns;         /* half of what the watchdog allows; 0: there is none */
	_Atomic int64_t beat_due; /* when the main thread must have come back, clock_steady_ns(); 0: it need not */

	pthread_mutex_t mutex; /* guards all that follows */
	char status[STATUS_SIZE];
	enum phase phase;
	bool ready;            /* it has been so: who waits again cannot take that back */
	bool unsent;           /* some of this is news */
	bool ending;
};

/* ---- the thread ---- */

/* False: there is no room. Where nobody listens any more, there is nothing to try again. */
static bool
send_text(const struct notify *n, const char *text)
{
	return sendto(n->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&n->manager,
	              n->manager_size) >= 0 ||
	       (errno != EAGAIN && errno != ENOBUFS);
}

/* False: it must be sent again. Else `*ending` says whether it was the last. */
static bool
send_state(struct notify *n, bool *ending)
{
	char text[STATUS_SIZE + 40];
	bool unsent;

	pthread_mutex_lock(&n->mutex);
	snprintf(text, sizeof text, "%s%sSTATUS=%s\n", n->ready ? "READY=1\n" : "",
	         n->phase == STOPPING ? "STOPPING=1\n" : "", n->status);
	unsent = n->unsent;
	n->unsent = false;
	*ending = n->ending;
	pthread_mutex_unlock(&n->mutex);
	if (!unsent || send_text(n, text))
		return true;
	pthread_mutex_lock(&n->mutex);
	n->unsent = true;
	pthread_mutex_unlock(&n->mutex);
	return false;
}

/* Returns when the next one is due. One that gets lost is not sent again: another follows in time. */
static int64_t
send_pulse(const struct notify *n, int64_t due)
{
	int64_t now = clock_steady_ns(), beat_due = atomic_load(&n->beat_due);

	if (now < due)
		return due;
	if (beat_due == 0 || now < beat_due)
		send_text(n, "WATCHDOG=1\n");
	return now + n->pulse_ns;
}

/* Until there is news, or as long as it says. */
static void
rest(const struct notify *n, int64_t ms)
{
	uint64_t rings;

	if (!thread_sleep(&n->thread, ms) && read(n->thread.bell, &rings, sizeof rings) < 0)
		return; /* it has rung, so this does not fail */
}

static void *
keep_telling(void *arg)
{
	struct notify *n = arg;
	int64_t pulse_due = 0;
	bool ending = false;

	while (!ending) {
		int64_t pause_ms = send_state(n, &ending) ? -1 : RETRY_MS;

		if (n->pulse_ns > 0) {
			pulse_due = send_pulse(n, pulse_due);
			int64_t left_ms = (pulse_due - clock_steady_ns()) / MS + 1;
			pause_ms = pause_ms < 0 || left_ms < pause_ms ? left_ms : pause_ms;
		}
		if (!ending)
			rest(n, pause_ms);
	}
	return NULL;
}

/* ---- beginning and end ---- */

/* The manager names the process that it has started. A leash in a script, or in another leash, is not its service, and
 * must not tell it that it stops. */
static bool
is_for_us(const char *pid_variable)
{
	const char *pid = secure_getenv(pid_variable);

	return pid == NULL || strtol(pid, NULL, 10) == getpid();
}

static bool
find_manager(struct notify *n)
{
	const char *path = secure_getenv("NOTIFY_SOCKET");
	size_t size = path != NULL ? strlen(path) : 0;

	if (size < 2 || size >= sizeof n->manager.sun_path || (path[0] != '/' && path[0] != '@') ||
	    !is_for_us("SYSTEMD_EXEC_PID"))
		return false;
	n->manager.sun_family = AF_UNIX;
	strcpy(n->manager.sun_path, path);
	n->manager_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1);
	if (path[0] == '@') { /* an abstract one: no NUL is part of it */
		n->manager.sun_path[0] = '\0';
		n->manager_size--;
	}
	return true;
}

static int64_t
watchdog_us(void)
{
	const char *text = secure_getenv("WATCHDOG_USEC");
	long long us = text != NULL && is_for_us("WATCHDOG_PID") ? strtoll(text, NULL, 10) : 0;

	return us > 0 && us < INT64_MAX / 1000 ? us : 0;
}

struct notify *
notify_begin(void)
{
	struct notify *n = calloc(1, sizeof *n);

	if (n == NULL || !find_manager(n)) {
		free(n);
		return NULL;
	}
	n->pulse_ns = watchdog_us() * 1000 / 2;
	pthread_mutex_init(&n->mutex, NULL);
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (n->fd >= 0 && thread_begin(&n->thread, keep_telling, n))
		return n;
	if (n->fd >= 0)
		close(n->fd);
	pthread_mutex_destroy(&n->mutex);
	free(n);
	return NULL;
}

void
notify_end(struct notify *n)
{
	if (n == NULL)
		return;
	pthread_mutex_lock(&n->mutex);
	n->ending = true;
	pthread_mutex_unlock(&n->mutex);
	thread_end(&n->thread);
	close(n->fd);
	pthread_mutex_destroy(&n->mutex);
	free(n);
}

/* ---- what is so ---- */

static void
enter(struct notify *n, enum phase phase, const char *status)
{
	if (n == NULL)
		return;
	pthread_mutex_lock(&n->mutex);
	n->phase = phase;
	n->ready |= phase == READY;
	n->unsent = true;
	snprintf(n->status, sizeof n->status, "%s", status);
	pthread_mutex_unlock(&n->mutex);
	thread_ring(n->thread.bell);
}

void
notify_wait(struct notify *n, const char *status)
{
	enter(n, WAITING, status);
}

void
notify_ready(struct notify *n, const char *status)
{
	enter(n, READY, status);
}

void
notify_stop(struct notify *n)
{
	enter(n, STOPPING, "ending");
}

void
notify_wait_on(struct notify *n, const char *status)
{
	bool waits;

	if (n == NULL)
		return;
	pthread_mutex_lock(&n->mutex);
	waits = n->phase == WAITING;
	if (waits)
		snprintf(n->status, sizeof n->status, "%s", status);
	n->unsent |= waits;
	pthread_mutex_unlock(&n->mutex);
	if (waits)
		thread_ring(n->thread.bell);
}

int64_t
notify_beat(struct notify *n)
{
	if (n == NULL || n->pulse_ns == 0)
		return INT64_MAX;
	atomic_store(&n->beat_due, clock_steady_ns() + 2 * n->pulse_ns); /* twice: being a little late is no fault */
	return clock_boot_ns() + n->pulse_ns;
}

void
notify_rest(struct notify *n)
{
	if (n != NULL)
		atomic_store(&n->beat_due, 0);
}
