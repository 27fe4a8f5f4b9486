/* Lives that end before or otherwise than one would wish: of a client, a thread, a process, a call; and the callbacks, signals,
 * memory and descriptors of an application, which leash must not disturb.
 *
 * All memory that leash takes comes through a counting allocator; after each test nothing of it may be left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/await.h"
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/proxy.h"
#include "tests/support/sanitizer.h"
#include "tests/support/server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct server *server;
static _Thread_local leash_error err; /* what the last call said */

/* ---- memory ---- */

static _Atomic long live;    /* blocks that leash has */
static _Atomic long calls;   /* of alloc and realloc */
static _Atomic long fail_at; /* this call, counted from when it was set; 0: none */
static _Atomic bool fail_on; /* and all after it */

static bool
fails(void)
{
	long n = ++calls, at = fail_at;

	return at != 0 && (n == at || (fail_on && n > at));
}

static void *
counted_alloc(size_t size)
{
	void *block = fails() ? NULL : malloc(size);

	live += block != NULL;
	return block;
}

static void *
counted_realloc(void *old, size_t size)
{
	void *block = fails() ? NULL : realloc(old, size);

	live += block != NULL && old == NULL;
	return block;
}

static void
counted_free(void *block)
{
	live -= block != NULL;
	free(block);
}

/* Before and after each test. */
static long at_first;

static int
note_what_there_is(void **state)
{
	(void)state;
	freeReplyObject(server_command(server, "FLUSHALL")); /* what a test left that failed */
	at_first = live;
	return 0;
}

static int
nothing_is_left(void **state)
{
	(void)state;
	if (live != at_first)
		print_error("leash keeps %ld blocks of memory\n", live - at_first);
	return live == at_first ? 0 : -1;
}

static int
start(void **state)
{
	(void)state;
	server = server_start(NULL);
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	server_stop(server);
	return 0;
}

static leash_client *
open_client(void)
{
	return leashed_open(server_uri(server), NULL);
}

static bool
is_free(const char *name)
{
	return server_integer(server, "EXISTS leash:{%s} leash:{%s}:queue", name, name) == 0;
}

/* ---- threads that hold and wait ---- */

enum order { HOLD, RELEASE, END };

/* A thread that acquires a lock, and goes on as it is told. */
struct user {
	leash_lock *lock;
	int64_t wait_ms;
	_Atomic int order;
	_Atomic int acquired; /* the acquire has returned */
	leash_status status, released, again;
	bool held;
	leash_error err;
	pthread_t thread;
};

static void *
use(void *arg)
{
	struct user *u = arg;

	u->status = leash_lock_acquire(u->lock, u->wait_ms, &u->err);
	u->acquired = 1;
	await_true(u->order != HOLD);
	u->held = leash_lock_held(u->lock);
	if (u->order == RELEASE) {
		u->released = leash_lock_release(u->lock, &u->err);
		u->again = leash_lock_acquire(u->lock, 0, NULL);
		if (u->again == LEASH_OK)
			leash_lock_release(u->lock, NULL);
	}
	return NULL;
}

static void
begin(struct user *u, leash_lock *lock, int64_t wait_ms)
{
	*u = (struct user){.lock = lock, .wait_ms = wait_ms};
	assert_int_equal(pthread_create(&u->thread, NULL, use, u), 0);
}

static void
end(struct user *u, enum order order)
{
	u->order = order;
	pthread_join(u->thread, NULL);
}

/* ---- close ---- */

enum { HOLDERS = 3, WAITERS = 3 };

static void
close_releases_what_is_held_and_wakes_who_waits(void **state)
{
	leash_client *client = open_client(), *other = open_client();
	leash_lock *theirs = leashed_lock(other, "theirs", NULL), *wanted = leashed_lock(client, "theirs", NULL);
	leash_lock *held[HOLDERS];
	struct user holder[HOLDERS], waiter[WAITERS], local;
	int64_t begun;

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	for (int i = 0; i < HOLDERS; i++) {
		held[i] = leashed_lock(client, (const char *const[]){"h0", "h1", "h2"}[i], NULL);
		begin(&holder[i], held[i], 0);
		await_true(holder[i].acquired);
		assert_int_equal(holder[i].status, LEASH_OK);
	}
	for (int i = 0; i < WAITERS; i++)
		begin(&waiter[i], wanted, i == 0 ? LEASH_FOREVER : 600000);
	begin(&local, held[0], LEASH_FOREVER);
	await_true(server_integer(server, "ZCARD leash:{theirs}:queue") == 2);

	begun = await_now_ns();
	leash_close(client);
	/* one round trip; twice the timeout if there is no answer */
	assert_true(await_now_ns() - begun < 2 * INT64_C(1000000000) * await_slowness());
	for (int i = 0; i < WAITERS; i++) {
		end(&waiter[i], RELEASE);
		assert_int_equal(waiter[i].status, LEASH_CLOSED);
		assert_non_null(strstr(waiter[i].err.text, "lock 'theirs'"));
		assert_int_equal(waiter[i].released, LEASH_CLOSED);
	}
	end(&local, RELEASE);
	assert_int_equal(local.status, LEASH_CLOSED);
	for (int i = 0; i < HOLDERS; i++) {
		end(&holder[i], RELEASE);
		assert_false(holder[i].held);
		assert_int_equal(holder[i].released, LEASH_CLOSED);
		assert_int_equal(holder[i].again, LEASH_CLOSED);
		leash_lock_free(held[i]);
	}
	assert_true(is_free("h0") && is_free("h1") && is_free("h2"));
	assert_int_equal(server_integer(server, "EXISTS leash:{theirs}:queue"), 0);
	assert_true(leash_lock_held(theirs));
	leash_lock_free(wanted);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	leash_lock_free(theirs);
	leash_close(other);
}

static void
a_closed_client_answers_closed_for_as_long_as_there_are_handles(void **state)
{
	leash_client *client = open_client();
	leash_lock *lock = leashed_lock(client, "closed", NULL), *second = leashed_lock(client, "second", NULL), *none = NULL;
	char token[LEASH_TOKEN_MAX];

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	leash_close(client);
	assert_true(is_free("closed"));
	for (int i = 0; i < 2; i++) {
		assert_status(LEASH_CLOSED, leash_lock_acquire(lock, 0, &err));
		assert_non_null(strstr(err.text, "lock 'closed'"));
		assert_status(LEASH_CLOSED, leash_lock_acquire(lock, LEASH_FOREVER, &err));
		assert_status(LEASH_CLOSED, leash_lock_acquire_with(lock, NULL, &err));
		assert_status(LEASH_CLOSED, leash_lock_release(lock, &err));
		assert_status(LEASH_CLOSED, leash_lock_extend(lock, 1000, &err));
		assert_status(LEASH_CLOSED, leash_lock_new(&none, client, "new", NULL, &err));
		assert_null(none);
		assert_false(leash_lock_held(lock));
		assert_int_equal(leash_lock_depth(lock), 0);
		assert_int_equal(leash_lock_fence(lock), 0);
		assert_int_equal(leash_lock_remaining_ms(lock), 0);
		assert_int_equal(leash_lock_token(lock, token, sizeof token), 0);
		leash_lock_alive(lock);
	}
	leash_lock_free(lock);
	assert_status(LEASH_CLOSED, leash_lock_acquire(second, 0, &err));
	leash_lock_free(second);
}

