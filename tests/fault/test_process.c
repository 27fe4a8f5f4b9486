/* Programs that are executed while other threads open and close clients: what contract/test_resources cannot tell of one
 * quiet process. The program runs itself again with an argument; see PRELUDE(). */
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static _Thread_local leash_error err; /* what the last call said */

/* Run this program with these arguments; `*out` is the reading end of its standard output. */
static pid_t
run_self(const char *const *args, int *out)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], 1);
		execv("/proc/self/exe", (char *const *)(uintptr_t)args);
		_exit(127);
	}
	close(ends[1]);
	*out = ends[0];
	return pid;
}

/* What the descriptors are that this program was born with, to standard output. */
static int
list_descriptors(void)
{
	for (int fd = 0; fd < 4096; fd++) {
		char path[64], what[256] = "";

		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		if (fd != 1 && readlink(path, what, sizeof what - 1) > 0)
			printf("%d %s\n", fd, what);
	}
	return 0;
}

/* What a program has that is executed now: "<fd> <what>\n" for each. */
static void
descriptors_after_exec(char *text, size_t size)
{
	int out;
	pid_t pid = run_self((const char *const[]){"test_process", "descriptors", NULL}, &out);
	size_t n = 0;
	ssize_t more;

	while ((more = read(out, text + n, size - 1 - n)) > 0 || (more < 0 && errno == EINTR))
		n += more > 0 ? (size_t)more : 0;
	text[n] = '\0';
	close(out);
	child_wait(pid);
}

struct opener {
	const char *uri;
	_Atomic bool *enough;
	_Atomic unsigned turns;
	pthread_t thread;
};

static void *
open_again_and_again(void *arg)
{
	struct opener *o = arg;

	while (!*o->enough) {
		leash_client *client = leashed_open(o->uri, LEASH_OPTIONS(.timeout_ms = 30000));

		leash_close(client);
		o->turns++;
	}
	return NULL;
}

SENTENCE(a_program_that_is_executed_at_any_moment_finds_no_descriptor_of_leash)
{
	enum { OPENERS = 3, TIMES = 120 };
	static char before[8192], after[8192];
	static struct opener opener[OPENERS];
	static _Atomic bool enough;
	static char named[64];
	unsigned seed = 2, turns = 0;
	leash_client *client;
	leash_lock *lock;

	snprintf(named, sizeof named, "redis://localhost:%d", server_port(server));
	freeReplyObject(server_command(server, "PING"));
	descriptors_after_exec(before, sizeof before);
	client = leashed_open(server_uri(server), NULL);
	lock = leashed_lock(client, "exec", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	enough = false;
	for (int i = 0; i < OPENERS; i++) {
		const char *uris[OPENERS] = {server_uri(server), server_uri_tcp(server), named};

		opener[i] = (struct opener){.uri = uris[i], .enough = &enough};
		assert_int_equal(pthread_create(&opener[i].thread, NULL, open_again_and_again, &opener[i]), 0);
	}
	for (int i = 0; i < TIMES; i++) {
		await_moment(&seed);
		descriptors_after_exec(after, sizeof after);
		assert_string_equal(after, before);
	}
	enough = true;
	for (int i = 0; i < OPENERS; i++) {
		pthread_join(opener[i].thread, NULL);
		turns += opener[i].turns;
		assert_true(opener[i].turns > 0);
	}
	print_message("# %d programs were executed while %u clients came and went\n", TIMES, turns);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

static int
live_otherwise(int argc, char **argv)
{
	return argc == 2 && strcmp(argv[1], "descriptors") == 0 ? list_descriptors() : GO_ON;
}

PRELUDE(live_otherwise);
GROUP(start_tcp_server, stop_server);
