/* Operations that nobody waits for, of locks: what was begun is told once, by who dispatches, and only then. Those of
 * other kinds: test_loop_kinds.c. */
#include "tests/contract/loop.h"

#include <signal.h>
#include <unistd.h>

enum { MANY = 200 };

FIXTURE(loop_open, no_trace_is_left);
PLACE(life_open);

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

/* ---- who asks, instead of being called ---- */

/* The arg of the next that ends. */
static void *
next_end(leash_error *end)
{
	void *arg = NULL;

	while (arg == NULL) {
		is_readable(fd, 1000);
		assert_status(LEASH_OK, leash_client_next(client, &arg, end, &err));
	}
	return arg;
}

SENTENCE(an_end_without_a_function_is_returned_to_who_asks)
{
	leash_error end;
	void *arg;

	assert_status(LEASH_OK, leash_lock_acquire_start(lock, LEASH_ACQUIRE(.wait_ms = 20000), NULL, &second, NULL, &err));
	assert_ptr_equal(next_end(&end), &second);
	assert_int_equal(end.status, LEASH_OK);
	assert_true(is_readable(fd, 0)); /* until nothing is returned */
	assert_status(LEASH_OK, leash_lock_release_start(lock, NULL, NULL, NULL, &err)); /* which nobody wants to know */
	start_to_release(&first);
	assert_status(LEASH_OK, leash_lock_release_start(lock, NULL, &second, NULL, &err));
	assert_ptr_equal(next_end(&end), &second);
	assert_int_equal(end.status, LEASH_NOT_HELD);
	assert_non_null(strstr(end.text, "lock 'law'"));
	assert_int_equal(first.times, 1);
	await_true(place_is_empty());
	assert_status(LEASH_OK, leash_client_next(client, &arg, &end, &err));
	assert_null(arg);
	assert_false(is_readable(fd, 0));
}

SENTENCE(many_ends_are_returned_one_by_one)
{
	bool ended[MANY] = {0};
	leash_error end;

	for (size_t i = 0; i < MANY; i++)
		assert_status(LEASH_OK, leash_lock_release_start(lock, NULL, &ended[i], NULL, &err));
	for (size_t i = 0; i < MANY; i++) {
		bool *arg = next_end(&end);

		assert_true(arg >= ended && arg < ended + MANY && !*arg);
		assert_int_equal(end.status, LEASH_NOT_HELD);
		*arg = true;
	}
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
	assert_refused(LEASH_INVALID, "does not write", leash_lock_upgrade_start(reads, tell, &second, NULL, &err));
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

/* ---- callbacks ---- */

static void
take_it_again(void *arg, const leash_event *event)
{
	(void)arg;
	if (event->type == LEASH_EVENT_LOST)
		assert_status(LEASH_OK, leash_lock_release_start(lock, tell, &second, NULL, &err));
	assert_int_equal(leash_client_dispatch(client, NULL), LEASH_IN_CALLBACK);
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
use_in_child(void *ignored)
{
	void *arg;

	(void)ignored;
	if (leash_client_next(client, &arg, &err, NULL) != LEASH_FORKED || arg != NULL)
		return 3;
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
	leash_error end;
	void *arg;

	(void)told;
	assert_refused(LEASH_INVALID, "leash_client_next", leash_client_next(client, &arg, &end, &err));
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
	leash_error end;
	void *arg;

	assert_refused(LEASH_INVALID, "leash_client_next: the client", leash_client_next(NULL, &arg, &end, &err));
	assert_refused(LEASH_INVALID, "`arg`", leash_client_next(client, NULL, &end, &err));
	assert_refused(LEASH_INVALID, "`end`", leash_client_next(client, &arg, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_lock_acquire_start", leash_lock_acquire_start(NULL, NULL, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_op_cancel()",
	               leash_lock_acquire_start(lock, LEASH_ACQUIRE(.cancel = cancel), tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "wait_ms",
	               leash_lock_acquire_start(lock, LEASH_ACQUIRE(.wait_ms = -2), tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "lease", leash_lock_extend_start(lock, 1, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_client_fd", leash_client_fd(client, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_client_fd", leash_client_fd(NULL, &fd, &err));
	assert_refused(LEASH_INVALID, "leash_client_dispatch", leash_client_dispatch(NULL, &err));
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
