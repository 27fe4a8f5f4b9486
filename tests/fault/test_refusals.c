/* A server that answers, and says no: who asked is told what and why, and nothing goes on asking behind their backs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/await.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/server.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct server *server;
static leash_client *client;
static struct leashed_events events;

static int64_t
slow_ms(int64_t ms)
{
	return (int64_t)((double)ms * await_slowness());
}

static int
start(void **state)
{
	(void)state;
	memset(&events, 0, sizeof events);
	server = server_start(NULL);
	client = leashed_open(server_uri(server),
	                      LEASH_OPTIONS(.timeout_ms = slow_ms(500), .on_event = leashed_note_event, .event_arg = &events));
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	leash_close(client);
	server_stop(server);
	return 0;
}

/* So that the server knows the scripts, and one try is one command. */
static void
warm_up(void)
{
	leash_lock *lock = leashed_lock(client, "warm", NULL);
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 1000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
}

static int64_t
refusals_so_far(void)
{
	static const char name[] = "total_error_replies:";
	const char *at = strstr(server_text(server, "INFO stats"), name);

	assert_non_null(at);
	return atoll(at + sizeof name - 1);
}

static bool
refuses_nobody_for_a_second(void)
{
	int64_t before = refusals_so_far();

	await_ms(1000);
	return refusals_so_far() == before;
}

static void
failed_tries_cost_one_command_each_and_leave_nothing_behind(void **state)
{
	enum { TRIES = 200 };
	leash_lock *lock = leashed_lock(client, "refused", NULL);
	struct monitor *monitor;
	leash_error err;

	(void)state;
	warm_up();
	monitor = monitor_start(server);
	server_text(server, "CONFIG SET min-replicas-to-write 1");
	monitor_mark(monitor);
	for (int i = 0; i < TRIES; i++)
		assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 0, &err));
	assert_non_null(strstr(err.text, "lock 'refused'"));
	assert_non_null(strstr(err.text, "NOREPLICAS"));
	await_ms(slow_ms(600)); /* what was to be repeated would have been */
	assert_int_equal(monitor_count(monitor, "eval"), TRIES);
	assert_int_equal(monitor_count(monitor, NULL), TRIES);
	server_text(server, "CONFIG SET min-replicas-to-write 0");
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	monitor_stop(monitor);
	leash_lock_free(lock);
}

static void
tries_that_are_not_permitted_leave_no_stream_of_commands_behind(void **state)
{
	enum { LOCKS = 50 };
	leash_error err;

	(void)state;
	warm_up();
	server_text(server, "ACL SETUSER default -eval -evalsha");
	for (int i = 0; i < LOCKS; i++) {
		leash_lock *lock;
		char name[24];

		snprintf(name, sizeof name, "forbidden%d", i);
		lock = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.lease_ms = 200));
		assert_status(LEASH_DENIED, leash_lock_acquire(lock, 0, &err));
		leash_lock_free(lock);
	}
	assert_non_null(strstr(err.text, "evalsha"));
	await_true(refuses_nobody_for_a_second()); /* a timeout, a lease and some seconds later at the latest */
	server_text(server, "ACL SETUSER default +eval +evalsha");
}

/* Does `text` contain `word`, alone? */
static bool
names(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
		char before = at > text ? at[-1] : ' ', after = at[n];

		if ((before < 'A' || before > 'Z') && (after < 'A' || after > 'Z'))
			return true;
	}
	return false;
}

static void
who_may_not_give_a_command_of_a_script_is_told_which(void **state)
{
	static const char *const commands[] = {"HSET", "PEXPIRE", "SET", "EXISTS", "TIME"};
	leash_lock *lock = leashed_lock(client, "which", NULL);
	size_t unnamed = 0;
	leash_error err;

	(void)state;
	warm_up();
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		server_text(server, "ACL SETUSER default -%s", commands[i]);
		assert_status(LEASH_DENIED, leash_lock_acquire(lock, 0, &err));
		assert_int_equal(err.status, LEASH_DENIED);
		assert_non_null(strstr(err.text, "lock 'which'"));
		if (!names(err.text, commands[i])) {
			printf("# without %s: %s\n", commands[i], err.text);
			unnamed++;
		}
		assert_status(LEASH_DENIED, leash_lock_acquire(lock, 2000, &err)); /* waiting does not make it right */
		server_text(server, "ACL SETUSER default +%s", commands[i]);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	assert_int_equal(unnamed, 0);
	await_true(server_integer(server, "EXISTS leash:{which} leash:{which}:queue") == 0);
	leash_lock_free(lock);
}

