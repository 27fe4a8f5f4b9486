/* The calls that a client makes to the system, and a few of the library's own that ask which thread it is: the linker's
 * --wrap (local.mk) brings them here. What is not the simulated world's goes to the system. */
#include "base/courier.h"
#include "base/thread.h"
#include "base/token.h"

#include "tests/sim/fiber.h"
#include "tests/sim/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* The system's calls are told more than this world looks at. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define WRAP(type, name, ...)          \
	type __real_##name(__VA_ARGS__);   \
	type __wrap_##name(__VA_ARGS__);   \
	type __wrap_##name(__VA_ARGS__)

/* What is no more than an expression. */
#define IS(type, name, arguments, ...) WRAP(type, name, LIST arguments) { return __VA_ARGS__; }
#define LIST(...) __VA_ARGS__

/* The servers' clocks begin so far ahead. */
enum { SIM_EPOCH_S = 1760000000 };

static int64_t
in_ns(const struct timespec *t)
{
	return t->tv_sec * SIM_S + t->tv_nsec;
}

static bool
is_ours(int fd)
{
	return fd >= SIM_FIRST_FD;
}

/* ---- time and chance ---- */

WRAP(int, clock_gettime, clockid_t id, struct timespec *t)
{
	int64_t at = id == CLOCK_REALTIME ? sim_now + SIM_EPOCH_S * SIM_S : sim_now;

	sim_now += 20; /* so who looks again and again until it is later does not do so for ever */
	t->tv_sec = at / SIM_S;
	t->tv_nsec = at % SIM_S;
	return 0;
}

WRAP(void, randombytes_buf, void *out, const size_t size)
{
	for (size_t i = 0; i < size; i++)
		((unsigned char *)out)[i] = (unsigned char)sim_random(256);
}

IS(uint32_t, lsh_random32, (void), sim_random(UINT32_MAX))

/* ---- threads ---- */

IS(struct lsh_thread *, lsh_self, (void), sim_fiber_thread())
IS(struct lsh_thread *, lsh_self_if_known, (void), sim_fiber_thread())
WRAP(void, lsh_thread_observe, void (*ended)(struct lsh_thread *thread)) { sim_observer = ended; }
/* It asks a variable of the thread, which here is one for all. No callback of ours calls. */
IS(bool, lsh_courier_in_callback, (const struct lsh_courier *courier), false)
IS(int, pthread_setname_np, (pthread_t thread, const char *name), 0)
IS(int, pthread_cond_broadcast, (pthread_cond_t *cond), sim_wake(sim_process_self(), cond, INT32_MAX), 0)
IS(int, pthread_cond_signal, (pthread_cond_t *cond), sim_wake(sim_process_self(), cond, 1), 0)

WRAP(int, lsh_thread_start, pthread_t *thread, void *(*run)(void *), void *arg)
{
	struct sim_fiber *fiber = sim_fiber_start(sim_process_self(), run, arg);

	memcpy(thread, &fiber, sizeof fiber);
	return 0;
}

WRAP(int, pthread_join, pthread_t thread, void **result)
{
	struct sim_fiber *fiber;

	memcpy(&fiber, &thread, sizeof fiber);
	sim_fiber_join(fiber);
	return 0;
}

WRAP(int, pthread_cond_wait, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	pthread_mutex_unlock(mutex);
	sim_block(cond, SIM_NEVER);
	pthread_mutex_lock(mutex);
	return 0;
}

