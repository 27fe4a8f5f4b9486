/* Surveys: what a node says of its cluster is understood, or refused as a whole; so is where it sends us. */
#include "redis/slots.h"

#include "tests/support/test.h"
#include "tests/support/trouble.h"

#include <hiredis/hiredis.h>

static redisReply *slots; /* what a server has sent; it is freed with the next */
static unsigned served;

/* Is that of slots, and makes sense? */
static bool
reads(const char *text)
{
	redisReader *reader = redisReaderCreate();

	if (slots != NULL)
		freeReplyObject(slots);
	assert_non_null(reader);
	redisReaderFeed(reader, text, strlen(text));
	if (redisReaderGetReply(reader, (void **)&slots) != REDIS_OK || slots == NULL)
		trouble("that is no answer: %s", text);
	redisReaderFree(reader);
	return lsh_slots_fault(slots, "asked", &served) == NULL;
}

static struct lsh_slot_node
node_of(size_t range, size_t n)
{
	struct lsh_slot_node node;

	assert_true(lsh_range_node(slots, range, n, "asked", &node));
	return node;
}

static void
must_be_range(size_t i, unsigned first, unsigned last, size_t nodes)
{
	struct lsh_slot_node ignored;
	unsigned from, to;

	assert_true(lsh_range_read(slots, i, &from, &to));
	assert_int_equal(from, first);
	assert_int_equal(to, last);
	assert_false(lsh_range_node(slots, i, nodes, "asked", &ignored));
}

#define ID(c) "$40\r\n" c "234567890123456789012345678901234567890\r\n"
#define NODE(host, port, id) "*3\r\n" host "\r\n:" port "\r\n" ID(id)
#define RANGE(n, from, to) "*" n "\r\n:" from "\r\n:" to "\r\n"

SENTENCE(ranges_are_understood)
{
	assert_true(reads("*2\r\n" RANGE("4", "0", "99") NODE("$9\r\n127.0.0.1", "7000", "a")
	                  NODE("$9\r\n127.0.0.1", "7001", "b")
	                  RANGE("3", "101", "16383") NODE("$3\r\n::1", "7002", "c")));
	assert_int_equal(served, 100 + 16383 - 100);
	must_be_range(0, 0, 99, 2);
	must_be_range(1, 101, 16383, 1);
	assert_false(lsh_range_read(slots, 2, &served, &served));
	assert_string_equal(node_of(0, 0).host, "127.0.0.1"); /* the master comes first */
	assert_int_equal(node_of(0, 0).port, 7000);
	assert_int_equal(node_of(0, 1).port, 7001);
	assert_string_equal(node_of(1, 0).host, "::1");
	assert_int_equal(node_of(1, 0).id[0], 'c');
}

SENTENCE(a_host_that_is_not_named_is_the_one_that_was_asked)
{
	assert_true(reads("*2\r\n" RANGE("3", "0", "0") NODE("$0\r\n", "7000", "a") RANGE("3", "1", "1")
	                  NODE("$-1", "7001", "b")));
	assert_string_equal(node_of(0, 0).host, "asked");
	assert_string_equal(node_of(1, 0).host, "asked");
	assert_int_equal(node_of(1, 0).port, 7001);
}

/* Redis 7: "cluster-preferred-endpoint-type hostname" with no hostname set; and a port that the node does not have. */
SENTENCE(of_a_master_without_an_address_nothing_is_said)
{
	assert_true(reads("*2\r\n" RANGE("3", "0", "9") NODE("$1\r\n?", "7000", "a") RANGE("3", "10", "19")
	                  NODE("$1\r\nx", "0", "b")));
	must_be_range(0, 0, 9, 1);
	must_be_range(1, 10, 19, 1);
	assert_null(node_of(0, 0).host);
	assert_null(node_of(1, 0).host);
	assert_int_equal(served, 20);
}

