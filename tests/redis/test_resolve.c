/* Names and addresses: names that cannot be resolved or have moved, and which of several addresses is tried first. */
#include "tests/redis/connects.h"

#include "base/clock.h"
#include "redis/resolve.h"
#include "tests/support/descriptors.h"
#include "tests/support/socket.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- the clock, so that time passes at once ---- */

static _Atomic int64_t clock_ahead_s;

int
clock_gettime(clockid_t clock, struct timespec *t)
{
	int result = (int)syscall(SYS_clock_gettime, clock, t);

	if (result == 0 && clock == CLOCK_BOOTTIME)
		t->tv_sec += clock_ahead_s;
	return result;
}

GROUP(start_tcp_server, stop_server);

/* ---- names and addresses ---- */

SENTENCE(a_name_that_does_not_exist_is_unavailable)
{
	names_are(NULL, NULL, EAI_NONAME, false);
	check_failed(dial_to("redis://nowhere.test", NULL, NULL), LEASH_UNAVAILABLE, "redis://nowhere.test:6379: its name cannot be resolved: Name or service not known");
	assert_int_equal(err.sys_errno, ENXIO);
	names_are(NULL, NULL, EAI_SYSTEM, false);
	check_failed(dial_to("redis://nowhere.test", NULL, NULL), LEASH_UNAVAILABLE, ": its name cannot be resolved: Input/output error");
	assert_int_equal(err.sys_errno, EIO);
	names_are(NULL, NULL, EAI_MEMORY, false);
	check_failed(dial_to("redis://nowhere.test", NULL, NULL), LEASH_NO_MEMORY, ": its name cannot be resolved: ");
}

SENTENCE(the_second_address_is_tried_when_the_first_is_dead)
{
	char text[64];

	names_are("127.0.0.2", "127.0.0.1", 0, false);
	snprintf(text, sizeof text, "redis://two.test:%d", server_port(server));
	assert_int_equal(dial_to(text, NULL, NULL), LSH_DONE);
	check_hello();
	close(hello.stream.fd);
}

SENTENCE(an_address_that_swallows_everything_leaves_time_for_the_next)
{
	struct puppet hole;
	char text[64];

	puppet_at(&hole, "127.0.0.2", server_port(server), NULL);
	names_are("127.0.0.2", "127.0.0.1", 0, false);
	snprintf(text, sizeof text, "redis://two.test:%d", server_port(server));
	open_dial(text, "leash-test", NULL);
	assert_int_equal(attempt(await_limit_ns(2), &hole, NULL), LSH_DONE);
	assert_int_equal(hole.accepted, 1);
	check_hello();
	close(hello.stream.fd);
	close_dial();
	puppet_stop(&hole);
}

SENTENCE(the_next_address_is_tried_after_a_stranger_but_not_after_a_refused_password)
{
	struct puppet f, g;
	char text[64];

	puppet_at(&f, "127.0.0.2", 0, "SSH-2.0-OpenSSH_9.2p1\r\n");
	puppet_at(&g, "127.0.0.3", f.port, "+OK\r\n" SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK TIME_OK);
	names_are("127.0.0.2", "127.0.0.3", 0, false);
	snprintf(text, sizeof text, "redis://:password@two.test:%d", f.port);
	open_dial(text, "leash-test", NULL);
	assert_int_equal(attempt(ample(), &f, &g), LSH_DONE);
	close(hello.stream.fd);
	close_dial();
	assert_int_equal(g.accepted, 1);
	puppet_hang_up(&f);
	puppet_hang_up(&g);

	f.says = "-WRONGPASS invalid username-password pair\r\n";
	f.size = strlen(f.says);
	open_dial(text, "leash-test", NULL);
	check_failed(attempt(ample(), &f, &g), LEASH_DENIED, ": AUTH was refused: WRONGPASS");
	close_dial();
	assert_int_equal(g.accepted, 1);
	puppet_stop(&f);
	puppet_stop(&g);
}

