#include "base/text.h"

#include <string.h>

static const char hex_small[] = "0123456789abcdef", hex_capital[] = "0123456789ABCDEF";

static size_t
shown_width(unsigned char byte, bool quoted)
{
	return byte < ' ' || byte > '~' || (quoted && (byte == '\\' || byte == '\'')) ? 4 : 1;
}

static char *
show_byte(char *out, unsigned char byte, size_t width)
{
	if (width == 1) {
		*out++ = (char)byte;
		return out;
	}
	*out++ = '\\';
	*out++ = 'x';
	*out++ = hex_small[byte >> 4];
	*out++ = hex_small[byte & 15];
	return out;
}

static size_t
show(char *out, size_t size, const char *bytes, size_t n, bool quoted)
{
	static const char cut[] = "...";
	const size_t cut_length = sizeof(cut) - 1;
	size_t room, length = 0, all, short_of_cut = 0, dots;
	char *at = out;

	if (size == 0)
		return 0;
	room = size - 1;

	/* how many of the bytes fit, and how many would fit in front of the dots */
	for (all = 0; all < n; all++) {
		length += shown_width((unsigned char)bytes[all], quoted);
		if (length > room)
			break;
		if (length + cut_length <= room)
			short_of_cut = all + 1;
	}

	for (size_t i = 0; i < (all == n ? n : short_of_cut); i++)
		at = show_byte(at, (unsigned char)bytes[i], shown_width((unsigned char)bytes[i], quoted));
	if (all < n) {
		dots = room < cut_length ? room : cut_length;
		memcpy(at, cut, dots);
		at += dots;
	}
	*at = '\0';
	return (size_t)(at - out);
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

		if (is_escaped(byte)) {
			*at++ = '%';
			*at++ = hex_capital[byte >> 4];
			*at++ = hex_capital[byte & 15];
		} else {
			*at++ = name[i];
		}
	}
	*at = '\0';
	return (size_t)(at - out);
}

/* 16: not one of the capitals */
static unsigned
hex_value(char digit)
{
	const char *at = digit != '\0' ? strchr(hex_capital, digit) : NULL;

	return at != NULL ? (unsigned)(at - hex_capital) : 16;
}

bool
lsh_key_decode(char *out, size_t *length, const char *key, size_t n)
{
	char *at = out;

	for (size_t i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)key[i];

		if (byte == '%') {
			unsigned high = n - i > 2 ? hex_value(key[i + 1]) : 16, low = n - i > 2 ? hex_value(key[i + 2]) : 16;

			if (high > 15 || low > 15 || (high | low) == 0 || !is_escaped((unsigned char)(high << 4 | low)))
				return false;
			*at++ = (char)(high << 4 | low);
			i += 2;
		} else if (is_escaped(byte)) {
			return false;
		} else {
			*at++ = key[i];
		}
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

size_t
lsh_decimal_length(uint64_t n)
{
	size_t length = 1;

	for (uint64_t power = 10; n >= power; power *= 10)
		if (++length == LSH_DECIMAL_DIGITS)
			break; /* the next power is none of 64 bits */
	return length;
}

size_t
lsh_decimal_write(char *out, uint64_t n)
{
	size_t length;

	if (n < 10) { /* as most numbers in a command are */
		*out = (char)('0' + n);
		return 1;
	}
	length = lsh_decimal_length(n);
	for (char *at = out + length; at > out; n /= 10)
		*--at = (char)('0' + n % 10);
	return length;
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
