#include "base/monitor.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

void
lsh_monitor_futex(struct lsh_monitor *monitor, int operation, uint32_t value)
{
	int e = errno;

	syscall(SYS_futex, &monitor->state, operation, value, NULL, NULL, 0);
	errno = e;
}
