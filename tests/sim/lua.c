/* Lua scripts, and what they find in `redis`, as in Redis 7: call, pcall, error_reply, status_reply and sha1hex. */
#include "tests/sim/lua.h"
#include "tests/support/trouble.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <openssl/evp.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_lua {
	lua_State *state;
	struct sim_script scripts[SIM_SCRIPTS];
	unsigned count;
	struct sim_context *context; /* of the script that runs; */
	struct sim_reply reply;      /* to its last command */
};

static void
hash(const char *text, size_t size, char sha1[static 41])
{
	unsigned char digest[EVP_MAX_MD_SIZE];

	if (EVP_Digest(text, size, digest, NULL, EVP_sha1(), NULL) != 1)
		abort();
	for (int i = 0; i < 20; i++)
		snprintf(sha1 + 2 * i, 3, "%02x", digest[i]);
}

/* ---- redis ---- */

/* {err = text}, or {ok = text} */
static void
push_table(lua_State *L, const char *field, const char *text, size_t size)
{
	lua_createtable(L, 0, 3);
	lua_pushlstring(L, text, size);
	lua_setfield(L, -2, field);
}

static void
push_item(lua_State *L, const struct lsh_item *item)
{
	if (item->type == LSH_INTEGER)
		lua_pushnumber(L, (lua_Number)item->integer);
	else if (item->type == LSH_STRING)
		lua_pushlstring(L, item->text, item->length);
	else if (item->type == LSH_STATUS || item->type == LSH_ERROR)
		push_table(L, item->type == LSH_ERROR ? "err" : "ok", item->text, item->length);
	else
		lua_pushboolean(L, false);
}

