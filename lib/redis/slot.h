/* Slots: which of the 16384 parts of a cluster a key, or a sharded channel, belongs to. */
#ifndef LSH_REDIS_SLOT_H
#define LSH_REDIS_SLOT_H

#include <stddef.h>

enum { LSH_SLOTS = 16384 };

/* Of what stands between the first '{' and the next '}', if anything does, else of all of the key. Any thread. */
unsigned lsh_slot_of(const char *key, size_t size);

#endif
