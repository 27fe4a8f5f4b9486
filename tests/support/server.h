/* Real servers for tests: each one a redis-server (or $LEASH_TEST_SERVER) of its own, on a unix socket in a fresh folder.
 *
 * Whatever goes wrong in here ends the test with a text that says what (trouble.h), so no result need be checked.
 * Nothing outlives the test process: not when a test fails, and not when the process is killed (sweep.h).
 * All functions may be called from any thread; `server_stop` only when nobody else uses the server. */
#pragma once

#include "tests/support/certs.h"
#include "tests/support/child.h"
#include "tests/support/clock_shim.h"
#include "tests/support/sweep.h"

#include <hiredis/hiredis.h>

#include <pthread.h>

enum { SERVER_TEXTS = 32 };

/* Arguments of a server, as they come together: copies, ended by NULL. */
struct words {
	char **at;   /* NULL: none */
	size_t count;
};

#define words_add(words, ...) words_add_all((words), (const char *const[]){__VA_ARGS__, NULL})
void words_add_all(struct words *words, const char *const *more);   /* NULL: none */
void words_add_number(struct words *words, const char *word, int64_t number);
void words_free(struct words *words);

struct server_options {
	/* Further arguments of redis-server, ended by NULL, e.g. (const char *const[]){ "--appendonly", "yes", NULL }; NULL: none. */
	const char *const *args;
	bool tcp;                 /* it listens on a free port of 127.0.0.1 as well, */
	int port;                 /* or on this one: see ports_take(); 0: any */
	const char *const *tls;   /* what it speaks there is TLS, with these arguments: certs_server_args(); NULL: it is not */
	bool clocked;             /* its wall clock can be set: see server_set_clock */
	/* It is a sentinel: the lines that its file begins with, "sentinel monitor ..."; it writes the rest itself, and a restart changes
	 * nothing of that. */
	const char *sentinel;
};

/* Start a server and return when it answers. Without redis-server: says so and exits with 77. */
struct server *server_start_with(const struct server_options *options);

#define SERVER_WITH(...) server_start_with(&(const struct server_options){__VA_ARGS__})
#define server_start(...) SERVER_WITH(.args = (__VA_ARGS__))
#define server_start_tcp(...) SERVER_WITH(.tcp = true, .args = (__VA_ARGS__))
#define server_start_clocked(...) SERVER_WITH(.clocked = true, .args = (__VA_ARGS__))
/* With that one's certificate; it asks for one, too. */
#define server_start_tls(whose, asks, ...) \
	SERVER_WITH(.tcp = true, .tls = certs_server_args((whose), (asks)), .args = (__VA_ARGS__))

void server_stop(struct server *server); /* end it and remove its folder; it may be paused or dead. NULL is allowed */
void server_kill(struct server *server); /* SIGKILL, and it has gone when this returns. Allowed for a dead one */

/* End it if it runs, and start it again: same arguments, same socket, same port, and nothing in it unless the arguments
 * said that it keeps its data. Returns when it answers and has loaded what it keeps. */
void server_restart(struct server *server);

/* SIGSTOP and SIGCONT; it really stands still, resp. runs again, when these return. */
#define server_pause(server) child_pause((server)->pid)
#define server_resume(server) child_resume((server)->pid)

/* From now on its wall clock is so far ahead of ours, or behind it; a restart changes nothing of that. Only of one
 * that is clocked; the server may be running, paused or dead. It expires keys by that clock, at a unix time that it fixed
 * when their TTL was set: forward, all are gone at once whose TTL was less than the jump; back, all live longer by the jump.
 * It looks at the clock anew before each command. */
#define server_set_clock(server, ahead_ms) (server_clock(server)->wall_ns = (ahead_ms) * INT64_C(1000000))

/* From now on its wall clock stands still, at this moment, likewise. */
#define server_stop_clock(server, unix_us) (server_clock(server)->still_ns = (unix_us) * 1000)
struct clock_page *server_clock(struct server *server);

/* These last until it is stopped. A restart changes the pid and nothing else. */
#define server_folder(server) ((server)->folder)
#define server_socket(server) ((server)->socket)    /* the path of its unix socket */
#define server_uri(server) ((server)->uri)          /* "unix:///..." */
#define server_uri_tcp(server) ((server)->uri_tcp)  /* "redis://127.0.0.1:<port>"; */
#define server_uri_tls(server) ((server)->uri_tls)  /* "rediss://127.0.0.1:<port>?cafile=...": of one that has a port */
#define server_port(server) ((server)->port)        /* 0: it has none */
#define server_pid(server) ((pid_t)(server)->pid)   /* 0: it was killed */

/* Say something to it, over a connection of the test's own that opens by itself, also after a restart. `format` is that of
 * redisCommand: %s, %b, %d. Logs in with the password of a "--requirepass" among the arguments.
 * The caller frees the reply (freeReplyObject); an error reply is a reply. */
redisReply *server_command(struct server *server, const char *format, ...);

/* The same where nothing but an error would be of interest, which is trouble. */
#define server_say(server, ...) server_heed(server_command((server), __VA_ARGS__))
void server_heed(redisReply *reply);

/* The same where an integer is expected; any other reply is trouble. */
#define server_integer(server, ...) server_number(#__VA_ARGS__, server_command((server), __VA_ARGS__))
int64_t server_number(const char *what, redisReply *reply);

/* The same for everything, as text: integers in decimal, elements of an array with a space between, NULL for nil; an error
 * reply is trouble. The text belongs to the server; it lasts for the next 31 texts asked for. */
const char *server_text(struct server *server, const char *format, ...);
const char *server_text_of(struct server *server, int count, const char **words); /* the same, of words as they are */

/* How often it has executed a command since it began, or since a CONFIG RESETSTAT, in scripts too. */
int64_t server_calls(struct server *server, const char *command);

/* A further connection, logged in, for the caller to use and to redisFree. */
redisContext *server_connect(struct server *server);

/* ---- its inside: not for tests ---- */

/* The same, but it waits for so long at most; NULL: the server does not listen, or does not answer the log-in. */
redisContext *server_dial(struct server *server, double seconds);

struct server {
	struct sweep_item item;
	char *folder, *socket, *log, *uri, *uri_tcp, *uri_tls;
	struct words args;           /* of the caller's */
	const char *password;        /* among them, or NULL */
	int port;                    /* 0: unix socket only */
	const char *const *tls;      /* what it needs to speak TLS there; NULL: it does not */
	struct clock_page *clock;    /* NULL: its clock is the machine's */
	struct words environment;    /* the server's, with the shim for that; empty: ours */
	char *config;                /* of a sentinel: the file that it writes to; NULL: it is none */

	pthread_mutex_t life;        /* held while it is started and ended */
	_Atomic pid_t pid;           /* 0: reaped */

	pthread_mutex_t talk;        /* guards the rest */
	redisContext *connection;    /* NULL: not open */
	char *texts[SERVER_TEXTS];
	size_t next_text;
};
