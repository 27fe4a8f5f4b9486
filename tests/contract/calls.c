/* See calls.h. */
#include "tests/contract/calls.h"

#include "tests/contract/refusal.h"

#define CALL(name, ...) \
	static leash_status name(leash_client *client, leash_lock *lock, leash_error *error) \
	{ \
		(void)client, (void)lock; \
		return __VA_ARGS__; \
	}

CALL(try, leash_lock_acquire(lock, 0, error))
CALL(wait, leash_lock_acquire(lock, LEASH_FOREVER, error))
CALL(acquire_with, leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = 5000), error))
CALL(release, leash_lock_release(lock, error))
CALL(extend, leash_lock_extend(lock, 1000, error))
CALL(inspect, leash_lock_inspect(lock, &(leash_lock_info){.size = sizeof(leash_lock_info)}, error))
CALL(waiters, leash_lock_waiters(lock, count_waiter, &(int){0}, error))
CALL(adopt, leash_lock_adopt(lock, TOKEN, error))
CALL(break_it, leash_lock_break(lock, error))
CALL(scan, leash_client_scan(client, NULL, count_lock, &(int){0}, error))
CALL(stats, leash_client_stats(client, &(leash_stats){.size = sizeof(leash_stats)}, error))

static leash_status
new_lock(leash_client *client, leash_lock *lock, leash_error *error)
{
	leash_lock *another = NULL;
	leash_status status = leash_lock_new(&another, client, "another", NULL, error);

	(void)lock;
	leash_lock_free(another);
	return status;
}

static const struct call {
	const char *name;
	leash_status (*make)(leash_client *client, leash_lock *lock, leash_error *error);
	bool in_callback; /* it may be made there */
} calls[] = {
	{"leash_lock_acquire", try, false},
	{"leash_lock_acquire", wait, false},
	{"leash_lock_acquire_with", acquire_with, false},
	{"leash_lock_release", release, false},
	{"leash_lock_extend", extend, false},
	{"leash_lock_inspect", inspect, false},
	{"leash_lock_waiters", waiters, false},
	{"leash_lock_adopt", adopt, false},
	{"leash_lock_break", break_it, false},
	{"leash_client_scan", scan, false},
	{"leash_client_stats", stats, true},
	{"leash_lock_new", new_lock, true},
};

static bool
is_named(const struct call *c, const leash_lock *lock, const char *text)
{
	return strstr(text, c->name) != NULL ||
	       (lock != NULL && (strstr(text, "lock '") != NULL || strncmp(text, "client: ", 8) == 0));
}

const char *
calls_not_refused(leash_client *client, leash_lock *lock, leash_status expected)
{
	static char wrong[400];

	for (size_t i = 0; i < COUNT(calls); i++) {
		const struct call *c = &calls[i];
		leash_status due = expected == LEASH_IN_CALLBACK && c->in_callback ? LEASH_OK : expected;
		err = (leash_error){.text = ""};
		leash_status status = c->make(client, lock, &err), unexplained = c->make(client, lock, NULL);

		if (status == due && unexplained == due &&
		    (due == LEASH_OK || (err.status == due && is_named(c, lock, err.text))))
			continue;
		snprintf(wrong, sizeof wrong, "%s: %s, %s: '%s'", c->name, leash_status_name(status),
		         leash_status_name(unexplained), err.text);
		return wrong;
	}
	return "";
}
