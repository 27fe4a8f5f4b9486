/* One lock, here and in Java: each sentence does something on both sides. CLASSPATH has Redisson and Agent, which does
 * what it is told (Agent.java); tests/redisson/run.sh sees to that. In the deployment that LEASH_TEST_DEPLOYMENT names:
 * single or cluster. */
#include "tests/support/deployment.h"
#include "tests/support/leashed.h"
#include "tests/support/sweep.h"
#include "tests/support/test.h"
#include "tests/support/trouble.h"

#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { WATCHDOG_MS = 3000, JVMS = 2, JAVA_THREADS = 2, PROCESSES = 2, THREADS = 4 };

struct java {
	pid_t pid; /* 0: there is none */
	FILE *to, *from;
};

/* What is done on both sides, in steps with semicolons between them:
 *
 *     java ORDER = ANSWER       see Agent.java; without ORDER it only answers, without ANSWER it does not yet
 *     java dies                 it is another one in the next story
 *     VERB [MS]                 here: see `verbs` */
struct story {
	const char *name, *steps;
};

static struct deployment *place;
static const char *uri;
static struct java java;
static leash_client *client;
static leash_lock *lock;
static leash_error err;

/* ---- the Java side ---- */

static void
tell(struct java *j, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(j->to, format, args);
	va_end(args);
	fputc('\n', j->to);
	fflush(j->to);
}

static void
expect(struct java *j, const char *answer)
{
	char line[200];

	if (fgets(line, sizeof line, j->from) == NULL)
		fail_msg("Java has ended");
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, answer);
}

static void
start_java(struct java *j, int watchdog_ms)
{
	struct words words = {.count = 0};
	int to[2], from[2];
	char ms[12], address[40];

	snprintf(address, sizeof address, "redis://127.0.0.1:%d", place->all->node[0].told);
	snprintf(ms, sizeof ms, "%d", watchdog_ms);
	words_add(&words, "/usr/bin/env", "java", "-XX:TieredStopAtLevel=1", "Agent", address, ms,
	          deployment_name(place->kind));
	assert_int_equal(pipe2(to, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
	assert_int_equal(sweep_spawn(&j->pid, words.at, environ, (const int[]){to[0], from[1], STDERR_FILENO}, NULL), 0);
	sweep_process(j->pid);
	words_free(&words);
	close(to[0]);
	close(from[1]);
	j->to = fdopen(to[1], "w");
	j->from = fdopen(from[0], "r");
	expect(j, "ready");
}

static void
kill_java(struct java *j)
{
	if (j->pid == 0)
		return;
	child_kill(j->pid);
	fclose(j->to);
	fclose(j->from);
	j->pid = 0;
}

/* ---- around ---- */

static void
start(void)
{
	signal(SIGPIPE, SIG_IGN);
	place = deployment_start_with(deployment_chosen(), NULL);
	uri = deployment_uri(place);
}

static void
stop(void)
{
	kill_java(&java);
	deployment_stop(place);
}

static void
flush(void)
{
	for (size_t i = 0; i < deployment_masters(place); i++)
		server_say(deployment_master(place, i), "FLUSHALL");
}

static void
set_up(void)
{
	const struct story *story = given;
	const char *name = story != NULL && strstr(story->steps, "{tenant}:orders") != NULL ? "{tenant}:orders" : "orders";

	flush();
	if (java.pid == 0)
		start_java(&java, WATCHDOG_MS);
	client = leashed_open(uri, LEASH_OPTIONS(.lease_ms = WATCHDOG_MS));
	lock = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.mode = LEASH_REDISSON));
}

static void
tear_down(void)
{
	leash_lock_free(lock);
	leash_close(client);
}

FIXTURE(set_up, tear_down);
GROUP(start, stop);

/* ---- what is done here ---- */

static int
hold_and_die(void *unused)
{
	leash_client *mine = leashed_open(uri, LEASH_OPTIONS(.lease_ms = WATCHDOG_MS));
	leash_lock *held = leashed_lock(mine, "orders", LEASH_LOCK_OPTIONS(.mode = LEASH_REDISSON));

	(void)unused;
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	raise(SIGKILL);
	return 1;
}

static bool
is_held_twice(void)
{
	leash_lock_info info = {.size = sizeof info};

	assert_status(LEASH_OK, leash_lock_inspect(lock, &info, &err));
	return info.held && info.no_queue && info.depth == 2 && info.remaining_ms > 0;
}

static void
lose(void)
{
	await_true_for(!leash_lock_held(lock), WATCHDOG_MS / 1000);
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
}

#define VERBS(X) \
	X(acquires, assert_status(LEASH_OK, leash_lock_acquire(lock, ms, &err))) \
	X(cannot, assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, ms, &err))) \
	X(holds, assert_true(leash_lock_held(lock))) \
	X(releases, assert_status(LEASH_OK, leash_lock_release(lock, &err))) \
	X(loses, lose()) \
	X(sees_it_held_twice, assert_true(is_held_twice())) \
	X(breaks, assert_status(LEASH_OK, leash_lock_break(lock, &err))) \
	X(dies_with_it, child_end(child_run(hold_and_die, NULL))) \
	X(rests, await_ms(ms))

