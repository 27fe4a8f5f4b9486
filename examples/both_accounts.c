/* Two locks at once: threads move money between two accounts, half of them one way, half of them the other way.
 *
 *   both_accounts [URI]
 *
 * If each thread first locked the account that it takes money from, and then the other one, two threads could hold one
 * lock each and wait for each other forever. A set acquires both locks or none, so their order does not matter. */
#include <leash.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 4, TRANSFERS = 50 };

static struct account {
	const char *name;
	long balance; /* guarded by the lock of that name */
} ann = {"account:ann", 1000}, bob = {"account:bob", 0};

static leash_client *client;
static atomic_int failed;

static leash_status
move(leash_multi *both, struct account *from, struct account *to, leash_error *err)
{
	leash_status status = leash_multi_acquire(both, 10000, err);

	if (status != LEASH_OK)
		return status;
	from->balance -= 1;
	to->balance += 1;
	return leash_multi_release(both, err);
}

static void *
teller(void *arg)
{
	bool is_back = arg != NULL;
	struct account *from = is_back ? &bob : &ann, *to = is_back ? &ann : &bob;
	leash_lock *locks[2] = {NULL, NULL};
	leash_multi *both = NULL;
	leash_error err;
	leash_status status = leash_lock_new(&locks[0], client, from->name, NULL, &err);

	if (status == LEASH_OK)
		status = leash_lock_new(&locks[1], client, to->name, NULL, &err);
	if (status == LEASH_OK)
		status = leash_multi_new(&both, locks, 2, &err);
	for (int i = 0; i < TRANSFERS && status == LEASH_OK; i++)
		status = move(both, from, to, &err);
	if (status != LEASH_OK) {
		fprintf(stderr, "both_accounts: %s\n", err.text);
		atomic_fetch_add(&failed, 1);
	}
	leash_multi_free(both);
	leash_lock_free(locks[0]);
	leash_lock_free(locks[1]);
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int started = 0;
	leash_error err;

	if (leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err) != LEASH_OK) {
		fprintf(stderr, "both_accounts: %s\n", err.text);
		return 1;
	}
	while (started < THREADS && pthread_create(&threads[started], NULL, teller, started % 2 == 0 ? NULL : &client) == 0)
		started++;
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	leash_close(client);
	printf("%d transfers, %d threads: %ld in all\n", started * TRANSFERS, started, ann.balance + bob.balance);
	return started == THREADS && failed == 0 ? 0 : 1;
}
