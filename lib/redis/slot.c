/* CRC-16 as XMODEM has it (polynomial 0x1021, from 0, not reflected), four bits at a time: a slot is asked for once for
 * each lock. */
#include "redis/slot.h"

#include <stdint.h>
#include <string.h>

/* What the upper four bits of a sum, pushed out of it, leave behind: bit by bit, the polynomial for each that is
 * set. */
static const uint16_t pushed_out[16] = {
	0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
	0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
};

static uint16_t
add(uint16_t sum, unsigned bits)
{
	return (uint16_t)(sum << 4 ^ pushed_out[(sum >> 12) ^ bits]);
}

unsigned
lsh_slot_of(const char *key, size_t size)
{
	const char *open = size > 0 ? memchr(key, '{', size) : NULL;
	const char *close = open != NULL ? memchr(open, '}', size - (size_t)(open - key)) : NULL;
	uint16_t sum = 0;

	if (close != NULL && close > open + 1) {
		key = open + 1;
		size = (size_t)(close - key);
	}
	for (size_t i = 0; i < size; i++) {
		unsigned byte = (unsigned char)key[i];

		sum = add(sum, byte >> 4);
		sum = add(sum, byte & 15);
	}
	return sum % LSH_SLOTS;
}