SENTENCE(when_all_addresses_fail_the_one_that_got_furthest_is_named)
{
	struct puppet f;
	char text[64];

	puppet_at(&f, "127.0.0.2", 0, "-LOADING Redis is loading\r\n");
	names_are("127.0.0.2", "127.0.0.3", 0, false);
	snprintf(text, sizeof text, "redis://two.test:%d", f.port);
	open_dial(text, "leash-test", NULL);
	check_failed(attempt(ample(), &f, NULL), LEASH_UNAVAILABLE, ": CLIENT SETNAME was refused: LOADING");
	close_dial();
	puppet_stop(&f);

	open_dial(text, "leash-test", NULL);
	check_failed(attempt(ample(), NULL, NULL), LEASH_UNAVAILABLE, ": connecting to 127.0.0.3: Connection refused");
	close_dial();
}

/* A connector of a name, at which there may be two servers that are well: `f` at 127.0.0.2, `g` at 127.0.0.3. */
static void
open_dial_of_two(struct puppet *f, struct puppet *g, const char *name)
{
	char text[64];

	puppet_at(f, "127.0.0.2", 0, SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK TIME_OK);
	puppet_at(g, "127.0.0.3", f->port, SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK TIME_OK);
	snprintf(text, sizeof text, "redis://%s:%d", name, f->port);
	open_dial(text, "leash-test", NULL);
}

/* Connect, and tell the last byte of the address that was found. */
static int
dialed_address(struct puppet *f, struct puppet *g)
{
	struct sockaddr_in in;

	assert_int_equal(attempt(ample(), f, g), LSH_DONE);
	assert_int_equal(getpeername(hello.stream.fd, (struct sockaddr *)&in, &(socklen_t){sizeof in}), 0);
	close(hello.stream.fd);
	puppet_hang_up(f);
	puppet_hang_up(g);
	return ntohl(in.sin_addr.s_addr) & 255;
}

SENTENCE(the_address_that_worked_last_is_tried_first_unless_its_connection_was_brief)
{
	struct puppet f, g;

	open_dial_of_two(&f, &g, "two.test");
	names_are("127.0.0.3", NULL, 0, false);
	assert_int_equal(dialed_address(&f, &g), 3);

	names_are("127.0.0.2", "127.0.0.3", 0, false);
	clock_ahead_s += 60;
	assert_int_equal(dialed_address(&f, &g), 3);
	clock_ahead_s += 60;
	assert_int_equal(dialed_address(&f, &g), 3);

	/* the server at 3 turns out to be a replica: it is left at once */
	assert_int_equal(dialed_address(&f, &g), 2);
	clock_ahead_s += 60;
	assert_int_equal(dialed_address(&f, &g), 2);
	assert_int_equal(dialed_address(&f, &g), 3);
	assert_int_equal(dialed_address(&f, &g), 2);

	/* but if there is no other, it is found all the same */
	puppet_stop(&g);
	puppet_start(&g, NULL);
	assert_int_equal(dialed_address(&f, &g), 2);
	names_are("127.0.0.2", NULL, 0, false);
	assert_int_equal(dialed_address(&f, &g), 2);
	close_dial();
	puppet_stop(&f);
	puppet_stop(&g);
}

SENTENCE(a_name_that_moved_is_followed_although_the_old_server_is_there)
{
	struct puppet f, g;
	int64_t until;

	names_are("127.0.0.2", NULL, 0, false);
	open_dial_of_two(&f, &g, "moving.test");
	assert_int_equal(attempt(ample(), &f, &g), LSH_DONE);
	close(hello.stream.fd);
	puppet_hang_up(&f);

	names_are("127.0.0.3", NULL, 0, true);
	lsh_connector_start(connector, ample());
	assert_int_equal(step(), LSH_WAIT);
	names_are("127.0.0.3", NULL, 0, false);
	/* however long the answer takes: it is there before the next step */
	await_readable(dial_poll(&until).fd);
	while (step() == LSH_WAIT) {
		wait_for_dial(LSH_NEVER, true);
		puppet_step(&f);
		puppet_step(&g);
	}
	assert_true(hello.stream.fd >= 0);
	close(hello.stream.fd);
	assert_int_equal(f.accepted, 1);
	assert_int_equal(g.accepted, 1);
	close_dial();
	puppet_stop(&f);
	puppet_stop(&g);
}

