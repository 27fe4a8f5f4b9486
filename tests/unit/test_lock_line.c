/* What Redis says of a lock and of a client is read in the form in which leash writes it, and in no other. */
#include "admin/lock_line.h"

#include "tests/support/test.h"

#define UUID "0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10"
#define TOKEN UUID ":42"
#define H71 "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh"

/* ---- locks ---- */

SENTENCE(a_line_that_is_none_is_not_read)
{
	static const char *const lines[] = {
		"", " ", "x", "hello",
		/* too few words, too many, empty ones */
		"- 0 -2 0 0", "- 0 -2 0 0 1 1", "-  0 -2 0 0 1", "- 0 -2 0 0 1 ", " - 0 -2 0 0 1",
		/* nobody has it, and somebody does */
		"- 1 -2 0 0 1", "- 0 -1 0 0 1", "- 0 5 0 0 1", TOKEN " 0 5 1 0 1", TOKEN " 1 -2 1 0 1",
		/* numbers */
		"- 0 -2 -1 0 1", "- 0 -2 0 -1 1", "- 0 -2 0 0 -1", "- 0 -2 36028797018963968 0 1",
		"- 0 -2 0 0 99999999999999999999", "- 0 -2 0 99999999999999999999 1",
		"- 0 -2 00 0 1", "- 0 -2 +1 0 1", "- 0 -2 0x1 0 1", "- 0 -2 1e3 0 1",
		TOKEN " 65536 5 1 0 1", TOKEN " 1 -3 1 0 1", TOKEN " 1 9223372036854775808 1 0 1",
		/* tokens */
		UUID " 1 5 1 0 1", UUID ": 1 5 1 0 1", UUID ":1x 1 5 1 0 1", UUID ":123456789012345678901 1 5 1 0 1",
		"0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b1\033:42 1 5 1 0 1", "0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10\n42 1 5 1 0 1",
		"0c6f1d52x8a1e-4b7e-9d0a-3f1c5e7a9b10:42 1 5 1 0 1", (H71 H71 H71 H71),
	};

	for (size_t i = 0; i < COUNT(lines); i++) {
		leash_lock_info info = {.depth = 77};

		if (lsh_lock_line_read(lines[i], strlen(lines[i]), &info) || info.depth != 77)
			fail_msg("'%s' was read", lines[i]);
	}
}

SENTENCE(a_line_is_read_to_the_largest_numbers_that_it_may_have)
{
	static const char largest[] =
		UUID ":99999999999999999999 65535 9223372036854775807 9007199254740991 18446744073709551615 0";
	leash_lock_info info = {.size = 0};

	assert_true(lsh_lock_line_read(largest, strlen(largest), &info));
	assert_true(info.held);
	assert_string_equal(info.holder.token, UUID ":99999999999999999999");
	assert_int_equal(info.depth, 65535);
	assert_true(info.remaining_ms == INT64_MAX);
	assert_true(info.fence == UINT64_C(9007199254740991) * 256);
	assert_true(info.held_since_ms == INT64_C(9007199254740));
	assert_int_equal(info.waiting, UINT32_MAX);
	assert_true(lsh_lock_line_read(TOKEN " 1 0 0 0 0", strlen(TOKEN " 1 0 0 0 0"), &info));
	assert_int_equal(info.remaining_ms, 1); /* less than a millisecond is something */
	assert_true(lsh_lock_line_read(TOKEN " 1 -1 0 0 0", strlen(TOKEN " 1 -1 0 0 0"), &info));
	assert_int_equal(info.remaining_ms, -1);
	assert_true(lsh_lock_line_read("- 0 -2 5 3 0", strlen("- 0 -2 5 3 0"), &info));
	assert_false(info.held);
	assert_int_equal(info.fence, 5 * 256);
	assert_int_equal(info.waiting, 3);
	assert_int_equal(info.held_since_ms, 0);
}

/* ---- what is shared ---- */

static bool
read_share(const char *lines, leash_semaphore_info *info, leash_permit_info *permits, size_t *count)
{
	*count = 0;
	return lsh_share_lines_read(lines, info, permits, 2, count);
}

