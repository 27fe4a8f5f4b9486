/* Messages from somebody who may PUBLISH, and is no client of leash. What he knows: the channels, and perhaps the tokens, where he may read
 * the keys, too. */
#include "tests/contract/actor.h"
#include "tests/fault/real.h"
#include "tests/support/test.h"

#include <inttypes.h>
#include <stdatomic.h>

enum { UUID = 36, FLOOD = 20000 };

static leash_error err;
static leash_client *theirs;
static struct actor next; /* waits for the lock that `client` holds */
static char token[100];   /* for which it waits */
static int64_t began;
static long long scripts_before;
static atomic_int warnings;

static void
count_warning(void *arg, leash_log_level level, const char *line)
{
	(void)arg;
	if (level == LEASH_LOG_WARNING && strstr(line, "wake-up channel") != NULL)
		warnings++;
}

static long long
scripts(void)
{
	return info(server, "commandstats", "cmdstat_evalsha:calls=");
}

static int64_t
fence_there(void)
{
	return server_integer(server, "EVAL %s 0", "return tonumber(redis.call('GET', 'leash:{refused}:fence'))");
}

static void
let_it_wait(void)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	actor_tell(&next, actor_acquire);
	await_true(server_integer(server, "ZCOUNT leash:{refused}:queue (0 +inf") == 1);
	sscanf(server_text(server, "ZRANGEBYSCORE leash:{refused}:queue (0 +inf"), "%99s", token);
	began = await_now_ns();
	scripts_before = scripts();
}

/* Let it have the lock, and no sooner: by then it has read all that came before. */
static void
let_it_have_it(void)
{
	int64_t released = await_now_ns();

	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_heard(LEASH_OK, &next);
	assert_true(next.ended_ns > released);
	assert_int_equal(next.fence / 256, fence_there());
}

/* Since it waits no more scripts ran than words, and what a forger may cost. */
static void
check_scripts(int64_t at_once, int64_t a_second)
{
	long long ran = scripts() - scripts_before;
	double seconds = (double)(await_now_ns() - began) / 1e9;

	printf("# %lld scripts in %.2f s\n", ran, seconds);
	assert_true((double)ran <= 10 + (double)at_once + seconds * (double)(2 + a_second));
}

static void
open_both(void)
{
	start_real();
	warnings = 0;
	theirs = leashed_open(server_uri(server), LEASH_OPTIONS(.on_log = count_warning));
	actor_begin(&next, leashed_lock(theirs, "refused", NULL), LEASH_FOREVER);
}

static void
close_both(void)
{
	actor_dismiss(&next);
	leash_close(theirs);
	stop_real();
}

FIXTURE(open_both, close_both);

/* `count` times, to the client that waits: of this token if `its` is not NULL, else of numbers from `n` on. */
static void
forge(const char *its, int64_t fence, uint64_t n, int count)
{
	redisContext *c = server_connect(server);
	char text[200];
	redisReply *reply;

	for (int i = 0; i < count; i++) {
		if (its != NULL)
			snprintf(text, sizeof text, "g %s %" PRId64 " leash:{refused}", its, fence);
		else
			snprintf(text, sizeof text, "g %.*s:%" PRIu64 " %" PRId64 " leash:{refused}", UUID, token, n + (uint64_t)i, fence);
		assert_int_equal(redisAppendCommand(c, "PUBLISH leash:wake:%b %s", token, (size_t)UUID, text), REDIS_OK);
	}
	for (int i = 0; i < count; i++) {
		assert_int_equal(redisGetReply(c, (void **)&reply), REDIS_OK);
		assert_int_equal(reply->integer, 1);
		freeReplyObject(reply);
	}
	redisFree(c);
}

SENTENCE(a_token_that_can_be_guessed_is_nobodys)
{
	let_it_wait();
	forge(NULL, fence_there() + 1000, 0, 1000);
	forge(NULL, fence_there() + 1000, UINT64_C(1) << 63, 10);
	let_it_have_it();
	assert_done(LEASH_OK, &next, actor_release);
}

SENTENCE(tokens_that_were_never_issued_cost_no_script)
{
	let_it_wait();
	forge(NULL, fence_there() + 1000, 0, FLOOD / 2);
	forge(NULL, fence_there() + 1000, UINT64_C(1) << 40, FLOOD / 2);
	let_it_have_it();
	check_scripts(0, 0);
	assert_true(warnings >= 1 && warnings <= 2 + (await_now_ns() - began) / 1000000000);
	assert_done(LEASH_OK, &next, actor_release);
}

/* He may read the keys as well, but not well enough. */
SENTENCE(a_fence_that_cannot_be_is_asked_about_first)
{
	let_it_wait();
	forge(token, 1, 0, 1);
	forge(token, fence_there() + INT64_C(3600000000), 0, 1); /* an hour */
	forge(token, (INT64_C(1) << 53) - 2, 0, 1);
	let_it_have_it();
	assert_done(LEASH_OK, &next, actor_release);
	let_it_wait();
	forge(token, (int64_t)(next.fence / 256), 0, 1); /* it has had that */
	let_it_have_it();
	assert_done(LEASH_OK, &next, actor_release);
}

SENTENCE(what_asks_again_and_again_is_heeded_forty_times_a_second)
{
	char dead[sizeof token];

	let_it_wait();
	forge(token, 1, 0, FLOOD);
	let_it_have_it();
	check_scripts(32, 40);
	assert_done(LEASH_OK, &next, actor_release);
	strcpy(dead, token);
	let_it_wait();
	forge(dead, fence_there() + 1000, 0, FLOOD);
	let_it_have_it();
	check_scripts(32, 40);
	assert_done(LEASH_OK, &next, actor_release);
}
