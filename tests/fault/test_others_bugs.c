/* Bugs that other lock libraries have had, each as a test that would find it here. Those that other programs test
 * anyway have no second test: tests/core, tests/contract, test_cut, test_races. */
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
static leash_client *client, *direct;
static struct leashed_events events;
static _Thread_local leash_error err; /* what the last call said */

static void
start(void)
{
	memset(&events, 0, sizeof events);
	server = server_start(NULL);
	proxy = proxy_start(server_socket(server));
	client = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = slow_ms(3000), .on_event = leashed_note_event,
	                                                      .event_arg = &events));
	direct = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = slow_ms(3000)));
}

static void
stop(void)
{
	leash_close(client);
	leash_close(direct);
	proxy_stop(proxy);
	server_stop(server);
}

FIXTURE(start, stop);

/* A thread that acquires a lock and releases it. */
struct taker {
	leash_lock *lock;
	struct stage *go;         /* begins with it at 1; NULL: at once */
	_Atomic int has_it, may_release;
	_Atomic int64_t began_ns, got_ns;
	leash_status status;
	leash_error err;
	pthread_t thread;
};

static void *
take(void *arg)
{
	struct taker *t = arg;

	if (t->go != NULL)
		stage_await(t->go, 1);
	t->began_ns = await_now_ns();
	t->status = leash_lock_acquire(t->lock, LEASH_FOREVER, &t->err);
	t->got_ns = await_now_ns();
	t->has_it = 1;
	await_true(t->may_release);
	if (t->status == LEASH_OK)
		t->status = leash_lock_release(t->lock, &t->err);
	return NULL;
}

static void
begin_taking(struct taker *t, leash_lock *lock, struct stage *go)
{
	*t = (struct taker){.lock = lock, .go = go};
	assert_int_equal(pthread_create(&t->thread, NULL, take, t), 0);
}

static void
end_taking(struct taker *t)
{
	t->may_release = 1;
	pthread_join(t->thread, NULL);
	assert_status(LEASH_OK, (err = t->err, t->status));
}

/* ---- renewals ---- */

SENTENCE(renewals_go_on_after_each_of_many_reconnects)
{
	int64_t lease_ms = slow_ms(6000);
	leash_lock *lock[3];

	for (int i = 0; i < 3; i++) {
		char name[8];

		snprintf(name, sizeof name, "r%d", i);
		lock[i] = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.lease_ms = lease_ms));
		assert_status(LEASH_OK, leash_lock_acquire(lock[i], 30000, &err));
	}
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 3; i++)
			assert_int_equal(server_integer(server, "PEXPIRE leash:{r%d} %lld", i, (long long)lease_ms / 2), 1);
		proxy_reset_all(proxy);
		/* all that is held is renewed as soon as there is a connection */
		for (int i = 0; i < 3; i++) {
			await_true(server_integer(server, "PTTL leash:{r%d}", i) > lease_ms / 2);
			assert_true(leash_lock_held(lock[i]));
		}
	}
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	/* and by the clock again, without a reconnect */
	for (int i = 0; i < 3; i++)
		assert_int_equal(server_integer(server, "PEXPIRE leash:{r%d} %lld", i, (long long)lease_ms * 5 / 9), 1);
	for (int i = 0; i < 3; i++) {
		await_true(server_integer(server, "PTTL leash:{r%d}", i) > lease_ms * 5 / 9);
		assert_status(LEASH_OK, leash_lock_release(lock[i], &err));
		leash_lock_free(lock[i]);
	}
}

/* ---- wake-ups ---- */

SENTENCE(who_begins_to_wait_at_the_moment_of_a_release_is_woken_by_it)
{
	enum { ROUNDS = 400 };
	int slow = 0, waited = 0;

	for (int i = 0; i < ROUNDS; i++) {
		bool same = i % 2; /* the same process and handle, or over Redis */
		leash_lock *lock = leashed_lock(direct, "moment", NULL),
			*wanted = same ? lock : leashed_lock(client, "moment", NULL);
		struct stage go = {0};
		struct taker t;
		int64_t released;

		assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
		begin_taking(&t, wanted, &go);
		stage_set(&go, 1);
		for (int n = 0; n < i % 20 * 300; n++)
			__asm__ volatile("");
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		released = await_now_ns();
		await_true(t.has_it);
		waited += t.began_ns < released;
		/* who missed it is woken by its next word, a second later */
		slow += t.got_ns - (t.began_ns > released ? t.began_ns : released) > 500 * MS;
		end_taking(&t);
		leash_lock_free(lock);
		if (!same)
			leash_lock_free(wanted);
	}
	printf("# %d rounds, %d began before the release had returned, %d waited for longer than half a second\n", ROUNDS,
	       waited, slow);
	assert_true(waited > 0);
	assert_true(slow <= ROUNDS / 20); /* this machine may stand still now and then */
}

/* ---- keys ---- */

static void
check_ttls(int64_t least, int64_t most)
{
	redisReply *keys = server_command(server, "KEYS *");

	for (size_t i = 0; i < keys->elements; i++) {
		int64_t ttl = server_integer(server, "PTTL %b", keys->element[i]->str, (size_t)keys->element[i]->len);

		if (ttl != -2 && (ttl < least || ttl > most))
			fail_msg("%s: PTTL is %lld", keys->element[i]->str, (long long)ttl);
	}
	freeReplyObject(keys);
}

SENTENCE(a_thousand_names_leave_fences_that_expire_and_nothing_else)
{
	enum { NAMES = 1000 };
	leash_lock *theirs = leashed_lock(direct, "passed on", NULL), *passed = leashed_lock(client, "passed on", NULL);
	struct taker t;

	for (int i = 0; i < NAMES; i++) {
		char name[24];
		leash_lock *lock;

		snprintf(name, sizeof name, "name %d", i);
		lock = leashed_lock(direct, name, NULL);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		leash_lock_free(lock);
	}
	/* by a grant, too */
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 30000, &err));
	begin_taking(&t, passed, NULL);
	await_true(server_integer(server, "ZCOUNT leash:{passed%%20on}:queue (0 +inf") == 1);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	end_taking(&t);
	assert_int_equal(server_integer(server, "EVAL %s 0", "return #redis.call('KEYS', '*:fence')"), NAMES + 1);
	assert_int_equal(server_integer(server, "DBSIZE"), NAMES + 1 + leashed_introductions(server));
	check_ttls(1, 86400000); /* none is there for ever, nor for more than a day */
	leash_lock_free(theirs);
	leash_lock_free(passed);
}

/* ---- releases in destructors ---- */

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
