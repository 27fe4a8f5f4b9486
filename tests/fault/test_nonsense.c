/* What a scripted server says: refusals that are hard to get from a real one, in every phase of a lock's life, and answers that
 * no Redis server gives. Nothing is held for them, no answer is taken for that to another question, nothing of what is said
 * reaches a terminal, and a server that talks nonsense is not asked in a tight loop. */
#include "tests/fault/refused.h"
#include "tests/fault/step.h"
#include "redis/cluster.h"
#include "tests/support/fake.h"
#include "tests/support/leashed.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <hiredis/hiredis.h>
#include <limits.h>
#include <pthread.h>
#include <time.h>

static _Thread_local leash_error err; /* what the last call said */

/* ---- a fake that knows our scripts ---- */

enum { FOR_EVER = INT_MAX };

/* How the fake feels; what is not set is answered as by a server on which the lock is free. */
static struct {
	_Atomic(const char *) say[STEPS]; /* instead of an answer; "QUEUED" and "STILL QUEUED" are written for the occasion */
	_Atomic int times[STEPS];         /* so often */
	_Atomic size_t and_then[STEPS];   /* FAKE_CLOSE, or nothing */
	_Atomic size_t cut[STEPS];        /* say so many bytes only; 0: all */
	_Atomic int asked[STEPS];
	_Atomic(const char *) auth;       /* what AUTH is answered with */
	_Atomic int authenticated;        /* so often */
} mood;

static size_t
answer(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	const char *say = NULL;
	enum step step;
	size_t n;

	(void)ctx;
	if (fake_is(argc, argv, argl, 0, "AUTH")) {
		mood.authenticated++;
		say = mood.auth;
		return say != NULL ? fake_say(out, size, "%s", say) : FAKE_DEFAULT;
	}
	step = step_of(argc, argv, argl);
	if (step == NONE)
		return FAKE_DEFAULT;
	mood.asked[step]++;
	if (mood.times[step] > 0) {
		say = mood.say[step];
		if (mood.times[step] != FOR_EVER)
			mood.times[step]--;
	}
	if (say == NULL)
		return step == ASK     ? fake_say(out, size, ":%lld\r\n", (long long)step_time_us())
		       : step == WORD  ? fake_say(out, size, "*3\r\n:%lld\r\n:1000\r\n:0\r\n", (long long)step_time_us())
		       : step == RENEW ? step_say_renewed(argc, argv, argl, out, size)
		                      : fake_say(out, size, ":1\r\n");
	if (strcmp(say, "QUEUED") == 0)
		return fake_say(out, size, "*3\r\n:0\r\n:60000\r\n:%lld\r\n", (long long)step_time_us());
	n = strlen(say);
	if (mood.cut[step] > 0 && mood.cut[step] < n)
		n = mood.cut[step];
	memcpy(out, say, n);
	return n | mood.and_then[step];
}

static void
feel(enum step step, const char *say, int times)
{
	mood.times[step] = 0;
	mood.say[step] = say;
	mood.times[step] = times;
}

static struct fake *fake;
static leash_client *client;
static leash_lock *lock;
static struct leashed_events events;

static void
start_fake(void)
{
	memset(&mood, 0, sizeof mood);
	memset(&events, 0, sizeof events);
	fake = fake_start(answer, NULL);
	client = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = patience_ms(), .on_event = leashed_note_event, .event_arg = &events));
	lock = leashed_lock(client, "refused", NULL);
}

static void
stop_fake(void)
{
	for (int i = 0; i < STEPS; i++)
		mood.times[i] = 0;
	leash_lock_free(lock);
	leash_close(client);
	fake_stop(fake);
}

FIXTURE(start_fake, stop_fake);

