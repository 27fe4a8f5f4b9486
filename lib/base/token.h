/* Identities and chance: the UUID of a client, the owner tokens made of it, and randomness that need not be secret.
 *
 * A UUID must never occur twice, in any process on any machine, or one client would take another's locks for its own.
 * So it comes from libsodium, and a system without randomness gets no UUID rather than a weak one. */
#ifndef LSH_BASE_TOKEN_H
#define LSH_BASE_TOKEN_H

#include "base/text.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LSH_NUMBERS_KEY_SIZE = 16,
	LSH_UUID_SIZE = 36,                                         /* characters, without the NUL */
	LSH_TOKEN_SIZE = LSH_UUID_SIZE + 1 + LSH_DECIMAL_DIGITS + 1, /* room for any token, with its NUL */
};

/* Make libsodium ready, before any use of it. False: it cannot be, or the system has no randomness (yet), for which
 * libsodium would abort the process, or wait without end. Any thread, any number of times. */
bool lsh_sodium_ready(void);

/* Fill `out` with randomness fit for keys. False, and `out` untouched: there is none. */
bool lsh_random_bytes(void *out, size_t n);

/* Draw a UUID (version 4), as text in small letters, with a NUL. False, and `out` untouched: there is no randomness. */
bool lsh_uuid_make(char out[static LSH_UUID_SIZE + 1]);

/* The UUID (version 8) of a party of a lock, the same in every program: SipHash of "<name>\0<party>", by the keys
 * "leash party is 1" and "leash party is 2". Pre: lsh_sodium_ready(). False: no memory. */
bool lsh_uuid_of(char out[static LSH_UUID_SIZE + 1], const char *name, const char *party);

/* Write "<uuid>:<n>" and a NUL, LSH_TOKEN_SIZE bytes at most; returns the length. `uuid` needs no NUL behind it. */
size_t lsh_token_write(char *out, const char *uuid, uint64_t n);

/* Are the `size` bytes of `text` a token of `uuid`, byte for byte as lsh_token_write() writes it? Then `*n` is its
 * number; else it is untouched. */
bool lsh_token_read(const char *text, size_t size, const char *uuid, uint64_t *n);

/* The numbers of a client's tokens: a counter, encrypted. No two are the same, and who knows some of them cannot guess
 * another. */
struct lsh_numbers {
	_Atomic uint64_t issued;
	unsigned char key[LSH_NUMBERS_KEY_SIZE];
};

bool lsh_numbers_init(struct lsh_numbers *numbers); /* false: there is no randomness */
uint64_t lsh_numbers_next(struct lsh_numbers *numbers);
bool lsh_numbers_has(const struct lsh_numbers *numbers, uint64_t n); /* was it issued? */

/* A number for jitter, different in each thread and in each forked child; not for tokens, whoever knows some might
 * guess others. Needs no lock and no memory and never fails. */
uint32_t lsh_random32(void);

#endif
