/* The laws: what takes processes, their threads, and time that passes for all of them. See laws.h. That fences grow whatever
 * ends a hold, that a wait ends on time, and that nobody is given the lock who has left, is seen in the simulator's worlds
 * (sim/judge.c); what an owner has of a lock when it nests or loses it is said by core/test_owner, what a server that is
 * away does to those who wait, and a cancel and a close to all, by core/test_single.
 *
 * The test's own process uses nothing of leash; it tells the actors what to do and looks into Redis. It must have no
 * threads when the processes are started. After each law, once they have ended, nothing may be left in Redis but fences:
 * at once, or one lease later where one was killed; and of those who were killed, who they were. */
#include "tests/contract/laws.h"

#include "tests/contract/interface.h"
#include "tests/support/judge.h"
#include "tests/support/least.h"

#include <stdatomic.h>

enum { PARTIES = 3, ACTORS = 4 /* of each */ };

/* Leases: one that ends in no test, and one that ends in some, but not where a machine stands still for a second. */
enum { LONG_MS = 30000, LEASE_MS = 3000 };

/* Some laws are for these kinds only: ALONE, where who holds it is alone, also within its process; LOCKS, whose handles
 * remember what was lost. */
enum { ALONE = 1 << 0, LOCKS = 1 << 1 };

/* A process. Its actors wait for LEASH_FOREVER for `lock` unless they are told otherwise. */
struct party {
	leash_options open_with;
	leash_lock_options options;
	struct stage ready;
	pid_t pid; /* 0: it has ended */
	struct leashed_events events;
	struct actor actor[ACTORS];

	/* its own; only it can follow these */
	leash_client *client;
	leash_lock *lock, *other; /* "law" and "other" */
	leash_semaphore *permits, *other_permits; /* or these */
};

/* Of the present test; all see it. */
static struct scene {
	struct judge *judge;     /* for the test to make, before the start */
	_Atomic uint32_t grants; /* so far, see number() */
	int64_t lease_ms;
	struct party party[PARTIES];
} *scene;

static const struct kind *kind; /* of which the locks are */

/* ---- processes ---- */

static leash_lock *
open_lock(struct party *p, const char *name)
{
	leash_lock *lock = NULL;

	if (kind->open == NULL)
		return leashed_lock(p->client, name, &p->options);
	assert_status(LEASH_OK, kind->open(&lock, p->client, name, &p->options, &err));
	return lock;
}

static leash_semaphore *
open_permits(struct party *p, const char *name)
{
	leash_semaphore *permits;

	assert_status(LEASH_OK, leash_semaphore_new(&permits, p->client, name, 1, &p->options, &err));
	return permits;
}

