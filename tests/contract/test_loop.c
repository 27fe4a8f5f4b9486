/* Operations that nobody waits for: what was begun is told once, by who dispatches, and only then. */
#include "tests/contract/interface.h"

#include <signal.h>
#include <unistd.h>

enum { MANY = 200 };

/* What came of one operation. */
struct told {
	int times;
	leash_status status;
	char text[256];
	pthread_t thread;
	leash_lock *lock;    /* `also` does something with it */
	leash_owner *owner;
	struct told *next;
	void (*also)(struct told *told);
};

/* Of each test. */
static leash_client *client, *others;
static leash_owner *owner;
static leash_lock *lock, *theirs; /* of "law": for `owner`, and of another client */
static struct told first, second;
static leash_multi *given_set;
static int fd;

static void
set_up(void)
{
	note_what_there_is();
	client = kept(open_client());
	others = kept(open_client());
	owner = owner_of_its_own();
	lock = kept(leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = owner)));
	theirs = kept(leashed_lock(others, "law", NULL));
	first = second = (struct told){0};
	assert_status(LEASH_OK, leash_client_fd(client, &fd, &err));
}

FIXTURE(set_up, no_trace_is_left);
PLACE(life_open);

static void
tell(void *arg, leash_status status, const leash_error *why)
{
	struct told *told = arg;

	assert_int_equal(told->times++, 0);
	told->status = status;
	told->thread = pthread_self();
	assert_true((why == NULL) == (status == LEASH_OK));
	if (why != NULL)
		assert_int_equal(why->status, status);
	snprintf(told->text, sizeof told->text, "%s", why != NULL ? why->text : "");
	if (told->also != NULL)
		told->also(told);
}

/* As a loop does. */
static void
turn(void)
{
	if (is_readable(fd, 1000))
		assert_status(LEASH_OK, leash_client_dispatch(client, &err));
}

static void
await_told(const struct told *told)
{
	await_true((turn(), told->times > 0));
}

#define assert_told(expected, told) \
	do { \
		await_told(told); \
		if ((told)->status != (expected)) \
			fail_msg("%s: %s", leash_status_name((told)->status), (told)->text); \
	} while (0)

static void
start_to_acquire(int64_t wait_ms, struct told *told)
{
	assert_status(LEASH_OK, leash_lock_acquire_start(lock, LEASH_ACQUIRE(.wait_ms = wait_ms), tell, told, NULL, &err));
}

static void
start_to_release(struct told *told)
{
	assert_status(LEASH_OK, leash_lock_release_start(lock, tell, told, NULL, &err));
}

/* ---- what becomes of one ---- */

SENTENCE(what_is_begun_is_told_when_it_is_dispatched_and_not_before)
{
	start_to_acquire(20000, &first);
	await_true(is_readable(fd, 1000));
	await_true(leash_lock_held(lock));
	assert_int_equal(first.times, 0);
	assert_told(LEASH_OK, &first);
	assert_true(pthread_equal(first.thread, pthread_self()));
	assert_false(leash_lock_held(theirs));
	start_to_release(&second);
	assert_false(leash_lock_held(lock));
	assert_told(LEASH_OK, &second);
	turn();
	assert_false(is_readable(fd, 0));
}

SENTENCE(who_has_it_already_nests_and_is_told_so_as_well)
{
	struct told third = {0};

	start_to_acquire(0, &first);
	assert_told(LEASH_OK, &first);
	start_to_acquire(0, &second);
	assert_told(LEASH_OK, &second);
	assert_int_equal(leash_lock_depth(lock), 2);
	start_to_release(&third);
	assert_told(LEASH_OK, &third);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

SENTENCE(who_waits_has_it_when_another_client_releases_it)
{
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	start_to_acquire(LEASH_FOREVER, &first);
	place_await_waiting("law", 1);
	assert_int_equal(first.times, 0);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	assert_told(LEASH_OK, &first);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

SENTENCE(when_the_time_is_over_it_is_told_by_whoever_dispatches)
{
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	start_to_acquire(300, &first);
	await_told(&first);
	assert_true(first.status == LEASH_TIMEOUT || first.status == LEASH_UNAVAILABLE);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
}

SENTENCE(it_goes_on_where_connections_are_cut)
{
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	start_to_acquire(LEASH_FOREVER, &first);
	for (int i = 0; i < 5; i++) {
		place_cut();
		turn();
	}
	await_true(leash_lock_release(theirs, &err) != LEASH_IN_CALLBACK); /* which may be unknown */
	assert_told(LEASH_OK, &first);
	start_to_release(&second);
	await_told(&second);
	await_true(place_is_empty());
}

SENTENCE(what_is_extended_lasts_for_so_long, .but = PLACE_SHORT_LEASE)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_extend_start(lock, 600000, tell, &first, NULL, &err));
	assert_told(LEASH_OK, &first);
	assert_true(leash_lock_remaining_ms(lock) > 500000);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

SENTENCE(what_is_not_held_is_not_released_and_that_is_told)
{
	start_to_release(&first);
	assert_told(LEASH_NOT_HELD, &first);
	assert_non_null(strstr(first.text, "lock 'law'"));
}

SENTENCE(nobody_has_to_be_told)
{
	assert_status(LEASH_OK, leash_lock_acquire_start(lock, NULL, NULL, NULL, NULL, &err));
	await_true((turn(), leash_lock_held(lock)));
	assert_status(LEASH_OK, leash_lock_release_start(lock, NULL, NULL, NULL, &err));
	await_true((turn(), place_is_empty()));
}

/* ---- canceled ---- */

SENTENCE(who_is_canceled_is_told_and_leaves_nothing)
{
	leash_op *op;

	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire_start(lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &first, &op,
	                                                 &err));
	place_await_waiting("law", 1);
	leash_op_cancel(op);
	leash_op_cancel(op);
	assert_told(LEASH_CANCELED, &first);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	await_true(place_is_empty());
	leash_op_cancel(NULL);
}

