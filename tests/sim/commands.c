/* The commands that a simulated server knows. See commands.h; what each does with keys is in command_keys.c. */
#include "tests/sim/commands.h"

#include "tests/sim/command_keys.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WRITES = 1, GROWS = 2, NO_SCRIPT = 4, CHANNEL = 8, KEYED = 16, MANY_KEYS = 32 };

struct sim_command {
	const char *name;
	void (*run)(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply);
	size_t least, most; /* words */
	unsigned flags;
};

static void
ping(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	(void)context, (void)args, (void)count;
	sim_reply_status(reply, "PONG");
}

static void
tell_time(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	char text[SIM_NUMBER_SIZE];

	(void)args, (void)count;
	sim_reply_array(reply);
	sim_reply_copy(reply, LSH_STRING, text, sim_number_print(text, (double)(context->now_us / 1000000)));
	sim_reply_copy(reply, LSH_STRING, text, sim_number_print(text, (double)(context->now_us % 1000000)));
}

static void
publish(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	const struct sim_hooks *h = context->hooks;
	int64_t heard = 0;

	(void)count;
	if (h != NULL && h->publish != NULL)
		heard = h->publish(context->ctx, args[1].bytes, args[1].size, args[2].bytes, args[2].size);
	sim_reply_integer(reply, heard);
}

static void
wait_for_replicas(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	const struct sim_hooks *h = context->hooks;
	bool fsynced = count == 4, own = false;
	int64_t n = 0;

	(void)args;
	if (context->is_replica) {
		sim_reply_error(reply, "ERR %s cannot be used with replica instances.", fsynced ? "WAITAOF" : "WAIT");
		return;
	}
	if (h != NULL && h->acknowledged != NULL)
		n = h->acknowledged(context->ctx, fsynced, &own);
	if (fsynced) {
		sim_reply_array(reply);
		sim_reply_add(reply, (struct lsh_item){.type = LSH_INTEGER, .integer = own});
	}
	sim_reply_add(reply, (struct lsh_item){.type = LSH_INTEGER, .integer = n});
}

enum { ANY = 1000000 };

static const struct sim_command commands[SIM_COMMANDS] = {
	[SIM_DBSIZE] = {"dbsize", sim_dbsize, 1, 1, 0},
	[SIM_DEL] = {"del", sim_del, 2, ANY, WRITES | KEYED | MANY_KEYS},
	[SIM_EVAL] = {"eval", NULL, 3, ANY, NO_SCRIPT},
	[SIM_EVALSHA] = {"evalsha", NULL, 3, ANY, NO_SCRIPT},
	[SIM_EXISTS] = {"exists", sim_exists, 2, ANY, KEYED | MANY_KEYS},
	[SIM_FLUSHALL] = {"flushall", sim_flushall, 1, 2, WRITES},
	[SIM_GET] = {"get", sim_get, 2, 2, KEYED},
	[SIM_GETRANGE] = {"getrange", sim_getrange, 4, 4, KEYED},
	[SIM_HDEL] = {"hdel", sim_hdel, 3, ANY, WRITES | KEYED},
	[SIM_HEXISTS] = {"hexists", sim_hexists, 3, 3, KEYED},
	[SIM_HGET] = {"hget", sim_hget, 3, 3, KEYED},
	[SIM_HGETALL] = {"hgetall", sim_hgetall, 2, 2, KEYED},
	[SIM_HLEN] = {"hlen", sim_hlen, 2, 2, KEYED},
	[SIM_HSET] = {"hset", sim_hset, 4, ANY, WRITES | GROWS | KEYED},
	[SIM_LPUSH] = {"lpush", sim_push, 3, 3, WRITES | GROWS | KEYED},
	[SIM_PERSIST] = {"persist", sim_persist, 2, 2, WRITES | KEYED},
	[SIM_PEXPIRE] = {"pexpire", sim_pexpire, 3, ANY, WRITES | KEYED},
	[SIM_PING] = {"ping", ping, 1, 1, 0},
	[SIM_PTTL] = {"pttl", sim_pttl, 2, 2, KEYED},
	[SIM_PUBLISH] = {"publish", publish, 3, 3, CHANNEL},
	[SIM_RPUSH] = {"rpush", sim_push, 3, 3, WRITES | GROWS | KEYED},
	[SIM_SCRIPT] = {"script", NULL, 2, ANY, NO_SCRIPT},
	[SIM_SET] = {"set", sim_set, 3, ANY, WRITES | GROWS | KEYED},
	[SIM_SPUBLISH] = {"spublish", publish, 3, 3, CHANNEL},
	[SIM_TIME] = {"time", tell_time, 1, 1, 0},
	[SIM_WAIT] = {"wait", wait_for_replicas, 3, 3, NO_SCRIPT},
	[SIM_WAITAOF] = {"waitaof", wait_for_replicas, 4, 4, NO_SCRIPT},
	[SIM_ZADD] = {"zadd", sim_zadd, 4, ANY, WRITES | GROWS | KEYED},
	[SIM_ZCOUNT] = {"zcount", sim_zcount, 4, 4, KEYED},
	[SIM_ZINCRBY] = {"zincrby", sim_zincrby, 4, 4, WRITES | GROWS | KEYED},
	[SIM_ZRANGEBYSCORE] = {"zrangebyscore", sim_zrangebyscore, 4, ANY, KEYED},
	[SIM_ZREM] = {"zrem", sim_zrem, 3, ANY, WRITES | KEYED},
	[SIM_ZREVRANGE] = {"zrevrange", sim_zrevrange, 4, ANY, KEYED},
	[SIM_ZSCORE] = {"zscore", sim_zscore, 3, 3, KEYED},
};

