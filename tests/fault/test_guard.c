/* The server is restarted, away, or left: who is guarded is granted nothing that a restart may have given twice, who is
 * not granted is told why, and the client comes back whatever happened at the moment of the break. */
#include "tests/contract/actor.h"
#include "tests/support/child.h"
#include "tests/support/fake.h"
#include "tests/support/leashed.h"
#include "tests/support/proxy.h"
#include "tests/support/sanitizer.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the guard ---- */

/* Until both clients listen for wake-ups again, each on its own channel. */
static bool
both_listen(struct server *server)
{
	return strchr(server_text(server, "PUBSUB CHANNELS leash:*"), ' ') != NULL;
}

/* A place in the queue outlives a restart of a server that keeps its data. Its guarded waiter must not have the lock
 * before the time is over, although it is given to that place: the holder before may not be the only one whom the
 * server has forgotten. */
static void
guarded_after_a_restart(bool hears_messages)
{
	enum { GUARD_MS = 4000, GRAIN_MS = 1100 }; /* the server counts its life in whole seconds */
	struct server *server = server_start((const char *const[]){"--appendonly", "yes", "--appendfsync", "always", NULL});
	struct proxy *proxy = proxy_start(server_socket(server));
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 60000, .timeout_ms = 10000));
	leash_client *guarded = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.lease_ms = 60000));
	leash_lock *held = leashed_lock(client, "guarded", NULL);
	leash_cancel *cancel = leashed_cancel();
	struct actor leaver = {.lock = leashed_lock(guarded, "guarded", NULL), .wait_ms = LEASH_FOREVER, .cancel = cancel};
	struct actor heir = {.lock = leashed_lock(guarded, "guarded", LEASH_LOCK_OPTIONS(.restart_guard_ms = GUARD_MS)),
	                     .wait_ms = LEASH_FOREVER};
	leash_error err;
	int64_t down;

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	/* this server is young as well, so the place is taken by somebody who does not mind */
	actor_start(&leaver);
	actor_start(&heir);
	actor_tell(&leaver, actor_acquire);
	await_true(server_integer(server, "ZCOUNT leash:{guarded}:queue (0 +inf") == 1);
	actor_tell(&heir, actor_acquire);
	actor_await_asleep(&heir);
	leash_cancel_fire(cancel);
	assert_heard(LEASH_CANCELED, &leaver);
	if (!hears_messages)
		proxy_drop_messages(proxy, 100);
	server_kill(server);
	down = await_now_ns();
	server_restart(server);
	await_true(both_listen(server));
	assert_int_equal(server_integer(server, "ZCOUNT leash:{guarded}:queue (0 +inf"), 1);
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_heard(LEASH_OK, &heir);
	assert_true(heir.ended_ns - down >= (GUARD_MS - GRAIN_MS) * MS);
	assert_true(hears_messages || proxy_dropped(proxy) > 0);
	assert_done(LEASH_OK, &heir, actor_release);
	actor_dismiss(&heir);
	actor_dismiss(&leaver);
	leash_cancel_free(cancel);
	leash_lock_free(held);
	leash_close(client);
	leash_close(guarded);
	proxy_stop(proxy);
	server_stop(server);
}

SENTENCE(no_message_grants_before_the_guard_is_over)
{
	guarded_after_a_restart(true);
}

SENTENCE(no_word_grants_before_the_guard_is_over)
{
	guarded_after_a_restart(false);
}

/* Behind one address another server takes over, which has been up for long: it has forgotten no less than one that was
 * restarted. */
