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

/* The line of the script on which it failed, and its `*end`; NULL: the server does not say. */
static const char *
line_of(const struct lsh_script *script, const char *error, const char **end)
{
	static const char place[] = "@user_script:";
	const char *at = strstr(error, place), *line = script->text;
	long number;

	if (at == NULL)
		return NULL;
	number = strtol(at + sizeof place - 1, NULL, 10);
	for (; number > 1; number--) {
		line = strchr(line, '\n');
		if (line++ == NULL)
			return NULL;
	}
	*end = line + strcspn(line, "\n");
	return line;
}

bool
lsh_script_blame(const struct lsh_script *script, const char *error, char *name, size_t size)
{
	static const char call[] = "call('";
	const char *end, *line = line_of(script, error, &end), *at;

	if (strstr(error, "@user_script:") == NULL) {
		at = strrchr(error, '(');
		return at != NULL && copy_name(at + 1, name, size);
	}
	at = line != NULL ? strstr(line, call) : NULL;
	return at != NULL && at < end && copy_name(at + sizeof call - 1, name, size);
}

unsigned
lsh_script_blame_key(const struct lsh_script *script, const char *error)
{
	static const char key[] = "KEYS[";
	const char *end, *line = line_of(script, error, &end), *at = line != NULL ? strstr(line, key) : NULL;

	return at != NULL && at < end && isdigit((unsigned char)at[sizeof key - 1]) ? (unsigned)(at[sizeof key - 1] - '0') : 0;
}
