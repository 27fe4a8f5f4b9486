/* Requests and answers that are lost, late, torn or doubled: what a caller is told is true, nothing is held that nobody
 * knows of, and nobody's answer is taken for another's. */
#include "tests/contract/actor.h"
#include "tests/fault/refused.h"
#include "tests/fault/step.h"
#include "tests/support/child.h"
#include "tests/support/fake.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

/* What a machine may stand still for before a test takes it for a fault of leash. */
#define STALL_MS 2000

static _Thread_local leash_error err; /* what the last call said */

/* ---- a server, a proxy before it, one client through the proxy and one past it ---- */

static struct server *server;
static struct proxy *proxy;
static leash_client *client, *direct;
static leash_lock *lock, *other;
static struct leashed_events events;

static void
start_over(struct proxy *(*start_proxy)(const char *target))
{
	memset(&events, 0, sizeof events);
	server = server_start(NULL);
	proxy = start_proxy(server_socket(server));
	client = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));
	direct = leashed_open(server_uri(server), NULL);
	lock = leashed_lock(client, "doubt", NULL);
	other = leashed_lock(direct, "doubt", NULL);
	/* the scripts are known to the server from now on: each step is one EVALSHA */
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

static void
start(void)
{
	start_over(proxy_start);
}

static void
start_tcp(void)
{
	start_over(proxy_start_tcp);
}

static void
stop(void)
{
	leash_lock_free(lock);
	leash_lock_free(other);
	leash_close(client);
	leash_close(direct);
	proxy_stop(proxy);
	server_stop(server);
}

FIXTURE(start, stop);

static bool
is_free(void)
{
	return server_integer(server, "EXISTS leash:{doubt} leash:{doubt}:queue") == 0;
}

/* Somebody else can have the lock, without waiting for the end of a lease of 30 s. */
static void
check_that_others_can_have_it(void)
{
	assert_status(LEASH_OK, leash_lock_acquire(other, 20000, &err));
	assert_status(LEASH_OK, leash_lock_release(other, &err));
	await_true(is_free());
}

/* The fence that was issued last is that of the hold: it was asked for again, not acquired again. */
static void
check_fence(leash_lock *held, const char *name)
{
	assert_int_equal(leash_lock_fence(held) / 256,
	                 strtoull(server_text(server, "GET leash:{%s}:fence", name), NULL, 10));
}

/* ---- answers that are lost or torn ---- */

SENTENCE(an_acquire_whose_answer_is_lost_in_a_reset_over_tcp_holds_once, BETWEEN(start_tcp, stop))
{
	for (int i = 0; i < 5; i++) {
		proxy_cut_reply(proxy, "evalsha", 0);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
		assert_true(proxy_hit(proxy));
		assert_true(leash_lock_held(lock));
		assert_int_equal(leash_lock_depth(lock), 1);
		assert_int_equal(server_integer(server, "HLEN leash:{doubt}"), 1);
		check_fence(lock, "doubt");
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		await_true(is_free());
	}
	assert_int_equal(events.total, 0);
}

SENTENCE(a_free_lock_is_not_held_for_any_part_of_the_answer)
{
	enum { ANSWER = 19 }; /* ":<16 digits>\r\n" */

	for (size_t bytes = 0; bytes < ANSWER; bytes++) {
		proxy_cut_reply(proxy, "evalsha", bytes);
		proxy_refuse(proxy, true); /* so that nothing but that part can be what it is held for */
		do
			assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, bytes % 2 == 0 ? 40 : 90, &err));
		while (!proxy_hit(proxy));
		assert_holds_nothing(lock);
		assert_int_equal(server_integer(server, "EXISTS leash:{doubt}"), 1); /* it was executed */
		proxy_refuse(proxy, false);
		check_that_others_can_have_it();
	}
	assert_int_equal(events.total, 0);
}

