/* A quorum of independent servers, of which some are killed, frozen or emptied: a majority decides, at every moment,
 * and nothing is left behind. Its fences: test_quorum_fences.c. What is asked of it, and what becomes of answers that
 * are lost: test_quorum_calls.c. */
#include "tests/fault/storm.h"

#include "tests/support/child.h"
#include "tests/support/fake.h"
#include "tests/support/knob.h"
#include "tests/support/proxy.h"
#include "tests/support/sanitizer.h"
#include "tests/support/server.h"
#include "tests/support/test.h"
#include "tests/support/trouble.h"
#include "tests/support/witness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* ---- without two ---- */

static void
check_that_work_goes_on(void)
{
	leash_client *other = open_with(LEASE_MS, LEASE_MS);
	leash_lock *next = leashed_lock(other, "q", NULL), *fresh = leashed_lock(other, "fresh", NULL);

	assert_true(leash_lock_held(lock));
	for (int i = 0; i < 3; i++)
		await_renewal(lock, LEASE_MS);
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(next, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(fresh, 10000, &err));
	assert_status(LEASH_OK, leash_lock_extend(lock, slow_ms(LEASE_MS), &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire(next, 10000, &err));
	await_renewal(fresh, LEASE_MS);
	assert_status(LEASH_OK, leash_lock_release(next, &err));
	assert_status(LEASH_OK, leash_lock_release(fresh, &err));
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	leash_lock_free(next);
	leash_lock_free(fresh);
	leash_close(other);
	check_that_nothing_is_left();
}

FIXTURE(set_up, tear_down);

/* Three of five have voted, and one of those forgets it. Nobody else can have got a majority meanwhile: that one does
 * not count yet. */
SENTENCE(a_release_of_what_a_restarted_server_has_forgotten_is_a_release)
{
	struct server *others = quorum_server(quorum, 3), *forgetful = quorum_server(quorum, 2);

	server_kill(quorum_server(quorum, 4));
	server_integer(others, "HSET leash:{q} someone:1 1");
	server_integer(others, "PEXPIRE leash:{q} 60000");
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	server_kill(forgetful);
	server_restart(forgetful);
	assert_true(leash_lock_held(lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_int_equal(server_integer(others, "DEL leash:{q}"), 1);
	check_that_nothing_is_left();
}

static double
cpu_seconds(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* A vote is missing there, and once the extension is over none may be asked for. */
SENTENCE(a_server_that_is_gone_costs_no_time_while_a_hold_is_not_renewed)
{
	leash_lock *once =
		leashed_lock(client, "once", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(LEASE_MS) / 2, .no_renew = true));
	int64_t begun;
	double cpu;

	server_kill(quorum_server(quorum, 0));
	assert_status(LEASH_OK, leash_lock_acquire(once, 10000, &err));
	assert_status(LEASH_OK, leash_lock_extend(once, slow_ms(LEASE_MS), &err));
	begun = await_now_ns();
	cpu = cpu_seconds();
	while (await_now_ns() < begun + 500 * MS)
		await_ms(10);
	cpu = cpu_seconds() - cpu;
	assert_true(leash_lock_held(once));
	assert_true(cpu < 0.1 * (double)(await_now_ns() - begun) / 1e9);
	assert_status(LEASH_OK, leash_lock_release(once, &err));
	leash_lock_free(once);
}

static void
cut_all(void)
{
	for (int i = 0; i < SERVERS; i++)
		server_integer(quorum_server(quorum, i), "CLIENT KILL TYPE normal SKIPME yes");
}

/* None of them is down: each call waits for the new ones, as on one server. */
SENTENCE(connections_that_were_cut_are_waited_for)
{
	leash_lock_info info = {.size = sizeof info};

	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	for (int i = 0; i < 5; i++) {
		cut_all();
		assert_status(LEASH_OK, leash_lock_extend(lock, slow_ms(LEASE_MS), &err));
		cut_all();
		assert_status(LEASH_OK, leash_lock_inspect(lock, &info, &err));
		assert_true(info.held);
	}
	cut_all();
	release_everywhere();
}

SENTENCE(with_two_of_five_killed_all_goes_on)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	server_kill(quorum_server(quorum, 1));
	server_kill(quorum_server(quorum, 4));
	await_true(events.count[LEASH_EVENT_JEOPARDY] == 1); /* one more would be one too many */
	check_that_work_goes_on();
}

SENTENCE(with_two_of_five_frozen_all_goes_on)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	server_pause(quorum_server(quorum, 0));
	server_pause(quorum_server(quorum, 3));
	await_true(events.count[LEASH_EVENT_JEOPARDY] == 1);
	server_resume(quorum_server(quorum, 0));
	await_true(events.count[LEASH_EVENT_RECOVERED] == 1);
	server_pause(quorum_server(quorum, 0));
	await_true(events.count[LEASH_EVENT_JEOPARDY] == 2);
	check_that_work_goes_on();
	server_resume(quorum_server(quorum, 0));
	server_resume(quorum_server(quorum, 3));
	check_that_nothing_is_left(); /* there neither, once they run again */
}

SENTENCE(a_server_that_freezes_in_the_middle_of_a_round_does_not_delay_it)
{
	int64_t began, took;

	server_pause(quorum_server(quorum, 2));
	server_pause(quorum_server(quorum, 4));
	began = await_now_ns();
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err)); /* their connections are as they were */
	took = await_now_ns() - began;
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	printf("# %.1f ms\n", (double)took / 1e6);
	assert_true(took < slow_ms(LEASE_MS) * MS / 4); /* which is when they would be given up */
	server_resume(quorum_server(quorum, 2));
	server_resume(quorum_server(quorum, 4));
	check_that_nothing_is_left();
}

