/* Which descriptors this process has: what came back must not have left any. */
#ifndef LEASH_TEST_DESCRIPTORS_H
#define LEASH_TEST_DESCRIPTORS_H

#include <stdbool.h>

enum { DESCRIPTORS = 1024 };

/* How many; and which. */
unsigned descriptors_count(void);
unsigned descriptors_list(bool has[static DESCRIPTORS]);

#endif