SENTENCE(a_lock_that_another_holds_is_not_held_for_any_part_of_the_answer)
{
	enum { ANSWER = 35 }; /* "*3\r\n:0\r\n:29999\r\n:<16 digits>\r\n" */

	for (size_t bytes = 0; bytes < 2 * ANSWER; bytes++) {
		leash_status status;

		assert_status(LEASH_OK, leash_lock_acquire(other, 20000, &err));
		proxy_cut_reply(proxy, "evalsha", bytes / 2);
		do { /* a try takes no place, who waits takes one */
			status = leash_lock_acquire(lock, bytes % 2 == 0 ? 0 : 60, &err);
			assert_true(status == LEASH_TIMEOUT || status == LEASH_UNAVAILABLE);
		} while (!proxy_hit(proxy));
		assert_holds_nothing(lock);
		assert_true(leash_lock_held(other));
		assert_int_equal(server_integer(server, "HLEN leash:{doubt}"), 1);
		assert_status(LEASH_OK, leash_lock_release(other, &err));
		await_true(is_free()); /* nobody whom it would wait for is left in the queue */
		assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	assert_int_equal(events.total, 0);
}

/* ---- a fake that resets those who ask ---- */

static struct {
	_Atomic int resets;           /* so many asks are reset ... */
	_Atomic size_t how;           /* ... or closed */
	_Atomic int steps[STEPS];
	_Atomic(const char *) behind; /* what is said behind the answer to an ask, in one write */
	_Atomic int64_t fence;        /* the last one */
} temper;

static size_t
answer(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	enum step step = step_of(argc, argv, argl);
	const char *behind = temper.behind;

	(void)ctx;
	if (step == NONE)
		return FAKE_DEFAULT;
	temper.steps[step]++;
	if (step == RENEW)
		return step_say_renewed(argc, argv, argl, out, size);
	if (step != ASK)
		return fake_say(out, size, ":1\r\n");
	if (temper.resets > 0) {
		temper.resets--;
		return temper.how;
	}
	temper.fence = step_time_us();
	return fake_say(out, size, ":%lld\r\n%s", (long long)temper.fence, behind != NULL ? behind : "");
}

SENTENCE(an_acquire_that_never_arrives_is_sent_again_until_its_deadline, BETWEEN(NULL, NULL))
{
	struct fake *fake;
	leash_client *asking;
	leash_lock *wanted;
	size_t accepted;
	int64_t begun, late, worst = 0;

	memset(&temper, 0, sizeof temper);
	temper.how = FAKE_RESET;
	fake = fake_start_tcp(answer, NULL);
	asking = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = patience_ms()));
	wanted = leashed_lock(asking, "wanted", NULL);

	/* it arrives in the end */
	temper.resets = 4;
	assert_status(LEASH_OK, leash_lock_acquire(wanted, 30000, &err));
	assert_int_equal(temper.resets, 0);
	assert_int_equal(leash_lock_fence(wanted), (uint64_t)temper.fence * 256);
	assert_status(LEASH_OK, leash_lock_release(wanted, &err));

	/* it does not */
	for (int64_t wait_ms = 50; wait_ms <= 800; wait_ms *= 4) {
		temper.resets = INT32_MAX;
		accepted = fake_accepted(fake);
		begun = await_now_ns();
		assert_refused(LEASH_UNAVAILABLE, fake_uri(fake), "lock 'wanted'", leash_lock_acquire(wanted, wait_ms, &err));
		late = await_now_ns() - begun - wait_ms * MS;
		worst = late > worst ? late : worst;
		assert_true(late > -MS);
		assert_true(late < slow_ms(STALL_MS) * MS);
		assert_false(leash_lock_held(wanted));
		/* 10 ms between two dials of one of the two connections: no tight loop */
		assert_true((int64_t)(fake_accepted(fake) - accepted) <= 4 + 2 * (wait_ms + late / MS) / 10);
	}
	printf("# at most %.1f ms late\n", (double)worst / 1e6);
	temper.resets = 0;
	assert_status(LEASH_OK, leash_lock_acquire(wanted, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(wanted, &err));
	leash_lock_free(wanted);
	leash_close(asking);
	fake_stop(fake);
}

/* ---- ghosts: who asked has given up before the server does what was asked ---- */

struct asker {
	char uri[256];
	struct stage ready, ask;
};

static int
ask_and_wait(void *arg)
{
	struct asker *asker = arg;
	leash_client *mine = leashed_open(asker->uri, NULL);
	leash_lock *wanted = leashed_lock(mine, "doubt", NULL);

	stage_set(&asker->ready, 1);
	stage_await(&asker->ask, 1);
	return leash_lock_acquire(wanted, 500, NULL) == LEASH_OK;
}

/* Until somebody else has had the lock, in ms from the moment at which the server goes on. */
static double
resume_and_acquire(bool has_it_already)
{
	int64_t resumed;
	double took;

	server_resume(server);
	resumed = await_now_ns();
	if (!has_it_already)
		assert_status(LEASH_OK, leash_lock_acquire(other, 20000, &err));
	took = (double)(await_now_ns() - resumed) / 1e6;
	assert_true(took < (double)slow_ms(5000)); /* of a lease of 30 s */
	assert_int_equal(server_integer(server, "HLEN leash:{doubt}"), 1);
	assert_status(LEASH_OK, leash_lock_release(other, &err));
	await_true(is_free());
	return took;
}

