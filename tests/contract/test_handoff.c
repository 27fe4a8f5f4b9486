/* Hand-offs of a plain lock between the threads of one process: what is sent for them, and where their turn ends. */
#include "tests/contract/crew.h"

#include "tests/support/place.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <time.h>

FIXTURE(open_client, close_client);
PLACE(crew_open);

/* ---- other processes ---- */

enum { LOOPERS = 4, TURNS = 8, PAGES = 1 << 16 };

struct page {
	bool is_child;
	char token[LEASH_TOKEN_MAX];
};

/* Written inside the lock only, but for the stages. */
struct diary {
	struct stage called;   /* so many turns of the child's are wanted */
	struct stage served;   /* and so many it had */
	_Atomic bool over;
	_Atomic uint32_t n;
	struct page page[PAGES];
};

static void
write_page(struct diary *diary, leash_lock *lock, bool is_child)
{
	uint32_t n = diary->n;

	if (n == PAGES)
		return;
	diary->page[n].is_child = is_child;
	leash_lock_token(lock, diary->page[n].token, sizeof diary->page[n].token);
	diary->n = n + 1;
}

static int
be_served(void *arg)
{
	struct diary *diary = arg;
	leash_client *own;
	leash_lock *lock;
	leash_error err;

	stage_await(&diary->called, 1);
	own = open_one();
	lock = leashed_lock(own, "shared", NULL);
	for (uint32_t i = 0; i < TURNS; i++) {
		stage_await(&diary->called, i + 1);
		if (leash_lock_acquire(lock, LEASH_FOREVER, &err) != LEASH_OK)
			return 1;
		write_page(diary, lock, true);
		if (leash_lock_release(lock, &err) != LEASH_OK)
			return 2;
		stage_raise(&diary->served);
	}
	leash_lock_free(lock);
	leash_close(own);
	return 0;
}

struct looper {
	struct diary *diary;
	leash_lock *lock;
	pthread_t thread;
	leash_status status;
	leash_error err;
};

static void *
take_again_and_again(void *arg)
{
	struct looper *l = arg;

	while (!l->diary->over && (l->status = leash_lock_acquire(l->lock, LEASH_FOREVER, &l->err)) == LEASH_OK) {
		write_page(l->diary, l->lock, false);
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
		if ((l->status = leash_lock_release(l->lock, &l->err)) != LEASH_OK)
			break;
	}
	return NULL;
}

/* How many holds followed that of page `at` until the child's; all are of the turn to which that one belongs. */
static uint32_t
count_holds_before_child(const struct diary *diary, uint32_t at)
{
	uint32_t n = 0;

	while (!diary->page[at + n + 1].is_child) {
		n++;
		assert_true(at + n < diary->n);
		assert_string_equal(diary->page[at + n].token, diary->page[at].token);
	}
	return n;
}

static void
let_a_process_have_turns(const leash_lock_options *options, uint32_t most)
{
	struct diary *diary = child_share(sizeof *diary);
	pid_t child = child_run(be_served, diary); /* before there are threads */
	struct looper looper[LOOPERS];
	uint32_t at[TURNS], between = 0;
	leash_lock *lock;
	leash_error err;

	open_client();
	lock = leashed_lock(client, "shared", options);
	for (int i = 0; i < LOOPERS; i++) {
		looper[i] = (struct looper){.diary = diary, .lock = lock};
		assert_int_equal(pthread_create(&looper[i].thread, NULL, take_again_and_again, &looper[i]), 0);
	}
	for (uint32_t i = 0; i < TURNS; i++) {
		acquire(lock);
		at[i] = diary->n;
		write_page(diary, lock, false);
		stage_raise(&diary->called);
		place_await_waiting("shared", 1);
		release(lock);
		stage_await(&diary->served, i + 1);
	}
	diary->over = true;
	for (int i = 0; i < LOOPERS; i++) {
		pthread_join(looper[i].thread, NULL);
		err = looper[i].err;
		assert_status(LEASH_OK, looper[i].status);
	}
	child_wait(child);
	assert_true(diary->n < PAGES);
	for (uint32_t i = 0; i < TURNS; i++) {
		uint32_t n = count_holds_before_child(diary, at[i]);

		assert_true(n <= most);
		between += n;
	}
	printf("# %u holds, %u of them in turns that another process waited for\n", diary->n, between);
	assert_true(between > 0 || most == 0);
	assert_free("shared");
	leash_lock_free(lock);
	close_client();
	child_unshare(diary, sizeof *diary);
}

