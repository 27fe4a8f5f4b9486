/* Lua scripts on simulated servers: as Redis 7 runs them, in one interpreter for all servers. A script is compiled
 * once; redis.call goes straight to commands.h. */
#pragma once

#include "tests/sim/commands.h"

enum { SIM_SCRIPTS = 64 }; /* at most, so that a set of them is the bits of a number */

struct sim_script {
	unsigned index;
	char sha1[41];
	int function; /* in Lua's registry */
};

struct sim_lua;

struct sim_lua *sim_lua_new(void);
void sim_lua_free(struct sim_lua *lua);

/* NULL: there is no such script; or, of load, it does not compile, and the reply is that error. */
const struct sim_script *sim_lua_find(const struct sim_lua *lua, const char *sha1, size_t size);
const struct sim_script *sim_lua_load(struct sim_lua *lua, const char *text, size_t size, struct sim_reply *reply);

/* Of an EVAL, with so many keys. `version`: redis.REDIS_VERSION_NUM; 0: before 7.0, where there was none. */
void sim_lua_run(struct sim_lua *lua, const struct sim_script *script, int version, const struct sim_call *c,
                 size_t keys);