struct busy {
	leash_lock *lock[2];
	_Atomic int turns;
	pthread_t thread;
};

static void *
be_busy(void *arg)
{
	struct busy *b = arg;
	leash_status status = LEASH_OK;

	for (int i = 0; status != LEASH_CLOSED; i++) {
		leash_lock *lock = b->lock[i % 2];

		status = leash_lock_acquire(lock, i % 3 == 0 ? 0 : 20, NULL);
		b->turns++;
		if (status != LEASH_OK)
			continue;
		if (leash_lock_acquire(lock, 0, NULL) == LEASH_OK)
			leash_lock_release(lock, NULL);
		leash_lock_extend(lock, 40000, NULL);
		leash_lock_token(lock, NULL, 0);
		leash_lock_release(lock, NULL);
	}
	return NULL;
}

static void
close_ends_calls_that_are_under_way_whatever_they_are_doing(void **state)
{
	enum { THREADS = 4 };

	(void)state;
	for (int round = 0; round < 25; round++) {
		leash_client *client = open_client();
		struct busy busy[THREADS];

		for (int i = 0; i < THREADS; i++) {
			busy[i] = (struct busy){.lock = {leashed_lock(client, "busy", NULL), leashed_lock(client, i % 2 ? "odd" : "even", NULL)}};
			assert_int_equal(pthread_create(&busy[i].thread, NULL, be_busy, &busy[i]), 0);
		}
		await_true(busy[0].turns > 10 * (round % 5) && busy[3].turns > 0);
		leash_close(client);
		/* what was held, what was just being acquired, and what was just being released */
		assert_true(is_free("busy") && is_free("odd") && is_free("even"));
		for (int i = 0; i < THREADS; i++) {
			pthread_join(busy[i].thread, NULL);
			leash_lock_free(busy[i].lock[0]);
			leash_lock_free(busy[i].lock[1]);
		}
		assert_int_equal(live, at_first);
	}
}

static void
close_does_not_wait_for_ever_for_a_server_that_stands_still(void **state)
{
	struct server *still = server_start(NULL);

	(void)state;
	/* with a release under way, with one who waits, and with both */
	for (int which = 1; which <= 3; which++) {
		leash_client *client = leashed_open(server_uri(still), LEASH_OPTIONS(.timeout_ms = 500)), *other = leashed_open(server_uri(still), NULL);
		leash_lock *theirs = leashed_lock(other, "theirs", NULL), *wanted = leashed_lock(client, "theirs", NULL);
		leash_lock *held = leashed_lock(client, (const char *const[]){"s1", "s2", "s3"}[which - 1], NULL);
		struct user releaser = {0}, waiter = {0};
		int64_t begun;

		assert_status(LEASH_OK, leash_lock_acquire(theirs, 5000, &err));
		if (which & 1) {
			begin(&releaser, held, 5000);
			await_true(releaser.acquired);
			assert_int_equal(releaser.status, LEASH_OK);
		}
		if (which & 2) {
			begin(&waiter, wanted, LEASH_FOREVER);
			await_true(server_integer(still, "ZCARD leash:{theirs}:queue") == 2);
		}
		server_pause(still);
		releaser.order = RELEASE;
		await_ms(50); /* so that it is sent */
		begun = await_now_ns();
		leash_close(client);
		assert_true(await_now_ns() - begun < 5 * INT64_C(1000000000) * await_slowness());
		if (which & 1) {
			end(&releaser, RELEASE);
			assert_true(releaser.released == LEASH_UNKNOWN || releaser.released == LEASH_CLOSED);
		}
		if (which & 2) {
			end(&waiter, END);
			assert_int_equal(waiter.status, LEASH_CLOSED);
		}
		server_resume(still);
		leash_lock_free(held);
		leash_lock_free(wanted);
		assert_status(LEASH_OK, leash_lock_release(theirs, &err));
		leash_lock_free(theirs);
		leash_close(other);
		assert_int_equal(live, at_first);
	}
	server_stop(still);
}

static void
close_does_not_wait_at_all_for_a_server_that_is_gone(void **state)
{
	enum { N = 6 };
	struct server *gone = server_start(NULL);
	leash_client *client = leashed_open(server_uri(gone), NULL), *other = leashed_open(server_uri(gone), NULL);
	leash_lock *theirs[N], *wanted[N], *held = leashed_lock(client, "held", NULL);
	struct user waiter[N];
	int64_t begun;

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	for (int i = 0; i < N; i++) {
		char name[] = {'t', (char)('0' + i), '\0'};

		theirs[i] = leashed_lock(other, name, NULL);
		wanted[i] = leashed_lock(client, name, NULL);
		assert_status(LEASH_OK, leash_lock_acquire(theirs[i], 0, &err));
		begin(&waiter[i], wanted[i], i % 2 ? LEASH_FOREVER : 600000);
		await_true(server_integer(gone, "ZCARD leash:{%s}:queue", name) == 2);
	}
	server_kill(gone);
	await_ms(50);
	begun = await_now_ns();
	leash_close(client);
	assert_true(await_now_ns() - begun < 2 * INT64_C(1000000000) * await_slowness());
	for (int i = 0; i < N; i++) {
		end(&waiter[i], RELEASE);
		assert_int_equal(waiter[i].status, LEASH_CLOSED);
		leash_lock_free(wanted[i]);
	}
	assert_false(leash_lock_held(held));
	leash_lock_free(held);
	leash_close(other);
	for (int i = 0; i < N; i++)
		leash_lock_free(theirs[i]);
	server_stop(gone);
}

/* ---- threads that end ---- */

static void *
hold_and_end(void *arg)
{
	leash_lock *const *lock = arg;

	for (int i = 0; lock[i] != NULL; i++)
		for (int depth = 0; depth <= i; depth++)
			if (leash_lock_acquire(lock[i], 5000, &err) != LEASH_OK)
				return err.text;
	if (lock[1] == NULL)
		pthread_exit(NULL); /* from wherever it is, or by returning */
	return NULL;
}

