/* Processes die all the time, in the middle of whatever they were doing, and nobody else is the worse for it.
 *
 * Twenty processes, half of them with plain handles and half with fair ones, contend for five locks. Every 200 ms one
 * that waits, or one that holds, is killed and replaced. Each thread keeps a post in shared memory that says what it is
 * doing, so the killer knows whom it hits: it stops a process, looks, and kills it only if it still waits, resp. holds.
 *
 * A stall of a lock is the time in which it had a waiter and no new holder. Whoever gets it notes how long that was,
 * and the killer notes those that have not ended. Who is given the lock and dies before it can note that was a holder
 * too, whose claim the others wait for: it is seen by the fence in the server, and another stall begins with it. A
 * killed holder's critical section ends with it, so the killer takes it off the judge's books, while the server goes on
 * protecting it until its lease ends.
 *
 * LEASH_TEST_KILL_SECONDS: for how long (default 60). LEASH_TEST_SEED: who is killed, who does what (default: by the
 * clock). */
#include "tests/support/child.h"
#include "tests/support/judge.h"
#include "tests/support/leashed.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { PROCESSES = 20, THREADS = 3, LOCKS = 5, LEASE_MS = 1000, KILL_EVERY_MS = 200, STACK = 256 * 1024 };

enum doing { NOTHING, WAITING, INSIDE, ENDED };

/* What a thread is doing, and with which lock. A reader that looks at `doing` first never takes too early a time for
 * its beginning. */
struct post {
	_Atomic uint32_t doing;     /* enum doing | lock << 8 */
	_Atomic int64_t since_ns;
};

struct book {
	_Atomic int64_t granted_ns;  /* the last time */
	_Atomic int64_t stalled_ns;  /* the longest stall */
	_Atomic uint64_t grants;
	_Atomic int64_t fence;       /* of the last grant, by who got it or by the server */
};

struct world;

struct process {
	struct world *world;
	unsigned number, seed;
	pid_t pid;
	struct post posts[THREADS];
};

struct world {
	char uri[256];
	struct server *server;       /* the killer's */
	int64_t lease_ms, timeout_ms;
	struct judge *judge;
	_Atomic int stop;
	_Atomic uint64_t timed_out, lost, unexpected;
	_Atomic int64_t longest_wait_ns;
	struct book books[LOCKS];
	struct process processes[PROCESSES];
};

struct contender {
	struct process *process;
	struct post *post;
	leash_lock **locks;
	unsigned seed;
};

static void
note_longest(_Atomic int64_t *longest, int64_t ns)
{
	int64_t was = atomic_load(longest);

	while (ns > was && !atomic_compare_exchange_weak(longest, &was, ns))
		continue;
}

static void
set_post(struct post *post, enum doing doing, unsigned lock)
{
	atomic_store(&post->since_ns, await_now_ns());
	atomic_store(&post->doing, (uint32_t)doing | lock << 8);
}

static bool
is_post(const struct post *post, enum doing doing, unsigned lock)
{
	return atomic_load(&post->doing) == ((uint32_t)doing | lock << 8);
}

/* Since when somebody has been waiting for the lock; INT64_MAX: nobody does. */
static int64_t
waited_for_since(struct world *world, unsigned lock)
{
	int64_t oldest = INT64_MAX;

	for (int i = 0; i < PROCESSES; i++) {
		for (int j = 0; j < THREADS; j++) {
			struct post *post = &world->processes[i].posts[j];

			if (is_post(post, WAITING, lock)) {
				int64_t since = atomic_load(&post->since_ns);

				oldest = since < oldest ? since : oldest;
			}
		}
	}
	return oldest;
}

/* The lock has had no new holder from `granted` until now. */
static void
note_stall(struct world *world, unsigned lock, int64_t granted)
{
	int64_t since = waited_for_since(world, lock);

	if (since != INT64_MAX)
		note_longest(&world->books[lock].stalled_ns, await_now_ns() - (granted > since ? granted : since));
}

