/* The processes and the one that measures share the turns: each is written by the process that has it, while it holds
 * the lock, at the next place of the list. So the list is in the order of holding whatever leash says about it, as long
 * as no two hold at once; which a counter finds out, that each raises first and lowers last.
 *
 * They leave one after another, a few turns apart, so that each number of contenders down to one comes about, and the
 * last has the lock to itself. Waits are without a deadline: a contender that nobody wakes stays asleep, and is seen by
 * the parent, which waits for ends no longer than a minute. */
#include "bench/crowd.h"

#include "bench/program.h"
#include "tests/support/await.h"
#include "tests/support/child.h"
#include "tests/support/server.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define MS_NS INT64_C(1000000)
#define LEAVE_NS (5 * MS_NS) /* between the ends of two contenders */

enum { PATIENCE_S = 60 };

struct crowd {
	char uri[128], name[64];
	bool fair;
	unsigned processes;
	int64_t run_ns;
	size_t size;             /* of this memory */
	pid_t pids[CROWD_MAX];
	struct stage ready, go;
	int64_t began, ended;    /* set before `go` */
	atomic_uint inside;
	atomic_size_t overlaps, count;
	size_t capacity;
	struct crowd_turn turns[];
};

struct contender {
	struct crowd *crowd;
	unsigned who;
};

int64_t
crowd_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 * MS_NS + t.tv_nsec;
}

static void
hold(void)
{
	struct timespec t = { .tv_nsec = CROWD_HOLD_MS * MS_NS };

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		continue;
}

/* ---- a contender ---- */

static void
take_turn(struct crowd *crowd, leash_lock *lock, unsigned who)
{
	struct crowd_turn *turn;
	int64_t asked = crowd_now(), got;
	leash_error err;
	size_t at;

	if (leash_lock_acquire(lock, LEASH_FOREVER, &err) != LEASH_OK)
		die("leash: %s", err.text);
	got = crowd_now();
	if (atomic_fetch_add(&crowd->inside, 1) != 0)
		atomic_fetch_add(&crowd->overlaps, 1);
	at = atomic_fetch_add(&crowd->count, 1);
	if (at >= crowd->capacity)
		die("more turns than there can be");
	turn = &crowd->turns[at];
	*turn = (struct crowd_turn){ .asked = asked, .got = got, .who = who, .fence = leash_lock_fence(lock) };
	leash_lock_token(lock, turn->token, sizeof turn->token);
	hold();
	atomic_fetch_sub(&crowd->inside, 1);
	turn->gave = crowd_now();
	if (leash_lock_release(lock, &err) != LEASH_OK)
		die("leash: %s", err.text);
}

/* Its connection and the scripts are there when it takes part. */
static void
warm_up(leash_client *client, unsigned who)
{
	leash_lock *lock;
	leash_error err;
	char name[32];

	snprintf(name, sizeof name, "warm-up-%u", who);
	if (leash_lock_new(&lock, client, name, NULL, &err) != LEASH_OK ||
	    leash_lock_acquire(lock, LEASH_FOREVER, &err) != LEASH_OK ||
	    leash_lock_release(lock, &err) != LEASH_OK)
		die("leash: %s", err.text);
	leash_lock_free(lock);
}

static int
contend(void *arg)
{
	const struct contender *me = arg;
	struct crowd *crowd = me->crowd;
	leash_client *client;
	leash_lock *lock;
	leash_error err;

	if (leash_open(&client, LEASH_OPTIONS(.uri = crowd->uri), &err) != LEASH_OK ||
	    leash_lock_new(&lock, client, crowd->name, LEASH_LOCK_OPTIONS(.fair = crowd->fair), &err) != LEASH_OK)
		die("leash: %s", err.text);
	warm_up(client, me->who);
	stage_raise(&crowd->ready);
	stage_await(&crowd->go, 1);
	do
		take_turn(crowd, lock, me->who);
	while (crowd_now() < crowd->ended + (int64_t)me->who * LEAVE_NS);
	leash_lock_free(lock);
	leash_close(client);
	return 0;
}

/* ---- the crowd ---- */

struct crowd *
crowd_new(const char *uri, const char *name, bool fair, unsigned processes, int64_t run_ns)
{
	size_t capacity = (size_t)((run_ns + CROWD_MAX * LEAVE_NS) / (CROWD_HOLD_MS * MS_NS)) + 100 * CROWD_MAX;
	size_t size = sizeof(struct crowd) + capacity * sizeof(struct crowd_turn);
	struct crowd *crowd = child_share(size);

	if (processes > CROWD_MAX)
		die("more than %d processes", CROWD_MAX);
	snprintf(crowd->uri, sizeof crowd->uri, "%s", uri);
	snprintf(crowd->name, sizeof crowd->name, "%s", name);
	crowd->fair = fair;
	crowd->processes = processes;
	crowd->run_ns = run_ns;
	crowd->size = size;
	crowd->capacity = capacity;
	for (unsigned i = 0; i < processes; i++) {
		struct contender contender = { crowd, i }; /* the child's stack is a copy of this one */

		crowd->pids[i] = child_run(contend, &contender);
	}
	stage_await(&crowd->ready, processes);
	return crowd;
}

