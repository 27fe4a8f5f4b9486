/* Random steps for a real and a simulated server: commands that scripts use, whole scripts, and what befalls a server.
 * On a handful of keys, with words that fit more often than not. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUZZ_CLIENT_ANN "aaaaaaaa-0000-4000-8000-00000000000a" /* whom the steps tell that the lock is theirs */
#define FUZZ_CLIENT_BOB "bbbbbbbb-0000-4000-8000-00000000000b"
#define FUZZ_CLIENT_CID "cccccccc-0000-4000-8000-00000000000c"
#define FUZZ_KEYS \
	"leash:{orders}", "leash:{orders}:fence", "leash:{orders}:queue", "leash:{bills}", "leash:{bills}:fence", \
	"leash:{share}", "leash:{share}:fence", "leash:{share}:queue", "leash:{share}:limit"

enum { FUZZ_WORDS = 24, FUZZ_WORD_SIZE = 96 };

struct fuzz_step {
	int64_t now_us;  /* when it is */
	bool by_limited; /* given by a user, "ann", who may not do all */
	size_t count;
	char words[FUZZ_WORDS][FUZZ_WORD_SIZE];
};

void fuzz_begin(uint64_t seed); /* the same steps for the same seed */
void fuzz_make(struct fuzz_step *step);
