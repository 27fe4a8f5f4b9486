/* What scripts on simulated servers find in `redis`: call, pcall, error_reply and status_reply, as in Redis 7. */
#include "tests/sim/lua_redis.h"

#include <lauxlib.h>

#include <stdlib.h>
#include <string.h>

void
sim_lua_push_error(lua_State *L, const char *text, size_t size)
{
	lua_createtable(L, 0, 3);
	lua_pushlstring(L, text, size);
	lua_setfield(L, -2, "err");
}

static void
push_item(struct sim_lua *lua, const struct lsh_item *item)
{
	lua_State *L = lua->state;

	switch (item->type) {
	case LSH_INTEGER:
		lua_pushnumber(L, (lua_Number)item->integer);
		break;
	case LSH_STRING:
		lua_pushlstring(L, item->text, item->length);
		break;
	case LSH_STATUS:
		lua_rawgeti(L, LUA_REGISTRYINDEX, lua->ok);
		break;
	case LSH_ERROR:
		sim_lua_push_error(L, item->text, item->length);
		break;
	default:
		lua_pushboolean(L, false);
	}
}

static void
push_reply(struct sim_lua *lua)
{
	const struct lsh_message *m = &lua->reply.message;

	if (m->type != LSH_ARRAY) {
		push_item(lua, &m->item[0]);
		return;
	}
	lua_createtable(lua->state, (int)m->count, 0);
	for (unsigned i = 0; i < m->count; i++) {
		push_item(lua, &m->item[i]);
		lua_rawseti(lua->state, -2, (int)i + 1);
	}
}

/* The command of the name at index 1, looked for once for each spelling. */
static const struct sim_command *
command_of(lua_State *L)
{
	const struct sim_command *command;
	const char *name;
	size_t size;

	lua_pushvalue(L, 1);
	lua_rawget(L, lua_upvalueindex(2));
	command = lua_touserdata(L, -1);
	lua_pop(L, 1);
	if (command != NULL || lua_type(L, 1) != LUA_TSTRING)
		return command;
	name = lua_tolstring(L, 1, &size);
	command = sim_command_find(name, size);
	if (command == NULL)
		return NULL;
	lua_pushvalue(L, 1);
	lua_pushlightuserdata(L, (void *)(uintptr_t)command);
	lua_rawset(L, lua_upvalueindex(2));
	return command;
}

/* NULL: all is well. */
static const char *
read_args(lua_State *L, int count, struct sim_arg *args)
{
	if (count == 0)
		return "ERR Please specify at least one argument for this redis lib call";
	if (count > 64)
		abort();
	for (int i = 0; i < count; i++) {
		int type = lua_type(L, i + 1);

		if (type == LUA_TNUMBER)
			args[i] = (struct sim_arg){NULL, 0, lua_tonumber(L, i + 1)};
		else if (type == LUA_TSTRING)
			args[i].bytes = lua_tolstring(L, i + 1, &args[i].size);
		else
			return "ERR Lua redis lib command arguments must be strings or integers";
	}
	return NULL;
}

static int
run_command(lua_State *L, bool raises)
{
	struct sim_lua *lua = lua_touserdata(L, lua_upvalueindex(1));
	int count = lua_gettop(L);
	struct sim_arg args[64];
	const char *wrong = read_args(L, count, args);
	const struct sim_command *command = wrong == NULL ? command_of(L) : NULL;

	if (command != NULL) {
		sim_command_run(command, lua->context, args, (size_t)count, &lua->reply);
		push_reply(lua);
		return raises && lua->reply.message.type == LSH_ERROR ? lua_error(L) : 1;
	}
	if (wrong == NULL)
		wrong = "ERR Unknown Redis command called from script";
	sim_lua_push_error(L, wrong, strlen(wrong));
	return raises ? lua_error(L) : 1;
}

static int
redis_call(lua_State *L)
{
	return run_command(L, true);
}

static int
redis_pcall(lua_State *L)
{
	return run_command(L, false);
}

static int
redis_error_reply(lua_State *L)
{
	const char *text = luaL_checkstring(L, 1);

	text += *text == '-';
	lua_pushfstring(L, "%s%s", strchr(text, ' ') != NULL ? "" : "ERR ", text);
	sim_lua_push_error(L, lua_tostring(L, -1), lua_objlen(L, -1));
	return 1;
}

static int
redis_status_reply(lua_State *L)
{
	lua_createtable(L, 0, 1);
	lua_pushvalue(L, 1);
	lua_setfield(L, -2, "ok");
	return 1;
}

static void
define(struct sim_lua *lua, const char *name, lua_CFunction function)
{
	lua_State *L = lua->state;

	lua_pushlightuserdata(L, lua);
	lua_newtable(L);
	lua_pushcclosure(L, function, 2);
	lua_setfield(L, -2, name);
}

void
sim_lua_define(struct sim_lua *lua)
{
	lua_State *L = lua->state;

	lua_newtable(L);
	define(lua, "call", redis_call);
	define(lua, "pcall", redis_pcall);
	define(lua, "error_reply", redis_error_reply);
	define(lua, "status_reply", redis_status_reply);
	lua_pushvalue(L, -1);
	lua->redis = luaL_ref(L, LUA_REGISTRYINDEX);
	lua_setglobal(L, "redis");
	lua_createtable(L, 0, 1);
	lua_pushliteral(L, "OK");
	lua_setfield(L, -2, "ok");
	lua->ok = luaL_ref(L, LUA_REGISTRYINDEX);
}
