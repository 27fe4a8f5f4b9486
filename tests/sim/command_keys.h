/* What the commands of a simulated server do with its keys. They are run by sim_command_run() (commands.h), which has
 * counted their words and asked whether they are permitted; and none of their words but the third of PEXPIRE, the
 * fifth of SET and the scores of ZADD is a number that is not printed. */
#ifndef LEASH_TEST_SIM_COMMAND_KEYS_H
#define LEASH_TEST_SIM_COMMAND_KEYS_H

#include "tests/sim/commands.h"

enum { SIM_WORDS = 64 }; /* of a command that is no script, at most */

typedef void sim_run(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply);

sim_run sim_dbsize, sim_del, sim_exists, sim_flushall, sim_persist, sim_pexpire, sim_pttl, sim_push;
sim_run sim_get, sim_getrange, sim_set;
sim_run sim_hdel, sim_hexists, sim_hget, sim_hgetall, sim_hlen, sim_hset;
sim_run sim_zadd, sim_zcount, sim_zincrby, sim_zrangebyscore, sim_zrem, sim_zrevrange, sim_zscore;

/* Of the key args[1]: *slot is NULL if there is none. False: it is of another type, which is the reply. */
bool sim_key_of(struct sim_context *context, const struct sim_arg *args, enum sim_type type, struct sim_slot **slot,
                struct sim_reply *reply);
/* The same, made if there is none, and for a change. NULL: it is of another type. */
struct sim_key *sim_key_for(struct sim_context *context, const struct sim_arg *args, enum sim_type type,
                            struct sim_reply *reply);
/* The reply is how many of the members args[2] and so on are gone now; with the last one the key goes. */
void sim_members_delete(struct sim_context *context, const struct sim_arg *args, size_t count, enum sim_type type,
                        struct sim_reply *reply);

#endif
