#include "tests/fault/five.h"
#include "tests/support/test.h"

leash_error err;
struct quorum *quorum;
struct leashed_events events;
leash_client *client;
leash_lock *lock;

leash_client *
open_with(int64_t lease_ms, int64_t guard_ms)
{
	return leashed_open(quorum_uri_guarded(quorum, slow_ms(guard_ms)),
	                    LEASH_OPTIONS(.lease_ms = slow_ms(lease_ms), .on_event = leashed_note_event,
	                                  .event_arg = &events));
}

void
check_that_nothing_is_left(void)
{
	await_true(quorum_keys(quorum, "leash:{*}") == 0);
	assert_int_equal(quorum_lasting_keys(quorum, "*"), 0);
}

void
acquire_at_all(leash_lock *of)
{
	assert_status(LEASH_OK, leash_lock_acquire(of, 10000, &err));
	await_true(quorum_having(quorum, "leash:{q}") == SERVERS);
}

void
release_everywhere(void)
{
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	check_that_nothing_is_left();
}

static void
start(const struct quorum_options *options)
{
	leash_client *first;

	memset(&events, 0, sizeof events);
	quorum = quorum_start(options);
	/* until all servers count, for everybody here */
	first = leashed_open(quorum_uri_guarded(quorum, slow_ms(LEASE_MS) + GRAIN_MS), NULL);
	lock = leashed_lock(first, "q", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(LEASE_MS)));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 60000, &err));
	await_true(quorum_having(quorum, "leash:{q}") == SERVERS); /* with the scripts */
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(first);
	client = open_with(LEASE_MS, LEASE_MS);
	lock = leashed_lock(client, "q", NULL);
	check_that_nothing_is_left();
}

void
set_up(void)
{
	start(NULL);
}

void
set_up_with_doors(void)
{
	start(&(struct quorum_options){.doors = true});
}

void
tear_down(void)
{
	leash_lock_free(lock);
	leash_close(client);
	quorum_stop(quorum);
}

void
await_renewal(leash_lock *of, int64_t lease_ms)
{
	int64_t last = leash_lock_remaining_ms(of);

	await_true_for((leash_lock_remaining_ms(of) > last && leash_lock_remaining_ms(of) > slow_ms(lease_ms) / 2) ||
	               (last = leash_lock_remaining_ms(of)) < 0, 60);
}