SENTENCE(while_a_name_is_not_resolved_the_address_that_worked_last_serves)
{
	unsigned asked, fds = descriptors_count();
	char text[64];

	names_are("127.0.0.1", NULL, 0, false);
	snprintf(text, sizeof text, "redis://slow.test:%d", server_port(server));
	open_dial(text, "leash-test", NULL);
	assert_int_equal(attempt(ample(), NULL, NULL), LSH_DONE);
	close(hello.stream.fd);

	asked = names_asked();
	names_are(NULL, NULL, 0, true);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(attempt(await_limit_ns(4), NULL, NULL), LSH_DONE);
		check_hello();
		close(hello.stream.fd);
	}
	assert_int_equal(names_asked(), asked + 1); /* the one that hangs was enough */

	names_are(NULL, NULL, EAI_AGAIN, false);
	await_true(names_inside() == 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(attempt(ample(), NULL, NULL), LSH_DONE);
		close(hello.stream.fd);
	}
	close_dial();
	await_true(descriptors_count() == fds);
}

SENTENCE(an_answer_that_comes_late_is_still_used)
{
	struct puppet f;
	char text[64];

	puppet_at(&f, "127.0.0.2", 0, SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK TIME_OK);
	names_are("127.0.0.2", NULL, 0, false);
	snprintf(text, sizeof text, "redis://slow.test:%d", f.port);
	open_dial(text, "leash-test", NULL);
	assert_int_equal(attempt(ample(), &f, NULL), LSH_DONE);
	close(hello.stream.fd);
	puppet_stop(&f);

	/* the old address is dead, and the new one is said after it was found so */
	names_are(NULL, NULL, 0, true);
	lsh_connector_start(connector, ample());
	assert_int_equal(step(), LSH_WAIT);
	for (int64_t until, begin = lsh_now_ns(); dial_poll(&until), until - begin < LSH_S;) {
		wait_for_dial(LSH_NEVER, false);
		assert_int_equal(step(), LSH_WAIT);
	}
	puppet_at(&f, "127.0.0.3", f.port, SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK TIME_OK);
	names_are("127.0.0.2", "127.0.0.3", 0, false);
	while (step() == LSH_WAIT) {
		wait_for_dial(LSH_NEVER, true);
		puppet_step(&f);
	}
	assert_true(hello.stream.fd >= 0);
	close(hello.stream.fd);
	close_dial();
	puppet_stop(&f);
}

SENTENCE(an_answer_that_comes_between_two_attempts_serves_the_next)
{
	unsigned asked = names_asked();
	struct puppet f, g;

	names_are("127.0.0.2", NULL, 0, false);
	open_dial_of_two(&f, &g, "slow.test");
	assert_int_equal(dialed_address(&f, &g), 2);

	names_are("127.0.0.3", NULL, 0, true);
	assert_int_equal(dialed_address(&f, &g), 2);
	await_true(names_asked() == asked + 2);
	names_are("127.0.0.3", NULL, 0, false);
	await_true(names_inside() == 0);
	puppet_stop(&f); /* so that it makes no difference if the answer is still on its way */
	assert_int_equal(attempt(ample(), &g, NULL), LSH_DONE);
	close(hello.stream.fd);
	assert_int_equal(g.accepted, 1);
	assert_int_equal(names_asked(), asked + 2);
	close_dial();
	puppet_stop(&g);
}

