/* Hand-offs of a plain lock between the threads of one process: what is sent for them, who comes when, and where they end.
 *
 * What was sent is told by MONITOR and, as to how many writes it took, by the kernel: the client's connections are TCP, and
 * TCP_INFO counts the segments that carried data. A thread "waits" once the kernel says that it sleeps and goes on sleeping:
 * a waiter behind a hold of its own process says nothing to anybody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/await.h"
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/server.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A turn that ends by count only, and leases that are not renewed during a test: all that is sent is counted. */
#define LONG_MS 60000
#define TURN(...) LEASH_LOCK_OPTIONS(.handoff_ms = LONG_MS, __VA_ARGS__)

static struct server *server;
static struct monitor *monitor;
static leash_client *client;
static char ask_sha[41], release_sha[41], renew_sha[41];

/* ---- threads that want the lock ---- */

struct member {
	leash_lock *lock;
	int64_t wait_ms, lease_ms;
	leash_cancel *cancel;
	bool keeps;              /* ends without a release */
	bool runs;               /* and is to be joined */
	pthread_t thread;
	_Atomic pid_t tid;
	long switches;           /* of its context, when we looked last */
	int calm;                /* so often in a row it slept and had not run in between */
	struct stage answered;   /* 1: the acquire has returned, and what follows says how */
	struct stage go;         /* 1: it may release and end */
	leash_status status, released;
	leash_error err;
	uint64_t fence;
	unsigned depth;
	bool held;
	char token[LEASH_TOKEN_MAX];
};

/* A thread that is next, and cannot run: a signal handler keeps it. */
static struct stage frozen, thawed;

static void
stand_still(int signal)
{
	(void)signal;
	stage_raise(&frozen);
	while (stage_now(&thawed) < stage_now(&frozen))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* It sleeps in its line, where it has nothing that others wait for. */
static void
freeze(struct member *m)
{
	struct sigaction action = {.sa_handler = stand_still}; /* no SA_RESTART: ThreadSanitizer runs handlers between calls only */
	uint32_t n = stage_now(&frozen);

	sigaction(SIGUSR1, &action, NULL);
	assert_int_equal(pthread_kill(m->thread, SIGUSR1), 0);
	stage_await(&frozen, n + 1);
}

static void
thaw(void)
{
	stage_set(&thawed, stage_now(&frozen));
}

/* Those of the present test. A test that fails leaves threads behind, which must not outlive what they look at. */
static struct member pool[80];
static size_t pool_used;

static struct member *
muster(size_t n)
{
	struct member *members = &pool[pool_used];

	pool_used += n;
	assert_true(pool_used <= sizeof pool / sizeof *pool);
	return members;
}

static void
dismiss_all(void)
{
	thaw();
	for (size_t i = 0; i < pool_used; i++) {
		stage_set(&pool[i].go, 1);
		if (pool[i].runs)
			pthread_join(pool[i].thread, NULL);
	}
	memset(pool, 0, sizeof pool);
	pool_used = 0;
}

static void *
take_and_give_back(void *arg)
{
	struct member *m = arg;

	m->tid = gettid();
	m->status = leash_lock_acquire_with(m->lock, LEASH_ACQUIRE(.wait_ms = m->wait_ms, .lease_ms = m->lease_ms, .cancel = m->cancel), &m->err);
	m->fence = leash_lock_fence(m->lock);
	m->depth = leash_lock_depth(m->lock);
	m->held = leash_lock_held(m->lock);
	leash_lock_token(m->lock, m->token, sizeof m->token);
	stage_set(&m->answered, 1);
	stage_await(&m->go, 1);
	if (m->status == LEASH_OK && !m->keeps)
		m->released = leash_lock_release(m->lock, &m->err);
	return NULL;
}

static bool
goes_on_sleeping(struct member *m)
{
	char path[64], line[128], state = '?';
	long switches = -1;
	FILE *file;

	snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)m->tid);
	file = m->tid != 0 ? fopen(path, "r") : NULL;
	if (file == NULL)
		return false;
	while (fgets(line, sizeof line, file) != NULL) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "voluntary_ctxt_switches: %ld", &switches);
	}
	fclose(file);
	m->calm = state == 'S' && switches == m->switches ? m->calm + 1 : 0;
	m->switches = switches;
	return m->calm >= 5;
}

/* `m` has its terms. It is asking for the lock when this returns. */
static void
set_out(struct member *m, leash_lock *lock)
{
	m->lock = lock;
	if (m->wait_ms == 0)
		m->wait_ms = LEASH_FOREVER;
	assert_int_equal(pthread_create(&m->thread, NULL, take_and_give_back, m), 0);
	m->runs = true;
}

/* The same; and it sleeps. */
static void
join(struct member *m, leash_lock *lock)
{
	set_out(m, lock);
	await_true(goes_on_sleeping(m));
	assert_int_equal(stage_now(&m->answered), 0);
}