static void
check_that_all_is_well(void)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_true(leash_lock_held(lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

/* ---- not now ---- */

static const char *const not_now[] = {
	"-LOADING Redis is loading the dataset in memory\r\n",
	"-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n",
	"-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
	"-CLUSTERDOWN Hash slot not served\r\n",
};

enum { NOT_NOW = sizeof not_now / sizeof *not_now };

SENTENCE(who_is_told_not_now_comes_again_and_not_too_often)
{
	leash_lock *kept = leashed_lock(client, "kept", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(1500)));

	/* renewed often, and valid for long */
	assert_status(LEASH_OK, leash_lock_acquire(kept, 30000, &err));
	assert_status(LEASH_OK, leash_lock_extend(kept, slow_ms(120000), &err));
	for (int i = 0; i < NOT_NOW; i++) {
		int asked, jeopardy = events.count[LEASH_EVENT_JEOPARDY], recovered = events.count[LEASH_EVENT_RECOVERED];
		int64_t begun;
		char word[32];

		snprintf(word, sizeof word, "%.*s", (int)strcspn(not_now[i] + 1, " "), not_now[i] + 1);
		feel(ASK, not_now[i], FOR_EVER);
		assert_refused(LEASH_UNAVAILABLE, fake_uri(fake), word, leash_lock_acquire(lock, 0, &err));
		asked = mood.asked[ASK];
		begun = await_now_ns();
		assert_refused_in_time(LEASH_UNAVAILABLE, fake_uri(fake), word, leash_lock_acquire(lock, 500, &err));
		asked = mood.asked[ASK] - asked;
		assert_true(asked >= 1 && asked <= 2 + (await_now_ns() - begun) / 50000000); /* 50 to 250 ms between them */
		feel(ASK, not_now[i], 3);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
		assert_int_equal(mood.times[ASK], 0);

		/* nor is a hold lost by it, if it does not last; it lasts until that was told, else the one takes the other back */
		feel(RENEW, not_now[i], FOR_EVER);
		await_true(events.count[LEASH_EVENT_JEOPARDY] > jeopardy);
		feel(RENEW, NULL, 0);
		await_true(events.count[LEASH_EVENT_RECOVERED] > recovered && events.count[LEASH_EVENT_JEOPARDY] == events.count[LEASH_EVENT_RECOVERED]);
		assert_true(leash_lock_held(kept));
		feel(RENEW, not_now[i], 2);
		assert_status(LEASH_OK, leash_lock_extend(lock, 1200, &err));
		feel(RELEASE, not_now[i], 2);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		check_that_all_is_well();
	}
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	leash_lock_free(kept);
}

SENTENCE(a_release_that_is_told_not_now_for_ever_is_made_up_for_later)
{
	/* a release is tried for twice its timeout */
	leash_client *hasty = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = slow_ms(500)));
	leash_lock *held = leashed_lock(hasty, "refused", NULL);
	int asked;

	for (int i = 0; i < 5; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(held, 30000, &err));
		feel(RELEASE, not_now[0], FOR_EVER);
		assert_status(LEASH_UNKNOWN, leash_lock_release(held, &err));
		assert_false(leash_lock_held(held));
		check_text(err.text, fake_uri(fake));
		if (!was_cut_short(err.text)) /* at the end of its time: then another is to tell */
			break;
		feel(RELEASE, NULL, 0);
	}
	check_text(err.text, "LOADING");
	asked = mood.asked[RELEASE];
	await_true(mood.asked[RELEASE] > asked + 1);
	feel(RELEASE, NULL, 0);
	asked = mood.asked[RELEASE];
	await_true(mood.asked[RELEASE] > asked);
	await_ms(slow_ms(300)); /* the answer is heard */
	asked = mood.asked[RELEASE];
	await_ms(slow_ms(700));
	assert_int_equal(mood.asked[RELEASE], asked); /* that was it */
	leash_lock_free(held);
	leash_close(hasty);
}

/* ---- clusters ---- */

SENTENCE(a_cluster_that_the_uri_does_not_name_is_unsupported)
{
	static const char *const words[] = {
		"-MOVED 3999 127.0.0.1:6381\r\n", "-ASK 3999 127.0.0.1:6381\r\n",
		"-CROSSSLOT Keys in request don't hash to the same slot\r\n",
	};
	leash_lock *brief = leashed_lock(client, "brief", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(400)));

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		char word[32];
		int asked;

		snprintf(word, sizeof word, "%.*s", (int)strcspn(words[i] + 1, " "), words[i] + 1);
		feel(ASK, words[i], FOR_EVER);
		feel(RELEASE, words[i], FOR_EVER); /* what is canceled is moved, too */
		assert_refused(LEASH_UNSUPPORTED, fake_uri(fake), word, leash_lock_acquire(lock, 0, &err));
		assert_refused(LEASH_UNSUPPORTED, fake_uri(fake), word, leash_lock_acquire(lock, LEASH_FOREVER, &err));
		feel(ASK, NULL, 0);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		feel(RENEW, words[i], FOR_EVER);
		assert_refused(LEASH_UNSUPPORTED, fake_uri(fake), word, leash_lock_extend(lock, 1200, &err));
		assert_true(leash_lock_held(lock));
		assert_status(LEASH_OK, leash_lock_acquire(brief, 30000, &err));
		await_true(events.count[LEASH_EVENT_LOST] == (int)i + 1);
		assert_status(LEASH_LOST, leash_lock_release(brief, &err));
		feel(RENEW, NULL, 0);
		feel(RELEASE, NULL, 0);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		asked = mood.asked[ASK];
		check_that_all_is_well();
		assert_true(mood.asked[ASK] - asked <= 3);
	}
	leash_lock_free(brief);
}

