/* Names and addresses: names that cannot be resolved or have moved, and which of several addresses is tried first. */
#include "tests/redis/connects.h"

#include "base/clock.h"
#include "redis/resolve.h"
#include "tests/support/socket.h"

#include <arpa/inet.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- the clock: by later S so much time passes at once ---- */

static _Atomic int64_t clock_ahead_s;

int
clock_gettime(clockid_t clock, struct timespec *t)
{
	int result = (int)syscall(SYS_clock_gettime, clock, t);

	if (result == 0 && clock == CLOCK_BOOTTIME)
		t->tv_sec += clock_ahead_s;
	return result;
}

DOES(later, clock_ahead_s += number_of(word[1], 0))

GROUP(start_tcp_server, stop_server);
FIXTURE(begin_connects, end_connects);

/* Two servers that are well, at one port. */
#define TWO "puppet p '" ALL_OK "' 127.0.0.2; puppet q '" ALL_OK "' 127.0.0.3 $p;"

/* ---- names and addresses ---- */

SCENE(a_name_that_does_not_exist_is_unavailable, "resolves NONAME; try redis://nowhere.test ~ UNAVAILABLE: "
      "'redis://nowhere.test:6379: its name cannot be resolved: ''Name or service not known'; errno = ENXIO;"
      "resolves SYSTEM; try redis://nowhere.test ~ UNAVAILABLE: ': its name cannot be resolved: Input/output error';"
      "errno = EIO;resolves MEMORY; try redis://nowhere.test ~ NO_MEMORY: ': its name cannot be resolved: '")
SCENE(the_second_address_is_tried_when_the_first_is_dead,
      "resolves 127.0.0.2 127.0.0.1; try redis://two.test:$s nameless = OK; check")
SCENE(an_address_that_swallows_everything_leaves_time_for_the_next, "puppet p '' 127.0.0.2 $s;"
      "resolves 127.0.0.2 127.0.0.1; dial redis://two.test:$s; attempt 4000 = OK; accepted p = 1; check")
SCENE(the_next_address_is_tried_after_a_stranger_but_not_after_a_refused_password,
      "puppet p 'SSH-2.0-OpenSSH_9.2p1\r\n' 127.0.0.2; puppet q '+OK\r\n" ALL_OK "' 127.0.0.3 $p;"
      "resolves 127.0.0.2 127.0.0.3;try redis://:password@two.test:$p = OK; accepted q = 1;"
      "says p '-WRONGPASS invalid username-password pair\r\n';"
      "try redis://:password@two.test:$p ~ DENIED: ': AUTH was refused: WRONGPASS'; accepted q = 1")
SCENE(when_all_addresses_fail_the_one_that_got_furthest_is_named, "puppet p '-LOADING Redis is loading\r\n' 127.0.0.2;"
      "resolves 127.0.0.2 127.0.0.3; try redis://two.test:$p ~ UNAVAILABLE: ': CLIENT SETNAME was refused: LOADING';"
      "stop p; try redis://two.test:$p ~ UNAVAILABLE: ': connecting to 127.0.0.3: Connection refused'")
SCENE(the_address_that_worked_last_is_tried_first_unless_its_connection_was_brief,
      TWO "resolves 127.0.0.3; dial redis://two.test:$p; found = 127.0.0.3;"
      "resolves 127.0.0.2 127.0.0.3; later 60; found = 127.0.0.3; later 60; found = 127.0.0.3;"
      /* the server at 3 turns out to be a replica: it is left at once */
      "found = 127.0.0.2; later 60; found = 127.0.0.2; found = 127.0.0.3; found = 127.0.0.2;"
      /* but if there is no other, it is found all the same */
      "stop q; found = 127.0.0.2; resolves 127.0.0.2; found = 127.0.0.2")
SCENE(a_name_that_moved_is_followed_although_the_old_server_is_there, /* however long the answer takes */
      TWO "resolves 127.0.0.2; dial redis://moving.test:$p; found = 127.0.0.2; resolves hangs 127.0.0.3;"
      "begin = wait; resolves 127.0.0.3; readable; go_on = OK; address = 127.0.0.3; accepted p = 1; accepted q = 1")
SCENE(while_a_name_is_not_resolved_the_address_that_worked_last_serves,
      "let d descriptors; resolves 127.0.0.1; dial redis://slow.test:$s; attempt = OK; let a asked; resolves hangs;"
      "attempt 4000 = OK; check; attempt 4000 = OK; check; let b asked; resolves AGAIN; await resolving = 0;"
      "attempt = OK; attempt = OK; close; await descriptors = $d")
