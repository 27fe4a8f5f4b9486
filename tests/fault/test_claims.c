/* From when on, and for how long, a hold counts: scenes in which two would be valid at once if it were one step more.
 *
 * The witness says whether they were. */
#include "tests/fault/scenes.h"
#include "tests/support/leashed.h"
#include "tests/support/proxy.h"
#include "tests/support/test.h"

enum { CLAIM_MS = 3000 }; /* the longest there is: a busy machine has as long to do each step as may be */

static leash_error err;

/* `far` waits behind the proxy and `next` behind it in the queue; `first` holds. */
struct scene {
	struct server *server;
	struct proxy *proxy;
	struct witness *witness;
	struct party first, far, next;
	uint64_t requests;   /* of `far`, before the grant */
};

static void
scene_open(struct scene *s, const leash_lock_options *of_far)
{
	s->server = server_start(NULL);
	s->proxy = proxy_start(server_socket(s->server));
	s->witness = witness_new(16);
	party_open(&s->first, server_uri(s->server), NULL, s->witness);
	party_open(&s->far, proxy_uri(s->proxy), of_far, s->witness);
	party_open(&s->next, server_uri(s->server), LEASH_LOCK_OPTIONS(.lease_ms = CLAIM_MS), s->witness);
	/* from now on the server has the scripts, and each step is one request */
	assert_status(LEASH_OK, leash_lock_acquire(s->first.lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_release(s->first.lock, &err));
}

static void
scene_close(struct scene *s)
{
	proxy_release(s->proxy);
	s->next.leave = true; /* one of the two may be behind the other */
	s->far.leave = true;
	party_end(&s->next);
	party_end(&s->far);
	party_close(&s->first);
	party_close(&s->far);
	party_close(&s->next);
	proxy_stop(s->proxy);
	server_stop(s->server);
	witness_free(s->witness);
}

/* After `ms` whatever was granted is over. */
static void
assert_exclusion(struct scene *s, int64_t ms)
{
	int64_t until = await_now_ns() + ms * 1000000;
	char text[256];

	do {
		if (witness_violations(s->witness, text, sizeof text) > 0)
			fail_msg("two had it at once: %s", text);
		await_ms(5);
	} while (await_now_ns() < until);
}

/* Both wait, `far` first. */
static void
let_both_wait(struct scene *s)
{
	assert_status(LEASH_OK, leash_lock_acquire(s->first.lock, 0, &err));
	party_start(&s->far);
	await_true(places(s->server) == 1);
	party_start(&s->next);
	await_true(places(s->server) == 2);
}

static void
let_go(struct scene *s)
{
	assert_status(LEASH_OK, leash_lock_release(s->first.lock, &err));
}

/* ---- a grant whose message comes late ---- */

/* `first` lets go when nothing comes through any more: so the server has granted to `far`, which does not know, and the lock is
 * `next`'s a claim after that. False: it did not come about, since this machine stood still at the wrong moment. */
static bool
grant_unheard(struct scene *s)
{
	uint64_t heard;

	scene_open(s, LEASH_LOCK_OPTIONS(.lease_ms = CLAIM_MS));
	let_both_wait(s);
	/* a word was answered just now: so the next one comes after the grant */
	heard = proxy_bytes(s->proxy, PROXY_TO_CLIENT);
	await_true(proxy_bytes(s->proxy, PROXY_TO_CLIENT) > heard);
	proxy_hold_messages(s->proxy, true);
	proxy_hold(s->proxy, PROXY_TO_SERVER);
	s->requests = proxy_requests(s->proxy);
	let_go(s);
	return proxy_requests(s->proxy) == s->requests;
}

static void
play(void (*message)(struct scene *s))
{
	for (int i = 0; i < 5; i++) {
		static struct scene s; /* a party may outlive a test that failed */
		bool begun = grant_unheard(&s);

		if (begun) {
			message(&s);
			assert_exclusion(&s, CLAIM_MS);
		}
		scene_close(&s);
		if (begun)
			return;
	}
	fail_msg("this machine is too busy for the scene");
}

/* The message comes when a word has been sent that has not arrived. */
static void
message_after_a_word(struct scene *s)
{
	await_true(proxy_requests(s->proxy) > s->requests);
	proxy_hold_messages(s->proxy, false);
	await_true(s->next.acquired);
}

/* The message comes when half of the claim is over. */
static void
message_late_in_the_claim(struct scene *s)
{
	await_ms(CLAIM_MS / 2);
	proxy_hold_messages(s->proxy, false);
	await_true(s->next.acquired);
}

/* The claim is over, the lock somebody else's, and the token unknown; then the message comes. */
static void
message_after_the_claim(struct scene *s)
{
	await_true(proxy_requests(s->proxy) > s->requests);
	await_true(s->next.acquired);
	proxy_let_go(s->proxy, PROXY_TO_SERVER);
	await_true(places(s->server) == 1); /* it has asked again */
	proxy_hold_messages(s->proxy, false);
}

SENTENCE(a_claim_counts_from_the_last_word_that_was_answered)
{
	play(message_after_a_word);
}

SENTENCE(a_claim_counts_from_before_its_message_was_sent)
{
	play(message_late_in_the_claim);
}

SENTENCE(a_token_that_was_unknown_is_not_asked_again)
{
	play(message_after_the_claim);
}

/* The answer to the ask was lost and so was its connection; the lock was granted, the claim is over, and the lock is somebody
 * else's. Only then comes the next connection: the ask is repeated, and it waits again. Then the message comes. */
SENTENCE(no_word_prolongs_the_claim_of_what_was_asked_twice)
{
	static struct scene s;

	scene_open(&s, LEASH_LOCK_OPTIONS(.lease_ms = CLAIM_MS));
	proxy_refuse(s.proxy, true);
	proxy_hold_messages(s.proxy, true);
	proxy_cut_reply(s.proxy, "{scene}", 0);
	let_both_wait(&s);
	let_go(&s);
	await_true(s.next.acquired);
	proxy_refuse(s.proxy, false);
	await_true(places(s.server) == 1);
	/* the first answer may be that to the ask; after the third one the answer to a word has been seen to */
	for (int i = 0; i < 3; i++) {
		uint64_t heard = proxy_bytes(s.proxy, PROXY_TO_CLIENT);

		await_true(proxy_bytes(s.proxy, PROXY_TO_CLIENT) > heard);
	}
	proxy_hold_messages(s.proxy, false);
	assert_exclusion(&s, CLAIM_MS);
	scene_close(&s);
}

/* ---- a lease, and a claim ---- */

/* The answer comes when half of the lease is over. */
SENTENCE(a_lease_counts_from_when_it_was_asked_for)
{
	enum { LEASE_MS = 2000 };
	static struct scene s;

	scene_open(&s, LEASH_LOCK_OPTIONS(.lease_ms = LEASE_MS, .no_renew = true));
	proxy_hold_reply(s.proxy, "{scene}");
	party_start(&s.far);
	proxy_wait_hit(s.proxy);
	party_start(&s.next);
	await_ms(LEASE_MS / 2);
	proxy_release(s.proxy);
	await_true(s.far.acquired);
	await_true(s.next.acquired);
	assert_exclusion(&s, LEASE_MS / 2);
	scene_close(&s);
}

/* Of a lease of 30 s; its claim has 3. */
SENTENCE(what_is_granted_is_renewed_before_its_claim_ends)
{
	static struct scene s;

	scene_open(&s, LEASH_LOCK_OPTIONS(.lease_ms = 30000));
	let_both_wait(&s);
	let_go(&s);
	await_true(s.far.acquired);
	assert_exclusion(&s, 6000); /* by then the next has it, also on a busy machine */
	scene_close(&s);
}

/* ---- answers ---- */

struct asker {
	leash_lock *lock;
	leash_cancel *cancel;
	pthread_t thread;
	leash_status status;
};

static void *
ask_until_canceled(void *arg)
{
	struct asker *a = arg;
	leash_error ignored;

	a->status = leash_lock_acquire_with(a->lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER, .cancel = a->cancel), &ignored);
	return NULL;
}

/* The answer to an ask for a lock that is free comes when who asked has given up; behind it another waits for "scene". */
SENTENCE(an_answer_whose_caller_gave_up_is_nobody_elses)
{
	static struct scene s;
	static struct asker other;

	scene_open(&s, NULL);
	other = (struct asker){.lock = leashed_lock(s.far.client, "other", NULL)};
	assert_status(LEASH_OK, leash_cancel_new(&other.cancel, &err));
	party_start(&s.next);
	await_true(s.next.acquired);
	proxy_hold_reply(s.proxy, "{other}");
	assert_int_equal(pthread_create(&other.thread, NULL, ask_until_canceled, &other), 0);
	proxy_wait_hit(s.proxy);
	party_start(&s.far);
	await_true(places(s.server) == 1);
	leash_cancel_fire(other.cancel);
	pthread_join(other.thread, NULL);
	assert_int_equal(other.status, LEASH_CANCELED);
	proxy_release(s.proxy);
	await_true(server_integer(s.server, "EXISTS leash:{other}") == 0); /* that cancel was executed long ago */
	assert_exclusion(&s, 500);
	leash_lock_free(other.lock);
	leash_cancel_free(other.cancel);
	scene_close(&s);
}
