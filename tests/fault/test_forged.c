/* Messages from somebody who may PUBLISH, and is no client of leash. What is made of each: core/test_single. */
#include "tests/fault/real.h"
#include "tests/support/test.h"

static leash_error err;
static _Atomic int warnings;

static void
count_warning(void *arg, leash_log_level level, const char *line)
{
	(void)arg;
	warnings += level == LEASH_LOG_WARNING && strstr(line, "wake-up channel") != NULL;
}

FIXTURE(start_real, stop_real);

SENTENCE(tokens_that_were_never_issued_cost_no_script_and_a_warning_a_second)
{
	enum { UUID = 36, FLOOD = 20000 };
	leash_client *theirs = leashed_open(server_uri(server), LEASH_OPTIONS(.on_log = count_warning));
	static struct waiting w;
	int64_t began = await_now_ns();
	redisContext *c = server_connect(server);
	char token[100];
	long long scripts;
	double seconds;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	begin_waiting(&w, leashed_lock(theirs, "refused", NULL), LEASH_FOREVER);
	await_true(server_integer(server, "ZCOUNT leash:{refused}:queue (0 +inf") == 1);
	sscanf(server_text(server, "ZRANGEBYSCORE leash:{refused}:queue (0 +inf"), "%99s", token);
	scripts = info(server, "commandstats", "cmdstat_evalsha:calls=");
	for (int i = 0; i < FLOOD; i++) {
		char text[200];

		snprintf(text, sizeof text, "g %.*s:%d 1 leash:{refused}", UUID, token, i);
		assert_int_equal(redisAppendCommand(c, "PUBLISH leash:wake:%b %s", token, (size_t)UUID, text), REDIS_OK);
	}
	for (int i = 0; i < FLOOD; i++) {
		redisReply *reply;

		assert_int_equal(redisGetReply(c, (void **)&reply), REDIS_OK);
		assert_int_equal(reply->integer, 1);
		freeReplyObject(reply);
	}
	assert_false(w.ended);
	assert_status(LEASH_OK, leash_lock_release(lock, &err)); /* it has read all that came before */
	end_waiting(&w, LEASH_OK);
	seconds = (double)(await_now_ns() - began) / 1e9;
	scripts = info(server, "commandstats", "cmdstat_evalsha:calls=") - scripts;
	printf("# %lld scripts and %d warnings in %.2f s\n", scripts, (int)warnings, seconds);
	assert_true((double)scripts <= 10 + 2 * seconds); /* words, and what comes of the release */
	assert_true(warnings >= 1 && warnings <= 2 + seconds);
	redisFree(c);
	leash_lock_free(w.wanted);
	leash_close(theirs);
}
