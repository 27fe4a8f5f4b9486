/* A job of unknown length: the lease is short, and the watchdog renews it until the release.
 *
 *   long_job [URI [hang]]
 *
 * The job takes several times its lease of 1.5 s. If the process is killed, the lock is free at most 1.5 s
 * later. A process that hangs is not dead, and its watchdog would renew forever: this is what `alive_ms` is for. The
 * job calls leash_lock_alive() as it proceeds, and the watchdog renews only while it does. With "hang" the job gets
 * stuck half-way, and loses its lock. */
#include <leash.h>

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { STEPS = 10 };

/* False: the lock is lost, and the job must stop. */
static bool
work(leash_lock *lock, bool hangs)
{
	for (int step = 1; step <= STEPS; step++) {
		if (!leash_lock_held(lock)) /* from memory, in nanoseconds: ask as often as you like */
			return false;
		printf("step %d of %d: the lease has %" PRId64 " ms left\n", step, STEPS, leash_lock_remaining_ms(lock));
		usleep(500 * 1000);
		if (hangs && step == 3)
			sleep(5);
		leash_lock_alive(lock);
	}
	return leash_lock_held(lock);
}

int
main(int argc, char **argv)
{
	leash_client *client = NULL;
	leash_lock *lock = NULL;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (status == LEASH_OK)
		status =
			leash_lock_new(&lock, client, "long-job", LEASH_LOCK_OPTIONS(.lease_ms = 1500, .alive_ms = 2000), &err);
	if (status == LEASH_OK)
		status = leash_lock_acquire(lock, 10000, &err);
	if (status == LEASH_OK) {
		printf(work(lock, argc > 2) ? "the job is done\n" : "the lock is lost: the job stops here\n");
		status = leash_lock_release(lock, &err); /* OK, or LOST: this also tells whether it was held to the end */
	}
	if (status != LEASH_OK)
		fprintf(stderr, "long_job: %s\n", err.text);
	leash_lock_free(lock);
	leash_close(client);
	return status == LEASH_OK ? 0 : 1;
}
