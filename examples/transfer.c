/* The lost update: two processes add 100 and 200 to an account of 400, which is kept in Redis.
 *
 *   transfer [URI]
 *
 * Each reads the account, computes, and writes it back. Without a lock both read 400, and one of the amounts is lost.
 * Here this is arranged, not bad luck: after its read, each waits until the other has read. With the lock this wait is
 * in vain and times out, because only one of them can read at a time, and the account ends up with 700.
 *
 * Succeeds if the account was wrong without the lock and right with it. */
#include <leash.h>

#include "redis.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char account[] = "example:account";

static long
read_account(redisContext *redis)
{
	redisReply *reply = redisCommand(redis, "GET %s", account);
	long balance = reply != NULL && reply->type == REDIS_REPLY_STRING ? atol(reply->str) : -1;

	freeReplyObject(reply);
	return balance;
}

static void
write_account(redisContext *redis, long balance)
{
	freeReplyObject(redisCommand(redis, "SET %s %ld", account, balance));
}

/* Tell the other process that we have read, and wait at most `ms` until it has read (-1: without limit). */
static void
meet(int other, int ms)
{
	struct pollfd until = {.fd = other, .events = POLLIN};

	if (send(other, "", 1, MSG_NOSIGNAL) == 1)
		poll(&until, 1, ms);
}

static void
add(redisContext *redis, long amount, int other, int ms)
{
	long balance = read_account(redis);

	meet(other, ms);
	write_account(redis, balance + amount);
	printf("  read %ld, added %ld, wrote %ld\n", balance, amount, balance + amount);
	fflush(stdout);
}

static leash_status
add_locked(const char *uri, redisContext *redis, long amount, int other, leash_error *err)
{
	leash_client *client = NULL;
	leash_lock *lock = NULL;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = uri), err);

	if (status == LEASH_OK)
		status = leash_lock_new(&lock, client, "account", NULL, err);
	if (status == LEASH_OK)
		status = leash_lock_acquire(lock, 30000, err);
	if (status == LEASH_OK) {
		add(redis, amount, other, 500);
		status = leash_lock_release(lock, err);
	}
	leash_lock_free(lock);
	leash_close(client);
	return status;
}

/* The whole life of one of the two processes. */
static int
teller(const char *uri, long amount, int other, bool locked)
{
	redisContext *redis = connect_to(uri);
	leash_error err;
	leash_status status = LEASH_OK;

	if (redis == NULL)
		return 1;
	if (locked)
		status = add_locked(uri, redis, amount, other, &err);
	else
		add(redis, amount, other, -1);
	if (status != LEASH_OK)
		fprintf(stderr, "transfer: %s\n", err.text);
	redisFree(redis);
	close(other);
	return status == LEASH_OK ? 0 : 1;
}

/* The balance after both processes; -1 if one of them failed. */
static long
run(const char *uri, bool locked)
{
	redisContext *redis = connect_to(uri);
	long balance = -1;
	int ends[2], status;
	bool good = true;

	if (redis == NULL || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
		redisFree(redis);
		return -1;
	}
	write_account(redis, 400);
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			close(ends[1 - i]);
			redisFree(redis);
			exit(teller(uri, i == 0 ? 100 : 200, ends[i], locked));
		}
		good &= pid > 0;
	}
	close(ends[0]);
	close(ends[1]);
	while (wait(&status) > 0)
		good &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (good)
		balance = read_account(redis);
	freeReplyObject(redisCommand(redis, "DEL %s", account));
	redisFree(redis);
	return balance;
}

int
main(int argc, char **argv)
{
	const char *uri = argc > 1 ? argv[1] : NULL;
	long without, with;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("without the lock\n");
	without = run(uri, false);
	printf("  400 + 100 + 200 = %ld\n", without);
	printf("with the lock\n");
	with = run(uri, true);
	printf("  400 + 100 + 200 = %ld\n", with);
	return (without == 500 || without == 600) && with == 700 ? 0 : 1;
}