SENTENCE(another_process_has_its_turn_after_one_of_this, BETWEEN(NULL, close_client), .but = PLACE_NO_QUEUE)
{
	let_a_process_have_turns(TURN(.handoffs = 20), 20);
	let_a_process_have_turns(LEASH_LOCK_OPTIONS(.handoffs = 255, .handoff_ms = 1000), 255);
	let_a_process_have_turns(TURN(.no_handoff = true), 0);
}

/* ---- within a turn ---- */

SENTENCE(within_a_turn_the_threads_follow_in_order_and_nothing_is_sent)
{
	leash_lock *lock = leashed_lock(client, "turn", TURN(.handoffs = 255));
	struct member *crew = muster(CREW);
	struct own own = acquire(lock);

	for (int i = 0; i < CREW; i++)
		join(&crew[i], lock);
	mark();
	release(lock);
	for (int i = 0; i < CREW; i++) {
		await_hold(&crew[i]);
		for (int k = i + 1; k < CREW; k++)
			assert_int_equal(stage_now(&crew[k].answered), 0);
		assert_string_equal(crew[i].token, own.token);
		assert_int_equal(crew[i].fence, own.fence + (uint64_t)i + 1);
		assert_false(leash_lock_held(lock));
		assert_nothing_sent();
		end(&crew[i]);
	}
	assert_only_release_sent();
	assert_free("turn");
	leash_lock_free(lock);
}

SENTENCE(a_try_does_not_come_between_those_who_wait)
{
	leash_lock *lock = leashed_lock(client, "try", TURN(.handoffs = 255));
	struct member *crew = muster(2);
	leash_error err;

	acquire(lock);
	for (int i = 0; i < 2; i++)
		join(&crew[i], lock);
	release(lock);
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 0, &err));
	for (int i = 0; i < 2; i++) {
		await_hold(&crew[i]);
		assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 0, &err));
		end(&crew[i]);
	}
	acquire(lock);
	release(lock);
	leash_lock_free(lock);
}

SENTENCE(explicit_owners_follow_one_another_as_threads_do)
{
	leash_owner *owner[2];
	leash_lock *lock[2];
	struct member *heir = muster(1);
	struct own own;
	leash_error err;

	heir->keeps = true;
	for (int i = 0; i < 2; i++) {
		assert_status(LEASH_OK, leash_owner_new(&owner[i], &err));
		lock[i] = leashed_lock(client, "owners", TURN(.handoffs = 255, .owner = owner[i]));
	}
	own = acquire(lock[0]);
	join(heir, lock[1]);
	mark();
	release(lock[0]);
	await_hold(heir);
	end(heir);
	assert_nothing_sent();
	assert_string_equal(heir->token, own.token);
	assert_int_equal(heir->fence, own.fence + 1);
	assert_true(leash_lock_held(lock[1])); /* the thread has ended, its owner has not */
	assert_false(leash_lock_held(lock[0]));
	release(lock[1]);
	assert_free("owners");
	for (int i = 0; i < 2; i++) {
		leash_lock_free(lock[i]);
		leash_owner_free(owner[i]);
	}
}

/* ---- where a turn ends ---- */