SENTENCE(a_server_in_the_place_of_another_is_guarded_as_one_that_was_restarted)
{
	enum { GUARD_MS = 3000, GRAIN_MS = 2000 };
	struct server *server = server_start(NULL), *other = server_start(NULL);
	leash_client *client;
	leash_lock *lock;
	leash_error err;

	await_true(server_integer(other, "EXISTS x") == 0);
	await_ms(GUARD_MS + GRAIN_MS); /* servers count their lives in whole seconds */
	client = leashed_open(server_uri(server), NULL);
	lock = leashed_lock(client, "guarded", LEASH_LOCK_OPTIONS(.restart_guard_ms = GUARD_MS));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 60000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	server_kill(server);
	assert_int_equal(rename(server_socket(other), server_socket(server)), 0);
	await_true(leash_lock_acquire(lock, 0, &err) == LEASH_UNAVAILABLE && strstr(err.text, "restart_guard_ms") != NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 60000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	server_stop(other);
	server_stop(server);
}

/* Nobody could see a restart: asked for and impossible is an error, at once and in words that say what to do. */
SENTENCE(without_info_a_guard_is_refused_and_not_left_out)
{
	struct server *server = server_start(NULL);
	leash_client *client;
	leash_lock *guarded, *plain;
	leash_error err;
	char uri[256];

	server_text(server, "ACL SETUSER u on >hunter2 ~* &* +@all -info");
	snprintf(uri, sizeof uri, "unix://u:hunter2@%s", server_socket(server));
	client = leashed_open(uri, NULL);
	guarded = leashed_lock(client, "guarded", LEASH_LOCK_OPTIONS(.restart_guard_ms = 1));
	plain = leashed_lock(client, "guarded", NULL);
	assert_status(LEASH_DENIED, leash_lock_acquire(guarded, 0, &err));
	assert_non_null(strstr(err.text, "permit INFO (+info)"));
	assert_status(LEASH_DENIED, leash_lock_acquire(guarded, LEASH_FOREVER, &err));
	assert_non_null(strstr(err.text, "restart_guard_ms"));
	assert_status(LEASH_DENIED, leash_lock_adopt(guarded, "00112233-4455-4677-8899-aabbccddeeff:1", &err));
	assert_non_null(strstr(err.text, "permit INFO (+info)"));
	assert_status(LEASH_OK, leash_lock_acquire(plain, 0, &err));
	assert_status(LEASH_OK, leash_lock_release(plain, &err));
	leash_lock_free(plain);
	leash_lock_free(guarded);
	leash_close(client);
	server_stop(server);
}

/* ---- why not ---- */

SENTENCE(beside_a_waiter_too_a_server_that_is_away_is_unavailable)
{
	struct server *server = server_start(NULL);
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = 300));
	leash_lock *lock = leashed_lock(client, "away", NULL);
	leash_cancel *cancel = leashed_cancel();
	struct actor waiter = {.lock = leashed_lock(client, "away", NULL), .wait_ms = LEASH_FOREVER, .cancel = cancel};
	leash_error err;

	server_kill(server);
	actor_start(&waiter);
	actor_tell(&waiter, actor_acquire);
	actor_await_asleep(&waiter);
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 0, &err));
	assert_non_null(strstr(err.text, server_uri(server)));
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 100, &err));
	assert_non_null(strstr(err.text, server_uri(server)));
	leash_cancel_fire(cancel);
	assert_heard(LEASH_CANCELED, &waiter);
	actor_dismiss(&waiter);
	leash_cancel_free(cancel);
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
}

SENTENCE(who_stands_behind_a_waiter_that_is_refused_hears_what_that_one_hears)
{
	enum { HOUR_MS = 3600000 };
	struct server *server = server_start(NULL);
	leash_client *client = leashed_open(server_uri(server), NULL), *other = leashed_open(server_uri(server), NULL);
	leash_lock *lock = leashed_lock(client, "behind", NULL), *held = leashed_lock(other, "behind", NULL);
	leash_cancel *cancel = leashed_cancel();
	leash_lock *guarded = leashed_lock(client, "behind", LEASH_LOCK_OPTIONS(.restart_guard_ms = HOUR_MS));
	struct actor refused = {.lock = guarded, .wait_ms = LEASH_FOREVER, .cancel = cancel};
	struct actor first = {.lock = leashed_lock(client, "behind", NULL), .wait_ms = LEASH_FOREVER};
	leash_error err;

	actor_start(&refused);
	actor_tell(&refused, actor_acquire);
	actor_await_asleep(&refused);
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 0, &err));
	assert_non_null(strstr(err.text, "restart_guard_ms"));
	assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 100, &err));
	assert_non_null(strstr(err.text, "restart_guard_ms"));
	leash_cancel_fire(cancel);
	assert_heard(LEASH_CANCELED, &refused);

	/* and behind one that only waits for its turn they wait for theirs */
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	actor_start(&first);
	actor_tell(&first, actor_acquire);
	await_true(server_integer(server, "ZCOUNT leash:{behind}:queue (0 +inf") == 1);
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 100, &err));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_heard(LEASH_OK, &first);
	assert_done(LEASH_OK, &first, actor_release);
	actor_dismiss(&first);
	actor_dismiss(&refused);
	leash_cancel_free(cancel);
	leash_lock_free(lock);
	leash_lock_free(held);
	leash_close(other);
	leash_close(client);
	server_stop(server);
}

