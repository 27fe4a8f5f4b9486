/* Plain locks keep the laws. */
#include "tests/contract/laws.h"

int
main(void)
{
	const struct kind plain = {.name = "plain", .options = {*LEASH_LOCK_OPTIONS(), *LEASH_LOCK_OPTIONS()}};

	return laws_run(&plain);
}
