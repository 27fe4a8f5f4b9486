/* The whole life of a lock: open a client, make a handle, acquire, work, release, free, close.
 *
 *   first_lock [URI]          default: $LEASH_URI, else redis://127.0.0.1:6379
 *
 * Run it twice at once: the second one waits until the first is done. */
#include <leash.h>

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	leash_client *client = NULL;
	leash_lock *lock = NULL;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);

	if (status == LEASH_OK)
		status = leash_lock_new(&lock, client, "first", NULL, &err);
	if (status == LEASH_OK)
		status = leash_lock_acquire(lock, 10000, &err); /* waits for up to 10 s */
	if (status == LEASH_OK) {
		printf("got the lock, fence %" PRIu64 "\n", leash_lock_fence(lock));
		sleep(1); /* work */
		status = leash_lock_release(lock, &err);
	}
	if (status == LEASH_OK)
		printf("released it\n");
	else
		fprintf(stderr, "first_lock: %s\n", err.text);
	leash_lock_free(lock); /* both take NULL, so there is one way out */
	leash_close(client);
	return status == LEASH_OK ? 0 : 1;
}
