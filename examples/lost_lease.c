/* Losing a lock: how a program learns that it lost a lock which it did not release, and what it should do then.
 *
 *   lost_lease [URI]
 *
 * Here the program itself plays the careless operator who deletes the key. The same happens after a pause longer than
 * the lease, or when the server comes back without its data. */
#include <leash.h>

#include "redis.h"

#include <errno.h>
#include <poll.h>

static void
delete_the_key(redisContext *redis)
{
	printf("somebody deletes the key\n");
	freeReplyObject(redisCommand(redis, "DEL leash:{work}"));
}

/* A job that sleeps until there is something to do. The loss wakes it, like anything else in its poll(). */
static void
work(leash_lock *lock, int lost_fd, redisContext *redis)
{
	struct pollfd polled = {.fd = lost_fd, .events = POLLIN};
	int ready;

	for (int step = 1; (ready = poll(&polled, 1, step < 3 ? 100 : -1)) == 0 || (ready < 0 && errno == EINTR); step++)
		if (step == 2)
			delete_the_key(redis);
	printf("lost: stop%s\n", leash_lock_held(lock) ? ", but it is held?" : "");
}

static leash_status
lose_it(leash_lock *lock, leash_cancel *lost, redisContext *redis, leash_error *err)
{
	int lost_fd;
	leash_status status = leash_cancel_fd(lost, &lost_fd, err);

	if (status == LEASH_OK)
		status = leash_lock_acquire(lock, 10000, err);
	if (status != LEASH_OK)
		return status;
	printf("got the lock\n");
	work(lock, lost_fd, redis);

	/* Until the lock is released, every call returns LEASH_LOST. So no function deeper down can acquire the lock
	 * again by * accident, and continue work whose first half was done under another hold. */
	printf("acquire: %s\n", leash_status_name(leash_lock_acquire(lock, 0, NULL)));
	status = leash_lock_release(lock, err);
	printf("release: %s\n", leash_status_name(status));
	if (status != LEASH_LOST)
		return status;

	/* From here on it is a lock like any other. Begin the work again, from the start. */
	leash_cancel_reset(lost);
	status = leash_lock_acquire(lock, 10000, err);
	if (status != LEASH_OK)
		return status;
	printf("got the lock again\n");
	return leash_lock_release(lock, err);
}

int
main(int argc, char **argv)
{
	const char *uri = argc > 1 ? argv[1] : NULL;
	redisContext *redis = connect_to(uri);
	leash_client *client = NULL;
	leash_cancel *lost = NULL;
	leash_lock *lock = NULL;
	leash_error err;
	leash_status status;

	if (redis == NULL)
		return 1;
	status = leash_open(&client, LEASH_OPTIONS(.uri = uri), &err);
	if (status == LEASH_OK)
		status = leash_cancel_new(&lost, &err);
	if (status == LEASH_OK)
		status = leash_lock_new(&lock, client, "work", LEASH_LOCK_OPTIONS(.lease_ms = 3000, .on_lost = lost), &err);
	if (status == LEASH_OK)
		status = lose_it(lock, lost, redis, &err);
	if (status != LEASH_OK)
		fprintf(stderr, "lost_lease: %s\n", err.text);
	leash_lock_free(lock);
	leash_cancel_free(lost);
	leash_close(client);
	redisFree(redis);
	return status == LEASH_OK ? 0 : 1;
}
