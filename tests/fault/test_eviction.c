/* Servers that throw keys away when their memory is full: people are warned of the setting, and who held is told of the loss. */
#include "tests/fault/real.h"
#include "tests/fault/refused.h"
#include "tests/support/test.h"

static _Thread_local leash_error err; /* what the last call said */

static void
set_policy(const char *policy, const char *maxmemory)
{
	freeReplyObject(server_command(server, "CONFIG SET maxmemory-policy %s", policy));
	freeReplyObject(server_command(server, "CONFIG SET maxmemory %s", maxmemory));
	assert_string_equal(server_text(server, "CONFIG GET maxmemory-policy") + strlen("maxmemory-policy "), policy);
}

FIXTURE(start_real, stop_real);

/* ---- the warning ---- */

/* What a client logs: how often it connected, and what it said of eviction. */
static struct journal {
	_Atomic int connected, warnings, others;
	char text[512]; /* the last of the warnings */
} journal;

static void
write_down(void *arg, leash_log_level level, const char *line)
{
	(void)arg;
	if (strstr(line, "maxmemory-policy") != NULL) {
		snprintf(journal.text, sizeof journal.text, "%s", line);
		*(level == LEASH_LOG_WARNING ? &journal.warnings : &journal.others) += 1;
	}
	journal.connected += strstr(line, ": connected") != NULL;
}

/* Cut all connections twice: by then all lines of the first of those that the client makes have been delivered. */
static void
have_it_connect_again(void)
{
	for (int n = 0; n < 2; n++) {
		int connected;

		await_true(journal.connected > 0);
		connected = journal.connected;
		server_integer(server, "CLIENT KILL TYPE normal SKIPME yes");
		await_true(journal.connected > connected);
	}
}

SENTENCE(a_policy_that_may_evict_locks_is_named_once_at_open_and_when_it_was_changed)
{
	static const struct {
		const char *policy, *maxmemory;
		int warnings;
	} then[] = {{"allkeys-lfu", "1gb", 1}, {"noeviction", "1gb", 1}, {"allkeys-lru", "1gb", 2}, {"allkeys-lru", "2gb", 2},
	            {"volatile-ttl", "2gb", 3}, {"volatile-ttl", "0", 3}, {"volatile-ttl", "2gb", 4}, {"volatile-lru", "2gb", 5},
	            {"volatile-lfu", "2gb", 6}, {"volatile-random", "2gb", 7}, {"allkeys-random", "2gb", 8}, {"noeviction", "0", 8}};
	leash_client *warned;

	memset(&journal, 0, sizeof journal);
	set_policy(then[0].policy, then[0].maxmemory);
	warned = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = patience_ms(), .on_log = write_down));
	for (size_t i = 0; i < COUNT(then); i++) {
		set_policy(then[i].policy, then[i].maxmemory);
		have_it_connect_again();
		assert_int_equal(journal.warnings, then[i].warnings);
		if (i == 0 || then[i].warnings > then[i - 1].warnings) {
			check_text(journal.text, then[i].policy);
			check_text(journal.text, "set it to noeviction");
			check_text(journal.text, server_uri(server));
		}
	}
	leash_close(warned); /* with all lines delivered */
	assert_int_equal(journal.warnings, 8);
	assert_int_equal(journal.others, 0);
}

/* ---- the loss ---- */

enum { LOCKS = 24, FILLING = 100 };

static int64_t
locks_there(void)
{
	int64_t n = 0;

	for (int i = 0; i < LOCKS; i++)
		n += server_integer(server, "EXISTS leash:{evicted%d}", i);
	return n;
}

/* Make room for less and less, until a third of the locks has made way or more. */
static void
squeeze(void)
{
	long long bytes = info(server, "memory", "used_memory:");

	for (int step = 0; locks_there() > LOCKS * 2 / 3; step++) {
		assert_true(step < 500);
		bytes -= 20000;
		freeReplyObject(server_command(server, "CONFIG SET maxmemory %lld", bytes > 0 ? bytes : 1));
		await_ms(2); /* it evicts a little at a time */
	}
	ask_server(server, "CONFIG SET maxmemory 0");
}

static void
evict_by(const char *policy)
{
	int64_t lease_ms = slow_ms(6000), evicted;
	leash_client *holder = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = lease_ms, .timeout_ms = patience_ms(),
	                                                                     .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *held[LOCKS];
	uint64_t fence[LOCKS];
	int lost = 0;

	memset(&events, 0, sizeof events);
	set_policy(policy, "0");
	for (int i = 0; i < FILLING; i++)
		server_integer(server, "SETRANGE filling%d 10000 x", i);
	for (int i = 0; i < LOCKS; i++) {
		char name[24];

		snprintf(name, sizeof name, "evicted%d", i);
		held[i] = leashed_lock(holder, name, NULL);
		assert_status(LEASH_OK, leash_lock_acquire(held[i], 30000, &err));
		fence[i] = leash_lock_fence(held[i]);
	}
	squeeze();
	evicted = await_now_ns();
	for (int i = 0; i < LOCKS; i++) /* nothing comes back by itself */
		lost += server_integer(server, "EXISTS leash:{evicted%d}", i) == 0;
	assert_true(lost > 0);
	await_true(events.count[LEASH_EVENT_LOST] == lost);
	/* within one renewal period, of a third of the lease, and a trip */
	assert_true(events.at_ns[LEASH_EVENT_LOST] - evicted < lease_ms * 1000000 * 2 / 3);
	printf("# %s: %d of %d lost, told within %.1f s\n", policy, lost, LOCKS, (double)(events.at_ns[LEASH_EVENT_LOST] - evicted) / 1e9);
	for (int i = 0; i < LOCKS; i++) {
		bool there = server_integer(server, "EXISTS leash:{evicted%d}", i) == 1;

		assert_true(leash_lock_held(held[i]) == there);
		assert_status(there ? LEASH_OK : LEASH_LOST, leash_lock_release(held[i], &err));
		assert_status(LEASH_OK, leash_lock_acquire(held[i], 30000, &err)); /* though the fence may have been evicted as well */
		assert_true(leash_lock_fence(held[i]) > fence[i]);
		assert_status(LEASH_OK, leash_lock_release(held[i], &err));
		leash_lock_free(held[i]);
	}
	assert_int_equal(events.count[LEASH_EVENT_LOST], lost);
	assert_int_equal(events.total, lost);
	check_ttls(server);
	leash_close(holder);
	ask_server(server, "FLUSHALL");
}

SENTENCE(what_is_evicted_by_any_policy_is_lost_and_told_and_the_rest_is_held)
{
	evict_by("volatile-lru");
	evict_by("volatile-ttl");
	evict_by("allkeys-lfu");
}