/* ---- without three ---- */

SENTENCE(with_three_of_five_killed_nothing_is_acquired_and_what_is_held_is_lost_in_time)
{
	int64_t killed, last;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	await_renewal(lock, LEASE_MS);
	killed = await_now_ns();
	for (int i = 0; i < 3; i++)
		server_kill(quorum_server(quorum, i));
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	last = events.at_ns[LEASH_EVENT_LOST];
	assert_false(leash_lock_held(lock));
	assert_true(events.count[LEASH_EVENT_JEOPARDY] >= 1);
	assert_true(events.order[0] == LEASH_EVENT_JEOPARDY);
	printf("# jeopardy after %.0f ms, lost after %.0f ms\n",
	       (double)(events.at_ns[LEASH_EVENT_JEOPARDY] - killed) / 1e6, (double)(last - killed) / 1e6);
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));

	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 0, &err));
	assert_non_null(strstr(err.text, "3 of 5 servers"));
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 300, &err));
	assert_non_null(strstr(err.text, "3 of 5 servers"));
	check_that_nothing_is_left(); /* on the two that run */

	/* they come back, and count after a while */
	for (int i = 0; i < 3; i++)
		server_restart(quorum_server(quorum, i));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 60000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

static int64_t
longest_ttl(const char *key)
{
	int64_t longest = -2;

	for (int i = 0; i < SERVERS; i++) {
		int64_t ttl;

		if (server_pid(quorum_server(quorum, i)) == 0)
			continue;
		ttl = server_integer(quorum_server(quorum, i), "PTTL %s", key);
		longest = ttl > longest ? ttl : longest;
	}
	return longest;
}

SENTENCE(a_loss_is_told_before_the_lease_ends_on_any_server, THROUGH_DOORS)
{
	leash_client *holder;
	leash_lock *held;
	struct proxy *door;

	holder = open_with(LEASE_MS, LEASE_MS);
	held = leashed_lock(holder, "cut off", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(held, 10000, &err));
	await_true(quorum_having(quorum, "leash:{cut%20off}") == SERVERS);
	/* nothing comes through, and so no cancel either */
	for (int i = 0; i < SERVERS; i++) {
		door = quorum_door(quorum, i);
		proxy_hold(door, PROXY_BOTH);
	}
	await_true(!leash_lock_held(held));
	assert_true(longest_ttl("leash:{cut%20off}") > 0);
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	for (int i = 0; i < SERVERS; i++)
		proxy_release(quorum_door(quorum, i));
	leash_lock_free(held);
	leash_close(holder);
	check_that_nothing_is_left();
}

/* ---- emptied ---- */

SENTENCE(a_hold_is_made_anew_on_a_server_that_lost_it)
{
	acquire_at_all(lock);
	server_kill(quorum_server(quorum, 0));
	server_restart(quorum_server(quorum, 0));
	await_true(quorum_having(quorum, "leash:{q}") == SERVERS);
	assert_int_equal(server_integer(quorum_server(quorum, 1), "DEL leash:{q}"), 1);
	await_true(quorum_having(quorum, "leash:{q}") == SERVERS);
	assert_true(leash_lock_held(lock));
	assert_int_equal(quorum_lasting_keys(quorum, "*"), 0);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	release_everywhere();
}