static struct {
	struct fake *self;
	_Atomic(struct fake *) to;
	_Atomic int sent, cancels;
} astray;

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
	return fake_say(out, size, "-ASK 1 127.0.0.1:%d\r\n", to != NULL ? port_of(to) : 1 + astray.sent++);
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

SENTENCE(ever_new_servers_of_a_cluster_are_not_followed_without_end_and_are_given_up, BETWEEN(NULL, NULL))
{
	struct fake *other = fake_start_tcp(grant, NULL);
	char uri[80];
	leash_client *lost;
	leash_lock *wanted;
	int before;

	astray.self = fake_start_tcp(send_astray, NULL);
	snprintf(uri, sizeof uri, "redis+cluster://127.0.0.1:%d", port_of(astray.self));
	lost = leashed_open(uri, LEASH_OPTIONS(.timeout_ms = patience_ms()));
	wanted = leashed_lock(lost, "astray", NULL);
	before = threads();
	while (astray.sent < LSH_STRANGERS + 20)
		assert_status(LEASH_UNAVAILABLE, leash_lock_acquire(wanted, 500, &err));
	printf("# sent to %d servers: %d threads, %d before\n", astray.sent, threads(), before);
	assert_true(threads() < before + LSH_STRANGERS + 16);
	await_true(threads() <= before + 8);
	astray.to = other;
	assert_status(LEASH_OK, leash_lock_acquire(wanted, 30000, &err)); /* a new one is followed again */
	leash_lock_free(wanted);
	leash_close(lost);
	fake_stop(astray.self);
	fake_stop(other);
}

SENTENCE(a_cancel_that_is_sent_on_to_a_server_that_is_not_there_is_sent_again_and_that_one_is_given_up,
         BETWEEN(NULL, NULL))
{
	char uri[80];
	leash_client *lost;
	leash_lock *wanted;
	int before;

	astray.to = NULL;
	astray.sent = 0;
	astray.cancels = 4; /* a new connection brings it up once more */
	astray.self = fake_start_tcp(send_astray, NULL);
	snprintf(uri, sizeof uri, "redis+cluster://127.0.0.1:%d", port_of(astray.self));
	lost = leashed_open(uri, LEASH_OPTIONS(.timeout_ms = patience_ms()));
	wanted = leashed_lock(lost, "astray", NULL);
	before = threads();
	assert_status(LEASH_PROTOCOL, leash_lock_acquire(wanted, 500, &err));
	await_true(astray.sent >= astray.cancels);
	await_true(threads() <= before);
	leash_lock_free(wanted);
	leash_close(lost);
	fake_stop(astray.self);
}

/* ---- what is told ---- */

SENTENCE(a_secret_appears_in_no_text_whatever_the_server_says)
{
	static struct ear ear = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	static const char *const words[] = {
		"-ERR unknown command 'AUTH', with args beginning with: 'someone' 'hunter2' \r\n",
		"-WRONGPASS the password hunter2 is wrong\r\n",
		"-hunter2\r\n",
		"+hunter2\r\n",
		"-ERR hunter2 is not the password, it is hunter2hunter2\r\n",
	};
	char uri[512];

	for (size_t i = 0; i <= sizeof words / sizeof *words; i++) {
		leash_client *one = NULL;
		leash_status status;

		mood.auth = i < sizeof words / sizeof *words ? words[i] : NULL;
		mood.authenticated = 0;
		snprintf(uri, sizeof uri, "unix://someone:hunter2@%s", fake_target(fake));
		status = leash_open(&one, LEASH_OPTIONS(.uri = uri, .timeout_ms = patience_ms(), .on_log = hear_line, .log_arg = &ear, .on_event = hear_event, .event_arg = &ear), &err);
		assert_true(mood.authenticated > 0);
		assert_int_equal(status == LEASH_OK, mood.auth == NULL);
		if (status != LEASH_OK) {
			check_text(err.text, "AUTH");
			check_text(err.text, fake_uri(fake));
			hear(&ear, err.text);
			continue;
		}
		leash_close(one);
	}
	assert_true(ear.size > 0);
	assert_null(strstr(ear.text, "hunter2"));
}

