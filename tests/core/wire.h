/* What lies below a call in the scripted world: connections that a test answers, and threads that do not run.
 *
 * A program with these files is linked with the internal archive as it is. wire.c has the functions of pipe.h,
 * listener.h and courier.h, and the keeper's of node_inside.h, so the archive's own stay out of the program. The
 * linker's --wrap (local.mk) puts functions of ours in the place of those that start, end or park a thread, read the
 * clock or draw a number. All else is the library's: node.c, router.c and call.c, and what stands on them.
 *
 * There may be several servers. One thread does everything. */
#pragma once

#include "base/list.h"
#include "kind/kind.h"
#include "redis/pipeline.h"

#define WIRE_SERVER_US (INT64_C(1760000000) * 1000000) /* the servers' clocks are so much ahead of ours */

#define IS(type, name, arguments, ...) type name arguments { __VA_ARGS__; } /* what is no more than a line */

enum {
	WIRE_SERVERS = 8,  /* at most */
	WIRE_TOKENS = 100, /* of a command, at most */
};

/* A command that was appended and is not answered. */
struct wire_command {
	struct lsh_list link;
	struct lsh_ticket *ticket;     /* NULL: nobody wants its answer */
	enum lsh_verb verb;            /* LSH_VERBS: it is a plain command, */
	char name[24];                 /* of this name; or with its source: "EVAL" */
	size_t tokens;                 /* that it speaks of, */
	unsigned token[WIRE_TOKENS];   /* by their numbers in the order in which they appeared in this test, from 1 on */
	int64_t not_after_us;          /* of an acquire, by the server's clock; */
	int64_t wanted;                /* and the fence that is wanted, on a quorum; or that a server is to hear of */
	bool places, in_one_array;     /* an acquire that takes a place; renewals whose answers come in one */
	bool sent;
};

extern struct wire {
	bool is_cut, is_down[WIRE_SERVERS]; /* no connection for commands can be made, nor one to that server, */
	bool is_deaf;      /* nor one for messages */
	bool is_stuck;     /* what is appended does not leave this machine */
	unsigned life;     /* of the servers: another number, and they were restarted */
	unsigned warnings; /* that were logged */
	unsigned refuses;  /* there is no room for so many commands that come next; nobody tells when there is */
} wire;

void wire_reset(void);    /* before each test: nothing was sent yet, no token has a number */

/* Do what the threads would do now: send, connect, do the keepers' work, deliver what is told. `sent` is told of each
 * command, and of the server. False: there was nothing to do. */
bool wire_settle(void (*sent)(size_t n, const struct wire_command *command));

size_t wire_servers(void);

/* Of the server that was made as the n-th, from 0 on. */
struct wire_command *wire_first(size_t n); /* the oldest command that was sent and is not answered; or NULL */
void wire_answer(size_t n, const struct lsh_message *message); /* that one */
void wire_publish(size_t n, const char *channel, const char *text);

void wire_break(void);      /* each connection for commands */
void wire_break_one(size_t n);
void wire_break_messages(void);
void wire_deny(const char *why); /* the next connection is denied */
int64_t wire_overdue(void); /* when an answer is overdue first; LSH_NEVER: none is on its way */
void wire_break_overdue(int64_t now);

const char *wire_token(unsigned number); /* NULL: no command spoke of it */
