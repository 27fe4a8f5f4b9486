/* Replies: what a server says, what it must not say, in pieces of any size, without a single allocation. */
#include "redis/reply.h"
#include "tests/support/random.h"
#include "tests/support/resident.h"
#include "tests/support/sanitizer.h"
#include "tests/support/test.h"

#define BYTES(literal) (literal), sizeof(literal) - 1

/* ---- malloc, counted and failing: hiredis 0.14 has no hooks of its own. Sanitizers need theirs ---- */

#if !UNDER_ASAN && !UNDER_TSAN

static volatile size_t allocations; /* the compiler knows that malloc() changes no variable */
static volatile size_t fail_at; /* the how manieth allocation from now on is refused; 0: none */

static bool
is_refused(void)
{
	allocations++;
	return fail_at != 0 && --fail_at == 0;
}

#pragma GCC visibility push(default) /* hiredis finds them only if they are exported */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *
malloc(size_t size)
{
	return is_refused() ? NULL : __libc_malloc(size);
}

void *
calloc(size_t count, size_t size)
{
	return is_refused() ? NULL : __libc_calloc(count, size);
}

void *
realloc(void *old, size_t size)
{
	return is_refused() ? NULL : __libc_realloc(old, size);
}

#pragma GCC visibility pop

/* valgrind puts its own in the place of ours. */
static void
need_counted_malloc(void)
{
	size_t before = allocations;
	char *volatile p = malloc(1);

	free(p);
	if (allocations == before)
		skip();
}

#endif

struct transcript {
	char text[65536];
	size_t size;
};

static void __attribute__((format(printf, 2, 3)))
add(struct transcript *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	t->size += (size_t)vsnprintf(t->text + t->size, sizeof t->text - t->size, format, args);
	va_end(args);
	assert_true(t->size < sizeof t->text);
}

static void
add_item(struct transcript *t, const struct lsh_item *item)
{
	static const char first[] = {[LSH_STRING] = '$', [LSH_STATUS] = '+', [LSH_ERROR] = '-'};

	assert_int_not_equal(item->type, LSH_ARRAY);
	if (item->type == LSH_NIL || item->type == LSH_INTEGER) {
		add(t, item->type == LSH_NIL ? "nil" : ":%lld", (long long)item->integer);
		return;
	}
	add(t, "%c", first[item->type]);
	assert_int_equal(item->text[item->length], '\0');
	for (size_t i = 0; i < item->length; i++)
		add(t, item->text[i] >= ' ' && item->text[i] <= '~' ? "%c" : "\\x%02x", (unsigned char)item->text[i]);
}

static void
add_message(struct transcript *t, const struct lsh_message *m)
{
	assert_true(m->count <= LSH_ITEMS);
	if (m->type == LSH_ARRAY) {
		add(t, "[");
		for (unsigned i = 0; i < m->count; i++) {
			add(t, i > 0 ? " " : "");
			add_item(t, &m->item[i]);
		}
		add(t, "]");
	} else {
		assert_int_equal(m->count, 1);
		assert_int_equal(m->type, m->item[0].type);
		add_item(t, &m->item[0]);
	}
	add(t, ",");
}

/* Feed `bytes` in pieces of `piece`; each message is followed by a comma, a fault by its text and '!'. */
static void
read_in_pieces(struct lsh_reader *reader, struct transcript *t, const char *bytes, size_t size, size_t piece)
{
	const struct lsh_message *m;
	int x;

	if (piece > LSH_READ_SIZE)
		piece = LSH_READ_SIZE;
	t->size = 0;
	t->text[0] = '\0';
	assert_true(lsh_reader_reset(reader));
	for (size_t at = 0; at < size; at += piece) {
		x = lsh_reader_feed(reader, bytes + at, piece < size - at ? piece : size - at) ? 1 : -1;
		while (x > 0) {
			x = lsh_reader_next(reader, &m);
			if (x > 0)
				add_message(t, m);
		}
		if (x < 0) {
			assert_string_not_equal(lsh_reader_fault(reader), "");
			add(t, "%s!", lsh_reader_fault(reader));
			return;
		}
		assert_string_equal(lsh_reader_fault(reader), "");
	}
}