/* ---- answers that no Redis server gives ---- */

static const char *const wrong_types[] = {
	"+OK\r\n", "+QUEUED\r\n", "$2\r\nhi\r\n", "$0\r\n\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "*1\r\n:1\r\n", "*2\r\n:0\r\n:1\r\n",
	"*3\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n2\r\n", "*3\r\n:1\r\n:2\r\n:3\r\n", "*4\r\n:0\r\n:0\r\n:0\r\n:0\r\n", "*3\r\n:0\r\n+OK\r\n:0\r\n",
	":-1\r\n", ":-9223372036854775808\r\n", "-NONSENSE of no server\r\n", "-\r\n", "-ERR\r\n", "-ERR what is this\r\n",
};

enum { WRONG_TYPES = sizeof wrong_types / sizeof *wrong_types };

SENTENCE(an_ask_that_is_answered_with_the_wrong_type_is_a_protocol_error_and_holds_nothing)
{
	static const char *const wrong_fences[] = {":0\r\n", ":9223372036854775807\r\n", ":36028797018963969\r\n"};

	for (size_t i = 0; i < WRONG_TYPES + 3; i++) {
		feel(ASK, i < WRONG_TYPES ? wrong_types[i] : wrong_fences[i - WRONG_TYPES], 1);
		assert_refused(LEASH_PROTOCOL, fake_uri(fake), "lock 'refused'", leash_lock_acquire(lock, i % 2 ? 0 : LEASH_FOREVER, &err));
		assert_false(leash_lock_held(lock));
		assert_int_equal(leash_lock_depth(lock), 0);
		assert_int_equal(mood.times[ASK], 0);
		check_that_all_is_well(); /* the next call gets its own answer */
	}
}

SENTENCE(a_release_that_is_answered_with_the_wrong_type_is_not_taken_for_done)
{
	for (size_t i = 0; i < WRONG_TYPES; i++) {
		leash_status status;

		assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
		feel(RELEASE, wrong_types[i], FOR_EVER); /* a cancel may be owed from the last round: it is not to take the answer */
		status = leash_lock_release(lock, &err);
		feel(RELEASE, NULL, 0);
		assert_true(status == LEASH_PROTOCOL || status == LEASH_UNKNOWN);
		check_text(err.text, "lock 'refused'");
		check_text(err.text, fake_uri(fake));
		assert_false(leash_lock_held(lock));
		assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
		check_that_all_is_well();
	}
}

SENTENCE(a_renewal_that_is_answered_with_the_wrong_type_is_tried_again)
{
	leash_lock *kept = leashed_lock(client, "kept", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(1500)));
	leash_lock *brief = leashed_lock(client, "brief", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(1200)));

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_status(LEASH_OK, leash_lock_extend(lock, slow_ms(120000), &err));
	for (size_t i = 0; i < WRONG_TYPES; i++) {
		feel(RENEW, wrong_types[i], FOR_EVER);
		assert_refused(LEASH_PROTOCOL, fake_uri(fake), "lock 'refused'", leash_lock_extend(lock, 1200, &err));
		assert_true(leash_lock_held(lock));
		feel(RENEW, NULL, 0);
		while (leash_lock_extend(lock, slow_ms(120000), &err) != LEASH_OK)
			assert_true(leash_lock_held(lock));
	}
	/* renewed often, and valid for long */
	assert_status(LEASH_OK, leash_lock_acquire(kept, 30000, &err));
	assert_status(LEASH_OK, leash_lock_extend(kept, slow_ms(120000), &err));
	for (size_t i = 0; i < WRONG_TYPES; i += 6) {
		int jeopardy = events.count[LEASH_EVENT_JEOPARDY], recovered = events.count[LEASH_EVENT_RECOVERED], asked = mood.asked[RENEW];

		feel(RENEW, wrong_types[i], FOR_EVER);
		await_true(mood.asked[RENEW] >= asked + 2 && events.count[LEASH_EVENT_JEOPARDY] > jeopardy);
		feel(RENEW, NULL, 0);
		await_true(events.count[LEASH_EVENT_RECOVERED] > recovered && events.count[LEASH_EVENT_JEOPARDY] == events.count[LEASH_EVENT_RECOVERED]);
		assert_true(leash_lock_held(kept));
	}
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	/* for ever: jeopardy, and the truth at the end of the lease */
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	feel(RENEW, wrong_types[0], FOR_EVER);
	mood.asked[RENEW] = 0;
	assert_status(LEASH_OK, leash_lock_acquire(brief, 30000, &err));
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_true(mood.asked[RENEW] < 60); /* within a lease of 1.2 s */
	assert_status(LEASH_LOST, leash_lock_release(brief, &err));
	leash_lock_free(kept);
	leash_lock_free(brief);
}

