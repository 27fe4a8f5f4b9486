/* What Redis says of a lock and of a client is read in the form in which leash writes it, and in no other. */
#include "admin/lock_line.h"

#include "tests/support/test.h"

#define UUID "0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10"
#define TOKEN UUID ":42"
#define H71 "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh"

static leash_lock_info info;
static leash_hold_info holds[2];
static size_t count;

static bool
read_lines(const char *lines)
{
	info = (leash_lock_info){.size = 5, .name = "law", .depth = 77};
	count = 0;
	return lsh_lock_lines_read(lines, &info, holds, 2, &count);
}

#define HEAD "1\n2\n0\n5\n-1\n"
#define ONE "1\n1\n0\n5\n-1\n"

SENTENCE(lines_that_are_none_are_not_read)
{
	static const char *const texts[] = {
		"", "\n", "hello", "1\n2\n0\n5\n", "1\n2\n0\n5\n\n",
		/* numbers */
		"1\n-1\n0\n5\n-1\n", "1\n0\n-1\n5\n-1\n", "1\n0\n0\n-5\n-1\n", "1\n0\n0\n5\n-2\n", "1\n0\n0\n5\n1000001\n",
		"1\n0\n0\n36028797018963968\n-1\n", "1\n0x\n0\n5\n-1\n",
		/* nobody has it, and somebody does */
		HEAD, "1\n0\n0\n5\n-1\n" TOKEN " 1/4\n5\n",
		/* how long still */
		HEAD TOKEN " 1/4\n", HEAD TOKEN " 1/4\n0\n", HEAD TOKEN " 1/4\n-1\n", HEAD TOKEN " 1/4\n-2\n",
		HEAD TOKEN " 1/4\n5x\n", HEAD TOKEN " 1/4\n9223372036854775808\n", ONE TOKEN " 1\n0\n", ONE TOKEN " 1\n-2\n",
		/* needs and depths */
		HEAD "\n", HEAD TOKEN, HEAD TOKEN "\n5\n", HEAD TOKEN " \n5\n", HEAD TOKEN " /\n5\n", HEAD TOKEN " 1/\n5\n",
		HEAD TOKEN " /1\n5\n", HEAD TOKEN " 0/1\n5\n", HEAD TOKEN " 2/1\n5\n", HEAD TOKEN " 1/2 2\n5\n",
		HEAD TOKEN " 1001/2000\n5\n", HEAD TOKEN " 1/1000001\n5\n", HEAD TOKEN " 1/+4\n5\n", HEAD TOKEN " ww\n5\n",
		ONE TOKEN " 65536\n5\n", ONE TOKEN " 0\n5\n", ONE TOKEN " -1\n5\n", ONE TOKEN " 1e3\n5\n",
		HEAD TOKEN " 1\n5\n", /* a mutex has one holder */
		/* more holds than there may be */
		HEAD TOKEN " 1/4\n5\n" TOKEN " 1/4\n5\n" TOKEN " 1/4\n5\n",
		/* nobody holds a gate, and who waits there is one alone */
		HEAD TOKEN " >3\n0\n", "1\n0\n1\n0\n-1\n" TOKEN " >3\n5\n", "1\n0\n1\n0\n-1\n" TOKEN " +\n0\n",
		"1\n0\n1\n0\n-1\n" TOKEN " =3\n0\n" TOKEN " =3\n0\n", HEAD TOKEN " +\n5\n" TOKEN " =3\n0\n",
		"1\n0\n1\n0\n-1\n" TOKEN " =0\n0\n", "1\n0\n1\n0\n-1\n" TOKEN " =1001\n0\n",
		"1\n0\n1\n0\n-1\n" TOKEN " >1000001\n0\n", "1\n0\n1\n0\n-1\n" TOKEN " =\n0\n", HEAD TOKEN " ++\n5\n",
		/* tokens */
		HEAD UUID " 1/4\n5\n", HEAD UUID ": 1/4\n5\n", HEAD UUID ":1x 1/4\n5\n",
		HEAD UUID ":123456789012345678901 1/4\n5\n", HEAD "0c6f1d52x8a1e-4b7e-9d0a-3f1c5e7a9b10:42 1/4\n5\n",
		HEAD "0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b1\033:42 1/4\n5\n",
	};

	for (size_t i = 0; i < COUNT(texts); i++)
		if (read_lines(texts[i]) || info.depth != 77)
			fail_msg("'%s' was read", texts[i]);
}

SENTENCE(a_mutex_is_read_to_the_largest_numbers_that_it_may_have)
{
	assert_true(read_lines("0\n1\n9223372036854775807\n9007199254740991\n-1\n"
	                       UUID ":99999999999999999999 65535\n9223372036854775807\n"));
	assert_true(info.held && info.kind == LEASH_KIND_MUTEX && info.out == 1 && info.count == 0 && info.permits == 0);
	assert_string_equal(info.holder.token, UUID ":99999999999999999999");
	assert_int_equal(info.depth, 65535);
	assert_true(info.remaining_ms == INT64_MAX && holds[0].remaining_ms == INT64_MAX);
	assert_true(info.fence == UINT64_C(9007199254740991) * 256);
	assert_true(info.held_since_ms == INT64_C(9007199254740));
	assert_int_equal(info.waiting, UINT32_MAX);
	assert_true(read_lines(ONE TOKEN " 1\n-1\n"));
	assert_true(info.remaining_ms == -1 && holds[0].remaining_ms == -1 && count == 1);
	assert_true(info.size == 5 && strcmp(info.name, "law") == 0);
}