static struct lsh_reader *reader;
static struct transcript whole, pieces;

static void
start(void)
{
	reader = lsh_reader_new(true);
	assert_true(reader != NULL);
}

static void
end(void)
{
	lsh_reader_free(reader);
}

FIXTURE(start, end);

/* What comes of these bytes. */
static const struct lsh_message *
heard(struct lsh_reader *r, const char *bytes, size_t size)
{
	const struct lsh_message *m;

	assert_true(lsh_reader_feed(r, bytes, size));
	assert_int_equal(lsh_reader_next(r, &m), 1);
	return m;
}

/* The same, however it is cut. */
static void
check_pieces(const char *bytes, size_t size)
{
	static const size_t sizes[] = {1, 2, 3, 7, 1000};

	read_in_pieces(reader, &whole, bytes, size, size);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		read_in_pieces(reader, &pieces, bytes, size, sizes[i]);
		assert_string_equal(pieces.text, whole.text);
	}
}

SENTENCE(what_servers_say_is_understood_in_pieces_of_any_size)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *text;
	} cases[] = {
		{BYTES("+OK\r\n"), "+OK,"}, {BYTES("+\r\n"), "+,"},
		{BYTES("-NOSCRIPT No matching script\r\n"), "-NOSCRIPT No matching script,"},
		{BYTES(":0\r\n:-1\r\n:1700000000123456\r\n"), ":0,:-1,:1700000000123456,"},
		{BYTES(":9223372036854775807\r\n:-9223372036854775808\r\n"), ":9223372036854775807,:-9223372036854775808,"},
		{BYTES("$0\r\n\r\n$3\r\nabc\r\n"), "$,$abc,"}, {BYTES("$4\r\n\r\n\r\n\r\n"), "$\\x0d\\x0a\\x0d\\x0a,"},
		{BYTES("$5\r\na\0b\0c\r\n"), "$a\\x00b\\x00c,"}, {BYTES("+a\0b\r\n"), "+a\\x00b,"},
		{BYTES("$-1\r\n*-1\r\n"), "nil,nil,"}, {BYTES("*0\r\n*1\r\n$-1\r\n*1\r\n*-1\r\n"), "[],[nil],[nil],"},
		{BYTES("*3\r\n:0\r\n:1999\r\n:1700000000123456\r\n"), "[:0 :1999 :1700000000123456],"},
		{BYTES("*4\r\n$1\r\na\r\n-ERR b\r\n+c\r\n:4\r\n+OK\r\n"), "[$a -ERR b +c :4],+OK,"},
		{BYTES("*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$3\r\ng x\r\n"), "[$message $ch $g x],"},
		{BYTES("*16\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n"
		       ":9\r\n:10\r\n:11\r\n:12\r\n:13\r\n:14\r\n:15\r\n:16\r\n"),
		 "[:1 :2 :3 :4 :5 :6 :7 :8 :9 :10 :11 :12 :13 :14 :15 :16],"},
		/* what came before a fault is told, and nothing behind it */
		{BYTES(":1\r\n$2\r\nok\r\n*2\r\n:1\r\n*0\r\n+OK\r\n"), ":1,$ok,arrays nested too deep!"},
		{BYTES("+a half"), ""}, {BYTES("*2\r\n:1\r\n"), ""}, {BYTES("$536870912\r\nthe rest is still to come"), ""},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		check_pieces(cases[i].bytes, cases[i].size);
		assert_string_equal(whole.text, cases[i].text);
	}
}

static void
check_fault(const char *bytes, size_t size)
{
	check_pieces(bytes, size);
	if (whole.size == 0 || whole.text[whole.size - 1] != '!')
		fail_msg("%s was taken for \"%s\"", bytes, whole.text);
}

