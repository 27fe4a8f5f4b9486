/* Connecting: where nobody is or nobody answers; stopping at any step; and the password, which stays nowhere. */
#include "tests/redis/connects.h"

#include "base/clock.h"
#include "tests/support/descriptors.h"
#include "tests/support/sanitizer.h"
#include "tests/support/socket.h"
#include "tests/support/sweep.h"
#include "tests/support/test.h"

#include <leash/memory.h>

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- connect(), so that a socket can be made to meet itself ---- */

static bool meet_yourself;

int
connect(int fd, const struct sockaddr *address, socklen_t size)
{
	if (meet_yourself && bind(fd, address, size) != 0)
		return -1;
	return (int)syscall(SYS_connect, fd, address, size);
}

/* ---- memory that runs out ---- */

static unsigned fail_at; /* the how manieth allocation from now on is refused; 0: none. Of the main thread */

static void *
failing_alloc(size_t size)
{
	return fail_at != 0 && --fail_at == 0 ? NULL : malloc(size);
}

static const leash_memory memory = {failing_alloc, realloc, free};

static void
start_with_memory(void)
{
	assert_int_equal(leash_set_memory(&memory), LEASH_OK);
	start_tcp_server();
}

GROUP(start_with_memory, stop_server);

/* ---- nobody there, or nobody who answers ---- */

SENTENCE(where_nobody_listens_a_dial_fails_at_once)
{
	unsigned fds = descriptors_count();
	char text[128];

	snprintf(text, sizeof text, "redis://127.0.0.1:%d", socket_free_port());
	check_failed(dial_to(text, NULL, NULL), LEASH_UNAVAILABLE, ": connecting: Connection refused");
	assert_int_equal(err.sys_errno, ECONNREFUSED);
	check_contains(err.text, text);
	check_failed(dial_to("unix:///nowhere/at/all.sock", NULL, NULL), LEASH_UNAVAILABLE, ": connecting: No such file");
	assert_int_equal(err.sys_errno, ENOENT);
	assert_int_equal(descriptors_count(), fds);
}

SENTENCE(a_server_that_accepts_and_never_answers_is_left_at_the_deadline)
{
	struct puppet f;
	int64_t deadline = lsh_now_ns() + 100 * LSH_MS;

	puppet_start(&f, NULL);
	open_dial(f.uri, "leash-test", NULL);
	check_failed(attempt(deadline, &f, NULL), LEASH_UNAVAILABLE, ": no answer in time");
	assert_int_equal(err.sys_errno, ETIMEDOUT);
	assert_true(lsh_now_ns() >= deadline);
	close_dial();
	puppet_stop(&f);
}

SENTENCE(a_server_that_drips_is_left_at_the_deadline)
{
	static const char says[] = "+OK\r\n$1000\r\nrun_id:012345678901234567890123456789";
	struct puppet f;
	int64_t deadline;

	puppet_start(&f, says);
	f.drip = 5 * LSH_MS;
	open_dial(f.uri, "leash-test", NULL);
	deadline = lsh_now_ns() + 100 * LSH_MS;
	check_failed(attempt(deadline, &f, NULL), LEASH_UNAVAILABLE, ": no answer in time");
	assert_true(lsh_now_ns() >= deadline);
	assert_true(f.said > 0);
	close_dial();
	puppet_stop(&f);
}

/* Connections that are never accepted, until the system takes no more. */
static size_t
fill_backlog(const char *target, int *fds, size_t count)
{
	size_t n = 0;

	while (n < count && (fds[n] = socket_dial(target)) >= 0)
		n++;
	return n;
}

