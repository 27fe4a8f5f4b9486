/* A server that means harm: whatever it says, to whichever of our commands, in whatever bytes, nothing is held for it, no more memory
 * is used, every call ends on time, the next one gets its own answer, and nothing of it reaches a terminal. */
#include "tests/fault/refused.h"
#include "tests/fault/step.h"
#include "tests/support/child.h"
#include "tests/support/fake.h"
#include "tests/support/leashed.h"
#include "tests/support/random.h"
#include "tests/support/sanitizer.h"
#include "tests/support/test.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

#define WHOLE(literal) (literal), sizeof(literal) - 1, false
#define HALF(literal) (literal), sizeof(literal) - 1, true

static _Thread_local leash_error err; /* what the last call said */

/* ---- how much memory this process has from malloc(), and had at most; sanitizers need theirs for themselves ---- */

static atomic_long most_in_use;

#if !UNDER_ASAN && !UNDER_TSAN

static atomic_long in_use;

static void
note(long more)
{
	long now = atomic_fetch_add(&in_use, more) + more, most = atomic_load(&most_in_use);

	while (now > most && !atomic_compare_exchange_weak(&most_in_use, &most, now))
		;
}

static void *
next_function(const char *name)
{
	static bool asking;
	void *found;

	if (asking)
		return NULL; /* dlsym() itself wants memory, and can do without */
	asking = true;
	found = dlsym(RTLD_NEXT, name);
	asking = false;
	return found;
}

static void *
noted(void *p)
{
	if (p != NULL)
		note((long)malloc_usable_size(p));
	return p;
}

/* libraries find these four only if they are exported */
#pragma GCC visibility push(default)

void *
malloc(size_t size)
{
	static void *(*next)(size_t);

	if (next == NULL)
		*(void **)&next = next_function("malloc");
	return next == NULL ? NULL : noted(next(size));
}

void *
calloc(size_t count, size_t size)
{
	static void *(*next)(size_t, size_t);

	if (next == NULL)
		*(void **)&next = next_function("calloc");
	return next == NULL ? NULL : noted(next(count, size));
}

void *
realloc(void *old, size_t size)
{
	static void *(*next)(void *, size_t);
	long before = old != NULL ? (long)malloc_usable_size(old) : 0;
	void *p;

	if (next == NULL)
		*(void **)&next = next_function("realloc");
	p = next == NULL ? NULL : next(old, size);
	if (p != NULL)
		note((long)malloc_usable_size(p) - before);
	return p;
}

void
free(void *old)
{
	static void (*next)(void *);

	if (next == NULL)
		*(void **)&next = next_function("free");
	if (old != NULL)
		note(-(long)malloc_usable_size(old));
	if (next != NULL)
		next(old);
}

#pragma GCC visibility pop

#endif

/* ---- fakes: what each says to which step, in memory that the process of its clients shares ---- */

enum { SAID = 1200000, FOR_EVER = INT32_MAX, PLAYS = 12 };

struct lie {
	_Atomic int times;     /* so often it says this instead of an answer ... */
	_Atomic int skip;      /* ... after so many true ones */
	_Atomic int asked;
	size_t size, and_then; /* FAKE_CLOSE, or nothing */
	char bytes[SAID];
};

struct tally {
	int rounds, ok, protocol, unavailable, other;
};

/* One fake, and one process with clients of it. */
static struct play {
	struct lie part[STEPS + 1]; /* NONE: of the hello */
	_Atomic bool queues;   /* an ask is answered with a place */
	_Atomic int64_t fence; /* of the last true answer */
	struct fake *fake;
	char uri[256];
	int number;
	long grown;            /* bytes, at most, more than one client takes */
	struct tally tally;
} *plays, *play;

static size_t
answer(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	struct play *p = ctx;
	enum step step = step_of(argc, argv, argl);
	struct lie *part = &p->part[step];

	part->asked++;
	if (part->times > 0 && part->skip-- <= 0) {
		if (part->times != FOR_EVER)
			part->times--;
		memcpy(out, part->bytes, part->size);
		return part->size | part->and_then;
	}
	if (step == NONE)
		return FAKE_DEFAULT;
	if (step == ASK && p->queues)
		return fake_say(out, size, "*3\r\n:0\r\n:60000\r\n:%lld\r\n", (long long)step_time_us());
	if (step == ASK) {
		p->fence = step_time_us();
		return fake_say(out, size, ":%lld\r\n", (long long)p->fence);
	}
	if (step == WORD)
		return fake_say(out, size, "*3\r\n:%lld\r\n:1000\r\n:0\r\n", (long long)step_time_us());
	return step == RENEW ? step_say_renewed(argc, argv, argl, out, size) : fake_say(out, size, ":1\r\n");
}

