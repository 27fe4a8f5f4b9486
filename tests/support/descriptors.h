/* Which descriptors this process has: what came back must not have left any. */
#pragma once

#include <stdbool.h>

enum { DESCRIPTORS = 1024 };

/* How many; and which. */
unsigned descriptors_count(void);
unsigned descriptors_list(bool has[static DESCRIPTORS]);
