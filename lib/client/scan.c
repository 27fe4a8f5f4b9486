/* The public face of what goes through many: all locks of a deployment, all who wait for one. The visits are made here,
 * as any code of the application's: it may be canceled in them, may close the client, and may fork: the connection is
 * the parent's then, and the child that comes back from a visit is told so before it says or hears anything. */
#include "client/handle.h"

#include "admin/scan.h"
#include "admin/waiters.h"
#include "base/error.h"
#include "base/process.h"

#include <leash/inspect.h>

#include <pthread.h>
#include <string.h>

/* A scan, or a walk along a queue. */
struct walk {
	leash_client *client;
	const leash_lock *handle; /* NULL: a scan */
	leash_scan_fn visit_lock;
	leash_waiter_fn visit_waiter;
	void *arg;
	struct lsh_scan *scan;
	struct lsh_waiters *queue;
	const leash_lock_info *lock;
	const leash_waiter_info *waiter;
	struct lsh_guard guard;
};

/* Find the next one. False: there is none, or it failed. */
static bool
find_next(struct walk *w, leash_status *status, leash_error *err)
{
	*status = w->scan != NULL ? lsh_scan_next(w->scan, &w->lock, err) : lsh_waiters_next(w->queue, &w->waiter, err);
	return *status == LEASH_OK && (w->lock != NULL || w->waiter != NULL);
}

/* May it go on? */
static leash_status
check(const leash_client *client, const leash_lock *handle, leash_error *err)
{
	leash_status status = lsh_client_check(client, err);

	return handle != NULL ? lsh_handle_named(handle, status, err) : lsh_fail_about(err, status, "client", NULL);
}

static leash_status
go_through(struct walk *w, leash_error *err)
{
	leash_status status = LEASH_OK;
	bool more = true;

	while (status == LEASH_OK && more && find_next(w, &status, err)) {
		lsh_leave(&w->guard);
		more = w->scan != NULL ? w->visit_lock(w->arg, w->lock) : w->visit_waiter(w->arg, w->waiter);
		w->guard = lsh_enter();
		if (more)
			status = check(w->client, w->handle, err);
	}
	return status;
}

static void
end(void *arg)
{
	struct walk *w = arg;

	lsh_scan_close(w->scan);
	lsh_waiters_close(w->queue);
	/* in a forked child what lies below may be locked by threads that are not here */
	if (lsh_process_is(w->client->process))
		lsh_client_unref(w->client);
}

static leash_status
walk(struct walk *w, struct lsh_lock *lock, const char *pattern, leash_error *err)
{
	leash_status status;

	w->guard = lsh_enter();
	lsh_client_retain(w->client); /* which may be closed meanwhile */
	pthread_cleanup_push(end, w);
	status = lock != NULL ? lsh_waiters_open(&w->queue, lock, err)
	                      : lsh_scan_open(&w->scan, lsh_engine_backend(w->client->engine), pattern, err);
	if (status == LEASH_OK)
		status = go_through(w, err);
	pthread_cleanup_pop(1);
	lsh_leave(&w->guard);
	return status;
}

leash_status
leash_client_scan(leash_client *client, const char *pattern, leash_scan_fn visit, void *arg, leash_error *err)
{
	static const char call[] = "leash_client_scan";
	struct walk w = {.client = client, .visit_lock = visit, .arg = arg};
	leash_status status;

	if (client == NULL || visit == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: %s is NULL", call, client == NULL ? "the client" : "`visit`");
	status = check(client, NULL, err);
	if (status == LEASH_OK && pattern != NULL && strnlen(pattern, LSH_PATTERN_MAX + 1) > LSH_PATTERN_MAX)
		status = lsh_fail(err, LEASH_INVALID, 0, "%s: the pattern has more than %d bytes", call, LSH_PATTERN_MAX);
	return status == LEASH_OK ? walk(&w, NULL, pattern, err) : status;
}

/* Of a handle that was checked. */
static leash_status
walk_queue(leash_lock *lock, leash_waiter_fn visit, void *arg, const char *call, leash_error *err)
{
	struct walk w = {.client = lsh_client_of(lock), .handle = lock, .visit_waiter = visit, .arg = arg};

	if (visit == NULL)
		return lsh_handle_named(lock, lsh_fail(err, LEASH_INVALID, 0, "%s: `visit` is NULL", call), err);
	return walk(&w, lock->lock, NULL, err);
}

leash_status
leash_lock_waiters(leash_lock *lock, leash_waiter_fn visit, void *arg, leash_error *err)
{
	static const char call[] = "leash_lock_waiters";
	leash_status status = lsh_handle_check(lock, call, err);

	return status == LEASH_OK ? walk_queue(lock, visit, arg, call, err) : status;
}

leash_status
leash_semaphore_waiters(leash_semaphore *semaphore, leash_waiter_fn visit, void *arg, leash_error *err)
{
	static const char call[] = "leash_semaphore_waiters";
	leash_status status = lsh_semaphore_check(semaphore, call, err);

	return status == LEASH_OK ? walk_queue(semaphore->handle, visit, arg, call, err) : status;
}
