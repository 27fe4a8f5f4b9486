/* A quorum of five real servers: a majority decides, whatever becomes of the others. What is made of each answer:
 * core/test_quorum. */
#include "tests/support/leashed.h"
#include "tests/support/quorum.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <unistd.h>

enum { SERVERS = 5, LEASE_MS = 1500, GRAIN_MS = 2000 }; /* servers count their lives in whole seconds */

static leash_error err;
static struct quorum *quorum;
static struct leashed_events events;
static leash_client *client;
static leash_lock *lock; /* "q", of that client, for LEASE_MS */

static leash_client *
open_with(int64_t lease_ms)
{
	return leashed_open(quorum_uri_guarded(quorum, slow_ms(LEASE_MS)),
	                    LEASH_OPTIONS(.lease_ms = slow_ms(lease_ms), .on_event = leashed_note_event,
	                                  .event_arg = &events));
}

static void
check_that_nothing_is_left(void)
{
	await_true(quorum_keys(quorum, "leash:{*}", false) == 0);
	assert_int_equal(quorum_keys(quorum, "*", true), 0);
}

static void
acquire_at_all(void)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 60000, &err));
	await_true(quorum_having(quorum, "leash:{q}") == SERVERS);
}

/* Of all sentences: so those that kill servers come last. */
static void
start(void)
{
	quorum = quorum_start(NULL);
	client = leashed_open(quorum_uri_guarded(quorum, slow_ms(LEASE_MS) + GRAIN_MS), NULL);
	lock = leashed_lock(client, "q", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(LEASE_MS)));
	acquire_at_all(); /* now all servers count, and have the scripts */
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

static void
stop(void)
{
	quorum_stop(quorum);
}

GROUP(start, stop);

static void
come(void)
{
	memset(&events, 0, sizeof events);
	client = open_with(LEASE_MS);
	lock = leashed_lock(client, "q", NULL);
}

static void
go(void)
{
	leash_lock_free(lock);
	leash_close(client);
	check_that_nothing_is_left();
}

FIXTURE(come, go);

SENTENCE(what_a_quorum_cannot_do_is_said)
{
	leash_client *bare = leashed_open(quorum_uri(quorum), LEASH_OPTIONS(.lease_ms = 1000));
	leash_lock *other = NULL;

	assert_status(LEASH_INVALID, leash_lock_new(&other, bare, "q", NULL, &err));
	assert_non_null(strstr(err.text, "LEASH_LOCK_OPTIONS"));
	assert_non_null(strstr(err.text, "restart_guard="));
	assert_status(LEASH_INVALID, leash_lock_new(&other, bare, "q", LEASH_LOCK_OPTIONS(.restart_guard_ms = 999), &err));
	assert_non_null(strstr(err.text, "restart_guard_ms"));
	assert_status(LEASH_UNSUPPORTED, leash_lock_new(&other, client, "q", LEASH_LOCK_OPTIONS(.fair = true), &err));
	assert_null(other);
	assert_status(LEASH_OK, leash_lock_new(&other, bare, "q", LEASH_LOCK_OPTIONS(.restart_guard_ms = 1000), &err));
	assert_status(LEASH_INVALID, leash_lock_acquire_with(other, LEASH_ACQUIRE(.lease_ms = 1001), &err));
	assert_status(LEASH_INVALID, leash_lock_extend(other, 1001, &err));
	assert_status(LEASH_UNSUPPORTED, leash_lock_waiters(other, (leash_waiter_fn)abort, NULL, &err));
	leash_lock_free(other);
	leash_close(bare);
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
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(wanted, 500, &err));
	assert_non_null(strstr(err.text, "2 of 3 servers could not be asked"));
	server_resume(quorum_server(quorum, 0));
	leash_lock_free(wanted);
	leash_close(misled);
}

/* ---- who has it ---- */

static const char ann[] = "00000000-0000-4000-8000-00000000000a:1", bob[] = "00000000-0000-4000-8000-00000000000b:1";

static void
give_votes(const char *name, int from, int to, const char *token)
{
	for (int i = from; i < to; i++) {
		assert_int_equal(server_integer(quorum_server(quorum, i), "HSET leash:{%s} %s 1", name, token), 1);
		assert_int_equal(server_integer(quorum_server(quorum, i), "PEXPIRE leash:{%s} 600000", name), 1);
	}
}

