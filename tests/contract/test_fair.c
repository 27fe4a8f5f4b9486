/* Fair locks keep the laws, and serve all threads of all processes in one order. */
#include "tests/contract/laws.h"

int
main(void)
{
	const struct kind fair = {
		.name = "fair",
		.options = {*LEASH_LOCK_OPTIONS(.fair = true), *LEASH_LOCK_OPTIONS(.fair = true)},
		.ordered = true,
	};

	return laws_run(&fair);
}
