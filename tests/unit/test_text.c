/* Names shown and names in keys: printable, within bounds, and never two names as one. And numbers in decimal. */
#include "base/text.h"

#include "tests/support/random.h"
#include "tests/support/test.h"

#include <inttypes.h>

static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

/* A random name, of few different bytes, so that those that matter meet often. */
static size_t
some_name(char *out, size_t max)
{
	static const char likely[] = "%{}\\'x0 aA2\0\x7f\xff.\n";
	size_t n = random_below(&seed, (uint32_t)max + 1);

	for (size_t i = 0; i < n; i++)
		out[i] = random_below(&seed, 8) != 0 ? likely[random_below(&seed, sizeof(likely))] : (char)random_below(&seed, 256);
	return n;
}

SENTENCE(a_name_is_shown_printable_and_what_does_not_fit_is_cut_off_and_marked)
{
	static const struct {
		size_t size;
		const char *bytes;
		size_t n;
		const char *shown;
	} cases[] = {
#define ALL(bytes, shown) {256, bytes, sizeof(bytes) - 1, shown}
		ALL("", ""), ALL("orders/2024-01 {x} \"y\" %41 ~", "orders/2024-01 {x} \"y\" %41 ~"), ALL("it's", "it\\x27s"),
		ALL("a\\b", "a\\x5cb"), ALL("\\x0a", "\\x5cx0a"), ALL("\n", "\\x0a"), ALL("a\0b\xff\x7f", "a\\x00b\\xff\\x7f"),
		{7, "orders", 6, "orders"}, {6, "orders", 6, "or..."}, {5, "orders", 6, "o..."}, {4, "orders", 6, "..."},
		{3, "orders", 6, ".."}, {2, "orders", 6, "."}, {1, "orders", 6, ""}, {1, "", 0, ""},
		{5, "\n", 1, "\\x0a"}, {4, "\n", 1, "..."}, {8, "\n\n", 2, "\\x0a..."}, {7, "\n\n", 2, "..."},
		{5, "\\", 1, "\\x5c"}, {4, "\\", 1, "..."}, {10, "a''", 3, "a\\x27\\x27"}, {9, "a''", 3, "a\\x27..."},
	};
	char out[257], name[95];

	for (size_t i = 0; i < COUNT(cases); i++) {
		memset(out, 'Z', sizeof(out));
		assert_int_equal(lsh_show(out, cases[i].size, cases[i].bytes, cases[i].n), strlen(cases[i].shown));
		assert_string_equal(out, cases[i].shown);
		for (size_t j = cases[i].size; j < sizeof(out); j++)
			assert_int_equal(out[j], 'Z');
	}
	assert_int_equal(lsh_show(&out[256], 0, "orders", 6), 0);
	assert_int_equal(out[256], 'Z');
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = (char)(' ' + i);
	assert_int_equal(lsh_show(out, sizeof(out), name, sizeof(name)), sizeof(name) + 2 * 3);
	assert_int_equal(lsh_show_text(out, sizeof(out), "lock 'a\\x0a'\r\n", 14), 20); /* where quotes and backslashes stand */
	assert_string_equal(out, "lock 'a\\x0a'\\x0d\\x0a");
}

/* And in any room it is shown within bounds. */
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
				assert_int_equal(sscanf(&shown[i + 2], "%2hhx", (unsigned char *)&back[m++]), 1);
				i += 4;
			}
		}
		assert_int_equal(m, n);
		assert_memory_equal(back, name, n);

		size_t size = random_below(&seed, sizeof(shown)) + 1;
		char *out = malloc(size); /* of just that size: a sanitizer sees a byte too many */
		size_t cut = lsh_show(out, size, name, n);
		assert_int_equal(strlen(out), cut);
		assert_true(cut < size);
		if (length < size) {
			assert_string_equal(out, shown);
		} else if (size > 3) {
			assert_string_equal(out + cut - 3, "...");
			assert_memory_equal(out, shown, cut - 3);
			assert_true(cut + 4 >= size); /* no more was cut off than had to be: an escape is 4 long */
		}
		free(out);
	}
}

