/* Memory and descriptors: how much is taken, what happens when there is no more, and what a process leaves when it ends. */
#include "tests/contract/interface.h"
#include "tests/support/descriptors.h"
#include "tests/support/resident.h"
#include "tests/support/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* ---- memory and descriptors ---- */

/* Open `count` clients, each of which acquires a lock, is renewed, and releases the lock. */
static void
open_and_use(leash_client **clients, int count)
{
	leash_lock *locks[100];

	for (int i = 0; i < count; i++) {
		char name[16];

		snprintf(name, sizeof name, "modest %d", i);
		clients[i] = place_client(LEASH_OPTIONS(.lease_ms = 3000));
		locks[i] = leashed_lock(clients[i], name, NULL);
		assert_status(LEASH_OK, leash_lock_acquire(locks[i], 10000, &err));
	}
	for (int i = 0; i < count; i++) {
		await_true(stats_of(clients[i]).renewed > 0);
		assert_status(LEASH_OK, leash_lock_release(locks[i], &err));
		leash_lock_free(locks[i]);
	}
}

FIXTURE(note_what_there_is, nothing_is_left);
PLACE(life_open);

/* bench/memory says how much it is. */
SENTENCE(a_client_keeps_no_more_than_250_kb_resident, .but = PLACE_ONE_SOCKET) /* of one server, without TLS */
{
	enum { CLIENTS = 100 };
	leash_client *clients[1 + CLIENTS];

	open_and_use(clients, 1); /* what is made once for a process */
	double before = resident_bytes();
	open_and_use(clients + 1, CLIENTS);
	before = (resident_bytes() - before) / CLIENTS;
	printf("# %.0f bytes\n", before);
	assert_true(before > 0 && (before <= 250000 || UNDER_ASAN || UNDER_TSAN)); /* which have much of their own */
	for (int i = 0; i <= CLIENTS; i++)
		leash_close(clients[i]);
}

SENTENCE(what_a_burst_of_many_threads_needed_is_given_back, .but = PLACE_ONE_SOCKET) /* all on one connection */
{
	enum { USERS = 100 };
	leash_client *client = place_client(LEASH_OPTIONS(.timeout_ms = 60000));
	static struct actor users[USERS];
	leash_lock *locks[USERS];
	int64_t bytes = 0;
	long blocks = 0;

	for (int i = 0; i < USERS; i++) {
		char name[16];

		snprintf(name, sizeof name, "burst %d", i);
		locks[i] = leashed_lock(client, name, NULL);
	}
	for (int round = 0; round < 2; round++) {
		if (round == 1) { /* the first one leaves what a client needs once, for its watchdog, say */
			await_rest();
			blocks = counted.blocks;
			counted.most = bytes = counted.bytes;
			place_pause(); /* so that all that is asked is on its way at once */
		}
		for (int i = 0; i < USERS; i++) {
			begin_waiting(&users[i], locks[i], LEASH_FOREVER);
			if (round == 0)
				actor_hear(&users[i]);
		}
		if (round == 1) {
			await_true(counted.blocks >= blocks + 2 * USERS);
			await_ms(100);
			place_resume();
		}
		for (int i = 0; i < USERS; i++)
			end_waiting(&users[i]);
	}
	assert_true(counted.most > bytes);
	await_true(counted.bytes == bytes);
	for (int i = 0; i < USERS; i++)
		leash_lock_free(locks[i]);
	leash_close(client);
}

/* One life of a client, in which memory may run out anywhere. Every status says what it was. That what is held is
 * renewed, released and lost without any is said by core/test_memory. */
static void
live_through(leash_lock *theirs)
{
	leash_client *client = NULL;
	leash_lock *lock = NULL, *wanted = NULL;

	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = place_uri(), .lease_ms = place_lease_ms(0)), &err);
	assert_int_equal(client != NULL, status == LEASH_OK);
	if (status == LEASH_OK)
		status = leash_lock_new(&lock, client, "scarce", NULL, &err);
	if (status == LEASH_OK)
		status = leash_lock_new(&wanted, client, "theirs", NULL, &err);
	if (status == LEASH_OK)
		status = leash_lock_acquire(lock, 5000, &err);
	assert_int_equal(leash_lock_held(lock), status == LEASH_OK);
	if (status == LEASH_OK) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		assert_status(LEASH_OK, leash_lock_extend(lock, place_lease_ms(20000), &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	} else {
		assert_status(LEASH_NO_MEMORY, status);
	}
	assert_int_equal(leash_lock_depth(lock), 0);
	if (wanted != NULL) {
		status = leash_lock_acquire(wanted, 500, &err); /* a busy machine has asked by then, */
		if (status == LEASH_UNAVAILABLE)
			status = leash_lock_acquire(wanted, 5000, &err); /* or stood still */
		assert_true(status == LEASH_TIMEOUT || status == LEASH_NO_MEMORY);
		status = leash_lock_acquire(lock, 5000, &err);
		assert_true(status == LEASH_OK || status == LEASH_NO_MEMORY); /* and closed while held */
	}
	leash_close(client);
	leash_lock_free(lock);
	leash_lock_free(wanted);
	assert_true(leash_lock_held(theirs));
}

