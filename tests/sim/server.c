/* A simulated Redis server. See server.h. */
#include "tests/sim/server.h"
#include "tests/support/trouble.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 512 }; /* of a command, at most */

struct sim_server *
sim_server_new(struct sim_lua *lua, sim_publish *publish, void *ctx)
{
	struct sim_server *s = zeroed(sizeof *s);

	s->lua = lua;
	s->context.publish = publish;
	s->context.ctx = ctx;
	s->version = SIM_VERSION;
	return s;
}

void
sim_server_free(struct sim_server *server)
{
	if (server == NULL)
		return;
	sim_keyspace_clear(&server->context.keyspace);
	free(server);
}

int64_t
sim_server_us(const struct sim_server *server, int64_t now_us)
{
	/* In two parts, so that nothing overflows in a hundred years of drift. */
	int64_t passed = now_us - server->since_us;
	int64_t gained = passed / 1000000 * server->ppm + passed % 1000000 * server->ppm / 1000000;

	return now_us + server->ahead_us + gained;
}

void
sim_server_set_clock(struct sim_server *server, int64_t now_us, int64_t ahead_us, int64_t ppm)
{
	server->since_us = now_us;
	server->ahead_us = ahead_us;
	server->ppm = ppm;
}

void
sim_server_flush_scripts(struct sim_server *server)
{
	server->scripts = 0;
}

void
sim_server_restart(struct sim_server *server, const struct sim_keyspace *data)
{
	if (data == NULL)
		sim_keyspace_clear(&server->context.keyspace);
	else if (data != &server->context.keyspace)
		sim_keyspace_copy(&server->context.keyspace, data);
	sim_server_flush_scripts(server);
	server->context.is_full = server->context.is_replica = false;
}

static const struct sim_script *
script_of(struct sim_server *server, bool by_sum, const struct sim_arg *text)
{
	const struct sim_script *s;

	if (by_sum) {
		s = sim_lua_find(server->lua, text->bytes, text->size);
		if (s != NULL && (server->scripts >> s->index & 1) != 0)
			return s;
		sim_reply_error(&server->reply, "NOSCRIPT No matching script. Please use EVAL.");
		return NULL;
	}
	s = sim_lua_load(server->lua, text->bytes, text->size, &server->reply);
	if (s != NULL)
		server->scripts |= UINT64_C(1) << s->index;
	return s;
}

static void
eval(struct sim_server *server, const struct sim_command *command, const struct sim_call *c)
{
	const struct sim_script *script;
	int64_t keys = 0;
	bool is_number = c->count > 2 && sim_arg_integer(&c->args[2], &keys);
	bool has_keys = is_number && keys >= 0 && (size_t)keys <= c->count - 3;

	if (sim_command_refuse(command, c, 3, has_keys ? (size_t)keys : 0))
		return;
	if (!is_number) {
		sim_reply_error(c->reply, "ERR value is not an integer or out of range");
	} else if (!has_keys) {
		sim_reply_error(c->reply, keys < 0 ? "ERR Number of keys can't be negative"
		                                   : "ERR Number of keys can't be greater than number of args");
	} else {
		script = script_of(server, sim_arg_is(&c->args[0], "EVALSHA"), &c->args[1]);
		if (script != NULL)
			sim_lua_run(server->lua, script, server->version, c, (size_t)keys);
	}
}

static void
manage_scripts(struct sim_server *server, const struct sim_command *command, const struct sim_call *c)
{
	const struct sim_script *s;

	if (sim_command_refuse(command, c, 0, 0))
		return;
	if (sim_arg_is(&c->args[1], "FLUSH")) {
		sim_server_flush_scripts(server);
		sim_reply_status(c->reply, "OK");
	} else if (sim_arg_is(&c->args[1], "LOAD") && c->count == 3) {
		s = script_of(server, false, &c->args[2]);
		if (s != NULL)
			sim_reply_copy(c->reply, LSH_STRING, s->sha1, 40);
	} else {
		sim_reply_error(c->reply, "ERR unknown subcommand '%.*s'. Try SCRIPT HELP.", (int)c->args[1].size,
		                c->args[1].bytes);
	}
}

/* A master soon deletes what is over, so that it does not come back when the clock does; a replica waits to be told. */
static void
set_time(struct sim_server *server, int64_t us)
{
	struct sim_context *c = &server->context;

	if (!server->was_replica && (us < c->now_us || c->is_replica || ++server->runs % 4096 == 0))
		sim_keyspace_expire(&c->keyspace, c->now_us / 1000);
	server->was_replica = c->is_replica;
	c->now_us = us;
}

const struct lsh_message *
sim_server_run(struct sim_server *server, const struct lsh_arg *args, size_t count, int64_t now_us)
{
	const struct sim_command *command = sim_command_find(args[0].bytes, args[0].size);
	struct sim_arg words[WORDS];
	const struct sim_call c = {&server->context, words, count, &server->reply};

	if (count > WORDS)
		abort();
	for (size_t i = 0; i < count; i++)
		words[i] = (struct sim_arg){.bytes = args[i].bytes, .size = args[i].size};
	set_time(server, sim_server_us(server, now_us));
	server->reply.used = 0;
	server->reply.message.type = LSH_NIL;
	if (command == NULL)
		sim_reply_error(&server->reply, "ERR unknown command '%.*s'", (int)args[0].size, args[0].bytes);
	else if (sim_arg_is(&words[0], "EVALSHA") || sim_arg_is(&words[0], "EVAL"))
		eval(server, command, &c);
	else if (sim_arg_is(&words[0], "SCRIPT"))
		manage_scripts(server, command, &c);
	else
		sim_command_run(command, &c);
	return &server->reply.message;
}
