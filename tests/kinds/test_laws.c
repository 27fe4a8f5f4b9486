/* A kind that is added by one file and its Lua keeps the laws, as locks do. */
#include "tests/contract/laws.h"
#include "tests/kinds/plain.h"

int
main(void)
{
	const struct kind plain = {
		.name = "plain kind", .options = {*LEASH_LOCK_OPTIONS(), *LEASH_LOCK_OPTIONS()},
		.open = plain_lock_new, .once = true, .holders = "EXISTS leash:{law}",
	};

	return laws_run(&plain);
}
