/* A scripted cluster that sends everybody astray: nobody follows without end, and what was followed is given up. What
 * no server says of a lock: core/test_single; what is no Redis protocol: redis/test_informant. */
#include "redis/cluster.h"
#include "tests/fault/refused.h"
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <time.h>

static leash_error err;

/* A cluster of one server, which sends everybody to ever new ports of nobody; but to that of `to`, if there is one. Or
 * it answers asks with nonsense, and sends only the cancels for them there, until so many were sent. */
static struct {
	struct fake *self;
	_Atomic(struct fake *) to;
	_Atomic int sent, cancels;
	const char *_Atomic verb;
} astray;

/* Which step of a lock's life a command is. RELEASE is a cancel, too; what a waiting client says has no token. */
static enum step { ASK, RELEASE, OTHER }
step_of(int argc, const char **argv, const size_t *argl)
{
	if (!fake_is(argc, argv, argl, 0, "EVALSHA") || argc < 8)
		return OTHER;
	return argc == 8 ? RELEASE : memchr(argv[6], ':', argl[6]) != NULL ? ASK : OTHER;
}

static int
port_of(const struct fake *f)
{
	return atoi(strrchr(fake_uri(f), ':') + 1);
}

static size_t
send_astray(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	struct fake *to = astray.to;

	(void)ctx;
	if (fake_is(argc, argv, argl, 0, "CLUSTER") && fake_is(argc, argv, argl, 1, "SLOTS"))
		return fake_say(out, size, "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n$40\r\n%040d\r\n", port_of(astray.self), 1);
	if (fake_is(argc, argv, argl, 0, "CLUSTER"))
		return fake_say(out, size, "$16\r\ncluster_state:ok\r\n");
	if (astray.cancels > 0 && step_of(argc, argv, argl) == ASK)
		return fake_say(out, size, "+OK\r\n");
	if (astray.cancels > 0 && step_of(argc, argv, argl) == RELEASE && astray.sent >= astray.cancels)
		return fake_say(out, size, ":1\r\n");
	if (step_of(argc, argv, argl) != (astray.cancels > 0 ? RELEASE : ASK))
		return FAKE_DEFAULT;
	return fake_say(out, size, "-%s 1 127.0.0.1:%d\r\n", astray.verb, to != NULL ? port_of(to) : 1 + astray.sent++);
}

static size_t
grant(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	(void)ctx;
	if (fake_is(argc, argv, argl, 0, "ASKING"))
		return fake_say(out, size, "+OK\r\n");
	return step_of(argc, argv, argl) == ASK ? fake_say(out, size, ":%lld\r\n", (long long)time(NULL) * 1000000) : FAKE_DEFAULT;
}

static int
threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int n = 0;

	assert_non_null(tasks);
	while (readdir(tasks) != NULL)
		n++;
	closedir(tasks);
	return n - 2; /* "." and ".." */
}

static leash_lock *wanted;
static int threads_before;

static void
start(void)
{
	char uri[80];

	memset(&astray, 0, sizeof astray);
	astray.verb = "ASK";
	astray.self = kept(fake_start_tcp(send_astray, NULL));
	snprintf(uri, sizeof uri, "redis+cluster://127.0.0.1:%d", port_of(astray.self));
	leash_client *lost = kept(leashed_open(uri, LEASH_OPTIONS(.timeout_ms = patience_ms())));
	wanted = kept(leashed_lock(lost, "astray", NULL));
	threads_before = threads();
}

FIXTURE(start, NULL);

SENTENCE(ever_new_servers_of_a_cluster_are_not_followed_without_end_and_are_given_up)
{
	struct fake *other = kept(fake_start_tcp(grant, NULL));

	while (astray.sent < LSH_STRANGERS + 20)
		assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(wanted, 20, &err));
	printf("# sent to %d servers: %d threads, %d before\n", astray.sent, threads(), threads_before);
	assert_true(threads() < threads_before + LSH_STRANGERS + 16);
	await_true(threads() <= threads_before + 8);
	astray.to = other;
	assert_status(LEASH_OK, leash_lock_acquire(wanted, 30000, &err)); /* a new one is followed again */
}

SENTENCE(a_cancel_that_is_sent_on_to_a_server_that_is_not_there_is_sent_again_and_that_one_is_given_up)
{
	astray.cancels = 4; /* a new connection brings it up once more */
	assert_status(LEASH_PROTOCOL, leash_lock_acquire(wanted, 3000, &err));
	await_true(astray.sent >= astray.cancels);
	await_true(threads() <= threads_before);
}

SENTENCE(who_is_sent_round_in_circles_is_told_so)
{
	static const char *const verbs[] = {"MOVED", "ASK"};

	astray.to = astray.self;
	for (size_t i = 0; i < COUNT(verbs); i++) {
		astray.verb = verbs[i];
		assert_refused(LEASH_UNAVAILABLE, "127.0.0.1", "5 times in a row", leash_lock_acquire(wanted, LEASH_FOREVER, &err));
		check_text(err.text, verbs[i]);
	}
}