static long
futex(const _Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *nap)
{
	if ((operation & FUTEX_CMD_MASK) == FUTEX_WAKE) {
		sim_wake(sim_process_self(), (const void *)word, (int)value);
		return 0;
	}
	if (*word != value) {
		errno = EAGAIN;
		return -1;
	}
	if (sim_block((const void *)word, nap != NULL ? sim_now + in_ns(nap) : SIM_NEVER))
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

long __wrap_syscall(long number, ...);

long
__wrap_syscall(long number, ...)
{
	va_list list;

	if (number != SYS_futex)
		sim_breach("a client made system call %ld", number);
	va_start(list, number);
	const _Atomic uint32_t *word = va_arg(list, const _Atomic uint32_t *);
	int operation = va_arg(list, int);
	uint32_t value = va_arg(list, uint32_t);
	const struct timespec *nap = va_arg(list, const struct timespec *);
	va_end(list);
	return futex(word, operation, value, nap);
}

/* ---- who a client is: of one length on every machine ---- */

IS(pid_t, getpid, (void), 1234)
IS(int, gethostname, (char *name, size_t size), strncpy(name, "sim", size), 0)

/* ---- descriptors ---- */

IS(int, eventfd, (unsigned count, int flags), sim_open(SIM_EVENT))
IS(int, eventfd_write, (int fd, eventfd_t count), sim_write_count(fd, count), 0)
IS(int, eventfd_read, (int fd, eventfd_t *count), sim_read_count(fd, count) < 0 ? -1 : 0)
IS(ssize_t, read, (int fd, void *bytes, size_t size),
   is_ours(fd) ? sim_read_count(fd, bytes) : __real_read(fd, bytes, size))
IS(int, close, (int fd), is_ours(fd) ? (sim_close(fd), 0) : __real_close(fd))
IS(int, timerfd_create, (int clock, int flags), sim_open(SIM_TIMER))
IS(int, poll, (struct pollfd *polled, nfds_t count, int timeout_ms),
   sim_poll(polled, count, timeout_ms < 0 ? SIM_NEVER : sim_now + timeout_ms * SIM_MS))
IS(int, ppoll, (struct pollfd *polled, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
   sim_poll(polled, count, timeout == NULL ? SIM_NEVER : sim_now + in_ns(timeout)))

WRAP(ssize_t, write, int fd, const void *bytes, size_t size)
{
	uint64_t count;

	if (!is_ours(fd))
		return __real_write(fd, bytes, size);
	memcpy(&count, bytes, sizeof count);
	sim_write_count(fd, count);
	return (ssize_t)size;
}

WRAP(int, timerfd_settime, int fd, int flags, const struct itimerspec *t, struct itimerspec *old)
{
	int64_t at = in_ns(&t->it_value);

	sim_timer_set(fd, at != 0 ? at : SIM_NEVER);
	return 0;
}

/* ---- sockets ---- */

IS(ssize_t, send, (int fd, const void *bytes, size_t size, int flags), sim_send(fd, bytes, size))
IS(ssize_t, recv, (int fd, void *bytes, size_t size, int flags),
   sim_recv(fd, bytes, size, (flags & MSG_PEEK) != 0, (flags & MSG_DONTWAIT) == 0))
IS(int, shutdown, (int fd, int how), sim_shutdown(fd), 0)

WRAP(int, socket, int domain, int type, int protocol)
{
	if (sim_runs_short()) {
		errno = EMFILE;
		return -1;
	}
	if (domain != AF_INET)
		sim_breach("a client opens a socket of domain %d", domain);
	return sim_open(SIM_SOCKET);
}

WRAP(int, connect, int fd, const struct sockaddr *address, socklen_t size)
{
	struct sockaddr_in in;

	memcpy(&in, address, size < sizeof in ? size : sizeof in);
	return sim_connect(fd, (int)(ntohl(in.sin_addr.s_addr) & 255) - 1);
}

WRAP(int, setsockopt, int fd, int level, int option, const void *value, socklen_t size)
{
	struct timeval t;

	if (level == SOL_SOCKET && option == SO_RCVTIMEO && size == sizeof t) {
		memcpy(&t, value, sizeof t);
		sim_set_patience(fd, t.tv_sec * SIM_S + t.tv_usec * SIM_US);
	}
	return 0;
}

int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);

/* Of a socket only whether it blocks, which each receive says by itself. */
int
__wrap_fcntl64(int fd, int command, ...)
{
	va_list list;

	va_start(list, command);
	int flags = va_arg(list, int);
	va_end(list);
	return is_ours(fd) ? 0 : __real_fcntl64(fd, command, flags);
}

WRAP(int, getsockopt, int fd, int level, int option, void *value, socklen_t *size)
{
	int error = sim_socket_error(fd);

	memcpy(value, &error, sizeof error);
	*size = sizeof error;
	return 0;
}

static int
nowhere(struct sockaddr *address, socklen_t *size, uint16_t port)
{
	const struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = port};

	memcpy(address, &in, sizeof in);
	*size = sizeof in;
	return 0;
}

IS(int, getsockname, (int fd, struct sockaddr *address, socklen_t *size), nowhere(address, size, 1))
IS(int, getpeername, (int fd, struct sockaddr *address, socklen_t *size), nowhere(address, size, 2))