SENTENCE(a_word_that_is_answered_with_the_wrong_type_gets_nobody_a_lock)
{
	leash_lock *wanted = leashed_lock(client, "wanted", LEASH_LOCK_OPTIONS(.lease_ms = 600)); /* so that words are said often */
	size_t accepted;

	for (size_t i = 0; i < WRONG_TYPES; i += 2) {
		static struct waiting w;

		feel(ASK, "QUEUED", 1);
		feel(WORD, wrong_types[i], 1);
		begin_waiting(&w, wanted, 30000);
		await_true(mood.times[WORD] == 0);
		/* it goes on: by the next word, or by asking again */
		feel(WORD, NULL, 0);
		mood.say[WORD] = "*3\r\n:1\r\n:1000\r\n:1763700000000000\r\n";
		mood.times[WORD] = 1;
		pthread_join(w.thread, NULL);
		assert_true(w.status == LEASH_OK || w.status == LEASH_PROTOCOL);
		feel(WORD, NULL, 0);
		check_that_all_is_well();
	}
	/* for ever */
	feel(ASK, "QUEUED", FOR_EVER);
	feel(WORD, wrong_types[0], FOR_EVER);
	accepted = fake_accepted(fake);
	mood.asked[WORD] = 0;
	assert_true(leash_lock_acquire(wanted, 1500, &err) != LEASH_OK);
	assert_true(mood.asked[WORD] < 60);
	assert_true(fake_accepted(fake) - accepted < 100);
	assert_false(leash_lock_held(wanted));
	leash_lock_free(wanted);
}

static const char *const garbage[] = {
	"HTTP/1.1 400 Bad Request\r\n\r\n", "\r\n", "\n", ":1\n", ":12x\r\n", ":\r\n", ":99999999999999999999\r\n", "$-5\r\n", "$536870912\r\n",
	"$4611686018427387904\r\n", "*1073741823\r\n", "*4611686018427387904\r\n", "*17\r\n", "*1\r\n*1\r\n*1\r\n:1\r\n", "*-2\r\n",
	"%1\r\n:1\r\n:2\r\n", "#t\r\n", ",1.5\r\n", "_\r\n", "=5\r\ntxt:x\r\n", ">1\r\n:1\r\n", "(12345678901234567890\r\n", "$3\r\nabcdef\r\n",
	"+OK\r+OK\r\n", "\x01\x02\x03\r\n", "*3\r\n:0\r\n:1\r\nx", "!5\r\nERROR\r\n",
};

/* It may become an answer if more comes. */
static bool
is_beginning(const char *text)
{
	static const char *const beginnings[] = {":1\n", "$536870912\r\n", "$4611686018427387904\r\n", "*17\r\n"};

	for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
		if (strcmp(text, beginnings[i]) == 0)
			return true;
	return false;
}

