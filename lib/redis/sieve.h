/* A sieve: hiredis's parser, which lets nothing pass that leash never asks for, nor what would put answers out of step.
 *
 * hiredis has functions of its owner's choice build objects of the items of an answer. The sieve's own stand in front
 * of those and refuse, by NULL, which hiredis takes for a lack of memory:
 *
 *   a type of RESP3;
 *   a string that does not end by CR LF: hiredis does not look there, and on 32 bits its sum of the bytes wraps;
 *   a line with a CR or LF of its own;
 *   arrays deeper in arrays, or of more elements in all, than the owner expects: each announced one may get its place.
 *
 * It does not bound how many bytes are buffered: whoever feeds it counts them. For hiredis 0.14 and 1.x. One thread at
 * a time. */
#ifndef LSH_REDIS_SIEVE_H
#define LSH_REDIS_SIEVE_H

#include <hiredis/hiredis.h>

#include <stdbool.h>
#include <stddef.h>

#if HIREDIS_MAJOR >= 1
typedef size_t lsh_elements;
#else
typedef int lsh_elements;
#endif

struct lsh_sieve {
	redisReader *parser;                 /* NULL: it is not open */
	redisReplyObjectFunctions functions; /* the sieve's, in front of */
	const redisReplyObjectFunctions *builders;
	unsigned levels;                     /* of arrays in arrays, */
	size_t most_elements;                /* and elements of all arrays of an answer, at most */
	size_t elements;                     /* of the one under way */
	const char *refusal;                 /* NULL: nothing was refused */
	bool too_many;                       /* namely elements */
};

/* `builders`: of strings, arrays, integers and nils, whose tasks have the sieve for their privdata; they last as long
 * as it does; NULL: hiredis's own. False: no memory. */
bool lsh_sieve_open(struct lsh_sieve *sieve, const redisReplyObjectFunctions *builders, unsigned levels,
                    size_t most_elements);
void lsh_sieve_close(struct lsh_sieve *sieve); /* one that is not open, too */

/* The next answer, if all of it has been fed, else NULL. False: that is none; the sieve is of no more use. */
bool lsh_sieve_next(struct lsh_sieve *sieve, void **object);

/* Why. NULL: for want of memory. */
const char *lsh_sieve_fault(const struct lsh_sieve *sieve);

#endif
