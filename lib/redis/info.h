/* What INFO answers: lines "field:value". */
#ifndef LSH_REDIS_INFO_H
#define LSH_REDIS_INFO_H

#include <stddef.h>

/* The value of `field` in what INFO said, and its size: it ends with its line, not with a NUL. NULL: it is not there. */
const char *lsh_info_find(const char *info, const char *field, size_t *size);

#endif