SENTENCE(garbage_is_a_protocol_error_and_holds_nothing)
{
	enum { N = sizeof garbage / sizeof *garbage, CLIENTS = 4 }; /* that take turns, since each needs a moment to connect anew */
	leash_client *clients[CLIENTS];
	leash_lock *locks[CLIENTS];
	static struct closing closing[CLIENTS];

	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = patience_ms()));
		locks[i] = leashed_lock(clients[i], "refused", NULL);
	}
	for (size_t i = 0; i < N + CLIENTS; i++) {
		leash_lock *asking = locks[i % CLIENTS];
		size_t accepted;
		int64_t began;
		leash_status status;

		/* once: the next one gets its own answer */
		feel(ASK, NULL, 0);
		assert_status(LEASH_OK, leash_lock_acquire(asking, 30000, &err));
		assert_true(leash_lock_held(asking));
		assert_status(LEASH_OK, leash_lock_release(asking, &err));
		if (i >= N)
			continue;

		accepted = fake_accepted(fake);
		feel(ASK, garbage[i], FOR_EVER);
		began = step_time_us();
		status = leash_lock_acquire(asking, 0, &err);
		assert_status(is_beginning(garbage[i]) ? LEASH_UNAVAILABLE : LEASH_PROTOCOL, status);
		if (status == LEASH_PROTOCOL) /* at once, and not when its time is over */
			assert_true(step_time_us() - began < patience_ms() * 1000 / 2);
		mood.asked[ASK] = 0;
		do {
			status = leash_lock_acquire(asking, 100, &err);
			assert_true(mood.asked[ASK] <= 12);
		} while (mood.asked[ASK] == 0);
		if (status != LEASH_PROTOCOL && status != LEASH_UNAVAILABLE)
			fail_msg("'%.20s': %s: %s", garbage[i], leash_status_name(status), err.text);
		check_text(err.text, "lock 'refused'");
		check_text(err.text, fake_uri(fake));
		assert_false(leash_lock_held(asking));
		assert_true(fake_accepted(fake) - accepted <= 24);
	}
	for (int i = 0; i < CLIENTS; i++) {
		leash_lock_free(locks[i]);
		begin_closing(&closing[i], clients[i]);
	}
	for (int i = 0; i < CLIENTS; i++)
		end_closing(&closing[i]);
}

SENTENCE(an_answer_that_is_cut_off_at_any_byte_is_no_answer)
{
	static const char answers[2][64] = {":1763700000000000\r\n", "*3\r\n:0\r\n:60000\r\n:1763700000000000\r\n"};

	mood.and_then[ASK] = FAKE_CLOSE;
	for (int a = 0; a < 2; a++) {
		for (size_t cut = 1; cut < strlen(answers[a]); cut++) {
			mood.cut[ASK] = cut;
			feel(ASK, answers[a], 1);
			assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
			assert_true(leash_lock_fence(lock) / 256 != UINT64_C(1763700000000000));
			assert_status(LEASH_OK, leash_lock_release(lock, &err));
		}
	}
	mood.and_then[ASK] = mood.cut[ASK] = 0;
}

SENTENCE(an_answer_beyond_measure_is_refused)
{
	char *huge = malloc(1 << 20);

	assert_non_null(huge);
	/* an error that is just long: shown as far as it fits */
	memset(huge, 'x', 1 << 20);
	memcpy(huge, "-ERR ", 5);
	strcpy(huge + 40000, "\r\n");
	feel(ASK, huge, 1);
	assert_refused(LEASH_PROTOCOL, fake_uri(fake), "xxxxx", leash_lock_acquire(lock, 0, &err));
	check_that_all_is_well();
	/* one of 1 MB; and a line that has no end */
	for (int i = 0; i < 2; i++) {
		memset(huge, 'x', 1 << 20);
		memcpy(huge, "-ERR ", 5);
		strcpy(huge + (1 << 20) - 3, i == 0 ? "\r\n" : "xx");
		feel(ASK, huge, 1);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err)); /* over another connection */
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	free(huge);
}

/* Say `bytes` to all who have not subscribed. They have arrived when this returns, and the connection has been idle for a while. */
static void
haunt(const char *bytes)
{
	fake_send(fake, bytes, strlen(bytes));
	for (int i = 0; i < 2; i++) { /* the second one is answered after all that was to be said at the first */
		redisContext *c = redisConnectUnix(fake_target(fake));

		assert_non_null(c);
		freeReplyObject(redisCommand(c, "PING"));
		redisFree(c);
	}
	await_ms(30);
}