static void
what_a_thread_holds_when_it_ends_is_abandoned(void **state)
{
	struct leashed_events events = {0};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));
	leash_lock *lock[] = {leashed_lock(client, "e0", NULL), leashed_lock(client, "e1", NULL), leashed_lock(client, "e2", NULL), NULL};
	leash_lock *one[] = {lock[0], NULL};
	int expected = 0;

	(void)state;
	for (int i = 0; i < 6; i++) {
		pthread_t thread;
		void *trouble;

		/* the third one is nested to depth 3 */
		assert_int_equal(pthread_create(&thread, NULL, hold_and_end, i % 2 ? one : lock), 0);
		pthread_join(thread, &trouble);
		assert_null(trouble);
		expected += i % 2 ? 1 : 3;
		await_true(events.count[LEASH_EVENT_ABANDONED] == expected);
		await_true(is_free("e0") && is_free("e1") && is_free("e2")); /* long before the lease ends */
		/* it was that thread's, and is nobody's now: also not a later thread's that is given what the ended one left */
		assert_int_equal(leash_lock_depth(lock[0]), 0);
		assert_status(LEASH_OK, leash_lock_acquire(lock[2], 0, &err));
		assert_int_equal(leash_lock_depth(lock[2]), 1);
		assert_status(LEASH_OK, leash_lock_release(lock[2], &err));
	}
	assert_int_equal(events.total, expected);
	for (int i = 0; i < 3; i++)
		leash_lock_free(lock[i]);
	leash_close(client);
}

static void *
end_after_a_loss(void *arg)
{
	leash_lock *lock = arg;

	if (leash_lock_acquire(lock, 0, NULL) != LEASH_OK || leash_lock_acquire(lock, 0, NULL) != LEASH_OK)
		return NULL;
	server_integer(server, "DEL leash:{lost%%20and%%20ended}");
	await_true(!leash_lock_held(lock));
	return lock;
}

static void
a_thread_that_ends_after_a_loss_leaves_nothing_to_unwind(void **state)
{
	struct leashed_events events = {0};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 300, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *lock = leashed_lock(client, "lost and ended", NULL);

	(void)state;
	for (int i = 1; i <= 3; i++) {
		pthread_t thread;
		void *done;

		assert_int_equal(pthread_create(&thread, NULL, end_after_a_loss, lock), 0);
		pthread_join(thread, &done);
		assert_ptr_equal(done, lock);
		await_true(events.count[LEASH_EVENT_LOST] == i);
		assert_int_equal(leash_lock_depth(lock), 0);
	}
	assert_int_equal(events.count[LEASH_EVENT_ABANDONED], 0); /* LOST was the last of each */
	leash_lock_free(lock);
	leash_close(client);
}

/* ---- forked children ---- */

/* What a child finds of its parent's. */
static struct {
	leash_client *client;
	leash_lock *held, *unheld;
	char token[LEASH_TOKEN_MAX];
	char uri[256];
	int fds;
} parents;

static void
open_for_children(const char *uri, int64_t lease_ms)
{
	parents.client = leashed_open(uri, LEASH_OPTIONS(.lease_ms = lease_ms));
	parents.held = leashed_lock(parents.client, "parent's", NULL);
	parents.unheld = leashed_lock(parents.client, "nobody's", NULL);
	snprintf(parents.uri, sizeof parents.uri, "%s", server_uri(server));
	assert_status(LEASH_OK, leash_lock_acquire(parents.held, 0, &err));
	assert_true(leash_lock_token(parents.held, parents.token, sizeof parents.token) > 0);
}

static void
close_after_children(void)
{
	assert_true(leash_lock_held(parents.held));
	assert_status(LEASH_OK, leash_lock_release(parents.held, &err));
	leash_lock_free(parents.held);
	leash_lock_free(parents.unheld);
	leash_close(parents.client);
}

static void
check_refused_in_child(leash_lock *lock)
{
	char token[LEASH_TOKEN_MAX] = "x";

	assert_status(LEASH_FORKED, leash_lock_acquire(lock, 0, &err));
	assert_non_null(strstr(err.text, "lock '"));
	assert_status(LEASH_FORKED, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	assert_status(LEASH_FORKED, leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = 5000), &err));
	assert_status(LEASH_FORKED, leash_lock_release(lock, &err));
	assert_status(LEASH_FORKED, leash_lock_extend(lock, 1000, &err));
	assert_false(leash_lock_held(lock));
	assert_int_equal(leash_lock_remaining_ms(lock), 0);
	assert_int_equal(leash_lock_depth(lock), 0);
	assert_int_equal(leash_lock_fence(lock), 0);
	assert_int_equal(leash_lock_token(lock, token, sizeof token), 0);
	assert_string_equal(token, "");
	leash_lock_alive(lock);
}

static int
use_all_in_child(void *arg)
{
	leash_lock *none = NULL;

	(void)arg;
	check_refused_in_child(parents.held);
	check_refused_in_child(parents.unheld);
	assert_status(LEASH_FORKED, leash_lock_new(&none, parents.client, "child's", NULL, &err));
	assert_null(none);
	leash_lock_free(parents.unheld);
	leash_close(parents.client);
	check_refused_in_child(parents.held);
	leash_lock_free(parents.held);
	return 0;
}

static void
a_child_that_uses_what_is_its_parents_is_told_so_and_sends_not_a_byte(void **state)
{
	struct proxy *proxy = proxy_start(server_socket(server));
	uint64_t bytes;

	(void)state;
	open_for_children(proxy_uri(proxy), 86400000); /* so that there is no renewal meanwhile */
	bytes = proxy_bytes(proxy, PROXY_BOTH);
	for (int i = 0; i < 3; i++)
		child_wait(child_run(use_all_in_child, NULL));
	assert_int_equal(proxy_bytes(proxy, PROXY_BOTH), bytes);
	assert_int_equal(proxy_open(proxy), 2);
	/* and the parent's connections have come to no harm */
	assert_status(LEASH_OK, leash_lock_extend(parents.held, 86400000, &err));
	assert_int_equal(proxy_accepted(proxy), 2);
	close_after_children();
	proxy_stop(proxy);
}

static int
just_end(void *arg)
{
	if (*(int *)arg == 1 && !UNDER_ASAN)
		exit(0);
	return 0;
}

static int
free_and_exit(void *arg)
{
	leash_lock_free(parents.held);
	leash_lock_free(parents.unheld);
	if (*(int *)arg == 3)
		leash_close(parents.client);
	if (!UNDER_ASAN)
		exit(0);
	return 0;
}

static void
a_parent_keeps_its_lock_whatever_its_children_do(void **state)
{
	leash_client *other = open_client();
	leash_lock *wanted = leashed_lock(other, "parent's", NULL);

	(void)state;
	open_for_children(server_uri(server), 600);
	for (int how = 0; how < 4; how++) {
		int64_t before;

		child_wait(child_run(how < 2 ? just_end : free_and_exit, &how));
		before = await_now_ns();
		assert_status(LEASH_TIMEOUT, leash_lock_acquire(wanted, 700, &err)); /* longer than the lease */
		assert_true(await_now_ns() - before >= INT64_C(690) * 1000000);
		assert_true(leash_lock_held(parents.held));
		assert_int_equal(leash_lock_depth(parents.held), 1);
	}
	close_after_children();
	leash_lock_free(wanted);
	leash_close(other);
}

/* Those that are eventfds, or those that are not. Of the former leash keeps some for its next client. */
static int
count_fds(bool events)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		char kind[64] = "";

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(folder))
			continue;
		assert_true(readlinkat(dirfd(folder), entry->d_name, kind, sizeof kind - 1) > 0);
		n += (strstr(kind, "[eventfd]") != NULL) == events;
	}
	closedir(folder);
	return n;
}

