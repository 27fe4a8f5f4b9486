/* What the library makes of a kind that it does not know: its messages and its questions. */
#include "tests/kinds/plain.h"
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"

static leash_lock *lock;
static leash_error err;

static void
set_up(void)
{
	assert_status(LEASH_OK, plain_lock_new(&lock, kept(leashed_open(uri, NULL)), "gate", LEASH_LOCK_OPTIONS(), &err));
	kept(lock);
}

FIXTURE(set_up, NULL);
GROUP(start_server, stop_server);

SENTENCE(its_keys_are_its_own_and_who_has_it_is_found_by_them)
{
	leash_lock_info info = {.size = sizeof info};
	char token[LEASH_TOKEN_MAX];

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	leash_lock_token(lock, token, sizeof token);
	assert_int_equal(strncmp(server_text(server, "GET leash:{gate}"), token, strlen(token)), 0);
	assert_int_equal(server_integer(server, "EXISTS leash:{gate}:fence"), 0);
	assert_status(LEASH_OK, leash_lock_inspect(lock, &info, &err));
	assert_true(info.held && info.fence == leash_lock_fence(lock));
	assert_string_equal(info.holder.token, token);
	assert_status(LEASH_OK, leash_lock_break(lock, &err));
	assert_int_equal(server_integer(server, "EXISTS leash:{gate}"), 0);
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
}

SENTENCE(a_second_acquire_is_refused_in_the_name_of_the_kind)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	uint64_t fence = leash_lock_fence(lock);
	assert_status(LEASH_INVALID, leash_lock_acquire(lock, 0, &err));
	assert_string_equal(err.text, "plain lock 'gate': this owner holds it already");
	assert_status(LEASH_INVALID, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	assert_true(leash_lock_held(lock) && leash_lock_depth(lock) == 1 && leash_lock_fence(lock) == fence);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
}
