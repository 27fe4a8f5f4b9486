/* The commands that a simulated server knows. See commands.h; what each does with keys is in command_keys.c. */
#include "tests/sim/commands.h"

#include "tests/sim/command_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WRITES = 1, GROWS = 2, NO_SCRIPT = 4, CHANNEL = 8, KEYED = 16, MANY_KEYS = 32 };

struct sim_command {
	const char *name;
	sim_run *run;
	size_t least, most; /* words */
	unsigned flags;
};

static void
ping(const struct sim_call *c)
{
	sim_reply_status(c->reply, "PONG");
}

static void
tell_time(const struct sim_call *c)
{
	char text[SIM_NUMBER_SIZE];

	sim_reply_array(c->reply);
	sim_reply_copy(c->reply, LSH_STRING, text, sim_number_print(text, (double)(c->context->now_us / 1000000)));
	sim_reply_copy(c->reply, LSH_STRING, text, sim_number_print(text, (double)(c->context->now_us % 1000000)));
}

static void
publish(const struct sim_call *c)
{
	const struct sim_hooks *h = c->context->hooks;
	const struct sim_arg *channel = &c->args[1], *text = &c->args[2];
	int64_t heard = 0;

	if (h != NULL && h->publish != NULL)
		heard = h->publish(c->context->ctx, channel->bytes, channel->size, text->bytes, text->size);
	sim_reply_integer(c->reply, heard);
}

static void
wait_for_replicas(const struct sim_call *c)
{
	const struct sim_hooks *h = c->context->hooks;
	bool fsynced = c->count == 4, own = false;
	int64_t n = 0;

	if (c->context->is_replica) {
		sim_reply_error(c->reply, "ERR %s cannot be used with replica instances.", fsynced ? "WAITAOF" : "WAIT");
		return;
	}
	if (h != NULL && h->acknowledged != NULL)
		n = h->acknowledged(c->context->ctx, fsynced, &own);
	if (fsynced) {
		sim_reply_array(c->reply);
		sim_reply_integer(c->reply, own);
	}
	sim_reply_integer(c->reply, n);
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

/* In a script it is worded otherwise. */
static bool
forbid(const struct sim_call *c, const char *in_script, const char *elsewhere)
{
	if (c->context->in_script)
		return !sim_reply_error(c->reply, "ERR The user executing the script can't %s", in_script);
	return !sim_reply_error(c->reply, "NOPERM this user has no permissions to %s", elsewhere);
}

static bool
is_forbidden(const struct sim_command *command, const struct sim_call *c, size_t first, size_t keys)
{
	const struct sim_rights *r = c->context->rights;
	char run[60];

	snprintf(run, sizeof run, "run the '%s' command", command->name);
	if ((r->denied >> sim_command_id(command) & 1) != 0)
		return forbid(c, "run this command or subcommand", run);
	for (size_t i = first; i < first + keys; i++)
		if (!may_use(r, &c->args[i]))
			return forbid(c, "access at least one of the keys mentioned in the command arguments",
			              "access one of the keys used as arguments");
	return r->deaf && (command->flags & CHANNEL) != 0 &&
	       forbid(c, "publish to the channel mentioned in the command", "access one of the channels used as arguments");
}

bool
sim_command_refuse(const struct sim_command *command, const struct sim_call *c, size_t first, size_t keys)
{
	const struct sim_context *context = c->context;

	if (c->count < command->least || c->count > command->most)
		return !(context->in_script
		                 ? sim_reply_error(c->reply, "ERR Wrong number of args calling Redis command from script")
		                 : sim_reply_error(c->reply, "ERR wrong number of arguments for '%s' command", command->name));
	if (context->in_script && (command->flags & NO_SCRIPT) != 0)
		return !sim_reply_error(c->reply, "ERR This Redis command is not allowed from script");
	if (context->rights != NULL && is_forbidden(command, c, first, keys))
		return true;
	if (context->is_replica && (command->flags & WRITES) != 0)
		return !sim_reply_error(c->reply, "READONLY You can't write against a read only replica.");
	return context->is_full && (command->flags & GROWS) != 0 && !context->script_wrote &&
	       !sim_reply_error(c->reply, "OOM command not allowed when used memory > 'maxmemory'.");
}

/* Most want text, and those few that take numbers look at them as they are. */
static bool
wants_text(const struct sim_command *command, size_t i)
{
	enum sim_command_id id = sim_command_id(command);

	return id == SIM_PEXPIRE ? i != 2 : id == SIM_ZADD ? i == 1 : id == SIM_SET ? i != 4 : true;
}

void
sim_command_run(const struct sim_command *command, const struct sim_call *c)
{
	struct sim_arg words[SIM_WORDS];
	const struct sim_call printed = {c->context, words, c->count, c->reply};
	char digits[SIM_WORDS][SIM_NUMBER_SIZE];
	size_t keys = (command->flags & KEYED) == 0 ? 0 : (command->flags & MANY_KEYS) != 0 ? c->count - 1 : 1;

	c->reply->used = 0;
	c->reply->message.type = LSH_NIL;
	if (c->count > SIM_WORDS)
		abort();
	for (size_t i = 0; i < c->count; i++) {
		words[i] = c->args[i];
		if (i > 0 && words[i].bytes == NULL && wants_text(command, i))
			words[i] = (struct sim_arg){digits[i], sim_number_print(digits[i], words[i].number), 0};
	}
	if (sim_command_refuse(command, &printed, 1, c->count > 1 ? keys : 0))
		return;
	c->context->script_wrote |= c->context->in_script && (command->flags & WRITES) != 0;
	command->run(&printed);
}
