/* Ctrl-C ends the wait for a lock: a cancel, fired from a signal handler.
 *
 *   interrupt [URI]
 *
 * Run it twice. The second one waits until the first has done its work, or until you press Ctrl-C. Then it
 * leaves the queue at once, and delays nobody. Any number of acquires, in any number of threads, could share
 * the cancel. */
#include <leash.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static leash_cancel *cancel;

static void
interrupted(int signal)
{
	(void)signal;
	leash_cancel_fire(cancel); /* allowed in a signal handler, as little else is */
}

int
main(int argc, char **argv)
{
	struct sigaction action;
	leash_client *client = NULL;
	leash_lock *lock = NULL;
	leash_error err;
	leash_status status = leash_cancel_new(&cancel, &err);

	memset(&action, 0, sizeof action);
	action.sa_handler = interrupted;
	if (status == LEASH_OK)
		sigaction(SIGINT, &action, NULL);
	if (status == LEASH_OK)
		status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);
	if (status == LEASH_OK)
		status = leash_lock_new(&lock, client, "interrupt", NULL, &err);
	if (status == LEASH_OK) {
		puts("waiting, Ctrl-C ends it");
		fflush(stdout);
		status = leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER, .cancel = cancel), &err);
	}
	if (status == LEASH_OK) {
		puts("got it; working for 3 s");
		fflush(stdout);
		sleep(3); /* Ctrl-C also ends this */
		status = leash_lock_release(lock, &err);
	}
	if (status == LEASH_CANCELED)
		puts("interrupted: it was not acquired");
	else if (status != LEASH_OK)
		fprintf(stderr, "%s\n", err.text);
	leash_lock_free(lock);
	leash_close(client);
	leash_cancel_free(cancel); /* when no acquire can use it any more */
	return status == LEASH_OK || status == LEASH_CANCELED ? 0 : 1;
}
