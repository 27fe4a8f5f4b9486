/* Many readers, one writer: threads look up prices all the time, and one corrects them now and then.
 *
 *   many_readers [URI]
 *
 * Two prices must be changed together, and no reader may see one change without the other. A writer waits for the
 * present readers, and later readers wait for the writer. So the writer gets in, however many readers there are. A
 * reader that finds a wrong price corrects it, and nobody writes in between: this is an upgrade. */
#include <leash.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { READERS = 8, CHANGES = 20 };

static leash_lock *reads, *writes;
static int price = 100, with_tax = 119; /* guarded by the lock */
static atomic_bool done;
static atomic_int looked, torn, failed;

static leash_status
tell(leash_status status, const leash_error *err)
{
	if (status != LEASH_OK) {
		fprintf(stderr, "many_readers: %s\n", err->text);
		atomic_fetch_add(&failed, 1);
	}
	return status;
}

static void *
reader(void *arg)
{
	leash_error err;

	(void)arg;
	while (!atomic_load(&done) && tell(leash_lock_acquire(reads, 30000, &err), &err) == LEASH_OK) {
		atomic_fetch_add(&torn, with_tax != price + price * 19 / 100);
		atomic_fetch_add(&looked, 1);
		tell(leash_lock_release(reads, &err), &err);
	}
	return NULL;
}

static void
change(int by)
{
	leash_error err;

	if (tell(leash_lock_acquire(writes, 30000, &err), &err) != LEASH_OK)
		return;
	price += by;
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	with_tax = price + price * 19 / 100;
	tell(leash_lock_release(writes, &err), &err);
}

/* Read, and write only if that is necessary. */
static void
round_off(void)
{
	leash_error err;
	leash_status status;

	if (tell(leash_lock_acquire(reads, 30000, &err), &err) != LEASH_OK)
		return;
	if (price % 10 != 0) {
		status = leash_lock_upgrade(writes, &err);
		if (status == LEASH_OK) {
			price -= price % 10; /* as it was read: nobody wrote in between */
			with_tax = price + price * 19 / 100;
			tell(leash_lock_release(writes, &err), &err);
		} else if (status != LEASH_TIMEOUT) { /* TIMEOUT: others read; try another time */
			tell(status, &err);
		}
	}
	tell(leash_lock_release(reads, &err), &err);
}

int
main(int argc, char **argv)
{
	leash_client *client = NULL;
	pthread_t threads[READERS];
	int started = 0;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);

	if (status == LEASH_OK)
		status = leash_lock_new(&reads, client, "prices", LEASH_LOCK_OPTIONS(.mode = LEASH_READ), &err);
	if (status == LEASH_OK)
		status = leash_lock_new(&writes, client, "prices", LEASH_LOCK_OPTIONS(.mode = LEASH_WRITE), &err);
	if (tell(status, &err) != LEASH_OK) {
		leash_lock_free(reads);
		leash_close(client);
		return 1;
	}
	while (started < READERS && pthread_create(&threads[started], NULL, reader, NULL) == 0)
		started++;
	for (int i = 0; i < CHANGES; i++)
		change(7);
	atomic_store(&done, true);
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	round_off();
	printf("%d changes, read %s, %d times torn; in the end %d\n", CHANGES, looked > 0 ? "meanwhile" : "never", torn,
	       price);
	leash_lock_free(reads);
	leash_lock_free(writes);
	leash_close(client);
	return started == READERS && failed == 0 && torn == 0 ? 0 : 1;
}
