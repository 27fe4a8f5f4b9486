/* A server of a deployment of several: what a sentinel set, a cluster and a quorum have in common. Not for tests.
 *
 * A node has a port of its own and one that others are told, which is its door's if a proxy stands before it. What it connects to for
 * replication it comes to from an address of its own (127.0.1.x), so that a door can tell it from clients. It is looked at over
 * short connections to its unix socket, so one that is dead, paused or paused meanwhile costs a second and no more. */
#ifndef LEASH_TEST_NODE_H
#define LEASH_TEST_NODE_H

#include "tests/support/certs.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arguments of a server, as they come together. */
struct words {
	char *at[64];
	size_t count;
};

void words_add(struct words *words, const char *word);
void words_add_number(struct words *words, const char *word, int64_t number);
void words_add_all(struct words *words, const char *const *more);   /* NULL: none */
void words_free(struct words *words);

struct node {
	struct server *server;
	struct proxy *door;     /* NULL: none */
	int port, told;
	char address[24];       /* it comes from, if there are doors */
	const char *password;   /* NULL: none */
	bool tls;
	enum certs_of certs;    /* its own, with TLS */
};

/* Its ports, and its door if it is to have one; it is not started by that. With TLS its certificate is CERTS_SERVER until that is set. */
void node_prepare(struct node *node, int number, bool door, bool tls, const char *password);
/* What all nodes are told about ports, passwords, TLS, the address. */
void node_words(const struct node *node, struct words *words);
void node_start(struct node *node, const struct words *words);
void node_stop(struct node *node);

bool node_runs(const struct node *node);   /* it is neither dead nor paused */

/* What it answers, to be freed; NULL: it does not, or not in time, or says an error that is not asked for. */
redisReply *node_ask(const struct node *node, const char *format, ...);
/* Say it until it is done: an error is trouble, no answer too. */
void node_tell(const struct node *node, const char *format, ...);
/* A field of INFO, CLUSTER INFO: "role". `out` has room for 64 bytes; false: it does not answer, or there is none. */
bool node_field(const struct node *node, const char *command, const char *field, char out[static 64]);
int64_t node_number(const struct node *node, const char *command, const char *field);   /* -1: none */

/* Keys that match; `lasting`: those without TTL alone. 0 if it does not run. */
int64_t node_keys(const struct node *node, const char *pattern, bool lasting);

/* Does it follow the server that others are told to find at `told`, and has all up to `offset` of that one's log? */
bool node_has_all_of(const struct node *node, int told, int64_t offset);

/* How many replicas it sends its log to. One that has just got all data counts when it has said so, up to a second after it says itself
 * that it is up: until then it gets nothing. */
int64_t node_replicas(const struct node *node);

/* Nothing that a server writes from now on arrives at the replica, nor what the replica says at the server, until all is let go. It is the
 * connection there is that is held: one that a replica makes anew gets through. `nodes` are of a deployment with doors. */
void nodes_hold_link(const struct node *nodes, int server, int replica);
void nodes_let_links_go(const struct node *nodes, int count);

/* "redis+<kind>://" with s for TLS, the password, all of their ports, "/name" or "", and parameters: what TLS needs, and `more` or "". */
char *nodes_uri(const struct node *nodes, int count, const char *kind, const char *password, const char *path, const char *more);

/* Formatted, to be freed. */
char *node_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
