/* The rules that keep a lock exclusive and moving, each broken on purpose (lib/base/mutation.h), to show that it would be noticed.
 *
 * Each has a scene: the one course of events in which it matters, made certain by a proxy that holds back what must come late.
 * Where exclusion is at stake a witness says whether two holds were valid at once; else it is measured how long the lock
 * belonged to nobody while somebody waited. The first four are let loose in the storm of simulation.c too, by which no test fails: a storm may be lucky.
 *
 * LEASH_TEST_MUTATION_SECONDS (20) is how long each storm lasts, unless it is over sooner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mutation.h"
#include "tests/fault/simulation.h"
#include "tests/support/await.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/witness.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
mutate(enum lsh_mutation mutation)
{
	char number[16];

	snprintf(number, sizeof number, "%d", (int)mutation);
	setenv("LEASH_MUTATION", number, 1);
}

/* ---- one who waits, holds for as long as that is valid, and lets go when told to ---- */

struct party {
	leash_client *client;
	leash_lock *lock;
	struct witness *witness;
	pthread_t thread;
	_Atomic bool acquired, leave;
};

static void *
wait_and_hold(void *arg)
{
	struct party *p = arg;
	struct testimony *testimony;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(p->lock, LEASH_FOREVER, &err));
	testimony = witness_enter(p->witness, 0, p->lock);
	p->acquired = true;
	while (!p->leave && witness_look(testimony, p->lock))
		await_ms(1);
	while (!p->leave)
		await_ms(1);
	leash_lock_release(p->lock, &err);
	return NULL;
}

static void
party_open(struct party *p, const char *uri, int64_t lease_ms, struct witness *witness)
{
	*p = (struct party){ .witness = witness };
	p->client = leashed_open(uri, LEASH_OPTIONS(.lease_ms = lease_ms, .timeout_ms = 20000));
	p->lock = leashed_lock(p->client, "scene", NULL);
}

static void
party_start(struct party *p)
{
	assert_int_equal(pthread_create(&p->thread, NULL, wait_and_hold, p), 0);
}

static void
party_end(struct party *p)
{
	p->leave = true;
	pthread_join(p->thread, NULL);
}

static void
party_close(struct party *p)
{
	leash_lock_free(p->lock);
	leash_close(p->client);
}

static int64_t
places(struct server *server)
{
	return server_integer(server, "ZCOUNT leash:{scene}:queue (0 +inf");
}

/* ---- a grant whose message comes late ---- */

enum { CLAIM_MS = 1500 };

/* `far` waits behind the proxy and `next` behind it in the queue; `first` holds, and lets go when nothing comes through any
 * more. So the server has granted to `far`, which does not know, and the lock is `next`'s a claim after that. */
struct late_grant {
	struct server *server;
	struct proxy *proxy;
	struct witness *witness;
	struct party first, far, next;
	uint64_t requests;   /* of `far`, before the grant */
	int64_t granted;     /* not before then */
};

/* False: it did not come about, since this machine stood still at the wrong moment. */
static bool
late_grant_begin(struct late_grant *g, bool unanswered)
{
	uint64_t heard;
	leash_error err;

	g->server = server_start(NULL);
	g->proxy = proxy_start(server_socket(g->server));
	g->witness = witness_new(16);
	party_open(&g->first, server_uri(g->server), 60000, g->witness);
	party_open(&g->far, proxy_uri(g->proxy), CLAIM_MS, g->witness);
	party_open(&g->next, server_uri(g->server), CLAIM_MS, g->witness);
	assert_status(LEASH_OK, leash_lock_acquire(g->first.lock, 0, &err));
	if (unanswered) {
		proxy_refuse(g->proxy, true);
		proxy_hold_messages(g->proxy, true);
		proxy_cut_reply(g->proxy, "{scene}", 0);
	}
	party_start(&g->far);
	await_true(places(g->server) == 1);
	party_start(&g->next);
	await_true(places(g->server) == 2);
	if (unanswered) {
		g->granted = await_now_ns();
		assert_status(LEASH_OK, leash_lock_release(g->first.lock, &err));
		return true;
	}
	/* a word was answered just now: so the next one comes after the grant */
	heard = proxy_bytes(g->proxy, PROXY_TO_CLIENT);
	await_true(proxy_bytes(g->proxy, PROXY_TO_CLIENT) > heard);
	proxy_hold_messages(g->proxy, true);
	proxy_hold(g->proxy, PROXY_TO_SERVER);
	g->requests = proxy_requests(g->proxy);
	g->granted = await_now_ns();
	assert_status(LEASH_OK, leash_lock_release(g->first.lock, &err));
	return proxy_requests(g->proxy) == g->requests;
}

