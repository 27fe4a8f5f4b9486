#include "tests/tools/taken.h"
#include "tests/support/test.h"

leash_error err;
leash_client *client;
leash_lock *theirs;

void
start_with_taken(void)
{
	static char patient[300];

	start_server();
	snprintf(patient, sizeof patient, "%s?timeout=60000", server_uri(server));
	uri = patient;
	client = leashed_open(uri, NULL);
	theirs = leashed_lock(client, "taken", LEASH_LOCK_OPTIONS(.lease_ms = 86400000));
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
}

void
stop_with_taken(void)
{
	leash_lock_free(theirs);
	leash_close(client);
	stop_server();
}

bool
is_free(const char *name)
{
	return server_integer(server, "EXISTS leash:{%s}", name) == 0;
}
