/* Memory, through the functions that leash_set_memory() was given. */
#ifndef LSH_BASE_MEMORY_H
#define LSH_BASE_MEMORY_H

#include <stddef.h>

void *lsh_alloc(size_t size);  /* zeroed; NULL if there is none */
void *lsh_realloc(void *old, size_t size);
void lsh_free(void *old);
char *lsh_strdup(const char *text);

#define lsh_new(type) ((type *)lsh_alloc(sizeof(type)))

#endif
