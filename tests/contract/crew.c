/* See crew.h. */
#include "tests/contract/crew.h"

#include "tests/support/await.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct server *server;
struct monitor *monitor;
leash_client *client;
char renew_sha[41];

static char ask_sha[41], release_sha[41];

/* ---- threads that want the lock ---- */

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

void
freeze(struct member *m)
{
	struct sigaction action = {.sa_handler = stand_still}; /* no SA_RESTART: ThreadSanitizer runs handlers between calls only */
	uint32_t n = stage_now(&frozen);

	sigaction(SIGUSR1, &action, NULL);
	assert_int_equal(pthread_kill(m->thread, SIGUSR1), 0);
	stage_await(&frozen, n + 1);
}

void
thaw(void)
{
	stage_set(&thawed, stage_now(&frozen));
}

/* Those of the present test. A test that fails leaves threads behind, which must not outlive what they look at. */
static struct member pool[80];
static size_t pool_used;

struct member *
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

bool
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

void
set_out(struct member *m, leash_lock *lock)
{
	m->lock = lock;
	if (m->wait_ms == 0)
		m->wait_ms = LEASH_FOREVER;
	assert_int_equal(pthread_create(&m->thread, NULL, take_and_give_back, m), 0);
	m->runs = true;
}

void
join(struct member *m, leash_lock *lock)
{
	set_out(m, lock);
	await_true(goes_on_sleeping(m));
	assert_int_equal(stage_now(&m->answered), 0);
}

void
await_answer(struct member *m, leash_status status)
{
	leash_error err;

	stage_await(&m->answered, 1);
	err = m->err;
	assert_status(status, m->status);
}

void
await_hold(struct member *m)
{
	await_answer(m, LEASH_OK);
	assert_true(m->held);
	assert_int_equal(m->depth, 1);
}

leash_status
released(struct member *m)
{
	stage_set(&m->go, 1);
	m->runs = false;
	assert_int_equal(pthread_join(m->thread, NULL), 0);
	return m->released;
}

void
end(struct member *m)
{
	assert_int_equal(released(m), LEASH_OK);
}

struct own
acquire(leash_lock *lock)
{
	struct own own;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	own.fence = leash_lock_fence(lock);
	leash_lock_token(lock, own.token, sizeof own.token);
	return own;
}

void
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

uint64_t
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

size_t
asks(void)
{
	return monitor_count(monitor, ask_sha);
}

size_t
releases(void)
{
	return monitor_count(monitor, release_sha);
}

void
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

void
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

int64_t
places(const char *name)
{
	return server_integer(server, "ZCOUNT leash:{%s}:queue (0 +inf", name);
}

/* ---- fixtures ---- */

int
open_client(void **state)
{
	(void)state;
	client = leashed_open(server_uri_tcp(server), LEASH_OPTIONS(.lease_ms = LONG_MS));
	monitor = monitor_start(server);
	return 0;
}

int
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

int
crew_run(const char *name, const struct CMUnitTest *tests, size_t count)
{
	return _cmocka_run_group_tests(name, tests, count, start, stop);
}
