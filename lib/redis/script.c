#include "redis/script.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void
lsh_script_begin(struct lsh_script_call *call, const struct lsh_script *script, unsigned keys)
{
	static const char digits[] = "0123456789";

	assert(keys < 10);
	call->script = script;
	call->args[0] = LSH_ARG("EVALSHA");
	call->args[1] = (struct lsh_arg){script->sha1, 40};
	call->args[2] = (struct lsh_arg){digits + keys, 1};
	call->count = 3;
}

void
lsh_script_push(struct lsh_script_call *call, struct lsh_arg arg)
{
	assert(call->count < LSH_SCRIPT_ARGS);
	call->args[call->count++] = arg;
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