SENTENCE(a_cancel_that_comes_too_late_does_nothing)
{
	leash_op *op;

	assert_status(LEASH_OK, leash_lock_acquire_start(lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &first, &op,
	                                                 &err));
	await_true(leash_lock_held(lock));
	leash_op_cancel(op);
	assert_told(LEASH_OK, &first);
	assert_status(LEASH_OK, leash_lock_release_start(lock, tell, &second, &op, &err));
	leash_op_cancel(op);
	assert_told(LEASH_OK, &second);
}

/* ---- many ---- */

static void
pass_on(struct told *told)
{
	assert_status(LEASH_OK, told->status);
	assert_true(leash_lock_held(told->lock));
	assert_status(LEASH_OK, leash_lock_release_start(told->lock, tell, told->next, NULL, &err));
}

static void
free_it(struct told *told)
{
	leash_lock_free(told->lock);
	leash_owner_free(told->owner);
}

static void
make_one(struct told *told)
{
	assert_status(LEASH_OK, leash_owner_new(&told->owner, &err));
	told->lock = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = told->owner));
}

SENTENCE(one_after_the_other_has_it_and_no_thread_waits)
{
	static struct told acquired[MANY], released[MANY];
	long threads = process_number("Threads:");

	for (int i = 0; i < MANY; i++) {
		released[i] = (struct told){.also = free_it};
		make_one(&released[i]);
		acquired[i] = (struct told){.also = pass_on, .next = &released[i], .lock = released[i].lock};
		assert_status(LEASH_OK, leash_lock_acquire_start(acquired[i].lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell,
		                                                 &acquired[i], NULL, &err));
	}
	assert_int_equal(process_number("Threads:"), threads);
	for (int i = 0; i < MANY; i++)
		assert_told(LEASH_OK, &released[i]);
}

SENTENCE(who_is_told_may_free_the_handle_and_its_owner)
{
	make_one(&first);
	first.also = free_it;
	assert_status(LEASH_OK, leash_lock_acquire_start(first.lock, NULL, tell, &first, NULL, &err));
	assert_told(LEASH_OK, &first);
	await_true(place_is_empty()); /* it was abandoned */
}

SENTENCE(an_owner_that_is_freed_meanwhile_has_nothing_in_the_end)
{
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	make_one(&first);
	assert_status(LEASH_OK, leash_lock_acquire_start(first.lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &first,
	                                                 NULL, &err));
	place_await_waiting("law", 1);
	leash_owner_free(first.owner);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	await_told(&first);
	await_true(place_is_empty());
	leash_lock_free(first.lock);
}

SENTENCE(permits_are_given_when_they_are_told, .but = PLACE_NO_QUEUE)
{
	leash_semaphore *semaphore = semaphore_of(client, "permits", 2);
	leash_permit *had, *wanted = NULL;

	assert_status(LEASH_OK, leash_semaphore_acquire(semaphore, 2, 0, &had, &err));
	assert_status(LEASH_OK, leash_semaphore_acquire_start(semaphore, 2, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER),
	                                                      &wanted, tell, &first, NULL, &err));
	place_await_waiting("permits", 1);
	assert_status(LEASH_OK, leash_permit_release_start(had, tell, &second, NULL, &err));
	assert_told(LEASH_OK, &second);
	assert_told(LEASH_OK, &first);
	assert_int_equal(leash_permit_count(wanted), 2);
	assert_true(leash_permit_held(wanted));
	second.times = 0;
	assert_status(LEASH_OK, leash_permit_release_start(wanted, tell, &second, NULL, &err));
	assert_told(LEASH_OK, &second);
}

/* ---- callbacks ---- */

static void
take_it_again(void *arg, const leash_event *event)
{
	(void)arg;
	if (event->type == LEASH_EVENT_LOST)
		assert_status(LEASH_OK, leash_lock_release_start(lock, tell, &second, NULL, &err));
	assert_int_equal(leash_client_dispatch(client, NULL), LEASH_IN_CALLBACK);
}

