#include "base/process.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

_Atomic uint64_t *_Atomic lsh_process_page;

static _Atomic uint64_t last; /* copied into a child, so that a child's numbers are all larger than its parent's were */

/* The first call gives the process its page. No pthread_once: after a lack of memory the next call tries again. */
static void
set_up(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_Atomic uint64_t *none = NULL;
	int e;

	if (page == MAP_FAILED)
		return;
	if (madvise(page, size, MADV_WIPEONFORK) == 0 && atomic_compare_exchange_strong(&lsh_process_page, &none, page))
		return;
	e = errno;
	munmap(page, size);
	errno = e;
}

uint64_t
lsh_process_id(void)
{
	uint64_t none = 0;

	if (lsh_process_page == NULL)
		set_up();
	if (lsh_process_page == NULL)
		return 0;
	if (atomic_load(lsh_process_page) == 0)
		atomic_compare_exchange_strong(lsh_process_page, &none, atomic_fetch_add(&last, 1) + 1);
	return atomic_load(lsh_process_page);
}