SENTENCE(one_server_decides_nothing_and_a_majority_all)
{
	acquire_at_all(lock);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(server_integer(quorum_server(quorum, i), "DEL leash:{q}"), 1);
		assert_int_equal(server_integer(quorum_server(quorum, i), "HSET leash:{q} somebody 1"), 1);
		assert_int_equal(server_integer(quorum_server(quorum, i), "PEXPIRE leash:{q} 600000"), 1);
	}
	await_true(events.count[LEASH_EVENT_JEOPARDY] == 1);
	await_renewal(lock, LEASE_MS);
	assert_true(leash_lock_held(lock));
	assert_int_equal(server_integer(quorum_server(quorum, 2), "DEL leash:{q}"), 1);
	assert_int_equal(server_integer(quorum_server(quorum, 2), "HSET leash:{q} somebody 1"), 1);
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	await_true(quorum_having(quorum, "leash:{q}") == 3);
	for (int i = 0; i < 3; i++)
		/* that was left alone */
		assert_string_equal(server_text(quorum_server(quorum, i), "HKEYS leash:{q}"), "somebody");
	for (int i = 0; i < 3; i++)
		server_integer(quorum_server(quorum, i), "DEL leash:{q}");
}

/* Acquires in a process of its own and tells until when it is valid. */
struct holder {
	struct stage acquired, look, looked;
	int64_t guard_ms;
	char uri[512];
	_Atomic int64_t valid_until;
	_Atomic bool held;
};

static int
be_holder(void *arg)
{
	struct holder *h = arg;
	leash_client *own = leashed_open(h->uri, LEASH_OPTIONS(.lease_ms = h->guard_ms));
	leash_lock *held = leashed_lock(own, "guarded", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(held, 60000, &err));
	h->valid_until = await_now_ns() + leash_lock_remaining_ms(held) * MS;
	stage_set(&h->acquired, 1);
	stage_await(&h->look, 1);
	h->held = leash_lock_held(held);
	stage_set(&h->looked, 1);
	leash_lock_free(held);
	leash_close(own);
	return 0;
}

/* Acquires in a process of its own, as soon as it can. */
struct sleeper {
	struct stage ready, go, acquired;
	char uri[512];
	int64_t lease_ms;
};

static int
be_sleeper(void *arg)
{
	struct sleeper *s = arg;
	leash_client *own = leashed_open(s->uri, LEASH_OPTIONS(.lease_ms = s->lease_ms));
	leash_lock *wanted = leashed_lock(own, "q", NULL);

	/* all are connected, and have the scripts */
	assert_status(LEASH_OK, leash_lock_acquire(wanted, 60000, &err));
	assert_status(LEASH_OK, leash_lock_release(wanted, &err));
	stage_set(&s->ready, 1);
	stage_await(&s->go, 1);
	assert_status(LEASH_OK, leash_lock_acquire(wanted, LEASH_FOREVER, &err));
	stage_set(&s->acquired, 1);
	leash_lock_release(wanted, NULL); /* it may be lost by now */
	leash_lock_free(wanted);
	leash_close(own);
	return 0;
}

/* With the vote of one of them counted twice, that one and its other name were a majority. */
SENTENCE(a_server_with_two_names_has_one_vote)
{
	int first = server_port(quorum_server(quorum, 0)), second = server_port(quorum_server(quorum, 1));
	leash_client *misled;
	leash_lock *wanted;
	char uri[256];

	snprintf(uri, sizeof uri, "redis+quorum://127.0.0.1:%d,127.0.0.1:%d,localhost:%d?restart_guard=%d", first, second,
	         second, LEASE_MS);
	misled = leashed_open(uri, LEASH_OPTIONS(.lease_ms = LEASE_MS));
	wanted = leashed_lock(misled, "two names", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(wanted, 60000, &err)); /* both servers together are one */
	assert_status(LEASH_OK, leash_lock_release(wanted, &err));
	server_pause(quorum_server(quorum, 0));
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(wanted, 1000, &err));
	assert_non_null(strstr(err.text, "2 of 3 servers could not be asked"));
	server_resume(quorum_server(quorum, 0));
	await_true(leash_lock_acquire(wanted, 1000, &err) == LEASH_OK);
	assert_status(LEASH_OK, leash_lock_release(wanted, &err));
	leash_lock_free(wanted);
	leash_close(misled);
	await_true(quorum_having(quorum, "leash:{two names}") == 0);
}

