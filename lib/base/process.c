#include "base/process.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

_Atomic uint64_t *_Atomic lsh_process_page;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t last; /* copied into a child, so that a child's numbers are all larger than its parent's were */

static void
set_up(void)
{
	void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	if (madvise(page, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK) != 0) {
		munmap(page, (size_t)sysconf(_SC_PAGESIZE));
		return;
	}
	lsh_process_page = page;
}

uint64_t
lsh_process_id(void)
{
	uint64_t none = 0;

	pthread_once(&once, set_up);
	if (lsh_process_page == NULL)
		return 0;
	if (atomic_load(lsh_process_page) == 0)
		atomic_compare_exchange_strong(lsh_process_page, &none, atomic_fetch_add(&last, 1) + 1);
	return atomic_load(lsh_process_page);
}
