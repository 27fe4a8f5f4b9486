/* The public face of what goes through many: all locks of a deployment, all who wait for one. The visits are made here, as any code of the
 * application's: it may be canceled in them, may close the client, and may fork: the connection is the parent's then, and the child that
 * comes back from a visit is told so before it says or hears anything. */
#include "client/lock.h"

#include "base/error.h"
#include "base/process.h"
#include "admin/scan.h"
#include "admin/waiters.h"

#include <leash/inspect.h>

#include <pthread.h>
#include <string.h>

/* ---- locks ---- */

struct scanning {
	leash_client *client;
	const char *pattern;
	leash_scan_fn visit;
	void *arg;
	struct lsh_scan *scan;
	struct lsh_guard guard;
};

static leash_status
scan(struct scanning *s, leash_error *err)
{
	const leash_lock_info *info = NULL;
	leash_status status = lsh_scan_open(&s->scan, s->client->engine, s->pattern, err);
	bool more = true;

	while (status == LEASH_OK && more && (status = lsh_scan_next(s->scan, &info, err)) == LEASH_OK && info != NULL) {
		lsh_leave(s->guard);
		more = s->visit(s->arg, info);
		s->guard = lsh_enter();
		if (more)
			status = lsh_client_check(s->client, NULL, err);
	}
	return status;
}

static void
end_scan(void *arg)
{
	struct scanning *s = arg;

	lsh_scan_close(s->scan);
	/* in a forked child what lies below may be locked by threads that are not here */
	if (lsh_process_is(s->client->process))
		lsh_client_unref(s->client);
}

leash_status
leash_client_scan(leash_client *client, const char *pattern, leash_scan_fn visit, void *arg, leash_error *err)
{
	struct scanning s = {.client = client, .pattern = pattern, .visit = visit, .arg = arg};
	leash_status status;

	if (client == NULL || visit == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "leash_client_scan: %s is NULL", client == NULL ? "the client" : "`visit`");
	status = lsh_client_check(client, NULL, err);
	if (status == LEASH_OK && pattern != NULL && strnlen(pattern, LSH_PATTERN_MAX + 1) > LSH_PATTERN_MAX)
		status = lsh_fail(err, LEASH_INVALID, 0, "leash_client_scan: the pattern has more than %d bytes", LSH_PATTERN_MAX);
	if (status != LEASH_OK)
		return status;
	s.guard = lsh_enter();
	lsh_client_retain(client); /* which may be closed meanwhile */
	pthread_cleanup_push(end_scan, &s);
	status = scan(&s, err);
	pthread_cleanup_pop(1);
	lsh_leave(s.guard);
	return status;
}

/* ---- waiters ---- */

struct queueing {
	leash_lock *lock;
	leash_waiter_fn visit;
	void *arg;
	struct lsh_waiters *queue;
	struct lsh_guard guard;
};

static leash_status
go_through(struct queueing *q, leash_error *err)
{
	const leash_waiter_info *waiter = NULL;
	leash_status status = lsh_waiters_open(&q->queue, q->lock->lock, err);
	bool more = true;

	while (status == LEASH_OK && more && (status = lsh_waiters_next(q->queue, &waiter, err)) == LEASH_OK && waiter != NULL) {
		lsh_leave(q->guard);
		more = q->visit(q->arg, waiter);
		q->guard = lsh_enter();
		if (more)
			status = lsh_client_check(q->lock->client, lsh_lock_shown(q->lock->lock), err);
	}
	return status;
}

static void
end_queue(void *arg)
{
	struct queueing *q = arg;

	lsh_waiters_close(q->queue);
}

leash_status
leash_lock_waiters(leash_lock *lock, leash_waiter_fn visit, void *arg, leash_error *err)
{
	static const char call[] = "leash_lock_waiters";
	struct queueing q = {.lock = lock, .visit = visit, .arg = arg};
	leash_status status = lsh_handle_check(lock, call, err);

	if (status == LEASH_OK && visit == NULL)
		status = lsh_fail(err, LEASH_INVALID, 0, "lock '%s': %s: `visit` is NULL", lsh_lock_shown(lock->lock), call);
	if (status != LEASH_OK)
		return status;
	q.guard = lsh_enter();
	pthread_cleanup_push(end_queue, &q);
	status = go_through(&q, err);
	pthread_cleanup_pop(1);
	lsh_leave(q.guard);
	return status;
}
