/* Many threads in several processes, many locks, random nesting, timed acquires; and a judge outside of leash that sees whether
 * two were ever inside one lock, and whether fences grew. LEASH_TEST_STORM_SECONDS says for how long (default 60). */
#include "tests/support/child.h"
#include "tests/support/judge.h"
#include "tests/support/leashed.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <unistd.h>

enum { PROCESSES = 4, THREADS = 50, LOCKS = 200, HANDLES = 2, LEVELS = 4, LEASE_MS = 9000 }; /* which no busy machine outlasts */

struct storm {
	char uri[256];
	struct judge *judge;
	int64_t end_ns;
	_Atomic uint64_t acquired, nested, timed_out, unanswered, unexpected, ended;
};

struct contender {
	struct storm *storm;
	leash_lock *(*handles)[LOCKS];
	unsigned seed;
	int depth[LOCKS];         /* this thread's */
	int held[LEVELS], levels; /* what it is inside of, the innermost last; a lock as often as it is nested */
};

static void
unexpected(struct storm *storm, const char *what, leash_status status, const leash_error *err)
{
	if (storm->unexpected++ < 10)
		fprintf(stderr, "# %s: %s: %s\n", what, leash_status_name(status), err->text);
}

/* Inside of something every third draw is a lock that is held already: 200 locks at random are hardly ever the same twice. */
static int
draw_lock(struct contender *c)
{
	if (c->levels > 0 && rand_r(&c->seed) % 3 == 0)
		return c->held[rand_r(&c->seed) % c->levels];
	return rand_r(&c->seed) % LOCKS;
}

static leash_lock *
draw_handle(struct contender *c, int n)
{
	return c->handles[rand_r(&c->seed) % HANDLES][n];
}

/* Take a lock at random, perhaps one that is held already, and within it another one, and so on. */
static void
go_inside(struct contender *c)
{
	struct storm *storm = c->storm;
	int n = draw_lock(c);
	leash_lock *lock = draw_handle(c, n);
	int64_t wait_ms = rand_r(&c->seed) % 4 == 0 ? 0 : rand_r(&c->seed) % 50;
	leash_error err;
	leash_status status = leash_lock_acquire(lock, wait_ms, &err);

	if (status != LEASH_OK && c->depth[n] > 0) {
		unexpected(storm, "nested acquire", status, &err); /* it asks nobody */
		return;
	}
	if (status == LEASH_TIMEOUT) {
		storm->timed_out++;
		return;
	}
	if (status == LEASH_UNAVAILABLE) {
		storm->unanswered++; /* on a machine that is this busy a few ms may be too little for an answer, and half a second for a renewal's */
		return;
	}
	if (status != LEASH_OK) {
		unexpected(storm, "acquire", status, &err);
		return;
	}
	if (c->depth[n]++ == 0) {
		storm->acquired++;
		judge_enter(storm->judge, (size_t)n, leash_lock_fence(lock));
	} else {
		storm->nested++;
	}
	if (leash_lock_depth(lock) != (unsigned)c->depth[n])
		unexpected(storm, "depth", LEASH_OK, &err);
	c->held[c->levels++] = n;
	while (c->levels < LEVELS && rand_r(&c->seed) % 2 == 0)
		go_inside(c);
	c->levels--;
	if (rand_r(&c->seed) % 500 == 0)
		await_ms(rand_r(&c->seed) % 40);
	if (--c->depth[n] == 0)
		judge_leave(storm->judge, (size_t)n);
	status = leash_lock_release(draw_handle(c, n), &err);
	if (status != LEASH_OK)
		unexpected(storm, "release", status, &err);
}

static void *
contend(void *arg)
{
	struct contender *c = arg;

	while (await_now_ns() < c->storm->end_ns)
		go_inside(c);
	c->storm->ended++;
	return NULL;
}

static int
run_process(void *arg)
{
	struct storm *storm = arg;
	leash_client *client = leashed_open(storm->uri, LEASH_OPTIONS(.lease_ms = LEASE_MS));
	static struct contender contenders[THREADS];
	static leash_lock *handles[HANDLES][LOCKS];
	pthread_t threads[THREADS];
	int n = THREADS / PROCESSES + (THREADS % PROCESSES != 0);

	for (int i = 0; i < LOCKS; i++) {
		char name[32];

		snprintf(name, sizeof name, "storm %d", i);
		for (int h = 0; h < HANDLES; h++)
			handles[h][i] = leashed_lock(client, name, NULL);
	}
	for (int i = 0; i < n; i++) {
		contenders[i] = (struct contender){.storm = storm, .handles = handles, .seed = (unsigned)(getpid() * 1000 + i)};
		if (pthread_create(&threads[i], NULL, contend, &contenders[i]) != 0)
			return 1;
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < LOCKS; i++)
		for (int h = 0; h < HANDLES; h++)
			leash_lock_free(handles[h][i]);
	leash_close(client);
	return 0;
}

SENTENCE(no_two_are_ever_inside_one_lock_and_nothing_is_left_behind)
{
	const char *seconds = getenv("LEASH_TEST_STORM_SECONDS");
	struct server *server = server_start(NULL);
	struct storm *storm = child_share(sizeof *storm);
	pid_t pid[PROCESSES];

	snprintf(storm->uri, sizeof storm->uri, "%s", server_uri(server));
	storm->judge = judge_new(LOCKS, 0);
	storm->end_ns = await_now_ns() + (seconds != NULL ? atoi(seconds) : 60) * INT64_C(1000000000);
	for (int i = 0; i < PROCESSES; i++)
		pid[i] = child_run(run_process, storm);
	for (int i = 0; i < PROCESSES; i++)
		child_wait(pid[i]);
	printf("# %llu acquired, %llu nested (%.1f %% of all), %llu timed out, %llu unanswered, %zu violations\n",
	       (unsigned long long)storm->acquired, (unsigned long long)storm->nested,
	       100 * (double)storm->nested / (double)(storm->acquired + storm->nested + 1), (unsigned long long)storm->timed_out,
	       (unsigned long long)storm->unanswered, judge_violations(storm->judge));
	judge_print(storm->judge);
	assert_int_equal(judge_violations(storm->judge), 0);
	assert_int_equal(judge_entries(storm->judge), storm->acquired);
	assert_int_equal(storm->unexpected, 0);
	assert_true(storm->acquired > 100);
	assert_true(storm->unanswered < storm->acquired / 10 + 100);
	assert_true(storm->nested > storm->acquired / 20);
	assert_int_equal(storm->ended, PROCESSES * (THREADS / PROCESSES + (THREADS % PROCESSES != 0)));
	await_ms(LEASE_MS);
	for (int i = 0; i < LOCKS; i++)
		assert_int_equal(server_integer(server, "EXISTS leash:{storm%%20%d} leash:{storm%%20%d}:queue", i, i), 0);
	assert_int_equal(server_integer(server, "EVAL %s 0", "local n = 0 for _, k in ipairs(redis.call('KEYS', '*')) do "
	                                                    "if not string.match(k, ':fence$') then n = n + 1 end end return n"), 0);
	assert_true(server_integer(server, "DBSIZE") > 0); /* the names are what we think they are */
	judge_free(storm->judge);
	child_unshare(storm, sizeof *storm);
	server_stop(server);
}
