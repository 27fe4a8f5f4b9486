/* Commands: the bytes on the wire, against a plain writer of the same, and the room that they were said to need. */
#include "redis/command.h"

#include "tests/support/random.h"
#include "tests/support/test.h"

#include <inttypes.h>

enum { ARGS = 120, SIZE = 100000, ROOM = 2 * SIZE + ARGS * 200 };

/* Against what a plain writer writes. */
static void
check(const struct lsh_arg *args, size_t count)
{
	size_t room = lsh_command_size(args, count), size;
	char *out = malloc(room); /* of just that size: a sanitizer sees a byte too many */
	static char wanted[ROOM];

	size = (size_t)snprintf(wanted, ROOM, "*%zu\r\n", count);
	for (size_t i = 0; i < count; i++) {
		size += (size_t)snprintf(wanted + size, ROOM - size, "$%zu\r\n", args[i].size);
		if (args[i].size > 0)
			memcpy(wanted + size, args[i].bytes, args[i].size);
		memcpy(wanted + size + args[i].size, "\r\n", 2);
		size += args[i].size + 2;
	}
	assert_true(room >= size && room - size <= 20 * (count + 1));
	assert_int_equal(lsh_command_write(out, args, count), size);
	assert_memory_equal(out, wanted, size);
	free(out);
}

SENTENCE(numbers_are_written_in_decimal)
{
	static const int64_t numbers[] = {
		0, 1, 9, 10, 12345678, INT64_C(1000000000000000000), -1, -9, -10, INT64_MAX, INT64_MIN, INT64_MIN + 1,
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

/* Of any bytes, and where a size gains a digit. */
SENTENCE(commands_of_all_sizes_are_as_a_plain_writer_writes_them)
{
	static const size_t sizes[] = {0, 9, 10, 11, 99, 100, 101, 999, 1000, 9999, 10000, 65535, 65536, 99999, SIZE};
	struct lsh_arg args[ARGS] = {{NULL, 0}};
	static char bytes[SIZE];
	uint64_t seed = 7;

	check((const struct lsh_arg[]){LSH_ARG("SET"), LSH_ARG(""), lsh_arg_text("hello world")}, 3);
	check(args, 1);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (char)(i * 37);
	for (size_t i = 0; i < COUNT(sizes); i++)
		check(&(struct lsh_arg){bytes, sizes[i]}, 1);
	for (int round = 0; round < 400; round++) {
		size_t count = 1 + random_below(&seed, round % 10 == 0 ? ARGS : 12);

		for (size_t i = 0; i < count; i++) {
			args[i].size = random_below(&seed, i == 3 ? 12000 : 120);
			args[i].bytes = bytes + random_below(&seed, SIZE - 12000);
		}
		check(args, count);
	}
}
