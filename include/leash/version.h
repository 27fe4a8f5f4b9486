/* The version of leash. */
#ifndef LEASH_VERSION_H
#define LEASH_VERSION_H

#include <leash/api.h>

LEASH_BEGIN_DECLS

/* The version that a program is compiled against; configure.ac has the same numbers, and a test compares them. */
#define LEASH_VERSION_MAJOR 0
#define LEASH_VERSION_MINOR 1
#define LEASH_VERSION_PATCH 0
#define LEASH_VERSION "0.1.0"

/**
 * The version of the library that a program runs with, "MAJOR.MINOR.PATCH".
 *
 * Threads: any; allowed in callbacks and in signal handlers. Since 0.1.
 */
LEASH_API const char *leash_version(void);

LEASH_END_DECLS

#endif