static int
close_in_child(void *arg)
{
	int before = count_fds(false), events_before = count_fds(true);

	(void)arg;
	leash_close(parents.client);
	if (before - count_fds(false) == parents.fds && events_before > count_fds(true))
		return 0;
	fprintf(stderr, "%d of %d descriptors were closed, and %d eventfds\n", before - count_fds(false), parents.fds, events_before - count_fds(true));
	return 1;
}

static void
close_in_a_child_closes_all_copies_of_the_descriptors(void **state)
{
	int before = count_fds(false), events;

	(void)state;
	leash_close(leashed_open(server_uri(server), NULL)); /* has all the eventfds made that one client needs */
	events = count_fds(true);
	open_for_children(server_uri(server), 30000);
	parents.fds = count_fds(false) - before;
	assert_true(parents.fds > 0);
	child_wait(child_run(close_in_child, NULL));
	close_after_children();
	assert_int_equal(count_fds(false), before);
	assert_true(count_fds(true) <= events);
}

static int
open_in_child(void *arg)
{
	struct stage *stage = arg;
	leash_client *client = leashed_open(parents.uri, NULL);
	leash_lock *mine = leashed_lock(client, "child's", NULL), *theirs = leashed_lock(client, "parent's", NULL);
	char token[LEASH_TOKEN_MAX];

	assert_status(LEASH_OK, leash_lock_acquire(mine, 0, &err));
	assert_true(leash_lock_token(mine, token, sizeof token) > 0);
	assert_int_not_equal(strncmp(token, parents.token, 36), 0); /* a client of its own */
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(theirs, 20, &err));
	check_refused_in_child(parents.held);
	stage_set(stage, 1);
	assert_status(LEASH_OK, leash_lock_acquire(theirs, LEASH_FOREVER, &err));
	check_refused_in_child(parents.held);
	leash_close(parents.client);
	assert_true(leash_lock_held(theirs));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	assert_status(LEASH_OK, leash_lock_release(mine, &err));
	leash_lock_free(theirs);
	leash_lock_free(mine);
	leash_close(client);
	return 0;
}

static void
a_child_can_open_a_client_of_its_own(void **state)
{
	struct stage *stage = child_share(sizeof *stage);
	pid_t pid;

	(void)state;
	open_for_children(server_uri(server), 30000);
	if (UNDER_TSAN)
		goto done;
	pid = child_run(open_in_child, stage);
	stage_await(stage, 1);
	await_true(server_integer(server, "ZCARD leash:{parent's}:queue") == 2);
	assert_status(LEASH_OK, leash_lock_release(parents.held, &err));
	child_wait(pid);
	assert_status(LEASH_OK, leash_lock_acquire(parents.held, 5000, &err));
done:
	close_after_children();
	child_unshare(stage, sizeof *stage);
}

static int
look_about_in_child(void *arg)
{
	alarm(60); /* or a mutex that nobody will ever unlock would stay unnoticed */
	check_refused_in_child(parents.held);
	if (*(int *)arg % 8 == 0 && !UNDER_TSAN && !UNDER_ASAN) {
		leash_client *client = leashed_open(parents.uri, NULL);
		leash_lock *lock = leashed_lock(client, "child's", NULL);

		assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		leash_lock_free(lock);
		leash_close(client);
	}
	leash_lock_free(parents.unheld);
	leash_close(parents.client);
	return 0;
}

static void
children_that_are_forked_amid_calls_of_other_threads_do_not_hang(void **state)
{
	enum { THREADS = 3 };
	struct busy busy[THREADS];

	(void)state;
	open_for_children(server_uri(server), 30000);
	for (int i = 0; i < THREADS; i++) {
		busy[i] = (struct busy){.lock = {leashed_lock(parents.client, "busy", NULL), leashed_lock(parents.client, i % 2 ? "odd" : "even", NULL)}};
		assert_int_equal(pthread_create(&busy[i].thread, NULL, be_busy, &busy[i]), 0);
	}
	for (int i = 0; i < 80; i++)
		child_wait(child_run(look_about_in_child, &i));
	assert_status(LEASH_OK, leash_lock_release(parents.held, &err));
	leash_close(parents.client);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(busy[i].thread, NULL);
		leash_lock_free(busy[i].lock[0]);
		leash_lock_free(busy[i].lock[1]);
	}
	leash_lock_free(parents.held);
	leash_lock_free(parents.unheld);
}

/* ---- callbacks ---- */

static struct {
	leash_client *client;
	leash_lock *held, *unheld;
	char uri[256];
	leash_status status[8];
	bool memory_only, handles;
	_Atomic int called, lines;
	_Atomic bool ready;
} inside;

static void
call_everything(void)
{
	leash_client *none = NULL;
	leash_lock *lock = NULL;
	char token[LEASH_TOKEN_MAX];
	int n = 0;

	inside.status[n++] = leash_lock_acquire(inside.unheld, 0, &err);
	inside.status[n++] = leash_lock_acquire(inside.unheld, LEASH_FOREVER, &err);
	inside.status[n++] = leash_lock_acquire_with(inside.unheld, NULL, &err);
	inside.status[n++] = leash_lock_release(inside.held, &err);
	inside.status[n++] = leash_lock_extend(inside.held, 1000, &err);
	inside.status[n++] = leash_open(&none, LEASH_OPTIONS(.uri = inside.uri), &err);
	/* callbacks own nothing */
	inside.memory_only = !leash_lock_held(inside.held) && leash_lock_remaining_ms(inside.held) == 0 && leash_lock_depth(inside.held) == 0 &&
		leash_lock_fence(inside.held) == 0 && leash_lock_token(inside.held, token, sizeof token) == 0;
	leash_lock_alive(inside.held);
	inside.handles = leash_lock_new(&lock, inside.client, "made inside", NULL, &err) == LEASH_OK;
	leash_lock_free(lock);
	leash_close(inside.client); /* does nothing */
	inside.called++;
}

static void
event_inside(void *arg, const leash_event *event)
{
	(void)arg, (void)event;
	call_everything();
}

static void
line_inside(void *arg, leash_log_level level, const char *line)
{
	(void)arg, (void)level, (void)line;
	if (!inside.ready || inside.lines++ > 0)
		return; /* of its opening, or of what is done here */
	call_everything();
}

static void
check_inside(void)
{
	for (int i = 0; i < 6; i++)
		assert_int_equal(inside.status[i], LEASH_IN_CALLBACK);
	assert_true(inside.memory_only);
	assert_true(inside.handles);
	/* the client is alive */
	assert_true(leash_lock_held(inside.held));
	assert_status(LEASH_OK, leash_lock_extend(inside.held, 5000, &err));
	assert_status(LEASH_OK, leash_lock_acquire(inside.unheld, 5000, &err));
	assert_status(LEASH_OK, leash_lock_release(inside.unheld, &err));
}