static void
await_answer(struct member *m, leash_status status)
{
	leash_error err;

	stage_await(&m->answered, 1);
	err = m->err;
	assert_status(status, m->status);
}

static void
await_hold(struct member *m)
{
	await_answer(m, LEASH_OK);
	assert_true(m->held);
	assert_int_equal(m->depth, 1);
}

static leash_status
released(struct member *m)
{
	stage_set(&m->go, 1);
	m->runs = false;
	assert_int_equal(pthread_join(m->thread, NULL), 0);
	return m->released;
}

static void
end(struct member *m)
{
	assert_int_equal(released(m), LEASH_OK);
}

/* The calling thread's hold. */
struct own {
	uint64_t fence;
	char token[LEASH_TOKEN_MAX];
};

static struct own
acquire(leash_lock *lock)
{
	struct own own;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	own.fence = leash_lock_fence(lock);
	leash_lock_token(lock, own.token, sizeof own.token);
	return own;
}

static void
release(leash_lock *lock)
{
	leash_error err;

	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

/* ---- what was sent ---- */

static uint64_t
segments_of(int fd)
{
	struct tcp_info info;
	socklen_t size = sizeof info;

	memset(&info, 0, sizeof info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
		return 0;
	return info.tcpi_data_segs_out - info.tcpi_total_retrans;
}

/* With data, that this process has sent to the server over TCP. The tests' own connections are no TCP. */
static uint64_t
segments(void)
{
	uint64_t sum = 0;

	for (int fd = 0; fd < 1024; fd++) {
		struct sockaddr_in peer;
		socklen_t size = sizeof peer;

		if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && peer.sin_family == AF_INET && ntohs(peer.sin_port) == server_port(server))
			sum += segments_of(fd);
	}
	return sum;
}

static size_t
asks(void)
{
	return monitor_count(monitor, ask_sha);
}

static size_t
releases(void)
{
	return monitor_count(monitor, release_sha);
}

/* All since the mark: a release of `token`, and behind it an ask for another one, in a single write since there were `before`. An
 * ask that came first would have taken a place in the queue. */
static void
assert_one_write_with_release_and_ask(const char *token, uint64_t before)
{
	char *line;

	assert_int_equal(segments() - before, 1);
	assert_int_equal(monitor_count(monitor, NULL), 2);
	assert_int_equal(releases(), 1);
	assert_int_equal(asks(), 1);
	assert_int_equal(monitor_count_in_scripts(monitor, "zadd"), 0);
	line = monitor_last(monitor, release_sha);
	assert_non_null(strstr(line, token));
	free(line);
	line = monitor_last(monitor, ask_sha);
	assert_null(strstr(line, token));
	free(line);
}

/* Nobody has the lock, nobody waits for it. */
static void
assert_free(const char *name)
{
	assert_int_equal(server_integer(server, "EXISTS leash:{%s} leash:{%s}:queue", name, name), 0);
}

static void
learn_sha(char out[static 41])
{
	char *line = monitor_last(monitor, "\"evalsha\" ");

	assert_non_null(line);
	assert_int_equal(sscanf(strcasestr(line, "\"evalsha\" ") + 10, "\"%40[0-9a-f]\"", out), 1);
	free(line);
}

/* ---- fixtures ---- */

static int
open_client(void **state)
{
	(void)state;
	client = leashed_open(server_uri_tcp(server), LEASH_OPTIONS(.lease_ms = LONG_MS));
	monitor = monitor_start(server);
	return 0;
}

/* Also after a test that failed in the middle. */
static int
close_client(void **state)
{
	(void)state;
	server_resume(server);
	leash_close(client);
	dismiss_all();
	monitor_stop(monitor);
	monitor = NULL;
	client = NULL;
	return 0;
}

static int
start(void **state)
{
	leash_lock *lock;
	leash_error err;

	server = server_start_tcp(NULL);
	open_client(state);
	lock = leashed_lock(client, "learn", NULL);
	for (int i = 0; i < 2; i++) { /* the first time the server may have to be told the scripts */
		acquire(lock);
		learn_sha(ask_sha);
		assert_status(LEASH_OK, leash_lock_extend(lock, LONG_MS, &err));
		learn_sha(renew_sha);
		release(lock);
		learn_sha(release_sha);
	}
	leash_lock_free(lock);
	close_client(state);
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	server_stop(server);
	return 0;
}

/* ---- within a turn ---- */

enum { CREW = 6 };

static void
within_a_turn_the_threads_follow_in_order_and_nothing_is_sent(void **state)
{
	leash_lock *lock = leashed_lock(client, "turn", TURN(.handoffs = 255));
	struct member *crew = muster(CREW);
	struct own own = acquire(lock);

	(void)state;
	for (int i = 0; i < CREW; i++)
		join(&crew[i], lock);
	monitor_mark(monitor);
	release(lock);
	for (int i = 0; i < CREW; i++) {
		await_hold(&crew[i]);
		for (int k = i + 1; k < CREW; k++)
			assert_int_equal(stage_now(&crew[k].answered), 0);
		assert_string_equal(crew[i].token, own.token);
		assert_int_equal(crew[i].fence, own.fence + (uint64_t)i + 1);
		assert_false(leash_lock_held(lock));
		assert_int_equal(monitor_count(monitor, NULL), 0);
		end(&crew[i]);
	}
	assert_int_equal(monitor_count(monitor, NULL), 1);
	assert_int_equal(releases(), 1);
	assert_free("turn");
	leash_lock_free(lock);
}

static void
a_try_does_not_come_between_those_who_wait(void **state)
{
	leash_lock *lock = leashed_lock(client, "try", TURN(.handoffs = 255));
	struct member *crew = muster(2);
	leash_error err;

	(void)state;
	acquire(lock);
	for (int i = 0; i < 2; i++)
		join(&crew[i], lock);
	release(lock);
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 0, &err));
	for (int i = 0; i < 2; i++) {
		await_hold(&crew[i]);
		assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 0, &err));
		end(&crew[i]);
	}
	acquire(lock);
	release(lock);
	leash_lock_free(lock);
}