SENTENCE(an_ask_that_a_stopped_server_finds_later_keeps_nobody_out)
{
	/* the caller's connection stands, and the cancel waits behind the ask; the connection has broken by then; a place
	 * was asked for */
	static const struct {
		int64_t still_ms;
		bool taken;
	} cases[] = {{50, false}, {1600, false}, {50, true}, {1600, true}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t begun, late;

		if (cases[i].taken)
			assert_status(LEASH_OK, leash_lock_acquire(other, 20000, &err));
		server_pause(server);
		begun = await_now_ns();
		assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 200, &err));
		late = await_now_ns() - begun - 200 * MS;
		assert_true(late < slow_ms(STALL_MS) * MS);
		assert_holds_nothing(lock);
		await_ms(cases[i].still_ms);
		printf("# given up %.1f ms late; free %.1f ms after the server went on\n", (double)late / 1e6,
		       resume_and_acquire(cases[i].taken));
	}
	assert_int_equal(events.total, 0);
}

SENTENCE(an_ask_whose_client_was_killed_before_a_stopped_server_finds_it_keeps_nobody_out)
{
	struct asker *asker = child_share(sizeof *asker);
	pid_t pid;

	snprintf(asker->uri, sizeof asker->uri, "%s", server_uri(server));
	pid = child_run(ask_and_wait, asker);
	stage_await(&asker->ready, 1);
	server_pause(server);
	stage_set(&asker->ask, 1);
	await_ms(150);
	child_kill(pid); /* while it waits: no cancel follows */
	await_ms(500);
	printf("# free %.1f ms after the server went on\n", resume_and_acquire(false));
	child_unshare(asker, sizeof *asker);
}

/* ---- releases ---- */

SENTENCE(a_release_whose_answer_is_lost_gives_the_lock_to_one_waiter_once)
{
	leash_client *clients[2];
	struct actor waiter[2];
	struct monitor *monitor = monitor_start(server);

	assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
	for (int i = 0; i < 2; i++) {
		clients[i] = leashed_open(server_uri(server), NULL);
		actor_begin(&waiter[i], leashed_lock(clients[i], "doubt", NULL), LEASH_FOREVER);
		actor_tell(&waiter[i], actor_acquire);
		await_true(server_integer(server, "ZCOUNT leash:{doubt}:queue (0 +inf") == i + 1);
	}
	for (int i = 0; i < 2; i++) {
		monitor_mark(monitor);
		if (i == 0) {
			proxy_cut_reply(proxy, "evalsha", 0);
			assert_status(LEASH_OK, leash_lock_release(lock, &err));
			assert_true(proxy_hit(proxy)); /* so it was sent again */
		} else {
			assert_done(LEASH_OK, &waiter[0], actor_release);
		}
		assert_heard(LEASH_OK, &waiter[i]);
		assert_true(waiter[i].held);
		assert_true(i == 1 || !actor_is_done(&waiter[1]));
		assert_int_equal(monitor_count_in_scripts(monitor, "publish"), 1);
		assert_int_equal(server_integer(server, "HLEN leash:{doubt}"), 1);
	}
	assert_true(waiter[1].fence > waiter[0].fence);
	assert_done(LEASH_OK, &waiter[1], actor_release);
	await_true(is_free());
	monitor_stop(monitor);
	for (int i = 0; i < 2; i++) {
		actor_dismiss(&waiter[i]);
		leash_close(clients[i]);
	}
}

/* The second try finds nothing, as it does after a release that worked: the server keeps nothing that would tell the
 * two apart. */
SENTENCE(a_release_whose_answer_is_lost_cannot_tell_that_the_lock_was_taken_away_before)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
	assert_int_equal(server_integer(server, "DEL leash:{doubt}"), 1);
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
	assert_int_equal(server_integer(server, "DEL leash:{doubt}"), 1);
	proxy_cut_reply(proxy, "evalsha", 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_true(proxy_hit(proxy));
	assert_true(is_free());
}