static void
late_grant_end(struct late_grant *g)
{
	proxy_release(g->proxy);
	g->next.leave = true;   /* one of the two may be behind the other */
	g->far.leave = true;
	party_end(&g->next);
	party_end(&g->far);
	party_close(&g->first);
	party_close(&g->far);
	party_close(&g->next);
	proxy_stop(g->proxy);
	server_stop(g->server);
	witness_free(g->witness);
}

/* The message comes when a word has been sent that has not arrived. */
static void
message_after_a_word(struct late_grant *g)
{
	await_true(proxy_requests(g->proxy) > g->requests);
	proxy_hold_messages(g->proxy, false);
	await_true(g->next.acquired);
}

/* The message comes when half of the claim is over. */
static void
message_late_in_the_claim(struct late_grant *g)
{
	await_ms(CLAIM_MS / 2);
	proxy_hold_messages(g->proxy, false);
	await_true(g->next.acquired);
}

/* The claim is over, the lock somebody else's, and the token unknown; then the message comes. */
static void
message_after_the_claim(struct late_grant *g)
{
	await_true(proxy_requests(g->proxy) > g->requests);
	await_true(g->next.acquired);
	proxy_let_go(g->proxy, PROXY_TO_SERVER);
	await_true(places(g->server) == 1);   /* it has asked again */
	proxy_hold_messages(g->proxy, false);
}

/* The answer to the ask was lost and so was its connection; the lock was granted, the claim is over, and the lock is somebody
 * else's. Only then comes the next connection: the ask is repeated, and it waits again. Then the message comes. */
static void
message_before_the_ask_was_repeated(struct late_grant *g)
{
	await_true(g->next.acquired);
	proxy_refuse(g->proxy, false);
	await_true(places(g->server) == 1);
	/* the first answer may be that to the ask; after the third one the answer to a word has been seen to */
	for (int i = 0; i < 3; i++) {
		uint64_t heard = proxy_bytes(g->proxy, PROXY_TO_CLIENT);

		await_true(proxy_bytes(g->proxy, PROXY_TO_CLIENT) > heard);
	}
	proxy_hold_messages(g->proxy, false);
}

/* How many violations; and how long after the grant it was seen. */
static size_t
play_late_grant(void (*play)(struct late_grant *g), bool unanswered, double *after_s, char *text, size_t size)
{
	for (int i = 0; i < 5; i++) {
		struct late_grant g;
		bool begun = late_grant_begin(&g, unanswered);
		size_t violations = 0;
		int64_t until;

		if (begun)
			play(&g);
		/* by then whatever was granted is over */
		until = await_now_ns() + INT64_C(1000000) * CLAIM_MS;
		while (begun && (violations = witness_violations(g.witness, text, size)) == 0 && await_now_ns() < until)
			await_ms(5);
		*after_s = (double)(await_now_ns() - g.granted) / 1e9;
		late_grant_end(&g);
		if (begun)
			return violations;
	}
	fail_msg("this machine is too busy for the scene");
	return 0;
}

/* ---- ghosts: what is granted to somebody who has gone ---- */

enum { LEASE_MS = 3000 };

struct ghost {
	struct server *server;
	struct proxy *proxy;
	struct monitor *monitor;
	struct party gone, next;
	leash_cancel *cancel;
	int64_t wait_ms;
	leash_status status;
};

static void *
wait_in_vain(void *arg)
{
	struct ghost *g = arg;
	leash_error err;

	g->status = leash_lock_acquire_with(g->gone.lock, LEASH_ACQUIRE(.wait_ms = g->wait_ms, .cancel = g->cancel), &err);
	return NULL;
}