static void
explicit_owners_follow_one_another_as_threads_do(void **state)
{
	leash_owner *owner[2];
	leash_lock *lock[2];
	struct member *heir = muster(1);
	struct own own;
	leash_error err;

	(void)state;
	heir->keeps = true;
	for (int i = 0; i < 2; i++) {
		assert_status(LEASH_OK, leash_owner_new(&owner[i], &err));
		lock[i] = leashed_lock(client, "owners", TURN(.handoffs = 255, .owner = owner[i]));
	}
	own = acquire(lock[0]);
	join(heir, lock[1]);
	monitor_mark(monitor);
	release(lock[0]);
	await_hold(heir);
	end(heir);
	assert_int_equal(monitor_count(monitor, NULL), 0);
	assert_string_equal(heir->token, own.token);
	assert_int_equal(heir->fence, own.fence + 1);
	assert_true(leash_lock_held(lock[1])); /* the thread has ended, its owner has not */
	assert_false(leash_lock_held(lock[0]));
	release(lock[1]);
	assert_free("owners");
	for (int i = 0; i < 2; i++) {
		leash_lock_free(lock[i]);
		leash_owner_free(owner[i]);
	}
}

/* ---- where a turn ends ---- */

static void
after_so_many_handoffs_a_release_and_an_ask_go_out_in_one_write(void **state)
{
	enum { HANDOFFS = 3, ALL = 5 };
	leash_lock *lock = leashed_lock(client, "count", TURN(.handoffs = HANDOFFS));
	struct member *crew = muster(ALL);
	struct own own;
	uint64_t before = segments();

	(void)state;
	own = acquire(lock);
	release(lock);
	assert_int_equal(segments() - before, 2); /* two writes are told from one */
	own = acquire(lock);
	for (int i = 0; i < ALL; i++)
		join(&crew[i], lock);
	before = segments();
	monitor_mark(monitor);
	release(lock);
	for (int i = 0; i < HANDOFFS; i++) {
		await_hold(&crew[i]);
		assert_string_equal(crew[i].token, own.token);
		assert_int_equal(crew[i].fence, own.fence + (uint64_t)i + 1);
		assert_int_equal(segments(), before);
		end(&crew[i]);
	}
	await_hold(&crew[HANDOFFS]);
	assert_one_write_with_release_and_ask(own.token, before);
	assert_string_not_equal(crew[HANDOFFS].token, own.token);
	assert_true(crew[HANDOFFS].fence > crew[HANDOFFS - 1].fence + 1);

	/* and the next turn begins */
	monitor_mark(monitor);
	end(&crew[HANDOFFS]);
	await_hold(&crew[HANDOFFS + 1]);
	assert_int_equal(monitor_count(monitor, NULL), 0);
	assert_string_equal(crew[HANDOFFS + 1].token, crew[HANDOFFS].token);
	assert_int_equal(crew[HANDOFFS + 1].fence, crew[HANDOFFS].fence + 1);
	end(&crew[HANDOFFS + 1]);
	assert_free("count");
	leash_lock_free(lock);
}