SENTENCE(what_no_server_says_to_us_is_a_fault_in_pieces_of_any_size)
{
	static const char *const faults[] = {
		/* sizes */
		"$-5\r\n", "$-2\r\n", "$-9223372036854775808\r\n", "$9223372036854775808\r\n", "$18446744073709551615\r\n",
		"$99999999999999999999999999\r\n", "$\r\n", "$-\r\n", "$abc\r\n", "$ 3\r\nabc\r\n", "$03\r\nabc\r\n", "*-2\r\n",
		"*-5\r\n", "*273\r\n", "*1073741823\r\n", "*2147483647\r\n", "*2147483648\r\n", "*4294967295\r\n",
		"*4294967297\r\n:1\r\n", "*4611686018427387904\r\n", "*9223372036854775807\r\n", "*9223372036854775808\r\n",
		"*-9223372036854775808\r\n", "*18446744073709551615\r\n", "*\r\n", "*x\r\n",
		/* integers */
		":9223372036854775808\r\n", ":-9223372036854775809\r\n", ":18446744073709551616\r\n", ":\r\n", ":-\r\n",
		":+1\r\n", ":1.5\r\n", ":0x10\r\n", ":1 \r\n",
		/* arrays in arrays */
		"*1\r\n*1\r\n:1\r\n", "*2\r\n:1\r\n*0\r\n",
		("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"
		 "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"),
		/* ends of lines and strings */
		"+OK\n+OK\r\n", "+OK\r+OK\r\n", "-ERR\n\r\n", ":1\n:2\r\n", "$3\n:2\r\n", "$3\r\nabcde", "$3\r\nabc\n\r",
		"$3\r\nabc\r\r", "$3\r\nabc+OK\r\n", "$3\r\nab\r\n+OK\r\n", "$0\r\n+OK\r\n",
		/* types of RESP3 */
		"_\r\n", "#t\r\n", ",1.5\r\n", ",inf\r\n", "(3492890328409238509324850943850943825024385\r\n",
		"=15\r\ntxt:Some string\r\n", "!21\r\nSYNTAX invalid syntax\r\n", "%1\r\n+a\r\n:1\r\n", "%0\r\n", "%-1\r\n",
		"%9223372036854775807\r\n", "~1\r\n:1\r\n", "~-1\r\n", ">2\r\n+message\r\n+a\r\n", ">-1\r\n",
		"|1\r\n+a\r\n+b\r\n:1\r\n", "*2\r\n:1\r\n_\r\n", "*1\r\n#f\r\n", "*1\r\n%1\r\n+a\r\n:1\r\n",
		/* other protocols */
		"HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\xff\xfe\r\n", "\r\n", " +OK\r\n",
	};

	for (size_t i = 0; i < COUNT(faults); i++)
		check_fault(faults[i], strlen(faults[i]));
	check_fault(BYTES("$3\0\r\nabc\r\n"));
	check_fault(BYTES("\x15\x03\x01\x00\x02\x02\x46"));
	check_fault(BYTES("\0\0\0\0"));
}

/* And after a fault nothing is told until then. */
SENTENCE(a_reset_forgets_what_was_half_said)
{
	static const char *const halves[] = {"+OK", "$5\r\nab", "*3\r\n:1\r\n:2", "*3\r\n:1\r\n", ":1\r\n", ":1\r\n+O", "*"};
	const struct lsh_message *m = NULL;

	assert_true(lsh_reader_feed(reader, BYTES("*273\r\n:1\r\n+OK\r\n")));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(lsh_reader_next(reader, &m), -1);
		assert_string_equal(lsh_reader_fault(reader), "an array with too many elements");
		assert_false(lsh_reader_feed(reader, BYTES("+OK\r\n")));
	}
	assert_null(m);
	assert_true(lsh_reader_reset(reader));
	for (size_t i = 0; i < COUNT(halves); i++) {
		assert_true(lsh_reader_feed(reader, halves[i], strlen(halves[i])));
		if (i % 2 == 0)
			lsh_reader_next(reader, &m);
		assert_true(lsh_reader_reset(reader));
		assert_string_equal(lsh_reader_fault(reader), "");
		assert_int_equal(lsh_reader_next(reader, &m), 0);
		assert_string_equal(heard(reader, BYTES("+new\r\n"))->item[0].text, "new");
		assert_int_equal(lsh_reader_next(reader, &m), 0);
	}
}

