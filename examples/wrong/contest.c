/* The contest of contest.h: processes that want one lock, faults that kill or pause them, and a judge.
 *
 * For each job, a process writes to a pipe from when to when it was inside and within its lease. The parent reads these
 * notes, and looks for two that overlap. All times are of one clock of one machine. */
#include "contest.h"

#include <leash.h>

#include "../redis.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PROCESSES = 4,
	SHORTEST_LEASE_MS = 100, /* that leash accepts */
	REMEMBERED = 1024,       /* notes that a new one is compared with */
	SILENCE_US = 1000000,    /* if nobody got in for this long: was the lock left behind? */
	TOO_LONG_US = 15000000,  /* under leash, this long without a job is a failure */
	GO_ON_US = 1000000,      /* after the first overlap, to count how often it happens */
	EXIT_USAGE = 64,
};

/* One job. */
struct note {
	int process;
	bool lost;                /* leash said that the lock was lost, and the job ended there */
	int64_t from_us, to_us;   /* inside, and within the lease; both 0 if it was over before the job began */
};

/* What all processes see. */
static struct {
	atomic_bool over;
	struct {
		atomic_bool busy;     /* has the lock, as far as it knows */
		atomic_uint refused;  /* how often */
	} process[PROCESSES];
} *shared;

static const struct contest *contest;
static const char *uri;
static bool with_leash;
static int me; /* of the parent: none */

static int64_t
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t
random_of(int64_t from, int64_t to)
{
	return from + (int64_t)((double)rand() / ((double)RAND_MAX + 1) * (double)(to - from));
}

static int
lease_ms(void)
{
	return with_leash && contest->lease_ms < SHORTEST_LEASE_MS ? SHORTEST_LEASE_MS : contest->lease_ms;
}

int
contest_me(void)
{
	return me;
}

long long
ask(redisContext *redis, const char *format, ...)
{
	va_list args;
	redisReply *reply;
	long long number = 0;

	va_start(args, format);
	reply = redisvCommand(redis, format, args);
	va_end(args);
	if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
		fprintf(stderr, "%s: %s: %s\n", contest->title, format, reply != NULL ? reply->str : redis->errstr);
		exit(1);
	}
	if (reply->type == REDIS_REPLY_INTEGER)
		number = reply->integer;
	else if (reply->type == REDIS_REPLY_STATUS)
		number = 1;
	else if (reply->type == REDIS_REPLY_STRING)
		number = atoll(reply->str);
	freeReplyObject(reply);
	return number;
}

/* ---- a process ---- */

/* The wrong lock, or leash. */
struct lock {
	redisContext *redis;
	int64_t ends_us; /* the lease, counted from before the request */
	leash_client *client;
	leash_lock *leash;
};

static void
open_lock(struct lock *lock)
{
	leash_error err;
	leash_status status;

	if (!with_leash) {
		lock->redis = connect_to(uri);
		if (lock->redis == NULL)
			exit(1);
		return;
	}
	status = leash_open(&lock->client, LEASH_OPTIONS(.uri = uri, .lease_ms = (uint32_t)lease_ms()), &err);
	if (status == LEASH_OK)
		status = leash_lock_new(&lock->leash, lock->client, contest->key, NULL, &err);
	if (status != LEASH_OK) {
		fprintf(stderr, "leash: %s\n", err.text);
		exit(1);
	}
}

static void
close_lock(struct lock *lock)
{
	redisFree(lock->redis);
	leash_lock_free(lock->leash);
	leash_close(lock->client);
}

/* Once; false: somebody else has it. */
static bool
get_wrong_lock(struct lock *lock)
{
	int64_t asked_us = now_us(), lease_us = contest->lease_ms * 1000;

	/* The server's clock counts whole milliseconds, and its rate is not quite ours. */
	lock->ends_us = lease_us == 0 ? INT64_MAX : asked_us + lease_us - lease_us / 100 - 2000;
	if (contest->try_lock(lock->redis))
		return true;
	usleep(100);
	return false;
}

static bool
get_leash(struct lock *lock)
{
	leash_error err;
	leash_status status = leash_lock_acquire(lock->leash, 1000, &err);

	if (status == LEASH_OK || status == LEASH_TIMEOUT)
		return status == LEASH_OK;
	fprintf(stderr, "leash: %s\n", err.text);
	exit(1);
}

