/* A bug that other lock libraries have had: a release in a destructor aborted the process. The others of their bugs have
 * their tests elsewhere; docs/faults.md says where. */
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/proxy.h"
#include "tests/support/sanitizer.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <unistd.h>

static struct server *server;
static struct proxy *proxy;
static _Thread_local leash_error err; /* what the last call said */

static void
start(void)
{
	server = server_start(NULL);
	proxy = proxy_start(server_socket(server));
}

static void
stop(void)
{
	proxy_stop(proxy);
	server_stop(server);
}

FIXTURE(start, stop);

enum { BEFORE, AFTER, AT_EXIT, LAST, PLACES };

struct end_of_process {
	char uri[256];
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
release_before(void *lock)
{
	(void)lock;
	release_at(BEFORE);
}

static void
release_after(void *lock)
{
	(void)lock;
	release_at(AFTER);
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
make_keys(void)
{
	struct server *any = server_start(NULL);

	assert_int_equal(pthread_key_create(&keys[BEFORE], release_before), 0);
	leash_close(leashed_open(server_uri(any), NULL));
	server_stop(any);
	assert_int_equal(pthread_key_create(&keys[AFTER], release_after), 0);
}

GROUP(make_keys, NULL);

static void *
hold_and_end(void *arg)
{
	for (int i = BEFORE; i <= AFTER; i++) {
		if (leash_lock_acquire(held_to_the_end[i], 30000, &err) != LEASH_OK)
			abort();
		pthread_setspecific(keys[i], held_to_the_end[i]);
	}
	stage_set(&ending->stage, 1);
	stage_await(&ending->stage, 2);
	return arg;
}

static int
end_with_destructors(void *arg)
{
	static const char *const names[PLACES] = {"before", "after", "at exit", "last"};
	leash_client *own;
	pthread_t thread;

	alarm(120);
	own = leashed_open(((struct end_of_process *)arg)->uri, LEASH_OPTIONS(.lease_ms = 2000, .timeout_ms = 300));
	for (int i = 0; i < PLACES; i++)
		held_to_the_end[i] = leashed_lock(own, names[i], NULL);
	assert_status(LEASH_OK, leash_lock_acquire(held_to_the_end[AT_EXIT], 30000, &err));
	assert_status(LEASH_OK, leash_lock_acquire(held_to_the_end[LAST], 30000, &err));
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

static bool
may_come_of_a_release(int status, bool trouble)
{
	return status == LEASH_OK || status == LEASH_NOT_HELD ||
		(trouble && (status == LEASH_LOST || status == LEASH_UNKNOWN));
}

SENTENCE(a_release_in_a_destructor_returns_whatever_it_meets)
{
	static const char *const what[] =
		{"all is well", "the locks were deleted", "the server is away", "the server has forgotten the scripts"};

	if (UNDER_TSAN) /* the proxy has a thread in this process */
		skip();
	for (int mode = 0; mode < 4; mode++) {
		struct end_of_process *e = child_share(sizeof *e);
		pid_t pid;

		snprintf(e->uri, sizeof e->uri, "%s", proxy_uri(proxy));
		for (int i = 0; i < PLACES; i++)
			e->status[i] = -2; /* was not called */
		pid = child_run(end_with_destructors, e);
		stage_await(&e->stage, 1);
		if (mode == 1)
			assert_int_equal(server_integer(server, "DEL leash:{before} leash:{after} leash:{at%%20exit} leash:{last}"),
			                 PLACES);
		if (mode == 2) {
			proxy_refuse(proxy, true);
			proxy_reset_all(proxy);
		}
		if (mode == 3)
			freeReplyObject(server_command(server, "SCRIPT FLUSH"));
		stage_set(&e->stage, 2);
		child_wait(pid); /* not aborted, not crashed */
		printf("# %s: %s, %s, %s, %s\n", what[mode], leash_status_name(e->status[BEFORE]),
		       leash_status_name(e->status[AFTER]),
		       leash_status_name(e->status[AT_EXIT]), leash_status_name(e->status[LAST]));
		for (int i = 0; i < PLACES; i++)
			assert_true(may_come_of_a_release(e->status[i], mode == 1 || mode == 2));
		proxy_refuse(proxy, false);
		await_true(server_integer(server, "EXISTS leash:{before} leash:{after} leash:{at%%20exit} leash:{last}") == 0);
		child_unshare(e, sizeof *e);
	}
}