SENTENCE(a_message_may_have_64_kib_and_no_byte_more)
{
	static const size_t steps[] = {1, 4096, LSH_READ_SIZE};
	static const char first[] = "+-:$*", too_long[] = "more than 64 KiB without a reply!";
	static char bytes[1 << 20];
	size_t size = 0;

	for (size_t more = 0; more < 2; more++) {
		size = LSH_READ_SIZE + more;
		assert_int_equal(snprintf(bytes, size, "$%zu\r\n", size - 10), 8);
		memset(bytes + 8, 'x', size - 8);
		memcpy(bytes + size - 2, "\r\n", 2);
		for (size_t i = 0; i < COUNT(steps); i++) {
			read_in_pieces(reader, &whole, bytes, size, steps[i]);
			if (more > 0)
				assert_string_equal(whole.text, too_long);
			else
				assert_int_equal(whole.size, 1 + LSH_TEXT_SIZE - 1 + 1); /* as much of it as is kept */
		}
	}

	memset(bytes, '1', sizeof bytes); /* a line without end */
	for (size_t i = 0; first[i] != '\0'; i++) {
		bytes[0] = first[i];
		for (size_t step = 5000; step <= LSH_READ_SIZE; step += LSH_READ_SIZE - 5000) {
			read_in_pieces(reader, &whole, bytes, sizeof bytes, step);
			assert_string_equal(whole.text, too_long);
		}
	}

	size = (size_t)snprintf(bytes, sizeof bytes, "*16\r\n"); /* an array that drags on */
	for (int i = 0; i < 16; i++)
		size += (size_t)snprintf(bytes + size, sizeof bytes - size, "$5000\r\n%05000d\r\n", i);
	check_pieces(bytes, size);
	assert_string_equal(whole.text, too_long);
}

SENTENCE(many_messages_at_once_are_all_told_but_feeding_on_without_reading_is_a_fault)
{
	static char bytes[LSH_READ_SIZE];
	const struct lsh_message *m;
	size_t told = 0;
	int fed = 0;

	for (size_t i = 0; i < sizeof bytes; i += 4)
		memcpy(bytes + i, ":7\r\n", 4);
	for (int i = 0; i < 3; i++) {
		assert_true(lsh_reader_feed(reader, bytes, sizeof bytes));
		while (lsh_reader_next(reader, &m) > 0)
			told += m->item[0].integer == 7;
	}
	assert_int_equal(told, 3 * sizeof bytes / 4);
	while (lsh_reader_feed(reader, bytes, sizeof bytes))
		assert_true(++fed <= 2);
	assert_string_equal(lsh_reader_fault(reader), "more than 64 KiB without a reply");
	assert_true(lsh_reader_reset(reader));
	assert_false(lsh_reader_feed(reader, bytes, LSH_READ_SIZE + 1)); /* reads none of them */
}

SENTENCE(strings_that_find_no_room_are_cut_off)
{
	static char bytes[20000];
	size_t size = 0, room = LSH_TEXT_SIZE;

	size += (size_t)snprintf(bytes, sizeof bytes, "*16\r\n");
	for (int i = 0; i < 16; i++) {
		size += (size_t)snprintf(bytes + size, sizeof bytes - size, "$1000\r\n");
		memset(bytes + size, 'a' + i, 1000);
		memcpy(bytes + size + 1000, "\r\n", 2);
		size += 1002;
	}
	const struct lsh_message *m = heard(reader, bytes, size);
	assert_int_equal(m->count, 16);
	for (int i = 0; i < 16; i++) {
		size_t kept = room > 1000 ? 1000 : room - 1;

		assert_int_equal(m->item[i].length, kept);
		assert_int_equal(strlen(m->item[i].text), kept);
		for (size_t j = 0; j < kept; j++)
			assert_int_equal(m->item[i].text[j], 'a' + i);
		room -= kept + 1 < room ? kept + 1 : room - 1;
	}

	/* and the next message has all the room again */
	assert_string_equal(heard(reader, BYTES("$3\r\nabc\r\n"))->item[0].text, "abc");
}

