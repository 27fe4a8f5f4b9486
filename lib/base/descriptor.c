#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int
lsh_descriptor_lift(int fd)
{
	int copy, e;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	e = errno;
	close(fd);
	errno = e;
	return copy;
}
