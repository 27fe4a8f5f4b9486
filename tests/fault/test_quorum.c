/* A quorum of five real servers: a majority decides, whatever the others say. What is made of each answer:
 * core/test_quorum; what all deployments do: contract/; a quorum without most of its servers, or with one
 * that has two names: servers.txt. */
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/quorum.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

enum { SERVERS = 5, LEASE_MS = 1500, GRAIN_MS = 2000 }; /* servers count their lives in whole seconds */

static leash_error err;
static struct quorum *quorum;

static void
start(void)
{
	quorum = quorum_start(NULL);
	quorum_await_uptime(quorum, slow_ms(LEASE_MS) + GRAIN_MS);
}

static void
stop(void)
{
	quorum_stop(quorum);
}

GROUP(start, stop);

static leash_client *client;

static void
come(void)
{
	int64_t lease_ms = slow_ms(LEASE_MS);

	client = kept(leashed_open(quorum_uri_guarded(quorum, lease_ms), LEASH_OPTIONS(.lease_ms = lease_ms)));
}

static void
clear(void)
{
	for (int i = 0; i < SERVERS; i++)
		if (quorum_runs(quorum, i))
			freeReplyObject(server_command(quorum_server(quorum, i), "FLUSHALL"));
}

FIXTURE(come, clear);

SENTENCE(without_a_guard_there_is_no_lock_and_no_lease_is_longer_than_it)
{
	leash_client *bare = kept(leashed_open(quorum_uri(quorum), LEASH_OPTIONS(.lease_ms = 1000)));
	leash_lock *other = NULL;

	assert_status(LEASH_INVALID, leash_lock_new(&other, bare, "q", NULL, &err));
	assert_non_null(strstr(err.text, "LEASH_LOCK_OPTIONS"));
	assert_non_null(strstr(err.text, "restart_guard="));
	assert_status(LEASH_INVALID, leash_lock_new(&other, bare, "q", LEASH_LOCK_OPTIONS(.restart_guard_ms = 999), &err));
	assert_non_null(strstr(err.text, "restart_guard_ms"));
	assert_null(other);
	assert_status(LEASH_OK, leash_lock_new(&other, bare, "q", LEASH_LOCK_OPTIONS(.restart_guard_ms = 1000), &err));
	kept(other);
	assert_status(LEASH_INVALID, leash_lock_acquire_with(other, LEASH_ACQUIRE(.lease_ms = 1001), &err));
	assert_status(LEASH_INVALID, leash_lock_extend(other, 1001, &err));
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

SENTENCE(single_votes_make_no_holder)
{
	leash_lock *lock = kept(leashed_lock(client, "q", NULL));
	leash_lock_info info = {.size = sizeof info};

	for (int votes = 2; votes <= 3; votes++) {
		give_votes("q", votes == 2 ? 1 : 3, votes + 1, ann);
		assert_status(LEASH_OK, leash_lock_inspect(lock, &info, &err));
		assert_int_equal(info.held, votes == 3);
	}
	server_pause(quorum_server(quorum, 0));
	assert_status(LEASH_OK, leash_lock_inspect(lock, &info, &err));
	assert_string_equal(info.holder.token, ann);
	assert_status(LEASH_OK, leash_lock_break(lock, &err));
	server_resume(quorum_server(quorum, 0));
	await_true(quorum_keys(quorum, "leash:{q}", false) == 0);
}

enum { LISTED = 150 }; /* more than are asked about at once */

static struct list {
	int count, times[LISTED]; /* told of "lock<i>" */
	leash_lock_info last;
} list;

static bool
note_lock(void *pause_after, const leash_lock_info *info)
{
	int i = -1;

	if (++list.count == *(int *)pause_after) /* the first server stands still */
		server_pause(quorum_server(quorum, 0));
	list.last = *info;
	if (sscanf(info->name, "lock%d", &i) == 1 && i >= 0 && i < LISTED)
		list.times[i]++;
	return true;
}

static const struct list *
scan(const char *pattern, int pause_after)
{
	memset(&list, 0, sizeof list);
	assert_status(LEASH_OK, leash_client_scan(client, pattern, note_lock, &pause_after, &err));
	return &list;
}

/* With all, with three that differ from lock to lock, with two, with two others. */
SENTENCE(what_a_majority_has_is_listed_once_and_nothing_else_as_long_as_a_majority_answers)
{
	char name[16];

	for (int i = 0; i < LISTED; i++) {
		snprintf(name, sizeof name, "lock%d", i);
		give_votes(name, i % 4 == 1 ? 2 : 0, i % 4 < 2 ? 5 : 2, ann);
		if (i % 4 != 0)
			give_votes(name, i % 4 == 1 ? 0 : 3, i % 4 == 1 ? 2 : 4 + i % 2, bob);
	}
	scan("lock*", 0);
	for (int i = 0; i < LISTED; i++)
		assert_int_equal(list.times[i], i % 4 < 2);
	assert_int_equal(scan("lock1", 0)->count, 1);
	assert_string_equal(list.last.holder.token, ann);
	assert_in_range(list.last.remaining_ms, 1, 600000);
	/* the one that is gone through stands still in the middle of it: what it was to tell is told by the next one */
	scan(NULL, 20);
	for (int i = 0; i < LISTED; i++)
		assert_in_range(list.times[i], i % 4 < 2, (i % 4 < 2) * 2);
	server_resume(quorum_server(quorum, 0));
}