SENTENCE(a_host_that_takes_no_connection_is_left_at_the_deadline)
{
	char target[64], text[64];
	int port, pubsub = socket_listen_tcp(&port), fds[8];
	int64_t deadline;
	size_t n;

	assert_int_equal(listen(pubsub, 0), 0);
	snprintf(target, sizeof target, "127.0.0.1:%d", port);
	snprintf(text, sizeof text, "redis://127.0.0.1:%d", port);
	n = fill_backlog(target, fds, COUNT(fds));
	await_true(poll(&(struct pollfd){.fd = fds[0], .events = POLLOUT}, 1, 0) == 1);
	open_dial(text, NULL, NULL);
	deadline = lsh_now_ns() + 100 * LSH_MS;
	check_failed(attempt(deadline, NULL, NULL), LEASH_UNAVAILABLE, ": connecting: no answer in time");
	assert_int_equal(err.sys_errno, ETIMEDOUT);
	assert_true(lsh_now_ns() >= deadline);
	close_dial();
	while (n > 0)
		close(fds[--n]);
	close(pubsub);
}

SENTENCE(a_unix_socket_whose_queue_is_full_fails_the_attempt)
{
	char *folder = sweep_folder(), path[128], text[160];
	int pubsub, fds[64];
	size_t n;

	snprintf(path, sizeof path, "%s/full.sock", folder);
	snprintf(text, sizeof text, "unix://%s", path);
	pubsub = socket_listen(path);
	assert_int_equal(listen(pubsub, 1), 0);
	n = fill_backlog(path, fds, COUNT(fds));
	assert_true(n < COUNT(fds));
	check_failed(dial_to(text, NULL, NULL), LEASH_UNAVAILABLE, ": connecting: too many others wait to be let in");
	assert_int_equal(err.sys_errno, EAGAIN);
	while (n > 0)
		close(fds[--n]);
	close(pubsub);
	sweep_remove(folder);
}

SENTENCE(a_socket_that_met_itself_is_no_server)
{
	enum lsh_progress progress;
	char text[64];

	snprintf(text, sizeof text, "redis://:password@127.0.0.1:%d", socket_free_port());
	meet_yourself = true;
	progress = dial_to(text, NULL, NULL);
	meet_yourself = false;
	check_failed(progress, LEASH_UNAVAILABLE, ": connecting: Connection refused");
}

/* ---- stopping ---- */