SENTENCE(names_and_further_fields_of_newer_servers_are_passed_over)
{
	assert_true(reads("*1\r\n" RANGE("3", "0", "16383") "*4\r\n$6\r\ncache1\r\n:7000\r\n" ID("a")
	                  "*2\r\n$2\r\nip\r\n$8\r\n10.0.0.1\r\n"));
	assert_string_equal(node_of(0, 0).host, "cache1");
	assert_true(reads("*1\r\n" RANGE("3", "0", "16383") "*2\r\n$6\r\ncache1\r\n:7000\r\n")); /* Redis 3: no id */
	assert_string_equal(node_of(0, 0).id, "");
	assert_true(reads("*1\r\n" RANGE("2", "0", "16383")));
	assert_int_equal(served, 0);
	assert_true(reads("*0\r\n"));
	assert_int_equal(served, 0);
}

SENTENCE(one_impossible_thing_makes_all_of_it_nonsense)
{
	static const char *const bad[] = {
		"+OK\r\n", ":1\r\n", "$-1\r\n", "*1\r\n:1\r\n", "*1\r\n*0\r\n",
		"*1\r\n" RANGE("3", "5", "4") NODE("$1\r\nx", "1", "a"),
		"*1\r\n" RANGE("3", "0", "16384") NODE("$1\r\nx", "1", "a"),
		"*1\r\n" RANGE("3", "-1", "1") NODE("$1\r\nx", "1", "a"),
		"*1\r\n" RANGE("3", "0", "1") NODE("$1\r\nx", "65536", "a"),
		"*1\r\n" RANGE("3", "0", "1") NODE("$1\r\nx", "-1", "a"),
		"*1\r\n" RANGE("3", "0", "1") "*1\r\n$1\r\nx\r\n", "*1\r\n" RANGE("3", "0", "1") ":5\r\n",
		"*1\r\n" RANGE("3", "0", "1") NODE(":5", "1", "a"), "*1\r\n" RANGE("3", "0", "1") NODE("$3\r\na b", "1", "a"),
		"*1\r\n" RANGE("3", "0", "1") NODE("$3\r\na\nb", "1", "a"),
		"*1\r\n" RANGE("3", "0", "1") NODE("$3\r\na@b", "1", "a"),
		"*1\r\n" RANGE("4", "0", "1") NODE("$1\r\nx", "1", "a") "*0\r\n",
		"*1\r\n*3\r\n$1\r\n0\r\n:1\r\n" NODE("$1\r\nx", "1", "a"),
		"*2\r\n" RANGE("3", "0", "9") NODE("$1\r\nx", "1", "a") RANGE("3", "9", "10") NODE("$1\r\ny", "1", "b"),
		"*2\r\n" RANGE("3", "0", "10") NODE("$1\r\nx", "1", "a") RANGE("2", "0", "5"), /* nobody has these */
		"*2\r\n" RANGE("2", "0", "5") RANGE("3", "0", "10") NODE("$1\r\nx", "1", "a"),
	};

	for (size_t i = 0; i < COUNT(bad); i++)
		if (reads(bad[i]))
			fail_msg("%s", bad[i]);
}

SENTENCE(a_node_that_cannot_have_so_long_a_name_is_nonsense)
{
	char host[300], text[600];

	for (int size = 253; size <= 254; size++) {
		memset(host, 'h', sizeof host);
		host[size] = '\0';
		snprintf(text, sizeof text, "*1\r\n" RANGE("3", "0", "1") "*2\r\n$%d\r\n%s\r\n:1\r\n", size, host);
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
		{"MOVED 16383 ::1:65535", "MOVED", "::1", 16383, 65535},         {"ASK 7 :6381", "ASK", "said.by", 7, 6381},
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
		"MOVED 1 x:-1", "MOVED 1 x:1x",
		"MOVED 1 x:01", "MOVED 16384 x:1", "MOVED -1 x:1", "MOVED +1 x:1", "MOVED x x:1", "MOVED  1 x:1",
		"MOVED 1  x:1", "MOVED 1 x y:1",
		"MOVED 1 ?:1", "MOVED 1 x@y:1", "MOVED 1 x/y:1", "MOVEDX 1 x:1", "ASK 1 x:1", "moved 1 x:1",
		"MOVED 99999999999999999999 x:1", "MOVED 1 x:1 y:2",
	};
	struct lsh_whereabouts to;
	unsigned slot;

	for (size_t i = 0; i < COUNT(bad); i++)
		if (lsh_redirection_read(bad[i], "MOVED", "said.by", &slot, &to))
			fail_msg("%s", bad[i]);
}