/* The fake says that to the next `times` of these. */
static void
let_say(enum step step, int times, const char *bytes, size_t size)
{
	struct lie *part = &play->part[step];

	part->times = 0;
	assert_true(size <= SAID);
	memcpy(part->bytes, bytes, size);
	part->size = size;
	part->and_then = 0;
	part->skip = 0;
	part->times = times;
}

static void
let_answer(enum step step)
{
	play->part[step].times = 0;
}

static void
start(void)
{
	plays = child_share(PLAYS * sizeof *plays);
	for (int i = 0; i < PLAYS; i++) {
		plays[i].number = i;
		plays[i].fake = fake_start(answer, &plays[i]);
		snprintf(plays[i].uri, sizeof plays[i].uri, "%s", fake_uri(plays[i].fake));
	}
	play = plays;
}

static void
stop(void)
{
	for (int i = 0; i < PLAYS; i++)
		fake_stop(plays[i].fake);
	child_unshare(plays, PLAYS * sizeof *plays);
}

FIXTURE(start, stop);

static int (*act)(void);

static int
act_in(void *arg)
{
	play = arg;
	return act();
}

/* Clients live in processes of their own, so that the memory counted is theirs; in several, since most of their time is waiting. */
static void
act_in_children(int (*what)(void))
{
	pid_t pids[PLAYS];
	long grown = 0;

	if (UNDER_TSAN) /* the fake has a thread in this process */
		skip();
	act = what;
	for (int i = 0; i < PLAYS; i++)
		pids[i] = child_run(act_in, &plays[i]);
	for (int i = 0; i < PLAYS; i++)
		child_wait(pids[i]);
	for (int i = 0; i < PLAYS; i++)
		grown = plays[i].grown > grown ? plays[i].grown : grown;
	printf("# at most %ld bytes more than one client takes\n", grown);
}

/* ---- malformed replies ---- */

static const struct {
	const char *bytes;
	size_t size;
	bool half; /* it may be the beginning of something, for which it is waited */
} malformed[] = {
	/* sizes */
	{HALF("$536870912\r\n")}, {HALF("$536870913\r\n")}, {HALF("$4611686018427387904\r\n")}, {WHOLE("$18446744073709551615\r\n")},
	{WHOLE("$-5\r\n")},
	{WHOLE("$-2\r\nxx\r\n")}, {HALF("$9223372036854775807\r\n")}, {WHOLE("$\r\n")}, {WHOLE("$3\r\nabcd\r\n")}, {HALF("$3\r\nab\r\n")},
	{WHOLE("*1073741823\r\n")}, {WHOLE("*1073741823\r\n:1\r\n:1\r\n")}, {WHOLE("*4611686018427387904\r\n")}, {WHOLE("*2147483647\r\n")},
	{WHOLE("*-2\r\n")},
	{WHOLE("*4294967297\r\n:1\r\n")}, {WHOLE("*273\r\n")}, {HALF("*3\r\n:0\r\n:1\r\n$536870912\r\n")},
	{WHOLE("*3\r\n:0\r\n:1\r\n*1073741823\r\n")},
	/* depth 20, and 2 */
	{WHOLE("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n")},
	{WHOLE("*3\r\n*1\r\n:0\r\n:1\r\n:1\r\n")},
	/* numbers */
	{WHOLE(":9223372036854775808\r\n")}, {WHOLE(":-9223372036854775809\r\n")}, {WHOLE(":18446744073709551617\r\n")},
	{WHOLE(":99999999999999999999999999\r\n")},
	{WHOLE(":1763700000000000x\r\n")}, {WHOLE(":\r\n")}, {WHOLE(":-\r\n")}, {WHOLE(": 1763700000000000\r\n")}, {WHOLE(":0x644\r\n")},
	{WHOLE(":1.7e15\r\n")},
	/* ends of lines */
	{WHOLE("+OK\r+OK\r\n")}, {HALF(":1763700000000000\n")}, {HALF(":1763700000000000\r")}, {WHOLE(":1763700000000000\r:1\r\n")},
	{WHOLE("\r\n")}, {HALF("\n")},
	{HALF("\r")}, {WHOLE("-ERR\n-ERR\r\n")},
	/* NULs */
	{WHOLE("\0\0\0\0\r\n")}, {WHOLE(":17637\00000000000\r\n")}, {WHOLE(":\0001763700000000000\r\n")}, {WHOLE("+O\0K\r\n")},
	{WHOLE("*3\0\r\n:0\r\n:1\r\n:1\r\n")},
	/* RESP3 */
	{WHOLE("_\r\n")}, {WHOLE("#t\r\n")}, {WHOLE("#f\r\n")}, {WHOLE(",1763700000000000\r\n")}, {WHOLE(",inf\r\n")},
	{WHOLE("(1763700000000000\r\n")},
	{WHOLE("=5\r\ntxt:x\r\n")}, {WHOLE("!5\r\nERROR\r\n")}, {WHOLE("%1\r\n:1\r\n:2\r\n")}, {WHOLE("%1073741823\r\n")}, {WHOLE("~1\r\n:1\r\n")},
	{WHOLE(">1\r\n:1\r\n")}, {WHOLE("|1\r\n+a\r\n:1\r\n:1763700000000000\r\n")}, {WHOLE("$?\r\n;4\r\nabcd\r\n;0\r\n")},
	{WHOLE("*?\r\n:1\r\n.\r\n")},
	/* something else */
	{WHOLE("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")}, {WHOLE("SSH-2.0-x\r\n")}, {WHOLE("\x15\x03\x01\x00\x02\x02\x46")},
	{WHOLE("\xff\xff\xff\xff\r\n")},
};