/* All but those in `known` are for this process alone. */
static void
check_cloexec(const bool known[static DESCRIPTORS])
{
	bool has[DESCRIPTORS];

	descriptors_list(has);
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (has[fd] && !known[fd])
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

/* Stop, or free, after any number of steps: nothing is left open. */
static void
check_stops(const char *text, struct puppet *f)
{
	bool known[DESCRIPTORS], ended = false;
	unsigned fds = descriptors_list(known);

	for (unsigned n = 0; !ended; n++) {
		open_dial(text, "leash-test", n % 2 != 0 ? "ch" : NULL);
		lsh_connector_start(connector, ample());
		for (unsigned i = 0; i < n && !ended; i++) {
			ended = step() != LSH_WAIT;
			if (!ended)
				wait_for_dial(LSH_NEVER, f != NULL);
			if (f != NULL)
				puppet_step(f);
			check_cloexec(known);
		}
		if (hello.stream.fd >= 0)
			close(hello.stream.fd);
		hello.stream.fd = -1;
		if (n % 3 == 0)
			lsh_connector_stop(connector);
		close_dial();
		if (f != NULL)
			puppet_hang_up(f);
		await_true(descriptors_count() == fds); /* the resolver's thread may have to end */
	}
}

SENTENCE(a_dial_that_is_stopped_at_any_step_leaves_nothing_open)
{
	char text[64];
	struct puppet f;

	names_are("127.0.0.2", "127.0.0.1", 0, false);
	check_stops(server_uri(server), NULL);
	check_stops(server_uri_tcp(server), NULL);
	snprintf(text, sizeof text, "redis://two.test:%d", server_port(server));
	check_stops(text, NULL);
	puppet_start(&f, SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK "+OK\r\n");
	f.drip = 1;
	check_stops(f.uri, &f);
	puppet_stop(&f);
}

SENTENCE(a_dial_that_was_stopped_can_be_started_again)
{
	int64_t until;

	open_dial(server_uri_tcp(server), "leash-test", NULL);
	for (int n = 0; n < 4; n++) {
		lsh_connector_start(connector, ample());
		for (int i = 0; i < n; i++)
			if (step() == LSH_DONE)
				close(hello.stream.fd), lsh_connector_start(connector, ample());
		if (n % 2 == 0)
			lsh_connector_stop(connector);
		assert_int_equal(attempt(ample(), NULL, NULL), LSH_DONE);
		check_hello();
		close(hello.stream.fd);
		assert_int_equal(dial_poll(&until).fd, -1);
		assert_true(until == LSH_NEVER);
	}
	close_dial();
}

/* An abandoned socket throws away what it has not sent yet: the peer of a TCP connection reads a reset. */
SENTENCE(a_socket_that_is_discarded_is_reset)
{
	struct puppet f;
	char byte;

	puppet_start(&f, "");
	open_dial(f.uri, "leash-test", NULL);
	lsh_connector_start(connector, ample());
	while (!f.heard) {
		assert_int_equal(step(), LSH_WAIT);
		wait_for_dial(LSH_NEVER, true);
		puppet_step(&f);
	}
	lsh_connector_stop(connector);
	await_readable(f.fd);
	assert_int_equal(recv(f.fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close_dial();
	puppet_stop(&f);
}

SENTENCE(a_dial_without_memory_fails_or_does_without)
{
	char text[64];
	bool done = false;

	names_are("127.0.0.1", NULL, 0, false);
	snprintf(text, sizeof text, "redis://some.test:%d", server_port(server));
	assert_int_equal(lsh_uri_parse(&uri, text, &err), LEASH_OK);
	for (unsigned n = 1; !done; n++) {
		fail_at = n;
		connector = lsh_connector_new(&uri, LSH_WANT_SERVER, "leash-test", "ch");
		if (connector != NULL) {
			done = attempt(ample(), NULL, NULL) == LSH_DONE;
			if (done)
				close(hello.stream.fd);
			else
				assert_int_equal(err.status, LEASH_NO_MEMORY);
			lsh_connector_free(connector);
		}
		assert_true(done || fail_at == 0);
		fail_at = 0;
	}
	lsh_uri_clear(&uri);

	/* no memory to ask with, but an address that worked */
	open_dial(text, "leash-test", NULL);
	assert_int_equal(attempt(ample(), NULL, NULL), LSH_DONE);
	close(hello.stream.fd);
	fail_at = 1;
	assert_int_equal(attempt(ample(), NULL, NULL), LSH_DONE);
	assert_int_equal(fail_at, 0);
	close(hello.stream.fd);
	close_dial();
}

#if !UNDER_ASAN && !UNDER_TSAN

/* How often `size` bytes, given as their complements lest they be found here, stand in memory that can be written to. */
static unsigned
count_in_memory(const unsigned char *complement, size_t size)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	unsigned long from, to;
	unsigned found = 0;
	char mode[8], line[512];

	assert_non_null(maps);
	assert_true(mem >= 0);
	while (fgets(line, sizeof line, maps) != NULL) {
		unsigned char *copy;
		ssize_t n;

		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || mode[0] != 'r' || mode[1] != 'w' || to - from > 1 << 28)
			continue;
		copy = malloc(to - from);
		n = pread(mem, copy, to - from, (off_t)from);
		for (ssize_t i = 0; i + (ssize_t)size <= n; i++) {
			size_t j = 0;

			while (j < size && (copy[i + (ssize_t)j] ^ 0xff) == complement[j])
				j++;
			found += j == size;
		}
		sodium_memzero(copy, to - from);
		free(copy);
	}
	close(mem);
	fclose(maps);
	return found;
}

static void
write_password(const char *path, const char *password, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, password, n), n);
	close(fd);
}

