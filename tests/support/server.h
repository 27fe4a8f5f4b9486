/* Real servers for tests: each one a redis-server (or $LEASH_TEST_SERVER) of its own, on a unix socket in a fresh folder.
 *
 * Whatever goes wrong in here ends the test with a text that says what (trouble.h), so no result need be checked.
 * Nothing outlives the test process: not when a test fails, and not when the process is killed (sweep.h).
 * All functions may be called from any thread; `server_stop` only when nobody else uses the server. */
#ifndef LEASH_TEST_SERVER_H
#define LEASH_TEST_SERVER_H

#include "tests/support/certs.h"

#include <hiredis/hiredis.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct server;

/* Start a server and return when it answers. `args` are further arguments of redis-server, ended by NULL, e.g.
 * (const char *const[]){ "--appendonly", "yes", NULL }; NULL for none. Without redis-server: says so and exits with 77. */
struct server *server_start(const char *const *args);

/* The same, and it listens on a free port of 127.0.0.1 as well. */
struct server *server_start_tcp(const char *const *args);

/* The same as server_start_tcp, but what it speaks on its port is TLS, with that one's certificate; and `asks` for one. */
struct server *server_start_tls(enum certs_of whose, bool asks, const char *const *args);

/* The same as server_start, and its wall clock can be set: see server_set_clock. */
struct server *server_start_clocked(const char *const *args);

/* The same as server_start_tcp, on this port: see ports.h. */
struct server *server_start_at(int port, const char *const *args);

/* The same, and it is a sentinel: `config` are the lines that its file begins with, "sentinel monitor ..."; it writes the rest itself,
 * and a restart changes nothing of that. */
struct server *server_start_sentinel(int port, const char *config, const char *const *args);

/* End it and remove its folder; it may be paused or dead. NULL is allowed. */
void server_stop(struct server *server);

/* SIGKILL, and it has gone when this returns. Allowed for a dead one. */
void server_kill(struct server *server);

/* End it if it runs, and start it again: same arguments, same socket, same port, and nothing in it unless the arguments
 * said that it keeps its data. Returns when it answers and has loaded what it keeps. */
void server_restart(struct server *server);

/* The same, but returns as soon as it answers at all, be it that it is still loading. */
void server_boot(struct server *server);

/* SIGSTOP and SIGCONT; it really stands still, resp. runs again, when these return. */
void server_pause(struct server *server);
void server_resume(struct server *server);

/* From now on its wall clock is so far ahead of ours, or behind it; a restart changes nothing of that. Only of
 * server_start_clocked; the server may be running, paused or dead. It expires keys by that clock, at a unix time that it fixed
 * when their TTL was set: forward, all are gone at once whose TTL was less than the jump; back, all live longer by the jump.
 * It looks at the clock anew before each command. */
void server_set_clock(struct server *server, int64_t ahead_ms);

/* From now on its wall clock stands still, at this moment. For server_start_clocked, likewise. */
void server_stop_clock(struct server *server, int64_t unix_us);

/* These belong to the server until it is stopped. A restart changes the pid and nothing else. */
const char *server_folder(const struct server *server);
const char *server_socket(const struct server *server);    /* the path of its unix socket */
const char *server_uri(const struct server *server);       /* "unix:///..." */
const char *server_uri_tcp(const struct server *server);   /* "redis://127.0.0.1:<port>"; only of server_start_tcp */
const char *server_uri_tls(const struct server *server);   /* "rediss://127.0.0.1:<port>?cafile=..."; only of server_start_tls */
int server_port(const struct server *server);              /* 0 unless it was server_start_tcp */
pid_t server_pid(const struct server *server);             /* 0 if it was killed */

/* Say something to it, over a connection of the test's own that opens by itself, also after a restart. `format` is that of
 * redisCommand: %s, %b, %d. Logs in with the password of a "--requirepass" among the arguments.
 * The caller frees the reply (freeReplyObject); an error reply is a reply. */
redisReply *server_command(struct server *server, const char *format, ...);

/* The same where an integer is expected; any other reply is trouble. */
int64_t server_integer(struct server *server, const char *format, ...);

/* The same for everything, as text: integers in decimal, elements of an array with a space between, NULL for nil; an error
 * reply is trouble. The text belongs to the server; it lasts for the next 31 texts asked for. */
const char *server_text(struct server *server, const char *format, ...);

/* How often it has executed a command since it began, or since a CONFIG RESETSTAT, in scripts too. */
int64_t server_calls(struct server *server, const char *command);

/* A further connection, logged in, for the caller to use and to redisFree. */
redisContext *server_connect(struct server *server);

#endif
