/* What the commands of a simulated server do with its keys. They are run by sim_command_run() (commands.h), which has
 * counted their words and asked whether they are permitted; and none of their words but the third of PEXPIRE, the
 * fifth of SET and the scores of ZADD is a number that is not printed. */
#pragma once

#include "tests/sim/commands.h"

enum { SIM_WORDS = 64 }; /* of a command that is no script, at most */

typedef void sim_run(const struct sim_call *c);
#define COMMAND(name) void sim_##name(const struct sim_call *c)

sim_run sim_dbsize, sim_del, sim_exists, sim_flushall, sim_persist, sim_pexpire, sim_pttl, sim_push;
sim_run sim_get, sim_getrange, sim_set;
sim_run sim_hdel, sim_hexists, sim_hget, sim_hgetall, sim_hlen, sim_hset;
sim_run sim_zadd, sim_zcount, sim_zincrby, sim_zrangebyscore, sim_zrem, sim_zrevrange, sim_zscore;

/* Of the key args[1]: *key is NULL if there is none. False: it is of another type, which is the reply. */
bool sim_key_of(const struct sim_call *c, enum sim_type type, const struct sim_key **key);
/* The same, made if there is none, and for a change. NULL: it is of another type. */
struct sim_key *sim_key_for(const struct sim_call *c, enum sim_type type);
/* Of its member args[2]: *member is NULL if there is none. False: as of sim_key_of(). */
bool sim_member_of(const struct sim_call *c, enum sim_type type, const struct sim_member **member);
/* The reply is how many of the members args[2] and so on are gone now; with the last one the key goes. */
void sim_members_delete(const struct sim_call *c, enum sim_type type);
/* The argument is an integer; else that is the reply. */
bool sim_read_integer(const struct sim_call *c, size_t index, int64_t *out);
