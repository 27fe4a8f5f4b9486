/* The commands that a simulated server knows: those of lib/lua's scripts, of the library, and of who disturbs it. What
 * they answer, and the errors in the words of Redis 7.0, are what a real server says: see mirror.h. */
#pragma once

#include "tests/sim/keyspace.h"
#include "tests/sim/reply.h"

/* What a user may do, for who may not do all. */
struct sim_rights {
	uint64_t denied;         /* 1 << sim_command_number() of each command that is */
	const char *allowed[4];  /* keys: all, if the first is NULL; else these, or with a * what begins so */
};

/* Returns how many heard it. */
typedef int64_t sim_publish(void *ctx, const char *channel, size_t channel_size, const char *text, size_t size);

/* What commands run in. */
struct sim_context {
	struct sim_keyspace keyspace;
	int64_t now_us;                  /* of the server's wall clock */
	bool is_full, is_replica;        /* refuses what grows; what writes */
	bool in_script, script_wrote;    /* once it has, a full server refuses nothing of it */
	const struct sim_rights *rights; /* NULL: all */
	sim_publish *publish;            /* NULL: nobody hears anything */
	bool (*is_local)(void *ctx, const char *key, size_t size); /* may a script look at it? NULL: at any */
	void *ctx;
	uint64_t deadly;                 /* so often PEXPIRE was told a time of zero or less, which deletes the key */
};

/* A command, with args[0] its name, and where its reply goes. */
struct sim_call {
	struct sim_context *context;
	const struct sim_arg *args;
	size_t count;
	struct sim_reply *reply;
};

struct sim_command;

/* NULL: there is none of this name, in whichever case. */
const struct sim_command *sim_command_find(const char *name, size_t size);
unsigned sim_command_number(const struct sim_command *command);

/* The reply is an error if the command is refused. */
void sim_command_run(const struct sim_command *command, const struct sim_call *c);

/* Is it refused before it is run? For commands that are run elsewhere; `keys` are args[first] and so on. */
bool sim_command_refuse(const struct sim_command *command, const struct sim_call *c, size_t first, size_t keys);
