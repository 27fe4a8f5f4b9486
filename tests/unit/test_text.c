/* Names shown and names in keys: printable, within bounds, and never two names as one. And numbers in decimal. */
#include "base/text.h"

#include "tests/support/test.h"

#include <inttypes.h>

static uint64_t seed;

/* xorshift: the same numbers at every run */
static uint64_t
some(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 16) % below;
}

static void
start(void)
{
	seed = UINT64_C(0x9e3779b97f4a7c15);
}

FIXTURE(start, NULL);

/* A random name, of few different bytes, so that those that matter meet often. */
static size_t
some_name(char *out, size_t max)
{
	static const char likely[] = "%{}\\'x0 aA2\0\x7f\xff.\n";
	size_t n = some(max + 1);

	for (size_t i = 0; i < n; i++)
		out[i] = some(8) != 0 ? likely[some(sizeof(likely))] : (char)some(256);
	return n;
}

static void
assert_shown(const char *bytes, size_t n, const char *shown)
{
	char out[256];

	assert_int_equal(lsh_show(out, sizeof(out), bytes, n), strlen(shown));
	assert_string_equal(out, shown);
}

SENTENCE(a_printable_name_is_shown_as_it_is)
{
	char name[95], out[256];

	assert_shown("", 0, "");
	assert_shown("orders/2024-01 {x} \"y\" %41 ~", 28, "orders/2024-01 {x} \"y\" %41 ~");
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = (char)(' ' + i);
	assert_int_equal(lsh_show(out, sizeof(out), name, sizeof(name)), sizeof(name) + 2 * 3);
}

SENTENCE(what_could_end_or_fake_a_quote_is_escaped)
{
	assert_shown("it's", 4, "it\\x27s");
	assert_shown("a\\b", 3, "a\\x5cb");
	assert_shown("\\x0a", 4, "\\x5cx0a");
	assert_shown("\n", 1, "\\x0a");
	assert_shown("a\0b\xff\x7f", 5, "a\\x00b\\xff\\x7f");
}

SENTENCE(within_a_text_quotes_and_backslashes_stand)
{
	char out[64];

	assert_int_equal(lsh_show_text(out, sizeof(out), "lock 'a\\x0a'\r\n", 14), 20);
	assert_string_equal(out, "lock 'a\\x0a'\\x0d\\x0a");
}

SENTENCE(what_does_not_fit_is_cut_off_and_marked)
{
	static const struct {
		size_t size;
		const char *bytes, *shown;
	} cases[] = {
		{7, "orders", "orders"},
		{6, "orders", "or..."},
		{5, "orders", "o..."},
		{4, "orders", "..."},
		{3, "orders", ".."},
		{2, "orders", "."},
		{1, "orders", ""},
		{1, "", ""},
		{5, "\n", "\\x0a"},
		{4, "\n", "..."},
		{8, "\n\n", "\\x0a..."},
		{7, "\n\n", "..."},
		{5, "\\", "\\x5c"},
		{4, "\\", "..."},
		{10, "a''", "a\\x27\\x27"},
		{9, "a''", "a\\x27..."},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char out[16];
		size_t n = strlen(cases[i].bytes);

		memset(out, 'Z', sizeof(out));
		assert_int_equal(lsh_show(out, cases[i].size, cases[i].bytes, n), strlen(cases[i].shown));
		assert_string_equal(out, cases[i].shown);
		for (size_t j = cases[i].size; j < sizeof(out); j++)
			assert_int_equal(out[j], 'Z');
	}
}

SENTENCE(no_room_at_all_is_left_alone)
{
	char out = 'Z';

	assert_int_equal(lsh_show(&out, 0, "orders", 6), 0);
	assert_int_equal(out, 'Z');
}

