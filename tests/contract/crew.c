/* See crew.h. */
#include "tests/contract/crew.h"

#include "tests/support/await.h"
#include "tests/support/quorum.h"

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
char renew_sha[41] = "evalsha";

static char ask_sha[41], release_sha[41];

/* One at each who takes writes; the first is `monitor`. */
static struct monitor *monitors[QUORUM_MOST];
static size_t monitor_total;

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

/* Is it where one of those is who take writes? */
static bool
is_server(const struct sockaddr_in *peer)
{
	struct server *at;

	for (size_t i = 0; (at = deployment_master(place, i)) != NULL; i++)
		if (ntohs(peer->sin_port) == server_port(at))
			return true;
	return false;
}

uint64_t
segments(void)
{
	uint64_t sum = 0;

	for (int fd = 0; fd < 1024; fd++) {
		struct sockaddr_in peer;
		socklen_t size = sizeof peer;

		if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && peer.sin_family == AF_INET && is_server(&peer))
			sum += segments_of(fd);
	}
	return sum;
}

void
mark(void)
{
	for (size_t i = 0; i < monitor_total; i++)
		monitor_mark(monitors[i]);
}

size_t
sent(const char *text)
{
	size_t most = 0;

	for (size_t i = 0; i < monitor_total; i++) {
		size_t n = monitor_count(monitors[i], text);

		most = n > most ? n : most;
	}
	return most;
}

static char *
last(const char *text)
{
	char *line = NULL;

	for (size_t i = 0; i < monitor_total && line == NULL; i++)
		line = monitor_last(monitors[i], text);
	return line;
}

size_t
asks(void)
{
	return sent(ask_sha);
}

size_t
releases(void)
{
	return sent(release_sha);
}

void
assert_nothing_sent(void)
{
	if (!place_is(PLACE_MAJORITY))
		assert_int_equal(sent("leash:{"), 0);
}

void
assert_only_release_sent(void)
{
	if (place_is(PLACE_MAJORITY))
		return;
	assert_int_equal(sent("leash:{"), 1);
	assert_int_equal(releases(), 1);
}

void
assert_one_write_with_release_and_ask(const char *token, uint64_t before)
{
	char *line;

	if (place_is(PLACE_MAJORITY))
		return;
	assert_int_equal(segments() - before, 1);
	assert_int_equal(sent("leash:{"), 2);
	assert_int_equal(releases(), 1);
	assert_int_equal(asks(), 1);
	for (size_t i = 0; i < monitor_total; i++)
		assert_int_equal(monitor_count_in_scripts(monitors[i], "zadd"), 0);
	line = last(release_sha);
	assert_non_null(strstr(line, token));
	free(line);
	line = last(ask_sha);
	assert_null(strstr(line, token));
	free(line);
}

void
assert_free(const char *name)
{
	place_assert_free(name);
}

/* Of the last script with so many keys, of which this lock's is the first: others come in the background. */
static void
learn_sha(char out[static 41], int keys, const char *name)
{
	char with[64], *line, *call;

	snprintf(with, sizeof with, "\" \"%d\" \"leash:{%s}\" ", keys, name);
	line = last(with);
	assert_non_null(line);
	call = strcasestr(line, "\"evalsha\" "); /* else it was told the script */
	if (call)
		assert_int_equal(sscanf(call + 10, "\"%40[0-9a-f]\"", out), 1);
	free(line);
}

int64_t
places(const char *name)
{
	return place_integer(name, "ZCOUNT leash:{%s}:queue (0 +inf", name);
}

/* ---- fixtures ---- */

/* Which scripts are which. The first time a server may have to be told them. */
static void
learn_at(const struct server *at)
{
	char name[16];
	int i = 0;
	leash_lock *lock;
	leash_error err;

	do
		snprintf(name, sizeof name, "learn%d", i++);
	while (place_at(name) != at);
	lock = leashed_lock(client, name, NULL);
	for (i = 0; i < 2; i++) {
		mark();
		acquire(lock);
		learn_sha(ask_sha, 3, name);
		assert_status(LEASH_OK, leash_lock_extend(lock, LONG_MS, &err));
		learn_sha(renew_sha, 1, name);
		release(lock);
		learn_sha(release_sha, 3, name);
	}
	assert_true(strlen(ask_sha) == 40 && strlen(renew_sha) == 40 && strlen(release_sha) == 40);
	leash_lock_free(lock);
}

leash_client *
open_one(void)
{
	/* of the deployments of one server, those that speak TLS come by TCP anyway */
	const char *uri = deployment_chosen() == DEPLOYMENT_SINGLE ? server_uri_tcp(server) : place_uri();

	return leashed_open(uri, LEASH_OPTIONS(.lease_ms = place_lease_ms(LONG_MS)));
}

void
open_client(void)
{
	struct server *at;

	client = open_one();
	for (monitor_total = 0; (at = deployment_master(place, monitor_total)) != NULL; monitor_total++)
		monitors[monitor_total] = monitor_start(at);
	monitor = monitors[0];
	if (!place_is(PLACE_MAJORITY))
		for (size_t i = 0; i < monitor_total; i++)
			learn_at(deployment_master(place, i));
	await_true(place_is(PLACE_MAJORITY) || place_introductions() == 1); /* who it is, is told in the background */
}

void
close_client(void)
{
	place_resume();
	leash_close(client);
	dismiss_all();
	for (size_t i = 0; i < monitor_total; i++)
		monitor_stop(monitors[i]);
	monitor_total = 0;
	monitor = NULL;
	client = NULL;
}

void
crew_open(void)
{
	place_open();
	server = deployment_server(place);
}