SCENE(an_answer_that_comes_between_two_attempts_serves_the_next,
      TWO "let a asked; resolves 127.0.0.2; dial redis://slow.test:$p; found = 127.0.0.2; await asked > $a;"
      "let a asked; resolves hangs 127.0.0.3; found = 127.0.0.2; await asked > $a; let a asked; resolves 127.0.0.3;"
      "await resolving = 0;stop p;" /* so that it makes no difference if the answer is still on its way */
      "attempt = OK; address = 127.0.0.3; accepted q = 1; asked = $a")

SENTENCE(an_answer_that_comes_late_is_still_used)
{
	play("puppet p '" ALL_OK "' 127.0.0.2; resolves 127.0.0.2; dial redis://slow.test:$p; found = 127.0.0.2; stop p;"
	     /* the old address is dead, and the new one is said after it was found so */
	     "resolves hangs; begin = wait");
	for (int64_t until, begin = lsh_now_ns(); dial_poll(&until), until - begin < LSH_S;) {
		wait_for_dial(LSH_NEVER, false);
		assert_int_equal(step(), LSH_WAIT);
	}
	play("puppet p '" ALL_OK "' 127.0.0.3 $p; resolves 127.0.0.2 127.0.0.3; go_on = OK; address = 127.0.0.3");
}

/* The server that it was is stuck, and the resolver slow: both leave time for the one that it is now. */
SENTENCE(an_old_address_that_swallows_everything_leaves_time_for_the_answer)
{
	struct puppet *p = puppet_of("p");

	play(TWO "resolves 127.0.0.2; dial redis://slow.test:$p; found = 127.0.0.2;"
	     "says p ''; later 60; resolves hangs; begin 4000 = wait"); /* that connection was not brief */
	while (step() == LSH_WAIT) {
		wait_for_dial(LSH_NEVER, step_puppets());
		if (p->accepted == 2)
			play("resolves 127.0.0.2 127.0.0.3");
	}
	play("address = 127.0.0.3; accepted p = 2; accepted q = 1");
	assert_int_equal(socket_accept(p->listener), -1); /* not once more: it has had its time */
}

SCENE(a_resolver_that_hangs_is_left_at_the_deadline_and_ends_by_itself,
      "let d descriptors; let a asked; resolves hangs 127.0.0.1; dial redis://hanging.test nameless;"
      "repeat 3; clock; attempt 20 ~ UNAVAILABLE: 'redis://hanging.test:6379: its name was not resolved in time';"
      "errno = ETIMEDOUT; took >= 20; next; await asked > $a; let b asked;"
      "later 60; attempt 20 ~ UNAVAILABLE:; await asked > $b;" /* another is asked when that has taken too long */
      "close; resolving = 2; resolves 127.0.0.1; await descriptors = $d") /* which does not wait */

SENTENCE(many_names_are_resolved_at_once_and_given_up_at_any_time)
{
	struct lsh_request *request[16];
	int e;

	play("let d descriptors");
	for (int round = 0; round < 20; round++) {
		play("resolves %s 127.0.0.1 ::1", round % 2 == 0 ? "hangs" : "");
		for (size_t i = 0; i < COUNT(request); i++) {
			request[i] = lsh_request_new("some.test", 6379, &e);
			assert_non_null(request[i]);
		}
		for (size_t i = 0; i < COUNT(request) / 2; i++)
			lsh_request_drop(request[i]);
		play("resolves 127.0.0.1 ::1");
		for (size_t i = COUNT(request) / 2; i < COUNT(request); i++) {
			const struct lsh_answer *answer = &request[i]->answer;
			char text[LSH_ADDRESS_TEXT];

			await_readable(request[i]->fd);
			assert_true(atomic_load(&request[i]->answered));
			assert_int_equal(answer->error, 0);
			assert_int_equal(answer->count, 2);
			assert_int_equal(answer->address[0].v4.sin_port, htons(6379));
			lsh_address_show(&answer->address[1], text);
			assert_string_equal(text, "::1");
			lsh_request_drop(request[i]);
		}
	}
	play("await descriptors = $d");
}

SENTENCE(a_numeric_address_asks_nobody)
{
	struct lsh_address a, b;
	char text[LSH_ADDRESS_TEXT];

	play("let a asked");
	assert_true(lsh_address_of(&a, "127.0.0.1", 1) && lsh_address_of(&b, "127.0.0.1", 2) && !lsh_address_is(&a, &b));
	assert_true(lsh_address_of(&b, "127.0.0.1", 1) && lsh_address_is(&a, &b));
	assert_true(lsh_address_of(&a, "2001:db8::1", 6379));
	lsh_address_show(&a, text);
	assert_string_equal(text, "2001:db8::1");
	assert_false(lsh_address_of(&a, "some.test", 6379) || lsh_address_of(&a, "", 6379));
	play("asked = $a");
}
