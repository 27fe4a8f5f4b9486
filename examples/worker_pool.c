/* A server with worker threads: the jobs of a customer are done one at a time, over all threads of all
 * servers.
 *
 *   worker_pool [URI]
 *
 * One client serves all threads, however many: they share its connection. Each customer has a lock, and the
 * threads share its handle, because the owner of a hold is not the handle but the thread that acquired it.
 * (A handle for each thread and customer would do as well: handles of one name share their state.) The
 * balances below have no mutex: the locks guard them.
 *
 * At the end: accept no new jobs, join the threads, free the handles, close the client. */
#include <leash.h>

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { WORKERS = 8, CUSTOMERS = 3, JOBS = 60 };

struct pool {
	leash_lock *lock[CUSTOMERS];
	long balance[CUSTOMERS]; /* each guarded by the customer's lock */

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t changed;
	int added, taken; /* job i is for customer i % CUSTOMERS, and pays in i */
	int failed;
	bool stopping;
};

/* The number of the next job; -1: there are no more jobs. */
static int
take_job(struct pool *pool)
{
	int job = -1;

	pthread_mutex_lock(&pool->mutex);
	while (pool->taken == pool->added && !pool->stopping)
		pthread_cond_wait(&pool->changed, &pool->mutex);
	if (pool->taken < pool->added)
		job = pool->taken++;
	pthread_mutex_unlock(&pool->mutex);
	return job;
}

static leash_status
do_job(struct pool *pool, int job, leash_error *err)
{
	int customer = job % CUSTOMERS;
	leash_status status = leash_lock_acquire(pool->lock[customer], 30000, err);
	long balance;

	if (status != LEASH_OK)
		return status;
	balance = pool->balance[customer];
	usleep(2000); /* long enough for another thread to get in between, if it could */
	pool->balance[customer] = balance + job;
	return leash_lock_release(pool->lock[customer], err);
}

static void *
work(void *arg)
{
	struct pool *pool = arg;
	leash_error err;
	int job;

	while ((job = take_job(pool)) >= 0) {
		if (do_job(pool, job, &err) == LEASH_OK)
			continue;
		fprintf(stderr, "worker_pool: job %d: %s\n", job, err.text);
		pthread_mutex_lock(&pool->mutex);
		pool->failed++;
		pthread_mutex_unlock(&pool->mutex);
	}
	return NULL;
}

static void
add_jobs_and_stop(struct pool *pool)
{
	for (int i = 0; i <= JOBS; i++) {
		pthread_mutex_lock(&pool->mutex);
		if (i < JOBS)
			pool->added++;
		else
			pool->stopping = true;
		pthread_cond_broadcast(&pool->changed);
		pthread_mutex_unlock(&pool->mutex);
	}
}

static bool
run(struct pool *pool)
{
	pthread_t worker[WORKERS];
	int started = 0;
	bool right;

	while (started < WORKERS && pthread_create(&worker[started], NULL, work, pool) == 0)
		started++;
	add_jobs_and_stop(pool);
	for (int i = 0; i < started; i++)
		pthread_join(worker[i], NULL);

	right = started > 0 && pool->failed == 0;
	for (int customer = 0; customer < CUSTOMERS; customer++) {
		long expected = 0;

		for (int job = customer; job < JOBS; job += CUSTOMERS)
			expected += job;
		printf("customer %d: balance %ld, expected %ld\n", customer, pool->balance[customer], expected);
		right &= pool->balance[customer] == expected;
	}
	printf("%d jobs by %d workers, %d failed\n", pool->taken, started, pool->failed);
	return right;
}

int
main(int argc, char **argv)
{
	struct pool pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	leash_client *client = NULL;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);
	bool right = false;

	for (int i = 0; i < CUSTOMERS && status == LEASH_OK; i++) {
		char name[32];

		snprintf(name, sizeof name, "customer:%d", i);
		status = leash_lock_new(&pool.lock[i], client, name, NULL, &err);
	}
	if (status == LEASH_OK)
		right = run(&pool);
	else
		fprintf(stderr, "worker_pool: %s\n", err.text);
	for (int i = 0; i < CUSTOMERS; i++)
		leash_lock_free(pool.lock[i]);
	leash_close(client);
	return right ? 0 : 1;
}
