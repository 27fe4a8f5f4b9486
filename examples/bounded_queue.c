/* A bounded queue: two processes produce numbers, and two consume them; at most five numbers wait in a list in Redis.
 *
 *   bounded_queue [URI]
 *
 * A lock guards the list. A process that finds it full, or empty, waits for a condition of that lock, which is free
 * meanwhile. A process that makes room, or adds a number, signals. Check again after each wait, in a loop.
 *
 * Succeeds if the consumed numbers are the produced ones. */
#include <leash.h>

#include "redis.h"

#include <sys/wait.h>
#include <unistd.h>

enum { MAKERS = 2, USERS = 2, EACH = 100, ROOM = 5 };

struct queue {
	leash_client *client;
	leash_lock *lock;
	leash_condition *not_empty, *not_full;
	redisContext *redis;
};

static long
number(redisReply *reply)
{
	long n = reply != NULL && reply->str != NULL ? atol(reply->str) : reply != NULL ? (long)reply->integer : 0;

	freeReplyObject(reply);
	return n;
}

static long
length(const struct queue *q)
{
	return number(redisCommand(q->redis, "LLEN example:queue"));
}

static leash_status
put(struct queue *q, int n, leash_error *err)
{
	leash_status status = leash_lock_acquire(q->lock, 30000, err);

	while (status == LEASH_OK && length(q) == ROOM)
		status = leash_condition_wait(q->not_full, LEASH_FOREVER, err);
	if (status != LEASH_OK)
		return status;
	number(redisCommand(q->redis, "RPUSH example:queue %d", n));
	status = leash_condition_signal(q->not_empty, err);
	return status == LEASH_OK ? leash_lock_release(q->lock, err) : status;
}

static leash_status
get(struct queue *q, long *n, leash_error *err)
{
	leash_status status = leash_lock_acquire(q->lock, 30000, err);

	while (status == LEASH_OK && length(q) == 0)
		status = leash_condition_wait(q->not_empty, LEASH_FOREVER, err);
	if (status != LEASH_OK)
		return status;
	*n = number(redisCommand(q->redis, "LPOP example:queue"));
	status = leash_condition_signal(q->not_full, err);
	return status == LEASH_OK ? leash_lock_release(q->lock, err) : status;
}

/* Produce numbers, or consume them and add them up. */
static leash_status
work(struct queue *q, bool makes, leash_error *err)
{
	leash_status status = LEASH_OK;
	long n = 0, sum = 0;

	for (int i = 1; i <= EACH && status == LEASH_OK; i++) {
		status = makes ? put(q, i, err) : get(q, &n, err);
		sum += n;
	}
	number(redisCommand(q->redis, "INCRBY example:sum %ld", sum));
	return status;
}

/* A process of its own: it opens a client after the fork, because a forked child cannot use its parent's client. */
static int
run(const char *uri, bool makes)
{
	struct queue q = {.redis = connect_to(uri)};
	leash_error err;
	leash_status status;

	if (q.redis == NULL)
		return 1;
	status = leash_open(&q.client, LEASH_OPTIONS(.uri = uri), &err);
	if (status == LEASH_OK)
		status = leash_lock_new(&q.lock, q.client, "queue", NULL, &err);
	if (status == LEASH_OK)
		status = leash_condition_new(&q.not_empty, q.lock, "not empty", NULL, &err);
	if (status == LEASH_OK)
		status = leash_condition_new(&q.not_full, q.lock, "not full", NULL, &err);
	if (status == LEASH_OK)
		status = work(&q, makes, &err);
	if (status != LEASH_OK)
		fprintf(stderr, "bounded_queue: %s\n", err.text);
	leash_condition_free(q.not_full);
	leash_condition_free(q.not_empty);
	leash_lock_free(q.lock);
	leash_close(q.client);
	redisFree(q.redis);
	return status == LEASH_OK ? 0 : 1;
}

int
main(int argc, char **argv)
{
	const char *uri = argc > 1 ? argv[1] : NULL;
	redisContext *redis = connect_to(uri);
	int status = 0, failed = 0;
	long sum;

	if (redis == NULL)
		return 1;
	for (int i = 0; i < MAKERS + USERS; i++)
		if (fork() == 0)
			_exit(run(uri, i < MAKERS));
	while (wait(&status) > 0)
		failed += status != 0;
	sum = number(redisCommand(redis, "GET example:sum"));
	number(redisCommand(redis, "DEL example:queue example:sum"));
	redisFree(redis);
	printf("produced %d, consumed %ld\n", MAKERS * EACH * (EACH + 1) / 2, sum);
	return failed == 0 && sum == MAKERS * EACH * (EACH + 1) / 2 ? 0 : 1;
}
