#include "redis/script.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void
lsh_script_begin(struct lsh_script_call *call, const struct lsh_script *script, unsigned keys)
{
	call->script = script;
	call->args[0] = LSH_ARG("EVALSHA");
	call->args[1] = (struct lsh_arg){script->sha1, 40};
	call->count = 2;
	call->used = 0;
	lsh_script_push_number(call, keys);
}

void
lsh_script_push(struct lsh_script_call *call, struct lsh_arg arg)
{
	assert(call->count < LSH_SCRIPT_ARGS);
	call->args[call->count++] = arg;
}

void
lsh_script_push_number(struct lsh_script_call *call, int64_t n)
{
	struct lsh_arg arg;

	assert(call->used + LSH_DECIMAL_SIZE <= sizeof call->arena);
	arg = lsh_arg_decimal(call->arena + call->used, n);
	call->used += LSH_DECIMAL_SIZE;
	lsh_script_push(call, arg);
}

void
lsh_script_push_joined(struct lsh_script_call *call, struct lsh_arg head, const char *tail)
{
	size_t size = strlen(tail);
	char *at = call->arena + call->used;

	assert(call->used + head.size + size <= sizeof call->arena);
	memcpy(at, head.bytes, head.size);
	memcpy(at + head.size, tail, size);
	call->used += head.size + size;
	lsh_script_push(call, (struct lsh_arg){at, head.size + size});
}

void
lsh_script_send_whole(struct lsh_script_call *call)
{
	call->args[0] = LSH_ARG("EVAL");
	call->args[1] = (struct lsh_arg){call->script->text, call->script->size};
}

static bool
copy_name(const char *from, char *name, size_t size)
{
	size_t n = 0;

	for (; isupper((unsigned char)*from) && n + 1 < size; from++)
		name[n++] = *from;
	name[n] = '\0';
	return n > 0;
}

static const char failed_at[] = "@user_script:";

/* What follows `what` in the line of the script on which it failed; NULL: the server does not say which one, or there
 * is no such thing in it. */
static const char *
behind(const struct lsh_script *script, const char *error, const char *what)
{
	const char *at = strstr(error, failed_at), *line = script->text;

	if (at == NULL)
		return NULL;
	for (long number = strtol(at + strlen(failed_at), NULL, 10); number > 1; number--) {
		line = strchr(line, '\n');
		if (line == NULL)
			return NULL;
		line++;
	}
	at = strstr(line, what);
	return at != NULL && at < line + strcspn(line, "\n") ? at + strlen(what) : NULL;
}

bool
lsh_script_blame(const struct lsh_script *script, const char *error, char *name, size_t size)
{
	const char *at = behind(script, error, "call('");

	if (strstr(error, failed_at) == NULL && (at = strrchr(error, '(')) != NULL)
		at++;
	return at != NULL && copy_name(at, name, size);
}

unsigned
lsh_script_blame_key(const struct lsh_script *script, const char *error)
{
	const char *at = behind(script, error, "KEYS[");

	return at != NULL && isdigit((unsigned char)*at) ? (unsigned)(*at - '0') : 0;
}