SENTENCE(what_nobody_has_is_of_no_kind)
{
	assert_true(read_lines("0\n0\n3\n5\n0\n"));
	assert_true(!info.held && info.kind == LEASH_KIND_NONE && info.out == 0 && info.limit == 0 && count == 0);
	assert_true(info.fence == 5 * 256 && info.waiting == 3 && info.held_since_ms == 0 && info.remaining_ms == 0);
	assert_string_equal(info.holder.token, "");
}

SENTENCE(permits_are_read_to_the_largest_numbers_that_they_may_have)
{
	assert_true(read_lines("1\n9223372036854775807\n0\n5000000\n1000000\n" TOKEN " 1000/1000000\n9223372036854775807\n"
	                       UUID ":1 1/4\n1\n"));
	assert_true(info.kind == LEASH_KIND_SEMAPHORE && info.held && info.depth == 1 && count == 2);
	assert_true(info.out == INT64_MAX && info.count == 1000 && info.permits == 1000000 && info.limit == 1000000);
	assert_true(info.remaining_ms == INT64_MAX && info.held_since_ms == 5000);
	assert_string_equal(info.holder.token, TOKEN);
	assert_true(holds[0].count == 1000 && holds[0].limit == 1000000 && holds[0].remaining_ms == INT64_MAX);
	assert_true(holds[1].count == 1 && holds[1].limit == 4 && holds[1].remaining_ms == 1);
	assert_string_equal(holds[1].who.token, UUID ":1");
}

SENTENCE(who_reads_and_who_writes_has_a_read_write_lock)
{
	assert_true(read_lines(HEAD TOKEN " 1/0\n5\n" UUID ":1 1/0\n4\n"));
	assert_true(info.kind == LEASH_KIND_READ_WRITE && info.out == 2 && info.count == 1 && info.permits == 0);
	assert_true(holds[1].count == 1 && holds[1].limit == 0 && holds[1].remaining_ms == 4);
	assert_true(read_lines(ONE TOKEN " w\n5\n"));
	assert_true(info.kind == LEASH_KIND_READ_WRITE && info.out == 1 && info.count == 0 && info.permits == 0);
	assert_true(holds[0].count == 0 && holds[0].limit == 0);
}

SENTENCE(who_was_woken_has_a_condition)
{
	assert_true(read_lines(ONE TOKEN " ?\n5\n"));
	assert_true(info.kind == LEASH_KIND_CONDITION && info.out == 1 && info.count == -1 && info.permits == 0);
	assert_true(holds[0].count == -1 && holds[0].limit == 0);
}

SENTENCE(of_a_gate_is_read_who_has_arrived_or_that_somebody_waits)
{
	assert_true(read_lines("1\n2\n3\n0\n-1\n" TOKEN " +\n86400000\n" UUID ":1 +\n4\n"));
	assert_true(info.kind == LEASH_KIND_LATCH && info.held && info.out == 2 && info.waiting == 3 && count == 2);
	assert_true(info.permits == 0 && info.count == 1 && holds[0].count == 1 && holds[0].limit == 0);
	assert_true(read_lines("1\n0\n3\n0\n-1\n" TOKEN " >1000000\n0\n"));
	assert_true(info.kind == LEASH_KIND_LATCH && !info.held && info.permits == 1000000 && info.waiting == 3 && count == 0);
	assert_string_equal(info.holder.token, "");
	assert_true(read_lines("1\n0\n3\n0\n-1\n" TOKEN " =1000\n0\n"));
	assert_true(info.kind == LEASH_KIND_BARRIER && !info.held && info.permits == 1000 && info.out == 0 && count == 0);
}

SENTENCE(a_place_is_read_with_what_it_waits_for)
{
	static const char *const none[] = {"", TOKEN, TOKEN " ", TOKEN " x", TOKEN " -1", TOKEN " 1/4 ", TOKEN " w x",
	                                   TOKEN " x 3000", TOKEN " ?? 3000", TOKEN " 1/4 1 3000", UUID " 3000", TOKEN "  3000"};
	static const struct {
		const char *text;
		int64_t count, limit;
	} places[] = {{TOKEN " 3000", 0, 0}, {TOKEN " w 3000", 0, 0}, {TOKEN " 1/0 3000", 1, 0}, {TOKEN " 2/3 3000", 2, 3},
	              {TOKEN " ? 3000", -1, 0}, {TOKEN " >3 3000", 1, 3}, {TOKEN " =3 3000", 1, 3}};
	leash_waiter_info waiter;

	for (size_t i = 0; i < COUNT(places); i++) {
		assert_true(lsh_place_read(places[i].text, strlen(places[i].text), &waiter));
		assert_true(waiter.count == places[i].count && waiter.limit == places[i].limit);
		assert_string_equal(waiter.who.token, TOKEN);
	}
	for (size_t i = 0; i < COUNT(none); i++)
		if (lsh_place_read(none[i], strlen(none[i]), &waiter))
			fail_msg("'%s' was read", none[i]);
}

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
