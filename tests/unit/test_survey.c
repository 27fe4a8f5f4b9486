/* Surveys: what a node says of its cluster is understood, or refused as a whole; so is where it sends us. */
#include "redis/slots.h"

#include "tests/support/test.h"

#include <hiredis/hiredis.h>

static redisReply *slots; /* what a server has sent; it is freed with the next */
static unsigned served;

/* A value of RESP: [arrays of values], numbers, words, 'other strings', nil, and @c, which is an id that begins so. */
static char *
write_value(char *out, const char **text)
{
	const char *word = *text;
	char inside[4096], *end = inside;
	bool quoted = *word == '\'';
	size_t size = quoted ? strcspn(++word, "'") : strcspn(word, " ]");
	int n = 0;

	if (*word == '[') {
		for (++*text; **text != ']'; *text += strspn(*text, " "), n++)
			end = write_value(end, text);
		++*text;
		*end = '\0';
		return out + sprintf(out, "*%d\r\n%s", n, inside);
	}
	*text = word + size + quoted;
	if (size == 3 && memcmp(word, "nil", size) == 0)
		return stpcpy(out, "$-1\r\n");
	if (*word == '@')
		return out + sprintf(out, "$40\r\n%c%039d\r\n", word[1], 0);
	if (!quoted && strspn(word, "-0123456789") >= size)
		return out + sprintf(out, ":%.*s\r\n", (int)size, word);
	return out + sprintf(out, "$%zu\r\n%.*s\r\n", size, (int)size, word);
}

/* Is that of slots, and makes sense? What has ends of lines is as the server says it. */
static bool
reads(const char *text)
{
	redisReader *reader = redisReaderCreate();
	char wire[4096];

	if (strstr(text, "\r\n") != NULL)
		strcpy(wire, text);
	else
		write_value(wire, &(const char *){text});
	if (slots != NULL)
		freeReplyObject(slots);
	assert_non_null(reader);
	redisReaderFeed(reader, wire, strlen(wire));
	if (redisReaderGetReply(reader, (void **)&slots) != REDIS_OK || slots == NULL)
		fail_msg("that is no answer: %s", text);
	redisReaderFree(reader);
	return lsh_slots_fault(slots, "asked", &served) == NULL;
}

struct survey {
	const char *name, *says;
	unsigned served;
	const char *understood; /* the ranges, with host:port/id of each node, of which id the first; -: is not said */
};

static const struct survey surveys[] = {
	/* the master comes first */
	{"ranges_are_understood",
	 "[[0 99 [127.0.0.1 7000 @a] [127.0.0.1 7001 @b]] [101 16383 [::1 7002 @c]]]", 16383,
	 "0-99 127.0.0.1:7000/a 127.0.0.1:7001/b 101-16383 ::1:7002/c "},
	{"a_host_that_is_not_named_is_the_one_that_was_asked",
	 "[[0 0 ['' 7000 @a]] [1 1 [nil 7001 @b]]]", 2, "0-0 asked:7000/a 1-1 asked:7001/b "},
	/* Redis 7: "cluster-preferred-endpoint-type hostname" with no hostname set; and a port that it does not have */
	{"of_a_master_without_an_address_nothing_is_said",
	 "[[0 9 [? 7000 @a]] [10 19 [x 0 @b]]]", 20, "0-9 -/a 10-19 -/b "},
	{"names_and_further_fields_of_newer_servers_are_passed_over",
	 "[[0 16383 [cache1 7000 @a [ip 10.0.0.1]]]]", 16384, "0-16383 cache1:7000/a "},
	{"redis_3_says_no_id", "[[0 16383 [cache1 7000]]]", 16384, "0-16383 cache1:7000/- "},
	{"a_range_that_nobody_has_is_not_served", "[[0 16383]]", 0, "0-16383 "},
	{"no_range_may_be_said_at_all", "[]", 0, ""},
};

SENTENCES(is_read_so, surveys)
{
	const struct survey *survey = given;
	struct lsh_slot_node node;
	char is[512] = "";
	unsigned from, to;

	assert_true(reads(survey->says));
	assert_int_equal(served, survey->served);
	for (size_t i = 0; lsh_range_read(slots, i, &from, &to); i++) {
		sprintf(is + strlen(is), "%u-%u ", from, to);
		for (size_t n = 0; lsh_range_node(slots, i, n, "asked", &node); n++) {
			sprintf(is + strlen(is), node.host ? "%s:%u" : "-", node.host, node.port);
			sprintf(is + strlen(is), "/%c ", *node.id ? *node.id : '-');
		}
	}
	assert_string_equal(is, survey->understood);
}