SENTENCE(a_release_that_comes_after_the_lease_and_the_next_holder_takes_nothing_from_it)
{
	leash_lock *brief = leashed_lock(client, "brief", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(400), .no_renew = true));
	leash_lock *next = leashed_lock(direct, "brief", NULL);
	struct actor releaser = {.lock = brief, .wait_ms = 20000};

	/* it was too late when it was called: that much is known here */
	assert_status(LEASH_OK, leash_lock_acquire(brief, 20000, &err));
	proxy_hold(proxy, PROXY_BOTH);
	assert_status(LEASH_OK, leash_lock_acquire(next, 20000, &err));
	assert_false(leash_lock_held(brief));
	assert_status(LEASH_LOST, leash_lock_release(brief, &err));
	proxy_release(proxy);
	await_ms(50); /* should anything of it come yet */
	assert_true(leash_lock_held(next));
	assert_int_equal(server_integer(server, "HLEN leash:{brief}"), 1);
	assert_status(LEASH_OK, leash_lock_release(next, &err));

	/* it was in time, and on its way for longer than the lease; so is what was sent again */
	actor_start(&releaser);
	assert_done(LEASH_OK, &releaser, actor_acquire);
	proxy_refuse(proxy, true);
	proxy_strand_request(proxy, "evalsha");
	actor_tell(&releaser, actor_release);
	proxy_wait_hit(proxy);
	assert_status(LEASH_OK, leash_lock_acquire(next, 20000, &err));
	proxy_refuse(proxy, false);
	proxy_release(proxy);
	actor_hear(&releaser);
	/* it was held to the end, and is not there any more. Whether it was released or lapsed nobody can tell: never is it
	 * a loss */
	assert_true(releaser.status == LEASH_OK || releaser.status == LEASH_UNKNOWN);
	await_ms(50);
	assert_true(leash_lock_held(next));
	assert_int_equal(server_integer(server, "HLEN leash:{brief}"), 1);
	assert_status(LEASH_OK, leash_lock_release(next, &err));
	actor_end(&releaser);
	leash_lock_free(brief);
	leash_lock_free(next);
}

/* ---- renewals ---- */

/* When what is left ends, if it was so much at some moment between two looks at the clock: however far they lie apart,
 * surely not before `least`, and surely not after `most`. */
struct end {
	int64_t least, most;
};

static struct end
end_of(leash_lock *held)
{
	int64_t before = await_now_ns(), left = leash_lock_remaining_ms(held), after = await_now_ns();

	return (struct end){.least = before + left * MS, .most = after + (left + 1) * MS};
}

static int64_t
ends_at_server(void)
{
	int64_t before = await_now_ns();

	return before + (server_integer(server, "PTTL leash:{kept}") - 1) * MS;
}

SENTENCE(only_a_renewal_that_was_answered_moves_the_deadline)
{
	int64_t lease_ms = slow_ms(6000), until;
	leash_lock *kept = leashed_lock(client, "kept", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms));

	assert_status(LEASH_OK, leash_lock_acquire(other, 20000, &err));
	assert_status(LEASH_OK, leash_lock_extend(other, 40000, &err)); /* the server knows that script, too */
	assert_status(LEASH_OK, leash_lock_release(other, &err));
	assert_status(LEASH_OK, leash_lock_acquire(kept, 20000, &err));
	proxy_hold_reply(proxy, "evalsha");
	proxy_refuse(proxy, true);
	until = end_of(kept).most;
	proxy_wait_hit(proxy);
	await_true(ends_at_server() > until + lease_ms * MS / 6); /* it was renewed there */
	for (int after = 0; after < 20; after += events.count[LEASH_EVENT_JEOPARDY] > 0) {
		assert_true(end_of(kept).least <= until);
		await_ms(5);
	}
	assert_true(leash_lock_held(kept));
	proxy_refuse(proxy, false);
	await_true(events.count[LEASH_EVENT_RECOVERED] == 1);
	await_true(end_of(kept).least > until + lease_ms * MS / 6);
	assert_true(leash_lock_held(kept));
	assert_int_equal(events.count[LEASH_EVENT_JEOPARDY], 1);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	proxy_release(proxy);
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	leash_lock_free(kept);
}

/* ---- answers that come too late, or too many ---- */

SENTENCE(an_answer_that_comes_after_its_caller_has_left_is_not_taken_for_the_next)
{
	struct actor next = {.lock = leashed_lock(client, "next", NULL), .wait_ms = 30000};

	actor_start(&next);
	for (int i = 0; i < 5; i++) {
		proxy_hold_reply(proxy, "{doubt}");
		do /* another says nothing of it */
			assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(lock, 60, &err));
		while (!proxy_hit(proxy));
		actor_tell(&next, actor_acquire);
		/* its answer stands behind the other, or comes over another connection */
		await_true(server_integer(server, "EXISTS leash:{next}") == 1);
		proxy_release(proxy);
		assert_heard(LEASH_OK, &next);
		assert_true(next.held);
		assert_int_equal(next.fence / 256, strtoull(server_text(server, "GET leash:{next}:fence"), NULL, 10));
		assert_holds_nothing(lock);
		assert_done(LEASH_OK, &next, actor_release);
		await_true(server_integer(server,
		                          "EXISTS leash:{next} leash:{next}:queue leash:{doubt} leash:{doubt}:queue") == 0);
	}
	actor_dismiss(&next);
}