/* False: the contest is over. */
static bool
enter(struct lock *lock)
{
	while (!shared->over) {
		if (with_leash ? get_leash(lock) : get_wrong_lock(lock)) {
			shared->process[me].busy = true;
			return true;
		}
		shared->process[me].refused++;
	}
	return false;
}

static void
leave(struct lock *lock)
{
	leash_error err;
	leash_status status = LEASH_OK;

	if (with_leash)
		status = leash_lock_release(lock->leash, &err);
	else
		contest->unlock(lock->redis);
	shared->process[me].busy = false;
	if (status != LEASH_OK && status != LEASH_LOST) { /* leash promises to report a loss, here after a pause */
		fprintf(stderr, "leash: %s\n", err.text);
		exit(1);
	}
}

static bool
is_mine(const struct lock *lock)
{
	return with_leash ? leash_lock_held(lock->leash) : now_us() < lock->ends_us;
}

/* A job checks now and then whether it still has the lock. Under leash it ends if not. A wrong lock does not report
 * the loss, so the job continues; but the note does not include what it does from then on. */
static struct note
work(const struct lock *lock)
{
	struct note note = {.process = me, .from_us = now_us()};
	bool slow = contest->fault == CONTEST_SLOW && random_of(0, 4) == 0;
	int64_t shortest_us = slow ? 2200 * lease_ms() : contest->job_us / 2;
	int64_t left_us = random_of(shortest_us, shortest_us + (slow ? 500 * lease_ms() : contest->job_us));
	bool mine = is_mine(lock);

	note.to_us = note.from_us;
	if (!mine)
		note.from_us = note.to_us = 0;
	while (left_us > 0 && (mine || !with_leash)) {
		int64_t step_us = left_us < 1000 ? left_us : 1000, seen_us;

		usleep((useconds_t)step_us);
		left_us -= step_us;
		seen_us = now_us();
		mine = mine && is_mine(lock);
		if (mine)
			note.to_us = seen_us;
	}
	note.lost = with_leash && !mine;
	return note;
}

static void
live(int notes)
{
	struct lock lock = {0};

	open_lock(&lock);
	while (enter(&lock)) {
		struct note note = work(&lock);

		leave(&lock);
		if (write(notes, &note, sizeof note) != sizeof note) /* whole, because it is shorter than PIPE_BUF */
			exit(1);
	}
	close_lock(&lock);
}

/* ---- the parent ---- */

static struct {
	pid_t pid[PROCESSES];
	int read_end, write_end;
	int paused;         /* this process; -1: none */
	int64_t resume_us;
	unsigned kills, pauses;
	int64_t began_us, killed_us;
} crew = {.paused = -1};

static struct {
	struct note note[REMEMBERED];
	unsigned jobs, lost, overlaps;
	struct note first[2];            /* that overlapped */
	int64_t first_us, last_us;       /* the first overlap, the last note */
	int64_t longest_us;              /* from a note to the next */
	unsigned refused[PROCESSES];     /* as of the last note, or start of the process */
	int64_t end_us;                  /* when the contest was over */
	bool stuck;
} judge;

static bool
start(int process)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		me = process;
		srand((unsigned)getpid());
		close(crew.read_end);
		live(crew.write_end);
		exit(0);
	}
	if (pid < 0)
		perror("fork");
	crew.pid[process] = pid;
	return pid > 0;
}

static bool
kill_one(int64_t now)
{
	int process = (int)random_of(0, PROCESSES);

	kill(crew.pid[process], SIGKILL);
	waitpid(crew.pid[process], NULL, 0);
	crew.kills++;
	crew.killed_us = now;
	shared->process[process].busy = false;
	judge.refused[process] = shared->process[process].refused;
	return start(process);
}

/* Only a process that has the lock is paused: a pause of another one shows nothing. */
static void
pause_one(int64_t now)
{
	int process = (int)random_of(0, PROCESSES);

	if (shared->process[process].busy) {
		kill(crew.pid[process], SIGSTOP);
		crew.paused = process;
		crew.pauses++;
		crew.resume_us = now + random_of(1200, 2000) * lease_ms();
	}
}

