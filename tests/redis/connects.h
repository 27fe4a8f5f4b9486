/* Connecting: words for scenes in which a connector is driven to its end, in one thread, but for the resolver's.
 *
 *     dial URI [NAME [CHANNEL]]    a connector of that, for clients called leash-test; nameless: or nothing. close
 *     attempt [MS]                 OK, or what it failed with; errno: the name of that; try: dial, and attempt
 *     begin [MS], go_on            the first step of one, and the others; readable: what it waits for is there
 *     version, time, address       of the server that was found, by its hello, and of the connection
 *     found                        attempt, and that address, whose connection is closed
 *     ask BYTES                    over the connection that was made; heard: what came of it until now
 *     free_port                    where nobody listens
 *
 *     puppet NAME [BYTES [ADDRESS [PORT]]]   a server p or q, at the port $p or $q of 127.0.0.1, that says that once
 *                                  it has heard something, and does no more; stop, hang_up NAME
 *     manner NAME WORDS            at_once: it says it without having heard anything; closes: when it has said it;
 *                                  echoes: says what it hears; N: it drips, a byte each N ms
 *     says NAME BYTES              to the next; {WORD} in BYTES is a bulk string
 *     accepted NAME; said NAME     connections; bytes, to the last one
 *
 *     resolves [hangs] ADDRESSES   what any name ending in .test is, or an error: NONAME; asked, resolving: how often
 *                                  it was asked for, and how many of that are not answered
 *
 *     serve [no_port] ARGUMENTS    another server, at $s and, by its unix socket, $u; these are of the server, else
 *     redis COMMAND                to the other server, or to the server, which said the last hello: check */
#pragma once

#include "redis/connector.h"
#include "tests/redis/scenes.h"
#include "tests/support/one_server.h"

/* What a server answers to a hello that has nothing to complain of. */
#define SETNAME_OK "+OK\r\n"
#define INFO_OK "{redis_version:7.0.15\r\n}"
#define NO_INFO "-ERR unknown command 'INFO'\r\n"
#define REPLICATION_OK "{role:master\r\n}"
#define MEMORY_OK "{maxmemory:0\r\n}"
#define TIME_OK "*2\r\n{1700000000}{7}"
#define ALL_BUT_TIME_OK SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK
#define ALL_OK ALL_BUT_TIME_OK TIME_OK

/* For FIXTURE(); with start_tcp_server() and stop_server() for GROUP(). */
void begin_connects(void);
void end_connects(void);
struct server *serve(struct server *other);
const char *const *arguments_of(char **word); /* those from there on */

struct puppet {
	int listener, fd, port;
	char *says; /* NULL: it is not there */
	size_t size, said;
	bool at_once, closes, echoes, heard;
	int64_t drip, next; /* ns from byte to byte, 0: all at once; moment */
	unsigned accepted;
};

struct puppet *puppet_of(const char *name);
bool step_puppets(void);

/* ---- a connector, driven to its end ---- */

extern struct lsh_uri dialed;
extern struct lsh_connector *connector;
extern struct lsh_hello hello; /* of the last step, */
extern leash_error err;        /* and what it said */

void open_dial(const char *text, const char *name, const char *channel);
void close_dial(void);
void close_stream(void);
/* A step that cannot go on has to say when it wants to. */
enum lsh_progress step(void);
struct pollfd dial_poll(int64_t *until); /* what it polls for; its fd is -1 if it is idle */
void wait_for_dial(int64_t deadline, bool shortly);
enum lsh_progress attempt(int64_t deadline); /* the puppets take their steps meanwhile */
const char *seen_progress(enum lsh_progress progress);
void await_readable(int fd);
int64_t ample(void); /* for what does not take all its time */