SENTENCE(what_comes_unasked_is_never_taken_for_an_answer)
{
	static const char *const ghosts[] = {
		":1763700000000000\r\n", ":1\r\n", ":0\r\n", "+GHOST\r\n", "-GHOST\r\n", "*3\r\n:0\r\n:1\r\n:1\r\n", "+GHO", ":17637", "$5\r\nab",
	};
	enum { N = sizeof ghosts / sizeof *ghosts };
	static struct closing closing[N];

	for (size_t i = 0; i < N; i++) {
		/* a client of its own, with no cancel under way that could take a ghost for its answer */
		leash_client *one = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = patience_ms(), .on_event = leashed_note_event, .event_arg = &events));
		/* nor a renewal: the keeper sends one for what it finds held when it comes to it that there is a connection again */
		leash_lock *haunted = leashed_lock(one, "haunted", LEASH_LOCK_OPTIONS(.no_renew = true));

		/* while it is held: the release asks the server */
		assert_status(LEASH_OK, leash_lock_acquire(haunted, 30000, &err));
		feel(RELEASE, ":0\r\n", FOR_EVER);
		haunt(ghosts[i]);
		assert_int_not_equal(leash_lock_release(haunted, &err), LEASH_OK);
		feel(RELEASE, NULL, 0);

		/* behind an answer */
		assert_status(LEASH_OK, leash_lock_acquire(haunted, 30000, &err));
		haunt(ghosts[i]);
		assert_true(leash_lock_held(haunted));
		assert_status(LEASH_OK, leash_lock_release(haunted, &err));

		/* while nobody asks: one who has the lock keeps others out */
		feel(ASK, "QUEUED", FOR_EVER);
		haunt(ghosts[i]);
		assert_int_not_equal(leash_lock_acquire(haunted, i % 2 ? 0 : 300, &err), LEASH_OK);
		assert_false(leash_lock_held(haunted));
		feel(ASK, NULL, 0);
		assert_status(LEASH_OK, leash_lock_acquire(haunted, 30000, &err));
		assert_status(LEASH_OK, leash_lock_release(haunted, &err));

		/* where only messages should come */
		fake_send_subscribers(fake, ghosts[i], strlen(ghosts[i]));
		assert_status(LEASH_OK, leash_lock_acquire(haunted, 30000, &err));
		assert_status(LEASH_OK, leash_lock_release(haunted, &err));
		leash_lock_free(haunted);
		begin_closing(&closing[i], one);
	}
	for (size_t i = 0; i < N; i++)
		end_closing(&closing[i]);
	for (int i = 0; i < 3; i++) {
		static const char *const messages[] = {
			"*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$7\r\ng x 1 y\r\n", "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$0\r\n\r\n",
			"*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$4\r\n\x1b[1m\r\n",
		};

		fake_send_subscribers(fake, messages[i], strlen(messages[i]));
		check_that_all_is_well();
	}
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
}

SENTENCE(control_bytes_in_what_a_server_says_reach_no_terminal)
{
	static struct ear ear = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	static const char *const words[] = {
		"-READONLY \x1b[31mred\x1b[0m\x07\r\n", "-MASTERDOWN \x01\x02\xff\r\n", "-OOM \x1b]0;title\x07\r\n", "-NOPERM \xe2\x80\xae\r\n",
		"-WRONGTYPE \t\r\n", "-LOADING \x7f\r\n", "-\x1b[2J\r\n", "-ERR \x1b[2J\r\n",
	};
	leash_client *heard = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 100, .on_log = hear_line, .log_arg = &ear,
	                                                                  .on_event = hear_event, .event_arg = &ear));
	leash_lock *mine = leashed_lock(heard, "heard", NULL);

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		feel(ASK, words[i], FOR_EVER);
		assert_int_not_equal(leash_lock_acquire(mine, 100, &err), LEASH_OK);
		check_text(err.text, "lock 'heard'");
		feel(ASK, NULL, 0);
		assert_status(LEASH_OK, leash_lock_acquire(mine, 30000, &err));
		feel(RENEW, words[i], FOR_EVER);
		assert_int_not_equal(leash_lock_extend(mine, 300, &err), LEASH_OK);
		check_text(err.text, "lock 'heard'");
		feel(RELEASE, words[i], FOR_EVER);
		assert_int_not_equal(leash_lock_release(mine, &err), LEASH_OK);
		check_text(err.text, "lock 'heard'");
		feel(RENEW, NULL, 0);
		feel(RELEASE, NULL, 0);
		/* with so little patience, a release may be cut short on a busy machine */
		await_true(leash_lock_acquire(mine, 30000, &err) == LEASH_OK && leash_lock_release(mine, &err) == LEASH_OK);
	}
	leash_lock_free(mine);
	leash_close(heard);
	assert_true(ear.size > 0);
	assert_string_equal(ear.unprintable, "");
}

/* A cluster of one server, which sends everybody to ever new ports of nobody; but to that of `to`, if there is one. Or it answers asks with
 * nonsense, and sends only the cancels for them there, until so many were sent. */
