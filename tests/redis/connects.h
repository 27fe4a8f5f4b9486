/* Connecting: what the tests of it share. Names are resolved as a test says, a puppet is a server that says what it was told to, and a
 * connect is driven to its end; all in one thread, but for the resolver's. */
#ifndef LEASH_TEST_DIALS_H
#define LEASH_TEST_DIALS_H

#include "redis/connector.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

/* ---- the resolver, in the place of the system's ---- */

/* What any name ending in .test is: two numeric addresses, or NULL; or an error. While it hangs there is no answer. */
void names_are(const char *first, const char *second, int error, bool hangs);
unsigned names_asked(void);
unsigned names_inside(void); /* asked, and not answered yet */

/* ---- a server that says what it was told to ---- */

struct puppet {
	int pubsub, fd;
	int port;
	char uri[64];
	const char *says;   /* once it has heard something */
	size_t size, said;
	bool at_once;       /* says it without having heard anything */
	bool closes;        /* when it has said it */
	bool echoes;        /* says what it hears */
	int64_t drip;       /* ns from byte to byte; 0: all at once */
	int64_t next;
	bool heard;
	unsigned accepted;
};

void puppet_at(struct puppet *f, const char *address, int port, const char *says);
void puppet_start(struct puppet *f, const char *says);
void puppet_hang_up(struct puppet *f);
void puppet_stop(struct puppet *f);
void puppet_step(struct puppet *f);

/* What a server answers to a hello that has nothing to complain of. */
#define SETNAME_OK "+OK\r\n"
#define INFO_OK "$22\r\nredis_version:7.0.15\r\n\r\n"
#define NO_INFO "-ERR unknown command 'INFO'\r\n"
#define REPLICATION_OK "$13\r\nrole:master\r\n\r\n"
#define MEMORY_OK "$13\r\nmaxmemory:0\r\n\r\n"
#define TIME_OK "*2\r\n$10\r\n1700000000\r\n$1\r\n7\r\n"

/* ---- a connector, driven to its end ---- */

extern struct lsh_uri uri;
extern struct lsh_connector *connector;
extern struct lsh_hello hello; /* of the last step, */
extern leash_error err;        /* and what it said */

void open_dial(const char *text, const char *name, const char *channel);
void close_dial(void);
/* A step that cannot go on has to say when it wants to. */
enum lsh_progress step(void);
struct pollfd dial_poll(int64_t *until); /* what it polls for; its fd is -1 if it is idle */
void wait_for_dial(int64_t deadline, bool shortly);
/* The puppets, which may be NULL, take their steps meanwhile. */
enum lsh_progress attempt(int64_t deadline, struct puppet *f, struct puppet *g);
/* For what does not take all its time. */
int64_t ample(void);
enum lsh_progress dial_to(const char *text, const char *name, const char *channel);
void check_contains(const char *text, const char *part);
void check_failed(enum lsh_progress progress, leash_status status, const char *part);
void await_readable(int fd);

/* ---- a real server ---- */

extern struct server *server; /* unix socket and TCP, no password */

/* The last hello was said by it. */
void check_hello(void);

/* With a server for all: for GROUP(). */
void start_tcp_server(void);
void stop_server(void);

#endif