SENTENCE(a_message_stays_while_the_next_ones_are_fed)
{
	static char many[60000];

	memset(many, 'z', sizeof many);
	memcpy(many, "+", 1);
	const struct lsh_message *m = heard(reader, BYTES("*2\r\n$3\r\nabc\r\n:5\r\n"));
	assert_true(lsh_reader_feed(reader, many, sizeof many));
	assert_string_equal(m->item[0].text, "abc");
	assert_int_equal(m->item[1].integer, 5);
}

/* Somewhere some bytes go, and some come, which are others or those behind them once more: by at most eight more. */
static size_t
mutate(char *bytes, size_t size, uint64_t *seed)
{
	static const char telling[] = "+-:$*\r\n0123456789_#,(=!%~>|\xff";
	size_t most = random_below(seed, 2) == 0 ? 1 : 8, come = random_below(seed, (uint32_t)most + 1);
	size_t at = random_below(seed, (uint32_t)size), go = random_below(seed, (uint32_t)most + 1);
	bool others = random_below(seed, 4) != 0;

	go = go > size - at ? size - at : go;
	memmove(bytes + at + come, bytes + at + go, size - at - go);
	for (size_t i = 0; others && i < come; i++) {
		uint32_t any = random_below(seed, 256);

		bytes[at + i] = random_below(seed, 3) == 0 ? (char)any : telling[any % sizeof telling];
	}
	return size - go + come;
}

SENTENCE(whatever_is_said_is_read_the_same_whole_and_in_pieces)
{
	static const char said[] =
		"+OK\r\n:17\r\n$11\r\nhello world\r\n*3\r\n:0\r\n:29998\r\n:1700000000000001\r\n-ERR no such thing\r\n$-1\r\n"
		"*3\r\n$7\r\nmessage\r\n$12\r\nleash:client\r\n$24\r\ng 0123456789abcdef:1 1700\r\n*2\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n"
		"*-1\r\n*0\r\n:-9223372036854775808\r\n*4\r\n+a\r\n-b\r\n$0\r\n\r\n$-1\r\n+PONG\r\n";
	uint64_t seed = UINT64_C(0x2545f4914f6cdd1d);
	char bytes[2 * sizeof said];

	for (int round = 0; round < 4000; round++) {
		size_t size = sizeof said - 1;

		memcpy(bytes, said, size);
		for (uint32_t n = random_below(&seed, 4) + 1; n > 0 && size > 0; n--)
			size = mutate(bytes, size, &seed);
		read_in_pieces(reader, &whole, bytes, size, sizeof bytes);
		read_in_pieces(reader, &pieces, bytes, size, 1 + random_below(&seed, 20));
		assert_string_equal(pieces.text, whole.text);
	}
}

#if !UNDER_ASAN && !UNDER_TSAN

