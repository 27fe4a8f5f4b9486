/* Plain and fair clients that meet at one lock keep the laws: in Redis both are the same. */
#include "tests/contract/laws.h"

int
main(void)
{
	const struct kind mixed = {.name = "mixed", .options = {*LEASH_LOCK_OPTIONS(), *LEASH_LOCK_OPTIONS(.fair = true)}};

	return laws_run(&mixed);
}
