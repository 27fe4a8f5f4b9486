/* See calls.h. */
#include "tests/contract/calls.h"

#include "tests/contract/refusal.h"

static leash_leader leader = {.size = sizeof leader};

#define CALL(name, ...) \
	static leash_status name(const struct callee *of, leash_error *error) \
	{ \
		leash_client *client = of->client; \
		leash_lock *lock = of->lock; \
		leash_semaphore *semaphore = of->semaphore; \
		leash_permit *permit = of->permit, *got = NULL; \
		leash_watch *watch = of->watch; \
		leash_condition *condition = of->condition; \
		(void)client, (void)lock, (void)semaphore, (void)permit, (void)got, (void)watch, (void)condition; \
		return __VA_ARGS__; \
	}

CALL(try, leash_lock_acquire(lock, 0, error))
CALL(wait, leash_lock_acquire(lock, LEASH_FOREVER, error))
CALL(acquire_with, leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = 5000), error))
CALL(release, leash_lock_release(lock, error))
CALL(extend, leash_lock_extend(lock, 1000, error))
CALL(inspect, leash_lock_inspect(lock, &(leash_lock_info){.size = sizeof(leash_lock_info)}, error))
CALL(holders, leash_lock_holders(lock, &(leash_lock_info){.size = sizeof(leash_lock_info)}, NULL, NULL, error))
CALL(waiters, leash_lock_waiters(lock, count_waiter, &(int){0}, error))
CALL(upgrade, leash_lock_upgrade(lock, error))
CALL(adopt, leash_lock_adopt(lock, TOKEN, error))
CALL(break_it, leash_lock_break(lock, error))
CALL(scan, leash_client_scan(client, NULL, count_lock, &(int){0}, error))
CALL(stats, leash_client_stats(client, &(leash_stats){.size = sizeof(leash_stats)}, error))
CALL(acquire_permit, leash_semaphore_acquire(semaphore, 1, 0, &got, error))
CALL(acquire_permit_with, leash_semaphore_acquire_with(semaphore, 1, LEASH_ACQUIRE(.wait_ms = 5000), &got, error))
CALL(adopt_permit, leash_semaphore_adopt(semaphore, 1, TOKEN, &got, error))
CALL(look, leash_semaphore_inspect(semaphore, &(leash_lock_info){.size = sizeof(leash_lock_info)}, NULL, NULL, error))
CALL(break_permits, leash_semaphore_break(semaphore, error))
CALL(permit_waiters, leash_semaphore_waiters(semaphore, count_waiter, &(int){0}, error))
CALL(limit, leash_semaphore_limit(semaphore, 1, 1000, error))
CALL(count_down, leash_latch_count_down(of->latch, "me", error))
CALL(arrived, leash_latch_arrived(of->latch, &(int64_t){0}, error))
CALL(await, leash_latch_await(of->latch, 5000, error))
CALL(await_with, leash_latch_await_with(of->latch, NULL, error))
CALL(break_latch, leash_latch_break(of->latch, error))
CALL(meet, leash_barrier_wait(of->barrier, 5000, error))
CALL(meet_with, leash_barrier_wait_with(of->barrier, NULL, error))
CALL(release_some, leash_permit_release_some(permit, 1, error))
CALL(extend_permit, leash_permit_extend(permit, 1000, error))
CALL(proclaim, leash_lock_proclaim(lock, "x", error))
CALL(next_leader, leash_watch_next(watch, 0, &leader, error))
CALL(next_leader_with, leash_watch_next_with(watch, LEASH_ACQUIRE(.wait_ms = 5000), &leader, error))
CALL(look_at_leader, leash_watch_look(watch, &leader, error))
CALL(wait_for_signal, leash_condition_wait(condition, LEASH_FOREVER, error))
CALL(wait_for_signal_with, leash_condition_wait_with(condition, LEASH_ACQUIRE(.wait_ms = 5000), error))
CALL(signal_one, leash_condition_signal(condition, error))
CALL(signal_all, leash_condition_broadcast(condition, error))

static leash_status
new_lock(const struct callee *of, leash_error *error)
{
	leash_lock *another = NULL;
	leash_status status = leash_lock_new(&another, of->client, "another", NULL, error);

	leash_lock_free(another);
	return status;
}

static leash_status
new_semaphore(const struct callee *of, leash_error *error)
{
	leash_semaphore *another = NULL;
	leash_status status = leash_semaphore_new(&another, of->client, "more", 1, NULL, error);

	leash_semaphore_free(another);
	return status;
}

static leash_status
new_watch(const struct callee *of, leash_error *error)
{
	leash_watch *another = NULL;
	leash_status status = leash_watch_new(&another, of->client, "more", error);

	leash_watch_free(another);
	return status;
}

static leash_status
new_condition(const struct callee *of, leash_error *error)
{
	leash_condition *another = NULL;
	leash_status status = leash_condition_new(&another, of->lock, "another", NULL, error);

	leash_condition_free(another);
	return status;
}

static leash_status
new_latch(const struct callee *of, leash_error *error)
{
	leash_latch *another = NULL;
	leash_status status = leash_latch_new(&another, of->client, "more latches", 1, error);

	leash_latch_free(another);
	return status;
}

static leash_status
new_barrier(const struct callee *of, leash_error *error)
{
	leash_barrier *another = NULL;
	leash_status status = leash_barrier_new(&another, of->client, "more barriers", 1, error);

	leash_barrier_free(another);
	return status;
}

