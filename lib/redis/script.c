#include "redis/script.h"

#include <assert.h>

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
