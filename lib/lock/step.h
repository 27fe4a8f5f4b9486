/* The steps of lib/lua as commands, for one tenure. lock->mutex held. */
#ifndef LSH_LOCK_STEP_H
#define LSH_LOCK_STEP_H

#include "redis/script.h"

#include <stdbool.h>
#include <stdint.h>

struct lsh_tenure;

struct lsh_step {
	struct lsh_script_call call;
	char number[2][LSH_DECIMAL_SIZE];
};

void lsh_step_ask(struct lsh_step *step, const struct lsh_tenure *tenure, int64_t not_after_us, bool takes_place);
void lsh_step_cancel(struct lsh_step *step, const struct lsh_tenure *tenure); /* or release, or leave */
/* For several tenures of one lock, with one lease: the first, then each of the others, then the end. */
enum { LSH_WORDS = 14 }; /* tenures at most: a reply has room for the answers */
void lsh_step_word(struct lsh_step *step, const struct lsh_tenure *tenure);
void lsh_step_word_add(struct lsh_step *step, const struct lsh_tenure *tenure);
void lsh_step_word_end(struct lsh_step *step, const struct lsh_tenure *tenure);
void lsh_step_renew(struct lsh_step *step, const struct lsh_tenure *tenure, int64_t lease_ms, unsigned depth);

#endif