SENTENCE(a_connection_whose_answer_is_overdue_is_closed_and_the_next_call_gets_its_own)
{
	leash_client *hasty = leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.timeout_ms = slow_ms(150)));
	leash_lock *asked = leashed_lock(hasty, "doubt", NULL), *next = leashed_lock(hasty, "next", NULL);

	for (int i = 0; i < 5; i++) {
		size_t accepted = proxy_accepted(proxy);

		proxy_hold_reply(proxy, "{doubt}");
		assert_status(LEASH_OK, leash_lock_acquire(asked, 30000, &err));
		assert_true(proxy_hit(proxy));
		assert_true(proxy_accepted(proxy) > accepted);
		check_fence(asked, "doubt");
		proxy_release(proxy); /* now it comes, for nobody */
		assert_status(LEASH_OK, leash_lock_acquire(next, 30000, &err));
		check_fence(next, "next");
		check_fence(asked, "doubt");
		/* with so little patience a busy machine may look like a lost answer */
		leash_lock_release(next, NULL);
		leash_lock_release(asked, NULL);
		await_true(server_integer(server, "EXISTS leash:{next} leash:{doubt}") == 0);
	}
	leash_lock_free(asked);
	leash_lock_free(next);
	leash_close(hasty);
}

static void
extend(struct actor *actor)
{
	actor->began_ns = await_now_ns();
	actor->status = leash_lock_extend(actor->lock, 60000, &actor->err);
}

SENTENCE(an_extension_of_what_another_thread_releases_meanwhile_is_told_so)
{
	leash_owner *owner = NULL;
	struct actor extender = {0}, releaser = {0};

	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	extender.lock = releaser.lock = leashed_lock(client, "shared", LEASH_LOCK_OPTIONS(.owner = owner));
	actor_start(&extender);
	actor_start(&releaser);
	assert_status(LEASH_OK, leash_lock_acquire(extender.lock, 10000, &err));
	server_pause(server);
	actor_tell(&extender, extend);
	actor_await_asleep(&extender);
	actor_tell(&releaser, actor_release);
	actor_await_asleep(&releaser);
	server_resume(server);
	assert_heard(LEASH_NOT_HELD, &extender);
	assert_non_null(strstr(extender.err.text, "another thread released it"));
	assert_heard(LEASH_OK, &releaser);
	actor_end(&extender);
	actor_end(&releaser);
	leash_lock_free(extender.lock);
	leash_owner_free(owner);
}

SENTENCE(what_comes_behind_an_answer_ends_the_connection_and_is_nobodys, BETWEEN(NULL, NULL))
{
	static const char *const ghosts[] = {
		"+GHOST\r\n", ":1\r\n", ":1763700000000000\r\n", "*3\r\n:0\r\n:60000\r\n:1763700000000000\r\n",
		"-ERR ghost\r\n", "$-1\r\n", ">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\ny\r\n",
		"+OK\r\n+OK\r\n+OK\r\n",
	};
	struct fake *fake;
	leash_client *asking;
	leash_lock *wanted;

	memset(&temper, 0, sizeof temper);
	fake = fake_start(answer, NULL);
	asking = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = patience_ms()));
	wanted = leashed_lock(asking, "wanted", NULL);
	for (size_t i = 0; i < sizeof ghosts / sizeof *ghosts; i++) {
		size_t accepted = fake_accepted(fake);

		temper.behind = ghosts[i];
		assert_status(LEASH_OK, leash_lock_acquire(wanted, 30000, &err));
		temper.behind = NULL;
		assert_int_equal(leash_lock_fence(wanted), (uint64_t)temper.fence * 256);
		await_true(fake_accepted(fake) > accepted); /* closed, and dialed anew */
		assert_status(LEASH_OK, leash_lock_release(wanted, &err));
		assert_status(LEASH_OK, leash_lock_acquire(wanted, 30000, &err));
		assert_int_equal(leash_lock_fence(wanted), (uint64_t)temper.fence * 256);
		assert_status(LEASH_OK, leash_lock_release(wanted, &err));
	}
	leash_lock_free(wanted);
	leash_close(asking);
	fake_stop(fake);
}
