/* Memory comes from the functions that the application gave, and they are fixed once something was allocated.
 * In this order: each test begins where the one before has left the process. */
#include "base/memory.h"

#include "tests/support/test.h"

#include <leash/memory.h>

#include <errno.h>

static size_t allocations, reallocations, frees;
static bool no_memory;

static void *
counted_alloc(size_t size)
{
	void *p = no_memory ? NULL : malloc(size);

	allocations++;
	if (p != NULL)
		memset(p, 0xa5, size); /* what comes out zeroed was zeroed by leash */
	return p;
}

static void *
counted_realloc(void *old, size_t size)
{
	reallocations++;
	return no_memory ? NULL : realloc(old, size);
}

static void
counted_free(void *old)
{
	frees++;
	free(old);
	errno = EBADF; /* as free() of an old libc may do */
}

static const leash_memory counted = {counted_alloc, counted_realloc, counted_free};

static void
start(void)
{
	allocations = reallocations = frees = 0;
	no_memory = false;
}

FIXTURE(start, NULL);

SENTENCE(hooks_that_lack_a_function_are_refused)
{
	const leash_memory lacking[] = {
		{NULL, counted_realloc, counted_free},
		{counted_alloc, NULL, counted_free},
		{counted_alloc, counted_realloc, NULL},
	};

	for (size_t i = 0; i < sizeof(lacking) / sizeof(lacking[0]); i++)
		assert_int_equal(leash_set_memory(&lacking[i]), LEASH_INVALID);
}

SENTENCE(before_the_first_allocation_hooks_may_change)
{
	assert_int_equal(leash_set_memory(&counted), LEASH_OK);
	assert_int_equal(leash_set_memory(NULL), LEASH_OK);
	assert_int_equal(leash_set_memory(&counted), LEASH_OK);
	lsh_free(NULL);
	assert_int_equal(leash_set_memory(&counted), LEASH_OK);
}

SENTENCE(memory_comes_zeroed_from_the_hooks)
{
	static const char zeros[1000];
	char *p = lsh_alloc(sizeof(zeros));

	assert_non_null(p);
	assert_memory_equal(p, zeros, sizeof(zeros));
	assert_int_equal(allocations, 1);

	memcpy(p, "kept", 5);
	p = lsh_realloc(p, 100000);
	assert_string_equal(p, "kept");
	assert_int_equal(reallocations, 1);

	lsh_free(p);
	assert_int_equal(frees, 1);
}

SENTENCE(freeing_keeps_errno_and_nothing_is_freed_for_nothing)
{
	errno = EDOM;
	lsh_free(lsh_alloc(1));
	assert_int_equal(errno, EDOM);
	lsh_free(NULL);
	assert_int_equal(frees, 1);
}

SENTENCE(without_memory_there_is_null)
{
	char *p = lsh_alloc(10);

	no_memory = true;
	assert_null(lsh_alloc(10));
	assert_null(lsh_new(leash_memory));
	assert_null(lsh_realloc(p, 20));
	lsh_free(p);
}

SENTENCE(after_the_first_allocation_hooks_are_refused)
{
	const leash_memory standard = {malloc, realloc, free};

	assert_int_equal(leash_set_memory(&standard), LEASH_INVALID);
	assert_int_equal(leash_set_memory(NULL), LEASH_INVALID);
	assert_int_equal(leash_set_memory(&counted), LEASH_INVALID);
	lsh_free(lsh_alloc(1));
	assert_int_equal(allocations, 1);
	assert_int_equal(frees, 1);
}
