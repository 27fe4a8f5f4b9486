/* Scenes. See scene.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/contract/scene.h"

#include "tests/support/await.h"
#include "tests/support/child.h"

#include <stdatomic.h>
#include <stdio.h>

struct scene *scene;
struct server *server;

/* ---- processes ---- */

static int
run_party(void *arg)
{
	struct party *p = arg;
	leash_error err;

	p->client = leashed_open(scene->uri, &p->open_with);
	p->lock = leashed_lock(p->client, "law", &p->options);
	p->other = leashed_lock(p->client, "other", &p->options);
	assert_status(LEASH_OK, leash_cancel_new(&p->cancel, &err));
	for (int i = 0; i < ACTORS; i++) {
		p->actor[i].ctx = p;
		p->actor[i].lock = p->lock;
		p->actor[i].wait_ms = LEASH_FOREVER;
		actor_start(&p->actor[i]);
	}
	stage_set(&p->ready, 1);
	for (int i = 0; i < ACTORS; i++)
		actor_join(&p->actor[i]);
	leash_close(p->client);
	leash_lock_free(p->lock);
	leash_lock_free(p->other);
	leash_cancel_free(p->cancel);
	return 0;
}

/* Start them all. The test's process must have no threads yet. */
void
scene_start(const struct kind *kind, int64_t lease_ms, int64_t timeout_ms)
{
	snprintf(scene->uri, sizeof scene->uri, "%s", server_uri(server));
	scene->lease_ms = lease_ms;
	for (int i = 0; i < PARTIES; i++) {
		struct party *p = &scene->party[i];

		p->options = kind->options[i % 2];
		p->open_with = *LEASH_OPTIONS(.lease_ms = lease_ms, .timeout_ms = timeout_ms, .on_event = leashed_note_event, .event_arg = &p->events);
		p->pid = child_run(run_party, p);
	}
	for (int i = 0; i < PARTIES; i++)
		stage_await(&scene->party[i].ready, 1);
}

static int killed; /* of the present test's */

void
scene_kill(struct party *p)
{
	child_kill(p->pid);
	p->pid = 0;
	killed++;
}

void
scene_end(void)
{
	for (int i = 0; i < PARTIES; i++) {
		struct party *p = &scene->party[i];
		pid_t pid = p->pid;

		if (pid == 0)
			continue;
		for (int j = 0; j < ACTORS; j++) {
			actor_hear(&p->actor[j]);
			actor_tell(&p->actor[j], NULL);
		}
		p->pid = 0;
		child_wait(pid);
	}
}

/* ---- what is in Redis ---- */

int64_t
scene_keys(void)
{
	return server_integer(server, "EVAL %s 0",
	                      "local n = 0 for _, k in ipairs(redis.call('KEYS', '*')) do "
	                      "if not string.find(k, ':fence$') and not string.find(k, '^leash:client:') then n = n + 1 end end return n");
}

int64_t
scene_listeners(void)
{
	return server_integer(server, "EVAL %s 0", "return #redis.call('PUBSUB', 'CHANNELS')");
}

int64_t
scene_places(void)
{
	return server_integer(server, "ZCOUNT leash:{law}:queue (0 +inf");
}

/* ---- tests ---- */

int
scene_set(void **state)
{
	(void)state;
	freeReplyObject(server_command(server, "FLUSHALL")); /* what a law left that was broken */
	scene = child_share(sizeof *scene);
	killed = 0;
	return 0;
}

int
scene_clear(void **state)
{
	bool in_order = true;

	(void)state;
	for (int i = 0; i < PARTIES; i++)
		if (scene->party[i].pid != 0) {
			in_order = false; /* the law was broken, and says so itself */
			child_kill(scene->party[i].pid);
		}
	server_resume(server);
	judge_free(scene->judge);
	if (in_order) {
		await_true_for(scene_keys() == 0, (double)scene->lease_ms / 1000 + 5);
		await_true(leashed_introductions(server) <= killed);
	}
	child_unshare(scene, sizeof *scene);
	scene = NULL;
	return 0;
}

int
scene_open(void **state)
{
	(void)state;
	server = server_start(NULL);
	return 0;
}

int
scene_close(void **state)
{
	(void)state;
	server_stop(server);
	return 0;
}

/* ---- acts ---- */

void
scene_take_turns(struct actor *a)
{
	a->count = 0;
	a->status = LEASH_OK;
	for (unsigned i = 0; i < a->turns && a->status == LEASH_OK; i++) {
		a->status = leash_lock_acquire(a->lock, a->wait_ms >= 0 ? (i + a->turns) % (unsigned)(a->wait_ms + 1) : a->wait_ms, &a->err);
		if (a->status == LEASH_TIMEOUT || (a->status == LEASH_UNAVAILABLE && a->wait_ms >= 0)) {
			a->status = LEASH_OK;
			continue;
		}
		if (a->status != LEASH_OK)
			return;
		judge_enter(scene->judge, 0, leash_lock_fence(a->lock));
		if (i % 5 == 0)
			a->status = leash_lock_acquire(a->lock, 0, &a->err);
		if (i % 4 == 0)
			await_ms(1);
		if (i % 5 == 0 && a->status == LEASH_OK)
			a->status = leash_lock_release(a->lock, &a->err);
		judge_leave(scene->judge, 0);
		if (a->status == LEASH_OK)
			a->status = leash_lock_release(a->lock, &a->err);
		a->count++;
	}
}

void
scene_number(struct actor *a)
{
	actor_acquire(a);
	if (a->status != LEASH_OK)
		return;
	a->count = atomic_fetch_add(&scene->grants, 1);
	a->status = leash_lock_release(a->lock, &a->err);
	a->depth = leash_lock_depth(a->lock);
}

void
scene_close_client(struct actor *a)
{
	struct party *p = a->ctx;

	a->began_ns = await_now_ns();
	leash_close(p->client);
	a->ended_ns = await_now_ns();
	p->client = NULL;
	a->status = LEASH_OK;
}

void
scene_let_wait(struct actor *a, actor_act *act)
{
	const struct party *p = a->ctx;
	int64_t before = scene_places();
	bool has_place = p->options.fair;

	if (!has_place) {
		has_place = true;
		for (int i = 0; i < ACTORS; i++)
			has_place &= &p->actor[i] == a || (actor_is_done(&p->actor[i]) && p->actor[i].depth == 0);
	}
	actor_tell(a, act);
	if (has_place)
		await_true(scene_places() == before + 1);
	else
		actor_await_asleep(a);
}
