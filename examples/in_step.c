/* Proceed in step, on whatever machines: nobody begins a round before all have ended the one before.
 *
 *   in_step [URI]
 *
 * Here the parties are threads. A party that died while it waited would not count, and one that is started in its
 * place would complete the round. */
#include <leash.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { PARTIES = 4, ROUNDS = 20 };

static leash_barrier *barrier;
static atomic_int done[ROUNDS], early, failed;

static void *
go_on(void *arg)
{
	leash_error err;

	(void)arg;
	for (int round = 0; round < ROUNDS; round++) {
		atomic_fetch_add(&done[round], 1); /* the work of this round */
		if (leash_barrier_wait(barrier, 30000, &err) != LEASH_OK) {
			fprintf(stderr, "in_step: %s\n", err.text);
			atomic_fetch_add(&failed, 1);
			return NULL;
		}
		if (atomic_load(&done[round]) < PARTIES)
			atomic_fetch_add(&early, 1);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	leash_client *client = NULL;
	pthread_t threads[PARTIES];
	int started = 0;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);

	if (status == LEASH_OK)
		status = leash_barrier_new(&barrier, client, "in step", PARTIES, &err);
	if (status != LEASH_OK) {
		fprintf(stderr, "in_step: %s\n", err.text);
		leash_close(client);
		return 1;
	}
	while (started < PARTIES && pthread_create(&threads[started], NULL, go_on, NULL) == 0)
		started++;
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	leash_barrier_free(barrier);
	leash_close(client);
	printf("%d rounds of %d parties, %d of them early\n", ROUNDS, PARTIES, atomic_load(&early));
	return failed == 0 && early == 0 ? 0 : 1;
}
