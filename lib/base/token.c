#include "base/token.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"

#include <errno.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
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

/* Of the variant that RFC 4122 describes. */
static void
write_uuid(char *out, unsigned char bytes[static 16], unsigned version)
{
	char hex[33];

	bytes[6] = (unsigned char)((bytes[6] & 0x0f) | version << 4);
	bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
	sodium_bin2hex(hex, sizeof(hex), bytes, 16);
	snprintf(out, LSH_UUID_SIZE + 1, "%.8s-%.4s-%.4s-%.4s-%s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

bool
lsh_uuid_make(char out[static LSH_UUID_SIZE + 1])
{
	unsigned char random[16];

	if (!lsh_random_bytes(random, sizeof(random)))
		return false;
	write_uuid(out, random, 4);
	return true;
}

bool
lsh_uuid_of(char out[static LSH_UUID_SIZE + 1], const char *name, const char *party)
{
	static const char keys[2][crypto_shorthash_KEYBYTES + 1] = {"leash party is 1", "leash party is 2"};
	unsigned char hash[2 * crypto_shorthash_BYTES];
	size_t before = strlen(name) + 1, size = before + strlen(party);
	unsigned char *text = lsh_alloc(size + 1);

	_Static_assert(sizeof(hash) == 16, "the bytes of a UUID");
	if (text == NULL)
		return false;
	memcpy(text, name, before);
	memcpy(text + before, party, size - before);
	for (size_t i = 0; i < 2; i++)
		crypto_shorthash(hash + i * crypto_shorthash_BYTES, text, size, (const unsigned char *)keys[i]);
	lsh_free(text);
	write_uuid(out, hash, 8);
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

/* A Feistel network: each round can be undone, so different counts have different numbers. With its rounds in the other
 * order it undoes itself. */
static uint64_t
shuffle(const struct lsh_numbers *numbers, uint64_t n, bool back)
{
	uint32_t left = (uint32_t)(n >> 32), right = (uint32_t)n;

	_Static_assert(sizeof(uint32_t[2]) == crypto_shorthash_BYTES, "the hash of SipHash");
	for (uint32_t i = 0; i < ROUNDS; i++) {
		const uint32_t in[2] = {back ? ROUNDS - 1 - i : i, right}, old = left;
		uint32_t hash[2];

		crypto_shorthash((unsigned char *)hash, (const unsigned char *)in, sizeof(in), numbers->key);
		left = right;
		right = old ^ hash[0];
	}
	return (uint64_t)right << 32 | left;
}

uint64_t
lsh_numbers_next(struct lsh_numbers *numbers)
{
	return shuffle(numbers, atomic_fetch_add(&numbers->issued, 1), false);
}

bool
lsh_numbers_has(const struct lsh_numbers *numbers, uint64_t n)
{
	return shuffle(numbers, n, true) < atomic_load(&numbers->issued);
}

/* The finalizer of splitmix64, of the time, and of a count, its address and the process because two may ask at one
 * time. */
uint32_t
lsh_random32(void)
{
	static _Thread_local uint64_t count;
	uint64_t n = (uint64_t)lsh_now_ns() ^ lsh_process_id() << 56 ^ (uintptr_t)&count << 20;

	n ^= count += UINT64_C(0x9e3779b97f4a7c15);
	n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(n >> 32);
}
