#include "base/text.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

static size_t
show(char *out, size_t size, const char *bytes, size_t n, bool quoted)
{
	static const char dots[] = "...";
	size_t length = 0, uncut = 0; /* of which the dots are not cut off */

	if (size == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		bool escaped = byte < ' ' || byte > '~' || (quoted && (byte == '\\' || byte == '\''));
		char text[5] = {bytes[i]};
		size_t width = escaped ? (size_t)snprintf(text, sizeof(text), "\\x%02x", byte) : 1;

		if (length + strlen(dots) < size)
			uncut = length;
		if (length + width >= size)
			return uncut + (size_t)snprintf(out + uncut, size - uncut, "%.*s", (int)(size - uncut - 1), dots);
		memcpy(out + length, text, width);
		length += width;
	}
	out[length] = '\0';
	return length;
}

size_t
lsh_show(char *out, size_t size, const char *bytes, size_t n)
{
	return show(out, size, bytes, n, true);
}

size_t
lsh_show_text(char *out, size_t size, const char *bytes, size_t n)
{
	return show(out, size, bytes, n, false);
}

static bool
is_escaped(unsigned char byte)
{
	return byte <= ' ' || byte == 0x7f || byte == '{' || byte == '}' || byte == '%';
}

size_t
lsh_key_encode(char *out, const char *name, size_t n)
{
	char *at = out;

	for (size_t i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)name[i];

		if (is_escaped(byte))
			at += sprintf(at, "%%%02X", byte);
		else
			*at++ = name[i];
	}
	*at = '\0';
	return (size_t)(at - out);
}

bool
lsh_key_decode(char *out, size_t *length, const char *key, size_t n)
{
	char *at = out;

	for (size_t i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)key[i];

		if (byte == '%') {
			char again[4];

			if (n - i < 3 || sodium_hex2bin(&byte, 1, key + i + 1, 2, NULL, NULL, NULL) != 0 || byte == 0)
				return false;
			snprintf(again, sizeof(again), "%%%02X", byte);
			if (!is_escaped(byte) || memcmp(again, key + i, 3) != 0)
				return false;
			i += 2;
		} else if (is_escaped(byte)) {
			return false;
		}
		*at++ = (char)byte;
	}
	if (at == out)
		return false;
	*length = (size_t)(at - out);
	return true;
}

bool
lsh_starts_with_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	return strncmp(text, word, n) == 0 && (text[n] == '\0' || text[n] == ' ');
}

static char
small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool
lsh_is_like(const char *a, const char *b)
{
	for (; *a != '\0' && small(*a) == small(*b); a++)
		b++;
	return *a == *b;
}

size_t
lsh_decimal_write(char *out, uint64_t n)
{
	static const char pairs[] =
		"00010203040506070809101112131415161718192021222324"
		"25262728293031323334353637383940414243444546474849"
		"50515253545556575859606162636465666768697071727374"
		"75767778798081828384858687888990919293949596979899";
	char digits[LSH_DECIMAL_DIGITS], *at = digits + sizeof(digits);

	if (n < 10) { /* as most numbers in a command are */
		*out = (char)('0' + n);
		return 1;
	}
	if (n < 100) {
		memcpy(out, &pairs[n * 2], 2);
		return 2;
	}
	for (; n >= 10; n /= 100)
		memcpy(at -= 2, &pairs[n % 100 * 2], 2);
	if (n > 0)
		*--at = (char)('0' + n);
	memcpy(out, at, (size_t)(digits + sizeof(digits) - at));
	return (size_t)(digits + sizeof(digits) - at);
}

bool
lsh_decimal_read(const char *text, size_t size, uint64_t *n)
{
	uint64_t value = 0;

	if (size == 0 || size > LSH_DECIMAL_DIGITS || (size > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
			return false;
	}
	*n = value;
	return true;
}