static void
unless_told_otherwise_a_turn_has_64_handoffs(void **state)
{
	enum { ALL = 66 };
	leash_lock *lock = leashed_lock(client, "many", TURN(.handoffs = 0));
	struct member *crew = muster(ALL);
	struct own own = acquire(lock);

	(void)state;
	for (int i = 0; i < ALL; i++)
		join(&crew[i], lock);
	release(lock);
	for (int i = 0; i < ALL; i++) {
		await_hold(&crew[i]);
		end(&crew[i]);
	}
	for (int i = 0; i < 64; i++) {
		assert_string_equal(crew[i].token, own.token);
		assert_int_equal(crew[i].fence, own.fence + (uint64_t)i + 1);
	}
	assert_string_not_equal(crew[64].token, own.token);
	assert_string_equal(crew[65].token, crew[64].token);
	assert_true(crew[64].fence > crew[63].fence + 1);
	leash_lock_free(lock);
}

/* One hold of `ms`, and somebody who waits: is it handed on? */
static void
check_hold_of(int64_t ms, const leash_lock_options *options, bool is_handed_on)
{
	leash_lock *lock = leashed_lock(client, "time", options);
	struct member *heir = muster(1);
	struct own own = acquire(lock);
	uint64_t before;

	join(heir, lock);
	before = segments();
	monitor_mark(monitor);
	await_ms(ms);
	release(lock);
	await_hold(heir);
	if (is_handed_on) {
		assert_string_equal(heir->token, own.token);
		assert_int_equal(monitor_count(monitor, NULL), 0);
	} else {
		assert_one_write_with_release_and_ask(own.token, before);
		assert_string_not_equal(heir->token, own.token);
		assert_true(heir->fence > own.fence + 1);
	}
	end(heir);
	assert_free("time");
	leash_lock_free(lock);
}

static void
after_so_many_milliseconds_a_release_and_an_ask_go_out_in_one_write(void **state)
{
	(void)state;
	check_hold_of(2, LEASH_LOCK_OPTIONS(.handoff_ms = 1), false);
	check_hold_of(41, LEASH_LOCK_OPTIONS(.handoff_ms = 40), false);
	check_hold_of(41, LEASH_LOCK_OPTIONS(.handoff_ms = LONG_MS), true);
	check_hold_of(11, NULL, false); /* unless told otherwise: 10 */
}

/* ---- what is not handed on ---- */

static void
without_handoffs_every_hold_is_asked_of_redis(void **state)
{
	leash_lock *lock = leashed_lock(client, "asked", TURN(.no_handoff = true));
	struct member *crew = muster(CREW);
	struct own own = acquire(lock);
	const char *token = own.token;
	uint64_t fence = own.fence;

	(void)state;
	for (int i = 0; i < CREW; i++)
		join(&crew[i], lock);
	for (int i = 0; i < CREW; i++) {
		uint64_t before = segments();

		monitor_mark(monitor);
		if (i == 0)
			release(lock);
		else
			end(&crew[i - 1]);
		await_hold(&crew[i]);
		assert_one_write_with_release_and_ask(token, before);
		assert_string_not_equal(crew[i].token, token);
		assert_true(crew[i].fence > fence + 1);
		token = crew[i].token;
		fence = crew[i].fence;
	}
	end(&crew[CREW - 1]);
	assert_free("asked");
	leash_lock_free(lock);
}

/* From a hold on these terms to a waiter on those. */
static void
check_terms(const leash_lock_options *mine, const leash_lock_options *theirs, int64_t their_lease_ms, bool is_handed_on)
{
	leash_lock *lock = leashed_lock(client, "terms", mine), *other = leashed_lock(client, "terms", theirs);
	struct member *heir = muster(1);
	struct own own = acquire(lock);

	heir->lease_ms = their_lease_ms;
	join(heir, other);
	monitor_mark(monitor);
	release(lock);
	await_hold(heir);
	assert_int_equal(strcmp(heir->token, own.token) == 0, is_handed_on);
	assert_int_equal(releases(), !is_handed_on);
	assert_int_equal(asks(), !is_handed_on);
	assert_int_equal(heir->fence == own.fence + 1, is_handed_on);
	end(heir);
	assert_free("terms");
	leash_lock_free(lock);
	leash_lock_free(other);
}

static void
a_hold_goes_through_redis_where_its_lease_would_change(void **state)
{
	const leash_lock_options *plain = TURN(.handoffs = 255);
	const leash_lock_options *shorter = TURN(.lease_ms = LONG_MS / 2);
	const leash_lock_options *no_renew = TURN(.no_renew = true);
	const leash_lock_options *bounded = TURN(.max_hold_ms = LONG_MS);

	(void)state;
	check_terms(plain, plain, 0, true);
	check_terms(plain, plain, LONG_MS, true);
	check_terms(shorter, plain, 0, false);
	check_terms(plain, shorter, 0, false);
	check_terms(plain, plain, LONG_MS / 2, false);
	check_terms(shorter, plain, LONG_MS / 2, true);
	check_terms(no_renew, plain, 0, false);
	check_terms(plain, no_renew, 0, false);
	check_terms(no_renew, no_renew, 0, false);
	check_terms(bounded, plain, 0, false);
	check_terms(plain, bounded, 0, false);
	check_terms(bounded, bounded, 0, false);
}