static void
calls_from_a_callback_are_refused_if_they_might_wait(void **state)
{
	(void)state;
	for (int by_log = 0; by_log < 2; by_log++) {
		leash_lock *trigger;

		memset(&inside, 0, sizeof inside);
		snprintf(inside.uri, sizeof inside.uri, "%s", server_uri(server));
		inside.client = by_log ? leashed_open(inside.uri, LEASH_OPTIONS(.on_log = line_inside))
		                       : leashed_open(inside.uri, LEASH_OPTIONS(.on_event = event_inside));
		inside.held = leashed_lock(inside.client, "held", NULL);
		inside.unheld = leashed_lock(inside.client, "unheld", NULL);
		trigger = leashed_lock(inside.client, "trigger", NULL);
		assert_status(LEASH_OK, leash_lock_acquire(inside.held, 0, &err));
		assert_status(LEASH_OK, leash_lock_acquire(trigger, 0, &err));
		inside.ready = true;
		leash_lock_free(trigger);
		if (by_log && inside.called == 0)
			server_integer(server, "CLIENT KILL TYPE normal SKIPME yes"); /* which is worth a line */
		await_true(inside.called == 1);
		check_inside();
		assert_status(LEASH_OK, leash_lock_release(inside.held, &err));
		leash_lock_free(inside.held);
		leash_lock_free(inside.unheld);
		leash_close(inside.client);
	}
}

struct slow {
	struct leashed_events events;
	_Atomic bool block, inside;
};

static void
slow_event(void *arg, const leash_event *event)
{
	struct slow *slow = arg;

	leashed_note_event(&slow->events, event);
	slow->inside = true;
	await_true_for(!slow->block, 60);
	slow->inside = false;
}

static void
a_callback_that_takes_its_time_delays_no_renewal(void **state)
{
	struct slow slow = {.block = true};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 400, .on_event = slow_event, .event_arg = &slow));
	leash_lock *kept = leashed_lock(client, "kept", NULL), *lost[4];
	int64_t until;

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(kept, 0, &err));
	for (int i = 0; i < 4; i++) {
		char name[] = {'l', (char)('0' + i), '\0'};

		lost[i] = leashed_lock(client, name, NULL);
		assert_status(LEASH_OK, leash_lock_acquire(lost[i], 0, &err));
		assert_int_equal(server_integer(server, "DEL leash:{%s}", name), 1);
	}
	await_true(slow.inside);
	until = await_now_ns() + INT64_C(1500) * 1000000;
	while (await_now_ns() < until) {
		assert_true(leash_lock_held(kept));
		assert_true(server_integer(server, "PTTL leash:{kept}") > 0);
		await_ms(10);
	}
	for (int i = 0; i < 4; i++)
		assert_false(leash_lock_held(lost[i])); /* which needs no event */
	assert_int_equal(slow.events.total, 1);
	slow.block = false;
	await_true(slow.events.count[LEASH_EVENT_LOST] == 4);
	for (int i = 0; i < 4; i++) {
		assert_status(LEASH_LOST, leash_lock_release(lost[i], &err));
		leash_lock_free(lost[i]);
	}
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	leash_lock_free(kept);
	leash_close(client);
	assert_int_equal(slow.events.total, 4);
}

static void *
close_it(void *client)
{
	leash_close(client);
	return NULL;
}

static void
no_callback_runs_once_close_has_returned(void **state)
{
	struct slow slow = {.block = true};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.on_event = slow_event, .event_arg = &slow));
	pthread_t thread;

	(void)state;
	for (int i = 0; i < 3; i++) {
		leash_lock *lock = leashed_lock(client, "abandoned", NULL);

		assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
		leash_lock_free(lock);
	}
	await_true(slow.inside);
	assert_int_equal(pthread_create(&thread, NULL, close_it, client), 0);
	await_ms(100);
	assert_int_equal(pthread_tryjoin_np(thread, NULL), EBUSY); /* it waits for the one that is running */
	slow.block = false;
	pthread_join(thread, NULL);
	assert_false(slow.inside);
	assert_int_equal(slow.events.total, 3); /* and the rest came before it returned */
}

/* ---- what a call must not disturb ---- */

#define assert_keeps_errno(call) \
	do { \
		errno = 4711; \
		call; \
		assert_int_equal(errno, 4711); \
	} while (0)

static void
every_call_leaves_errno_alone(void **state)
{
	leash_client *client, *other = open_client(), *none;
	leash_lock *lock, *theirs = leashed_lock(other, "errno", NULL), *none_either;
	struct server *away = server_start(NULL);
	char token[LEASH_TOKEN_MAX];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct server *of = i == 0 ? server : away;

		assert_keeps_errno(assert_status(LEASH_OK, leash_open(&client, LEASH_OPTIONS(.uri = server_uri(of), .timeout_ms = 200), &err)));
		assert_keeps_errno(assert_status(LEASH_OK, leash_lock_new(&lock, client, "errno", NULL, &err)));
		assert_keeps_errno(assert_status(LEASH_OK, leash_lock_acquire(lock, 1000, &err)));
		assert_keeps_errno(assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err)));
		assert_keeps_errno(assert_status(LEASH_OK, leash_lock_extend(lock, 1000, &err)));
		assert_keeps_errno(assert_true(leash_lock_held(lock)));
		assert_keeps_errno(assert_int_equal(leash_lock_depth(lock), 2));
		assert_keeps_errno(assert_true(leash_lock_fence(lock) > 0));
		assert_keeps_errno(assert_true(leash_lock_remaining_ms(lock) > 0));
		assert_keeps_errno(assert_true(leash_lock_token(lock, token, sizeof token) > 0));
		assert_keeps_errno(leash_lock_alive(lock));
		assert_keeps_errno(assert_status(LEASH_OK, leash_lock_release(lock, &err)));
		if (i == 0) {
			assert_keeps_errno(assert_status(LEASH_OK, leash_lock_release(lock, &err)));
			assert_keeps_errno(assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err)));
			assert_keeps_errno(assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err)));
			assert_keeps_errno(assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 0, &err)));
			assert_keeps_errno(assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 50, &err)));
			assert_keeps_errno(assert_status(LEASH_INVALID, leash_lock_acquire(lock, -1, &err)));
			assert_keeps_errno(assert_status(LEASH_INVALID, leash_lock_new(&none_either, client, "", NULL, &err)));
			assert_keeps_errno(assert_status(LEASH_INVALID, leash_open(&none, LEASH_OPTIONS(.uri = "x"), &err)));
			assert_keeps_errno(assert_status(LEASH_INVALID,
			                                 leash_open(&none, LEASH_OPTIONS(.uri = "redis://h?password_file=/nowhere"), &err)));
			assert_keeps_errno(assert_status(LEASH_UNAVAILABLE, leash_open(&none, LEASH_OPTIONS(.uri = "unix:///nowhere"), &err)));
		} else {
			server_kill(away);
			assert_keeps_errno(assert_status(LEASH_UNAVAILABLE, leash_lock_extend(lock, 20000, &err)));
			assert_keeps_errno(assert_status(LEASH_UNKNOWN, leash_lock_release(lock, &err)));
			assert_keeps_errno(assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 0, &err)));
			assert_keeps_errno(assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 50, &err)));
		}
		assert_keeps_errno(leash_lock_free(lock));
		assert_keeps_errno(leash_close(client));
	}
	assert_keeps_errno(leash_lock_free(NULL));
	assert_keeps_errno(leash_close(NULL));
	assert_keeps_errno(leash_status_name(LEASH_OK));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	leash_lock_free(theirs);
	leash_close(other);
	server_stop(away);
}

