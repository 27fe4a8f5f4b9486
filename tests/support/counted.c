#include "tests/support/counted.h"

#include "tests/support/test.h"

#include <leash.h>

#include <malloc.h>
#include <stdatomic.h>

struct counted counted;

static _Thread_local void (*meanwhile)(void);

void
counted_meanwhile(void (*act)(void))
{
	meanwhile = act;
}

static bool
fails(void)
{
	void (*act)(void) = meanwhile;

	meanwhile = NULL;
	if (act != NULL)
		act();
	long n = ++counted.calls, at = counted.fail_at;
	return at != 0 && (n == at || (counted.fail_on && n > at));
}

static void
count(long blocks, int64_t bytes)
{
	int64_t now = atomic_fetch_add(&counted.bytes, bytes) + bytes;

	counted.blocks += blocks;
	if (now > counted.most)
		counted.most = now;
}

static int64_t
size_of(void *block)
{
	return (int64_t)malloc_usable_size(block);
}

static void
look_for_secret(void *block)
{
	if (counted.secret && block && memmem(block, (size_t)size_of(block), counted.secret, strlen(counted.secret)))
		counted.secret_freed = true;
}

static void *
counted_alloc(size_t size)
{
	void *block = fails() ? NULL : malloc(size);

	if (block)
		count(1, size_of(block));
	if (block && counted.secret)
		memset(block, 0, (size_t)size_of(block));   /* another's secret is no fault of leash's */
	return block;
}

static void *
counted_realloc(void *old, size_t size)
{
	int64_t had = size_of(old);

	look_for_secret(old);   /* it may be moved */
	void *block = fails() ? NULL : realloc(old, size);
	if (block)
		count(old == NULL, size_of(block) - had);
	return block;
}

static void
counted_free(void *block)
{
	if (block)
		count(-1, -size_of(block));
	look_for_secret(block);
	free(block);
}

void
counted_start(void)
{
	const leash_memory memory = {.alloc = counted_alloc, .realloc = counted_realloc, .free = counted_free};

	assert_true(leash_set_memory(&memory) == LEASH_OK);
}

void
counted_withhold(bool all)
{
	counted.fail_at = all;
	counted.fail_on = all;
	counted.calls = 0;
}

long
counted_left(long before)
{
	long left = counted.blocks - before;

	if (left != 0)
		fprintf(stderr, "leash keeps %ld blocks of memory\n", left);
	return left;
}