static void
a_hold_that_was_extended_goes_through_redis(void **state)
{
	leash_lock *lock = leashed_lock(client, "extended", TURN(.handoffs = 255));
	struct member *heir = muster(1);
	leash_error err;

	(void)state;
	acquire(lock);
	assert_status(LEASH_OK, leash_lock_extend(lock, 10 * LONG_MS, &err));
	join(heir, lock);
	monitor_mark(monitor);
	release(lock);
	await_hold(heir);
	assert_int_equal(releases(), 1);
	assert_true(server_integer(server, "PTTL leash:{extended}") <= LONG_MS);
	end(heir);
	leash_lock_free(lock);
}

static int64_t
places(const char *name)
{
	return server_integer(server, "ZCOUNT leash:{%s}:queue (0 +inf", name);
}

static void
a_fair_lock_is_never_handed_on(void **state)
{
	leash_lock *lock = leashed_lock(client, "fair", TURN(.fair = true, .handoffs = 255));
	struct member *crew = muster(CREW);
	struct own own = acquire(lock);
	const char *token = own.token;
	uint64_t fence = own.fence;

	(void)state;
	monitor_mark(monitor);
	for (int i = 0; i < CREW; i++) {
		set_out(&crew[i], lock);
		await_true(places("fair") == i + 1);
	}
	assert_int_equal(asks(), CREW);
	for (int i = 0; i < CREW; i++) {
		if (i == 0)
			release(lock);
		else
			end(&crew[i - 1]);
		assert_int_equal(releases(), i + 1);
		await_hold(&crew[i]);
		assert_string_not_equal(crew[i].token, token);
		assert_true(crew[i].fence > fence + 1);
		token = crew[i].token;
		fence = crew[i].fence;
	}
	end(&crew[CREW - 1]);
	assert_int_equal(asks(), CREW);
	assert_free("fair");
	leash_lock_free(lock);
}

/* ---- other processes ---- */

enum { LOOPERS = 4, TURNS = 8, PAGES = 1 << 16 };

struct page {
	bool is_child;
	char token[LEASH_TOKEN_MAX];
};

/* Written inside the lock only, but for the stages. */
struct diary {
	struct stage called;   /* so many turns of the child's are wanted */
	struct stage served;   /* and so many it had */
	_Atomic bool over;
	_Atomic uint32_t n;
	struct page page[PAGES];
};

static void
write_page(struct diary *diary, leash_lock *lock, bool is_child)
{
	uint32_t n = diary->n;

	if (n == PAGES)
		return;
	diary->page[n].is_child = is_child;
	leash_lock_token(lock, diary->page[n].token, sizeof diary->page[n].token);
	diary->n = n + 1;
}

static int
be_served(void *arg)
{
	struct diary *diary = arg;
	leash_client *own;
	leash_lock *lock;
	leash_error err;

	stage_await(&diary->called, 1);
	own = leashed_open(server_uri_tcp(server), LEASH_OPTIONS(.lease_ms = LONG_MS));
	lock = leashed_lock(own, "shared", NULL);
	for (uint32_t i = 0; i < TURNS; i++) {
		stage_await(&diary->called, i + 1);
		if (leash_lock_acquire(lock, LEASH_FOREVER, &err) != LEASH_OK)
			return 1;
		write_page(diary, lock, true);
		if (leash_lock_release(lock, &err) != LEASH_OK)
			return 2;
		stage_raise(&diary->served);
	}
	leash_lock_free(lock);
	leash_close(own);
	return 0;
}

struct looper {
	struct diary *diary;
	leash_lock *lock;
	pthread_t thread;
	leash_status status;
	leash_error err;
};

static void *
take_again_and_again(void *arg)
{
	struct looper *l = arg;

	while (!l->diary->over && (l->status = leash_lock_acquire(l->lock, LEASH_FOREVER, &l->err)) == LEASH_OK) {
		write_page(l->diary, l->lock, false);
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
		if ((l->status = leash_lock_release(l->lock, &l->err)) != LEASH_OK)
			break;
	}
	return NULL;
}

/* How many holds followed that of page `at` until the child's; all are of the turn to which that one belongs. */
static uint32_t
count_holds_before_child(const struct diary *diary, uint32_t at)
{
	uint32_t n = 0;

	while (!diary->page[at + n + 1].is_child) {
		n++;
		assert_true(at + n < diary->n);
		assert_string_equal(diary->page[at + n].token, diary->page[at].token);
	}
	return n;
}