#define VERB_FUNCTION(name, ...) \
	static void name(int64_t ms) \
	{ \
		(void)ms; \
		__VA_ARGS__; \
	}
VERBS(VERB_FUNCTION)

static const struct {
	const char *name;
	void (*act)(int64_t ms);
} verbs[] = {
#define VERB_ROW(name, ...) {#name, name},
	VERBS(VERB_ROW)
};

static void
order_java(char *order)
{
	char *answer = strstr(order, "= ");

	if (strcmp(order, "dies") == 0) {
		kill_java(&java);
	} else {
		if (answer != order)
			tell(&java, "%.*s", (int)(answer != NULL ? answer - 1 - order : (ptrdiff_t)strlen(order)), order);
		if (answer != NULL)
			expect(&java, answer + 2);
	}
}

static void
play(const char *steps)
{
	char copy[500], *rest = copy;

	assert_in_range(snprintf(copy, sizeof copy, "%s", steps), 1, sizeof copy - 1);
	for (char *step; (step = strsep(&rest, ";")) != NULL;) {
		size_t i = 0, n = strcspn(step += strspn(step, " "), " ");

		if (strncmp(step, "java ", 5) == 0) {
			order_java(step + 5);
			continue;
		}
		while (i < COUNT(verbs) && (strlen(verbs[i].name) != n || strncmp(verbs[i].name, step, n) != 0))
			i++;
		if (i == COUNT(verbs))
			fail_msg("nobody can do '%s'", step);
		verbs[i].act(strtoll(step + n, NULL, 10));
	}
}

static const struct story stories[] = {
	{"what_java_holds_is_not_to_be_had_here",
	 "java lock orders 0 = true; cannot 0; cannot 300; java unlock orders = released; acquires 0; releases"},
	{"what_is_held_here_is_not_to_be_had_in_java",
	 "acquires 0; java lock orders 0 = false; java lock orders 300 = false;"
	 "java unlock orders = IllegalMonitorStateException; holds; releases; java lock orders 0 = true;"
	 "java unlock orders = released"},
	{"whose_name_has_braces_is_one_lock_too",
	 "java hold {tenant}:orders 300; java = held; acquires 20000; java = released; java lock {tenant}:orders 20000;"
	 "rests 300; releases; java = true; java unlock {tenant}:orders = released"},
	{"nested_it_is_held_until_it_is_released_as_often",
	 "acquires 0; acquires 0; releases; java lock orders 0 = false; releases; java lock orders 0 = true;"
	 "java lock orders 0 = true; java unlock orders = released; cannot 0; java unlock orders = released;"
	 "acquires 0; releases"},
	{"both_renew_what_they_hold", /* for one and a half leases and more */
	 "java hold orders 6000; java = held; cannot 4500; java = released; acquires 5000; java lock orders 4500 = false;"
	 "holds; releases"},
	{"what_java_held_is_free_when_its_lease_ended",
	 "java lock orders 0 = true; java dies; cannot 0; acquires 7000; releases"},
	{"what_a_process_here_held_is_free_when_its_lease_ended",
	 "dies_with_it; java lock orders 0 = false; java lock orders 12000 = true; java unlock orders = released"},
	{"what_java_unlocks_by_force_is_lost_here", "acquires 0; java force orders = true; loses; acquires 0; releases"},
	{"what_is_broken_here_is_lost_in_java",
	 "java lock orders 0 = true; java lock orders 0 = true; sees_it_held_twice; breaks; acquires 0;"
	 "java unlock orders = IllegalMonitorStateException; releases"},
};

SENTENCES(it_is_so_on_both_sides, stories)
{
	play(((const struct story *)given)->steps);
}

/* ---- waking each other ---- */

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t); /* that of System.nanoTime() */
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* It asks every second, too: what comes in half of that, on a machine that is not late, came by a message. */
SENTENCE(java_wakes_who_waits_here)
{
	lag_begin();
	play("java hold orders 2300; java = held");
	int64_t began = now_ns();
	acquires(20000);
	assert_true(now_ns() - began < 2800 * MS + lag_end());
	play("java = released; releases");
}

SENTENCE(a_release_here_wakes_java) /* which sleeps for as long as the lease, else */
{
	leash_lock *kept = leashed_lock(client, "long", LEASH_LOCK_OPTIONS(.mode = LEASH_REDISSON, .lease_ms = 30000));

	assert_status(LEASH_OK, leash_lock_acquire(kept, 0, &err));
	play("java lock long 60000; rests 1000");
	lag_begin();
	int64_t began = now_ns();
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	play("java = true");
	assert_true(now_ns() - began < 1000 * MS + lag_end());
	play("java unlock long = released");
	leash_lock_free(kept);
}

/* ---- contending ---- */

struct turn {
	int64_t asked, entered, left;
	bool is_java;
};

static char *folder;
static int counter; /* a file with it */
static int64_t contend_until;

