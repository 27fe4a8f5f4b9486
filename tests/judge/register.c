/* Registers in a mapped file: atomics only, without an address in them. */
#include "tests/judge/register.h"

#include "tests/support/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a process must not hold a lock of the C library's within the file");
_Static_assert(sizeof(_Atomic uint64_t) == sizeof(uint64_t), "the same");

struct cell {
	_Atomic uint64_t fence;      /* of the last write that was taken: the largest */
	_Atomic uint64_t unfenced;   /* of the last write */
	_Atomic uint64_t refused;
	_Atomic uint64_t corrupted;
};

struct fenced {
	uint64_t size;   /* of the file */
	uint64_t locks;
	struct cell cells[];
};

/* A new one if there are `locks`. */
static struct fenced *
map(const char *folder, size_t locks)
{
	size_t size = sizeof(struct fenced) + locks * sizeof(struct cell);
	struct stat st;
	char *path;

	if (asprintf(&path, "%s/registers", folder) < 0)
		trouble("out of memory");
	int fd = open(path, O_RDWR | O_CLOEXEC | (locks > 0 ? O_CREAT | O_EXCL : 0), 0666);
	if (fd < 0 || (locks > 0 && ftruncate(fd, (off_t)size) != 0) || fstat(fd, &st) != 0)
		trouble("%s: %s", path, strerror(errno));
	if ((size_t)st.st_size < size)
		trouble("%s: it has no registers yet", path);
	struct fenced *r = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r == MAP_FAILED)
		trouble("%s: %s", path, strerror(errno));
	close(fd);
	free(path);
	return r;
}

struct fenced *
fenced_create(const char *folder, size_t locks)
{
	struct fenced *r = map(folder, locks);

	r->size = sizeof(struct fenced) + locks * sizeof(struct cell);
	r->locks = locks;
	return r;
}

struct fenced *
fenced_open(const char *folder)
{
	return map(folder, 0);
}

void
fenced_close(struct fenced *r)
{
	if (r)
		munmap(r, r->size);
}

static void
check(const struct fenced *r, size_t lock)
{
	if (lock >= r->locks)
		trouble("there are registers for %zu locks, and none of number %zu", (size_t)r->locks, lock);
}

bool
fenced_write(struct fenced *r, size_t lock, uint64_t fence)
{
	check(r, lock);
	struct cell *cell = &r->cells[lock];
	if (atomic_exchange(&cell->unfenced, fence) > fence)
		atomic_fetch_add(&cell->corrupted, 1);
	uint64_t last = atomic_load(&cell->fence);
	while (last <= fence)
		if (atomic_compare_exchange_weak(&cell->fence, &last, fence))
			return true;
	atomic_fetch_add(&cell->refused, 1);
	return false;
}

void
fenced_visit(struct fenced *r, size_t lock)
{
	check(r, lock);
	atomic_fetch_add(&r->cells[lock].fence, 1);
}

uint64_t
fenced_greatest(const struct fenced *r, size_t lock)
{
	check(r, lock);
	return atomic_load(&r->cells[lock].fence);
}

#define OF_ALL(field) \
	uint64_t \
	fenced_##field(const struct fenced *r) \
	{ \
		uint64_t n = 0; \
\
		for (size_t i = 0; i < r->locks; i++) \
			n += atomic_load(&r->cells[i].field); \
		return n; \
	}
OF_ALL(refused)
OF_ALL(corrupted)
