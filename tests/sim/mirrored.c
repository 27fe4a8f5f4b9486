/* The tests of the scripts (tests/redis/steps.h), with a simulated server beside the real one: whatever they say to
 * the real one is said to both, and compared (mirror.h). The linker's --wrap (local.mk) puts these functions in the
 * place of hiredis's, and of those that start and stop the server.
 *
 * Time goes on with each command, by so little that nothing runs out in a test that does not wait for it. */
#include "tests/sim/mirror.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

struct server *__wrap_server_start(const char *const *args);
void __wrap_server_stop(struct server *server);
void __real_server_stop(struct server *server);
void *__wrap_redisvCommand(redisContext *c, const char *format, va_list args);
void *__wrap_redisCommand(redisContext *c, const char *format, ...);
void *__wrap_redisCommandArgv(redisContext *c, int argc, const char **argv, const size_t *sizes);

static bool has_begun;
static int64_t now_us = INT64_C(1760000000000000);

struct server *
__wrap_server_start(const char *const *args)
{
	struct server *server = server_start_clocked(args);

	mirror_begin(server);
	has_begun = true;
	return server;
}

void
__wrap_server_stop(struct server *server)
{
	has_begun = false;
	mirror_end();
	__real_server_stop(server);
}

static void *
run(redisContext *c, char *wire, long long size)
{
	redisReply *reply;

	if (!has_begun) {
		redisAppendFormattedCommand(c, wire, (size_t)size);
		redisFreeCommand(wire);
		return redisGetReply(c, (void **)&reply) == REDIS_OK ? reply : NULL;
	}
	/* Each test begins with a full second: there are those that wait for one. */
	now_us = strstr(wire, "FLUSHALL") != NULL ? now_us / 1000000 * 1000000 + 1000000 : now_us + 137;
	const char *wrong = mirror_run(c, wire, (size_t)size, now_us, &reply);
	if (wrong != NULL)
		fail_msg("%s", wrong);
	return reply;
}

void *
__wrap_redisvCommand(redisContext *c, const char *format, va_list args)
{
	char *wire;
	int size = redisvFormatCommand(&wire, format, args);

	return run(c, wire, size);
}

void *
__wrap_redisCommand(redisContext *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	void *reply = __wrap_redisvCommand(c, format, args);
	va_end(args);
	return reply;
}

void *
__wrap_redisCommandArgv(redisContext *c, int argc, const char **argv, const size_t *sizes)
{
	char *wire;
	long long size = redisFormatCommandArgv(&wire, argc, argv, sizes);

	return run(c, wire, size);
}