/* The end of a thread that is canceled. */
static void
be_ended(void)
{
	if (UNDER_ASAN)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	else
		pthread_testcancel();
}

static void *
call_while_canceled(void *arg)
{
	_Atomic int *done = arg;
	leash_client *client;
	leash_lock *lock;

	pthread_cancel(pthread_self()); /* from here on any cancellation point ends the thread */
	if (leash_open(&client, LEASH_OPTIONS(.uri = server_uri(server)), &err) == LEASH_OK &&
	    leash_lock_new(&lock, client, "canceled", NULL, &err) == LEASH_OK && leash_lock_acquire(lock, 5000, &err) == LEASH_OK &&
	    leash_lock_acquire(lock, 0, &err) == LEASH_OK && leash_lock_extend(lock, 20000, &err) == LEASH_OK && leash_lock_held(lock) &&
	    leash_lock_depth(lock) == 2 && leash_lock_fence(lock) > 0 && leash_lock_remaining_ms(lock) > 0 && leash_lock_token(lock, NULL, 0) > 0 &&
	    leash_lock_release(lock, &err) == LEASH_OK && leash_lock_release(lock, &err) == LEASH_OK &&
	    leash_lock_release(lock, &err) == LEASH_NOT_HELD) {
		leash_lock_alive(lock);
		leash_lock_free(lock);
		leash_close(client);
		*done = 1;
	}
	be_ended();
	*done += 1;
	return NULL;
}

static void
no_call_is_a_cancellation_point(void **state)
{
	_Atomic int done = 0;
	pthread_t thread;
	void *result;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, call_while_canceled, (void *)&done), 0);
	pthread_join(thread, &result);
	assert_ptr_equal(result, UNDER_ASAN ? NULL : PTHREAD_CANCELED);
	assert_int_equal(done, UNDER_ASAN ? 2 : 1);
}

struct canceled {
	leash_lock *lock;
	bool asynchronous;
	_Atomic bool may_release, inside;
	_Atomic leash_status acquired, released;
};

/* The type is asynchronous only within the call: around it nothing would be safe, whatever leash does. */
static void *
acquire_and_be_canceled(void *arg)
{
	struct canceled *c = arg;
	leash_status status;

	c->inside = true;
	if (c->asynchronous)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	status = leash_lock_acquire(c->lock, LEASH_FOREVER, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	c->acquired = status;
	c->released = leash_lock_release(c->lock, NULL);
	be_ended();
	return UNDER_ASAN ? NULL : c;
}

static void
a_thread_that_is_canceled_amid_a_wait_goes_on_waiting_and_leaves_nothing(void **state)
{
	struct leashed_events events = {0};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));
	leash_client *other = open_client();
	leash_lock *lock = leashed_lock(client, "canceled", NULL), *theirs = leashed_lock(other, "canceled", NULL);
	int abandoned = 0;

	(void)state;
	for (int i = 0; i < (UNDER_TSAN || UNDER_ASAN ? 1 : 2); i++) {
		struct canceled c = {.lock = lock, .asynchronous = i == 1};
		pthread_t thread;
		void *result;

		assert_status(LEASH_OK, leash_lock_acquire(theirs, 5000, &err));
		assert_int_equal(pthread_create(&thread, NULL, acquire_and_be_canceled, &c), 0);
		await_true(c.inside && server_integer(server, "ZCARD leash:{canceled}:queue") == 2);
		await_ms(50); /* until it sleeps */
		pthread_cancel(thread);
		await_ms(50);
		assert_int_equal(pthread_tryjoin_np(thread, NULL), EBUSY);
		assert_status(LEASH_OK, leash_lock_release(theirs, &err));
		pthread_join(thread, &result);
		assert_ptr_not_equal(result, &c); /* canceled: glibc does not always say so */
		if (i == 1) {
			abandoned++;
			await_true(events.count[LEASH_EVENT_ABANDONED] == abandoned); /* it ended with the call, and held the lock */
		} else {
			assert_int_equal(c.acquired, LEASH_OK);
			assert_int_equal(c.released, LEASH_OK);
		}
		await_true(is_free("canceled"));
		assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	assert_int_equal(events.total, abandoned);
	leash_lock_free(lock);
	leash_lock_free(theirs);
	leash_close(client);
	leash_close(other);
}

static void *
release_and_be_canceled(void *arg)
{
	struct canceled *c = arg;
	leash_status status;

	c->acquired = leash_lock_acquire(c->lock, 5000, NULL);
	await_true(c->may_release);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	c->inside = true;
	status = leash_lock_release(c->lock, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	c->released = status;
	return c;
}

static void
a_thread_that_is_canceled_amid_a_release_releases(void **state)
{
	struct proxy *proxy = proxy_start(server_socket(server));
	leash_client *client = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = 30000));
	leash_lock *lock = leashed_lock(client, "canceled", NULL);
	struct canceled c = {.lock = lock, .acquired = LEASH_UNKNOWN};
	pthread_t thread;
	void *result;

	(void)state;
	if (UNDER_TSAN || UNDER_ASAN)
		goto done;
	assert_int_equal(pthread_create(&thread, NULL, release_and_be_canceled, &c), 0);
	await_true(c.acquired == LEASH_OK);
	proxy_hold(proxy, PROXY_TO_CLIENT);
	c.may_release = true;
	await_true(c.inside && is_free("canceled"));
	await_ms(50);
	pthread_cancel(thread);
	await_ms(50);
	assert_int_equal(pthread_tryjoin_np(thread, NULL), EBUSY);
	proxy_release(proxy);
	pthread_join(thread, &result);
	assert_ptr_not_equal(result, &c); /* canceled: glibc does not always say so */
	assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
done:
	leash_lock_free(lock);
	leash_close(client);
	proxy_stop(proxy);
}

/* What /proc says of a thread of this process: the value of `field`, or "". */
static void
read_task(const char *task, const char *field, char out[64])
{
	char path[300], line[256];
	FILE *file;

	out[0] = '\0';
	snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
	file = fopen(path, "re");
	if (file == NULL)
		return; /* it has ended meanwhile */
	while (fgets(line, sizeof line, file) != NULL)
		if (strncmp(line, field, strlen(field)) == 0)
			sscanf(line + strlen(field), ":%63s", out);
	fclose(file);
}