SENTENCE(after_so_many_handoffs_a_release_and_an_ask_go_out_in_one_write)
{
	enum { HANDOFFS = 3, ALL = 5 };
	leash_lock *lock = leashed_lock(client, "count", TURN(.handoffs = HANDOFFS));
	struct member *crew = muster(ALL);
	struct own own;
	uint64_t before = segments();

	own = acquire(lock);
	release(lock);
	if (!place_is(PLACE_MAJORITY))
		assert_int_equal(segments() - before, 2); /* two writes are told from one */
	own = acquire(lock);
	for (int i = 0; i < ALL; i++)
		join(&crew[i], lock);
	before = segments();
	mark();
	release(lock);
	for (int i = 0; i < HANDOFFS; i++) {
		await_hold(&crew[i]);
		assert_string_equal(crew[i].token, own.token);
		assert_int_equal(crew[i].fence, own.fence + (uint64_t)i + 1);
		if (!place_is(PLACE_MAJORITY))
			assert_int_equal(segments(), before);
		end(&crew[i]);
	}
	await_hold(&crew[HANDOFFS]);
	assert_one_write_with_release_and_ask(own.token, before);
	assert_string_not_equal(crew[HANDOFFS].token, own.token);
	assert_true(crew[HANDOFFS].fence > crew[HANDOFFS - 1].fence + 1);

	/* and the next turn begins */
	mark();
	end(&crew[HANDOFFS]);
	await_hold(&crew[HANDOFFS + 1]);
	assert_nothing_sent();
	assert_string_equal(crew[HANDOFFS + 1].token, crew[HANDOFFS].token);
	assert_int_equal(crew[HANDOFFS + 1].fence, crew[HANDOFFS].fence + 1);
	end(&crew[HANDOFFS + 1]);
	assert_free("count");
	leash_lock_free(lock);
}

SENTENCE(unless_told_otherwise_a_turn_has_64_handoffs)
{
	enum { ALL = 66 };
	leash_lock *lock = leashed_lock(client, "many", TURN(.handoffs = 0));
	struct member *crew = muster(ALL);
	struct own own = acquire(lock);

	for (int i = 0; i < ALL; i++)
		join(&crew[i], lock);
	release(lock);
	for (int i = 0; i < ALL; i++) {
		await_hold(&crew[i]);
		end(&crew[i]);
	}
	for (int i = 0; i < 64; i++) {
		assert_string_equal(crew[i].token, own.token);
		assert_int_equal(crew[i].fence, own.fence + (uint64_t)i + 1);
	}
	assert_string_not_equal(crew[64].token, own.token);
	assert_string_equal(crew[65].token, crew[64].token);
	assert_true(crew[64].fence > crew[63].fence + 1);
	leash_lock_free(lock);
}

/* One hold of `ms`, and somebody who waits: is it handed on? */
static void
check_hold_of(int64_t ms, const leash_lock_options *options, bool is_handed_on)
{
	leash_lock *lock = leashed_lock(client, "time", options);
	struct member *heir = muster(1);
	struct own own = acquire(lock);
	uint64_t before;

	join(heir, lock);
	before = segments();
	mark();
	await_ms(ms);
	release(lock);
	await_hold(heir);
	if (is_handed_on) {
		assert_string_equal(heir->token, own.token);
		assert_nothing_sent();
	} else {
		assert_one_write_with_release_and_ask(own.token, before);
		assert_string_not_equal(heir->token, own.token);
		assert_true(heir->fence > own.fence + 1);
	}
	end(heir);
	assert_free("time");
	leash_lock_free(lock);
}

SENTENCE(after_so_many_milliseconds_a_release_and_an_ask_go_out_in_one_write)
{
	check_hold_of(2, LEASH_LOCK_OPTIONS(.handoff_ms = 1), false);
	check_hold_of(41, LEASH_LOCK_OPTIONS(.handoff_ms = 40), false);
	check_hold_of(41, LEASH_LOCK_OPTIONS(.handoff_ms = LONG_MS), true);
	check_hold_of(11, NULL, false); /* unless told otherwise: 10 */
}