/* ---- the contenders ---- */

static void
unexpected(struct world *world, const char *what, leash_status status, const leash_error *err)
{
	if (status == LEASH_LOST)
		world->lost++;
	if (world->unexpected++ < 10)
		fprintf(stderr, "# %s: %s: %s\n", what, leash_status_name(status), err->text);
}

static void
granted(struct contender *c, unsigned lock)
{
	struct world *world = c->process->world;
	struct book *book = &world->books[lock];

	note_longest(&world->longest_wait_ns, await_now_ns() - atomic_load(&c->post->since_ns));
	note_stall(world, lock, atomic_exchange(&book->granted_ns, await_now_ns()));
	book->grants++;
	set_post(c->post, INSIDE, lock);
}

static void
take_a_turn(struct contender *c)
{
	struct world *world = c->process->world;
	unsigned lock = (unsigned)rand_r(&c->seed) % LOCKS;
	leash_lock *handle = c->locks[lock];
	int64_t wait_ms = rand_r(&c->seed) % 4 == 0 ? rand_r(&c->seed) % 100 : LEASH_FOREVER;
	leash_error err;
	leash_status status;

	set_post(c->post, WAITING, lock);
	status = leash_lock_acquire(handle, wait_ms, &err);
	/* a few ms may be too little for an answer */
	if (status == LEASH_TIMEOUT || (status == LEASH_UNAVAILABLE && wait_ms != LEASH_FOREVER)) {
		set_post(c->post, NOTHING, 0);
		world->timed_out++;
		return;
	}
	if (status != LEASH_OK) {
		set_post(c->post, NOTHING, 0);
		unexpected(world, "acquire", status, &err);
		return;
	}
	judge_enter(world->judge, lock, leash_lock_fence(handle));
	note_longest(&world->books[lock].fence, (int64_t)(leash_lock_fence(handle) / 256));
	granted(c, lock);
	/* now and then for longer than it takes to be renewed */
	await_ms(rand_r(&c->seed) % 200 == 0 ? LEASE_MS * 4 / 10 : rand_r(&c->seed) % 6);
	set_post(c->post, NOTHING, 0);
	judge_leave(world->judge, lock);
	status = leash_lock_release(handle, &err);
	if (status != LEASH_OK)
		unexpected(world, "release", status, &err);
}

static void *
contend(void *arg)
{
	struct contender *c = arg;

	while (!c->process->world->stop) {
		take_a_turn(c);
		if (rand_r(&c->seed) % 2 == 0)
			await_ms(rand_r(&c->seed) % 10);
	}
	return NULL;
}

static int
run_process(void *arg)
{
	struct process *process = arg;
	struct world *world = process->world;
	leash_client *client =
		leashed_open(world->uri, LEASH_OPTIONS(.lease_ms = world->lease_ms, .timeout_ms = world->timeout_ms));
	leash_lock *locks[LOCKS];
	struct contender contenders[THREADS];
	pthread_t threads[THREADS];
	pthread_attr_t attr;

	for (int i = 0; i < LOCKS; i++) {
		char name[16];

		snprintf(name, sizeof name, "k%d", i);
		locks[i] = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.fair = process->number % 2 == 1));
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (int i = 0; i < THREADS; i++) {
		contenders[i] = (struct contender){.process = process, .post = &process->posts[i], .locks = locks,
		                                   .seed = process->seed + (unsigned)i};
		if (pthread_create(&threads[i], &attr, contend, &contenders[i]) != 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < LOCKS; i++)
		leash_lock_free(locks[i]);
	leash_close(client);
	for (int i = 0; i < THREADS; i++)
		set_post(&process->posts[i], ENDED, 0);
	return 0;
}

/* ---- the killer ---- */

static void
start(struct process *process, unsigned *seed)
{
	for (int i = 0; i < THREADS; i++)
		set_post(&process->posts[i], NOTHING, 0);
	process->seed = (unsigned)rand_r(seed);
	process->pid = child_run(run_process, process);
}