/* The lock is held by hand, for each question anew. */
SENTENCE(whoever_asks_where_memory_runs_out_is_told_so_and_nothing_is_left)
{
	static const char *const questions[] = {"leash_lock_inspect", "leash_client_scan", "leash_lock_adopt", "leash_lock_break",
	                                        "leash_lock_waiters"};
	leash_client *client = kept(open_client());
	const struct callee callee = {.client = client, .lock = kept(leashed_lock(client, "asked", NULL))};

	for (size_t i = 0; i < COUNT(questions) - place_is(PLACE_NO_QUEUE); i++) { /* which has no waiters, whatever memory it has */
		long failed = 0, used = 0;

		for (long n = 1; used >= n - 1; n++) {
			place_say("leash:{asked}", "HSET leash:{asked} " TOKEN " 1");
			place_say("leash:{asked}", "PEXPIRE leash:{asked} %d", (int)place_lease_ms(60000));
			await_rest();
			counted.calls = 0;
			long before = counted.blocks;
			counted.fail_at = n;
			leash_status status = calls_make(&callee, questions[i]);
			used = counted.calls;
			counted.fail_at = 0;
			if (used >= n && status != LEASH_OK) {
				assert_status(LEASH_NO_MEMORY, status);
				if (!place_is(PLACE_MAJORITY)) /* there answers still come, for which there are buffers; see nothing_is_left */
					await_true(counted.blocks == before); /* the thread that read the answer lets go of it last */
				failed++;
			} else {
				assert_status(LEASH_OK, status);
			}
			assert_true(leash_lock_held(callee.lock) == (status == LEASH_OK && strstr(questions[i], "adopt") != NULL));
			if (leash_lock_held(callee.lock))
				assert_status(LEASH_OK, leash_lock_release(callee.lock, &err));
			place_say("leash:{asked}", "DEL leash:{asked}");
		}
		printf("# %s: memory ran out at %ld calls\n", questions[i], failed);
		assert_true(failed > 0 || i == 0);
	}
}

SENTENCE(wherever_memory_runs_out_nothing_is_held_that_nobody_knows_of)
{
	leash_lock *theirs = kept(leashed_lock(kept(open_client()), "theirs", NULL));
	long most = 0;

	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	await_rest();
	long before = counted.blocks;
	for (int on = 0; on < 2; on++) {
		counted.fail_on = on;
		for (long n = 1;; n++) {
			counted.calls = 0;
			counted.fail_at = n;
			live_through(theirs);
			long used = counted.calls;
			counted.fail_at = 0;
			if (place_is(PLACE_ONE_SOCKET))
				await_true(counted.blocks == before); /* the other client does things in the background */
			else
				assert_int_equal(counted.blocks, before);
			place_assert_free("scarce");
			assert_int_equal(place_integer("theirs", "EXISTS leash:{theirs}:queue"), 0);
			if (used < n)
				break; /* it did not run out any more */
			most = n;
		}
	}
	printf("# memory ran out at each of %ld calls\n", most);
	assert_true(most > 10);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
}

/* Whatever is done so many times, no descriptor, no thread and no memory of it is left. */
static void
check_nothing_stays(void (*act)(int i), int times)
{
	leash_close(open_client()); /* what is made once for the process */
	int fds = count_fds(false);
	long threads = process_number("Threads");
	for (int i = 0; i < times; i++) {
		act(i);
		assert_int_equal(counted.blocks, at_first);
	}
	assert_int_equal(count_fds(false), fds);
	await_true(process_number("Threads") == threads); /* the kernel counts one for a moment after it was joined */
}

