/* A block and a function that run with a lock held: the lock is released however they are left.
 *
 *   scoped [URI]
 *
 * LEASH_SCOPED() is for gcc and clang, leash_with() for every compiler. */
#include <leash.h>

#include <stdbool.h>
#include <stdio.h>

static int stock = 2;

/* Afterwards `err` says whether the lock was acquired, and whether its release failed; so it must outlive the
 * block. */
static bool
sell(leash_lock *shelf, leash_error *err)
{
	LEASH_SCOPED(shelf, 5000, err) {
		if (stock == 0)
			return false; /* this also releases the lock */
		stock--;
		return true;
	}
	return false; /* the block did not run */
}

static void
refill(void *arg)
{
	int *delivered = arg;

	stock += *delivered;
}

int
main(int argc, char **argv)
{
	leash_client *client = NULL;
	leash_lock *shelf = NULL;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);
	bool sold = true;
	int delivered = 3;

	if (status == LEASH_OK)
		status = leash_lock_new(&shelf, client, "shelf", NULL, &err);
	while (status == LEASH_OK && sold) {
		sold = sell(shelf, &err);
		status = err.status;
		printf("%s: %s\n", sold ? "sold one" : "none left", leash_lock_depth(shelf) == 0 ? "released" : "held");
	}
	if (status == LEASH_OK)
		status = leash_with(shelf, 5000, refill, &delivered, &err);
	if (status == LEASH_OK)
		printf("%d more: %s\n", stock, leash_lock_depth(shelf) == 0 ? "released" : "held");
	else
		fprintf(stderr, "scoped: %s\n", err.text);
	leash_lock_free(shelf);
	leash_close(client);
	return status == LEASH_OK ? 0 : 1;
}
