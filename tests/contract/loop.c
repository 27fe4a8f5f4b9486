/* See loop.h. */
#include "tests/contract/loop.h"

leash_client *client, *others;
leash_owner *owner;
leash_lock *lock, *theirs;
struct told first, second;
int fd;

void
loop_open(void)
{
	note_what_there_is();
	client = kept(open_client());
	others = kept(open_client());
	owner = owner_of_its_own();
	lock = kept(leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = owner)));
	theirs = kept(leashed_lock(others, "law", NULL));
	first = second = (struct told){0};
	assert_status(LEASH_OK, leash_client_fd(client, &fd, &err));
}

void
tell(void *arg, leash_status status, const leash_error *why)
{
	struct told *told = arg;

	assert_int_equal(told->times++, 0);
	told->status = status;
	told->thread = pthread_self();
	assert_true((why == NULL) == (status == LEASH_OK));
	if (why != NULL)
		assert_int_equal(why->status, status);
	snprintf(told->text, sizeof told->text, "%s", why != NULL ? why->text : "");
	if (told->also != NULL)
		told->also(told);
}

/* As a loop does. */
void
turn(void)
{
	if (is_readable(fd, 1000))
		assert_status(LEASH_OK, leash_client_dispatch(client, &err));
}

void
await_told(const struct told *told)
{
	await_true((turn(), told->times > 0));
}
void
start_to_acquire(int64_t wait_ms, struct told *told)
{
	assert_status(LEASH_OK, leash_lock_acquire_start(lock, LEASH_ACQUIRE(.wait_ms = wait_ms), tell, told, NULL, &err));
}

void
start_to_release(struct told *told)
{
	assert_status(LEASH_OK, leash_lock_release_start(lock, tell, told, NULL, &err));
}
