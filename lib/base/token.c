#include "base/token.h"

#include "base/clock.h"
#include "base/process.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Would libsodium get its randomness at once? It asks getrandom(), then the device, and aborts if both fail. */
static bool
randomness_there(void)
{
	static const char device[] = "/dev/urandom";
	struct stat st;
	char byte;

	if (getrandom(&byte, sizeof(byte), GRND_NONBLOCK) == (ssize_t)sizeof(byte))
		return true;
	if (errno == EAGAIN)
		return false; /* so early in a boot that nobody knows when there will be any */
	return stat(device, &st) == 0 && S_ISCHR(st.st_mode) && access(device, R_OK) == 0;
}

bool
lsh_sodium_ready(void)
{
	static atomic_bool ready;

	if (atomic_load(&ready))
		return true;
	if (!randomness_there() || sodium_init() < 0) /* which takes care of threads that call it at once */
		return false;
	atomic_store(&ready, true);
	return true;
}

bool
lsh_random_bytes(void *out, size_t n)
{
	/* asked each time: a sandbox that the program went into later may have closed the source */
	if (!lsh_sodium_ready() || !randomness_there())
		return false;
	randombytes_buf(out, n);
	return true;
}

bool
lsh_uuid_make(char out[static LSH_UUID_SIZE + 1])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char random[16];
	char *at = out;

	if (!lsh_random_bytes(random, sizeof(random)))
		return false;
	random[6] = (unsigned char)((random[6] & 0x0f) | 0x40); /* version 4 */
	random[8] = (unsigned char)((random[8] & 0x3f) | 0x80); /* of the variant that RFC 4122 describes */

	for (size_t i = 0; i < sizeof(random); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		*at++ = hex[random[i] >> 4];
		*at++ = hex[random[i] & 15];
	}
	*at = '\0';
	return true;
}

size_t
lsh_token_write(char *out, const char *uuid, uint64_t n)
{
	size_t length = LSH_UUID_SIZE;

	memcpy(out, uuid, LSH_UUID_SIZE);
	out[length++] = ':';
	length += lsh_decimal_write(out + length, n);
	out[length] = '\0';
	return length;
}

bool
lsh_token_read(const char *text, size_t size, const char *uuid, uint64_t *n)
{
	return size > LSH_UUID_SIZE + 1 && memcmp(text, uuid, LSH_UUID_SIZE) == 0 && text[LSH_UUID_SIZE] == ':' &&
	       lsh_decimal_read(text + LSH_UUID_SIZE + 1, size - LSH_UUID_SIZE - 1, n);
}

_Static_assert(LSH_NUMBERS_KEY_SIZE == crypto_shorthash_KEYBYTES, "the key of SipHash");

enum { ROUNDS = 6 };

bool
lsh_numbers_init(struct lsh_numbers *numbers)
{
	atomic_init(&numbers->issued, 0);
	return lsh_random_bytes(numbers->key, sizeof(numbers->key));
}

static uint32_t
hash_half(const struct lsh_numbers *numbers, uint32_t round, uint32_t half)
{
	uint32_t in[2] = {round, half}, hash[2];

	_Static_assert(sizeof(hash) == crypto_shorthash_BYTES, "the hash of SipHash");
	crypto_shorthash((unsigned char *)hash, (const unsigned char *)in, sizeof(in), numbers->key);
	return hash[0];
}

/* A Feistel network: each round can be undone, so different counts have different numbers. */
uint64_t
lsh_numbers_next(struct lsh_numbers *numbers)
{
	uint64_t count = atomic_fetch_add(&numbers->issued, 1);
	uint32_t left = (uint32_t)(count >> 32), right = (uint32_t)count;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t mixed = left ^ hash_half(numbers, round, right);

		left = right;
		right = mixed;
	}
	return (uint64_t)left << 32 | right;
}

bool
lsh_numbers_has(const struct lsh_numbers *numbers, uint64_t n)
{
	uint32_t left = (uint32_t)(n >> 32), right = (uint32_t)n;

	for (uint32_t round = ROUNDS; round-- > 0;) {
		uint32_t mixed = right ^ hash_half(numbers, round, left);

		right = left;
		left = mixed;
	}
	return ((uint64_t)left << 32 | right) < atomic_load(&numbers->issued);
}

static unsigned char jitter_key[crypto_shorthash_KEYBYTES];

static void
draw_jitter_key(void)
{
	int64_t now = lsh_now_ns();

	if (!lsh_random_bytes(jitter_key, sizeof(jitter_key)))
		memcpy(jitter_key, &now, sizeof(now)); /* jitter of a sort is better than none */
}

/* SipHash of a counter that all threads share, so that there is nothing to keep, or to allocate, for each thread;
 * and of the process, because a forked child has its parent's key and count. */
uint32_t
lsh_random32(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static _Atomic uint64_t count;
	uint64_t in[2] = {atomic_fetch_add_explicit(&count, 1, memory_order_relaxed), lsh_process_id()};
	unsigned char hash[crypto_shorthash_BYTES];
	uint32_t random;

	pthread_once(&once, draw_jitter_key);
	crypto_shorthash(hash, (const unsigned char *)in, sizeof(in), jitter_key);
	memcpy(&random, hash, sizeof(random));
	return random;
}