/* The server that it was is stuck, and the resolver slow: both leave time for the one that it is now. */
SENTENCE(an_old_address_that_swallows_everything_leaves_time_for_the_answer)
{
	struct puppet f, g;

	names_are("127.0.0.2", NULL, 0, false);
	open_dial_of_two(&f, &g, "slow.test");
	assert_int_equal(dialed_address(&f, &g), 2);

	f.size = 0;
	clock_ahead_s += 60; /* that connection was not brief */
	names_are("127.0.0.2", "127.0.0.3", 0, true);
	lsh_connector_start(connector, await_limit_ns(2));
	while (step() == LSH_WAIT) {
		wait_for_dial(LSH_NEVER, true);
		puppet_step(&f);
		puppet_step(&g);
		if (f.accepted == 2)
			names_are("127.0.0.2", "127.0.0.3", 0, false);
	}
	assert_true(hello.stream.fd >= 0);
	close(hello.stream.fd);
	assert_int_equal(f.accepted, 2);
	assert_int_equal(socket_accept(f.pubsub), -1); /* not once more: it has had its time */
	assert_int_equal(g.accepted, 1);
	close_dial();
	puppet_stop(&f);
	puppet_stop(&g);
}

SENTENCE(a_resolver_that_hangs_is_left_at_the_deadline_and_ends_by_itself)
{
	unsigned fds = descriptors_count(), asked = names_asked();
	int64_t deadline;

	names_are("127.0.0.1", NULL, 0, true);
	open_dial("redis://hanging.test", NULL, NULL);
	for (int i = 0; i < 3; i++) {
		deadline = lsh_now_ns() + 20 * LSH_MS;
		check_failed(attempt(deadline, NULL, NULL), LEASH_UNAVAILABLE, "redis://hanging.test:6379: its name was not resolved in time");
		assert_int_equal(err.sys_errno, ETIMEDOUT);
		assert_true(lsh_now_ns() >= deadline);
	}
	await_true(names_asked() == asked + 1);

	/* another one is asked when that has taken too long */
	clock_ahead_s += 60;
	assert_int_equal(attempt(lsh_now_ns() + 20 * LSH_MS, NULL, NULL), LSH_FAILED);
	await_true(names_asked() == asked + 2);
	close_dial(); /* does not wait */
	assert_int_equal(names_inside(), 2);
	names_are("127.0.0.1", NULL, 0, false);
	await_true(descriptors_count() == fds);
}

SENTENCE(many_names_are_resolved_at_once_and_given_up_at_any_time)
{
	struct lsh_request *request[16];
	unsigned fds = descriptors_count();
	int e;

	for (int round = 0; round < 20; round++) {
		names_are("127.0.0.1", "::1", 0, round % 2 == 0);
		for (size_t i = 0; i < COUNT(request); i++) {
			request[i] = lsh_request_new("some.test", 6379, &e);
			assert_non_null(request[i]);
		}
		for (size_t i = 0; i < COUNT(request) / 2; i++)
			lsh_request_drop(request[i]);
		names_are("127.0.0.1", "::1", 0, false);
		for (size_t i = COUNT(request) / 2; i < COUNT(request); i++) {
			const struct lsh_answer *answer;
			char text[LSH_ADDRESS_TEXT];

			await_readable(request[i]->fd);
			assert_true(atomic_load(&request[i]->answered));
			answer = &request[i]->answer;
			assert_int_equal(answer->error, 0);
			assert_int_equal(answer->count, 2);
			assert_int_equal(answer->address[0].v4.sin_port, htons(6379));
			lsh_address_show(&answer->address[1], text);
			assert_string_equal(text, "::1");
			lsh_request_drop(request[i]);
		}
	}
	await_true(descriptors_count() == fds);
}

SENTENCE(a_numeric_address_asks_nobody)
{
	unsigned asked = names_asked();
	struct lsh_address a, b;
	char text[LSH_ADDRESS_TEXT];

	assert_true(lsh_address_of(&a, "127.0.0.1", 1));
	assert_true(lsh_address_of(&b, "127.0.0.1", 2));
	assert_false(lsh_address_is(&a, &b));
	assert_true(lsh_address_of(&b, "127.0.0.1", 1));
	assert_true(lsh_address_is(&a, &b));
	assert_true(lsh_address_of(&a, "2001:db8::1", 6379));
	lsh_address_show(&a, text);
	assert_string_equal(text, "2001:db8::1");
	assert_false(lsh_address_of(&a, "some.test", 6379));
	assert_false(lsh_address_of(&a, "", 6379));
	assert_int_equal(names_asked(), asked);
}
