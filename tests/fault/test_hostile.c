/* A server that means harm: whatever fence or error it says, nothing is held that was not granted, and nothing of it reaches a
 * terminal. What is no reply at all: unit/test_reply, redis/test_talk, core/test_single. */
#include "tests/fault/refused.h"
#include "tests/fault/step.h"
#include "tests/support/child.h"
#include "tests/support/fake.h"
#include "tests/support/leashed.h"
#include "tests/support/sanitizer.h"
#include "tests/support/test.h"

static _Thread_local leash_error err; /* what the last call said */

/* ---- fakes: what each says to which step, in memory that the process of its clients shares ---- */

enum { SAID = 1200000, FOR_EVER = INT32_MAX, PLAYS = 12 };

struct lie {
	_Atomic int times;     /* so often it says this instead of an answer ... */
	_Atomic int skip;      /* ... after so many true ones */
	size_t size;
	char bytes[SAID];
};

/* One fake, and one process with clients of it. */
static struct play {
	struct lie part[STEPS + 1]; /* NONE: of the hello */
	_Atomic bool queues;   /* an ask is answered with a place */
	_Atomic int64_t fence; /* of the last true answer */
	struct fake *fake;
	char uri[256];
	int number;
	int longest_line;
} *plays, *play;

static size_t
answer(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	struct play *p = ctx;
	enum step step = step_of(argc, argv, argl);
	struct lie *part = &p->part[step];

	if (part->times > 0 && part->skip-- <= 0) {
		if (part->times != FOR_EVER)
			part->times--;
		memcpy(out, part->bytes, part->size);
		return part->size;
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

static void
check_own_answer(leash_lock *lock)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_int_equal(leash_lock_fence(lock), (uint64_t)play->fence * 256);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
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
hear_errors(void *arg)
{
	static const char *const words[] = {"", "ERR ", "READONLY ", "LOADING ", "NOPERM ", "OOM ", "WRONGTYPE ", "NOSCRIPT ", "MOVED 1 ", "MISCONF ",
	                                    "NOAUTH ", "BUSY "};
	const char *word = words[((struct play *)arg)->number % (int)COUNT(words)];
	static char bytes[SAID];
	int n = snprintf(bytes, sizeof bytes, "-%s", word);
	size_t size = (size_t)n;

	play = arg;
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
	play->longest_line = (int)longest_line;
	return 0;
}

/* In several processes, since most of their time is waiting. */
SENTENCE(an_error_of_any_bytes_and_any_length_is_told_in_one_short_printable_line)
{
	int longest = 0;
	pid_t pids[PLAYS];

	if (UNDER_TSAN) /* the fake has a thread in this process */
		skip();
	for (int i = 0; i < PLAYS; i++)
		pids[i] = child_run(hear_errors, &plays[i]);
	for (int i = 0; i < PLAYS; i++)
		child_wait(pids[i]);
	for (int i = 0; i < PLAYS; i++)
		longest = plays[i].longest_line > longest ? plays[i].longest_line : longest;
	printf("# the longest log line has %d bytes\n", longest);
}
