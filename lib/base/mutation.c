#include "base/mutation.h"

#include <stdlib.h>

_Atomic int lsh_mutation;

void
lsh_mutation_read(void)
{
	const char *number = getenv("LEASH_MUTATION");

	lsh_mutation = number != NULL ? atoi(number) : LSH_NO_MUTATION;
}
