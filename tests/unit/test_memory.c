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

SENTENCE(before_the_first_allocation_hooks_may_change_but_lack_no_function)
{
	const leash_memory lacking[] = {
		{NULL, counted_realloc, counted_free}, {counted_alloc, NULL, counted_free}, {counted_alloc, counted_realloc, NULL},
	};

	for (size_t i = 0; i < COUNT(lacking); i++)
		assert_int_equal(leash_set_memory(&lacking[i]), LEASH_INVALID);
	assert_int_equal(leash_set_memory(&counted), LEASH_OK);
	assert_int_equal(leash_set_memory(NULL), LEASH_OK);
	assert_int_equal(leash_set_memory(&counted), LEASH_OK);
	lsh_free(NULL);
	assert_int_equal(leash_set_memory(&counted), LEASH_OK);
}

/* And the hooks are fixed then. */
SENTENCE(memory_comes_zeroed_from_the_hooks_and_goes_back_without_a_change_of_errno)
{
	static const char zeros[1000];
	char *p = lsh_alloc(sizeof(zeros));

	assert_non_null(p);
	assert_memory_equal(p, zeros, sizeof(zeros));
	memcpy(p, "kept", 5);
	p = lsh_realloc(p, 100000);
	assert_string_equal(p, "kept");
	errno = EDOM;
	lsh_free(p);
	assert_int_equal(errno, EDOM);
	lsh_free(NULL);
	assert_int_equal(leash_set_memory(NULL), LEASH_INVALID);
	assert_int_equal(leash_set_memory(&counted), LEASH_INVALID);
	lsh_free(lsh_alloc(1));
	assert_true(allocations == 2 && reallocations == 1 && frees == 2);
}

SENTENCE(without_memory_there_is_null)
{
	char *p = lsh_alloc(10);

	no_memory = true;
	assert_null(lsh_alloc(10));
	assert_null(lsh_new(leash_memory));
	assert_null(lsh_realloc(p, 20));
	lsh_free(p);
	no_memory = false;
}