static void
resume(void)
{
	if (crew.paused >= 0)
		kill(crew.pid[crew.paused], SIGCONT);
	crew.paused = -1;
}

/* Called about once a millisecond. False: no process can be started. */
static bool
do_harm(int64_t now)
{
	/* Only after somebody got in since the last kill: on a slow machine all would be killed before they begin. */
	if (contest->fault == CONTEST_KILLS && judge.last_us > crew.killed_us && random_of(0, 10) == 0)
		return kill_one(now);
	if (crew.paused >= 0 && now >= crew.resume_us)
		resume();
	else if (contest->fault == CONTEST_PAUSES && crew.paused < 0)
		pause_one(now);
	return true;
}

static void
compare(const struct note *new)
{
	for (unsigned i = 0; i < REMEMBERED; i++) {
		const struct note *old = &judge.note[i];

		if (old->process != new->process && old->from_us < new->to_us && new->from_us < old->to_us) {
			if (judge.overlaps++ == 0) {
				judge.first[0] = *old;
				judge.first[1] = *new;
				judge.first_us = old->from_us > new->from_us ? old->from_us : new->from_us;
			}
			return;
		}
	}
}

static void
read_notes(int64_t now)
{
	struct note note;

	while (read(crew.read_end, &note, sizeof note) == sizeof note) {
		compare(&note);
		judge.note[judge.jobs++ % REMEMBERED] = note;
		judge.lost += note.lost;
		if (now - judge.last_us > judge.longest_us)
			judge.longest_us = now - judge.last_us;
		judge.last_us = now;
		for (int i = 0; i < PROCESSES; i++)
			judge.refused[i] = shared->process[i].refused;
	}
}

/* Every living process was refused twice since a process last got in, so no living process has the lock. */
static bool
is_held_by_nobody(void)
{
	for (int i = 0; i < PROCESSES; i++)
		if (shared->process[i].refused - judge.refused[i] < 2)
			return false;
	return true;
}

/* A wrong lock: its key exists without an expiry, and no living process has it. Under leash: it took too long. */
static bool
is_stuck(redisContext *redis, int64_t silent_us)
{
	if (with_leash)
		return silent_us > TOO_LONG_US;
	return silent_us > SILENCE_US && is_held_by_nobody() && ask(redis, "PTTL %s", contest->key) == -1;
}

/* On a slow machine a contest continues until a job was done and, if there are pauses, leash has reported a loss. */
static bool
nothing_was_seen(void)
{
	return judge.jobs == judge.lost || (with_leash && contest->fault == CONTEST_PAUSES && judge.lost == 0);
}

/* Until the time is over, or everything was seen. */
static bool
watch(redisContext *redis, int64_t seconds)
{
	int64_t end_us = now_us() + seconds * 1000000, now;
	bool good = true;

	crew.began_us = crew.killed_us = judge.last_us = now_us();
	while (good && ((now = now_us()) < end_us || nothing_was_seen())) {
		good = do_harm(now) && waitpid(-1, NULL, WNOHANG) == 0;
		read_notes(now);
		judge.stuck = is_stuck(redis, now - judge.last_us);
		if (judge.stuck || (judge.overlaps > 0 && !with_leash && now - judge.first_us > GO_ON_US))
			break;
		usleep((useconds_t)random_of(0, 2000));
	}
	judge.end_us = now_us();
	return good;
}

static bool
all_end(void)
{
	bool good = true;
	int status;

	shared->over = true;
	resume();
	while (waitpid(-1, &status, 0) > 0)
		good &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
	return good;
}

/* ---- the result ---- */

static void
tell_plan(void)
{
	static const char *const faults[] = {
		[CONTEST_KILLS] = "now and then a process is killed (kill -9)",
		[CONTEST_PAUSES] = "now and then the holder is paused (SIGSTOP) for longer than its lease",
		[CONTEST_SLOW] = "one job in four takes longer than two leases",
		[CONTEST_CLOCKS] = "the wall clock of process 1 is ahead",
	};

	printf("%s%s: %d processes want one lock; %s\n", with_leash ? "leash in place of " : "", contest->title, PROCESSES,
	       faults[contest->fault]);
	fflush(stdout);
}