/* A post at random of those that do this; NULL: there is none just now. */
static struct post *
find(struct world *world, enum doing doing, unsigned *seed, struct process **process)
{
	struct post *found = NULL;
	int count = 0;

	for (int i = 0; i < PROCESSES; i++) {
		for (int j = 0; j < THREADS; j++) {
			struct post *post = &world->processes[i].posts[j];

			if ((atomic_load(&post->doing) & 0xff) == (uint32_t)doing && rand_r(seed) % ++count == 0) {
				found = post;
				*process = &world->processes[i];
			}
		}
	}
	return found;
}

/* Kill a process one of whose threads does this at that very moment. */
static void
kill_one(struct world *world, enum doing doing, unsigned *seed)
{
	struct process *process = NULL;
	int64_t limit = await_limit_ns(60);

	for (;;) {
		struct post *post = find(world, doing, seed, &process);

		if (post != NULL) {
			child_pause(process->pid);
			if ((atomic_load(&post->doing) & 0xff) == (uint32_t)doing)
				break;
			child_resume(process->pid);
		}
		await_step(limit, 60, doing == WAITING ? "a waiter" : "a holder", __FILE__, __LINE__);
	}
	judge_bury(world->judge, process->pid); /* it stands still for ever; its leases do not wait for it to be reaped */
	child_kill(process->pid);
	start(process, seed);
}

static void
look_for_stalls(struct world *world)
{
	for (unsigned i = 0; i < LOCKS; i++) {
		struct book *book = &world->books[i];
		int64_t fence;

		/* none that matters is shorter */
		if (await_now_ns() - atomic_load(&book->granted_ns) > world->lease_ms * MS / 4) {
			fence = server_integer(world->server, "EVAL %s 1 leash:{k%u}:fence",
			                       "return tonumber(redis.call('GET', KEYS[1]) or 0)", i);
			if (fence > atomic_load(&book->fence))
				atomic_store(&book->granted_ns, await_now_ns());
			note_longest(&book->fence, fence);
		}
		note_stall(world, i, atomic_load(&book->granted_ns));
	}
}

static bool
have_all_ended(struct world *world)
{
	look_for_stalls(world);
	for (int i = 0; i < PROCESSES; i++)
		for (int j = 0; j < THREADS; j++)
			if (!is_post(&world->processes[i].posts[j], ENDED, 0))
				return false;
	return true;
}

/* Wait for the end of all; if it does not come, say who hangs. */
static void
await_the_end(struct world *world)
{
	static const char *const names[] = {"is outside", "waits", "is inside", "has ended"};
	int64_t limit = await_limit_ns(60);

	while (!have_all_ended(world) && !await_is_past(limit))
		await_ms(2);
	for (int i = 0; i < PROCESSES; i++) {
		for (int j = 0; j < THREADS; j++) {
			struct post *post = &world->processes[i].posts[j];
			uint32_t doing = atomic_load(&post->doing);

			if (!is_post(post, ENDED, 0))
				fprintf(stderr, "# hangs: thread %d of process %d (%s) %s, lock %u, since %lld ms\n", j,
				        (int)world->processes[i].pid,
				        i % 2 == 1 ? "fair" : "plain", names[doing & 0xff], doing >> 8,
				        (long long)((await_now_ns() - atomic_load(&post->since_ns)) / MS));
		}
	}
	assert_true(have_all_ended(world));
	for (int i = 0; i < PROCESSES; i++)
		child_wait(world->processes[i].pid);
}

static int64_t
keys_but_fences(struct server *server)
{
	return server_integer(server, "EVAL %s 0", "local n = 0 for _, k in ipairs(redis.call('KEYS', '*')) do "
	                                           "if not string.match(k, ':fence$') and not string.match(k, "
	                                           "'^leash:client:') then n = n + 1 end end "
	                                           "return n");
}