static int
run_party(void *arg)
{
	struct party *p = arg;

	p->client = place_client(&p->open_with);
	if (kind->permits) {
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

/* In a quorum no lease is longer than its guard. */
static void
start(int64_t lease_ms, int64_t timeout_ms)
{
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

static void
kill_party(struct party *p)
{
	child_kill(p->pid);
	p->pid = 0;
	killed++;
}

/* All processes, in good order: whatever their actors hold is released. */
static void
end(void)
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
channels(const char *which)
{
	redisReply *reply = server_command(place_at("law"), "PUBSUB %s leash:*wake:*", which);
	size_t n = reply->elements; /* 0 of an error: before 7.0 there are no SHARDCHANNELS */

	freeReplyObject(reply);
	return n;
}

/* The channels in Redis on which clients listen for their wake-up, as each does from before its first ask. */
static size_t
listeners(void)
{
	return channels("CHANNELS") + channels("SHARDCHANNELS");
}

static int64_t
places(void)
{
	return place_integer("law", "ZCOUNT leash:{law}:queue (0 +inf");
}

/* ---- tests ---- */

static void
set_scene(void)
{
	kind = given;
	place_flush(); /* what a law left that was broken */
	scene = child_share(sizeof *scene);
	killed = 0;
}

static void
clear_scene(void)
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
tell_judge(const struct actor *a, bool enters)
{
	bool shares = ((const struct party *)a->ctx)->options.mode == LEASH_READ;

	if (!enters)
		(shares ? judge_leave_shared : judge_leave)(scene->judge, 0);
	else if (shares)
		judge_enter_shared(scene->judge, 0);
	else
		judge_enter(scene->judge, 0, a->lock != NULL ? leash_lock_fence(a->lock) : 0);
}

/* Acquire (in `wait_ms` or less), nest now and then, release: `turns` times, of which `count` came about. */
static void
take_turns(struct actor *a)
{
	a->count = 0;
	a->status = LEASH_OK;
	for (unsigned i = 0; i < a->turns && a->status == LEASH_OK; i++) {
		bool nests = i % 5 == 0 && !kind->once && !kind->permits;
		int64_t wait_ms = a->wait_ms >= 0 ? (i + a->turns) % (unsigned)(a->wait_ms + 1) : a->wait_ms;

		a->status = actor_take(a, LEASH_ACQUIRE(.wait_ms = wait_ms));
		if (a->status == LEASH_TIMEOUT || (a->status == LEASH_UNAVAILABLE && a->wait_ms >= 0)) {
			a->status = LEASH_OK;
			continue;
		}
		if (a->status != LEASH_OK)
			return;
		tell_judge(a, true);
		if (nests)
			a->status = actor_take(a, LEASH_ACQUIRE(.wait_ms = 0));
		if (i % 4 == 0)
			await_ms(1);
		if (nests && a->status == LEASH_OK)
			a->status = actor_give(a);
		tell_judge(a, false);
		if (a->status == LEASH_OK)
			a->status = actor_give(a);
		a->count++;
	}
}

/* Acquire, note in `count` as how manyth of all, release. */
static void
number(struct actor *a)
{
	actor_acquire(a);
	if (a->status != LEASH_OK)
		return;
	a->count = atomic_fetch_add(&scene->grants, 1);
	a->status = actor_give(a);
	a->depth = a->lock != NULL ? leash_lock_depth(a->lock) : 0;
}

static void
close_client(struct actor *a)
{
	struct party *p = a->ctx;

	a->began_ns = await_now_ns();
	leash_close(p->client);
	a->ended_ns = await_now_ns();
	p->client = NULL;
	a->status = LEASH_OK;
}

/* Let it wait, and see it in its line: in Redis, or within its process where it comes to no place of its own. Where there
 * is no queue in Redis: see it ask. */
static void
let_wait(struct actor *a, actor_act *act)
{
	const struct party *p = a->ctx;
	int64_t before = places();
	bool has_place = p->options.fair || kind->permits;

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

FIXTURE(set_scene, clear_scene);
PLACE(place_open);

/* ---- the laws ---- */

/* Who they are in most laws. */
static struct actor *holder, *first, *second; /* who wait, in two other processes */

static void
begin(int64_t lease_ms, int64_t timeout_ms)
{
	start(lease_ms, timeout_ms);
	holder = &scene->party[0].actor[0];
	first = &scene->party[1].actor[0];
	second = &scene->party[2].actor[0];
}

static void
assert_newer(const struct actor *a, const struct actor *than)
{
	if (!kind->permits) /* which have no fence */
		assert_true(a->fence > than->fence);
}

/* ---- exclusion ---- */

static void
let_all_take_turns(int64_t wait_ms, bool alike)
{
	size_t turns = 0;

	scene->judge = judge_new(1);
	start(LONG_MS, 5000);
	for (int i = 0; i < PARTIES * ACTORS; i++) {
		struct actor *a = &scene->party[i / ACTORS].actor[i % ACTORS];

		a->wait_ms = i > 0 ? wait_ms : LEASH_FOREVER; /* one has its turns, however slow the machine is */
		/* without, a turn waits for its chance */
		a->turns = !alike ? (unsigned)(4 + 7 * (i % ACTORS) + 3 * (i / ACTORS)) : !place_is(PLACE_NO_QUEUE) ? 40 : 15;
		actor_tell(a, take_turns);
	}
	for (int i = 0; i < PARTIES * ACTORS; i++) {
		struct actor *a = &scene->party[i / ACTORS].actor[i % ACTORS];

		assert_heard(LEASH_OK, a);
		turns += a->count;
		if (a->wait_ms == LEASH_FOREVER)
			assert_int_equal(a->count, a->turns);
	}
	if (judge_violations(scene->judge) != 0)
		judge_print(scene->judge);
	assert_int_equal(judge_violations(scene->judge), 0);
	assert_int_equal(judge_entries(scene->judge), turns);
	if (wait_ms != LEASH_FOREVER)
		await_true(place_is_empty()); /* who gave up before its ask was answered leaves the cancel to the keeper */
	place_assert_empty();
	end();
}

SENTENCE(one_holds_it_at_a_time_and_every_fence_is_larger_than_the_one_before)
{
	let_all_take_turns(LEASH_FOREVER, true);
}

SENTENCE(contenders_that_stop_one_after_another_leave_it_to_the_rest)
{
	let_all_take_turns(LEASH_FOREVER, false);
}

SENTENCE(one_holds_it_at_a_time_while_others_run_out_of_time)
{
	let_all_take_turns(6, true);
}

/* ---- expiry ---- */

SENTENCE(the_lock_of_a_killed_holder_goes_to_the_first_who_waits_when_its_lease_ends_and_not_before)
{
	begin(LEASE_MS, 5000);
	assert_done(LEASH_OK, holder, actor_acquire);
	let_wait(first, number);
	let_wait(second, number);
	lag_begin();
	kill_party(&scene->party[0]);
	int64_t seen_ns = await_now_ns();
	int64_t left_ms = place_left_ms("law");
	assert_true(left_ms > 0);
	assert_heard(LEASH_OK, first);
	assert_heard(LEASH_OK, second);
	int64_t lag_ns = lag_end();
	struct actor *next = place_is(PLACE_NO_QUEUE) && second->count == 0 ? second : first;
	struct actor *last = next == first ? second : first;
	int64_t later_ns = next->ended_ns - seen_ns;
	assert_true(later_ns >= (left_ms - 1) * MS);
	assert_true((double)(later_ns - lag_ns) < (LEASE_MS + 1000) * 1e6 * await_slowness());
	assert_true(next->count == 0 && last->count == 1);
	assert_newer(next, holder);
	assert_newer(last, next);
	end();
}

SENTENCE(a_holder_that_was_stopped_past_its_lease_knows_it_when_it_goes_on, .of = LOCKS)
{
	begin(LEASE_MS, 5000);
	assert_done(LEASH_OK, holder, actor_acquire);
	assert_true(holder->held);
	child_pause(scene->party[0].pid);
	actor_tell(holder, actor_look); /* the first that it does when it wakes */
	assert_done(LEASH_OK, first, actor_acquire);
	assert_true(first->fence > holder->fence);
	child_resume(scene->party[0].pid);
	actor_hear(holder);
	assert_true(!holder->held && holder->fence == 0 && holder->depth == 1);
	await_true(scene->party[0].events.count[LEASH_EVENT_LOST] == 1);
	assert_done(LEASH_LOST, holder, actor_acquire);
	assert_done(LEASH_LOST, holder, actor_release);
	assert_done(LEASH_NOT_HELD, holder, actor_release);
	assert_done(LEASH_OK, first, actor_look);
	assert_true(first->held);
	await_true(place_integer("law", kind->holders != NULL ? kind->holders : "HLEN leash:{law}") == 1);
	assert_done(LEASH_OK, first, actor_release);
	end();
	assert_int_equal(scene->party[0].events.count[LEASH_EVENT_LOST], 1);
}

/* ---- hand-off ---- */

/* Round after round, one releases, and the other has it: in two processes, or in one, which leaves nothing then. */
static void
hand_on(bool between_processes)
{
	enum { ROUNDS = 15 };
	struct actor *both[] = {&scene->party[0].actor[0], between_processes ? first : &scene->party[0].actor[1]};
	int soon = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct actor *waiter = both[(i + 1) % 2];

		holder = both[i % 2];
		assert_done(LEASH_OK, holder, actor_acquire);
		let_wait(waiter, actor_acquire);
		assert_done(LEASH_OK, holder, actor_release);
		assert_heard(LEASH_OK, waiter);
		assert_true(waiter->held);
		assert_newer(waiter, holder);
		soon += (double)(waiter->ended_ns - holder->began_ns) < 100e6 * await_slowness();
		assert_done(LEASH_OK, waiter, actor_release);
		if (!between_processes)
			place_assert_empty();
	}
	assert_true(soon > ROUNDS / 2);
}

SENTENCE(who_waits_in_another_process_has_it_as_soon_as_it_is_released, .but = PLACE_NO_QUEUE)
{
	begin(LONG_MS, 5000); /* a word every second */
	struct monitor *monitor = monitor_start(place_at("law"));
	hand_on(true);
	assert_int_equal(monitor_count_in_scripts(monitor, "publish"), 15);
	monitor_stop(monitor);
	end();
}

SENTENCE(who_waits_in_the_same_process_has_it_as_soon_as_it_is_released, .of = ALONE)
{
	begin(LONG_MS, 5000);
	hand_on(false);
	end();
}

SENTENCE(a_dead_first_waiter_is_passed_over_at_once, .but = PLACE_NO_QUEUE)
{
	begin(LONG_MS, 5000);
	assert_done(LEASH_OK, holder, actor_acquire);
	let_wait(first, actor_acquire);
	let_wait(second, actor_acquire);
	size_t before = listeners();
	kill_party(&scene->party[1]);
	await_true(listeners() < before);
	assert_done(LEASH_OK, holder, actor_release);
	assert_heard(LEASH_OK, second);
	/* not after a claim, which is three seconds */
	assert_true((double)(second->ended_ns - holder->began_ns) < 2500e6 * await_slowness());
	assert_done(LEASH_OK, second, actor_release);
	place_assert_empty();
	end();
}

/* ---- order ---- */

SENTENCE(all_are_served_in_the_order_that_is_promised, .of = ALONE, .but = PLACE_NO_QUEUE)
{
	/* party and actor, as they come */
	static const int comes[][2] = {{1, 0}, {2, 0}, {1, 1}, {2, 1}, {2, 2}, {1, 2}, {1, 3}, {2, 3}};
	enum { N = sizeof comes / sizeof comes[0] };
	struct actor *actor[N];
	unsigned earliest[PARTIES];

	begin(LONG_MS, 5000);
	for (int round = 0; round < 3; round++) {
		scene->grants = 0;
		memset(earliest, 0xff, sizeof earliest);
		assert_done(LEASH_OK, holder, actor_acquire);
		for (int i = 0; i < N; i++) {
			actor[i] = &scene->party[comes[i][0]].actor[comes[i][1]];
			let_wait(actor[i], number);
		}
		assert_done(LEASH_OK, holder, actor_release);
		for (int i = 0; i < N; i++)
			assert_heard(LEASH_OK, actor[i]);
		for (int i = 0; i < N; i++) {
			if (kind->ordered)
				assert_int_equal(actor[i]->count, i);
			if (actor[i]->count < earliest[comes[i][0]])
				earliest[comes[i][0]] = actor[i]->count;
			for (int j = 0; j < i; j++)
				if (comes[i][0] == comes[j][0])
					assert_true(actor[j]->count < actor[i]->count);
		}
		assert_true(earliest[1] < earliest[2]);
	}
	place_assert_empty();
	end();
}

/* ---- close ---- */

SENTENCE(close_ends_all_waits_at_once_also_while_the_server_stands_still)
{
	begin(LONG_MS, 20000);
	struct actor *closer = &scene->party[1].actor[3];
	struct actor *asker = &scene->party[1].actor[2];
	assert_done(LEASH_OK, holder, actor_acquire);
	for (int i = 0; i < 2; i++)
		let_wait(&scene->party[1].actor[i], actor_acquire);
	place_pause();
	asker->lock = scene->party[1].other;
	asker->semaphore = scene->party[1].other_permits;
	actor_tell(asker, actor_acquire);
	actor_await_asleep(asker);
	actor_tell(closer, close_client);
	for (int i = 0; i < 3; i++) {
		struct actor *a = &scene->party[1].actor[i];

		assert_heard(LEASH_CLOSED, a);
		assert_true((double)(a->ended_ns - closer->began_ns) < 5000e6 * await_slowness());
	}
	place_resume();
	assert_heard(LEASH_OK, closer);
	await_true(place_integer("law", "EXISTS leash:{law}:queue") == 0);
	await_true(deployment_keys(place, "leash:{other}") == 0);
	assert_done(LEASH_OK, holder, actor_release);
	end();
}

/* ---- */

void
laws_of(const struct kind *kinds, size_t count)
{
	static struct part parts[2];

	assert_true(count <= COUNT(parts));
	for (size_t i = 0; i < count; i++) {
		const leash_lock_options *options = kinds[i].options;
		bool queues = options[0].fair || options[1].fair || options[0].mode != LEASH_MUTEX || kinds[i].permits;

		parts[i] = (struct part){
			.name = i > 0 ? kinds[i].name : NULL, .given = &kinds[i], .but = queues ? PLACE_NO_QUEUE : 0,
			.is = (options[0].mode != LEASH_READ ? ALONE : 0) | (kinds[i].permits ? 0 : LOCKS)};
	}
	sentences_in_parts(parts, count);
}
