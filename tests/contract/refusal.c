/* See refusal.h. */
#include "tests/contract/refusal.h"

struct server *server;
_Thread_local leash_error err;

/* ---- what every refusal must be ---- */

void
spoil_error(void)
{
	memset(&err, 0x5a, sizeof err);
}

void
check_text(const char *names)
{
	size_t n = strnlen(err.text, sizeof err.text);

	if (n == 0 || n == sizeof err.text)
		fail_msg("a text of %zu bytes", n);
	for (size_t i = 0; i < n; i++)
		if (err.text[i] < ' ' || err.text[i] > '~')
			fail_msg("byte %zu is not printable: %s", i, err.text);
	if (strstr(err.text, names) == NULL)
		fail_msg("'%s' is not named: %s", names, err.text);
	if (err.text[n - 1] == '.' && (n < 3 || strcmp(err.text + n - 3, "...") != 0))
		fail_msg("it ends with a full stop: %s", err.text);
}

/* ---- clients, and threads that wait ---- */

void
take_and_give_back(leash_lock *lock)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

leash_stats
stats_of(leash_client *client)
{
	leash_stats stats = {.size = sizeof stats};

	assert_status(LEASH_OK, leash_client_stats(client, &stats, &err));
	return stats;
}

int64_t
calls_of(const char *command)
{
	struct server *at;
	int64_t calls = 0;

	for (size_t i = 0; (at = deployment_master(place, i)) != NULL; i++)
		calls += server_calls(at, command);
	return calls;
}

void
begin_waiting(struct actor *a, leash_lock *lock, int64_t wait_ms)
{
	actor_begin(a, lock, wait_ms);
	actor_tell(a, actor_acquire);
}

static void
take_turn(struct actor *a)
{
	actor_acquire(a);
	if (a->held)
		actor_release(a);
}

void
begin_turn(struct actor *a, leash_lock *lock)
{
	actor_begin(a, lock, LEASH_FOREVER);
	actor_tell(a, take_turn);
}

void
end_waiting(struct actor *a)
{
	assert_heard(LEASH_OK, a);
	if (a->held)
		assert_done(LEASH_OK, a, actor_release);
	actor_end(a);
}

/* ---- */

void
refusal_open(void)
{
	place_open();
	server = deployment_server(place);
	setenv("LEASH_URI", place_uri(), 1);
}