const struct sim_command *
sim_command_find(const char *name, size_t size)
{
	for (size_t i = 0; i < SIM_COMMANDS; i++)
		if (strlen(commands[i].name) == size && strncasecmp(commands[i].name, name, size) == 0)
			return &commands[i];
	return NULL;
}

enum sim_command_id
sim_command_id(const struct sim_command *command)
{
	return (enum sim_command_id)(command - commands);
}

/* ---- what is refused ---- */

static bool
may_use(const struct sim_rights *rights, const struct sim_arg *key)
{
	if (rights->allowed[0] == NULL)
		return true;
	for (size_t i = 0; i < sizeof rights->allowed / sizeof *rights->allowed && rights->allowed[i] != NULL; i++) {
		const char *pattern = rights->allowed[i];
		size_t size = strlen(pattern);
		bool open = size > 0 && pattern[size - 1] == '*';

		size -= open;
		if ((open ? key->size >= size : key->size == size) && memcmp(key->bytes, pattern, size) == 0)
			return true;
	}
	return false;
}

static bool
forbid(const struct sim_command *command, const struct sim_context *context, const struct sim_arg *keys, size_t count,
       struct sim_reply *reply)
{
	const struct sim_rights *r = context->rights;
	const char *in_script = "ERR The user executing the script can't", *out = "NOPERM this user has no permissions to";

	if ((r->denied >> sim_command_id(command) & 1) != 0) {
		if (context->in_script)
			sim_reply_error(reply, "%s run this command or subcommand", in_script);
		else
			sim_reply_error(reply, "%s run the '%s' command", out, command->name);
		return true;
	}
	for (size_t i = 0; i < count; i++) {
		if (may_use(r, &keys[i]))
			continue;
		if (context->in_script)
			sim_reply_error(reply, "%s access at least one of the keys mentioned in the command arguments", in_script);
		else
			sim_reply_error(reply, "%s access one of the keys used as arguments", out);
		return true;
	}
	if (!r->deaf || (command->flags & CHANNEL) == 0)
		return false;
	if (context->in_script)
		sim_reply_error(reply, "%s publish to the channel mentioned in the command", in_script);
	else
		sim_reply_error(reply, "%s access one of the channels used as arguments", out);
	return true;
}

static bool
miscounts(const struct sim_command *command, bool in_script, size_t count, struct sim_reply *reply)
{
	if (count >= command->least && count <= command->most)
		return false;
	if (in_script)
		sim_reply_error(reply, "ERR Wrong number of args calling Redis command from script");
	else
		sim_reply_error(reply, "ERR wrong number of arguments for '%s' command", command->name);
	return true;
}

bool
sim_command_refuse(const struct sim_command *command, struct sim_context *context, const struct sim_arg *args,
                   size_t count, size_t first, size_t keys, struct sim_reply *reply)
{
	if (miscounts(command, context->in_script, count, reply))
		return true;
	if (context->in_script && (command->flags & NO_SCRIPT) != 0) {
		sim_reply_error(reply, "ERR This Redis command is not allowed from script");
		return true;
	}
	if (context->rights != NULL && forbid(command, context, args + first, keys, reply))
		return true;
	if (context->is_replica && (command->flags & WRITES) != 0) {
		sim_reply_error(reply, "READONLY You can't write against a read only replica.");
		return true;
	}
	if (context->is_full && (command->flags & GROWS) != 0 && !context->script_wrote) {
		sim_reply_error(reply, "OOM command not allowed when used memory > 'maxmemory'.");
		return true;
	}
	context->calls[sim_command_id(command)]++;
	return false;
}

/* Most want text, and those few that take numbers look at them as they are. */
static bool
wants_text(const struct sim_command *command, size_t i)
{
	switch (sim_command_id(command)) {
	case SIM_PEXPIRE:
		return i != 2;
	case SIM_ZADD:
		return i == 1;
	case SIM_SET:
		return i != 4;
	default:
		return true;
	}
}

void
sim_command_run(const struct sim_command *command, struct sim_context *context, const struct sim_arg *args,
                size_t count, struct sim_reply *reply)
{
	struct sim_arg words[SIM_WORDS];
	char digits[SIM_WORDS][SIM_NUMBER_SIZE];
	size_t keys = (command->flags & KEYED) == 0 ? 0 : (command->flags & MANY_KEYS) != 0 ? count - 1 : 1;

	reply->used = 0;
	reply->message.type = LSH_NIL;
	if (count > SIM_WORDS)
		abort();
	for (size_t i = 1; i < count; i++) {
		words[i] = args[i];
		if (args[i].bytes == NULL && wants_text(command, i))
			words[i] = (struct sim_arg){digits[i], sim_number_print(digits[i], args[i].number), 0};
	}
	words[0] = args[0];
	if (sim_command_refuse(command, context, words, count, 1, count > 1 ? keys : 0, reply))
		return;
	context->script_wrote |= context->in_script && (command->flags & WRITES) != 0;
	command->run(context, words, count, reply);
}
