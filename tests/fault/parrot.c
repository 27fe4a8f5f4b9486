/* See parrot.h. */
#include "tests/fault/parrot.h"

_Atomic(const char *) parrot_repeats;

static size_t
repeat(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	const char *command = parrot_repeats;
	size_t n = 0;

	(void)ctx;
	if (command == NULL || !fake_is(argc, argv, argl, 0, command))
		return FAKE_DEFAULT;
	n += fake_say(out, size, "-ERR unknown command '%s', with args beginning with:", command);
	for (int i = 1; i < argc; i++) {
		n += fake_say(out + n, size - n, " '");
		for (size_t j = 0; j < argl[i] && n < size - 8; j++)
			out[n++] = argv[i][j] == '\r' || argv[i][j] == '\n' ? ' ' : argv[i][j];
		out[n++] = '\'';
	}
	return n + fake_say(out + n, size - n, "\r\n");
}

struct fake *
parrot_start(void)
{
	return fake_start(repeat, NULL);
}
