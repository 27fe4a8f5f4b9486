/* Servers that throw keys away when their memory is full: people are warned of the setting. What who held is told of
 * the loss: core/test_single. */
#include "tests/fault/refused.h"
#include "tests/support/kept.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"

static void
set_policy(const char *policy, const char *maxmemory)
{
	freeReplyObject(server_command(server, "CONFIG SET maxmemory-policy %s", policy));
	freeReplyObject(server_command(server, "CONFIG SET maxmemory %s", maxmemory));
	assert_string_equal(server_text(server, "CONFIG GET maxmemory-policy") + strlen("maxmemory-policy "), policy);
}

GROUP(start_server, stop_server);

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
	} then[] = {
		{"allkeys-lfu", "1gb", 1}, {"noeviction", "1gb", 1}, {"allkeys-lru", "1gb", 2},
		{"allkeys-lru", "2gb", 2}, {"volatile-ttl", "2gb", 3}, {"volatile-ttl", "0", 3},
		{"volatile-ttl", "2gb", 4}, {"volatile-lru", "2gb", 5}, {"volatile-lfu", "2gb", 6},
		{"volatile-random", "2gb", 7}, {"allkeys-random", "2gb", 8}, {"noeviction", "0", 8},
	};
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
