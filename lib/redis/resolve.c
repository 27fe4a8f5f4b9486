/* A request is shared by the one who asks and the detached thread that calls getaddrinfo(): the last one frees it. The
 * answer is written once, before `answered`. */
#include "redis/resolve.h"

#include "base/descriptor.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int
look_up(struct lsh_answer *out, const char *host, uint16_t port, int flags)
{
	/* No AI_ADDRCONFIG: a machine with nothing but a loopback has to find localhost, and trying an address of a family
	 * that is not there fails at once. */
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV,
	};
	struct addrinfo *list = NULL;
	char service[8];
	int e;

	snprintf(service, sizeof service, "%u", (unsigned)port);
	e = getaddrinfo(host, service, &hints, &list);
	if (e != 0)
		return e;
	for (const struct addrinfo *i = list; i != NULL && out->count < LSH_ADDRESSES; i = i->ai_next) {
		struct lsh_address *a = &out->address[out->count];

		if (i->ai_family != AF_INET && i->ai_family != AF_INET6)
			continue;
		memcpy(&a->any, i->ai_addr, i->ai_addrlen);
		a->size = i->ai_addrlen;
		out->count++;
	}
	freeaddrinfo(list);
	return out->count > 0 ? 0 : EAI_NONAME;
}

bool
lsh_address_of(struct lsh_address *out, const char *host, uint16_t port)
{
	struct lsh_answer answer = {0};
	const size_t size = strlen(host) + 1;

	if (host[0] == '/' && size <= sizeof out->path.sun_path) {
		memset(out, 0, sizeof *out);
		out->path.sun_family = AF_UNIX;
		memcpy(out->path.sun_path, host, size);
		out->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
		return true;
	}
	if (look_up(&answer, host, port, AI_NUMERICHOST) != 0)
		return false;
	*out = answer.address[0];
	return true;
}

bool
lsh_address_is(const struct lsh_address *a, const struct lsh_address *b)
{
	return a->size == b->size && memcmp(&a->any, &b->any, a->size) == 0;
}

void
lsh_address_show(const struct lsh_address *address, char text[static LSH_ADDRESS_TEXT])
{
	if (address->any.sa_family == AF_UNIX ||
	    getnameinfo(&address->any, address->size, text, LSH_ADDRESS_TEXT, NULL, 0, NI_NUMERICHOST) != 0)
		text[0] = '\0';
}

void
lsh_request_drop(struct lsh_request *request)
{
	if (request == NULL || atomic_fetch_sub(&request->users, 1) != 1)
		return;
	lsh_descriptor_close(request->fd);
	lsh_free(request);
}

/* Why there was no answer, an errno; 0: for none of the system's reasons. Where memory or descriptors are used up the
 * resolver says so, or that the name is not known, or that it was not to be found out now. */
static int
why_not(const struct lsh_request *r, int e)
{
	int fd;

	if (r->answer.error == EAI_MEMORY)
		return ENOMEM;
	if (r->answer.error == EAI_SYSTEM || lsh_is_shortage(e))
		return e;
	fd = fcntl(r->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); /* is there one to be had? */
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static void *
ask(void *arg)
{
	struct lsh_request *r = arg;

	lsh_thread_begin("leash-resolve");
	errno = 0;
	r->answer.error = look_up(&r->answer, r->host, r->port, 0);
	if (r->answer.error != 0)
		r->answer.sys_errno = why_not(r, errno);
	atomic_store(&r->answered, true);
	eventfd_write(r->fd, 1);
	lsh_request_drop(r);
	return NULL;
}

struct lsh_request *
lsh_request_new(const char *host, uint16_t port, int *sys_errno)
{
	struct lsh_request *r = lsh_alloc(sizeof *r + strlen(host) + 1);
	pthread_t thread;

	*sys_errno = ENOMEM;
	if (r == NULL)
		return NULL;
	atomic_store(&r->users, 2);
	r->port = port;
	strcpy(r->host, host);
	r->fd = lsh_descriptor_take(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (r->fd < 0) {
		*sys_errno = errno;
	} else if ((*sys_errno = lsh_thread_start(&thread, ask, r)) == 0) {
		pthread_detach(thread);
		return r;
	}
	atomic_store(&r->users, 1);
	lsh_request_drop(r);
	return NULL;
}
