/* Functions that each acquire the lock they need, and call each other: a thread that has a lock gets it again at
 * once.
 *
 *   nested [URI]
 *
 * The nested calls send nothing: they add one to the depth in this process. Only the outermost release frees the
 * lock. */
#include <leash.h>

#include <stdio.h>

static long balance[2] = {400, 0};

/* Complete in itself: whoever calls it need not know that it takes the lock. */
static leash_status
add(leash_lock *accounts, int account, long amount, leash_error *err)
{
	leash_status status = leash_lock_acquire(accounts, 10000, err);

	if (status != LEASH_OK)
		return status;
	balance[account] += amount;
	printf("  add %ld to account %d: depth %u\n", amount, account, leash_lock_depth(accounts));
	return leash_lock_release(accounts, err);
}

/* Also complete in itself. Nobody sees the moment at which the amount is in neither account. */
static leash_status
transfer(leash_lock *accounts, int from, int to, long amount, leash_error *err)
{
	leash_status status = leash_lock_acquire(accounts, 10000, err), released;

	if (status != LEASH_OK)
		return status;
	printf(" transfer %ld: depth %u\n", amount, leash_lock_depth(accounts));
	status = add(accounts, from, -amount, err);
	if (status == LEASH_OK)
		status = add(accounts, to, amount, err);
	released = leash_lock_release(accounts, status == LEASH_OK ? err : NULL); /* report the first error */
	return status != LEASH_OK ? status : released;
}

int
main(int argc, char **argv)
{
	leash_client *client = NULL;
	leash_lock *accounts = NULL;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);

	if (status == LEASH_OK)
		status = leash_lock_new(&accounts, client, "accounts", NULL, &err);
	if (status == LEASH_OK)
		status = transfer(accounts, 0, 1, 100, &err);
	if (status == LEASH_OK)
		printf("balances %ld and %ld: depth %u\n", balance[0], balance[1], leash_lock_depth(accounts));
	else
		fprintf(stderr, "nested: %s\n", err.text);
	leash_lock_free(accounts);
	leash_close(client);
	return status == LEASH_OK ? 0 : 1;
}
