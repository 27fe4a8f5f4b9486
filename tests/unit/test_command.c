/* Commands: the bytes on the wire, against a plain writer of the same, and the room that they were said to need. */
#include "redis/command.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

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

static void
a_command_is_an_array_of_bulk_strings(void **state)
{
	static const char ping[] = "*1\r\n$4\r\nPING\r\n";
	static const char set[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$11\r\nhello world\r\n";
	const struct lsh_arg args[] = {LSH_ARG("SET"), LSH_ARG("k"), lsh_arg_text("hello world")};

	(void)state;
	check(&LSH_ARG("PING"), 1, ping, sizeof(ping) - 1);
	check(args, COUNT(args), set, sizeof(set) - 1);
}

static void
arguments_may_be_empty_or_of_any_bytes(void **state)
{
	static const char wanted[] = "*4\r\n$0\r\n\r\n$5\r\n\r\n\0$\xff\r\n$0\r\n\r\n$0\r\n\r\n";
	const struct lsh_arg args[] = {LSH_ARG(""), {"\r\n\0$\xff", 5}, {NULL, 0}, lsh_arg_text("")};

	(void)state;
	check(args, COUNT(args), wanted, sizeof(wanted) - 1);
}

static void
numbers_are_written_in_decimal(void **state)
{
	static const int64_t numbers[] = {
		0, 1, 9, 10, 99, 100, 999, 1000, 12345678, 999999999, 1000000000, INT64_C(999999999999999999),
		INT64_C(1000000000000000000),
		-1, -9, -10, -100, INT32_MIN, INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(numbers); i++) {
		char digits[LSH_DECIMAL_SIZE], wanted[32];
		struct lsh_arg arg = lsh_arg_decimal(digits, numbers[i]);

		snprintf(wanted, sizeof(wanted), "%" PRId64, numbers[i]);
		assert_ptr_equal(arg.bytes, digits);
		assert_int_equal(arg.size, strlen(wanted));
		assert_string_equal(digits, wanted);
	}
}

static void
commands_of_all_sizes_are_as_a_plain_writer_writes_them(void **state)
{
	enum { ARGS = 120, SIZE = 12000, ROOM = ARGS * 40 + ARGS * SIZE };
	char *bytes = malloc(SIZE), *wanted = malloc(ROOM);
	uint32_t seed = 7;

	(void)state;
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

static void
the_room_needed_is_right_where_a_size_gains_a_digit(void **state)
{
	static const size_t sizes[] = {9, 10, 11, 99, 100, 101, 999, 1000, 9999, 10000, 65535, 65536, 99999, 100000};
	char *bytes = calloc(1, 100000), *wanted = malloc(100100);

	(void)state;
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_is_an_array_of_bulk_strings),
		cmocka_unit_test(arguments_may_be_empty_or_of_any_bytes),
		cmocka_unit_test(numbers_are_written_in_decimal),
		cmocka_unit_test(commands_of_all_sizes_are_as_a_plain_writer_writes_them),
		cmocka_unit_test(the_room_needed_is_right_where_a_size_gains_a_digit),
	};

	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