SENTENCE(permits_are_extended_and_some_of_them_given_back, .but = PLACE_NO_QUEUE)
{
	leash_semaphore *semaphore = semaphore_of(client, "permits", 3);
	leash_permit *had;

	assert_status(LEASH_OK, leash_semaphore_acquire(semaphore, 3, 0, &had, &err));
	assert_status(LEASH_OK, leash_permit_extend_start(had, 60000, tell, &first, NULL, &err));
	assert_told(LEASH_OK, &first);
	assert_true(leash_permit_remaining_ms(had) > 40000);
	assert_status(LEASH_OK, leash_permit_release_some_start(had, 2, tell, &second, NULL, &err));
	assert_told(LEASH_OK, &second);
	assert_int_equal(leash_permit_count(had), 1);
	assert_refused(LEASH_INVALID, "count", leash_permit_release_some_start(had, 1, tell, &second, NULL, &err));
	assert_status(LEASH_OK, leash_permit_release(had, &err));
}

SENTENCE(what_another_client_had_is_adopted)
{
	char token[LEASH_TOKEN_MAX];

	acquires(theirs);
	leash_lock_token(theirs, token, sizeof token);
	assert_status(LEASH_OK, leash_lock_adopt_start(lock, token, tell, &first, NULL, &err));
	memset(token, 'x', sizeof token); /* it is ours alone by now */
	assert_told(LEASH_OK, &first);
	assert_true(leash_lock_held(lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_LOST, leash_lock_release(theirs, &err));
	assert_refused(LEASH_INVALID, "token", leash_lock_adopt_start(lock, "nonsense", tell, &second, NULL, &err));
}

SENTENCE(permits_of_another_client_are_adopted, .but = PLACE_NO_QUEUE)
{
	leash_semaphore *semaphore = semaphore_of(client, "permits", 2), *also = semaphore_of(others, "permits", 2);
	leash_permit *had, *adopted = NULL;
	char token[LEASH_TOKEN_MAX];

	assert_status(LEASH_OK, leash_semaphore_acquire(also, 2, 0, &had, &err));
	leash_permit_token(had, token, sizeof token);
	assert_status(LEASH_OK,
	              leash_semaphore_adopt_start(semaphore, 2, token, &adopted, tell, &first, NULL, &err));
	assert_told(LEASH_OK, &first);
	assert_true(leash_permit_held(adopted));
	assert_status(LEASH_OK, leash_permit_release(adopted, &err));
	assert_status(LEASH_LOST, leash_permit_release(had, &err));
}

SENTENCE(who_reads_alone_is_upgraded, .but = PLACE_NO_QUEUE)
{
	leash_lock *reads = kept(leashed_lock(client, "book", LEASH_LOCK_OPTIONS(.owner = owner, .mode = LEASH_READ)));
	leash_lock *writes = kept(leashed_lock(client, "book", LEASH_LOCK_OPTIONS(.owner = owner, .mode = LEASH_WRITE)));

	acquires(reads);
	assert_status(LEASH_OK, leash_lock_upgrade_start(writes, tell, &first, NULL, &err));
	assert_told(LEASH_OK, &first);
	assert_true(leash_lock_held(writes));
	releases(writes);
	releases(reads);
	assert_refused(LEASH_INVALID, "not to write", leash_lock_upgrade_start(reads, tell, &second, NULL, &err));
}

SENTENCE(who_waits_at_a_latch_is_told_when_enough_have_arrived, .but = PLACE_NO_QUEUE)
{
	leash_latch *latch = latch_of(client, "latch", 1);

	assert_status(LEASH_OK, leash_latch_await_start(latch, NULL, tell, &first, NULL, &err));
	assert_told(LEASH_TIMEOUT, &first);
	assert_status(LEASH_OK,
	              leash_latch_await_start(latch, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &second, NULL, &err));
	place_await_waiting("latch", 1);
	assert_int_equal(second.times, 0);
	first = (struct told){0};
	assert_status(LEASH_OK, leash_latch_count_down_start(latch, NULL, tell, &first, NULL, &err));
	assert_told(LEASH_OK, &first);
	assert_told(LEASH_OK, &second);
	assert_status(LEASH_OK, leash_latch_break(latch, &err));
}

SENTENCE(an_arrival_is_told_though_the_latch_is_freed_and_connections_are_cut, .but = PLACE_NO_QUEUE)
{
	leash_latch *latch = latch_of(client, "cut", 2), *freed = NULL;
	int64_t arrived = 0;

	assert_status(LEASH_OK, leash_latch_new(&freed, client, "cut", 2, &err));
	assert_status(LEASH_OK, leash_latch_count_down_start(freed, "ann", tell, &first, NULL, &err));
	assert_status(LEASH_OK, leash_latch_count_down_start(freed, "bob", tell, &second, NULL, &err));
	leash_latch_free(freed);
	place_cut();
	await_told(&first);
	await_told(&second);
	/* an answer that was lost is awaited to the end, as what was asked may be done still */
	assert_true(first.status == LEASH_OK || first.status == LEASH_UNAVAILABLE);
	assert_status(LEASH_OK, leash_latch_arrived(latch, &arrived, &err));
	assert_int_equal(arrived, 2);
	assert_status(LEASH_OK, leash_latch_break(latch, &err));
}

static void
wait_for_change(struct actor *a)
{
	acquires(theirs);
	a->status = leash_condition_wait(a->ctx, LEASH_FOREVER, &a->err);
	releases(theirs);
}

SENTENCE(who_waits_for_a_condition_is_signaled_by_a_loop, .but = PLACE_NO_QUEUE)
{
	static struct actor waiter;
	leash_condition *ours = NULL, *of_theirs = NULL;

	assert_status(LEASH_OK, leash_condition_new(&ours, lock, "changed", NULL, &err));
	assert_status(LEASH_OK, leash_condition_new(&of_theirs, theirs, "changed", NULL, &err));
	begin_actor(&waiter, NULL, LEASH_FOREVER);
	waiter.ctx = of_theirs;
	for (int all = 0; all < 2; all++) {
		first = (struct told){0};
		actor_tell(&waiter, wait_for_change);
		place_await_waiting("law?changed", 1);
		assert_status(LEASH_OK, all ? leash_condition_broadcast_start(ours, tell, &first, NULL, &err)
		                            : leash_condition_signal_start(ours, tell, &first, NULL, &err));
		assert_told(LEASH_OK, &first);
		assert_heard(LEASH_OK, &waiter);
	}
	leash_condition_free(ours);
	leash_condition_free(of_theirs);
}

SENTENCE(parties_of_a_barrier_are_told_together_or_that_nobody_counts_on_them, .but = PLACE_NO_QUEUE)
{
	leash_barrier *barrier = barrier_of(client, "barrier", 2);
	struct told third = {0};
	leash_op *op;

	assert_status(LEASH_OK, leash_barrier_wait_start(barrier, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &first,
	                                                 &op, &err));
	place_await_waiting("barrier", 1);
	leash_op_cancel(op);
	assert_told(LEASH_CANCELED, &first);
	assert_status(LEASH_OK, leash_barrier_wait_start(barrier, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &second,
	                                                 NULL, &err));
	place_await_waiting("barrier", 1);
	assert_int_equal(second.times, 0);
	assert_status(LEASH_OK, leash_barrier_wait_start(barrier, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &third,
	                                                 NULL, &err));
	assert_told(LEASH_OK, &second);
	assert_told(LEASH_OK, &third);
}

/* ---- opening ---- */

static leash_client *
opened(leash_opening *opening, int opening_fd)
{
	leash_client *made = NULL;

	await_true(is_readable(opening_fd, 1000));
	assert_status(LEASH_OK, leash_open_end(opening, &made, &err));
	return made;
}

SENTENCE(a_client_is_opened_while_the_loop_goes_on)
{
	leash_opening *opening;
	leash_client *made;
	int opening_fd;

	assert_status(LEASH_OK, leash_open_start(&opening, &opening_fd, LEASH_OPTIONS(.uri = place_uri(), .lease_ms = 5000),
	                                         &err));
	made = opened(opening, opening_fd);
	take_and_give_back(kept(leashed_lock(made, "opened", NULL)));
	leash_close(made);
	assert_status(LEASH_OK, leash_open_start(&opening, &opening_fd, LEASH_OPTIONS(.uri = place_uri()), &err));
	assert_status(LEASH_OK, leash_open_end(opening, NULL, &err)); /* which waits, and closes it */
}

SENTENCE(an_opening_that_is_not_wanted_any_more_is_canceled)
{
	leash_cancel *cancel = kept(leashed_cancel());
	leash_opening *opening = NULL;
	leash_client *made = NULL;
	int opening_fd = -1;

	assert_status(LEASH_OK, leash_open_start(&opening, &opening_fd, LEASH_OPTIONS(.uri = "unix:///nowhere/at/all",
	              .open_wait_ms = LEASH_FOREVER, .open_cancel = cancel), &err));
	assert_false(is_readable(opening_fd, 50));
	leash_cancel_fire(cancel);
	await_true(is_readable(opening_fd, 1000));
	assert_status(LEASH_CANCELED, leash_open_end(opening, &made, &err));
	assert_null(made);
	assert_refused(LEASH_INVALID, "lease_ms",
	               leash_open_start(&opening, &opening_fd, LEASH_OPTIONS(.lease_ms = 1), &err));
	assert_status(LEASH_OK, leash_open_start(&opening, &opening_fd, LEASH_OPTIONS(.uri = "no uri"), &err));
	assert_status(LEASH_INVALID, leash_open_end(opening, &made, &err));
	assert_refused(LEASH_INVALID, "is NULL", leash_open_start(NULL, &opening_fd, NULL, &err));
	assert_refused(LEASH_INVALID, "is NULL", leash_open_end(NULL, &made, &err));
}

/* ---- leaders ---- */

static leash_watch *watch;
static leash_leader leader;

static void
start_to_watch(int64_t wait_ms, struct told *told, leash_op **op)
{
	*told = (struct told){0};
	leader = (leash_leader){.size = sizeof leader};
	assert_status(LEASH_OK, leash_watch_next_start(watch, LEASH_ACQUIRE(.wait_ms = wait_ms), &leader, tell, told, op,
	                                               &err));
}

SENTENCE(who_leads_and_what_it_proclaims_is_told_by_the_loop, .but = PLACE_NO_QUEUE)
{
	assert_status(LEASH_OK, leash_watch_new(&watch, client, "law", &err));
	start_to_watch(LEASH_FOREVER, &first, NULL);
	assert_told(LEASH_OK, &first);
	assert_false(leader.leads);
	start_to_watch(0, &first, NULL);
	assert_told(LEASH_TIMEOUT, &first);
	assert_refused(LEASH_NOT_HELD, "does not hold", leash_lock_proclaim_start(lock, "here", tell, &second, NULL, &err));
	start_to_acquire(0, &second);
	assert_told(LEASH_OK, &second);
	start_to_watch(LEASH_FOREVER, &first, NULL);
	second = (struct told){0};
	assert_status(LEASH_OK, leash_lock_proclaim_start(lock, "here", tell, &second, NULL, &err));
	assert_told(LEASH_OK, &second);
	assert_told(LEASH_OK, &first);
	while (strcmp(leader.value, "here") != 0) { /* at first it may have told that somebody leads */
		start_to_watch(LEASH_FOREVER, &first, NULL);
		assert_told(LEASH_OK, &first);
	}
	assert_true(leader.leads && leader.fence == leash_lock_fence(lock));
	start_to_watch(LEASH_FOREVER, &first, NULL);
	releases(lock);
	assert_told(LEASH_OK, &first);
	assert_false(leader.leads);
	leash_watch_free(watch);
}

SENTENCE(who_watches_is_canceled_or_told_of_a_close, .but = PLACE_NO_QUEUE)
{
	leash_client *other = open_client();
	leash_op *op;

	assert_status(LEASH_OK, leash_watch_new(&watch, client, "law", &err));
	start_to_watch(LEASH_FOREVER, &first, &op);
	assert_told(LEASH_OK, &first);
	for (int round = 0; round < 2; round++) {
		start_to_watch(LEASH_FOREVER, &first, &op);
		for (int i = 0; i < 10 * round; i++)
			turn();
		leash_op_cancel(op);
		assert_told(LEASH_CANCELED, &first);
	}
	leash_watch_free(watch);
	assert_status(LEASH_OK, leash_watch_new(&watch, other, "law", &err));
	start_to_watch(LEASH_FOREVER, &first, NULL);
	leash_close(other);
	assert_int_equal(first.times, 1);
	assert_true(first.status == LEASH_CLOSED || first.status == LEASH_OK);
	leash_watch_free(watch);
}

/* ---- several locks as one ---- */

enum { A, B, C, SET };

static leash_lock *ours[SET], *of_others[SET];

static leash_multi *
open_set(void)
{
	static const char *const names[SET] = {"a", "b", "c"};

	for (int i = 0; i < SET; i++) {
		ours[i] = kept(leashed_lock(client, names[i], LEASH_LOCK_OPTIONS(.owner = owner)));
		of_others[i] = kept(leashed_lock(others, names[i], NULL));
	}
	return multi_of(ours, SET);
}

static void
start_to_acquire_all(leash_multi *all, int64_t wait_ms, struct told *told, leash_op **op)
{
	assert_status(LEASH_OK,
	              leash_multi_acquire_start(all, LEASH_ACQUIRE(.wait_ms = wait_ms), tell, told, op, &err));
}

static void
release_all_of(leash_multi *all, struct told *told)
{
	*told = (struct told){0};
	assert_status(LEASH_OK, leash_multi_release_start(all, tell, told, NULL, &err));
	assert_false(leash_multi_held(all));
	assert_told(LEASH_OK, told);
}

SENTENCE(a_set_is_acquired_and_released_as_one)
{
	leash_multi *all = open_set();

	start_to_acquire_all(all, 20000, &first, NULL);
	assert_told(LEASH_OK, &first);
	assert_true(leash_multi_held(all));
	release_all_of(all, &second);
	for (int i = 0; i < SET; i++)
		take_and_give_back(of_others[i]);
}

SENTENCE(a_set_waits_for_the_one_that_is_in_its_way_without_those_behind_it)
{
	leash_multi *all = open_set();

	acquires(of_others[B]);
	start_to_acquire_all(all, LEASH_FOREVER, &first, NULL);
	await_true((turn(), leash_lock_held(ours[A])));
	await_true((turn(), leash_lock_acquire(of_others[C], 0, &err) == LEASH_OK));
	assert_int_equal(first.times, 0);
	assert_true(leash_lock_held(ours[A]));
	releases(of_others[C]);
	releases(of_others[B]);
	assert_told(LEASH_OK, &first);
	release_all_of(all, &second);
}

SENTENCE(a_set_that_does_not_come_in_time_leaves_nothing)
{
	leash_multi *all = open_set();

	acquires(of_others[C]);
	start_to_acquire_all(all, 0, &first, NULL);
	assert_told(LEASH_TIMEOUT, &first);
	start_to_acquire_all(all, 150, &second, NULL);
	assert_told(LEASH_TIMEOUT, &second);
	assert_true(strstr(second.text, "'c'") != NULL);
	take_and_give_back(of_others[A]);
	take_and_give_back(of_others[B]);
	releases(of_others[C]);
}

SENTENCE(a_set_that_is_canceled_leaves_nothing_before_it_has_begun_or_after)
{
	leash_multi *all = open_set();
	leash_op *op;

	acquires(of_others[B]);
	start_to_acquire_all(all, LEASH_FOREVER, &first, &op);
	leash_op_cancel(op);
	assert_told(LEASH_CANCELED, &first);
	start_to_acquire_all(all, LEASH_FOREVER, &second, &op);
	await_true((turn(), stats_of(client).waiting == 1));
	leash_op_cancel(op);
	assert_told(LEASH_CANCELED, &second);
	take_and_give_back(of_others[A]);
	releases(of_others[B]);
	assert_int_equal(stats_of(client).holding, 0);
}

SENTENCE(a_lost_one_of_a_set_is_told_by_its_release)
{
	leash_multi *all = open_set();

	start_to_acquire_all(all, 20000, &first, NULL);
	assert_told(LEASH_OK, &first);
	assert_status(LEASH_OK, leash_lock_break(of_others[B], &err));
	assert_status(LEASH_OK, leash_multi_release_start(all, tell, &second, NULL, &err));
	assert_told(LEASH_LOST, &second);
	assert_true(strstr(second.text, "'b'") != NULL);
}

static leash_status
acquire_and_release_all(void)
{
	leash_multi *all = given_set;
	struct told had = {0}, gone = {0};
	leash_status status = leash_multi_acquire_start(all, LEASH_ACQUIRE(.wait_ms = 20000), tell, &had, NULL, &err);

	if (status != LEASH_OK)
		return status;
	await_told(&had);
	if (had.status != LEASH_OK)
		return had.status;
	status = leash_multi_release_start(all, tell, &gone, NULL, &err);
	if (status == LEASH_OK)
		await_told(&gone);
	return status == LEASH_OK ? gone.status : status;
}

static void
check_set_free(leash_status status)
{
	(void)status;
	for (int i = 0; i < SET; i++)
		take_and_give_back(of_others[i]);
}

SENTENCE(a_set_without_memory_is_told_so_and_leaves_nothing, .but = PLACE_MANY_SERVERS)
{
	given_set = open_set();
	assert_true(wherever_memory_runs_out(acquire_and_release_all, check_set_free) >= 4);
}

SENTENCE(close_tells_of_a_set_too)
{
	leash_client *own = place_client(NULL);
	leash_owner *whose = owner_of_its_own();
	leash_lock *one = leashed_lock(own, "a", LEASH_LOCK_OPTIONS(.owner = whose));
	leash_multi *all;

	open_set();
	acquires(of_others[A]);
	assert_status(LEASH_OK, leash_multi_new(&all, &one, 1, &err));
	start_to_acquire_all(all, LEASH_FOREVER, &first, NULL);
	assert_status(LEASH_OK, leash_client_dispatch(own, &err));
	leash_close(own);
	assert_int_equal(first.times, 1);
	assert_int_equal(first.status, LEASH_CLOSED);
	leash_multi_free(all);
	leash_lock_free(one);
	releases(of_others[A]);
}

SENTENCE(an_event_may_begin_what_it_must_not_wait_for)
{
	leash_client *told = kept(place_client(LEASH_OPTIONS(.lease_ms = place_lease_ms(3000), .on_event = take_it_again)));

	lock = kept(leashed_lock(told, "law", LEASH_LOCK_OPTIONS(.owner = owner)));
	client = told;
	assert_status(LEASH_OK, leash_client_fd(client, &fd, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
	place_take_away("law");
	assert_told(LEASH_LOST, &second);
	await_true(place_is_empty());
}

/* A callback that acts once: at the loss of a lock, or at the log line of a leash_close() that does nothing. It runs on
 * a thread of leash's, so it asserts nothing, and notes what the calls returned. */
static struct {
	void (*act)(void);
	leash_lock *had, *wanted; /* each for an owner of its own */
	leash_op *op;
	leash_status began[2], dispatched;
	pthread_t thread;
	_Atomic bool ready, over;
} inside;

static void
act_inside(void)
{
	if (!inside.ready || inside.over)
		return;
	inside.thread = pthread_self();
	inside.act();
	inside.dispatched = leash_client_dispatch(client, NULL);
	inside.over = true;
}

static void
event_inside(void *arg, const leash_event *event)
{
	(void)arg;
	if (event->type == LEASH_EVENT_LOST)
		act_inside();
}

static void
line_inside(void *arg, leash_log_level level, const char *line)
{
	(void)arg, (void)level;
	if (strstr(line, "leash_close()") != NULL)
		act_inside();
}

static void
begin_inside(void)
{
	inside.began[0] = leash_lock_release_start(inside.had, tell, &first, NULL, NULL);
	inside.began[1] = leash_lock_acquire_start(inside.wanted, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &second,
	                                           NULL, NULL);
}

static void
cancel_inside(void)
{
	leash_op_cancel(inside.op);
}

/* Of a client with such callbacks: `lock` and `inside.had` are held, `inside.wanted` is not. */
static void
open_inside(void (*act)(void))
{
	memset(&inside, 0, sizeof inside);
	inside.act = act;
	client = kept(place_client(LEASH_OPTIONS(.lease_ms = place_lease_ms(3000), .on_event = event_inside,
	                                         .on_log = line_inside)));
	lock = kept(leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = owner)));
	inside.had = kept(leashed_lock(client, "had", LEASH_LOCK_OPTIONS(.owner = owner_of_its_own())));
	inside.wanted = kept(leashed_lock(client, "wanted", LEASH_LOCK_OPTIONS(.owner = owner_of_its_own())));
	assert_status(LEASH_OK, leash_client_fd(client, &fd, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
	assert_status(LEASH_OK, leash_lock_acquire(inside.had, 20000, &err));
}

static void
await_inside(void)
{
	await_true(inside.over);
	assert_int_equal(inside.dispatched, LEASH_IN_CALLBACK);
	assert_false(pthread_equal(inside.thread, pthread_self()));
}

static void
assert_told_here(leash_status expected, const struct told *told)
{
	assert_told(expected, told);
	assert_true(pthread_equal(told->thread, pthread_self()));
}

static void
check_what_it_began(void)
{
	await_inside();
	assert_int_equal(inside.began[0], LEASH_OK);
	assert_int_equal(inside.began[1], LEASH_OK);
	assert_false(leash_lock_held(inside.had));
	await_true(leash_lock_held(inside.wanted));
	assert_int_equal(first.times + second.times, 0);
	assert_told_here(LEASH_OK, &first);
	assert_told_here(LEASH_OK, &second);
	assert_status(LEASH_OK, leash_lock_release(inside.wanted, &err));
}

SENTENCE(what_an_event_begins_is_told_by_who_dispatches)
{
	open_inside(begin_inside);
	inside.ready = true;
	place_take_away("law");
	check_what_it_began();
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
}

static void
close_it(struct told *told)
{
	(void)told;
	leash_close(client);
}

SENTENCE(what_a_log_line_begins_is_told_by_who_dispatches)
{
	struct told third = {.also = close_it}; /* which does nothing but log a line */

	open_inside(begin_inside);
	inside.ready = true;
	assert_status(LEASH_OK, leash_lock_acquire_start(lock, NULL, tell, &third, NULL, &err));
	assert_told(LEASH_OK, &third);
	check_what_it_began();
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

SENTENCE(an_event_may_cancel_what_is_under_way)
{
	leash_lock *taken = kept(leashed_lock(others, "wanted", NULL));

	open_inside(cancel_inside);
	assert_status(LEASH_OK, leash_lock_acquire(taken, 20000, &err));
	assert_status(LEASH_OK, leash_lock_acquire_start(inside.wanted, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell,
	                                                 &first, &inside.op, &err));
	place_await_waiting("wanted", 1);
	inside.ready = true;
	place_take_away("law");
	await_inside();
	assert_int_equal(first.times, 0);
	assert_told_here(LEASH_CANCELED, &first);
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_release(inside.had, &err));
	assert_status(LEASH_OK, leash_lock_release(taken, &err));
}

/* ---- the end ---- */

SENTENCE(close_tells_all_that_is_under_way)
{
	leash_client *brief = place_client(NULL);
	leash_lock *handle = leashed_lock(brief, "law", LEASH_LOCK_OPTIONS(.owner = owner));

	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire_start(handle, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &first, NULL,
	                                                 &err));
	place_await_waiting("law", 1);
	leash_close(brief);
	assert_int_equal(first.times, 1);
	assert_int_equal(first.status, LEASH_CLOSED);
	assert_refused(LEASH_CLOSED, "law", leash_lock_acquire_start(handle, NULL, tell, &second, NULL, &err));
	leash_lock_free(handle);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	await_true(place_is_empty());
}

SENTENCE(what_had_ended_is_told_by_close_as_well_and_is_released)
{
	leash_client *brief = place_client(NULL);
	leash_lock *handle = leashed_lock(brief, "law", LEASH_LOCK_OPTIONS(.owner = owner));

	assert_status(LEASH_OK, leash_lock_acquire_start(handle, LEASH_ACQUIRE(.wait_ms = 20000), tell, &first, NULL, &err));
	await_true(leash_lock_held(handle));
	leash_close(brief);
	assert_int_equal(first.times, 1);
	assert_int_equal(first.status, LEASH_OK);
	assert_false(leash_lock_held(handle));
	leash_lock_free(handle);
	await_true(place_is_empty());
}

SENTENCE(who_is_told_closes_nothing_by_mistake)
{
	first.also = close_it;
	start_to_acquire(0, &first);
	assert_told(LEASH_OK, &first);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

static int
use_in_child(void *arg)
{
	(void)arg;
	if (leash_client_dispatch(client, &err) != LEASH_FORKED || leash_client_fd(client, &fd, &err) != LEASH_FORKED)
		return 1;
	if (leash_lock_acquire_start(lock, NULL, tell, &second, NULL, &err) != LEASH_FORKED)
		return 2;
	return first.times;
}

SENTENCE(a_forked_child_is_told_nothing)
{
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	start_to_acquire(LEASH_FOREVER, &first);
	place_await_waiting("law", 1);
	child_wait(child_run(use_in_child, NULL));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	assert_told(LEASH_OK, &first);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

static pid_t forked;

static void
fork_there(struct told *told)
{
	(void)told;
	forked = fork();
}

SENTENCE(a_child_that_who_is_told_forks_is_told_nothing)
{
	first.also = fork_there;
	start_to_acquire(20000, &first);
	await_true(leash_lock_held(lock));
	start_to_release(&second);
	await_true(place_is_empty());
	leash_status status = leash_client_dispatch(client, &err);
	if (forked == 0)
		_exit(status != LEASH_FORKED || second.times != 0);
	child_wait(forked);
	assert_told(LEASH_OK, &second);
}

/* ---- what cannot be ---- */

static void
dispatch_again(struct told *told)
{
	(void)told;
	assert_refused(LEASH_INVALID, "leash_client_dispatch", leash_client_dispatch(client, &err));
}

SENTENCE(who_is_told_does_not_dispatch)
{
	first.also = dispatch_again;
	start_to_acquire(0, &first);
	assert_told(LEASH_OK, &first);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

SENTENCE(a_thread_owns_nothing_here)
{
	leash_lock *of_thread = kept(leashed_lock(client, "law", NULL));

	assert_refused(LEASH_INVALID, ".owner", leash_lock_acquire_start(of_thread, NULL, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, ".owner", leash_lock_release_start(of_thread, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, ".owner", leash_lock_extend_start(of_thread, 10000, tell, &first, NULL, &err));
}

SENTENCE(what_cannot_be_is_refused_and_nothing_is_begun)
{
	leash_cancel *cancel = kept(leashed_cancel());

	assert_refused(LEASH_INVALID, "leash_lock_acquire_start", leash_lock_acquire_start(NULL, NULL, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_op_cancel()",
	               leash_lock_acquire_start(lock, LEASH_ACQUIRE(.cancel = cancel), tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "wait_ms",
	               leash_lock_acquire_start(lock, LEASH_ACQUIRE(.wait_ms = -2), tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "lease", leash_lock_extend_start(lock, 1, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_client_fd", leash_client_fd(client, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_client_fd", leash_client_fd(NULL, &fd, &err));
	assert_refused(LEASH_INVALID, "leash_client_dispatch", leash_client_dispatch(NULL, &err));
	assert_refused(LEASH_INVALID, "leash_permit_release_start", leash_permit_release_start(NULL, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_permit_extend_start",
	               leash_permit_extend_start(NULL, 1000, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "latch is NULL", leash_latch_await_start(NULL, NULL, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "latch is NULL", leash_latch_count_down_start(NULL, NULL, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "watch is NULL", leash_watch_next_start(NULL, NULL, &leader, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "condition is NULL", leash_condition_signal_start(NULL, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "barrier is NULL", leash_barrier_wait_start(NULL, NULL, tell, &first, NULL, &err));
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	start_to_acquire(LEASH_FOREVER, &first);
	assert_refused(LEASH_INVALID, "already", leash_lock_acquire_start(lock, NULL, tell, &second, NULL, &err));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	assert_told(LEASH_OK, &first);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_int_equal(second.times, 0);
}

static leash_status
acquire_and_release(void)
{
	leash_status status;

	first = second = (struct told){0};
	status = leash_lock_acquire_start(lock, LEASH_ACQUIRE(.wait_ms = 20000), tell, &first, NULL, &err);
	if (status != LEASH_OK)
		return status;
	await_told(&first);
	if (first.status != LEASH_OK)
		return first.status;
	status = leash_lock_release_start(lock, tell, &second, NULL, &err);
	if (status == LEASH_OK)
		await_told(&second);
	else
		assert_int_equal(status, LEASH_NO_MEMORY); /* it is released all the same */
	return status == LEASH_OK ? second.status : status;
}

static void
check_free(leash_status status)
{
	(void)status;
	await_true(place_is_empty());
	assert_false(leash_lock_held(lock));
}

SENTENCE(wherever_memory_runs_out_it_is_said_or_told, .but = PLACE_MANY_SERVERS)
{
	assert_true(wherever_memory_runs_out(acquire_and_release, check_free) >= 2);
}