SENTENCE(whoever_is_killed_the_others_go_on_within_a_lease)
{
	const char *seconds = getenv("LEASH_TEST_KILL_SECONDS"), *seed_text = getenv("LEASH_TEST_SEED");
	unsigned seed = seed_text != NULL ? (unsigned)strtoul(seed_text, NULL, 0) : (unsigned)(await_now_ns() / MS);
	struct server *server = server_start(NULL);
	struct world *world = child_share(sizeof *world);
	int64_t bound_ns, end_ns, next_ns, stalled_ns = 0;
	uint64_t waiters = 0, holders = 0, grants = 0;

	printf("# LEASH_TEST_SEED=%u\n", seed);
	snprintf(world->uri, sizeof world->uri, "%s", server_uri(server));
	world->lease_ms = slow_ms(LEASE_MS);
	world->timeout_ms = world->lease_ms < 60000 ? world->lease_ms : 60000;
	world->server = server;
	world->judge = judge_new(LOCKS, 0);
	for (unsigned i = 0; i < PROCESSES; i++) {
		world->processes[i].world = world;
		world->processes[i].number = i;
		start(&world->processes[i], &seed);
	}

	end_ns = await_now_ns() + (seconds != NULL ? atoi(seconds) : 60) * INT64_C(1000000000);
	next_ns = await_now_ns() + KILL_EVERY_MS * MS;
	while (await_now_ns() < end_ns) {
		look_for_stalls(world);
		if (await_now_ns() >= next_ns) {
			bool holder = rand_r(&seed) % 2 == 0;

			kill_one(world, holder ? INSIDE : WAITING, &seed);
			holders += holder;
			waiters += !holder;
			next_ns += KILL_EVERY_MS * MS;
		}
		await_ms(2);
	}

	/* Each lock is asked for once more after the last lease of a dead holder: what the dead have left in its queue goes
	 * then. */
	end_ns = await_now_ns() + world->lease_ms * MS;
	while (await_now_ns() < end_ns) {
		look_for_stalls(world);
		await_ms(2);
	}
	world->stop = 1;
	await_the_end(world);

	for (int i = 0; i < LOCKS; i++) {
		grants += world->books[i].grants;
		if (world->books[i].stalled_ns > stalled_ns)
			stalled_ns = world->books[i].stalled_ns;
		printf("# lock %d: %llu grants, longest stall %lld ms\n", i, (unsigned long long)world->books[i].grants,
		       (long long)(world->books[i].stalled_ns / MS));
	}
	bound_ns = slow_ms(LEASE_MS + 1000) * MS;
	printf("# killed %llu waiters and %llu holders; %llu grants, %llu timed out, %llu lost; longest wait %lld ms; "
	       "longest stall %lld ms (bound %lld); %zu violations\n", (unsigned long long)waiters,
	       (unsigned long long)holders,
	       (unsigned long long)grants, (unsigned long long)world->timed_out, (unsigned long long)world->lost,
	       (long long)(world->longest_wait_ns / MS), (long long)(stalled_ns / MS), (long long)(bound_ns / MS),
	       judge_violations(world->judge));
	printf("# at the end %lld keys besides fences; ", (long long)keys_but_fences(server));
	await_ms(world->lease_ms);
	printf("one lease later %lld\n", (long long)keys_but_fences(server));
	fflush(stdout);
	judge_print(world->judge);
	assert_true(waiters > 0);
	assert_true(holders > 0);
	assert_true(grants > 100);
	assert_int_equal(judge_violations(world->judge), 0);
	assert_int_equal(world->unexpected, 0);
	assert_in_range(stalled_ns, 0, bound_ns);
	assert_int_equal(keys_but_fences(server), 0);
	assert_in_range(leashed_introductions(server), 0, waiters + holders); /* who was killed is known for a while */
	/* the fences are there, so the names are what we think they are */
	assert_int_equal(server_integer(server, "EVAL %s 0", "return #redis.call('KEYS', '*:fence')"), LOCKS);
	judge_free(world->judge);
	child_unshare(world, sizeof *world);
	server_stop(server);
}