static void
let_a_process_have_turns(const leash_lock_options *options, uint32_t most)
{
	struct diary *diary = child_share(sizeof *diary);
	pid_t child = child_run(be_served, diary); /* before there are threads */
	struct looper looper[LOOPERS];
	uint32_t at[TURNS], between = 0;
	leash_lock *lock;
	leash_error err;

	open_client(NULL);
	lock = leashed_lock(client, "shared", options);
	for (int i = 0; i < LOOPERS; i++) {
		looper[i] = (struct looper){.diary = diary, .lock = lock};
		assert_int_equal(pthread_create(&looper[i].thread, NULL, take_again_and_again, &looper[i]), 0);
	}
	for (uint32_t i = 0; i < TURNS; i++) {
		acquire(lock);
		at[i] = diary->n;
		write_page(diary, lock, false);
		stage_raise(&diary->called);
		await_true(places("shared") == 1);
		release(lock);
		stage_await(&diary->served, i + 1);
	}
	diary->over = true;
	for (int i = 0; i < LOOPERS; i++) {
		pthread_join(looper[i].thread, NULL);
		err = looper[i].err;
		assert_status(LEASH_OK, looper[i].status);
	}
	child_wait(child);
	assert_true(diary->n < PAGES);
	for (uint32_t i = 0; i < TURNS; i++) {
		uint32_t n = count_holds_before_child(diary, at[i]);

		assert_true(n <= most);
		between += n;
	}
	printf("# %u holds, %u of them in turns that another process waited for\n", diary->n, between);
	assert_true(between > 0 || most == 0);
	assert_free("shared");
	leash_lock_free(lock);
	close_client(NULL);
	child_unshare(diary, sizeof *diary);
}

static void
another_process_has_its_turn_after_one_of_this(void **state)
{
	(void)state;
	let_a_process_have_turns(TURN(.handoffs = 20), 20);
	let_a_process_have_turns(LEASH_LOCK_OPTIONS(.handoffs = 255, .handoff_ms = 1000), 255);
	let_a_process_have_turns(TURN(.no_handoff = true), 0);
}

/* ---- a hold that was handed on is one like any other ---- */

static void
what_was_handed_on_is_renewed_and_its_depth_begins_at_one(void **state)
{
	leash_lock *lock = leashed_lock(client, "kept", TURN(.lease_ms = 600, .handoffs = 255));
	struct member *heir = muster(1), *last = muster(1);
	leash_owner *owner;
	leash_lock *theirs;
	struct own own;
	leash_error err;

	(void)state;
	heir->keeps = true;
	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	theirs = leashed_lock(client, "kept", TURN(.lease_ms = 600, .handoffs = 255, .owner = owner));
	own = acquire(lock);
	acquire(lock);
	acquire(lock);
	await_true(strcmp(server_text(server, "HGET leash:{kept} %s", own.token), "3") == 0);
	join(heir, theirs);
	release(lock);
	release(lock);
	assert_int_equal(stage_now(&heir->answered), 0);
	release(lock);
	await_hold(heir); /* which says that its depth is 1 */
	end(heir);
	assert_string_equal(heir->token, own.token);
	await_true(strcmp(server_text(server, "HGET leash:{kept} %s", own.token), "1") == 0);
	acquire(theirs);
	assert_int_equal(leash_lock_depth(theirs), 2);
	await_true(strcmp(server_text(server, "HGET leash:{kept} %s", own.token), "2") == 0);
	monitor_mark(monitor);
	monitor_await(monitor, renew_sha, 4); /* more than a lease */
	assert_true(leash_lock_held(theirs));
	assert_int_equal(leash_lock_depth(theirs), 2);
	release(theirs);
	join(last, lock);
	release(theirs);
	await_hold(last);
	assert_string_equal(last->token, own.token);
	monitor_mark(monitor);
	end(last);
	await_ms(300); /* more than the time to the next renewal */
	assert_int_equal(monitor_count(monitor, renew_sha), 0);
	assert_free("kept");
	leash_lock_free(lock);
	leash_lock_free(theirs);
	leash_owner_free(owner);
}

struct losses {
	struct leashed_events events;
	_Atomic uint64_t fence;   /* of the last one that was lost */
};

static void
note_loss(void *arg, const leash_event *event)
{
	struct losses *losses = arg;

	if (event->type == LEASH_EVENT_LOST)
		losses->fence = event->fence;
	leashed_note_event(&losses->events, event);
}