SENTENCE(in_keys_only_what_breaks_them_is_encoded)
{
	static const char name[] = "{a} b%\n\0\x7f:42/\xc3\xa9'\"*?[a]\\%7B";
	char key[3 * 512 + 1], byte[512], wanted[4];

	assert_int_equal(lsh_key_encode(key, "", 0), 0);
	assert_string_equal(key, "");
	lsh_key_encode(key, name, sizeof(name) - 1);
	assert_string_equal(key, "%7Ba%7D%20b%25%0A%00%7F:42/\xc3\xa9'\"*?[a]\\%257B");
	for (unsigned c = 0; c < 256; c++) {
		bool stands = c > 0x20 && c != 0x7f && c != '{' && c != '}' && c != '%';

		byte[0] = (char)c;
		snprintf(wanted, sizeof(wanted), stands ? "%c" : "%%%02X", c);
		assert_int_equal(lsh_key_encode(key, byte, 1), stands ? 1 : 3);
		assert_string_equal(key, wanted);
	}
	memset(byte, '%', sizeof(byte)); /* the largest */
	assert_int_equal(lsh_key_encode(key, byte, sizeof(byte)), 3 * sizeof(byte));
	assert_int_equal(strlen(key), 3 * sizeof(byte));
}

/* So no two names have one key. */
SENTENCE(a_key_is_read_back_as_the_name_that_it_is_of)
{
	char name[64], key[193], back[192];
	size_t length;

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
		"", "%", "%2", "%20%", "a%2", "%2G", "%g0", "%7b", "%7B%7d", "%41", "%%", "%2520%", "%00", "a%00", "a b", "a{",
		"}", "\n", "\x7f", " ", "%+2",
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
		size_t n = 1 + random_below(&seed, sizeof(some_key));

		for (size_t j = 0; j < n; j++)
			some_key[j] = "%%%%0257BDFabf{} \n"[random_below(&seed, 18)];
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
	static const char *const others[] = {"NOSCRIPTS are", "NOSCRIP", "noscript x", "ERR NOSCRIPT", "NOSCRIPT: x", ""};

	assert_true(lsh_starts_with_word("NOSCRIPT No matching script", "NOSCRIPT"));
	assert_true(lsh_starts_with_word("NOSCRIPT", "NOSCRIPT"));
	for (size_t i = 0; i < COUNT(others); i++)
		assert_false(lsh_starts_with_word(others[i], "NOSCRIPT"));
}

SENTENCE(numbers_come_back_as_they_went)
{
	static const uint64_t edges[] = {
		0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 65535, 65536, 999999999, 1000000000, UINT32_MAX, INT64_MAX,
		UINT64_C(9999999999999999999), UINT64_C(10000000000000000000), UINT64_MAX - 1, UINT64_MAX,
	};

	for (size_t i = 0; i < 20000; i++) {
		uint64_t n = i < COUNT(edges) ? edges[i] : random_next(&seed) >> random_below(&seed, 64), back = ~n;
		char wanted[32], out[LSH_DECIMAL_DIGITS];
		size_t length = (size_t)snprintf(wanted, sizeof(wanted), "%" PRIu64, n);

		assert_int_equal(lsh_decimal_write(out, n), length);
		assert_memory_equal(out, wanted, length);
		assert_true(lsh_decimal_read(out, length, &back));
		assert_true(back == n);
	}
}

SENTENCE(only_the_canonical_form_is_a_number)
{
	static const char *const bad[] = {
		"", "00", "01", "007", "+1", "-1", " 1", "1 ", "1\n", "0x1", "1.0", "1e3", "a",
		"18446744073709551616", "18446744073709551620", "28446744073709551615", "99999999999999999999",
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
