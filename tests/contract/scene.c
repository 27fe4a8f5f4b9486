/* Scenes. See scene.h. */
#include "tests/contract/scene.h"

#include "tests/support/least.h"

#include <stdatomic.h>

struct scene *scene;

/* ---- processes ---- */

static leash_lock *
open_lock(struct party *p, const char *name)
{
	leash_lock *lock = NULL;
	leash_error err;

	if (scene->kind->open == NULL)
		return leashed_lock(p->client, name, &p->options);
	assert_status(LEASH_OK, scene->kind->open(&lock, p->client, name, &p->options, &err));
	return lock;
}

static leash_semaphore *
open_permits(struct party *p, const char *name)
{
	leash_semaphore *permits;
	leash_error err;

	assert_status(LEASH_OK, leash_semaphore_new(&permits, p->client, name, 1, &p->options, &err));
	return permits;
}

static int
run_party(void *arg)
{
	struct party *p = arg;

	p->client = place_client(&p->open_with);
	if (scene->kind->permits) {
		p->permits = open_permits(p, "law");
		p->other_permits = open_permits(p, "other");
	} else {
		p->lock = open_lock(p, "law");
		p->other = open_lock(p, "other");
	}
	for (int i = 0; i < ACTORS; i++) {
		p->actor[i].ctx = p;
		p->actor[i].lock = p->lock;
		p->actor[i].semaphore = p->permits;
		p->actor[i].wait_ms = LEASH_FOREVER;
		actor_start(&p->actor[i]);
	}
	stage_set(&p->ready, 1);
	for (int i = 0; i < ACTORS; i++)
		actor_join(&p->actor[i]);
	leash_close(p->client);
	for (int i = 0; i < ACTORS; i++)
		if (p->actor[i].permit != NULL)
			actor_give(&p->actor[i]);
	leash_semaphore_free(p->permits);
	leash_semaphore_free(p->other_permits);
	leash_lock_free(p->lock);
	leash_lock_free(p->other);
	return 0;
}

/* Start them all. The test's process must have no threads yet. */
void
scene_start(const struct kind *kind, int64_t lease_ms, int64_t timeout_ms)
{
	scene->kind = kind;
	scene->lease_ms = place_lease_ms(lease_ms);
	for (int i = 0; i < PARTIES; i++) {
		struct party *p = &scene->party[i];

		p->options = kind->options[i % 2];
		p->open_with = *LEASH_OPTIONS(.lease_ms = lease_ms, .timeout_ms = timeout_ms, .on_event = leashed_note_event,
		                              .event_arg = &p->events);
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

static size_t
channels(const char *kind)
{
	redisReply *reply = server_command(place_at("law"), "PUBSUB %s leash:*wake:*", kind);
	size_t n = reply->elements; /* 0 of an error: before 7.0 there are no SHARDCHANNELS */

	freeReplyObject(reply);
	return n;
}

size_t
scene_listeners(void)
{
	return channels("CHANNELS") + channels("SHARDCHANNELS");
}

static int64_t
places(void)
{
	return place_integer("law", "ZCOUNT leash:{law}:queue (0 +inf");
}

/* ---- tests ---- */

void
scene_set(void)
{
	place_flush(); /* what a law left that was broken */
	scene = child_share(sizeof *scene);
	killed = 0;
}

void
scene_clear(void)
{
	bool in_order = true;

	for (int i = 0; i < PARTIES; i++)
		if (scene->party[i].pid != 0) {
			in_order = false; /* the law was broken, and says so itself */
			child_kill(scene->party[i].pid);
		}
	place_resume();
	if (least_is_wanted())
		assert_string_equal(least_denied(place), "");
	if (in_order) {
		await_true_for(place_is_empty(), (double)scene->lease_ms / 1000 + 5);
		await_true(place_introductions() <= killed);
	}
}

/* ---- acts ---- */

static void
enter(const struct actor *a)
{
	const struct party *p = a->ctx;

	if (p->options.mode == LEASH_READ)
		judge_enter_shared(scene->judge, 0);
	else
		judge_enter(scene->judge, 0, a->lock != NULL ? leash_lock_fence(a->lock) : 0);
}

static void
leave(const struct actor *a)
{
	const struct party *p = a->ctx;

	if (p->options.mode == LEASH_READ)
		judge_leave_shared(scene->judge, 0);
	else
		judge_leave(scene->judge, 0);
}

void
scene_take_turns(struct actor *a)
{
	a->count = 0;
	a->status = LEASH_OK;
	for (unsigned i = 0; i < a->turns && a->status == LEASH_OK; i++) {
		bool nests = i % 5 == 0 && !scene->kind->once && !scene->kind->permits;
		int64_t wait_ms = a->wait_ms >= 0 ? (i + a->turns) % (unsigned)(a->wait_ms + 1) : a->wait_ms;

		a->status = actor_take(a, LEASH_ACQUIRE(.wait_ms = wait_ms));
		if (a->status == LEASH_TIMEOUT || (a->status == LEASH_UNAVAILABLE && a->wait_ms >= 0)) {
			a->status = LEASH_OK;
			continue;
		}
		if (a->status != LEASH_OK)
			return;
		enter(a);
		if (nests)
			a->status = actor_take(a, LEASH_ACQUIRE(.wait_ms = 0));
		if (i % 4 == 0)
			await_ms(1);
		if (nests && a->status == LEASH_OK)
			a->status = actor_give(a);
		leave(a);
		if (a->status == LEASH_OK)
			a->status = actor_give(a);
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
	a->status = actor_give(a);
	a->depth = a->lock != NULL ? leash_lock_depth(a->lock) : 0;
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
	int64_t before = places();
	bool has_place = p->options.fair || scene->kind->permits;

	if (place_is(PLACE_NO_QUEUE)) {
		actor_tell(a, act);
		await_true(a->began_ns != 0);
		return;
	}
	if (!has_place) {
		has_place = true;
		for (int i = 0; i < ACTORS; i++)
			has_place &= &p->actor[i] == a || (actor_is_done(&p->actor[i]) && p->actor[i].depth == 0);
	}
	actor_tell(a, act);
	if (has_place)
		await_true(places() == before + 1);
	else
		actor_await_asleep(a);
}
