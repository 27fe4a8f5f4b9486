/* Servers that are slow, silent, gone, or back again: every call ends on time, who holds learns the truth on time, and those who come
 * back do so one by one. */
#include "tests/contract/actor.h"
#include "tests/fault/refused.h"
#include "tests/fault/step.h"
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/proxy.h"
#include "tests/support/sanitizer.h"
#include "tests/support/server.h"
#include "tests/support/socket.h"
#include "tests/support/test.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* What a machine may stand still for before a test takes it for a fault of leash. */
#define STALL_MS 2000

static _Thread_local leash_error err; /* what the last call said */

static struct server *server;
static struct proxy *proxy;
static struct leashed_events events;

static void
start(void)
{
	memset(&events, 0, sizeof events);
	server = server_start(NULL);
	proxy = proxy_start(server_socket(server));
}

static void
stop(void)
{
	proxy_stop(proxy);
	server_stop(server);
}

FIXTURE(start, stop);

/* How late a call is that began then and has a limit. It is not early, and not later than a machine stands still. */
static double
check_on_time(int64_t begun, int64_t limit_ms)
{
	int64_t late = await_now_ns() - begun - limit_ms * MS;

	assert_true(late > -MS);
	assert_true(late < slow_ms(STALL_MS) * MS);
	return (double)late / 1e6;
}

SENTENCE(every_call_ends_at_its_deadline_although_answers_drip)
{
	static const int64_t waits_ms[] = {100, 700, 2200}; /* less, and more, than the timeout of 1000 ms for each answer */
	leash_client *client = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events)), *none = NULL;
	leash_lock *lock = leashed_lock(client, "dripping", NULL);
	double late[5];
	int64_t begun;

	/* the server knows the scripts, so that an answer has 19 bytes: it would take 9500 ms */
	assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	proxy_drip(proxy, PROXY_TO_CLIENT, 500000);
	for (size_t i = 0; i < sizeof waits_ms / sizeof *waits_ms; i++) {
		begun = await_now_ns();
		assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, waits_ms[i], &err));
		late[i] = check_on_time(begun, waits_ms[i]);
		assert_false(leash_lock_held(lock));
	}
	begun = await_now_ns();
	assert_status(LEASH_UNAVAILABLE, leash_open(&none, LEASH_OPTIONS(.uri = proxy_uri(proxy), .timeout_ms = 300), &err));
	late[3] = check_on_time(begun, 300);

	/* a release has two timeouts */
	proxy_drip(proxy, PROXY_TO_CLIENT, 0);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
	proxy_drip(proxy, PROXY_TO_CLIENT, 500000);
	begun = await_now_ns();
	assert_status(LEASH_UNKNOWN, leash_lock_release(lock, &err));
	late[4] = check_on_time(begun, 2000);
	printf("# acquires %.1f, %.1f and %.1f ms late, an opening %.1f ms, a release %.1f ms\n", late[0], late[1], late[2], late[3], late[4]);
	proxy_drip(proxy, PROXY_TO_CLIENT, 0);
	await_true(server_integer(server, "EXISTS leash:{dripping} leash:{dripping}:queue") == 0);
	assert_int_equal(events.total, 0);
	leash_lock_free(lock);
	leash_close(client);
}

SENTENCE(renewals_do_not_wait_for_a_dial_that_hangs)
{
	/* a dial may hang for far longer than the lease */
	leash_client *client = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = 60000, .lease_ms = slow_ms(2000), .on_event = leashed_note_event,
	                                                                    .event_arg = &events));
	leash_lock *kept = leashed_lock(client, "kept", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(kept, 20000, &err));
	proxy_hold_reply(proxy, "subscribe");
	assert_true(server_integer(server, "CLIENT KILL TYPE pubsub") > 0);
	proxy_wait_hit(proxy); /* the dial for the wake-ups is not answered any more */
	await_renewals(kept, 4);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	proxy_release(proxy);
	leash_lock_free(kept);
	leash_close(client);
}

/* A client whose server has vanished, in one way or both. */
struct cut_off {
	enum proxy_way way;
	struct proxy *proxy;
	leash_client *client;
	leash_lock *lock, *next;
	struct leashed_events events;
	int64_t acquired, until;
};

