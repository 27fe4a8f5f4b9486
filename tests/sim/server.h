/* A simulated Redis server: takes a command as an array of arguments, does at once what Redis would do, and answers as
 * Redis would, at a time that the caller says. No thread, no socket, no clock; one lsh_message at a time.
 *
 * What is between client and server is not its business: connections, AUTH and HELLO, subscriptions, the slots of a
 * cluster, replicas, and how long an answer takes. */
#pragma once

#include "redis/command.h"
#include "tests/sim/lua.h"

enum { SIM_VERSION = 0x070200 }; /* of a new server */

struct sim_server {
	/* The caller may change is_full, is_replica and rights between any two commands, and copy the keyspace. */
	struct sim_context context;
	struct sim_lua *lua;    /* may be that of all servers */
	uint64_t scripts;       /* that it knows: a bit for each */
	int version;            /* 0: of 6.2, which scripts are not told */
	uint64_t runs;          /* commands so far, but those of scripts, */
	bool was_replica;       /* at the last of them */
	/* The wall clock: from since_us on, by the world's time, it is ahead_us ahead, and gains ppm. */
	int64_t since_us, ahead_us, ppm;
	struct sim_reply reply;
};

struct sim_server *sim_server_new(struct sim_lua *lua, sim_publish *publish, void *ctx);
void sim_server_free(struct sim_server *server);

/* Execute a command at `now_us` of the world's time. The answer and its texts are the server's until the next call. */
const struct lsh_message *sim_server_run(struct sim_server *server, const struct lsh_arg *args, size_t count,
                                         int64_t now_us);

int64_t sim_server_us(const struct sim_server *server, int64_t now_us); /* what the server's wall clock says then */

/* From now on the clock gains `ppm`; and it jumps to be `ahead_us` ahead. */
void sim_server_set_clock(struct sim_server *server, int64_t now_us, int64_t ahead_us, int64_t ppm);

/* It is another process: it knows no script, has the keys of `data` (its own: &server->context.keyspace; NULL: none),
 * and is a master that is not full. Its clock goes on. */
void sim_server_restart(struct sim_server *server, const struct sim_keyspace *data);

void sim_server_flush_scripts(struct sim_server *server);