static void
a_holder_whose_key_is_gone_is_told_at_the_next_renewal(void **state)
{
	static const char *const does[] = {"DEL leash:{gone}", "SET leash:{gone} something-else", "HSET leash:{gone} somebody 1"};
	int64_t lease_ms = slow_ms(3000);
	leash_lock *lock = leashed_lock(client, "gone", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms));
	leash_error err;

	(void)state;
	for (int i = 0; i < 3; i++) {
		int64_t acquired;

		assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
		acquired = await_now_ns();
		if (i > 0)
			server_text(server, "DEL leash:{gone}");
		server_text(server, does[i]);
		await_true(events.count[LEASH_EVENT_LOST] == i + 1);
		/* due after a third of the lease; with all there is to spare, long before the lease would have ended */
		assert_true(events.at_ns[LEASH_EVENT_LOST] - acquired < lease_ms * 1000000 * 2 / 3);
		assert_false(leash_lock_held(lock));
		assert_status(LEASH_LOST, leash_lock_release(lock, &err));
		if (i > 0) { /* what others put there is left alone */
			await_ms(20);
			assert_string_equal(server_text(server, "TYPE leash:{gone}"), i == 1 ? "string" : "hash");
			server_text(server, "DEL leash:{gone}");
		}
	}
	assert_int_equal(events.total, 3);
	leash_lock_free(lock);
}

struct waiter {
	leash_lock *lock;
	leash_status status;
	leash_error err;
	_Atomic int done;
	pthread_t thread;
};

static void *
wait_for_ever(void *arg)
{
	struct waiter *w = arg;

	w->status = leash_lock_acquire(w->lock, LEASH_FOREVER, &w->err);
	w->done = 1;
	return NULL;
}

/* Somebody waits without end while `command` makes one of the lock's keys another kind of thing. */
static void
spoil_what_is_waited_for(const char *spoiled, const char *command)
{
	leash_client *other = leashed_open(server_uri(server), NULL);
	leash_lock *held = leashed_lock(other, "spoiled", NULL), *lock = leashed_lock(client, "spoiled", NULL);
	static struct waiter w;
	leash_error err;

	w = (struct waiter){.lock = lock};
	assert_status(LEASH_OK, leash_lock_acquire(held, 10000, &err));
	assert_int_equal(pthread_create(&w.thread, NULL, wait_for_ever, &w), 0);
	await_true(server_integer(server, "ZCARD leash:{spoiled}:queue") == 2);
	server_text(server, "DEL %s", spoiled);
	server_text(server, command);
	await_true(w.done);
	pthread_join(w.thread, NULL);
	assert_status(LEASH_MISMATCH, (err = w.err, w.status));
	assert_non_null(strstr(err.text, "lock 'spoiled'"));
	assert_string_equal(server_text(server, "TYPE %s", spoiled), "string");
	server_text(server, "DEL %s", spoiled);
	leash_lock_release(held, &err);
	leash_lock_free(held);
	leash_lock_free(lock);
	leash_close(other);
}

static void
who_waits_for_a_key_that_becomes_something_else_is_told_so(void **state)
{
	(void)state;
	spoil_what_is_waited_for("leash:{spoiled}", "SET leash:{spoiled} something-else");
	spoil_what_is_waited_for("leash:{spoiled}:queue", "SET leash:{spoiled}:queue something-else");
}

#define test(name) cmocka_unit_test_setup_teardown(name, start, stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(failed_tries_cost_one_command_each_and_leave_nothing_behind),
		test(tries_that_are_not_permitted_leave_no_stream_of_commands_behind),
		test(who_may_not_give_a_command_of_a_script_is_told_which),
		test(a_holder_whose_key_is_gone_is_told_at_the_next_renewal),
		test(who_waits_for_a_key_that_becomes_something_else_is_told_so),
	};

	return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