SENTENCE(who_stood_still_in_a_round_does_not_rest_for_as_long, THROUGH_DOORS)
{
	enum { STANDS_MS = 6000 };
	struct sleeper *s;
	int64_t resumed;
	pid_t pid;

	if (UNDER_TSAN)
		skip(); /* whose children have no threads */
	s = child_share(sizeof *s);
	s->lease_ms = slow_ms(LEASE_MS);
	snprintf(s->uri, sizeof s->uri, "%s", quorum_uri_guarded(quorum, s->lease_ms));
	pid = child_run(be_sleeper, s);
	stage_await(&s->ready, 1);
	check_that_nothing_is_left();
	for (int i = 0; i < SERVERS; i++)
		proxy_delay(quorum_door(quorum, i), PROXY_TO_CLIENT, 250 * 1000);
	stage_set(&s->go, 1);
	await_true(quorum_having(quorum, "leash:{q}") >= 3);
	await_ms(50); /* it sleeps until an answer comes */
	child_pause(pid); /* they have voted; what they say comes while it stands still, and finds the votes lapsed */
	for (int i = 0; i < SERVERS; i++)
		proxy_delay(quorum_door(quorum, i), PROXY_TO_CLIENT, 0);
	await_ms(slow_ms(STANDS_MS));
	resumed = await_now_ns();
	child_resume(pid);
	stage_await(&s->acquired, 1);
	printf("# stood still for %lld ms, acquired %lld ms later\n", (long long)slow_ms(STANDS_MS),
	       (long long)((await_now_ns() - resumed) / MS));
	assert_true(await_now_ns() - resumed < slow_ms(STANDS_MS) * MS);
	child_wait(pid);
	child_unshare(s, sizeof *s);
	check_that_nothing_is_left();
}

SENTENCE(a_server_that_was_restarted_empty_lets_no_second_owner_in)
{
	enum { GUARD_MS = 9000 };
	struct holder *h;
	leash_client *guarded, *careless;
	leash_lock *second, *third;
	leash_status status;
	pid_t pid;

	if (UNDER_TSAN)
		skip(); /* whose children have no threads */
	h = child_share(sizeof *h);
	h->guard_ms = slow_ms(GUARD_MS);
	snprintf(h->uri, sizeof h->uri, "%s", quorum_uri_guarded(quorum, h->guard_ms));
	guarded = open_with(GUARD_MS, GUARD_MS);
	careless = open_with(100, 100); /* as if there were no guard */
	second = leashed_lock(guarded, "guarded", NULL);
	third = leashed_lock(careless, "guarded", NULL);
	await_ms(slow_ms(GUARD_MS) + GRAIN_MS); /* all count, for this guard, too */
	/* it has the votes of three, of which one forgets; and it stands still, and so does not see to it */
	for (int i = 3; i < 5; i++)
		server_pause(quorum_server(quorum, i));
	pid = child_run(be_holder, h);
	stage_await(&h->acquired, 1);
	child_pause(pid);
	for (int i = 3; i < 5; i++)
		server_resume(quorum_server(quorum, i));
	for (int i = 3; i < 5; i++)
		/* what its asks got there when they ran again */
		freeReplyObject(server_command(quorum_server(quorum, i), "FLUSHALL"));
	server_restart(quorum_server(quorum, 2));

	status = leash_lock_acquire(second, 1000, &err);
	assert_true(status != LEASH_OK);
	printf("# with the guard: %s\n", err.text);
	status = leash_lock_acquire(third, slow_ms(GRAIN_MS + 2000), &err);
	if (await_now_ns() < h->valid_until) { /* else this machine stood still */
		assert_int_equal(status, LEASH_OK);
		assert_status(LEASH_OK, leash_lock_release(third, &err));
		printf("# without: a second owner\n");
	} else if (status == LEASH_OK) {
		assert_status(LEASH_OK, leash_lock_release(third, &err));
	}
	/* it comes when its time has come */
	assert_status(LEASH_OK, leash_lock_acquire(second, 60000, &err));
	assert_true(await_now_ns() >= h->valid_until);
	child_resume(pid);
	stage_set(&h->look, 1);
	stage_await(&h->looked, 1);
	assert_false(h->held);
	child_wait(pid);
	assert_true(leash_lock_held(second));
	assert_status(LEASH_OK, leash_lock_release(second, &err));
	leash_lock_free(second);
	leash_lock_free(third);
	leash_close(guarded);
	leash_close(careless);
	child_unshare(h, sizeof *h);
	check_that_nothing_is_left();
}

