#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/tools/taken.h"

#include <stdio.h>

leash_error err;
leash_client *client;
leash_lock *theirs;

int
start_with_taken(void **state)
{
	static char patient[300];

	start_server(state);
	snprintf(patient, sizeof patient, "%s?timeout=60000", server_uri(server));
	uri = patient;
	client = leashed_open(uri, NULL);
	theirs = leashed_lock(client, "taken", LEASH_LOCK_OPTIONS(.lease_ms = 86400000));
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	return 0;
}

int
stop_with_taken(void **state)
{
	leash_lock_free(theirs);
	leash_close(client);
	return stop_server(state);
}

bool
is_free(const char *name)
{
	return server_integer(server, "EXISTS leash:{%s}", name) == 0;
}