SENTENCE(a_connection_that_is_half_open_is_jeopardy_at_the_timeout_and_a_loss_at_the_deadline)
{
	static struct cut_off cut_off[] = {{.way = PROXY_BOTH}, {.way = PROXY_TO_SERVER}, {.way = PROXY_TO_CLIENT}};
	enum { WAYS = sizeof cut_off / sizeof *cut_off };
	leash_client *direct = leashed_open(server_uri(server), NULL);
	int64_t lease_ms = slow_ms(6000), timeout_ms = slow_ms(400);

	for (int i = 0; i < WAYS; i++) {
		struct cut_off *c = &cut_off[i];
		char name[16];

		snprintf(name, sizeof name, "cut off %d", i);
		c->proxy = proxy_start(server_socket(server));
		c->client = leashed_open(proxy_uri(c->proxy), LEASH_OPTIONS(.timeout_ms = timeout_ms, .lease_ms = lease_ms, .on_event = leashed_note_event,
		                                                            .event_arg = &c->events));
		c->lock = leashed_lock(c->client, name, NULL);
		c->next = leashed_lock(direct, name, NULL);
		assert_status(LEASH_OK, leash_lock_acquire(c->lock, 20000, &err));
		proxy_hold(c->proxy, c->way);
		c->acquired = await_now_ns();
		c->until = c->acquired + leash_lock_remaining_ms(c->lock) * MS;
	}
	for (int i = 0; i < WAYS; i++) {
		struct cut_off *c = &cut_off[i];

		await_true(c->events.count[LEASH_EVENT_LOST] == 1);
		assert_false(leash_lock_held(c->lock));
		assert_int_equal(c->events.count[LEASH_EVENT_JEOPARDY], 1);
		assert_int_equal(c->events.count[LEASH_EVENT_RECOVERED], 0);
		/* due after a third of the lease */
		assert_true(c->events.at_ns[LEASH_EVENT_JEOPARDY] - c->acquired < (lease_ms / 3 + timeout_ms) * MS + slow_ms(STALL_MS) * MS);
		assert_true(c->events.at_ns[LEASH_EVENT_LOST] >= c->until - 2 * MS);
		assert_true(c->events.at_ns[LEASH_EVENT_LOST] < c->until + slow_ms(STALL_MS) * MS);
		printf("# %s: jeopardy %.1f ms after a renewal was due, lost %.1f ms after the deadline\n",
		       c->way == PROXY_BOTH ? "both ways" : c->way == PROXY_TO_SERVER ? "to the server" : "to the client",
		       (double)(c->events.at_ns[LEASH_EVENT_JEOPARDY] - c->acquired) / 1e6 - (double)lease_ms / 3,
		       (double)(c->events.at_ns[LEASH_EVENT_LOST] - c->until) / 1e6);
	}
	for (int i = 0; i < WAYS; i++) {
		struct cut_off *c = &cut_off[i];

		assert_status(LEASH_OK, leash_lock_acquire(c->next, 30000, &err)); /* a renewal may have reached the server */
		assert_status(LEASH_LOST, leash_lock_release(c->lock, &err));
		proxy_release(c->proxy);
		assert_true(leash_lock_held(c->next));
		assert_status(LEASH_OK, leash_lock_release(c->next, &err));
		assert_status(LEASH_OK, leash_lock_acquire(c->lock, 30000, &err));
		assert_status(LEASH_OK, leash_lock_release(c->lock, &err));
		leash_lock_free(c->lock);
		leash_lock_free(c->next);
		leash_close(c->client);
		proxy_stop(c->proxy);
	}
	leash_close(direct);
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

SENTENCE(a_server_that_listens_again_is_found_within_one_back_off, BETWEEN(NULL, NULL))
{
	static const int64_t outages_ms[] = {50, 300, 1500};
	enum { OUTAGES = sizeof outages_ms / sizeof *outages_ms };
	struct server *gone = server_start_tcp(NULL);
	leash_client *one = leashed_open(server_uri_tcp(gone), NULL);
	struct actor waiter = {.lock = leashed_lock(one, "found", NULL), .wait_ms = LEASH_FOREVER};
	double took[OUTAGES];

	actor_start(&waiter);
	for (int i = 0; i < OUTAGES; i++) {
		int64_t up;

		server_kill(gone); /* connections are refused from now on */
		actor_tell(&waiter, actor_acquire);
		await_ms(outages_ms[i]);
		assert_false(actor_is_done(&waiter));
		server_boot(gone);
		up = await_now_ns();
		assert_heard(LEASH_OK, &waiter);
		took[i] = (double)(waiter.ended_ns - up) / 1e6;
		assert_true(took[i] < 250 + (double)slow_ms(STALL_MS)); /* the dials come at most a quarter of a second apart */
		assert_done(LEASH_OK, &waiter, actor_release);
	}
	qsort(took, OUTAGES, sizeof *took, by_size);
	printf("# acquired %.1f ms (median), %.1f ms (longest) after the server answered\n", took[OUTAGES / 2], took[OUTAGES - 1]);
	actor_dismiss(&waiter);
	leash_close(one);
	server_stop(gone);
}

/* ---- a storm of those who come back ---- */

enum { HERDS = 4, HERD = 50 };

struct herd {
	char uri[256];
	struct stage ready, held, back, leave;
	_Atomic int64_t longest_ns;   /* until one of them was served again, from `up_ns` on */
	_Atomic int64_t up_ns;
	_Atomic int number;
};

static int
graze(void *arg)
{
	struct herd *herd = arg;
	static leash_client *clients[HERD];
	static leash_lock *locks[HERD];
	int number = herd->number++;
	const struct rlimit enough = {8192, 8192};

	setrlimit(RLIMIT_NOFILE, &enough);
	for (int i = 0; i < HERD; i++) {
		char name[32];

		snprintf(name, sizeof name, "sheep %d.%d", number, i);
		clients[i] = leashed_open(herd->uri, LEASH_OPTIONS(.timeout_ms = patience_ms()));
		locks[i] = leashed_lock(clients[i], name, LEASH_LOCK_OPTIONS(.no_renew = true));
	}
	stage_raise(&herd->ready);
	stage_await(&herd->held, 1);
	for (int i = 0; i < HERD; i++) {
		int64_t took;

		assert_status(LEASH_OK, leash_lock_acquire(locks[i], 60000, &err));
		took = await_now_ns() - herd->up_ns;
		if (took > herd->longest_ns)
			herd->longest_ns = took;
		assert_status(LEASH_OK, leash_lock_release(locks[i], &err));
	}
	stage_raise(&herd->back);
	stage_await(&herd->leave, 1);
	for (int i = 0; i < HERD; i++) {
		leash_lock_free(locks[i]);
		leash_close(clients[i]);
	}
	return 0;
}

SENTENCE(two_hundred_clients_of_a_restarted_server_come_back_apart_from_each_other)
{
	enum { LINES = 2 * HERDS * HERD, WINDOW_MS = 2000 }; /* a client has two connections */
	struct herd *herd = child_share(sizeof *herd);
	pid_t pids[HERDS];
	size_t before, early, late, most = 0;
	int64_t begun, in_window;
	double rate;

	if (UNDER_TSAN) /* as above */
		skip();
	snprintf(herd->uri, sizeof herd->uri, "%s", proxy_uri(proxy));
	before = proxy_accepted(proxy);
	for (int i = 0; i < HERDS; i++)
		pids[i] = child_run(graze, herd);
	stage_await(&herd->ready, HERDS);
	await_true(proxy_open(proxy) == LINES);
	assert_int_equal(proxy_accepted(proxy) - before, LINES);

	server_kill(server);
	before = proxy_accepted(proxy);
	await_ms(1500);
	early = proxy_accepted(proxy) - before;
	/* by now all dials are as far apart as they will be: an eighth to a quarter of a second */
	before = late = proxy_accepted(proxy);
	begun = await_now_ns();
	while ((in_window = await_now_ns() - begun) < WINDOW_MS * MS) {
		size_t now;

		await_ms(50);
		now = proxy_accepted(proxy);
		most = now - late > most ? now - late : most;
		late = now;
	}
	rate = (double)(late - before) * 1e9 / (double)in_window;
	assert_true(early <= 18 * LINES); /* 10, 20, 40 ... ms, and half of each at least */
	assert_true(rate <= 8.2 * LINES);

	before = proxy_accepted(proxy);
	server_restart(server);
	herd->up_ns = await_now_ns();
	stage_set(&herd->held, 1);
	stage_await(&herd->back, HERDS);
	await_true(proxy_open(proxy) == LINES);
	printf("# %.1f dials by each connection in the first 1.5 s, then %.1f each second, at most %zu of %d in 50 ms; "
	       "all served after %.1f ms, %.1f dials by each\n",
	       (double)early / LINES, rate / LINES, most, LINES, (double)herd->longest_ns / 1e6, (double)(proxy_accepted(proxy) - before) / LINES);
	assert_true(herd->longest_ns < slow_ms(5000 + STALL_MS) * MS);
	assert_true(proxy_accepted(proxy) - before <= 4 * LINES);
	stage_set(&herd->leave, 1);
	for (int i = 0; i < HERDS; i++)
		child_wait(pids[i]);
	child_unshare(herd, sizeof *herd);
}