/* False: it has not ended yet. */
static bool
has_ended(pid_t pid)
{
	int status;
	pid_t ended = waitpid(pid, &status, WNOHANG);

	if (ended == 0)
		return false;
	if (ended != pid)
		die("process %d is no child of this one", (int)pid);
	if (WIFSIGNALED(status))
		die("process %d was ended by signal %d (%s)", (int)pid, WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) != 0)
		die("process %d ended with status %d", (int)pid, WEXITSTATUS(status));
	return true;
}

/* How many of them had to be killed. */
static unsigned
see_out(struct crowd *crowd)
{
	int64_t limit = await_limit_ns((double)crowd->run_ns / 1e9 + PATIENCE_S);
	unsigned hung = 0;

	for (unsigned i = 0; i < crowd->processes; i++) {
		bool ended;

		while (!(ended = has_ended(crowd->pids[i])) && !await_is_past(limit))
			await_ms(10);
		if (ended)
			continue;
		fprintf(stderr, "bench: contender %u of %s (process %d) hangs: killed\n", i, crowd->name, (int)crowd->pids[i]);
		child_kill(crowd->pids[i]);
		hung++;
	}
	return hung;
}

struct crowd_result
crowd_run(struct crowd *crowd)
{
	struct crowd_result result = { .turns = crowd->turns };

	result.began = crowd->began = crowd_now();
	result.ended = crowd->ended = crowd->began + crowd->run_ns;
	stage_set(&crowd->go, 1);
	result.hung = see_out(crowd);
	result.count = atomic_load(&crowd->count);
	result.overlaps = atomic_load(&crowd->overlaps);
	for (size_t i = 1; i < result.count; i++)
		result.regressions += crowd->turns[i].fence <= crowd->turns[i - 1].fence;
	return result;
}

void
crowd_free(struct crowd *crowd)
{
	child_unshare(crowd, crowd->size);
}

/* ---- PING ---- */

/* They send in turn, so that each has cooled down as much since its last one as a contender between two holds. */
struct pings {
	int port;
	unsigned processes;
	int64_t run_ns, ended;
	size_t count, capacity;
	sem_t turns[CROWD_MAX];
	double ns[];
};

struct pinger {
	struct pings *pings;
	unsigned who;
};

static void
ping(struct pings *pings, redisContext *connection)
{
	int64_t sent;
	void *reply;

	hold();
	sent = crowd_now();
	reply = redisCommand(connection, "PING");
	pings->ns[pings->count++] = (double)(crowd_now() - sent);
	if (reply == NULL)
		die("hiredis: %s", connection->errstr);
	freeReplyObject(reply);
}

static int
ping_in_turn(void *arg)
{
	const struct pinger *me = arg;
	struct pings *pings = me->pings;
	redisContext *connection = plain_connection(pings->port);
	bool over = false;

	while (!over) {
		while (sem_wait(&pings->turns[me->who]) != 0 && errno == EINTR)
			continue;
		if (pings->ended == 0)
			pings->ended = crowd_now() + pings->run_ns;
		over = crowd_now() >= pings->ended || pings->count == pings->capacity;
		if (!over)
			ping(pings, connection);
		sem_post(&pings->turns[(me->who + 1) % pings->processes]);
	}
	redisFree(connection);
	return 0;
}

double
crowd_ping(int port, unsigned processes, int64_t run_ns)
{
	size_t capacity = (size_t)(run_ns / (CROWD_HOLD_MS * MS_NS)) + 1;
	size_t size = sizeof(struct pings) + capacity * sizeof(double);
	struct pings *pings = child_share(size);
	pid_t pids[CROWD_MAX];
	double middle;

	if (processes > CROWD_MAX)
		die("more than %d processes", CROWD_MAX);
	pings->port = port;
	pings->processes = processes;
	pings->run_ns = run_ns;
	pings->capacity = capacity;
	for (unsigned i = 0; i < processes; i++)
		sem_init(&pings->turns[i], 1, 0);
	for (unsigned i = 0; i < processes; i++) {
		struct pinger pinger = { pings, i };

		pids[i] = child_run(ping_in_turn, &pinger);
	}
	sem_post(&pings->turns[0]);
	for (unsigned i = 0; i < processes; i++)
		child_wait(pids[i]);
	middle = median(pings->ns, pings->count);
	for (unsigned i = 0; i < processes; i++)
		sem_destroy(&pings->turns[i]);
	child_unshare(pings, size);
	return middle;
}
