/* What scripts on simulated servers find in `redis`; and the interpreter, for who runs them. */
#ifndef LEASH_TEST_SIM_LUA_REDIS_H
#define LEASH_TEST_SIM_LUA_REDIS_H

#include "tests/sim/lua.h"

#include <lua.h>

struct sim_lua {
	lua_State *state;
	struct sim_script scripts[SIM_SCRIPTS];
	unsigned count;
	int on_error, ok, redis;         /* in the registry: functions and tables that are made once, */
	int tables[2];                   /* KEYS and ARGV, */
	size_t filled[2];                /* with so many elements */
	int version;
	struct sim_context *context;     /* of the script that runs; */
	struct sim_reply reply;          /* to its last command */
};

/* Make `redis`, lua->redis, and lua->ok. */
void sim_lua_define(struct sim_lua *lua);

/* {err = text} */
void sim_lua_push_error(lua_State *L, const char *text, size_t size);

#endif