/* ---- opening ---- */

SENTENCE(a_client_opens_with_a_majority)
{
	leash_client *other = NULL;

	server_kill(quorum_server(quorum, 0));
	server_pause(quorum_server(quorum, 1)); /* it takes connections, and says nothing */
	assert_status(LEASH_OK, leash_open(&other, LEASH_OPTIONS(.uri = quorum_uri(quorum)), &err));
	leash_close(other);
	server_kill(quorum_server(quorum, 2));
	other = NULL;
	assert_status(LEASH_UNAVAILABLE,
	              leash_open(&other, LEASH_OPTIONS(.uri = quorum_uri(quorum), .timeout_ms = 300), &err));
	assert_non_null(strstr(err.text, "3 of 5 servers could not be asked"));
	printf("# %s\n", err.text);
	assert_null(other);
	server_resume(quorum_server(quorum, 1));
}

/* Three are gone, which decides; whether the others would have answered nobody waited to know. */
SENTENCE(who_was_not_waited_for_is_not_said_to_be_gone)
{
	leash_client *none = NULL;

	for (int i = 0; i < 5; i++)
		(i < 3 ? server_kill : server_pause)(quorum_server(quorum, i));
	assert_status(LEASH_UNAVAILABLE,
	              leash_open(&none, LEASH_OPTIONS(.uri = quorum_uri(quorum), .timeout_ms = slow_ms(2000)), &err));
	assert_non_null(strstr(err.text, "3 of 5 servers could not be asked"));
	server_resume(quorum_server(quorum, 3));
	server_resume(quorum_server(quorum, 4));
}

/* Two thirds refuse, the one because nobody listens there, the other for a password: of these two only the last is for
 * people to mend. */
SENTENCE(what_people_have_to_mend_is_named_before_what_may_pass, BETWEEN(NULL, NULL))
{
	struct quorum *three = quorum_start(&(struct quorum_options){.count = 3});
	leash_client *none = NULL;
	char port[16];

	snprintf(port, sizeof port, ":%d", server_port(quorum_server(three, 2)));
	server_text(quorum_server(three, 2), "CONFIG SET requirepass hunter2");
	server_kill(quorum_server(three, 0));
	for (int dead = 1; dead <= 2; dead++) {
		char count[64];

		assert_status(LEASH_DENIED,
		              leash_open(&none, LEASH_OPTIONS(.uri = quorum_uri(three), .timeout_ms = slow_ms(2000)), &err));
		printf("# %s\n", err.text);
		snprintf(count, sizeof count, "%d of 3 servers could not be asked: ", dead + 1);
		assert_non_null(strstr(err.text, count));
		assert_non_null(strstr(err.text, port));
		assert_non_null(strstr(err.text, "AUTH"));
		if (dead == 1)
			server_kill(quorum_server(three, 1));
	}
	quorum_stop(three);
}

/* ---- in a storm ---- */

struct crowd {
	struct witness *witness;
	struct stage ready;
	_Atomic bool over;
	_Atomic long acquired;
	char uri[512];
};

struct one_of {
	struct crowd *crowd;
	leash_client *client;
	pthread_t thread;
	unsigned seed;
};

static void *
push(void *arg)
{
	struct one_of *me = arg;
	struct crowd *crowd = me->crowd;
	leash_lock *own = leashed_lock(me->client, "crowded", NULL);

	while (!crowd->over) {
		leash_error why;
		struct testimony *testimony;
		int64_t until;

		if (leash_lock_acquire(own, 1000 + dice(&me->seed, 2000), &why) != LEASH_OK)
			continue;
		crowd->acquired++;
		testimony = witness_enter(crowd->witness, 0, own);
		until = await_now_ns() + dice(&me->seed, 20) * MS;
		while (witness_look(testimony, own) && await_now_ns() < until)
			await_ms(1);
		leash_lock_release(own, &why);
	}
	leash_lock_free(own);
	return NULL;
}

