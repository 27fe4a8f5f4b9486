/* What a scrape receives: counts and times of a client in the text format of Prometheus.
 *
 *   metrics [URI] >page
 *
 * A service writes this text into the answer to GET /metrics; here it goes to stdout. For comparison, the program
 * first does some work and measures by itself how long it took. */
#define _POSIX_C_SOURCE 200809L

#include <leash.h>

#include <stdio.h>
#include <time.h>

enum { JOBS = 100 };

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 100 jobs of 10 ms, one after the other. The lock was held for at least `*least` s, and at most `*most`. */
static leash_status
work(leash_lock *lock, double *least, double *most, leash_error *err)
{
	const struct timespec job = {.tv_nsec = 10000000};

	for (int i = 0; i < JOBS; i++) {
		double begun = now(), held, done;
		leash_status status = leash_lock_acquire(lock, 10000, err);

		if (status != LEASH_OK)
			return status;
		held = now();
		nanosleep(&job, NULL);
		done = now();
		status = leash_lock_release(lock, err);
		if (status != LEASH_OK)
			return status;
		*least += done - held;
		*most += now() - begun;
	}
	return LEASH_OK;
}

static bool
to_stdout(void *arg, const char *text, size_t size)
{
	(void)arg;
	return fwrite(text, 1, size, stdout) == size;
}

int
main(int argc, char **argv)
{
	leash_client *client = NULL;
	leash_lock *lock = NULL;
	double least = 0, most = 0;
	leash_error err;
	leash_status status;

	status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL, .client_name = "metrics"), &err);
	if (status == LEASH_OK)
		status = leash_lock_new(&lock, client, "job", LEASH_LOCK_OPTIONS(.group = "jobs"), &err);
	if (status == LEASH_OK)
		status = work(lock, &least, &most, &err);
	if (status == LEASH_OK)
		status = leash_metrics_write(&client, 1, to_stdout, NULL, &err);
	if (status == LEASH_OK)
		printf("# %d jobs held the lock for %.6f to %.6f s\n", JOBS, least, most);
	else
		fprintf(stderr, "metrics: %s\n", err.text);
	leash_lock_free(lock);
	leash_close(client);
	return status == LEASH_OK ? 0 : 1;
}
