/* At most N at once, over all machines: each thread needs a graphics card, and there are three.
 *
 *   few_at_once [URI]
 *
 * Each acquire says how many there are: nothing has to be set up in Redis, and nothing stays there. If a program
 * dies, its permits are free when their lease ends. */
#include <leash.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { CARDS = 3, THREADS = 8, JOBS = 5 };

static leash_semaphore *cards;
static atomic_int in_use, most, failed;

static void
use_card(void)
{
	int now = atomic_fetch_add(&in_use, 1) + 1, before = atomic_load(&most);

	while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) {
	}
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	atomic_fetch_sub(&in_use, 1);
}

static void *
worker(void *arg)
{
	leash_status status = LEASH_OK;
	leash_error err;

	(void)arg;
	for (int i = 0; i < JOBS && status == LEASH_OK; i++) {
		leash_permit *card = NULL;

		status = leash_semaphore_acquire(cards, 1, 30000, &card, &err);
		if (status == LEASH_OK) {
			use_card();
			status = leash_permit_release(card, &err);
		}
	}
	if (status != LEASH_OK) {
		fprintf(stderr, "few_at_once: %s\n", err.text);
		atomic_fetch_add(&failed, 1);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	leash_client *client = NULL;
	pthread_t threads[THREADS];
	int started = 0;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);

	if (status == LEASH_OK)
		status = leash_semaphore_new(&cards, client, "graphics cards", CARDS, NULL, &err);
	if (status != LEASH_OK) {
		fprintf(stderr, "few_at_once: %s\n", err.text);
		leash_close(client);
		return 1;
	}
	while (started < THREADS && pthread_create(&threads[started], NULL, worker, NULL) == 0)
		started++;
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	leash_semaphore_free(cards);
	leash_close(client);
	printf("%d jobs, at most %d of %d cards in use at once\n", started * JOBS, atomic_load(&most), CARDS);
	return started == THREADS && failed == 0 && most <= CARDS ? 0 : 1;
}
