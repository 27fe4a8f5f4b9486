/* The fake says what it is told to say, and beside that what Redis would. */
#include "tests/unit/tools.h"

#include "tests/support/fake.h"
#include "tests/support/proxy.h"
#include "tests/support/test.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

SENTENCE(a_fake_greets_like_redis)
{
	struct fake *f = fake_start(NULL, NULL);
	redisContext *c = dial(fake_target(f));
	redisReply *reply;

	assert_true(says(c, "OK", "AUTH somebody secret"));
	assert_true(says(c, "OK", "SELECT 3"));
	assert_true(says(c, "OK", "CLIENT SETNAME me"));
	reply = redisCommand(c, "INFO server");
	assert_int_equal(reply->type, REDIS_REPLY_STRING);
	assert_non_null(strstr(reply->str, "run_id:"));
	freeReplyObject(reply);
	reply = redisCommand(c, "TIME");
	assert_int_equal(reply->elements, 2);
	freeReplyObject(reply);
	reply = redisCommand(c, "EVALSHA abc 0");
	assert_int_equal(reply->type, REDIS_REPLY_ERROR);
	assert_true(strncmp(reply->str, "NOSCRIPT", 8) == 0);
	freeReplyObject(reply);
	assert_int_equal(fake_count(f, NULL), 6);
	assert_int_equal(fake_count(f, "evalsha"), 1);
	assert_int_equal(fake_count(f, "EVAL"), 0);
	assert_true(fake_saw(f, "somebody secret"));
	fake_forget(f);
	assert_int_equal(fake_count(f, NULL), 0);
	redisFree(c);
	await_true(fake_open(f) == 0);
	fake_stop(f);
}

SENTENCE(a_fake_tells_subscribers)
{
	struct fake *f = fake_start(NULL, NULL);
	int fd = dial_raw(fake_target(f)), other = dial_raw(fake_target(f));

	say(fd, "*2\r\n$9\r\nSUBSCRIBE\r\n$2\r\nch\r\n");
	hear(fd, "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n");
	assert_int_equal(fake_publish(f, "ch", "hello"), 1);
	assert_int_equal(fake_publish(f, "c", "hello"), 0);
	hear(fd, "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$5\r\nhello\r\n");
	say(other, "PING\r\n");
	hear(other, "+PONG\r\n");
	assert_int_equal(fake_send(f, "+GHOST\r\n", 8), 1);
	hear(other, "+GHOST\r\n");
	assert_int_equal(fake_send_subscribers(f, "+MORE\r\n", 7), 1);
	hear(fd, "+MORE\r\n");
	fake_hang_up(f);
	assert_int_equal(fake_open(f), 0);
	close(fd);
	close(other);
	fake_stop(f);
}

/* GET <n>: n bytes of an answer, and the end; SILENT, RESET, AGAIN <n>. */
static size_t
odd_answers(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	++*(_Atomic int *)ctx;
	if (fake_is(argc, argv, argl, 0, "get")) {
		fake_say(out, size, "$6\r\nabcdef\r\n");
		return (size_t)atoi(argv[1]) | FAKE_CLOSE;
	}
	if (fake_is(argc, argv, argl, 0, "SILENT"))
		return FAKE_SILENT;
	if (fake_has(argc, argv, argl, "RESET"))
		return FAKE_RESET;
	return FAKE_DEFAULT;
}

SENTENCE(a_fake_says_what_it_is_told_to_say)
{
	_Atomic int asked = 0;
	struct fake *f = fake_start_tcp(odd_answers, &asked);
	char heard[64], command[64];
	int fd;

	for (size_t n = 1; n <= 12; n++) {
		fd = dial_raw(fake_target(f));
		snprintf(command, sizeof command, "SILENT\r\nGET %zu \r\nPING\r\n", n);
		say(fd, command);
		assert_int_equal(hear_all(fd, heard, sizeof heard), n);
		assert_memory_equal(heard, "$6\r\nabcdef\r\n", n);
		close(fd);
	}
	assert_int_equal(asked, 24);
	assert_int_equal(fake_count(f, "PING"), 0);
	fd = dial_raw(fake_target(f));
	say(fd, "RESET\r\n");
	assert_int_equal(recv(fd, heard, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
	assert_int_equal(fake_accepted(f), 13);
	fake_stop(f);
}

SENTENCE(a_fake_reads_commands_however_they_come)
{
	struct fake *f = fake_start(NULL, NULL);
	struct proxy *p = proxy_start(fake_target(f));
	redisContext *c = dial(proxy_target(p));
	char *command;

	proxy_drip(p, PROXY_TO_SERVER, 10);
	assert_true(says(c, "abc", "ECHO abc"));
	assert_true(says(c, "PONG", "PING"));
	command = fake_command(f, fake_count(f, NULL) - 1);
	assert_string_equal(command, "PING");
	free(command);
	assert_null(fake_command(f, 1000));
	redisFree(c);
	proxy_stop(p);
	fake_stop(f);
}
