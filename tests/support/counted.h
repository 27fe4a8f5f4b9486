/* The memory that leash has, counted; and withheld, where a test wants that. All of the process' leash, from counted_start on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern struct counted {
	_Atomic long blocks;         /* that leash has */
	_Atomic int64_t bytes, most; /* likewise; the most there have been since `most` was set */
	_Atomic long calls;          /* of alloc and realloc */
	_Atomic long fail_at;        /* this call fails; 0: none */
	_Atomic bool fail_on;        /* and all after it */
	const char *secret;          /* if not NULL: what must not be in a block when it is given back, */
	_Atomic bool secret_freed;   /* and it was */
} counted;

void counted_start(void); /* before any other call of leash; for GROUP() */
void counted_meanwhile(void (*act)(void)); /* just before the next allocation of this thread */
void counted_withhold(bool all); /* from now on every call fails; or none */
long counted_left(long before); /* how many blocks there are more than `before`; it says so if there are any */