/* ---- breaks ---- */

/* Slow motion: while it is on, a child steps a thread of ours through one instruction at a time, so that what else
 * happens can happen between any two. */
struct slowed {
	pid_t thread;
	_Atomic bool on, began, refused, enough;
};

/* Until it is off, resp. on again, or enough. False: the thread has ended. */
static bool
step_through(struct slowed *s)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, s->thread, NULL, NULL) != 0)
		return false;
	while (waitpid(s->thread, &status, __WALL) == s->thread && WIFSTOPPED(status)) {
		int signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		bool on = s->on && !s->enough;

		s->began = on;
		if (ptrace(on ? PTRACE_SINGLESTEP : s->enough ? PTRACE_DETACH : PTRACE_CONT, s->thread, NULL,
		           (void *)(intptr_t)signal) != 0)
			return false;
		if (!on)
			return true;
	}
	return false;
}

static int
keep_slow(void *arg)
{
	struct slowed *s = arg;

	s->refused = ptrace(PTRACE_SEIZE, s->thread, NULL, NULL) != 0;
	while (!s->refused && !s->enough) {
		while (!s->on && !s->enough)
			usleep(200);
		if (!step_through(s))
			return 1;
	}
	return 0;
}

/* The one thread of this process with that name. */
static pid_t
thread_called(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	pid_t found = 0;

	assert_non_null(tasks);
	while (found == 0 && (entry = readdir(tasks)) != NULL) {
		char path[300], line[32] = "";
		FILE *file;

		snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (file == NULL)
			continue;
		if (fgets(line, sizeof line, file) != NULL && strncmp(line, name, strlen(name)) == 0)
			found = atoi(entry->d_name);
		fclose(file);
	}
	closedir(tasks);
	return found;
}

struct extender {
	leash_lock *lock;
	_Atomic bool holds, stop;
	pthread_t thread;
};

static void *
extend_all_the_time(void *arg)
{
	struct extender *x = arg;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(x->lock, 10000, &err));
	x->holds = true;
	while (!x->stop)
		leash_lock_extend(x->lock, 3600000, &err);
	leash_lock_release(x->lock, &err);
	return NULL;
}

/* A handle is freed while it is held, of which the keeper is told, and then the connection breaks while somebody waits
 * for an answer, again and again: the one must not hide the other from the keeper, or nobody dials any more. */
SENTENCE(a_break_while_the_keeper_is_told_of_something_else_is_mended)
{
	const char *seconds = getenv("LEASH_TEST_BREAK_SECONDS");
	int64_t end = await_now_ns() + (seconds != NULL ? atoi(seconds) : 6) * 1000 * MS, worst_ns = 0;
	struct server *server = server_start(NULL);
	struct slowed *slowed = child_share(sizeof *slowed);
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = 10000, .lease_ms = 3600000));
	leash_lock *fresh = leashed_lock(client, "fresh", NULL);
	struct extender extender = {.lock = leashed_lock(client, "extended", NULL)};
	unsigned seed = 1, breaks = 0;
	pid_t stepper;
	leash_error err;

	slowed->thread = thread_called("leash-keeper");
	assert_true(slowed->thread > 0);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	stepper = child_run(keep_slow, slowed);
	assert_int_equal(pthread_create(&extender.thread, NULL, extend_all_the_time, &extender), 0);
	await_true(extender.holds);
	for (; await_now_ns() < end; breaks++) {
		leash_lock *freed;
		int64_t begun;
		char name[32];

		snprintf(name, sizeof name, "freed %u", breaks); /* the one before may still be held */
		freed = leashed_lock(client, name, NULL);
		assert_status(LEASH_OK, leash_lock_acquire(freed, 30000, &err));
		slowed->on = true;
		await_true(slowed->began || slowed->refused);
		leash_lock_free(freed);
		usleep((useconds_t)(rand_r(&seed) % (slowed->refused ? 100 : 8000)));
		server_integer(server, "CLIENT KILL TYPE normal SKIPME yes");
		await_ms(5);
		slowed->on = false;
		begun = await_now_ns();
		assert_status(LEASH_OK, leash_lock_acquire(fresh, 30000, &err));
		worst_ns = await_now_ns() - begun > worst_ns ? await_now_ns() - begun : worst_ns;
		assert_status(LEASH_OK, leash_lock_release(fresh, &err));
	}
	printf("# %u breaks%s, mended after at most %.1f ms\n", breaks, slowed->refused ? "" : " in slow motion",
	       (double)worst_ns / 1e6);
	slowed->enough = true;
	assert_status(LEASH_OK, leash_lock_acquire(fresh, 30000, &err));
	leash_lock_free(fresh); /* so that the keeper has something to do, and is let go */
	child_wait(stepper);
	child_unshare(slowed, sizeof *slowed);
	extender.stop = true;
	pthread_join(extender.thread, NULL);
	leash_lock_free(extender.lock);
	leash_close(client);
	server_stop(server);
}

