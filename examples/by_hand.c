/* A lock to play with: run it in two terminals, type commands, stop one with Ctrl-Z or kill it, and watch the other.
 *
 *   by_hand [URI [LOCK [LEASE_MS]]]          default: the lock "by-hand", a lease of 10000 ms
 *
 * quickstart.sh plays a session with two of these. */
#include <leash.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
on_event(void *arg, const leash_event *event)
{
	(void)arg;
	printf("event %s: %s\n", leash_event_name(event->type), event->text);
}

static void
show(const leash_lock *lock)
{
	printf("  held %s, depth %u, fence %" PRIu64 ", %" PRId64 " ms left of the lease\n",
	       leash_lock_held(lock) ? "yes" : "no",
	       leash_lock_depth(lock), leash_lock_fence(lock), leash_lock_remaining_ms(lock));
}

static void
obey(leash_lock *lock, const char *command)
{
	leash_error err = {.status = LEASH_OK};

	if (strcmp(command, "acquire") == 0)
		err.status = leash_lock_acquire(lock, LEASH_FOREVER, &err);
	else if (strcmp(command, "try") == 0)
		err.status = leash_lock_acquire(lock, 0, &err);
	else if (strcmp(command, "release") == 0)
		leash_lock_release(lock, &err);
	else if (strcmp(command, "show") != 0) {
		printf("  the commands are: acquire (waits), try, release, show, quit\n");
		return;
	}
	if (err.status != LEASH_OK)
		printf("%s: %s: %s\n", command, leash_status_name(err.status), err.text);
	else if (strcmp(command, "show") != 0)
		printf("%s: OK\n", command);
	show(lock);
}

int
main(int argc, char **argv)
{
	const char *name = argc > 2 ? argv[2] : "by-hand";
	int64_t lease_ms = argc > 3 ? atoll(argv[3]) : 10000;
	leash_client *client = NULL;
	leash_lock *lock = NULL;
	leash_error err;
	leash_status status =
		leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL, .on_event = on_event), &err);
	char line[80];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (status == LEASH_OK)
		status = leash_lock_new(&lock, client, name, LEASH_LOCK_OPTIONS(.lease_ms = lease_ms), &err);
	if (status == LEASH_OK) {
		printf("lock '%s', a lease of %" PRId64 " ms; acquire, try, release, show, quit\n", name, lease_ms);
		while (fgets(line, sizeof line, stdin) != NULL && strcmp(line, "quit\n") != 0) {
			line[strcspn(line, "\n")] = '\0';
			obey(lock, line);
		}
	} else {
		fprintf(stderr, "by_hand: %s\n", err.text);
	}
	leash_close(client); /* releases what is still held */
	leash_lock_free(lock);
	return status == LEASH_OK ? 0 : 1;
}