SENTENCE(nothing_is_allocated_once_a_reader_is_there)
{
	static const size_t steps[] = {1, 9, 1024, 4096, 30000, LSH_READ_SIZE};
	static const char said[] = "+OK\r\n*3\r\n:0\r\n:29998\r\n:1700000000000001\r\n-ERR no\r\n$-1\r\n*2\r\n$3\r\nabc\r\n$0\r\n\r\n:1\r\n";
	static char bytes[3 * LSH_READ_SIZE];
	const struct lsh_message *m;
	size_t size = 0;

	need_counted_malloc();
	while (size + sizeof said - 1 <= sizeof bytes) {
		memcpy(bytes + size, said, sizeof said - 1);
		size += sizeof said - 1;
	}
	size_t before = allocations;
	for (size_t i = 0; i < COUNT(steps); i++) {
		for (size_t at = 0; at < size; at += steps[i]) {
			assert_true(lsh_reader_feed(reader, bytes + at, steps[i] < size - at ? steps[i] : size - at));
			while (lsh_reader_next(reader, &m) > 0)
				continue;
		}
		assert_true(lsh_reader_reset(reader)); /* at the end of a message it has nothing to forget */
	}
	/* the largest message there can be, the longest wait, and the fault */
	memset(bytes, 'x', sizeof bytes);
	memcpy(bytes, "+", 1);
	heard(reader, BYTES(":1\r\n"));
	assert_true(lsh_reader_feed(reader, bytes, LSH_READ_SIZE));
	assert_int_equal(lsh_reader_next(reader, &m), 0);
	assert_true(lsh_reader_feed(reader, bytes + 1, LSH_READ_SIZE));
	assert_int_equal(lsh_reader_next(reader, &m), -1);
	assert_int_equal(allocations, before);
}

/* Each of them reads a message of `size` bytes, and then a small one. What they have in memory, each. */
static double
resident_behind(struct lsh_reader **readers, size_t count, size_t size)
{
	static char bytes[LSH_READ_SIZE];

	memset(bytes, 'x', sizeof bytes);
	memcpy(bytes, "+", 1);
	memcpy(bytes + size - 2, "\r\n", 2);
	for (size_t i = 0; i < count; i++) {
		heard(readers[i], bytes, size);
		assert_string_equal(heard(readers[i], BYTES("+OK\r\n"))->item[0].text, "OK");
	}
	return resident_bytes();
}

SENTENCE(a_reader_keeps_little_resident_behind_a_large_message_too)
{
	enum { READERS = 50, LITTLE = 40000 };
	struct lsh_reader *readers[READERS];

	need_counted_malloc();
	double before = resident_behind(&reader, 1, 100);
	for (int i = 0; i < READERS; i++)
		assert_non_null(readers[i] = lsh_reader_new(true));
	double small = (resident_behind(readers, READERS, 100) - before) / READERS;
	double large = (resident_behind(readers, READERS, LSH_READ_SIZE) - before) / READERS;
	printf("# %.0f bytes, and %.0f\n", small, large);
	assert_true(small > 0 && small < LITTLE && large < LITTLE);
	for (int i = 0; i < READERS; i++)
		lsh_reader_free(readers[i]);
}

SENTENCE(a_reader_that_finds_no_memory_is_refused_and_leaves_nothing_behind, BETWEEN(NULL, NULL))
{
	struct lsh_reader *r = NULL;
	size_t n;

	need_counted_malloc();
	for (n = 1; r == NULL; n++) {
		fail_at = n;
		r = lsh_reader_new(true);
		assert_true((r == NULL) == (fail_at == 0));
	}
	fail_at = 0;
	assert_true(n > 3);
	lsh_reader_free(r);
}

SENTENCE(a_reset_that_finds_no_memory_fails_until_there_is_some)
{
	const struct lsh_message *m;
	bool done = false;

	need_counted_malloc();
	for (size_t n = 1; !done; n++) {
		assert_true(lsh_reader_feed(reader, BYTES("+half")));
		fail_at = n;
		done = lsh_reader_reset(reader);
		if (!done) {
			assert_int_equal(fail_at, 0);
			assert_string_equal(lsh_reader_fault(reader), "out of memory");
			assert_false(lsh_reader_feed(reader, BYTES("+OK\r\n")));
			assert_int_equal(lsh_reader_next(reader, &m), -1);
			assert_true(lsh_reader_reset(reader));
		}
		fail_at = 0;
		heard(reader, BYTES("+OK\r\n"));
	}
}

#endif
