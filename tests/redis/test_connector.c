/* Connecting: where nobody is or nobody answers; stopping at any step; and the password, which stays nowhere. */
#include "tests/redis/connects.h"

#include "base/clock.h"
#include "tests/support/counted.h"
#include "tests/support/descriptors.h"
#include "tests/support/sanitizer.h"
#include "tests/support/socket.h"
#include "tests/support/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- connect(), so that a socket can be made to meet itself ---- */

static bool meet_yourself;

DOES(meet_yourself, meet_yourself = true)

int
connect(int fd, const struct sockaddr *address, socklen_t size)
{
	if (meet_yourself && bind(fd, address, size) != 0)
		return -1;
	return (int)syscall(SYS_connect, fd, address, size);
}

static void
start(void)
{
	counted_start();
	start_tcp_server();
}

static void
end(void)
{
	meet_yourself = false;
	counted.fail_at = 0;
	end_connects();
}

GROUP(start, stop_server);
FIXTURE(begin_connects, end);

/* ---- nobody there, or nobody who answers ---- */

SCENE(where_nobody_listens_a_dial_fails_at_once, "let n free_port; let d descriptors;"
      "try redis://127.0.0.1:$n ~ UNAVAILABLE: 'redis://127.0.0.1:$n: connecting: Connection refused';"
      "errno = ECONNREFUSED; try unix:///nowhere/at/all.sock ~ UNAVAILABLE: ': connecting: No such file';"
      "errno = ENOENT; close; descriptors = $d")
SCENE(a_server_that_accepts_and_never_answers_is_left_at_the_deadline, "puppet p; dial redis://127.0.0.1:$p; clock;"
      "attempt 100 ~ UNAVAILABLE: ': no answer in time'; errno = ETIMEDOUT; took >= 100")
SCENE(a_server_that_drips_is_left_at_the_deadline,
      "puppet p '+OK\r\n$1000\r\nrun_id:012345678901234567890123456789'; manner p 5; dial redis://127.0.0.1:$p;"
      "clock; attempt 100 ~ UNAVAILABLE: ': no answer in time'; took >= 100; said p > 0")

/* Play that while the connections that nobody accepts are as many as the system takes; $t is the target. */
static void
dial_full(int listener, const char *target, size_t most, const char *text)
{
	size_t waiting = 0;
	int fds[64];

	while (waiting < most && (fds[waiting] = socket_dial(target)) >= 0)
		waiting++;
	await_true(poll(&(struct pollfd){.fd = fds[0], .events = POLLOUT}, 1, 0) == 1);
	let('t', target);
	play("%s", text);
	while (waiting > 0)
		close(fds[--waiting]);
	close(listener);
}

SENTENCE(a_host_that_takes_no_connection_is_left_at_the_deadline)
{
	int port, listener = socket_listen_tcp(&port);

	assert_int_equal(listen(listener, 0), 0);
	dial_full(listener, seen("127.0.0.1:%d", port), 8,
	          "dial redis://$t; clock; attempt 100 ~ UNAVAILABLE: ': connecting: no answer in time'; errno = ETIMEDOUT;"
	          "took >= 100");
}

SENTENCE(a_unix_socket_whose_queue_is_full_fails_the_attempt)
{
	char *folder = sweep_folder();
	const char *path = seen("%s/full.sock", folder);
	int listener = socket_listen(path);

	assert_int_equal(listen(listener, 1), 0);
	dial_full(listener, path, 64,
	          "try unix://$t ~ UNAVAILABLE: ': connecting: too many connections wait there to be accepted';"
	          "errno = EAGAIN");
	sweep_remove(folder);
}

SCENE(a_socket_that_met_itself_is_no_server, "meet_yourself; let n free_port;"
      "try redis://:password@127.0.0.1:$n ~ UNAVAILABLE: ': connecting: Connection refused'")

/* ---- stopping ---- */

/* Stop, or free, after any number of steps: nothing is left open. */
DEED(stops)
{
	unsigned fds = descriptors_count();
	bool ended = false;

	for (unsigned n = 0; !ended; n++) {
		open_dial(word[1], "leash-test", n % 2 != 0 ? "ch" : NULL);
		lsh_connector_start(connector, ample());
		for (unsigned i = 0; i < n && !(ended = step() != LSH_WAIT); i++)
			wait_for_dial(LSH_NEVER, step_puppets());
		close_stream();
		if (n % 3 == 0)
			lsh_connector_stop(connector);
		close_dial();
		play("hang_up p");
		await_true(descriptors_count() == fds); /* the resolver's thread may have to end */
	}
}

SCENE(a_dial_that_is_stopped_at_any_step_leaves_nothing_open,
      "resolves 127.0.0.2 127.0.0.1; stops unix://$u; stops redis://127.0.0.1:$s; stops redis://two.test:$s;"
      "puppet p '" ALL_BUT_TIME_OK "+OK\r\n'; manner p 0; stops redis://127.0.0.1:$p")

SENTENCE(a_dial_that_was_stopped_can_be_started_again)
{
	int64_t until;

	play("dial redis://127.0.0.1:$s");
	for (int n = 0; n < 4; n++) {
		lsh_connector_start(connector, ample());
		for (int i = 0; i < n; i++)
			if (step() == LSH_DONE)
				close_stream(), lsh_connector_start(connector, ample());
		if (n % 2 == 0)
			lsh_connector_stop(connector);
		play("attempt = OK; check");
		assert_int_equal(dial_poll(&until).fd, -1);
		assert_true(until == LSH_NEVER);
	}
}