static void
open_use_and_close(int i)
{
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
}

SENTENCE(a_client_takes_all_of_its_descriptors_and_threads_with_it)
{
	check_nothing_stays(open_use_and_close, 200);
	place_assert_free("cycle");
}

static void
open_in_vain(int i)
{
	leash_client *client;

	(void)i;
	assert_refused(LEASH_UNAVAILABLE, "unix:///nowhere/redis.sock",
	               leash_open(&client, LEASH_OPTIONS(.uri = "unix:///nowhere/redis.sock"), &err));
	assert_int_equal(err.sys_errno, ENOENT);
}

SENTENCE(a_client_that_could_not_be_opened_leaves_nothing)
{
	check_nothing_stays(open_in_vain, 20);
}

SENTENCE(every_descriptor_is_closed_by_exec)
{
	bool was_open[DESCRIPTORS];
	struct proxy *proxy = place_is(PLACE_ONE_SOCKET) ? NULL : kept(proxy_start_tcp(server_socket(server)));
	int n = 0;

	descriptors_list(was_open);
	leash_lock *lock = kept(leashed_lock(kept(open_client()), "exec", NULL));
	if (proxy)
		kept(leashed_open(proxy_uri(proxy), NULL));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		int flags = was_open[fd] ? -1 : fcntl(fd, F_GETFD);

		assert_true(flags < 0 || (flags & FD_CLOEXEC) != 0);
		n += flags >= 0;
	}
	assert_true(n >= (proxy ? 6 : 3)); /* a timer and two connections, at least */
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

static int
work_without_streams(void *arg)
{
	(void)arg;
	for (int fd = 0; fd <= 2; fd++)
		close(fd);
	leash_client *client = open_client();
	leash_lock *lock = leashed_lock(client, "no streams", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
	/* but for the moment in which one is opened */
	await_true(fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	return 0;
}

SENTENCE(a_program_without_standard_streams_prints_into_nothing_of_leash)
{
	child_wait(child_run(work_without_streams, NULL));
}

/* ---- the process ends ---- */

static int
end_amid_calls(void *arg)
{
	int how = *(int *)arg;
	leash_client *client = place_client(LEASH_OPTIONS(.lease_ms = 300));
	leash_lock *held = leashed_lock(client, "exit held", NULL), *theirs = leashed_lock(client, "exit theirs", NULL);
	static struct busy busy; /* outlives the main thread */
	static struct actor waiter;

	alarm(60);
	assert_status(LEASH_OK, leash_lock_acquire(held, 5000, &err));
	begin_waiting(&waiter, theirs, LEASH_FOREVER);
	busy_begin(&busy, 1, client);
	await_true(busy.turns > 5);
	if (how == 0 && !UNDER_ASAN)
		exit(0);
	if (how <= 1)
		quick_exit(0);
	if (how == 2)
		_exit(0);
	/* the main thread ends before the others do, and holds a lock */
	pthread_detach(waiter.thread);
	pthread_exit(NULL);
}

SENTENCE(a_process_ends_whatever_its_threads_are_doing)
{
	leash_client *other = kept(open_client());
	leash_lock *theirs = kept(leashed_lock(other, "exit theirs", NULL));
	leash_lock *held = kept(leashed_lock(other, "exit held", NULL));

	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	for (int how = 0; how < 3; how++) {
		int64_t begun = await_now_ns();

		child_wait(child_run(end_amid_calls, &how));
		assert_true((double)(await_now_ns() - begun) < 30 * INT64_C(1000000000) * await_slowness());
		assert_status(LEASH_OK, leash_lock_acquire(held, 30000, &err)); /* at the end of its lease */
		assert_status(LEASH_OK, leash_lock_release(held, &err));
	}
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	await_true(place_is_free("exit%20theirs"));
}

SENTENCE(what_the_main_thread_holds_is_abandoned_when_it_ends_before_the_process)
{
	leash_client *other = kept(open_client());
	leash_lock *theirs = kept(leashed_lock(other, "exit theirs", NULL));
	leash_lock *held = kept(leashed_lock(other, "exit held", NULL));
	int how = 3;

	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	pid_t pid = child_run(end_amid_calls, &how);
	place_await_waiting("exit%20theirs", 1);
	/* its other threads and its watchdog are alive */
	assert_status(LEASH_OK, leash_lock_acquire(held, 30000, &err));
	await_ms(400);
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	child_kill(pid);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
}