/* How many threads leash has: those by its names. All signals must be blocked in each. */
static int
check_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	int n = 0;

	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		/* those that nobody can block: SIGKILL, SIGSTOP, and the two that glibc keeps for itself */
		const uint64_t never = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1) | UINT64_C(3) << 31;
		char name[64], blocked[64];

		read_task(entry->d_name, "Name", name);
		if (strncmp(name, "leash-", 6) != 0)
			continue;
		read_task(entry->d_name, "SigBlk", blocked);
		if (blocked[0] == '\0')
			continue;
		assert_true((strtoull(blocked, NULL, 16) | never) == UINT64_MAX);
		n++;
	}
	closedir(folder);
	return n;
}

static void
the_threads_of_leash_have_names_and_take_no_signals(void **state)
{
	leash_client *client, *second;
	sigset_t before, after;

	(void)state;
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
	assert_int_equal(check_threads(), 0);
	client = open_client();
	await_true(check_threads() == 3); /* a thread names itself a moment after it was started */
	second = open_client();
	await_true(check_threads() == 6);
	leash_close(client);
	leash_close(second);
	await_true(check_threads() == 0);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
	for (int signal = 1; signal < 65; signal++)
		assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
}

static int
write_to_the_dead(void *arg)
{
	struct proxy *proxy = proxy_start_tcp(server_socket(arg));
	leash_client *client = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = 100));
	leash_lock *lock = leashed_lock(client, "dead", NULL);

	signal(SIGPIPE, SIG_DFL);
	for (int i = 0; i < 20; i++) {
		leash_status status = leash_lock_acquire(lock, 200, NULL);

		proxy_reset_all(proxy);
		leash_lock_extend(lock, 1000, NULL);
		proxy_reset_all(proxy);
		if (status == LEASH_OK)
			leash_lock_release(lock, NULL);
	}
	leash_lock_free(lock);
	leash_close(client);
	proxy_stop(proxy);
	return 0;
}

static void
a_connection_that_is_gone_raises_no_sigpipe(void **state)
{
	(void)state;
	child_wait(child_run(write_to_the_dead, server));
}

/* ---- memory and descriptors ---- */

static void
renewals_releases_and_losses_allocate_nothing(void **state)
{
	struct leashed_events events = {0};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 300, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *lock = leashed_lock(client, "frugal", NULL);
	struct monitor *monitor = monitor_start(server);
	long before, freed;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		before = calls;
		fail_at = 1; /* and should one be tried it fails */
		calls = 0;
		fail_on = true;
		monitor_mark(monitor);
		monitor_await(monitor, "evalsha", 4); /* renewals */
		assert_true(leash_lock_held(lock));
		assert_status(LEASH_OK, leash_lock_extend(lock, 300, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		if (i == 1) {
			server_integer(server, "DEL leash:{frugal}");
			await_true(events.count[LEASH_EVENT_LOST] == 1);
			assert_status(LEASH_LOST, leash_lock_release(lock, &err));
		} else if (i == 2) {
			server_pause(server);
			await_true(events.count[LEASH_EVENT_LOST] == 2);
			server_resume(server);
			assert_status(LEASH_LOST, leash_lock_release(lock, &err));
		} else {
			assert_status(LEASH_OK, leash_lock_release(lock, &err));
		}
		/* a new connection may take memory, and does after the pause: for that it must not be refused for ever */
		freed = calls;
		fail_at = 0;
		if (i < 2)
			assert_int_equal(freed, 0);
		calls = before;
	}
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	monitor_stop(monitor);
	leash_lock_free(lock);
	leash_close(client);
}

/* One life of a client, in which memory may run out anywhere. Every status says what it was. */
static void
live_through(leash_lock *theirs)
{
	leash_client *client = NULL;
	leash_lock *lock = NULL, *wanted = NULL;
	leash_status status;

	status = leash_open(&client, LEASH_OPTIONS(.uri = server_uri(server)), &err);
	if (status != LEASH_OK) {
		assert_status(LEASH_NO_MEMORY, status);
		assert_null(client);
		return;
	}
	status = leash_lock_new(&lock, client, "scarce", NULL, &err);
	if (status == LEASH_OK)
		status = leash_lock_new(&wanted, client, "theirs", NULL, &err);
	if (status == LEASH_OK) {
		status = leash_lock_acquire(lock, 5000, &err);
		if (status == LEASH_OK) {
			assert_true(leash_lock_held(lock));
			assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
			assert_status(LEASH_OK, leash_lock_extend(lock, 20000, &err));
			assert_status(LEASH_OK, leash_lock_release(lock, &err));
			assert_status(LEASH_OK, leash_lock_release(lock, &err));
		} else {
			assert_status(LEASH_NO_MEMORY, status);
			assert_false(leash_lock_held(lock));
		}
		assert_int_equal(leash_lock_depth(lock), 0);
		status = leash_lock_acquire(wanted, 20, &err);
		assert_true(status == LEASH_TIMEOUT || status == LEASH_NO_MEMORY);
		status = leash_lock_acquire(lock, 5000, &err);
		assert_true(status == LEASH_OK || status == LEASH_NO_MEMORY); /* and closed while held */
	} else {
		assert_status(LEASH_NO_MEMORY, status);
	}
	leash_close(client);
	leash_lock_free(lock);
	leash_lock_free(wanted);
	assert_true(leash_lock_held(theirs));
}

static void
wherever_memory_runs_out_nothing_is_held_that_nobody_knows_of(void **state)
{
	leash_client *other = open_client();
	leash_lock *theirs = leashed_lock(other, "theirs", NULL);
	long before, most = 0;

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	before = live;
	for (int on = 0; on < 2; on++) {
		fail_on = on;
		for (long n = 1;; n++) {
			long used;

			calls = 0;
			fail_at = n;
			live_through(theirs);
			used = calls;
			fail_at = 0;
			assert_int_equal(live, before);
			assert_true(is_free("scarce"));
			assert_int_equal(server_integer(server, "EXISTS leash:{theirs}:queue"), 0);
			if (used < n)
				break; /* it did not run out any more */
			most = n;
		}
	}
	printf("# memory ran out at each of %ld calls\n", most);
	assert_true(most > 10);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	leash_lock_free(theirs);
	leash_close(other);
}

static int
count_threads(void)
{
	char text[64];

	read_task("self", "Threads", text);
	snprintf(text, sizeof text, "%d", getpid());
	read_task(text, "Threads", text);
	return atoi(text);
}

static void
a_client_takes_all_of_its_descriptors_and_threads_with_it(void **state)
{
	int fds, threads;

	(void)state;
	leash_close(open_client()); /* what is made once for the process */
	fds = count_fds(false);
	threads = count_threads();
	for (int i = 0; i < 200; i++) {
		leash_client *client = open_client();
		leash_lock *lock = leashed_lock(client, "cycle", NULL);

		assert_status(LEASH_OK, leash_lock_acquire(lock, 1000, &err));
		if (i % 2)
			assert_status(LEASH_OK, leash_lock_release(lock, &err));
		if (i % 4 < 2)
			leash_lock_free(lock);
		leash_close(client);
		if (i % 4 >= 2)
			leash_lock_free(lock);
		assert_int_equal(live, at_first);
	}
	assert_int_equal(count_fds(false), fds);
	await_true(count_threads() == threads); /* the kernel counts one for a moment after it was joined */
	assert_true(is_free("cycle"));
}

static void
a_client_that_could_not_be_opened_leaves_nothing(void **state)
{
	int fds, threads;

	(void)state;
	leash_close(open_client());
	fds = count_fds(false);
	threads = count_threads();
	for (int i = 0; i < 20; i++) {
		leash_client *client;

		assert_status(LEASH_UNAVAILABLE, leash_open(&client, LEASH_OPTIONS(.uri = "unix:///nowhere/redis.sock"), &err));
		assert_non_null(strstr(err.text, "unix:///nowhere/redis.sock"));
		assert_int_equal(err.sys_errno, ENOENT);
	}
	assert_int_equal(live, at_first);
	assert_int_equal(count_fds(false), fds);
	await_true(count_threads() == threads);
}

static void
every_descriptor_is_closed_by_exec(void **state)
{
	bool was_open[1024];
	struct proxy *proxy = proxy_start_tcp(server_socket(server));
	leash_client *client, *by_tcp;
	leash_lock *lock;
	int n = 0;

	(void)state;
	for (int fd = 0; fd < 1024; fd++)
		was_open[fd] = fcntl(fd, F_GETFD) >= 0;
	client = open_client();
	by_tcp = leashed_open(proxy_uri(proxy), NULL);
	lock = leashed_lock(client, "exec", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (int fd = 0; fd < 1024; fd++) {
		int flags = was_open[fd] ? -1 : fcntl(fd, F_GETFD);

		if (flags < 0)
			continue;
		assert_true((flags & FD_CLOEXEC) != 0);
		n++;
	}
	assert_true(n >= 8);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	leash_close(by_tcp);
	proxy_stop(proxy);
}

/* ---- the process ends ---- */

static void *
wait_in_vain(void *lock)
{
	return leash_lock_acquire(lock, LEASH_FOREVER, NULL) == LEASH_OK ? lock : NULL;
}

static int
end_amid_calls(void *arg)
{
	int how = *(int *)arg;
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 300));
	leash_lock *held = leashed_lock(client, "exit held", NULL), *theirs = leashed_lock(client, "exit theirs", NULL);
	static struct busy busy; /* outlives the main thread */
	pthread_t thread;

	busy.lock[0] = leashed_lock(client, "busy", NULL);
	busy.lock[1] = leashed_lock(client, "even", NULL);
	alarm(60);
	assert_status(LEASH_OK, leash_lock_acquire(held, 5000, &err));
	assert_int_equal(pthread_create(&thread, NULL, wait_in_vain, theirs), 0);
	assert_int_equal(pthread_create(&busy.thread, NULL, be_busy, &busy), 0);
	await_true(busy.turns > 5);
	if (how == 0 && !UNDER_ASAN)
		exit(0);
	if (how <= 1)
		quick_exit(0);
	if (how == 2)
		_exit(0);
	/* the main thread ends before the others do, and holds a lock */
	pthread_detach(thread);
	pthread_exit(NULL);
}