static void
what_was_handed_on_and_is_lost_is_lost_for_its_present_owner_only(void **state)
{
	struct losses losses = {0};
	leash_lock *lock = leashed_lock(client, "lost", TURN(.lease_ms = 600, .handoffs = 255, .on_event = note_loss, .event_arg = &losses));
	struct member *victim = muster(1), *next = muster(1);
	struct own own = acquire(lock);
	leash_error err;

	(void)state;
	join(victim, lock);
	release(lock);
	await_hold(victim);
	assert_string_equal(victim->token, own.token);
	join(next, lock);
	assert_int_equal(server_integer(server, "DEL leash:{lost}"), 1);
	await_hold(next);
	assert_string_not_equal(next->token, own.token);
	assert_true(next->fence > victim->fence);
	await_true(losses.events.count[LEASH_EVENT_LOST] == 1);
	assert_int_equal(losses.fence, victim->fence);
	assert_int_equal(leash_lock_depth(lock), 0); /* the first owner has nothing to unwind, */
	assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
	end(next);
	acquire(lock); /* and may have it again */
	assert_int_equal(released(victim), LEASH_LOST);
	assert_true(leash_lock_held(lock));
	release(lock);
	assert_free("lost");
	leash_lock_free(lock);
	assert_int_equal(losses.events.total, 1);
}

/* ---- who is passed over ---- */

/* The lock went by whoever was next. */
static void
assert_heir_of(struct member *heir, const struct own *own)
{
	await_hold(heir);
	assert_string_equal(heir->token, own->token);
	assert_int_equal(heir->fence, own->fence + 1);
	assert_int_equal(monitor_count(monitor, NULL), 0);
}

static void
who_was_canceled_while_it_was_next_is_passed_over(void **state)
{
	leash_lock *lock = leashed_lock(client, "cancel", TURN(.handoffs = 255));
	leash_error err;

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct member *gone = muster(1), *heir = muster(1);
		struct own own = acquire(lock);

		assert_status(LEASH_OK, leash_cancel_new(&gone->cancel, &err));
		join(gone, lock);
		join(heir, lock);
		monitor_mark(monitor);
		if (i % 2 == 0)
			freeze(gone);
		leash_cancel_fire(gone->cancel);
		release(lock); /* it is the first in the line still, or leaves at this moment */
		assert_heir_of(heir, &own);
		thaw();
		await_answer(gone, LEASH_CANCELED);
		end(gone);
		end(heir);
		leash_cancel_free(gone->cancel);
	}
	assert_free("cancel");
	leash_lock_free(lock);
}

static void
who_ran_out_of_time_while_it_was_next_is_passed_over(void **state)
{
	leash_lock *lock = leashed_lock(client, "late", TURN(.handoffs = 255));

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct member *gone = muster(1), *heir = muster(1);
		struct own own = acquire(lock);

		gone->wait_ms = 500;
		join(gone, lock);
		freeze(gone); /* long before its time is up */
		join(heir, lock);
		monitor_mark(monitor);
		await_ms(501);
		release(lock);
		assert_heir_of(heir, &own);
		thaw();
		await_answer(gone, LEASH_TIMEOUT);
		end(gone);
		end(heir);
	}
	assert_free("late");
	leash_lock_free(lock);
}

static void
who_is_next_at_the_end_of_its_time_has_the_lock_or_leaves_it_to_the_next(void **state)
{
	leash_lock *lock = leashed_lock(client, "end", TURN(.handoffs = 255));
	int late = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct member *gone = muster(1), *heir = muster(1);
		struct own own = acquire(lock);
		int64_t set_out_at = await_now_ns();

		gone->wait_ms = 40;
		set_out(gone, lock);
		await_true(goes_on_sleeping(gone) || stage_now(&gone->answered) == 1);
		join(heir, lock);
		monitor_mark(monitor);
		while (await_now_ns() < set_out_at + 40000000 + i * 25000)
			continue; /* as near to its deadline as may be, which is a little later than 40 ms from then */
		release(lock);
		stage_await(&gone->answered, 1);
		late += gone->status == LEASH_TIMEOUT;
		await_answer(gone, gone->status == LEASH_OK ? LEASH_OK : LEASH_TIMEOUT);
		end(gone);
		await_hold(heir);
		assert_string_equal(heir->token, own.token);
		assert_int_equal(heir->fence, own.fence + (gone->status == LEASH_OK ? 2 : 1));
		assert_int_equal(monitor_count(monitor, NULL), 0);
		end(heir);
	}
	printf("# %d of 20 were late\n", late);
	assert_free("end");
	leash_lock_free(lock);
}

static void
a_thread_that_ends_as_the_holder_passes_the_lock_to_those_who_wait(void **state)
{
	struct leashed_events events = {0};
	leash_lock *lock = leashed_lock(client, "ended", TURN(.handoffs = 255, .on_event = leashed_note_event, .event_arg = &events));
	struct member *gone = muster(1), *heir = muster(1), *last = muster(1);

	(void)state;
	gone->keeps = true;
	acquire(lock);
	join(gone, lock);
	release(lock);
	await_hold(gone); /* it was handed on, and now its thread ends */
	join(heir, lock);
	join(last, lock);
	end(gone);
	await_hold(heir);
	assert_string_not_equal(heir->token, gone->token);
	assert_true(heir->fence > gone->fence + 1);
	end(heir);
	await_hold(last);
	assert_string_equal(last->token, heir->token);
	end(last);
	await_true(events.count[LEASH_EVENT_ABANDONED] == 1);
	await_true(server_integer(server, "EXISTS leash:{ended} leash:{ended}:queue") == 0);
	assert_int_equal(events.total, 1);
	leash_lock_free(lock);
}

