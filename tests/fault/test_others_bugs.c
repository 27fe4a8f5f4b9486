/* A bug that other lock libraries have had: a release in a destructor aborted the process. The others of their bugs have
 * their tests elsewhere; docs/faults.md says where. */
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/sanitizer.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <unistd.h>

static _Thread_local leash_error err; /* what the last call said */

enum { BEFORE, AFTER, AT_EXIT, LAST, PLACES };

#define KEYS "leash:{0} leash:{1} leash:{2} leash:{3}"

struct end_of_process {
	struct stage stage;              /* 1: all is held. 2, by the test: go on */
	_Atomic int status[PLACES];      /* of the releases; -1: did not return */
};

static struct end_of_process *ending; /* of a child of the test; else NULL */
static leash_lock *held_to_the_end[PLACES];

static void
release_at(int place)
{
	if (ending == NULL)
		return;
	ending->status[place] = -1;
	ending->status[place] = (int)leash_lock_release(held_to_the_end[place], &err);
}

static void
release_of_thread(void *place)
{
	release_at((int)((leash_lock **)place - held_to_the_end));
}

static void
release_at_exit(void)
{
	release_at(AT_EXIT);
}

__attribute__((destructor)) static void
release_last(void)
{
	release_at(LAST);
}

/* one made before leash made its own, and one after: their destructors run in that order */
static pthread_key_t keys[2];

static void
start(void)
{
	start_server();
	assert_int_equal(pthread_key_create(&keys[BEFORE], release_of_thread), 0);
	leash_close(leashed_open(uri, NULL));
	assert_int_equal(pthread_key_create(&keys[AFTER], release_of_thread), 0);
}

GROUP(start, stop_server);

static void *
hold_and_end(void *arg)
{
	for (int i = BEFORE; i <= AFTER; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(held_to_the_end[i], 30000, &err));
		pthread_setspecific(keys[i], &held_to_the_end[i]);
	}
	stage_set(&ending->stage, 1);
	stage_await(&ending->stage, 2);
	return arg;
}

static const struct met {
	const char *name, *command, *says; /* to the server; NULL: it stands still */
	bool may_be_lost, may_be_unknown;
} met[] = {
	{"nothing", "PING", "PONG", false, false}, {"a lock that was deleted", "DEL " KEYS, "4", true, false},
	{"a server that stands still", NULL, NULL, true, true},
	{"a server that has forgotten the scripts", "SCRIPT FLUSH", "OK", false, false},
};

static int
end_with_destructors(void *arg)
{
	const struct met *row = given;
	bool still = row->command == NULL; /* so all is over soon; else whatever the machine does keeps nobody from it */
	leash_client *own = leashed_open(uri, LEASH_OPTIONS(.lease_ms = still ? 4000 : 30000,
	                                                    .timeout_ms = still ? 1000 : 30000));
	pthread_t thread;

	alarm(120);
	for (int i = 0; i < PLACES; i++) {
		held_to_the_end[i] = leashed_lock(own, (const char[]){(char)('0' + i), '\0'}, NULL);
		if (i > AFTER)
			assert_status(LEASH_OK, leash_lock_acquire(held_to_the_end[i], 30000, &err));
	}
	atexit(release_at_exit);
	ending = arg;
	assert_int_equal(pthread_create(&thread, NULL, hold_and_end, NULL), 0);
	pthread_join(thread, NULL);
	if (UNDER_ASAN) { /* which would look for leaks at exit() */
		release_at_exit();
		release_last();
		return 0;
	}
	exit(0);
}

SENTENCES(a_release_in_a_destructor_returns_whatever_it_meets, met)
{
	const struct met *row = given;
	struct end_of_process *e = child_share(sizeof *e);

	for (int i = 0; i < PLACES; i++)
		e->status[i] = -2; /* was not called */
	pid_t pid = child_run(end_with_destructors, e);
	stage_await(&e->stage, 1);
	if (row->command != NULL)
		assert_string_equal(server_text(server, row->command), row->says);
	else
		server_pause(server);
	stage_set(&e->stage, 2);
	child_wait(pid); /* not aborted, not crashed */
	if (row->command == NULL)
		server_resume(server);
	for (int i = 0; i < PLACES; i++)
		assert_true(e->status[i] == LEASH_OK || e->status[i] == LEASH_NOT_HELD ||
		            (row->may_be_lost && e->status[i] == LEASH_LOST) ||
		            (row->may_be_unknown && e->status[i] == LEASH_UNKNOWN));
	await_true(server_integer(server, "EXISTS " KEYS) == 0);
	child_unshare(e, sizeof *e);
}