static void
tell_work(void)
{
	printf("  %u jobs were done in %.1f s", judge.jobs - judge.lost, (double)(judge.end_us - crew.began_us) / 1e6);
	if (contest->fault == CONTEST_KILLS)
		printf(", %u processes were killed", crew.kills);
	if (contest->fault == CONTEST_PAUSES)
		printf(", the holder was paused %u times", crew.pauses);
	printf("\n");
	if (judge.lost > 0)
		printf("  %u more jobs stopped, because leash said that the lock was lost\n", judge.lost);
	if (with_leash)
		printf("  the longest time in which nobody got in: %" PRId64 " ms\n", judge.longest_us / 1000);
}

static void
tell_overlaps(void)
{
	const struct note *a = &judge.first[0], *b = &judge.first[1];
	int64_t until_us = a->to_us < b->to_us ? a->to_us : b->to_us;

	printf("  two had the lock at once, both within their leases: %u times\n", judge.overlaps);
	if (judge.overlaps > 0)
		printf("  the first time after %" PRId64 " ms: processes %d and %d, for %" PRId64 " us\n",
		       (judge.first_us - crew.began_us) / 1000, a->process + 1, b->process + 1, until_us - judge.first_us);
}

static void
tell_stuck(void)
{
	int64_t since_ms = (judge.last_us - crew.began_us) / 1000;

	if (with_leash)
		printf("  after %" PRId64 " ms nobody got in any more\n", since_ms);
	else
		printf("  after %" PRId64 " ms the holder was killed, and nobody can get the lock any more: "
		       "its key has no expiry\n", since_ms);
}

/* True if the result is the expected one. */
static bool
tell(int64_t seconds)
{
	bool broke = judge.overlaps > 0 || judge.stuck;

	tell_work();
	if (judge.overlaps > 0 || with_leash)
		tell_overlaps();
	if (judge.stuck)
		tell_stuck();
	if (with_leash)
		printf("%s\n", broke ? "leash BROKE" : "leash held");
	else if (broke)
		printf("this lock is broken\n");
	else
		printf("this lock did NOT break in %" PRId64 " s\n", seconds);
	return broke != with_leash && !nothing_was_seen();
}

static bool
prepare(void)
{
	int ends[2];

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
		perror("contest");
		return false;
	}
	crew.read_end = ends[0];
	crew.write_end = ends[1];
	srand((unsigned)getpid());
	return true;
}

static bool
hold_contest(redisContext *redis, int64_t seconds)
{
	bool good = true;

	ask(redis, "DEL %s", contest->key);
	for (int i = 0; i < PROCESSES; i++)
		good = good && start(i);
	good = good && watch(redis, seconds);
	good = all_end() && good;
	read_notes(now_us());
	ask(redis, "DEL %s", contest->key);
	return good;
}

/* NULL, or the wrong argument. */
static const char *
read_arguments(int argc, char **argv, int64_t *seconds)
{
	char *end = NULL;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--leash") == 0) {
			with_leash = true;
		} else if (strcmp(argv[i], "--seconds") == 0) {
			*seconds = i + 1 < argc ? strtol(argv[i + 1], &end, 10) : 0;
			if (*seconds < 1 || *seconds > 86400 || *end != '\0')
				return i + 1 < argc ? argv[i + 1] : argv[i];
			i++;
		} else if (argv[i][0] == '-' || uri != NULL) {
			return argv[i];
		} else {
			uri = argv[i];
		}
	}
	return NULL;
}

int
contest_run(const struct contest *it, int argc, char **argv)
{
	int64_t seconds = 10;
	const char *wrong = read_arguments(argc, argv, &seconds);
	redisContext *redis;
	bool good;

	contest = it;
	if (wrong != NULL) {
		fprintf(stderr, "%s: '%s' cannot be used here; usage: %s [--leash] [--seconds 1..86400] [URI]\n", *argv,
		        wrong, *argv);
		return EXIT_USAGE;
	}
	redis = connect_to(uri);
	if (redis == NULL || !prepare()) {
		redisFree(redis);
		return 1;
	}
	tell_plan();
	good = hold_contest(redis, seconds);
	good = tell(seconds) && good;
	redisFree(redis);
	return good ? 0 : 1;
}