static const struct call {
	const char *name;
	leash_status (*make)(const struct callee *of, leash_error *error);
	bool in_callback; /* it may be made there */
} calls[] = {
	{"leash_lock_acquire", try, false},
	{"leash_lock_acquire", wait, false},
	{"leash_lock_acquire_with", acquire_with, false},
	{"leash_lock_release", release, false},
	{"leash_lock_extend", extend, false},
	{"leash_lock_inspect", inspect, false},
	{"leash_lock_holders", holders, false},
	{"leash_lock_waiters", waiters, false},
	{"leash_lock_upgrade", upgrade, false},
	{"leash_lock_adopt", adopt, false},
	{"leash_lock_break", break_it, false},
	{"leash_client_scan", scan, false},
	{"leash_client_stats", stats, true},
	{"leash_lock_new", new_lock, true},
	{"leash_semaphore_new", new_semaphore, true},
	{"leash_semaphore_acquire", acquire_permit, false},
	{"leash_semaphore_acquire", acquire_permit_with, false},
	{"leash_semaphore_adopt", adopt_permit, false},
	{"leash_semaphore_inspect", look, false},
	{"leash_semaphore_waiters", permit_waiters, false},
	{"leash_semaphore_break", break_permits, false},
	{"leash_semaphore_limit", limit, false},
	{"leash_permit_release_some", release_some, false},
	{"leash_permit_extend", extend_permit, false},
	{"leash_latch_new", new_latch, true},
	{"leash_latch_count_down", count_down, false},
	{"leash_latch_arrived", arrived, false},
	{"leash_latch_await", await, false},
	{"leash_latch_await_with", await_with, false},
	{"leash_latch_break", break_latch, false},
	{"leash_barrier_new", new_barrier, true},
	{"leash_barrier_wait", meet, false},
	{"leash_barrier_wait_with", meet_with, false},
	{"leash_lock_proclaim", proclaim, false},
	{"leash_watch_new", new_watch, true},
	{"leash_watch_next", next_leader, false},
	{"leash_watch_next", next_leader_with, false},
	{"leash_watch_look", look_at_leader, false},
	{"leash_condition_new", new_condition, true},
	{"leash_condition_wait", wait_for_signal, false},
	{"leash_condition_wait", wait_for_signal_with, false},
	{"leash_condition_signal", signal_one, false},
	{"leash_condition_broadcast", signal_all, false},
};

/* What its text calls the thing that it is about. */
static const char *
kind_of(const struct call *c)
{
	return strstr(c->name, "watch") != NULL ? "leader '" :
	       strstr(c->name, "condition") != NULL ? "condition '" :
	       strstr(c->name, "latch") != NULL ? "latch '" : strstr(c->name, "barrier") != NULL ? "barrier '" :
	       strstr(c->name, "semaphore") != NULL || strstr(c->name, "permit") != NULL ? "semaphore '" : "lock '";
}

static bool
is_named(const struct call *c, const struct callee *of, const char *text)
{
	return strstr(text, c->name) != NULL ||
	       (of->lock != NULL && (strstr(text, kind_of(c)) != NULL ||
	                             (strstr(c->name, "condition") != NULL && strstr(text, "lock '") != NULL) ||
	                             strncmp(text, "client: ", 8) == 0));
}

const char *
calls_not_refused(const struct callee *of, leash_status expected)
{
	static char wrong[400];

	for (size_t i = 0; i < COUNT(calls); i++) {
		const struct call *c = &calls[i];
		leash_status due = expected == LEASH_IN_CALLBACK && c->in_callback ? LEASH_OK : expected;
		leash_status status, unexplained;

		if (strcmp(kind_of(c), "lock '") != 0 && of->lock != NULL && of->semaphore == NULL)
			continue;
		err = (leash_error){.text = ""};
		status = c->make(of, &err);
		unexplained = c->make(of, NULL);
		if (status == due && unexplained == due &&
		    (due == LEASH_OK || (err.status == due && is_named(c, of, err.text))))
			continue;
		snprintf(wrong, sizeof wrong, "%s: %s, %s: '%s'", c->name, leash_status_name(status),
		         leash_status_name(unexplained), err.text);
		return wrong;
	}
	return "";
}

void
callee_open(struct callee *of, leash_client *client, leash_lock *lock)
{
	*of = (struct callee){.client = client, .lock = lock};
	if (place_is(PLACE_NO_QUEUE))
		return;
	assert_status(LEASH_OK, leash_semaphore_new(&of->semaphore, client, "permits", 1, NULL, &err));
	assert_status(LEASH_OK, leash_semaphore_acquire(of->semaphore, 1, 5000, &of->permit, &err));
	assert_status(LEASH_OK, leash_watch_new(&of->watch, client, "permits", &err));
	assert_status(LEASH_OK, leash_condition_new(&of->condition, lock, "condition", NULL, &err));
	assert_status(LEASH_OK, leash_latch_new(&of->latch, client, "latch", 1, &err));
	assert_status(LEASH_OK, leash_barrier_new(&of->barrier, client, "barrier", 1, &err));
}

void
callee_close(struct callee *of)
{
	if (of->permit != NULL)
		leash_permit_release(of->permit, NULL);
	leash_semaphore_free(of->semaphore);
	leash_watch_free(of->watch);
	of->watch = NULL;
	leash_condition_free(of->condition);
	of->condition = NULL;
	leash_latch_free(of->latch);
	leash_barrier_free(of->barrier);
	of->latch = NULL;
	of->barrier = NULL;
	of->permit = NULL;
	of->semaphore = NULL;
}