static int
be_crowd(void *arg)
{
	enum { THREADS = 4 };
	struct crowd *crowd = arg;
	leash_client *own = leashed_open(crowd->uri, LEASH_OPTIONS(.lease_ms = slow_ms(STORM_LEASE_MS)));
	struct one_of all[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		all[i] = (struct one_of){.crowd = crowd, .client = own, .seed = (unsigned)getpid() + i};
		assert_int_equal(pthread_create(&all[i].thread, NULL, push, &all[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i].thread, NULL);
	leash_close(own);
	return 0;
}

SENTENCE(there_is_one_owner_at_a_time_whatever_happens_to_a_minority)
{
	struct crowd *crowd;
	struct storm storm;
	int64_t until = await_now_ns() + knob("LEASH_TEST_STORM_S", 12) * 1000 * MS;
	unsigned seed = (unsigned)knob("LEASH_TEST_SEED", 1);
	pid_t pids[2];
	char text[256];

	if (UNDER_TSAN)
		skip(); /* likewise */
	crowd = child_share(sizeof *crowd);
	crowd->witness = witness_new(50000);
	snprintf(crowd->uri, sizeof crowd->uri, "%s", quorum_uri_guarded(quorum, slow_ms(STORM_LEASE_MS)));
	for (int i = 0; i < 2; i++)
		pids[i] = child_run(be_crowd, crowd);
	storm_begin(&storm);
	while (await_now_ns() < until) {
		await_ms(700);
		child_pause(pids[0]);
		await_ms(slow_ms(STORM_LEASE_MS) / 2 + dice(&seed, STORM_LEASE_MS));
		child_resume(pids[0]);
	}
	storm_end(&storm);
	crowd->over = true;
	for (int i = 0; i < 2; i++)
		child_wait(pids[i]);
	printf("# %ld acquired\n", crowd->acquired);
	assert_true(crowd->acquired > 50);
	text[0] = '\0';
	if (witness_violations(crowd->witness, text, sizeof text) > 0)
		fail_msg("%s", text);
	witness_free(crowd->witness);
	child_unshare(crowd, sizeof *crowd);
	check_that_nothing_is_left();
}

/* ---- turns ---- */

enum { CONTENDERS = 4 };

struct turns {
	_Atomic bool over;
	_Atomic long all, of[CONTENDERS];
	_Atomic int next;
	char uri[512];
};

struct contender {
	struct turns *turns;
	leash_client *client;
	int who;
	pthread_t thread;
};

static void *
contend(void *arg)
{
	struct contender *me = arg;
	leash_lock *own = leashed_lock(me->client, "turns", NULL);

	while (!me->turns->over) {
		leash_error why;

		if (leash_lock_acquire(own, 1000, &why) != LEASH_OK)
			continue;
		me->turns->of[me->who]++;
		me->turns->all++;
		await_ms(1);
		leash_lock_release(own, &why);
	}
	leash_lock_free(own);
	return NULL;
}

static int
be_contenders(void *arg)
{
	enum { THREADS = 32 };
	struct turns *turns = arg;
	leash_client *own = leashed_open(turns->uri, LEASH_OPTIONS(.lease_ms = slow_ms(LEASE_MS)));
	struct contender all[THREADS];
	int who = turns->next++;

	for (int i = 0; i < THREADS; i++) {
		all[i] = (struct contender){.turns = turns, .client = own, .who = who};
		assert_int_equal(pthread_create(&all[i].thread, NULL, contend, &all[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i].thread, NULL);
	leash_close(own);
	return 0;
}

/* Each has threads that want it again at once: whoever has it could go on for ever. */
SENTENCE(no_process_keeps_all_others_from_their_turns)
{
	struct turns *turns = child_share(sizeof *turns);
	pid_t pids[CONTENDERS];
	long most = 0, least;

	snprintf(turns->uri, sizeof turns->uri, "%s", quorum_uri_guarded(quorum, slow_ms(LEASE_MS)));
	for (int i = 0; i < CONTENDERS; i++)
		pids[i] = child_run(be_contenders, turns);
	await_true_for(turns->all >= 6000, 120);
	turns->over = true;
	for (int i = 0; i < CONTENDERS; i++)
		child_wait(pids[i]);
	least = turns->all;
	for (int i = 0; i < CONTENDERS; i++) {
		printf("# %ld turns\n", turns->of[i]);
		most = turns->of[i] > most ? turns->of[i] : most;
		least = turns->of[i] < least ? turns->of[i] : least;
	}
	assert_true(most < 20 * least);
	child_unshare(turns, sizeof *turns);
	check_that_nothing_is_left();
}