static char
unescaped_digit(char c)
{
	return (char)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

SENTENCE(what_was_shown_whole_can_be_read_back)
{
	for (int round = 0; round < 20000; round++) {
		char name[40], back[40], shown[4 * sizeof(name) + 1];
		size_t n = some_name(name, sizeof(name)), length = lsh_show(shown, sizeof(shown), name, n), m = 0;

		assert_int_equal(strlen(shown), length);
		for (size_t i = 0; i < length;) {
			assert_true(shown[i] >= ' ' && shown[i] <= '~');
			if (shown[i] != '\\') {
				assert_int_not_equal(shown[i], '\'');
				back[m++] = shown[i++];
			} else {
				assert_int_equal(shown[i + 1], 'x');
				back[m++] = (char)(unescaped_digit(shown[i + 2]) << 4 | unescaped_digit(shown[i + 3]));
				i += 4;
			}
		}
		assert_int_equal(m, n);
		assert_memory_equal(back, name, n);
	}
}

SENTENCE(in_any_room_a_name_is_shown_within_bounds)
{
	for (int round = 0; round < 20000; round++) {
		char name[40], all[4 * sizeof(name) + 1];
		size_t n = some_name(name, sizeof(name)), size = some(sizeof(all)) + 1, length;
		size_t whole = lsh_show(all, sizeof(all), name, n);
		char *out = malloc(size); /* of just that size: a sanitizer sees a byte too many */

		length = lsh_show(out, size, name, n);
		assert_int_equal(strlen(out), length);
		assert_true(length < size);
		if (whole < size) {
			assert_string_equal(out, all);
		} else if (size > 3) {
			assert_string_equal(out + length - 3, "...");
			assert_memory_equal(out, all, length - 3);
			assert_true(length + 4 >= size); /* no more was cut off than had to be: an escape is 4 long */
		}
		free(out);
	}
}

static void
assert_key(const char *name, size_t n, const char *key)
{
	char out[256];

	assert_int_equal(lsh_key_encode(out, name, n), strlen(key));
	assert_string_equal(out, key);
}

SENTENCE(in_keys_only_what_breaks_them_is_encoded)
{
	assert_key("", 0, "");
	assert_key("orders:42/\xc3\xa9'\"*?[a]\\", 20, "orders:42/\xc3\xa9'\"*?[a]\\");
	assert_key("{a} b%\n\0\x7f", 9, "%7Ba%7D%20b%25%0A%00%7F");
	assert_key("%7B", 3, "%257B");
}

SENTENCE(every_byte_is_encoded_as_the_header_says)
{
	for (unsigned c = 0; c < 256; c++) {
		char byte = (char)c, key[4], wanted[4];
		bool stands = c > 0x20 && c != 0x7f && c != '{' && c != '}' && c != '%';

		snprintf(wanted, sizeof(wanted), stands ? "%c" : "%%%02X", c);
		assert_int_equal(lsh_key_encode(key, &byte, 1), stands ? 1 : 3);
		assert_string_equal(key, wanted);
	}
}

SENTENCE(the_largest_key_fits_into_three_bytes_for_each)
{
	char name[512], *out = malloc(3 * sizeof(name) + 1);

	memset(name, '%', sizeof(name));
	assert_int_equal(lsh_key_encode(out, name, sizeof(name)), 3 * sizeof(name));
	assert_int_equal(strlen(out), 3 * sizeof(name));
	free(out);
}

struct pair {
	char name[8], key[25];
	size_t n;
};

static int
by_key(const void *a, const void *b)
{
	return strcmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

SENTENCE(different_names_have_different_keys)
{
	enum { PAIRS = 30000 };
	struct pair *pairs = calloc(PAIRS, sizeof(*pairs));
	size_t same_name = 0;

	for (size_t i = 0; i < PAIRS; i++) {
		pairs[i].n = some_name(pairs[i].name, sizeof(pairs[i].name));
		lsh_key_encode(pairs[i].key, pairs[i].name, pairs[i].n);
	}
	qsort(pairs, PAIRS, sizeof(*pairs), by_key);
	for (size_t i = 1; i < PAIRS; i++) {
		if (strcmp(pairs[i].key, pairs[i - 1].key) != 0)
			continue;
		assert_int_equal(pairs[i].n, pairs[i - 1].n);
		assert_memory_equal(pairs[i].name, pairs[i - 1].name, pairs[i].n);
		same_name++;
	}
	assert_true(same_name > 0 && same_name < PAIRS / 2);
	free(pairs);
}

SENTENCE(a_key_is_read_back_as_the_name_that_it_is_of)
{
	char name[64], key[193], back[192];
	size_t length;

	for (unsigned c = 1; c < 256; c++) {
		char byte = (char)c;
		size_t size = lsh_key_encode(key, &byte, 1);

		assert_true(lsh_key_decode(back, &length, key, size));
		assert_int_equal(length, 1);
		assert_int_equal((unsigned char)back[0], c);
	}
	for (int i = 0; i < 30000; i++) {
		size_t n = some_name(name, sizeof(name)), size = lsh_key_encode(key, name, n);

		if (n == 0 || memchr(name, '\0', n) != NULL) {
			assert_false(lsh_key_decode(back, &length, key, size));
			continue;
		}
		memset(back, '#', sizeof(back));
		assert_true(lsh_key_decode(back, &length, key, size));
		assert_int_equal(length, n);
		assert_memory_equal(back, name, n);
		assert_int_equal(back[size], '#');
	}
}

/* Any text of a few bytes: whatever is read is written the same way again, so no two keys are one name. */
SENTENCE(only_what_a_name_is_written_as_is_read_as_a_key)
{
	static const char *const bad[] = {
		"", "%", "%2", "%20%", "a%2", "%2G", "%g0", "%7b", "%7B%7d", "%41", "%%", "%2520%", "%00", "a%00", "a b", "a{", "}", "\n", "\x7f", " ", "%+2",
	};
	char some_key[8], back[8], again[25];
	size_t length = 42, read = 0;

	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_false(lsh_key_decode(back, &length, bad[i], strlen(bad[i])));
		assert_int_equal(length, 42);
	}
	assert_false(lsh_key_decode(back, &length, "a\0", 2));
	assert_false(lsh_key_decode(back, &length, "%20", 2)); /* looks no further than it may */
	for (int i = 0; i < 300000; i++) {
		size_t n = 1 + some(sizeof(some_key));

		for (size_t j = 0; j < n; j++)
			some_key[j] = "%%%%0257BDFabf{} \n"[some(18)];
		if (!lsh_key_decode(back, &length, some_key, n))
			continue;
		read++;
		assert_int_equal(lsh_key_encode(again, back, length), n);
		assert_memory_equal(again, some_key, n);
	}
	assert_true(read > 1000);
}

SENTENCE(the_first_word_is_compared_whole)
{
	assert_true(lsh_starts_with_word("NOSCRIPT No matching script", "NOSCRIPT"));
	assert_true(lsh_starts_with_word("NOSCRIPT", "NOSCRIPT"));
	assert_false(lsh_starts_with_word("NOSCRIPTS are", "NOSCRIPT"));
	assert_false(lsh_starts_with_word("NOSCRIP", "NOSCRIPT"));
	assert_false(lsh_starts_with_word("noscript x", "NOSCRIPT"));
	assert_false(lsh_starts_with_word("ERR NOSCRIPT", "NOSCRIPT"));
	assert_false(lsh_starts_with_word("NOSCRIPT: x", "NOSCRIPT"));
	assert_false(lsh_starts_with_word("", "ERR"));
}

static const uint64_t edges[] = {
	0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 65535, 65536, 999999999, 1000000000, UINT32_MAX, INT64_MAX,
	UINT64_C(9999999999999999999), UINT64_C(10000000000000000000), UINT64_MAX - 1, UINT64_MAX,
};

static void
check_decimal(uint64_t n)
{
	char wanted[32], out[LSH_DECIMAL_DIGITS];
	size_t length = (size_t)snprintf(wanted, sizeof(wanted), "%" PRIu64, n);
	uint64_t back = ~n;

	assert_int_equal(lsh_decimal_write(out, n), length);
	assert_memory_equal(out, wanted, length);
	assert_true(lsh_decimal_read(out, length, &back));
	assert_true(back == n);
}

SENTENCE(numbers_come_back_as_they_went)
{
	for (size_t i = 0; i < COUNT(edges); i++)
		check_decimal(edges[i]);
	for (int i = 0; i < 20000; i++) {
		uint64_t n = some(UINT64_C(1) << 32) << 32 | some(UINT64_C(1) << 32);

		check_decimal(n >> some(64));
	}
}

SENTENCE(only_the_canonical_form_is_a_number)
{
	static const char *const bad[] = {
		"", "00", "01", "007", "+1", "-1", " 1", "1 ", "1\n", "0x1", "1.0", "1e3", "a",
		"18446744073709551616",
		"18446744073709551620", "28446744073709551615", "99999999999999999999",
		"100000000000000000000", "1/", "1:", "\xd9\xa1",
	};
	uint64_t n = 42;

	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_false(lsh_decimal_read(bad[i], strlen(bad[i]), &n));
		assert_int_equal(n, 42);
	}
	assert_false(lsh_decimal_read("1\0", 2, &n));
	assert_int_equal(n, 42);
}

SENTENCE(letter_case_of_ascii_alone_is_looked_past)
{
	assert_true(lsh_is_like("", ""));
	assert_true(lsh_is_like("Cache-A.Example", "cACHE-a.eXAMPLE"));
	assert_false(lsh_is_like("a", "ab"));
	assert_false(lsh_is_like("ab", "a"));
	assert_false(lsh_is_like("[", "{")); /* as far apart as a letter's two cases */
	assert_false(lsh_is_like("\xc4", "\xe4")); /* of Latin-1 these are one letter */
}