SENTENCE(who_has_it_is_what_a_majority_says)
{
	leash_client *other = open_with(LEASE_MS);
	leash_lock *theirs = leashed_lock(other, "q", NULL);
	leash_lock_info info = {.size = sizeof info};
	char token[LEASH_TOKEN_MAX];

	assert_status(LEASH_OK, leash_lock_inspect(theirs, &info, &err));
	assert_false(info.held);
	assert_status(LEASH_NOT_HELD, leash_lock_break(theirs, &err));
	acquire_at_all();
	server_pause(quorum_server(quorum, 1));
	assert_status(LEASH_OK, leash_lock_inspect(theirs, &info, &err));
	assert_true(info.held);
	leash_lock_token(lock, token, sizeof token);
	assert_string_equal(info.holder.token, token);
	assert_int_equal(info.holder.pid, getpid());
	assert_int_equal(info.fence, leash_lock_fence(lock));
	assert_in_range(info.remaining_ms, 1, slow_ms(LEASE_MS));
	assert_status(LEASH_OK, leash_lock_break(theirs, &err));
	await_true(events.count[LEASH_EVENT_LOST] == 1); /* it does not creep back */
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	server_resume(quorum_server(quorum, 1));
	check_that_nothing_is_left();
	/* single votes make no holder */
	give_votes("q", 1, 3, token);
	assert_status(LEASH_OK, leash_lock_inspect(theirs, &info, &err));
	assert_false(info.held);
	give_votes("q", 3, 4, token);
	assert_status(LEASH_OK, leash_lock_inspect(theirs, &info, &err));
	assert_true(info.held);
	assert_status(LEASH_OK, leash_lock_break(theirs, &err));
	leash_lock_free(theirs);
	leash_close(other);
}

enum { LISTED = 150 }; /* more than are asked about at once */

struct list {
	int count, times[LISTED]; /* told of "lock<i>" */
	int pause_after;          /* so many the first server stands still; 0: it does not */
	leash_lock_info last;
};

static bool
note_lock(void *arg, const leash_lock_info *info)
{
	struct list *list = arg;
	int i;

	if (++list->count == list->pause_after)
		server_pause(quorum_server(quorum, 0));
	list->last = *info;
	if (sscanf(info->name, "lock%d", &i) == 1 && i >= 0 && i < LISTED)
		list->times[i]++;
	return true;
}

static void
clear(void)
{
	for (int i = 0; i < SERVERS; i++)
		freeReplyObject(server_command(quorum_server(quorum, i), "FLUSHALL"));
}

/* With all, with three that differ from lock to lock, with two, with two others. */
SENTENCE(what_a_majority_has_is_listed_once_and_nothing_else_as_long_as_a_majority_answers)
{
	struct list list = {.count = 0}, one = {.count = 0}, broken = {.pause_after = 20};
	char name[16];

	for (int i = 0; i < LISTED; i++) {
		snprintf(name, sizeof name, "lock%d", i);
		give_votes(name, i % 4 == 1 ? 2 : 0, i % 4 < 2 ? 5 : 2, ann);
		if (i % 4 != 0)
			give_votes(name, i % 4 == 1 ? 0 : 3, i % 4 == 1 ? 2 : 4 + i % 2, bob);
	}
	assert_status(LEASH_OK, leash_client_scan(client, "lock*", note_lock, &list, &err));
	for (int i = 0; i < LISTED; i++)
		assert_int_equal(list.times[i], i % 4 < 2);
	assert_status(LEASH_OK, leash_client_scan(client, "lock1", note_lock, &one, &err));
	assert_int_equal(one.count, 1);
	assert_string_equal(one.last.holder.token, ann);
	assert_in_range(one.last.remaining_ms, 1, 600000);
	/* the one that is gone through stands still in the middle of it: what it was to tell is told by the next one */
	assert_status(LEASH_OK, leash_client_scan(client, NULL, note_lock, &broken, &err));
	for (int i = 0; i < LISTED; i++)
		assert_in_range(broken.times[i], i % 4 < 2, (i % 4 < 2) * 2);
	server_resume(quorum_server(quorum, 0));
	clear();
}

/* ---- without some ---- */

/* One more refuses a password: of these only that is for people to fix. */
SENTENCE(what_people_have_to_fix_is_named_before_what_may_pass)
{
	struct list list = {.count = 0};
	leash_client *none = NULL;
	char port[16];

	for (int i = 0; i < 3; i++)
		server_kill(quorum_server(quorum, i));
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 0, &err));
	assert_non_null(strstr(err.text, "3 of 5 servers"));
	assert_status(LEASH_UNAVAILABLE, leash_client_scan(client, NULL, note_lock, &list, &err));
	assert_non_null(strstr(err.text, "3 of 5 servers"));
	snprintf(port, sizeof port, ":%d", server_port(quorum_server(quorum, 3)));
	server_text(quorum_server(quorum, 3), "CONFIG SET requirepass hunter2");
	assert_status(LEASH_DENIED,
	              leash_open(&none, LEASH_OPTIONS(.uri = quorum_uri(quorum), .timeout_ms = slow_ms(2000)), &err));
	assert_non_null(strstr(err.text, "4 of 5 servers could not be asked: "));
	assert_non_null(strstr(err.text, port));
	assert_non_null(strstr(err.text, "AUTH"));
	server_text(quorum_server(quorum, 3), "CONFIG SET requirepass ''");
}