/* An abandoned socket throws away what it has not sent yet: the peer of a TCP connection reads a reset. */
SENTENCE(a_socket_that_is_discarded_is_reset)
{
	struct puppet *p = puppet_of("p");
	char byte;

	play("puppet p; dial redis://127.0.0.1:$p; begin");
	while (!p->heard) {
		assert_int_equal(step(), LSH_WAIT);
		wait_for_dial(LSH_NEVER, step_puppets());
	}
	lsh_connector_stop(connector);
	await_readable(p->fd);
	assert_int_equal(recv(p->fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

SENTENCE(a_dial_without_memory_fails_or_does_without)
{
	char text[64];
	bool done = false;

	play("resolves 127.0.0.1");
	snprintf(text, sizeof text, "redis://some.test:%d", server_port(server));
	assert_int_equal(lsh_uri_parse(&dialed, text, &err), LEASH_OK);
	for (long n = 1; !done; n++) {
		counted.calls = 0;
		counted.fail_at = n;
		connector = lsh_connector_new(&dialed, LSH_WANT_SERVER, "leash-test", "ch");
		if (connector != NULL) {
			done = attempt(ample()) == LSH_DONE;
			assert_true(done || err.status == LEASH_NO_MEMORY);
			close_stream();
			lsh_connector_free(connector);
			connector = NULL;
		}
		assert_true(done || counted.calls >= n);
		counted.fail_at = 0;
	}

	/* no memory to ask with, but an address that worked */
	play("try %s = OK", text);
	counted.calls = 0;
	counted.fail_at = 1;
	assert_int_equal(attempt(ample()), LSH_DONE);
	assert_true(counted.calls > 0);
}

#if !UNDER_ASAN && !UNDER_TSAN

enum { LENGTH = 20 };

static unsigned char complement[LENGTH]; /* of a password, lest it be found here */

/* How often that password stands in memory that can be written to. */
static unsigned
count_in_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	unsigned long from, to;
	unsigned found = 0;
	char mode[8], line[512];

	assert_non_null(maps);
	assert_true(mem >= 0);
	while (fgets(line, sizeof line, maps) != NULL) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || strncmp(mode, "rw", 2) != 0 || to - from > 1 << 28)
			continue;
		unsigned char *copy = malloc(to - from);
		ssize_t n = pread(mem, copy, to - from, (off_t)from);
		for (ssize_t i = 0, j; i + LENGTH <= n; i++) {
			for (j = 0; j < LENGTH && (copy[i + j] ^ 0xff) == complement[j];)
				j++;
			found += j == LENGTH;
		}
		sodium_memzero(copy, to - from);
		free(copy);
	}
	close(mem);
	fclose(maps);
	return found;
}

/* And one that is in a file is in memory only while an attempt needs it; what was not sent to its end goes with it. */
SENTENCE(the_password_stays_nowhere_but_in_the_uri)
{
	enum { IS_SAID = 3, IS_NOT_SENT, KINDS, LONG = 16000000 }; /* and nothing is answered; or not even taken */
	static const char *const puppet[KINDS] = {
		"puppet p '+OK\r\n" ALL_OK "'", "puppet p -WRONGPASS\r\n", "puppet p; manner p closes", "puppet p", "puppet p",
	};
	char *text = sodium_malloc(512), *password = sodium_malloc(LENGTH + 1), file[256];
	int64_t until;

	snprintf(file, sizeof file, "%s/password", server_folder(server));
	int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	for (int i = 0; i < 2 * KINDS; i++) {
		const bool in_file = i >= KINDS, is_said = i % KINDS == IS_SAID, is_long = i % KINDS == IS_NOT_SENT;
		struct puppet *p = puppet_of("p");
		char *name = calloc(1, LONG + 1);

		memset(name, 'n', is_long ? LONG : 8);
		play("%s", puppet[i % KINDS]);
		for (int j = 0; j < LENGTH; j++) {
			password[j] = (char)('a' + randombytes_uniform(26));
			complement[j] = (unsigned char)password[j] ^ 0xff;
		}
		password[LENGTH] = '\0';
		assert_int_equal(pwrite(fd, in_file ? password : "not in this file now", LENGTH, 0), LENGTH);
		if (in_file)
			snprintf(text, 512, "redis://127.0.0.1:%d?password_file=%s", p->port, file);
		else
			snprintf(text, 512, "redis://:%s@127.0.0.1:%d", password, p->port);
		open_dial(text, name, NULL);
		sodium_memzero(text, 512);
		sodium_memzero(password, LENGTH);
		assert_int_equal(count_in_memory(), !in_file);
		lsh_connector_start(connector, ample());
		while (step() == LSH_WAIT && !(is_said && p->heard) && !(is_long && dial_poll(&until).events & POLLIN))
			wait_for_dial(LSH_NEVER, is_long || step_puppets());
		assert_int_equal(count_in_memory(), is_long ? 2 : !in_file || is_said);
		lsh_connector_stop(connector);
		assert_int_equal(count_in_memory(), !in_file);
		close_dial();
		assert_int_equal(count_in_memory(), 0);
		free(name);
	}
	close(fd);
	sodium_free(text);
	sodium_free(password);
}

#endif
