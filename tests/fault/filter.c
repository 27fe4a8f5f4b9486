/* With the library that is broken on purpose, a test program runs only the test that LEASH_TEST_FILTER names. Which program that
 * is does not matter, and none has to know: the library sees to it when it is loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

__attribute__((constructor)) static void
filter_tests(void)
{
	cmocka_set_test_filter(getenv("LEASH_TEST_FILTER")); /* NULL: none */
}
