/* Continue once all are done, on whatever machines: workers arrive at a latch, each with its name, and one waits.
 *
 *   all_done [URI]
 *
 * A worker that is started again arrives again, and still counts once. Here the workers are threads, and one of them
 * arrives twice. */
#include <leash.h>

#include <pthread.h>
#include <stdio.h>

enum { WORKERS = 4 };

static leash_latch *latch;

static void *
work(void *name)
{
	leash_error err;

	if (leash_latch_count_down(latch, name, &err) != LEASH_OK)
		fprintf(stderr, "all_done: %s\n", err.text);
	return NULL;
}

static leash_status
wait_for_all(leash_error *err)
{
	static char names[WORKERS + 1][16] = {"worker-1", "worker-2", "worker-3", "worker-4", "worker-1"};
	pthread_t threads[WORKERS + 1];
	int started = 0;
	int64_t arrived = 0;
	leash_status status;

	while (started <= WORKERS && pthread_create(&threads[started], NULL, work, names[started]) == 0)
		started++;
	status = leash_latch_await(latch, 30000, err);
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	if (status == LEASH_OK)
		status = leash_latch_arrived(latch, &arrived, err);
	if (status == LEASH_OK)
		printf("%d of %d workers are done\n", (int)arrived, WORKERS);
	return status;
}

int
main(int argc, char **argv)
{
	leash_client *client = NULL;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);

	if (status == LEASH_OK)
		status = leash_latch_new(&latch, client, "all done", WORKERS, &err);
	if (status == LEASH_OK)
		status = wait_for_all(&err);
	if (status == LEASH_OK)
		status = leash_latch_break(latch, &err); /* for the next time; or take another name each time */
	if (status != LEASH_OK)
		fprintf(stderr, "all_done: %s\n", err.text);
	leash_latch_free(latch);
	leash_close(client);
	return status == LEASH_OK ? 0 : 1;
}
