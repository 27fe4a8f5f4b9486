/* A job that several machines start at the same time, as cron does: the first one does it, the others skip it.
 *
 *   try_or_skip [URI [SECONDS]] how long the job takes; default 2
 *
 * Run it twice at once. Both succeed: it is no failure if somebody else does the job. But it is a failure if the
 * server cannot be reached, because then nobody knows whether the job is being done. This has a status of its own. */
#include <leash.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	leash_client *client = NULL;
	leash_lock *lock = NULL;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (status == LEASH_OK)
		status = leash_lock_new(&lock, client, "nightly-report", NULL, &err);
	if (status == LEASH_OK)
		status = leash_lock_acquire(lock, 0, &err); /* 0: try once */
	if (status == LEASH_OK) {
		printf("doing the nightly report\n");
		sleep(argc > 2 ? (unsigned)atoi(argv[2]) : 2);
		status = leash_lock_release(lock, &err);
		if (status == LEASH_OK)
			printf("done\n");
	} else if (status == LEASH_TIMEOUT) {
		printf("somebody else is doing the nightly report: skipped\n");
		status = LEASH_OK;
	}
	if (status != LEASH_OK)
		fprintf(stderr, "try_or_skip: %s\n", err.text);
	leash_lock_free(lock);
	leash_close(client);
	return status == LEASH_OK ? 0 : 1;
}
