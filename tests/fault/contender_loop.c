/* Calls by a loop: who begins one sleeps until it is told, by the one thread that dispatches. */
#include "tests/fault/contender.h"

#include <poll.h>

struct told {
	leash_op *op;
	bool is_over;
	leash_status status;
	leash_error *err;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of all that is told */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t dispatcher;
static _Atomic bool ends;

static void *
dispatch(void *arg)
{
	struct pollfd polled = {.events = POLLIN};
	leash_error err;

	(void)arg;
	if (leash_client_fd(self.client, &polled.fd, &err) != LEASH_OK)
		trouble("no descriptor: %s", err.text);
	while (!ends) {
		poll(&polled, 1, 50);
		if (leash_client_dispatch(self.client, &err) != LEASH_OK)
			trouble("dispatch: %s", err.text);
	}
	return NULL;
}

void
loop_begin(void)
{
	if (pthread_create(&dispatcher, NULL, dispatch, NULL) != 0)
		trouble("no thread");
}

void
loop_end(void)
{
	ends = true;
	pthread_join(dispatcher, NULL);
}

static void
tell(void *arg, leash_status status, const leash_error *err)
{
	struct told *told = arg;

	pthread_mutex_lock(&mutex);
	told->is_over = true;
	told->status = status;
	if (err != NULL)
		*told->err = *err;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

/* It was begun, or not: `status` says so. `cancel_ms`: canceled after so long; -1: never. */
static leash_status
await_told(struct told *told, leash_status status, int64_t cancel_ms)
{
	if (status != LEASH_OK)
		return status;
	if (cancel_ms >= 0) {
		await_ms(cancel_ms);
		pthread_mutex_lock(&mutex); /* in which it is told: so it is not gone */
		if (!told->is_over)
			leash_op_cancel(told->op);
		pthread_mutex_unlock(&mutex);
	}
	pthread_mutex_lock(&mutex);
	while (!told->is_over)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	return told->status;
}

leash_status
loop_acquire(leash_lock *lock, const leash_acquire *how, int64_t cancel_ms, leash_error *err)
{
	struct told told = {.err = err};

	return await_told(&told, leash_lock_acquire_start(lock, how, tell, &told, &told.op, err), cancel_ms);
}

leash_status
loop_acquire_permits(leash_semaphore *semaphore, int64_t count, const leash_acquire *how, int64_t cancel_ms,
                     leash_permit **permit, leash_error *err)
{
	struct told told = {.err = err};

	return await_told(&told, leash_semaphore_acquire_start(semaphore, count, how, permit, tell, &told, &told.op, err),
	                  cancel_ms);
}

leash_status
loop_release(leash_lock *lock, leash_error *err)
{
	struct told told = {.err = err};

	return await_told(&told, leash_lock_release_start(lock, tell, &told, NULL, err), -1);
}

leash_status
loop_release_permits(leash_permit *permit, leash_error *err)
{
	struct told told = {.err = err};

	return await_told(&told, leash_permit_release_start(permit, tell, &told, NULL, err), -1);
}

leash_status
loop_extend(leash_lock *lock, int64_t lease_ms, leash_error *err)
{
	struct told told = {.err = err};

	return await_told(&told, leash_lock_extend_start(lock, lease_ms, tell, &told, NULL, err), -1);
}
