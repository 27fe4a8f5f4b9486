/* Losing a lock: how a program learns that its lock is gone although it released nothing, and what it should do then.
 *
 *   lost_lease [URI]
 *
 * Here the program itself plays the careless operator who deletes the key. The same happens after a pause longer than
 * the lease, or when the server comes back without its data. */
#include <leash.h>

#include "redis.h"

#include <semaphore.h>
#include <unistd.h>

/* On a thread of the client. Anything that stops the work will do here: a flag, a pipe, a semaphore. */
static void
on_event(void *arg, const leash_event *event)
{
	printf("event %s of '%s': %s\n", leash_event_name(event->type), event->lock, event->text);
	if (event->type == LEASH_EVENT_LOST)
		sem_post(arg);
}

static void
delete_the_key(redisContext *redis)
{
	printf("somebody deletes the key\n");
	freeReplyObject(redisCommand(redis, "DEL leash:{work}"));
}

/* Work in small steps, and look before each. */
static void
work(leash_lock *lock, redisContext *redis)
{
	for (int step = 1; leash_lock_held(lock); step++) {
		usleep(100 * 1000);
		if (step == 3)
			delete_the_key(redis);
	}
	printf("not held any more: stop\n");
}

static leash_status
lose_it(leash_lock *lock, redisContext *redis, sem_t *lost, leash_error *err)
{
	leash_status status = leash_lock_acquire(lock, 10000, err);

	if (status != LEASH_OK)
		return status;
	printf("got the lock\n");
	work(lock, redis);
	sem_wait(lost);

	/* Until it is unwound, the loss is the answer to everything: no function deeper down can take the lock anew by
	 * accident, and go on with work of which the first half was done under another hold. */
	printf("acquire: %s\n", leash_status_name(leash_lock_acquire(lock, 0, NULL)));
	status = leash_lock_release(lock, err);
	printf("release: %s\n", leash_status_name(status));
	if (status != LEASH_LOST)
		return status;

	/* From here on it is a lock like any other: begin again, from the start. */
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
	leash_lock *lock = NULL;
	leash_error err;
	leash_status status;
	sem_t lost;

	if (redis == NULL)
		return 1;
	sem_init(&lost, 0, 0);
	status = leash_open(&client, LEASH_OPTIONS(.uri = uri, .on_event = on_event, .event_arg = &lost), &err);
	if (status == LEASH_OK)
		status = leash_lock_new(&lock, client, "work", LEASH_LOCK_OPTIONS(.lease_ms = 3000), &err);
	if (status == LEASH_OK)
		status = lose_it(lock, redis, &lost, &err);
	if (status != LEASH_OK)
		fprintf(stderr, "lost_lease: %s\n", err.text);
	leash_lock_free(lock);
	leash_close(client); /* from here on no event comes any more */
	sem_destroy(&lost);
	redisFree(redis);
	return status == LEASH_OK ? 0 : 1;
}