static void
take_turn(FILE *history, leash_lock *contended)
{
	int64_t n, asked = now_ns(), entered;
	leash_error why;

	if (leash_lock_acquire(contended, LEASH_FOREVER, &why) != LEASH_OK) {
		fprintf(history, "failed: %s\n", why.text);
		return;
	}
	entered = now_ns();
	bool counts = pread(counter, &n, sizeof n, 0) == sizeof n;
	usleep(1000);
	n = (int64_t)htobe64(be64toh((uint64_t)n) + 1);
	if (!counts || pwrite(counter, &n, sizeof n, 0) != sizeof n)
		fprintf(history, "failed: the counter\n");
	fprintf(history, "c %" PRId64 " %" PRId64 " %" PRId64 "\n", asked, entered, now_ns());
	if (leash_lock_release(contended, &why) != LEASH_OK)
		fprintf(history, "failed: %s\n", why.text);
}

static void *
contend(void *mine)
{
	leash_lock *contended = leashed_lock(mine, "orders", LEASH_LOCK_OPTIONS(.mode = LEASH_REDISSON));
	char *path = text_of("%s/c.%d", folder, gettid());
	unsigned seed = (unsigned)gettid();
	FILE *history = fopen(path, "w");

	free(path);
	while (now_ns() < contend_until) {
		take_turn(history, contended);
		usleep((unsigned)rand_r(&seed) % 10000);
	}
	fclose(history);
	leash_lock_free(contended);
	return NULL;
}

static int
run_threads(void *unused)
{
	leash_client *mine = leashed_open(uri, NULL);
	pthread_t threads[THREADS];

	(void)unused;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, contend, mine);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	leash_close(mine);
	return 0;
}

static int
by_entry(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return (x->entered > y->entered) - (x->entered < y->entered);
}

static struct turn *
read_turns(size_t *count)
{
	struct turn *turns = NULL;
	char *command = text_of("cat %s/*.*", folder), line[200], who[8];
	FILE *all = popen(command, "r");

	free(command);
	*count = 0;
	while (fgets(line, sizeof line, all) != NULL) {
		turns = realloc(turns, (*count + 1) * sizeof *turns);
		struct turn *t = &turns[*count];
		if (sscanf(line, "%7s %" SCNd64 " %" SCNd64 " %" SCNd64, who, &t->asked, &t->entered, &t->left) != 4)
			fail_msg("%s", line);
		t->is_java = who[0] == 'j';
		++*count;
	}
	pclose(all);
	qsort(turns, *count, sizeof *turns, by_entry);
	return turns;
}

/* The longest time in which it was free and somebody waited for it; and there is never more than one inside. */
static void
judge_turns(const struct turn *turns, size_t count, int seconds)
{
	size_t by_java = 0, overlaps = 0;
	int64_t longest = 0, waiting = INT64_MAX;

	for (size_t i = count; i-- > 1;) {
		int64_t from = turns[i - 1].left;

		if (turns[i].asked < waiting)
			waiting = turns[i].asked; /* who came in then, or later */
		if (waiting > from)
			from = waiting;
		overlaps += turns[i].entered < turns[i - 1].left;
		if (turns[i].entered - from > longest)
			longest = turns[i].entered - from;
	}
	for (size_t i = 0; i < count; i++)
		by_java += turns[i].is_java;
	print_message("%zu turns here, %zu in Java, %zu overlaps, at most %" PRId64 " ms free while somebody waited\n",
	              count - by_java, by_java, overlaps, longest / MS);
	assert_int_equal(overlaps, 0);
	assert_true(longest < 1000 * MS);
	assert_true(by_java > (size_t)seconds && count - by_java > (size_t)seconds);
}

/* Without a client of this process, whose threads the children would have. */
SENTENCE(whoever_contends_one_is_inside_and_all_get_on, BETWEEN(flush, NULL))
{
	const char *text = getenv("LEASH_TEST_SECONDS");
	int seconds = text != NULL ? atoi(text) : 30;
	struct java jvms[JVMS];
	pid_t children[PROCESSES];
	int64_t n = 0;
	size_t count;

	folder = sweep_folder();
	char *path = text_of("%s/counter", folder);
	counter = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(counter, &n, sizeof n), sizeof n);
	for (int i = 0; i < JVMS; i++)
		start_java(&jvms[i], 30000); /* a message that it misses it misses for so long */
	contend_until = now_ns() + seconds * 1000 * MS;
	for (int i = 0; i < JVMS; i++)
		tell(&jvms[i], "contend orders %d %d %s %s/java.%d", seconds, JAVA_THREADS, path, folder, i);
	for (int i = 0; i < PROCESSES; i++)
		children[i] = child_run(run_threads, NULL);
	for (int i = 0; i < PROCESSES; i++)
		child_wait(children[i]);
	for (int i = 0; i < JVMS; i++) {
		expect(&jvms[i], "done");
		kill_java(&jvms[i]);
	}
	struct turn *turns = read_turns(&count);
	assert_int_equal(pread(counter, &n, sizeof n, 0), sizeof n);
	close(counter);
	judge_turns(turns, count, seconds);
	assert_int_equal(be64toh((uint64_t)n), count);
	free(turns);
	free(path);
	sweep_remove(folder);
}
