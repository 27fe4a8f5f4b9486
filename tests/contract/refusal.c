/* See refusal.h. */
#include "tests/contract/refusal.h"

#include "tests/support/counted.h"

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

/* ---- things ---- */

#define MAKER(type, parameters, ...) \
	static void free_##type(void *made) { leash_##type##_free(made); } \
	leash_##type *type##_of parameters \
	{ \
		leash_##type *made = NULL; \
		assert_status(LEASH_OK, leash_##type##_new(&made, __VA_ARGS__, &err)); \
		afterwards(free_##type, made); \
		return made; \
	}

MAKER(condition, (leash_lock *lock, const char *name, const leash_condition_options *options), lock, name, options)
MAKER(semaphore, (leash_client *client, const char *name, int64_t limit), client, name, limit, NULL)
MAKER(latch, (leash_client *client, const char *name, int64_t count), client, name, count)
MAKER(barrier, (leash_client *client, const char *name, int64_t parties), client, name, parties)
MAKER(watch, (leash_client *client, const char *name), client, name)
MAKER(multi, (leash_lock *const *locks, size_t count), locks, count)

static void
free_owner(void *owner)
{
	leash_owner_free(owner);
}

leash_owner *
owner_of_its_own(void)
{
	leash_owner *owner = NULL;

	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	afterwards(free_owner, owner);
	return owner;
}

void
wherever_memory_runs_out(leash_status (*act)(void), void (*check)(leash_status status))
{
	long used = 0, n;

	for (n = 1; n == 1 || used >= n - 1; n++) {
		counted.calls = 0;
		counted.fail_at = n;
		leash_status status = act();
		used = counted.calls;
		counted.fail_at = 0;
		if (status != LEASH_OK)
			assert_status(LEASH_NO_MEMORY, status);
		check(status);
	}
	assert_true(n > 4);
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