SENTENCE(one_impossible_thing_makes_all_of_it_nonsense)
{
	static const char *const bad[] = {
		"+OK\r\n", "1", "nil", "[1]", "[[]]", "[[5 4 [x 1 @a]]]", "[[0 16384 [x 1 @a]]]", "[[-1 1 [x 1 @a]]]",
		"[[0 1 [x 65536 @a]]]", "[[0 1 [x -1 @a]]]", "[[0 1 [x]]]", "[[0 1 5]]", "[[0 1 [5 1 @a]]]",
		"[[0 1 ['a b' 1 @a]]]", "[[0 1 ['a\nb' 1 @a]]]", "[[0 1 [a@b 1 @a]]]", "[[0 1 [x 1 @a] []]]",
		"[['0' 1 [x 1 @a]]]", "[[0 9 [x 1 @a]] [9 10 [y 1 @b]]]",
		"[[0 10 [x 1 @a]] [0 5]]", "[[0 5] [0 10 [x 1 @a]]]", /* nobody has these */
	};

	for (size_t i = 0; i < COUNT(bad); i++)
		if (reads(bad[i]))
			fail_msg("%s", bad[i]);
}

SENTENCE(a_node_that_cannot_have_so_long_a_name_is_nonsense)
{
	char text[600];

	for (int size = 253; size <= 254; size++) {
		snprintf(text, sizeof text, "[[0 1 ['%0*d' 1]]]", size, 0);
		assert_int_equal(reads(text), size == 253);
	}
}

SENTENCE(info_tells_of_the_epoch_and_of_the_state)
{
	/* the first is not in touch with the others */
	reads("$62\r\ncluster_state:fail\r\ncluster_size:3\r\ncluster_current_epoch:17\r\n\r\n");
	assert_true(lsh_rank_read(slots) == 17);
	reads("$44\r\ncluster_state:ok\r\ncluster_current_epoch:16\r\n\r\n");
	assert_true(lsh_rank_read(slots) == (UINT64_C(1) << 63 | 16));
	reads("-NOPERM no\r\n");
	assert_true(lsh_rank_read(slots) == UINT64_C(1) << 63);
	assert_true(lsh_rank_read(NULL) == UINT64_C(1) << 63);
}

SENTENCE(redirections_are_read)
{
	static const struct {
		const char *text, *verb, *host;
		unsigned slot;
		uint16_t port;
	} good[] = {
		{"MOVED 3999 127.0.0.1:6381", "MOVED", "127.0.0.1", 3999, 6381},
		{"ASK 0 cache-a.example:1", "ASK", "cache-a.example", 0, 1},
		{"MOVED 16383 ::1:65535", "MOVED", "::1", 16383, 65535}, {"ASK 7 :6381", "ASK", "said.by", 7, 6381},
	};
	struct lsh_whereabouts to;
	char text[300];
	unsigned slot;

	for (size_t i = 0; i < COUNT(good); i++) {
		assert_true(lsh_redirection_read(good[i].text, good[i].verb, "said.by", &slot, &to));
		assert_string_equal(to.host, good[i].host);
		assert_int_equal(slot, good[i].slot);
		assert_int_equal(to.port, good[i].port);
	}
	for (int size = 230; size <= 254; size++) { /* of a name; DNS allows 253 bytes */
		snprintf(text, sizeof text, "MOVED 16383 %0*d:65535", size, 0);
		assert_int_equal(lsh_redirection_read(text, "MOVED", "said.by", &slot, &to), size <= 253);
		assert_true(size > 253 || (strlen(to.host) == (size_t)size && to.port == 65535));
	}
}

SENTENCE(what_is_no_redirection_leads_nowhere)
{
	static const char *const bad[] = {
		"", "MOVED", "MOVED ", "MOVED 1", "MOVED 1 ", "MOVED 1 x", "MOVED 1 x:", "MOVED 1 x:0", "MOVED 1 x:65536",
		"MOVED 1 x:-1", "MOVED 1 x:1x", "MOVED 1 x:01", "MOVED 16384 x:1", "MOVED -1 x:1", "MOVED +1 x:1",
		"MOVED x x:1", "MOVED  1 x:1", "MOVED 1  x:1", "MOVED 1 x y:1", "MOVED 1 ?:1", "MOVED 1 x@y:1", "MOVED 1 x/y:1",
		"MOVEDX 1 x:1", "ASK 1 x:1", "moved 1 x:1", "MOVED 99999999999999999999 x:1", "MOVED 1 x:1 y:2",
	};
	struct lsh_whereabouts to;
	unsigned slot;

	for (size_t i = 0; i < COUNT(bad); i++)
		if (lsh_redirection_read(bad[i], "MOVED", "said.by", &slot, &to))
			fail_msg("%s", bad[i]);
}