/* ---- a server that stands still ---- */

/* The lock is held, and somebody waits, when the server stops; `is_time` says when to release. */
static void
check_trouble(int64_t lease_ms, int64_t timeout_ms, bool jeopardy, int64_t ms)
{
	static struct leashed_events events; /* outlives a test that fails */
	struct member *heir = muster(1);
	leash_lock *lock;
	struct own own;
	int64_t began;
	leash_error err;

	client = leashed_open(server_uri_tcp(server),
	                      LEASH_OPTIONS(.lease_ms = lease_ms, .timeout_ms = timeout_ms, .on_event = leashed_note_event, .event_arg = &events));
	lock = leashed_lock(client, "trouble", TURN(.handoffs = 255));
	own = acquire(lock);
	began = await_now_ns();
	join(heir, lock);
	server_pause(server);
	if (jeopardy)
		await_true(events.count[LEASH_EVENT_JEOPARDY] == 1);
	while (await_now_ns() < began + ms * 1000000)
		await_ms(1);
	assert_status(LEASH_UNKNOWN, leash_lock_release(lock, &err));
	assert_int_equal(stage_now(&heir->answered), 0);
	server_resume(server);
	await_hold(heir);
	assert_string_not_equal(heir->token, own.token);
	assert_true(heir->fence > own.fence + 1);
	end(heir);
	leash_lock_free(lock);
	close_client(NULL);
	await_true(server_integer(server, "EXISTS leash:{trouble} leash:{trouble}:queue") == 0);
}

static void
a_hold_in_jeopardy_is_not_handed_on(void **state)
{
	(void)state;
	check_trouble(6000, 100, true, 0);
}

static void
a_hold_whose_renewal_is_overdue_is_not_handed_on(void **state)
{
	(void)state;
	check_trouble(2000, 500, false, 1020); /* the renewal is to be answered within 500 ms of 610 to 667 */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(another_process_has_its_turn_after_one_of_this, close_client),
		cmocka_unit_test_setup_teardown(within_a_turn_the_threads_follow_in_order_and_nothing_is_sent, open_client, close_client),
		cmocka_unit_test_setup_teardown(a_try_does_not_come_between_those_who_wait, open_client, close_client),
		cmocka_unit_test_setup_teardown(explicit_owners_follow_one_another_as_threads_do, open_client, close_client),
		cmocka_unit_test_setup_teardown(after_so_many_handoffs_a_release_and_an_ask_go_out_in_one_write, open_client, close_client),
		cmocka_unit_test_setup_teardown(unless_told_otherwise_a_turn_has_64_handoffs, open_client, close_client),
		cmocka_unit_test_setup_teardown(after_so_many_milliseconds_a_release_and_an_ask_go_out_in_one_write, open_client, close_client),
		cmocka_unit_test_setup_teardown(without_handoffs_every_hold_is_asked_of_redis, open_client, close_client),
		cmocka_unit_test_setup_teardown(a_hold_goes_through_redis_where_its_lease_would_change, open_client, close_client),
		cmocka_unit_test_setup_teardown(a_hold_that_was_extended_goes_through_redis, open_client, close_client),
		cmocka_unit_test_setup_teardown(a_fair_lock_is_never_handed_on, open_client, close_client),
		cmocka_unit_test_setup_teardown(what_was_handed_on_is_renewed_and_its_depth_begins_at_one, open_client, close_client),
		cmocka_unit_test_setup_teardown(what_was_handed_on_and_is_lost_is_lost_for_its_present_owner_only, open_client, close_client),
		cmocka_unit_test_setup_teardown(who_was_canceled_while_it_was_next_is_passed_over, open_client, close_client),
		cmocka_unit_test_setup_teardown(who_ran_out_of_time_while_it_was_next_is_passed_over, open_client, close_client),
		cmocka_unit_test_setup_teardown(who_is_next_at_the_end_of_its_time_has_the_lock_or_leaves_it_to_the_next, open_client, close_client),
		cmocka_unit_test_setup_teardown(a_thread_that_ends_as_the_holder_passes_the_lock_to_those_who_wait, open_client, close_client),
		cmocka_unit_test_teardown(a_hold_in_jeopardy_is_not_handed_on, close_client),
		cmocka_unit_test_teardown(a_hold_whose_renewal_is_overdue_is_not_handed_on, close_client),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
