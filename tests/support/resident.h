/* The memory of this process that is resident. */
#ifndef LEASH_TEST_RESIDENT_H
#define LEASH_TEST_RESIDENT_H

/* In bytes; of what it shares with others its part (Pss). -1: the system does not say. */
double resident_bytes(void);

#endif