/* And one that is in a file is in memory only while an attempt needs it. */
SENTENCE(the_password_stays_nowhere_but_in_the_uri)
{
	enum { LENGTH = 20 };
	unsigned char complement[LENGTH];
	struct puppet f;
	char *text = sodium_malloc(512), file[256];
	size_t n;

	snprintf(file, sizeof file, "%s/password", server_folder(server));

	for (int i = 0; i < 8; i++) {
		bool in_file = i >= 4;
		int what = i % 4;
		static const char *const says[] = {"+OK\r\n" SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK TIME_OK, "-WRONGPASS\r\n", "", NULL};

		puppet_start(&f, says[what]);
		f.closes = what == 2;
		n = (size_t)snprintf(text, 512, "redis://:");
		for (int j = 0; j < LENGTH; j++) {
			text[n] = (char)('a' + randombytes_uniform(26));
			complement[j] = (unsigned char)text[n++] ^ 0xff;
		}
		if (in_file) {
			write_password(file, text + n - LENGTH, LENGTH);
			snprintf(text, 512, "redis://127.0.0.1:%d?password_file=%s", f.port, file);
		} else {
			snprintf(text + n, 512 - n, "@127.0.0.1:%d", f.port);
		}
		open_dial(text, "leash-test", NULL);
		sodium_memzero(text, 512);
		assert_int_equal(count_in_memory(complement, LENGTH), !in_file);

		lsh_connector_start(connector, ample());
		while (step() == LSH_WAIT && !(what == 3 && f.heard)) {
			wait_for_dial(LSH_NEVER, true);
			if (what != 3 || !f.heard) {
				char bytes[1024];

				/* what it hears it must forget */
				if (f.fd < 0)
					f.fd = socket_accept(f.pubsub);
				if (f.fd >= 0 && recv(f.fd, bytes, sizeof bytes, 0) > 0)
					f.heard = true;
				sodium_memzero(bytes, sizeof bytes);
				if (f.heard && says[what] != NULL)
					puppet_step(&f);
			}
		}
		assert_int_equal(count_in_memory(complement, LENGTH), !in_file || what == 3);
		if (hello.stream.fd >= 0)
			close(hello.stream.fd);
		close_dial();
		assert_int_equal(count_in_memory(complement, LENGTH), 0);
		puppet_stop(&f);
	}
	sodium_free(text);
}

SENTENCE(a_password_that_was_not_sent_to_its_end_is_forgotten_with_the_attempt)
{
	enum { LENGTH = 20, LONG = 16000000 };
	char *name = malloc(LONG + 1), *text = sodium_malloc(128);
	unsigned char complement[LENGTH];
	struct puppet f;
	int64_t until;
	size_t n;

	memset(name, 'n', LONG);
	name[LONG] = '\0';
	puppet_start(&f, NULL);
	n = (size_t)snprintf(text, 128, "redis://:");
	for (int i = 0; i < LENGTH; i++) {
		text[n] = (char)('a' + randombytes_uniform(26));
		complement[i] = (unsigned char)text[n++] ^ 0xff;
	}
	snprintf(text + n, 128 - n, "@127.0.0.1:%d", f.port);
	open_dial(text, name, NULL);
	sodium_memzero(text, 128);
	lsh_connector_start(connector, ample());
	do {
		assert_int_equal(step(), LSH_WAIT);
		wait_for_dial(LSH_NEVER, true);
	} while (!(dial_poll(&until).events & POLLIN)); /* connected, and handshake */
	assert_true(dial_poll(&until).events & POLLOUT);
	assert_int_equal(count_in_memory(complement, LENGTH), 2);
	lsh_connector_stop(connector);
	assert_int_equal(count_in_memory(complement, LENGTH), 1);
	close_dial();
	puppet_stop(&f);
	sodium_free(text);
	free(name);
}

#endif