/* One that nobody asked yet, so that none takes time off for what another heard. */
static leash_client *
fresh(const char *uri)
{
	return leashed_open(uri, LEASH_OPTIONS(.timeout_ms = patience_ms()));
}

/* What one client takes, in bytes; 0 where malloc() is not ours. */
static long
measure(void)
{
	leash_client *client = fresh(play->uri);
	leash_lock *lock = leashed_lock(client, "hostile", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	return most_in_use;
}

static void
check_growth(long before)
{
	play->grown = most_in_use - before;
	if (play->grown > 64 * 1024)
		fail_msg("%ld bytes more than one client takes", play->grown);
}

static void
check_own_answer(leash_lock *lock)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_int_equal(leash_lock_fence(lock), (uint64_t)play->fence * 256);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

static void
listen_to(const char *bytes, size_t size)
{
	leash_client *client = fresh(play->uri);
	leash_lock *lock = leashed_lock(client, "hostile", NULL);
	leash_status status;
	int64_t begun, late;

	let_say(ASK, 1, bytes, size);
	begun = await_now_ns();
	status = leash_lock_acquire(lock, 80, &err);
	late = await_now_ns() - begun - 80 * MS;
	assert_true(late < slow_ms(2000) * MS);
	if (status == LEASH_OK) { /* it was asked again, and well answered */
		assert_int_equal(play->part[ASK].times, 0);
		assert_int_equal(leash_lock_fence(lock), (uint64_t)play->fence * 256);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	} else {
		assert_true(status == LEASH_PROTOCOL || status == LEASH_UNAVAILABLE);
		check_text(err.text, "lock 'hostile'");
		check_text(err.text, play->uri);
		assert_false(leash_lock_held(lock));
	}
	let_answer(ASK);
	check_own_answer(lock);
	leash_lock_free(lock);
	leash_close(client);
}

/* Who asks once is told what it is. */
static void
try_once(const char *bytes, size_t size)
{
	leash_client *client = fresh(play->uri);
	leash_lock *lock = leashed_lock(client, "hostile", NULL);

	let_say(ASK, FOR_EVER, bytes, size);
	assert_refused(LEASH_PROTOCOL, play->uri, "lock 'hostile'", leash_lock_acquire(lock, 0, &err));
	assert_false(leash_lock_held(lock));
	let_answer(ASK);
	leash_lock_free(lock);
	leash_close(client);
}

static int
listen_to_them_all(void)
{
	long before = measure();

	for (size_t i = (size_t)play->number; i < COUNT(malformed); i += PLAYS) {
		listen_to(malformed[i].bytes, malformed[i].size);
		if (!malformed[i].half)
			try_once(malformed[i].bytes, malformed[i].size);
	}
	check_growth(before);
	return 0;
}

SENTENCE(no_malformed_reply_holds_anything_or_takes_more_than_64_kib)
{
	act_in_children(listen_to_them_all);
}

/* No line, string or array of it ever ends. */
static int
listen_to_what_never_ends(void)
{
	static const char *const begins[] = {"", "+", "-", "-ERR ", ":1", "$1", "$1000000000\r\n", "*16\r\n$1000000000\r\n", "*1", "x", "\r\n", "*16\r\n:"};
	static char endless[SAID];
	const char *begin = begins[play->number % (int)COUNT(begins)];
	long before = measure();

	for (int i = 0; i < 3; i++) {
		memset(endless, "1x"[i], sizeof endless); /* the third time NULs */
		memcpy(endless, begin, strlen(begin));
		listen_to(endless, sizeof endless);
	}
	check_growth(before);
	return 0;
}

SENTENCE(what_never_ends_is_left_after_64_kib)
{
	act_in_children(listen_to_what_never_ends);
}

/* ---- mutated replies ---- */

static uint64_t seed;

static const char *const seeds[STEPS + 1][6] = {
	[ASK] = {":1763700000000000\r\n", "*3\r\n:0\r\n:60000\r\n:1763700000000000\r\n", "*3\r\n:-1\r\n:0\r\n:1763700000000000\r\n",
	         "-NOSCRIPT No matching script. Please use EVAL.\r\n", "-LOADING Redis is loading the dataset in memory\r\n", "$17\r\n:1763700000000000\r\n"},
	[RELEASE] = {":1\r\n", ":0\r\n", ":2\r\n", "-ERR x\r\n", "*1\r\n:1\r\n", "$1\r\n1\r\n"},
	[RENEW] = {":1\r\n", ":0\r\n", "-READONLY You can't write against a read only replica.\r\n", "*1\r\n:1\r\n", "+OK\r\n", "$-1\r\n"},
	[WORD] = {"*3\r\n:1763700000000000\r\n:1000\r\n:0\r\n", "*3\r\n:1763700000000000\r\n:-2\r\n:1763700000000000\r\n",
	          "*3\r\n:1763700000000000\r\n:1000\r\n:-1\r\n", "-OOM x\r\n", "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n", ":1\r\n"},
	[NONE] = {"+OK\r\n", "$72\r\nredis_version:7.0.15\r\nrun_id:00112233445566778899aabbccddeeff00112233\r\n\r\n",
	          "*2\r\n$10\r\n1763700000\r\n$1\r\n0\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n", "-NOAUTH Authentication required.\r\n", ":7\r\n"},
};

/* One reply of ours, with a few changes of the kinds that have broken parsers. */
static size_t
mutate(enum step step, char *bytes)
{
	static const char *const pieces[] = {"\r\n", "\r", "\n", "$", "*", ":", "+", "-", "-1", "0", "9223372036854775807", "4294967296", "1073741823",
	                                     "%1\r\n", ">3\r\n", "_\r\n", "#t\r\n", "\x1b[2J", "$536870912\r\n", "*1\r\n"};
	const char *from = seeds[step][random_below(&seed, 6)];
	size_t n = strlen(from);

	memcpy(bytes, from, n);
	for (unsigned changes = 1 + random_below(&seed, 4); changes > 0; changes--) {
		size_t at = n > 0 ? random_below(&seed, (unsigned)n) : 0, m;
		const char *piece;

		switch (random_below(&seed, 6)) {
		case 0: /* a bit */
			if (n > 0)
				bytes[at] = (char)(bytes[at] ^ 1 << random_below(&seed, 8));
			break;
		case 1: /* a byte */
			if (n > 0)
				bytes[at] = (char)random_below(&seed, 256);
			break;
		case 2: /* less */
			m = n > at ? 1 + random_below(&seed, (unsigned)(n - at)) : 0;
			memmove(bytes + at, bytes + at + m, n - at - m);
			n -= m;
			break;
		case 3: /* more */
			piece = pieces[random_below(&seed, COUNT(pieces))];
			m = strlen(piece);
			memmove(bytes + at + m, bytes + at, n - at);
			memcpy(bytes + at, piece, m);
			n += m;
			break;
		case 4: /* an end */
			n = at;
			break;
		default: /* a part again */
			m = n - at;
			memcpy(bytes + n, bytes + at, m);
			n += m;
		}
	}
	return n;
}

/* Is it a grant? By the letter: a number from 1 to the largest there is, and its line's end. */
static bool
grants(const char *bytes, size_t n, uint64_t *fence)
{
	size_t i = 1;

	*fence = 0;
	if (n < 4 || bytes[0] != ':')
		return false;
	for (; i < n && i < 20 && bytes[i] >= '0' && bytes[i] <= '9'; i++)
		*fence = *fence * 10 + (uint64_t)(bytes[i] - '0');
	return i + 1 < n && bytes[i] == '\r' && bytes[i + 1] == '\n' && *fence > 0 && *fence <= INT64_MAX / 256;
}

static void
count(struct tally *tally, leash_status status)
{
	tally->ok += status == LEASH_OK;
	tally->protocol += status == LEASH_PROTOCOL;
	tally->unavailable += status == LEASH_UNAVAILABLE;
	tally->other += status != LEASH_OK && status != LEASH_PROTOCOL && status != LEASH_UNAVAILABLE;
}

static void
check_life(leash_client *client, enum step step, uint64_t granted)
{
	/* words come every 100 ms */
	leash_lock *lock = leashed_lock(client, "hostile", LEASH_LOCK_OPTIONS(.lease_ms = step == WORD ? 300 : 60000));
	leash_status status = leash_lock_acquire(lock, step == ASK ? 60 : step == WORD ? 160 : 30000, &err);

	if (step == ASK || step == WORD)
		count(&play->tally, status);
	if (status == LEASH_OK) {
		uint64_t fence = leash_lock_fence(lock) / 256;

		if (fence != 0 && fence != (uint64_t)play->fence && fence != granted && step != WORD)
			fail_msg("held, with a fence of %llu", (unsigned long long)fence);
		if (step == RENEW)
			count(&play->tally, leash_lock_extend(lock, 70000, &err));
		status = leash_lock_release(lock, &err);
		if (step == RELEASE)
			count(&play->tally, status);
	} else {
		check_text(err.text, "lock 'hostile'");
		assert_false(leash_lock_held(lock));
		assert_int_equal(leash_lock_depth(lock), 0);
	}
	play->queues = false;
	let_answer(step);
	check_own_answer(lock);
	leash_lock_free(lock);
	leash_close(client);
}

/* One life of a client, in which one answer is not what it should be. */
static void
live_through(enum step step)
{
	static char bytes[4096];
	leash_client *client = NULL;
	size_t size = mutate(step, bytes);
	uint64_t granted = 0;
	leash_status status;

	if (step != ASK || !grants(bytes, size, &granted))
		granted = 0;
	play->queues = step == WORD;
	let_say(step, 1, bytes, size);
	play->part[step].skip = step == NONE ? (int)random_below(&seed, 8) : 0;
	play->part[step].and_then = FAKE_CLOSE; /* half an answer would be waited for */
	status = leash_open(&client, LEASH_OPTIONS(.uri = play->uri, .timeout_ms = patience_ms()), &err);
	if (step == NONE)
		count(&play->tally, status);
	if (status == LEASH_OK) {
		check_life(client, step, granted);
	} else {
		assert_int_equal(step, NONE);
		assert_null(client);
		check_text(err.text, play->uri);
		let_answer(NONE);
	}
	play->tally.rounds++;
}

static int
live_through_many(void)
{
	const char *rounds_wanted = getenv("LEASH_TEST_FUZZ_ROUNDS"), *seed_wanted = getenv("LEASH_TEST_SEED");
	int rounds = (rounds_wanted != NULL ? atoi(rounds_wanted) : 2400) / PLAYS;
	long before = measure();

	seed = seed_wanted != NULL ? (uint64_t)strtoull(seed_wanted, NULL, 10) : 1;
	seed = (seed * (uint64_t)PLAYS + (uint64_t)play->number) * UINT64_C(0x9e3779b97f4a7c15) | 1;
	for (int i = 0; i < rounds; i++) /* a word takes its time */
		live_through(i % 20 == 0 ? WORD : (const enum step[]){NONE, ASK, RELEASE, NONE, RENEW}[i % 5]);
	check_growth(before);
	return 0;
}

SENTENCE(no_mutated_answer_holds_what_was_not_granted)
{
	struct tally all = {0};

	act_in_children(live_through_many);
	for (int i = 0; i < PLAYS; i++) {
		const struct tally *one = &plays[i].tally;

		all = (struct tally){all.rounds + one->rounds, all.ok + one->ok, all.protocol + one->protocol, all.unavailable + one->unavailable,
		                     all.other + one->other};
	}
	printf("# %d rounds: %d were told OK, %d PROTOCOL, %d UNAVAILABLE, %d otherwise\n", all.rounds, all.ok, all.protocol, all.unavailable, all.other);
}

/* ---- fences ---- */

static struct {
	_Atomic int count;
	_Atomic uint64_t fence;
	_Atomic bool good;
} regression;

static void
note_regression(void *arg, const leash_event *event)
{
	(void)arg;
	if (event->type != LEASH_EVENT_FENCE_REGRESSION)
		return;
	regression.fence = event->fence;
	regression.good = event->lock != NULL && strcmp(event->lock, "hostile") == 0 && strstr(event->text, "fence") != NULL;
	regression.count++;
}

static void
let_grant(enum step step, int64_t fence)
{
	char bytes[80];
	int n = step == ASK ? snprintf(bytes, sizeof bytes, ":%lld\r\n", (long long)fence)
	                    : snprintf(bytes, sizeof bytes, "*3\r\n:%lld\r\n:1000\r\n:%lld\r\n", (long long)step_time_us(), (long long)fence);

	let_say(step, 1, bytes, (size_t)n);
}

/* It is held, with that fence, and `regressions` have been told so far: of this one the last, if it is one. */
static void
check_told(leash_lock *lock, int64_t fence, int regressions, bool is_one)
{
	assert_true(leash_lock_held(lock));
	assert_int_equal(leash_lock_fence(lock), (uint64_t)fence * 256);
	await_true(regression.count >= regressions);
	assert_int_equal(regression.count, regressions);
	assert_true(!is_one || (regression.good && regression.fence == (uint64_t)fence * 256));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

SENTENCE(a_fence_that_does_not_grow_is_told)
{
	static const int64_t most = (INT64_C(1) << 53) - 1;
	int64_t now = step_time_us();
	const struct {
		int64_t fence;
		bool is_one;
	} grants[] = {{now, false}, {now, true}, {now - 1, true}, {now + 1, false}, {now - INT64_C(86400000000), true}, {1, true}, {2, false},
	              {now + INT64_C(86400000000), false}, {now, true}, {most, false}, {most, true}, {now, true}};
	leash_client *client;
	leash_lock *lock;
	int told = 0;

	memset(&regression, 0, sizeof regression);
	client = leashed_open(play->uri, LEASH_OPTIONS(.timeout_ms = patience_ms(), .on_event = note_regression));
	lock = leashed_lock(client, "hostile", LEASH_LOCK_OPTIONS(.lease_ms = 3000));
	for (size_t i = 0; i < COUNT(grants); i++) {
		told += grants[i].is_one;
		let_grant(ASK, grants[i].fence);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
		check_told(lock, grants[i].fence, told, grants[i].is_one);
	}
	/* also where a word grants */
	play->queues = true;
	let_grant(WORD, now - 5);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	check_told(lock, now - 5, told + 1, true);
	play->queues = false;
	leash_lock_free(lock);
	leash_close(client);
}

SENTENCE(a_fence_that_cannot_be_one_holds_nothing)
{
	static const char *const fences[] = {":0\r\n", ":-1\r\n", ":9007199254740992\r\n", ":36028797018963968\r\n", ":9223372036854775807\r\n", ":9223372036854775808\r\n",
	                                     ":18446744073709551615\r\n", ":-9223372036854775808\r\n", ":99999999999999999999\r\n"};
	leash_client *client;
	leash_lock *lock;

	memset(&regression, 0, sizeof regression);
	client = leashed_open(play->uri, LEASH_OPTIONS(.timeout_ms = patience_ms(), .on_event = note_regression));
	lock = leashed_lock(client, "hostile", NULL);
	for (size_t i = 0; i < COUNT(fences); i++) {
		check_own_answer(lock);
		let_say(ASK, FOR_EVER, fences[i], strlen(fences[i]));
		assert_refused(LEASH_PROTOCOL, play->uri, "lock 'hostile'", leash_lock_acquire(lock, 0, &err));
		assert_false(leash_lock_held(lock));
		let_answer(ASK);
		check_own_answer(lock);
	}
	assert_int_equal(regression.count, 0);
	leash_lock_free(lock);
	leash_close(client);
}

/* ---- errors ---- */

static struct ear ear = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static _Atomic size_t longest_line;

static void
hear_length(void *arg, leash_log_level level, const char *line)
{
	if (strlen(line) > longest_line)
		longest_line = strlen(line);
	hear_line(arg, level, line);
}

/* Heard in every step of a lock's life, and in hellos. */
static void
hear_error(const char *bytes, size_t size)
{
	leash_client *client, *none = NULL;
	leash_lock *lock;
	leash_status status;

	let_say(NONE, 1, bytes, size);
	play->part[NONE].skip = 2;
	status = leash_open(&none, LEASH_OPTIONS(.uri = play->uri, .timeout_ms = patience_ms(), .on_log = hear_length, .log_arg = &ear), &err);
	if (status != LEASH_OK)
		check_text(err.text, play->uri);
	else
		leash_close(none);
	let_answer(NONE);

	client = leashed_open(play->uri, LEASH_OPTIONS(.timeout_ms = slow_ms(400), .on_log = hear_length, .log_arg = &ear,
	                                               .on_event = hear_event, .event_arg = &ear));
	lock = leashed_lock(client, "hostile", NULL);
	let_say(ASK, FOR_EVER, bytes, size);
	assert_int_not_equal(leash_lock_acquire(lock, 0, &err), LEASH_OK);
	check_text(err.text, "lock 'hostile'");
	let_answer(ASK);
	await_true(leash_lock_acquire(lock, 30000, &err) == LEASH_OK);
	let_say(RENEW, FOR_EVER, bytes, size);
	assert_int_not_equal(leash_lock_extend(lock, 300, &err), LEASH_OK);
	check_text(err.text, "lock 'hostile'");
	let_say(RELEASE, FOR_EVER, bytes, size);
	assert_int_not_equal(leash_lock_release(lock, &err), LEASH_OK);
	check_text(err.text, "lock 'hostile'");
	let_answer(RENEW);
	let_answer(RELEASE);
	leash_lock_free(lock);
	leash_close(client);
}

static int
hear_errors(void)
{
	static const char *const words[] = {"", "ERR ", "READONLY ", "LOADING ", "NOPERM ", "OOM ", "WRONGTYPE ", "NOSCRIPT ", "MOVED 1 ", "MISCONF ",
	                                    "NOAUTH ", "BUSY "};
	const char *word = words[play->number % (int)COUNT(words)];
	static char bytes[SAID];
	int n = snprintf(bytes, sizeof bytes, "-%s", word);
	size_t size = (size_t)n;
	long before = measure();

	/* every byte that a line may have; the same without a word; one that is long, and one that is longer than any answer may be */
	for (int byte = 255; byte >= 0; byte--)
		if (byte != '\r' && byte != '\n')
			bytes[size++] = (char)byte;
	memcpy(bytes + size, "\r\n", 2);
	hear_error(bytes, size + 2);
	for (int i = 0; i < 2; i++) {
		size = i == 0 ? 60000 : 1000000;
		memset(bytes + n, i == 0 ? '\x1b' : 'x', size);
		memcpy(bytes + size, "\r\n", 2);
		hear_error(bytes, size + 2);
	}
	assert_true(ear.size > 0);
	assert_string_equal(ear.unprintable, "");
	if (longest_line >= 512)
		fail_msg("a line of %zu bytes", longest_line);
	check_growth(before);
	play->tally.rounds = (int)longest_line;
	return 0;
}

SENTENCE(an_error_of_any_bytes_and_any_length_is_told_in_one_short_printable_line)
{
	int longest = 0;

	act_in_children(hear_errors);
	for (int i = 0; i < PLAYS; i++)
		longest = plays[i].tally.rounds > longest ? plays[i].tally.rounds : longest;
	printf("# the longest log line has %d bytes\n", longest);
}
