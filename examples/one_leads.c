/* One leads, and all know who: candidates take turns, and one thread watches them.
 *
 *   one_leads [URI]
 *
 * A candidate leads while it holds the lock, and proclaims its address. Here each leader resigns after a moment; one
 * that dies leads until its lease ends. A watcher learns of each change, and need not be a candidate. */
#include <leash.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CANDIDATES = 3 };

static leash_client *client;

static void *
stand(void *value)
{
	leash_lock *lock = NULL;
	leash_error err;
	leash_status status = leash_lock_new(&lock, client, "scheduler", NULL, &err);

	if (status == LEASH_OK)
		status = leash_lock_acquire(lock, 30000, &err);
	if (status == LEASH_OK)
		status = leash_lock_proclaim(lock, value, &err);
	if (status == LEASH_OK) {
		nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); /* what a leader does */
		status = leash_lock_release(lock, &err);
	}
	if (status != LEASH_OK)
		fprintf(stderr, "one_leads: %s\n", err.text);
	leash_lock_free(lock);
	return NULL;
}

/* Until all have led. */
static leash_status
follow(leash_watch *watch, leash_error *err)
{
	leash_leader leader = {.size = sizeof leader};
	char last[LEASH_TOKEN_MAX] = "";
	int led = 0;

	while (led < CANDIDATES || leader.leads) {
		leash_status status = leash_watch_next(watch, 30000, &leader, err);

		if (status != LEASH_OK)
			return status;
		if (leader.value[0] == '\0' || strcmp(leader.token, last) == 0)
			continue; /* nobody leads, or the leader has not proclaimed its value yet */
		printf("%s leads\n", leader.value);
		memcpy(last, leader.token, sizeof last);
		led++;
	}
	printf("%d have led\n", led);
	return LEASH_OK;
}

int
main(int argc, char **argv)
{
	static char values[CANDIDATES][32];
	pthread_t threads[CANDIDATES];
	leash_watch *watch = NULL;
	int started = 0;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);

	if (status == LEASH_OK)
		status = leash_watch_new(&watch, client, "scheduler", &err);
	for (; status == LEASH_OK && started < CANDIDATES; started++) {
		snprintf(values[started], sizeof values[started], "host-%d:8080", started + 1);
		if (pthread_create(&threads[started], NULL, stand, values[started]) != 0)
			break;
	}
	if (status == LEASH_OK)
		status = follow(watch, &err);
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	if (status != LEASH_OK)
		fprintf(stderr, "one_leads: %s\n", err.text);
	leash_watch_free(watch);
	leash_close(client);
	return status == LEASH_OK ? 0 : 1;
}
