/* Descriptors of leash, and what a forked child has of them. */
#include "base/descriptor.h"

#include "tests/support/child.h"
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int
take(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return lsh_descriptor_take(fd);
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

SENTENCE(none_is_a_standard_stream)
{
	int input = dup(STDIN_FILENO);

	close(STDIN_FILENO);
	int fd = take();
	assert_true(fd > STDERR_FILENO);
	assert_false(is_open(STDIN_FILENO));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	lsh_descriptor_close(fd);
	assert_false(is_open(fd));
	if (input >= 0) {
		assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
		close(input);
	}
}

SENTENCE(what_was_not_opened_stays_so)
{
	errno = EMFILE;
	assert_int_equal(lsh_descriptor_take(-1), -1);
	assert_int_equal(errno, EMFILE);
	lsh_descriptor_close(-1);
}

static int
close_in_child(void *arg)
{
	const int *parents = arg;

	/* the application may have closed one, and given its number to another file, or we to another descriptor */
	lsh_descriptor_close(parents[2]);
	close(parents[0]);
	int own = take();
	assert_int_equal(own, parents[0]);
	lsh_descriptor_close_inherited();
	assert_true(is_open(own) && !is_open(parents[1]) && is_open(parents[3]));
	assert_int_equal(dup2(own, parents[1]), parents[1]);
	lsh_descriptor_close_inherited();
	assert_true(is_open(parents[1]));
	return 0;
}

SENTENCE(a_child_closes_what_was_its_parents_and_nothing_else)
{
	int fds[] = {take(), take(), take(), take()};

	lsh_descriptor_close(fds[3]);
	assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), fds[3]); /* not one of ours */
	child_wait(child_run(close_in_child, fds));
	lsh_descriptor_close_inherited(); /* there are none */
	for (int i = 0; i < 3; i++) {
		assert_true(is_open(fds[i]));
		lsh_descriptor_close(fds[i]);
	}
	close(fds[3]);
}
