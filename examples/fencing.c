/* A fence keeps out a holder that has slept past its lease without noticing, which no lock with a lease can do alone.
 *
 *   fencing [URI]
 *
 * The first process takes the lock and is stopped (as by a full disk, a debugger, a suspended machine) until its lease
 * is over. The second one gets the lock and writes. Then the first one wakes up and also writes, because it believes
 * that it still has the lock. A process may always pause between the last call of leash_lock_held() and the write. But
 * the resource keeps the largest fence that it has seen, and refuses smaller ones. */
#include <leash.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the lock protects. In production: a table with a column `fence`, and "UPDATE ... WHERE fence <= ?". */
struct resource {
	uint64_t fence;
	char value[32];
};

static bool
resource_write(struct resource *r, uint64_t fence, const char *value)
{
	bool accepted = fence >= r->fence;

	if (accepted) {
		r->fence = fence;
		snprintf(r->value, sizeof r->value, "%s", value);
	}
	printf("%s writes with fence %" PRIu64 ": %s\n", value, fence, accepted ? "accepted" : "REFUSED");
	fflush(stdout);
	return accepted;
}

/* Take the lock and write once; if `stops`, stop in between. True if all went as expected. */
static bool
take_and_write(const char *uri, const char *who, bool stops, struct resource *r)
{
	leash_client *client = NULL;
	leash_lock *lock = NULL;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = uri, .lease_ms = 2000), &err);
	bool as_expected = false;

	if (status == LEASH_OK)
		status = leash_lock_new(&lock, client, "resource", NULL, &err);
	if (status == LEASH_OK)
		status = leash_lock_acquire(lock, 30000, &err);
	if (status != LEASH_OK) {
		fprintf(stderr, "fencing: %s\n", err.text);
	} else {
		uint64_t fence = leash_lock_fence(lock);
		bool accepted;

		if (stops)
			raise(SIGSTOP);
		accepted = resource_write(r, fence, who);
		status = leash_lock_release(lock, &err);
		printf("%s releases: %s\n", who, leash_status_name(status));
		fflush(stdout);
		as_expected = stops ? !accepted && status == LEASH_LOST : accepted && status == LEASH_OK;
	}
	leash_lock_free(lock);
	leash_close(client);
	return as_expected;
}

int
main(int argc, char **argv)
{
	const char *uri = argc > 1 ? argv[1] : NULL;
	struct resource *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t first;
	int status;
	bool good;

	if (r == MAP_FAILED || (first = fork()) < 0) {
		perror("fencing");
		return 1;
	}
	if (first == 0) /* a client is opened after the fork, in the process that uses it */
		return take_and_write(uri, "first", true, r) ? 0 : 1;

	if (waitpid(first, &status, WUNTRACED) != first || !WIFSTOPPED(status))
		return 1;
	printf("first has the lock, and is stopped\n");
	good = take_and_write(uri, "second", false, r);
	kill(first, SIGCONT);
	good &= waitpid(first, &status, 0) == first && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	printf("the resource holds what '%s' wrote\n", r->value);
	munmap(r, sizeof *r);
	return good ? 0 : 1;
}