static void
a_process_ends_whatever_its_threads_are_doing(void **state)
{
	leash_client *other = open_client();
	leash_lock *theirs = leashed_lock(other, "exit theirs", NULL), *held = leashed_lock(other, "exit held", NULL);

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	for (int how = 0; how < 3; how++) {
		int64_t begun = await_now_ns();

		child_wait(child_run(end_amid_calls, &how));
		assert_true(await_now_ns() - begun < 30 * INT64_C(1000000000) * await_slowness());
		assert_status(LEASH_OK, leash_lock_acquire(held, 30000, &err)); /* at the end of its lease */
		assert_status(LEASH_OK, leash_lock_release(held, &err));
	}
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	await_true(is_free("exit%20theirs"));
	leash_lock_free(theirs);
	leash_lock_free(held);
	leash_close(other);
}

static void
what_the_main_thread_holds_is_abandoned_when_it_ends_before_the_process(void **state)
{
	leash_client *other = leashed_open(server_uri(server), NULL);
	leash_lock *theirs = leashed_lock(other, "exit theirs", NULL), *held = leashed_lock(other, "exit held", NULL);
	int how = 3;
	pid_t pid;

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	pid = child_run(end_amid_calls, &how);
	await_true(server_integer(server, "ZCARD leash:{exit%%20theirs}:queue") == 2);
	/* its other threads and its watchdog are alive */
	assert_status(LEASH_OK, leash_lock_acquire(held, 30000, &err));
	await_ms(400);
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	child_kill(pid);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	leash_lock_free(theirs);
	leash_lock_free(held);
	leash_close(other);
}

#define life(test) cmocka_unit_test_setup_teardown(test, note_what_there_is, nothing_is_left)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		life(close_releases_what_is_held_and_wakes_who_waits),
		life(a_closed_client_answers_closed_for_as_long_as_there_are_handles),
		life(close_ends_calls_that_are_under_way_whatever_they_are_doing),
		life(close_does_not_wait_for_ever_for_a_server_that_stands_still),
		life(close_does_not_wait_at_all_for_a_server_that_is_gone),
		life(what_a_thread_holds_when_it_ends_is_abandoned),
		life(a_thread_that_ends_after_a_loss_leaves_nothing_to_unwind),
		life(a_child_that_uses_what_is_its_parents_is_told_so_and_sends_not_a_byte),
		life(a_parent_keeps_its_lock_whatever_its_children_do),
		life(close_in_a_child_closes_all_copies_of_the_descriptors),
		life(a_child_can_open_a_client_of_its_own),
		life(children_that_are_forked_amid_calls_of_other_threads_do_not_hang),
		life(calls_from_a_callback_are_refused_if_they_might_wait),
		life(a_callback_that_takes_its_time_delays_no_renewal),
		life(no_callback_runs_once_close_has_returned),
		life(every_call_leaves_errno_alone),
		life(no_call_is_a_cancellation_point),
		life(a_thread_that_is_canceled_amid_a_wait_goes_on_waiting_and_leaves_nothing),
		life(a_thread_that_is_canceled_amid_a_release_releases),
		life(the_threads_of_leash_have_names_and_take_no_signals),
		life(a_connection_that_is_gone_raises_no_sigpipe),
		life(renewals_releases_and_losses_allocate_nothing),
		life(wherever_memory_runs_out_nothing_is_held_that_nobody_knows_of),
		life(a_client_takes_all_of_its_descriptors_and_threads_with_it),
		life(a_client_that_could_not_be_opened_leaves_nothing),
		life(every_descriptor_is_closed_by_exec),
		life(a_process_ends_whatever_its_threads_are_doing),
		life(what_the_main_thread_holds_is_abandoned_when_it_ends_before_the_process),
	};
	const leash_memory memory = {.alloc = counted_alloc, .realloc = counted_realloc, .free = counted_free};

	if (leash_set_memory(&memory) != LEASH_OK)
		return 1;
	return cmocka_run_group_tests_name("life", tests, start, stop);
}