SENTENCE(lines_of_what_is_shared_that_are_none_are_not_read)
{
#define HEAD "1\n2\n0\n5\n-1\n"
	static const char *const texts[] = {
		"", "\n", "1\n2\n0\n5\n", "1\n2\n0\n5\n\n", "1\n-1\n0\n5\n-1\n", "1\n2\n-1\n5\n-1\n", "1\n2\n0\n5\n-2\n",
		"1\n2\n0\n5\n1000001\n", "1\n2x\n0\n5\n-1\n", HEAD "\n", HEAD TOKEN, HEAD TOKEN " 1/4\n", HEAD TOKEN " 1/4\n0\n",
		HEAD TOKEN " 1/4\n-1\n", HEAD TOKEN " 1/4\n5x\n", HEAD TOKEN "\n5\n", HEAD TOKEN " \n5\n", HEAD TOKEN " /\n5\n",
		HEAD TOKEN " 1\n5\n", HEAD TOKEN " 1/\n5\n", HEAD TOKEN " /1\n5\n", HEAD TOKEN " 0/1\n5\n", HEAD TOKEN " 2/1\n5\n",
		HEAD TOKEN " 1/2 2\n5\n", HEAD TOKEN " 1001/2000\n5\n", HEAD TOKEN " 1/1000001\n5\n", HEAD TOKEN " 1/+4\n5\n",
		HEAD TOKEN " ww\n5\n", HEAD UUID " 1/4\n5\n", HEAD TOKEN " 1/4\n9223372036854775808\n",
		HEAD TOKEN " 1/4\n5\n" TOKEN " 1/4\n5\n" TOKEN " 1/4\n5\n",
	};
	leash_semaphore_info info;
	leash_permit_info permits[2];
	size_t count;

	for (size_t i = 0; i < COUNT(texts); i++)
		if (read_share(texts[i], &info, permits, &count))
			fail_msg("'%s' was read", texts[i]);
}

SENTENCE(lines_of_what_is_shared_are_read_to_the_largest_numbers_that_they_may_have)
{
	leash_semaphore_info info;
	leash_permit_info permits[2];
	size_t count;

	assert_true(read_share(HEAD, &info, permits, &count));
	assert_true(info.out == 2 && info.waiting == 0 && info.limit == -1 && count == 0);
	assert_true(read_share("1\n9223372036854775807\n9223372036854775807\n0\n1000000\n" TOKEN
	                       " 1000/1000000\n9223372036854775807\n" TOKEN " w\n1\n", &info, permits, &count));
	assert_true(info.out == INT64_MAX && info.waiting == INT64_MAX && info.limit == 1000000 && count == 2);
	assert_true(permits[0].count == 1000 && permits[0].limit == 1000000 && permits[0].remaining_ms == INT64_MAX);
	assert_true(permits[1].count == 0 && permits[1].limit == 0 && permits[1].remaining_ms == 1);
	assert_string_equal(permits[0].who.token, TOKEN);
	assert_true(read_share("1\n2\n0\n5\n0\n" TOKEN " 1/0\n1\n", &info, permits, &count));
	assert_true(info.limit == 0 && permits[0].count == 1 && permits[0].limit == 0);
}

/* ---- clients ---- */

SENTENCE(what_a_client_wrote_about_itself_is_read)
{
	static const struct {
		const char *text, *host, *program;
		int64_t pid, since_ms;
	} cases[] = {
		{"4711 1760000000 db-7.example.org nightly@~!", "db-7.example.org", "nightly@~!", 4711, 1760000000},
		{"9223372036854775807 9223372036854775807 " H71 " " H71, H71, H71, INT64_MAX, INT64_MAX},
		{"1 0 h p", "h", "p", 1, 0},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		leash_party party = {.token = TOKEN};

		assert_true(lsh_party_read(cases[i].text, strlen(cases[i].text), &party));
		assert_string_equal(party.host, cases[i].host);
		assert_string_equal(party.program, cases[i].program);
		assert_int_equal(party.pid, cases[i].pid);
		assert_int_equal(party.since_ms, cases[i].since_ms);
		assert_string_equal(party.token, TOKEN);
	}
}

SENTENCE(what_is_not_in_that_form_is_not_read)
{
	static const char *const texts[] = {
		"", " ", "1", "1 2", "1 2 host", "1 2 host ", "1 2  program", "1 2 host program ", " 1 2 host program",
		"1 2 host program more", "0 2 host program", "-1 2 host program", "+1 2 host program", "01 2 host program",
		"1.5 2 host program", "x 2 host program", "9223372036854775808 2 host program",
		"18446744073709551616 2 host program", "99999999999999999999999 2 host program", "1 -2 host program",
		"1 9223372036854775808 host program", "1\t2\thost\tprogram", "1 2 ho\nst program", "1 2 host pro\033[2Jgram",
		"1 2 h\303\266st program", "1 2 host program\n", "1 2 host \177", ("1 2 h" H71 " program"), ("1 2 host h" H71),
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		leash_party party = {.token = TOKEN, .pid = 77};

		if (lsh_party_read(texts[i], strlen(texts[i]), &party) || party.pid != 77 || party.host[0] != '\0')
			fail_msg("'%s' was read", texts[i]);
	}
}
