/* See adoption.h. */
#include "tests/contract/adoption.h"

#include "tests/support/await.h"

leash_client *client, *former;
leash_lock *lock, *held;
struct leashed_events events;
struct actor other;
char token[LEASH_TOKEN_MAX];
uint64_t fence;

void
set_up(void)
{
	place_resume();
	place_flush();
	memset(&events, 0, sizeof events);
	client = place_client(LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));
	former = open_client();
	lock = leashed_lock(client, "law", NULL);
	held = leashed_lock(former, "law", NULL);
	actor_begin(&other, lock, LEASH_FOREVER);
}

void
tear_down(void)
{
	place_resume();
	leash_close(client);
	leash_close(former);
	actor_hear(&other);
	actor_end(&other);
	leash_lock_free(lock);
	leash_lock_free(held);
}

void
hold(void)
{
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_true(leash_lock_token(held, token, sizeof token) > 0);
	fence = leash_lock_fence(held);
	for (size_t i = 0; place_with("leash:{law}", i); i++)
		await_true(server_integer(place_with("leash:{law}", i), "HEXISTS leash:{law} %s", token) == 1);
}

void
let_the_former_one_lose(void)
{
	assert_status(LEASH_LOST, leash_lock_release(held, &err));
}

void
adopt_by(struct actor *a)
{
	a->began_ns = await_now_ns();
	a->status = leash_lock_adopt(a->lock, token, &a->err);
	a->ended_ns = await_now_ns();
	a->held = leash_lock_held(a->lock);
}