static void
push_message(lua_State *L, const struct lsh_message *m)
{
	if (m->type != LSH_ARRAY) {
		push_item(L, &m->item[0]);
		return;
	}
	lua_createtable(L, (int)m->count, 0);
	for (unsigned i = 0; i < m->count; i++) {
		push_item(L, &m->item[i]);
		lua_rawseti(L, -2, (int)i + 1);
	}
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

/* redis.call and redis.pcall, by whether it raises errors */
static int
run_command(lua_State *L)
{
	struct sim_lua *lua = lua_touserdata(L, lua_upvalueindex(1));
	struct sim_reply *reply = &lua->reply;
	int count = lua_gettop(L);
	struct sim_arg args[64];
	const char *wrong = read_args(L, count, args);
	bool is_named = wrong == NULL && args[0].bytes != NULL;
	const struct sim_command *command = is_named ? sim_command_find(args[0].bytes, args[0].size) : NULL;

	reply->used = 0;
	if (command != NULL)
		sim_command_run(command, &(struct sim_call){lua->context, args, (size_t)count, reply});
	else
		sim_reply_error(reply, "%s", wrong != NULL ? wrong : "ERR Unknown Redis command called from script");
	push_message(L, &reply->message);
	return reply->message.type == LSH_ERROR && lua_toboolean(L, lua_upvalueindex(2)) ? lua_error(L) : 1;
}

/* redis.sha1hex(text) */
static int
sha1_hex(lua_State *L)
{
	size_t size;
	const char *text = luaL_checklstring(L, 1, &size);
	char sha1[41];

	hash(text, size, sha1);
	lua_pushstring(L, sha1);
	return 1;
}

static void
define_redis(struct sim_lua *lua)
{
	static const char others[] =
		"function redis.status_reply(text) return {ok = text} end\n"
		"function redis.error_reply(text)\n"
		"  text = text:gsub('^-', '')\n"
		"  return {err = text:find(' ', 1, true) and text or 'ERR ' .. text}\n"
		"end";
	lua_State *L = lua->state;

	lua_newtable(L);
	for (int raises = 0; raises < 2; raises++) {
		lua_pushlightuserdata(L, lua);
		lua_pushboolean(L, raises);
		lua_pushcclosure(L, run_command, 2);
		lua_setfield(L, -2, raises ? "call" : "pcall");
	}
	lua_pushcfunction(L, sha1_hex);
	lua_setfield(L, -2, "sha1hex");
	lua_setglobal(L, "redis");
	if (luaL_dostring(L, others) != 0)
		abort();
}

/* ---- the interpreter ---- */

/* What was raised becomes a table that says where: as in Redis, the innermost line of Lua. */
static int
on_error(lua_State *L)
{
	lua_Debug at;
	bool known = lua_getstack(L, 1, &at) != 0 && lua_getinfo(L, "Sl", &at) != 0;

	if (known && strcmp(at.what, "C") == 0)
		known = lua_getstack(L, 2, &at) != 0 && lua_getinfo(L, "Sl", &at) != 0;
	if (!lua_istable(L, 1)) {
		lua_pushfstring(L, "ERR %s", lua_tostring(L, 1));
		push_table(L, "err", lua_tostring(L, -1), lua_objlen(L, -1));
	}
	if (known) {
		lua_pushstring(L, at.source);
		lua_setfield(L, -2, "source");
		lua_pushinteger(L, at.currentline);
		lua_setfield(L, -2, "line");
	}
	return 1;
}

struct sim_lua *
sim_lua_new(void)
{
	struct sim_lua *lua = zeroed(sizeof *lua);

	lua->state = luaL_newstate();
	if (lua->state == NULL)
		abort();
	luaL_openlibs(lua->state);
	define_redis(lua);
	return lua;
}

void
sim_lua_free(struct sim_lua *lua)
{
	if (lua == NULL)
		return;
	lua_close(lua->state);
	free(lua);
}

/* ---- scripts ---- */

const struct sim_script *
sim_lua_find(const struct sim_lua *lua, const char *sha1, size_t size)
{
	for (unsigned i = 0; i < lua->count && size == 40; i++)
		if (memcmp(lua->scripts[i].sha1, sha1, 40) == 0)
			return &lua->scripts[i];
	return NULL;
}

const struct sim_script *
sim_lua_load(struct sim_lua *lua, const char *text, size_t size, struct sim_reply *reply)
{
	struct sim_script *s;
	char sha1[41];

	hash(text, size, sha1);
	const struct sim_script *known = sim_lua_find(lua, sha1, 40);
	if (known != NULL)
		return known;
	if (luaL_loadbuffer(lua->state, text, size, "@user_script") != 0) {
		sim_reply_error(reply, "ERR Error compiling script (new function): %s", lua_tostring(lua->state, -1));
		lua_pop(lua->state, 1);
		return NULL;
	}
	if (lua->count == SIM_SCRIPTS)
		abort();
	s = &lua->scripts[lua->count];
	s->index = lua->count++;
	memcpy(s->sha1, sha1, sizeof sha1);
	s->function = luaL_ref(lua->state, LUA_REGISTRYINDEX);
	return s;
}

static void
set_array(lua_State *L, const char *name, const struct sim_arg *args, size_t count)
{
	lua_createtable(L, (int)count, 0);
	for (size_t i = 0; i < count; i++) {
		lua_pushlstring(L, args[i].bytes, args[i].size);
		lua_rawseti(L, -2, (int)i + 1);
	}
	lua_setglobal(L, name);
}

/* ---- results ---- */

static const char *
text_field(lua_State *L, const char *name)
{
	lua_getfield(L, -1, name);
	const char *text = lua_isstring(L, -1) ? lua_tostring(L, -1) : NULL;
	lua_pop(L, 1); /* the table still has it */
	return text;
}

static void read_result(lua_State *L, struct sim_reply *reply);

static void
read_table(lua_State *L, struct sim_reply *reply)
{
	const char *text;

	if ((text = text_field(L, "err")) != NULL) {
		sim_reply_error(reply, "%s", text);
		return;
	}
	if ((text = text_field(L, "ok")) != NULL) {
		sim_reply_copy(reply, LSH_STATUS, text, strlen(text));
		return;
	}
	if (reply->message.type == LSH_ARRAY)
		abort(); /* nobody here answers with an array in an array */
	sim_reply_array(reply);
	for (int i = 1;; i++) {
		lua_rawgeti(L, -1, i);
		if (lua_isnil(L, -1))
			break;
		read_result(L, reply);
	}
	lua_pop(L, 1);
}

/* The value on top, which goes. */
static void
read_result(lua_State *L, struct sim_reply *reply)
{
	int type = lua_type(L, -1);
	double n = lua_tonumber(L, -1);

	if (type == LUA_TTABLE)
		read_table(L, reply);
	else if (type == LUA_TNUMBER)
		sim_reply_integer(reply, fabs(n) < 9.2e18 ? (int64_t)n : INT64_MIN);
	else if (type == LUA_TSTRING)
		sim_reply_copy(reply, LSH_STRING, lua_tostring(L, -1), lua_objlen(L, -1));
	else if (type == LUA_TBOOLEAN && lua_toboolean(L, -1))
		sim_reply_integer(reply, 1);
	else
		sim_reply_nil(reply);
	lua_pop(L, 1);
}

void
sim_lua_run(struct sim_lua *lua, const struct sim_script *script, int version, const struct sim_call *c, size_t keys)
{
	lua_State *L = lua->state;

	lua->context = c->context;
	c->context->in_script = true;
	c->context->script_wrote = false;
	lua_getglobal(L, "redis");
	if (version != 0)
		lua_pushinteger(L, version);
	else
		lua_pushnil(L);
	lua_setfield(L, -2, "REDIS_VERSION_NUM");
	lua_pop(L, 1);
	set_array(L, "KEYS", c->args + 3, keys);
	set_array(L, "ARGV", c->args + 3 + keys, c->count - 3 - keys);
	lua_pushcfunction(L, on_error);
	lua_rawgeti(L, LUA_REGISTRYINDEX, script->function);
	if (lua_pcall(L, 0, 1, -2) == 0) {
		read_result(L, c->reply);
	} else {
		const char *text = text_field(L, "err"), *source = text_field(L, "source"), *line = text_field(L, "line");

		if (source != NULL && line != NULL)
			sim_reply_error(c->reply, "%s script: %s, on %s:%s.", text, script->sha1, source, line);
		else
			sim_reply_error(c->reply, "%s", text);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	c->context->in_script = c->context->script_wrote = false;
}
