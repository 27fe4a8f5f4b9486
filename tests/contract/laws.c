/* The laws: what takes processes, their threads, and time that passes for all of them. See laws.h, and scene.h for the
 * processes. That fences grow whatever ends a hold, that a wait ends on time, and that nobody is given the lock who has
 * left, is seen in the simulator's worlds (sim/judge.c); what an owner has of a lock when it nests or loses it is said by core/test_owner, what
 * a server that is away does to those who wait, and a cancel and a close to all, by core/test_single. */
#include "tests/contract/laws.h"

#include "tests/contract/scene.h"
#include "tests/support/monitor.h"

/* Leases: one that ends in no test, and one that ends in some, but not where a machine stands still for a second. */
enum { LONG_MS = 30000, LEASE_MS = 3000 };

/* Some laws are for these kinds only: ALONE, where who holds it is alone, also within its process; LOCKS, whose handles
 * remember what was lost. */
enum { ALONE = 1 << 0, LOCKS = 1 << 1 };

/* Of which kind the locks of the present law are. */
static const struct kind *kind;

static void
set(void)
{
	kind = given;
	scene_set();
}

FIXTURE(set, scene_clear);
PLACE(place_open);

/* Who they are in most laws. */
static struct actor *holder;
static struct actor *mate;            /* of the same process */
static struct actor *first, *second;  /* who wait, in two others */

static void
begin(int64_t lease_ms, int64_t timeout_ms)
{
	scene_start(kind, lease_ms, timeout_ms);
	holder = &scene->party[0].actor[0];
	mate = &scene->party[0].actor[1];
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
	scene_start(kind, LONG_MS, 5000);
	for (int i = 0; i < PARTIES * ACTORS; i++) {
		struct actor *a = &scene->party[i / ACTORS].actor[i % ACTORS];

		a->wait_ms = wait_ms;
		/* without, a turn waits for its chance */
		a->turns = !alike ? (unsigned)(4 + 7 * (i % ACTORS) + 3 * (i / ACTORS)) : !place_is(PLACE_NO_QUEUE) ? 40 : 15;
		actor_tell(a, scene_take_turns);
	}
	for (int i = 0; i < PARTIES * ACTORS; i++) {
		struct actor *a = &scene->party[i / ACTORS].actor[i % ACTORS];

		assert_heard(LEASH_OK, a);
		turns += a->count;
		if (wait_ms == LEASH_FOREVER)
			assert_int_equal(a->count, a->turns);
	}
	if (judge_violations(scene->judge) != 0)
		judge_print(scene->judge);
	assert_int_equal(judge_violations(scene->judge), 0);
	assert_int_equal(judge_entries(scene->judge), turns);
	assert_true(turns > 0);
	if (wait_ms != LEASH_FOREVER)
		await_true(place_is_empty()); /* who gave up before its ask was answered leaves the cancel to the keeper */
	place_assert_empty();
	scene_end();
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
	scene_let_wait(first, scene_number);
	scene_let_wait(second, scene_number);
	lag_begin();
	scene_kill(&scene->party[0]);
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
	scene_end();
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
	scene_end();
	assert_int_equal(scene->party[0].events.count[LEASH_EVENT_LOST], 1);
}

/* ---- hand-off ---- */

/* Round after round, one releases, and the other has it: in two processes, or in one, which leaves nothing then. */
static void
hand_on(bool between_processes)
{
	enum { ROUNDS = 15 };
	struct actor *both[] = {&scene->party[0].actor[0], between_processes ? first : mate};
	int soon = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct actor *waiter = both[(i + 1) % 2];

		holder = both[i % 2];
		assert_done(LEASH_OK, holder, actor_acquire);
		scene_let_wait(waiter, actor_acquire);
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
	scene_end();
}

SENTENCE(who_waits_in_the_same_process_has_it_as_soon_as_it_is_released, .of = ALONE)
{
	begin(LONG_MS, 5000);
	hand_on(false);
	scene_end();
}

SENTENCE(a_dead_first_waiter_is_passed_over_at_once, .but = PLACE_NO_QUEUE)
{
	begin(LONG_MS, 5000);
	assert_done(LEASH_OK, holder, actor_acquire);
	scene_let_wait(first, actor_acquire);
	scene_let_wait(second, actor_acquire);
	size_t listeners = scene_listeners();
	scene_kill(&scene->party[1]);
	await_true(scene_listeners() < listeners);
	assert_done(LEASH_OK, holder, actor_release);
	assert_heard(LEASH_OK, second);
	/* not after a claim, which is three seconds */
	assert_true((double)(second->ended_ns - holder->began_ns) < 2500e6 * await_slowness());
	assert_done(LEASH_OK, second, actor_release);
	place_assert_empty();
	scene_end();
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
			scene_let_wait(actor[i], scene_number);
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
	scene_end();
}

/* ---- close ---- */

SENTENCE(close_ends_all_waits_at_once_also_while_the_server_stands_still)
{
	begin(LONG_MS, 20000);
	struct actor *closer = &scene->party[1].actor[3];
	struct actor *asker = &scene->party[1].actor[2];
	assert_done(LEASH_OK, holder, actor_acquire);
	for (int i = 0; i < 2; i++)
		scene_let_wait(&scene->party[1].actor[i], actor_acquire);
	place_pause();
	asker->lock = scene->party[1].other;
	asker->semaphore = scene->party[1].other_permits;
	actor_tell(asker, actor_acquire);
	actor_await_asleep(asker);
	actor_tell(closer, scene_close_client);
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
	scene_end();
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
