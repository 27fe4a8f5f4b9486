#include "base/mutation.h"

#include <stdlib.h>

int lsh_mutation;

void
lsh_mutation_read(void)
{
	const char *number = getenv("LEASH_MUTATION");

	lsh_mutation = number != NULL ? atoi(number) : LSH_NO_MUTATION;
}