/* ---- leaving ---- */

#if !UNDER_TSAN

static _Atomic bool in_handler, go_on;

static void
be_held_up(int signal)
{
	struct timespec ms = {.tv_nsec = 1000000};

	(void)signal;
	in_handler = true;
	while (!go_on)
		nanosleep(&ms, NULL);
}

/* It answers asks when it is told to, and everything else at once. */
static size_t
answer(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	const _Atomic bool *silent = ctx;
	struct timespec now;

	if (!fake_is(argc, argv, argl, 0, "EVALSHA") && !fake_is(argc, argv, argl, 0, "EVAL"))
		return FAKE_DEFAULT;
	if (*silent)
		return FAKE_SILENT;
	if (argc <= 8) /* a release, or after a new connection a renewal */
		return fake_say(out, size, ":1\r\n");
	clock_gettime(CLOCK_REALTIME, &now);
	return fake_say(out, size, ":%lld\r\n", (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

#endif

SENTENCE(a_refusal_that_is_read_late_does_not_end_the_connection_after_it)
{
#if UNDER_TSAN
	skip();
#else
	struct sigaction held_up = {.sa_handler = be_held_up, .sa_flags = SA_RESTART}, before;
	_Atomic bool silent = true;
	struct fake *fake = fake_start(answer, &silent);
	leash_client *client = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 30000));
	struct actor reader = {.lock = leashed_lock(client, "reader", NULL), .wait_ms = LEASH_FOREVER};
	struct actor late = {.lock = leashed_lock(client, "late", NULL), .wait_ms = LEASH_FOREVER};
	char both[128];
	struct timespec now;
	size_t accepted;

	sigaction(SIGUSR1, &held_up, &before);
	actor_start(&reader);
	actor_start(&late);
	await_true(fake_open(fake) == 2);
	/* the first who waits for an answer reads for all; the other cannot look at what was read for it */
	actor_tell(&reader, actor_acquire);
	await_true(fake_count(fake, "EVALSHA") == 1);
	actor_await_asleep(&reader);
	actor_tell(&late, actor_acquire);
	await_true(fake_count(fake, "EVALSHA") == 2);
	actor_await_asleep(&late);
	pthread_kill(late.thread, SIGUSR1);
	await_true(in_handler);
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(both, sizeof both, ":%lld\r\n-READONLY You can't write against a read only replica.\r\n",
	         (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	fake_send(fake, both, strlen(both));
	assert_heard(LEASH_OK, &reader);
	/* that connection breaks, and the next one is a good one */
	silent = false;
	fake_hang_up(fake);
	await_true(fake_accepted(fake) >= 4 && fake_open(fake) == 2);
	assert_done(LEASH_OK, &reader, actor_release);
	accepted = fake_accepted(fake);
	go_on = true;
	assert_heard(LEASH_OK, &late);
	assert_int_equal(fake_accepted(fake), accepted);
	assert_done(LEASH_OK, &late, actor_release);
	actor_dismiss(&reader);
	actor_dismiss(&late);
	leash_close(client);
	fake_stop(fake);
	sigaction(SIGUSR1, &before, NULL);
#endif
}
