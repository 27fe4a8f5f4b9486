/* What a server says in a TLS handshake and in its hello, cut, altered and dripped at every byte: a connector never takes it for whole, never
 * crashes, keeps nothing open, and is done in time. */
#include "tests/redis/connects.h"

#include "tests/support/certs.h"
#include "tests/support/descriptors.h"
#include "tests/support/socket.h"
#include "tests/support/test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- a relay, one connection at a time ---- */

struct relay {
	char target[32];
	int pubsub, port;
	_Atomic long cut;      /* so many bytes of the server's come through, then both sides are ended; -1: all */
	_Atomic long alter;    /* this one of them is altered; -1: none */
	atomic_bool dripping;  /* one by one */
	atomic_bool ends;
	_Atomic long passed;   /* of the last connection */
	pthread_t thread;
};

/* Pass on what came from `from`. False: the connection is over. */
static bool
pass(struct relay *r, int from, int to, bool of_server)
{
	char bytes[4096];
	ssize_t n = recv(from, bytes, atomic_load(&r->dripping) && of_server ? 1 : sizeof bytes, MSG_DONTWAIT);
	long passed = atomic_load(&r->passed), cut = atomic_load(&r->cut), alter = atomic_load(&r->alter);
	bool goes_on = n > 0;

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == ENOTCONN);
	if (of_server && cut >= 0 && passed + n >= cut) {
		n = cut - passed;
		goes_on = false;
	}
	if (of_server && alter >= passed && alter < passed + n)
		bytes[alter - passed] = (char)(bytes[alter - passed] ^ 0x21);
	/* counted before it is sent: who reads it next reads the count, too */
	if (of_server)
		atomic_fetch_add(&r->passed, n);
	for (ssize_t sent = 0; sent < n;) {
		ssize_t some = send(to, bytes + sent, (size_t)(n - sent), MSG_NOSIGNAL);

		if (some < 0 && errno != EAGAIN)
			return false;
		sent += some > 0 ? some : 0;
	}
	return goes_on;
}

static void *
relay(void *arg)
{
	struct relay *r = arg;

	while (!atomic_load(&r->ends)) {
		int client, far;

		poll(&(struct pollfd){.fd = r->pubsub, .events = POLLIN}, 1, 20);
		client = socket_accept(r->pubsub);
		if (client < 0)
			continue;
		far = socket_dial(r->target);
		atomic_store(&r->passed, 0);
		for (bool on = far >= 0 && atomic_load(&r->cut) != 0; on && !atomic_load(&r->ends);) {
			struct pollfd both[2] = {{.fd = client, .events = POLLIN}, {.fd = far, .events = POLLIN}};

			poll(both, 2, 20);
			on = (both[0].revents == 0 || pass(r, client, far, false)) && (both[1].revents == 0 || pass(r, far, client, true));
		}
		socket_close(client);
		if (far >= 0)
			socket_close(far);
	}
	return NULL;
}

static void
start_relay(struct relay *r, int port)
{
	memset(r, 0, sizeof *r);
	r->cut = r->alter = -1;
	snprintf(r->target, sizeof r->target, "127.0.0.1:%d", port);
	r->pubsub = socket_listen_tcp(&r->port);
	assert_int_equal(pthread_create(&r->thread, NULL, relay, r), 0);
}

static void
end_relay(struct relay *r)
{
	atomic_store(&r->ends, true);
	pthread_join(r->thread, NULL);
	socket_close(r->pubsub);
}

static struct server *behind;
static struct relay r; /* before it, and a dial to that */

static void
open_relayed(void)
{
	char text[512];

	behind = server_start_tls(CERTS_SERVER, false, NULL);
	start_relay(&r, server_port(behind));
	snprintf(text, sizeof text, "rediss://127.0.0.1:%d?%s", r.port, certs_query());
	open_dial(text, "leash-test", NULL);
}

static void
close_relayed(void)
{
	close_dial();
	end_relay(&r);
	server_stop(behind);
}

FIXTURE(open_relayed, close_relayed);

static void
check_good(enum lsh_progress progress)
{
	if (progress != LSH_DONE)
		fail_msg("after %ld bytes: %s", r.passed, err.text);
	assert_int_equal(strlen(hello.run_id), LSH_RUN_ID_SIZE - 1);
	assert_true(hello.server_us > 0);
	close_stream();
}

/* ---- tests ---- */

SENTENCE(a_handshake_that_is_cut_anywhere_fails)
{
	unsigned fds;
	long whole;

	check_good(attempt(ample()));
	whole = r.passed;
	fds = descriptors_count();
	assert_true(whole > 1500);
	/* each byte of the handshake, and some of what follows */
	for (long cut = 0; cut < whole - 200; cut += cut < 1500 ? 1 : 97) {
		atomic_store(&r.cut, cut);
		assert_int_equal(attempt(ample()), LSH_FAILED);
		if (err.status != LEASH_UNAVAILABLE || strstr(err.text, "closed the connection") == NULL)
			if (strstr(err.text, "reset") == NULL)
				fail_msg("cut after %ld: %s", cut, err.text);
	}
	await_true(descriptors_count() <= fds);
}

SENTENCE(a_handshake_that_is_altered_anywhere_is_not_believed)
{
	unsigned believed = 0;
	long whole;

	check_good(attempt(ample()));
	whole = r.passed;
	for (long at = 0; at < whole - 200; at += at < 1500 ? 3 : 97) {
		enum lsh_progress progress;

		atomic_store(&r.alter, at);
		/* a length that is too large: the rest is awaited in vain */
		progress = attempt(await_now_ns() + 300000000);
		if (progress == LSH_DONE) {
			/* the version in a record's head, which is to be ignored, or beyond the hello */
			check_good(progress);
			believed++;
			continue;
		}
		if (err.status != LEASH_PROTOCOL && err.status != LEASH_UNAVAILABLE && err.status != LEASH_DENIED)
			fail_msg("altered at %ld: %s: %s", at, leash_status_name(err.status), err.text);
	}
	assert_true(believed < 30);
}

SENTENCE(a_handshake_that_drips_is_taken_as_it_comes)
{
	atomic_store(&r.dripping, true);
	check_good(attempt(ample()));
}
