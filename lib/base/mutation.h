/* Mutations: single rules broken on purpose, for tests that show that it would be noticed. Only a library that is built with
 * LSH_MUTATIONS has them, for the tests alone; in any other LSH_MUTATES() is the constant false, and nothing is left of it.
 *
 * One at a time is on, by its number in the environment: LEASH_MUTATION=1. */
#ifndef LSH_BASE_MUTATION_H
#define LSH_BASE_MUTATION_H

#include <stdbool.h>

enum lsh_mutation {
	LSH_NO_MUTATION,
	LSH_SENT_WORDS_COUNT,       /* a claim counts from the last word that was sent, and not from the last that was answered "queued" */
	LSH_CLAIMS_COUNT_FROM_NOW,  /* a claim counts from when its message came */
	LSH_TOKENS_COME_BACK,       /* a token that the server says it does not know is asked again, as if it were new */
	LSH_REPEATED_ASKS_COUNT,    /* a claim counts from the last word that was answered, even if the token was asked more than once */
	LSH_FIRST_CANCEL_IS_ENOUGH, /* a cancel is done when it was answered, even if an ask may come later */
	LSH_ASKS_LIVE_FOREVER,      /* an ask is executed whenever it comes */
	LSH_GHOSTS_STAY,            /* nobody answers the grant of a place that nobody waits for */
};

#ifdef LSH_MUTATIONS

extern int lsh_mutation;

#define LSH_MUTATES(what) (lsh_mutation == (what))

void lsh_mutation_read(void); /* from the environment; before the client has threads */

#else

#define LSH_MUTATES(what) false

static inline void
lsh_mutation_read(void)
{
}

#endif

#endif
