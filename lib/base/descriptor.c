/* A list without a mutex: a thread that is not in a forked child may have been in it. Its places are used again, and
 * never freed. */
#include "base/descriptor.h"

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { VACANT = -1, RESERVED = -2 };

struct place {
	_Atomic int fd;
	_Atomic uint64_t process; /* that took it */
	struct place *next;
};

static struct place *_Atomic places;

static struct place *
reserve(void)
{
	struct place *p = atomic_load(&places);

	for (; p != NULL; p = p->next)
		if (atomic_compare_exchange_strong(&p->fd, &(int){VACANT}, RESERVED))
			return p;
	p = malloc(sizeof *p); /* not by the application's allocator: this memory is never given back */
	if (p == NULL)
		return NULL;
	atomic_init(&p->fd, RESERVED);
	p->next = atomic_load(&places);
	while (!atomic_compare_exchange_weak(&places, &p->next, p))
		;
	return p;
}

static void
forget(int fd)
{
	for (struct place *p = atomic_load(&places); p != NULL; p = p->next)
		atomic_compare_exchange_strong(&p->fd, &(int){fd}, VACANT);
}

int
lsh_descriptor_take(int fd)
{
	struct place *p;
	int taken = fd, e;

	if (fd < 0)
		return fd;
	if (fd <= STDERR_FILENO)
		taken = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	e = errno;
	if (taken != fd)
		close(fd);
	errno = e;
	if (taken < 0)
		return taken;
	forget(taken); /* an inherited one that the application has closed */
	p = reserve();
	if (p == NULL) {
		close(taken);
		errno = ENOMEM;
		return -1;
	}
	atomic_store(&p->process, lsh_process_id());
	atomic_store(&p->fd, taken);
	return taken;
}

void
lsh_descriptor_close(int fd)
{
	if (fd < 0)
		return;
	forget(fd); /* first: a child that is forked in between must not close, by this number, what has got it since */
	close(fd);
}

void
lsh_descriptor_close_inherited(void)
{
	const uint64_t process = lsh_process_id();

	for (struct place *p = atomic_load(&places); p != NULL; p = p->next) {
		int fd = atomic_load(&p->fd);

		if (fd >= 0 && atomic_load(&p->process) != process && atomic_compare_exchange_strong(&p->fd, &fd, VACANT))
			close(fd);
	}
}