/* An ask is on its way, its connection has ended, and who asked has given up. */
static void
ghost_begin(struct ghost *g, int64_t wait_ms, int64_t timeout_ms)
{
	leash_error err;

	*g = (struct ghost){ .server = server_start(NULL), .wait_ms = wait_ms };
	g->proxy = proxy_start(server_socket(g->server));
	g->gone.client = leashed_open(proxy_uri(g->proxy), LEASH_OPTIONS(.lease_ms = LEASE_MS, .timeout_ms = timeout_ms));
	g->gone.lock = leashed_lock(g->gone.client, "scene", NULL);
	party_open(&g->next, server_uri(g->server), LEASE_MS, NULL);
	assert_status(LEASH_OK, leash_cancel_new(&g->cancel, &err));
	/* from now on the server has the scripts */
	assert_status(LEASH_OK, leash_lock_acquire(g->next.lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_release(g->next.lock, &err));
	g->monitor = monitor_start(g->server);
	proxy_refuse(g->proxy, true);   /* or it would ask again over the next connection */
	proxy_strand_request(g->proxy, "{scene}");
	assert_int_equal(pthread_create(&g->gone.thread, NULL, wait_in_vain, g), 0);
	proxy_wait_hit(g->proxy);
	if (wait_ms == LEASH_FOREVER)
		leash_cancel_fire(g->cancel);
	pthread_join(g->gone.thread, NULL);
	assert_int_not_equal(g->status, LEASH_OK);
	proxy_refuse(g->proxy, false);
}

/* The ask arrives, and somebody else wants the lock: for how long does it belong to nobody? */
static int64_t
ghost_end(struct ghost *g)
{
	size_t before = monitor_count(g->monitor, "{scene}");
	int64_t begun = await_now_ns(), ended;
	leash_error err;

	proxy_release(g->proxy);
	monitor_await(g->monitor, "{scene}", before + 1);
	assert_status(LEASH_OK, leash_lock_acquire(g->next.lock, LEASH_FOREVER, &err));
	ended = await_now_ns();
	leash_lock_release(g->next.lock, &err);
	party_close(&g->next);
	if (g->gone.client != NULL)
		party_close(&g->gone);
	leash_cancel_free(g->cancel);
	monitor_stop(g->monitor);
	proxy_stop(g->proxy);
	server_stop(g->server);
	return (ended - begun) / 1000000;
}

/* The ask comes in time, after a cancel that was answered. */
static int64_t
ask_after_its_cancel(void)
{
	struct ghost g;

	ghost_begin(&g, LEASH_FOREVER, 20000);
	monitor_await(g.monitor, "{scene}", 1);   /* the cancel: it knew nothing of the token */
	return ghost_end(&g);
}

/* The ask comes when the time for it is over, and nobody is there to cancel it. */
static int64_t
ask_after_its_time(void)
{
	struct ghost g;

	ghost_begin(&g, 200, 200);
	monitor_await(g.monitor, "{scene}", 1);
	party_close(&g.gone);
	g.gone.client = NULL;
	return ghost_end(&g);
}

/* A place is granted that its client knows nothing of, as when a server was set back to older data. */
static int64_t
grant_of_an_unknown_place(void)
{
	struct server *server = server_start(NULL);
	struct party first, next;
	char token[LEASH_TOKEN_MAX], place[LEASH_TOKEN_MAX + 16];
	int64_t begun, took;
	leash_error err;

	party_open(&first, server_uri(server), 60000, NULL);
	party_open(&next, server_uri(server), LEASE_MS, witness_new(16));
	assert_status(LEASH_OK, leash_lock_acquire(next.lock, 0, &err));
	leash_lock_token(next.lock, token, sizeof token);
	leash_lock_release(next.lock, &err);
	assert_status(LEASH_OK, leash_lock_acquire(first.lock, 0, &err));
	*strchr(token, ':') = '\0';
	snprintf(place, sizeof place, "%s:999999 %d", token, LEASE_MS);
	server_integer(server, "ZADD leash:{scene}:queue 1 %s", place);
	party_start(&next);
	await_true(places(server) == 2);
	begun = await_now_ns();
	assert_status(LEASH_OK, leash_lock_release(first.lock, &err));
	await_true(next.acquired);
	took = (await_now_ns() - begun) / 1000000;
	party_end(&next);
	witness_free(next.witness);
	party_close(&first);
	party_close(&next);
	server_stop(server);
	return took;
}

/* ---- the tests ---- */

static void
storm(bool until_caught, struct simulated *simulated)
{
	struct simulation simulation = {
		.seconds = simulation_seconds("LEASH_TEST_MUTATION_SECONDS", 20),
		.seed = simulation_seed(),
		.until_caught = until_caught,
	};

	simulation_run(&simulation, simulated);
}

/* What the witness says of a scene without and with a mutation, and of a storm with it. */
static void
is_caught(enum lsh_mutation mutation, const char *what, void (*play)(struct late_grant *g), bool unanswered)
{
	struct simulated simulated;
	char text[256] = "", stormy[64];
	double after_s;
	size_t violations;

	mutate(LSH_NO_MUTATION);
	assert_int_equal(play_late_grant(play, unanswered, &after_s, text, sizeof text), 0);
	mutate(mutation);
	violations = play_late_grant(play, unanswered, &after_s, text, sizeof text);
	storm(true, &simulated);
	mutate(LSH_NO_MUTATION);
	if (simulated.violations > 0)
		snprintf(stormy, sizeof stormy, "caught after %.1f s", simulated.caught_s);
	else
		snprintf(stormy, sizeof stormy, "not caught in %.1f s", simulated.lasted_s);
	printf("# %-50s  scene: %s %.1f s after the grant;  storm: %s\n", what, violations > 0 ? "caught" : "not caught", after_s, stormy);
	if (violations > 0)
		printf("#   %s\n", text);
	assert_int_not_equal(violations, 0);
}

static void
costs(enum lsh_mutation mutation, const char *what, int64_t (*play)(void))
{
	int64_t without, with;

	mutate(LSH_NO_MUTATION);
	without = play();
	mutate(mutation);
	with = play();
	mutate(LSH_NO_MUTATION);
	printf("# %-50s  scene: nobody's for %lld ms instead of %lld ms: %.0f times as long\n", what, (long long)with, (long long)without,
	       (double)with / (double)(without > 0 ? without : 1));
	assert_true(without < LEASE_MS);
	assert_true(with >= LEASE_MS);
}

static void
without_a_mutation_the_witness_of_a_storm_is_silent(void **state)
{
	struct simulated simulated;

	(void)state;
	mutate(LSH_NO_MUTATION);
	storm(false, &simulated);
	simulation_print(&simulated);
	assert_int_equal(simulated.violations, 0);
	assert_int_equal(simulated.keys_left, 0);
}

static void
a_claim_that_counts_from_a_word_not_answered_is_caught(void **state)
{
	(void)state;
	is_caught(LSH_SENT_WORDS_COUNT, "claims count from the last word sent", message_after_a_word, false);
}

static void
a_claim_that_counts_from_its_message_is_caught(void **state)
{
	(void)state;
	is_caught(LSH_CLAIMS_COUNT_FROM_NOW, "claims count from the arrival of the message", message_late_in_the_claim, false);
}

static void
a_token_that_is_asked_again_after_it_was_unknown_is_caught(void **state)
{
	(void)state;
	is_caught(LSH_TOKENS_COME_BACK, "a token is asked again after \"unknown\"", message_after_the_claim, false);
}

static void
a_claim_that_counts_from_words_after_a_repeated_ask_is_caught(void **state)
{
	(void)state;
	is_caught(LSH_REPEATED_ASKS_COUNT, "claims count from words although it was asked twice", message_before_the_ask_was_repeated, true);
}

static void
a_cancel_that_is_done_too_soon_costs_a_lease(void **state)
{
	(void)state;
	costs(LSH_FIRST_CANCEL_IS_ENOUGH, "a cancel is done at its first answer", ask_after_its_cancel);
}

static void
an_ask_that_may_come_at_any_time_costs_a_lease(void **state)
{
	(void)state;
	costs(LSH_ASKS_LIVE_FOREVER, "an ask has no not_after", ask_after_its_time);
}

static void
a_grant_that_nobody_answers_costs_a_claim(void **state)
{
	(void)state;
	costs(LSH_GHOSTS_STAY, "grants for unknown tokens are not canceled", grant_of_an_unknown_place);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_mutation_the_witness_of_a_storm_is_silent),
		cmocka_unit_test(a_claim_that_counts_from_a_word_not_answered_is_caught),
		cmocka_unit_test(a_claim_that_counts_from_its_message_is_caught),
		cmocka_unit_test(a_token_that_is_asked_again_after_it_was_unknown_is_caught),
		cmocka_unit_test(a_claim_that_counts_from_words_after_a_repeated_ask_is_caught),
		cmocka_unit_test(a_cancel_that_is_done_too_soon_costs_a_lease),
		cmocka_unit_test(an_ask_that_may_come_at_any_time_costs_a_lease),
		cmocka_unit_test(a_grant_that_nobody_answers_costs_a_claim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
