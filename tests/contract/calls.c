/* All calls as one table. See interface.h. */
#include "tests/contract/interface.h"

static leash_leader leader = {.size = sizeof leader};

static struct call {
	const char *name;
	leash_status (*make)(const struct callee *of, leash_error *error);
	bool in_callback; /* it may be made there */
	struct call *next;
} *calls;

#define ADD(id, title, may) \
	__attribute__((constructor)) static void add_##id(void) \
	{ \
		static struct call call = {.name = (title), .make = id, .in_callback = (may)}; \
		call.next = calls; \
		calls = &call; \
	}

#define CALL(id, function, ...) CALL_AS(id, #function, function, __VA_ARGS__)
#define CALL_AS(id, title, function, ...) \
	static leash_status id(__attribute__((unused)) const struct callee *of, leash_error *error) \
	{ \
		return function(__VA_ARGS__, error); \
	} \
	ADD(id, title, false)

/* That may be made in a callback, too. */
#define NEW(type, ...) \
	static leash_status new_##type(const struct callee *of, leash_error *error) \
	{ \
		leash_##type *another = NULL; \
		leash_status status = leash_##type##_new(&another, __VA_ARGS__, error); \
		leash_##type##_free(another); \
		return status; \
	} \
	ADD(new_##type, "leash_" #type "_new", true)

CALL(try, leash_lock_acquire, of->lock, 0)
CALL(wait, leash_lock_acquire, of->lock, LEASH_FOREVER)
CALL(acquire_with, leash_lock_acquire_with, of->lock, LEASH_ACQUIRE(.wait_ms = 5000))
CALL(release, leash_lock_release, of->lock)
CALL(release_within, leash_lock_release_within, of->lock, 100)
CALL(extend, leash_lock_extend, of->lock, 1000)
CALL(inspect, leash_lock_inspect, of->lock, &(leash_lock_info){.size = sizeof(leash_lock_info)})
CALL(holders, leash_lock_holders, of->lock, &(leash_lock_info){.size = sizeof(leash_lock_info)}, NULL, NULL)
CALL(waiters, leash_lock_waiters, of->lock, count_waiter, &(int){0})
CALL(upgrade, leash_lock_upgrade, of->lock)
CALL(adopt, leash_lock_adopt, of->lock, TOKEN)
CALL(break_it, leash_lock_break, of->lock)
CALL(acquire_all, leash_multi_acquire, of->multi, 0)
CALL(release_all, leash_multi_release, of->multi)
CALL(scan, leash_client_scan, of->client, NULL, count_lock, &(int){0})
CALL(acquire_permit, leash_semaphore_acquire, of->semaphore, 1, 0, &(leash_permit *){NULL})
CALL_AS(acquire_permit_with, "leash_semaphore_acquire", leash_semaphore_acquire_with, of->semaphore, 1,
        LEASH_ACQUIRE(.wait_ms = 5000), &(leash_permit *){NULL})
CALL(adopt_permit, leash_semaphore_adopt, of->semaphore, 1, TOKEN, &(leash_permit *){NULL})
CALL(look, leash_semaphore_inspect, of->semaphore, &(leash_lock_info){.size = sizeof(leash_lock_info)}, NULL, NULL)
CALL(break_permits, leash_semaphore_break, of->semaphore)
CALL(permit_waiters, leash_semaphore_waiters, of->semaphore, count_waiter, &(int){0})
CALL(limit, leash_semaphore_limit, of->semaphore, 1, 1000)
CALL(count_down, leash_latch_count_down, of->latch, "me")
CALL(arrived, leash_latch_arrived, of->latch, &(int64_t){0})
CALL(await, leash_latch_await, of->latch, 5000)
CALL(await_with, leash_latch_await_with, of->latch, NULL)
CALL(break_latch, leash_latch_break, of->latch)
CALL(meet, leash_barrier_wait, of->barrier, 5000)
CALL(meet_with, leash_barrier_wait_with, of->barrier, NULL)
CALL(release_some, leash_permit_release_some, of->permit, 1)
CALL(extend_permit, leash_permit_extend, of->permit, 1000)
CALL(proclaim, leash_lock_proclaim, of->lock, "x")
CALL(next_leader, leash_watch_next, of->watch, 0, &leader)
CALL_AS(next_leader_with, "leash_watch_next", leash_watch_next_with, of->watch, LEASH_ACQUIRE(.wait_ms = 5000), &leader)
CALL(look_at_leader, leash_watch_look, of->watch, &leader)
CALL(wait_for_signal, leash_condition_wait, of->condition, LEASH_FOREVER)
CALL_AS(wait_for_signal_with, "leash_condition_wait", leash_condition_wait_with, of->condition, LEASH_ACQUIRE(.wait_ms = 5000))
CALL(signal_one, leash_condition_signal, of->condition)
CALL(signal_all, leash_condition_broadcast, of->condition)
NEW(lock, of->client, "another", NULL)
NEW(semaphore, of->client, "more", 1, NULL)
NEW(watch, of->client, "more")
NEW(condition, of->lock, "another", NULL)
NEW(latch, of->client, "more latches", 1)
NEW(barrier, of->client, "more barriers", 1)

static leash_status
stats(const struct callee *of, leash_error *error)
{
	return leash_client_stats(of->client, &(leash_stats){.size = sizeof(leash_stats)}, error);
}
ADD(stats, "leash_client_stats", true)

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

	for (const struct call *c = calls; c != NULL; c = c->next) {
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

leash_status
calls_make(const struct callee *of, const char *name)
{
	const struct call *c = calls;

	while (strcmp(c->name, name) != 0)
		c = c->next;
	return c->make(of, &err);
}

void
callee_open(struct callee *of, leash_client *client, leash_lock *lock)
{
	*of = (struct callee){.client = client, .lock = lock};
	assert_status(LEASH_OK, leash_multi_new(&of->multi, &lock, 1, &err));
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
	leash_condition_free(of->condition);
	leash_latch_free(of->latch);
	leash_barrier_free(of->barrier);
	leash_multi_free(of->multi);
	*of = (struct callee){.client = of->client, .lock = of->lock};
}
