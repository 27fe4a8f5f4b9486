/* Commands: the bytes on the wire, against a plain writer of the same, and the room that they were said to need. */
#include "redis/command.h"

#include "tests/support/test.h"

#include <inttypes.h>

static void
check(const struct lsh_arg *args, size_t count, const char *wanted, size_t size)
{
	size_t room = lsh_command_size(args, count);
	char *out = malloc(room); /* of just that size: a sanitizer sees a byte too many */

	assert_true(room >= size && room - size <= 20 * (count + 1));
	assert_int_equal(lsh_command_write(out, args, count), size);
	assert_memory_equal(out, wanted, size);
	free(out);
}

SENTENCE(a_command_is_an_array_of_bulk_strings)
{
	static const char ping[] = "*1\r\n$4\r\nPING\r\n";
	static const char set[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$11\r\nhello world\r\n";
	const struct lsh_arg args[] = {LSH_ARG("SET"), LSH_ARG("k"), lsh_arg_text("hello world")};

	check(&LSH_ARG("PING"), 1, ping, sizeof(ping) - 1);
	check(args, COUNT(args), set, sizeof(set) - 1);
}

SENTENCE(arguments_may_be_empty_or_of_any_bytes)
{
	static const char wanted[] = "*4\r\n$0\r\n\r\n$5\r\n\r\n\0$\xff\r\n$0\r\n\r\n$0\r\n\r\n";
	const struct lsh_arg args[] = {LSH_ARG(""), {"\r\n\0$\xff", 5}, {NULL, 0}, lsh_arg_text("")};

	check(args, COUNT(args), wanted, sizeof(wanted) - 1);
}

SENTENCE(numbers_are_written_in_decimal)
{
	static const int64_t numbers[] = {
		0, 1, 9, 10, 99, 100, 999, 1000, 12345678, 999999999, 1000000000, INT64_C(999999999999999999),
		INT64_C(1000000000000000000),
		-1, -9, -10, -100, INT32_MIN, INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1,
	};

	for (size_t i = 0; i < COUNT(numbers); i++) {
		char digits[LSH_DECIMAL_SIZE], wanted[32];
		struct lsh_arg arg = lsh_arg_decimal(digits, numbers[i]);

		snprintf(wanted, sizeof(wanted), "%" PRId64, numbers[i]);
		assert_ptr_equal(arg.bytes, digits);
		assert_int_equal(arg.size, strlen(wanted));
		assert_string_equal(digits, wanted);
	}
}

SENTENCE(commands_of_all_sizes_are_as_a_plain_writer_writes_them)
{
	enum { ARGS = 120, SIZE = 12000, ROOM = ARGS * 40 + ARGS * SIZE };
	char *bytes = malloc(SIZE), *wanted = malloc(ROOM);
	uint32_t seed = 7;

	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (char)(i * 37);
	for (int round = 0; round < 400; round++) {
		struct lsh_arg args[ARGS];
		size_t count, size;

		seed = seed * 1664525u + 1013904223u;
		count = 1 + (seed >> 16) % (round % 10 == 0 ? ARGS : 12);
		size = (size_t)snprintf(wanted, ROOM, "*%zu\r\n", count);
		for (size_t i = 0; i < count; i++) {
			seed = seed * 1664525u + 1013904223u;
			args[i].size = (seed >> 16) % (i == 3 ? SIZE : 120);
			args[i].bytes = bytes + (SIZE - args[i].size) / 2;
			size += (size_t)snprintf(wanted + size, ROOM - size, "$%zu\r\n", args[i].size);
			memcpy(wanted + size, args[i].bytes, args[i].size);
			memcpy(wanted + size + args[i].size, "\r\n", 2);
			size += args[i].size + 2;
		}
		check(args, count, wanted, size);
	}
	free(bytes);
	free(wanted);
}

SENTENCE(the_room_needed_is_right_where_a_size_gains_a_digit)
{
	static const size_t sizes[] = {9, 10, 11, 99, 100, 101, 999, 1000, 9999, 10000, 65535, 65536, 99999, 100000};
	char *bytes = calloc(1, 100000), *wanted = malloc(100100);

	for (size_t i = 0; i < COUNT(sizes); i++) {
		const struct lsh_arg arg = {bytes, sizes[i]};
		size_t head = (size_t)snprintf(wanted, 100, "*1\r\n$%zu\r\n", sizes[i]);

		memset(wanted + head, 0, sizes[i]);
		memcpy(wanted + head + sizes[i], "\r\n", 2);
		check(&arg, 1, wanted, head + sizes[i] + 2);
	}
	free(bytes);
	free(wanted);
}
